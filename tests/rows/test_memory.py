"""Rows in memory, compared with the explicit matrix that they represent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.rows import ClassRows, HyperboloidRows, Rows
from hyplearn.rows.memory import RUN
from hyplearn.tangent import frame_coordinates, implicit_rows, z_features
from support.balls import at_gap, cloud

FEATURES = {"frame": frame_coordinates, "z": z_features}


def joined(parts):
    """A merge of lists."""
    return [entry for part in parts for entry in part]


def labelled(seed=0, n=60, d=4, features="frame", **options):
    """Rows of points with random labels and costs, and the matrix that they represent."""
    rng = np.random.default_rng(seed)
    X, p, y = cloud(rng, n, d, 1.0), at_gap(rng, d, 0.6, 1.0), rng.choice([-1.0, 1.0], n)
    rows = Rows.labelled(implicit_rows(X, p, features=features), y, rng.uniform(size=n))
    return replace(rows, **options), y[:, None] * FEATURES[features](X, p)


@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from(sorted(FEATURES)))
def test_labelled_rows_are_the_features_with_the_sign_of_their_label(seed, d, features):
    rows, U = labelled(seed, d=d, features=features)
    scale = np.linalg.norm(U, axis=1)
    assert rows.shape == U.shape
    assert np.all(np.abs(rows[:] - U) <= 1e-9 * scale[:, None])


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_products_and_sums_match_the_explicit_rows(seed, d):
    rows, _ = labelled(seed, d=d)
    U, rng = rows[:], np.random.default_rng(seed)
    w, index = rng.standard_normal(d), rng.permutation(60)[:25]
    q = rng.standard_normal(25)
    scale = np.linalg.norm(U, axis=1)
    assert np.allclose(rows @ w, U @ w, rtol=0, atol=1e-12 * scale.max() * np.linalg.norm(w))
    assert np.array_equal(rows[index], U[index])
    assert np.array_equal(rows[5:9], U[5:9])
    assert np.allclose(rows.weighted_sum(index, q), q @ U[index], rtol=0, atol=1e-12 * np.abs(q) @ scale[index])
    assert np.array_equal(rows.weighted_sum(index[:0], q[:0]), np.zeros(d))


def test_explicit_rows_are_the_matrix_itself():
    U = np.random.default_rng(0).standard_normal((7, 3))
    rows = Rows.explicit(np.asfortranarray(U), np.arange(7.0))
    assert np.array_equal(rows[:], U)
    assert np.array_equal(rows.costs, np.arange(7.0))
    assert rows.X.flags.c_contiguous


@pytest.mark.parametrize("numbers", [1, 7, 40, 2**20])
def test_blocks_are_views_that_together_are_all_rows_in_order(numbers):
    rows, _ = labelled(block_numbers=numbers)
    blocks = list(rows.blocks())
    assert [block.start for block in blocks] == list(np.cumsum([0] + [len(block.X) for block in blocks[:-1]]))
    assert max(block.X.size for block in blocks) <= max(numbers, rows.shape[1])
    assert np.array_equal(np.vstack([block[:] for block in blocks]), rows[:])
    assert np.array_equal(np.concatenate([block.costs for block in blocks]), rows.costs)
    assert all(np.shares_memory(block.X, rows.X) for block in blocks)


def test_blocks_of_a_block_keep_their_place_in_the_source():
    second = list(labelled(block_numbers=80)[0].blocks())[1]
    assert [block.start for block in replace(second, block_numbers=24).blocks()] == [20, 26, 32, 38]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_applies_a_function_to_every_block_in_order(threads):
    rows, _ = labelled(threads=threads, block_numbers=28)
    w = np.ones(4)
    out = rows.fold(lambda block, w, shift: [(block.start, block @ w + shift)], joined, w, 2.0)
    assert [start for start, _ in out] == list(range(0, 60, 7))
    assert np.array_equal(np.concatenate([part for _, part in out]), rows @ w + 2)


@given(st.integers(0, 10**6), st.integers(RUN, 50))
def test_a_sample_holds_rows_of_the_source_with_costs_that_sum_to_those_of_all_rows(seed, size):
    rows, _ = labelled(seed, n=800)
    sample = rows.sample(size, np.random.default_rng(seed))
    place = {row.tobytes(): i for i, row in enumerate(rows[:])}
    index = np.array([place[row.tobytes()] for row in sample[:]])
    assert size <= len(index) < size + RUN
    assert np.isclose(sample.costs.sum(), rows.costs.sum(), rtol=1e-12)
    ratio = sample.costs / rows.costs[index]
    assert np.allclose(ratio, ratio[0], rtol=1e-12)


def test_a_sample_is_spread_evenly_over_the_source():
    n = 80_000
    rows = Rows.explicit(np.arange(n, dtype=float)[:, None], np.ones(n))
    places = rows.sample(800, np.random.default_rng(0)).X[:, 0]
    assert np.all(np.bincount((places * 50 / n).astype(int), minlength=50) > 0)
    assert places.min() >= 0
    assert places.max() < n


def test_a_sample_of_rows_without_cost_has_none():
    rows = Rows.explicit(np.ones((100, 2)), np.zeros(100))
    assert not rows.sample(16, np.random.default_rng(0)).costs.any()


def classed(n=60, d=4, K=3, inverse_root=0.0, **options):
    """Rows of d columns with random classes and costs, with an intercept if an inverse root is given; their matrix."""
    rng = np.random.default_rng(0)
    rows, codes = rng.standard_normal((n, d)), rng.integers(0, K, n)
    source = ClassRows.of(rows, codes, rng.uniform(size=n), K)
    if inverse_root:
        base = rng.standard_normal(n)
        rows[:, -1] = rows[:, 0] + base * inverse_root
        source = ClassRows.of(rows[:, :-1], codes, source.costs, K)
        source = replace(source, base=base, inverse_root=inverse_root)
    return replace(source, **options), rows


@pytest.mark.parametrize("inverse_root", [0.0, 1.0, 2.5])
def test_products_and_sums_include_the_column_of_the_intercept(inverse_root):
    source, rows = classed(inverse_root=inverse_root)
    rng = np.random.default_rng(1)
    w, index, q = rng.standard_normal(4), rng.permutation(60)[:25], rng.standard_normal(25)
    assert source.shape == (60, 4)
    assert np.array_equal(source[index], rows[index])
    assert np.allclose(source @ w, rows @ w)
    assert np.allclose(source.weighted_sum(index, q), q @ rows[index])


def test_a_sample_keeps_the_column_of_the_intercept():
    source, rows = classed(inverse_root=2.5)
    sample = source.sample(16, np.random.default_rng(0))
    assert sample.shape == (16, 4)
    assert {row.tobytes() for row in sample[:]} <= {row.tobytes() for row in rows}


@pytest.mark.parametrize("inverse_root", [0.0, 2.5])
@pytest.mark.parametrize("numbers", [1, 150, 2**20])
def test_blocks_carry_their_classes(numbers, inverse_root):
    source, rows = classed(inverse_root=inverse_root, block_numbers=numbers)
    blocks = source.fold(lambda block: [block], joined)
    assert len(blocks) == {1: 15, 150: 12, 2**20: 1}[numbers]
    assert np.array_equal(source[:], rows)
    assert np.array_equal(np.vstack([block[:] for block in blocks]), rows)
    assert np.array_equal(np.concatenate([block.codes for block in blocks]), source.codes)
    assert np.array_equal(np.concatenate([block.costs for block in blocks]), source.costs)
    assert [block.start for block in blocks] == list(np.cumsum([0] + [len(block.X) for block in blocks[:-1]]))
    assert all(np.shares_memory(block.X, source.X) for block in blocks)


def test_blocks_of_a_block_with_classes_keep_their_place():
    second = list(classed(block_numbers=560)[0].blocks())[1]
    assert [block.start for block in replace(second, block_numbers=150).blocks()] == [20, 25, 30, 35]


def test_a_sample_carries_its_classes_at_the_cost_of_all_rows():
    source, rows = classed(400)
    sample = source.sample(80, np.random.default_rng(1))
    places = [np.flatnonzero((rows == row).all(axis=1))[0] for row in sample[:]]
    assert len(places) == 80
    assert np.array_equal(sample.codes, source.codes[places])
    assert np.allclose(sample.costs / sample.costs[0], source.costs[places] / source.costs[places[0]])
    assert sample.costs.sum() == pytest.approx(source.costs.sum())


@pytest.mark.parametrize("inverse_root", [0.0, 0.5])
def test_hyperboloid_rows_match_their_explicit_matrix(inverse_root):
    rng = np.random.default_rng(0)
    n, d = 50, 3
    rows = HyperboloidRows(
        rng.random((n, d)),
        rng.random(d),
        rng.random(n),
        rng.random(n),
        rng.random(n),
        times=rng.random(n),
        inverse_root=inverse_root,
        block_numbers=50 if inverse_root else 40,
    )
    m = d + 1 + (inverse_root > 0)
    explicit, w, index = rows[:], rng.random(m), np.array([3, 1, 4])
    assert rows.shape == explicit.shape == (n, m)
    if inverse_root:
        assert np.array_equal(explicit[:, -1], rows.times + inverse_root * rows.base)
    assert np.allclose(rows.product_at(index, w), explicit[index] @ w)
    assert np.allclose(rows.scaled(3.0)[:], 3 * explicit)
    pieces = list(rows.pieces())
    assert np.array_equal(np.concatenate([piece[:] for piece in pieces]), explicit)
    assert all(piece.X.shape[1] == m and not piece.p.any() for piece in pieces)
    assert np.array_equal(explicit[:, 0], rows.times)
    assert np.allclose(rows @ w, explicit @ w)
    assert np.allclose(rows.weighted_sum(index, w[:3]), w[:3] @ explicit[index])
    blocks = rows.fold(lambda block: [(block.start, block[:], block.costs)], joined)
    assert [start for start, _, _ in blocks] == list(range(0, n, 10))
    assert np.array_equal(np.concatenate([block[1] for block in blocks]), explicit)
    assert np.array_equal(np.concatenate([block[2] for block in blocks]), rows.costs)
    assert isinstance(rows.sample(8, rng), Rows)
