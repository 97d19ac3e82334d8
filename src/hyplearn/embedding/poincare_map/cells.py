"""Cells of a PoincareMap: validation of parameters and features, and the graph of nearest neighbours."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.neighbors import NearestNeighbors

from hyplearn.geometry.border import as_real, check_integer, check_parameter, is_integer
from hyplearn.types import Array

# Largest allowed absolute value of a feature, which keeps squared differences in the range of float64.
LARGEST_FEATURE = 1e150
# Smallest allowed sigma. It gives the longest edges the weight exp(-1 / (2 sigma²)) = 1e-87. With smaller weights, the
# accessibility along a path of only a few such edges would underflow.
LEAST_SIGMA = 0.05
# Settings of n_neighbors="auto": one neighbour for every CELLS_PER_NEIGHBOUR cells, but at least LEAST_NEIGHBOURS and
# at most MOST_NEIGHBOURS. With fewer than ten neighbours, the graph is often not connected; with more than fifteen,
# small branches of small data sets merge. The values were chosen by measurements on four data sets of 60 to 2,000 cells
# (experiments/map_settings.py).
CELLS_PER_NEIGHBOUR, LEAST_NEIGHBOURS, MOST_NEIGHBOURS = 40, 10, 15
# Smallest and largest allowed gamma. Far outside this range, powers of gamma in the derivatives of the loss would
# overflow or underflow.
GAMMAS = (1e-3, 1e3)


def check_parameters(given: dict[str, Any]) -> None:
    """Raise an error if a parameter of a PoincareMap is invalid."""
    for name in ("n_components", "max_iter"):
        check_integer(name, given[name], 1)
    sigma, landmarks, neighbours = given["sigma"], given["n_landmarks"], given["n_neighbors"]
    tol, exaggeration = (as_real(given[name]) for name in ("tol", "early_exaggeration"))
    gamma = GAMMAS[0] if given["gamma"] == "auto" else as_real(given["gamma"])
    wide = sigma is None or LEAST_SIGMA <= as_real(sigma) < np.inf
    chosen = landmarks is None or landmarks == "auto" or is_integer(landmarks, 3)
    for name, valid, expected in (
        ("n_neighbors", neighbours == "auto" or is_integer(neighbours, 1), 'an integer of at least 1, or "auto"'),
        ("tol", 0 < tol < np.inf, "a positive finite number"),
        ("gamma", GAMMAS[0] <= gamma <= GAMMAS[1], f'a number from {GAMMAS[0]:g} to {GAMMAS[1]:g}, or "auto"'),
        ("sigma", wide, f"a finite number of at least {LEAST_SIGMA}, or None for equal weights"),
        ("init", given["init"] in ("spectral", "random"), '"spectral" or "random"'),
        ("early_exaggeration", 1 <= exaggeration <= 1e3, "a number from 1 to 1000"),
        ("n_landmarks", chosen, '"auto", None for all cells, or an integer of at least 3'),
    ):
        check_parameter(name, given[name], valid, expected)


def root_row(root: Any, names: Any, n: int) -> int | None:
    """Convert ``root``, which is a row number or the name of a cell, to a row number; None remains None."""
    if root is None:
        return None
    if is_integer(root, 0) and root < n:
        return int(root)
    if isinstance(root, str) and names is not None and (rows := np.flatnonzero(names == root)).size:
        return int(rows[0])
    first = [] if names is None else [repr(str(name)) for name in names[:3]]
    known = f"the first cells are called {', '.join(first)}" if first else "cells have no names"
    raise ValueError(
        f"root must be a row from 0 to {n - 1}, or the name of a cell; got {root!r} ({known}).\n"
        "Pass the row number of the root."
    )


def check_features(X: Array) -> Array:
    """Return the features with 0 instead of -0; raise an error if squared distances between cells could overflow."""
    if (largest := np.max(np.abs(X))) > LARGEST_FEATURE:
        raise ValueError(
            f"X has features as large as {largest:.3g}, so that squared distances may overflow float64.\n"
            "Scale the features, for example with sklearn.preprocessing.StandardScaler."
        )
    return X + 0.0


def warn_about_copies(n: int, n_different: int) -> None:
    """Warn if some of the n cells have equal features, that is, if ``n_different`` is less than n."""
    if n_different < n:
        warnings.warn(
            f"{n - n_different} of {n} cells have the same features as an earlier cell. Such cells share one point "
            "and count once.\nCheck the features.",
            UserWarning,
            stacklevel=3,
        )


def neighbours_for(n_neighbors: int | str, n: int) -> int:
    """Return the number of neighbours of each of n cells; "auto" grows with n from 10 to 15, but is at most n - 1."""
    if isinstance(n_neighbors, str):
        return min(max(LEAST_NEIGHBOURS, min(n // CELLS_PER_NEIGHBOUR, MOST_NEIGHBOURS)), n - 1)
    return n_neighbors


def warn_about_neighbours(n_neighbors: int, n: int) -> None:
    """Warn if each of n cells has fewer than ``n_neighbors`` neighbours, because there are only n - 1 other cells."""
    if n_neighbors >= n:
        warnings.warn(
            f"n_neighbors={n_neighbors}, but only {n} different cells are embedded together, so each of them has only "
            f"{n - 1} neighbours.\nLower n_neighbors.",
            UserWarning,
            stacklevel=3,
        )


def check_number_of_cells(cells: Array, n_components: int) -> None:
    """Raise an error if the number of different cells is too small for a map of ``n_components`` dimensions."""
    least = max(3, n_components + 1)
    if len(cells) < least:
        raise ValueError(
            f"A map of {n_components} components needs at least {least} different cells as landmarks; got "
            f"{len(cells)}.\n"
            "Pass a smaller n_components, more landmarks or more cells; constant features do not distinguish cells."
        )


class Neighbours(NamedTuple):
    """Indices and distances of the cells nearest to each row of features, in order of increasing distance."""

    cells: Array
    distances: Array


def search_among(cells: Array, n_neighbors: int) -> NearestNeighbors:
    """Fit a search for the ``min(n_neighbors, len(cells) - 1)`` cells nearest to a row of features."""
    return NearestNeighbors(n_neighbors=min(n_neighbors, len(cells) - 1)).fit(cells)


def neighbours_among(search: NearestNeighbors, X: Array | None = None) -> Neighbours:
    """Find the cells nearest to each row of X, among the cells on which ``search`` was fitted.

    If X is None, find the nearest other cells of each of these cells.
    """
    cells = search.kneighbors(X, return_distance=False)
    # Distances are recomputed from differences, because the search may compute them from products, which is
    # inaccurate for close cells.
    from_rows = search._fit_X if X is None else X
    return Neighbours(cells, np.stack([_lengths(search._fit_X[column] - from_rows) for column in cells.T], axis=1))


def _lengths(differences: Array) -> Array:
    return np.sqrt(np.sum(differences**2, axis=1))


def edge_weights(distances: Array, sigma: float | None) -> Array:
    r"""Compute the weights of the edges from each row i to its neighbours j, given their distances :math:`d_{ij}`.

    .. math:: w_{ij} = \exp\Bigl(-\frac{d_{ij}^2}{2 \sigma^2 s_i^2}\Bigr), \qquad s_i = \max_j d_{ij}

    These weights lie between ``exp(-1 / (2 sigma²))`` and 1 for data of any scale. If sigma is None, all weights are 1.
    """
    if sigma is None:
        return np.ones_like(distances)
    longest = np.max(distances, axis=1, keepdims=True)
    return np.exp(-((distances / np.where(longest > 0, longest, 1.0) / sigma) ** 2) / 2)


class Joints(NamedTuple):
    """Sizes of a graph's connected components, and the edges (pairs of rows) added to join them, with their lengths."""

    sizes: Array
    edges: Array
    lengths: Array


