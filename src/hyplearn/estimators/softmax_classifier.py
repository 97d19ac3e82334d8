"""Base class of the softmax classifiers: one convex problem for all classes, with a certificate of optimality."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.estimators.ball_classifier import VERIFIED_ROWS, BallClassifier, warn_unsolved
from hyplearn.estimators.validation import known_data
from hyplearn.rows.built import row_costs
from hyplearn.solvers.certificate import (
    SoftmaxCertificate,
    SoftmaxSums,
    certify_softmax,
    merge_softmax_sums,
    softmax_sums,
)
from hyplearn.solvers.softmax.solve import SoftmaxSolution
from hyplearn.types import Array


class SoftmaxClassifier(BallClassifier):
    """Base class of the classifiers that solve one softmax problem for all classes."""

    C_: float
    coef_: Array
    intercept_: Array

    @abstractmethod
    def _columns_of_rows(self) -> Array:
        """Combine ``coef_`` and ``intercept_`` into one array with the same columns as the training rows."""

    @abstractmethod
    def _plain_rows(self, c: float) -> Callable[[Array], Array]:
        """Return a function that computes training rows for given points in plain NumPy, to verify the certificate."""

    @property
    def _W(self) -> Array:  # noqa: N802, the symbol in the formulas
        """Weights in the form that the solver uses, with one row per class."""
        W = self._columns_of_rows()
        return W if len(self.classes_) > 2 else np.concatenate([-0.5 * W, 0.5 * W])

    def _keep_solution(self, solution: SoftmaxSolution, data: TrainingData, passes_before: int) -> Array:
        """Set the attributes that describe the solution; return its weights W, or for two classes ``W[1:] - W[:1]``."""
        n_passes = solution.n_passes if data.in_memory else data.points.n_passes - passes_before
        self._n_rows = data.n_rows
        self.status_, self.primal_ = np.array([solution.status]), np.array([solution.primal])
        self.dual_gap_ = np.array([solution.gap])
        self.n_iter_, self.n_passes_ = np.array([solution.n_iter]), np.array([n_passes])
        return solution.W if data.n_classes > 2 else solution.W[1:] - solution.W[:1]

    def _verified(self, X: Any, y: Any, sample_weight: Any) -> SoftmaxCertificate:
        """Recompute the certificate from the training data."""
        check_is_fitted(self)
        data = known_data(self, X, y, sample_weight)
        if data.n_rows != self._n_rows:
            raise ValueError(
                f"verify() needs the training data ({self._n_rows} rows); got {data.n_rows} rows.\n"
                "Pass the data to which the model was fitted."
            )
        W, rows_of = self._W, self._plain_rows(data.c)
        return certify_softmax(data.fold(_sums_of_block, merge_softmax_sums, rows_of, W, self.C_), W)

    def _report_status(self) -> None:
        """Warn if the solver did not reach the tolerance."""
        if self.status_[0] != "optimal":
            warn_unsolved(self, self.dual_gap_[0], self.status_[0])


def _sums_of_block(block: LabelledBlock, rows_of: Callable[[Array], Array], W: Array, C: float) -> SoftmaxSums:
    """Return the contribution of a block to the sums from which the certificate is computed."""
    costs = row_costs(block, C)
    cuts = [slice(start, start + VERIFIED_ROWS) for start in range(0, len(costs), VERIFIED_ROWS)]
    rows = ((rows_of(block.X[cut]), block.codes[cut], costs[cut]) for cut in cuts)
    return merge_softmax_sums([softmax_sums(*part, W) for part in rows])
