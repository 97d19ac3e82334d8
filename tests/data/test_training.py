"""Training data: gaps are computed only once, and subsamples are stratified."""

import numpy as np
import pytest

from hyplearn.data import training
from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.class_counts import count_classes
from hyplearn.data.training import Encoder, TrainingData, subsample, subsample_strides
from hyplearn.geometry.kernels import row_gaps
from hyplearn.numerics import uniform
from support.balls import cloud
from support.sources import in_blocks


def test_equal_numbers_of_rows_per_class_are_kept_and_all_of_rare_classes():
    strides = subsample_strides(np.array([10, 100_000, 5_000]), 3000)
    assert strides.tolist() == [1, 100, 5]
    assert subsample_strides(np.array([10, 20]), 30).tolist() == [1, 1]
    codes = np.repeat([0, 1, 2], [10, 100_000, 5_000])
    kept = codes[subsample(0, codes, strides)]
    assert np.bincount(kept) == pytest.approx([10, 1000, 1000], rel=0.15)


def test_kept_rows_depend_only_on_a_hash_of_their_positions():
    start, codes, strides = 10**10, np.tile([0, 1], 300).astype(np.int8), np.array([3, 7])
    expected = []
    for i, stride in enumerate(strides[codes]):
        cell, place = divmod(start + i, int(stride))
        if place == int(uniform(0, cell) * stride):
            expected.append(i)
    assert subsample(start, codes, strides).tolist() == expected


def test_strides_of_one_keep_every_row():
    assert subsample(5, np.array([0, 1, 0]), np.array([1, 1])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [7, 50, 1000])
def test_gaps_of_points_in_memory_are_computed_once(monkeypatch, size):
    rng = np.random.default_rng(0)
    X, y = cloud(rng, 100, 3, 2.0), rng.integers(0, 2, 100)
    points = ArrayPoints(X, y).limited(block_rows=size)
    found = count_classes(points, 2.0, 1)
    monkeypatch.setattr(training, "row_gaps", None)
    encoder = Encoder(found.classes, np.ones(2), 2.0)
    data = TrainingData.counted(points, found, encoder, 1)
    assert all(block.gaps is gaps for block, gaps in zip(data.blocks, found.gaps, strict=True))
    assert np.array_equal(data.gathered().gaps, row_gaps(X, 2.0))


def test_gaps_of_points_outside_memory_are_not_kept():
    rng = np.random.default_rng(0)
    assert count_classes(in_blocks(cloud(rng, 100, 3, 1.0), rng.integers(0, 2, 100), rows=30), 1.0, 1).gaps == []


@pytest.mark.parametrize("size", [7, 64, 1000])
def test_a_subsample_of_a_file_encodes_only_its_own_rows(monkeypatch, size):
    rng = np.random.default_rng(0)
    n = 300
    X, y, weights = cloud(rng, n, 3, 1.0), rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05]), rng.uniform(size=n)
    encoder = Encoder(np.array(["a", "b", "c"]), np.array([1.0, 2.0, 3.0]), 1.0)
    encoded = []

    def counted(self, block, gaps=None, plain=Encoder.__call__):
        encoded.append(len(block.X))
        return plain(self, block, gaps)

    monkeypatch.setattr(Encoder, "__call__", counted)
    drawn = {}
    for source in (in_blocks, ArrayPoints):
        points = source(X, y, weights).limited(block_rows=size)
        data = TrainingData.counted(points, count_classes(points, 1.0, 1), encoder, 1)
        encoded.clear()
        drawn[source], is_part = data.subsampled(90)
        assert is_part
        assert sum(encoded) == (len(drawn[source].X) if source is in_blocks else n)
    for found, expected in zip(drawn[in_blocks], drawn[ArrayPoints], strict=True):
        assert np.array_equal(found, expected)
