"""Base class of the baselines, which are one-vs-rest classifiers trained on rows in memory."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hyplearn.data.training import TrainingData
from hyplearn.decision import Decision
from hyplearn.decision.calibration import HeldOut, fit_sigmoids
from hyplearn.estimators.one_vs_rest import OneVsRest
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.reference.strategies import FEW_ROWS, merge_copies
from hyplearn.solvers.svm import Solution
from hyplearn.types import Array


class BaselineRows(NamedTuple):
    """Points (as float64), class codes and weights of the training rows whose weights are positive.

    ``data`` is a :class:`TrainingData` object that contains the same rows.
    """

    X: Array
    codes: Array
    weights: Array
    data: TrainingData


@dataclass(eq=False, repr=False)
class BaselineClassifier(OneVsRest):
    """Base class of the baselines, which inherits validation, row weights and the one-vs-rest scheme.

    Subclasses implement :meth:`_train`, and override :meth:`_boundaries` unless they compute scores in the same way as
    :class:`~hyplearn.HyperboloidSVC`. Parameters are dataclass fields; the parameters shared by all subclasses are
    documented in :class:`~hyplearn.HyperboloidSVC`.
    """

    _: KW_ONLY
    class_weight: Any = None
    calibration: str | None = "cross-fitted"
    folds: int = 5
    curvature: float = -1.0
    outside: str = "raise"

    # These attributes are not annotated, because an annotation would make them dataclass fields and thus parameters,
    # which most baselines do not have.
    reference = "origin"
    n_jobs = None

    @abstractmethod
    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        """Train all binary problems; return the fitted attributes, including ``coef_``."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the boundaries of all binary problems; points that are read in blocks are rejected.

        Parameters
        ----------
        X, y : as in :meth:`hyplearn.PoincareSVC.fit`
            Points of the ball and their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: a row of weight k counts as k copies, and a row of weight 0 is ignored.
        """
        with self._training(X, y, sample_weight) as (data, _):
            if not data.in_memory:
                raise ValueError(
                    f"{type(self).__name__} needs all points in memory; {data.points.name}, with {data.n_rows:,} "
                    "rows, is read in blocks.\nPass an array, or raise memory= in open_points."
                )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                self.__dict__.update(self._train(self._present(data)))
            for warning in caught:
                warnings.warn(str(warning.message), warning.category, stacklevel=2)
            self._calibrate(data, warned=bool(caught))
            self.decision_ = self._decide()
        return self

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """Return the uncalibrated decision of :class:`~hyplearn.HyperboloidSVC`, whose scores are ``arsinh [n, x]``."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        return Decision(self.classes_, c, "arsinh", coef, fitted["reference_"], np.zeros(len(coef)))

    def _refit(self, data: TrainingData) -> Decision:
        return self._boundaries(self._train(self._present(data)))

    def _present(self, data: TrainingData) -> BaselineRows:
        """Select the rows of positive weight; if there are at most FEW_ROWS rows, sort them and merge equal rows."""
        if data.n_rows <= FEW_ROWS:
            data = merge_copies(data)
        block = data.gathered()
        kept = np.flatnonzero(block.present)
        X, codes = block.X[kept].astype(np.float64, copy=False), block.codes[kept].astype(np.int64)
        weights = block.row_weights[kept]
        rows = TrainingData.of_arrays(X, codes, weights, data.c, n_classes=data.n_classes, threads=data.threads)
        return BaselineRows(X, codes, weights, rows)

    def _signs(self, rows: BaselineRows, k: int) -> Array:
        """Return the labels of binary problem k: 1 for its positive class, -1 for all other classes."""
        return np.where(rows.codes == self._positives[k], 1.0, -1.0)

    def _certificates(self, solutions: Sequence[Solution], names: Sequence[str], advice: str) -> dict[str, Array]:
        """Collect the attributes ``names`` and the duality gaps of all solutions; warn if a solution is not optimal."""
        found = {f"{name}_": np.array([getattr(solution, name) for solution in solutions]) for name in names}
        gaps = np.array([solution.gap for solution in solutions])
        unsolved = np.flatnonzero(found["status_"] != "optimal")
        if unsolved.size:
            self._warn(
                f"reached a relative duality gap of {gaps.max():.1e}, not tol={self.tol:.1e} "
                f"({self._names(unsolved)}).\n{advice}"
            )
        return {**found, "dual_gap_": gaps}

    def _warn(self, message: str) -> None:
        """Issue a ConvergenceWarning that begins with the class name.

        The warning is caught by :meth:`fit` and issued again, so that it refers to the line that called ``fit``.
        """
        warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=2)

    def _calibrate(self, data: TrainingData, *, warned: bool, known: HeldOut | None = None) -> None:
        if self.calibration != "training":
            super()._calibrate(data, warned=warned, known=known)
            return
        block = data.gathered()
        values = self._boundaries(vars(self)).values(block.X, block.gaps)
        self.calibration_ = fit_sigmoids(values, block.codes, block.row_weights)

    def _check_calibration(self) -> None:
        if self.calibration != "training":
            super()._check_calibration()


def check_positive(**values: object) -> None:
    """Check that all values are positive finite numbers; raise ValueError otherwise."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
            raise ValueError(f"{name} must be a positive finite number; got {value!r}.")


def check_count(name: str, value: object) -> None:
    """Check that the value is a positive integer; raise ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Check that the value is one of the allowed names; raise ValueError otherwise."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
