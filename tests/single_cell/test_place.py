"""New cells in the ball of an atlas: the same genes and normalisation, the same map, or an error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402
from hyplearn.embedding import PoincareMap  # noqa: E402

QUICK = {"n_neighbors": 12, "tol": 1e-3}
GENES = [f"gene{k}" for k in range(8)]


def cells(n, seed, shift=0.0):
    """Two kinds of cells in log-normalised values of eight genes."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(n) % 2
    X = np.abs(rng.standard_normal((n, 8)) + 2.5 * kinds[:, None] * (np.arange(8) < 4) + shift).astype(np.float32)
    obs = pd.DataFrame({"kind": np.array(["a", "b"])[kinds]}, index=[f"c{seed}_{k}" for k in range(n)])
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=GENES))


def with_components(adata, n=3):
    """Add principal components in scanpy's format."""
    centred = adata.X - adata.X.mean(axis=0)
    loadings = np.linalg.svd(centred, full_matrices=False)[2][:n].T
    adata.varm["PCs"] = loadings
    adata.obsm["X_pca"] = (centred @ loadings).astype(np.float32)
    return adata


@pytest.fixture
def atlas():
    made = with_components(cells(60, 0))
    hs.tl.poincare_map(made, **QUICK)
    return made


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_new_cells_are_placed_by_the_atlas_s_loadings_and_map(atlas, form):
    query = cells(20, 1)
    features = (query.X - atlas.X.mean(axis=0)) @ atlas.varm["PCs"]
    query.X = form(query.X)
    hs.tl.place(atlas, query)
    model = PoincareMap(n_neighbors=12, tol=1e-3, random_state=0).fit(atlas.obsm["X_pca"])
    assert np.allclose(query.obsm["X_poincare"], model.transform(features), atol=1e-4)


def test_genes_are_matched_by_name(atlas):
    query = cells(20, 1)
    expected = hs.tl.place(atlas, query, copy=True).obsm["X_poincare"]
    order = [7, 6, 5, 4, 3, 2, 1, 0, 0]
    shuffled = anndata.AnnData(query.X[:, order], query.obs, pd.DataFrame(index=[*GENES[::-1], "other"]))
    hs.tl.place(atlas, shuffled)
    assert np.allclose(shuffled.obsm["X_poincare"], expected, atol=1e-6)
    message = r"(?s)lacks 1 of the 8 genes .* such as gene3.*symbols in one data set and ident"
    with pytest.raises(ValueError, match=message):
        hs.tl.place(atlas, query[:, [g for g in GENES if g != "gene3"]].copy())


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::UserWarning:anndata", "ignore::FutureWarning")
@pytest.mark.parametrize("use_rep", ["X_pca", "X"])
def test_an_atlas_from_a_file_places_cells_bit_for_bit(tmp_path, form, use_rep):
    atlas, query = with_components(cells(60, 0)), cells(20, 1)
    hs.tl.poincare_map(atlas, use_rep=use_rep, **QUICK)
    expected = hs.tl.place(atlas, query, copy=True).obsm["X_poincare"]
    pytest.importorskip("zarr" if form == "zarr" else "h5py")
    getattr(atlas, f"write_{form}")(tmp_path / f"atlas.{form}")
    back = getattr(anndata, f"read_{form}")(tmp_path / f"atlas.{form}")
    hs.tl.place(back, query)
    assert np.array_equal(query.obsm["X_poincare"], expected)


def test_transfer_places_a_query_and_predicts_it(atlas):
    query = cells(40, 1)
    hs.tl.transfer(atlas, query, "kind", key_added="k")
    assert np.mean(query.obs["k"].astype(str) == query.obs["kind"]) > 0.9
    assert query.obsm["X_poincare"].shape == (40, 2)
    hs.tl.transfer(atlas, query, "kind", key_added="again")  # its points come from the atlas's map
    assert query.obs["again"].tolist() == query.obs["k"].tolist()


