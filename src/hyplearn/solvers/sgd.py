r"""The paper's soft-margin algorithm: one random row at a time.

With N rows, step t = 1, 2, ... on a row u of cost C, and :math:`\eta = 1 / (t + 1000)`,

.. math:: w \leftarrow w - \eta\, (w - N C u) \text{ if } \langle u, w \rangle \le 1, \qquad
          w \leftarrow w - \eta\, w \text{ otherwise.}

It needs no more memory than w, so it learns from streams; what it reaches is told by the same certificate as for the
other solvers, and is far from the optimum for large C.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import dot
from hyplearn.rows import Rows
from hyplearn.solvers.svm.hinge import collect
from hyplearn.solvers.svm.margin_scan import NOTHING, Survey, survey
from hyplearn.solvers.svm.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.types import Array

STEP_OFFSET = 1000


@dataclass
class Descent:
    """State between two rows: the weights, the steps so far, and the rows seen so far."""

    w: Array
    n_steps: int = 0
    n_seen: int = 0

    def visit(self, rows: Rows, order: Array, n: int) -> None:
        """Take one step on each row of ``order``, as one of n."""
        _descend(rows.X, rows.centre, rows.along, rows.base, rows.costs, order, float(n), self.n_steps, self.w)
        self.n_steps += len(order)

    def stream(self, rows: Rows) -> None:
        """Take one step on each row in order; N is the number of rows seen so far."""
        n = len(rows.X)
        self.n_seen += n
        self.visit(rows, np.arange(n), self.n_seen)


def solve_sgd(
    source: Rows, *, tol: float, max_iter: int, seed: int, start: Array | None = None, report: Report | None = None
) -> Solution:
    """Descend until the objective changes by at most ``tol``, relative, from one epoch of N steps to the next."""
    n, d = source.shape
    rng, descent = np.random.default_rng(seed), Descent(np.zeros(d) if start is None else start.copy())
    here, epoch = survey(source, descent.w, NOTHING, 0), 0
    status: Status = "max_iter"
    for epoch in range(1, max_iter + 1):
        descent.visit(source, rng.integers(n, size=n), n)
        there = survey(source, descent.w.copy(), NOTHING, 0)
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


def _dual_bound(here: Survey) -> tuple[float, float]:
    """The best t in ``α = t C`` on the rows below the margin, and its dual value."""
    square = float(here.clamped @ here.clamped)
    t = min(1.0, here.clamped_cost / square) if square > 0 else float(here.clamped_cost > 0)
    return t, t * here.clamped_cost - 0.5 * t * t * square


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(X, p, along, base, costs, order, n, n_steps, w):  # type: ignore[no-untyped-def]
    u = np.empty(w.size)
    for k in range(order.size):
        i = order[k]
        for j in range(w.size):
            u[j] = along[i] * (X[i, j] - p[j]) + base[i] * p[j]
        inside = dot(u, w) <= 1.0
        eta = 1.0 / (n_steps + k + 1 + STEP_OFFSET)
        for j in range(w.size):
            w[j] -= eta * w[j]
            if inside:
                w[j] += eta * n * costs[i] * u[j]
