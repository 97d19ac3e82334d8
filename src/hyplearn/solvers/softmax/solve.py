r"""Softmax regression without intercept, solved by Newton's method or a quasi-Newton method, with a certificate.

.. math:: P(W) = \tfrac12 \|W\|^2 + \sum_i C_i \Bigl( \log \sum_k e^{\langle W_k, x_i \rangle}
          - \langle W_{y_i}, x_i \rangle \Bigr), \qquad
          D(\alpha) = \sum_i C_i H(\pi_i) - \tfrac12 \Bigl\| \sum_i \alpha_i x_i^T \Bigr\|^2

Here :math:`x_i` is a row with class :math:`y_i` and cost :math:`C_i`, and :math:`W_k` is row k of W. For any
probabilities :math:`\pi_i` with the entropy :math:`H(\pi_i)`, and for :math:`\alpha_i = C_i (e_{y_i} - \pi_i)` with
the unit vectors :math:`e_k`, D is a lower bound of the minimum of P. With the probabilities that W predicts, the gap
P - D is :math:`\tfrac12 \|\nabla P(W)\|^2`, so that the gradient is the certificate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_summed, summed
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS
from hyplearn.solvers.softmax.kernels import completed, point_block
from hyplearn.solvers.softmax.probabilities import chunks, loss_and_sums, probabilities
from hyplearn.solvers.softmax.quasi_newton import E, SampleHessian
from hyplearn.solvers.solution import Progress, Report, Status
from hyplearn.types import Array

# If W has at most this many entries, the Hessian is computed and factorised in every step; otherwise a quasi-Newton
# method is used.
FULL_HESSIAN = 300
# A solution of the quasi-Newton method contains the diagonal blocks of the Hessian if there are at most this many
# columns, and otherwise only the mean of the blocks.
BLOCK_COLUMNS = 128
# The starting point is the solution for a sample of at most 1 / SAMPLE_RATIO of the rows, if this sample has at least
# FIRST_ROWS rows and at least FIRST_ROWS_PER_ENTRY rows per entry of W.
SAMPLE_RATIO, FIRST_ROWS, FIRST_ROWS_PER_ENTRY = 16, 1000, 8
SAMPLE_TOL = 1e-4
# Armijo's constant: a full step must achieve this fraction of the decrease that the slope predicts. Otherwise the
# step lengths LENGTHS are tried.
ENOUGH = 1e-4
LENGTHS = 0.5 ** np.arange(1, 21)


@dataclass(frozen=True)
class SoftmaxSolution:
    """Weights with a proof of how close they are to the optimum."""

    W: Array  # one row per class; the rows sum to zero at the optimum
    primal: float  # P(W)
    gap: float  # relative duality gap, ½‖∇P‖² / max(1, P)
    status: Status  # "optimal", "max_iter" or "stalled" (limited by rounding)
    n_iter: int  # number of Newton steps, or of rounds of quasi-Newton steps
    n_passes: int  # number of passes over all rows, including those that only draw a sample
    make_hessian: Callable[[], Array]
    is_full: bool  # whether ``hessian`` is the full matrix, not only its diagonal blocks or their mean

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the loss at W, or its diagonal blocks, or their mean; computed on first access.

        If there are fewer rows than columns, the derivatives are not taken with respect to W, but with respect to its
        coordinates in an orthonormal basis of the span of the rows. Solutions of
        :func:`~hyplearn.solvers.softmax.sampled.solve_softmax_by_sample` have an empty Hessian.
        """
        return self.make_hessian()

    def evidence(self, C: float) -> float:
        r"""Return the negative logarithm of the evidence for C, by Laplace's approximation.

        The evidence is the probability of the labels if W is drawn from a normal prior with variance C. The result is

        .. math:: \frac{P(W)}{C} + \tfrac12 \log \det (I + H)

        where H is the Hessian of the loss in P. If only the diagonal blocks of H are known,
        :math:`\frac{K - 1}{K} \sum_k \log \det (I + \frac{K}{K - 1} H_{kk})` replaces the log-determinant, because the
        rows of W sum to zero; for two classes this is exact. If only the mean of the blocks is known, the mean replaces
        every :math:`H_{kk}`.
        """
        K, hessian = len(self.W), self.hessian
        if self.is_full:
            return float(self.primal / C + 0.5 * np.linalg.slogdet(np.eye(len(hessian)) + hessian)[1])
        blocks = hessian if hessian.ndim == 3 else hessian[None]
        log_dets = np.linalg.slogdet(np.eye(blocks.shape[1]) + K / (K - 1) * blocks)[1]
        return float(self.primal / C + 0.5 * (K - 1) * log_dets.mean())


