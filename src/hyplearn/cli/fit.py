"""Command ``hyplearn fit``, which fits a classifier and reports its cross-validated accuracy and certificate."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.evaluate import Score, cross_validate, make_folds
from hyplearn.cli.inputs import DATA, LABEL, POINTS, STREAM, Data, open_data, read_labelled
from hyplearn.cli.output import Outcome, check_output, facts, file_and_size
from hyplearn.compilation import timed_compilation
from hyplearn.data.columns import listed
from hyplearn.data.points import PointSource
from hyplearn.estimators import CLASSIFIERS, classifier_named
from hyplearn.persistence import save
from hyplearn.persistence.files import SUFFIX
from hyplearn.progress import report_steps
from hyplearn.reference import STRATEGIES

CERTIFICATE = ("status_", "dual_gap_", "converged_", "n_updates_", "mistake_bound_", "margin_")


class Fitted(NamedTuple):
    """Fitted model, its cross-validation scores (or None), the fit time in seconds, and descriptions of the data.

    ``data`` is the description in the JSON output, and ``summary`` the description in the printed text. ``notes`` lists
    unused columns.
    """

    model: Any
    score: Score | None
    seconds: float
    data: dict[str, Any]
    summary: str
    notes: list[str]


def fit(
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write (.hyp).")],
    label: LABEL = None,
    points: POINTS = None,
    model: Annotated[str, typer.Option("--model", help=f"One of {', '.join(CLASSIFIERS)}.")] = "softmax",
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Reference point: a strategy, coordinates such as 0.1,-0.2, or none."),
    ] = None,
    c: Annotated[
        str | None, typer.Option("--c", help="Cost C of svc and softmax: auto, a number, or inf for a hard margin.")
    ] = None,
    curvature: Annotated[float, typer.Option("--curvature", help="Curvature of the embedding (negative).")] = -1.0,
    outside: Annotated[
        str, typer.Option("--outside", help="What to do with points outside the ball: raise (an error) or project.")
    ] = "raise",
    folds: Annotated[int, typer.Option("--folds", help="Number of cross-validation folds; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the folds.")] = 0,
    stream: STREAM = False,
    memory: Annotated[
        int | None, typer.Option("--memory", min=0, help="Memory for points in MiB, with --stream (default: 128).")
    ] = None,
) -> Outcome:
    """Fit a classifier to labelled points and write it to a model file."""
    check_output(output, (SUFFIX,))
    chosen = _classifier(model, reference, c, curvature=curvature, outside=outside)
    if stream:
        source = open_data(data, points, label).limited(memory=None if memory is None else memory * 2**20)
        found = _fit_in_blocks(chosen, data, source)
    else:
        found = _fit_in_memory(chosen, read_labelled(data, points, label), folds, seed)
    save(found.model, output)
    final, score = found.model, found.score
    values = {
        "model": type(final).__name__,
        "parameters": final.get_params(deep=False),
        "data": found.data,
        "classes": final.classes_,
        "cross_validation": None if score is None else score._asdict() | {"folds": folds},
        "certificate": {name.rstrip("_"): getattr(final, name) for name in CERTIFICATE if hasattr(final, name)},
        "fit_seconds": found.seconds,
        "output": output,
    }
    return Outcome(values, [facts(_summary(found, folds, output))], notes=found.notes)


def _classifier(name: str, reference: str | None, c: str | None, **parameters: Any) -> Any:
    """Create a classifier; raise a usage error if its name is unknown, or if it does not support one of the options."""
    if name not in CLASSIFIERS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(CLASSIFIERS)}.", param_hint="--model")
    known = CLASSIFIERS[name]().get_params()
    if reference is not None:
        if "reference" not in known:
            raise typer.BadParameter(f"{name} uses no reference point. Omit --reference.", param_hint="--reference")
        parameters["reference"] = _reference(reference)
    if c is not None:
        if "C" not in known:
            raise typer.BadParameter(f"{name} has no cost parameter C. Omit --c.", param_hint="--c")
        parameters["C"] = _cost(c)
    return classifier_named(name, **parameters)


def _cost(text: str) -> float | str:
    """Parse the cost C: a number, or "auto"."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither auto nor a number.", param_hint="--c") from None


