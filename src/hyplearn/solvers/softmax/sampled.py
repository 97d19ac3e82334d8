r"""Softmax regression for rows that are expensive to compute: few passes, with the Hessian of a sample.

Rows are products :math:`x = u \Pi` of raw rows u with a matrix Π. A pass computes scores as :math:`u\, (\Pi W^T)` and
the gradient as :math:`(\sum_i \alpha_i u_i^T)\, \Pi`, so the rows x are never computed. Steps are those of the L-BFGS
method (limited-memory Broyden-Fletcher-Goldfarb-Shanno) with the inverse of the sample's Hessian as the initial guess.
The Hessian of a sample of s rows has a relative error of about :math:`\sqrt{m / s}`, and every step reduces the error
by this factor.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_summed
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.conjugate_gradients import Operator, conjugate_gradients
from hyplearn.solvers.softmax.probabilities import chunks, loss_and_sums, probabilities
from hyplearn.solvers.softmax.quasi_newton import QuasiNewton
from hyplearn.solvers.softmax.solve import SoftmaxSolution, add_blocks, iterate, solve_softmax
from hyplearn.solvers.solution import Report
from hyplearn.types import Array

# Tolerance (relative duality gap) for the solution of the sample. It is far below the gap that the resulting weights
# have on all rows.
SAMPLE_TOL = 1e-2
# Systems with the sample's Hessian are solved to this relative residual, which is below the sampling error.
FORCING = 0.03


class Gradient(NamedTuple):
    """Weights W, with the objective P(W) and its gradient."""

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
    evaluate = partial(_gradient, source, projection)
    step = partial(ProjectedHessian(sample, W).round, evaluate, tol=tol)
    point, status, n_iter, n_passes = iterate(step, evaluate(W), n, 2, tol, max_iter, report)
    empty = partial(np.zeros, (0, 0))
    return SoftmaxSolution(point.W, point.primal, point.gap, status, max(n_iter, 1), n_passes, empty, False)


class ProjectedHessian(QuasiNewton):
    """Quasi-Newton method whose initial guess solves systems with a sample's Hessian, by conjugate gradients.

    The preconditioner consists of the diagonal blocks of the sample's Hessian at the weights ``W``.
    """

    round_steps = 1
    rescales = False  # the sample's Hessian has the right scale, and a further system would have to be solved

    def __init__(self, sample: ClassRows, W: Array) -> None:
        super().__init__()
        self.sample, self.factors = sample, _class_factors(sample, W)

    def inverse(self, W: Array) -> Operator:
        """Return a function that solves systems with the sample's Hessian at W."""
        product = _sample_product(self.sample, W)
        return lambda x: conjugate_gradients(product, self._precondition, x, FORCING * float(np.linalg.norm(x)))[0]

    def _precondition(self, residual: Array) -> Array:
        return np.stack([cho_solve(factor, row) for factor, row in zip(self.factors, residual, strict=True)])


def _gradient(source: RowSource, projection: Array, W: Array) -> Gradient:
    loss, sums = source.fold(loss_and_sums, columns_summed, W @ projection.T)
    return Gradient(W, float(0.5 * np.sum(W**2) + loss), W - sums @ projection)


def _class_factors(sample: ClassRows, W: Array) -> list[tuple[Array, bool]]:
    """Return the Cholesky factor of the identity plus the Hessian's diagonal block, for each class of the sample."""
    blocks = np.tile(np.eye(W.shape[1]), (len(W), 1, 1))
    for chunk, codes, costs in chunks(sample, sum(W.shape)):
        rows = chunk.rows
        pi, _, _ = probabilities(W @ rows.T, codes)
        add_blocks(rows, costs, pi, blocks)
    return [cho_factor(block, overwrite_a=True) for block in blocks]


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
