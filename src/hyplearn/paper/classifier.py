"""What the rivals share beside the border of all classifiers: rows that count, scores as they are, options checked."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hyplearn.estimators.ball_classifier import FEW_ROWS, LabelledRows, merged
from hyplearn.estimators.one_vs_rest import OneVsRest
from hyplearn.estimators.threads import one_blas_thread
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry.kernels import gaps
from hyplearn.types import Array


class BaselineClassifier(OneVsRest):
    """A rival: labels, weights and one-vs-rest are those of all classifiers of the ball, learning is its own.

    Subclasses learn from ``_learn`` and score by ``_heights``, one array per binary problem.
    """

    # A rival without a parameter of this name sees points from the origin of its coordinates.
    reference: Any = "origin"
    n_jobs: int | None = None

    @abstractmethod
    def _check_options(self) -> None:
        """An error for every parameter that makes no sense."""

    @abstractmethod
    def _learn(self, data: LabelledRows, weights: Array) -> None:
        """Set the fitted attributes from float64 rows with their weights, all of them positive."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn every binary problem.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight k counts as k copies, weight 0 as absence.
        """
        self._check_calibration()
        self._check_options()
        data = self._labelled_rows(X, y, sample_weight, reset=True)
        with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            self._learn(*self._present(data))
        for warning in caught:
            warnings.warn(str(warning.message), warning.category, stacklevel=2)
        self._calibrate(data.X, data.y, data.weights, warned=bool(caught))
        return self

    def _present(self, data: LabelledRows) -> tuple[LabelledRows, Array]:
        """The rows of positive weight, and their weights; where they are few, sorted and copies merged."""
        X: Array = data.X.astype(np.float64, copy=False)
        codes: Array = np.searchsorted(self.classes_, data.y)
        weights = np.ones(len(X)) if data.weights is None else data.weights
        if len(X) <= FEW_ROWS:
            X, codes, weights = merged(X, codes, weights)
        elif not weights.all():
            X, codes, weights = (array[weights > 0] for array in (X, codes, weights))
        rooms = gaps(X, absolute_curvature(self.curvature))
        return LabelledRows(X, rooms, None, self.classes_[codes.astype(np.int64)], weights), weights

    @abstractmethod
    def _heights(self, X: Array, rooms: Array) -> Iterator[Array]:
        """Score of points with the given gaps, for each problem."""

    def _plain_scores(self, X: Array, rooms: Array) -> Array:
        return np.stack(list(self._heights(X, rooms)), axis=1)


def check_positive(name: str, value: object) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number; got {value!r}.")


def check_count(name: str, value: object) -> None:
    """Refuse what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse what is not among the allowed names."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
