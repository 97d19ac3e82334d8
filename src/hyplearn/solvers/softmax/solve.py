r"""Softmax regression without intercept, solved by Newton's method until a certificate proves the tolerance.

.. math:: P(W) = \tfrac12 \|W\|^2 + \sum_i C_i \Bigl( \log \sum_k e^{\langle W_k, x_i \rangle}
          - \langle W_{y_i}, x_i \rangle \Bigr), \qquad
          D(\alpha) = \sum_i C_i H(\pi_i) - \tfrac12 \Bigl\| \sum_i \alpha_i x_i^T \Bigr\|^2

with :math:`\alpha_i = C_i (e_{y_i} - \pi_i)`, any probabilities :math:`\pi_i` and their entropy H. With the
probabilities of W itself the gap is :math:`\tfrac12 \|\nabla P(W)\|^2`: the gradient is the certificate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hyplearn.data.folding import columns_summed, summed
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.memory import SAMPLE_NUMBERS, RowChunk
from hyplearn.solvers.conjugate_gradients import Operator, conjugate_gradients
from hyplearn.solvers.softmax.kernels import point_block
from hyplearn.solvers.solution import Progress, Report, Status
from hyplearn.types import Array

# If W has at most this many entries, the Hessian is computed and factorised; otherwise only products with it are
# computed.
FULL_HESSIAN = 300
# With at most this many columns the preconditioner has a diagonal block for each class; with more columns, all
# classes share the mean of these blocks.
BLOCK_COLUMNS = 128
# Number of elements per chunk, so that a chunk stays in the cache, and minimum number of rows per chunk, for
# efficient matrix products.
CHUNK_NUMBERS, FEWEST_ROWS = 2**16, 128
# The starting point is the solution of a sample of at most one row in SAMPLE_RATIO, if it has at least FIRST_ROWS
# rows and at least FIRST_ROWS_PER_ENTRY rows per entry of W.
SAMPLE_RATIO, FIRST_ROWS, FIRST_ROWS_PER_ENTRY = 16, 1000, 8
SAMPLE_TOL = 1e-4
# Conjugate gradients stop when the norm of the residual is this fraction of the gradient norm.
FORCING = 0.2
# The preconditioner comes from a sample with SAMPLED_PER_COLUMN rows per column and at most SAMPLED_NUMBERS elements,
# if there are SAMPLED_RATIO times as many rows. If a step takes more than FEW_PRODUCTS products, the preconditioner is
# recomputed, and later steps use the whole Hessian of the sample; systems with it are solved to a residual of
# SAMPLED_FORCING times the norm of the right-hand side.
SAMPLED_PER_COLUMN, SAMPLED_NUMBERS, SAMPLED_RATIO, FEW_PRODUCTS, SAMPLED_FORCING = 4, 2**20, 3, 10, 0.1
# Armijo's constant: a full step must achieve this fraction of the decrease that the slope predicts. Otherwise the
# step lengths LENGTHS are tried.
ENOUGH = 1e-4
LENGTHS = 0.5 ** np.arange(1, 21)


@dataclass(frozen=True)
class SoftmaxSolution:
    """Weights with a proof of how close they are to the optimum."""

    W: Array  # one row per class; the rows sum to zero
    primal: float  # P(W)
    gap: float  # ½‖∇P‖² / max(1, P)
    status: Status  # "optimal", "max_iter" or "stalled" (limited by rounding)
    n_iter: int  # number of Newton steps
    n_passes: int  # number of passes over all rows
    make_hessian: Callable[[], Array]
    is_full: bool  # whether the hessian is the full matrix, not only diagonal blocks

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the loss at W, or its diagonal blocks, or their mean; computed on first access."""
        return self.make_hessian()

    def evidence(self, C: float) -> float:
        r"""Negative logarithm of the evidence for C, by Laplace's approximation.

        .. math:: \frac{P(W)}{C} + \tfrac12 \log \det (I + H)

        where H is the Hessian of the loss in P, and C the variance of a normal prior of W. If only the diagonal blocks
        of H are known, :math:`\frac{K - 1}{K} \sum_k \log \det (I + \frac{K}{K - 1} H_{kk})` replaces the
        log-determinant, because the rows of W sum to zero; for two classes this is exact.
        """
        K, hessian = len(self.W), self.hessian
        if self.is_full:
            return float(self.primal / C + 0.5 * np.linalg.slogdet(np.eye(len(hessian)) + hessian)[1])
        blocks = hessian if hessian.ndim == 3 else hessian[None]
        log_dets = np.linalg.slogdet(np.eye(blocks.shape[1]) + K / (K - 1) * blocks)[1]
        return float(self.primal / C + 0.5 * (K - 1) * log_dets.mean())


