"""One pass over all rows at a given w: the loss, counts by distance to the margin, and the rows near it, explicit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import in_any_order, summed
from hyplearn.rows import Rows, RowSource
from hyplearn.solvers.svm.scan_kernels import BINS, CLAMPED, EDGES, GATHERED, scan_kernel
from hyplearn.tangent import element
from hyplearn.types import Array


@checkpointable
class Band(NamedTuple):
    """Distances ``(⟨u, w⟩ - 1) / ‖u‖`` between which rows are gathered."""

    below: float
    above: float


NOTHING = Band(-1.0, -1.0)
EVERYTHING = Band(np.inf, np.inf)


@checkpointable
class MarginScan(NamedTuple):
    """Result of a pass at w. Clamped are the rows with margin below 1 that were not gathered.

    Attributes
    ----------
    w, band
        Where it was taken.
    loss : float
        ``Σ C max(0, 1 - ⟨u, w⟩)``.
    least, longest : float
        Least ``⟨u, w⟩`` and largest ``‖u‖``.
    counts : ndarray of shape (2, BINS)
        Rows below and above the margin, by their distance from it.
    found, rows, costs
        Positions of the gathered rows, the rows, and their costs.
    clamped : ndarray of shape (d,), clamped_cost : float
        ``Σ C u`` and ``Σ C`` over the clamped rows.
    complete : bool
        Whether all rows of the band were gathered, or there were too many.
    most : int
        How many may be gathered.
    """

    w: Array
    band: Band
    loss: float
    least: float
    longest: float
    counts: Array
    found: Array
    rows: Array
    costs: Array
    clamped: Array
    clamped_cost: float
    complete: bool
    most: int

    @property
    def primal(self) -> float:
        """The value of the soft margin with hinge loss."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def n_clamped(self) -> int:
        """Number of clamped rows."""
        return int(self.counts[0].sum() - np.count_nonzero(self.rows @ self.w < 1.0))

    def band_of(self, size: int) -> Band:
        """The band that holds about ``size`` rows, half of them on each side where there are as many."""
        totals = np.cumsum(self.counts, axis=1)
        below, above = totals[:, -1]
        share = [max(size // 2, size - above), max(size // 2, size - below)]
        edges = []
        for side in (0, 1):
            fitting = int(np.searchsorted(totals[side], share[side], side="right"))
            edges.append(np.inf if fitting == BINS else float(EDGES[fitting]))
        return Band(*edges)

    def count_within(self, band: Band) -> int:
        """How many rows a band holds, by the counts."""
        return int(sum(self.counts[side, edge > EDGES].sum() for side, edge in enumerate(band)))


@in_any_order
def merge_scans(parts: Sequence[MarginScan]) -> MarginScan:
    """One scan of several; its rows stand in the order of the source, whatever the order of the parts."""
    most = parts[0].most
    complete = all(part.complete for part in parts) and sum(len(part.found) for part in parts) <= most
    kept = parts if complete else [_without_rows(parts[0])]
    found = np.concatenate([part.found for part in kept])
    order = slice(None) if np.all(found[1:] > found[:-1]) else np.argsort(found)
    return parts[0]._replace(
        loss=sum(part.loss for part in parts),
        least=min(part.least for part in parts),
        longest=max(part.longest for part in parts),
        counts=summed([part.counts for part in parts]),
        found=found[order],
        rows=np.concatenate([part.rows for part in kept])[order],
        costs=np.concatenate([part.costs for part in kept])[order],
        clamped=summed([part.clamped for part in parts]),
        clamped_cost=sum(part.clamped_cost for part in parts),
        complete=complete,
    )


def _without_rows(part: MarginScan) -> MarginScan:
    return part._replace(found=part.found[:0], rows=part.rows[:0], costs=part.costs[:0])


def scan_block(block: Rows, w: Array, band: Band, most: int) -> MarginScan:
    """Scan the rows of a block at w; more than ``most`` rows within the band are not gathered."""
    sides, counts, clamped = (
        np.empty(len(block.X), dtype=np.int8),
        np.zeros((2, BINS), dtype=np.int64),
        np.zeros(w.size),
    )
    loss, least, longest, base, cost = scan_kernel(
        block.X, block.centre, block.along, block.base, block.costs, w, band.below, band.above, sides, counts, clamped
    )
    index = np.flatnonzero(sides == GATHERED)
    complete = len(index) <= most
    index = index if complete else index[:0]
    return MarginScan(
        w, band, loss, least, longest, counts, index + block.start, block[index], block.costs[index],
        clamped + base * block.p, cost, complete, most,
    )  # fmt: skip


def clamped_rows(block: Rows, w: Array, band: Band) -> Array:
    """Indices of the rows of a block that the scan at w clamped."""
    sides = np.empty(len(block.X), dtype=np.int8)
    scan_kernel(
        block.X, block.centre, block.along, block.base, block.costs, w, band.below, band.above, sides,
        np.zeros((2, BINS), dtype=np.int64), np.zeros(w.size),
    )  # fmt: skip
    return np.flatnonzero(sides == CLAMPED)


def losses_along(source: RowSource, w: Array, dw: Array, lengths: Array) -> Array:
    """``Σ C max(0, 1 - ⟨u, w + t dw⟩)`` for each length t, in one pass."""
    return source.fold(_losses_along_block, summed, w, dw, lengths)


def _losses_along_block(block: Rows, w: Array, dw: Array, lengths: Array) -> Array:
    out = np.zeros(len(lengths))
    _losses_along(block.X, block.centre, block.along, block.base, block.costs, w, dw, lengths, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _losses_along(X, p, along, base, costs, w, dw, lengths, out):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        margin, step = 0.0, 0.0
        for j in range(len(p)):
            u = element(X, p, along, base, i, j)
            margin += u * w[j]
            step += u * dw[j]
        for k in range(lengths.size):
            out[k] += costs[i] * max(0.0, 1.0 - margin - lengths[k] * step)
