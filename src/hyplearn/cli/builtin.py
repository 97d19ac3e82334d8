"""Commands that need no user data: ``hyplearn datasets``, ``demo`` and ``reproduce``.

``reproduce`` reruns experiments of the paper (Chien, Pan, Tabaghi and Milenkovic, 2021).
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.evaluate import ECE, baselines, compare, scores_table
from hyplearn.cli.output import Outcome, csv_text, file_and_size, npz_bytes, table
from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.estimators import PoincareLogisticRegression, PoincareSVC
from hyplearn.explorer import explore
from hyplearn.files import write_whole
from hyplearn.plotting.beside import draw_beside
from hyplearn.progress import report_steps

# Names of the experiments that ``reproduce`` runs. Keep this list in sync with the Makefile.
EXPERIMENTS = ("table1", "table2", "handicapped", "figures", "reference_points", "comparison", "synthetic", "claims")


class Dataset(NamedTuple):
    """Description of a data set, with functions that load it and that convert it to the bytes of a file."""

    load: Callable[[], Any]
    about: str
    points: str
    classes: int
    suffix: str
    source: str
    content: Callable[[Any], bytes]
    next_step: str


def _points_csv(bunch: Any) -> bytes:
    coordinates = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
    return csv_text({"name": bunch.names, "order": bunch.target} | coordinates).encode()


def _tree_csv(bunch: Any) -> bytes:
    """Return a CSV table with the name, parent and taxonomic order of each node; repeated names are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for name in bunch.names.tolist():
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    parents = ["" if parent < 0 else names[parent] for parent in bunch.parents.tolist()]
    return csv_text({"name": names, "parent": parents, "order": bunch.target}).encode()


def _npz(bunch: Any) -> bytes:
    return npz_bytes({name: bunch[name] for name in ("X_train", "y_train", "X_test", "y_test")})


_DOWNLOAD = (".npz", "download", _npz, "hyplearn fit {output} -o {name}.hyp")
DATASETS = {
    "mammals": Dataset(
        load_mammals, "mammals of WordNet, a tree", "1,170", 13, ".csv", "in the package", _points_csv,
        "hyplearn fit {output} --label order -o {name}.hyp",
    ),
    "mammals-tree": Dataset(
        load_mammals, "names and parents of the same mammals", "1,170", 13, ".csv", "in the package", _tree_csv,
        "hyplearn embed {output} --method tree --label order -o points.csv",
    ),
    "olsson": Dataset(fetch_olsson, "single blood cells (Olsson et al.)", "231 + 88", 8, *_DOWNLOAD),
    "cifar10": Dataset(fetch_cifar10, "images of ten kinds of objects", "50,000 + 10,000", 10, *_DOWNLOAD),
    "fashion-mnist": Dataset(fetch_fashion_mnist, "images of clothing", "60,000 + 10,000", 10, *_DOWNLOAD),
}  # fmt: skip


def list_datasets() -> Outcome:
    """List the data sets that `hyplearn datasets fetch` writes."""
    rows = [[name, known.about, known.points, str(known.classes), known.source] for name, known in DATASETS.items()]
    fields = ("about", "points", "classes", "suffix", "source")
    values = {name: {field: getattr(known, field) for field in fields} for name, known in DATASETS.items()}
    return Outcome(
        {"datasets": values}, [table("Data sets", ("name", "contents", "points", "classes", "source"), rows)]
    )


