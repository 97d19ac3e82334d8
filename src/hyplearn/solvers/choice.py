r"""Choice of C among the powers of ten, by minimising a criterion.

For a softmax the criterion is the sum of two estimates of the log-loss on unseen rows, with different weaknesses:

- the negative logarithm of the *evidence*, the probability of the labels if W is drawn from a normal prior with
  variance C, by Laplace's approximation. It gives too large a C for nearly separated classes.
- the *leave-one-out* log-loss, by one Newton step from the solution for all rows. With the leverage
  :math:`h_{ik} = x_i^T (I + \frac{K}{K - 1} H_{kk})^{-1} x_i`, the scores of row i without itself are

  .. math:: s_{ik} + \frac{C h_{ik} (\pi_{ik} - y_{ik})}{1 - \frac{K}{K - 1} C h_{ik} \pi_{ik} (1 - \pi_{ik})}

  exact to second order for two classes; with more classes, the factor K / (K - 1) accounts for the second derivatives
  between classes. Single rows far on the wrong side would dominate this loss, so the loss of a row is capped at the
  logarithm of the number of rows, the loss of a class that was seen once.

Both cost less than a Newton step, because the solver has already computed H.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax

from hyplearn.rows import ClassRows
from hyplearn.solvers.softmax.solve import SoftmaxSolution, solve_softmax
from hyplearn.types import Array

# First, lowest and highest exponent of 10 in the search for C.
FIRST, LOWEST, HIGHEST = 1, -3, 5
# Minimum relative improvement of the criterion for the search to continue to the next power of ten. For separated
# classes the criterion hardly decreases with C, so the search stops at a small C.
ENOUGH = 2e-3
# Lower bound of the denominator in the leave-one-out formula.
LEAST = 1e-6
# Number of elements per chunk of rows when leverages are computed, which limits the memory.
CHUNK_NUMBERS = 2**18


def choose_cost(criterion: Callable[[float], float], *, first: int = FIRST, highest: int = HIGHEST) -> float:
    """Find the power of ten with the lowest criterion, at most 10**``highest``, by descent from 10**``first``.

    Examples
    --------
    >>> from hyplearn.solvers.choice import choose_cost
    >>> choose_cost(lambda C: (C - 90) ** 2)
    100.0
    """
    values = {first: criterion(10.0**first)}
    for way in (1, -1):
        k = first
        while LOWEST <= k + way <= highest:
            values[k + way] = criterion(10.0 ** (k + way))
            if not values[k + way] < values[k] - ENOUGH * abs(values[k]):
                break
            k += way
        if k != first:
            break
    return 10.0**k


def choose_softmax_cost(
    rows: Array,
    codes: Array,
    weights: Array,
    n_classes: int,
    *,
    first: int = FIRST,
    highest: int = HIGHEST,
    **options: Any,
) -> tuple[float, Array]:
    """Choose C for a softmax by evidence and leave-one-out log-loss; return C and the weights fitted with it.

    ``options`` are passed to :func:`solve_softmax`.
    """
    n, d = rows.shape
    basis = None
    if n < d:
        # The solution lies in the span of the rows, so they are rotated into n coordinates.
        basis, triangle = np.linalg.qr(rows.T)
        rows = np.ascontiguousarray(triangle.T)
    found: dict[float, Array] = {}
    last: Array | None = None

    def criterion(C: float) -> float:
        nonlocal last
        solution = solve_softmax(ClassRows.of(rows, codes, C * weights, n_classes), start=last, **options)
        found[C] = last = solution.W
        return solution.evidence(C) + leave_one_out_loss(rows, codes, weights, solution, C)

    C = choose_cost(criterion, first=first, highest=highest)
    return C, found[C] if basis is None else found[C] @ basis.T


def leave_one_out_loss(rows: Array, codes: Array, weights: Array, solution: SoftmaxSolution, C: float) -> float:
    """Return the approximate leave-one-out log-loss, summed over all rows, with one Newton step per row.

    A row with weight greater than 1 counts as several copies, of which one is left out.
    """
    W, factor = solution.W, len(solution.W) / (len(solution.W) - 1)
    inverses = np.linalg.inv(np.eye(rows.shape[1]) + factor * _diagonal_blocks(solution))
    most, total = np.log1p(weights.sum()), 0.0
    step = max(1, CHUNK_NUMBERS // sum(W.shape))
    for start in range(0, len(rows), step):
        cut = slice(start, start + step)
        part, own = rows[cut], (np.arange(len(rows[cut])), codes[cut])
        leverages = np.stack([np.sum((part @ inverse) * part, axis=1) for inverse in inverses], axis=1)
        leverages *= C * np.minimum(weights[cut], 1.0)[:, None]
        scores = part @ W.T
        pi = np.exp(log_softmax(scores, axis=1))
        left = np.maximum(1 - factor * leverages * pi * (1 - pi), LEAST)
        pi[own] -= 1
        losses = -log_softmax(scores + leverages * pi / left, axis=1)[own]
        total += float(weights[cut] @ np.minimum(losses, most))
    return total


def _diagonal_blocks(solution: SoftmaxSolution) -> Array:
    """Return the diagonal blocks of the loss's Hessian, of shape (K, d, d), or their mean, of shape (1, d, d)."""
    if solution.is_full:
        K, d = solution.W.shape
        return np.einsum("kakb->kab", solution.hessian.reshape(K, d, K, d))
    return solution.hessian if solution.hessian.ndim == 3 else solution.hessian[None]
