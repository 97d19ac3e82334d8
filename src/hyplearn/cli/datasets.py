"""``hyplearn datasets``: sets to begin with, listed and written to files that the other commands read."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from hyplearn.cli.output import Outcome, csv_text, npz_bytes, size_of, table
from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.files import write_whole

EXAMPLES = ("hyplearn datasets list", "hyplearn datasets fetch mammals", "hyplearn datasets fetch olsson -o cells.npz")


class Known(NamedTuple):
    """A data set and what to say of it."""

    load: Callable[[], Any]
    about: str
    points: str
    classes: int
    suffix: str
    source: str
    content: Callable[[Any], bytes]
    next_step: str


def _points_csv(bunch: Any) -> bytes:
    coordinates = dict(zip(bunch.feature_names, bunch.data.T.tolist(), strict=True))
    return csv_text({"name": bunch.names, "order": bunch.target} | coordinates).encode()


def _tree_csv(bunch: Any) -> bytes:
    """A line for each node: its name, where two share one with a number, its parent's, and its order."""
    seen: Counter[str] = Counter()
    names = []
    for name in bunch.names.tolist():
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    parents = ["" if parent < 0 else names[parent] for parent in bunch.parents.tolist()]
    return csv_text({"name": names, "parent": parents, "order": bunch.target}).encode()


def _npz(bunch: Any) -> bytes:
    return npz_bytes({name: bunch[name] for name in ("X_train", "y_train", "X_test", "y_test")})


_FIT = "hyplearn fit {output} -o {name}.hyp"
_DOWNLOAD = (".npz", "download", _npz, _FIT)
SETS = {
    "mammals": Known(
        load_mammals, "mammals of WordNet, a tree", "1,170", 13, ".csv", "in the package", _points_csv,
        "hyplearn fit {output} --label order -o {name}.hyp",
    ),
    "mammals-tree": Known(
        load_mammals, "the same, their names and parents", "1,170", 13, ".csv", "in the package", _tree_csv,
        "hyplearn embed {output} --method tree --label order -o points.csv",
    ),
    "olsson": Known(fetch_olsson, "single cells of blood (Olsson et al.)", "231 + 88", 8, *_DOWNLOAD),
    "cifar10": Known(fetch_cifar10, "pictures of ten kinds", "50,000 + 10,000", 10, *_DOWNLOAD),
    "fashion-mnist": Known(fetch_fashion_mnist, "pictures of clothing", "60,000 + 10,000", 10, *_DOWNLOAD),
}  # fmt: skip


def listed() -> Outcome:
    """List the data sets that `hyplearn datasets fetch` knows."""
    rows = [[name, known.about, known.points, str(known.classes), known.source] for name, known in SETS.items()]
    fields = ("about", "points", "classes", "suffix", "source")
    values = {name: {field: getattr(known, field) for field in fields} for name, known in SETS.items()}
    return Outcome({"datasets": values}, [table("Data sets", ("name", "what", "points", "classes", "from"), rows)])


def fetched(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(SETS)}.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write: .csv for the mammals, .npz for the others."),
    ] = None,
) -> Outcome:
    """Write a data set to a file that the other commands read; published ones are downloaded once and verified."""
    if name not in SETS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(SETS)}.", param_hint="NAME")
    known = SETS[name]
    output = Path(name + known.suffix) if output is None else output
    if output.suffix.lower() != known.suffix:
        raise typer.BadParameter(f"{name} is written as {known.suffix}; got {output}.", param_hint="--output")
    write_whole(output, known.content(known.load()))
    step = f"Next: {known.next_step.format(name=name, output=output)}"
    values = {"name": name, "output": output, "bytes": output.stat().st_size}
    return Outcome(values, [f"{known.about}: {output} ({size_of(output)}).\n{step}"])
