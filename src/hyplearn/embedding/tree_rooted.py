"""Rooted trees with edge lengths, and the distortion of their tree distances in the ball."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from hyplearn.geometry.kernels import norm_of_difference, row_gaps
from hyplearn.types import Array

# Largest number of ordered pairs on which a distortion is measured: all pairs of up to 2,000 nodes. It trades the time
# of a fit for the accuracy of the mean.
MOST_PAIRS = 4_000_000


class RootedTree(NamedTuple):
    """A tree in breadth-first order: the root first, the children of a node one after another.

    ``rows`` are the positions of the nodes in the user's order; ``parents`` (-1 for the root) are positions in
    breadth-first order.
    """

    rows: Array
    parents: Array
    lengths: Array

    @classmethod
    def of(cls, labels: Sequence[Any], edges: Array, lengths: Array, root: int) -> Self:
        """Tree with the given edges, pairs of positions in ``labels``, and the given root."""
        n = len(labels)
        _check_tree(labels, edges)
        _check_lengths(labels, edges, lengths)
        rows, before = breadth_first_order(_links(edges, np.ones(len(edges)), n), root, directed=False)
        place = np.empty(n, dtype=np.int64)
        place[rows] = np.arange(n)
        parents = np.concatenate([[-1], place[before[rows[1:]]]])
        own = np.zeros(n)
        # The later end of an edge is the child.
        own[np.max(place[edges], axis=1, initial=0)] = lengths
        own[0] = 0.0
        return cls(rows.astype(np.int64), parents, own)

    @property
    def depths(self) -> Array:
        """Distance of each node from the root."""
        return sums_to_root(self.parents, self.lengths)

    @property
    def counts(self) -> Array:
        """Number of children of each node."""
        return np.bincount(self.parents[1:], minlength=len(self.parents))

    @property
    def first_children(self) -> Array:
        """Position of the first child of each node."""
        return 1 + np.cumsum(self.counts) - self.counts


@njit(cache=True)
def sums_to_root(parents, values):  # type: ignore[no-untyped-def]
    """Sum of a value along the path from each node to the root."""
    sums = values.copy()
    for v in range(1, parents.size):
        sums[v] += sums[parents[v]]
    return sums


def reroot_at_centre(labels: Sequence[Any], edges: Array, lengths: Array, tree: RootedTree) -> RootedTree:
    """Tree with the same edges whose root is the middle of its longest path, where its height is smallest."""
    end = int(tree.rows[np.argmax(tree.depths)])
    across = RootedTree.of(labels, edges, lengths, end)
    depths = across.depths
    node = int(np.argmax(depths))
    half = depths[node] / 2
    while depths[node] > half and depths[node] - half >= half - depths[across.parents[node]]:
        node = int(across.parents[node])
    return RootedTree.of(labels, edges, lengths, int(across.rows[node]))


def _links(edges: Array, values: Array, n: int) -> Any:
    return coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()


def _check_tree(labels: Sequence[Any], edges: Array) -> None:
    n = len(labels)
    if n == 0:
        raise ValueError("The tree has no nodes.\nPass at least one.")
    parts, part = connected_components(_links(edges, np.ones(len(edges)), n), directed=False)
    if len(edges) > n - parts:
        u, v = _closing_edge(edges, n)
        raise ValueError(
            f"The graph has a cycle: the edge between {labels[u]!r} and {labels[v]!r} closes one.\n"
            "Take a spanning tree of it, or embed the graph with HyperbolicMDS."
        )
    if parts > 1:
        sizes = np.bincount(part)
        raise ValueError(
            f"The graph is in {parts} parts, of {', '.join(map(str, np.sort(sizes)[::-1][:5]))} nodes; "
            f"{labels[int(np.argmax(part == np.argmin(sizes)))]!r} is in the smallest.\n"
            "Join them below one root, or embed each alone."
        )


def _closing_edge(edges: Array, n: int) -> tuple[int, int]:
    """First edge whose ends are already joined by earlier ones."""
    above = list(range(n))

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for u, v in edges.tolist():
        if top(u) == top(v):
            return u, v
        above[top(u)] = top(v)
    raise AssertionError("no edge closes a cycle")


def _check_lengths(labels: Sequence[Any], edges: Array, lengths: Array) -> None:
    bad = ~((lengths > 0) & (lengths < np.inf))
    if bad.any():
        edge = int(np.argmax(bad))
        u, v = edges[edge]
        raise ValueError(
            f"Edge lengths must be positive numbers; {np.count_nonzero(bad)} of {len(lengths)} are not, the first is "
            f"{lengths[edge]:g} between {labels[u]!r} and {labels[v]!r}.\n"
            "Correct them; merge nodes whose distance is 0."
        )


class Distortion(NamedTuple):
    """Ratios of hyperbolic to scaled tree distance: mean of ``|1 - ratio|``, largest over smallest, number of pairs."""

    average: float
    worst: float
    n_pairs: int


def measure_distortion(tree: RootedTree, X: Array, lengths: Array, most_pairs: int = MOST_PAIRS) -> Distortion:
    """Distortion of the points X of the unit ball, for edges of the given hyperbolic lengths.

    A large tree is measured on the pairs of a fixed random choice of nodes with all others, and on all neighbouring
    siblings, which are usually the pairs of largest distortion.
    """
    n = len(X)
    if n == 1:
        return Distortion(0.0, 1.0, 0)
    everything = n * (n - 1) <= most_pairs
    sources = np.arange(n) if everything else np.random.default_rng(0).choice(n, -(-most_pairs // n), replace=False)
    depths = sums_to_root(tree.parents, lengths)
    total, smallest, largest = _ratios(X, row_gaps(X, 1.0), tree.parents, lengths, depths, sources)
    n_pairs = len(sources) * (n - 1)
    return Distortion(total / n_pairs, largest / smallest, n_pairs // 2 if everything else n_pairs)


@njit(cache=True, error_model="numpy")
def _ratios(X, gaps, parents, lengths, depths, sources):  # type: ignore[no-untyped-def]
    """Sum of ``|1 - ratio|`` over all pairs with a source; smallest and largest ratio, including those of siblings."""
    n = X.shape[0]
    total, smallest, largest = 0.0, np.inf, 0.0
    to_source, above = np.empty(n), np.empty(n, dtype=np.int64)
    above[:] = -1
    for source in sources:
        v = source
        while v >= 0:
            above[v] = source
            v = parents[v]
        for v in range(n):
            if above[v] == source:
                to_source[v] = depths[source] - depths[v]
            else:
                to_source[v] = to_source[parents[v]] + lengths[v]
            if v != source:
                ratio = _distance(X, gaps, source, v) / to_source[v]
                total += abs(1.0 - ratio)
                smallest, largest = min(smallest, ratio), max(largest, ratio)
    for v in range(2, n):
        if parents[v] == parents[v - 1]:
            ratio = _distance(X, gaps, v - 1, v) / (lengths[v - 1] + lengths[v])
            smallest, largest = min(smallest, ratio), max(largest, ratio)
    return total, smallest, largest


@njit(cache=True, error_model="numpy")
def _distance(X, gaps, i, j):  # type: ignore[no-untyped-def]
    return 2.0 * math.asinh(norm_of_difference(X, i, X[j]) / math.sqrt(gaps[i] * gaps[j]))
