"""The baselines as scikit-learn estimators: estimator checks, labels, weights, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC
from support.balls import cloud

RIVALS = [
    EuclideanSVC(),
    HyperboloidSVC(),
    HyperboloidSVC(solver="projected_gradient", tol=1e-3, max_iter=50),
    HyperboloidPerceptron(max_epochs=10),
    AuthorsSVC("means"),
]
rivals = pytest.mark.parametrize("rival", RIVALS, ids=repr)
# Most data sets here are small; tests/decision/test_calibration.py tests this warning.
pytestmark = pytest.mark.filterwarnings("ignore:Classes with fewer distinct rows")
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
learning = pytest.mark.parametrize("rival", [r for r in RIVALS if not isinstance(r, HyperboloidPerceptron)], ids=repr)


@quiet
@parametrize_with_checks(RIVALS)
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


@quiet
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
# Without calibration, because slopes are fitted badly to projected rows, which are at a distance of about 37.
@pytest.mark.usefixtures("most_outside")
@parametrize_with_checks([HyperboloidSVC(outside="project", calibration=None)])
def test_scikit_learns_checks_pass_on_the_rim(estimator, check):
    check(estimator)


@pytest.fixture
def three():
    """Three overlapping classes of the disk, with names as labels."""
    rng = np.random.default_rng(0)
    X = cloud(rng, 300, 2, 1.0)
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.2 * rng.standard_normal(300)
    return X, np.array(["ash", "birch", "cedar"])[np.digitize(angle, [-1.0, 1.0])]


@quiet
@rivals
def test_weights_act_like_copies_and_weight_zero_like_absence(rival, three):
    X, y = three
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = clone(rival).fit(X, y, weights)
    order = np.random.default_rng(3).permutation(weights.sum())
    copied = clone(rival).fit(np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order])
    assert np.allclose(weighted.decision_function(X), copied.decision_function(X))
    by_class = clone(rival).set_params(class_weight={"ash": 3, "birch": 2}).fit(X, y)
    by_row = clone(rival).fit(X, y, np.where(y == "ash", 3.0, np.where(y == "birch", 2.0, 1.0)))
    assert np.allclose(by_class.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize(
    "rival", [EuclideanSVC(), EuclideanSVC(loss="hinge"), HyperboloidSVC(tol=1e-10), AuthorsSVC([0.1, 0.0])], ids=repr
)
def test_rows_that_are_not_merged_keep_their_weights(rival, monkeypatch, three):
    """More rows than the limit are not merged, but weights still act like copies, and weight 0 like absence."""
    X, y = three
    weights = np.random.default_rng(2).integers(0, 9, len(y))
    few = clone(rival).fit(X, y, weights).decision_function(X)
    monkeypatch.setattr("hyplearn.paper.classifier.merge_copies", lambda data: data)
    many = clone(rival).fit(X, y, weights).decision_function(X)
    copied = clone(rival).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).decision_function(X)
    absent = clone(rival).fit(X[weights > 0], y[weights > 0], weights[weights > 0]).decision_function(X)
    assert np.allclose(few, many, rtol=1e-2, atol=1e-2)
    assert np.allclose(copied, many, rtol=1e-2, atol=1e-2)
    assert np.allclose(absent, many)


@quiet
@rivals
@pytest.mark.parametrize("left", [("ash", "birch"), ("cedar",)])
def test_a_class_of_weight_zero_stays_a_class(rival, left, three):
    X, y = three
    model = clone(rival).fit(X, y, np.isin(y, left).astype(float))
    assert model.classes_.tolist() == ["ash", "birch", "cedar"]
    scores = model.decision_function(X)
    assert scores.shape == (300, 3)
    assert np.all(np.isfinite(scores))
    if not isinstance(rival, (AuthorsSVC, HyperboloidPerceptron)):
        assert set(model.predict(X)) <= set(left)


@quiet
@rivals
def test_predictions_are_the_highest_scores(rival, three):
    X, y = three
    model = clone(rival).fit(X, y)
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(model.decision_function(X), axis=1)])
    two = clone(rival).fit(X, y == "ash")
    assert two.decision_function(X).shape == (300,)
    assert np.array_equal(two.predict(X), two.decision_function(X) > 0)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@quiet
@learning
def test_string_labels_are_supported(rival, three):
    X, y = three
    assert clone(rival).fit(X, y).score(X, y) > 0.8


@quiet
@rivals
def test_curvature_only_rescales_the_ball(rival, three):
    """A ball of radius 3 contains the same points, with coordinates multiplied by three."""
    X, y = three
    if isinstance(rival, (EuclideanSVC, AuthorsSVC)):
        rival = clone(rival).set_params(C=5.0)
        here, there = clone(rival), clone(rival).set_params(curvature=-1 / 9, C=5.0 / 9)
    else:
        here, there = clone(rival), clone(rival).set_params(curvature=-1 / 9)
    here, there = here.fit(X, y), there.fit(3 * X, y)
    share = np.mean(here.predict(X) == there.predict(3 * X))
    assert share >= (1 if isinstance(rival, EuclideanSVC) else 0.97)


@rivals
def test_points_outside_the_ball_are_named_in_the_error(rival):
    X = np.array([[0.1, 0.0], [1.2, 0.1], [0.3, 0.3]])
    with pytest.raises(ValueError, match=r"1 of 3 points lies outside(.|\n)*row 1 with norm 1.204"):
        clone(rival).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="curvature must be a negative finite number"):
        clone(rival).set_params(curvature=1.0).fit(X, [0, 1, 1])
    with pytest.raises(NotFittedError):
        clone(rival).predict(X)


@pytest.mark.parametrize(
    ("rival", "message"),
    [
        (EuclideanSVC(C=0), "C must be a positive finite number; got 0"),
        (EuclideanSVC(loss="log"), "loss must be one of 'hinge', 'squared_hinge'; got 'log'"),
        (HyperboloidSVC(C=np.inf), "C must be a positive finite number; got inf"),
        (HyperboloidSVC(tol=0.0), "tol must be a positive finite number; got 0.0"),
        (HyperboloidSVC(max_iter=0), "max_iter must be an integer of at least 1; got 0"),
        (HyperboloidSVC(solver="newton"), "solver must be one of 'stages', 'projected_gradient'; got 'newton'"),
        (HyperboloidPerceptron(max_epochs=1.5), "max_epochs must be an integer of at least 1; got 1.5"),
        (HyperboloidPerceptron(start=[1.0]), "start must contain 3 finite hyperboloid coordinates"),
        (AuthorsSVC(C="five"), "C must be a positive finite number; got 'five'"),
        (AuthorsSVC("nowhere"), "reference='nowhere' is not a strategy"),
        (AuthorsSVC([[0.0, 0.0]] * 2), "reference has 2 points; expected 3"),
    ],
    ids=repr,
)
def test_bad_options_raise_one_clear_error(rival, message, three):
    with pytest.raises(ValueError, match=message):
        clone(rival).fit(*three)


def test_float32_points_are_scored_as_float64(three):
    X, y = three
    for rival in (EuclideanSVC(), HyperboloidSVC(), AuthorsSVC("means")):
        model = clone(rival).fit(X.astype(np.float32), y)
        wide = model.decision_function(X.astype(np.float32).astype(np.float64))
        assert np.allclose(model.decision_function(X.astype(np.float32)), wide, rtol=1e-5, atol=1e-5)