class Point(NamedTuple):
    """Weights W and the sums of a pass at W: the loss ``Σ C log(1/π_y)``, ``V = Σ α xᵀ``, and the hessian of the loss.

    The hessian is the matrix of second derivatives ``Σ C (diag π - ππᵀ) ⊗ xxᵀ`` of shape (Kd, Kd), or, if that
    would be too large, its diagonal blocks, of shape (K, d, d), or their mean, of shape (d, d).
    """

    W: Array
    loss: float
    V: Array
    hessian: Any  # 0 if not computed

    @property
    def primal(self) -> float:
        """Primal objective P(W)."""
        return float(0.5 * np.sum(self.W**2) + self.loss)

    @property
    def is_full(self) -> bool:
        """Whether the hessian is the full matrix, not only diagonal blocks."""
        return np.shape(self.hessian) == (self.W.size, self.W.size)

    @property
    def gradient(self) -> Array:
        """Gradient of P at W."""
        return self.W - self.V

    @property
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
) -> SoftmaxSolution:
    """Minimise the penalised log-loss until the relative duality gap is at most ``tol``.

    ``start`` holds weights to start from, ``seed`` is the seed of samples that give them otherwise. At most
    ``max_iter`` Newton steps are made, and ``report`` is called after each. Up to ``full_hessian`` entries of W the
    Hessian is computed; beyond, only products with it.

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
    if n < d:
        # The solution lies in the span of the rows, so they are rotated into n coordinates.
        rows = cast(ClassRows, source.gathered())
        Q, R = np.linalg.qr(rows[:].T)
        flat = ClassRows.of(R.T, rows.codes, rows.costs, rows.n_classes)
        start = None if start is None else start @ Q
        inner = solve_softmax(flat, tol=tol, start=start, report=report, **options)
        return replace(inner, W=inner.W @ Q.T)
    if start is None:
        start = _start(source, **options)
    full = start.size <= full_hessian
    point = _point(source, start, full=full, second=full)
    preconditioner = None if full else Preconditioner(source, np.random.default_rng(seed))
    n_iter, n_passes = 0, 1
    status: Status = "optimal"
    while point.gap > tol:
        if n_iter == max_iter:
            status = "max_iter"
            break
        following, passes = _newton_step(source, point, tol, preconditioner)
        n_iter, n_passes = n_iter + 1, n_passes + passes
        if following is None:
            status = "stalled"
            break
        point = following
        if report is not None:
            dual = point.primal - point.gap * max(1.0, point.primal)
            report(Progress(n_passes, point.primal, dual, point.gap, n))
    make_hessian = partial(_hessian_at, source, point)
    return SoftmaxSolution(point.W, point.primal, point.gap, status, max(n_iter, 1), n_passes, make_hessian, full)


def _hessian_at(source: RowSource, point: Point) -> Array:
    return point.hessian if point.is_full else _point(source, point.W, full=False).hessian


def _start(source: RowSource, seed: int, **options: Any) -> Array:
    """Return the starting weights: the solution of a sample if there are many rows, otherwise zeros."""
    n, d = source.shape
    entries, size = source.n_classes * d, min(n // SAMPLE_RATIO, SAMPLE_NUMBERS // d)
    if size >= max(FIRST_ROWS, FIRST_ROWS_PER_ENTRY * entries):
        sample = source.sample(size, np.random.default_rng(seed))
        if sample.costs.any():
            return solve_softmax(sample, tol=SAMPLE_TOL, seed=seed, **options).W
    return np.zeros((source.n_classes, d))


def _newton_step(
    source: RowSource, point: Point, tol: float, preconditioner: "Preconditioner | None"
) -> tuple[Point | None, int]:
    """Return the point after a Newton step or a part of it (None if P does not decrease), and the number of passes."""
    gradient, full = point.gradient, preconditioner is None
    try:
        if preconditioner is None:
            factor = cho_factor(np.eye(len(point.hessian)) + point.hessian)
            step, passes = -cho_solve(factor, gradient.ravel()).reshape(gradient.shape), 1
        else:
            step, passes = _conjugate_step(source, point, preconditioner, tol)
    except np.linalg.LinAlgError:  # the rows are so long that the added identity is lost in rounding
        return None, 0
    slope = float(np.sum(gradient * step))
    following = _point(source, point.W + step, full=full, second=full)
    if not following.primal <= point.primal + ENOUGH * slope:
        values = source.fold(_losses_along_block, summed, point.W, step, LENGTHS)
        values += [0.5 * np.sum((point.W + t * step) ** 2) for t in LENGTHS]
        following = _point(source, point.W + LENGTHS[np.argmin(values)] * step, full=full, second=full)
        passes += 2
    lower = following.primal < point.primal or following.gap < 0.5 * point.gap
    return (following if lower else None), passes


class Preconditioner:
    """Preconditioner for Newton's equations: an approximate solver with the Hessian of a sample at an earlier W.

    It uses the identity plus the diagonal blocks, one for each class or one for all. If that takes too many products,
    it uses the whole Hessian of the sample, solved by conjugate gradients with the blocks as preconditioner.
    """

    def __init__(self, source: RowSource, rng: np.random.Generator) -> None:
        n, d = source.shape
        size = max(SAMPLED_PER_COLUMN * d, SAMPLED_NUMBERS // d)
        self.is_part = n >= SAMPLED_RATIO * size
        self.sample = source.sample(size, rng) if self.is_part else source
        self.blocks: Operator | None = None
        self.products: Operator | None = None
        self.sampled = False

    def renew(self, W: Array) -> None:
        """Recompute the preconditioner from the Hessian at W."""
        K, hessian = len(W), _point(self.sample, W, full=False).hessian
        # The factor K / (K - 1) makes the blocks exact for two classes, because gradients sum to zero over the classes.
        hessian = np.eye(W.shape[1]) + K / (K - 1) * hessian
        if hessian.ndim == 2:
            factor = cho_factor(hessian, overwrite_a=True)
            self.blocks = lambda residual: cho_solve(factor, residual.T).T
        else:
            np.linalg.cholesky(hessian)  # raises if the added identity is lost in rounding
            inverses = np.linalg.inv(hessian)
            self.blocks = lambda residual: (inverses @ residual[:, :, None])[:, :, 0]
        self.products = _sample_product(cast(ClassRows, self.sample), W) if self.sampled else None

    def __call__(self, residual: Array) -> Array:
        """Solve Newton's equations approximately, with ``residual`` as the right-hand side."""
        assert self.blocks is not None
        if self.products is None:
            return self.blocks(residual)
        due = SAMPLED_FORCING * float(np.linalg.norm(residual))
        return conjugate_gradients(self.products, self.blocks, residual, due)[0]


