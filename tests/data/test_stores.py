"""Reading named arrays of HDF5 files and zarr stores, AnnData files, and NumPy archives."""

import os

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest

from hyplearn import PoincareLogisticRegression, open_points
from hyplearn.datasets import load_points
from support.stored import separated

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2 data")  # AnnData's default, which will change
X, Y = separated(12)
COLUMNS = {
    "kind": pd.Categorical(Y),
    "text": Y,
    "late": np.arange(12) > 4,
    "weight": np.arange(1.0, 13.0),
    "gaps": pd.Categorical([None, *Y[1:]]),
}


@pytest.fixture(params=["h5ad", "zarr"])
def cells(request, tmp_path):
    path = tmp_path / f"cells.{request.param}"
    obs = pd.DataFrame(COLUMNS, index=[f"cell {i}" for i in range(12)])
    data = anndata.AnnData(np.ones((12, 1), dtype=np.float32), obs=obs, obsm={"X_poincare": X, "X_pca": 9 * X})
    pytest.importorskip("zarr" if request.param == "zarr" else "h5py")
    data.write_h5ad(path) if request.param == "h5ad" else data.write_zarr(path)
    return path


@pytest.mark.parametrize("label", ["kind", "text", "late"])
def test_an_embedding_of_anndata_with_a_column_of_its_observations(cells, label):
    block = open_points(cells, basis="X_poincare", label=label, weight="weight").gathered()
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_array_equal(block.y, np.asarray(COLUMNS[label]))
    np.testing.assert_array_equal(block.weights, COLUMNS["weight"])
    model = PoincareLogisticRegression().fit(open_points(cells, basis="X_poincare", label=label))
    np.testing.assert_array_equal(model.coef_, PoincareLogisticRegression().fit(X, np.asarray(COLUMNS[label])).coef_)


def test_the_default_embedding_of_anndata_is_x_poincare_and_points_names_another(cells):
    for options in ({}, {"basis": "poincare"}, {"points": "X_poincare"}, {"points": "poincare"}):
        np.testing.assert_array_equal(open_points(cells, label="kind", **options).gathered().X, X)
    np.testing.assert_array_equal(open_points(cells, points="X_pca", label="kind").gathered().X, 9 * X)
    np.testing.assert_array_equal(load_points(cells, points="pca", label="kind")[0], 9 * X)


def test_names_of_cells_are_names_of_rows(cells):
    assert open_points(cells).row_names().tolist() == [f"cell {i}" for i in range(12)]


def test_several_embeddings_of_anndata_of_which_none_is_the_default_are_an_error(tmp_path):
    cells = anndata.AnnData(np.ones((12, 1), dtype=np.float32), obsm={"X_umap": X, "X_pca": 9 * X})
    cells.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(
        ValueError, match=r"Cannot tell which key of obsm of .* holds the embedding; candidates: 'X_pca'"
    ):
        open_points(tmp_path / "cells.h5ad")


@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_masked_columns_are_read_and_missing_values_are_reported(tmp_path, dtype, suffix):
    path = tmp_path / f"cells.{suffix}"
    whole = pd.array([1, 0] * 6, dtype=dtype)
    gaps = whole.copy()
    gaps[7] = pd.NA
    obs = pd.DataFrame({"whole": whole, "gaps": gaps}, index=[str(i) for i in range(12)])
    cells = anndata.AnnData(obs=obs, obsm={"X_poincare": X})
    pytest.importorskip("zarr" if suffix == "zarr" else "h5py")
    cells.write_h5ad(path) if suffix == "h5ad" else cells.write_zarr(path)
    np.testing.assert_array_equal(load_points(path, label="whole")[1], [1, 0] * 6)
    with pytest.raises(ValueError, match=r"row 7 \(counted from 0\) has no value"):
        load_points(path, label="gaps")


