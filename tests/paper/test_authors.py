"""The authors' procedure, with the steps that reproduce their tables."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hyplearn.datasets import fetch_olsson
from hyplearn.paper import AuthorsSVC
from support import naive


@pytest.fixture
def cells(published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    return fetch_olsson(download_if_missing=False)


@pytest.mark.parametrize("drop_intercept", [False, True])
def test_scores_match_the_steps_written_out(drop_intercept, cells):
    model = AuthorsSVC(cells.reference_points, drop_intercept=drop_intercept, calibration=None).fit(
        cells.X_train, cells.y_train
    )
    X, X_test = cells.X_train.astype(float), cells.X_test.astype(float)
    for k, p in enumerate(cells.reference_points):
        svc = LinearSVC(C=5, fit_intercept=drop_intercept, random_state=0)
        svc.fit(naive.log_map(X, p, 1.0), cells.y_train == k)
        score = naive.log_map(X_test, p, 1.0) @ svc.coef_[0]
        assert np.allclose(model.decision_function(cells.X_test)[:, k], score, rtol=1e-2, atol=1e-2)
        assert model.dropped_intercept_[k] == pytest.approx(np.sum(svc.intercept_), abs=1e-2)
    assert np.all((model.dropped_intercept_ != 0) == drop_intercept)


def platt(train, positive, test):
    """Platt's probabilities: a logistic curve fitted to targets slightly inside 0 and 1."""
    high, low = (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2)
    target, rows = np.where(positive, high, low), np.concatenate([train, train])[:, None]
    labels, weights = np.repeat([1, 0], len(train)), np.concatenate([target, 1 - target])
    curve = LogisticRegression(C=1e8, max_iter=10_000).fit(rows, labels, weights)
    return curve.predict_proba(test[:, None])[:, 1]


@pytest.mark.parametrize(("drop_intercept", "accuracy"), [(False, 0.8977), (True, 0.8636)])
def test_platt_scaling_of_its_scores_gives_the_papers_accuracy(drop_intercept, accuracy, cells):
    """The 89.77 % of the paper's second table: the class with the highest probability from training scores."""
    model = AuthorsSVC(cells.reference_points, drop_intercept=drop_intercept, calibration=None).fit(
        cells.X_train, cells.y_train
    )
    train, test = model.decision_function(cells.X_train), model.decision_function(cells.X_test)
    chances = [platt(train[:, k], cells.y_train == k, test[:, k]) for k in range(len(model.classes_))]
    assert np.mean(np.argmax(chances, axis=0) == cells.y_test) == pytest.approx(accuracy, abs=1e-4)


def test_the_hull_gives_the_reference_points_by_default(overlapping):
    X, y = overlapping
    model = AuthorsSVC(calibration=None).fit(X, y)
    assert model.reference == "hull"
    assert model.reference_.shape == (1, 2)
    assert model.decision_function(model.reference_)[0] == 0


def test_a_problem_with_one_label_has_zero_scores(overlapping):
    X, y = overlapping
    model = AuthorsSVC([0.0, 0.0], calibration=None).fit(X, y, (y == "left").astype(float))
    assert np.all(model.decision_function(X) == 0)
    assert model.classes_.tolist() == ["left", "right"]
