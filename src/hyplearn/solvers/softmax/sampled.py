r"""Softmax regression in few passes, for rows that are expensive to compute.

Rows are products :math:`x = u \Pi` of raw rows u with a matrix Π. A pass computes the scores as
:math:`u\, (\Pi W^T)` and the gradient of the loss as :math:`-(\sum_i \alpha_i u_i)\, \Pi`, with the column vectors
:math:`\alpha_i` of :mod:`~hyplearn.solvers.softmax.solve`. The rows x are therefore computed only for a sample. The
steps are those of the L-BFGS method (limited-memory Broyden-Fletcher-Goldfarb-Shanno), and the initial guess of the
inverse Hessian is the inverse of the sample's Hessian. For a random sample of s rows with m columns, this Hessian has a
relative error of about :math:`\sqrt{m / s}`. Every step multiplies the error of W by about this number. The number is
smaller if the sample represents all rows more evenly than a random sample. The first steps are made on a larger sample
of raw rows.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from hyplearn.data.folding import columns_summed
from hyplearn.rows import ClassRows, RowSource
from hyplearn.solvers.conjugate_gradients import Operator, conjugate_gradients
from hyplearn.solvers.softmax.probabilities import loss_and_sums, probabilities
from hyplearn.solvers.softmax.quasi_newton import QuasiNewton, block_inverse
from hyplearn.solvers.softmax.solve import SoftmaxSolution, iterate, solve_softmax
from hyplearn.solvers.solution import Report
from hyplearn.types import Array

# Smallest tolerance (relative duality gap) to which the samples are solved. The gap of the resulting weights on all
# rows is larger, so solving the samples more precisely would hardly save steps on all rows.
SAMPLE_TOL = 1e-3
# Systems with the sample's Hessian are solved to this relative residual, which is below the sampling error.
FORCING = 0.03


class Gradient(NamedTuple):
    """Weights W, with the objective P(W) of :mod:`~hyplearn.solvers.softmax.solve` and its gradient."""

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
    sample: ClassRows,
    larger: RowSource,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    report: Report | None = None,
) -> SoftmaxSolution:
    """Minimise the penalised log-loss of rows ``u @ projection`` until the relative duality gap is at most ``tol``.

    ``source`` contains all raw rows u. ``sample`` contains rows x that represent all rows: their costs sum to the total
    cost of all rows. ``larger`` contains raw rows u of a larger sample that also represents all rows. ``start``
    contains the weights at which the solver starts on the sample. At most ``max_iter`` steps are made on the larger
    sample, and at most as many on all rows; ``report`` is called after each step on all rows. The solution does not
    contain the Hessian.
    """
    first_tol, method = max(tol, SAMPLE_TOL), ProjectedHessian(sample)
    W = solve_softmax(sample, tol=first_tol, start=start).W
    evaluate = partial(_gradient, larger, projection)
    step = partial(method.round, evaluate, tol=first_tol)
    W = iterate(step, evaluate(W), larger.shape[0], 1, first_tol, max_iter, None)[0].W
    evaluate = partial(_gradient, source, projection)
    step = partial(method.round, evaluate, tol=tol)
    point, status, n_iter, n_passes = iterate(step, evaluate(W), source.shape[0], 1, tol, max_iter, report)
    empty = partial(np.zeros, (0, 0))
    return SoftmaxSolution(point.W, point.primal, point.gap, status, max(n_iter, 1), n_passes, empty, False)


class ProjectedHessian(QuasiNewton):
    """Quasi-Newton method whose initial inverse Hessian is that of a sample, applied by conjugate gradients.

    The preconditioner consists of the inverses of the diagonal blocks of the sample's Hessian at the weights at which
    the method starts.
    """

    round_steps = 1
    rescales = False  # the sample's Hessian has the right scale; rescaling would require solving one more system

    def __init__(self, sample: ClassRows) -> None:
        super().__init__()
        self.rows, self.costs, self.codes = sample[:], sample.costs, sample.codes
        self.precondition: Operator | None = None

    def inverse(self, W: Array) -> Operator:
        """Return a function that solves linear systems with the sample's Hessian at W."""
        rows, costs = self.rows, self.costs
        pi, _, _ = probabilities(W @ rows.T, self.codes)
        weights, precondition = costs * pi, self.precondition or block_inverse(rows, costs, pi)
        self.precondition = precondition

        def product(direction: Array) -> Array:
            slopes = direction @ rows.T
            slopes -= np.sum(pi * slopes, axis=0)
            return np.asarray(direction + (weights * slopes) @ rows)

        return lambda x: conjugate_gradients(product, precondition, x, FORCING * float(np.linalg.norm(x)))[0]


def _gradient(source: RowSource, projection: Array, W: Array) -> Gradient:
    loss, sums = source.fold(loss_and_sums, columns_summed, W @ projection.T)
    return Gradient(W, float(0.5 * np.sum(W**2) + loss), W - sums @ projection)
