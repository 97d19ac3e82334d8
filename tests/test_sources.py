"""One road: every classifier learns the same model, whatever the points come from."""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from hyplearn import (
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.data.points import PointSource
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import exp_map, frechet_mean
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC, PaperSVC
from support.sources import KINDS, arguments

SAME = 1e-10
ROWS = 37
POINTS = [[0.1, 0.0], [0.0, 0.2], [-0.1, 0.1]]
in_order = {"shuffle": False, "max_epochs": 3}


@pytest.fixture(scope="module", autouse=True)
def client():
    """Dask in this process."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.Client(**options) as client:
        yield client


@cache
def overlapping():
    """Points of three classes that overlap, their classes and weights, some of them 0."""
    rng = np.random.default_rng(0)
    y = np.minimum(rng.integers(0, 4, 150), 2)
    X = exp_map(0.5 * rng.normal(size=(3, 2))[y] + 0.3 * rng.normal(size=(150, 2)), np.zeros(2))
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], 150)


@cache
def apart():
    """Points of two classes with a margin of 0.2, and weights."""
    X, y, _, _ = make_ball_classification(150, 2, margin=0.2, random_state=0)
    return X, y, np.random.default_rng(0).uniform(size=150)


@cache
def outside():
    """The overlapping classes with two points outside the ball."""
    X, y, weights = overlapping()
    X = X.copy()
    X[[7, 90]] *= 1.5 / np.linalg.norm(X[[7, 90]], axis=1, keepdims=True)
    return X, y, weights


SVCS = {
    "hinge": (PoincareSVC(), overlapping),
    "squared hinge": (PoincareSVC(loss="squared_hinge"), overlapping),
    "exact margin": (PoincareSVC("means", margin="exact", C=[1.0, 2.0, 3.0]), overlapping),
    "hard margin": (PoincareSVC(C=np.inf), apart),
    "balanced": (PoincareSVC(class_weight="balanced", calibration=None), overlapping),
    "class weights": (PoincareSVC("mean", class_weight={1: 3.0, 2: 0.5}, calibration=None), overlapping),
    "another curvature": (PoincareSVC("mean", curvature=-0.7, calibration=None), overlapping),
    "projected": (PoincareSVC("mean", outside="project", calibration=None), outside),
    "at a point": (PoincareSVC([0.1, 0.0], calibration=None), overlapping),
    "at points": (PoincareSVC(POINTS, calibration=None), overlapping),
    **{name: (PoincareSVC(name, calibration=None), overlapping) for name in ("closest", "hull", "origin")},
    **{f"{name}, apart": (PoincareSVC(name, calibration=None), apart) for name in ("boundary", "closest", "hull")},
}
SOFTMAXES = {
    "softmax": (PoincareLogisticRegression(), overlapping),
    "softmax of two": (PoincareLogisticRegression("closest"), apart),
    "softmax without intercept": (PoincareLogisticRegression("means", fit_intercept=False), overlapping),
    "balanced softmax": (PoincareLogisticRegression("origin", class_weight="balanced"), overlapping),
    "projected softmax": (PoincareLogisticRegression(outside="project"), outside),
}
PERCEPTRONS = {
    "perceptron": (PoincarePerceptron(**in_order), overlapping),
    "separating perceptron": (PoincarePerceptron("closest", shuffle=False, class_weight={1: 2.0}), apart),
    **{keep: (PoincarePerceptron(keep=keep, calibration=None, **in_order), overlapping) for keep in ("best", "last")},
    "second order": (PoincareSecondOrderPerceptron(keep="average", calibration=None, **in_order), overlapping),
    "pseudo-inverse": (PoincareSecondOrderPerceptron("mean", a=0.0, calibration=None, **in_order), overlapping),
}
CASES = SVCS | SOFTMAXES | PERCEPTRONS
kinds = pytest.mark.parametrize("kind", KINDS)
weightings = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def fitted(estimator, *data):
    """A fitted clone; only what these cases ask for may be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning if isinstance(estimator, PoincarePerceptron) else UserWarning
        )
        warnings.simplefilter("ignore", DataConversionWarning)
        return clone(estimator).fit(*data)


@cache
def of_array(name, weighted):
    estimator, make = CASES[name]
    X, y, weights = make()
    return fitted(estimator, X, y, weights if weighted else None)


def assert_same(model, expected):
    scale = np.abs(expected.coef_).max()
    assert np.array_equal(model.classes_, expected.classes_)
    assert np.abs(model.reference_ - expected.reference_).max() <= SAME
    assert np.abs(model.coef_ - expected.coef_).max() <= SAME * scale
    if hasattr(expected, "intercept_"):
        assert np.abs(model.intercept_ - expected.intercept_).max() <= SAME * 30 * scale
    if hasattr(expected, "calibration_"):
        assert np.allclose(model.calibration_.slopes, expected.calibration_.slopes, rtol=1e-8)
        assert np.allclose(model.calibration_.offsets, expected.calibration_.offsets, rtol=1e-8, atol=1e-8)


def predicted(model, source):
    """Predictions for the points of a source, in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        return np.asarray(model.predict(source))


@pytest.mark.parametrize("name", CASES)
@weightings
@kinds
def test_every_source_gives_the_model_of_the_array(kind, weighted, name, tmp_path):
    estimator, make = CASES[name]
    X, y, weights = make()
    data = arguments(kind, tmp_path, X, y, weights if weighted else None, ROWS)
    model, expected = fitted(estimator, *data), of_array(name, weighted)
    assert_same(model, expected)
    assert np.array_equal(predicted(model, data[0]), predicted(expected, X))
    if name in PERCEPTRONS:
        assert np.array_equal(model.n_updates_, expected.n_updates_)
        assert np.array_equal(model.converged_, expected.converged_)
        assert np.allclose(model.margin_, expected.margin_, rtol=1e-9, equal_nan=True)
        return
    assert (model.status_ == "optimal").all()
    assert np.all(model.dual_gap_ <= model.tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        here, there = model.verify(*data), expected.verify(X, y, weights if weighted else None)
    assert np.all(here.gap <= model.tol)
    assert np.allclose(here.primal, there.primal, rtol=1e-9)
    if name in SVCS:
        assert not here.violation.any()
        assert np.array_equal(model.support_, expected.support_)
        assert np.allclose(model.margin_, expected.margin_, rtol=1e-9)
