"""Truncated, changed, damaged or removed files: the error names them, no model results, and the process continues."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, open_points
from support.stored import FORMATS, hdf5, npy, npz, parquet, separated, zarr

# Formats that are read during the fit; compressed arrays are loaded when they are opened.
ON_DISK = sorted(set(FORMATS) - {"blocks", "packed"})
NAMES = {
    "npy": "X.npy", "npz": "points.npz", "packed": "packed.npz", "csv": "points.csv", "parquet": "*.parquet",
    "hdf5": "points.h5", "zarr": "points.zarr",
}  # fmt: skip
IN_BLOCKS = {"block_rows": 8, "memory": 0}


def largest(folder):
    """File or chunk that contains the points."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    chunks = [path for path in files if "/X/c/" in str(path)]
    return sorted(chunks)[-1] if chunks else max(files, key=lambda path: (path.name != "y.npy", path.stat().st_size))


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def touch(path):
    os.utime(path, ns=(1, 1))


def replace(path):
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    os.replace(copy, path)


@pytest.mark.parametrize("harm", [cut, touch, replace, Path.unlink])
@pytest.mark.parametrize("form", ON_DISK)
def test_a_file_that_changes_during_a_fit_gives_an_error_that_names_it_and_no_model(tmp_path, form, harm):
    points = FORMATS[form](tmp_path, *separated(40), **IN_BLOCKS)
    path, calls = largest(tmp_path), []

    def on_block(rows):
        calls.append(rows)
        if len(calls) == 12:  # in the third pass
            harm(path)

    points.on_block = on_block
    model = PoincareLogisticRegression()
    with pytest.raises((OSError, ValueError)) as caught:
        model.fit(points)
    named = tmp_path / "points.zarr" if form == "zarr" else path
    assert str(named) in str(caught.value)
    assert "while it was being read" in str(caught.value)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("form", ["npy", "npz", "packed", "parquet", "hdf5", "zarr"])
def test_a_truncated_file_raises_a_clear_error(tmp_path, form):
    FORMATS[form](tmp_path, *separated(40))
    cut(largest(tmp_path))
    with pytest.raises((OSError, ValueError), match=NAMES[form].replace("*", "part-.")):
        open_again(tmp_path, form).gathered()


def open_again(folder, form):
    return open_points(Path(folder, NAMES[form]), **({"label": "kind"} if form == "parquet" else {}), **IN_BLOCKS)


@pytest.mark.parametrize("save", [parquet, npz, hdf5])
def test_no_flipped_byte_of_the_points_goes_unnoticed(tmp_path, save):
    X, y = separated(40)
    save(tmp_path, X, y)
    path = sorted(tmp_path.iterdir())[0]
    content = path.read_bytes()
    needle = X[:1, 0].tobytes() if save is parquet else X[:1].tobytes()
    place = content.index(needle)
    for k in range(0, len(needle), 3):
        path.write_bytes(content[: place + k] + bytes([content[place + k] ^ 0x10]) + content[place + k + 1 :])
        with pytest.raises((OSError, ValueError), match=path.name):
            PoincarePerceptron().fit(open_again(tmp_path, save.__name__))
    path.write_bytes(content)
    np.testing.assert_array_equal(open_again(tmp_path, save.__name__).gathered().X, X)


def test_a_missing_zarr_chunk_is_not_read_as_zeros(tmp_path):
    zarr(tmp_path, *separated(40))
    largest(tmp_path).unlink()
    with pytest.raises(ValueError, match=r"points\.zarr, /X: 1 of 7 chunks are missing, .* read as the fill value"):
        open_points(tmp_path / "points.zarr")


def in_shards(folder, missing="", **arrays):
    """Arrays in chunks of 6 rows, four chunks per shard; two chunks of one array are missing."""
    zarr = pytest.importorskip("zarr")

    group = zarr.open_group(str(Path(folder, "points.zarr")), mode="w")
    for name, array in arrays.items():
        rest, dtype = array.shape[1:], str if array.dtype.kind == "U" else array.dtype
        stored = group.create_array(name, shape=array.shape, dtype=dtype, chunks=(6, *rest), shards=(24, *rest))
        for start in range(0, len(array), 6):
            if name != missing or start not in (6, 12):
                stored[start : start + 6] = array[start : start + 6]
    return open_points(Path(folder, "points.zarr"), **IN_BLOCKS)


@pytest.mark.parametrize("missing", ["X", "y"])
@pytest.mark.parametrize("labels", [np.int64, np.uint8, bool, str])
def test_missing_chunks_within_a_shard_are_not_read_as_zeros(tmp_path, missing, labels):
    X, y = separated(40)
    points, model = in_shards(tmp_path, missing, X=X, y=(y == "nerve").astype(labels)), PoincareSVC()
    with pytest.raises(ValueError, match=rf"points.zarr, /{missing}: some chunks of the rows \d+ to \d+ are missing"):
        model.fit(points)
    assert not hasattr(model, "coef_")


