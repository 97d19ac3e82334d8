r"""Platt scaling: a sigmoid that maps scores to probabilities of the positive class.

.. math:: P(+ \mid s) = \frac{1}{1 + e^{-(a s + b)}}, \qquad
          \min_{a, b} \sum_i w_i \bigl( \log(1 + e^{a s_i + b}) - t_i (a s_i + b) \bigr)

where the targets :math:`t_+ = (W_+ + 1) / (W_+ + 2)` and :math:`t_- = 1 / (W_- + 2)` are slightly below 1 and above 0,
and W is the weight of a class. With these targets the sigmoid stays finite for separable scores. It is fitted by
Newton's method, without exponentials that overflow, after Lin, Lin and Weng, "A note on Platt's probabilistic outputs
for support vector machines" (2007).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.types import Array

# Maximum number of Newton steps, and minimum step length. Most sigmoids need six steps.
MAX_STEPS, SHORTEST_STEP = 100, 1e-10
# Newton's method stops when the predicted decrease of the mean loss is at most TOL, where rounding errors dominate.
TOL = 1e-14
# Size of the subsample that is fitted first if there are many rows.
SAMPLE = 20_000
# Armijo's constant: a step must achieve this fraction of the decrease that the slope predicts.
ENOUGH = 1e-4


class Sigmoid(NamedTuple):
    """Sigmoid ``1 / (1 + exp(-(slope · score + offset)))``, the probability of the positive class."""

    slope: float
    offset: float


def fit_sigmoid(scores: Array, positive: Array, weights: Array, *, pinned: bool = False) -> Sigmoid:
    """Fit a sigmoid to scores and class membership; rows with weight 0 are ignored.

    A ``pinned`` sigmoid has offset 0, so that it is ½ at score 0. If the slope would be negative, the scores carry no
    information, and the sigmoid is replaced by a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.solvers.platt import fit_sigmoid
    >>> scores, positive = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0]), np.array([False] * 3 + [True] * 3)
    >>> slope, offset = fit_sigmoid(scores, positive, np.ones(6))
    >>> print(round(slope, 3), round(offset, 3) + 0.0)
    0.63 0.0
    """
    total = weights.sum()
    W_positive = weights @ positive
    targets = np.where(positive, (W_positive + 1) / (W_positive + 2), 1 / (total - W_positive + 2))
    share = float(weights @ targets / total)
    constant = math.log(share / (1 - share))
    centre = 0.0 if pinned else float(weights @ scores / total)
    spread = math.sqrt(float(weights @ (scores - centre) ** 2 / total))
    if not spread > 0:
        return Sigmoid(0.0, constant)
    standard, shares = (scores - centre) / spread, weights / total
    slope, offset = 0.0, 0.0 if pinned else constant
    stride = len(scores) // SAMPLE
    # With many rows, the subsample is fitted first; one or two steps on all rows are then enough.
    for every in (stride, 1) if stride > 1 else (1,):
        rows = [np.ascontiguousarray(a[::every]) for a in (standard, targets, shares)]
        slope, offset = _minimise(partial(_sums, *rows), slope, offset, pinned)
    if slope <= 0:
        return Sigmoid(0.0, constant)
    return Sigmoid(slope / spread, float(offset - slope * centre / spread))


def _minimise(sums: Callable[[float, float], tuple[float, ...]], a: float, b: float, pinned: bool) -> Sigmoid:
    """Minimise the objective over a, and over b unless ``pinned``, with damped Newton steps.

    ``sums(a, b)`` returns the value, the gradient and the Hessian. The value is a mean loss; the iteration stops when
    the predicted decrease is at most ``TOL``.
    """
    value, *derivatives = sums(a, b)
    for _ in range(MAX_STEPS):
        step = _newton_step(derivatives, pinned)
        if step is None:  # the sigmoid is 0 or 1 for every row, up to rounding
            break
        slope, length, before = derivatives[0] * step[0] + derivatives[1] * step[1], 1.0, value
        if -slope <= TOL:
            return Sigmoid(a + step[0], b + step[1])
        while length > SHORTEST_STEP:
            tried = a + length * step[0], b + length * step[1]
            value, *derivatives = sums(*tried)
            if value <= before + ENOUGH * length * slope:
                break
            length /= 2
        else:
            break
        a, b = tried
    return Sigmoid(a, b)


def _newton_step(derivatives: Sequence[float], pinned: bool) -> tuple[float, float] | None:
    """Return the Newton step, or None if the Hessian is singular.

    The two equations are solved by elimination, which is much faster than a call to LAPACK.
    """
    g_a, g_b, H_aa, H_ab, H_bb = derivatives
    if pinned:
        return (-g_a / H_aa, 0.0) if H_aa > 0 else None
    if not H_bb > 0:
        return None
    ratio = H_ab / H_bb
    left = H_aa - ratio * H_ab
    if not left > 0:
        return None
    step_a = -(g_a - ratio * g_b) / left
    return step_a, -(g_b + H_ab * step_a) / H_bb


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(s, targets, weights, a, b):  # type: ignore[no-untyped-def]
    """Value, gradient and Hessian of the objective at (a, b), in one pass."""
    value, g_a, g_b, H_aa, H_ab, H_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(s.size):
        f = a * s[i] + b
        small = math.exp(-abs(f))
        probability = 1.0 / (1.0 + small) if f >= 0.0 else small / (1.0 + small)
        value += weights[i] * (max(f, 0.0) + math.log1p(small) - targets[i] * f)
        difference = weights[i] * (probability - targets[i])
        second = weights[i] * small / (1.0 + small) ** 2
        g_a += difference * s[i]
        g_b += difference
        H_aa += second * s[i] * s[i]
        H_ab += second * s[i]
        H_bb += second
    return value, g_a, g_b, H_aa, H_ab, H_bb
