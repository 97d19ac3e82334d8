"""The kernel of a survey: what one pass over a block of rows finds out at w.

It goes over the rows in chunks that stay in the cache, and over a chunk in stages. Each stage is a loop without a
branch that the compiler turns into one over several rows at a time; all in one loop would be half as fast.
"""

import math

import numpy as np
from numba import njit

from hyplearn.numerics import bits_of, coordinate
from hyplearn.tangent import element

# Rows are counted by their distance from the margin in half octaves, √2 from one to the next, from 2^-60 to 2^20.
LOWEST_EXPONENT, BINS = -60, 160
EDGES = 2.0 ** (LOWEST_EXPONENT + np.arange(BINS) / 2)
IGNORED, GATHERED, CLAMPED = np.int8(0), np.int8(1), np.int8(2)
# Rows per stage: few enough to stay in the cache.
CHUNK = 256
# A row of length 0 is infinitely far from any margin; this keeps the quotient finite.
SHORTEST_SQUARE = 1e-300
# Where a row without a cost is put: above the margin, and farther from it than any limit.
OUT_OF_THE_WAY, FARTHEST = 1e200, float(np.finfo(np.float64).max)
MANTISSA, LOWEST_BITS = np.uint64(52), np.int64(1023 + 2 * LOWEST_EXPONENT)
# Copies of the counts, so that neighbours in one bin need not wait for each other.
COPIES = 4
# Up to so many dimensions a sum is taken column by column.
FEW_DIMENSIONS = 4


@njit(cache=True, nogil=True, error_model="numpy")
def scan_kernel(X, p, along, base, costs, w, below, above, sides, counts, clamped):  # type: ignore[no-untyped-def]
    """Write the side of every row, count rows by their distance, add those clamped; return five numbers.

    These are the loss, the least margin, the length of the longest row, and of the clamped rows the sums of
    ``C base`` and C; ``clamped`` gets their sum of ``C along (x - p)``.
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
    """The limit of squared distances for one of distances; of one below 0, one that no square reaches."""
    return min(edge * abs(edge), FARTHEST)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _margins(X, p, along, base, costs, w, margins, squares):  # type: ignore[no-untyped-def]
    """``⟨u, w⟩`` and ``‖u‖²`` of every row, ``u = along (x - p) + base p``; returns how many have no cost."""
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
    """Squared distance of every row from the margin; loss, least margin and largest square.

    A cost is loaded before it is known whether it counts: a load that depends on that would be a branch.
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
    """Count every row in the bin of its distance, which is the exponent of its square."""
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
    """``C along`` of the clamped rows, 0 of others; returns their sums of ``C base`` and of C."""
    base_sum, cost_sum = 0.0, 0.0
    for i in range(margins.size):
        cost = costs[i] if (margins[i] < 1.0) & (ratios[i] > below) else 0.0
        scaled[i] = cost * along[i]
        base_sum += cost * base[i]
        cost_sum += cost
    return base_sum, cost_sum


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nsz", "reassoc"})
def _add(X, p, scaled, clamped):  # type: ignore[no-untyped-def]
    """Add ``Σ scaled (x - p)``."""
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