def test_transfer_rejects_coordinates_of_different_maps(atlas):
    query = with_components(cells(40, 1))
    hs.tl.poincare_map(query, **QUICK)
    before = set(query.obs)
    with pytest.raises(ValueError, match=r"(?s)comes from a different map.*tl.place\(reference, query\)"):
        hs.tl.transfer(atlas, query, "kind")
    del query.uns["poincare_map"]
    with pytest.raises(ValueError, match="comes from an unknown map"):
        hs.tl.transfer(atlas, query, "kind")
    assert set(query.obs) == before


def test_the_advice_for_a_reference_of_an_unknown_map_works(atlas):
    query = with_components(cells(40, 1))
    hs.tl.poincare_map(query, **QUICK)
    del atlas.uns["poincare_map"]
    with pytest.raises(ValueError, match="The reference's 'X_poincare' comes from an unknown map") as caught:
        hs.tl.transfer(atlas, query, "kind")
    assert "tl.poincare_map on the reference, and then tl.place(reference, query)" in str(caught.value)
    hs.tl.poincare_map(atlas, **QUICK)
    hs.tl.place(atlas, query)
    hs.tl.transfer(atlas, query, "kind", key_added="k")
    assert len(query.obs["k"]) == 40


def test_the_advice_for_a_placed_reference_works(atlas):
    reference, query = cells(40, 1), with_components(cells(40, 2))
    hs.tl.place(atlas, reference)
    hs.tl.poincare_map(query, **QUICK)
    with pytest.raises(ValueError, match=r"If the reference was itself placed in an atlas, pass this atlas instead"):
        hs.tl.transfer(reference, query, "kind")
    hs.tl.place(atlas, query)
    hs.tl.transfer(reference, query, "kind", key_added="k")
    assert len(query.obs["k"]) == 40


def test_parts_of_one_map_share_coordinates(atlas):
    hs.tl.transfer(atlas[:30].copy(), atlas[30:].copy(), "kind")


def counts(query):
    query.X = np.round(10 * query.X)


def scaled(query):
    query.X = query.X - 1


def long(query):
    query.X = 10 * query.X + 0.5


def twins(query):
    query.var_names = ["gene0", *GENES[:-1]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (counts, "query's X contains counts, but the atlas's X contains non-negative values that are not counts"),
        (scaled, "query's X contains scaled values, some below 0, but the atlas's X contains non-negative values"),
        (long, "mean total per cell, over the genes of the atlas, is .* in the query and .* in the atlas"),
        (twins, "var_names are not unique"),
    ],
)
@pytest.mark.filterwarnings("ignore:Variable names are not unique")
def test_another_normalisation_is_rejected(atlas, spoil, message):
    query = cells(20, 1)
    spoil(query)
    with pytest.raises(ValueError, match=message):
        hs.tl.place(atlas, query)
    assert "X_poincare" not in query.obsm


def test_components_that_cannot_be_recomputed_raise_but_may_be_passed(atlas):
    other, query = cells(60, 0), cells(20, 1)
    other.obsm["X_pca"] = atlas.obsm["X_pca"]
    hs.tl.poincare_map(other, **QUICK)
    with pytest.raises(ValueError, match="features 'X_pca' of the atlas cannot be computed from its X"):
        hs.tl.place(other, query)
    query.obsm["X_pca"] = (query.X - atlas.X.mean(axis=0)) @ atlas.varm["PCs"]
    hs.tl.place(other, query, use_rep="X_pca")
    assert np.allclose(query.obsm["X_poincare"], hs.tl.place(atlas, query, copy=True).obsm["X_poincare"], atol=1e-3)
    with pytest.raises(KeyError) as caught:
        hs.tl.place(cells(9, 2), query)
    assert str(caught.value).startswith("uns['poincare_map'] contains no map of the atlas.\nRun hyplearn.")
    query.obsm["X_two"] = np.zeros((20, 2))
    with pytest.raises(ValueError, match="query has 2 features; the map of the atlas was fitted on 3"):
        hs.tl.place(other, query, use_rep="X_two")


