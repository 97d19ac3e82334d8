r"""Support vector machines without intercept, solved to a certificate in a handful of passes over the rows.

Rows u_i carry the sign of their label, costs C_i stand beside them; an infinite cost is a hard constraint.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle)^q, \qquad q \in \{1, 2\}

For every dual feasible α, :math:`P(w) - D(\alpha)` bounds the distance to the optimum; a solver stops when that gap,
relative to max(1, P), is at most ``tol``, and returns α with it, so that anybody can check.

All rows are seen in passes only (:meth:`~hyplearn.rows.RowSource.fold`), and nothing is kept between two passes but
what the previous w tells again.
"""

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from hyplearn.rows import Rows, RowSource
from hyplearn.solvers.solution import Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.hinge import certified, starting_point, working_sets
from hyplearn.solvers.svm.margin_scan import NOTHING, merge_scans, scan_block
from hyplearn.solvers.svm.squared_hinge import solve_squared_hinge
from hyplearn.types import Array

Loss: TypeAlias = Literal["hinge", "squared_hinge"]
# Caps of costs that are as good as infinite: raised until no row makes use of them, or until they prove that rows are
# not separable.
RISING_COSTS = (1e8, 1e12, 1e16)
# Rows whose margin is proven to be below this share of their lengths are not separable: no float64 can tell.
NO_MARGIN = 1e-10


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
    rising: bool = True,
) -> Solution:
    """Solve the SVM on signed rows until the relative duality gap is at most ``tol``.

    Infinite costs, of all rows or of none, ask for the hard margin. ``start`` is a normal vector to start from,
    ``seed`` the seed of samples that give one otherwise. At most ``max_iter`` working sets or Newton steps are made;
    ``report`` is called after each. With ``rising``, a hinge problem that rounding stops is solved again with rising
    costs. The result does not depend on the number of threads.

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
    n, d = source.shape
    highest = source.cost_range.highest
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "report": report}
    if highest == 0:
        nothing = np.zeros(d)
        return Solution(nothing, np.empty(0, dtype=np.int64), np.empty(0), nothing, 0.0, 0.0, 0.0, "optimal", 1, 1, 0)
    if n < d:
        return _solve_in_span(source, start, loss=loss, seed=seed, threads=threads, **options)
    rng = np.random.default_rng(seed)
    if loss == "squared_hinge" and highest < np.inf:
        return solve_squared_hinge(source, rng=rng, start=start, **options)
    if highest < np.inf:
        begin = starting_point(source, start, rng, max_iter=max_iter, threads=threads)
        solution = certified(source, working_sets(source, begin, threads=threads, **options), tol)
        if solution.status != "stalled" or not rising:
            return solution
    return _solve_by_rising_costs(source, start, seed=seed, threads=threads, **options)


def _solve_in_span(source: RowSource, start: Array | None, **options: Any) -> Solution:
    """Fewer rows than columns: the solution is a combination of the rows, found in as many coordinates."""
    rows = source.gathered()
    Q, R = np.linalg.qr(rows.X.T)
    inner = solve_svm(Rows.explicit(R.T, rows.costs), start=None if start is None else Q.T @ start, **options)
    return replace(inner, w=Q @ inner.w, v=Q @ inner.v)


def _solve_by_rising_costs(
    source: RowSource, start: Array | None, *, tol: float, max_iter: int, **options: Any
) -> Solution:
    r"""The hard margin, or one so costly that it is as good as hard, by softer ones until no row pays.

    A cost matters up to about :math:`1 / \|u\|^2`, what a single row asks for. So costs are capped in that unit, and
    the cap rises. α of the softer problem is dual feasible for the given one; w is judged by the given costs, or where
    they are infinite is divided by its least margin. And whatever α ≥ 0: no hyperplane leaves rows a margin above
    :math:`\|\sum \alpha_i u_i\| / \sum \alpha_i`, which falls to nothing where rows are not separable.
    """
    longest = float(np.sqrt(source.fold(_largest_square, max))) or 1.0
    # In units of the longest row: gaps are relative to max(1, P), and P of long rows is far below 1.
    unit = source.altered(_in_units_of, longest)
    hard, n_iter, n_passes = source.cost_range.highest == np.inf, 0, 1
    start = None if start is None else start * longest
    for cap in RISING_COSTS:
        capped = unit.altered(_capped, cap)
        soft = solve_svm(capped, tol=tol / 2, max_iter=max_iter - n_iter, start=start, rising=False, **options)
        n_iter, n_passes = n_iter + soft.n_iter, n_passes + soft.n_passes + 1
        start, solution = soft.w, _judged(unit, soft, hard)
        # What α leaves to the rows in units of their own lengths; after the last cap, of the longest.
        weight = _weighed(unit, soft) if cap < RISING_COSTS[-1] else soft.total
        proven = hard and np.linalg.norm(soft.v) <= NO_MARGIN * weight
        if solution.gap <= tol or proven or n_iter >= max_iter:
            break
    primal, dual = solution.primal / longest**2, solution.dual / longest**2
    gap = max(solution.gap, relative_gap(primal, dual))
    status: Status = "stalled" if soft.status == "optimal" else soft.status
    if gap <= tol:
        status = "optimal"
    elif proven:
        status = "infeasible"
    return replace(
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


def _judged(source: RowSource, soft: Solution, hard: bool) -> Solution:
    """The solution of softer costs by the given ones."""
    if not hard:
        primal = source.fold(scan_block, merge_scans, soft.w, NOTHING, 0).primal
        return replace(soft, primal=primal, gap=relative_gap(primal, soft.dual))
    least = source.altered(_at_equal_costs).fold(scan_block, merge_scans, soft.w, NOTHING, 0).least
    if least <= 0:
        return replace(soft, primal=np.inf, gap=np.inf)
    w = soft.w / least
    primal = 0.5 * float(w @ w)
    return replace(soft, w=w, primal=primal, gap=relative_gap(primal, soft.dual))


def _weighed(source: RowSource, soft: Solution) -> float:
    """``Σ α ‖u‖``, or where α is not kept ``Σ α``: no row is longer than 1."""
    if len(soft.alpha) < soft.n_support:
        return soft.total
    return float(soft.alpha @ np.sqrt(source.fold(_squares_at, np.concatenate, soft.support)))


def _squares_at(block: Rows, support: Array) -> Array:
    """``‖u‖²`` of those rows of a block that are among some positions in the source, which are in order."""
    first, last = np.searchsorted(support, [block.start, block.start + len(block.X)])
    return _squares(block, support[first:last] - block.start)


def _squares(rows: Rows, index: Array | slice = slice(None)) -> Array:
    return np.sum(rows[index] ** 2, axis=1)


def _largest_square(block: Rows) -> float:
    return float(_squares(block).max(initial=0.0))


def _in_units_of(rows: Rows, length: float) -> Rows:
    return replace(rows, along=rows.along / length, base=rows.base / length, costs=rows.costs * length**2)


def _capped(rows: Rows, cap: float) -> Rows:
    """Costs of at most ``cap / ‖u‖²``; rows of zeros have no unit of their own."""
    squares = np.concatenate([np.empty(0), *map(_squares, rows.blocks())])
    return replace(rows, costs=np.minimum(rows.costs, cap / np.where(squares > 0, squares, 1.0)))


def _at_equal_costs(rows: Rows) -> Rows:
    return replace(rows, costs=np.where(rows.costs > 0, 1.0, 0.0))
