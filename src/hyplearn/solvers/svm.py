r"""Support vector machines without intercept, solved to a certificate in a handful of passes over the rows.

Rows u_i carry the sign of their label, costs C_i stand beside them; an infinite cost is a hard constraint.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle)^q, \qquad q \in \{1, 2\}

For every dual feasible α, :math:`P(w) - D(\alpha)` bounds the distance to the optimum; a solver stops when that gap,
relative to max(1, P), is at most ``tol``, and returns α with it, so that anybody can check.

All rows are seen in passes only (:meth:`~hyplearn.rows.Rows.map`), and nothing is kept between two passes but what the
previous w tells again.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from hyplearn.geometry.arrays import Array
from hyplearn.rows import Rows
from hyplearn.solvers.hinge import solve_hinge
from hyplearn.solvers.solution import Report, Solution, relative_gap
from hyplearn.solvers.squared_hinge import solve_squared_hinge
from hyplearn.solvers.survey import NOTHING, survey

Loss: TypeAlias = Literal["hinge", "squared_hinge"]
# Soft costs that stand for hard ones, in units of the longest row: raised until no row makes use of them, or until they
# prove that rows are not separable.
RISING_COSTS = (1e8, 1e12, 1e16)
# Rows whose margin is proven to be below this share of the longest row are not separable: no float64 can tell.
NO_MARGIN = 1e-10


def solve_svm(
    source: Rows,
    *,
    loss: Loss = "hinge",
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    seed: int = 0,
    report: Report | None = None,
    threads: int = 1,
) -> Solution:
    """Solve the SVM on signed rows until the relative duality gap is at most ``tol``.

    Parameters
    ----------
    source : Rows
        Signed rows with their costs; infinite costs ask for the hard margin (of all rows or of none).
    loss : {"hinge", "squared_hinge"}
        Loss below the margin; the hard margin knows none.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of working sets, or of Newton steps.
    start : ndarray of shape (d,), optional
        A normal vector to begin from.
    seed : int
        Seed of the samples from which the first normal vector is learned otherwise.
    report : callable, optional
        Called with a :class:`~hyplearn.solvers.solution.Progress` after each step.
    threads : int
        Threads of the dense algebra; the result does not depend on them.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.rows import Rows
    >>> from hyplearn.solvers.svm import solve_svm
    >>> rows = Rows.explicit(np.array([[2.0, 0.0], [1.0, 1.0], [0.5, -3.0]]), np.full(3, 10.0))
    >>> solution = solve_svm(rows)
    >>> print(solution.status, solution.w.round(4), solution.support)
    optimal [1.1429 -0.1429] [1 2]
    """
    n, d = source.shape
    if n < d:
        # The solution is a combination of the rows: rotate them into as many coordinates as there are rows.
        Q, R = np.linalg.qr(source[:].T)
        start = None if start is None else Q.T @ start
        inner = _solve(Rows.explicit(R.T, source.costs), loss, tol, max_iter, start, seed, report, threads)
        return replace(inner, w=Q @ inner.w, v=Q @ inner.v)
    return _solve(source, loss, tol, max_iter, start, seed, report, threads)


def _solve(
    source: Rows,
    loss: Loss,
    tol: float,
    max_iter: int,
    start: Array | None,
    seed: int,
    report: Report | None,
    threads: int,
) -> Solution:
    rng = np.random.default_rng(seed)
    if np.isinf(source.costs).any():
        return _solve_hard(source, tol, max_iter, start, rng, report, threads)
    if loss == "squared_hinge":
        return solve_squared_hinge(source, tol=tol, max_iter=max_iter, rng=rng, start=start, report=report)
    return solve_hinge(source, tol=tol, max_iter=max_iter, rng=rng, start=start, report=report, threads=threads)


def _solve_hard(
    source: Rows,
    tol: float,
    max_iter: int,
    start: Array | None,
    rng: np.random.Generator,
    report: Report | None,
    threads: int,
) -> Solution:
    r"""The hard margin, by soft ones with costs that rise until no row pays.

    Dividing w by its least margin makes it feasible, and any α ≥ 0 is dual feasible, so the certificate is that of the
    hard problem. And whatever α ≥ 0: no hyperplane leaves rows a margin above
    :math:`\|\sum \alpha_i u_i\| / \sum \alpha_i`, which falls to nothing where rows are not separable.
    """
    present = source.costs > 0
    longest = survey(source, np.zeros(source.shape[1]), NOTHING, 0).longest
    n_iter, n_passes = 0, 1
    for cost in RISING_COSTS:
        costs = np.where(present, cost / longest**2 if longest > 0 else cost, 0.0)
        soft = solve_hinge(
            replace(source, costs=costs),
            tol=tol / 2,
            max_iter=max_iter,
            rng=rng,
            start=start,
            report=report,
            threads=threads,
        )
        start, least = soft.w, survey(source, soft.w, NOTHING, 0).least
        n_iter, n_passes = n_iter + soft.n_iter, n_passes + soft.n_passes + 1
        solution = replace(soft, primal=np.inf, gap=np.inf, n_iter=n_iter, n_passes=n_passes)
        if least > 0:
            w = soft.w / least
            primal = 0.5 * float(w @ w)
            solution = replace(solution, w=w, primal=primal, gap=relative_gap(primal, soft.dual))
            if solution.gap <= tol:
                return replace(solution, status="optimal")
        if np.linalg.norm(soft.v) <= NO_MARGIN * longest * soft.alpha.sum():
            return replace(solution, status="infeasible")
    return replace(solution, status="stalled" if soft.status == "optimal" else soft.status)