def test_cells_far_from_the_atlas_cause_a_warning():
    atlas, near = cells(60, 0), cells(60, 0)
    hs.tl.poincare_map(atlas, use_rep="X", **QUICK)
    hs.tl.place(atlas, near)
    assert near.obs["X_poincare_atlas_distance"].max() < 0.01  # the cells of the atlas itself
    far = cells(20, 1)
    far.X[:, 4:] += 2.0
    with pytest.warns(UserWarning, match=r"of the query's cells are far from the atlas"):
        hs.tl.place(atlas, far)
    assert np.median(far.obs["X_poincare_atlas_distance"]) > 2


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda X: X, r"X contains counts up to \d+, from which 'X_pca' was computed.*\n.*normalize_total"),
        (lambda X: X / X.sum(axis=1, keepdims=True) * 1e4, r"X contains values up to \d.*Is log1p missing\?\n.*log1p"),
    ],
)
def test_components_of_unnormalised_data_cause_a_warning(prepare, said):
    sc = pytest.importorskip("scanpy")
    rng = np.random.default_rng(0)
    cells = anndata.AnnData(prepare(rng.poisson(30, (60, 12)).astype(np.float64)))
    sc.pp.pca(cells, n_comps=5)
    with pytest.warns(UserWarning, match=said):
        hs.tl.poincare_map(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        sc.pp.log1p(cells)
        sc.pp.pca(cells, n_comps=5)
        hs.tl.poincare_map(cells)


def test_counts_and_constant_genes_cause_a_warning():
    raw = cells(40, 0)
    raw.X = np.round(20 * raw.X)
    with pytest.warns(UserWarning, match=r"X contains counts up to \d+.*\n.*normalize_total"):
        hs.tl.poincare_map(raw, use_rep="X", **QUICK)
    flat = cells(40, 0)
    flat.X[:, 2] = 1.0
    with pytest.warns(UserWarning, match="1 of 8 features of 'X' are the same in all cells"):
        hs.tl.poincare_map(flat, use_rep="X", **QUICK)


def many_genes(n, seed, n_genes=60):
    """Cells whose log-normalised values depend on three factors; the first determines the kind."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 3))
    X = 3 + 0.3 * rng.standard_normal((n, n_genes)) + 0.4 * factors @ np.random.default_rng(0).normal(size=(3, n_genes))
    obs = pd.DataFrame({"kind": np.where(factors[:, 0] > 0, "a", "b")}, index=[f"c{seed}_{k}" for k in range(n)])
    return anndata.AnnData(np.maximum(X, 0), obs=obs, var=pd.DataFrame(index=[f"gene{k}" for k in range(n_genes)]))


def mapped(adata):
    hs.tl.poincare_map(with_components(adata), **QUICK)
    return adata


def test_a_query_that_was_scaled_on_its_own_causes_a_warning():
    atlas, query = many_genes(80, 0), many_genes(40, 1)
    query = query[query.obs.kind == "b"].copy()
    mean, std = atlas.X.mean(axis=0), atlas.X.std(axis=0)
    own, right = query.copy(), query.copy()
    atlas.X = (atlas.X - mean) / std
    mapped(atlas)
    right.X = (query.X - mean) / std
    hs.tl.place(atlas, right)
    own.X = (query.X - query.X.mean(axis=0)) / query.X.std(axis=0)
    with pytest.warns(
        UserWarning, match=r"mean 0, as after scanpy\.pp\.scale on the query alone(.|\n)*its var\['std'\]"
    ):
        hs.tl.place(atlas, own)


def test_the_explained_share_is_that_of_the_components_and_small_for_noise():
    atlas, query, noise = mapped(many_genes(80, 0)), many_genes(40, 1), many_genes(40, 2)
    hs.tl.place(atlas, query)
    centred = query.X - atlas.X.mean(axis=0)
    inside = centred @ atlas.varm["PCs"]
    expected = np.sum(inside**2, axis=1) / np.sum(centred**2, axis=1)
    assert np.allclose(query.obs["X_poincare_explained"], expected, atol=1e-6)
    as_sparse = query.copy()
    as_sparse.X = sparse.csr_matrix(query.X)
    hs.tl.place(atlas, as_sparse)
    assert np.allclose(as_sparse.obs["X_poincare_explained"], expected, atol=1e-6)
    noise.X = np.random.default_rng(3).permuted(noise.X, axis=0)
    with pytest.warns(
        UserWarning, match=r"components of the atlas explain \d+% of the variation(.|\n)*independently(.|\n)*say"
    ):
        hs.tl.place(atlas, noise)


def test_a_few_missing_genes_have_the_atlas_s_mean():
    atlas, query = mapped(many_genes(80, 0)), many_genes(40, 1)
    filled = query.copy()
    filled.X[:, 5] = atlas.X[:, 5].mean()
    expected = hs.tl.place(atlas, filled, copy=True).obsm["X_poincare"]
    less = query[:, [name for name in query.var_names if name != "gene5"]].copy()
    with pytest.warns(UserWarning, match=r"lacks 1 of the 60 genes .*, such as gene5\.\nThey are assumed"):
        hs.tl.place(atlas, less)
    assert np.allclose(less.obsm["X_poincare"], expected, atol=1e-6)
    few = query[:, query.var_names[6:]].copy()
    with pytest.raises(ValueError, match="lacks 6 of the 60 genes"):
        hs.tl.place(atlas, few)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_missing_value_of_the_query_is_reported_by_cell_and_gene(atlas, form):
    query = cells(20, 1)
    query.X[3, 4] = np.nan
    query.X = form(query.X)
    with pytest.raises(
        ValueError, match="contains 1 NaN or infinite values; the first is in cell 'c1_3', gene 'gene4'"
    ):
        hs.tl.place(atlas, query)


def test_transfer_without_any_map_warns_and_the_prefix_of_the_basis_may_be_omitted(atlas):
    query = cells(20, 1)
    hs.tl.place(atlas, query)
    query.uns.clear()
    with pytest.raises(ValueError, match="comes from an unknown map"):
        hs.tl.transfer(atlas, query, "kind", basis="poincare")
    lost = atlas.copy()
    lost.uns.clear()
    with pytest.warns(UserWarning, match="Neither the reference nor the query contains the map of 'X_poincare'"):
        hs.tl.transfer(lost, query, "kind", basis="poincare")


def test_a_new_map_makes_old_boundaries_an_error(atlas):
    pytest.importorskip("matplotlib").use("agg")
    hs.tl.classify(atlas, "kind")
    hs.pl.disk(atlas, "kind", boundaries="kind_predicted", show=False)
    hs.tl.poincare_map(atlas, **{**QUICK, "n_neighbors": 9})
    for draw in (
        lambda: hs.pl.disk(atlas, "kind", boundaries="kind_predicted", show=False),
        lambda: hs.pl.explore(atlas, "kind_predicted"),
    ):
        with pytest.raises(
            ValueError, match=r"'kind_predicted' was computed from another map(.|\n)*classify or transfer"
        ):
            draw()
    hs.tl.classify(atlas, "kind")
    hs.pl.disk(atlas, "kind", boundaries="kind_predicted", show=False)


def test_a_class_of_a_single_cell_is_named_because_its_genes_cannot_be_ranked(atlas):
    atlas.obs["odd"] = np.where(np.arange(60) == 7, "one", atlas.obs["kind"])
    with pytest.warns(
        UserWarning, match=r"A class is predicted for a single cell: 'one'\.\nscanpy.tl.rank_genes_groups"
    ):
        hs.tl.classify(atlas, "odd", model=KNeighborsClassifier(1))


@pytest.mark.filterwarnings("ignore::hyplearn.estimators.conformal.SmallClassWarning", "ignore:.*is never predicted")
def test_rare_classes_in_many_sets_are_named(atlas):
    atlas.obs["odd"] = np.where(np.arange(60) % 15 == 7, "rare", atlas.obs["kind"])
    with pytest.warns(UserWarning, match="labelled cells are in many prediction sets") as warned:
        hs.tl.classify(atlas, "odd", coverage=0.9)
    sets = atlas.obsm["odd_predicted_sets"][:, 2].mean()
    assert sets > 0.25
    assert any(f"'rare' (4 cells, {sets:.0%} of the sets)" in str(one.message) for one in warned)


@pytest.mark.parametrize("save", [True, 3])
def test_a_picture_is_saved_to_a_path_only(atlas, save):
    pytest.importorskip("matplotlib").use("agg")
    with pytest.raises(TypeError, match=rf"save must be the path of a file; got {save!r}\.\nPass a path"):
        hs.pl.disk(atlas, "kind", save=save, show=False)
