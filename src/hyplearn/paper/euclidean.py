"""The support vector machine that takes the ball for a piece of Euclidean space."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from hyplearn.decision import Decision
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.paper.classifier import BaselineClassifier, BaselineRows, check_choice, check_count, check_positive
from hyplearn.rows import Rows
from hyplearn.solvers.svm import solve_svm
from hyplearn.types import Array

# The constant column that carries the intercept, in radii of the ball. The intercept of a boundary that meets the ball
# is at most ‖w‖ radii, so that its penalty is below a ten-thousandth of that of w.
INTERCEPT_COLUMN = 100.0


@dataclass(eq=False, repr=False)
class EuclideanSVC(BaselineClassifier):
    r"""Linear support vector machine on the coordinates of the ball, solved to a certificate of optimality.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \tfrac12 (b / 100 r)^2
              + C \sum_i \max(0, 1 - y_i (\langle x_i, w \rangle + b))^q

    with r the radius of the ball, and q = 2 or 1. Its boundaries are straight in the ball, where geodesics are not; so
    it shows what the geometry is worth. The paper ran it without intercept: all boundaries passed through the origin.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss, q = 2 or 1. The default is that of scikit-learn's LinearSVC, and the better one with many classes.
    fit_intercept : bool, default=True
        Whether boundaries may miss the origin; False as in the paper's tables.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Largest number of working sets or Newton steps.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Two make one binary problem, K > 2 make K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector w of each boundary, in coordinates of the ball.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts b; 0 without.
    primal_, dual_gap_ : ndarrays of shape (n_problems,)
        The objective, and its proven relative distance to the optimum.
    status_ : ndarray of str of shape (n_problems,)
        "optimal" where the gap is at most ``tol``; else "max_iter" or "stalled" (rounding forbids more), with a
        warning.
    n_iter_ : ndarray of shape (n_problems,)
        Number of working sets or Newton steps.

    Examples
    --------
    >>> from hyplearn.paper import EuclideanSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, reference_norm=0.57, random_state=0)
    >>> print(EuclideanSVC(C=1000).fit(X, y).score(X, y))
    0.96...
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_positive(C=self.C, tol=self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        column = INTERCEPT_COLUMN / np.sqrt(rows.data.c) if self.fit_intercept else 0.0
        X = np.column_stack([rows.X, np.full(len(rows.X), column)])
        solutions = []
        for k in range(self._n_problems):
            signed = Rows.explicit(self._signs(rows, k)[:, None] * X, self.C * rows.weights)
            solutions.append(solve_svm(signed, loss=self.loss, tol=self.tol, max_iter=self.max_iter))  # type: ignore[arg-type]
        W = np.stack([solution.w for solution in solutions])
        found = self._certificates(solutions, ("primal", "status", "n_iter"), "Raise max_iter or tol, or lower C.")
        return {"coef_": W[:, :-1].copy(), "intercept_": column * W[:, -1], **found}

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """``⟨x, w⟩ + b`` for each problem."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        return Decision(self.classes_, c, "ball", coef, np.zeros_like(coef), fitted["intercept_"])
