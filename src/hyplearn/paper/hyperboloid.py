"""Support vector machine and perceptron on the hyperboloid, with the same precision as in the ball.

Seen from a point p, a point x has the hyperboloid coordinates ``(cosh ρ, √c z)``, with ``ρ = √c d(x, p)`` and z the
scaled tangent vector at p: all of them exact up to the rim of the ball. A normal n with ``[n, n] > 0`` defines the
geodesic hyperplane ``[n, x] = 0``, whose distance from p, along n, is ``arsinh(n⁰ / √[n, n])``.
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
    """Hyperboloid coordinates of points as seen from p, X⁰ first; for p = 0, equal to ``ball_to_hyperboloid(X)``."""
    space = np.sqrt(c) * z_features(X, p, c=c)
    return np.column_stack([np.hypot(1, np.linalg.norm(space, axis=1)), space])


def boundary(direction: Array, shift: float, p: Array, c: float) -> tuple[Array, Array]:
    r"""Return the normal and the foot of the hyperplane with direction v and shift a, as seen from p.

    .. math:: n = (\|v\| \sinh a, \; v \cosh a)

    The foot is the point of the hyperplane nearest to p, at the signed distance a/√c along v. The normal is given in
    frame coordinates there, and is as long as v.
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

    With points x in hyperboloid coordinates and the Minkowski product :math:`[n, x] = -n^0 x^0 + \sum_j n^j x^j`,
    seeks the normal n of

    .. math:: \min_{[n, n] > 0} \tfrac12 [n, n]
              + C \sum_i \max(0, \operatorname{arsinh} 1 - \operatorname{arsinh}(y_i [n, x_i]))

    whose boundary :math:`[n, x] = 0` is a geodesic hyperplane, through whatever point of the ball is best. The problem
    is not convex: the result is the best local minimum from several starts, with no proof that it is the global one.

    Points are scored by arsinh [n, x], which grows with the signed distance to the boundary, and seen from their
    Fréchet mean, so that an isometry of the data moves the boundary with them. Their coordinates come from the ball and
    are exact up to its rim, at hyperbolic radius 37; those of the hyperboloid itself end at 19. Compared with a Python
    loop over rows, as in the published implementations, both solvers are about 500 times as fast in 2 dimensions, 90
    times in 100, and 14 times in 1,000 (``benchmarks/bench_baselines.py``).

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
        How Platt's sigmoids, which turn scores into probabilities, are learned: from scores of held-out rows, or from
        scores of the training rows as in the paper. Predictions follow the probabilities; with None, the scores.
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
        Number of evaluations of objective and gradient, over all starts and stages; or the number of epochs.

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
                f"did not converge in max_iter={self.max_iter} steps.\nRaise max_iter or tol, or lower C. "
                f"({self._names(unfinished)})"
            )
        if one_sided.size:
            self._warn(
                "found no boundary better than one with all points on one side.\nRaise C or the weight of the rarer "
                f"class, or use a classifier with curved boundaries. ({self._names(one_sided)})"
            )


@dataclass(eq=False, repr=False)
class HyperboloidPerceptron(BaselineClassifier):
    r"""Perceptron on the hyperboloid (Weber et al., 2020), as printed in the paper, to reproduce the counterexamples.

    With points x in hyperboloid coordinates and the Minkowski product :math:`[w, x] = -w^0 x^0 + \sum_j w^j x^j`, a
    point is scored by :math:`-[w, x]`, and each point on the wrong side of the boundary, or on it, changes w to

    .. math:: u = w + y x, \qquad w \leftarrow u / \min(1, \sqrt{[u, u]})

    The root exists only for :math:`[u, u] > 0`, and :math:`[u, u] = [w, w] + 2y[w, x] - 1`. So from w = 0 no update is
    possible; nor, from [w, w] = 1, one by a point on the boundary. These are the paper's two counterexamples to the
    theorem that it converges; ``fit`` raises ValueError at such an update. Where the rule is well-defined it still
    learns little: as :math:`-[x, x'] = \cosh d(x, x')`, an update moves the scores of all points to the same side,
    those of far points most. Use :class:`~hyplearn.PoincarePerceptron` in practice.

    Parameters
    ----------
    start : array-like of shape (n_features + 1,), default=None
        The first w, in hyperboloid coordinates, w⁰ first. None is (0, 2, 0, …), from which a point on the boundary
        still allows an update.
    max_epochs : int, default=100
        Largest number of passes over the data.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of rows, drawn again for each pass.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`, but with ``calibration=None`` by default.

    Attributes
    ----------
    classes_, coef_, reference_
        As in :class:`~hyplearn.HyperboloidSVC`, with the point of each boundary next to the origin. The w kept is that
        of the pass after which the least weight is misclassified.
    status_ : ndarray of str of shape (n_problems,)
        "converged" if the last pass had no mistake, else "max_epochs", with a warning.
    n_iter_, n_updates_ : ndarrays of shape (n_problems,)
        Number of passes, and of updates.

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
                "On most data it never converges: use PoincarePerceptron."
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
                f"start must hold {d + 1} finite hyperboloid coordinates, w⁰ first; got {self.start!r:.80}."
            )
        return start

    def _passes(self, rows: Array, y: Array, weights: Array, start: Array) -> tuple[Array, float, int, int, int]:
        """Run passes until one has no mistakes; return n, [n, n], and the counts of mistakes, passes and updates."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        w, square = start.copy(), float(start[1:] @ start[1:] - start[0] ** 2)
        best, least, mistakes, updates, epochs = (w, square), np.inf, 1, 0, 0
        while mistakes and epochs < self.max_epochs:
            mistakes, square, failed = visit(rows, y, weights, rng.permutation(len(y)), w, square)
            updates, epochs = updates + mistakes, epochs + 1
            if failed >= 0 or square <= 0:
                self._refuse(rows, failed, square, updates)
            scores = rows[:, 0] * w[0] - rows[:, 1:] @ w[1:]
            if (error := float((y * scores <= 0) @ weights)) < least:
                best, least = (w.copy(), square), error
        return -best[0], best[1], mistakes, epochs, updates

    def _refuse(self, rows: Array, failed: int, square: float, updates: int) -> None:
        where = "for the first w" if failed < 0 else f"after {updates} updates, for the point with X = {rows[failed]}"
        raise ValueError(
            f"The hyperboloid perceptron cannot normalise w {where:.200}: [u, u] = {square:.6g}, but "
            "w = u / min(1, √[u, u]) needs [u, u] > 0.\nStart from another vector with [w, w] > 1, or use "
            "PoincarePerceptron, which converges."
        )


@njit(cache=True, nogil=True, error_model="numpy")
def visit(R, y, weights, order, w, square):  # type: ignore[no-untyped-def]
    """Visit all rows in the given order and update w in place; ``square`` is [w, w] before the visit.

    A row of weight k is visited up to k times in a row, the last time with the step of the fraction that is left. An
    update takes 1 from y[w, x] and, while that is 1 or more, makes [w, w] grow beyond 1, where nothing is normalised:
    successive visits until the row is right are one step. Returns the number of updates, the square, and the row whose
    update has no norm, where the visit ends with the square of u (-1 if there is none).
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
