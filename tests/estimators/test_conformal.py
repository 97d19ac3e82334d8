"""ConformalClassifier: measured coverage, every kind of classifier, bad inputs."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import hyplearn
from hyplearn import ConformalClassifier, ExpMap, PoincareLogisticRegression
from hyplearn.datasets import fetch_olsson, load_mammals
from hyplearn.decision import decision_of
from hyplearn.estimators.conformal import SmallClassWarning
from support.explored import scene_of
from support.fitted_models import NAMES, ball

small = pytest.mark.filterwarnings("ignore::hyplearn.estimators.conformal.SmallClassWarning")
softmax = PoincareLogisticRegression


@small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.usefixtures("most_outside")
@parametrize_with_checks(
    [
        ConformalClassifier(LogisticRegression(), folds=2),
        ConformalClassifier(softmax(outside="project"), conformity="distance", folds=2),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def olsson():
    found = fetch_olsson(download_if_missing=False)
    return np.r_[found.X_train, found.X_test], np.r_[found.y_train, found.y_test]


def digits():
    X, y = load_digits(return_X_y=True)
    X = PCA(2, random_state=0).fit_transform(X)
    return ExpMap().fit_transform(2 * X / np.abs(X).max())[::2], y[::2]


def loaded(name):
    try:
        return {"olsson": olsson, "mammals": lambda: load_mammals(return_X_y=True), "digits": digits}[name]()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def coverages(model, X, y, repeats):
    """Coverage of all rows, and of each class, in each random split."""
    found, by_class, codes = [], [], np.unique(y, return_inverse=True)[1]
    for seed in range(repeats):
        old, new = train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed)
        sets = model.fit(X[old], codes[old]).predict_set(X[new])
        hit = sets[np.arange(len(new)), codes[new]]
        found.append(hit.mean())
        by_class.append([hit[codes[new] == k].mean() if np.any(codes[new] == k) else np.nan for k in np.unique(codes)])
    return np.array(found), np.array(by_class)


def attained(coverage, n):
    """Coverage by p-values that are uniform on 1/(n+1), ..., 1: the requested coverage, rounded up."""
    return 1 - np.floor(np.round((1 - coverage) * (n + 1), 9)) / (n + 1)


@small
@pytest.mark.parametrize("conformity", ["probability", "distance"])
@pytest.mark.parametrize("name", ["olsson", "mammals", "digits"])
def test_coverage_on_exchangeable_splits_is_within_two_standard_errors(name, conformity):
    """Classes get a wider tolerance, because there are few splits; experiments/conformal.py makes the full tables."""
    (X, y), repeats = loaded(name), 8
    model = ConformalClassifier(softmax(), conformity=conformity, folds=4)
    found, by_class = coverages(model, X, y, repeats)
    counts = np.bincount(np.unique(y, return_inverse=True)[1])
    most = np.sum(counts * attained(0.9, np.round(0.7 * counts))) / len(y)
    error = found.std(ddof=1) / np.sqrt(repeats)
    assert found.mean() >= 0.9 - 2 * error
    if conformity == "distance":  # means of p-values over folds are conservative
        assert found.mean() <= most + 2 * error
    tested = 0.3 * repeats * counts
    assert np.all(np.nanmean(by_class, axis=0) >= 0.9 - 4 * np.sqrt(0.09 / tested))


@pytest.mark.parametrize("conformity", ["probability", "distance"])
def test_without_by_class_rare_classes_have_lower_coverage(conformity):
    X, y = load_mammals(return_X_y=True)
    old = np.random.default_rng(0).random(len(X)) < 0.7
    sizes, least = {}, {}
    for by_class in (True, False):
        model = ConformalClassifier(softmax(), by_class=by_class, conformity=conformity).fit(X[old], y[old])
        sets = model.predict_set(X[~old])
        hit = sets[np.arange(len(sets)), np.searchsorted(model.classes_, y[~old])]
        sizes[by_class] = sets.sum()
        least[by_class] = min(hit[y[~old] == label].mean() for label in model.classes_)
    assert sizes[False] < sizes[True]
    assert least[False] < least[True]


def test_rows_of_a_class_that_was_left_out_have_empty_sets_by_distance_and_few_do_by_probability():
    X, y = load_mammals(return_X_y=True)
    known = y != "primates"
    empty = {
        conformity: 1
        - ConformalClassifier(softmax(), conformity=conformity)
        .fit(X[known], y[known])
        .predict_set(X[~known])
        .any(axis=1)
        .mean()
        for conformity in ("probability", "distance")
    }
    assert empty["distance"] > 0.8
    assert empty["probability"] < 0.5


MODELS = [
    softmax(),
    KNeighborsClassifier(3),
    LinearSVC(),
    RidgeClassifier(),
    make_pipeline(PCA(2), LogisticRegression()),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_any_classifier_gives_sets(model, classes):
    X, y = ball(90, classes)
    conformal = ConformalClassifier(model).fit(X[:60], NAMES[y[:60]])
    assert conformal.predict(X).tolist() == model.fit(X[:60], NAMES[y[:60]]).predict(X).tolist()
    sets = conformal.predict_set(X[60:])
    assert sets.dtype == bool
    assert sets[np.arange(30), y[60:]].mean() > 0.8
    p = conformal.p_values(X[60:])
    assert np.array_equal(sets, p > 0.1)
    assert conformal.predict_set(X[60:], as_labels=True)[0] == conformal.classes_[sets[0]].tolist()


def test_higher_coverage_gives_larger_sets_and_fits_are_reproducible():
    X, y = ball(90)
    model = ConformalClassifier(softmax()).fit(X, y)
    narrow, wide = (model.set_params(coverage=c).predict_set(X) for c in (0.8, 0.95))
    assert np.all(wide >= narrow)
    assert wide.sum() > narrow.sum()
    assert np.array_equal(ConformalClassifier(softmax()).fit(X, y).p_values(X), model.p_values(X))


HIERARCHY = {"ash": "leafy", "birch": "leafy", "leafy": "tree", "cedar": "tree"}


def test_the_answer_is_the_least_subtree_that_covers_the_set():
    X, y = ball(90)
    model = ConformalClassifier(softmax(), hierarchy=HIERARCHY, coverage=0.95).fit(X, NAMES[y])
    answers, sets = model.predict_answer(X), model.predict_set(X, as_labels=True)
    assert {"ash", "birch", "cedar", "leafy", "tree"} == set(answers)
    expected = {("ash", "birch"): "leafy", ("ash",): "ash", ("birch",): "birch", ("cedar",): "cedar", (): None}
    assert all(answer == expected.get(tuple(found), "tree") for answer, found in zip(answers, sets, strict=True))


def test_columns_describe_sets_and_answers():
    X, y = ball(60)
    tree = {"ash": "broad", "birch": "broad", "broad": "wood", "cedar": "wood"}
    model = ConformalClassifier(softmax(), hierarchy=tree).fit(X, NAMES[y])
    sets = np.array([[True, True, False], [False, False, True], [False, False, False]])
    columns = model.set_columns(sets)
    assert columns["set"].tolist() == ["ash | birch", "cedar", None]
    assert columns["set size"].tolist() == [2, 1, 0]
    assert columns["unknown"].tolist() == [False, False, True]
    assert columns["answer"].tolist() == ["broad", "cedar", None]
    assert "answer" not in model.set_params(hierarchy=None).set_columns(sets)


def test_weights_count_rows_and_rows_without_weight_are_ignored():
    X, y = ball(90)
    weights = np.where(np.arange(90) < 60, 1.0, 0.0)
    weighted = ConformalClassifier(softmax()).fit(X, y, weights)
    plain = ConformalClassifier(softmax()).fit(X[:60], y[:60])
    assert np.allclose(weighted.p_values(X), plain.p_values(X), atol=0.05)
    assert weighted.p_values(X).min() == pytest.approx(plain.p_values(X).min(), rel=0.01)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not support sample_weight"):
        ConformalClassifier(KNeighborsClassifier()).fit(X, y, weights)


def test_files_and_data_frames_are_read(tmp_path):
    X, y = ball(90)
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "label": NAMES[y]})
    frame.to_csv(tmp_path / "trees.csv", index=False)
    plain = ConformalClassifier(softmax()).fit(X, NAMES[y]).p_values(X)
    by_path = ConformalClassifier(softmax()).fit(tmp_path / "trees.csv")
    assert np.array_equal(by_path.p_values(tmp_path / "trees.csv"), plain)
    by_frame = ConformalClassifier(softmax()).fit(frame[["u", "v"]], frame["label"])
    assert np.array_equal(by_frame.p_values(frame[["u", "v"]]), plain)


@pytest.mark.parametrize("conformity", ["probability", "distance"])
def test_a_model_file_stores_nested_models(tmp_path, conformity):
    X, y = ball(90)
    model = ConformalClassifier(softmax(), hierarchy=HIERARCHY, conformity=conformity).fit(X, NAMES[y])
    hyplearn.save(model, tmp_path / "trees.hyp")
    again = hyplearn.load(tmp_path / "trees.hyp")
    assert np.array_equal(again.p_values(X), model.p_values(X))
    assert again.predict_answer(X).tolist() == model.predict_answer(X).tolist()


@pytest.mark.parametrize("place", ["estimator_", "estimators_"])
@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["ash", "birch", "ash"], "2 classes, of which 2 are shared"),
        (["ash", "birch", "fir"], "3 classes, of which 2 are shared"),
    ],
)
def test_a_nested_model_of_other_classes_is_rejected(tmp_path, place, names, found):
    X, y = ball(90)
    model = ConformalClassifier(softmax(), folds=2).fit(X, NAMES[y])
    other = softmax().fit(X, np.array(names)[y])
    setattr(model, place, other if place == "estimator_" else [model.estimators_[0], other])
    with pytest.raises(ValueError, match=f"fitted to the 3 classes of the conformal classifier; one has {found}"):
        hyplearn.save(model, tmp_path / "trees.hyp")


def test_unsupported_values_raise_clear_errors(tmp_path):
    X, y = ball(60)
    with pytest.raises(ValueError, match="estimator must be a supported estimator other than ConformalClassifier"):
        hyplearn.save(ConformalClassifier(LogisticRegression()).fit(X, y), tmp_path / "a.hyp")
    graph = nx.DiGraph([("tree", "0"), ("tree", "1"), ("tree", "2")])
    with pytest.raises(ValueError, match="hierarchy must be None, a Newick string"):
        hyplearn.save(ConformalClassifier(softmax(), hierarchy=graph).fit(X, y), tmp_path / "a.hyp")


def test_a_class_too_small_for_a_guarantee_causes_a_warning():
    X, y = ball(60)
    rare = np.where((y == 2) & (np.arange(60) > 12), 0, y)
    with pytest.warns(
        SmallClassWarning, match=r"(?s)fewer than 9 rows have no per-class guarantee.*: 2 \(4\).*with 1\."
    ):
        model = ConformalClassifier(softmax()).fit(X, rare)
    p = model.p_values(X)
    n_smallest = np.bincount(rare)[1:].sum()
    assert p[:, 2].min() == p[:, 1].min() == 1 / (n_smallest + 1)
    assert p[:, 0].min() == 1 / (np.sum(rare == 0) + 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 1.0}, "coverage must be a number above 0 and below 1; got 1.0"),
        ({"coverage": "high"}, "coverage must be a number"),
        ({"folds": 1}, "folds must be an integer of at least 2; got 1"),
        ({"conformity": "margin"}, 'conformity must be "probability" or "distance"; got \'margin\''),
        ({"estimator": "softmax"}, "(?s)estimator must be a classifier.*Pass an instance"),
        ({"estimator": None}, "estimator must be a classifier"),
        ({"hierarchy": {"ash": "tree"}}, "lacks 2 of 3 classes: 'birch', 'cedar'"),
    ],
)
def test_bad_parameters_raise_clear_errors_and_nothing_is_fitted(parameters, message):
    X, y = ball(60)
    model = ConformalClassifier(softmax()).set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, NAMES[y])
    with pytest.raises((NotFittedError, AttributeError)):
        model.predict_set(X)


def test_dask_collections_are_predicted_lazily_and_have_no_sets():
    dask = pytest.importorskip("dask.array")
    X, y = ball(60)
    model = ConformalClassifier(softmax()).fit(X, y)
    lazy = dask.from_array(X, chunks=(20, 2))
    assert np.array_equal(model.predict(lazy).compute(), model.predict(X))
    with pytest.raises(ValueError, match=r"(?s)got a Dask collection.*X.compute\(\)"):
        model.predict_set(lazy)


def test_bad_rows_raise_clear_errors():
    X, y = ball(60)
    with pytest.raises(ValueError, match="requires y to be passed"):
        ConformalClassifier(softmax()).fit(X)
    with pytest.raises(ValueError, match="got 1 class, 60 rows"):
        ConformalClassifier(softmax()).fit(X, np.zeros(60, int))
    with pytest.raises(ValueError, match="and 1 in the smallest class, 7"):
        ConformalClassifier(softmax()).fit(X, np.r_[7, y[1:]])
    with pytest.raises(ValueError, match="predict_answer needs a tree of classes"):
        ConformalClassifier(softmax()).fit(X, y).predict_answer(X)
    with pytest.raises(ValueError, match="outside the open ball"):
        ConformalClassifier(softmax(), conformity="distance").fit(X, y).p_values(2 * X)


def test_pictures_and_pages_show_the_wrapped_classifier(tmp_path):
    X, y = ball(60)
    model = ConformalClassifier(softmax(), conformity="distance").fit(X, NAMES[y])
    assert decision_of(model) is model.estimator_.decision_
    page = hyplearn.explore(model, X, NAMES[y], columns={"own": np.arange(60)}, path=tmp_path / "page.html")
    assert "cedar" in (tmp_path / "page.html").read_text()
    shown = {column["name"]: column for column in scene_of(page)["columns"]}
    assert list(shown) == ["set", "set size", "unknown", "own"]
    assert shown["set size"]["kind"] == "number"
    expected = [" | ".join(labels) or "missing" for labels in model.predict_set(X, as_labels=True)]
    assert set(shown["set"]["categories"]) == set(expected)
