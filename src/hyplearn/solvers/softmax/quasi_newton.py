r"""Quasi-Newton steps for softmax regression with many weights; most steps take one pass over the rows.

The steps decrease the objective P of :mod:`~hyplearn.solvers.softmax.solve` by the L-BFGS method (limited-memory
Broyden-Fletcher-Goldfarb-Shanno). The initial guess of the inverse Hessian is computed from a sample of the rows, and
recomputed every few steps. If there are few weights, it is the inverse of the sample's full Hessian. If there are more
weights but few columns, only the diagonal blocks of this Hessian, one per class, are inverted. Otherwise the guess is
the inverse of a matrix that contains only the diagonal of this Hessian and, for each class, the entries that couple the
first and the last column.

The inverses of the blocks are multiplied from both sides by :math:`J = I - \tfrac1K 1 1^T`, which subtracts the mean
over the K classes. For a single row x with the probabilities π, the Hessian of the loss is the Kronecker product of
:math:`\operatorname{diag} \pi - \pi \pi^T` and :math:`x x^T`, and the pseudo-inverse of the first factor has J
on both sides as well: :math:`(\operatorname{diag} \pi - \pi \pi^T)^+ = J \operatorname{diag}(1/\pi) J`. J appears
because adding the same vector to the weights of all classes changes no probability. Without J, the guess would ignore
this invariance, and the steps would be too short where classes overlap.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hyplearn.rows import ClassRows, RowSource
from hyplearn.solvers.conjugate_gradients import Operator
from hyplearn.solvers.softmax.probabilities import probabilities
from hyplearn.types import Array

# ROUND is the number of steps after which the initial guess of the inverse Hessian is computed again. REMEMBERED is the
# maximum number of stored steps, with which L-BFGS corrects this guess.
ROUND, REMEMBERED = 10, 20
# These constants determine which part of a sample's Hessian is inverted for the initial guess. With at most
# MATRIX_ENTRIES weights, it is the full Hessian. With 55 classes and ten coordinates, this saves four out of five
# passes, compared with the diagonal blocks. With more weights but at most BLOCK_COLUMNS columns, it is the diagonal
# blocks. With more columns, it is the diagonal, together with the entries that couple the first and the last column. In
# cone coordinates, these two columns (time and intercept) hardly vary and are therefore nearly parallel. Including the
# entries that couple them saves a third of the passes on the synthetic data of Chien, Pan, Tabaghi and Milenkovic
# (2021) with 1000 coordinates, but no passes on normally distributed classes.
MATRIX_ENTRIES, BLOCK_COLUMNS = 1000, 400
# The sample has at most BLOCK_NUMBERS elements if the diagonal blocks of the Hessian are computed from it, and at most
# SAMPLE_NUMBERS elements if the full Hessian or its diagonal is computed. It has at most ROWS_PER_ENTRY rows per
# weight, which limits the time for the full Hessian.
SAMPLE_NUMBERS, BLOCK_NUMBERS, ROWS_PER_ENTRY = 2**20, 2**22, 8
# If the sample has more than BLOCK_ROWS rows, the block of a class is estimated from the rows in which π (1 - π) is at
# least SMALLEST times its largest value, where π is the probability of the class. On data with 56 classes, these are
# 3 % of the rows. If there are many such rows, only every k-th is used, where k is chosen so that at least BLOCK_ROWS
# rows and at least ROWS_PER_COLUMN rows per column remain.
SMALLEST, BLOCK_ROWS, ROWS_PER_COLUMN = 4e-3, 1024, 4
# Number of rows whose terms in the full Hessian are computed at once, which limits the memory use.
STRIP = 256
# ENOUGH is Armijo's constant: a step must achieve this fraction of the decrease that the slope predicts. Near the
# optimum, rounding errors may hide the decrease. A step is therefore also accepted if P increases by at most the
# fraction ROUNDING and the absolute slope at its end is at most FLATTER times that at its start.
ENOUGH, ROUNDING, FLATTER = 1e-4, 1e-13, 0.9
# Bounds of the factor by which a step that is too long is shortened, and maximum number of lengths that are tried.
SHORTEST, LONGEST, MOST_LENGTHS = 0.1, 0.5, 20


class Evaluated(Protocol):
    """Weights W, with the value, the gradient and the relative duality gap of the objective P at W."""

    @property
    def W(self) -> Array: ...  # noqa: N802, D102, named as in the formulas
    @property
    def primal(self) -> float: ...  # noqa: D102
    @property
    def gradient(self) -> Array: ...  # noqa: D102
    @property
    def gap(self) -> float: ...  # noqa: D102


E = TypeVar("E", bound=Evaluated)
Steps = Sequence[tuple[Array, Array]]


class QuasiNewton(ABC):
    """Quasi-Newton method that stores its last steps, each as the change of W and the change of the gradient."""

    round_steps = ROUND
    rescales = True  # whether the guess of the inverse Hessian is scaled to match the last step, as usual in L-BFGS
    keeps_steps = True  # whether stored steps are kept when the guess of the inverse Hessian is computed again

    def __init__(self) -> None:
        self.steps: Steps = []
        self.passes = 0

    @abstractmethod
    def inverse(self, W: Array) -> Operator:
        """Return a function that applies the initial inverse Hessian at W; raise LinAlgError for a singular Hessian."""

    def round(self, evaluate: Callable[[Array], E], point: E, tol: float) -> tuple[E | None, int]:
        """Make a round of steps; return the last point and the number of passes of this round.

        The round ends early if the gap is at most ``tol``, or if P cannot be decreased further. If the round neither
        decreases P nor halves the gap, return None instead of the point.
        """
        passes, first = self.passes, point
        inverse = self.inverse(point.W)
        if not self.keeps_steps:
            self.steps = []
        for _ in range(self.round_steps):
            if point.gap <= tol:
                break
            guess = _scaled(inverse, self.steps[-1]) if self.rescales and self.steps else inverse
            step = -quasi_newton(point.gradient, self.steps, guess)
            following, tried = _line_search(evaluate, point, step)
            self.passes += tried
            if following is None:
                self.steps = []
                break
            self.steps = [*self.steps, (following.W - point.W, following.gradient - point.gradient)][-REMEMBERED:]
            point = following
        lower = point.primal < first.primal or point.gap < 0.5 * first.gap
        return (point if lower else None), self.passes - passes


class SampleHessian(QuasiNewton):
    """Quasi-Newton method whose initial inverse Hessian is the inverse of a sample's Hessian, or of a part of it."""

    def __init__(
        self,
        source: RowSource,
        seed: int,
        *,
        matrix_entries: int = MATRIX_ENTRIES,
        block_columns: int = BLOCK_COLUMNS,
        sample_numbers: int | None = None,
    ) -> None:
        super().__init__()
        entries, d = source.n_classes * source.shape[1], source.shape[1]
        kinds = {"whole": entries <= matrix_entries, "blocks": d <= block_columns}
        self.kind = next((kind for kind, applies in kinds.items() if applies), "diagonal")
        self.keeps_steps = self.kind != "whole"  # steps stored earlier do not improve a new inverse of the full Hessian
        if sample_numbers is None:
            sample_numbers = BLOCK_NUMBERS if self.kind == "blocks" else SAMPLE_NUMBERS
        self.source, self.seed = source, seed
        self.size = max(1, min(sample_numbers // d, ROWS_PER_ENTRY * entries))

    @cached_property
    def sample(self) -> tuple[Array, Array, Array]:
        """Rows, codes and costs of the sample, or of all rows if there are few; read in one pass."""
        self.passes += 1
        is_part = self.source.shape[0] > self.size
        rng = np.random.default_rng(self.seed)
        sample = self.source.sample(self.size, rng) if is_part else self.source.gathered()
        assert isinstance(sample, ClassRows)
        return sample[:], sample.codes, sample.costs

    def inverse(self, W: Array) -> Operator:
        """Return a function that applies the inverse of the sample's Hessian at W, or of a part of this matrix."""
        rows, codes, costs = self.sample
        pi, _, _ = probabilities(W @ rows.T, codes)
        if self.kind == "whole":
            factor = cho_factor(_whole(rows, costs, pi), overwrite_a=True)
            return lambda x: cho_solve(factor, x.ravel()).reshape(x.shape)
        if self.kind == "blocks":
            return block_inverse(rows, costs, pi)
        # The factor K / (K - 1) compensates for the off-diagonal blocks of the Hessian of the loss, which are left out.
        # For two classes, the factor is exact: a gradient sums to zero over the classes, and for every vector with this
        # property, the product with the full Hessian is twice the product with the diagonal blocks.
        weights = len(W) / (len(W) - 1) * costs * pi * (1 - pi)
        return _diagonal_inverse(1 + weights @ rows**2, weights @ (rows[:, 0] * rows[:, -1]))


def block_inverse(rows: Array, costs: Array, pi: Array) -> Operator:
    """Return a function that applies the inverses of the Hessian's diagonal blocks, multiplied by J from both sides.

    The matrix J subtracts the mean over the classes; the module's documentation explains its purpose.
    """
    # The factor K / (K - 1) compensates for the off-diagonal blocks of the Hessian of the loss, which are left out. For
    # two classes, the factor is exact: a gradient sums to zero over the classes, and for every vector with this
    # property, the product with the full Hessian is twice the product with the diagonal blocks.
    factor, identity = len(pi) / (len(pi) - 1), np.eye(rows.shape[1])
    blocks = (identity + _block(rows, factor * costs, own * (1 - own)) for own in pi)
    inverses = np.stack([cho_solve(cho_factor(block), identity) for block in blocks])

    def inverse(x: Array) -> Array:
        out = (inverses @ (x - x.mean(axis=0))[:, :, None])[:, :, 0]
        return np.asarray(out - out.mean(axis=0))

    return inverse


def _block(rows: Array, costs: Array, shares: Array) -> Array:
    """Return the sum of ``cost · share · xxᵀ`` over the rows x.

    If there are many rows, the sum is estimated from the rows with large shares.
    """
    weights = costs * shares
    if len(rows) <= BLOCK_ROWS:
        return _square(rows, weights)
    index = np.flatnonzero(shares >= SMALLEST * shares.max())
    index = index[:: max(1, len(index) // max(BLOCK_ROWS, ROWS_PER_COLUMN * rows.shape[1]))]
    scale = weights.sum() / max(weights[index].sum(), np.finfo(float).tiny)
    return scale * _square(rows[index], weights[index])


def _diagonal_inverse(diagonal: Array, product: Array) -> Operator:
    """Return a function that applies the inverse of one matrix per class.

    Each matrix is diagonal, except for two entries that couple the first and the last column; both are equal to the
    element of ``product`` for the class.
    """
    first, last = diagonal[:, 0], diagonal[:, -1]
    # As the diagonal includes the identity, the determinant for these two columns is at least first + last - 1 by the
    # Cauchy-Schwarz inequality. Rounding errors could make it smaller.
    determinant = np.maximum(first * last - product**2, first + last - 1)

    def inverse(x: Array) -> Array:
        out = x / diagonal
        out[:, 0] = (last * x[:, 0] - product * x[:, -1]) / determinant
        out[:, -1] = (first * x[:, -1] - product * x[:, 0]) / determinant
        return out

    return inverse


def quasi_newton(gradient: Array, steps: Steps, inverse: Operator) -> Array:
    """Multiply the gradient by the initial inverse Hessian, corrected with the stored steps (L-BFGS)."""
    shares, rest = [], gradient
    for step, change in reversed(steps):
        shares.append(np.sum(step * rest) / np.sum(step * change))
        rest = rest - shares[-1] * change
    out = inverse(rest)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        out = out + (share - np.sum(change * out) / np.sum(step * change)) * step
    return out


def _scaled(inverse: Operator, last: tuple[Array, Array]) -> Operator:
    """Scale the initial inverse Hessian to match the change of the gradient in the last step."""
    step, change = last
    scale = np.sum(step * change) / np.sum(change * inverse(change))
    return lambda x: scale * inverse(x)


def _line_search(evaluate: Callable[[Array], E], point: E, step: Array) -> tuple[E | None, int]:
    """Return the point after the step, and the number of passes; shorten the step if P does not decrease enough.

    Return None instead of the point if the slope of P along the step is not negative, or if no tried length of the step
    meets either of the two conditions described at ENOUGH.
    """
    slope, length = float(np.sum(point.gradient * step)), 1.0
    if slope >= 0:  # rounding errors can make P increase along the step
        return None, 0
    for tried in range(1, MOST_LENGTHS + 1):
        following = evaluate(point.W + length * step)
        rise = following.primal - point.primal
        if rise <= ENOUGH * length * slope:
            return following, tried
        flat = abs(np.sum(following.gradient * step)) <= FLATTER * abs(slope)
        if flat and rise <= ROUNDING * abs(point.primal):
            return following, tried
        # Shorten the step to the minimum of the parabola that has the slope of P at the start of the step and the
        # values of P at both ends.
        length *= float(np.clip(-0.5 * length * slope / (rise - length * slope), SHORTEST, LONGEST))
    return None, tried


def _whole(rows: Array, costs: Array, pi: Array) -> Any:
    """Return the full Hessian of P, which is the identity plus ``Σ C (diag π - ππᵀ) ⊗ xxᵀ``."""
    (K, n), d = pi.shape, rows.shape[1]
    hessian = np.zeros((K * d, K * d))
    for start in range(0, n, STRIP):
        cut = slice(start, start + STRIP)
        scaled = (np.sqrt(costs[cut]) * pi[:, cut]).T[:, :, None] * rows[cut, None, :]
        scaled = scaled.reshape(-1, K * d)
        hessian -= scaled.T @ scaled
    for k, own in enumerate(costs * pi):
        block = slice(k * d, (k + 1) * d)
        hessian[block, block] += _square(rows, own)
    hessian[np.diag_indices(K * d)] += 1.0
    return hessian


def _square(rows: Array, weights: Array) -> Array:
    """Return ``Σ weight xxᵀ`` for non-negative weights."""
    scaled = np.sqrt(weights)[:, None] * rows
    return scaled.T @ scaled
