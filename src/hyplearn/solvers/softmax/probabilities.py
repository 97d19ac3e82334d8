"""Softmax probabilities and losses of chunks of rows, in plain NumPy."""

from collections.abc import Iterator

import numpy as np

from hyplearn.rows import ClassRows
from hyplearn.rows.memory import Chunk
from hyplearn.types import Array

# CHUNK_NUMBERS is the number of elements per chunk, chosen so that a chunk stays in the cache. FEWEST_ROWS is the
# minimum number of rows per chunk, which keeps matrix products efficient.
CHUNK_NUMBERS, FEWEST_ROWS = 2**18, 128


def chunks(block: ClassRows, width: int) -> Iterator[tuple[Chunk, Array, Array]]:
    """Yield chunks of rows with their codes and costs; chunks fit into the cache if a row takes ``width`` elements."""
    n, most = len(block.X), max(FEWEST_ROWS, CHUNK_NUMBERS // width)
    length = -(-n // max(1, round(n / most)))  # chunks have almost equal sizes, so that the last one is not small
    for start in range(0, n, max(1, length)):
        cut = slice(start, start + length)
        yield block.chunk(cut), block.codes[cut], block.costs[cut]


def probabilities(scores: Array, codes: Array) -> tuple[Array, Array, Array]:
    """Return the softmax of scores of shape (K, n), computed in place, and two arrays from which the loss is computed.

    ``own`` is the score of each row's class minus the row's highest score; ``rest`` is the sum of
    ``exp(score - highest score)`` over the other classes. The loss is ``log1p(rest + expm1(own)) - own``; this formula
    is accurate even for tiny losses.
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

    Here :math:`\alpha = C (e_y - \pi)` has one element per class. Probabilities depend only on differences of scores,
    and α sums to zero over the classes, so products with the rows are computed for all classes but one.
    """
    loss, sums, differences = 0.0, np.zeros_like(W), W[1:] - W[0]
    for chunk, codes, costs in chunks(block, sum(W.shape)):
        scores = np.zeros((len(W), len(codes)))
        scores[1:] = chunk.scores(differences)
        pi, own, rest = probabilities(scores, codes)
        loss += float(costs @ (np.log1p(rest + np.expm1(own)) - own))
        # 1 - π_y is computed as the sum of the other probabilities, without cancellation.
        pi[codes, np.arange(len(codes))] = -rest / (rest + np.exp(own))
        sums[1:] -= chunk.sums(costs * pi[1:])
    sums[0] = -sums[1:].sum(axis=0)
    return loss, sums
