"""Cells and their nearest neighbours as a weighted graph, connected whatever the cells."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.neighbors import NearestNeighbors

from hyplearn.types import Array


class Neighbours(NamedTuple):
    """Of each row, the nearest cells and their distances, in order."""

    cells: Array
    distances: Array


def neighbours_among(search: NearestNeighbors, X: Array | None = None) -> Neighbours:
    """The nearest of the cells that were given to the search: of new rows, or of each cell among the others.

    Distances are taken anew from differences: the search has them from products, which lose digits of close cells.
    """
    cells = search.kneighbors(X, return_distance=False)
    from_rows = search._fit_X if X is None else X
    distances = np.stack([_lengths(search._fit_X[column] - from_rows) for column in cells.T], axis=1)
    return Neighbours(cells, distances)


def _lengths(differences: Array) -> Array:
    return np.sqrt(np.sum(differences**2, axis=1))


def edge_weights(distances: Array, sigma: float | None) -> Array:
    r"""Weights of the edges from a row to its neighbours at the given distances.

    .. math:: w_{ij} = \exp\Bigl(-\frac{d_{ij}^2}{2 \sigma^2 s_i^2}\Bigr), \qquad s_i = \max_j d_{ij}

    or 1 where sigma is None. Between ``exp(-1 / (2 sigma²))`` and 1, whatever the scale of the data.
    """
    if sigma is None:
        return np.ones_like(distances)
    longest = np.max(distances, axis=1, keepdims=True)
    return np.exp(-((distances / np.where(longest > 0, longest, 1.0) / sigma) ** 2) / 2)


class Joints(NamedTuple):
    """How many cells the parts of a graph have, and the rows and lengths of the edges that were added to join them."""

    sizes: Array
    edges: Array
    lengths: Array


def connected_graph(X: Array, n_neighbors: int, sigma: float | None) -> tuple[Any, Joints]:
    """Symmetric weights between the rows of X and their nearest neighbours, sparse, and what it took to connect it.

    An edge has the larger of the weights that its two ends give it; one that joins two parts has the least of all.
    """
    n = len(X)
    near = neighbours_among(NearestNeighbors(n_neighbors=n_neighbors).fit(X))
    weights = edge_weights(near.distances, sigma)
    graph = _symmetric(np.repeat(np.arange(n), n_neighbors), near.cells.ravel(), weights.ravel(), n)
    n_parts, part = connected_components(graph, directed=False)
    edges, lengths = joining_edges(X, part) if n_parts > 1 else (np.zeros((0, 2), dtype=np.intp), np.zeros(0))
    bridges = _symmetric(edges[:, 0], edges[:, 1], np.full(len(edges), np.min(weights)), n)
    return graph + bridges, Joints(np.bincount(part), edges, lengths)


def _symmetric(rows: Array, columns: Array, weights: Array, n: int) -> Any:
    graph = sparse.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
    return graph.maximum(graph.T)


def warn_of_joints(joints: Joints, *, stacklevel: int) -> None:
    """Say that a graph was in parts."""
    if len(joints.edges):
        warnings.warn(
            f"The graph of nearest neighbours falls into {len(joints.sizes)} parts, the smallest of "
            f"{np.min(joints.sizes)} cells. They were joined by their {len(joints.edges)} shortest edges, of length "
            f"{np.min(joints.lengths):.3g} to {np.max(joints.lengths):.3g}.\n"
            "Raise n_neighbors if they belong together.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def joining_edges(X: Array, part: Array) -> tuple[Array, Array]:
    """The shortest edges that make one of all parts, as pairs of rows, and their lengths: a minimum spanning tree."""
    order = np.argsort(part, kind="stable")
    firsts = np.flatnonzero(np.r_[True, np.diff(part[order]) > 0])
    ends = np.r_[firsts[1:], len(X)]
    shortest = np.full((len(firsts), len(firsts)), np.inf)
    pairs = np.zeros((*shortest.shape, 2), dtype=np.intp)
    for row in range(len(X)):
        lengths = _lengths(X[order] - X[row])
        nearest = np.minimum.reduceat(lengths, firsts)
        for other in np.flatnonzero(nearest < shortest[part[row]]):
            shortest[part[row], other] = nearest[other]
            pairs[part[row], other] = row, order[firsts[other] + np.argmin(lengths[firsts[other] : ends[other]])]
    # To scipy a length of 0 is no edge; between two parts there is none, all rows being different.
    np.fill_diagonal(shortest, 0.0)
    tree = minimum_spanning_tree(shortest).tocoo()
    return pairs[tree.row, tree.col], tree.data
