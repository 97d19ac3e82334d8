"""Poincaré maps of AnnData objects: the stored results, round trips through files, and rejected input."""

import numpy as np
import pytest
from scipy import sparse

from hyplearn.embedding import PoincareMap
from hyplearn.geometry import gap
from support.stored import assert_same

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402

QUICK = {"n_neighbors": 5, "tol": 1e-3}
X = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)


@pytest.fixture
def cells():
    made = anndata.AnnData(X[:, :2].copy(), obsm={"X_pca": X.copy()})
    made.obs_names = [f"cell{k}" for k in range(40)]
    return made


def test_points_match_the_map_and_parameters_are_stored_with_them(cells):
    assert hs.tl.poincare_map(cells, root="cell7", **QUICK) is None
    model = PoincareMap(n_neighbors=5, tol=1e-3, root=7, random_state=0).fit(X)
    assert np.array_equal(cells.obsm["X_poincare"], model.embedding_)
    assert np.all(cells.obsm["X_poincare"][7] == 0)
    about = cells.uns["poincare_map"]
    assert (about["loss"], about["n_iter"]) == (model.loss_, model.n_iter_)
    assert about["params"]["root"] == "cell7"
    assert about["params"]["use_rep"] == "X_pca"
    assert about["params"]["n_neighbors"] == 5
    assert about["params"]["tol"] == 1e-3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_backed_matrix_is_read(tmp_path, form):
    anndata.AnnData(form(X)).write_h5ad(tmp_path / "cells.h5ad")
    cells = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    hs.tl.poincare_map(cells, use_rep="X", **QUICK)
    model = PoincareMap(n_neighbors=5, tol=1e-3, random_state=0).fit(X)
    assert np.array_equal(cells.obsm["X_poincare"], model.embedding_)
    cells.file.close()


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::UserWarning:anndata", "ignore::FutureWarning")
def test_all_results_round_trip_through_files(cells, tmp_path, form):
    hs.tl.poincare_map(cells, sigma=None, **QUICK)
    pytest.importorskip("zarr" if form == "zarr" else "h5py")
    getattr(cells, f"write_{form}")(tmp_path / f"cells.{form}")
    back = getattr(anndata, f"read_{form}")(tmp_path / f"cells.{form}")
    assert np.array_equal(back.obsm["X_poincare"], cells.obsm["X_poincare"])
    assert_same(back.uns["poincare_map"], cells.uns["poincare_map"])
    assert "sigma" not in back.uns["poincare_map"]["params"]  # it is None, which HDF5 cannot store


def test_a_map_can_be_classified_and_drawn(cells):
    hs.tl.poincare_map(cells, **QUICK)
    cells.obs["kind"] = np.where(X[:, 0] > 0, "up", "down")
    hs.tl.classify(cells, "kind")
    assert np.mean(cells.obs["kind_predicted"] == cells.obs["kind"]) > 0.7


def test_another_key_keeps_the_first_map(cells):
    hs.tl.poincare_map(cells, **QUICK)
    first = cells.obsm["X_poincare"].copy()
    copied = hs.tl.poincare_map(cells, n_components=3, key_added="X_ball", copy=True, **QUICK)
    assert copied.obsm["X_ball"].shape == (40, 3)
    assert copied.uns["X_ball"]["params"]["n_components"] == 3
    assert "X_ball" not in cells.obsm
    assert np.array_equal(copied.obsm["X_poincare"], first)
    assert copied.uns["poincare_map"]["params"]["n_components"] == 2


def test_the_matrix_itself_may_be_sparse(cells):
    hs.tl.poincare_map(cells, use_rep="X", **QUICK)
    dense = cells.obsm["X_poincare"].copy()
    cells.X = sparse.csr_matrix(cells.X)
    hs.tl.poincare_map(cells, use_rep="X", root=3, **QUICK)
    assert gap(cells.obsm["X_poincare"]).min() > 0
    assert not np.array_equal(cells.obsm["X_poincare"], dense)
    hs.tl.poincare_map(cells, use_rep="X", **QUICK)
    assert np.array_equal(cells.obsm["X_poincare"], dense)


def spoilt(cells):
    cells.obsm["X_pca"][3, 1] = np.nan


def without_components(cells):
    del cells.obsm["X_pca"]


def without_matrix(cells):
    cells.X = None


@pytest.mark.parametrize(
    ("spoil", "arguments", "message"),
    [
        (without_components, {}, "(?s)obsm has no 'X_pca'; it is empty\\.\nRun scanpy.pp.pca first, or pass use_rep="),
        (None, {"use_rep": "X_scvi"}, "obsm has no 'X_scvi'; it holds 'X_pca'"),
        (without_matrix, {"use_rep": "X"}, "has no X"),
        (spoilt, {}, "NaN or infinite coordinates; the first is row"),
        (None, {"root": "stem"}, r"name of a cell; got 'stem' \(the first cells are called .*'cell0', 'cell1'"),
        (None, {"root": 40}, "root must be a row from 0 to 39, .* got 40"),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_written(cells, spoil, arguments, message):
    if spoil:
        spoil(cells)
    before = set(cells.obsm), set(cells.uns)
    with pytest.raises((ValueError, KeyError), match=message):
        hs.tl.poincare_map(cells, **{**QUICK, **arguments})
    assert (set(cells.obsm), set(cells.uns)) == before


def test_objects_other_than_anndata_raise_a_clear_error():
    with pytest.raises(TypeError, match="must be an AnnData object; got ndarray"):
        hs.tl.poincare_map(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'perplexity'"):
        hs.tl.poincare_map(anndata.AnnData(X), use_rep="X", perplexity=30)
