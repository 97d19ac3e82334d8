r"""Support vector machines without intercept, solved with a certificate in a few passes over the rows.

Each row u_i is a feature vector times its label ±1, and has a cost C_i; an infinite cost is a hard constraint.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle)^q, \qquad q \in \{1, 2\}

The dual objective D(α) is defined in :mod:`~hyplearn.solvers.svm.interior_point` for q = 1 and in
:mod:`~hyplearn.solvers.svm.squared_hinge` for q = 2. For every dual feasible α it is a lower bound of the optimum, so
:math:`P(w) - D(\alpha)` bounds the distance of P(w) from the optimum. The solvers stop when this gap, relative to
max(1, P), is at most ``tol``. So that the gap can be verified, the solvers also return α, unless too many of its
elements are positive.

The rows are read only in passes (:meth:`~hyplearn.rows.RowSource.fold`). All state that is kept between two passes can
be recomputed from the previous w.
"""

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from hyplearn.rows import Rows, RowSource
from hyplearn.solvers.solution import Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.hinge import certified, starting_point, working_sets
from hyplearn.solvers.svm.margin_scan import NOTHING, merge_scans, scan_block
from hyplearn.solvers.svm.proof import REFUTATION_PASSES, hard_rounding, judged, proven, refutation
from hyplearn.solvers.svm.squared_hinge import solve_squared_hinge
from hyplearn.solvers.svm.uneven import applies, solve_uneven
from hyplearn.types import Array

Loss: TypeAlias = Literal["hinge", "squared_hinge"]
# Caps for very high or infinite costs, in units of 1 / ‖u‖² for each row u. They are tried in turn until the tolerance
# is reached, or until α proves that the rows are not separable.
RISING_COSTS = (1e8, 1e12, 1e16)
# A solution that is limited by rounding is not improved with another method if its gap is at most this value, even if
# the tolerance is smaller.
HOPELESS = 1e-10


def solve_svm(
    source: RowSource,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    seed: int = 0,
    report: Report | None = None,
    threads: int = 1,
    judge: bool = True,
    rising: bool = True,
) -> Solution:
    """Solve the SVM on signed rows until the relative duality gap is at most ``tol``.

    Infinite costs give the hard margin; they must not be mixed with finite positive costs. ``start`` is the initial
    normal vector; by default it is zero if there are few rows, and otherwise computed from an easier problem, for
    example from samples drawn with the seed ``seed``. ``max_iter`` is the maximum number of iterations, each of which
    solves one working set or takes one Newton step; ``report`` is called after each iteration. The result does not
    depend on the number of threads. With ``judge=False``, rounding errors are not taken into account in the status.
    With ``rising=False``, a soft-margin problem whose solution is limited by rounding is not solved again with a cap on
    the costs that is raised step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.rows import Rows
    >>> from hyplearn.solvers.svm.solve import solve_svm
    >>> rows = Rows.explicit(np.array([[2.0, 0.0], [1.0, 1.0], [0.5, -3.0]]), np.full(3, 10.0))
    >>> solution = solve_svm(rows)
    >>> print(solution.status, solution.w.round(4), solution.support)
    optimal [ 1.1429 -0.1429] [1 2]
    """
    highest = source.cost_range.highest
    if highest == 0:
        nothing, nobody = np.zeros(source.shape[1]), np.empty(0, dtype=np.int64)
        return Solution(nothing, nobody, np.empty(0), nothing, 0.0, 0.0, 0.0, "optimal", 1, 1, 0, 0.0)
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "seed": seed, "report": report, "threads": threads}
    (n, d), solution = source.shape, None
    if n < d:
        solution = _solve_in_span(source, start, loss=loss, **options)
    elif highest < np.inf and loss == "squared_hinge":
        rng = np.random.default_rng(seed)
        solution = solve_squared_hinge(source, rng=rng, start=start, tol=tol, max_iter=max_iter, report=report)
    elif highest < np.inf:
        begin = starting_point(source, start, np.random.default_rng(seed), max_iter=max_iter, threads=threads)
        state = working_sets(source, begin, tol=tol, max_iter=max_iter, threads=threads, report=report)
        solution = certified(source, state, tol)
    if solution is None or (rising and _may_rise(source, solution, loss)):
        solution = _solve_by_rising_costs(source, start, **options)
    if not judge:
        return solution
    solution = proven(source, solution, loss if highest < np.inf else "hinge", tol)
    if solution.status in ("stalled", "infeasible"):
        solution = _solve_again(source, solution, loss, tol)
    return solution


