"""``PointSource.column`` reads any column of a source by name, in every format."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hyplearn import open_points

N = 30
X = np.linspace(-0.5, 0.5, 2 * N).reshape(N, 2)
COUNT = np.arange(N)
DEPTH = np.where(COUNT % 7 == 0, np.nan, COUNT / 4)
KIND = np.array([None if i % 5 == 0 else "abc"[i % 3] for i in range(N)], dtype=object)
TABLE = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "count": COUNT, "depth": DEPTH, "kind": KIND})


def assert_all_there(source):
    assert np.array_equal(source.column("count"), COUNT)
    assert np.array_equal(source.column("depth"), DEPTH, equal_nan=True)
    assert source.column("kind").tolist() == KIND.tolist()


@pytest.mark.parametrize("name", ["points.csv", "points.tsv", "points.parquet"])
def test_a_table_gives_any_column_with_its_missing_values(tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    source = open_points(path, points=["x", "y"], label="count")
    assert_all_there(source)
    assert np.array_equal(source.column("x"), X[:, 0])
    with pytest.raises(ValueError, match=r"has no column 'width'; its columns are 'x', 'y', 'count'"):
        source.column("width")


def test_files_of_a_folder_give_one_column_or_name_the_file_without_it(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE[:10].to_parquet(tmp_path / "a.parquet")
    TABLE[10:].to_parquet(tmp_path / "b.parquet")
    assert_all_there(open_points(tmp_path, points=["x", "y"], label="count"))
    TABLE[10:].drop(columns="depth").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has no column 'depth'"):
        open_points(tmp_path, points=["x", "y"], label="count").column("depth")


def test_an_archive_gives_arrays_of_one_value_per_point(tmp_path):
    np.savez(tmp_path / "points.npz", X=X, depth=DEPTH, kind=np.array(["a", "b"] * 15), few=COUNT[:3])
    source = open_points(tmp_path / "points.npz")
    assert np.array_equal(source.column("depth"), DEPTH, equal_nan=True)
    assert source.column("kind").tolist() == ["a", "b"] * 15
    with pytest.raises(ValueError, match=r"'few' must hold one value for each of the 30 points; got shape \(3,\)"):
        source.column("few")
    with pytest.raises(ValueError, match=r"has no array 'width'"):
        source.column("width")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
def test_cells_give_columns_of_obs_and_genes(tmp_path, form, suffix):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr" if suffix == ".zarr" else "h5py")
    names = [f"cell {i}" for i in range(N)]
    obs = pd.DataFrame({"count": COUNT, "depth": DEPTH, "kind": pd.Categorical(KIND)}, index=names)
    counts = np.random.default_rng(0).poisson(0.5, (N, 4)).astype(np.float32) + 0.25 * np.eye(N, 4)
    var = pd.DataFrame(index=["Gata1", "Klf1", "Mpo", "Elane"])
    cells = anndata.AnnData(form(counts), obs=obs, var=var, obsm={"X_poincare": X})
    path = tmp_path / f"cells{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AnnData warns about the zarr version that it writes
        cells.write_h5ad(path) if suffix == ".h5ad" else cells.write_zarr(path)
    source = open_points(path)
    assert_all_there(source)
    assert np.array_equal(source.column("Mpo"), counts[:, 2])
    with pytest.raises(
        ValueError, match="'Spi1' is neither a column of obs nor the name of exactly one gene; obs holds"
    ):
        source.column("Spi1")


def test_sources_without_names_say_so(tmp_path):
    np.save(tmp_path / "points.npy", X)
    for source in (open_points(tmp_path / "points.npy"), open_points([(X, COUNT)])):
        with pytest.raises(ValueError, match="has no named columns; got 'depth'"):
            source.column("depth")
