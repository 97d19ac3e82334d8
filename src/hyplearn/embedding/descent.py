r"""Embedding in the ball of curvature -1: a spectral solution, and a descent with L-BFGS along geodesics.

Let :math:`X^0_i` be the time-like coordinate of point i on the hyperboloid, and :math:`X_i` the vector of its d
space-like coordinates. Distances satisfy :math:`\cosh d_{ij} = X^0_i X^0_j - \langle X_i, X_j \rangle`, so the matrix
of these hyperbolic cosines has one positive and at most d negative eigenvalues. The negative eigenvalues and their
eigenvectors give the space-like coordinates, which determine the time-like coordinate (Keller-Ressel and Nargang,
"Hydra", 2020).

Tangent vectors are given in frame coordinates, in which the Euclidean length of a vector equals its hyperbolic length.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numba import get_num_threads
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from hyplearn.geometry import project
from hyplearn.geometry.ball import step_along
from hyplearn.geometry.kernels import row_gaps
from hyplearn.types import Array

# Number of points up to which a full eigendecomposition is as fast as Lanczos' method for the lowest eigenvalues.
SMALL = 400
# Number of recent steps that L-BFGS stores; 10 is a usual value. Each step takes two arrays of the size of X.
MEMORY = 10
# Maximum number of step lengths that a line search tries before it fails. Each is half of the previous one, so the
# last is about 2e-9 times the first.
MOST_HALVINGS = 30
# A step is accepted if it achieves at least this fraction of the decrease that the slope predicts (Armijo's rule);
# 1e-4 is the usual value.
ARMIJO = 1e-4
# Bound on the relative rounding error of the objective. Divided by the gap 1 - ‖x‖² of a point x, it also bounds the
# hyperbolic distance from x to the nearest points that float64 can represent.
ROUNDING = float(16 * np.finfo(np.float64).eps)
# Lower bound on the gap of a point. The minimum of the objective may lie farther out, but float64 does not
# resolve points with a smaller gap, so steps to such points are rejected.
SMALLEST_GAP = 4 * np.finfo(np.float64).eps

# Number of blocks into which rows are divided for threads. It is fixed, and sums over blocks are added in order, so
# that results do not depend on the number of threads.
BLOCKS = 16
# Number of points below which no threads are used, because starting them would take more time than they save.
FEW = 200

# Function that takes points and returns the objective and its gradient.
Objective: TypeAlias = Callable[[Array], tuple[float, Array]]
# Function that is called after each step with its number, the new value of the objective, and the decrease.
StepReport: TypeAlias = Callable[[int, float, float], None]


class Hydra(NamedTuple):
    """Lowest eigenvalues and eigenvectors of the matrix ``cosh D_ij``, from which the spectral solution is computed.

    The eigenvalues are stored with the opposite sign, and positive eigenvalues as 0. The eigenvectors are columns.
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, D: Array, d: int) -> Self:
        """Compute the d lowest eigenpairs of the matrix ``cosh D_ij``; D contains distances for curvature -1."""
        # BLAS is limited to one thread, because its results depend on the number of threads.
        with threadpool_limits(limits=1, user_api="blas"):
            values, vectors = _lowest(np.cosh(D), d)
        # The sign of an eigenvector is arbitrary, so its first coordinate that is not close to 0 is made positive.
        signs = np.sign(vectors[np.argmax(np.abs(vectors) > 1e-6 / np.sqrt(len(D)), axis=0), np.arange(d)])
        # The solvers return contiguous columns, but models loaded from files have contiguous rows. The memory order
        # affects the rounding of products. It is changed here, so that a loaded model embeds new points identically.
        return cls(np.maximum(-values, 0.0), np.ascontiguousarray(vectors * np.where(signs == 0, 1, signs)))

    @property
    def points(self) -> Array:
        """Points of the unit ball computed from the eigenpairs."""
        return _ball(self.vectors * np.sqrt(self.values))

    def extend(self, D: Array) -> Array:
        """Embed new points, given the distances D from each of them to the points of the spectral solution.

        A new point with the same distances as a point of the spectral solution is embedded at that point.
        """
        values = np.where(self.values > 0, self.values, np.inf)
        return _ball(-(np.cosh(D) @ self.vectors) / np.sqrt(values))


def _lowest(A: Array, d: int) -> tuple[Array, Array]:
    if len(A) > SMALL:
        try:
            values, vectors = eigsh(A, k=d, which="SA", v0=np.ones(len(A)))
            order = np.argsort(values)
            return values[order], vectors[:, order]
        except ArpackNoConvergence:
            pass  # Lanczos' method may fail if eigenvalues are nearly equal; the full decomposition below does not
    return eigh(A, subset_by_index=(0, d - 1))


def _ball(space: Array) -> Array:
    """Convert space-like coordinates X on the hyperboloid to points of the ball: ``X / (1 + √(1 + ‖X‖²))``."""
    lengths = np.linalg.norm(space, axis=1, keepdims=True)
    return project(space / (1 + np.hypot(1, lengths)))