@dataclass(frozen=True, eq=False)
class Point:
    """Weights W and the sums of a pass at W: the loss ``Σ C log(1/π_y)``, ``V = Σ α xᵀ``, and the Hessian of the loss.

    For K classes and d columns, ``hessian`` is the matrix of second derivatives ``Σ C (diag π - ππᵀ) ⊗ xxᵀ`` of shape
    (Kd, Kd), or, if that would be too large, its diagonal blocks, of shape (K, d, d), or their mean, of shape (d, d).
    """

    W: Array
    loss: float
    V: Array
    hessian: Any  # second derivatives of the loss; 0 if they were not computed

    @cached_property
    def primal(self) -> float:
        """Primal objective P(W)."""
        return float(0.5 * np.sum(self.W**2) + self.loss)

    @property
    def is_full(self) -> bool:
        """Whether ``hessian`` is the full matrix, not only its diagonal blocks or their mean."""
        return np.shape(self.hessian) == (self.W.size, self.W.size)

    @cached_property
    def gradient(self) -> Array:
        """Gradient of P at W."""
        return self.W - self.V

    @cached_property
    def gap(self) -> float:
        """Relative duality gap."""
        return float(0.5 * np.sum(self.gradient**2)) / max(1.0, self.primal)


def solve_softmax(
    source: RowSource,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    seed: int = 0,
    report: Report | None = None,
    full_hessian: int = FULL_HESSIAN,
    block_columns: int = BLOCK_COLUMNS,
) -> SoftmaxSolution:
    """Minimise the penalised log-loss until the relative duality gap is at most ``tol``.

    ``start`` contains starting weights, and ``seed`` is the seed of the samples. At most ``max_iter`` Newton steps are
    made, and ``report`` is called after each. If W has more than ``full_hessian`` entries, at most ``max_iter`` rounds
    of quasi-Newton steps are made instead; most of these steps take one pass. The solution then has only the diagonal
    blocks of the Hessian, or their mean if there are more than ``block_columns`` columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.rows import ClassRows
    >>> from hyplearn.solvers.softmax.solve import solve_softmax
    >>> rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> solution = solve_softmax(ClassRows.of(rows, np.array([0, 1, 2]), np.full(3, 10.0), 3))
    >>> print(solution.status, (rows @ solution.W.T).argmax(axis=1))
    optimal [0 1 2]
    """
    n, d = source.shape
    options: dict[str, Any] = {"max_iter": max_iter, "seed": seed, "full_hessian": full_hessian}
    options["block_columns"] = block_columns
    if n < d:
        # The solution lies in the span of the rows, so the rows are replaced by their n coordinates in an orthonormal
        # basis.
        rows = cast(ClassRows, source.gathered())
        Q, R = np.linalg.qr(rows[:].T)
        flat = ClassRows.of(R.T, rows.codes, rows.costs, rows.n_classes)
        start = None if start is None else start @ Q
        inner = solve_softmax(flat, tol=tol, start=start, report=report, **options)
        return replace(inner, W=inner.W @ Q.T, n_passes=inner.n_passes + 1)
    n_passes = 1
    if start is None:
        start, n_drawn = _start(source, **options)
        n_passes += n_drawn
    full = start.size <= full_hessian
    point = _point(source, start, full=full, second=full)
    step = partial(_newton_step, source) if full else _rounds(source, seed, tol)
    point, status, n_iter, n_passes = iterate(step, point, n, n_passes, tol, max_iter, report)
    make_hessian = partial(_hessian_at, source, point, block_columns)
    return SoftmaxSolution(point.W, point.primal, point.gap, status, max(n_iter, 1), n_passes, make_hessian, full)


def iterate(
    step: Callable[[E], tuple[E | None, int]],
    point: E,
    n: int,
    n_passes: int,
    tol: float,
    max_iter: int,
    report: Report | None,
) -> tuple[E, Status, int, int]:
    """Repeat ``step`` until the gap is at most ``tol``; return the last point, the status and two counts.

    At most ``max_iter`` steps are made. If ``step`` returns None instead of a point, or raises LinAlgError, the status
    is "stalled". The counts are the numbers of steps and of passes over the rows. ``n`` is the number of rows, and
    ``n_passes`` the number of passes before the first step.
    """
    n_iter = 0
    while point.gap > tol:
        if n_iter == max_iter:
            return point, "max_iter", n_iter, n_passes
        try:
            following, passes = step(point)
        except np.linalg.LinAlgError:  # row norms are so large that rounding hides the identity in the Hessian of P
            following, passes = None, 0
        n_iter, n_passes = n_iter + 1, n_passes + passes
        if following is None:
            return point, "stalled", n_iter, n_passes
        point = following
        if report is not None:
            dual = point.primal - point.gap * max(1.0, point.primal)
            report(Progress(n_passes, point.primal, dual, point.gap, n))
    return point, "optimal", n_iter, n_passes


def _rounds(source: RowSource, seed: int, tol: float) -> Callable[[Point], tuple[Point | None, int]]:
    """Return a function that makes one round of quasi-Newton steps, from a point to the next point."""
    evaluate = partial(_point, source, full=False, second=False)
    return partial(SampleHessian(source, seed).round, evaluate, tol=tol)


