r"""Platt scaling: a sigmoid that maps scores to probabilities of the positive class.

.. math:: P(+ \mid s) = \frac{1}{1 + e^{-(a s + b)}}, \qquad
          \min_{a, b} \sum_i w_i \bigl( \log(1 + e^{a s_i + b}) - t_i (a s_i + b) \bigr)

where :math:`s_i` are scores and :math:`w_i` weights. The target :math:`t_i` is :math:`(W_+ + 1) / (W_+ + 2)` for rows
of the positive class, whose total weight is :math:`W_+`, and :math:`1 / (W_- + 2)` for all other rows, whose total
weight is :math:`W_-`. With these targets, instead of 1 and 0, the slope stays finite for separable scores. The sigmoid
is fitted by Newton's method, with formulas that do not overflow (Lin, Lin and Weng, "A note on Platt's probabilistic
outputs for support vector machines", 2007).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.numerics import exp, log1p
from hyplearn.types import Array

# MAX_STEPS is the maximum number of steps that are tried, each with one evaluation of the loss. Most sigmoids need
# seven. SHORTEST_STEP is the minimum length of a step, as a fraction of Newton's step.
MAX_STEPS, SHORTEST_STEP = 100, 1e-10
# Newton's method stops when the predicted decrease of the mean loss is at most TOL, because rounding errors then
# dominate.
TOL = 1e-14
# If there are at least twice this many scores per sigmoid, the sigmoids are first fitted to a subsample of at least
# this many scores.
SAMPLE = 20_000
# Armijo's constant: a step must achieve this fraction of the decrease that the loss's slope along the step predicts.
ENOUGH = 1e-4


class Sigmoid(NamedTuple):
    """Sigmoid ``1 / (1 + exp(-(slope · score + offset)))``, the probability of the positive class."""

    slope: float
    offset: float


class Sigmoids(NamedTuple):
    """Slopes and offsets of P sigmoids, as arrays of shape (P,)."""

    slopes: Array
    offsets: Array


def fit_sigmoid(scores: Array, positive: Array, weights: Array, *, pinned: bool = False) -> Sigmoid:
    """Fit a sigmoid to scores; ``positive`` marks the rows of the positive class, and rows with weight 0 are ignored.

    A ``pinned`` sigmoid has offset 0, so that it is ½ at score 0. If the fitted slope is not positive, the sigmoid is
    replaced by a constant, the weighted mean of the targets. This is also the result if all scores are equal or, for a
    pinned sigmoid, if all scores are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.solvers.platt import fit_sigmoid
    >>> scores, positive = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0]), np.array([False] * 3 + [True] * 3)
    >>> slope, offset = fit_sigmoid(scores, positive, np.ones(6))
    >>> print(round(slope, 3), round(offset, 3) + 0.0)
    0.63 0.0
    """
    slopes, offsets = fit_sigmoids(scores[None], positive[None], weights, pinned=pinned)
    return Sigmoid(float(slopes[0]), float(offsets[0]))


def fit_sigmoids(
    scores: Array,
    positive: Array,
    weights: Array,
    *,
    pinned: bool = False,
    tol: float = TOL,
    start: Sigmoids | None = None,
) -> Sigmoids:
    """Fit P sigmoids as :func:`fit_sigmoid` does, one for each row of ``scores`` and ``positive``, of shape (P, n).

    Newton's method stops for a sigmoid when the predicted decrease of its mean loss is at most ``tol``. ``start``
    contains initial sigmoids.
    """
    total = weights.sum()
    W_positive = (positive @ weights)[:, None]
    targets = np.where(positive, (W_positive + 1) / (W_positive + 2), 1 / (total - W_positive + 2))
    shares = weights / total
    share = targets @ shares
    constant = np.log(share / (1 - share))
    centre = np.zeros(len(scores)) if pinned else scores @ shares
    standard = scores - centre[:, None]
    spread = np.sqrt(np.einsum("pi,pi,i->p", standard, standard, shares))
    known = spread > 0
    spread[~known] = 1.0
    standard /= spread[:, None]
    slopes, offsets = np.zeros(len(scores)), np.zeros(len(scores)) if pinned else constant.copy()
    if start is not None:
        slopes, offsets = start.slopes * spread, start.offsets + start.slopes * centre
    stride = scores.shape[1] // SAMPLE
    # With many scores, the sigmoids are first fitted to a subsample; one or two steps on all scores are then enough.
    for every in (stride, 1) if stride > 1 else (1,):
        s, t, w = (np.ascontiguousarray(a[..., ::every]) for a in (standard, targets, shares))
        slopes, offsets = _minimise(s, t, w, slopes, offsets, pinned, tol)
    known &= slopes > 0
    slopes = slopes / spread
    return Sigmoids(np.where(known, slopes, 0.0), np.where(known, offsets - slopes * centre, constant))


def _minimise(
    s: Array, targets: Array, shares: Array, a: Array, b: Array, pinned: bool, tol: float
) -> tuple[Array, Array]:
    """Minimise the mean losses over a, and over b unless ``pinned``, with damped Newton steps; return a and b."""
    at = np.stack([a, b])
    sums = np.empty((6, len(s)))
    _sums(s, targets, shares, at, np.arange(len(s)), sums)
    value, (step, slope) = sums[0].copy(), _newton_steps(sums, pinned)
    length, open_ = np.ones(len(s)), np.arange(len(s))
    for _ in range(MAX_STEPS):
        # If the predicted decrease for a sigmoid is within the tolerance, its next step is the last one.
        close = -slope <= tol
        if close.any():
            at[:, open_[close]] += step[:, close]
        left = ~close & (length > SHORTEST_STEP)
        if not left.all():
            open_, step, slope, length, value = open_[left], step[:, left], slope[left], length[left], value[left]
            sums = np.empty((6, len(open_)))
        if not len(open_):
            break
        # Indexing changes the memory layout. The array is copied, because numba would compile the kernel again for the
        # new layout.
        tried = np.ascontiguousarray(at[:, open_] + length * step)
        _sums(s, targets, shares, tried, open_, sums)
        enough = sums[0] <= value + ENOUGH * length * slope
        steps, slopes = _newton_steps(sums, pinned)
        at[:, open_] = np.where(enough, tried, at[:, open_])
        value, slope = np.where(enough, sums[0], value), np.where(enough, slopes, slope)
        step, length = np.where(enough, steps, step), np.where(enough, 1.0, length / 2)
    return at[0], at[1]


def _newton_steps(sums: Array, pinned: bool) -> tuple[Array, Array]:
    """Return the Newton steps in a and b, and the slopes of the losses along these steps.

    Both are 0 for a sigmoid whose loss has a singular Hessian.
    """
    _, g_a, g_b, H_aa, H_ab, H_bb = sums
    if pinned:
        g_b, H_ab, H_bb = np.zeros_like(g_b), np.zeros_like(H_ab), np.ones_like(H_bb)
    # The two linear equations for a step are solved by elimination. The Hessian of the loss is singular if the sigmoid
    # is 0 or 1 for every row, up to rounding.
    ratio = H_ab / np.where(H_bb > 0, H_bb, 1.0)
    left = H_aa - ratio * H_ab
    regular = (H_bb > 0) & (left > 0)
    step_a = np.where(regular, -(g_a - ratio * g_b) / np.where(regular, left, 1.0), 0.0)
    step_b = np.where(regular, -(g_b + H_ab * step_a) / np.where(regular, H_bb, 1.0), 0.0)
    return np.stack([step_a, step_b]), g_a * step_a + g_b * step_b


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _sums(scores, targets, shares, at, open_, sums):  # type: ignore[no-untyped-def]
    """Write the mean loss, its gradient and its Hessian at (a, b) to ``sums``, for each sigmoid in ``open_``."""
    for k in range(open_.size):
        a, b, row = at[0, k], at[1, k], open_[k]
        value, g_a, g_b, H_aa, H_ab, H_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(shares.size):
            s, target = scores[row, i], targets[row, i]
            f = a * s + b
            small = exp(-abs(f))
            probability = 1.0 / (1.0 + small) if f >= 0.0 else small / (1.0 + small)
            value += shares[i] * (max(f, 0.0) + log1p(small) - target * f)
            difference = shares[i] * (probability - target)
            second = shares[i] * small / (1.0 + small) ** 2
            g_a += difference * s
            g_b += difference
            H_aa += second * s * s
            H_ab += second * s
            H_bb += second
        sums[0, k], sums[1, k], sums[2, k] = value, g_a, g_b
        sums[3, k], sums[4, k], sums[5, k] = H_aa, H_ab, H_bb