def _may_rise(source: RowSource, solution: Solution, loss: Loss) -> bool:
    """Return whether rounding limits the solution, so that raising a cap on the costs step by step may improve it.

    This is possible only for the hinge loss and for problems with at least as many rows as columns.
    """
    n, d = source.shape
    return n >= d and loss == "hinge" and solution.status == "stalled" and solution.gap > HOPELESS


def _solve_again(source: RowSource, solution: Solution, loss: Loss, tol: float) -> Solution:
    """Try to improve a solution with the status "stalled" or "infeasible".

    For a hard margin, first try to prove that no w satisfies the constraints. If there is no such proof, or if the
    margin is soft, solve small problems again with :func:`solve_uneven`.
    """
    hard = source.cost_range.highest == np.inf
    if hard:
        solution = _refuted(source, solution)
        if solution.status == "infeasible":
            return solution
    if solution.gap <= HOPELESS or not applies(source.shape, "hinge" if hard else loss):
        return replace(solution, status="stalled")
    rows, solution = source.gathered(), replace(solution, n_passes=solution.n_passes + 1)
    found = solve_uneven(rows, loss, tol)
    support = np.flatnonzero(found.alpha)
    alpha = found.alpha[support]
    if found.proven_gap < solution.gap:
        solution = judged(
            replace(solution, w=found.w, support=support, alpha=alpha, v=found.alpha @ rows.X, n_support=len(support)),
            found.proof, hard, tol,
        )  # fmt: skip
        if solution.status == "optimal":
            return solution
    if not hard:
        return replace(solution, status="stalled")
    refuted = _refuted(source, replace(solution, support=support, alpha=alpha))
    if refuted.status == "infeasible":
        return refuted
    return replace(solution, status="stalled", n_passes=refuted.n_passes)


def _refuted(source: RowSource, solution: Solution) -> Solution:
    """Return the solution with the status "infeasible" if α proves that no w satisfies the hard-margin constraints.

    Otherwise, the status is "stalled".
    """
    found = refutation(source, solution.support, solution.alpha)
    solution = replace(solution, status="stalled", n_passes=solution.n_passes + REFUTATION_PASSES)
    if found is None:
        return solution
    support, alpha = found
    return replace(
        solution, support=support, alpha=alpha, n_support=len(support), primal=np.inf, gap=np.inf, status="infeasible"
    )


def _solve_in_span(source: RowSource, start: Array | None, **options: Any) -> Solution:
    """Solve a problem with fewer rows than columns, in coordinates of the span of its rows."""
    rows = source.gathered()
    Q, R = np.linalg.qr(rows.X.T)
    within = None if start is None else Q.T @ start
    inner = solve_svm(Rows.explicit(R.T, rows.costs), start=within, judge=False, **options)
    return replace(inner, w=Q @ inner.w, v=Q @ inner.v, n_passes=inner.n_passes + 1, rounding=np.inf)


