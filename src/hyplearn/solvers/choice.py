r"""The choice of C: the least value of a criterion along powers of ten.

For a softmax the criterion is the sum of two estimates of the log-loss of unseen rows, each of which errs where the
other does not:

- the negative logarithm of the *evidence*, the probability of the labels if W is drawn from a normal prior of variance
  C, by Laplace's approximation. It takes too large a C where classes are nearly separated.
- the *leave-one-out* log-loss, by one Newton step from the solution of all rows. With the leverage
  :math:`h_{ik} = x_i^T (I + \frac{K}{K - 1} H_{kk})^{-1} x_i`, the scores of row i without itself are

  .. math:: s_{ik} + \frac{C h_{ik} (\pi_{ik} - y_{ik})}{1 - \frac{K}{K - 1} C h_{ik} \pi_{ik} (1 - \pi_{ik})}

  exact to second order for two classes; with more, the second derivatives between classes enter by the factor
  K / (K - 1). It follows single rows that are far on the wrong side, so a row counts with at most the logarithm of the
  number of rows, the loss of a class that was seen once.

Both cost less than a Newton step, as the solver has computed H.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax

from hyplearn.rows import ClassRows
from hyplearn.solvers.softmax.solve import SoftmaxSolution, solve_softmax
from hyplearn.types import Array

# Where to begin, and between which exponents of 10 to look.
FIRST, LOWEST, HIGHEST = 1, -3, 5
# Part of the criterion by which the next power has to be better: a criterion that hardly falls any more, as that of
# separated classes, ends at the smaller C.
ENOUGH = 2e-3
# Least part of a row's own second derivative that is left without it.
LEAST = 1e-6
# Numbers of rows whose leverages are computed at once.
CHUNK_NUMBERS = 2**18


def choose_cost(criterion: Callable[[float], float], *, first: int = FIRST, highest: int = HIGHEST) -> float:
    """The power of ten, up to that of ``highest``, at which the criterion is lowest; found downhill from ``first``.

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
    """The power of ten for a softmax, by evidence and leave-one-out log-loss; and the weights of the fit with it.

    ``options`` are those of :func:`solve_softmax`.
    """
    n, d = rows.shape
    basis = None
    if n < d:
        # The solution is a combination of the rows: rotate them into as many coordinates as there are rows.
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
    """Log-loss of every row, summed, by the softmax of all others, to one Newton step; of copies one is left out."""
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
    """The diagonal blocks of the Hessian of the loss, of shape (K, d, d), or their mean, of shape (1, d, d)."""
    if solution.is_full:
        K, d = solution.W.shape
        return np.einsum("kakb->kab", solution.hessian.reshape(K, d, K, d))
    return solution.hessian if solution.hessian.ndim == 3 else solution.hessian[None]
