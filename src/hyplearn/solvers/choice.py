r"""Choice of C among the powers of ten, by minimising a criterion.

For a softmax regression, the criterion combines two estimates of the log-loss on unseen rows:

- The negative logarithm of the *evidence*, which is the probability of the labels if the weights W are drawn from a
  normal prior with variance C. It is computed by Laplace's approximation. Minimising this estimate alone would give too
  large a C for nearly separated classes.
- The *leave-one-out* log-loss. The model fitted without a row is approximated by one Newton step that starts at the
  solution for all rows. Let s be the scores and :math:`\pi` the probabilities of row i in the model fitted to all rows,
  y the vector that is 1 for the class of the row and 0 for all other classes, H the Hessian of the loss (including the
  costs), and K the number of classes. If row i has weight 1, its scores in the model fitted without this row are
  approximately

  .. math:: s + (I - M S)^{-1} M (\pi - y), \qquad M = C\, (I_K \otimes x_i)^T (I + H)^{-1} (I_K \otimes x_i),
            \quad S = \operatorname{diag} \pi - \pi \pi^T

  If the solver computes only the diagonal blocks :math:`H_{kk}` of H, if there are two classes, or if the scores of a
  row hardly change, the change of each score is computed separately from the leverage
  :math:`h_k = x_i^T (I + \frac{K}{K - 1} H_{kk})^{-1} x_i`:

  .. math:: s_k + \frac{C h_k (\pi_k - y_k)}{1 - \frac{K}{K - 1} C h_k \pi_k (1 - \pi_k)}

  For two classes, the two formulas agree. For more classes, the factor K / (K - 1) accounts approximately for the
  second derivatives between classes, but for large C the second formula underestimates the log-loss. The leave-one-out
  log-loss has twice the weight of the first estimate.

If the solver has already computed H, both estimates take less time than a Newton step.

Embeddings contain misplaced rows, which lie deep inside a class other than their own. Their log-losses of a hundred or
more would dominate the mean. Therefore the leave-one-out log-loss is computed from the probabilities
:math:`(1 - \varepsilon) \pi + \varepsilon / K` instead of π, that is, on the assumption that a share ε of all rows has
a random class. The share ε is estimated from the leave-one-out probabilities (:func:`outlier_share`).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax

from hyplearn.rows import ClassRows
from hyplearn.solvers.softmax.solve import SoftmaxSolution, solve_softmax
from hyplearn.types import Array

# Exponents of 10 in the search for C: the first one that is tried, the lowest and the highest.
FIRST, LOWEST, HIGHEST = 1, -3, 5
# Minimum relative decrease of the criterion that counts as an improvement. For separated classes the criterion hardly
# decreases as C increases, so the search stops at a small C.
ENOUGH = 1e-3
# Weight of the leave-one-out log-loss relative to the evidence. It was chosen on 63 generated data sets. There, the
# mean log-loss is the same with a weight of 3, and 0.5 % higher with a weight of 1.
LEFT_OUT_WEIGHT = 2.0
# outlier_share() estimates the share of rows with a random class. The estimate is computed as if ASSUMED_OUTLIERS rows
# with a random class, and as many rows with the correct class, were added to the data. Otherwise, the estimated share
# could be 0, and a log-loss could be infinite. Values from 0.1 to 1 change the mean log-loss on 63 generated data sets
# by at most 0.3 %.
ASSUMED_OUTLIERS = 0.25
# Lower end of the interval in which outlier_share() searches for the most likely share. At a share of 0, the derivative
# of the log-likelihood may be infinite.
LEAST_SHARE = 1e-12
# If no score of a row changes by more than EASY, leave_one_out() computes the change of each score separately.
# Computing the changes of all scores together takes longer. A value of 0 would change the leave-one-out log-loss by
# less than 0.5 %.
EASY = 0.05
# Small number that prevents division by zero in leave_one_out(). If the change of each score is computed separately, it
# is the lower bound of the denominator. If the changes of all scores are computed together, I - M S is replaced with
# (1 + LEAST) I - M S.
LEAST = 1e-8
# Approximate number of elements per chunk of rows in leave_one_out(). Chunks limit the memory use.
CHUNK_NUMBERS = 2**18


class SoftmaxChoice(NamedTuple):
    """Chosen C, the weights W fitted with this C, and ``floor``, the estimated share of rows with a random class."""

    C: float
    W: Array
    floor: float


def choose_cost(
    criterion: Callable[[float], float],
    *,
    first: int = FIRST,
    highest: int = HIGHEST,
    patience: int = 1,
    enough: Mapping[int, float] = MappingProxyType({1: ENOUGH, -1: ENOUGH}),
) -> float:
    """Return the power of ten with the lowest criterion, as found by a search that starts at 10**``first``.

    The search is limited to powers from 10**``LOWEST`` to 10**``highest``, and may end at a local minimum.
    ``enough`` maps each direction of the search, 1 for larger and -1 for smaller values, to the minimum relative
    decrease of the criterion that counts as an improvement. The directions are tried in the order of ``enough``; the
    second is skipped if the first brings an improvement. The search in a direction ends after ``patience``
    consecutive steps without improvement.

    Examples
    --------
    >>> from hyplearn.solvers.choice import choose_cost
    >>> choose_cost(lambda C: (C - 90) ** 2)
    100.0
    """
    best, least = first, criterion(10.0**first)
    for way, fraction in enough.items():
        k = first
        while LOWEST <= k + way <= highest and abs(k - best) < patience:
            k += way
            value = criterion(10.0**k)
            if value < least - fraction * abs(least):
                best, least = k, value
        if best != first:
            break
    return 10.0**best


def choose_softmax_cost(
    rows: Array,
    codes: Array,
    weights: Array,
    n_classes: int,
    *,
    first: int = FIRST,
    highest: int = HIGHEST,
    patience: int = 1,
    **options: Any,
) -> SoftmaxChoice:
    """Choose C for a softmax regression, and estimate the share of rows with a random class.

    The criterion combines the evidence and the leave-one-out log-loss, as described in the documentation of the module.
    ``options`` are passed to :func:`solve_softmax`, and the other keyword arguments to :func:`choose_cost`.
    """
    n, d = rows.shape
    basis = None
    if n < d:
        # The solution lies in the span of the rows, so the rows are replaced by their n coordinates in an orthonormal
        # basis.
        basis, triangle = np.linalg.qr(rows.T)
        rows = np.ascontiguousarray(triangle.T)
    found: dict[float, SoftmaxChoice] = {}
    last: Array | None = None

    def criterion(C: float) -> float:
        nonlocal last
        solution = solve_softmax(ClassRows.of(rows, codes, C * weights, n_classes), start=last, **options)
        last = solution.W
        log_pi = leave_one_out(rows, codes, weights, solution, C)
        floor = outlier_share(log_pi, weights, n_classes)
        found[C] = SoftmaxChoice(C, solution.W, floor)
        left_out = -float(weights @ with_floor(log_pi, floor, n_classes))
        return solution.evidence(C) + LEFT_OUT_WEIGHT * left_out

    chosen = found[choose_cost(criterion, first=first, highest=highest, patience=patience)]
    return chosen if basis is None else chosen._replace(W=chosen.W @ basis.T)


def with_floor(log_pi: Array, floor: float, n_classes: int) -> Array:
    """Return ``log((1 - floor) π + floor / K)`` for K classes, where ``log_pi`` is log π.

    The result is accurate even if π underflows.
    """
    return log_pi if floor == 0 else np.logaddexp(np.log1p(-floor) + log_pi, np.log(floor / n_classes))


def outlier_share(log_pi: Array, weights: Array, n_classes: int) -> float:
    """Estimate the share of rows whose class is random, given the log-probability of each row's class.

    The result is the most likely share, corrected as if ``ASSUMED_OUTLIERS`` rows with a random class, and as many rows
    with the correct class, were added to the data.
    """
    pi, total = np.exp(log_pi), float(weights.sum())

    def slope(share: float) -> float:
        """Return the derivative of the log-likelihood; the derivative decreases as the share increases."""
        return float(weights @ ((1 / n_classes - pi) / (share / n_classes + (1 - share) * pi)))

    likeliest = 0.0 if slope(LEAST_SHARE) <= 0 else 1.0 if slope(1.0) >= 0 else brentq(slope, LEAST_SHARE, 1.0)
    return (float(likeliest) * total + ASSUMED_OUTLIERS) / (total + 2 * ASSUMED_OUTLIERS)


def leave_one_out(rows: Array, codes: Array, weights: Array, solution: SoftmaxSolution, C: float) -> Array:
    """Approximate the log-probability of each row's class in a model that is fitted without this row.

    The model is approximated by one Newton step from ``solution``. A row with weight greater than 1 counts as several
    copies, of which one is left out.
    """
    W, factor = solution.W, len(solution.W) / (len(solution.W) - 1)
    inverses = np.linalg.inv(np.eye(rows.shape[1]) + factor * _diagonal_blocks(solution))
    inverse = np.linalg.inv(np.eye(W.size) + solution.hessian) if solution.is_full and len(W) > 2 else None
    log_pi = np.empty(len(rows))
    step = max(1, CHUNK_NUMBERS // sum(W.shape))
    for start in range(0, len(rows), step):
        cut = slice(start, start + step)
        part, own = rows[cut], (np.arange(len(rows[cut])), codes[cut])
        costs = C * np.minimum(weights[cut], 1.0)
        leverages = np.stack([np.sum((part @ block) * part, axis=1) for block in inverses], axis=1)
        leverages *= costs[:, None]
        scores = part @ W.T
        pi = np.exp(log_softmax(scores, axis=1))
        left = np.maximum(1 - factor * leverages * pi * (1 - pi), LEAST)
        residuals = pi.copy()
        residuals[own] -= 1
        changes = leverages * residuals / left
        if inverse is not None:
            large, most = np.flatnonzero(np.max(np.abs(changes), axis=1) > EASY), CHUNK_NUMBERS // (len(W) * W.size)
            for first in range(0, len(large), most):
                some = large[first : first + most]
                changes[some] = _joint_changes(part[some], costs[some], pi[some], residuals[some], inverse)
        log_pi[cut] = log_softmax(scores + changes, axis=1)[own]
    return log_pi


def _joint_changes(rows: Array, costs: Array, pi: Array, residuals: Array, inverse: Array) -> Array:
    """Return the change in each row's scores when one copy of the row is left out of the fit.

    A row with weight greater than 1 counts as several copies. ``inverse`` is (I + H)⁻¹, where H is the Hessian of the
    loss.
    """
    K, d = pi.shape[1], rows.shape[1]
    linked = np.tensordot(rows, inverse.reshape(K, d, K, d), axes=(1, 1))
    leverages = costs[:, None, None] * np.einsum("iklb,ib->ikl", linked, rows)
    shrunk = leverages * pi[:, None, :] - (leverages @ pi[:, :, None]) * pi[:, None, :]
    steps = np.linalg.solve((1 + LEAST) * np.eye(K) - shrunk, leverages @ residuals[:, :, None])
    return steps[:, :, 0]


def _diagonal_blocks(solution: SoftmaxSolution) -> Array:
    """Return the diagonal blocks of the Hessian, one per class, as an array of shape (K, d, d).

    If the solution contains only the mean of the blocks, return the mean as an array of shape (1, d, d).
    """
    if solution.is_full:
        K, d = solution.W.shape
        return np.einsum("kakb->kab", solution.hessian.reshape(K, d, K, d))
    return solution.hessian if solution.hessian.ndim == 3 else solution.hessian[None]
