"""Classification of AnnData objects: the stored results, round trips through files, and rejected input."""

import enum
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from hyplearn import ConformalClassifier, PoincareLogisticRegression, PoincareSVC
from hyplearn.estimators import CLASSIFIERS
from support.fitted_models import NAMES, ball
from support.stored import assert_same

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402

X, codes = ball(90)
Kind = enum.Enum("Kind", {"A": "a", "B": "b", "D": "c"}, type=str)
COLOURS = ["#ff0000", "#00ff00", "#0000ff", "#888888"]
TREES = {"ash": "leafy", "birch": "leafy", "leafy": "tree", "cedar": "tree"}


@pytest.fixture
def cells():
    """Three kinds of cells, a category without cells, ten cells without a label."""
    kinds = pd.Categorical(NAMES[codes], categories=["cedar", "ash", "birch", "yew"])
    kinds[:10] = np.nan
    obs = pd.DataFrame({"kind": kinds}, index=[f"cell{k}" for k in range(90)])
    made = anndata.AnnData(np.ones((90, 2), dtype=np.float32), obs=obs, obsm={"X_poincare": X.copy()})
    made.uns["kind_colors"] = COLOURS
    return made


def test_predictions_match_the_model_trained_on_labelled_cells(cells):
    hs.tl.classify(cells, "kind")
    model = PoincareLogisticRegression().fit(X[10:], NAMES[codes[10:]])
    assert cells.obs["kind_predicted"].tolist() == model.predict(X).tolist()
    assert np.array_equal(cells.obsm["kind_predicted_probabilities"], model.predict_proba(X))
    assert np.array_equal(cells.obs["kind_predicted_probability"], model.predict_proba(X).max(axis=1))
    assert np.array_equal(cells.obsm["kind_predicted_scores"], model.decision_function(X))
    about = cells.uns["kind_predicted"]
    assert about["classes"].tolist() == ["ash", "birch", "cedar"]
    assert about["status"].tolist() == ["optimal"]
    assert about["dual_gap"][0] == model.dual_gap_[0]
    assert (about["n_trained"], about["n_predicted"]) == (80, 90)
    assert about["params"] == {"label_key": "kind", "basis": "X_poincare", "model": "PoincareLogisticRegression()"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_documentation_lists_all_named_models_and_those_with_distances(cells):
    described, names = hs.tl.classify.__doc__, [f'"{name}"' for name in CLASSIFIERS]
    assert f"model : {{{', '.join(names)}}} or estimator" in described
    for name in CLASSIFIERS:
        hs.tl.classify(cells, "kind", model=name, key_added=name)
    *others, last = (f'"{name}"' for name in CLASSIFIERS if f"{name}_distances" in cells.obsm)
    assert f"if the classifier computes distances: {', '.join(others)} and {last} do." in described


def test_distances_are_written_if_boundaries_are_geodesic(cells):
    hs.tl.classify(cells, "kind", model=PoincareSVC(folds=2, C=3.0), key_added="svm")
    model = PoincareSVC(folds=2, C=3.0).fit(X[10:], NAMES[codes[10:]])
    assert np.array_equal(cells.obsm["svm_distances"], model.distances(X))
    assert "svm_scores" not in cells.obsm


def test_categories_and_colours_match_the_labels(cells):
    hs.tl.classify(cells, "kind")
    assert cells.obs["kind_predicted"].cat.categories.tolist() == ["cedar", "ash", "birch"]  # no yew is predicted
    assert list(cells.uns["kind_predicted_colors"]) == COLOURS[:3]


def test_copy_does_not_change_the_original(cells):
    before = cells.copy()
    classified = hs.tl.classify(cells, "kind", copy=True)
    assert "kind_predicted" in classified.obs
    assert cells.obs.equals(before.obs)
    assert set(cells.uns) == set(before.uns)
    assert set(cells.obsm) == set(before.obsm)
    assert hs.tl.classify(cells, "kind") is None


def test_a_second_classification_replaces_the_first(cells):
    hs.tl.classify(cells, "kind", model=PoincareSVC(folds=2), key_added="k")
    hs.tl.classify(cells, "kind", model=PoincareSVC(calibration=None), key_added="k")
    assert set(cells.obsm) == {"X_poincare", "k_distances"}
    assert "k_probability" not in cells.obs
    hs.tl.classify(cells, "kind", key_added="k")
    assert set(cells.obsm) == {"X_poincare", "k_probabilities", "k_scores"}


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
@pytest.mark.parametrize("model", [PoincareLogisticRegression(), PoincareSVC(folds=2)], ids=["softmax", "svc"])
@pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::UserWarning:anndata", "ignore::FutureWarning")
def test_all_results_round_trip_through_files(cells, tmp_path, form, model):
    hs.tl.classify(cells, "kind", model=model, coverage=0.8, hierarchy=TREES)
    path = tmp_path / f"cells.{form}"
    pytest.importorskip("zarr" if form == "zarr" else "h5py")
    getattr(cells, f"write_{form}")(path)
    back = getattr(anndata, f"read_{form}")(path)
    assert back.obs.equals(cells.obs)
    assert set(back.obsm) == set(cells.obsm)
    for name, values in cells.obsm.items():
        assert np.array_equal(back.obsm[name], values)
    kept, about = back.uns["kind_predicted"], cells.uns["kind_predicted"]
    assert set(kept) == set(about)
    assert_same(kept, about)
    assert list(back.uns["kind_predicted_colors"]) == COLOURS[:3]
    chances = hs.stored_model(back, "kind_predicted").predict_proba(X)
    assert np.array_equal(chances, cells.obsm["kind_predicted_probabilities"])


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::UserWarning:anndata", "ignore::FutureWarning")
def test_cells_are_read_from_files_as_from_memory(cells, tmp_path, form):
    cells.obs["score"] = np.where(np.arange(90) % 7, np.arange(90) % 2, np.nan)
    pytest.importorskip("zarr" if form == "zarr" else "h5py")
    getattr(cells, f"write_{form}")(tmp_path / f"cells.{form}")
    for key in ("kind", "score", None):
        found = hs.read_cells(tmp_path / f"cells.{form}", key, "poincare")
        expected = hs.labelled_cells(cells, key)
        for name in ("X", "names", "known"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        assert (found.labels is None) == (key is None)
        assert key is None or found.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (codes, [0, 1, 2]),
        (codes.astype(float), [0.0, 1.0, 2.0]),
        (codes > 0, [False, True]),
        (NAMES[codes], NAMES.tolist()),
        (pd.Categorical(codes), [0, 1, 2]),
    ],
    ids=["integers", "whole floats", "booleans", "text", "integer categories"],
)
def test_labels_of_any_kind_are_learned_and_written(cells, tmp_path, column, expected):
    cells.obs["other"] = column
    hs.tl.classify(cells, "other")
    assert cells.obs["other_predicted"].cat.categories.tolist() == expected
    assert np.mean(cells.obs["other_predicted"].astype(object) == np.asarray(column)) > 0.7
    cells.write_h5ad(tmp_path / "cells.h5ad")