def _conjugate_step(
    source: RowSource, point: Point, preconditioner: Preconditioner, tol: float, forcing: float = FORCING
) -> tuple[Array, int]:
    """Inexact Newton step by conjugate gradients, with one pass per product with the Hessian."""

    def product(direction: Array) -> Array:
        return direction + source.fold(_product_block, summed, point.W, direction)

    if preconditioner.blocks is None:
        preconditioner.renew(point.W)
    target = float(max(forcing * np.linalg.norm(point.gradient), np.sqrt(0.5 * tol * max(1.0, point.primal))))
    step, products = conjugate_gradients(product, preconditioner, -point.gradient, target)
    if products > FEW_PRODUCTS:  # the new preconditioner is used from the next step on
        preconditioner.sampled = preconditioner.is_part
        preconditioner.renew(point.W)
    return step, products + 1


def _sample_product(sample: ClassRows, W: Array) -> Operator:
    """Return a function that multiplies by the identity plus the Hessian of a sample's loss at W."""
    rows = sample[:]
    pi, _, _ = _probabilities(W @ rows.T, sample.codes)
    weights = sample.costs * pi

    def product(direction: Array) -> Array:
        slopes = direction @ rows.T
        slopes -= np.sum(pi * slopes, axis=0)
        return direction + (weights * slopes) @ rows

    return product


def _point(source: RowSource, W: Array, *, full: bool = True, second: bool = True) -> Point:
    return Point(W, *source.fold(_point_block, columns_summed, W, full, second))


