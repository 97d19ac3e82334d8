r"""Conformal prediction: p-values, prediction sets with guaranteed coverage, and predictions in a tree of classes.

The p-values of a classifier are cross-conformal. Rows are assigned to folds, and the score :math:`s_i` of row i is
computed with a model that was fitted without the fold of this row. Large scores mean that a row does not fit its class
well. Let :math:`s_{f}(x, k)` be the score of class k at the point x, computed with the model that was fitted without
fold f. Then the p-value is

.. math:: p_k(x) = \frac{1 + \sum_f \sum_{i \in f, y_i = k} [s_i \ge s_{f}(x, k)]}{1 + \sum_{i: y_i = k} 1},

and the prediction set contains all classes with :math:`p_k(x) > \alpha = 1 - \text{coverage}`. The sums
are over the rows of class k, but classes with few rows share their rows (:func:`calibration_groups`), and if
``by_class`` of the classifier is False, all classes share their rows. P-values based on distances are those of full
conformal prediction (:func:`distance_p_values`): no rows are held out, and the true coverage is at least the requested
coverage.

References
----------
V. Vovk, *Cross-conformal predictors*, Annals of Mathematics and Artificial Intelligence 74, 2015. V. Vovk,
I. Nouretdinov, V. Manokhin, A. Gammerman, *Cross-conformal predictive distributions*, COPA 2018. R. F. Barber,
E. J. Candès, A. Ramdas, R. J. Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49, 2021.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.nearest import (
    DEEPEST,
    SAFE,
    NearestTree,
    box_bound,
    key_of,
    least_keys,
    nearest,
    nearest_tree,
)
from hyplearn.types import Array

# Number of digits to which alpha = 1 - coverage is rounded. In floating point, 1 - 0.9 is slightly less than 0.1, so
# without rounding p = 1/10 would be larger than alpha.
DIGITS = 12
# Number of nearest rows of a class whose distances are averaged. All numbers from 1 to 10 detect unknown classes
# equally often (experiments/conformal.py). A small number is used, because some classes have fewer than 20 rows.
NEAREST = 5
# Relative difference up to which mean distances are treated as equal. It covers the rounding errors of sums of up to
# five terms that are added in different orders.
SAME = 1e-14


class HeldOut(NamedTuple):
    """For each training row: its held-out score for its own class, its class code, its fold and its weight."""

    scores: Array
    codes: Array
    folds: Array
    weights: Array


def deal_in_turn(codes: Array, folds: int) -> Array:
    """Return the fold of each row: the rows of each class are assigned to the folds in turn, so they spread evenly.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.decision.conformal import deal_in_turn
    >>> deal_in_turn(np.array([0, 1, 0, 1, 0]), 2)
    array([0, 1, 1, 0, 0])
    """
    dealt = np.empty(len(codes), dtype=np.int64)
    dealt[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % folds
    return dealt


def calibration_groups(totals: Array, coverage: float) -> Array:
    """Return the index of the group to which each class belongs, given the number of rows of each class.

    The p-values of a class are computed from the rows of its group. Each class is a group of its own, except for
    classes with fewer than ``least_rows(coverage)`` rows: they form one group and, if this group also has too few rows,
    the next larger classes join it.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.decision.conformal import calibration_groups
    >>> calibration_groups(np.array([50, 6, 20, 5]), 0.9)
    array([0, 1, 2, 1])
    >>> calibration_groups(np.array([50, 4, 20]), 0.9)
    array([0, 1, 1])
    """
    order, least = np.argsort(totals, kind="stable"), least_rows(coverage)
    n_small = int(np.sum(totals < least))
    if n_small and totals[order[:n_small]].sum() < least:
        n_small = 1 + int(np.searchsorted(np.cumsum(totals[order]), least))
    groups = np.arange(len(totals))
    groups[order[:n_small]] = order[:n_small].min(initial=len(totals))
    return groups


def p_values(scores: Sequence[Array], held_out: HeldOut, groups: Array) -> Array:
    """Compute the p-values of all classes for new rows.

    Parameters
    ----------
    scores : sequence of ndarray of shape (n, K)
        For each fold f, the scores of the new rows for all classes, computed with the model fitted without fold f.
    held_out : HeldOut
        Held-out scores of the training rows. A row of weight w counts as w rows.
    groups : ndarray of int of shape (K,)
        Group of each class. The scores of a class are compared with those of the rows of all classes in its group.

    Returns
    -------
    ndarray of shape (n, K)
    """
    n, K = scores[0].shape
    counts, totals = np.ones((n, K)), np.ones(K)
    for fold, found in enumerate(scores):
        for k in range(K):
            rows = (held_out.folds == fold) & (groups[held_out.codes] == groups[k])
            weights = held_out.weights[rows]
            counts[:, k] += weight_at_least(found[:, k], held_out.scores[rows], weights)
            totals[k] += weights.sum()
    return counts / totals


def prediction_sets(p: Array, coverage: float) -> Array:
    """Return a mask of the classes in the prediction set of each row, given p-values of shape (n, K).

    The prediction set contains the classes whose p-value exceeds 1 - coverage.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.decision.conformal import prediction_sets
    >>> prediction_sets(np.array([[0.6, 0.3, 0.1]]), 0.9)
    array([[ True,  True, False]])
    """
    return p > round(1 - coverage, DIGITS)


def least_rows(coverage: float) -> int:
    """Return the smallest number of calibration rows with which a prediction set can exclude a class.

    A p-value computed from n rows is at least 1 / (n + 1), and a class is excluded if its p-value is at most
    1 - coverage.

    Examples
    --------
    >>> from hyplearn.decision.conformal import least_rows
    >>> least_rows(0.9), least_rows(0.95)
    (9, 19)
    """
    return int(np.ceil(round(1 / round(1 - coverage, DIGITS), DIGITS))) - 1


def proved_coverage(coverage: float, n: int, folds: int) -> float:
    r"""Return a proven lower bound on the true coverage of prediction sets with the requested ``coverage``.

    .. math:: 1 - 2 \alpha - \frac{2 (1 - 1/F)}{n/F + 1}, \quad \alpha = 1 - \text{coverage}, \; F = \text{folds}

    The bound holds for n exchangeable rows; if classes are calibrated separately, n is the number of rows of the class.
    The true coverage is close to the requested coverage if the model does not depend much on individual rows.

    Examples
    --------
    >>> from hyplearn.decision.conformal import proved_coverage
    >>> print(f"{proved_coverage(0.9, 1000, 5):.3f}")
    0.792
    """
    return max(0.0, 1 - 2 * (1 - coverage) - 2 * (1 - 1 / folds) / (n / folds + 1))


class Neighbours(NamedTuple):
    """Labelled rows, with the sum and mean of each row's distances to the nearest other rows of its class.

    For a row whose class has n rows, let m be the smaller of ``NEAREST`` and n. ``sums`` contains the sum of the m - 1
    smallest distances from the row to other rows of its class. ``last`` contains the m-th smallest distance, or
    infinity if m = n. ``means`` contains the mean of the m smallest distances or, if m = n, of all m - 1 distances.
    """

    rows: Array
    codes: Array
    weights: Array
    sums: Array
    last: Array
    means: Array

    @classmethod
    def of(cls, rows: Array, codes: Array, weights: Array, c: float | None) -> "Neighbours":
        """Find each row's nearest rows in its class; ``c`` is the absolute curvature, or None in Euclidean space."""
        sums, last, means = np.zeros((3, len(rows)))
        for k in np.unique(codes).tolist():
            own = np.flatnonzero(codes == k)
            m = min(NEAREST, len(own))
            near = np.full((len(own), m), np.inf)
            # Leave out the first row that is found, because it is the row itself.
            found = _Rows.of(rows[own], c).nearest(rows[own], min(m + 1, len(own)))[:, 1:]
            near[:, : found.shape[1]] = found
            sums[own], last[own] = near[:, :-1].sum(axis=1), near[:, -1]
            means[own] = found.sum(axis=1) / max(1, found.shape[1])
        return cls(rows, codes, weights, sums, last, means)


