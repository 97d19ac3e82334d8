"""Predictions written to files equal those in memory, and a file is complete or does not exist."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import NotFittedError

from hyplearn import PoincareLogisticRegression, PoincareSVC, open_points, predict_to_file
from hyplearn.files import write_whole
from support.stored import FORMATS, npy, parquet, separated

METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
X, Y = separated(50)
THREE = np.where(X[:, 1] > 0.3, "lymph nodes", Y)
MODELS = {
    "two": PoincareLogisticRegression().fit(X, Y),
    "three": PoincareLogisticRegression().fit(X, THREE),
    "svc": PoincareSVC(folds=2).fit(X, THREE),
    "object": PoincareLogisticRegression().fit(X, THREE.astype(object)),
    "whole": PoincareLogisticRegression().fit(X, X[:, 0] > 0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_files_contain_the_predictions_for_arrays(tmp_path, name, method):
    model, points = MODELS[name], npy(tmp_path, X, Y, block_rows=7)
    expected = getattr(model, method)(X)
    predict_to_file(model, points, tmp_path / "out.npy", method=method)
    found = np.load(tmp_path / "out.npy")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (expected.dtype if expected.dtype.kind != "O" else np.array(expected.tolist()).dtype)
    predict_to_file(model, points, tmp_path / "out.parquet", method=method)
    table = pq.read_table(tmp_path / "out.parquet")
    columns = [column.to_numpy() for column in table.columns]
    np.testing.assert_array_equal(columns[0] if expected.ndim == 1 else np.stack(columns, axis=1), expected)
    one = "prediction" if method == "predict" else method
    assert table.column_names == ([one] if expected.ndim == 1 else [str(label) for label in model.classes_])


def test_many_rows_match_memory_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    many = rng.uniform(-0.4, 0.4, (23_456, 5)).astype(np.float32)
    model = PoincareLogisticRegression("origin").fit(many[:200], rng.integers(4, size=200))
    np.save(tmp_path / "X.npy", many)
    predict_to_file(model, tmp_path / "X.npy", tmp_path / "out.npy", method="predict_proba")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict_proba(many))


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_format_is_predicted(tmp_path, form):
    predict_to_file(MODELS["two"], FORMATS[form](tmp_path, X, Y), tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), MODELS["two"].predict(X))


def test_columns_match_the_fit_in_any_order_beside_others(tmp_path):
    parquet(tmp_path, X, Y)
    model = PoincareSVC().fit(tmp_path, "kind")
    pd.DataFrame({"v": X[:, 1], "age": 7, "a": "x", "b": "y", "u": X[:, 0]}).to_parquet(tmp_path / "new.parquet")
    predict_to_file(model, tmp_path / "new.parquet", tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), PoincareSVC().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match=r"has the coordinates 'v', 'u'; PoincareSVC was fitted on 'u', 'v'"):
        predict_to_file(model, open_points(tmp_path / "new.parquet", points=["v", "u"], label="a"), tmp_path / "o.npy")


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_an_error_keeps_the_existing_file(tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    path.write_text("earlier")
    outside = X.copy()
    outside[33] = 2.0
    with pytest.raises(
        ValueError,
        match=r"starts at row 30 \(row numbers in this message count from there\): 1 of 10 points lies outside",
    ):
        predict_to_file(MODELS["two"], open_points([outside[:25], outside[25:]]), path, block_rows=10)
    assert path.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_truncated_source_leaves_no_predictions(tmp_path, monkeypatch):
    points = npy(tmp_path, X, Y, block_rows=10)
    predict, calls = MODELS["two"].predict, []

    def cutting(self, rows):
        calls.append(len(rows))
        if len(calls) == 2:
            os.truncate(tmp_path / "X.npy", 200)
        return predict(rows)

    monkeypatch.setattr(PoincareLogisticRegression, "predict", cutting)
    with pytest.raises(OSError, match=r"X\.npy was changed while it was being read"):
        predict_to_file(MODELS["two"], points, tmp_path / "out.npy", block_rows=10)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["X.npy", "y.npy"]


def test_progress_is_printed(tmp_path, capsys):
    predict_to_file(MODELS["two"], X, tmp_path / "out.npy", verbose=True, block_rows=25, every=0.0)
    first, _, last = capsys.readouterr().out.splitlines()
    assert first.startswith("predict: 25 rows, ")
    assert last.startswith("predict: 50 rows, ")


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [
        ("out.csv", {}, ValueError, r"written to a \.npy or \.parquet file; got '.*out\.csv'"),
        ("out.npy", {"method": "score"}, ValueError, "method must be one of 'predict'"),
        ("nowhere/out.npy", {}, FileNotFoundError, "There is no folder .*nowhere"),
        ("folder.npy", {}, ValueError, "is not a regular file, so it cannot be replaced"),
    ],
)
def test_wrong_targets_are_errors(tmp_path, path, options, error, message):
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(error, match=message):
        predict_to_file(MODELS["two"], X, tmp_path / path, **options)


@pytest.mark.parametrize("save", [npy, parquet])
def test_the_input_file_is_not_overwritten(tmp_path, save):
    points = save(tmp_path, X, Y)
    path = points.paths[0]
    before = path.read_bytes()
    (tmp_path / f"link{path.suffix}").symlink_to(path)
    for target in (path, tmp_path / f"link{path.suffix}"):
        with pytest.raises(ValueError, match="is an input file and cannot be overwritten"):
            predict_to_file(MODELS["two"], points, target)
    assert path.read_bytes() == before


def test_dates_are_written(tmp_path):
    days = np.where(Y == "nerve", "2020-01-01", "2021-01-01").astype("datetime64[D]")
    predict_to_file(PoincareSVC().fit(X, days), X, tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), PoincareSVC().fit(X, days).predict(X))


def test_an_unfitted_estimator_raises_not_fitted_error(tmp_path):
    with pytest.raises(NotFittedError, match=r"^This PoincareSVC instance is not fitted yet"):
        predict_to_file(PoincareSVC(), X, tmp_path / "out.npy")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk is shown by Linux's means")
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    opened = Path.open
    monkeypatch.setattr("hyplearn.files._nameless", lambda folder: None)
    monkeypatch.setattr(Path, "open", lambda path, mode="r", **rest: opened(Path("/dev/full"), "r+b", buffering=0))
    with pytest.raises(OSError, match=r"No space left on device: '.*out\.npy'"):
        predict_to_file(MODELS["two"], X, tmp_path / "out.npy")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_method_takes_a_source_or_a_path(tmp_path, name, method):
    function, points = getattr(MODELS[name], method), npy(tmp_path, X, Y, block_rows=7)
    for source in (points, tmp_path / "X.npy", str(tmp_path / "X.npy")):
        np.testing.assert_array_equal(function(source), function(X))


def test_labels_of_several_types_cannot_be_written(tmp_path):
    class Mixed:
        classes_ = np.array(["a", 1], dtype=object)

        def predict(self, X):
            return np.full(len(X), 1, dtype=object)

    with pytest.raises(ValueError, match="Labels that are objects other than strings cannot be written"):
        predict_to_file(Mixed(), X, tmp_path / "out.npy")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_no_file(tmp_path, suffix, number):
    np.save(tmp_path / "X.npy", X)
    code = f"""
import os, signal
from hyplearn import PoincareLogisticRegression, open_points, predict_to_file

class Killed(PoincareLogisticRegression):
    calls = 0

    def predict(self, X):
        self.calls += 1
        if self.calls == 2:
            os.kill(os.getpid(), {int(number)})
        return super().predict(X)

model = Killed().fit([[0.1, 0.2], [-0.1, 0.2]], ["a", "b"])
os.chdir({str(tmp_path)!r})
predict_to_file(model, "X.npy", "out{suffix}", block_rows=10)
"""
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == -number, found.stderr
    write_whole(tmp_path / "next", b"")  # the next write removes temporary files that were left behind
    assert {path.name for path in tmp_path.iterdir()} == {"X.npy", "next"}
