"""Some rows that stand for all: which of them is a matter of their position and class alone, not of blocks."""

import numpy as np
from numba import njit

from hyplearn.rows.memory import uniform
from hyplearn.types import Array


def standing_strides(counts: Array, most: int) -> Array:
    """For every class, of how many rows one is kept, so that about ``most`` are: all of them where these are enough.

    Else equally many of all classes, and all rows of classes that have fewer.
    """
    if counts.sum() <= most:
        return np.ones_like(counts)
    return np.maximum(1, -(-counts // max(1, most // len(counts))))


def standing(start: int, codes: Array, strides: Array) -> Array:
    """Which rows of a block stand for all; ``start`` is the position of its first in the source.

    Each then counts as often as its stride says.
    """
    if np.all(strides == 1):
        return np.arange(len(codes))
    return _standing(start, codes, strides)


@njit(cache=True, nogil=True)
def _standing(start, codes, strides):  # type: ignore[no-untyped-def]
    kept, size = np.empty(codes.size, dtype=np.int64), 0
    for i in range(codes.size):
        kept[size] = i
        size += uniform(0, start + i) * strides[codes[i]] < 1.0
    return kept[:size].copy()
