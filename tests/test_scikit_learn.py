"""Every classifier with the common tools of scikit-learn."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from hyplearn import (
    ExpMap,
    HyperboloidSVC,
    PoincareKernelClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.paper import AuthorsSVC, EuclideanSVC

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CLASSIFIERS = [
    PoincareSVC(),
    PoincareSVC("boundary", C=1.0, loss="hinge"),
    PoincarePerceptron(max_epochs=10),
    PoincareSecondOrderPerceptron(max_epochs=10),
    PoincareLogisticRegression(),
    PoincareLogisticRegressionCV(Cs=(1, 10), cv=2),
    PoincareKernelClassifier(n_components=40),
    HyperboloidSVC(),
    EuclideanSVC(),
    AuthorsSVC(),
]
every = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)


@pytest.fixture(scope="module")
def flat():
    """Three overlapping classes of the plane, which ExpMap maps into the ball."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    return np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])[y] + 0.6 * rng.standard_normal((150, 2)), y


@pytest.fixture(scope="module")
def ball(flat):
    X, y = flat
    return ExpMap().fit_transform(X), np.array(["zebra", "ant", "mole"])[y]


@every
def test_estimators_work_in_a_pipeline_under_cross_validation(classifier, flat):
    scores = cross_val_score(make_pipeline(ExpMap(), clone(classifier)), *flat, cv=2)
    assert scores.min() > 0.6


@every
def test_estimators_work_in_a_grid_search(classifier, ball):
    search = GridSearchCV(clone(classifier), {"class_weight": [None, "balanced"]}, cv=2, scoring="neg_log_loss")
    search.fit(*ball)
    assert search.best_estimator_.predict_proba(ball[0]).shape == (150, 3)


@every
def test_estimators_work_in_calibrated_classifier_cv(classifier, ball):
    X, y = ball
    model = CalibratedClassifierCV(clone(classifier), cv=2).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.6


@every
def test_estimators_work_after_a_transformer_with_pandas_output(classifier, flat):
    X, y = flat
    model = make_pipeline(ExpMap(), clone(classifier)).set_output(transform="pandas").fit(X, y)
    assert list(model[-1].feature_names_in_) == list(model[0].get_feature_names_out())
    assert model.predict(X).shape == (150,)


@every
def test_sample_weight_is_routed_to_the_estimator(classifier, flat):
    """If the weights are passed on, class 2, which has no weight, is never predicted."""
    X, y = flat
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(classifier).set_fit_request(sample_weight=True)
        model = make_pipeline(ExpMap(), routed).fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert 2 not in model.predict(X)


@every
def test_a_clone_has_the_same_parameters_and_fits_with_identical_bits(classifier, ball):
    X, y = ball
    model = clone(classifier).fit(X, y)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


@every
def test_bools_and_unordered_numbers_are_classes(classifier, ball):
    X, y = ball
    assert clone(classifier).fit(X, y == "ant").predict(X).dtype == bool
    numbers = np.array([7, -3, 40])[np.unique(y, return_inverse=True)[1]]
    assert set(clone(classifier).fit(X, numbers).predict(X)) <= {7, -3, 40}
