"""Stratified subsamples."""

import numpy as np
import pytest

from hyplearn.data.subsample import subsample, subsample_strides
from hyplearn.numerics import uniform


def test_as_many_rows_of_each_class_are_kept_and_all_of_rare_classes():
    strides = subsample_strides(np.array([10, 100_000, 5_000]), 3000)
    assert strides.tolist() == [1, 100, 5]
    assert subsample_strides(np.array([10, 20]), 30).tolist() == [1, 1]
    codes = np.repeat([0, 1, 2], [10, 100_000, 5_000])
    kept = codes[subsample(0, codes, strides)]
    assert np.bincount(kept) == pytest.approx([10, 1000, 1000], rel=0.15)


def test_the_rows_kept_are_a_hash_of_their_positions():
    start, codes, strides = 10**10, np.tile([0, 1], 300).astype(np.int8), np.array([3, 7])
    shares = [uniform(0, start + i) for i in range(600)]
    expected = [i for i, share in enumerate(shares) if share * strides[codes[i]] < 1]
    assert subsample(start, codes, strides).tolist() == expected


def test_strides_of_one_keep_every_row():
    assert subsample(5, np.array([0, 1, 0]), np.array([1, 1])).tolist() == [0, 1, 2]
