"""Compiled loops that compute kernel values between points and landmarks.

All kernels are functions of ``t = cosh ρ - 1 = 2c‖x - y‖² / (g_x g_y)``, with the distance ρ in units of 1/√c, and the
gaps ``g_x = 1 - c‖x‖²`` and ``g_y = 1 - c‖y‖²``. Coordinates are multiplied by a power of two first, so that c is about
1 and no square loses digits to underflow or overflow.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import row_gaps
from hyplearn.numerics import exp, log1p
from hyplearn.types import Array

# Number of landmarks per block, chosen so that their coordinates and the kernel values of a point fit into the cache.
LANDMARKS = 512


def landmark_columns(landmarks: Array, c: float) -> Array:
    """Return a column for each landmark, with its scaled coordinates and the inverse of its gap."""
    columns = [_padded(_unit(c) * landmarks).T, 1.0 / row_gaps(landmarks, c)[None]]
    # The compiler can vectorise loops over landmarks if the values of each coordinate are contiguous in memory.
    return np.ascontiguousarray(np.concatenate(columns))


def fill_with_laplacian(X: Array, gaps: Array, columns: Array, c: float, power: float, out: Array) -> None:
    """Compute ``exp(-power ρ)`` for the distances ρ from the points X to the landmarks.

    The values are written to the first columns of ``out``, one column per landmark.
    """
    _fill(_laplacian, X, gaps, columns, c, out, power)


def fill_with_secant(X: Array, gaps: Array, columns: Array, c: float, power: float, out: Array) -> None:
    """Compute ``(cosh ρ)^-power`` for the distances ρ from the points X to the landmarks.

    The values are written to the first columns of ``out``, one column per landmark.
    """
    _fill(_secant, X, gaps, columns, c, out, power)


def fill_with_distances(X: Array, gaps: Array, columns: Array, c: float, out: Array) -> None:
    """Compute the distances ρ from the points X to the landmarks, in units of 1/√c.

    The values are written to the first columns of ``out``, one column per landmark.
    """
    _fill(_distances, X, gaps, columns, c, out)


def _fill(fill: Callable[..., None], X: Array, gaps: Array, columns: Array, c: float, out: Array, *power: Any) -> None:
    unit = _unit(c)
    fill(_padded(unit * X.astype(np.float64, copy=False)), 2.0 * (c / unit**2) / gaps, columns, *power, out)


def _padded(X: Array) -> Array:
    """Append columns of zeros, so that the number of columns is a multiple of four."""
    return np.pad(X, ((0, 0), (0, -X.shape[1] % 4)))


def _unit(c: float) -> float:
    """Return the power of two by which coordinates are multiplied, so that c becomes a number between 1/2 and 2."""
    return math.ldexp(1.0, math.frexp(c)[1] // 2)


# The compiler vectorises the loops over landmarks, because each loop uses only a few arrays. Numba inlines this
# function, because LLVM could not inline a version loaded from the cache.
@njit(inline="always", error_model="numpy")
def _rises(x, factor, columns, part, values):  # type: ignore[no-untyped-def]
    """Write ``t = factor ‖x - y‖² / g_y`` to ``values`` for each landmark y in the block ``part``; g_y is the gap of y.

    Squares are added in groups of four, which limits rounding errors.
    """
    for k in range(values.size):
        values[k] = 0.0
    for j in range(0, x.size, 4):
        y0, y1, y2, y3 = columns[j, part], columns[j + 1, part], columns[j + 2, part], columns[j + 3, part]
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for k in range(values.size):
            values[k] += ((y0[k] - x0) ** 2 + (y1[k] - x1) ** 2) + ((y2[k] - x2) ** 2 + (y3[k] - x3) ** 2)
    inverses = columns[-1, part]
    for k in range(values.size):
        values[k] *= factor * inverses[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _laplacian(X, factors, columns, power, out):  # type: ignore[no-untyped-def]
    m = columns.shape[1]
    for start in range(0, m, LANDMARKS):
        part = slice(start, min(m, start + LANDMARKS))
        for i in range(X.shape[0]):
            values = out[i, part]
            _rises(X[i], factors[i], columns, part, values)
            for k in range(values.size):
                values[k] = exp(-power * log1p(values[k] + math.sqrt(values[k] * (values[k] + 2.0))))


@njit(cache=True, nogil=True, error_model="numpy")
def _secant(X, factors, columns, power, out):  # type: ignore[no-untyped-def]
    m = columns.shape[1]
    for start in range(0, m, LANDMARKS):
        part = slice(start, min(m, start + LANDMARKS))
        for i in range(X.shape[0]):
            values = out[i, part]
            _rises(X[i], factors[i], columns, part, values)
            for k in range(values.size):
                values[k] = exp(-power * log1p(values[k]))


@njit(cache=True, nogil=True, error_model="numpy")
def _distances(X, factors, columns, out):  # type: ignore[no-untyped-def]
    m = columns.shape[1]
    for start in range(0, m, LANDMARKS):
        part = slice(start, min(m, start + LANDMARKS))
        for i in range(X.shape[0]):
            values = out[i, part]
            _rises(X[i], factors[i], columns, part, values)
            for k in range(values.size):
                values[k] = log1p(values[k] + math.sqrt(values[k] * (values[k] + 2.0)))