def fetch_dataset(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(DATASETS)}.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write: .csv for the mammals, .npz for the others."),
    ] = None,
) -> Outcome:
    """Write a data set, from the package or a verified download, to a file that the other commands can read."""
    if name not in DATASETS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(DATASETS)}.", param_hint="NAME")
    known = DATASETS[name]
    output = Path(name + known.suffix) if output is None else output
    if output.suffix.lower() != known.suffix:
        raise typer.BadParameter(
            f"{name} can only be written as a {known.suffix} file; got {output}.", param_hint="--output"
        )
    write_whole(output, known.content(known.load()))
    step = f"Next: {known.next_step.format(name=name, output=output)}"
    values = {"name": name, "output": output, "bytes": output.stat().st_size}
    return Outcome(values, [f"{known.about}: {file_and_size(output)}.\n{step}"])


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the figure and the page.")] = Path("out"),
    folds: Annotated[int, typer.Option("--folds", help="Number of cross-validation folds.")] = 5,
) -> Outcome:
    """Compare classifiers on the mammals of WordNet; write a figure and an interactive page."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is not a folder.\nPass a folder as --output.")
    ours = {"PoincareLogisticRegression": PoincareLogisticRegression(), "PoincareSVC": PoincareSVC()}
    return demonstrate(ours | baselines(), ("Euclidean softmax, tuned", "PoincareLogisticRegression"), output, folds)


def demonstrate(models: dict[str, Any], shown: Sequence[str], output: Path, folds: int) -> Outcome:
    """Cross-validate classifiers on the mammals data, and draw those in ``shown``.

    Also write an interactive page for the last classifier in ``shown``.
    """
    mammals = load_mammals()
    X, y, parents = mammals.data, mammals.target, mammals.parents
    scores = compare(models, X, y, folds, seed=0)
    output.mkdir(parents=True, exist_ok=True)
    picture, page = output / "mammals.png", output / "mammals.html"
    fitted = {name: models[name].fit(X, y) for name in shown}
    accuracies = {score.name: score.accuracy for score in scores}
    edges = np.stack([np.arange(1, len(parents)), parents[1:]], axis=1)
    draw_beside(picture, fitted, X, y, accuracies=accuracies, edges=edges)
    model = fitted[shown[-1]]
    explore(model, X, y, names=mammals.names, parents=parents, of="training", title="Mammals of WordNet", path=page)
    title = f"{len(X):,} mammals of WordNet, 2 coordinates, {len(mammals.target_names)} orders: {folds}-fold"
    texts = [
        scores_table(f"{title} cross-validation", scores, first=0),
        f"The Euclidean classifiers tune C inside each training fold. {ECE}",
        f"The figure is in {picture}.\nOpen {page} in a browser to explore the model and its points.",
    ]
    return Outcome({"scores": [score._asdict() for score in scores], "picture": picture, "page": page}, texts)


def reproduce() -> Outcome:
    """Recompute small versions of the paper's tables and figures in a clone of hyplearn (about ten minutes)."""
    folder = find_checkout([Path.cwd(), Path(__file__).resolve()])
    done: list[dict[str, Any]] = []
    with report_steps(len(EXPERIMENTS)) as report:
        for name in EXPERIMENTS:
            report(name)
            start = perf_counter()
            command = [sys.executable, "experiments", name]
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            code, errors = ended.returncode, ended.stderr[-2000:] if ended.returncode else ""
            done.append({"name": name, "exit_code": code, "seconds": perf_counter() - start, "errors": errors})
            if code:
                break
    rows = [[part["name"], "failed" if part["exit_code"] else "done", f"{part['seconds']:.0f} s"] for part in done]
    results, failed = folder / "experiments" / "results" / "quick", done[-1]["exit_code"] != 0
    end = done[-1]["errors"] if failed else f"The tables and figures are in {results}."
    shown = [table("Experiments of the paper, rerun", ("part", "", "time"), rows), end]
    return Outcome({"parts": done, "results": results}, shown, failed=failed)


def find_checkout(places: Iterable[Path]) -> Path:
    """Return the first folder that contains the experiments, among the given folders and their parents."""
    for place in places:
        for folder in (place, *place.parents):
            if (folder / "experiments" / "__main__.py").is_file() and (folder / "src" / "hyplearn").is_dir():
                return folder
    raise FileNotFoundError(
        "The experiments are not part of the installed package, and the working directory is not in the repository.\n"
        "Clone the repository, and run this command inside the clone."
    )
