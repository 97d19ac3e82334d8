"""Rows made anew in every pass against the rows in memory that they stand for."""

import pickle

import numpy as np
import pytest
from hyplearn.rows.streamed import ConeRows, SignedRows, StreamedRows, Weighing, standing_rows

from hyplearn.cone import cone_rows
from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.folding import columns_joined, summed
from hyplearn.data.subsample import standing, standing_strides
from hyplearn.rows import ClassRows, Costs, Rows, points, source, streamed
from hyplearn.rows.memory import uniform
from hyplearn.solvers.svm.margin_scan import scan_margins
from hyplearn.solvers.svm.solve import _capped, hinge, solve_svm
from hyplearn.tangent import implicit_rows
from support.balls import at_gap, cloud

N, D = 211, 3
CLASSES = np.array(["left", "right", "top"])


@pytest.fixture
def data():
    """Points, labels, weights of which some are 0, and a reference point."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=N) * (rng.uniform(size=N) > 0.1)
    return cloud(rng, N, D, 1.0), CLASSES[rng.integers(0, 3, N)], weights, at_gap(rng, D, 0.6, 1.0)


@pytest.fixture(params=[1, 7, 64, N, 10 * N], ids="block of {}".format)
def block_rows(request, monkeypatch):
    """How many rows the source gives at once; rows are made of a third of them."""
    monkeypatch.setattr(points, "BLOCK_NUMBERS", request.param * D)
    monkeypatch.setattr(streamed, "PIECE_NUMBERS", max(1, request.param // 3) * D)
    return request.param


WEIGHING = Weighing(CLASSES, np.array([1.0, 2.0, 0.5]))


def pair(kind, data, threads=1, C=3.0):
    """Streamed rows, and the same in memory."""
    X, y, weights, p = data
    codes = np.searchsorted(CLASSES, y)
    costs, signs = C * weights * WEIGHING.factors[codes], np.where(codes == 1, 1.0, -1.0)
    if kind == "signed":
        make = SignedRows(WEIGHING, 1, p, "frame", 1.0, C)
        rows = Rows.labelled(implicit_rows(X, p), signs, costs)
    else:
        make = ConeRows(WEIGHING, p, 1.0, C, 10.0)
        space, times = cone_rows(X, p, c=1.0, gaps=1 - np.sum(X**2, axis=1))
        rows = ClassRows(
            space.X, space.p, space.along, space.base, costs, times=times, constant=10.0, codes=codes, n_classes=3
        )
    source = ArrayPoints(X, y, weights)
    return StreamedRows(source, make, N, rows.shape[1], 3 if kind == "classes" else 0, threads), rows


def product(block, w):
    return [(block.start, block @ w)]


def in_order(parts):
    return [entry for part in parts for entry in part]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["signed", "classes"])
def test_a_pass_sees_every_row_once_and_in_order(data, block_rows, kind, threads):
    source, rows = pair(kind, data, threads)
    w = np.arange(1.0, rows.shape[1] + 1)
    parts = source.fold(product, in_order, w)
    starts, values = zip(*parts, strict=True)
    assert list(starts) == list(np.cumsum([0] + [len(value) for value in values[:-1]]))
    assert np.allclose(np.concatenate(values), rows @ w, rtol=1e-12, atol=1e-12)
    assert source.shape == rows.shape


@pytest.mark.parametrize("kind", ["signed", "classes"])
def test_costs_are_c_times_the_weights_of_row_and_class(data, block_rows, kind):
    source, rows = pair(kind, data)
    assert source.gathered().costs == pytest.approx(rows.costs)
    assert source.cost_range == pytest.approx(Costs.of(rows.costs))


@pytest.mark.parametrize("kind", ["signed", "classes"])
def test_a_sample_is_that_of_the_rows_in_memory(data, block_rows, kind):
    source, rows = pair(kind, data)
    sample, twin = (rows.sample(40, np.random.default_rng(3)) for rows in (source, rows))
    assert np.allclose(sample[:], twin[:], rtol=1e-12, atol=1e-12)
    assert sample.costs == pytest.approx(twin.costs)
    if kind == "classes":
        assert np.array_equal(sample.codes, twin.codes)
        assert sample.n_classes == 3


def test_altered_rows_are_altered_in_every_pass_and_know_their_costs(data, block_rows):
    source, rows = pair("signed", data)
    for cap in (0.5, 1e-3):
        altered, twin = source.altered(_capped, cap), rows.altered(_capped, cap)
        assert altered.gathered().costs == pytest.approx(twin.costs)
        assert altered.cost_range == pytest.approx(Costs.of(twin.costs))


def test_an_infinite_cost_leaves_rows_without_weight_out(data):
    X, y, weights, p = data
    make = SignedRows(WEIGHING, 1, p, "frame", 1.0, np.inf)
    costs = StreamedRows(ArrayPoints(X, y, weights), make, N, D).gathered().costs
    assert np.array_equal(np.isinf(costs), weights > 0)
    assert np.all(costs[weights == 0] == 0)


@pytest.mark.parametrize("most", [4, 40, 10_000])
def test_the_rows_that_stand_for_all_are_the_same_whatever_the_blocks(data, block_rows, most):
    X, y, weights, _ = data
    codes, sides = np.searchsorted(CLASSES, y), np.array([0, 1, 1])
    strides = standing_strides(np.bincount(sides[codes], minlength=2), most)
    kept = standing(0, sides[codes], strides)
    found = ArrayPoints(X, y, weights).fold(standing_rows, columns_joined, WEIGHING, sides, strides)
    assert np.array_equal(found[0], X[kept])
    assert np.array_equal(found[1], sides[codes[kept]])
    assert np.allclose(found[2], (weights * WEIGHING.factors[codes])[kept] * strides[found[1]])


def test_as_many_rows_of_each_class_stand_for_all_and_all_of_those_that_are_rare():
    strides = standing_strides(np.array([10, 100_000, 5_000]), 3000)
    assert strides.tolist() == [1, 100, 5]
    assert standing_strides(np.array([10, 20]), 30).tolist() == [1, 1]
    codes = np.repeat([0, 1, 2], [10, 100_000, 5_000])
    kept = codes[standing(0, codes, strides)]
    assert np.bincount(kept) == pytest.approx([10, 1000, 1000], rel=0.15)


def test_makers_and_what_they_are_asked_can_travel(data):
    source, _ = pair("signed", data)
    make = pickle.loads(pickle.dumps(source.make))
    block = next(source.points.blocks())
    assert np.array_equal(make(block)[:], source.make(block)[:])


def total(block):
    return block[:].sum(axis=0)


def test_an_error_in_a_block_ends_the_pass_and_no_thread_is_left_behind(data, monkeypatch):
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 10 * D)
    source, _ = pair("signed", data, threads=2)

    class Broken(ArrayPoints):
        def blocks(self, first=0):
            for block in super().blocks(first):
                if block.start == 100:
                    raise OSError("row 100 is gone")
                yield block

    broken = StreamedRows(Broken(*data[:3]), source.make, N, D, threads=2)
    with pytest.raises(OSError, match="row 100 is gone"):
        broken.fold(total, summed)


def splitmix64(seed, number):
    """The generator's output in whole numbers without end, as a share of 2^53."""
    state = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return ((state ^ (state >> 31)) >> 11) / 2**53


