r"""How far the neighbourhoods of points are from given ones: the symmetric Kullback-Leibler divergence of their rows.

Row i of the given Q is compared with the softmax of hyperbolic distances :math:`p_{ij} = e^{-\gamma d_{ij}} / Z_i`,
over all j, i itself among them, so that :math:`1 \le Z_i \le n`. As both add up to 1, :math:`\ln Z_i` falls out of the
sum:

.. math:: \sum_j (q_{ij} - p_{ij}) \ln \frac{q_{ij}}{p_{ij}} = \sum_j q_{ij} f_{ij} - F_i, \qquad
          f_{ij} = \ln q_{ij} + \gamma d_{ij}, \quad F_i = \sum_j p_{ij} f_{ij}

with the derivative :math:`\gamma \, (q_{ij} - p_{ij} + p_{ij} (f_{ij} - F_i))` by :math:`d_{ij}`. Exaggerated by α, the
first sum, which draws neighbours together, counts α times.

Rows of the triangle above the diagonal of a symmetric matrix are stored one after the other ("packed").
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numba import get_num_threads, njit

from hyplearn.geometry.kernels import gaps
from hyplearn.types import Array

# Parts in which rows are dealt out to threads; sums of parts are added in their order, so threads do not count.
BLOCKS = 16
# Points for whose pairs it takes longer to start a thread than to do without.
FEW = 200


class Divergence:
    """The mean divergence of the rows of a symmetric Q, as a function of points.

    It keeps four float64 numbers for each pair of points: 16 n² bytes.
    """

    def __init__(self, Q: Array, gamma: float) -> None:
        self.n, self.gamma = len(Q), float(gamma)
        self.q = np.concatenate([Q[i, i + 1 :] for i in range(self.n)])
        self.log_q = np.log(self.q)
        self.own = np.diagonal(Q).copy()
        self._f, self._kernel = np.empty_like(self.q), np.empty_like(self.q)

    def value_and_gradient(self, X: Array, exaggeration: float = 1.0) -> tuple[float, Array]:
        """Mean divergence of the rows, and its gradient in frame coordinates."""
        points = np.ascontiguousarray(X.T), 1 / gaps(X, 1.0)
        Z, F, attraction = self._rows(*points)
        slopes = partial(_row_slopes, *points, self.q, self._f, self._kernel, 1 / Z, F, self.gamma, exaggeration)
        gradient = self._over_blocks(slopes)
        return float(np.mean(exaggeration * attraction - F)), np.ascontiguousarray(gradient.T) / self.n

    def normalisers(self, X: Array) -> tuple[Array, Array]:
        """Z and F of every row."""
        return self._rows(np.ascontiguousarray(X.T), 1 / gaps(X, 1.0))[:2]

    def _rows(self, coordinates: Array, over_gaps: Array) -> tuple[Array, Array, Array]:
        """Z, F and ``Σ q f`` of every row, whose own pair adds 1 to Z and ``ln q`` to Z F."""
        sums = partial(_row_sums, coordinates, over_gaps, self.q, self.log_q, self.gamma, self._f, self._kernel)
        Z, ZF, attraction = self._over_blocks(sums)
        log_own = np.log(self.own)
        return 1 + Z, (log_own + ZF) / (1 + Z), self.own * log_own + attraction

    def _over_blocks(self, kernel: Callable[[int, int], Array]) -> Array:
        """The sum of what a kernel gives for each block of rows."""
        if self.n < FEW:
            parts = [kernel(block, BLOCKS) for block in range(BLOCKS)]
        else:
            with ThreadPoolExecutor(get_num_threads()) as pool:
                parts = list(pool.map(lambda block: kernel(block, BLOCKS), range(BLOCKS)))
        return sum(parts[1:], parts[0])


@njit(cache=True, nogil=True, error_model="numpy")
def _cosh_less_one(coordinates, over_gaps, i, square, t):  # type: ignore[no-untyped-def]
    """``‖x_i - x_j‖²`` and ``cosh d_ij - 1`` for all j > i."""
    d, n = coordinates.shape
    m = n - i - 1
    for k in range(m):
        square[k] = 0.0
    for axis in range(d):
        x = coordinates[axis]
        for k in range(m):
            s = x[i + 1 + k] - x[i]
            square[k] += s * s
    for k in range(m):
        t[k] = 2.0 * square[k] * (over_gaps[i] * over_gaps[i + 1 + k])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _row_sums(coordinates, over_gaps, q, log_q, gamma, f, kernel, first, stride):  # type: ignore[no-untyped-def]
    """Of every so many rows: f and ``exp(-γ d)`` of its pairs, and their part in the rows' Z, Z F and ``Σ q f``."""
    n = coordinates.shape[1]
    sums = np.zeros((3, n))
    Z, ZF, A = sums[0], sums[1], sums[2]
    square, t = np.empty(n), np.empty(n)
    for i in range(first, n, stride):
        m, at = n - i - 1, i * n - i * (i + 1) // 2
        _cosh_less_one(coordinates, over_gaps, i, square, t)
        for k in range(m):
            t[k] = 1.0 + t[k] + math.sqrt(t[k] * (t[k] + 2.0))
        for k in range(m):
            power = -gamma * math.log(t[k])
            f[at + k] = log_q[at + k] - power
            kernel[at + k] = math.exp(power)
        z, zf, a = 0.0, 0.0, 0.0
        for k in range(m):
            near, weighted, drawn = kernel[at + k], kernel[at + k] * f[at + k], q[at + k] * f[at + k]
            z += near
            zf += weighted
            a += drawn
            Z[i + 1 + k] += near
            ZF[i + 1 + k] += weighted
            A[i + 1 + k] += drawn
        Z[i] += z
        ZF[i] += zf
        A[i] += a
    return sums


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _row_slopes(coordinates, over_gaps, q, f, kernel, over_Z, F, gamma, exaggeration, first, stride):  # type: ignore[no-untyped-def]
    """Gradient of the sum of all rows, by the pairs of every so many rows.

    As x_i moves, d grows along minus the unit vector towards x_j, ``2 (s - ‖s‖² x_i / g_i) / (g_j sinh d)`` with
    ``s = x_j - x_i`` and the gaps g.
    """
    d, n = coordinates.shape
    gradient, bends = np.zeros((d, n)), np.zeros(n)
    square, t, pull = np.empty(n), np.empty(n), np.empty(n)
    for i in range(first, n, stride):
        m, at = n - i - 1, i * n - i * (i + 1) // 2
        _cosh_less_one(coordinates, over_gaps, i, square, t)
        for k in range(m):
            j = i + 1 + k
            p_i, p_j = kernel[at + k] * over_Z[i], kernel[at + k] * over_Z[j]
            excess = f[at + k] - 1.0
            slope = 2.0 * exaggeration * q[at + k] + p_i * (excess - F[i]) + p_j * (excess - F[j])
            # Two points in one place have no direction, and no gradient.
            sinh = math.sqrt(t[k] * (t[k] + 2.0)) if t[k] > 0.0 else np.inf
            pull[k] = 2.0 * gamma * slope / sinh
        bend = 0.0
        for k in range(m):
            j = i + 1 + k
            turn = pull[k] * square[k] * over_gaps[i] * over_gaps[j]
            bend += turn
            bends[j] += turn
        bends[i] += bend
        for axis in range(d):
            x, along = coordinates[axis], 0.0
            for k in range(m):
                j = i + 1 + k
                s = pull[k] * (x[j] - x[i])
                along += s * over_gaps[j]
                gradient[axis, j] += s * over_gaps[i]
            gradient[axis, i] -= along
    for axis in range(d):
        for i in range(n):
            gradient[axis, i] += bends[i] * coordinates[axis, i]
    return gradient
