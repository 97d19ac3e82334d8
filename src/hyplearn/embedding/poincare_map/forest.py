r"""Relative forest accessibilities: how much of its rooted spanning forests a graph gives to two nodes in one tree.

For symmetric weights with the Laplacian L, :math:`Q = (I + L)^{-1}`; its rows are positive and add up to 1. The
logarithmic forest distance (Chebotarev, 2011),

.. math:: D_{ij} = \tfrac12 \ln \frac{q_{ii} q_{jj}}{q_{ij}^2},

is a metric of the graph. Eliminating from I + L adds numbers of one sign only, off the diagonal, and so does
substituting back: every entry of Q has nearly all its digits, however small, and none comes out as 0.
"""

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.csgraph import laplacian
from threadpoolctl import threadpool_limits

from hyplearn.types import Array


def forest_accessibilities(graph: Any) -> Array:
    """``(I + L)⁻¹`` of a connected graph's symmetric weights, as a full matrix."""
    n = graph.shape[0]
    matrix = np.asfortranarray(laplacian(graph).toarray())
    matrix[np.diag_indices(n)] += 1.0
    # Several threads of BLAS give other bits.
    with threadpool_limits(limits=1, user_api="blas"):
        root, _ = dpotrf(matrix, lower=1, overwrite_a=1)
        Q, _ = dpotri(root, lower=1, overwrite_c=1)
    for i in range(n):
        Q[i, i + 1 :] = Q[i + 1 :, i]
    if not Q.min() > 0:
        raise ValueError(
            f"Some of the {n} cells are so far along the graph that their accessibility is below the range of float64."
            "\nRaise sigma or n_neighbors."
        )
    # As LAPACK has it, columns are contiguous; of a symmetric matrix, these are its rows.
    return Q.T


def forest_distances(Q: Array) -> Array:
    """Logarithmic forest distances."""
    D = np.log(Q)
    own = np.diagonal(D) / 2
    np.subtract(own[:, None], D, out=D)
    D += own
    np.fill_diagonal(D, 0.0)
    return np.maximum(D, 0.0, out=D)


def accessibilities_of_new(Q: Array, neighbours: Array, weights: Array) -> tuple[Array, Array]:
    r"""Rows that new nodes would have in Q, each by itself in the graph, and their own shares.

    A node with edges of weights w to the nodes N has the row

    .. math:: \frac{(z^T Q_N, \; 1)}{1 + \sum_j z_j}, \qquad (\operatorname{diag}(w)^{-1} + Q_{NN}) \, z = 1,

    its own share last: what the inverse of the larger matrix has, by the formula of Woodbury. All z are positive.

    Parameters
    ----------
    Q : array of shape (n, n)
        Accessibilities of the old nodes.
    neighbours, weights : arrays of shape (n_new, k)
        Which old nodes each new one has edges to, and their weights.
    """
    among = Q[neighbours[:, :, None], neighbours[:, None, :]]
    diagonal = np.arange(neighbours.shape[1])
    among[:, diagonal, diagonal] += 1 / weights
    z = np.linalg.solve(among, np.ones((*neighbours.shape, 1)))[:, :, 0]
    own = 1 / (1 + z.sum(axis=1))
    return np.stack([own[i] * (z[i] @ Q[neighbours[i]]) for i in range(len(z))]), own
