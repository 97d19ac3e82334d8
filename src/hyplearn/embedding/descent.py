r"""Embedding in the ball of curvature -1 by descent: L-BFGS along geodesics, which starts at a spectral solution.

Points of the hyperboloid satisfy :math:`\cosh d_{ij} = X^0_i X^0_j - \langle X_i, X_j \rangle`. The matrix of the
hyperbolic cosines of their distances therefore has one positive eigenvalue, which gives the first coordinate, and one
negative eigenvalue per dimension of the space. The negative eigenvalues give the other coordinates (Keller-Ressel and
Nargang, "Hydra", 2020).

Tangent vectors are given in frame coordinates, in which the Euclidean length of a vector equals its hyperbolic length.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self, TypeAlias

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
# Number of steps that L-BFGS stores, for which 10 is the usual value. Each step takes two arrays of the size of X.
MEMORY = 10
# Maximum number of times that a step is halved before the descent stops. The last step is 1e-9 times the first.
MOST_HALVINGS = 30
# Fraction of the linear decrease that a step must achieve, which is the usual constant of Armijo's rule.
ARMIJO = 1e-4
# Smallest gap of a point. The minimum may lie farther out, but float64 does not resolve points with a smaller gap, so
# steps to such points are rejected.
SMALLEST_GAP = 4 * np.finfo(np.float64).eps

# Number of blocks into which rows are divided for threads. It is fixed, and sums over blocks are added in order, so
# that results do not depend on the number of threads.
BLOCKS = 16
# Number of points below which no threads are used, because starting them takes longer than it saves.
FEW = 200

# Function that takes points and returns the objective and its gradient.
Objective: TypeAlias = Callable[[Array], tuple[float, Array]]
# Function that is called after each step with the number of the step, the new value, and the decrease.
StepReport: TypeAlias = Callable[[int, float, float], None]


class Hydra(NamedTuple):
    """Eigenpairs that define the points of the spectral solution: negated eigenvalues, and eigenvectors as columns."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, D: Array, d: int) -> Self:
        """Compute the d lowest eigenvalues of cosh(D) and their eigenvectors, for distances D in curvature -1."""
        # BLAS is limited to one thread, because its results depend on the number of threads.
        with threadpool_limits(limits=1, user_api="blas"):
            values, vectors = _lowest(np.cosh(D), d)
        # The sign of an eigenvector is arbitrary, so its first nonzero coordinate is made positive.
        signs = np.sign(vectors[np.argmax(np.abs(vectors) > 1e-6 / np.sqrt(len(D)), axis=0), np.arange(d)])
        # LAPACK returns contiguous columns. They are converted to contiguous rows, as in a loaded model file, because
        # the memory order changes the rounding of products.
        return cls(np.maximum(-values, 0.0), np.ascontiguousarray(vectors * np.where(signs == 0, 1, signs)))

    @property
    def points(self) -> Array:
        """Points of the unit ball computed from the eigenpairs."""
        return _ball(self.vectors * np.sqrt(self.values))

    def extend(self, D: Array) -> Array:
        """Embed new points, given their distances to the old points.

        If the distances are those of an old point to all old points, the result is the old point itself.
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
            pass  # Lanczos' method may fail for nearly equal eigenvalues; the full decomposition does not
    return eigh(A, subset_by_index=(0, d - 1))


def _ball(space: Array) -> Array:
    """Convert space-like coordinates X on the hyperboloid to points of the ball: ``X / (1 + √(1 + ‖X‖²))``."""
    lengths = np.linalg.norm(space, axis=1, keepdims=True)
    return project(space / (1 + np.hypot(1, lengths)))


class Descent(NamedTuple):
    """Result of a descent: the final points, the values at the start and after each step, and whether it converged."""

    X: Array
    values: list[float]
    converged: bool

    def warn_if_not_converged(self, name: str, max_iter: int) -> None:
        """Warn if the descent did not converge in max_iter steps.

        The warning refers to the line that calls ``fit``, so this method must be called directly in ``fit``.
        """
        if not self.converged:
            warnings.warn(
                f"The {name} did not converge in {max_iter} steps: its relative decrease in the last step was "
                f"{1 - self.values[-1] / self.values[-2]:.1e}.\nRaise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


def descend(
    X: Array,
    objective: Objective,
    *,
    stiffness: float,
    tol: float,
    max_iter: int,
    report: StepReport = lambda step, value, gain: None,
) -> Descent:
    """Minimise a function of points with L-BFGS, until a step decreases the value by less than ``tol`` times the value.

    L-BFGS combines steps and gradients from different points. Steps and gradients keep their frame coordinates when
    they are transported from one point to another; this is isometric, because the frames are orthonormal. ``stiffness``
    approximates the second derivative with respect to one point; it determines the length of the first step.
    """
    value, gradient = objective(X)
    history = [value]
    steps: list[Array] = []
    changes: list[Array] = []
    for step in range(1, max_iter + 1):
        direction = _direction(gradient, steps, changes, stiffness)
        found = _search(X, objective, value, gradient, direction)
        if found is None:
            return Descent(X, history, True)
        X, moved, gain, (value, new) = found
        steps, changes = [*steps[1 - MEMORY :], moved], [*changes[1 - MEMORY :], new - gradient]
        gradient = new
        history.append(value)
        report(step, value, gain)
        if gain <= tol * value or value == 0:
            return Descent(X, history, True)
    return Descent(X, history, False)


def _direction(gradient: Array, steps: list[Array], changes: list[Array], stiffness: float) -> Array:
    """Compute the L-BFGS direction with the two-loop recursion.

    Only the steps s and gradient changes y with ``⟨s, y⟩ > 0`` are used.
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
    """Return the points, step, decrease, value and gradient of a backtracking line search, or None if it fails."""
    slope = float(np.vdot(gradient, direction))
    # Steps are limited to the radius of curvature, because the quadratic model is not valid for longer steps.
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
    """Compute ``kernel(block, BLOCKS)`` in threads for all blocks; block k has the rows k, k + BLOCKS, and so on."""
    if n < FEW:
        return [kernel(block, BLOCKS) for block in range(BLOCKS)]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        return list(pool.map(lambda block: kernel(block, BLOCKS), range(BLOCKS)))
