r"""Nearest neighbours in hyperbolic distance, without computing the distances of all pairs.

For a given query x, the distance to y increases with the *key* of y, :math:`\|x - y\|^2 / (1 - c\|y\|^2)`. In low
dimensions, the points are stored in a k-d tree of their Euclidean coordinates, and each node has a box that contains
its points. If the points in a box have gaps :math:`1 - c\|y\|^2` of at most g, then their keys are at least
:math:`\mathrm{dist}(x, \mathrm{box})^2 / g`, so the search skips every box for which this bound exceeds the k-th
smallest key so far. In high dimensions, :math:`\|x\|^2 + \|y\|^2 - 2 \langle x, y \rangle` is computed with a matrix
product. This value, minus a bound on its rounding error, yields a lower bound on the key of y, and only keys whose
lower bounds are small enough are computed. In both cases, keys are computed from differences of coordinates, which are
accurate up to the rim, and points with equal keys are returned in the order of their rows.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import norm_of_difference
from hyplearn.numerics import coordinate
from hyplearn.types import Array

# Largest dimension in which the tree is split into boxes. In more dimensions, boxes exclude too few points.
MOST_BOXED = 12
# Approximate number of points in a leaf, chosen by measurements in the disk. Larger leaves mean fewer boxes to visit
# but more keys to compute.
LEAF = 16
# Factor by which lower bounds are multiplied, so that rounding errors cannot exclude a nearest point.
SAFE = 1.0 - 1e-13
# Size of the stack of nodes to visit, which is enough for a tree of 2^62 points.
DEEPEST = 64
# Numbers of queries and points per matrix product. They are large enough for efficiency, but small enough for the
# product (2 MiB) to fit into the cache.
PRODUCT_QUERIES, PRODUCT_POINTS = 256, 1024
# Number of points per group in _rank. If the lower bounds on the keys rule out every point of a group, the keys of this
# group are not computed.
LANE = 64


class NearestTree(NamedTuple):
    """k-d tree stored as arrays; the children of node i are the nodes 2i + 1 and 2i + 2."""

    # Points in the order of the tree, as float64.
    X: Array
    # Gap 1 - c‖x‖² of each point.
    gaps: Array
    # Row number of each point before the points were sorted.
    rows: Array
    # Start and end of each node's range of points, of shape (n_nodes, 2).
    bounds: Array
    # Smallest value of each coordinate among the points of each node, of shape (n_nodes, d).
    lower: Array
    # Largest value of each coordinate among the points of each node, of shape (n_nodes, d).
    upper: Array
    # Largest gap 1 - c‖x‖² among the points of each node.
    widest: Array


def nearest_tree(X: Array, gaps: Array) -> NearestTree:
    """Build the k-d tree of validated points with the given gaps; in high dimensions, the tree is a single node."""
    n, d = X.shape
    depth = max(0, math.ceil(math.log2(n / LEAF))) if d <= MOST_BOXED else 0
    X, nodes = X.astype(np.float64), 2 ** (depth + 1) - 1
    # If the tree is a single node, sort the points by decreasing gap. Keys are squared distances divided by gaps, so
    # the first points have small keys for most queries. The k-th smallest key found so far then becomes small early,
    # and fewer of the other keys have to be computed.
    rows = np.arange(n) if depth else np.argsort(-gaps, kind="stable")
    bounds, lower, upper = np.zeros((nodes, 2), dtype=np.int64), np.empty((nodes, d)), np.empty((nodes, d))
    widest = np.empty(nodes)
    bounds[0, 1] = n
    for level in range(depth + 1):  # one call per level, because the user can interrupt only between two calls
        _build(X, gaps, rows, 2**level - 1, 2 ** (level + 1) - 1, bounds, lower, upper, widest)
    return NearestTree(np.ascontiguousarray(X[rows]), gaps[rows], rows, bounds, lower, upper, widest)


@njit(cache=True, nogil=True)
def _build(X, gaps, rows, start, stop, bounds, lower, upper, widest):  # type: ignore[no-untyped-def]
    """Write the arrays of the nodes from ``start`` to ``stop - 1``, and split these nodes by sorting ``rows``.

    Each node is split at the median of the coordinate that varies most among its points. The rows of each of its
    children are then a contiguous range.
    """
    for node in range(start, stop):
        first, last = bounds[node]
        lower[node], upper[node], widest[node] = np.inf, -np.inf, 0.0
        for i in range(first, last):
            widest[node] = max(widest[node], gaps[rows[i]])
            for j in range(X.shape[1]):
                lower[node, j] = min(lower[node, j], X[rows[i], j])
                upper[node, j] = max(upper[node, j], X[rows[i], j])
        if 2 * node + 2 < bounds.shape[0]:
            middle = (first + last) // 2
            _partition(X[:, np.argmax(upper[node] - lower[node])], rows, first, last - 1, middle)
            bounds[2 * node + 1] = first, middle
            bounds[2 * node + 2] = middle, last


@njit(cache=True, nogil=True)
def _partition(values, rows, first, last, middle):  # type: ignore[no-untyped-def]
    """Reorder the rows from ``first`` to ``last`` with Hoare's selection algorithm.

    Afterwards, no row before position ``middle`` has a larger value than a row at or after this position.
    """
    while first < last:
        pivot, i, j = values[rows[(first + last) // 2]], first, last
        while i <= j:
            while values[rows[i]] < pivot:
                i += 1
            while values[rows[j]] > pivot:
                j -= 1
            if i <= j:
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


def nearest(tree: NearestTree, Q: Array, gaps: Array, k: int, c: float) -> tuple[Array, Array]:
    """Return the distances and row numbers of the k points nearest to each query, as two arrays of shape (n, k).

    The points nearest to a query are sorted by increasing distance.
    """
    Q = Q.astype(np.float64, copy=False)
    _, places = least_keys(tree, Q, k)
    distances = np.empty(places.shape)
    _half_sinhs(Q, gaps, tree.X, tree.gaps, places, c, distances)
    return 2 / np.sqrt(c) * np.arcsinh(distances, out=distances), tree.rows[places]


def least_keys(tree: NearestTree, Q: Array, k: int) -> tuple[Array, Array]:
    """Find the k points with the smallest keys ``‖x - y‖² / (1 - c‖y‖²)`` for each query x.

    Return the keys and the positions of the points in the tree, as two arrays of shape (n, k).
    """
    keys, places = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1)
    if len(tree.bounds) > 1 or len(tree.X) <= LEAF:
        _search(Q, tree, keys, places)
    else:
        _search_products(tree, Q, keys, places)
    return keys, places


@njit(cache=True, nogil=True, error_model="numpy")
def _search(Q, tree, keys, places):  # type: ignore[no-untyped-def]
    """Write the k smallest keys of each query to ``keys``, and the positions of their points to ``places``.

    The tree is searched depth-first, nearer boxes first. Boxes that cannot contain one of the k smallest keys
    are skipped.
    """
    X, gaps, rows, bounds, lower, upper, widest = tree
    waiting, least = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST)
    for i in range(Q.shape[0]):
        own_keys, own_places = keys[i], places[i]
        waiting[0], least[0], size = 0, 0.0, 1
        while size > 0:
            size -= 1
            node = waiting[size]
            if least[size] * SAFE > own_keys[-1]:
                continue
            while 2 * node + 1 < bounds.shape[0]:
                near, far = 2 * node + 1, 2 * node + 2
                a, b = box_bound(Q, i, lower, upper, widest, near), box_bound(Q, i, lower, upper, widest, far)
                if b < a:
                    near, far, a, b = far, near, b, a
                waiting[size], least[size] = far, b
                size += 1
                node = near
            for place in range(bounds[node, 0], bounds[node, 1]):
                key = key_of(Q, i, X, place, gaps)
                if key <= own_keys[-1]:
                    _insert(own_keys, own_places, rows, key, place)


@njit(cache=True, error_model="numpy")
def box_bound(Q, i, lower, upper, widest, node):  # type: ignore[no-untyped-def]
    """Return a lower bound on the keys ``‖x - y‖² / (1 - c‖y‖²)`` of all points y of a node, where x is query i.

    The bound is the squared distance from x to the box of the node, divided by the largest gap in the box.
    """
    square = 0.0
    for j in range(Q.shape[1]):
        outside = max(0.0, lower[node, j] - Q[i, j], Q[i, j] - upper[node, j])
        square += outside * outside
    return square / widest[node]


@njit(cache=True, error_model="numpy")
def key_of(Q, i, X, place, gaps):  # type: ignore[no-untyped-def]
    """Compute the key ``‖x - y‖² / (1 - c‖y‖²)``, where x is query i and y is the point at position ``place``."""
    square, d = 0.0, Q.shape[1]
    for j in range(d):
        square += (coordinate(X, place, j, d) - coordinate(Q, i, j, d)) ** 2
    return square / gaps[place]


@njit(cache=True, error_model="numpy")
def _insert(keys, places, rows, key, place):  # type: ignore[no-untyped-def]
    """Insert a key and its place into the sorted arrays, and drop the last element of each array.

    Equal keys are sorted by row number.
    """
    k = keys.size - 1
    if key == keys[k] and places[k] >= 0 and rows[places[k]] < rows[place]:
        return
    while k > 0 and (key < keys[k - 1] or (key == keys[k - 1] and rows[place] < rows[places[k - 1]])):
        keys[k], places[k] = keys[k - 1], places[k - 1]
        k -= 1
    keys[k], places[k] = key, place


def _search_products(tree: NearestTree, Q: Array, keys: Array, places: Array) -> None:
    """Write the same results as :func:`_search`, but find the smallest keys with matrix products instead of boxes."""
    squares = np.einsum("ij,ij->i", tree.X, tree.X)
    for cut in _cuts(len(Q), PRODUCT_QUERIES):
        for part in _cuts(len(tree.X), PRODUCT_POINTS):
            products = Q[cut] @ tree.X[part].T
            _rank(Q[cut], tree, products, part.start, squares[part], keys[cut], places[cut])


def _cuts(n: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


@njit(cache=True, nogil=True, error_model="numpy")
def _rank(Q, tree, products, start, squares, keys, places):  # type: ignore[no-untyped-def]
    """For each query, compute the keys that may be among the k smallest, and insert them into ``keys``.

    ``products`` contains the dot products of the queries and the points, from which lower bounds on keys are computed.
    """
    # With u = 2⁻⁵³, the error of a dot product of d terms is at most d u ‖x‖ ‖y‖ ≤ d u (‖x‖² + ‖y‖²) / 2. The factor 4
    # (d + 8) also covers the rounding errors of ‖x‖², ‖y‖² and the comparison.
    safe = 1.0 - 4.0 * (Q.shape[1] + 8) * 2.0**-53
    X, gaps, rows = tree.X, tree.gaps, tree.rows
    near = gaps[start : start + products.shape[1]]
    for i in range(Q.shape[0]):
        own_keys, own_places, own_products, own = keys[i], places[i], products[i], np.sum(Q[i] ** 2)
        for first in range(0, near.size, LANE):
            part = slice(first, first + LANE)
            if _count(own_products[part], own, squares[part], near[part], safe, own_keys[-1]) == 0:
                continue
            for j in range(first, min(first + LANE, near.size)):
                if safe * (own + squares[j]) - 2.0 * own_products[j] <= own_keys[-1] * near[j]:
                    key = key_of(Q, i, X, start + j, gaps)
                    if key <= own_keys[-1]:
                        _insert(own_keys, own_places, rows, key, start + j)


@njit(cache=True, nogil=True, error_model="numpy")
def _count(products, own, squares, gaps, safe, key):  # type: ignore[no-untyped-def]
    """Count the points whose keys may be less than or equal to ``key``, in a loop that the compiler can vectorise."""
    number = 0
    for j in range(products.size):
        number += safe * (own + squares[j]) - 2.0 * products[j] <= key * gaps[j]
    return number


@njit(cache=True, nogil=True, error_model="numpy")
def _half_sinhs(Q, gaps_q, X, gaps, places, c, out):  # type: ignore[no-untyped-def]
    """Write ``sinh(√c d / 2)`` to ``out`` for the distances d from each query to the points at positions ``places``."""
    for i in range(Q.shape[0]):
        for k in range(places.shape[1]):
            place = places[i, k]
            out[i, k] = math.sqrt(c) * norm_of_difference(X, place, Q[i]) / math.sqrt(gaps_q[i] * gaps[place])
