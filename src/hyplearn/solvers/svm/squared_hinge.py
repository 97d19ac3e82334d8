r"""The squared hinge loss over all rows, by Newton's method: one pass per step.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle)^2, \qquad
          D(\alpha) = \sum_i \alpha_i - \tfrac12 \Bigl\| \sum_i \alpha_i u_i \Bigr\|^2 - \sum_i \frac{\alpha_i^2}{4 C_i}

At every w, :math:`\alpha_i = 2 C_i \max(0, 1 - \langle u_i, w \rangle)` is dual feasible and the gap is
:math:`\tfrac12 \|\nabla P(w)\|^2`: the gradient is the certificate. P is piecewise quadratic, so that Newton's method
ends at the exact solution once the right rows are active.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_joined, columns_summed, summed
from hyplearn.geometry.kernels import unrolled
from hyplearn.rows import Rows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.proof import length_bound, squared_rounding
from hyplearn.tangent import element, row_product
from hyplearn.types import Array

# A sample from which to begin, where there are many more rows.
SAMPLE_RATIO, FIRST_ROWS, FIRST_ROWS_PER_COLUMN = 16, 1000, 4
SAMPLE_TOL = 1e-3
# Costs that differ by more than this are met one step after the other, each softer by this factor than the next.
COST_RATIO, SOFTER, SOFTER_TOL = 1e4, 100.0, 1e-2
# Up to so many columns rows are never written out; beyond, BLAS is faster. Nor at costs that are higher: these magnify
# how margins are rounded, and α is to have the rounding of ``Σ α u``.
FEW_COLUMNS, LOW_COST = 16, 1.0
# Armijo's: part of the decrease that the slope promises.
ENOUGH = 1e-4
# Parts of a step at which its slope is taken: dense near 0 at first, as steps through rows of very different costs end
# there, then even between the two that matter, twice.
GRIDS = (np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 60)]), *2 * (np.linspace(0.0, 1.0, 61),))
# After this many steps without a better gap or a lower P, rounding has the word.
PATIENCE, ROUNDING = 5, 1e-12


class Point(NamedTuple):
    """Sums of a pass at w: ``Σ C max(0, 1 - ⟨u, w⟩)²``, ``Σ α u`` and ``Σ 2 C u uᵀ`` over active rows."""

    w: Array
    loss: float
    v: Array
    hessian: Array
    n_active: int

    @property
    def primal(self) -> float:
        """P(w)."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def dual(self) -> float:
        """D(α), as P less half the square of the gradient, which loses no digits."""
        return float(self.primal - 0.5 * np.sum((self.w - self.v) ** 2))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return float(0.5 * np.sum((self.w - self.v) ** 2)) / max(1.0, self.primal)


