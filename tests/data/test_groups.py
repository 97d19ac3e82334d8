"""Arrays of HDF5 files and zarr stores by name, AnnData, and archives of NumPy."""

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest

from hyplearn import PoincareLogisticRegression, open_points
from support.stored import separated

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2 data")  # AnnData's default, to be changed
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "must leave no doubt about its basis"),
        ({"basis": "X_umap"}, "has no 'X_umap'; it holds"),
        ({"basis": "X_poincare", "label": "cell"}, "has no 'cell'; it holds"),
        ({"basis": "X_poincare", "label": "gaps"}, "row 0, counted from 0, has no label"),
        ({"points": "obsm"}, "is neither an array nor a categorical column"),
    ],
)
def test_wrong_names_and_missing_labels_of_anndata_are_errors(cells, options, message):
    with pytest.raises(ValueError, match=message):
        open_points(cells, **options).gathered()


def test_files_that_are_not_of_anndata_have_no_basis(tmp_path):
    with h5py.File(tmp_path / "points.h5", "w") as file:
        file["first"], file["second"], file["y"] = X, X, np.arange(12)
    with pytest.raises(ValueError, match="is not of AnnData"):
        open_points(tmp_path / "points.h5", basis="X_poincare")
    with pytest.raises(ValueError, match="must leave no doubt about its points; candidates: 'first', 'second'"):
        open_points(tmp_path / "points.h5")
    block = open_points(tmp_path / "points.h5", points="second", label="y").gathered()
    np.testing.assert_array_equal(block.y, np.arange(12))


def test_archives_that_are_compressed_say_what_to_save(tmp_path):
    np.savez_compressed(tmp_path / "points.npz", X=X, y=Y)
    with pytest.raises(ValueError, match=r"is compressed, so that X\.npy cannot be read row by row"):
        open_points(tmp_path / "points.npz")
    np.savez(tmp_path / "points.npz", X=X, y=Y)
    with pytest.raises(ValueError, match="has no array 'kind'; it holds 'X', 'y'"):
        open_points(tmp_path / "points.npz", label="kind")
