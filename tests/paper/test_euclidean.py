"""The Euclidean SVM compared with liblinear, with and without intercept."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from hyplearn.datasets import make_ball_classification
from hyplearn.paper import EuclideanSVC
from hyplearn.paper.svc import INTERCEPT_COLUMN


@pytest.fixture
def off_centre(overlapping):
    """Two overlapping classes whose boundary is far from the origin."""
    X, _ = overlapping
    return X, np.where(X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(len(X)) > 0.5, "right", "left")


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_hinge_matches_liblinear(fit_intercept, off_centre):
    X, y = off_centre
    model = EuclideanSVC(5.0, fit_intercept=fit_intercept, calibration=None).fit(X, y)
    options = {"fit_intercept": fit_intercept, "intercept_scaling": INTERCEPT_COLUMN, "tol": 1e-10, "dual": False}
    linear = LinearSVC(C=5.0, max_iter=100_000, **options).fit(X, y)
    assert np.allclose(model.coef_, linear.coef_, rtol=1e-3, atol=1e-3)
    assert np.allclose(model.intercept_, linear.intercept_, atol=1e-3)
    assert model.status_[0] == "optimal"
    assert model.dual_gap_[0] <= 1e-6


def test_hinge_has_in_effect_an_intercept_without_penalty(off_centre):
    """The intercept of libsvm has no penalty."""
    X, y = off_centre
    model = EuclideanSVC(5.0, loss="hinge", calibration=None).fit(X, y)
    free = SVC(C=5.0, kernel="linear", tol=1e-8).fit(X, y)
    sign = np.where(y == "right", 1, -1)

    def objective(w, b):
        return 0.5 * w @ w + 5.0 * np.sum(np.maximum(0, 1 - sign * (X @ w + b)))

    ours = objective(model.coef_[0], model.intercept_[0])
    assert ours == pytest.approx(objective(free.coef_[0], free.intercept_[0]), rel=1e-3)


def test_an_intercept_improves_accuracy():
    """Without an intercept, as in the paper's baseline, all boundaries pass through the origin."""
    X, y, _, _ = make_ball_classification(5000, 2, reference_norm=0.57, random_state=3)
    with_intercept = EuclideanSVC(1000.0, calibration=None).fit(X, y).score(X, y)
    without = EuclideanSVC(1000.0, fit_intercept=False, calibration=None).fit(X, y)
    assert without.intercept_[0] == 0
    assert with_intercept > 0.95
    assert without.score(X, y) < 0.7


def test_unsolved_problems_warn_with_the_gap(overlapping):
    X, y = overlapping
    with pytest.warns(ConvergenceWarning, match=r"duality gap of .* not tol=1.0e-06 \(class right\).\nRaise max_iter"):
        EuclideanSVC(5.0, max_iter=1, calibration=None).fit(X, y)


def test_scores_are_affine_in_the_coordinates(overlapping):
    X, y = overlapping
    model = EuclideanSVC(calibration=None).fit(X, y)
    scores = model.decision_function(X)
    assert np.allclose(scores, X @ model.coef_[0] + model.intercept_[0])