def solve_squared_hinge(
    source: RowSource,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    start: Array | None = None,
    report: Report | None = None,
    polish: bool = True,
) -> Solution:
    """Minimise the squared hinge loss until the relative duality gap is at most ``tol``."""
    n, d = source.shape
    n_iter, n_passes = 0, 1
    lowest, highest, _ = source.cost_range
    if highest > COST_RATIO * lowest:
        # Rows of very different costs become active few at a time; softer costs lead to the harder ones.
        softer = source.altered(_softened, highest / SOFTER)
        led = solve_squared_hinge(softer, tol=SOFTER_TOL, max_iter=max_iter, rng=rng, start=start, polish=False)
        start, n_passes = led.w, led.n_passes + 1
    if start is None:
        start, size = np.zeros(d), min(n // SAMPLE_RATIO, SAMPLE_NUMBERS // d)
        sample = source.sample(size, rng) if size >= max(FIRST_ROWS, FIRST_ROWS_PER_COLUMN * d) else None
        if sample is not None and sample.costs.any():
            start = solve_squared_hinge(sample, tol=SAMPLE_TOL, max_iter=max_iter, rng=rng, polish=False).w
    point = _point(source, start)
    status: Status = "optimal"
    best, stalled = point.gap, 0
    while point.gap > tol:
        if n_iter == max_iter or stalled == PATIENCE:
            status = "max_iter" if n_iter == max_iter else "stalled"
            break
        following, passes = _newton_step(source, point)
        n_iter, n_passes = n_iter + 1, n_passes + passes
        if following is None:
            status = "stalled"
            break
        stalled = 0 if following.gap < best or following.primal < (1 - ROUNDING) * point.primal else stalled + 1
        point, best = following, min(best, following.gap)
        if report is not None:
            report(Progress(n_passes, point.primal, point.dual, point.gap, point.n_active))
    if status == "optimal" and polish and point.gap > 0:
        # One step beyond the tolerance: it squares the error, so that every road to a solution ends in the same one.
        following, passes = _newton_step(source, point)
        n_iter, n_passes = n_iter + 1, n_passes + passes
        point = point if following is None or following.gap > point.gap else following
        if report is not None:
            report(Progress(n_passes, point.primal, point.dual, point.gap, point.n_active))
    if status != "optimal" and 0 < point.n_active <= d:
        return _interpolated(source, point, tol, status, n_iter, n_passes)
    kept = point.n_active <= source.most_kept
    support, alpha, lengths = source.fold(_alpha_block, columns_joined, point.w, kept)
    solution = Solution(
        point.w, support, alpha, point.v, point.primal, point.dual, point.gap, status, max(n_iter, 1), n_passes + 1,
        point.n_active,
    )  # fmt: skip
    return replace(solution, rounding=squared_rounding(solution, float(lengths.max()), source.cost_range, n))


def _softened(rows: Rows, most: float) -> Rows:
    return replace(rows, costs=np.minimum(rows.costs, most))


def _interpolated(source: RowSource, point: Point, tol: float, status: Status, n_iter: int, n_passes: int) -> Solution:
    r"""The solution from α, where high costs leave active rows so near to the margin that w cannot tell how near.

    .. math:: \Bigl(U_A U_A^T + \operatorname{diag} \frac{1}{2C}\Bigr) \alpha = 1, \qquad w = U_A^T \alpha
    """
    support, rows, costs = source.fold(_active, columns_joined, point.w)
    system = rows @ rows.T + np.diag(1 / (2 * costs))
    alpha = np.maximum(np.linalg.lstsq(system, np.ones(len(rows)), rcond=None)[0], 0)
    w = alpha @ rows
    primal = _point(source, w).primal
    dual = float(alpha.sum() - 0.5 * (w @ w) - np.sum(alpha**2 / (4 * costs)))
    gap = relative_gap(primal, dual)
    if gap <= tol:
        status = "optimal"
    support, alpha = support[alpha > 0], alpha[alpha > 0]
    return Solution(w, support, alpha, w, primal, dual, gap, status, n_iter, n_passes + 2, len(support))


def _newton_step(source: RowSource, point: Point) -> tuple[Point | None, int]:
    """The point after a step that lowers P enough, or None, and the passes it took."""
    gradient = point.w - point.v
    try:
        step = -cho_solve(cho_factor(np.eye(len(point.w)) + point.hessian), gradient)
    except np.linalg.LinAlgError:  # rows so long that the identity is lost to rounding
        return None, 0
    following, passes, slope = _point(source, point.w + step), 1, float(gradient @ step)
    if following.primal > point.primal + ENOUGH * slope:
        t = _lowest(source, point.w, step)
        following, passes = _point(source, point.w + t * step), 2 + len(GRIDS)
    lower = following.primal < point.primal or following.gap < 0.5 * point.gap
    return (following if lower else None), passes


def _lowest(source: RowSource, w: Array, step: Array) -> float:
    """The length t in [0, 1] at which P is lowest along the step, where the slope vanishes; in three passes."""
    low, high = 0.0, 1.0
    for grid in GRIDS:
        lengths = low + (high - low) * grid
        slopes = source.fold(_slopes_block, summed, w, step, lengths) + step @ w + lengths * (step @ step)
        k = int(np.clip(np.searchsorted(slopes, 0.0), 1, len(grid) - 1))
        low, high = lengths[k - 1], lengths[k]
    # Between two neighbours of the grid the slope is nearly a line.
    rise = slopes[k] - slopes[k - 1]
    return float(low - (high - low) * slopes[k - 1] / rise) if rise > 0 else float(high)


def _slopes_block(block: Rows, w: Array, step: Array, lengths: Array) -> Array:
    """Contribution of the loss to the slope at each length."""
    slack, rise, costs = 1 - block @ w, block @ step, 2 * block.costs
    return np.array([-(costs * np.maximum(0, slack - t * rise)) @ rise for t in lengths])


def _point(source: RowSource, w: Array) -> Point:
    return Point(w, *source.fold(_point_block, columns_summed, w))


def _point_block(block: Rows, w: Array) -> tuple[float, Array, Array, int]:
    """Contributions of a block to a point, without w."""
    d = len(w)
    if d <= FEW_COLUMNS and block.costs.max(initial=0.0) <= LOW_COST:
        v, hessian = np.zeros(d), np.zeros((d, d))
        loss, n_active = _add_active(
            block.X, block.centre, block.along, block.base, block.costs, unrolled(w), v, hessian
        )
        return loss, v, hessian, n_active
    _, rows, costs = _active(block, w)
    slack = 1 - rows @ w
    alpha = 2 * costs * slack
    scaled = np.sqrt(2 * costs)[:, None] * rows
    return float(costs @ slack**2), alpha @ rows, scaled.T @ scaled, len(rows)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_active(X, p, along, base, costs, w, v, hessian):  # type: ignore[no-untyped-def]
    """Contributions of the rows of a block to a point, without writing them out: loss, number, v, hessian."""
    loss, n_active, p_dot_w = 0.0, 0, 0.0
    u = np.empty(len(w))
    for j in range(len(w)):
        p_dot_w += p[j] * w[j]
    for i in range(X.shape[0]):
        slack = 1.0 - row_product(X, p, along, base, i, w, p_dot_w)
        if slack <= 0.0 or costs[i] <= 0.0:
            continue
        n_active += 1
        loss += costs[i] * slack * slack
        for j in range(len(w)):
            u[j] = element(X, p, along, base, i, j)
        for j in range(len(w)):
            v[j] += 2.0 * costs[i] * slack * u[j]
            for k in range(j + 1):
                hessian[j, k] += 2.0 * costs[i] * u[j] * u[k]
    for j in range(len(w)):
        for k in range(j):
            hessian[k, j] = hessian[j, k]
    return loss, n_active


def _active(block: Rows, w: Array) -> tuple[Array, Array, Array]:
    """Positions in the source, rows and costs of the rows of a block with margin below 1."""
    index = np.flatnonzero((block @ w < 1) & (block.costs > 0))
    return index + block.start, block[index], block.costs[index]


def _alpha_block(block: Rows, w: Array, kept: bool) -> tuple[Array, Array, Array]:
    """Positions of the active rows, their α, if these are kept, and a bound of their lengths."""
    if not kept:
        return np.empty(0, dtype=np.int64), np.empty(0), length_bound(block)
    support, rows, costs = _active(block, w)
    return support, 2 * costs * (1 - rows @ w), length_bound(block)