def distance_p_values(X: Array, near: Neighbours, n_classes: int, c: float | None, groups: Array) -> Array:
    r"""Compute the p-values of all classes for new points, from mean distances to the nearest rows of each class.

    This is full conformal prediction: the point is added to the class, and the score of the point and of each row of
    the class is the mean distance to its five nearest neighbours in the class, or to fewer if the class is smaller. The
    true coverage is therefore at least the requested coverage. If all distances differ, it exceeds the requested
    coverage by at most 1 / (r + 1), where r is the number of rows with which the point is compared.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        New points.
    near : Neighbours
        Labelled rows, with their distances to their neighbours.
    n_classes : int
        Number of classes.
    c : float or None
        Absolute value of the curvature, or None for Euclidean distances.
    groups : ndarray of int of shape (n_classes,)
        Group of each class. The scores of a class are compared with those of the rows of all classes in its group.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    p = np.empty((len(X), n_classes))
    for k in range(n_classes):
        own = np.flatnonzero(near.codes == k)
        others = (near.codes != k) & (groups[near.codes] == groups[k])
        beyond = near.means[others], near.weights[others]
        m, rows, weights = min(NEAREST, len(own)), _Rows.of(near.rows[own], c), near.weights[own]
        score = rows.nearest(X, m).mean(axis=1)
        least = m * (1 - SAME) * score
        count = weight_at_least(least, near.sums[own] + near.last[own], weights)
        count -= rows.weight_drawn_below(X, least, near.sums[own], near.last[own], weights)
        count += weight_at_least(score, *beyond)
        p[:, k] = (1 + count) / (1 + weights.sum() + beyond[1].sum())
    return p


class _Totals(NamedTuple):
    """Total distance of each row to its m nearest rows, which is ``sums + last`` (see :class:`Neighbours`).

    The rows are in the order in which the nearest-neighbour tree stores them.
    """

    # Sum of the distances from each row to its m - 1 nearest rows.
    sums: Array
    # Distance from each row to its m-th nearest row.
    last: Array
    weights: Array
    # Smallest element of ``sums`` in each box of the nearest-neighbour tree.
    least_sums: Array
    # Largest total distance ``sums + last`` in each box of the nearest-neighbour tree.
    largest: Array

    @classmethod
    def of(cls, tree: NearestTree, sums: Array, last: Array, weights: Array) -> "_Totals":
        sums, last, weights = (values[tree.rows] for values in (sums, last, weights))
        least_sums = np.array([sums[first:end].min(initial=np.inf) for first, end in tree.bounds])
        largest = np.array([(sums[first:end] + last[first:end]).max(initial=0.0) for first, end in tree.bounds])
        return cls(sums, last, weights, least_sums, largest)


class _Rows(NamedTuple):
    """Nearest-neighbour tree of rows; ``c`` is the absolute value of the curvature, or None for Euclidean distances."""

    tree: NearestTree
    c: float | None

    @classmethod
    def of(cls, rows: Array, c: float | None) -> "_Rows":
        return cls(nearest_tree(rows, _gaps(rows, c)), c)

    def nearest(self, X: Array, k: int) -> Array:
        """Return the distances of points to their k nearest rows, in increasing order."""
        if self.c is None:
            return np.sqrt(least_keys(self.tree, X, k)[0])
        return nearest(self.tree, X, _gaps(X, self.c), k, self.c)[0]

    def weight_drawn_below(self, X: Array, least: Array, sums: Array, last: Array, weights: Array) -> Array:
        """For each point x, return the weight of the rows whose total distance drops below ``least`` if x is added.

        Each point is added to the rows separately. The total distance of a row to its m nearest rows is
        ``sums + last``, where ``last`` is the distance to the m-th nearest row (see :class:`Neighbours`). If an added
        point is nearer than the m-th nearest row, it replaces this row, and the total distance decreases. The total
        distance drops below ``least`` for only a few rows. A box of the tree that cannot contain such rows is skipped.
        This is decided from the distance between the point and the box, and from the smallest element of ``sums`` and
        the largest total distance in the box.
        """
        totals, c, out = _Totals.of(self.tree, sums, last, weights), 0.0 if self.c is None else self.c, np.zeros(len(X))
        _add_drawn_below(X, _gaps(X, self.c), least, self.tree, totals, c, out)
        return out


def _gaps(X: Array, c: float | None) -> Array:
    return np.ones(len(X)) if c is None else row_gaps(X, c)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_drawn_below(Q, gaps_q, least, tree, totals, c, out):  # type: ignore[no-untyped-def]
    """Compute the result of :meth:`_Rows.weight_drawn_below` for the rows of Q, and add it to ``out``.

    For a row q of Q, this is the total weight of the rows in the tree whose total distance ``sums + last`` is at least
    ``least``, but becomes smaller than ``least`` if ``last`` is replaced with the distance to q.
    """
    X, gaps, _, bounds, lower, upper, widest = tree
    sums, last, weights, least_sums, largest = totals
    waiting = np.empty(DEEPEST, dtype=np.int64)
    for i in range(Q.shape[0]):
        waiting[0], size = 0, 1
        while size > 0:
            size -= 1
            node = waiting[size]
            if largest[node] < least[i] or least_sums[node] >= least[i]:
                continue
            bound = SAFE * _length(box_bound(Q, i, lower, upper, widest, node), gaps_q[i], c)
            if SAFE * (least_sums[node] + bound) >= least[i]:
                continue
            if 2 * node + 1 < bounds.shape[0]:
                waiting[size], waiting[size + 1] = 2 * node + 1, 2 * node + 2
                size += 2
                continue
            for place in range(bounds[node, 0], bounds[node, 1]):
                if sums[place] + last[place] >= least[i] and sums[place] < least[i]:
                    distance = _length(key_of(Q, i, X, place, gaps), gaps_q[i], c)
                    if sums[place] + distance < least[i]:
                        out[i] += weights[place]


@njit(cache=True, error_model="numpy")
def _length(key, gap_q, c):  # type: ignore[no-untyped-def]
    """Convert a key (see :mod:`hyplearn.geometry.nearest`) to a hyperbolic distance; if c is 0, to a Euclidean one."""
    return 2.0 / math.sqrt(c) * math.asinh(math.sqrt(c * key / gap_q)) if c > 0.0 else math.sqrt(key)


def weight_at_least(scores: Array, given: Array, weights: Array) -> Array:
    """Return, for each of ``scores``, the total weight of those elements of ``given`` that are at least as large."""
    order = np.argsort(given, kind="stable")
    above = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])
    return above[np.searchsorted(given[order], scores, side="left")]


class Ancestors(NamedTuple):
    """Ancestors of each class in a tree of classes, and the length of the longest path from a root to each node."""

    # Mask of shape (K, n_nodes) that is True if a node is the class itself or one of its ancestors.
    above: Array
    # Length of the longest path from a root to each node, of shape (n_nodes,).
    depths: Array


def least_covers(sets: Array, tree: Ancestors) -> Array:
    """Return, for each set of classes, the root of the smallest subtree that contains all classes of the set.

    If several subtrees have the same number of classes, the one with the deepest root is chosen.

    Parameters
    ----------
    sets : ndarray of bool of shape (n, K)
        Mask of the classes in each set.
    tree : Ancestors
        Tree, or directed acyclic graph, of classes.

    Returns
    -------
    ndarray of int of shape (n,)
        Index of a node for each set; -1 for an empty set.
    """
    different, which = np.unique(sets, axis=0, return_inverse=True)
    n_below = tree.above.sum(axis=0)
    order = np.lexsort((-tree.depths, n_below))
    nodes = np.full(len(different), -1)
    for row, members in enumerate(different):
        if members.any():
            nodes[row] = order[np.argmax(tree.above[members][:, order].all(axis=0))]
    return nodes[np.ravel(which)]
