r"""Solver for the squared hinge loss over all rows, by Newton's method; with few columns, most steps take one pass.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle)^2, \qquad
          D(\alpha) = \sum_i \alpha_i - \tfrac12 \Bigl\| \sum_i \alpha_i u_i \Bigr\|^2 - \sum_i \frac{\alpha_i^2}{4 C_i}

At every w, :math:`\alpha_i = 2 C_i \max(0, 1 - \langle u_i, w \rangle)` is dual feasible and the gap is
:math:`\tfrac12 \|\nabla P(w)\|^2`: the gradient is the certificate. Rows with a margin :math:`\langle u_i, w \rangle`
below 1 and a positive cost are called *active*. P is quadratic where the active rows do not change, so Newton's method
reaches the exact solution as soon as the active rows are those of the solution.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_joined, columns_summed, fold_parts, map_in_threads, summed
from hyplearn.geometry.kernels import unrolled
from hyplearn.rows import Rows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.conjugate_gradients import MOST_PRODUCTS, conjugate_gradients
from hyplearn.solvers.solution import Progress, Report, Solution, Status, relative_gap
from hyplearn.solvers.svm.proof import squared_rounding
from hyplearn.tangent import element, row_product
from hyplearn.types import Array

# The starting point is the solution for a sample of at most 1 / SAMPLE_RATIO of the rows, if this sample has at least
# FIRST_ROWS rows and at least FIRST_ROWS_PER_COLUMN rows per column.
SAMPLE_RATIO, FIRST_ROWS, FIRST_ROWS_PER_COLUMN = 16, 1000, 4
SAMPLE_TOL = 1e-3
# If costs differ by more than the factor COST_RATIO, a problem with costs capped at 1 / SOFTER of the highest cost is
# solved first, to the tolerance SOFTER_TOL.
COST_RATIO, SOFTER, SOFTER_TOL = 1e4, 100.0, 1e-2
# With at most FEW_COLUMNS columns and costs of at most LOW_COST, compiled loops compute the rows from the points, and
# the rows are not stored. With more columns BLAS is faster. Higher costs magnify the rounding errors of margins, so α
# and ``Σ α u`` must then be computed from the same stored rows.
FEW_COLUMNS, LOW_COST = 16, 1.0
# With at least MANY_COLUMNS columns and rows in memory, steps are computed by conjugate gradients; each product with
# the Hessian takes a pass over the active rows. The preconditioner is the Hessian at an earlier point, computed from at
# most ROWS_PER_COLUMN rows per column. It is computed again when a step needs at least FEW_PRODUCTS products.
MANY_COLUMNS, ROWS_PER_COLUMN, FEW_PRODUCTS = 200, 4, 12
# Conjugate gradients stop when the norm of the residual is at most FORCING times the gradient norm, or earlier if the
# tolerance allows it. After the tolerance is reached, one more step is made with the factor FORCING_LAST, unless the
# tolerance is above POLISHED_TOL.
FORCING, FORCING_LAST, POLISHED_TOL = 0.1, 1e-4, 1e-4
# The preconditioner is a sum over strips of this many rows, which are processed in threads.
STRIP = 1024
# Armijo's constant: a step must achieve this fraction of the decrease that the slope predicts.
ENOUGH = 1e-4
# Grids of step lengths at which the slope is computed. The first is dense near 0, because steps are short if costs are
# very different; the other two are even grids between the two lengths that bracket the minimum.
GRIDS = (np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 60)]), *2 * (np.linspace(0.0, 1.0, 61),))
# The solver stops after PATIENCE consecutive steps in which neither the smallest gap nor P decreased; decreases of P by
# less than the fraction ROUNDING do not count.
PATIENCE, ROUNDING = 5, 1e-12


class Point(NamedTuple):
    """Sums over all rows at w: the loss ``Σ C max(0, 1 - ⟨u, w⟩)²``, ``v = Σ α u``, and the number of active rows.

    ``second`` is the Hessian of the loss, ``Σ 2 C u uᵀ`` over the active rows. If there are many columns, ``second``
    contains the positions of the active rows instead.
    """

    w: Array
    loss: float
    v: Array
    n_active: int
    second: Array

    @property
    def primal(self) -> float:
        """Primal objective P(w)."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def dual(self) -> float:
        """Dual objective D(α), computed as P minus half the squared gradient norm."""
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
    """Minimise P until the relative duality gap is at most ``tol``.

    With ``polish=True``, one more step is taken after the tolerance is reached, unless ``tol`` is above POLISHED_TOL.
    """
    start, n_passes = _starting_point(source, start, max_iter, rng)
    descent = descent_of(source)(source, start, report, n_passes)
    status = descent.run(tol, max_iter)
    if status == "optimal" and polish and tol <= POLISHED_TOL and descent.point.gap > 0:
        descent.polish()
    point, n_iter, n_passes = descent.point, descent.n_iter, descent.n_passes
    if status != "optimal" and 0 < point.n_active <= source.shape[1]:
        return _interpolated(source, point, tol, status, n_iter, n_passes)
    kept = point.n_active <= source.most_kept
    support, alpha, lengths = source.fold(_alpha_block, columns_joined, point.w, kept)
    solution = Solution(
        point.w, support, alpha, point.v, point.primal, point.dual, point.gap, status, max(n_iter, 1), n_passes + 1,
        point.n_active,
    )  # fmt: skip
    rounding = squared_rounding(solution, float(lengths.max()), source.cost_range, source.shape[0])
    return replace(solution, rounding=rounding)


