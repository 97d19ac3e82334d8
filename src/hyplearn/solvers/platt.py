r"""Platt's sigmoid: the probability of the positive class as a function of a score.

.. math:: P(+ \mid s) = \frac{1}{1 + e^{-(a s + b)}}, \qquad
          \min_{a, b} \sum_i w_i \bigl( \log(1 + e^{a s_i + b}) - t_i (a s_i + b) \bigr)

with targets :math:`t_+ = (W_+ + 1) / (W_+ + 2)` and :math:`t_- = 1 / (W_- + 2)` just short of 1 and 0, W being the
weight of a class: the sigmoid stays finite where scores separate the classes. After Lin, Lin and Weng, "A note on
Platt's probabilistic outputs for support vector machines" (2007): Newton's method, and no exponential that overflows.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from hyplearn.types import Array

# Newton's steps: for the two parameters of a sigmoid ten are many, most need six.
MAX_STEPS, SHORTEST_STEP = 100, 1e-10
# Decrease of the mean loss that a step promises at which it is the last: another would be lost in rounding.
TOL = 1e-14
# Rows, spread evenly, from which the sigmoid of many more begins.
SAMPLE = 20_000
# Armijo's: part of the decrease that the slope promises.
ENOUGH = 1e-4


class Sigmoid(NamedTuple):
    """``P = 1 / (1 + exp(-(slope · score + offset)))``."""

    slope: float
    offset: float


def fit_sigmoid(scores: Array, positive: Array, weights: Array, *, pinned: bool = False) -> Sigmoid:
    """The sigmoid for scores of rows that are of the positive class or not; rows of weight 0 are absent.

    A sigmoid that is ``pinned`` is ½ at score 0, its offset 0. One with a slope below 0 would call a row less likely
    the farther it is on its side: such scores tell nothing, and a constant takes its place.

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
    parameters, free = np.array([0.0, 0.0 if pinned else constant]), np.array([True, not pinned])
    stride = len(scores) // SAMPLE
    # From the best sigmoid of some rows, a step or two lead to that of all.
    for every in (stride, 1) if stride > 1 else (1,):
        rows = [np.ascontiguousarray(a[::every]) for a in (standard, targets, shares)]
        parameters = minimise_newton(partial(_equations, *rows), parameters, free)
    slope, offset = parameters.tolist()
    if slope <= 0:
        return Sigmoid(0.0, constant)
    return Sigmoid(slope / spread, float(offset - slope * centre / spread))


def minimise_newton(equations: Callable[[Array], tuple[float, Array, Array]], x: Array, free: Array) -> Array:
    """Minimise a smooth convex function over the ``free`` entries of x, by damped Newton steps.

    ``equations(x)`` gives the value, the gradient and the Hessian. The value is a mean loss: steps end when the
    decrease that they promise is at most ``TOL``.
    """
    value, gradient, hessian = equations(x)
    for _ in range(MAX_STEPS):
        step = np.zeros(len(x))
        try:
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        except np.linalg.LinAlgError:  # every row is at an end of the sigmoid, to rounding
            break
        slope, length, before = float(gradient @ step), 1.0, value
        if -slope <= TOL:
            return x + step
        while length > SHORTEST_STEP:
            tried = x + length * step
            value, gradient, hessian = equations(tried)
            if value <= before + ENOUGH * length * slope:
                break
            length /= 2
        else:
            break
        x = tried
    return x


def _equations(s: Array, targets: Array, weights: Array, x: Array) -> tuple[float, Array, Array]:
    """Value, gradient and Hessian of the objective at x = (a, b), in one pass."""
    value, g_a, g_b, H_aa, H_ab, H_bb = _sums(s, targets, weights, x[0], x[1])
    return value, np.array([g_a, g_b]), np.array([[H_aa, H_ab], [H_ab, H_bb]])


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(s, targets, weights, a, b):  # type: ignore[no-untyped-def]
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
