r"""Placement of new cells in a map: each one moves to a local minimum of its loss, and the old cells stay fixed.

Adding a new cell to the graph, with edges to its nearest neighbours, gives a row of accessibilities q. The new cell
adds the divergence of its own row to the sum of the divergences of all rows, and one entry to the row of each old cell
j. The accessibilities between old cells are treated as unchanged. The terms of the sum that depend on the point of the
new cell are then

.. math:: 2 \sum_j q_j f_j - F - \sum_j \frac{K_j (f_j - F_j)}{Z_j + K_j}, \qquad
          f_j = \ln q_j + \gamma d_j, \quad K_j = e^{-\gamma d_j}

where d_j is the distance of the new cell from the old cell j, and the sums run over the old cells. This expression is
called the loss of the new cell. As in :mod:`hyplearn.embedding.poincare_map.divergence`, F belongs to the row of the
new cell, and Z_j and F_j belong to the row of the old cell j, without the new cell.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, njit

from hyplearn.embedding.poincare_map.cells import edge_weights, neighbours_among, search_among
from hyplearn.embedding.poincare_map.divergence import Divergence, new_accessibilities
from hyplearn.geometry import kernels
from hyplearn.geometry.kernels import gap_of, row_gaps
from hyplearn.types import Array

# New cells are placed in blocks of BLOCK cells, to limit the memory for their rows of accessibilities. Each block is
# divided into tasks of SHARE cells, which run in parallel threads.
BLOCK = 512
SHARE = 32
# Newton's method stops after a step of hyperbolic length below SHORTEST_STEP, or after MOST_STEPS steps.
SHORTEST_STEP = 1e-9
MOST_STEPS = 100


class Fixed(NamedTuple):
    """Map of the old cells, which is fixed while new cells are placed.

    It consists of the transposed points, the inverse gaps of the points, Z and F of each row of accessibilities (see
    the module docstring), and gamma.
    """

    coordinates: Array
    over_gaps: Array
    Z: Array
    F: Array
    gamma: float

    @classmethod
    def of(cls, points: Array, Q: Array, gamma: float) -> "Fixed":
        """Build a fixed map from the points of the old cells and the matrix Q of their accessibilities."""
        Z, F = Divergence(Q, gamma).normalisers(points)
        return cls(np.ascontiguousarray(points.T), 1 / row_gaps(points, 1.0), Z, F, float(gamma))


class Landmarks(NamedTuple):
    """Cells already in the map: their features, their accessibilities, and their points in the ball of curvature -1."""

    cells: Array
    Q: Array
    points: Array

    def place(
        self,
        X: Array,
        *,
        n_neighbors: int,
        sigma: float | None,
        gamma: float,
        report: Callable[[int], None] = lambda done: None,
    ) -> Array:
        """Place new cells with the features X, and return their points."""
        search = search_among(self.cells, n_neighbors)
        settle = partial(_settle, self.points, Fixed.of(self.points, self.Q, gamma))
        points = np.empty((len(X), self.points.shape[1]))
        with ThreadPoolExecutor(get_num_threads()) as pool:
            for first in range(0, len(X), BLOCK):
                cells, distances = neighbours_among(search, X[first : first + BLOCK])
                q, own = new_accessibilities(self.Q, cells, edge_weights(distances, sigma))
                shares = [slice(k, k + SHARE) for k in range(0, len(q), SHARE)]
                found = pool.map(settle, [q[share] for share in shares], [own[share] for share in shares])
                points[first : first + BLOCK] = np.concatenate(list(found))
                report(min(first + BLOCK, len(X)))
        return points


def _settle(points: Array, fixed: Fixed, q: Array, own: Array) -> Array:
    """Return a point for each new cell: a local minimum of the loss of this cell.

    The search starts at the point of the old cell that has the highest accessibility from the new cell.
    """
    # The loss has a cusp at every old cell, but in experiments no search ended at a cusp. Searches that start at
    # weighted midpoints of the neighbours, or at each neighbour in turn, reach a smaller loss for a fifth to a third of
    # the new cells, but this does not increase the number of cells that are classified correctly.
    out = points[np.argmax(q, axis=1)]
    _minimise(fixed, q, np.log(q), own, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _minimise(fixed, q, log_q, own, out):  # type: ignore[no-untyped-def]
    """Move the point of each new cell, a row of ``out``, to a local minimum of its loss with damped Newton steps."""
    d, gamma = len(fixed.coordinates), fixed.gamma
    for row in range(len(out)):
        x = out[row].copy()
        value, hessian, downhill = loss_at(fixed, q[row], log_q[row], own[row], x)
        damping = gamma * gamma
        for _ in range(MOST_STEPS):
            step = np.linalg.solve(hessian + damping * np.eye(d), downhill)
            length = math.sqrt(np.sum(step * step))
            # Steps are limited to length 1 (the radius of curvature), because the quadratic model of the loss is not
            # valid for longer steps.
            if length > 1.0:
                step /= length
            moved = walk(x, step)
            new = loss_at(fixed, q[row], log_q[row], own[row], moved)
            if new[0] < value:
                x, damping = moved, damping / 10.0
                value, hessian, downhill = new
            else:
                damping *= 10.0
            if length < SHORTEST_STEP:
                break
        out[row] = x


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def loss_at(fixed, q, log_q, own, x):  # type: ignore[no-untyped-def]
    """Compute the loss of a new cell at x, and its Hessian and negative gradient in frame coordinates at x.

    All sums run over the old cells. For an old cell at distance d from x:

    - u is the unit vector from x towards the old cell, and ``K = e^(-γ d)`` is the kernel value.
    - q is the accessibility of the old cell from the new cell, and ``f = log q - log K``.
    - Z is the sum of the kernel values in the row of the old cell, and F_j is the mean of f in this row, weighted with
      the kernel values. Neither includes the new cell.
    - ``p = K / (1 + Σ K)`` is the probability of the old cell in the row of the new cell, and ``p' = K / (Z + K)`` is
      the probability of the new cell in the row of the old cell.

    F is the mean of f in the row of the new cell, weighted with the kernel values. It includes the new cell itself,
    which has K = 1 and ``f = log own``, where ``own`` is the accessibility of the new cell from itself. With
    ``e = f - F``, ``e' = (1 - p') (f - F_j)``, ``ū = Σ p u``, ``v = Σ p (e - 1) u`` and the slopes
    ``s = 2 q + p (e - 1) + p' (e' - 1)``, the derivatives are

        gradient = -γ Σ s u
        Hessian = γ Σ s coth(d) (I - u uᵀ) + γ² (Σ (p (2 - e) + p' (1 - (1 - 2p')(e' - 1))) u uᵀ + v ūᵀ + ū vᵀ)
    """
    Z, F, gamma = fixed.Z, fixed.F, fixed.gamma
    d, n = fixed.coordinates.shape
    t, units = _towards(fixed.coordinates, fixed.over_gaps, x)
    kernel, f = np.empty(n), np.empty(n)
    for j in range(n):
        power = -gamma * math.log(1.0 + t[j] + math.sqrt(t[j] * (t[j] + 2.0)))
        kernel[j], f[j] = math.exp(power), log_q[j] - power
    new_Z, new_ZF, value = 1.0, math.log(own), 0.0
    for j in range(n):
        new_Z += kernel[j]
        new_ZF += kernel[j] * f[j]
        value += 2.0 * q[j] * f[j] - kernel[j] * (f[j] - F[j]) / (Z[j] + kernel[j])
    new_F = new_ZF / new_Z
    around, slopes, alongs = 0.0, np.empty(n), np.empty(n)
    for j in range(n):
        p, e = kernel[j] / new_Z, f[j] - new_F
        old_p = kernel[j] / (Z[j] + kernel[j])
        old_e = (1.0 - old_p) * (f[j] - F[j])
        slopes[j] = gamma * (2.0 * q[j] + p * (e - 1.0) + old_p * (old_e - 1.0))
        curl = slopes[j] * (1.0 + t[j]) / math.sqrt(t[j] * (t[j] + 2.0)) if t[j] > 0.0 else 0.0
        around += curl
        alongs[j] = gamma * gamma * (p * (2.0 - e) + old_p * (1.0 - (1.0 - 2.0 * old_p) * (old_e - 1.0))) - curl
    hessian, downhill, mean, turned = np.zeros((d, d)), np.zeros(d), np.zeros(d), np.zeros(d)
    for k in range(d):
        down, middle, turn = 0.0, 0.0, 0.0
        for j in range(n):
            down += slopes[j] * units[k, j]
            middle += kernel[j] * units[k, j]
            turn += kernel[j] * (f[j] - new_F - 1.0) * units[k, j]
        downhill[k], mean[k], turned[k] = down, gamma * middle / new_Z, gamma * turn / new_Z
    for k in range(d):
        for m in range(k + 1):
            total = turned[k] * mean[m] + mean[k] * turned[m]
            for j in range(n):
                total += alongs[j] * units[k, j] * units[m, j]
            hessian[k, m] = hessian[m, k] = total
        hessian[k, k] += around
    return value - new_F, hessian, downhill


@njit(cache=True, nogil=True, error_model="numpy")
def _towards(coordinates, over_gaps, x):  # type: ignore[no-untyped-def]
    """Return ``cosh d - 1`` for the distances d from x to all points, and the unit vectors from x towards the points.

    The unit vectors are given in frame coordinates, as columns. For a point equal to x, the vector is zero.
    """
    d, n = coordinates.shape
    over_gap = 1.0 / gap_of(x.reshape(1, d), 0, x, 1.0)
    square, t, units = np.zeros(n), np.empty(n), np.empty((d, n))
    for k in range(d):
        for j in range(n):
            s = coordinates[k, j] - x[k]
            square[j] += s * s
    for j in range(n):
        t[j] = 2.0 * square[j] * (over_gaps[j] * over_gap)
    for k in range(d):
        for j in range(n):
            sinh = math.sqrt(t[j] * (t[j] + 2.0)) if t[j] > 0.0 else np.inf
            s = coordinates[k, j] - x[k] - square[j] * over_gap * x[k]
            units[k, j] = 2.0 * s * over_gaps[j] / sinh
    return t, units


@njit(cache=True, nogil=True, error_model="numpy")
def walk(x, v):  # type: ignore[no-untyped-def]
    """Return the end of the geodesic that starts at x in the direction of v and has the length ‖v‖.

    The vector v is given in frame coordinates at x, so its Euclidean length is a hyperbolic length.
    """
    length = math.sqrt(np.sum(v * v))
    return kernels.walk(x, v / length, length) if length > 0.0 else x.copy()