def _solve_by_rising_costs(
    source: RowSource, start: Array | None, *, tol: float, max_iter: int, **options: Any
) -> Solution:
    r"""Solve an SVM with infinite or very high costs by raising a cap on the costs step by step.

    In a problem that consists of one row u, α is at most :math:`1 / \|u\|^2`, so the caps are multiples of this number.
    The α of a problem with capped costs is also dual feasible for the given problem. The w of the problem with capped
    costs is evaluated with the given costs; if these are infinite, w is first divided by its smallest margin. If the
    rows are not separable, α grows with the cap but :math:`\|\sum \alpha_i u_i\|` does not, until α proves that the
    rows are not separable (:func:`~hyplearn.solvers.svm.proof.refutation`).
    """
    # For long rows, P is far below 1, but gaps are relative to max(1, P). The rows are therefore divided by the norm of
    # the longest row. The norm is rounded up to a power of two, so that rescaling costs and α is exact.
    longest = 2.0 ** np.ceil(0.5 * np.log2(source.fold(_largest_square, max) or 1.0))
    unit = source.altered(_in_units_of, longest)
    hard, n_iter, n_passes, proof = source.cost_range.highest == np.inf, 0, 1, None
    start = None if start is None else start * longest
    for cap in RISING_COSTS:
        capped = unit.altered(_capped, cap)
        limits: dict[str, Any] = {"tol": tol / 2, "max_iter": max_iter - n_iter}
        soft = solve_svm(capped, start=start, judge=False, rising=False, **limits, **options)
        n_iter, n_passes = n_iter + soft.n_iter, n_passes + soft.n_passes + 1
        start, solution = soft.w, _judged(unit, soft, hard)
        if solution.primal == np.inf and len(soft.alpha) == soft.n_support:
            proof, n_passes = refutation(unit, soft.support, soft.alpha), n_passes + REFUTATION_PASSES
        if solution.gap <= tol or proof is not None or n_iter >= max_iter:
            break
    primal, dual = solution.primal / longest**2, solution.dual / longest**2
    gap = max(solution.gap, relative_gap(primal, dual))
    status: Status = "stalled" if soft.status == "optimal" else soft.status
    if gap <= tol:
        status = "optimal"
    elif proof is not None:
        status = "infeasible"
    found = replace(
        solution,
        w=solution.w / longest,
        alpha=solution.alpha / longest**2,
        v=solution.v / longest,
        primal=primal,
        dual=dual,
        gap=gap,
        status=status,
        n_iter=n_iter,
        n_passes=n_passes,
    )
    return replace(found, rounding=hard_rounding(found, longest, source.shape[0]) if hard else np.inf)


def _judged(source: RowSource, soft: Solution, hard: bool) -> Solution:
    """Evaluate the solution of a problem with capped costs: compute P and the gap with the given costs.

    For a hard margin (``hard``), w is first divided by the smallest margin of a row, so that it becomes feasible.
    """
    if not hard:
        primal = source.fold(scan_block, merge_scans, soft.w, NOTHING, 0).primal
        return replace(soft, primal=primal, gap=relative_gap(primal, soft.dual))
    least = source.altered(_at_equal_costs).fold(scan_block, merge_scans, soft.w, NOTHING, 0).least
    if least <= 0:
        return replace(soft, primal=np.inf, gap=np.inf)
    w = soft.w / least
    primal = 0.5 * float(w @ w)
    return replace(soft, w=w, primal=primal, gap=relative_gap(primal, soft.dual))


def _squares(rows: Rows, index: Array | slice = slice(None)) -> Array:
    return np.sum(rows[index] ** 2, axis=1)


def _largest_square(block: Rows) -> float:
    return float(_squares(block).max(initial=0.0))


def _in_units_of(rows: Rows, length: float) -> Rows:
    return replace(rows.scaled(1 / length), costs=rows.costs * length**2)


def _capped(rows: Rows, cap: float) -> Rows:
    """Cap the cost of each row u at ``cap / ‖u‖²``, or at ``cap`` if u is zero."""
    squares = np.concatenate([np.empty(0), *map(_squares, rows.blocks())])
    return replace(rows, costs=np.minimum(rows.costs, cap / np.where(squares > 0, squares, 1.0)))


def _at_equal_costs(rows: Rows) -> Rows:
    return replace(rows, costs=np.where(rows.costs > 0, 1.0, 0.0))
