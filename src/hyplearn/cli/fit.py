"""``hyplearn fit``: a classifier from labelled points, with its cross-validated accuracy and its certificate."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from hyplearn.cli.data import DATA, LABEL, POINTS, Data, read_labelled
from hyplearn.cli.measures import Score, cross_validated, folds_of
from hyplearn.cli.models import NAMES, certificate, certificate_text, classifier
from hyplearn.cli.output import Outcome, facts, size_of, steps
from hyplearn.persistence import save

NAME = "fit"
EXAMPLES = (
    "hyplearn fit mammals.csv --label order -o mammals.hyp",
    "hyplearn fit cells.h5ad --label cell_type --model svc --c 10 -o cells.hyp",
    "hyplearn fit points.npz --model perceptron --reference origin -o points.hyp",
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
) -> Outcome:
    """Fit a classifier to labelled points and write it to a model file."""
    chosen = classifier(model, reference, c, curvature, outside)
    found = read_labelled(data, points, label)
    fitted, score, seconds = fit_and_measure(chosen, found, folds, seed)
    save(fitted, output)
    values = {
        "model": type(fitted).__name__,
        "parameters": fitted.get_params(deep=False),
        "data": _data(found),
        "classes": fitted.classes_,
        "cross_validation": None if score is None else score.values() | {"folds": folds},
        "certificate": certificate(fitted),
        "fit_seconds": seconds,
        "output": output,
    }
    return Outcome(values, [facts(_summary(fitted, found, score, folds, seconds, output))])


def fit_and_measure(model: Any, data: Data, folds: int, seed: int) -> tuple[Any, Score | None, float]:
    """The model fitted to all rows, its measures on held-out rows, and the seconds of the fit."""
    assert data.y is not None
    with steps(folds + 1) as tell:
        score = None
        if folds:
            split = folds_of(data.y, folds, seed)
            score = cross_validated("cross-validation", model, data.X, data.y, split, tell)
        tell("fit to all rows")
        start = perf_counter()
        return model.fit(data.X, data.y), score, perf_counter() - start


def _data(data: Data) -> dict[str, Any]:
    n, d = data.X.shape
    return {"path": data.path, "n_points": n, "n_coordinates": d, "n_without_label": data.left_out}


def _summary(model: Any, data: Data, score: Score | None, folds: int, seconds: float, output: Path) -> dict[str, str]:
    lines = {"model": str(model).replace("\n", " "), "data": data.summary()}
    timing = f"fit {seconds:.2f} s"
    if score is not None:
        std = 0.0 if score.accuracy_std is None else score.accuracy_std
        loss = "" if score.log_loss is None else f", log-loss {score.log_loss:.3f}"
        lines["accuracy"] = f"{100 * score.accuracy:.1f} ± {100 * std:.1f} % in {folds}-fold cross-validation{loss}"
        timing += f", cross-validation {score.seconds:.2f} s"
    return lines | {
        "certificate": certificate_text(model),
        "time": timing,
        "written": f"{output} ({size_of(output)})",
    }
