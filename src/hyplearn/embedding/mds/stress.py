r"""Stress, the sum of the squared errors of distances, and its descent.

All of it in the ball of curvature -1. Tangent vectors are in frame coordinates, whose lengths are hyperbolic.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numba import get_num_threads, njit

from hyplearn.embedding import descent
from hyplearn.embedding.descent import Descent
from hyplearn.geometry import exp_map
from hyplearn.geometry.kernels import gap_of, gaps, shrink, squared_distance
from hyplearn.types import Array

# Parts in which pairs are dealt out to threads.
BLOCKS = 16


def normalised(value: float, D: Array, relative: bool) -> float:
    """Root of the stress by what it would be if all points were one; 0 where all distances are 0."""
    total = np.count_nonzero(D) / 2 if relative else float(np.sum(D**2)) / 2
    return math.sqrt(value / total) if total > 0 else 0.0


def stress_and_gradient(X: Array, D: Array, relative: bool) -> tuple[float, Array]:
    """``Σ_{i<j} (d(x_i, x_j) - D_ij)²`` and its gradient in frame coordinates; of errors by ``D_ij`` if relative.

    Rows are dealt out to blocks, which threads take; what blocks found is added in their order, so the number of
    threads does not count.
    """
    rooms = gaps(X, 1.0)
    gradients = np.zeros((BLOCKS, *X.shape))

    def value_of(block: int) -> float:
        return _pairs(X, rooms, D, relative, block, BLOCKS, gradients[block])

    with ThreadPoolExecutor(get_num_threads()) as pool:
        return sum(pool.map(value_of, range(BLOCKS))), gradients.sum(axis=0)


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(X, rooms, D, relative, first, stride, gradient):  # type: ignore[no-untyped-def]
    """Stress of the pairs i < j for every so many rows i; its gradient is added to ``gradient``.

    The gradient of an error by x_i is minus the unit vector ``(s - bend x_i) / norm`` towards x_j, ``s = x_j - x_i``.
    """
    n, d = X.shape
    value, bends = 0.0, np.zeros(n)
    for i in range(first, n, stride):
        for j in range(i + 1, n):
            square = squared_distance(X, j, X[i])
            error, sinh = _error(square / (rooms[i] * rooms[j]), D[i, j])
            weight = _weight(D[i, j], relative)
            value += weight * error * error
            # Two points in one place have no direction, and no gradient.
            if sinh > 0.0:
                pull = 4.0 * weight * error / sinh
                pull_i, pull_j = pull / rooms[j], pull / rooms[i]
                bends[i] += pull_i * square / rooms[i]
                bends[j] += pull_j * square / rooms[j]
                for k in range(d):
                    gradient[i, k] -= pull_i * (X[j, k] - X[i, k])
                    gradient[j, k] += pull_j * (X[j, k] - X[i, k])
    for i in range(n):
        for k in range(d):
            gradient[i, k] += bends[i] * X[i, k]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(due, relative):  # type: ignore[no-untyped-def]
    """Weight of a squared error: 1, or one by the squared distance; two points that are one have no relative error."""
    if not relative:
        return 1.0
    return 1.0 / (due * due) if due > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _error(u2, due):  # type: ignore[no-untyped-def]
    """``ρ - due`` and ``sinh ρ`` of the distance ρ with ``sinh²(ρ/2) = u2``."""
    sinh = 2.0 * math.sqrt(u2 * (1.0 + u2))
    return shrink(u2) * sinh - due, sinh


def descend(X: Array, D: Array, relative: bool, *, tol: float, max_iter: int) -> Descent:
    """Descend the stress by L-BFGS on the ball; stops when a step gains less than ``tol`` of it."""
    # What a mean distance weighs: the second derivative by a point is about 2 n of them.
    stiffness = 2 * len(X) * (_mean_weight(D) if relative else 1.0)
    objective = partial(stress_and_gradient, D=D, relative=relative)
    return descent.descend(X, objective, stiffness=stiffness, tol=tol, max_iter=max_iter)


def _mean_weight(D: Array) -> float:
    positive = D[D > 0]
    return float(np.mean(positive**-2.0)) if positive.size else 1.0


def place(D: Array, X: Array, relative: bool, *, max_iter: int = 100) -> Array:
    """Points with the given distances to the points X: of least stress, beginning at the nearest of X."""
    out = X[np.argmin(D, axis=1)].copy()
    rooms = gaps(X, 1.0)
    for row in range(len(D)):
        out[row] = _placed(D[row], X, rooms, relative, out[row], max_iter)
    return out


def _placed(due: Array, X: Array, rooms: Array, relative: bool, x: Array, max_iter: int) -> Array:
    """Gauss-Newton's method with Levenberg's damping: ``(U W Uᵀ + μ) v = U W r``, U the unit vectors."""
    value, matrix, vector = _equations(due, X, rooms, relative, x)
    size = float(np.trace(matrix))
    damping = 1e-3 * size
    for _ in range(max_iter if vector.any() else 0):
        step = np.linalg.solve(matrix + damping * np.eye(len(x)), vector)
        moved = exp_map(step * gaps(x[None], 1.0)[0] / 2, x)
        new = _equations(due, X, rooms, relative, moved)
        if new[0] < value:
            x, damping = moved, damping / 10
            value, matrix, vector = new
        else:
            damping *= 10
        if np.linalg.norm(step) < 1e-13 or damping > 1e12 * size:
            break
    return x


def _equations(due: Array, X: Array, rooms: Array, relative: bool, x: Array) -> tuple[float, Array, Array]:
    """``Σ w r²``, ``U W Uᵀ`` and ``U W r`` of the point x, r the errors of its distances, w their weights."""
    matrix, vector = np.zeros((len(x), len(x))), np.zeros(len(x))
    return _add_equations(due, X, rooms, relative, x, matrix, vector), matrix, vector


@njit(cache=True, error_model="numpy")
def _add_equations(due, X, rooms, relative, x, matrix, vector):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    room = gap_of(x.reshape(1, d), 0, x, 1.0)
    value, unit = 0.0, np.zeros(d)
    for j in range(X.shape[0]):
        square = squared_distance(X, j, x)
        error, sinh = _error(square / (room * rooms[j]), due[j])
        weight = _weight(due[j], relative)
        value += weight * error * error
        if sinh > 0.0:
            for k in range(d):
                unit[k] = 2.0 * ((X[j, k] - x[k]) - square / room * x[k]) / (rooms[j] * sinh)
            for k in range(d):
                vector[k] += weight * error * unit[k]
                for m in range(d):
                    matrix[k, m] += weight * unit[k] * unit[m]
    return value
