r"""Choose a few weighted points whose weighted sums of smooth functions are close to the sums over all points.

The points of every class are divided into cells of similar size, and one point of each cell is drawn, with the total
weight of the cell. The error of a sum is due to differences within cells only. In d dimensions, the width of a cell
decreases with the number s of points as :math:`s^{-1/d}`, so the error decreases as :math:`s^{-1/2 - 1/d}` instead of
:math:`s^{-1/2}`; in the disk a few thousand points are as good as a million that are drawn independently.
"""

import numpy as np

from hyplearn.numerics import uniforms
from hyplearn.types import Array


def representatives(V: Array, codes: Array, weights: Array, totals: Array, size: int) -> tuple[Array, Array]:
    """Return the positions of about ``size`` rows of V that represent all rows, and their weights.

    The weights of class k add up to ``totals[k]``. Half of the rows are distributed over the classes in proportion to
    their weights. The other half is distributed equally, so that rare classes are represented by enough rows.
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
    """Draw one row from each of ``n_cells`` cells; return the positions of the rows and the weights of the cells."""
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
    """Divide rows into at most ``n_cells`` cells; return an order that sorts them by cell, and the sorted cells.

    The rows are rotated to their principal axes. They are divided along the first axis into slices with equal numbers
    of rows, every slice is divided along the second axis, and so on.
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
        # Cells are numbered again, so that numbers stay small.
        sorted_ = np.cumsum(np.diff(sorted_, prepend=sorted_[0]) > 0)
        cells[order] = sorted_
    return order, cells[order]


def slices(spreads: Array, n_cells: int) -> Array:
    """Return the number of slices per axis, about proportional to its spread; there are at most ``n_cells`` cells."""
    parts = np.ones(len(spreads), dtype=np.int64)
    while True:
        j = np.argmax(spreads / parts)
        if parts[j] + 1 > n_cells // (np.prod(parts) // parts[j]):
            return parts
        parts[j] += 1
