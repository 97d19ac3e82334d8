"""The paper's soft-margin algorithm run over a whole data set, and the certificate of the point that it reaches."""

import numpy as np

from hyplearn.rows import Rows
from hyplearn.solvers.sgd import Descent
from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.hinge import collect
from hyplearn.solvers.svm.margin_scan import NOTHING, MarginScan, merge_scans, scan_block
from hyplearn.types import Array


def solve_sgd(
    source: Rows, *, tol: float, max_iter: int, seed: int, start: Array | None = None, report: Report | None = None
) -> Solution:
    """Descend until the objective changes by at most ``tol``, relative, from one epoch of N steps to the next."""
    n, d = source.shape
    rng, descent = np.random.default_rng(seed), Descent(np.zeros(d) if start is None else start.copy())
    here, epoch = source.fold(scan_block, merge_scans, descent.w, NOTHING, 0), 0
    status: Status = "max_iter"
    for epoch in range(1, max_iter + 1):
        descent.visit(source, rng.integers(n, size=n), n)
        there = source.fold(scan_block, merge_scans, descent.w.copy(), NOTHING, 0)
        change, here = abs(there.primal - here.primal), there
        if report is not None:
            bound = _dual_bound(here)[1]
            report(Progress(2 * epoch + 1, here.primal, bound, relative_gap(here.primal, bound), 0))
        if change <= tol * max(1.0, here.primal):
            status = "stopped"
            break
    scale, dual = _dual_bound(here)
    kept = collect(source, here, np.array([scale * here.clamped_cost]))
    gap = relative_gap(here.primal, dual)
    if gap <= tol:
        status = "optimal"
    return Solution(
        here.w, kept.support, kept.alpha, kept.v, here.primal, dual, gap, status, epoch, 2 * epoch + 2, kept.n_support
    )


def _dual_bound(here: MarginScan) -> tuple[float, float]:
    """The best t in ``α = t C`` on the rows below the margin, and its dual value."""
    square = float(here.clamped @ here.clamped)
    t = min(1.0, here.clamped_cost / square) if square > 0 else float(here.clamped_cost > 0)
    return t, t * here.clamped_cost - 0.5 * t * t * square
