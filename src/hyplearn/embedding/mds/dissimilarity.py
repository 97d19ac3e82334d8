"""Matrices of distances, given or computed along the edges of a graph, and their validation."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path

from hyplearn.numerics.hashing import uniform
from hyplearn.types import Array

# Number of points up to which all triples are checked for the triangle inequality, and the number of random triples of
# more points, which trades rare violations for time.
ALL_TRIANGLES = 300
TRIANGLES = 1_000_000
# Relative errors that are accepted as rounding in the computation of the distances.
SYMMETRY_TOLERANCE = 1e-8
TRIANGLE_TOLERANCE = 1e-6


class Distances(NamedTuple):
    """Distances between all points, and the labels of the points if they are nodes of a graph."""

    D: Array
    labels: list[Any] | None


def read_distances(source: Any) -> Distances:
    """Distances of a square matrix, or lengths of shortest paths in a sparse adjacency matrix or a networkx graph."""
    if hasattr(source, "adj"):
        labels = list(source.nodes)
        return Distances(_along_edges(_adjacency(source, labels), labels), labels)
    if sparse.issparse(source):
        return Distances(_along_edges(sparse.csr_array(source), None), None)
    D = check_lengths(np.asarray(source), "Distances")
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(
            f"A matrix of distances must be square; got shape {D.shape}.\n"
            "For rows of features pass sklearn.metrics.pairwise_distances(X) instead."
        )
    D = _symmetric(D)
    _warn_about_triangles(D)
    return Distances(D, None)


def check_lengths(D: Array, name: str) -> Array:
    """Convert to float64; raise an error if entries are negative or not finite."""
    if D.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be real numbers; got dtype {D.dtype}.\nConvert them to float64 first.")
    D = D.astype(np.float64, copy=False)
    bad = ~(np.isfinite(D) & (D >= 0))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite and not negative; {np.count_nonzero(bad)} are not, the first is {D[where]:g} at "
            f"{where}.\nCorrect them; convert similarities to distances first."
        )
    return D


def _symmetric(D: Array) -> Array:
    size = np.max(D, initial=0.0)
    if np.any(np.abs(np.diagonal(D)) > SYMMETRY_TOLERANCE * size):
        row = int(np.argmax(np.diagonal(D)))
        raise ValueError(
            f"The distance of row {row} to itself is {D[row, row]:g}.\nSet the diagonal to 0; convert "
            "similarities to distances first."
        )
    off = np.abs(D - D.T)
    i, j = np.unravel_index(int(np.argmax(off)), off.shape) if off.size else (0, 0)
    if size > 0 and off[i, j] > SYMMETRY_TOLERANCE * size:
        raise ValueError(
            f"Distances must be symmetric; D[{i}, {j}] = {D[i, j]:.6g} but D[{j}, {i}] = {D[j, i]:.6g}.\n"
            "Take (D + D.T) / 2 if the difference means nothing."
        )
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    return D


def _warn_about_triangles(D: Array) -> None:
    n = len(D)
    n_triples = n**3 if n <= ALL_TRIANGLES else TRIANGLES
    count, i, j, k = _long_sides(D, n_triples)
    if count:
        warnings.warn(
            f"The distances are not a metric: D[{i}, {j}] = {D[i, j]:.4g} is longer than the path through {k}, "
            f"{D[i, k] + D[k, j]:.4g}; {count / n_triples:.2%} of {n_triples:,} triples violate the triangle "
            "inequality. No embedding reproduces them.\nCheck stress_, or take shortest paths first.",
            UserWarning,
            stacklevel=4,
        )


@njit(cache=True)
def _long_sides(D, n_triples):  # type: ignore[no-untyped-def]
    """Number of triples (i, j, k), all or random ones, with ``D_ij > D_ik + D_kj``, and the worst of them."""
    n = D.shape[0]
    count, excess, worst = 0, 0.0, (0, 0, 0)
    for t in range(n_triples):
        if n_triples == n**3:
            i, j, k = t // (n * n), t // n % n, t % n
        else:
            i, j, k = int(n * uniform(0, 3 * t)), int(n * uniform(0, 3 * t + 1)), int(n * uniform(0, 3 * t + 2))
        side, way = D[i, j], D[i, k] + D[k, j]
        if side > way * (1.0 + TRIANGLE_TOLERANCE):
            count += 1
            if side - way > excess:
                excess, worst = side - way, (i, j, k)
    return count, worst[0], worst[1], worst[2]


def _adjacency(graph: Any, labels: list[Any]) -> Any:
    if graph.is_directed():
        raise ValueError("Distances along directed edges are not symmetric.\nPass graph.to_undirected().")
    if graph.is_multigraph():
        raise ValueError("The graph may have several edges between two nodes.\nPass networkx.Graph(graph).")
    place = {node: row for row, node in enumerate(labels)}
    triples = [(place[u], place[v], float(w)) for u, v, w in graph.edges(data="weight", default=1.0) if u != v]
    u, v, w = (np.array(column) for column in zip(*triples, strict=True)) if triples else (np.zeros(0, int),) * 3
    both = (np.concatenate([w, w]).astype(float), (np.concatenate([u, v]), np.concatenate([v, u])))
    return sparse.coo_array(both, shape=(len(labels), len(labels))).tocsr()


def _along_edges(adjacency: Any, labels: list[Any] | None) -> Array:
    """Lengths of the shortest paths in a connected graph with positive weights."""
    n = adjacency.shape[0]
    if adjacency.shape != (n, n):
        raise ValueError(
            f"An adjacency matrix must be square; got shape {adjacency.shape}.\nPass one row and one column per node."
        )
    weights = check_lengths(adjacency.data, "Weights of edges")
    if np.any(weights == 0):
        raise ValueError(
            f"{np.count_nonzero(weights == 0)} edges have weight 0.\n"
            "Merge their ends, or call eliminate_zeros() if they are not edges."
        )
    asymmetry = abs(adjacency - adjacency.T)
    if asymmetry.nnz and asymmetry.max() > SYMMETRY_TOLERANCE * weights.max():
        raise ValueError(
            f"The adjacency matrix must be symmetric; it differs from its transpose by up to {asymmetry.max():.6g}.\n"
            "Take adjacency.maximum(adjacency.T) if edges have no direction."
        )
    parts, part = connected_components(adjacency, directed=False)
    if parts > 1:
        row = int(np.argmax(part == np.argmin(np.bincount(part))))
        name = f"row {row}" if labels is None else repr(labels[row])
        raise ValueError(
            f"The graph is in {parts} parts, the smallest with {name}; there is no distance between them.\n"
            "Embed the largest part alone, or add edges."
        )
    return np.asarray(shortest_path(adjacency.astype(np.float64), method="D", directed=False))
