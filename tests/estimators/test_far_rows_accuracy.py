"""One or two rows at the rim change the accuracy of a classifier with its defaults by at most one point."""

import warnings

import numpy as np
import pytest

from hyplearn import (
    PoincareKernelClassifier,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.datasets import fetch_olsson, load_mammals
from hyplearn.geometry import project, translate
from hyplearn.tangent import from_frame

CLASSIFIERS = {
    "svc": PoincareSVC,
    "softmax": PoincareLogisticRegression,
    "softmax cv": lambda: PoincareLogisticRegressionCV(cv=2),
    "kernel": lambda: PoincareKernelClassifier(n_components=100),
    "neighbours": PoincareKNeighborsClassifier,
    "perceptron": PoincarePerceptron,
    "second order": PoincareSecondOrderPerceptron,
    **{f"svc, {name}": lambda name=name: PoincareSVC(name) for name in ("boundary", "means", "mean", "origin")},
}
# Number of test rows that make up one point of accuracy.
MOST = {"mammals": 5, "normals": 8}


def mammals():
    X, y = load_mammals(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def normals():
    """Four overlapping classes."""
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=1600)
    centres = from_frame(1.2 * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.zeros(2), c=1.0)
    return translate(from_frame(0.5 * rng.standard_normal((1600, 2)), np.zeros(2), c=1.0), centres[y]), y


SETS = {"mammals": mammals, "normals": normals}


def accuracies(model, name):
    """Numbers of correct rows in the second half after fits to the first, without and with rows moved to the rim."""
    X, y = SETS[name]()
    half = len(X) // 2
    return right_answers(model, X[:half], y[:half], X[half:], y[half:], ([], [3], [5, 11]))


def right_answers(model, X_train, y_train, X_test, y_test, moves):
    """Number of correct test rows after fits with the given training rows moved to the rim."""
    right = []
    for moved in moves:
        train = X_train.copy()
        train[moved] = project(train[moved] / np.linalg.norm(train[moved], axis=1, keepdims=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right.append(int(np.sum(model().fit(train, y_train).predict(X_test) == y_test)))
    return np.array(right)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_rows_at_the_rim_change_no_accuracy_by_more_than_a_point(classifier, name):
    right = accuracies(CLASSIFIERS[classifier], name)
    assert np.abs(right - right[0]).max() <= MOST[name]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_rows_at_the_rim_change_at_most_two_answers_of_88_cells(classifier, published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    cells = fetch_olsson(download_if_missing=False)
    moves = [[], [3], [5, 11], [20], [60, 61], [100], [200, 7]]
    right = right_answers(CLASSIFIERS[classifier], cells.X_train, cells.y_train, cells.X_test, cells.y_test, moves)
    assert np.abs(right - right[0]).max() <= 2


def test_without_trimming_a_row_at_the_rim_dominates():
    right = accuracies(lambda: PoincareSVC("boundary", trim=False), "mammals")
    assert np.abs(right - right[0]).max() > MOST["mammals"]