def test_which_rows_stand_for_all_is_a_hash_of_their_positions():
    start, codes, strides = 10**10, np.tile([0, 1], 300).astype(np.int8), np.array([3, 7])
    shares = [splitmix64(0, start + i) for i in range(600)]
    assert [uniform(0, start + i) for i in range(600)] == shares
    expected = [i for i, share in enumerate(shares) if share * strides[codes[i]] < 1]
    assert standing(start, codes, strides).tolist() == expected


def noisy_points(n=40_000, d=5):
    rng = np.random.default_rng(0)
    X = cloud(rng, n, d, 1.0, smallest_gap=0.1)
    return X, np.where(X[:, 0] + 0.1 * rng.standard_normal(n) > 0, 1, -1)


def signed(X, y, C=1.0):
    make = SignedRows(Weighing(np.array([-1, 1]), np.ones(2)), 1, np.zeros(X.shape[1]), "frame", 1.0, C)
    return StreamedRows(ArrayPoints(X, y), make, *X.shape, known_costs=Costs(C, C, C * len(X)))


def test_a_thinned_source_has_some_of_the_rows_at_the_cost_of_all():
    X, y = noisy_points(3000)
    whole = signed(X, y, C=2.0)
    part = whole.thinned(500, np.random.default_rng(1))
    rows, again = part.gathered(), part.gathered()
    assert np.array_equal(rows[:], again[:])
    assert part.shape == (500, 5)
    assert len(rows[:]) == pytest.approx(500, abs=8)
    assert rows.costs.sum() == pytest.approx(2.0 * 3000, rel=0.05)
    every = {row.tobytes() for row in whole.gathered()[:]}
    assert all(row.tobytes() in every for row in rows[:])
    in_memory = whole.gathered().thinned(500, np.random.default_rng(1))
    assert np.array_equal(in_memory[:], rows[:])
    assert np.array_equal(in_memory.costs, rows.costs)


def test_working_sets_are_those_of_memory_wherever_rows_are(monkeypatch):
    """Limits of memory count in memory too: fits that gather other rows end in other digits."""
    X, y = noisy_points()
    monkeypatch.setattr(source, "MOST_GATHERED", 400 * (5 + source.BESIDE_A_ROW))
    monkeypatch.setattr(hinge, "SAMPLE_NUMBERS", 2000)
    found, due = solve_svm(signed(X, y), tol=1e-3), solve_svm(signed(X, y).gathered(), tol=1e-3)
    assert due.gap > 1e-9  # not at the optimum, where all ways meet
    np.testing.assert_allclose(found.w, due.w, rtol=1e-10)
    assert found.n_passes == due.n_passes


@pytest.mark.parametrize(("limit", "most"), [(40, np.inf), (400, np.inf), (4000, 4000)])
def test_a_working_set_grows_past_its_limit_only_where_nothing_else_helps(monkeypatch, limit, most):
    X, y = noisy_points()
    seen = []

    def watched(rows, w, band, wanted):
        found = scan_margins(rows, w, band, wanted)
        if rows.shape[0] == len(X):
            seen.append(len(found.found))
        return found

    free = solve_svm(signed(X, y), tol=1e-8)
    monkeypatch.setattr(hinge, "survey", watched)
    monkeypatch.setattr(source, "MOST_GATHERED", limit * (5 + source.BESIDE_A_ROW))
    monkeypatch.setattr(hinge, "SAMPLE_NUMBERS", 2000)
    limited = solve_svm(signed(X, y), tol=1e-8)
    assert limited.status == free.status == "optimal"
    assert limited.primal == pytest.approx(free.primal, rel=1e-7)
    assert 0 < max(seen) <= most
