r"""Solver for the hinge loss over all rows, with working sets.

Rows u near the margin, where ⟨u, w⟩ is close to 1, form the working set. Rows far above the margin have α = 0. All
rows far below the margin are *clamped*: they are replaced by a single row, which is their cost-weighted mean. The cost
of this mean row is the sum of the clamped rows' costs, and its α is distributed over the clamped rows in proportion to
their costs. The small problem of the working set and the mean row is solved by an interior point method
(:mod:`~hyplearn.solvers.svm.interior_point`). By convexity, the loss of the mean row is at most the sum of the losses
of the clamped rows. The optimum of the small problem is therefore a lower bound of the objective P of all rows, and its
α is dual feasible for all rows. One more pass computes P at the solution of the small problem, and finds the rows that
are now near the margin.

With many rows, samples of increasing size are solved first. The solution for a sample provides the starting point for
the next sample, and determines how many rows are gathered in the first working set of the next sample. With many
columns, the starting point may be computed with a smoothed loss instead (:mod:`~hyplearn.solvers.svm.smoothed`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.folding import in_any_order, summed
from hyplearn.rows import Rows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.certificate import EPSILON, ROW_ERROR
from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.interior_point import BoxSolution, solve_box
from hyplearn.solvers.svm.margin_scan import (
    EDGES,
    EVERYTHING,
    NOTHING,
    Band,
    MarginScan,
    clamped_rows,
    losses_along,
    merge_scans,
    scan_block,
)
from hyplearn.solvers.svm.smoothed import smoothing_pays, solve_smoothed
from hyplearn.types import Array

# Size of the first sample: the larger of FIRST_ROWS and FIRST_ROWS_PER_COLUMN times the number of columns. Fewer rows
# per column would not determine the direction of w.
FIRST_ROWS, FIRST_ROWS_PER_COLUMN = 250, 4
# Most samples are 16 times as large as the previous one, so that all samples together contain less than a tenth of the
# rows. With 16 times as many rows, the sampling error of w decreases by a factor of 4. The band in which rows are
# gathered is then a fourth as wide, and contains 4 times as many rows.
SAMPLE_RATIO, GROWTH = 16, 4
SAMPLE_TOL, THINNED_TOL = 1e-2, 1e-4
# If a step leaves more than this fraction of the gap, the working set is too small, and more rows are gathered for the
# next one.
SLOW = 0.7
# While the relative gap is above FAR_APART, the working set still lacks some of the rows that matter, so its problem is
# solved only to the tolerance ROUGHLY. This does not apply to a working set of all rows, or to the first working set if
# the starting point is near the solution.
FAR_APART, ROUGHLY = 0.5, 1e-2
# After the first sample, samples in memory are used only if they are at least this many times as large as the first.
SAMPLES_WORTH = 4
# The rows gathered in the previous scan are used again if that scan left out no row of its band, and if the number of
# these rows is at least LEAST_SHARE times and at most twice the wanted number.
LEAST_SHARE = 0.75
# Number of rows to gather, as a multiple of the number of rows with a slack between 0 and the width of the smoothed
# loss (smoothed.py). On all data tried, the gathered rows include every row that the solutions for the smoothed loss
# and for the hinge loss place on different sides of the margin.
WITHIN = 2
# If the tolerance is at least LOOSE, working sets are solved to a tenth of the tolerance, not as precisely as possible.
LOOSE = 1e-4
LENGTHS = 0.5 ** np.arange(1, 8)
# Memory overhead of a row in a working set: number of array elements that it needs in addition to one per column.
BESIDE_A_ROW = 16


class Limits(NamedTuple):
    """Maximum number of elements of a sample (``sampled``) and of a working set (``gathered``) in memory."""

    sampled: int
    gathered: int


# Working sets take at most 128 MiB, unless more rows prove necessary. The limit is the same for all sources, because a
# different working set would change the last digits of the solution.
LIMITS = Limits(SAMPLE_NUMBERS, 2**24)


class Model(NamedTuple):
    """A working set and its solution, which together determine the α of every row."""

    seen: MarginScan
    box: BoxSolution


@dataclass
class State:
    """State of the solver: the best scan and the best model so far, and counters.

    ``here`` is the scan at the w with the lowest P so far. ``model`` is the working set whose solution has the highest
    dual objective so far, together with this solution. ``size`` is the number of rows to gather for the next working
    set, and ``limit`` is its maximum.
    """

    here: MarginScan
    model: Model | None = None
    dual: float = -np.inf
    n_iter: int = 0
    n_passes: int = 0
    size: int = 0
    limit: int = 0
    stalled: bool = False

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.here.primal, self.dual)


class Start(NamedTuple):
    """Starting point of the solver, and settings for its first scan and working set.

    ``w`` is the starting point, ``size`` the number of rows to gather for the first working set, and ``band`` the band
    around the margin in which the first scan gathers rows. ``near`` is True if w is near the solution. ``n_passes`` is
    the number of passes over all rows that have been made so far, including passes that only draw a sample.
    """

    w: Array
    size: int
    band: Band
    near: bool = False
    n_passes: int = 0


def starting_point(
    source: RowSource, start: Array | None, rng: np.random.Generator, *, limits: Limits = LIMITS, **options: Any
) -> Start:
    """Return a starting point for the solver.

    If there are few rows, start from w = 0 with all rows in the working set. Otherwise, start from ``start`` if it is
    given, or else from the solution for a smoothed loss or for a sample of the rows.
    """
    n, d = source.shape
    first = max(FIRST_ROWS, FIRST_ROWS_PER_COLUMN * d)
    if n <= 2 * first:
        return Start(np.zeros(d), n, EVERYTHING)
    if start is not None:
        return Start(start, first, NOTHING)
    if smoothing_pays(source):
        w, n_within, n_passes = solve_smoothed(
            source, rng=rng, max_iter=options["max_iter"], threads=options["threads"]
        )
        return Start(w, max(FIRST_ROWS, WITHIN * n_within), NOTHING, near=True, n_passes=n_passes)
    found = _from_samples(source, first, rng, limits=limits, **options)
    return found._replace(near=found.size > first)


def _from_samples(
    source: RowSource, first: int, rng: np.random.Generator, *, max_iter: int, threads: int, limits: Limits
) -> Start:
    """Solve the problem for samples of increasing size; return a starting point for all rows.

    The smaller samples are held in memory. The larger samples are read again in every pass if they do not fit into
    memory.
    """
    n, d = source.shape
    options = {"max_iter": max_iter, "threads": threads, "limits": limits}
    sizes = []
    while (n := min(n // SAMPLE_RATIO, limits.sampled // d)) >= SAMPLES_WORTH * first:
        sizes.append(n)
    # Smaller samples are drawn from the largest sample in memory, so that one pass over the source is enough for them.
    largest = source.sample(sizes[0] if sizes else first, rng)
    sample = largest.sample(first, rng) if sizes else largest
    paid = sample.costs > 0
    start = Start(np.zeros(d), first, NOTHING, n_passes=1)
    if paid.any():
        box = solve_box(sample.X[paid], sample.costs[paid], tol=SAMPLE_TOL, exact=False, threads=threads)
        start = start._replace(w=box.w)
    for n in reversed(sizes):
        sample = largest if n == sizes[0] else largest.sample(n, rng)
        if sample.costs.any():
            start = _refined(sample, start, tol=SAMPLE_TOL, **options)._replace(n_passes=1)
    sampled = len(largest.X)
    del largest, sample
    for n in _thinner(source.shape[0], sampled):
        part = source.thinned(n, rng)
        found = _refined(part, start, tol=THINNED_TOL, **options)
        # Only passes over all rows count. If the sample is in memory, it took one such pass to draw it. Otherwise,
        # every pass over the sample reads all rows.
        start = found._replace(n_passes=start.n_passes + 1) if part.most_kept == np.inf else found
    return start


def _refined(part: RowSource, start: Start, **options: Any) -> Start:
    """Solve the problem for a sample (``part``); return a starting point for SAMPLE_RATIO times as many rows."""
    state = working_sets(part, start, **options)
    band = Band(*(edge / GROWTH for edge in state.here.band))
    return Start(state.here.w, GROWTH * state.size, band, n_passes=state.n_passes)


def _thinner(n: int, sampled: int) -> list[int]:
    """Return the sizes, in ascending order, of the samples that are larger than those from ``source.sample``.

    These samples come from ``source.thinned``, and are read again in every pass if they do not fit into memory. ``n``
    is the number of all rows, and ``sampled`` the number of rows in the largest sample from ``source.sample``.
    """
    sizes = []
    while (n := n // SAMPLE_RATIO) > GROWTH * sampled:
        sizes.append(n)
    return sizes[::-1]


def working_sets(
    source: RowSource,
    start: Start,
    *,
    tol: float,
    max_iter: int,
    threads: int,
    report: Report | None = None,
    limits: Limits = LIMITS,
) -> State:
    """Repeat until the tolerance is reached: gather a working set, solve it, and scan all rows at its solution.

    Stops after ``max_iter`` working sets, or earlier if no working set can reduce the gap further.
    """
    n, d = source.shape
    limit = min(n, max(FIRST_ROWS_PER_COLUMN * d, limits.gathered // (d + BESIDE_A_ROW)))
    w, size, band, near, n_passes = start
    size = min(size, limit)
    scan = partial(source.fold, scan_block, merge_scans)
    state = State(scan(w, band, _most(size, limit)), n_passes=n_passes + 1, size=size, limit=limit)
    while state.n_iter < max_iter:
        if (wanted := _rows_to_gather(state, n)) is not None:
            state.here, state.n_passes = scan(state.here.w, *wanted), state.n_passes + 1
        before = state.here.primal - state.dual
        everything = state.size >= n
        roughly = state.gap > FAR_APART and not everything and (state.n_iter > 0 or not near)
        box = _solve(state.here, ROUGHLY if roughly else tol / 10, not roughly and tol < LOOSE, threads)
        if box.dual > state.dual:
            state.dual, state.model = box.dual, Model(state.here, box)
        there = scan(box.w, state.here.band, _most(state.size, state.limit))
        state.n_iter += 1
        state.n_passes += 1
        better = there.primal < state.here.primal
        if better:
            state.here = there
        if report is not None:
            report(Progress(state.n_passes, state.here.primal, state.dual, state.gap, len(box.alpha)))
        if state.gap <= tol:
            break
        slow = state.here.primal - state.dual > SLOW * before
        if slow and (everything or state.gap <= _rounding(source, state.here, float(box.alpha.sum()), box.w)):
            state.stalled = True  # no working set can reduce the gap further
            break
        if not better and (part := _search(source, state, box.w - state.here.w)) is not None:
            state.here, state.n_passes = scan(part, state.here.band, _most(state.size, state.limit)), state.n_passes + 1
        if not better or slow:
            if state.size == state.limit and state.here.primal - state.dual > SLOW * before:
                state.limit = min(2 * state.limit, n)  # more rows are needed, despite the memory limit
            state.size = min((2 if better else GROWTH) * state.size, state.limit)
    return state


def _most(size: int, limit: int) -> int:
    """Return the maximum number of rows that a scan may gather if about ``size`` rows are wanted.

    A band may contain more rows than wanted, because it ends at an edge of a bin, and each edge is √2 times the
    previous.
    """
    return min(4 * size, limit)


def _rows_to_gather(state: State, n: int) -> tuple[Band, int] | None:
    """Return a band and a maximum number of rows for another scan, or None if the gathered rows are sufficient."""
    here = state.here
    while True:
        band = EVERYTHING if state.size >= n else here.band_of(state.size)
        expected = here.count_within(band)
        if here.complete and 0 < LEAST_SHARE * expected <= len(here.found) <= 2 * expected:
            return None
        if expected > 0:
            return band, max(_most(state.size, state.limit), expected)
        # The band is empty if even its first bin would contain too many rows, for example because many rows are
        # duplicates.
        state.size = min(GROWTH * state.size, n)


def _solve(seen: MarginScan, tol: float, exact: bool, threads: int) -> BoxSolution:
    """Solve the problem for the working set and one more row, which represents all clamped rows."""
    U, C = seen.rows, seen.costs
    if seen.clamped_cost > 0:
        U, C = np.vstack([U, seen.clamped / seen.clamped_cost]), np.append(C, seen.clamped_cost)
    return solve_box(U, C, tol=tol, exact=exact, threads=threads)


def _search(source: RowSource, state: State, dw: Array) -> Array | None:
    """Shorten a step dw that does not decrease P: return the best point along it, or None if no point decreases P."""
    w = state.here.w
    losses = losses_along(source, w, dw, LENGTHS)
    values = [0.5 * np.sum((w + t * dw) ** 2) + loss for t, loss in zip(LENGTHS, losses, strict=True)]
    state.n_passes += 1
    k = int(np.argmin(values))
    return w + LENGTHS[k] * dw if values[k] < state.here.primal else None


def certified(source: RowSource, state: State, tol: float) -> Solution:
    """Return the solution, with D(α) computed from all positive α.

    The solution contains these α unless there are too many to keep.
    """
    assert state.model is not None
    seen, box = state.model
    primal = state.here.primal
    kept = collect(source, seen, box.alpha)
    dual = float(kept.total - 0.5 * (kept.v @ kept.v))
    gap = relative_gap(primal, dual)
    status: Status = "optimal" if gap <= tol else "stalled" if state.stalled or state.gap <= tol else "max_iter"
    return Solution(
        state.here.w, kept.support, kept.alpha, kept.v, primal, dual, gap, status, state.n_iter,
        state.n_passes + kept.n_passes, kept.n_support, _rounding(source, state.here, kept.total, kept.v),
    )  # fmt: skip


def _rounding(source: RowSource, here: MarginScan, total: float, v: Array) -> float:
    """Return an upper bound on the rounding error of the gap, computed from the sums of a scan.

    The true error may be much smaller.
    """
    n, d = source.shape
    length, margin_error = float(np.linalg.norm(here.w)), (ROW_ERROR + np.sqrt(d)) * EPSILON
    uncertain = here.counts[0].sum() + here.counts[1, 2 * margin_error * length >= EDGES].sum()
    losses = uncertain * source.cost_range.highest * margin_error * (here.longest * length + 1)
    sum_error = (ROW_ERROR + np.sqrt(n)) * EPSILON
    v_error = sum_error * total * here.longest
    error = losses + sum_error * (total + here.primal) + v_error * (float(np.linalg.norm(v)) + 0.5 * v_error)
    return float(error / max(1.0, here.primal - losses))


class Collected(NamedTuple):
    """Positions and α of the rows with α > 0 (both empty if there are too many to keep), and sums over these rows."""

    support: Array
    alpha: Array
    v: Array  # Σ α u
    total: float  # Σ α
    n_support: int
    n_passes: int


def collect(source: RowSource, seen: MarginScan, alphas: Array) -> Collected:
    """Collect the positive α of all rows, or only ``Σ α u`` and ``Σ α`` if there are too many α to keep.

    The two sums are sufficient for a certificate. Computing them takes no further pass, because the ratio α / C is the
    same for all clamped rows.
    """
    own = alphas[: len(seen.found)]
    found, alpha, v, total = seen.found[own > 0], own[own > 0], own @ seen.rows, own.sum()
    clamped = seen.clamped_cost > 0 and alphas[-1] > 0
    share = min(1.0, alphas[-1] / seen.clamped_cost) if clamped else 0.0
    n_support = len(found) + (seen.n_clamped if clamped else 0)
    if n_support > source.most_kept:
        v, total = v + share * seen.clamped, total + share * seen.clamped_cost
        return Collected(found[:0], alpha[:0], v, total, n_support, 0)
    if not clamped:
        return Collected(found, alpha, v, total, n_support, 0)
    positions, alphas, sums = source.fold(_collect_block, _merged, seen.w, seen.band, share)
    order = slice(None) if np.all(positions[1:] > positions[:-1]) else np.argsort(positions)
    positions, alphas = positions[order], alphas[order]
    places = np.searchsorted(positions, found)
    found, alpha = np.insert(positions, places, found), np.insert(alphas, places, alpha)
    return Collected(found, alpha, v + sums, alpha.sum(), n_support, 1)


@in_any_order
def _merged(parts: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    found, alpha, v = zip(*parts, strict=True)
    return np.concatenate(found), np.concatenate(alpha), summed(v)


def _collect_block(block: Rows, w: Array, band: Band, share: float) -> tuple[Array, Array, Array]:
    clamped = clamped_rows(block, w, band)
    alpha = share * block.costs[clamped]
    return clamped + block.start, alpha, block.weighted_sum(clamped, alpha)
