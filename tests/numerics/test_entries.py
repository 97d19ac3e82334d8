"""Kernels read the right coordinates for every memory layout of an array."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from hyplearn.numerics import coordinate


@njit
def all_of(X, out):
    d = out.shape[1]
    for i in range(out.shape[0]):
        for j in range(d):
            out[i, j] = coordinate(X, i, j, d)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "view", [lambda X: X, np.asfortranarray, lambda X: X[::2, ::2], lambda X: X[3:, 1:], lambda X: X[::-1]]
)
def test_coordinates_match_numpy(dtype, view):
    X = view(np.random.default_rng(0).random((8, 5)).astype(dtype))
    out = np.empty(X.shape)
    all_of(X, out)
    assert np.array_equal(out, X.astype(np.float64))


@pytest.mark.parametrize("X", [np.zeros((2, 2), dtype=np.int64), np.zeros(4), np.zeros((2, 2, 2))])
def test_arrays_other_than_tables_of_floats_do_not_compile(X):
    with pytest.raises(TypingError, match="needs a two-dimensional array of float32 or float64"):
        all_of(X, np.empty((2, 2)))