def _point_block(block: ClassRows, W: Array, full: bool, second: bool) -> tuple[float, Array, Any]:
    """Return the loss, V and the hessian of a block of rows; the hessian is 0 unless ``second`` is true."""
    K, d = W.shape
    by_class = d <= BLOCK_COLUMNS
    loss, V = 0.0, np.zeros_like(W)
    hessian: Any = 0.0
    if second:
        hessian = np.zeros((W.size, W.size) if full else (K, d, d) if by_class else (d, d))
    if full:
        # One dtype and one memory layout, because kernels are compiled again for every other one.
        X, W = np.ascontiguousarray(block.X, dtype=np.float64), np.ascontiguousarray(W)
        numbers = block.along, block.base, block.times, float(block.inverse_root)
        codes = block.codes.astype(np.int64, copy=False)
        loss = point_block(X, block.p, *numbers, codes, block.costs, W, V, hessian)
        return loss, V, hessian
    for chunk, codes, costs in _chunks(block, K + d):
        pi, own, rest = _probabilities(chunk.scores(W), codes)
        loss += float(costs @ np.log1p(rest + np.expm1(own)) - costs @ own)
        if second:
            _add_blocks(chunk.rows, costs, pi, hessian)
        # 1 - π_y is computed as the sum of the other probabilities, without cancellation.
        pi[codes, np.arange(len(codes))] = -rest / (rest + np.exp(own))
        V -= chunk.sums(costs * pi)
    return loss, V, hessian


def _add_blocks(rows: Array, costs: Array, pi: Array, hessian: Array) -> None:
    """Add the terms of some rows to the diagonal blocks of the Hessian, or to their mean."""
    if hessian.ndim == 2:
        scaled = np.sqrt(costs * (1 - np.sum(pi**2, axis=0)) / len(pi))[:, None] * rows
        hessian += scaled.T @ scaled
        return
    for block, share in zip(hessian, pi, strict=True):
        scaled = np.sqrt(costs * share * (1 - share))[:, None] * rows
        block += scaled.T @ scaled


def _probabilities(scores: Array, codes: Array) -> tuple[Array, Array, Array]:
    """Return the softmax of scores of shape (K, n), computed in place, and two arrays from which the loss is computed.

    ``own`` is the score of each row's class minus the row's highest score; ``rest`` is the sum of
    ``exp(score - highest score)`` over the other classes. The loss is ``log1p(rest + expm1(own)) - own``,
    which is accurate even if it is tiny.
    """
    columns = np.arange(len(codes))
    scores -= scores.max(axis=0)
    own = scores[codes, columns]
    np.exp(scores, out=scores)
    scores[codes, columns] = 0.0
    rest = scores.sum(axis=0)
    scores[codes, columns] = np.exp(own)
    scores /= rest + scores[codes, columns]
    return scores, own, rest


def _product_block(block: ClassRows, W: Array, direction: Array) -> Array:
    """Return the product of the Hessian of a block's loss with a direction."""
    out, both = np.zeros_like(W), np.concatenate([W, direction])
    for chunk, codes, costs in _chunks(block, sum(W.shape)):
        scores, slopes = np.split(chunk.scores(both), 2)
        pi, _, _ = _probabilities(scores, codes)
        slopes -= np.sum(pi * slopes, axis=0)
        out += chunk.sums(costs * pi * slopes)
    return out


def _losses_along_block(block: ClassRows, W: Array, step: Array, lengths: Array) -> Array:
    """Return the loss of a block at each length of a step."""
    out = np.zeros(len(lengths))
    for chunk, codes, costs in _chunks(block, sum(W.shape)):
        scores, slopes = chunk.scores(W), chunk.scores(step)
        for k, t in enumerate(lengths):
            _, own, rest = _probabilities(scores + t * slopes, codes)
            out[k] += costs @ (np.log1p(rest + np.expm1(own)) - own)
    return out


def _chunks(block: ClassRows, width: int) -> Iterator[tuple[RowChunk, Array, Array]]:
    """Yield chunks of rows with codes and costs, small enough for the cache with ``width`` elements per row."""
    length = max(FEWEST_ROWS, CHUNK_NUMBERS // width)
    for start in range(0, len(block.X), length):
        cut = slice(start, start + length)
        yield block.chunk(cut), block.codes[cut], block.costs[cut]