def test_strings_with_a_mask_are_names_genes_labels_and_categories(tmp_path):  # as AnnData writes them with pandas 3
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file["obsm/X_poincare"], file["X"] = X, np.arange(24.0).reshape(12, 2)
        for place, strings in {
            "obs/_index": [f"cell {i}" for i in range(12)],
            "obs/text": Y.tolist(),
            "obs/kind/categories": np.unique(Y).tolist(),
            "obs/gaps": Y.tolist(),
            "var/_index": ["Gata1", "Klf1"],
        }.items():
            file[f"{place}/values"], file[f"{place}/mask"] = strings, np.zeros(len(strings), dtype=bool)
        file["obs/kind/codes"] = np.unique(Y, return_inverse=True)[1]
        file["obs/gaps/mask"][7] = True
        file["obs"].attrs["_index"] = file["var"].attrs["_index"] = "_index"
        file["obs/short/values"], file["obs/short/mask"] = np.arange(12), np.zeros(11, dtype=bool)
    for label in ("text", "kind"):
        np.testing.assert_array_equal(load_points(tmp_path / "cells.h5ad", label=label)[1], Y)
    points = open_points(tmp_path / "cells.h5ad", label="text")
    assert points.row_names().tolist() == [f"cell {i}" for i in range(12)]
    np.testing.assert_array_equal(points.column("Klf1"), np.arange(1.0, 24.0, 2))
    with pytest.raises(ValueError, match=r"row 7 \(counted from 0\) has no value"):
        load_points(tmp_path / "cells.h5ad", label="gaps")
    with pytest.raises(ValueError, match=r"/obs/short/mask has shape \(11,\), but the values have shape \(12,\)"):
        load_points(tmp_path / "cells.h5ad", label="short")


def test_categorical_columns_of_old_anndata_files_are_rejected(tmp_path):
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file["obsm/X_poincare"], file["obs/kind"] = X, np.zeros(12, dtype=np.int8)
        file["obs/kind"].attrs["categories"] = "a reference to names"
    with pytest.raises(ValueError, match=r"was written by AnnData before 0\.8"):
        open_points(tmp_path / "cells.h5ad", label="kind")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"basis": "X_umap"}, "has no 'X_umap'; it holds"),
        ({"basis": "X_poincare", "label": "cell"}, "has no 'cell'; it holds"),
        ({"basis": "X_poincare", "label": "gaps"}, r"row 0 \(counted from 0\) has no value"),
        ({"points": "obsm"}, "obsm is not an array"),
        ({"basis": "X_poincare", "label": "__categories"}, "has no '__categories'"),
    ],
)
def test_wrong_names_and_missing_labels_of_anndata_are_errors(cells, options, message):
    with pytest.raises(ValueError, match=message):
        open_points(cells, **options).gathered()


def test_files_that_are_not_of_anndata_have_no_basis(tmp_path):
    with h5py.File(tmp_path / "points.h5", "w") as file:
        file["first"], file["second"], file["y"] = X, X, np.arange(12)
    with pytest.raises(ValueError, match="is not an AnnData file: it has no 'obsm'"):
        open_points(tmp_path / "points.h5", basis="X_poincare")
    with pytest.raises(
        ValueError, match=r"Cannot tell which array of .* holds the points; candidates: 'first', 'second'"
    ):
        open_points(tmp_path / "points.h5")
    block = open_points(tmp_path / "points.h5", points="second", label="y").gathered()
    np.testing.assert_array_equal(block.y, np.arange(12))


def test_archives_that_are_compressed_are_read_into_memory(tmp_path):
    np.savez_compressed(tmp_path / "points.npz", X=X, y=Y)
    points = open_points(tmp_path / "points.npz")
    os.truncate(tmp_path / "points.npz", 0)
    block = points.gathered()
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_array_equal(block.y, Y)
    np.savez(tmp_path / "points.npz", X=X, y=Y)
    with pytest.raises(ValueError, match="has no array 'kind'; it contains 'X', 'y'"):
        open_points(tmp_path / "points.npz", label="kind")


@pytest.mark.parametrize(
    ("name", "values"),
    [("codes", np.full(4, 0.5)), ("codes", np.full(4, b"a")), ("categories", np.ones((2, 2))), ("categories", 7)],
)
def test_categorical_columns_with_impossible_parts_are_errors(tmp_path, name, values):
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file["obsm/X_poincare"] = np.zeros((4, 2))
        file["obs/label/codes"], file["obs/label/categories"] = np.arange(4) % 2, np.array([3, 5])
        del file[f"obs/label/{name}"]
        file[f"obs/label/{name}"] = values
    with pytest.raises(ValueError, match=f"label/{name} must be a one-dimensional array of .*; got shape"):
        load_points(tmp_path / "cells.h5ad")


def test_a_zarr_array_of_more_chunks_than_can_be_listed_is_an_error(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "points.zarr"), mode="w")
    group.create_array("X", shape=(2**40, 2), chunks=(1000, 2), dtype="f8")
    with pytest.raises(ValueError, match="has 1099511628 chunks; at most 1000000 are supported"):
        load_points(tmp_path / "points.zarr")
