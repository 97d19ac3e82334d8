"""Every format returns the stored rows, for any block size, and leads to the same models as arrays in memory."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyplearn import (
    PoincareLogisticRegression,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    open_points,
)
from hyplearn.data.arrays import ArrayFile, ArrayPoints
from support.stored import FORMATS, npy, parquet, separated

# Limits with which nothing is read into memory at once, in blocks of 8 rows.
IN_BLOCKS = {"block_rows": 8, "memory": 0}


def labels(form, y):
    return np.searchsorted(np.unique(y), y) + 1 if form == "zarr" else y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_blocks_contain_the_stored_rows_from_any_start(tmp_path, form, dtype):
    X, y = separated(23, dtype)
    points = FORMATS[form](tmp_path, X, y)
    for size in (1, 5, 23, 24):
        points.limited(block_rows=size)
        blocks = list(points.blocks())
        assert [block.start for block in blocks] == np.cumsum([0, *(len(block.X) for block in blocks)])[:-1].tolist()
        for first in {0, 1, 3, len(blocks)}:
            later = list(points.blocks(first))
            assert [block.start for block in later] == [block.start for block in blocks[first:]]
        whole = points.gathered()
        assert whole.X.dtype == (np.float64 if form == "csv" else dtype)
        np.testing.assert_array_equal(whole.X, X)
        np.testing.assert_array_equal(whole.y, labels(form, y))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 7), st.integers(1, 5), st.integers(0, 6))
def test_blocks_of_parquet_do_not_depend_on_how_rows_are_divided(tmp_path, counts, size, group, first):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = separated(sum(counts))
    for path in tmp_path.glob("*.parquet"):
        path.unlink()
    for number, rows in enumerate(np.split(np.arange(len(X)), np.cumsum(counts)[:-1])):
        table = pa.table({"a": X[rows, 0], "b": X[rows, 1], "label": y[rows]})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=group)
    blocks = list(open_points(tmp_path, block_rows=size).blocks(first))
    starts = list(range(first * size, len(X), size))
    assert [block.start for block in blocks] == starts
    for block in blocks:
        np.testing.assert_array_equal(block.X, X[block.start : block.start + size])
        np.testing.assert_array_equal(block.y, y[block.start : block.start + size])


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_softmax_and_svm_of_files_match_memory(tmp_path, form):
    X, y = separated(40, np.float32)
    points = FORMATS[form](tmp_path, X, y, **IN_BLOCKS)
    for model in (PoincareLogisticRegression(), PoincareSVC(calibration=None)):
        there = model.fit(points).coef_.copy()
        np.testing.assert_array_equal(model.classes_, np.unique(labels(form, y)))
        np.testing.assert_allclose(there, model.fit(X, labels(form, y)).coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("keep", ["auto", "last", "average", "best"])
@pytest.mark.parametrize("kind", [PoincarePerceptron, PoincareSecondOrderPerceptron])
@pytest.mark.filterwarnings(
    "ignore:.*still made mistakes", "ignore:.*fits for calibrating the probabilities", "ignore:Classes with fewer"
)
def test_perceptrons_of_files_match_memory_bit_for_bit(kind, keep):
    X, y = separated(40)
    y[::9] = "skin"
    for rows in (np.arange(40), np.flatnonzero((X[:, 0] > 0) == (y == "blood"))):  # not separable, and separable
        weights = np.ones(len(rows)) + (np.arange(len(rows)) % 3 == 0)
        model = kind(np.array([0.05, 0.0]), shuffle=False, keep=keep, max_epochs=5, folds=2)
        memory = vars(model.fit(X[rows], y[rows], sample_weight=weights)).copy()
        blocks = [
            (X[part], y[part], np.ones(len(part)) + (np.isin(part, rows[::3]))) for part in np.split(rows, [3, 17])
        ]
        model.fit(open_points(blocks, memory=0))
        for name in ("coef_", "n_updates_", "n_iter_", "converged_", "margin_", "mistake_bound_"):
            np.testing.assert_array_equal(getattr(model, name), memory[name], err_msg=name)
        for name in ("slopes", "offsets"):
            found, due = (getattr(one, name) for one in (model.calibration_, memory["calibration_"]))
            np.testing.assert_array_equal(found, due, err_msg=name)


@pytest.mark.parametrize("model", [PoincarePerceptron(), PoincareSecondOrderPerceptron(), PoincareSVC(loss="hinge")])
def test_a_stream_from_files_is_partial_fit_on_its_blocks(tmp_path, model):
    X, y = separated(40)
    points = parquet(tmp_path, X, y, **IN_BLOCKS)
    for _ in range(2):
        model.partial_fit(points, classes=["blood", "nerve"])
    there, names = model.coef_, model.feature_names_in_.tolist()
    one_by_one = type(model)(**model.get_params())
    for _ in range(2):
        for start in range(0, 40, 8):
            one_by_one.partial_fit(X[start : start + 8], y[start : start + 8], classes=["blood", "nerve"])
    np.testing.assert_array_equal(there, one_by_one.coef_)
    assert names == ["u", "v"]


def test_shuffled_rows_need_memory():
    X, y = separated(40)
    with pytest.raises(ValueError, match=r"shuffle=True needs all points in memory; .* is read in blocks"):
        PoincarePerceptron(shuffle=True).fit(open_points([(X, y)], memory=0))
    options = {"shuffle": False, "warm_start": True, "max_epochs": 2, "calibration": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = PoincarePerceptron([0.0, 0.0], **options)
        here = PoincarePerceptron([0.0, 0.0], **options)
        for _ in range(2):
            there.fit(open_points([(X, y)], memory=0))
            here.fit(X, y)
    np.testing.assert_array_equal(there.coef_, here.coef_)


def test_fit_takes_paths_with_the_name_of_the_label(tmp_path):
    X, y = separated(40)
    parquet(tmp_path, X, y)
    expected = PoincareSVC().fit(X, y)
    for path in (str(tmp_path), tmp_path / "part-*.parquet"):
        model = PoincareSVC().fit(path, "kind")
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.feature_names_in_.tolist() == ["u", "v"]


def test_fit_takes_datasets_with_labels_of_any_kind(tmp_path):
    import h5py

    zarr = pytest.importorskip("zarr")

    X, y = separated(40)
    npy(tmp_path, X, y)
    expected = PoincareSVC().fit(X, y).coef_
    with h5py.File(tmp_path / "points.h5", "w") as file:
        file["X"] = X
        array = zarr.create_array(str(tmp_path / "X.zarr"), data=X)
        for given in (file["X"], array, np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "X.npy"):
            for labelled in (y, y.tolist(), tmp_path / "y.npy", np.load(tmp_path / "y.npy", mmap_mode="r")):
                np.testing.assert_array_equal(PoincareSVC().fit(given, labelled).coef_, expected)


def test_weights_are_read_beside_the_points(tmp_path):
    X, y = separated(40)
    weights = np.random.default_rng(0).uniform(size=40)
    np.save(tmp_path / "X.npy", X)
    points = open_points(tmp_path / "X.npy", label=y, weight=weights)
    expected = PoincareSVC().fit(X, y, sample_weight=weights).coef_
    np.testing.assert_array_equal(PoincareSVC().fit(points).coef_, expected)


VIEWS = {
    "all": lambda table: table,
    "later rows": lambda table: table[7:],
    "every third row": lambda table: table[1::3],
    "backwards": lambda table: table[::-1],
    "some columns": lambda table: table[:, 1:3],
    "every other column, backwards": lambda table: table[3:, ::-2],
}


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("span", [2**23, 50])
def test_memory_maps_are_read_from_their_files(tmp_path, view, order, span):
    table = np.random.default_rng(0).uniform(-0.4, 0.4, (40, 5)).astype(np.float32)
    np.save(tmp_path / "table.npy", np.asarray(table, order=order))
    part = VIEWS[view](np.load(tmp_path / "table.npy", mmap_mode="r"))
    in_spans = ArrayPoints(ArrayFile.of(part, span=span), ArrayFile.of(part[:, 0], span=span))
    for source in (open_points(part, label=part[:, 0], block_rows=4), in_spans.limited(block_rows=4)):
        assert source.paths == (tmp_path / "table.npy",) * 2
        block = source.gathered()
        np.testing.assert_array_equal(block.X, VIEWS[view](table))
        np.testing.assert_array_equal(block.y, VIEWS[view](table)[:, 0])


def test_parts_of_one_file_are_different_sources(tmp_path):
    np.save(tmp_path / "table.npy", np.zeros((40, 4)))
    table = np.load(tmp_path / "table.npy", mmap_mode="r")
    parts = (table[:20, :2], table[20:, :2], table[::2, :2], table[:20, 2:])
    assert len({open_points(part).identity for part in parts}) == 4
    assert open_points(table[:20, :2]).identity == open_points(table[:20, :2]).identity


def test_fields_of_a_mapped_table_are_labels(tmp_path):
    X, y = separated(40)
    table = np.zeros(40, dtype=[("kind", "i4"), ("point", "f8", 2)])
    table["kind"], table["point"] = y == "nerve", X
    np.save(tmp_path / "table.npy", table)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    block = open_points(mapped["point"], label=mapped["kind"]).gathered()
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_array_equal(block.y, y == "nerve")


def test_arrays_in_columns_are_read_from_files(tmp_path):
    X, y = separated(40)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    np.savez(tmp_path / "columns.npz", X=np.asfortranarray(X), y=y)
    for source in (open_points(tmp_path / "columns.npy", label=y), open_points(tmp_path / "columns.npz")):
        source.limited(block_rows=8)
        np.testing.assert_array_equal(source.gathered().X, X)


@pytest.mark.parametrize("form", ["map", "npy", "hdf5", "blocks"])
@pytest.mark.parametrize("dtype", [">f8", ">f4", "f2", "i8", "u1"])
def test_other_numbers_are_read_as_they_are_in_memory(tmp_path, form, dtype):
    X, y = separated(40)
    X = np.abs(X * (10 if np.dtype(dtype).kind in "iu" else 1)).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    source = {
        "map": lambda: open_points(np.load(tmp_path / "X.npy", mmap_mode="r"), label=y),
        "npy": lambda: open_points(tmp_path / "X.npy", label=y),
        "hdf5": lambda: FORMATS["hdf5"](tmp_path, X, y),
        "blocks": lambda: FORMATS["blocks"](tmp_path, X, y),
    }[form]()
    read = source.limited(block_rows=8).gathered().X
    assert read.dtype == (np.float32 if dtype == ">f4" else np.float64)
    np.testing.assert_array_equal(read, X.astype(np.float64))


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("missing.npy", {}, "There is no file missing.npy"),
        ("missing/*.parquet", {}, "There is no Parquet file"),
        (
            "points.xlsx",
            {},
            "points.xlsx has the suffix '.xlsx'; supported suffixes are .npz, .npy, .csv, .tsv, .parquet, .pq, .h5",
        ),
        ("*.xlsx", {}, "points.xlsx has the suffix '.xlsx'; supported suffixes are .npz"),
        ("points.csv", {"basis": "X_pca"}, "basis does not apply to points.csv"),
        ("points.csv", {"weight": "kind"}, "column 'kind', holds no numbers.\nPass weight="),
        ("X.npy", {"points": "u"}, "points does not apply to X.npy; got points='u'"),
        ("X.npy", {"label": "kind"}, "existing .npy files; got 'kind'"),
        ("X.npy", {"label": np.zeros(3)}, r"labels must hold 40 numbers or strings, one per point; got shape \(3,\)"),
        ("X.npy", {"label": np.full(40, b"a")}, r"labels must hold 40 numbers or strings, .* and dtype \|S1"),
        (
            "X.npy",
            {"weight": np.full(40, "a")},
            r"weights must hold 40 numbers, one per point; got shape \(40,\) and dtype <U1",
        ),
        ("number.npy", {}, r"must hold real numbers, one point per row; got shape \(\) and dtype float64"),
        ("words.npy", {}, r"must hold real numbers, one point per row; got shape \(3, 2\) and dtype <U3"),
        ("narrow.npy", {}, r"holds no coordinates: its shape is \(3, 0\)"),
        ("archive.npz", {"points": ["X", "y"]}, "holds arrays, not columns; got points="),
        (np.zeros((3, 2)), {"basis": "X_pca"}, "basis does not apply to"),
        ([(np.zeros((3, 2)), [0, 1, 1])], {"label": "kind"}, "label does not apply to"),
        (7, {}, "Points must be a path, an array on disk or an iterable of blocks"),
    ],
)
def test_unsupported_sources_raise_clear_errors(tmp_path, monkeypatch, source, options, message):
    monkeypatch.chdir(tmp_path)
    X, y = separated(40)
    npy(tmp_path, X, y)
    np.save("number.npy", np.array(1.0))
    np.save("words.npy", np.full((3, 2), "0.1"))
    np.save("narrow.npy", np.zeros((3, 0)))
    np.savez("archive.npz", X=X, y=y)
    (tmp_path / "points.csv").write_text("a,b,kind\n0.1,0.2,x")
    (tmp_path / "points.xlsx").write_text("a,b")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        open_points(source, **options)


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_and_weights_cannot_be_passed_in_addition_to_a_source(tmp_path, labelled):
    X, y = separated(40)
    np.save(tmp_path / "X.npy", X)
    points = open_points(tmp_path / "X.npy", label=y if labelled else None)
    with pytest.raises(ValueError, match="must be passed to open_points; got y in addition"):
        PoincareSVC().fit(points, y)
    with pytest.raises(ValueError, match="got sample_weight in addition"):
        PoincareSVC().fit(points, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="got y and sample_weight in addition"):
        PoincareSVC().fit(points, y, np.ones(40))


def test_arrays_in_memory_need_labels():
    with pytest.raises(ValueError, match="requires y to be passed"):
        PoincareSVC().fit(separated(40)[0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        PoincarePerceptron().fit(separated(40)[0].tolist())


@pytest.mark.filterwarnings("ignore:.*were moved to the largest")
def test_points_outside_are_projected_for_every_source(tmp_path):
    X, y = separated(40)
    X[3] *= 9
    due = PoincareSVC(outside="project").fit(X, y).coef_
    points, model = npy(tmp_path, X, y), PoincareSVC(outside="project")
    np.testing.assert_array_equal(model.fit(points).coef_, due)
    np.testing.assert_allclose(model.fit(points.limited(memory=0)).coef_, due, rtol=1e-10)


NAMES = {
    "npy": "X.npy", "npz": "points.npz", "csv": "points.csv", "parquet": "", "hdf5": "points.h5", "zarr": "points.zarr"
}  # fmt: skip


@pytest.mark.parametrize("form", sorted(NAMES))
def test_sources_detect_changed_files(tmp_path, form):
    X, y = separated(20)
    before = FORMATS[form](tmp_path, X, y).identity
    for path in tmp_path.rglob("*"):
        os.utime(path, ns=(1, 1))
    assert open_points(tmp_path / NAMES[form]).identity != before


@pytest.mark.filterwarnings("ignore:.*still made mistakes")
def test_a_perceptron_continues_from_a_checkpoint_with_identical_bits(tmp_path):
    X, y = separated(40)
    points, stop = parquet(tmp_path, X, y, **IN_BLOCKS), []
    options = {"shuffle": False, "max_epochs": 3, "keep": "best", "calibration": None}
    expected = PoincarePerceptron(**options).fit(points)

    def on_block(rows):
        stop.append(rows)
        if len(stop) == 33:
            raise KeyboardInterrupt

    broken = points.checkpointed(tmp_path / "fit.checkpoint", every=0.0)
    broken.on_block = on_block
    with pytest.raises(KeyboardInterrupt):
        PoincarePerceptron(**options).fit(broken)
    points.on_block = None
    resumed = PoincarePerceptron(**options).fit(points.checkpointed(tmp_path / "fit.checkpoint", every=0.0))
    np.testing.assert_array_equal(resumed.coef_, expected.coef_)


def test_a_missing_file_is_reported_before_labels_that_are_no_names(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere\.csv\.\nCheck the path"):
        PoincareLogisticRegression().fit(str(tmp_path / "nowhere.csv"), np.array(["a", "b"]))
