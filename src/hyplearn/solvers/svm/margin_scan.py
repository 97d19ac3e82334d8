"""Scan all rows at a given w: compute the loss, count rows by distance from the margin, and gather rows near it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import in_any_order, summed
from hyplearn.numerics import bits_of, coordinate
from hyplearn.rows import Rows, RowSource
from hyplearn.tangent import element
from hyplearn.types import Array

# The distances ``|⟨u, w⟩ - 1| / ‖u‖`` of rows u from the margin are counted in bins from 2^-60 to 2^20, each half an
# octave (a factor of √2) wide.
LOWEST_EXPONENT, BINS = -60, 160
EDGES = 2.0 ** (LOWEST_EXPONENT + np.arange(BINS) / 2)
IGNORED, GATHERED, CLAMPED = np.int8(0), np.int8(1), np.int8(2)
# Number of rows per chunk, small enough that a chunk stays in the cache.
CHUNK = 256
# Lower bound of ‖u‖² in the denominator of the squared distance, so that the distance of a row of zeros is finite.
SHORTEST_SQUARE = 1e-300
# OUT_OF_THE_WAY is the value of ``⟨u, w⟩`` assigned to rows with cost 0; their squared distance overflows to infinity.
# FARTHEST is the largest squared limit of a band. It is finite, so that these rows lie outside every band.
OUT_OF_THE_WAY, FARTHEST = 1e200, float(np.finfo(np.float64).max)
MANTISSA, LOWEST_BITS = np.uint64(52), np.int64(1023 + 2 * LOWEST_EXPONENT)
# The counts of the bins are kept in this many copies. Consecutive rows update different copies, so that no update waits
# for the previous one.
COPIES = 4
# With at most this many dimensions, the rows are summed column by column instead of row by row.
FEW_DIMENSIONS = 4


@checkpointable
class Band(NamedTuple):
    """Band around the margin in which rows are gathered.

    A row u lies in the band if its distance ``|⟨u, w⟩ - 1| / ‖u‖`` from the margin is at most ``below`` or ``above``,
    depending on the side of the margin on which it lies.
    """

    below: float
    above: float


NOTHING = Band(-1.0, -1.0)
EVERYTHING = Band(np.inf, np.inf)


@checkpointable
class MarginScan(NamedTuple):
    """Result of a scan, which is a pass over the rows u that computes ``⟨u, w⟩`` for a given w.

    The scan gathers the rows in ``band``, a band around the margin ``⟨u, w⟩ = 1``. Rows with ``⟨u, w⟩ < 1`` outside
    this band are called clamped. Rows with cost 0 are left out.
    """

    w: Array
    band: Band
    loss: float  # Σ C max(0, 1 - ⟨u, w⟩)
    least: float  # smallest ⟨u, w⟩
    longest: float  # largest ‖u‖
    counts: Array  # number of rows below and above the margin in each bin of distances; of shape (2, BINS)
    found: Array  # positions of the gathered rows
    rows: Array
    costs: Array
    clamped: Array  # Σ C u over the clamped rows
    clamped_cost: float  # Σ C over the clamped rows
    complete: bool  # whether all rows in the band were gathered; False if there were too many
    most: int  # maximum number of rows to gather

    @property
    def primal(self) -> float:
        """Primal objective of the soft margin with hinge loss."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def n_clamped(self) -> int:
        """Number of clamped rows."""
        return int(self.counts[0].sum() - np.count_nonzero(self.rows @ self.w < 1.0))

    def band_of(self, size: int) -> Band:
        """Return a band with about ``size`` rows, half of them on each side of the margin if there are enough."""
        totals = np.cumsum(self.counts, axis=1)
        below, above = totals[:, -1]
        share = [max(size // 2, size - above), max(size // 2, size - below)]
        edges = []
        for side in (0, 1):
            fitting = int(np.searchsorted(totals[side], share[side], side="right"))
            edges.append(np.inf if fitting == BINS else float(EDGES[fitting]))
        return Band(*edges)

    def count_within(self, band: Band) -> int:
        """Return the number of rows in a band, computed from the counts."""
        return int(sum(self.counts[side, edge > EDGES].sum() for side, edge in enumerate(band)))


@in_any_order
def merge_scans(parts: Sequence[MarginScan]) -> MarginScan:
    """Merge scans of several blocks, in any order; the merged rows are in the order of the source."""
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
    """Scan the rows of a block at w; no rows are gathered if the band contains more than ``most``."""
    sides, counts = np.empty(len(block.X), dtype=np.int8), np.zeros((2, BINS), dtype=np.int64)
    clamped, loss, least, longest, cost = np.zeros(w.size), 0.0, np.inf, 0.0, 0.0
    for piece in block.pieces():
        own = sides[piece.start - block.start :][: len(piece.X)]
        numbers = scan_kernel(
            piece.X, piece.centre, piece.along, piece.base, piece.costs, w, band.below, band.above, own, counts, clamped
        )
        loss, least, longest = loss + numbers[0], min(least, numbers[1]), max(longest, numbers[2])
        clamped, cost = clamped + numbers[3] * piece.p, cost + numbers[4]
    index = np.flatnonzero(sides == GATHERED)
    complete = len(index) <= most
    index = index if complete else index[:0]
    return MarginScan(
        w, band, loss, least, longest, counts, index + block.start, block[index], block.costs[index], clamped, cost,
        complete, most,
    )  # fmt: skip


def clamped_rows(block: Rows, w: Array, band: Band) -> Array:
    """Return the indices, within the block, of the clamped rows: rows outside the band with ``⟨u, w⟩ < 1``."""
    sides = np.empty(len(block.X), dtype=np.int8)
    for piece in block.pieces():
        own = sides[piece.start - block.start :][: len(piece.X)]
        scan_kernel(
            piece.X, piece.centre, piece.along, piece.base, piece.costs, w, band.below, band.above, own,
            np.zeros((2, BINS), dtype=np.int64), np.zeros(w.size),
        )  # fmt: skip
    return np.flatnonzero(sides == CLAMPED)


def losses_along(source: RowSource, w: Array, dw: Array, lengths: Array) -> Array:
    """Return the hinge loss ``Σ C max(0, 1 - ⟨u, w + t dw⟩)`` for each step length t, in one pass."""
    return source.fold(_losses_along_block, summed, w, dw, lengths)


def _losses_along_block(block: Rows, w: Array, dw: Array, lengths: Array) -> Array:
    out = np.zeros(len(lengths))
    for piece in block.pieces():
        _losses_along(piece.X, piece.centre, piece.along, piece.base, piece.costs, w, dw, lengths, out)
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


@njit(cache=True, nogil=True, error_model="numpy")
def scan_kernel(X, p, along, base, costs, w, below, above, sides, counts, clamped):  # type: ignore[no-untyped-def]
    """Mark each row in ``sides``, count the rows by distance from the margin, and sum the clamped rows.

    The marks are GATHERED for rows in the band (see :class:`Band`), CLAMPED for other rows with ``⟨u, w⟩ < 1``, and
    IGNORED for the remaining rows. The number of rows in each bin of distances is added to ``counts``, and the sum of
    ``C · along · (x - p)`` over the clamped rows is added to ``clamped``. Five numbers are returned: the loss, the
    smallest margin, the largest norm of a row, and the sums of ``C · base`` and of ``C`` over the clamped rows.

    The rows are processed in chunks that stay in the cache, and each chunk in stages: every stage is a loop without
    branches, which the compiler vectorises. A single loop would take twice as long.
    """
    buffers, bins = np.empty((4, CHUNK)), np.empty(CHUNK, dtype=np.int64)
    copies = np.zeros((COPIES, 2 * BINS), dtype=np.int64)
    loss, least, longest, clamped_base, clamped_cost, n_absent = 0.0, np.inf, 0.0, 0.0, 0.0, 0
    below, above = _squared(below), _squared(above)
    for start in range(0, X.shape[0], CHUNK):
        part = slice(start, min(start + CHUNK, X.shape[0]))
        size = part.stop - start
        margins, squares, ratios, scaled = buffers[0, :size], buffers[1, :size], buffers[2, :size], buffers[3, :size]
        own_along, own_base, own_costs = along[part], base[part], costs[part]
        n_absent += _margins(X[part], p, own_along, own_base, own_costs, w, margins, squares)
        own_loss, own_least, own_longest = _ratios(margins, squares, own_costs, ratios)
        loss, least, longest = loss + own_loss, min(least, own_least), max(longest, own_longest)
        _count(margins, ratios, bins, copies)
        _take_sides(margins, ratios, below, above, sides[part])
        sums = _scale(margins, ratios, own_along, own_base, own_costs, below, scaled)
        clamped_base, clamped_cost = clamped_base + sums[0], clamped_cost + sums[1]
        _add(X[part], p, scaled, clamped)
    for copy in range(COPIES):
        for k in range(BINS):
            counts[0, k] += copies[copy, k]
            counts[1, k] += copies[copy, BINS + k]
    counts[1, BINS - 1] -= n_absent
    return loss, least, math.sqrt(longest), clamped_base, clamped_cost


@njit(cache=True, error_model="numpy")
def _squared(edge):  # type: ignore[no-untyped-def]
    """Return the square of one limit of a band, but at most FARTHEST.

    For a negative limit, which excludes all rows, the result is negative too.
    """
    return min(edge * abs(edge), FARTHEST)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _margins(X, p, along, base, costs, w, margins, squares):  # type: ignore[no-untyped-def]
    """Write ``⟨u, w⟩`` and ``‖u‖²`` of the rows ``u = along · (x - p) + base · p`` to ``margins`` and ``squares``.

    For rows with cost 0, OUT_OF_THE_WAY and 0 are written instead. Return the number of these rows.
    """
    d, n_absent = len(p), 0
    for i in range(margins.size):
        margin, square = 0.0, 0.0
        for j in range(d):
            u = element(X, p, along, base, i, j)
            margin += u * w[j]
            square += u * u
        margins[i] = margin if costs[i] > 0.0 else OUT_OF_THE_WAY
        squares[i] = square if costs[i] > 0.0 else 0.0
        n_absent += 0 if costs[i] > 0.0 else 1
    return n_absent


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc"})
def _ratios(margins, squares, costs, ratios):  # type: ignore[no-untyped-def]
    """Fill ``ratios`` with the squared distances from the margin; return the loss, smallest ⟨u, w⟩ and largest ‖u‖².

    Each cost is loaded even if the row has no loss, because a conditional load would be a branch.
    """
    loss, least, longest = 0.0, np.inf, 0.0
    for i in range(margins.size):
        above, cost = margins[i] - 1.0, costs[i]
        loss -= (cost if above < 0.0 else 0.0) * above
        least, longest = min(least, margins[i]), max(longest, squares[i])
        ratios[i] = above * above / max(squares[i], SHORTEST_SQUARE)
    return loss, least, longest


@njit(cache=True, nogil=True, error_model="numpy")
def _count(margins, ratios, bins, copies):  # type: ignore[no-untyped-def]
    """Count the rows in each bin of distances; the squared distances in a bin have the same binary exponent."""
    for i in range(margins.size):
        octave = np.int64(bits_of(ratios[i]) >> MANTISSA) - LOWEST_BITS
        bins[i] = min(max(octave, 0), BINS - 1)
        bins[i] += 0 if margins[i] < 1.0 else BINS
    whole = margins.size - margins.size % COPIES
    for i in range(0, whole, COPIES):
        copies[0, bins[i]] += 1
        copies[1, bins[i + 1]] += 1
        copies[2, bins[i + 2]] += 1
        copies[3, bins[i + 3]] += 1
    for i in range(whole, margins.size):
        copies[0, bins[i]] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _take_sides(margins, ratios, below, above, sides):  # type: ignore[no-untyped-def]
    for i in range(margins.size):
        under = margins[i] < 1.0
        far = CLAMPED if under else IGNORED
        sides[i] = GATHERED if ratios[i] <= (below if under else above) else far


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nsz", "reassoc"})
def _scale(margins, ratios, along, base, costs, below, scaled):  # type: ignore[no-untyped-def]
    """Fill ``scaled`` with ``C · along`` for clamped rows and with 0 for other rows; return two sums.

    The sums are those of ``C · base`` and of ``C`` over the clamped rows.
    """
    base_sum, cost_sum = 0.0, 0.0
    for i in range(margins.size):
        cost = costs[i] if (margins[i] < 1.0) & (ratios[i] > below) else 0.0
        scaled[i] = cost * along[i]
        base_sum += cost * base[i]
        cost_sum += cost
    return base_sum, cost_sum


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nsz", "reassoc"})
def _add(X, p, scaled, clamped):  # type: ignore[no-untyped-def]
    """Add the sum of ``scaled · (x - p)`` over all rows to ``clamped``."""
    d = len(p)
    if d <= FEW_DIMENSIONS:
        for j in range(d):
            total = 0.0
            for i in range(scaled.size):
                total += scaled[i] * (coordinate(X, i, j, d) - p[j])
            clamped[j] += total
        return
    for i in range(scaled.size):
        if scaled[i] != 0.0:
            for j in range(d):
                clamped[j] += scaled[i] * (coordinate(X, i, j, d) - p[j])
