"""Deterministic stratified subsampling; whether a row is kept depends only on its index and class."""

import numpy as np
from numba import njit

from hyplearn.numerics import uniform
from hyplearn.types import Array


def subsample_strides(counts: Array, most: int) -> Array:
    """Stride of each class, so that about ``most`` rows are kept in all.

    All strides are 1 where ``most`` is enough; otherwise equally many rows of all classes are kept, and all rows of
    classes that have fewer.
    """
    if counts.sum() <= most:
        return np.ones_like(counts)
    return np.maximum(1, -(-counts // max(1, most // len(counts))))


def subsample(start: int, codes: Array, strides: Array) -> Array:
    """Indices of the rows of a block that are kept, each of which then counts as often as its stride says.

    ``start`` is the position of the block's first row in the source.
    """
    if np.all(strides == 1):
        return np.arange(len(codes))
    return _subsample(start, codes, strides)


@njit(cache=True, nogil=True)
def _subsample(start, codes, strides):  # type: ignore[no-untyped-def]
    kept, size = np.empty(codes.size, dtype=np.int64), 0
    for i in range(codes.size):
        kept[size] = i
        size += uniform(0, start + i) * strides[codes[i]] < 1.0
    return kept[:size].copy()
