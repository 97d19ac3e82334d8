"""Rows built from training data, once or again in every pass, compared with the same rows in memory."""

import pickle
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hyplearn.cone import cone_rows
from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.class_counts import count_classes
from hyplearn.data.folding import summed
from hyplearn.data.points import PIECE_NUMBERS
from hyplearn.data.training import Encoder, TrainingData, subsample, subsample_strides
from hyplearn.rows import ClassRows, Costs, Rows
from hyplearn.rows.built import (
    ClassRowBuilder,
    KeptRows,
    SignedRowBuilder,
    StreamedRows,
    build_encoded,
    build_rows,
    stream_rows,
)
from hyplearn.solvers.svm.hinge import BESIDE_A_ROW, LIMITS, Limits, certified, starting_point, working_sets
from hyplearn.solvers.svm.margin_scan import scan_block
from hyplearn.solvers.svm.solve import _capped
from hyplearn.tangent import implicit_rows
from support.balls import at_gap, cloud
from support.sources import in_blocks

N, D = 211, 3
CLASSES = np.array(["left", "right", "top"])
ENCODER = Encoder(CLASSES, np.array([1.0, 2.0, 0.5]), 1.0)
KINDS = pytest.mark.parametrize("kind", ["signed", "classes"])
# Rows of points in memory that are kept, or built again in every pass, and rows of points outside memory.
PLACES = pytest.mark.parametrize("place", ["kept", "built again", "outside memory"])


