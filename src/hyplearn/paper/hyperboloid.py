"""Support vector machine and perceptron on the hyperboloid, with the same precision as in the ball.

About a point p, a point x has the hyperboloid coordinates ``(cosh ρ, √c z)``, where ``ρ = √c d(x, p)``, and z is the
tangent vector at p that points to x and has length ``sinh ρ / √c``. These coordinates are accurate up to the rim of the
ball. With the Minkowski product ``[n, x] = -n⁰x⁰ + Σ nʲxʲ``, a normal n with ``[n, n] > 0`` defines the geodesic
hyperplane ``[n, x] = 0``, whose signed distance from p along n is ``arsinh(n⁰ / √[n, n]) / √c``.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numba import njit
from sklearn.utils import check_random_state

from hyplearn.geometry import conformal_factor, frechet_mean, transport
from hyplearn.paper.arsinh_svm import LocalMinimum, solve_by_projected_gradient, solve_by_stages
from hyplearn.paper.classifier import BaselineClassifier, BaselineRows, check_choice, check_count, check_positive
from hyplearn.tangent import from_frame, z_features
from hyplearn.types import Array


def hyperboloid_rows(X: Array, p: Array, c: float) -> Array:
    """Compute hyperboloid coordinates about p, with x⁰ first; for p = 0, the result is ``ball_to_hyperboloid(X)``."""
    space = np.sqrt(c) * z_features(X, p, c=c)
    return np.column_stack([np.hypot(1, np.linalg.norm(space, axis=1)), space])


def boundary(direction: Array, shift: float, p: Array, c: float) -> tuple[Array, Array]:
    r"""Return the normal and a point of the hyperplane with direction v and shift a about p.

    In hyperboloid coordinates about p, the hyperplane has the normal

    .. math:: n = (\|v\| \sinh a, \; v \cosh a)

    The returned point is the point of the hyperplane that is nearest to p, at the signed distance a/√c along v. The
    returned normal is given in frame coordinates at this point, and has the same length as v. If v is 0, there is no
    hyperplane, and the result is v and p.
    """
    length = float(np.linalg.norm(direction))
    if length == 0:  # the normal is zero, so every point has the score 0
        return direction, p
    q = from_frame(shift / np.sqrt(c) / length * direction, p, c=c)
    unit = transport(direction / length / conformal_factor(p, c=c), p, q, c=c) * conformal_factor(q, c=c)
    return length * unit / np.linalg.norm(unit), q


@dataclass(eq=False, repr=False)
class HyperboloidSVC(BaselineClassifier):
    r"""Support vector machine on the hyperboloid (Cho et al., 2019).

    For points x in hyperboloid coordinates and the Minkowski product :math:`[n, x] = -n^0 x^0 + \sum_j n^j x^j`, this
    classifier finds a normal n that is a local solution of

    .. math:: \min_{[n, n] > 0} \tfrac12 [n, n]
              + C \sum_i \max(0, \operatorname{arsinh} 1 - \operatorname{arsinh}(y_i [n, x_i]))

    The boundary :math:`[n, x] = 0` is a geodesic hyperplane, which may pass through any point of the ball. The problem
    is not convex. Several starts are tried. The result is a local minimum, without a proof that it is the global one.

    The score of a point is arsinh [n, x], which grows with the signed distance to the boundary. Coordinates are taken
    about the Fréchet mean of the points, so that an isometry of the points moves the boundary in the same way. They are
    computed from points of the ball, and are accurate up to its rim at hyperbolic radius 37; coordinates stored on the
    hyperboloid are accurate only up to radius 19 (for c = 1). Compared with a Python loop over rows, as in the
    published implementations, both solvers are about 500 times as fast in 2 dimensions, 90 times as fast in 100
    dimensions, and 14 times as fast in 1,000 dimensions (``benchmarks/bench_baselines.py``).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    solver : {"stages", "projected_gradient"}, default="stages"
        "stages" takes quasi-Newton steps from three starts. The loss is smoothed, and the smoothing is reduced from
        stage to stage. The normal is expressed in polar coordinates, in which [n, n] > 0 always holds.
        "projected_gradient" is the method of Cho et al.: from the best of the three starts, it takes gradient steps on
        mini-batches, each followed by a projection. It ends near a minimum, but not exactly at it.
    tol : float, default=1e-8
        For "stages", a stage ends when a step decreases the smoothed objective by at most this fraction of its value,
        or of 1 if the value is smaller. For "projected_gradient", the step size is halved after every epoch that does
        not decrease the objective by more than this fraction, and the solver stops after 16 successive halvings.
    max_iter : int, default=1000
        Maximum number of steps in each stage, or of epochs for "projected_gradient".
    random_state : int, RandomState instance or None, default=0
        Seed of the mini-batches.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply C and ``sample_weight``.
    calibration : {"cross-fitted", "training"} or None, default="cross-fitted"
        How to convert scores to probabilities. "cross-fitted": with an affine map that is fitted to the scores of
        held-out rows (:mod:`hyplearn.decision.calibration`), or of the training rows if there are at least 1,000 per
        coordinate. "training": with Platt's sigmoids, fitted to the scores of the training rows, as in Chien et al.
        (2021). None: no probabilities; predictions are based on the scores.
    folds : int, default=5
        Number of folds for "cross-fitted".
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim: raise an error that names them, or move them to the largest
        representable radius and issue a warning.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels. Two classes form one binary problem; K > 2 classes form K problems, each class against the
        rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector of each boundary in frame coordinates at its point ``reference_``; its length is √[n, n].
    reference_ : ndarray of shape (n_problems, n_features)
        Point of each boundary that is nearest to the mean of the points.
    objective_ : ndarray of shape (n_problems,)
        Value of the objective in each problem.
    status_ : ndarray of str of shape (n_problems,)
        "local" if the descent converged, "max_iter" if it reached ``max_iter``, and "one-sided" if the best boundary
        found has all points on one side, so that it separates no classes. A warning is issued in the last two cases. No
        status proves that the minimum is global.
    n_iter_ : ndarray of shape (n_problems,)
        Number of evaluations of the objective and its gradient over all starts and stages, or number of epochs for
        "projected_gradient".

    Examples
    --------
    >>> from hyplearn import HyperboloidSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(10_000, 2, random_state=0)
    >>> svc = HyperboloidSVC(C=10).fit(X, y)
    >>> print(svc.score(X, y), svc.status_)
    1.0 ['local']
    """

    C: float = 1.0
    _: KW_ONLY
    solver: str = "stages"
    tol: float = 1e-8
    max_iter: int = 1000
    random_state: Any = 0

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_positive(C=self.C, tol=self.tol)
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

    def _solve(self, rows: Array, y: Array, costs: Array) -> LocalMinimum:
        if self.solver == "stages":
            return solve_by_stages(rows, y, costs, tol=self.tol, max_iter=self.max_iter)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return solve_by_projected_gradient(rows, y, costs, tol=self.tol, max_iter=self.max_iter, rng=rng)

    def _report_status(self, statuses: Array) -> None:
        unfinished, one_sided = (np.flatnonzero(statuses == status) for status in ("max_iter", "one-sided"))
        if unfinished.size:
            self._warn(
                f"did not converge in max_iter={self.max_iter} steps ({self._names(unfinished)}).\n"
                "Raise max_iter or tol, or lower C."
            )
        if one_sided.size:
            self._warn(
                f"found no better boundary than one with all points on one side ({self._names(one_sided)}).\n"
                "Raise C or the weight of the rarer class, or use a classifier with curved boundaries."
            )


@dataclass(eq=False, repr=False)
class HyperboloidPerceptron(BaselineClassifier):
    r"""Perceptron on the hyperboloid as printed by Weber et al. (2020), for reproducing its failures to converge.

    For points x in hyperboloid coordinates and the Minkowski product :math:`[w, x] = -w^0 x^0 + \sum_j w^j x^j`, the
    score of a point is :math:`-[w, x]`. For each point on the boundary or on the wrong side of it, the update is

    .. math:: u = w + y x, \qquad w \leftarrow u / \min(1, \sqrt{[u, u]})

    The update is possible only if :math:`[u, u] = [w, w] + 2y[w, x] - 1` is positive. This is not the case if w = 0, or
    if [w, w] = 1 and the point lies on the boundary. These are the two counterexamples of Chien et al. (2021) to the
    convergence theorem of this perceptron; ``fit`` raises a ValueError at such an update. Even if all updates are
    possible, the perceptron learns little: because :math:`-[x, x'] = \cosh(\sqrt c\, d(x, x'))`, an update with x
    shifts the scores of all points x' in the same direction, and it shifts the scores of points far from x the most.
    Use :class:`~hyplearn.PoincarePerceptron` in practice.

    Parameters
    ----------
    start : array-like of shape (n_features + 1,), default=None
        Initial w in hyperboloid coordinates, with w⁰ first. None means (0, 2, 0, …), for which an update with a point
        on the boundary is possible.
    max_epochs : int, default=100
        Maximum number of passes over the data.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of rows, which is different in each pass.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`, but with ``calibration=None`` by default.

    Attributes
    ----------
    classes_, coef_, reference_
        As in :class:`~hyplearn.HyperboloidSVC`, except that ``reference_`` is the point of each boundary nearest to the
        origin. ``coef_`` and ``reference_`` are the values after the pass with the smallest total weight of
        misclassified rows.
    status_ : ndarray of str of shape (n_problems,)
        "converged" if the last pass made no mistakes, otherwise "max_epochs", in which case a warning is issued.
    n_iter_, n_updates_ : ndarrays of shape (n_problems,)
        Numbers of passes and of updates.

    Examples
    --------
    >>> from hyplearn.paper import HyperboloidPerceptron
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.5, random_state=0)
    >>> HyperboloidPerceptron(start=[0, 0, 0]).fit(X, y)
    Traceback (most recent call last):
        ...
    ValueError: The hyperboloid perceptron cannot normalise w ...
    """

    start: Any = None
    _: KW_ONLY
    max_epochs: int = 100
    random_state: Any = 0
    calibration: str | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_count("max_epochs", self.max_epochs)

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        c, d = rows.data.c, rows.X.shape[1]
        origin, start = np.zeros(d), self._first_weights(d)
        R = hyperboloid_rows(rows.X, origin, c)
        learned = [self._passes(R, self._signs(rows, k), rows.weights, start) for k in range(self._n_problems)]
        normals, squares, mistakes, epochs, updates = zip(*learned, strict=True)
        boundaries = []
        for n, square in zip(normals, squares, strict=True):
            length = np.sqrt(square)
            boundaries.append(boundary(length * n[1:] / np.linalg.norm(n[1:]), np.arcsinh(n[0] / length), origin, c))
        coef, reference = (np.stack(part) for part in zip(*boundaries, strict=True))
        unsolved = np.flatnonzero(mistakes)
        if unsolved.size:
            self._warn(
                f"still made mistakes in the last of {self.max_epochs} passes ({self._names(unsolved)}).\n"
                "Use PoincarePerceptron; this perceptron does not converge on most data."
            )
        return {
            "coef_": coef,
            "reference_": reference,
            "status_": np.where(np.array(mistakes) == 0, "converged", "max_epochs"),
            "n_iter_": np.array(epochs),
            "n_updates_": np.array(updates),
        }

    def _first_weights(self, d: int) -> Array:
        if self.start is None:
            return 2 * np.eye(d + 1)[1]
        start = np.asarray(self.start, dtype=np.float64)
        if start.shape != (d + 1,) or not np.all(np.isfinite(start)):
            raise ValueError(
                f"start must contain {d + 1} finite hyperboloid coordinates, w⁰ first; got {self.start!r:.80}.\n"
                "Pass an array of this length, or start=None for the default."
            )
        return start

    def _passes(self, rows: Array, y: Array, weights: Array, start: Array) -> tuple[Array, float, int, int, int]:
        """Run passes until a pass makes no mistakes, or until ``max_epochs`` passes have been made.

        Return the normal n, the Minkowski product [n, n], the number of updates in the last pass, and the total numbers
        of passes and of updates. The normal is n = -w after the pass that leaves the smallest total weight of
        misclassified rows.
        """
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        w, square = start.copy(), float(start[1:] @ start[1:] - start[0] ** 2)
        best, least, mistakes, updates, epochs = (w, square), np.inf, 1, 0, 0
        while mistakes and epochs < self.max_epochs:
            mistakes, square, failed = visit(rows, y, weights, rng.permutation(len(y)), w, square)
            updates, epochs = updates + mistakes, epochs + 1
            if failed >= 0 or square <= 0:
                self._raise_undefined_norm(rows, failed, square, updates)
            scores = rows[:, 0] * w[0] - rows[:, 1:] @ w[1:]
            if (error := float((y * scores <= 0) @ weights)) < least:
                best, least = (w.copy(), square), error
        return -best[0], best[1], mistakes, epochs, updates

    def _raise_undefined_norm(self, rows: Array, failed: int, square: float, updates: int) -> None:
        where = "at the start, where u = w" if failed < 0 else f"in update {updates}, for the point X = {rows[failed]}"
        raise ValueError(
            f"The hyperboloid perceptron cannot normalise w {where:.200}: [u, u] = {square:.6g}, but "
            "w = u / min(1, √[u, u]) needs [u, u] > 0.\nStart from another vector with [w, w] > 1, or use "
            "PoincarePerceptron, which converges if the classes are separable."
        )


@njit(cache=True, nogil=True, error_model="numpy")
def visit(R, y, weights, order, w, square):  # type: ignore[no-untyped-def]
    """Visit all rows in the given order and update w in place; ``square`` is [w, w] before the visit.

    A row of weight k is visited up to k times in succession, until it is classified correctly. If k is not an integer,
    the last update adds only a fraction of y x. A full update decreases y[w, x] by 1. If y[w, x] is at least 1 and
    [w, w] is positive, the update also makes [w, w] larger than 1, so that w is not normalised. Successive updates with
    one row are therefore combined into one step.

    If all updates are possible, the function returns the number of updates, [w, w], and -1. An update is impossible if
    [u, u] is not positive for the updated vector ``u = w + y x``. The function then stops, and returns the number of
    updates including this one, [u, u], and the index of the row.
    """
    updates = 0
    for i in order:
        left, wrong = weights[i], -y[i] * w[0] * R[i, 0]
        for j in range(1, w.size):
            wrong += y[i] * w[j] * R[i, j]
        while left > 0.0 and wrong >= 0.0:
            step = min(left, np.floor(wrong) + 1.0 if square > 0.0 else 1.0)
            left -= step
            updates += int(np.ceil(step))
            square += step * (2.0 * wrong - step)
            if not square > 0.0:
                return updates, square, i
            scale = 1.0 / min(1.0, np.sqrt(square))
            for j in range(w.size):
                w[j] = scale * (w[j] + step * y[i] * R[i, j])
            square *= scale * scale
            wrong = scale * (wrong - step)
    return updates, square, -1