def _reference(text: str) -> Any:
    """Parse a reference point: the name of a strategy, "none", or comma-separated coordinates."""
    if text in (*STRATEGIES, "none"):
        return None if text == "none" else text
    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        known = ", ".join(sorted(STRATEGIES))
        raise typer.BadParameter(
            f"{text!r} is neither a strategy ({known}, none) nor a point such as 0.1,-0.2.", param_hint="--reference"
        ) from None


def _fit_in_memory(model: Any, data: Data, folds: int, seed: int) -> Fitted:
    assert data.y is not None
    split, score = make_folds(data.y, folds, seed) if folds else None, None
    with report_steps(folds + 1) as report:
        report("fit to all rows")  # fit to all rows first, so that row numbers in errors refer to all rows
        start = perf_counter()
        try:
            with timed_compilation() as compiling:
                model.fit(data.X, data.y)
        except ValueError as error:
            if data.columns is None:
                raise
            raise ValueError(f"{data.path}, coordinates {listed(data.columns.coordinates)}: {error}") from error
        seconds = perf_counter() - start - compiling[0]
        if split is not None:
            score = cross_validate("cross-validation", model, data.X, data.y, split, report)
    if data.feature_names is not None:
        model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    n, d = data.X.shape
    about = {"path": data.path, "n_points": n, "n_coordinates": d, "n_without_label": data.left_out}
    return Fitted(model, score, seconds, about, data.summary(), data.notes())


def _fit_in_blocks(model: Any, path: Path, source: PointSource) -> Fitted:
    """Fit a model, without shuffling, to a file that is read in blocks; show the progress if stderr is a terminal."""
    model.set_params(verbose=int(sys.stderr.isatty()))
    if "shuffle" in model.get_params():
        model.set_params(shuffle=False)
    start = perf_counter()
    with redirect_stdout(sys.stderr), timed_compilation() as compiling:
        model.fit(source)
    seconds = perf_counter() - start - compiling[0]
    model.set_params(verbose=0)
    n, d = source.n_rows, source.n_features
    about = {"path": path, "n_points": n, "n_coordinates": d, "n_without_label": 0}
    points = "" if n is None else f"{n:,} points, "
    summary = f"{path.name}: {points}{d} coordinates, {len(model.classes_)} classes, read in blocks"
    return Fitted(model, None, seconds, about, summary, [])


def _summary(found: Fitted, folds: int, output: Path) -> dict[str, str]:
    lines = {"model": str(found.model).replace("\n", " "), "data": found.summary}
    timing, score = f"fit {found.seconds:.2f} s", found.score
    if score is not None:
        loss = "" if score.log_loss is None else f", log-loss {score.log_loss:.3f}"
        lines["accuracy"] = f"{score.accuracy_text()} in {folds}-fold cross-validation{loss}"
        timing += f", cross-validation {score.seconds:.2f} s"
    return lines | {"certificate": _certificate_text(found.model), "time": timing, "written": file_and_size(output)}


def _certificate_text(model: Any) -> str:
    """Describe the certificate of a model in one line.

    The line contains the status and the largest duality gap. For a perceptron, which has no duality gap, it contains
    the numbers of solved problems and of updates. For a model without a certificate, it is "none".
    """
    if hasattr(model, "dual_gap_"):
        statuses = ", ".join(sorted(set(model.status_)))
        return f"{statuses}: proven to be within {np.max(model.dual_gap_):.0e} of the optimum"
    if hasattr(model, "converged_"):
        done, total = int(np.sum(model.converged_)), len(model.converged_)
        return f"{done} of {total} binary problems solved without mistakes, {int(np.sum(model.n_updates_)):,} updates"
    return "none"
