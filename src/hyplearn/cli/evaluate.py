"""Command ``hyplearn evaluate``, which scores a model on labelled points and compares it with baselines."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report, confusion_matrix, f1_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from hyplearn.cli.inputs import DATA, LABEL, MODEL, POINTS, load_classifier, read_labelled
from hyplearn.cli.output import Outcome, table
from hyplearn.compilation import timed_compilation
from hyplearn.data.columns import listed
from hyplearn.paper import EuclideanSVC
from hyplearn.plotting.canvas import shorten
from hyplearn.progress import report_steps
from hyplearn.types import Array

# Maximum number of rows in the printed table of the largest confusions. The output of --json contains the whole
# confusion matrix.
MOST_SHOWN = 10
# Maximum length of class names in the table of the largest confusions, so that each row fits into 80 characters. Longer
# names are shortened.
MOST_LETTERS = 22
NOTE = (
    "The first row is the saved model; its scores are optimistic if it was fitted\n"
    "to these points. All other classifiers are fitted in each fold and scored on\n"
    "held-out points: the refitted model has the saved parameters, and the Euclidean\n"
    "classifiers tune C in each training fold."
)
# Values of C among which the Euclidean baselines choose.
COSTS = (1.0, 100.0, 1e4)
# Number of bins from which the calibration error is computed.
BINS = 15
_macro_f1 = partial(f1_score, average="macro", zero_division=0.0)
COLUMNS = ("classifier", "accuracy", "macro-F1", "log-loss", "ECE", "time")
ECE = "ECE: expected calibration error."


class Score(NamedTuple):
    """Scores of a classifier; log-loss and calibration error are None if it does not predict probabilities."""

    name: str
    accuracy: float
    accuracy_std: float | None
    macro_f1: float
    log_loss: float | None
    calibration_error: float | None
    seconds: float

    def accuracy_text(self) -> str:
        """Return the accuracy in percent and, if it is known, its standard deviation over the folds."""
        spread = "" if self.accuracy_std is None else f" ± {100 * self.accuracy_std:.1f}"
        return f"{100 * self.accuracy:.1f}{spread} %"

    def row(self) -> list[str]:
        """Return the scores as a table row with the columns :data:`COLUMNS`."""
        loss = "" if self.log_loss is None else f"{self.log_loss:.3f}"
        error = "" if self.calibration_error is None else f"{self.calibration_error:.1%}"
        return [self.name, self.accuracy_text(), f"{self.macro_f1:.3f}", loss, error, f"{self.seconds:.1f} s"]


def evaluate(
    model: MODEL,
    data: DATA,
    label: LABEL = None,
    points: POINTS = None,
    folds: Annotated[
        int,
        typer.Option("--folds", help="Number of cross-validation folds for a comparison with baselines; 0 for none."),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the folds.")] = 0,
) -> Outcome:
    """Evaluate a model on labelled points; with --folds, compare it with Euclidean classifiers by cross-validation."""
    fitted = load_classifier(model, in_ball=bool(folds))
    found = read_labelled(data, points, label, fitted)
    X, y = found.X, found.y
    assert y is not None
    _check_labels(fitted, y, data)
    predicted, labels = fitted.predict(X), np.union1d(fitted.classes_, y)
    report = classification_report(y, predicted, output_dict=True, zero_division=0.0)
    report = {name: values for name, values in report.items() if isinstance(values, dict) and " avg" not in name}
    matrix = confusion_matrix(y, predicted, labels=labels)
    scores = [_score_fitted("saved model", fitted, X, y)]
    if folds:
        scores += compare({"saved model, refitted": clone(fitted), **baselines()}, X, y, folds, seed)
    values: dict[str, Any] = {"scores": [score._asdict() for score in scores], "report": report}
    values["confusion"] = {"labels": labels, "matrix": matrix}
    shown = [f"{found.summary()}\n", _report_table(report), _confusion_table(labels, matrix)]
    title = f"{type(fitted).__name__} on these points" + (f" and by {folds}-fold cross-validation" if folds else "")
    shown += [scores_table(title, scores, first=1 if folds else None), f"{NOTE}\n{ECE}" if folds else ECE]
    return Outcome(values, shown, notes=found.notes())


def _check_labels(model: Any, y: Array, path: Path) -> None:
    """Raise if none of the labels is a class of the model; warn if some of them are not."""
    unknown = [label for label in np.unique(y).tolist() if label not in model.classes_.tolist()]
    if len(unknown) == len(np.unique(y)):
        raise ValueError(
            f"No label in {path} is a class of the model; the labels are {listed(unknown, 5)}, but the classes are "
            f"{listed(model.classes_.tolist(), 5)}.\n"
            "Pass the name of the label column with --label."
        )
    if unknown:
        warnings.warn(
            f"Labels that are not classes of the model: {listed(unknown, 5)}. Rows with these labels "
            f"({int(np.isin(y, unknown).sum()):,}) count as errors, and are excluded from log-loss and calibration.",
            stacklevel=2,
        )


def _report_table(report: dict[str, Any]) -> Any:
    rows = [
        [name, *(f"{values[key]:.3f}" for key in ("precision", "recall", "f1-score")), f"{values['support']:,.0f}"]
        for name, values in report.items()
    ]
    return table("By class", ("class", "precision", "recall", "F1", "points"), rows)


def _confusion_table(labels: Array, matrix: Array) -> Any:
    """Return a table of the most frequent confusions, or a message if all points are predicted correctly."""
    wrong = matrix * (1 - np.eye(len(labels), dtype=int))
    if not wrong.any():
        return "All points are predicted correctly.\n"
    true, predicted = np.unravel_index(np.argsort(-wrong, axis=None, kind="stable"), wrong.shape)
    n_pairs, names = int(np.sum(wrong > 0)), [shorten(str(label), MOST_LETTERS) for label in labels]
    rows = [
        [f"{names[i]} → {names[j]}", f"{wrong[i, j]:,}", f"{wrong[i, j] / matrix[i].sum():.1%}"]
        for i, j in zip(true[: min(MOST_SHOWN, n_pairs)], predicted, strict=False)
    ]
    title = f"Largest confusions: {len(rows)} of {n_pairs} pairs; {wrong.sum():,} points misclassified"
    return table(title, ("true class → predicted class", "points", "share of class"), rows)


def scores_table(title: str, scores: list[Score], *, first: int | None) -> Any:
    """Return a table of scores; the most accurate row from index ``first`` on is bold (no row if ``first`` is None)."""
    best = None if first is None else first + int(np.argmax([score.accuracy for score in scores[first:]]))
    return table(title, COLUMNS, [score.row() for score in scores], best=best)


def baselines() -> dict[str, Any]:
    """Return the baselines: Euclidean classifiers that tune C in each training fold, and a majority-class dummy."""
    softmax = LogisticRegression(solver="newton-cholesky", max_iter=1000)
    # Shuffle the rows, because consecutive rows of a file may be similar, for example siblings in a tree.
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    return {
        "Euclidean softmax, tuned": GridSearchCV(softmax, {"C": COSTS}, cv=inner),
        "Euclidean SVM, tuned": GridSearchCV(EuclideanSVC(folds=3), {"C": COSTS}, cv=inner),
        "largest class": DummyClassifier(),
    }


def make_folds(y: Array, folds: int, seed: int) -> StratifiedKFold:
    """Return a splitter that makes stratified folds.

    Raise ValueError if ``folds`` is below 2 or above the size of the largest class.
    """
    most = int(np.max(np.unique(y, return_counts=True)[1]))
    if folds < 2 or folds > most:
        raise ValueError(
            f"--folds must be at least 2 and at most {most}, the number of rows of the largest class; got {folds}.\n"
            "Pass another number, or add data."
        )
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def compare(models: dict[str, Any], X: Array, y: Array, folds: int, seed: int) -> list[Score]:
    """Cross-validate all classifiers on the same folds."""
    with report_steps(folds * len(models)) as report:
        split = make_folds(y, folds, seed)
        return [cross_validate(name, model, X, y, split, report) for name, model in models.items()]


def cross_validate(
    name: str, model: Any, X: Array, y: Array, split: StratifiedKFold, report: Callable[[str], None]
) -> Score:
    """Cross-validate a classifier, and return its scores on the held-out rows."""
    start, compiling, classes = perf_counter(), 0.0, np.unique(y)
    predicted, accuracies = np.empty(len(y), dtype=classes.dtype), []
    proba: Array | None = np.zeros((len(y), len(classes)))
    for k, (train, test) in enumerate(split.split(X, y)):
        report(f"{name}: fold {k + 1} of {split.get_n_splits()}")
        with warnings.catch_warnings(), timed_compilation() as seconds:
            # Ignore warnings about points outside the ball, because they contain row numbers of this fold. The
            # callers issue the same warning when they fit or predict all rows, with row numbers that refer to all rows.
            warnings.simplefilter("ignore", DataConversionWarning)
            fitted = clone(model).fit(X[train], y[train])
            predicted[test], own = fitted.predict(X[test]), probabilities(fitted, X[test])
        compiling += seconds[0]
        accuracies.append(np.mean(predicted[test] == y[test]))
        if own is None:
            proba = None
        elif proba is not None:
            proba[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = own
    return _score(name, y, predicted, classes, proba, float(np.std(accuracies)), perf_counter() - start - compiling)


def _score_fitted(name: str, model: Any, X: Array, y: Array) -> Score:
    """Return the scores of a fitted classifier.

    Rows with labels that are not classes of the model count as errors, and are excluded from log-loss and calibration.
    """
    start, predicted = perf_counter(), model.predict(X)
    proba, known = probabilities(model, X), np.isin(y, model.classes_)
    seconds = perf_counter() - start
    proba = None if proba is None else proba[known]
    score = _score(name, y[known], predicted[known], model.classes_, proba, None, seconds)
    return score._replace(accuracy=float(np.mean(predicted == y)), macro_f1=float(_macro_f1(y, predicted)))


def probabilities(model: Any, X: Array) -> Array | None:
    """Return the class probabilities, or None if the model has none, for example after ``partial_fit``."""
    try:
        return np.asarray(model.predict_proba(X))
    except AttributeError:
        return None


def _score(
    name: str, y: Array, predicted: Array, classes: Array, proba: Array | None, std: float | None, seconds: float
) -> Score:
    loss = error = None
    if proba is not None:
        # A class that is missing from a training fold has probability 0, which would make the log-loss infinite.
        # Therefore zeros are replaced with 0.5 / (number of rows), and each row is divided by its new sum.
        raised = np.where(proba > 0, proba, 0.5 / len(y))
        loss = float(log_loss(y, raised / raised.sum(axis=1, keepdims=True), labels=classes))
        error = calibration_error(proba.max(axis=1), predicted == y)
    return Score(name, float(np.mean(predicted == y)), std, float(_macro_f1(y, predicted)), loss, error, seconds)


def calibration_error(confidence: Array, right: Array) -> float:
    """Return the expected calibration error: the mean of abs(confidence - accuracy) over bins, weighted by bin size."""
    which = np.minimum((BINS * confidence).astype(int), BINS - 1)
    bins = [which == b for b in np.unique(which)]
    return float(sum(np.mean(own) * abs(confidence[own].mean() - right[own].mean()) for own in bins))
