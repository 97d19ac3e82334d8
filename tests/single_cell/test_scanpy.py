"""Tests with scanpy itself: its packaged data, its files and its plots."""

import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from hyplearn import ConformalClassifier, ExpMap, PoincareLogisticRegression

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sc = pytest.importorskip("scanpy")

import hyplearn.single_cell as hs

pytestmark = pytest.mark.filterwarnings("ignore")  # scanpy warns about its dependencies


@pytest.fixture(scope="module")
def blood():
    """700 blood cells of ten kinds, with their first two principal components mapped into the ball."""
    cells = sc.datasets.pbmc68k_reduced()
    components = cells.obsm["X_pca"][:, :2]
    cells.obsm["X_poincare"] = ExpMap().fit_transform(2 * components / np.abs(components).max())
    hs.tl.classify(cells, "bulk_labels")
    return cells


def test_packaged_cells_are_classified_better_than_by_the_largest_kind(blood):
    right = np.mean(blood.obs["bulk_labels_predicted"].astype(str) == blood.obs["bulk_labels"].astype(str))
    largest = blood.obs["bulk_labels"].value_counts(normalize=True).max()
    assert right > largest + 0.2
    colours = dict(zip(blood.obs["bulk_labels"].cat.categories, blood.uns["bulk_labels_colors"], strict=True))
    kept = blood.obs["bulk_labels_predicted"].cat.categories
    assert list(blood.uns["bulk_labels_predicted_colors"]) == [colours[kind] for kind in kept]


def test_markers_of_predicted_types_are_found_by_scanpy(blood):
    sc.tl.rank_genes_groups(blood, "bulk_labels_predicted", method="t-test")
    assert set(blood.uns["rank_genes_groups"]["names"].dtype.names) == set(blood.obs["bulk_labels_predicted"])


def test_sets_of_packaged_cells_have_the_requested_coverage(blood):
    """Random splits; types with fewer than 20 cells are left out, because they have no guarantee by class."""
    counts = blood.obs["bulk_labels"].value_counts()
    kept = blood.obs["bulk_labels"].isin(counts.index[counts >= 20]).to_numpy()
    X, y = blood.obsm["X_poincare"][kept], blood.obs["bulk_labels"].to_numpy().astype(str)[kept]
    found, hits = [], []
    for seed in range(8):
        new = np.random.default_rng(seed).random(len(X)) < 0.3
        model = ConformalClassifier(PoincareLogisticRegression(), conformity="distance").fit(X[~new], y[~new])
        hit = model.predict_set(X[new])[np.arange(new.sum()), np.searchsorted(model.classes_, y[new])]
        found.append(hit.mean())
        hits.append((hit, y[new]))
    error = np.std(found, ddof=1) / np.sqrt(8)
    assert 0.9 - 2 * error <= np.mean(found) <= 0.92 + 2 * error
    hit, types = (np.concatenate(part) for part in zip(*hits, strict=True))
    for label in np.unique(types):
        own = hit[types == label]
        assert own.mean() >= 0.9 - 4 * np.sqrt(0.09 / len(own))


def test_packaged_cells_round_trip_through_a_file(blood, tmp_path):
    blood.write_h5ad(tmp_path / "blood.h5ad")
    back = sc.read_h5ad(tmp_path / "blood.h5ad")
    assert back.obs["bulk_labels_predicted"].equals(blood.obs["bulk_labels_predicted"])
    X = back.obsm["X_poincare"]
    chances = hs.stored_model(back, "bulk_labels_predicted").predict_proba(X)
    assert np.array_equal(chances, blood.obsm["bulk_labels_predicted_probabilities"])


def test_scanpy_draws_what_was_written(blood):
    keys = ["bulk_labels_predicted", "bulk_labels_predicted_probability"]
    figure = sc.pl.embedding(blood, basis="X_poincare", color=keys, show=False, return_fig=True)
    points = figure.axes[0].collections[0]
    colours = dict(zip(blood.obs["bulk_labels"].cat.categories, blood.uns["bulk_labels_colors"], strict=True))
    shown = [to_hex(rgb) for rgb in points.get_facecolor()]
    assert shown == [to_hex(colours[kind]) for kind in blood.obs["bulk_labels_predicted"]]
    plt.close(figure)


def test_a_simulated_lineage_is_transferred_from_one_half_to_the_other():
    cells = sc.datasets.krumsiek11()
    sc.pp.pca(cells, n_comps=2)
    components = cells.obsm["X_pca"]
    cells.obsm["X_poincare"] = ExpMap().fit_transform(2 * components / np.abs(components).max())
    cells.obs_names_make_unique()
    half = np.arange(cells.n_obs) % 2 == 0
    reference, query = cells[half].copy(), cells[~half].copy()
    hs.tl.transfer(reference, query, "cell_type", model="softmax")
    assert np.mean(query.obs["cell_type_predicted"] == query.obs["cell_type"]) > 0.75
