"""Stress, the sum of squared errors of distances in the ball of curvature -1, and its minimisation.

Tangent vectors are in frame coordinates, whose Euclidean lengths are hyperbolic lengths.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numba import get_num_threads, njit

from hyplearn.embedding import descent
from hyplearn.embedding.descent import Descent
from hyplearn.geometry import exp_map
from hyplearn.geometry.kernels import gap_of, row_gaps, shrink, squared_distance
from hyplearn.types import Array

# Blocks of rows for threads. Fixed, and summed in order, so the number of threads changes no bit.
BLOCKS = 16


def normalise(value: float, D: Array, relative: bool) -> float:
    """Square root of the ratio of a stress to that of coincident points; 0 if all distances are 0."""
    total = np.count_nonzero(D) / 2 if relative else float(np.sum(D**2)) / 2
    return math.sqrt(value / total) if total > 0 else 0.0


def stress_and_gradient(X: Array, D: Array, relative: bool) -> tuple[float, Array]:
    """Stress ``Σ_{i<j} (d(x_i, x_j) - D_ij)²`` and its gradient in frame coordinates.

    Relative errors are divided by ``D_ij``.
    """
    gaps = row_gaps(X, 1.0)
    gradients = np.zeros((BLOCKS, *X.shape))

    def block_stress(block: int) -> float:
        return _pairs(X, gaps, D, relative, block, BLOCKS, gradients[block])

    with ThreadPoolExecutor(get_num_threads()) as pool:
        return sum(pool.map(block_stress, range(BLOCKS))), gradients.sum(axis=0)


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(X, gaps, D, relative, first, stride, gradient):  # type: ignore[no-untyped-def]
    """Stress of the pairs i < j for every ``stride``-th row i; adds its gradient to ``gradient``.

    The gradient of an error with respect to x_i is minus the unit vector ``(s - bend x_i) / norm`` towards x_j, where
    ``s = x_j - x_i``.
    """
    n, d = X.shape
    value, bends = 0.0, np.zeros(n)
    for i in range(first, n, stride):
        for j in range(i + 1, n):
            square = squared_distance(X, j, X[i])
            error, sinh = _error(square / (gaps[i] * gaps[j]), D[i, j])
            weight = _weight(D[i, j], relative)
            value += weight * error * error
            # Coincident points have no direction and contribute no gradient.
            if sinh > 0.0:
                pull = 4.0 * weight * error / sinh
                pull_i, pull_j = pull / gaps[j], pull / gaps[i]
                bends[i] += pull_i * square / gaps[i]
                bends[j] += pull_j * square / gaps[j]
                for k in range(d):
                    gradient[i, k] -= pull_i * (X[j, k] - X[i, k])
                    gradient[j, k] += pull_j * (X[j, k] - X[i, k])
    for i in range(n):
        for k in range(d):
            gradient[i, k] += bends[i] * X[i, k]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(due, relative):  # type: ignore[no-untyped-def]
    """Weight of a squared error: 1, or one over the squared distance if relative, and then 0 for distance 0."""
    if not relative:
        return 1.0
    return 1.0 / (due * due) if due > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _error(u2, due):  # type: ignore[no-untyped-def]
    """``ρ - due`` and ``sinh ρ`` for the distance ρ with ``sinh²(ρ/2) = u2``."""
    sinh = 2.0 * math.sqrt(u2 * (1.0 + u2))
    return shrink(u2) * sinh - due, sinh


def descend(X: Array, D: Array, relative: bool, *, tol: float, max_iter: int) -> Descent:
    """Minimise the stress with L-BFGS, until a step decreases it by less than ``tol`` times the stress."""
    # The second derivative with respect to a point is about 2n times the mean weight.
    stiffness = 2 * len(X) * (_mean_weight(D) if relative else 1.0)
    objective = partial(stress_and_gradient, D=D, relative=relative)
    return descent.descend(X, objective, stiffness=stiffness, tol=tol, max_iter=max_iter)


def _mean_weight(D: Array) -> float:
    positive = D[D > 0]
    return float(np.mean(positive**-2.0)) if positive.size else 1.0


def place(D: Array, X: Array, relative: bool, *, max_iter: int = 100) -> Array:
    """Points of smallest stress for given distances to the points X, each searched from the nearest of X."""
    out = X[np.argmin(D, axis=1)].copy()
    gaps = row_gaps(X, 1.0)
    for row in range(len(D)):
        out[row] = _place_row(D[row], X, gaps, relative, out[row], max_iter)
    return out


def _place_row(due: Array, X: Array, gaps: Array, relative: bool, x: Array, max_iter: int) -> Array:
    """Gauss-Newton's method with Levenberg's damping: ``(U W Uᵀ + μ) v = U W r``, with unit vectors U."""
    value, matrix, vector = _equations(due, X, gaps, relative, x)
    size = float(np.trace(matrix))
    damping = 1e-3 * size
    for _ in range(max_iter if vector.any() else 0):
        step = np.linalg.solve(matrix + damping * np.eye(len(x)), vector)
        moved = exp_map(step * row_gaps(x[None], 1.0)[0] / 2, x)
        new = _equations(due, X, gaps, relative, moved)
        if new[0] < value:
            x, damping = moved, damping / 10
            value, matrix, vector = new
        else:
            damping *= 10
        if np.linalg.norm(step) < 1e-13 or damping > 1e12 * size:
            break
    return x


def _equations(due: Array, X: Array, gaps: Array, relative: bool, x: Array) -> tuple[float, Array, Array]:
    """``Σ w r²``, ``U W Uᵀ`` and ``U W r`` at the point x, for errors r of its distances and their weights w."""
    matrix, vector = np.zeros((len(x), len(x))), np.zeros(len(x))
    return _add_equations(due, X, gaps, relative, x, matrix, vector), matrix, vector


@njit(cache=True, error_model="numpy")
def _add_equations(due, X, gaps, relative, x, matrix, vector):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    gap = gap_of(x.reshape(1, d), 0, x, 1.0)
    value, unit = 0.0, np.zeros(d)
    for j in range(X.shape[0]):
        square = squared_distance(X, j, x)
        error, sinh = _error(square / (gap * gaps[j]), due[j])
        weight = _weight(due[j], relative)
        value += weight * error * error
        if sinh > 0.0:
            for k in range(d):
                unit[k] = 2.0 * ((X[j, k] - x[k]) - square / gap * x[k]) / (gaps[j] * sinh)
            for k in range(d):
                vector[k] += weight * error * unit[k]
                for m in range(d):
                    matrix[k, m] += weight * unit[k] * unit[m]
    return value
