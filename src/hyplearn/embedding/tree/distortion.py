"""How far the distances of an embedded tree are from those along its edges."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.embedding.tree.rooted import RootedTree, sums_to_root
from hyplearn.geometry.kernels import gaps, norm_of_difference
from hyplearn.types import Array

# Up to so many pairs are all looked at; of a larger tree, all pairs of so many nodes as fill the number.
MOST_PAIRS = 4_000_000


class Distortion(NamedTuple):
    """Ratios of hyperbolic to scaled tree distance: mean of ``|1 - ratio|``, largest over smallest, how many pairs."""

    average: float
    worst: float
    n_pairs: int


def measure(tree: RootedTree, X: Array, lengths: Array, most_pairs: int = MOST_PAIRS) -> Distortion:
    """Distortion of the points X of the unit ball, the edges having the given hyperbolic lengths.

    Of a large tree, pairs of a fixed random choice of nodes with all others are taken, and all neighbouring siblings,
    which are as a rule the pairs that suffer most.
    """
    n = len(X)
    if n == 1:
        return Distortion(0.0, 1.0, 0)
    everything = n * (n - 1) <= most_pairs
    sources = np.arange(n) if everything else np.random.default_rng(0).choice(n, -(-most_pairs // n), replace=False)
    depths = sums_to_root(tree.parents, lengths)
    total, smallest, largest = _ratios(X, gaps(X, 1.0), tree.parents, lengths, depths, sources)
    n_pairs = len(sources) * (n - 1)
    return Distortion(total / n_pairs, largest / smallest, n_pairs // 2 if everything else n_pairs)


@njit(cache=True, error_model="numpy")
def _ratios(X, rooms, parents, lengths, depths, sources):  # type: ignore[no-untyped-def]
    """Sum of ``|1 - ratio|`` over all pairs of sources with others, least and largest ratio, of siblings too."""
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
                ratio = _distance(X, rooms, source, v) / to_source[v]
                total += abs(1.0 - ratio)
                smallest, largest = min(smallest, ratio), max(largest, ratio)
    for v in range(2, n):
        if parents[v] == parents[v - 1]:
            ratio = _distance(X, rooms, v - 1, v) / (lengths[v - 1] + lengths[v])
            smallest, largest = min(smallest, ratio), max(largest, ratio)
    return total, smallest, largest


@njit(cache=True, error_model="numpy")
def _distance(X, rooms, i, j):  # type: ignore[no-untyped-def]
    return 2.0 * math.asinh(norm_of_difference(X, i, X[j]) / math.sqrt(rooms[i] * rooms[j]))
