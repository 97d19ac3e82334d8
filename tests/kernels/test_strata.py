"""Weighted points that represent many."""

import numpy as np
import pytest

from hyplearn.kernels.strata import representatives, slices, sorted_cells


def cells_of(V, n_cells):
    order, cells = sorted_cells(V, n_cells)
    return np.split(order, np.flatnonzero(np.diff(cells)) + 1)


@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_cells_are_a_partition_into_about_equal_numbers_of_rows(d):
    V = np.random.default_rng(0).standard_normal((5000, d)) * np.linspace(1, 3, d)
    cells = cells_of(V, 120)
    assert np.array_equal(np.sort(np.concatenate(cells)), np.arange(5000))
    assert 60 < len(cells) <= 120
    sizes = [len(cell) for cell in cells]
    assert max(sizes) <= 1.3 * min(sizes) + 3


def test_rows_of_a_cell_are_close_to_each_other():
    V = np.random.default_rng(0).uniform(size=(40_000, 2)) * [1, 4]
    spreads = np.array([np.ptp(V[cell], axis=0) for cell in cells_of(V, 400)])
    assert np.all(np.median(spreads, axis=0) < 0.15)  # a square cell is 0.1 wide


def test_slices_are_proportional_to_the_spread_of_each_axis():
    assert np.array_equal(slices(np.array([4.0, 1.0]), 100), [20, 5])
    assert np.array_equal(slices(np.array([0.0, 1.0]), 7), [1, 7])
    assert np.prod(slices(np.ones(100), 1000)) == 512


def test_sums_of_smooth_functions_are_more_accurate_than_over_a_random_sample():
    rng = np.random.default_rng(0)
    V, codes = rng.standard_normal((50_000, 2)), rng.integers(2, size=50_000)
    weights = rng.uniform(0.5, 1.5, 50_000)
    values = np.cos(V @ rng.standard_normal((2, 20)))
    index, own = representatives(V, codes, weights, np.bincount(codes, weights), 2000)
    random = rng.permutation(50_000)[:2000]
    exact = weights @ values
    errors = np.abs(own @ values[index] - exact), np.abs(weights.sum() * values[random].mean(axis=0) - exact)
    assert np.sqrt(np.mean(errors[0] ** 2)) < 0.2 * np.sqrt(np.mean(errors[1] ** 2))


def test_classes_keep_their_weights_and_rare_classes_their_rows():
    rng = np.random.default_rng(0)
    V, codes = rng.standard_normal((10_000, 3)), np.repeat([0, 2, 3], [9950, 30, 20])
    weights = rng.uniform(0, 2, 10_000) * (np.arange(10_000) % 7 > 0)
    totals = np.array([1e5, 0.0, 70.0, 20.0])
    index, own = representatives(V, codes, weights, totals, 1000)
    assert np.allclose(np.bincount(codes[index], own, minlength=4), totals)
    assert np.all(weights[index] > 0)
    assert set(index[codes[index] == 3]) == set(np.flatnonzero((codes == 3) & (weights > 0)))
    assert 500 < len(index) <= 1010
