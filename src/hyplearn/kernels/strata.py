r"""Choose a few weighted points whose weighted sums of smooth functions are close to the sums over all points.

The points of every class are divided into cells with similar numbers of points. One point is drawn from each cell, and
gets the total weight of the cell. The error of a sum is due to differences within cells only. In d dimensions, the
width of a cell decreases with the number s of drawn points as :math:`s^{-1/d}`, so the error decreases as
:math:`s^{-1/2 - 1/d}`. For independently drawn points, it decreases as :math:`s^{-1/2}`. In the disk, a few thousand
points from cells are therefore as good as a million independent points.
"""

import numpy as np

from hyplearn.numerics import uniforms
from hyplearn.types import Array


def representatives(V: Array, codes: Array, weights: Array, totals: Array, size: int) -> tuple[Array, Array]:
    """Choose about ``size`` rows of V to represent all rows of positive weight; return their positions and new weights.

    The new weights in class k add up to ``totals[k]``. Half of the chosen rows are distributed over the classes in
    proportion to ``totals``. The other half is distributed equally over the classes with a positive total, so that rare
    classes are represented by enough rows.
    """
    present = totals > 0
    shares = 0.5 * (totals / totals.sum() + present / present.sum())
    index, cell_weights = [], []
    for k in np.flatnonzero(present):
        own = np.flatnonzero((codes == k) & (weights > 0))
        chosen, cells = _of_cells(V[own], weights[own], max(1, round(size * shares[k])))
        index.append(own[chosen])
        cell_weights.append(cells * (totals[k] / cells.sum()))
    return np.concatenate(index), np.concatenate(cell_weights)


def _of_cells(V: Array, weights: Array, n_cells: int) -> tuple[Array, Array]:
    """Draw one row from each of at most ``n_cells`` cells; return the positions of the rows and the cells' weights.

    In each cell, the probability that a row is drawn is proportional to the weight of the row. If there are at most
    ``n_cells`` rows, each row is a cell.
    """
    if len(V) <= n_cells:
        return np.arange(len(V)), weights
    order, cells = sorted_cells(V, n_cells)
    sums = np.cumsum(weights[order])
    ends = np.append(np.flatnonzero(np.diff(cells)), len(cells) - 1)
    above = sums[ends]
    below = np.append(0.0, above[:-1])
    drawn = np.searchsorted(sums, below + uniforms(0, np.arange(len(ends))) * (above - below), side="right")
    return order[np.minimum(drawn, ends)], above - below


def sorted_cells(V: Array, n_cells: int) -> tuple[Array, Array]:
    """Divide rows into at most ``n_cells`` cells; return the row positions sorted by cell, and the sorted cell numbers.

    The rows are rotated to their principal axes. They are divided along the axis of largest variance into slices with
    about equal numbers of rows, every slice is divided along the next axis, and so on.
    """
    V = V - V.mean(axis=0)
    variances, axes = np.linalg.eigh(V.T @ V)
    parts = slices(np.sqrt(np.maximum(variances, 0.0)), n_cells)
    cells, order = np.zeros(len(V), dtype=np.int64), np.arange(len(V))
    for j in np.flatnonzero(parts > 1)[::-1]:
        order = np.lexsort((V @ axes[:, j], cells))
        counts = np.bincount(cells)
        counts, sorted_ = counts[counts > 0], cells[order]
        ranks = np.arange(len(V)) - np.repeat(np.cumsum(counts) - counts, counts)
        sorted_ = sorted_ * parts[j] + ranks * parts[j] // np.repeat(counts, counts)
        # The cells are renumbered, so that the numbers stay small.
        sorted_ = np.cumsum(np.diff(sorted_, prepend=sorted_[0]) > 0)
        cells[order] = sorted_
    return order, cells[order]


def slices(spreads: Array, n_cells: int) -> Array:
    """Return the number of slices along each axis, about proportional to the spread along this axis.

    The product of these numbers is at most ``n_cells``.
    """
    parts = np.ones(len(spreads), dtype=np.int64)
    while True:
        j = np.argmax(spreads / parts)
        if parts[j] + 1 > n_cells // (np.prod(parts) // parts[j]):
            return parts
        parts[j] += 1
