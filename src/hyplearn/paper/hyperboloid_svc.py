"""The support vector machine on the hyperboloid."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from hyplearn.geometry import frechet_mean
from hyplearn.paper.arsinh_svm import Found, solve_by_stages
from hyplearn.paper.classifier import BaselineRows, check_choice, check_count, check_positive
from hyplearn.paper.hyperboloid import HyperboloidClassifier, boundary, hyperboloid_rows
from hyplearn.paper.projected_gradient import solve_by_projected_gradient
from hyplearn.types import Array


class HyperboloidSVC(HyperboloidClassifier):
    r"""Support vector machine on the hyperboloid (Cho et al., 2019).

    With points x in hyperboloid coordinates and the Minkowski product :math:`[n, x] = -n^0 x^0 + \sum_j n^j x^j`,
    seeks the normal n of

    .. math:: \min_{[n, n] > 0} \tfrac12 [n, n]
              + C \sum_i \max(0, \operatorname{arsinh} 1 - \operatorname{arsinh}(y_i [n, x_i]))

    whose boundary :math:`[n, x] = 0` is a geodesic hyperplane, through whatever point of the ball is best. The problem
    is not convex: what is found is the best local minimum from several starts, with no proof that it is the least.

    Points are scored by arsinh [n, x], which grows with the signed distance to the boundary, and seen from their
    Fréchet mean, so that an isometry of the data moves the boundary with them. As coordinates there come from the ball,
    they are exact up to its rim (hyperbolic radius 37), where the hyperboloid's own end at 19; but rows as long as
    ``exp`` of their distance slow down any descent.

    Both solvers read every row once in a gradient or an epoch. Beside a Python loop over rows, the way of the published
    implementations, this is some 500 times as fast in 2 dimensions, 90 times in 100, and 14 times in 1,000: there the
    loop's NumPy calls are nearly hidden behind the 8 kB of a row, and no visit of all rows could be more than 25 times
    as fast, what it takes to read them from memory (``benchmarks/bench_baselines.py``).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    solver : {"stages", "projected_gradient"}, default="stages"
        "stages": quasi-Newton steps on a loss whose kinks are rounded off less and less, in coordinates that keep
        [n, n] > 0 by themselves, from three starts. "projected_gradient": that of Cho et al., mini-batches with a
        projection after each, from the best of the starts; it ends near the minimum, not at it.
    tol : float, default=1e-8
        Relative decrease of the objective, over a step or an epoch, at which to stop.
    max_iter : int, default=1000
        Largest number of steps in each stage, or of epochs.
    random_state : int, RandomState instance or None, default=0
        Seed of the mini-batches.
    class_weight : dict or "balanced", default=None
        Factors of C by class, multiplied with ``sample_weight``.
    calibration : {"cross-fitted", "training"} or None, default="cross-fitted"
        Whether Platt's sigmoids make probabilities of scores, and predictions of these: of scores of rows that the
        boundary has not seen, or, as the paper does, of the rows of training. None: ``predict`` goes by scores.
    folds : int, default=5
        Number of folds of "cross-fitted".
    curvature : float, default=-1.0
        Sectional curvature of the space the points were embedded in.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim: an error that names them, or move them onto the largest
        representable radius and warn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Two make one binary problem, K > 2 make K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector of each boundary in frame coordinates at its point ``reference_``; its length is √[n, n].
    reference_ : ndarray of shape (n_problems, n_features)
        The point of each boundary next to the mean of the points.
    objective_ : ndarray of shape (n_problems,)
        The objective.
    status_ : ndarray of str of shape (n_problems,)
        "local": the descent ended. "max_iter": it was cut short. "one-sided": the best boundary found has all points on
        one side, so that it predicts no second class. The last two come with a warning; none is a proof.
    n_iter_ : ndarray of shape (n_problems,)
        How often objective and gradient were computed, over all starts and stages; or the number of epochs.

    Examples
    --------
    >>> from hyplearn import HyperboloidSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(10_000, 2, random_state=0)
    >>> svc = HyperboloidSVC(C=10).fit(X, y)
    >>> print(svc.score(X, y), svc.status_)
    1.0 ['local']
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        solver: str = "stages",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = 0,
        class_weight: Any = None,
        calibration: str | None = "cross-fitted",
        folds: int = 5,
        curvature: float = -1.0,
        outside: str = "raise",
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.class_weight = class_weight
        self.calibration = calibration
        self.folds = folds
        self.curvature = curvature
        self.outside = outside

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("solver", self.solver, ("stages", "projected_gradient"))

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        c = rows.data.c
        centre = frechet_mean(rows.X, rows.weights, c=c)
        R, costs = hyperboloid_rows(rows.X, centre, c), self.C * rows.weights
        found = [self._solve(R, self._signs(rows, k), costs) for k in range(self._n_problems)]
        boundaries = [boundary(one.direction, one.shift, centre, c) for one in found]
        coef, reference = (np.stack(part) for part in zip(*boundaries, strict=True))
        status = np.array([one.status for one in found])
        self._report_status(status)
        return {
            "coef_": coef,
            "reference_": reference,
            "objective_": np.array([one.objective for one in found]),
            "status_": status,
            "n_iter_": np.array([one.n_iter for one in found]),
        }

    def _solve(self, rows: Array, y: Array, costs: Array) -> Found:
        if self.solver == "stages":
            return solve_by_stages(rows, y, costs, tol=self.tol, max_iter=self.max_iter)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return solve_by_projected_gradient(rows, y, costs, tol=self.tol, max_iter=self.max_iter, rng=rng)

    def _report_status(self, statuses: Array) -> None:
        for status, problem in (
            ("max_iter", "was still descending after max_iter={}.\nRaise max_iter or tol, or lower C."),
            (
                "one-sided",
                "found no boundary better than one with all points on one side.\nRaise C or the weight of the rarer "
                "class, or take a classifier that can bend.",
            ),
        ):
            found = np.flatnonzero(statuses == status)
            if found.size:
                warnings.warn(
                    f"{type(self).__name__} {problem.format(self.max_iter)} ({self._names(found)})",
                    ConvergenceWarning,
                    stacklevel=4,
                )
