"""Columns of Parquet files: which are read, with which types, and the errors for the others."""

import os
import re
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hyplearn import open_points
from support.stored import separated

X, Y = separated(6)
FRAME = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": Y})


def written(folder, *frames):
    for number, frame in enumerate(frames):
        frame.to_parquet(folder / f"{number}.parquet")
    return folder


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.Series(Y), "U"),
        (pd.Categorical(Y), "U"),
        (pd.Series(np.arange(6) % 2, dtype="int8"), "i"),
        (pd.Categorical(np.arange(6) % 3), "i"),
        (np.arange(6) % 2 == 0, "b"),
        (np.arange(6) / 2, "f"),
    ],
)
def test_labels_keep_their_type(tmp_path, labels, kind):
    y = open_points(written(tmp_path, FRAME.assign(kind=labels)), label="kind").gathered().y
    assert y.dtype.kind == kind
    np.testing.assert_array_equal(y, np.asarray(labels))


@pytest.mark.parametrize("kind", ["string", "category"])
def test_labels_that_differ_by_a_trailing_nul_are_distinguished(tmp_path, kind):
    labels = pa.array(["a", "a\0", "b"] * 2)
    labels = labels.dictionary_encode() if kind == "category" else labels
    pq.write_table(pa.Table.from_pandas(FRAME).set_column(2, "kind", labels), tmp_path / "points.parquet")
    assert open_points(tmp_path, label="kind").gathered().y.tolist() == ["a", "a\0", "b"] * 2


def test_categories_may_differ_between_files(tmp_path):
    frames = [FRAME.assign(kind=pd.Categorical(labels)) for labels in (["a"] * 6, [f"b{i}" for i in range(6)])]
    points = open_points(written(tmp_path, *frames))
    assert points.gathered().y.tolist() == ["a"] * 6 + [f"b{i}" for i in range(6)]


@pytest.mark.parametrize("kinds", [("string", "large_string"), ("large_string", "category")])
def test_strings_may_be_stored_in_different_ways(tmp_path, kinds):
    for kind in kinds:
        table = pa.Table.from_pandas(FRAME)
        labels = pa.array(Y.tolist(), "string" if kind == "category" else kind)
        labels = labels.dictionary_encode() if kind == "category" else labels
        pq.write_table(table.set_column(2, "kind", labels), tmp_path / f"{kind}.parquet")
    points = open_points(tmp_path, label="kind")
    assert points.gathered().y.tolist() == [*Y, *Y]
    assert points.values("kind").tolist() == [*Y, *Y]


def test_columns_are_chosen_by_name_and_weights_are_no_coordinates(tmp_path):
    folder = written(tmp_path, FRAME.assign(weight=np.arange(6), batch="x"))
    points = open_points(folder, points=["v", "u"], label="kind", weight="weight")
    assert points.feature_names == ["v", "u"]
    block = points.gathered()
    np.testing.assert_array_equal(block.X, X[:, ::-1])
    np.testing.assert_array_equal(block.weights, np.arange(6.0))
    assert open_points(folder, label="kind", weight="weight").feature_names == ["u", "v"]


@pytest.mark.parametrize("name", ["u", "kind", "weight"])
def test_missing_values_are_named_by_file_and_row(tmp_path, name):
    good = FRAME.assign(weight=1.5)
    bad = good.copy()
    bad[name] = bad[name].astype(object)
    bad.loc[4, name] = None
    bad[name] = bad[name].convert_dtypes() if name != "kind" else bad[name]
    folder = written(tmp_path, good, bad)
    with pytest.raises(
        ValueError, match=rf"1\.parquet, row 4 \(counted from 0\), column '{name}': the value is missing"
    ):
        open_points(folder, label="kind", weight="weight").gathered()


@pytest.mark.parametrize(
    "other", [FRAME.assign(u=FRAME.u.astype("float32")), FRAME.assign(w=0.1), FRAME.assign(kind=np.arange(6))]
)
def test_files_of_different_columns_are_rejected(tmp_path, other):
    with pytest.raises(ValueError, match=r"1\.parquet and .*0\.parquet have different columns: u \("):
        open_points(written(tmp_path, FRAME, other), label="kind")


def test_hidden_files_of_a_folder_are_not_read(tmp_path):
    folder = written(tmp_path, FRAME)
    FRAME.to_parquet(folder / ".0.parquet")
    (folder / "._0.parquet").write_bytes(b"left by another system")
    np.testing.assert_array_equal(open_points(folder).gathered().X, X)


def test_no_file_stays_open(tmp_path):
    resource = pytest.importorskip("resource")
    folder = written(tmp_path, *[FRAME] * 60)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd"))) if os.path.isdir("/proc/self/fd") else 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 30, hard))
    try:
        assert len(open_points(folder).gathered().X) == 360
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_error_for_nested_folders_gives_a_glob_pattern(tmp_path):
    FRAME.to_parquet(tmp_path, partition_cols=["kind"])
    with pytest.raises(FileNotFoundError, match=r"no Parquet file directly in the folder .*\n.*\*\*/\*\.parquet"):
        open_points(tmp_path)


def test_decimals_are_numbers(tmp_path):
    frame = FRAME.assign(v=[Decimal(f"{value:.6f}") for value in X[:, 1]], share=[Decimal("0.5")] * 6)
    points = open_points(written(tmp_path, frame), weight="share")
    assert points.feature_names == ["u", "v"]
    block = points.gathered()
    np.testing.assert_array_equal(block.X, np.column_stack([X[:, 0], np.round(X[:, 1], 6)]))
    np.testing.assert_array_equal(block.weights, np.full(6, 0.5))


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (FRAME, {"label": "cell"}, "has no column 'cell'; its columns are 'u', 'v', 'kind'"),
        (FRAME, {"weight": "kind"}, "column 'kind', holds no numbers.\nPass weight="),
        (FRAME, {"points": ["u", "kind"]}, "holds no numbers in 'kind'"),
        (FRAME.assign(e=list(X)), {"points": "e"}, "column 'e', holds list<"),
        (FRAME.assign(e=list(X))[["e", "kind"]], {}, "column 'e', holds list<"),
        (FRAME.assign(batch="x"), {}, "holds the labels; candidates: 'kind', 'batch'"),
        (FRAME.assign(kind=pd.Timestamp("2020")), {}, "labels must be numbers or strings; got timestamp"),
        (FRAME[:0], {}, "holds no points: it has no rows"),
        (FRAME, {"label": np.zeros(6)}, "Labels and weights must be names of columns or arrays in "),
        (FRAME, {"basis": "X_pca"}, "basis does not apply to"),
    ],
)
def test_wrong_columns_are_errors(tmp_path, frame, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        open_points(written(tmp_path, frame), **options).gathered()


@pytest.mark.parametrize(
    ("module", "path", "message"),
    [
        ("pyarrow.parquet", "0.parquet", r"Reading Parquet needs pyarrow: pip install 'hyplearn\[parquet\]'"),
        ("h5py", "points.h5", r"Reading HDF5 needs h5py: pip install 'hyplearn\[hdf5\]'"),
        ("zarr", "points.zarr", r"Reading zarr stores needs the package zarr: pip install 'hyplearn\[zarr\]'"),
    ],
)
def test_a_missing_library_is_named_in_the_error(tmp_path, monkeypatch, module, path, message):
    written(tmp_path, FRAME)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        open_points(tmp_path / path)
