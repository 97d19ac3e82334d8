"""``hyplearn evaluate``: scores of a model on labelled points, beside Euclidean baselines."""

import warnings
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import clone
from sklearn.metrics import classification_report, confusion_matrix

from hyplearn.cli.data import DATA, LABEL, MODEL, POINTS, Data, check_width, read_labelled
from hyplearn.cli.measures import COLUMNS, Score, as_it_is, baselines, compared, folds_of
from hyplearn.cli.models import load_ball_classifier, load_classifier
from hyplearn.cli.output import Outcome, table
from hyplearn.progress import report_steps
from hyplearn.types import Array

NAME = "evaluate"
EXAMPLES = (
    "hyplearn evaluate cells.hyp held_out.h5ad --label cell_type",
    "hyplearn evaluate fashion.hyp fashion-mnist.npz --points X_test --folds 0",
    "hyplearn evaluate mammals.hyp mammals.csv --json > report.json",
)
# More classes than this make a matrix that no terminal shows.
MOST_SHOWN = 20
NOTE = (
    "The first row is the model as it is: optimistic if it was fitted to these points.\n"
    "All others are fitted anew in each fold, the second with the model's parameters."
)


def run(
    model: MODEL,
    data: DATA,
    label: LABEL = None,
    points: POINTS = None,
    folds: Annotated[int, typer.Option("--folds", help="Folds for the comparison with baselines; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the folds.")] = 0,
) -> Outcome:
    """Evaluate a model on labelled points, beside Euclidean classifiers trained on the same points."""
    fitted = (load_ball_classifier if folds else load_classifier)(model)
    found = read_labelled(data, points, label, fitted)
    check_width(fitted, found)
    assert found.y is not None
    check_labels(fitted, found.y, data)
    predicted, labels = fitted.predict(found.X), np.union1d(fitted.classes_, found.y)
    report = per_class(found.y, predicted)
    matrix = confusion_matrix(found.y, predicted, labels=labels)
    scores = [as_it_is(f"{type(fitted).__name__}, as it is", fitted, found.X, found.y)]
    if folds:
        scores += compare_with_baselines(fitted, found.X, found.y, folds, seed)
    values = {
        "scores": [score.values() for score in scores],
        "report": report,
        "confusion": {"labels": labels, "matrix": matrix},
    }
    return Outcome(values, _shown(found, report, labels, matrix, scores, folds), notes=found.notes())


def check_labels(model: Any, y: Array, path: Any) -> None:
    """Raise if no label is a class of the model; warn if some are not."""
    unknown = [label for label in np.unique(y).tolist() if label not in model.classes_.tolist()]
    if len(unknown) == len(np.unique(y)):
        raise ValueError(
            f"{path} has the labels {', '.join(map(repr, unknown[:5]))}, none of which is a class of the model: "
            f"{', '.join(map(repr, model.classes_[:5].tolist()))}.\nPass --label, the column of its classes."
        )
    if unknown:
        warnings.warn(
            f"The labels {', '.join(map(repr, unknown[:5]))} are not classes of the model: their "
            f"{int(np.isin(y, unknown).sum()):,} rows count as errors, and not in its log-loss and calibration.",
            stacklevel=2,
        )


def per_class(y: Array, predicted: Array) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and number of rows of each class."""
    report = classification_report(y, predicted, output_dict=True, zero_division=0.0)
    return {name: values for name, values in report.items() if isinstance(values, dict) and " avg" not in name}


def compare_with_baselines(model: Any, X: Array, y: Array, folds: int, seed: int) -> list[Score]:
    """The model's own class and its baselines, on the same folds."""
    models = {f"{type(model).__name__}, fitted anew": clone(model), **baselines()}
    with report_steps(folds * len(models)) as report:
        return list(compared(models, X, y, folds_of(y, folds, seed), report))


def _shown(
    data: Data, report: dict[str, Any], labels: Array, matrix: Array, scores: list[Score], folds: int
) -> list[Any]:
    rows = [
        [name, *(f"{values[key]:.3f}" for key in ("precision", "recall", "f1-score")), f"{values['support']:,.0f}"]
        for name, values in report.items()
    ]
    blocks = [f"{data.summary()}\n", table("By class", ("class", "precision", "recall", "F1", "points"), rows)]
    if len(labels) <= MOST_SHOWN:
        blocks.append(_matrix(labels, matrix))
    else:
        blocks.append(f"The confusion matrix of {len(labels)} classes is in --json.")
    title = "On these points" + (f", and by {folds}-fold cross-validation on them" if folds else "")
    best = int(np.argmax([score.accuracy for score in scores[1:]])) + 1 if folds else None
    blocks.append(table(title, COLUMNS, [score.row() for score in scores], best=best))
    return [*blocks, NOTE] if folds else blocks


def _matrix(labels: Array, matrix: Array) -> Any:
    """True classes by row, predicted classes by number in columns; zeros are dots, so that the others stand out."""
    names = [f"{k + 1} {label}" for k, label in enumerate(labels)]
    rows = [[name, *(str(n) if n else "·" for n in row)] for name, row in zip(names, matrix.tolist(), strict=True)]
    return table("Confusion: rows are true, columns predicted", ("", *map(str, range(1, len(labels) + 1))), rows)