@pytest.mark.parametrize("names", [["a", "a\0", "b"], list(Kind)], ids=["trailing NUL", "string enum"])
def test_categories_that_numpy_would_merge_are_distinguished(cells, names):
    cells.obs["other"] = pd.Categorical.from_codes(codes, names)
    hs.tl.classify(cells, "other")
    found = cells.obs["other_predicted"].astype(object)
    assert set(found) == set(map(str.__str__, names))
    assert np.mean([label == names[code] for label, code in zip(found, codes, strict=True)]) > 0.7


@pytest.mark.filterwarnings("ignore:Neither the reference nor the query contains the map")
def test_transfer_predicts_the_query_from_the_reference(cells):
    reference, query = cells[:60].copy(), cells[60:].copy()
    del query.obs["kind"], query.uns["kind_colors"]
    hs.tl.transfer(reference, query, "kind", basis="poincare")
    model = PoincareLogisticRegression().fit(X[10:60], NAMES[codes[10:60]])
    assert query.obs["kind_predicted"].tolist() == model.predict(X[60:]).tolist()
    assert list(query.uns["kind_predicted_colors"]) == list(reference.uns["kind_colors"])[:3]
    assert "kind_predicted" not in reference.obs
    assert hs.tl.transfer(reference, query, "kind", copy=True) is not query


def test_sets_answers_and_unknown_cells_match_a_conformal_classifier(cells):
    hs.tl.classify(cells, "kind", coverage=0.8, hierarchy=TREES)
    model = ConformalClassifier(PoincareLogisticRegression(), coverage=0.8, hierarchy=TREES, conformity="distance")
    sets = model.fit(X[10:], NAMES[codes[10:]]).predict_set(X)
    assert np.array_equal(cells.obsm["kind_predicted_sets"], sets)
    assert np.array_equal(cells.obs["kind_predicted_unknown"], ~sets.any(axis=1))
    written = [None if value != value else value for value in cells.obs["kind_predicted_set"]]
    assert written == [" | ".join(found) or None for found in model.predict_set(X, as_labels=True)]
    answers = [None if value != value else value for value in cells.obs["kind_predicted_answer"]]
    assert answers == model.predict_answer(X).tolist()
    hs.tl.classify(cells, "kind")
    assert not any(name.endswith(("_set", "_answer", "_unknown")) for name in cells.obs)
    with pytest.raises(ValueError, match="hierarchy= requires coverage="):
        hs.tl.classify(cells, "kind", hierarchy=TREES)


def test_the_quality_is_measured_on_held_out_cells_and_training_cells_are_marked(cells):
    cells.obs["noise"] = pd.Categorical(np.random.default_rng(0).permutation(NAMES[codes]))
    hs.tl.classify(cells, "noise", model=KNeighborsClassifier(1))
    about = cells.uns["noise_predicted"]
    assert about["training_accuracy"] == 1.0
    assert about["held_out"]["accuracy"] < 0.6
    counts = np.bincount(np.unique(cells.obs["noise"], return_inverse=True)[1])
    assert about["held_out"]["recall"] @ counts / 90 == pytest.approx(about["held_out"]["accuracy"])


