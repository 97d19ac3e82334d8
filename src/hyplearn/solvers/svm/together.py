r"""Solver for many small squared-hinge problems that share their rows and differ in labels and costs.

Uses Newton's method as in :mod:`~hyplearn.solvers.svm.squared_hinge` on all unsolved problems at once: their margins,
gradients and Hessians take a few matrix products. K classes and their folds thus need one call instead of hundreds, and
no compiled code.
"""

from dataclasses import dataclass, replace

import numpy as np

from hyplearn.rows import Costs
from hyplearn.solvers.solution import Solution, Status
from hyplearn.solvers.svm.proof import squared_rounding
from hyplearn.types import Array

# Armijo's constant: a step must achieve the fraction ENOUGH of the predicted decrease; otherwise it is halved, at most
# HALVINGS times.
ENOUGH, HALVINGS = 1e-4, 30
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
    def of_folds(cls, rows: Array, codes: Array, positives: Array, costs: Array) -> "Problems":
        """Create one problem for every pair of a fold (a column of ``costs``) and a positive class."""
        n_folds = costs.shape[1]
        columns = np.repeat(np.arange(n_folds), len(positives))
        return cls(rows, codes, np.tile(positives, n_folds), costs, columns)

    def signs(self, problems: slice | int) -> Array:
        """Return the labels ±1 of all rows in the given problems, one column per problem."""
        return np.where(self.codes[:, None] == np.atleast_1d(self.positives[problems]), 1.0, -1.0)


def solve_together(
    problems: Problems, *, tol: float, max_iter: int = 100, start: Array | None = None
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
    products = column_products(problems.rows) if m * (m + 1) // 2 <= MOST_PRODUCTS else None
    step = max(1, GROUP_NUMBERS // max(1, n))
    for first in range(0, B, step):
        cut = slice(first, first + step)
        costs = problems.costs[:, problems.columns[cut]]
        group = _Group(problems.rows, products, problems.signs(cut), costs, W[cut])
        n_iter = max(n_iter, group.solve(tol, max_iter))
        W[cut], primal[cut], gap[cut] = group.W, group.primal, group.gap
    return TogetherSolution(W, primal, gap, n_iter)


def column_products(rows: Array) -> Array:
    """Return the elementwise products of all pairs of columns, of shape (n, m (m + 1) / 2)."""
    i, j = np.triu_indices(rows.shape[1])
    return rows[:, i] * rows[:, j]


class _Group:
    """Group of problems whose Newton steps are computed together; solved problems take no further steps."""

    def __init__(self, rows: Array, products: Array | None, signs: Array, costs: Array, W: Array) -> None:
        self.rows, self.products = rows, products
        self.signs, self.costs = np.asarray(signs, order="F"), np.asarray(costs, order="F")
        self.W, self.primal, self.gap = W.copy(), np.empty(len(W)), np.full(len(W), np.inf)

    def solve(self, tol: float, max_iter: int) -> int:
        """Take steps until every problem is solved or makes no more progress; return the number of steps."""
        open_, ends = np.arange(len(self.W)), np.zeros(len(self.W), dtype=bool)
        slack, primal = self._at(self.W, open_)
        self.primal[:] = primal
        for n_iter in range(max_iter + 1):
            alpha = 2 * self.costs[:, open_] * slack
            gradient = self.W[open_] - (self.signs[:, open_] * alpha).T @ self.rows
            self.gap[open_] = 0.5 * np.sum(gradient**2, axis=1) / np.maximum(1.0, primal)
            # A solved problem takes one more step, which squares the error: the result does not depend on the start.
            left, ends[open_] = ~ends[open_], self.gap[open_] <= tol
            if not left.any() or n_iter == max_iter:
                break
            open_, slack, primal, gradient = open_[left], slack[:, left], primal[left], gradient[left]
            W, slack, following = self._step(open_, slack, primal, gradient)
            lower = following < primal
            if not lower.all():  # problems limited by rounding keep their weights
                W, open_, slack, following = W[lower], open_[lower], slack[:, lower], following[lower]
                if not lower.any():
                    break
            self.W[open_], self.primal[open_], primal = W, following, following
        return n_iter

    def _at(self, W: Array, open_: Array) -> tuple[Array, Array]:
        """Return the slacks and P of the unsolved problems at the given weights."""
        slack = self.rows @ W.T
        slack *= self.signs[:, open_]
        np.subtract(1.0, slack, out=slack)
        np.maximum(slack, 0.0, out=slack)
        return slack, 0.5 * np.sum(W**2, axis=1) + np.einsum("ib,ib,ib->b", self.costs[:, open_], slack, slack)

    def _step(self, open_: Array, slack: Array, primal: Array, gradient: Array) -> tuple[Array, Array, Array]:
        """Return weights, slacks and P after a Newton step, which is halved until P decreases enough."""
        step = -np.linalg.solve(self._hessians(open_, slack), gradient[:, :, None])[:, :, 0]
        slope, t = np.sum(gradient * step, axis=1), np.ones(len(open_))
        here = self.W[open_]
        W = here + step
        slack, following = self._at(W, open_)
        for _ in range(HALVINGS):
            far = np.flatnonzero(following > primal + ENOUGH * t * slope)
            if not far.size:
                break
            t[far] /= 2
            W[far] = here[far] + t[far, None] * step[far]
            slack[:, far], following[far] = self._at(W[far], open_[far])
        return W, slack, following

    def _hessians(self, open_: Array, slack: Array) -> Array:
        """Return the Hessians of the unsolved problems, one matrix of shape (m, m) per problem."""
        m = self.rows.shape[1]
        weights = np.where(slack > 0, 2 * self.costs[:, open_], 0.0)
        if self.products is None:
            return np.stack([self._hessian(column) for column in weights.T])
        hessians, (i, j) = np.empty((len(open_), m, m)), np.triu_indices(m)
        hessians[:, i, j] = hessians[:, j, i] = weights.T @ self.products
        hessians[:, np.arange(m), np.arange(m)] += 1.0
        return hessians

    def _hessian(self, weights: Array) -> Array:
        active = np.flatnonzero(weights)
        scaled = np.sqrt(weights[active])[:, None] * self.rows[active]
        return scaled.T @ scaled + np.eye(self.rows.shape[1])


def solutions_of(problems: Problems, found: TogetherSolution, tol: float) -> list[Solution]:
    """Return the solution of each problem, with the α of its rows."""
    solutions, longest = [], float(np.sqrt(np.max(np.sum(problems.rows**2, axis=1), initial=0.0)))
    for b, w in enumerate(found.W):
        signs, costs = problems.signs(b)[:, 0], problems.costs[:, problems.columns[b]]
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
