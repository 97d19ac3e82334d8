"""Files that are small on disk but are, or claim to be, huge in memory are rejected before memory is allocated."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from hyplearn import files, open_points
from hyplearn.datasets import load_points


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    """Reduce the limit from a gibibyte to a megabyte."""
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 2**20)


ZEROS = np.zeros((100_000, 2))


def npz(folder):
    np.savez_compressed(folder / "bomb.npz", X=ZEROS)
    return folder / "bomb.npz"


def parquet(folder):
    pytest.importorskip("pyarrow")
    pd.DataFrame(ZEROS, columns=["u", "v"]).to_parquet(folder / "bomb.parquet")
    return folder / "bomb.parquet"


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "bomb.h5", "w") as file:
        file.create_dataset("X", data=ZEROS, compression="gzip", compression_opts=9, chunks=(10_000, 2))
    return folder / "bomb.h5"


@pytest.mark.parametrize("save", [npz, parquet, hdf5])
def test_a_file_that_unpacks_to_a_hundred_times_its_size_is_rejected(tmp_path, save):
    path = save(tmp_path)
    assert ZEROS.nbytes > 100 * path.stat().st_size
    with pytest.raises(
        ValueError, match=r"bomb\.\w+.* unpacks to 0\.0 GiB, [\d,]+ times its size; (.|\n)*\n\w+ "
    ) as caught:
        load_points(path, labelled=False)
    assert "savez" in str(caught.value) or "open_points" in str(caught.value)


@pytest.mark.parametrize("save", [parquet, hdf5])
def test_a_rejected_file_can_be_read_in_blocks(tmp_path, save):
    blocks = open_points(save(tmp_path)).blocks()
    assert len(next(iter(blocks)).X) > 0


def test_points_with_normal_compression_are_read(tmp_path):
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    np.savez_compressed(tmp_path / "points.npz", X=X)
    assert np.array_equal(load_points(tmp_path / "points.npz")[0], X)


@pytest.mark.parametrize("n", [10, 10**6, 10**15])
def test_a_header_with_a_wrong_shape_is_reported_as_damage(tmp_path, n):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (n, 2)})
    with zipfile.ZipFile(tmp_path / "lie.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + np.zeros((5, 2)).tobytes())
    with pytest.raises(
        ValueError, match=r"lie\.npz, array 'X' is damaged: an array of shape \(\d+, 2\) needs \d+ bytes"
    ):
        load_points(tmp_path / "lie.npz")
