"""Scores of classifiers on held-out rows, and the Euclidean baselines that they are compared with."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from hyplearn.paper import EuclideanSVC
from hyplearn.types import Array

COSTS = (1.0, 100.0, 1e4)
BINS = 15
COLUMNS = ("classifier", "accuracy", "macro-F1", "log-loss", "calibration error", "time")


@dataclass(frozen=True)
class Score:
    """Measures of one classifier; those of probabilities are None where it has none."""

    name: str
    accuracy: float
    accuracy_std: float | None
    macro_f1: float
    log_loss: float | None
    calibration_error: float | None
    seconds: float

    def row(self) -> list[str]:
        """Its cells of a table."""
        spread = "" if self.accuracy_std is None else f" ± {100 * self.accuracy_std:.1f}"
        loss, error = (
            "" if x is None else text.format(x)
            for x, text in ((self.log_loss, "{:.3f}"), (self.calibration_error, "{:.1%}"))
        )
        return [
            self.name,
            f"{100 * self.accuracy:.1f}{spread} %",
            f"{self.macro_f1:.3f}",
            loss,
            error,
            f"{self.seconds:.1f} s",
        ]

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def baselines() -> dict[str, Any]:
    """Euclidean classifiers that are not handicapped: with intercept, and C chosen inside each training fold."""
    softmax = LogisticRegression(solver="newton-cholesky", max_iter=1000)
    return {
        "Euclidean softmax, C tuned": GridSearchCV(softmax, {"C": COSTS}, cv=3),
        "Euclidean SVM, C tuned": GridSearchCV(EuclideanSVC(folds=3), {"C": COSTS}, cv=3),
        "largest class": DummyClassifier(),
    }


def folds_of(y: Array, folds: int, seed: int) -> StratifiedKFold:
    """The folds of a cross-validation; an error where no class has a row for each."""
    most = int(np.max(np.unique(y, return_counts=True)[1]))
    if folds < 2 or folds > most:
        raise ValueError(
            f"{folds} folds need at least 2, and a class of as many rows; the largest has {most}.\nPass other --folds."
        )
    return StratifiedKFold(folds, shuffle=True, random_state=seed)


def cross_validated(
    name: str, model: Any, X: Array, y: Array, split: StratifiedKFold, report: Callable[[str], None] = lambda text: None
) -> Score:
    """Measures on held-out rows, by classifiers that are fitted to the others."""
    start, classes = perf_counter(), np.unique(y)
    predicted, accuracies = np.empty(len(y), dtype=classes.dtype), []
    chances: Array | None = np.zeros((len(y), len(classes)))
    for k, (train, test) in enumerate(split.split(X, y)):
        report(f"{name}: fold {k + 1} of {split.get_n_splits()}")
        with warnings.catch_warnings():
            # Points outside the ball are told of by the rows of the file, where the model sees all of them.
            warnings.simplefilter("ignore", DataConversionWarning)
            fitted = clone(model).fit(X[train], y[train])
            predicted[test], own = fitted.predict(X[test]), probabilities(fitted, X[test])
        accuracies.append(np.mean(predicted[test] == y[test]))
        if own is None:
            chances = None
        elif chances is not None:
            chances[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = own
    return _score(name, y, predicted, classes, chances, float(np.std(accuracies)), perf_counter() - start)


def as_it_is(name: str, model: Any, X: Array, y: Array) -> Score:
    """Measures of a fitted classifier on rows; those of probabilities on rows of classes that it knows."""
    start, predicted = perf_counter(), model.predict(X)
    chances, known = probabilities(model, X), np.isin(y, model.classes_)
    seconds = perf_counter() - start
    chances = None if chances is None else chances[known]
    score = _score(name, y[known], predicted[known], model.classes_, chances, None, seconds)
    right = {"accuracy": float(np.mean(predicted == y)), "macro_f1": _macro_f1(y, predicted)}
    return Score(**{**asdict(score), **right})


def probabilities(model: Any, X: Array) -> Array | None:
    """Probabilities of all classes; None of a model that has none, such as one of a stream."""
    try:
        return np.asarray(model.predict_proba(X))
    except AttributeError:
        return None


def _score(
    name: str, y: Array, predicted: Array, classes: Array, chances: Array | None, std: float | None, seconds: float
) -> Score:
    loss = error = None
    if chances is not None:
        # A class that a fold's training rows lack has probability 0, whose logarithm is none: it counts as half a row.
        raised = np.where(chances > 0, chances, 0.5 / len(y))
        loss = float(log_loss(y, raised / raised.sum(axis=1, keepdims=True), labels=classes))
        error = calibration_error(chances.max(axis=1), predicted == y)
    return Score(name, float(np.mean(predicted == y)), std, _macro_f1(y, predicted), loss, error, seconds)


def _macro_f1(y: Array, predicted: Array) -> float:
    return float(f1_score(y, predicted, average="macro", zero_division=0.0))


def calibration_error(confidence: Array, right: Array, bins: int = BINS) -> float:
    """Mean distance of confidence and accuracy over bins of the confidence, weighted by rows (the ECE)."""
    which = np.minimum((bins * confidence).astype(int), bins - 1)
    return float(sum(_distance(confidence[which == b], right[which == b], len(which)) for b in np.unique(which)))


def _distance(confidence: Array, right: Array, n: int) -> float:
    return len(right) / n * abs(float(confidence.mean()) - float(right.mean()))


def compared(
    models: dict[str, Any], X: Array, y: Array, split: StratifiedKFold, report: Callable[[str], None]
) -> Iterator[Score]:
    """All classifiers on the same folds."""
    for name, model in models.items():
        yield cross_validated(name, model, X, y, split, report)