def connected_graph(X: Array, n_neighbors: int, sigma: float | None) -> tuple[Any, Joints]:
    """Return the connected graph of the nearest neighbours of the rows, and the edges added to make it connected.

    The graph is a sparse symmetric matrix of weights, and includes the added edges. The weight of an edge between
    neighbours is the larger of the weights computed from its two ends. An added edge gets the smallest of all these
    weights.
    """
    n = len(X)
    cells, distances = neighbours_among(search_among(X, n_neighbors))
    weights = edge_weights(distances, sigma)
    graph = _symmetric(np.repeat(np.arange(n), cells.shape[1]), cells.ravel(), weights.ravel(), n)
    n_parts, part = connected_components(graph, directed=False)
    edges, lengths = joining_edges(X, part) if n_parts > 1 else (np.zeros((0, 2), dtype=np.intp), np.zeros(0))
    bridges = _symmetric(edges[:, 0], edges[:, 1], np.full(len(edges), np.min(weights)), n)
    return graph + bridges, Joints(np.bincount(part), edges, lengths)


def _symmetric(rows: Array, columns: Array, weights: Array, n: int) -> Any:
    graph = sparse.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
    return graph.maximum(graph.T)


def warn_about_joints(joints: Joints) -> None:
    """Warn if edges were added because the graph was not connected."""
    if len(joints.edges):
        warnings.warn(
            f"The graph of nearest neighbours has {len(joints.sizes)} connected components, the smallest with "
            f"{np.min(joints.sizes)} cells. The components were joined by the shortest edges between them, of length "
            f"{np.min(joints.lengths):.3g} to {np.max(joints.lengths):.3g}.\n"
            "Raise n_neighbors if the components belong together.",
            UserWarning,
            stacklevel=3,
        )


def joining_edges(X: Array, part: Array) -> tuple[Array, Array]:
    """Return the edges (pairs of rows) of a minimum spanning tree of the components, and the lengths of these edges.

    ``part`` contains the component of each row. The distance between two components is the smallest distance between
    a row of one and a row of the other.
    """
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
    # SciPy treats a length of 0 as a missing edge, so the diagonal is set to 0. Off the diagonal, lengths are positive,
    # because all rows differ.
    np.fill_diagonal(shortest, 0.0)
    tree = minimum_spanning_tree(shortest).tocoo()
    return pairs[tree.row, tree.col], tree.data