def test_classes_that_are_never_predicted_are_named(cells):
    cells.obs["rare"] = np.where(np.arange(90) < 3, "odd", "even")
    with pytest.warns(UserWarning, match=r"1 of 2 classes is never predicted, .*: 'odd' \(3 cells\)") as warned:
        hs.tl.classify(cells, "rare")
    assert warned[0].filename == __file__
    assert cells.obs["rare_predicted"].cat.categories.tolist() == ["even"]


@pytest.mark.filterwarnings("ignore:The number of unique classes")  # scikit-learn's own
@pytest.mark.filterwarnings("ignore:.* classes are predicted for a single cell")
def test_many_integer_labels_cause_a_warning(cells):
    cells.obs["n_counts"] = (np.arange(90) // 1.4).astype(int)
    with pytest.warns(UserWarning, match="contains 64 different integers from 0 to 63"):
        hs.tl.classify(cells, "n_counts", model=KNeighborsClassifier(1))


def test_any_scikit_learn_classifier_works_but_is_not_stored(cells):
    hs.tl.classify(cells, "kind", model=LogisticRegression())
    assert "model" not in cells.uns["kind_predicted"]
    with pytest.raises(KeyError, match=r"contains no model, because LogisticRegression\(\)"):
        hs.stored_model(cells, "kind_predicted")


def outside(cells):
    cells.obsm["X_poincare"][44] = [0.9, 0.9]


def lost(cells):
    cells.obsm["X_poincare"][44, 0] = np.nan


def without_labels(cells):
    cells.obs["kind"] = np.nan


def without_columns(cells):
    cells.obs = cells.obs[[]]


def without_points(cells):
    cells.obsm.clear()


def one_class(cells):
    cells.obs["kind"] = "ash"


def sparse_points(cells):
    cells.obsm["X_poincare"] = pd.DataFrame({"a": ["x"] * 90}, index=cells.obs_names)


@pytest.mark.parametrize(
    ("spoil", "arguments", "message"),
    [
        (None, {"label_key": "type"}, "obs has no column 'type'; it holds 'kind'"),
        (
            without_columns,
            {},
            "obs has no column 'kind'; it is empty\\.\nAdd the labels of the cells as a column of obs",
        ),
        (without_points, {}, "obsm has no 'X_poincare'; it is empty\\.\nPass basis="),
        (None, {"basis": "X_umap"}, "obsm has no 'X_umap'; it holds 'X_poincare'"),
        (
            outside,
            {},
            "'X_poincare': 1 of 90 points lies outside the open ball .* row 44 with norm 1.27.*\nPass basis=",
        ),
        (lost, {}, "1 cells with NaN or infinite coordinates; the first is row 44"),
        (one_class, {}, "at least two classes; got only 'ash' in 90 labelled cells of 90"),
        (without_labels, {}, "at least two classes; got none in 0 labelled cells of 90"),
        (sparse_points, {}, r"obsm\['X_poincare'\] must hold one point with real coordinates per cell"),
        (None, {"model": "forest"}, "no classifier called 'forest'\\.\nPass one of softmax, .*, neighbors\\.$"),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_written(cells, spoil, arguments, message):
    if spoil:
        spoil(cells)
    before = set(cells.obs), set(cells.obsm), set(cells.uns)
    with pytest.raises((ValueError, KeyError), match=message):
        hs.tl.classify(cells, **{"label_key": "kind", **arguments})
    assert (set(cells.obs), set(cells.obsm), set(cells.uns)) == before


def test_real_numbers_are_rejected_as_labels(cells):
    cells.obs["depth"] = np.linspace(0, 1, 90)
    with pytest.raises(ValueError, match=r"obs\['depth'\] contains real numbers"):
        hs.tl.classify(cells, "depth")


@pytest.mark.filterwarnings("ignore:Neither the reference nor the query contains the map")
def test_a_query_of_another_ball_is_rejected(cells):
    query = anndata.AnnData(np.zeros((3, 1)), obsm={"X_poincare": np.zeros((3, 4))})
    with pytest.raises(ValueError, match="points of the query have 4 coordinates, but those of the reference have 2"):
        hs.tl.transfer(cells, query, "kind")


def test_objects_other_than_anndata_raise_a_clear_error():
    with pytest.raises(TypeError, match="must be an AnnData object; got ndarray"):
        hs.tl.classify(X, "kind")


def test_a_damaged_model_is_rejected(cells):
    hs.tl.classify(cells, "kind")
    cells.uns["kind_predicted"]["model"][100] ^= 1
    with pytest.raises(ValueError, match="contains no usable model"):
        hs.stored_model(cells, "kind_predicted")
    with pytest.raises(KeyError, match="no classification 'kind'"):
        hs.stored_model(cells, "kind")


def test_without_anndata_it_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    message = r"^Single-cell functions need anndata: pip install 'hyplearn\[single-cell\]'\.$"
    with pytest.raises(ImportError, match=message):
        hs.tl.classify(None, "kind")