def _starting_point(
    source: RowSource, start: Array | None, max_iter: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """Return a starting point and the number of passes; drawing a sample counts as a pass.

    If costs are very different, the starting point is the solution for capped costs. Otherwise it is ``start`` if this
    is given, the solution for a sample if there are many rows, and zero if there are few.
    """
    n, d = source.shape
    options: dict[str, Any] = {"max_iter": max_iter, "rng": rng, "polish": False}
    lowest, highest, _ = source.cost_range
    if highest > COST_RATIO * lowest:
        # If costs are very different, only a few rows become active per step. Capping the costs first is faster.
        softer = source.altered(_softened, highest / SOFTER)
        led = solve_squared_hinge(softer, tol=SOFTER_TOL, start=start, **options)
        return led.w, led.n_passes
    if start is not None:
        return start, 0
    size = min(n // SAMPLE_RATIO, SAMPLE_NUMBERS // d)
    if size < max(FIRST_ROWS, FIRST_ROWS_PER_COLUMN * d):
        return np.zeros(d), 0
    sample = source.sample(size, rng)
    return solve_squared_hinge(sample, tol=SAMPLE_TOL, **options).w if sample.costs.any() else np.zeros(d), 1


class Descent(ABC):
    """Newton's method for a row source, with a count of the steps and passes."""

    def __init__(self, source: RowSource, start: Array, report: Report | None = None, n_passes: int = 0) -> None:
        self.source, self.report, self.n_passes, self.n_iter = source, report, n_passes, 0
        self.point = self._at(start)

    @abstractmethod
    def _at(self, w: Array) -> Point:
        """Compute the sums at w in one pass."""

    @abstractmethod
    def _newton_step(self, gradient: Array, part: float, shortest: float) -> Array:
        """Compute a Newton step, exactly or by conjugate gradients.

        The norm of the residual of the linear system is at most ``part`` times the gradient norm, or at most
        ``shortest`` if this is larger.
        """

    def run(self, tol: float, max_iter: int) -> Status:
        """Take steps until the gap is at most ``tol`` or rounding prevents progress; return the status.

        At most ``max_iter`` steps are taken.
        """
        best, stalled = self.point.gap, 0
        while self.point.gap > tol:
            if self.n_iter == max_iter or stalled == PATIENCE:
                return "max_iter" if self.n_iter == max_iter else "stalled"
            before = self.point.primal
            # The residual of the linear system need not be smaller than half of the gradient norm at which the gap is
            # ``tol``.
            following = self._following(FORCING, 0.5 * float(np.sqrt(2 * tol * max(1.0, before))))
            if following is None:
                return "stalled"
            stalled = 0 if following.gap < best or following.primal < (1 - ROUNDING) * before else stalled + 1
            best = min(best, following.gap)
            self._go_to(following)
        return "optimal"

    def polish(self) -> None:
        """Take one more step, which squares the error, so that the result hardly depends on the start."""
        following = self._following(FORCING_LAST, 0.0)
        self._go_to(self.point if following is None or following.gap > self.point.gap else following)

    def _go_to(self, point: Point) -> None:
        self.point = point
        if self.report is not None:
            self.report(Progress(self.n_passes, point.primal, point.dual, point.gap, point.n_active))

    def _following(self, part: float, shortest: float) -> Point | None:
        """Return the point after a Newton step, which is shortened if P does not decrease enough.

        Return None if the step neither decreases P nor halves the gap, or if its linear system is singular because of
        rounding.
        """
        point, gradient = self.point, self.point.w - self.point.v
        self.n_iter += 1
        try:
            step = self._newton_step(gradient, part, shortest)
        except np.linalg.LinAlgError:  # row norms are so large that rounding hides the identity in the Hessian of P
            return None
        following, slope = self._at(point.w + step), float(gradient @ step)
        # Accept the step if the predicted decrease is so small that rounding may hide it: a search for a shorter step
        # would not find a decrease either.
        if following.primal > point.primal + ENOUGH * slope and -slope > ROUNDING * point.primal:
            self.n_passes += len(GRIDS)
            following = self._at(point.w + _lowest(self.source, point.w, step) * step)
        lower = following.primal < point.primal or following.gap < 0.5 * point.gap
        return following if lower else None


class DirectDescent(Descent):
    """Newton's method that computes the Hessian in every pass and factorises it."""

    def _at(self, w: Array) -> Point:
        self.n_passes += 1
        loss, v, hessian, n_active = self.source.fold(_point_block, columns_summed, w)
        return Point(w, loss, v, n_active, hessian)

    def _newton_step(self, gradient: Array, part: float, shortest: float) -> Array:
        return -cho_solve(cho_factor(np.eye(len(gradient)) + self.point.second), gradient)


class ConjugateDescent(Descent):
    """Newton's method with conjugate gradients, for rows in memory with many columns."""

    # Cholesky factor of the preconditioner, and the point at which the preconditioner is the exact Hessian, or None if
    # the preconditioner was computed from only some of the active rows.
    factor: Any = None
    made_at: Point | None = None

    def _at(self, w: Array) -> Point:
        self.n_passes += 1
        loss, v, active = self.source.fold(_sums_block, _merge_sums, w)
        return Point(w, loss, v, len(active), active)

    def _newton_step(self, gradient: Array, part: float, shortest: float) -> Array:
        target = max(part * float(np.linalg.norm(gradient)), shortest)
        if self.factor is not None:
            step, products = self._conjugate_step(gradient, target, FEW_PRODUCTS)
            if products < FEW_PRODUCTS:
                return step
        self._precondition()
        if self.made_at is self.point:
            return -cho_solve(self.factor, gradient)
        return self._conjugate_step(gradient, target, MOST_PRODUCTS)[0]

    def _conjugate_step(self, gradient: Array, target: float, most: int) -> tuple[Array, int]:
        def product(direction: Array) -> Array:
            return direction + self.source.fold(_product_block, summed, self.point.second, direction)

        step, products = conjugate_gradients(product, partial(cho_solve, self.factor), -gradient, target, most)
        self.n_passes += products
        return step, products

    def _precondition(self) -> None:
        """Factorise the Hessian at the current point, computed from all or some of its active rows."""
        active, d = self.point.second, len(self.point.w)
        stride = max(1, -(-len(active) // (ROWS_PER_COLUMN * d)))
        (rows,) = self.source.fold(_scaled_block, columns_joined, active[::stride])
        self.n_passes += 1
        rows *= np.sqrt(len(active) / max(1, len(rows)))
        strips = [rows[i : i + STRIP] for i in range(0, len(rows), STRIP)]
        hessian = fold_parts(map_in_threads(_squares, strips, self.source.threads), summed) if len(rows) else 0.0
        self.factor = cho_factor(np.eye(d) + hessian, lower=True, overwrite_a=True)
        self.made_at = self.point if stride == 1 else None


def descent_of(source: RowSource) -> type[Descent]:
    """Return the subclass of :class:`Descent` that suits a row source."""
    is_wide = source.shape[1] >= MANY_COLUMNS and source.most_kept == np.inf
    return ConjugateDescent if is_wide else DirectDescent


def _softened(rows: Rows, most: float) -> Rows:
    return replace(rows, costs=np.minimum(rows.costs, most))


def _interpolated(source: RowSource, point: Point, tol: float, status: Status, n_iter: int, n_passes: int) -> Solution:
    r"""Return the solution of a linear system for α, with the w that follows from it.

    It is used if costs are so high that the slack of the active rows, from which α is usually computed, is lost in
    rounding. With the matrix :math:`U_A` of the active rows, α and w are

    .. math:: \Bigl(U_A U_A^T + \operatorname{diag} \frac{1}{2C}\Bigr) \alpha = 1, \qquad w = U_A^T \alpha

    Negative elements of α are replaced by 0 before w is computed.
    """
    support, rows, costs = source.fold(_active, columns_joined, point.w)
    system = rows @ rows.T + np.diag(1 / (2 * costs))
    alpha = np.maximum(np.linalg.lstsq(system, np.ones(len(rows)), rcond=None)[0], 0)
    w = alpha @ rows
    primal = descent_of(source)(source, w).point.primal
    dual = float(alpha.sum() - 0.5 * (w @ w) - np.sum(alpha**2 / (4 * costs)))
    gap = relative_gap(primal, dual)
    if gap <= tol:
        status = "optimal"
    support, alpha = support[alpha > 0], alpha[alpha > 0]
    return Solution(w, support, alpha, w, primal, dual, gap, status, n_iter, n_passes + 2, len(support))


def _lowest(source: RowSource, w: Array, step: Array) -> float:
    """Return the step length in [0, 1] at which P is lowest; the search takes three passes."""
    low, high = 0.0, 1.0
    for grid in GRIDS:
        lengths = low + (high - low) * grid
        slopes = source.fold(_slopes_block, summed, w, step, lengths) + step @ w + lengths * (step @ step)
        k = int(np.clip(np.searchsorted(slopes, 0.0), 1, len(grid) - 1))
        low, high = lengths[k - 1], lengths[k]
    # The slope is nearly linear between two grid points, so its zero is interpolated.
    rise = slopes[k] - slopes[k - 1]
    return float(low - (high - low) * slopes[k - 1] / rise) if rise > 0 else float(high)


def _slopes_block(block: Rows, w: Array, step: Array, lengths: Array) -> Array:
    """Return the slope of a block's loss along the step, at each length."""
    slack, rise, costs = 1 - block @ w, block @ step, 2 * block.costs
    return np.array([-(costs * np.maximum(0, slack - t * rise)) @ rise for t in lengths])


def _point_block(block: Rows, w: Array) -> tuple[float, Array, Array, int]:
    """Return the sums of a block for a :class:`Point`: loss, v, hessian and number of active rows."""
    d = len(w)
    if d <= FEW_COLUMNS and block.costs.max(initial=0.0) <= LOW_COST:
        v, hessian, loss, n_active = np.zeros(d), np.zeros((d, d)), 0.0, 0
        for piece in block.pieces():
            numbers = piece.X, piece.centre, piece.along, piece.base, piece.costs
            sums = _add_active(*numbers, unrolled(w), v, hessian)
            loss, n_active = loss + sums[0], n_active + sums[1]
        return loss, v, hessian, n_active
    _, rows, costs = _active(block, w)
    slack = 1 - rows @ w
    alpha = 2 * costs * slack
    scaled = np.sqrt(2 * costs)[:, None] * rows
    return float(costs @ slack**2), alpha @ rows, scaled.T @ scaled, len(rows)


def _sums_block(block: Rows, w: Array) -> tuple[float, Array, Array]:
    """Return a block's contribution to a :class:`Point`: the loss, v and the positions of the active rows."""
    margins = block @ w
    index = np.flatnonzero((margins < 1) & (block.costs > 0))
    costs, slack = block.costs[index], 1 - margins[index]
    if block.costs.max(initial=0.0) <= LOW_COST:
        return float(costs @ slack**2), block.weighted_sum(index, 2 * costs * slack), index + block.start
    rows = block[index]
    slack = 1 - rows @ w
    return float(costs @ slack**2), (2 * costs * slack) @ rows, index + block.start


def _merge_sums(parts: Sequence[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    losses, sums, positions = zip(*parts, strict=True)
    return summed(losses), summed(sums), np.concatenate(positions)


def _of_block(block: Rows, positions: Array) -> Array:
    """Return the positions that lie in a block, as indices within the block."""
    first, last = np.searchsorted(positions, [block.start, block.start + len(block.X)])
    return positions[first:last] - block.start


def _product_block(block: Rows, active: Array, direction: Array) -> Array:
    """Return the product of the Hessian of a block's loss with a direction."""
    index = _of_block(block, active)
    return block.weighted_sum(index, 2 * block.costs[index] * block.product_at(index, direction))


def _scaled_block(block: Rows, positions: Array) -> tuple[Array]:
    """Return the scaled rows ``√(2C) u`` of a block at the given positions."""
    index = _of_block(block, positions)
    return (np.sqrt(2 * block.costs[index])[:, None] * block[index],)


def _squares(rows: Array) -> Array:
    return rows.T @ rows


@njit(cache=True, nogil=True, error_model="numpy")
def _add_active(X, p, along, base, costs, w, v, hessian):  # type: ignore[no-untyped-def]
    """Add the terms of a block's active rows to v and hessian; return the loss and the number of active rows."""
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
    """Return a block's active rows (margin below 1, positive cost): positions in the source, rows and costs."""
    index = np.flatnonzero((block @ w < 1) & (block.costs > 0))
    return index + block.start, block[index], block.costs[index]


def _alpha_block(block: Rows, w: Array, kept: bool) -> tuple[Array, Array, Array]:
    """Return the positions and α of a block's active rows (both empty unless ``kept``), and a bound on row norms."""
    if not kept:
        return np.empty(0, dtype=np.int64), np.empty(0), np.array([block.length_bound()])
    support, rows, costs = _active(block, w)
    return support, 2 * costs * (1 - rows @ w), np.array([block.length_bound()])
