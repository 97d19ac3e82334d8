r"""Solver for many small squared-hinge problems that share their rows and differ in labels and costs.

Uses Newton's method as in :mod:`~hyplearn.solvers.svm.squared_hinge` on all unsolved problems at once: their margins,
gradients and Hessians take a few matrix products. K classes and their folds thus need one call instead of hundreds, and
no compiled code.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property

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
# Maximum size of a group, as the number of rows times the number of problems. Problems are solved in groups, so that
# their arrays stay in the cache.
GROUP_NUMBERS = 2**19
# If there are at most this many pairs of columns, Hessians are computed from stored products of columns; otherwise from
# the active rows.
MOST_PRODUCTS = 256


@dataclass(frozen=True)
class TogetherSolution:
    """Weights, objective and duality gap of each problem."""

    W: Array  # weights, of shape (B, m)
    primal: Array  # P(w) of each problem
    gap: Array  # relative duality gap of each problem
    n_iter: int  # largest number of Newton steps of any problem


@dataclass(frozen=True)
class Problems:
    """One-vs-rest problems on shared rows, each with its own costs."""

    rows: Array  # shared rows, of shape (n, m)
    codes: Array  # class of each row
    positives: Array  # positive class of each problem, of shape (B,)
    costs: Array  # one column of costs per fold, of shape (n, F)
    columns: Array  # index of each problem's column in ``costs``, of shape (B,)

    @classmethod
    def of_classes(cls, rows: Array, codes: Array, positives: Array, costs: Array) -> "Problems":
        """Create one problem for every positive class; all problems have the same costs."""
        return cls(rows, codes, positives, costs[:, None], np.zeros(len(positives), dtype=np.int64))

    def in_folds(self, costs: Array) -> "Problems":
        """Create a copy of these problems for every fold, that is, for every column of ``costs``."""
        n_folds, P = costs.shape[1], len(self.positives)
        return self._with(
            positives=np.tile(self.positives, n_folds), costs=costs, columns=np.repeat(np.arange(n_folds), P)
        )

    def at_costs(self, C: Array | float) -> "Problems":
        """Multiply the costs by C, which is one number for all problems or one number for each problem."""
        each = np.broadcast_to(C, len(self.positives))
        if np.all(each == each[0]):
            return self._with(costs=each[0] * self.costs)
        return self._with(costs=each * self.costs[:, self.columns], columns=np.arange(len(each)))

    def _with(self, **changes: Array) -> "Problems":
        """Return other problems on the same rows; products of columns that are already computed are reused."""
        other = replace(self, **changes)
        if "products" in vars(self):
            other.__dict__["products"] = self.products
        return other

    @cached_property
    def products(self) -> Array | None:
        """Products of all pairs of columns, or None if there are too many."""
        m = self.rows.shape[1]
        return column_products(self.rows) if m * (m + 1) // 2 <= MOST_PRODUCTS else None

    def signs(self, problems: slice | int) -> Array:
        """Return the labels ±1 of all rows in the given problems, one row per problem."""
        return np.where(np.atleast_1d(self.positives[problems])[:, None] == self.codes, 1.0, -1.0)


def solve_together(
    problems: Problems,
    *,
    tol: float,
    max_iter: int = 100,
    start: Array | None = None,
    group_numbers: int = GROUP_NUMBERS,
) -> TogetherSolution:
    r"""Minimise :math:`\tfrac12 \|w_b\|^2 + \sum_i C_{ib} \max(0, 1 - y_{ib} \langle x_i, w_b \rangle)^2` for every b.

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
        Maximum number of rows times problems that are solved at once.
    """
    (n, m), B = problems.rows.shape, len(problems.positives)
    if n < m:
        # The solutions lie in the span of the rows, so the rows are rotated into n coordinates.
        Q, R = np.linalg.qr(problems.rows.T)
        within = None if start is None else start @ Q
        found = solve_together(replace(problems, rows=R.T), tol=tol, max_iter=max_iter, start=within)
        return replace(found, W=found.W @ Q.T)
    W = np.zeros((B, m)) if start is None else start.copy()
    primal, gap, n_iter = np.empty(B), np.empty(B), 0
    step, doubled = max(1, group_numbers // max(1, n)), 2 * problems.costs.T
    for first in range(0, B, step):
        cut = slice(first, first + step)
        group = _Group(problems, problems.signs(cut), doubled[problems.columns[cut]], W[cut])
        n_iter = max(n_iter, group.solve(tol, max_iter))
        W[cut], primal[cut], gap[cut] = group.W, group.primal, group.gap
    return TogetherSolution(W, primal, gap, n_iter)


def column_products(rows: Array) -> Array:
    """Return the elementwise products of all pairs of columns, of shape (m (m + 1) / 2, n)."""
    columns, (n, m) = np.ascontiguousarray(rows.T), rows.shape
    products, first = np.empty((m * (m + 1) // 2, n)), 0
    for j, column in enumerate(columns):
        np.multiply(columns[j:], column, out=products[first : first + m - j])
        first += m - j
    return products


@cache
def _places(m: int) -> Array:
    """Return the position of each entry of an (m, m) matrix in the result of :func:`column_products`."""
    places, (i, j) = np.empty((m, m), dtype=np.int64), np.triu_indices(m)
    places[i, j] = places[j, i] = np.arange(len(i))
    return places.ravel()


class _Group:
    """Group of problems whose Newton steps are computed together; solved problems take no further steps.

    Arrays have one row per problem. The residual of a row is ``y max(0, 1 - y ⟨x, w⟩)``, which is y - ⟨x, w⟩ if the row
    is active, and 0 otherwise; ``doubled`` are the costs 2C.
    """

    def __init__(self, problems: Problems, signs: Array, doubled: Array, W: Array) -> None:
        self.rows, self.products = problems.rows, problems.products
        self.signs, self.doubled = signs, doubled
        self.places = _places(self.rows.shape[1])
        self.W, self.primal, self.gap = W.copy(), np.empty(len(W)), np.full(len(W), np.inf)

    def solve(self, tol: float, max_iter: int) -> int:
        """Take steps until every problem is solved or makes no more progress; return the number of steps."""
        open_, ends = np.arange(len(self.W)), np.zeros(len(self.W), dtype=bool)
        residuals, pulls, primal = self._at(self.W, open_)
        self.primal[:] = primal
        for n_iter in range(max_iter + 1):
            gradient = self.W[open_] - pulls @ self.rows
            gap = 0.5 * np.einsum("bm,bm->b", gradient, gradient) / np.maximum(1.0, primal)
            self.gap[open_] = gap
            # A solved problem takes one more step, which squares the error, so that the result does not depend on the
            # start.
            left, ends[open_] = ~ends[open_] & (gap > tol**2), gap <= tol
            if not left.any() or n_iter == max_iter:
                break
            if not left.all():
                open_, residuals, primal, gradient = open_[left], residuals[left], primal[left], gradient[left]
            W, residuals, pulls, following = self._step(open_, residuals, primal, gradient)
            lower = following < primal
            if not lower.all():  # problems limited by rounding keep their weights
                W, open_, following = W[lower], open_[lower], following[lower]
                residuals, pulls = residuals[lower], pulls[lower]
                if not lower.any():
                    break
            self.W[open_], self.primal[open_], primal = W, following, following
        return n_iter

    def _at(self, W: Array, open_: Array) -> tuple[Array, Array, Array]:
        """Return the residuals, the residuals times 2C, and P of the given problems at the given weights."""
        signs, doubled = self.signs, self.doubled
        if len(open_) < len(signs):
            signs, doubled = signs[open_], doubled[open_]
        residuals = W @ self.rows.T
        np.subtract(signs, residuals, out=residuals)
        # An active row has a residual with the sign of its label.
        residuals *= residuals * signs > 0
        pulls = doubled * residuals
        primal = 0.5 * (np.einsum("bm,bm->b", W, W) + np.einsum("bi,bi->b", pulls, residuals))
        return residuals, pulls, primal

    def _step(
        self, open_: Array, residuals: Array, primal: Array, gradient: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return W, residuals, residuals times 2C, and P after a Newton step, shortened until P decreases enough."""
        step = -np.linalg.solve(self._hessians(open_, residuals), gradient[:, :, None])[:, :, 0]
        slope, t = np.einsum("bm,bm->b", gradient, step), np.ones(len(open_))
        here = self.W[open_]
        W = here + step
        residuals, pulls, following = self._at(W, open_)
        certain = -slope > ROUNDING * primal
        for _ in range(CUTS):
            far = np.flatnonzero(certain & (following > primal + ENOUGH * t * slope))
            if not far.size:
                break
            # Fit a parabola to P and its slope at the old weights, and to P at the new weights.
            bend = following[far] - primal[far] - t[far] * slope[far]
            t[far] *= np.clip(-0.5 * t[far] * slope[far] / bend, SHORTEST, 0.5)
            W[far] = here[far] + t[far, None] * step[far]
            residuals[far], pulls[far], following[far] = self._at(W[far], open_[far])
        return W, residuals, pulls, following

    def _hessians(self, open_: Array, residuals: Array) -> Array:
        """Return the Hessians of the given problems, one matrix of shape (m, m) per problem."""
        m = self.rows.shape[1]
        doubled = self.doubled if len(open_) == len(self.doubled) else self.doubled[open_]
        weights = doubled * (residuals != 0)
        if self.products is None:
            return np.stack([self._hessian(own) for own in weights])
        return (weights @ self.products.T)[:, self.places].reshape(-1, m, m) + np.eye(m)

    def _hessian(self, weights: Array) -> Array:
        active = np.flatnonzero(weights)
        scaled = np.sqrt(weights[active])[:, None] * self.rows[active]
        return scaled.T @ scaled + np.eye(self.rows.shape[1])


def solutions_of(problems: Problems, found: TogetherSolution, tol: float) -> list[Solution]:
    """Return the solution of each problem, with the α of its rows."""
    solutions, longest = [], float(np.sqrt(np.max(np.sum(problems.rows**2, axis=1), initial=0.0)))
    for b, w in enumerate(found.W):
        signs, costs = problems.signs(b)[0], problems.costs[:, problems.columns[b]]
        alpha = 2 * costs * np.maximum(0.0, 1 - signs * (problems.rows @ w))
        support = np.flatnonzero(alpha)
        v = (signs[support] * alpha[support]) @ problems.rows[support]
        primal, gap = float(found.primal[b]), float(found.gap[b])
        solution = Solution(
            w, support, alpha[support], v, primal, primal - gap * max(1.0, primal), gap, "optimal",
            max(1, found.n_iter), found.n_iter + 1, len(support),
        )  # fmt: skip
        rounding = squared_rounding(solution, longest, Costs.of(costs), len(costs))
        status: Status = "optimal" if gap + rounding <= tol else "stalled"
        solutions.append(replace(solution, rounding=rounding, status=status))
    return solutions