class Descent(NamedTuple):
    """Result of a descent: the final points, the objective at the start and after each step, and how it ended.

    The status is "stalled" if the line search failed far from a minimum. This happens if points are so far out that
    float64 cannot represent the next step.
    """

    X: Array
    values: list[float]
    status: Literal["converged", "max_iter", "stalled"]

    def warn_if_not_converged(self, name: str, max_iter: int, advice: str) -> None:
        """Warn if the descent did not converge; if it stalled, the warning ends with ``advice``.

        The warning refers to the line that calls ``fit``. For this reason, ``fit`` must call this method directly.
        """
        if self.status == "converged":
            return
        if self.status == "max_iter":
            decrease = 1 - self.values[-1] / self.values[-2]
            problem = f" in {max_iter} steps: its relative decrease in the last step was {decrease:.1e}"
            advice = "Raise max_iter or tol."
        else:
            radius = 2 * np.arccosh(np.min(row_gaps(self.X, 1.0)) ** -0.5)
            problem = (
                f": after {len(self.values) - 1} steps, the line search found no lower value. The largest hyperbolic "
                f"radius is {radius:.3g}; at radii near 36, float64 is too coarse for short steps"
            )
        warnings.warn(f"The {name} did not converge{problem}.\n{advice}", ConvergenceWarning, stacklevel=3)


def descend(
    X: Array,
    objective: Objective,
    *,
    stiffness: float,
    tol: float,
    max_iter: int,
    report: StepReport = lambda step, value, gain: None,
) -> Descent:
    """Minimise a function of points with L-BFGS in at most ``max_iter`` steps.

    The descent ends early if a step decreases the value by at most ``tol`` times the new value, or if no further step
    is found. L-BFGS combines steps and gradients at different points. They are transported from one point to the next
    by keeping their frame coordinates; this preserves lengths and angles, because the frames are orthonormal.
    ``stiffness`` approximates the second derivative of the function with respect to one point; it determines the length
    of the first step.
    """
    value, gradient = objective(X)
    history = [value]
    steps: list[Array] = []
    changes: list[Array] = []
    for step in range(1, max_iter + 1):
        direction = _direction(gradient, steps, changes, stiffness)
        found = _search(X, objective, value, gradient, direction)
        if found is None:
            reached = _is_reached(X, value, gradient, direction, tol)
            return Descent(X, history, "converged" if reached else "stalled")
        X, moved, gain, (value, new) = found
        steps, changes = [*steps[1 - MEMORY :], moved], [*changes[1 - MEMORY :], new - gradient]
        gradient = new
        history.append(value)
        report(step, value, gain)
        if gain <= tol * value or value == 0:
            return Descent(X, history, "converged")
    return Descent(X, history, "max_iter")


def _is_reached(X: Array, value: float, gradient: Array, direction: Array, tol: float) -> bool:
    """Return whether a line search failed because the descent has reached a minimum.

    A minimum counts as reached if the predicted decrease is at most ``tol * value`` plus the rounding errors of the
    value and of the points. The predicted decrease is minus the slope along ``direction``, but at most ``value``.
    """
    promised = min(value, -float(np.vdot(gradient, direction)))
    slopes = np.linalg.norm(gradient, axis=1) / row_gaps(X, 1.0)
    return promised <= tol * value + ROUNDING * (value + float(np.sum(slopes)))


def _direction(gradient: Array, steps: list[Array], changes: list[Array], stiffness: float) -> Array:
    """Compute the L-BFGS direction with the two-loop recursion.

    Only pairs of a step s and a change y of the gradient with ``⟨s, y⟩ > 0`` are used.
    """
    pairs = [(s, y, float(np.vdot(s, y))) for s, y in zip(steps, changes, strict=True) if np.vdot(s, y) > 0]
    q, weights = gradient, []
    for s, y, product in reversed(pairs):
        weights.append(float(np.vdot(s, q)) / product)
        q = q - weights[-1] * y
    q = q * (pairs[-1][2] / float(np.vdot(pairs[-1][1], pairs[-1][1])) if pairs else 1 / stiffness)
    for (s, y, product), weight in zip(pairs, reversed(weights), strict=True):
        q = q + (weight - float(np.vdot(y, q)) / product) * s
    return -q


def _search(
    X: Array, objective: Objective, value: float, gradient: Array, direction: Array
) -> tuple[Array, Array, float, tuple[float, Array]] | None:
    """Run a backtracking line search; return the new points, the step, the decrease, and the new value and gradient.

    The result is None if the search fails.
    """
    slope = float(np.vdot(gradient, direction))
    # Steps are limited to length 1 (the radius of curvature), because the quadratic model of the objective is not valid
    # for longer steps.
    longest = float(np.max(np.linalg.norm(direction, axis=1)))
    if longest > 1:
        direction, slope = direction / longest, slope / longest
    for _ in range(MOST_HALVINGS):
        moved = step_along(direction * row_gaps(X, 1.0)[:, None] / 2, X)
        if np.min(row_gaps(moved, 1.0)) > SMALLEST_GAP:
            new = objective(moved)
            if new[0] <= value + ARMIJO * slope and new[0] < value:
                return moved, direction, value - new[0], new
        direction, slope = direction / 2, slope / 2
    return None


def map_blocks(kernel: Callable[[int, int], Any], n: int) -> list[Any]:
    """Return the results of ``kernel(k, BLOCKS)`` for all blocks k of n rows, computed in threads if n is large.

    Block k consists of the rows k, k + BLOCKS, k + 2 BLOCKS, and so on.
    """
    if n < FEW:
        return [kernel(block, BLOCKS) for block in range(BLOCKS)]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        return list(pool.map(lambda block: kernel(block, BLOCKS), range(BLOCKS)))