def _hessian_at(source: RowSource, point: Point, block_columns: int) -> Array:
    if point.is_full:
        return point.hessian
    return _point(source, point.W, full=False, block_columns=block_columns).hessian


def _start(source: RowSource, seed: int, **options: Any) -> tuple[Array, int]:
    """Return the starting weights, and the number of passes that were needed.

    The weights are the solution for a sample if there are many rows, and zeros otherwise.
    """
    n, d = source.shape
    W = np.zeros((source.n_classes, d))
    size = min(n // SAMPLE_RATIO, SAMPLE_NUMBERS // d)
    if size < max(FIRST_ROWS, FIRST_ROWS_PER_ENTRY * W.size):
        return W, 0
    sample = source.sample(size, np.random.default_rng(seed))
    return solve_softmax(sample, tol=SAMPLE_TOL, seed=seed, **options).W if sample.costs.any() else W, 1


def _newton_step(source: RowSource, point: Point) -> tuple[Point | None, int]:
    """Return the point after a Newton step, and the number of passes; shorten the step if P does not decrease enough.

    If the step neither decreases P nor halves the gap, return None instead of the point.
    """
    gradient = point.gradient
    factor = cho_factor(np.eye(len(point.hessian)) + point.hessian)
    step, passes = -cho_solve(factor, gradient.ravel()).reshape(gradient.shape), 1
    slope = float(np.sum(gradient * step))
    following = _point(source, point.W + step)
    if not following.primal <= point.primal + ENOUGH * slope:
        values = source.fold(_losses_along_block, summed, point.W, step, LENGTHS)
        values += [0.5 * np.sum((point.W + t * step) ** 2) for t in LENGTHS]
        following = _point(source, point.W + LENGTHS[np.argmin(values)] * step)
        passes += 2
    lower = following.primal < point.primal or following.gap < 0.5 * point.gap
    return (following if lower else None), passes


def _point(
    source: RowSource, W: Array, *, full: bool = True, second: bool = True, block_columns: int = BLOCK_COLUMNS
) -> Point:
    by_class = W.shape[1] <= block_columns
    loss, V, hessian = source.fold(_point_block, columns_summed, W, full, second, by_class)
    return Point(W, loss, V, completed(hessian, len(W)) if full and second else hessian)


def _point_block(block: ClassRows, W: Array, full: bool, second: bool, by_class: bool) -> tuple[float, Array, Any]:
    """Return the loss, ``V = Σ α xᵀ`` and the Hessian of a block of rows; the Hessian is 0 unless ``second`` is True.

    If ``full`` is True, the Hessian consists of those entries of the full matrix from which ``completed`` computes the
    others. Otherwise, it consists of the diagonal blocks if ``by_class`` is True, and of their mean if not.
    """
    K, d = W.shape
    loss, V = 0.0, np.zeros_like(W)
    hessian: Any = 0.0
    if second:
        hessian = np.zeros((W.size, W.size) if full else (K, d, d) if by_class else (d, d))
    if full:
        # Convert to one dtype and one memory layout, because kernels are compiled again for every other combination.
        X, W = np.ascontiguousarray(block.X, dtype=np.float64), np.ascontiguousarray(W)
        numbers = block.along, block.base, block.times, float(block.inverse_root)
        codes = block.codes.astype(np.int64, copy=False)
        loss = point_block(X, block.p, *numbers, codes, block.costs, W, V, hessian)
        return loss, V, hessian
    loss, V = loss_and_sums(block, W)
    if second:
        for chunk, codes, costs in chunks(block, K + d):
            rows = chunk.rows
            _add_blocks(rows, costs, probabilities(W @ rows.T, codes)[0], hessian)
    return loss, V, hessian


def _add_blocks(rows: Array, costs: Array, pi: Array, hessian: Array) -> None:
    """Add the contribution of a batch of rows to the diagonal blocks of the Hessian.

    If ``hessian`` is a single block, add their contribution to the mean of the diagonal blocks instead.
    """
    if hessian.ndim == 2:
        scaled = np.sqrt(costs * (1 - np.sum(pi**2, axis=0)) / len(pi))[:, None] * rows
        hessian += scaled.T @ scaled
        return
    for block, share in zip(hessian, pi, strict=True):
        scaled = np.sqrt(costs * share * (1 - share))[:, None] * rows
        block += scaled.T @ scaled


def _losses_along_block(block: ClassRows, W: Array, step: Array, lengths: Array) -> Array:
    """Return the loss of a block at ``W + t · step`` for each t in ``lengths``."""
    out = np.zeros(len(lengths))
    for chunk, codes, costs in chunks(block, sum(W.shape)):
        scores, slopes = chunk.scores(W), chunk.scores(step)
        for k, t in enumerate(lengths):
            _, own, rest = probabilities(scores + t * slopes, codes)
            out[k] += costs @ (np.log1p(rest + np.expm1(own)) - own)
    return out
