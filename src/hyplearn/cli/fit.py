"""``hyplearn fit``: a classifier from labelled points, with its cross-validated accuracy and its certificate."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.data import DATA, LABEL, POINTS, STREAM, Data, open_data, read_labelled
from hyplearn.cli.measures import Score, cross_validated, folds_of
from hyplearn.cli.models import NAMES, certificate, certificate_text, classifier
from hyplearn.cli.output import Outcome, check_output, facts, size_of
from hyplearn.data.points import PointSource
from hyplearn.persistence import save
from hyplearn.persistence.files import SUFFIX
from hyplearn.progress import report_steps

NAME = "fit"
EXAMPLES = (
    "hyplearn fit mammals.csv --label order -o mammals.hyp",
    "hyplearn fit cells.h5ad --label cell_type --model svc --c 10 -o cells.hyp",
    "hyplearn fit points.npz --model perceptron --reference origin -o points.hyp",
    "hyplearn fit atlas.parquet --label cell_type --stream -o atlas.hyp",
)


def run(
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write (.hyp).")],
    label: LABEL = None,
    points: POINTS = None,
    model: Annotated[str, typer.Option("--model", help=f"One of {', '.join(NAMES)}.")] = "softmax",
    reference: Annotated[
        str | None, typer.Option("--reference", help="Reference point: a strategy, or coordinates like 0.1,-0.2.")
    ] = None,
    c: Annotated[float | None, typer.Option("--c", help="Cost C of svc and softmax; inf for a hard margin.")] = None,
    curvature: Annotated[float, typer.Option("--curvature", help="Curvature of the embedding, negative.")] = -1.0,
    outside: Annotated[str, typer.Option("--outside", help="Points outside the ball: raise or project.")] = "raise",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the folds.")] = 0,
    stream: STREAM = False,
    memory: Annotated[
        int | None, typer.Option("--memory", min=0, help="With --stream, MiB that points may take in memory; else 128.")
    ] = None,
) -> Outcome:
    """Fit a classifier to labelled points and write it to a model file."""
    check_output(output, (SUFFIX,))
    chosen = classifier(model, reference, c, curvature, outside)
    if stream:
        source = open_data(data, points, label).limited(memory=None if memory is None else memory * 2**20)
        found = _fitted_to_blocks(chosen, data, source)
    else:
        found = _fitted_in_memory(chosen, read_labelled(data, points, label), folds, seed)
    save(found.model, output)
    values = {
        "model": type(found.model).__name__,
        "parameters": found.model.get_params(deep=False),
        "data": found.data,
        "classes": found.model.classes_,
        "cross_validation": None if found.score is None else found.score.values() | {"folds": folds},
        "certificate": certificate(found.model),
        "fit_seconds": found.seconds,
        "output": output,
    }
    return Outcome(values, [facts(_summary(found, folds, output))], notes=found.notes)


class Fitted(NamedTuple):
    """A fitted model, its scores on held-out rows where there are any, the seconds of the fit, and the data."""

    model: Any
    score: Score | None
    seconds: float
    data: dict[str, Any]
    about: str
    notes: list[str]


def _fitted_in_memory(model: Any, data: Data, folds: int, seed: int) -> Fitted:
    n, d = data.X.shape
    told = {"path": data.path, "n_points": n, "n_coordinates": d, "n_without_label": data.left_out}
    found = Fitted(*fit_and_measure(model, data, folds, seed), told, data.summary(), data.notes())
    if data.feature_names is not None:
        found.model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    return found


def _fitted_to_blocks(model: Any, path: Path, source: PointSource) -> Fitted:
    """The model fitted in passes over a file; a terminal shows them."""
    model.set_params(verbose=int(sys.stderr.isatty()))
    if "shuffle" in model.get_params():
        model.set_params(shuffle=False)
    start = perf_counter()
    with redirect_stdout(sys.stderr):
        model.fit(source)
    seconds = perf_counter() - start
    model.set_params(verbose=0)
    n = source.n_rows
    told = {"path": path, "n_points": n, "n_coordinates": source.n_features, "n_without_label": 0}
    points = "" if n is None else f"{n:,} points, "
    about = f"{path.name}: {points}{source.n_features} coordinates, {len(model.classes_)} classes, read in blocks"
    return Fitted(model, None, seconds, told, about, [])


def fit_and_measure(model: Any, data: Data, folds: int, seed: int) -> tuple[Any, Score | None, float]:
    """The model fitted to all rows, its scores on held-out rows, and the seconds of the fit."""
    assert data.y is not None
    split = folds_of(data.y, folds, seed) if folds else None
    with report_steps(folds + 1) as report:
        report("fit to all rows")  # before the folds, so that errors number the rows of the file
        start = perf_counter()
        with data.named():
            model.fit(data.X, data.y)
        seconds = perf_counter() - start
        if split is None:
            return model, None, seconds
        return model, cross_validated("cross-validation", model, data.X, data.y, split, report), seconds


def _summary(found: Fitted, folds: int, output: Path) -> dict[str, str]:
    lines = {"model": str(found.model).replace("\n", " "), "data": found.about}
    timing, score = f"fit {found.seconds:.2f} s", found.score
    if score is not None:
        std = 0.0 if score.accuracy_std is None else score.accuracy_std
        loss = "" if score.log_loss is None else f", log-loss {score.log_loss:.3f}"
        lines["accuracy"] = f"{100 * score.accuracy:.1f} ± {100 * std:.1f} % in {folds}-fold cross-validation{loss}"
        timing += f", cross-validation {score.seconds:.2f} s"
    return lines | {
        "certificate": certificate_text(found.model),
        "time": timing,
        "written": f"{output} ({size_of(output)})",
    }
