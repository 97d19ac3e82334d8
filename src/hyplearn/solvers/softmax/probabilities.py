"""Softmax probabilities, losses and gradients, computed from chunks of rows by matrix products."""

from collections.abc import Iterator

import numpy as np

from hyplearn.rows import ClassRows
from hyplearn.rows.memory import Chunk
from hyplearn.types import Array

# CHUNK_NUMBERS is the approximate number of elements per chunk, chosen so that a chunk stays in the cache. With many
# elements per row, chunks have about FEWEST_ROWS rows instead, so that matrix products remain efficient.
CHUNK_NUMBERS, FEWEST_ROWS = 2**18, 128


def chunks(block: ClassRows, width: int) -> Iterator[tuple[Chunk, Array, Array]]:
    """Yield chunks of rows with their class codes and costs; a row needs ``width`` array elements of memory."""
    n, most = len(block.X), max(FEWEST_ROWS, CHUNK_NUMBERS // width)
    length = -(-n // max(1, round(n / most)))  # chunks have almost equal sizes, so that the last one is not small
    for start in range(0, n, max(1, length)):
        cut = slice(start, start + length)
        yield block.chunk(cut), block.codes[cut], block.costs[cut]


def probabilities(scores: Array, codes: Array) -> tuple[Array, Array, Array]:
    """Return the softmax of scores of shape (K, n), computed in place, and two arrays from which the loss is computed.

    The first array, ``own``, is the score of each row's class minus the row's highest score. The second, ``rest``, is
    the sum of ``exp(score - highest score)`` over the classes other than the row's class. The loss is
    ``log1p(rest + expm1(own)) - own``; this formula is accurate even for tiny losses.
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


def loss_and_sums(block: ClassRows, W: Array) -> tuple[float, Array]:
    r"""Return the loss :math:`\sum C \log(1 / \pi_y)` of a block of rows x, and :math:`\sum \alpha x^T`.

    Here :math:`\alpha = C (e_y - \pi)` has one element per class; y is the class of x, and :math:`e_y` a unit vector.
    Probabilities depend only on differences of scores, and α sums to zero over the classes, so products with the rows
    are computed for all classes but one.
    """
    loss, sums, differences = 0.0, np.zeros_like(W), W[1:] - W[0]
    for chunk, codes, costs in chunks(block, sum(W.shape)):
        scores = np.zeros((len(W), len(codes)))
        scores[1:] = chunk.scores(differences)
        pi, own, rest = probabilities(scores, codes)
        loss += float(costs @ (np.log1p(rest + np.expm1(own)) - own))
        # Compute π_y - 1 as minus the sum of the other probabilities, which avoids cancellation.
        pi[codes, np.arange(len(codes))] = -rest / (rest + np.exp(own))
        sums[1:] -= chunk.sums(costs * pi[1:])
    sums[0] = -sums[1:].sum(axis=0)
    return loss, sums