def test_shards_that_rows_do_not_fill_are_read(tmp_path):
    X, y = separated(40)
    block = in_shards(tmp_path, X=X, y=y).gathered()
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_array_equal(block.y, y)


def test_unwritten_hdf5_rows_are_not_read_as_zeros(tmp_path):
    import h5py

    layout = h5py.VirtualLayout((40, 2), dtype="f8")
    layout[:] = h5py.VirtualSource(tmp_path / "missing.h5", "X", (40, 2))
    with h5py.File(tmp_path / "points.h5", "w") as file:
        file.create_dataset("chunked", (40, 2), chunks=(8, 2), dtype="f8")[:8] = 0.1
        file.create_dataset("whole", (40, 2), dtype="f8")
        file.create_virtual_dataset("virtual", layout)
    for name, message in {
        "chunked": "4 of 5 chunks",
        "whole": "1 of 1 chunks",
        "virtual": "is stored in other files",
    }.items():
        with pytest.raises(ValueError, match=f"points.h5, /{name}.*{message}"):
            open_points(tmp_path / "points.h5", points=name)


def test_a_dataset_of_a_closed_file_raises_a_clear_error(tmp_path):
    import h5py

    X, y = separated(40)
    hdf5(tmp_path, X, y)
    with h5py.File(tmp_path / "points.h5") as file:
        dataset = file["X"]
    with pytest.raises(ValueError, match="The file of an HDF5 dataset is closed"):
        PoincareSVC().fit(dataset, y)


def test_an_earlier_model_survives_a_fit_that_fails(tmp_path):
    X, y = separated(40)
    model = PoincareSVC().fit(X, y)
    before = dict(vars(model))
    outside = X.copy()
    outside[20] = 2.0
    for bad in ([(outside, y)], [(X, np.zeros(40))]):
        with pytest.raises(ValueError, match=r"outside|2 classes"):
            model.fit(open_points(bad, memory=0))
        assert vars(model) == before


def test_a_stream_that_fails_leaves_the_estimator_as_it_was():
    X, y = separated(40)
    model = PoincarePerceptron().partial_fit(X, y, classes=np.unique(y))
    before = model.coef_.copy(), model._perceptrons[0].counts.copy()
    with pytest.raises(ValueError, match="differs from the first block"):
        model.partial_fit([(X, y), (X, y[:3])])
    np.testing.assert_array_equal(model.coef_, before[0])
    np.testing.assert_array_equal(model._perceptrons[0].counts, before[1])


def test_an_error_in_a_stream_names_the_source_and_the_rows():
    X, y = separated(40)
    X[33] = np.nan
    blocks = [(X[:20], y[:20]), (X[20:], y[20:])]
    with pytest.raises(
        ValueError, match="the source of blocks holds NaN or infinite coordinates; the first is nan in row 33"
    ):
        PoincarePerceptron().partial_fit(blocks, classes=np.unique(y))
    with pytest.raises(ValueError, match=r"^The first call of partial_fit needs all classes"):
        PoincarePerceptron().partial_fit(blocks)


def test_the_proof_that_no_margin_exists_stays(tmp_path):
    X = np.array([[0.1, 0.0], [-0.1, 0.0], [0.3, 0.0]])
    model = PoincareSVC(np.zeros(2), C=np.inf)
    with pytest.raises(ValueError, match="dual_coef_ proves it"):
        model.fit(open_points([(X, np.array([0, 0, 1]))], memory=0))
    assert model.status_.tolist() == ["infeasible"]
    assert model.dual_coef_.any()


MAPPED = """
import os, sys
import numpy as np
from hyplearn import PoincareSVC, open_points
from hyplearn.data.arrays import ArrayFile
n, path, order = 2**14, sys.argv[1], sys.argv[2]
X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2)).astype(np.float32)
np.save(path, np.asarray(X, order=order))
read, calls = ArrayFile.read, []
def reading(self, start, stop):
    calls.append(start)
    if len(calls) == 12:
        os.truncate(path, 4096)
    return read(self, start, stop)
ArrayFile.read = reading
try:
    points = open_points(np.load(path, mmap_mode="r"), label=X[:, 0] > 0, block_rows=2**11, memory=0)
    PoincareSVC("origin").fit(points)
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_map_whose_file_shrinks_does_not_crash_the_process(tmp_path, order):
    path = tmp_path / "points.npy"
    run = subprocess.run([sys.executable, "-c", MAPPED, str(path), order], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert f"{path} was changed while it was being read" in run.stdout


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser reads everything")
@pytest.mark.parametrize("save", [npy, parquet, hdf5])
def test_a_file_that_may_not_be_read_is_named(tmp_path, save):
    save(tmp_path, *separated(40))
    largest(tmp_path).chmod(0)
    with pytest.raises((OSError, ValueError), match=str(largest(tmp_path))):
        open_again(tmp_path, save.__name__)