def labelled(n=N, d=D):
    """Points, labels, weights (some of them 0), and a reference point."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=n) * (rng.uniform(size=n) > 0.1)
    return cloud(rng, n, d, 1.0), CLASSES[rng.integers(0, 3, n)], weights, at_gap(rng, d, 0.6, 1.0)


@pytest.fixture
def data():
    return labelled()


@pytest.fixture(params=[1, 7, 64, N, 10 * N], ids="block of {}".format)
def block_rows(request):
    """Rows per block of the source."""
    return request.param


def builder(kind, p, C):
    return SignedRowBuilder(1, p, "frame", 1.0, C) if kind == "signed" else ClassRowBuilder(p, 1.0, C, True, 3)


def training(place, data, block_rows=None, threads=1):
    """Training data whose rows are kept, or built again in every pass."""
    source = in_blocks if place == "outside memory" else ArrayPoints
    points = source(*data[:3]).limited(block_rows=block_rows)
    return TrainingData.counted(points, count_classes(points, 1.0, threads), ENCODER, threads)


def pair(place, kind, data, block_rows=None, threads=1, C=3.0):
    """Rows built from training data, and the same rows built from arrays."""
    X, y, weights, p = data
    codes = np.searchsorted(CLASSES, y)
    costs, signs = C * weights * ENCODER.factors[codes], np.where(codes == 1, 1.0, -1.0)
    if kind == "signed":
        rows = Rows.labelled(implicit_rows(X, p), signs, costs)
    else:
        space, times = cone_rows(X, p, c=1.0, gaps=1 - np.sum(X**2, axis=1))
        rows = ClassRows(
            space.X, space.p, space.along, space.base, costs, times=times, inverse_root=1.0, codes=codes, n_classes=3
        )
    n_classes = 3 if kind == "classes" else 0
    found = training(place, data, block_rows, threads)
    if place == "built again":
        source = stream_rows(found, builder(kind, p, C), C, rows.shape[1], n_classes, threads)
    else:
        source = build_rows(found, builder(kind, p, C), C, rows.shape[1], n_classes=n_classes)
    assert type(source) is (KeptRows if place == "kept" else StreamedRows)
    assert (source.shape, source.n_classes, source.threads) == (rows.shape, n_classes, threads)
    return source, rows


def product(block, w):
    return [(block.start, block @ w)]


def joined(parts):
    return [entry for part in parts for entry in part]


def check_pass(source, rows):
    """Check that a pass visits every row once and in order; returns the number of rows of each block."""
    w = np.arange(1.0, rows.shape[1] + 1)
    starts, values = zip(*source.fold(product, joined, w), strict=True)
    assert list(starts) == list(np.cumsum([0] + [len(value) for value in values[:-1]]))
    assert np.allclose(np.concatenate(values), rows @ w, rtol=1e-12, atol=1e-12)
    return [len(value) for value in values]


@PLACES
@KINDS
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_pass_visits_every_row_once_in_order(data, block_rows, place, kind, threads):
    source, rows = pair(place, kind, data, block_rows, threads)
    sizes = check_pass(source, rows)
    assert len(sizes) == -(-N // block_rows)
    assert check_pass(source, rows) == sizes


@PLACES
@KINDS
def test_costs_are_c_times_the_weights_of_row_and_class(data, block_rows, place, kind):
    source, rows = pair(place, kind, data, block_rows)
    assert source.gathered().costs == pytest.approx(rows.costs)
    assert source.cost_range == pytest.approx(Costs.of(rows.costs))
    if place != "kept":
        assert replace(source, known_costs=None).cost_range == pytest.approx(Costs.of(rows.costs))


@KINDS
def test_rows_of_points_in_memory_are_built_again_without_encoding(data, kind, monkeypatch):
    source, _ = pair("built again", kind, data, block_rows=64)
    expected, reported = source.gathered(), []
    before = source.points.points.n_passes
    source.points.points.on_block = reported.append
    monkeypatch.setattr(Encoder, "__call__", None)
    again = source.gathered()
    assert np.array_equal(again[:], expected[:])
    assert source.points.points.n_passes == before + 1
    assert reported == [64, 64, 64, N - 3 * 64]


@PLACES
@KINDS
def test_gathered_rows_are_the_rows_in_memory(data, block_rows, place, kind):
    source, rows = pair(place, kind, data, block_rows)
    gathered = source.gathered()
    assert np.allclose(gathered[:], rows[:], rtol=1e-12, atol=1e-12)
    if kind == "classes":
        assert np.array_equal(gathered.codes, rows.codes)


@PLACES
@KINDS
def test_a_sample_matches_the_rows_in_memory(data, block_rows, place, kind):
    source, rows = pair(place, kind, data, block_rows)
    sample, twin = (rows.sample(40, np.random.default_rng(3)) for rows in (source, rows))
    assert np.allclose(sample[:], twin[:], rtol=1e-12, atol=1e-12)
    assert sample.costs == pytest.approx(twin.costs)
    if kind == "classes":
        assert np.array_equal(sample.codes, twin.codes)
        assert sample.n_classes == 3


@PLACES
def test_modified_rows_stay_modified_in_every_pass(data, block_rows, place):
    source, rows = pair(place, "signed", data, block_rows)
    for cap in (0.5, 1e-3):
        altered, twin = source.altered(_capped, cap), rows.altered(_capped, cap)
        assert altered.gathered().costs == pytest.approx(twin.costs)
        assert altered.cost_range == pytest.approx(Costs.of(twin.costs))
        check_pass(altered, twin)
    assert source.gathered().costs == pytest.approx(rows.costs)


@PLACES
@KINDS
def test_with_infinite_cost_rows_without_weight_are_left_out(data, place, kind):
    weights = data[2]
    found = training(place, data)
    costs = build_rows(found, builder(kind, data[3], np.inf), np.inf, D).gathered().costs
    assert np.array_equal(np.isinf(costs), weights > 0)
    assert np.all(costs[weights == 0] == 0)


@KINDS
def test_blocks_of_many_pieces_are_built_piece_by_piece(kind):
    """The rows are so wide that a piece has only 8 rows."""
    data = labelled(n=45, d=PIECE_NUMBERS // 8)
    source, rows = pair("outside memory", kind, data, block_rows=20)
    assert check_pass(source, rows) == [8, 8, 4, 8, 8, 4, 5]
    part, twin = (rows.thinned(16, np.random.default_rng(1)) for rows in (source, rows))
    assert np.allclose(part.gathered()[:], twin[:], rtol=1e-12, atol=1e-12)
    assert part.gathered().costs == pytest.approx(twin.costs)
    altered, twin = source.altered(_scaled, 2.0), rows.altered(_scaled, 2.0)
    assert altered.gathered().costs == pytest.approx(twin.costs)


def _scaled(rows, factor):
    return replace(rows, costs=factor * rows.costs)


def test_kept_rows_are_built_once(data):
    built = []
    inner = builder("signed", data[3], 1.0)

    def watched(block):
        built.append(block.start)
        return inner(block)

    source = build_rows(training("kept", data, 100), watched, 1.0, D)
    assert built == []
    for _ in range(3):
        source.fold(total, summed)
    assert built == [0, 100, 200]


@pytest.mark.parametrize("most", [4, 40, 10_000])
@PLACES
def test_a_subsample_is_the_same_whatever_the_blocks(data, block_rows, place, most):
    X, y, weights, _ = data
    codes, sides = np.searchsorted(CLASSES, y), np.array([0, 1, 1])
    strides = subsample_strides(np.bincount(sides[codes], minlength=2), most)
    kept = subsample(0, sides[codes], strides)
    found, rows_left_out = training(place, data, block_rows).subsampled(most, sides)
    assert rows_left_out == (most < N)
    assert np.array_equal(found.X, X[kept])
    assert np.array_equal(found.codes, codes[kept])
    assert np.allclose(found.weights, (weights * ENCODER.factors[codes])[kept] * strides[sides[found.codes]])
    assert np.allclose(found.gaps, 1 - np.sum(found.X**2, axis=1))


@KINDS
def test_builders_can_be_pickled(data, kind):
    source, _ = pair("outside memory", kind, data)
    altered = source.altered(_scaled, 2.0).thinned(40, np.random.default_rng(0))
    block = next(source.points.blocks())
    for build in (source.build, altered.build):
        again = pickle.loads(pickle.dumps(build))(block)
        assert np.array_equal(again[:], build(block)[:])
        assert np.array_equal(again.costs, build(block).costs)


def total(block):
    return block[:].sum(axis=0)


def test_an_error_in_a_block_ends_the_pass_and_no_thread_is_left_behind(data):
    class Broken(ArrayPoints):
        def blocks(self, first=0):
            for block in super().blocks(first):
                if block.start == 100:
                    raise OSError("row 100 is gone")
                yield block

    build = partial(build_encoded, encoder=ENCODER, build=builder("signed", data[3], 3.0))
    broken = StreamedRows(Broken(*data[:3]).limited(block_rows=10), build, N, D, threads=2)
    before = threading.active_count()
    with pytest.raises(OSError, match="row 100 is gone"):
        broken.fold(total, summed)
    assert threading.active_count() == before


# Working sets of rows that are built again in every pass


def noisy_points(n=40_000, d=5):
    rng = np.random.default_rng(0)
    X = cloud(rng, n, d, 1.0, smallest_gap=0.1)
    return X, np.where(X[:, 0] + 0.1 * rng.standard_normal(n) > 0, 1, -1)


def signed(X, y, C=1.0, kind=StreamedRows):
    encoder = Encoder(np.array([-1, 1]), np.ones(2), 1.0)
    build = partial(build_encoded, encoder=encoder, build=SignedRowBuilder(1, np.zeros(X.shape[1]), "frame", 1.0, C))
    return kind(ArrayPoints(X, y), build, *X.shape, known_costs=Costs(C, C, C * len(X)))


def solve(source, tol, limits=LIMITS):
    """The hinge problem with working sets of limited size."""
    options = {"max_iter": 100, "threads": 1, "limits": limits}
    start = starting_point(source, None, np.random.default_rng(0), **options)
    return certified(source, working_sets(source, start, tol=tol, **options), tol)


def small(rows, d=5):
    """Samples of 400 rows, and working sets of some rows."""
    return Limits(sampled=400 * d, gathered=rows * (d + BESIDE_A_ROW))


def test_a_thinned_source_has_a_subset_of_rows_with_the_total_cost():
    X, y = noisy_points(3000)
    whole = signed(X, y, C=2.0)
    part = whole.thinned(500, np.random.default_rng(1))
    rows, again = part.gathered(), part.gathered()
    assert np.array_equal(rows[:], again[:])
    assert part.shape == (500, 5)
    assert len(rows[:]) == pytest.approx(500, abs=8)
    assert rows.costs.sum() == pytest.approx(2.0 * 3000, rel=0.05)
    assert part.cost_range == pytest.approx(Costs.of(rows.costs))
    every = {row.tobytes() for row in whole.gathered()[:]}
    assert all(row.tobytes() in every for row in rows[:])
    in_memory = whole.gathered().thinned(500, np.random.default_rng(1))
    assert np.array_equal(in_memory[:], rows[:])
    assert np.array_equal(in_memory.costs, rows.costs)


def test_working_sets_match_those_in_memory_for_every_source():
    """The same memory limits are used in memory, because fits that gather different rows differ in the last digits."""
    X, y = noisy_points()
    source = signed(X, y)
    found, due = solve(source, 1e-3, small(400)), solve(signed(X, y).gathered(), 1e-3, small(400))
    assert due.gap > 1e-9  # not at the optimum, which all fits reach
    np.testing.assert_allclose(found.w, due.w, rtol=1e-10)
    # In memory, a thinned sample is drawn in one pass; otherwise, every pass over it reads the source.
    assert found.n_iter == due.n_iter
    assert due.n_passes < found.n_passes == source.points.n_passes


@pytest.mark.parametrize(("limit", "most"), [(40, np.inf), (400, np.inf), (4000, 4000)])
def test_a_working_set_exceeds_its_limit_only_if_necessary(limit, most):
    X, y = noisy_points()
    seen = []

    class Watched(StreamedRows):
        @property
        def fold(self):
            return self._fold

        def _fold(self, function, merge, *arguments):
            found = super().fold(function, merge, *arguments)
            if function is scan_block and self.n_rows == len(X):
                seen.append(len(found.found))
            return found

    free, limited = solve(signed(X, y), 1e-8), solve(signed(X, y, kind=Watched), 1e-8, small(limit))
    assert limited.status == free.status == "optimal"
    assert limited.primal == pytest.approx(free.primal, rel=1e-7)
    assert 0 < max(seen) <= most
