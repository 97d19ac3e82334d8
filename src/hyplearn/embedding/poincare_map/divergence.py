r"""Loss of a map: divergence between neighbourhoods of cells in the graph and neighbourhoods of points in the ball.

The neighbourhoods in a graph are its relative forest accessibilities. For a connected graph with symmetric weights and
the Laplacian L, they are the entries of :math:`Q = (I + L)^{-1}`. They are positive, and every row of Q sums to 1. The
logarithmic forest distance (Chebotarev, 2011),

.. math:: D_{ij} = \tfrac12 \ln \frac{q_{ii} q_{jj}}{q_{ij}^2},

is a metric on the nodes of the graph. Q is computed by elimination in I + L and back substitution. Off the diagonal,
both only add numbers of the same sign, so nothing cancels. Every computed entry of Q is therefore positive and accurate
to nearly all digits, however small it is.

The neighbourhoods of points are softmaxes of hyperbolic distances, :math:`p_{ij} = e^{-\gamma d_{ij}} / Z_i` over all j
including i, so that :math:`1 \le Z_i \le n`. The loss of row i is the symmetric Kullback-Leibler divergence between
row i of q and row i of p. Both rows sum to 1, so :math:`\ln Z_i` cancels:

.. math:: \sum_j (q_{ij} - p_{ij}) \ln \frac{q_{ij}}{p_{ij}} = \sum_j q_{ij} f_{ij} - F_i, \qquad
          f_{ij} = \ln q_{ij} + \gamma d_{ij}, \quad F_i = \sum_j p_{ij} f_{ij}

Its derivative with respect to :math:`d_{ij}` is :math:`\gamma \, (q_{ij} - p_{ij} + p_{ij} (f_{ij} - F_i))`.
Exaggeration multiplies the term :math:`\sum_j q_{ij} f_{ij}`, whose gradient attracts neighbours to each other.

Matrices of values for all pairs of points are symmetric. They are stored "packed": the elements above the diagonal, row
by row.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.csgraph import laplacian
from threadpoolctl import threadpool_limits

from hyplearn.embedding.descent import map_blocks
from hyplearn.geometry.kernels import row_gaps
from hyplearn.types import Array


def forest_accessibilities(graph: Any) -> Array:
    """Compute ``(I + L)⁻¹`` as a dense matrix, for the Laplacian L of a connected graph with symmetric weights."""
    n = graph.shape[0]
    matrix = np.asfortranarray(laplacian(graph).toarray())
    matrix[np.diag_indices(n)] += 1.0
    # BLAS is limited to one thread, because its results depend on the number of threads.
    with threadpool_limits(limits=1, user_api="blas"):
        root, _ = dpotrf(matrix, lower=1, overwrite_a=1)
        Q, _ = dpotri(root, lower=1, overwrite_c=1)
    for i in range(n):
        Q[i, i + 1 :] = Q[i + 1 :, i]
    if not Q.min() > 0:
        raise ValueError(
            f"Some of the {n} cells are so far apart along the graph that their accessibility underflows float64."
            "\nRaise sigma or n_neighbors."
        )
    # LAPACK returns an array with contiguous columns. Q is symmetric, so its transpose is the same matrix with
    # contiguous rows.
    return Q.T


def forest_distances(Q: Array) -> Array:
    """Compute the logarithmic forest distances ``ln(q_ii q_jj / q_ij²) / 2`` from the accessibilities q_ij in Q."""
    D = np.log(Q)
    own = np.diagonal(D) / 2
    np.subtract(own[:, None], D, out=D)
    D += own
    np.fill_diagonal(D, 0.0)
    return np.maximum(D, 0.0, out=D)


def new_accessibilities(Q: Array, neighbours: Array, weights: Array) -> tuple[Array, Array]:
    r"""Compute the accessibilities of new nodes, each of which is added to the graph separately.

    Return two arrays: the accessibilities between each new node and all old nodes, with a row per new node, and the
    accessibility of each new node from itself. For a new node that has edges with the weights w to the old nodes N, the
    row and the accessibility of the node from itself are

    .. math:: \frac{z^T Q_N}{1 + \sum_j z_j} \quad \text{and} \quad \frac{1}{1 + \sum_j z_j},
              \qquad \text{where} \quad (\operatorname{diag}(w)^{-1} + Q_{NN}) \, z = 1.

    Here :math:`Q_N` contains the rows of Q for the nodes N, and :math:`Q_{NN}` the columns of :math:`Q_N` for these
    nodes. This follows from Woodbury's formula for the inverse of the enlarged matrix I + L. All elements of z are
    positive. For new node i, row i of ``neighbours`` contains N, and row i of ``weights`` contains w.
    """
    among = Q[neighbours[:, :, None], neighbours[:, None, :]]
    diagonal = np.arange(neighbours.shape[1])
    among[:, diagonal, diagonal] += 1 / weights
    z = np.linalg.solve(among, np.ones((*neighbours.shape, 1)))[:, :, 0]
    own = 1 / (1 + z.sum(axis=1))
    return np.stack([own[i] * (z[i] @ Q[neighbours[i]]) for i in range(len(z))]), own


class Pairs(NamedTuple):
    """Packed arrays with one element per pair of points, from which the loss is computed, and the factor gamma.

    ``q`` contains the accessibilities, and ``log_q`` their logarithms. ``f`` and ``kernel`` are buffers: each
    evaluation of the loss writes ``ln q + γ d`` and ``exp(-γ d)`` to them, where d are the distances of the pairs.
    """

    q: Array
    log_q: Array
    gamma: float
    f: Array
    kernel: Array


class Divergence:
    """Loss of a map as a function of its n points, for given accessibilities Q.

    The loss is the mean of the losses of the rows, as defined in the module docstring: the divergences between the rows
    of Q and the rows of softmaxes of distances between the points. An object takes about 16 n² bytes of memory, in
    addition to Q.
    """

    def __init__(self, Q: Array, gamma: float) -> None:
        self.n = len(Q)
        q = np.concatenate([Q[i, i + 1 :] for i in range(self.n)])
        self.pairs = Pairs(q, np.log(q), float(gamma), np.empty_like(q), np.empty_like(q))
        self.own = np.diagonal(Q).copy()

    def value_and_gradient(self, X: Array, exaggeration: float = 1.0) -> tuple[float, Array]:
        """Compute the mean divergence of the rows, and its gradient in frame coordinates.

        In frame coordinates, the Euclidean length of a tangent vector equals its hyperbolic length.
        """
        points = _by_coordinates(X)
        Z, F, attraction = self._rows(points)
        slopes = partial(_row_slopes, points, self.pairs, 1 / Z, F, exaggeration)
        gradient = self._over_blocks(slopes)
        return float(np.mean(exaggeration * attraction - F)), np.ascontiguousarray(gradient.T) / self.n

    def normalisers(self, X: Array) -> tuple[Array, Array]:
        """Compute the sum Z and the mean F of every row, as defined in the module docstring."""
        return self._rows(_by_coordinates(X))[:2]

    def _rows(self, points: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        """Compute Z, F and ``Σ q f`` of every row, as defined in the module docstring.

        The packed arrays do not contain the pair (i, i) of row i. Its terms are added separately: 1 to Z, ``ln q_ii``
        to Z F, and ``q_ii ln q_ii`` to ``Σ q f``.
        """
        Z, ZF, attraction = self._over_blocks(partial(_row_sums, points, self.pairs))
        log_own = np.log(self.own)
        return 1 + Z, (log_own + ZF) / (1 + Z), self.own * log_own + attraction

    def _over_blocks(self, kernel: Callable[[int, int], Array]) -> Array:
        """Return the sum of the arrays that the function ``kernel`` computes for the blocks of :func:`map_blocks`."""
        first, *others = map_blocks(kernel, self.n)
        return sum(others, first)


def _by_coordinates(X: Array) -> tuple[Array, Array]:
    """Return the transposed points and the reciprocals ``1 / (1 - ‖x‖²)`` of their gaps."""
    return np.ascontiguousarray(X.T), 1 / row_gaps(X, 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _cosh_less_one(coordinates, over_gaps, i, square, t):  # type: ignore[no-untyped-def]
    """Write ``‖x_i - x_j‖²`` to ``square`` and ``cosh d_ij - 1`` to ``t``, for all j > i."""
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
def _row_sums(points, pairs, first, stride):  # type: ignore[no-untyped-def]
    """Return the contributions of some pairs of points to Z, Z F and ``Σ q f`` of each row of Q.

    The symbols are defined in the module docstring, and the result has the shape (3, n). The values f and ``exp(-γ d)``
    of the pairs are also written to the buffers in ``pairs``. The pairs (i, j) are those with j > i and i = first,
    first + stride, first + 2 stride, and so on.
    """
    coordinates, over_gaps = points
    q, log_q, gamma, f, kernel = pairs
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
            near, weighted, attracted = kernel[at + k], kernel[at + k] * f[at + k], q[at + k] * f[at + k]
            z += near
            zf += weighted
            a += attracted
            Z[i + 1 + k] += near
            ZF[i + 1 + k] += weighted
            A[i + 1 + k] += attracted
        Z[i] += z
        ZF[i] += zf
        A[i] += a
    return sums


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _row_slopes(points, pairs, over_Z, F, exaggeration, first, stride):  # type: ignore[no-untyped-def]
    """Compute the contribution of some pairs to the gradient of the sum of the divergences of all rows.

    The pairs (i, j) are those with j > i and i = first, first + stride, first + 2 stride, and so on. In frame
    coordinates, the gradient of d_ij with respect to x_i is ``-2 (s - ‖s‖² x_i / g_i) / (g_j sinh d_ij)``, where
    ``s = x_j - x_i`` and ``g_i = 1 - ‖x_i‖²``.
    """
    coordinates, over_gaps = points
    q, _, gamma, f, kernel = pairs
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
            # The gradient is not defined at coincident points, so such pairs do not contribute to it.
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
