r"""Softmax regression for rows that are expensive to compute: few passes, with the Hessian of a sample.

Rows are products :math:`x = u \Pi` of raw rows u with a matrix Π. A pass computes scores as :math:`u\, (\Pi W^T)` and
the gradient as :math:`(\sum_i \alpha_i u_i^T)\, \Pi`, so the rows x are never computed. Steps are those of the L-BFGS
method (limited-memory Broyden-Fletcher-Goldfarb-Shanno) with the inverse of the sample's Hessian as the initial guess.
The Hessian of a sample of s rows has a relative error of about :math:`\sqrt{m / s}`, by which factor every step reduces
the error.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_summed, summed
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.conjugate_gradients import Operator, conjugate_gradients
from hyplearn.solvers.softmax.probabilities import chunks, loss_and_sums, probabilities
from hyplearn.solvers.softmax.quasi_newton import quasi_newton
from hyplearn.solvers.softmax.solve import ENOUGH, LENGTHS, SoftmaxSolution, _losses_along_block, solve_softmax
from hyplearn.solvers.solution import Progress, Report, Status
from hyplearn.types import Array

# Tolerance for the sample's solution, far below the gap that its weights have on all rows.
SAMPLE_TOL = 1e-2
# Systems with the sample's Hessian are solved to this relative residual, which is below the sampling error.
FORCING = 0.03
# Number of most recent steps that are stored to correct the Hessian.
REMEMBERED = 10


class Gradient(NamedTuple):
    """Value and gradient of P at W."""

    W: Array
    primal: float
    gradient: Array

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return float(0.5 * np.sum(self.gradient**2)) / max(1.0, self.primal)


def solve_softmax_by_sample(
    source: RowSource,
    projection: Array,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    seed: int = 0,
    report: Report | None = None,
    sample_numbers: int = SAMPLE_NUMBERS,
) -> SoftmaxSolution:
    """Minimise the penalised log-loss of rows ``u projection`` until the relative duality gap is at most ``tol``.

    ``start`` contains starting weights for the sample's solution; ``seed`` is the seed of the sample, which has at most
    ``sample_numbers`` elements. At most ``max_iter`` steps are made, and ``report`` is called after each.
    """
    n = source.shape[0]
    size = min(n, sample_numbers // projection.shape[1])
    raw = source.sample(size, np.random.default_rng(seed))
    assert isinstance(raw, ClassRows)
    sample = ClassRows.of(raw[:] @ projection, raw.codes, raw.costs, raw.n_classes)
    W = solve_softmax(sample, tol=max(tol, SAMPLE_TOL), start=start, seed=seed).W
    factors = _class_factors(sample, W)
    point, n_iter, n_passes, status = _gradient(source, projection, W), 0, 2, "optimal"
    steps: list[tuple[Array, Array]] = []
    while point.gap > tol:
        if n_iter == max_iter:
            status = "max_iter"
            break
        step = -quasi_newton(point.gradient, steps, _sample_inverse(sample, point.W, factors))
        following, passes = _line_search(source, projection, point, step)
        n_iter, n_passes = n_iter + 1, n_passes + passes
        if following is None:
            status = "stalled"
            break
        steps = [*steps, (following.W - point.W, following.gradient - point.gradient)][-REMEMBERED:]
        point = following
        if report is not None:
            report(Progress(n_passes, point.primal, point.primal - point.gap * max(1.0, point.primal), point.gap, n))
    final: Status = status  # type: ignore[assignment]
    empty = partial(np.zeros, (0, 0))
    return SoftmaxSolution(point.W, point.primal, point.gap, final, max(n_iter, 1), n_passes, empty, False)


def _gradient(source: RowSource, projection: Array, W: Array) -> Gradient:
    loss, sums = source.fold(loss_and_sums, columns_summed, W @ projection.T)
    return Gradient(W, float(0.5 * np.sum(W**2) + loss), W - sums @ projection)


def _class_factors(sample: ClassRows, W: Array) -> list[tuple[Array, bool]]:
    """Return the Cholesky factor of the identity plus the Hessian's diagonal block, for each class of the sample."""
    blocks = np.tile(np.eye(W.shape[1]), (len(W), 1, 1))
    for chunk, codes, costs in chunks(sample, sum(W.shape)):
        rows = chunk.rows
        pi, _, _ = probabilities(W @ rows.T, codes)
        for k, share in enumerate(pi):
            blocks[k] += (rows * (costs * share * (1 - share))[:, None]).T @ rows
    return [cho_factor(block, overwrite_a=True) for block in blocks]


def _sample_inverse(sample: ClassRows, W: Array, factors: Sequence[tuple[Array, bool]]) -> Operator:
    """Return a function that solves systems with the sample's Hessian at W, by conjugate gradients."""
    product = _sample_product(sample, W)

    def precondition(residual: Array) -> Array:
        return np.stack([cho_solve(factor, row) for factor, row in zip(factors, residual, strict=True)])

    def solve(right: Array) -> Array:
        return conjugate_gradients(product, precondition, right, FORCING * float(np.linalg.norm(right)))[0]

    return solve


def _sample_product(sample: ClassRows, W: Array) -> Operator:
    """Return a function that multiplies by the identity plus the Hessian of a sample's loss at W."""
    rows = sample[:]
    pi, _, _ = probabilities(W @ rows.T, sample.codes)
    weights = sample.costs * pi

    def product(direction: Array) -> Array:
        slopes = direction @ rows.T
        slopes -= np.sum(pi * slopes, axis=0)
        return direction + (weights * slopes) @ rows

    return product


def _line_search(source: RowSource, projection: Array, point: Gradient, step: Array) -> tuple[Gradient | None, int]:
    """Return the point after the step or a part of it (None if P does not decrease), and the number of passes."""
    following, passes = _gradient(source, projection, point.W + step), 1
    if not following.primal <= point.primal + ENOUGH * float(np.sum(point.gradient * step)):
        raw = point.W @ projection.T, step @ projection.T
        values = source.fold(_losses_along_block, summed, *raw, LENGTHS)
        values += [0.5 * np.sum((point.W + t * step) ** 2) for t in LENGTHS]
        following, passes = _gradient(source, projection, point.W + LENGTHS[np.argmin(values)] * step), 3
    lower = following.primal < point.primal or following.gap < 0.5 * point.gap
    return (following if lower else None), passes
