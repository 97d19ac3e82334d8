"""Files that are small on disk but are, or claim to be, huge in memory are rejected before memory is allocated."""

import io
import zipfile
import zlib

import numpy as np
import pytest

from hyplearn import open_points
from hyplearn.datasets import load_points
from hyplearn.files import check_unpacked

ZEROS = np.zeros((1_000_000, 2))
COPIES = 68  # more than a gibibyte of zeros in all


def npz(folder):
    archive = zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("X.npy", "w", force_zip64=True) as array:
        shape = (COPIES * len(ZEROS), 2)
        np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": shape})
        for _ in range(COPIES):
            array.write(ZEROS)
    return folder / "bomb.npz"


def parquet(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"u": ZEROS[:, 0], "v": ZEROS[:, 1]})
    with pq.ParquetWriter(folder / "bomb.parquet", table.schema) as writer:
        for _ in range(COPIES):
            writer.write_table(table)
    return folder / "bomb.parquet"


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "bomb.h5", "w") as file:
        data = file.create_dataset("X", (COPIES * len(ZEROS), 2), "f8", compression="gzip", chunks=ZEROS.shape)
        chunk = zlib.compress(ZEROS, 9)
        for copy in range(COPIES):
            data.id.write_direct_chunk((copy * len(ZEROS), 0), chunk)
    return folder / "bomb.h5"


@pytest.fixture(scope="module")
def bomb(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("bombs"))


@pytest.mark.parametrize("bomb", [npz, parquet, hdf5], indirect=True)
def test_a_file_that_unpacks_to_a_hundred_times_its_size_is_rejected(bomb):
    assert COPIES * ZEROS.nbytes > max(2**30, 100 * bomb.stat().st_size)
    with pytest.raises(
        ValueError, match=r"bomb\.\w+.* unpacks to 1\.0 GiB, [\d,]+ times its size; (.|\n)*\n\w+ "
    ) as caught:
        load_points(bomb, labelled=False)
    assert "savez" in str(caught.value) or "open_points" in str(caught.value)


@pytest.mark.parametrize("bomb", [parquet, hdf5], indirect=True)
def test_a_rejected_file_can_be_read_in_blocks(bomb):
    blocks = open_points(bomb).blocks()
    assert len(next(iter(blocks)).X) > 0


def test_large_files_with_normal_compression_are_accepted():
    check_unpacked("points.npz", 2**40, 2**34, "")
    with pytest.raises(ValueError, match="unpacks to 1024"):
        check_unpacked("points.npz", 2**40, 2**33, "")


def test_small_files_may_have_any_compression():
    check_unpacked("points.npz", 2**30, 1, "")
    with pytest.raises(ValueError, match="unpacks to 1"):
        check_unpacked("points.npz", 2**30 + 1, 1, "")


def test_points_with_normal_compression_are_read(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 2))
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
