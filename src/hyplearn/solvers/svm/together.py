r"""Solver for many small squared-hinge problems that share their points but differ in labels, costs and centres.

Newton's method of :mod:`~hyplearn.solvers.svm.squared_hinge` is applied to all unsolved problems at once. A few matrix
products compute the margins, gradients and Hessians of all these problems. The problems of all classes and folds are
thus solved in one call instead of hundreds, without compiled code. The *centre* of a problem is the reference point of
its rows; problems with the same centre share a *set* of rows.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from hyplearn.rows import Costs
from hyplearn.solvers.solution import Solution, Status
from hyplearn.solvers.svm.proof import squared_rounding
from hyplearn.types import Array

# Armijo's constant: a step must achieve the fraction ENOUGH of the predicted decrease. Otherwise a parabola determines
# by which factor the step is shortened; the factor lies between SHORTEST and 1/2. A step is shortened at most CUTS
# times.
ENOUGH, SHORTEST, CUTS = 1e-4, 0.1, 30
# If the predicted decrease is less than this fraction of P, the step is not shortened, because rounding hides the
# decrease.
ROUNDING = 1e-15
# Problems are solved in groups, so that their arrays stay in the cache. The number of rows times the number of problems
# of a group is at most GROUP_NUMBERS.
GROUP_NUMBERS = 2**19
# If there are at most MOST_PRODUCTS pairs of columns, Hessians are computed from the elementwise products of columns,
# and otherwise from the active rows. The products are kept between calls if they have at most KEPT_NUMBERS elements
# (128 MiB).
MOST_PRODUCTS, KEPT_NUMBERS = 256, 2**24


@dataclass(frozen=True)
class TogetherSolution:
    """Weights, objective and duality gap of each of B problems with m columns."""

    W: Array  # weights, of shape (B, m)
    primal: Array  # P(w) of each problem
    gap: Array  # relative duality gap of each problem
    n_iter: int  # largest number of Newton steps of any problem


@dataclass(frozen=True)
class Problems:
    """One-vs-rest problems on the same points; problems with the same set of rows follow one another."""

    rows: Array  # S sets of n rows with m columns, of shape (S, n, m)
    sets: Array  # index of each problem's set of rows, of shape (B,), in ascending order
    codes: Array  # class of each row, of shape (n,)
    positives: Array  # positive class of each problem, of shape (B,)
    costs: Array  # costs of the rows, of shape (n, F); F is 1, or the number of folds, or the number of problems
    columns: Array  # index of each problem's column in ``costs``, of shape (B,)
    kept_numbers: int = KEPT_NUMBERS  # maximum number of products of columns that are kept

    @classmethod
    def of_classes(cls, rows: Array, codes: Array, positives: Array, costs: Array) -> "Problems":
        """Create one problem for every positive class; all problems have the same costs.

        ``rows`` has shape (n, m) if the problems share their rows, and (B, n, m) otherwise.
        """
        nothing = np.zeros(len(positives), dtype=np.int64)
        if rows.ndim == 2:
            return cls(rows[None], nothing, codes, positives, costs[:, None], nothing)
        return cls(rows, np.arange(len(positives)), codes, positives, costs[:, None], nothing)

    def in_folds(self, costs: Array) -> "Problems":
        """Create a copy of each problem for every fold, that is, for every column of ``costs``."""
        n_folds, P = costs.shape[1], len(self.positives)
        return self._with(
            sets=np.repeat(self.sets, n_folds),
            positives=np.repeat(self.positives, n_folds),
            costs=costs,
            columns=np.tile(np.arange(n_folds), P),
        )

    def at_costs(self, C: Array | float) -> "Problems":
        """Return the problems with their costs multiplied by C; C is one number for all problems, or one for each."""
        each = np.broadcast_to(C, len(self.positives))
        if np.all(each == each[0]):
            return self._with(costs=each[0] * self.costs)
        return self._with(costs=each * self.costs[:, self.columns], columns=np.arange(len(each)))

    def _with(self, **changes: Any) -> "Problems":
        """Return a copy in which the given fields are replaced.

        ``rows`` must not be replaced, because the copy reuses the products of columns if they have been computed.
        """
        other = replace(self, **changes)
        if "products" in vars(self):
            other.__dict__["products"] = self.products
        return other

    @cached_property
    def products(self) -> Array | None:
        """Products of all pairs of columns of each set of rows; None if there are too many products to keep."""
        few = _has_few_pairs(self.rows) and self.rows.size * (self.rows.shape[2] + 1) // 2 <= self.kept_numbers
        return column_products(self.rows) if few else None

    def products_of(self, sets: slice) -> Array | None:
        """Return the products of all pairs of columns of each of the given row sets; None for too many columns."""
        if self.products is not None:
            return self.products[sets]
        return column_products(self.rows[sets]) if _has_few_pairs(self.rows) else None

    def signs(self, problems: slice | int) -> Array:
        """Return the labels ±1 of all rows in the given problems, as an array of shape (number of problems, n)."""
        return np.where(np.atleast_1d(self.positives[problems])[:, None] == self.codes, 1.0, -1.0)


def _has_few_pairs(rows: Array) -> bool:
    m = rows.shape[-1]
    return m * (m + 1) // 2 <= MOST_PRODUCTS


def solve_together(
    problems: Problems,
    *,
    tol: float,
    max_iter: int = 100,
    start: Array | None = None,
    group_numbers: int = GROUP_NUMBERS,
) -> TogetherSolution:
    r"""Minimise the objective of every problem b.

    .. math:: \tfrac12 \|w_b\|^2 + \sum_i C_{ib} \max(0, 1 - y_{ib} \langle x_{ib}, w_b \rangle)^2

    Parameters
    ----------
    problems : Problems
        Rows, labels and costs.
    tol : float
        Relative duality gap at which a problem is solved.
    max_iter : int
        Maximum number of Newton steps.
    start : ndarray of shape (B, m), optional
        Weights to start from.
    group_numbers : int
        Maximum size of a group of problems that are solved at once: number of rows times number of problems.
    """
    (_, n, m), B = problems.rows.shape, len(problems.positives)
    if n < m:
        # The solutions lie in the span of the rows, so the rows are replaced by their n coordinates in an orthonormal
        # basis.
        Q, R = np.linalg.qr(_transposed(problems.rows))
        within = None if start is None else _times(start, problems.sets, Q)
        rotated = replace(problems, rows=_transposed(R))
        found = solve_together(rotated, tol=tol, max_iter=max_iter, start=within, group_numbers=group_numbers)
        return replace(found, W=_times(found.W, problems.sets, _transposed(Q)))
    W = np.zeros((B, m)) if start is None else start.copy()
    primal, gap, n_iter = np.empty(B), np.empty(B), 0
    step, doubled = max(1, group_numbers // max(1, n)), 2 * problems.costs.T
    for first in range(0, B, step):
        cut = slice(first, first + step)
        group = _Group(problems, cut, doubled[problems.columns[cut]], W[cut])
        n_iter = max(n_iter, group.solve(tol, max_iter))
        W[cut], primal[cut], gap[cut] = group.W, group.primal, group.gap
    return TogetherSolution(W, primal, gap, n_iter)


def column_products(rows: Array) -> Array:
    """Return the elementwise products of all pairs of columns, of shape (..., m (m + 1) / 2, n)."""
    columns, m = np.ascontiguousarray(_transposed(rows)), rows.shape[-1]
    products, first = np.empty((*rows.shape[:-2], m * (m + 1) // 2, rows.shape[-2])), 0
    for j in range(m):
        last = first + m - j
        np.multiply(columns[..., j:, :], columns[..., j : j + 1, :], out=products[..., first:last, :])
        first = last
    return products


def _transposed(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _times(vectors: Array, sets: Array, matrices: Array) -> Array:
    """Multiply each vector b by the matrix ``matrices[sets[b]]``; ``sets`` is in ascending order."""
    if len(matrices) == 1:
        return vectors @ matrices[0]
    out = np.empty((len(vectors), matrices.shape[2]))
    ends = np.searchsorted(sets, np.arange(len(matrices) + 1)).tolist()
    for matrix, first, last in zip(matrices, ends[:-1], ends[1:], strict=True):
        if first < last:
            np.matmul(vectors[first:last], matrix, out=out[first:last])
    return out


@cache
def _places(m: int) -> Array:
    """Return where :func:`column_products` stores the product of each pair of m columns.

    The result is a flat (m, m) matrix of indices.
    """
    places, (i, j) = np.empty((m, m), dtype=np.int64), np.triu_indices(m)
    places[i, j] = places[j, i] = np.arange(len(i))
    return places.ravel()


class _Group:
    """Group of problems whose Newton steps are computed together.

    A problem that reaches the tolerance takes at most one more step, and is left out of the steps after that. Arrays
    have one row per problem: the labels y (``signs``), the doubled costs 2C (``doubled``), and the slacks
    ``max(0, 1 - y ⟨x, w⟩)``.
    """

    def __init__(self, problems: Problems, cut: slice, doubled: Array, W: Array) -> None:
        sets = problems.sets[cut]
        own = slice(sets[0], sets[-1] + 1)
        # Matrix products are faster with contiguous columns.
        self.rows = _transposed(np.ascontiguousarray(_transposed(problems.rows[own])))
        self.products, self.sets = problems.products_of(own), sets - sets[0]
        self.signs, self.doubled = problems.signs(cut), doubled
        self.places = _places(self.rows.shape[2])
        self.W, self.primal, self.gap = W.copy(), np.empty(len(W)), np.full(len(W), np.inf)

    def solve(self, tol: float, max_iter: int) -> int:
        """Take steps until every problem is solved or makes no more progress; return the number of steps.

        At most ``max_iter`` steps are taken.
        """
        open_, ends = np.arange(len(self.W)), np.zeros(len(self.W), dtype=bool)
        slacks, sums, primal = self._at(self.W, open_)
        self.primal[:] = primal
        for n_iter in range(max_iter + 1):
            gradient = self.W[open_] - sums
            gap = 0.5 * np.einsum("bm,bm->b", gradient, gradient) / np.maximum(1.0, primal)
            self.gap[open_] = gap
            # A solved problem takes one more step, which squares the error, so that the result hardly depends on the
            # start. This step is omitted if the gap is at most tol².
            left, ends[open_] = ~ends[open_] & (gap > tol**2), gap <= tol
            if not left.any() or n_iter == max_iter:
                break
            if not left.all():
                open_, slacks, primal, gradient = open_[left], slacks[left], primal[left], gradient[left]
            W, slacks, sums, following = self._step(open_, slacks, primal, gradient)
            lower = following < primal
            if not lower.all():  # problems that are limited by rounding keep their weights
                W, open_, following, slacks, sums = (part[lower] for part in (W, open_, following, slacks, sums))
                if not lower.any():
                    break
            self.W[open_], self.primal[open_], primal = W, following, following
        return n_iter

    def _at(self, W: Array, open_: Array) -> tuple[Array, Array, Array]:
        """Return the slacks, ``Σ α y x`` and P of the given problems at the given weights, where α = 2C · slack."""
        signs, doubled, sets = self._of(open_)
        slacks = _times(W, sets, _transposed(self.rows))
        slacks *= signs
        np.subtract(1.0, slacks, out=slacks)
        np.clip(slacks, 0.0, np.inf, out=slacks)  # three times as fast as np.maximum with a scalar
        alpha = doubled * slacks
        primal = 0.5 * (np.einsum("bm,bm->b", W, W) + np.einsum("bi,bi->b", alpha, slacks))
        alpha *= signs
        return slacks, _times(alpha, sets, self.rows), primal

    def _of(self, open_: Array) -> tuple[Array, Array, Array]:
        """Return the labels, the doubled costs and the indices of the row sets of the given problems.

        The arrays are not copied if every problem is given.
        """
        if len(open_) == len(self.signs):
            return self.signs, self.doubled, self.sets
        return self.signs[open_], self.doubled[open_], self.sets[open_]

    def _step(self, open_: Array, slacks: Array, primal: Array, gradient: Array) -> tuple[Array, Array, Array, Array]:
        """Return W, slacks, ``Σ α y x`` and P after a Newton step, shortened until P decreases enough."""
        step = -np.linalg.solve(self._hessians(open_, slacks), gradient[:, :, None])[:, :, 0]
        slope, t = np.einsum("bm,bm->b", gradient, step), np.ones(len(open_))
        here = self.W[open_]
        W = here + step
        slacks, sums, following = self._at(W, open_)
        certain = -slope > ROUNDING * primal
        for _ in range(CUTS):
            far = np.flatnonzero(certain & (following > primal + ENOUGH * t * slope))
            if not far.size:
                break
            # Fit a parabola to P at the old and the new weights, and to the slope of P at the old weights.
            bend = following[far] - primal[far] - t[far] * slope[far]
            t[far] *= np.clip(-0.5 * t[far] * slope[far] / bend, SHORTEST, 0.5)
            W[far] = here[far] + t[far, None] * step[far]
            slacks[far], sums[far], following[far] = self._at(W[far], open_[far])
        return W, slacks, sums, following

    def _hessians(self, open_: Array, slacks: Array) -> Array:
        """Return the Hessians of the given problems, one matrix of shape (m, m) per problem."""
        m, (_, doubled, sets) = self.rows.shape[2], self._of(open_)
        weights = np.where(slacks > 0, doubled, 0.0)
        if self.products is None:
            return np.stack([_hessian(self.rows[k], own) for k, own in zip(sets, weights, strict=True)])
        return _times(weights, sets, _transposed(self.products))[:, self.places].reshape(-1, m, m) + np.eye(m)


def _hessian(rows: Array, weights: Array) -> Array:
    """Return the Hessian of one problem, computed from its active rows, which have non-zero weights."""
    active = np.flatnonzero(weights)
    scaled = np.sqrt(weights[active])[:, None] * rows[active]
    return scaled.T @ scaled + np.eye(rows.shape[1])


def solutions_of(problems: Problems, found: TogetherSolution, tol: float) -> list[Solution]:
    """Return the solution of each problem, with the α of its rows."""
    solutions, longest = [], np.sqrt(np.max(np.sum(problems.rows**2, axis=2), axis=1, initial=0.0)).tolist()
    for b, w in enumerate(found.W):
        signs, costs = problems.signs(b)[0], problems.costs[:, problems.columns[b]]
        rows = problems.rows[problems.sets[b]]
        alpha = 2 * costs * np.maximum(0.0, 1 - signs * (rows @ w))
        support = np.flatnonzero(alpha)
        v = (signs[support] * alpha[support]) @ rows[support]
        primal, gap = float(found.primal[b]), float(found.gap[b])
        solution = Solution(
            w, support, alpha[support], v, primal, primal - gap * max(1.0, primal), gap, "optimal",
            max(1, found.n_iter), found.n_iter + 1, len(support),
        )  # fmt: skip
        rounding = squared_rounding(solution, longest[problems.sets[b]], Costs.of(costs), len(costs))
        status: Status = "optimal" if gap + rounding <= tol else "stalled"
        solutions.append(replace(solution, rounding=rounding, status=status))
    return solutions
