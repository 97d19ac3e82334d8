"""Base of the baselines: one-vs-rest on rows in memory, with scores of their own."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hyplearn.data.training import TrainingData
from hyplearn.decision import Decision
from hyplearn.decision.calibration import fit_sigmoids
from hyplearn.estimators.one_vs_rest import OneVsRest
from hyplearn.reference.strategies import FEW_ROWS, merge_copies
from hyplearn.types import Array


class BaselineRows(NamedTuple):
    """Rows of positive weight, float64: points, codes of their classes, weights, and the training data they make."""

    X: Array
    codes: Array
    weights: Array
    data: TrainingData


class BaselineClassifier(OneVsRest):
    """A baseline: validation, weights and one-vs-rest are those of all classifiers of the ball, learning is its own.

    Subclasses learn in :meth:`_train` and say in :meth:`_boundaries` how their weights score points.
    """

    # A baseline without a parameter of this name sees points from the origin of its coordinates.
    reference: Any = "origin"
    n_jobs: int | None = None

    @abstractmethod
    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        """Fitted attributes, ``coef_`` and ``reference_`` among them."""

    @abstractmethod
    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """The decision without calibration, by the baseline's own scores."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn every binary problem from points within the memory budget of their source.

        Parameters
        ----------
        X, y : as in :meth:`hyplearn.PoincareSVC.fit`
            Points of the ball and their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight k counts as k copies, weight 0 as absence.
        """
        with self._training(X, y, sample_weight) as (data, _):
            self._check_memory(data)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                self.__dict__.update(self._train(self._present(data)))
            for warning in caught:
                warnings.warn(str(warning.message), warning.category, stacklevel=2)
            self._calibrate(data, warned=bool(caught))
            self.decision_ = self._decide()
        return self

    def _check_memory(self, data: TrainingData) -> None:
        if not data.in_memory:
            raise ValueError(
                f"{type(self).__name__} learns from points in memory; {data.points.name}, with {data.n_rows:,} rows, "
                "is read in blocks.\nPass an array, or raise memory= in open_points."
            )

    def _refit(self, data: TrainingData) -> Decision:
        return self._boundaries(self._train(self._present(data)))

    def _present(self, data: TrainingData) -> BaselineRows:
        """Rows of positive weight; where they are few, sorted and with copies merged."""
        if data.n_rows <= FEW_ROWS:
            data = merge_copies(data)
        block = data.gathered()
        kept = np.flatnonzero(block.present)
        X, codes = block.X[kept].astype(np.float64, copy=False), block.codes[kept].astype(np.int64)
        weights = block.row_weights[kept]
        rows = TrainingData.of_arrays(X, codes, weights, data.c, n_classes=data.n_classes, threads=data.threads)
        return BaselineRows(X, codes, weights, rows)

    def _signs(self, rows: BaselineRows, k: int) -> Array:
        """Labels ±1 of problem k."""
        return np.where(rows.codes == self._positives[k], 1.0, -1.0)

    def _calibrate(self, data: TrainingData, *, warned: bool) -> None:
        if self.calibration != "training":
            super()._calibrate(data, warned=warned)
            return
        block = data.gathered()
        values = self._boundaries(vars(self)).values(block.X, block.gaps)
        self.calibration_ = fit_sigmoids(values, block.codes, block.row_weights)

    def _check_calibration(self) -> None:
        """As for all, and Platt's sigmoids of training scores, as the paper has them."""
        if self.calibration != "training":
            super()._check_calibration()


def check_positive(name: str, value: object) -> None:
    """Raise unless the value is a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number; got {value!r}.")


def check_count(name: str, value: object) -> None:
    """Raise unless the value is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise unless the value is one of the allowed names."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
