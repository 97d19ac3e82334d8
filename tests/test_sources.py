"""Every classifier fits the same model to every kind of source."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from hyplearn import (
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import exp_map, mobius_add
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC, PaperSVC
from support.sources import KINDS, arguments
from support.stored import written

SAME = 1e-10
ROWS = 41
POINTS = [[0.1, 0.0], [0.0, 0.2], [-0.1, 0.1]]
in_order = {"shuffle": False, "max_epochs": 3}


@pytest.fixture(scope="module", autouse=True)
def client():
    """Dask client with a cluster in this process."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0"}
    with distributed.Client(**options) as client:
        yield client


@cache
def overlapping():
    """Points of three overlapping classes, labels, and weights, some of them 0."""
    rng = np.random.default_rng(0)
    y = np.minimum(rng.integers(0, 4, 100), 2)
    X = exp_map(0.5 * rng.normal(size=(3, 2))[y] + 0.3 * rng.normal(size=(100, 2)), np.zeros(2))
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], 100)


def deep():
    """Three classes so far from the mean of all that each has a centre of its own."""
    X, y, weights = overlapping()
    places = exp_map(2.0 * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]), np.zeros(2))
    return mobius_add(places[y], 0.5 * X), y, weights


def unweighted():
    return *overlapping()[:2], None


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


def hinge(reference, **options):
    return PoincareSVC(reference, **{"C": 1.0, "loss": "hinge"} | options)


SVCS = {
    "hinge": (hinge("boundary"), overlapping),
    "hinge, no weights": (hinge("boundary"), unweighted),
    "squared hinge, closest": (PoincareSVC("closest", loss="squared_hinge"), overlapping),
    "exact margin, means": (hinge("means", margin="exact", C=[1.0, 2.0, 3.0]), overlapping),
    "hard margin": (hinge("boundary", C=np.inf), apart),
    "class weights, origin": (hinge("origin", class_weight={1: 3.0, 2: 0.5}, calibration=None), overlapping),
    "another curvature, mean": (hinge("mean", curvature=-0.7, calibration=None), overlapping),
    "projected": (hinge("mean", outside="project", trim=False, calibration=None), outside),
    "trimmed": (PoincareSVC(outside="project", C=10.0, calibration=None), outside),
    "no reference": (PoincareSVC(), overlapping),
    "no reference, no weights": (PoincareSVC(class_weight="balanced"), unweighted),
    "no reference, no intercept": (PoincareSVC(C=[1.0, 10.0, 100.0], fit_intercept=False), overlapping),
    "no reference, hinge, no intercept": (hinge(None, fit_intercept=False), overlapping),
    "no reference, hard margin": (PoincareSVC(C=np.inf), apart),
    "no reference, deep": (PoincareSVC(), deep),
    "at a point": (hinge([0.1, 0.0], calibration=None), overlapping),
    "at points": (hinge(POINTS, calibration=None), overlapping),
    "hull": (hinge("hull", calibration=None), overlapping),
    "closest, apart": (hinge("closest", calibration=None), apart),
    "hull, apart": (hinge("hull", calibration=None), apart),
}
SOFTMAXES = {
    "softmax": (PoincareLogisticRegression(), overlapping),
    "softmax, no weights": (PoincareLogisticRegression(), unweighted),
    "softmax of two": (PoincareLogisticRegression("closest"), apart),
    "softmax without intercept": (PoincareLogisticRegression("means", fit_intercept=False), overlapping),
    "balanced softmax": (PoincareLogisticRegression("origin", class_weight="balanced"), overlapping),
}
PERCEPTRONS = {
    "perceptron": (PoincarePerceptron(**in_order), overlapping),
    "perceptron, no weights": (PoincarePerceptron(calibration=None, **in_order), unweighted),
    "separating perceptron": (PoincarePerceptron("closest", shuffle=False, class_weight={1: 2.0}), apart),
    **{keep: (PoincarePerceptron(keep=keep, calibration=None, **in_order), overlapping) for keep in ("best", "last")},
    "second order": (PoincareSecondOrderPerceptron(keep="average", calibration=None, **in_order), overlapping),
    "pseudo-inverse": (PoincareSecondOrderPerceptron("mean", a=0.0, calibration=None, **in_order), overlapping),
}
CASES = SVCS | SOFTMAXES | PERCEPTRONS
kinds = pytest.mark.parametrize("kind", KINDS)
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),  # about points outside the ball
    pytest.mark.filterwarnings("ignore:.*still made mistakes:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*fits for calibrating the probabilities:sklearn.exceptions.ConvergenceWarning"),
]


@cache
def of_array(name):
    estimator, make = CASES[name]
    return clone(estimator).fit(*make())


def assert_same(model, expected):
    scale = np.abs(expected.coef_).max()
    assert np.array_equal(model.classes_, expected.classes_)
    if hasattr(expected, "reference_"):
        assert np.abs(model.reference_ - expected.reference_).max() <= SAME
    assert np.abs(model.coef_ - expected.coef_).max() <= SAME * scale
    if hasattr(expected, "intercept_"):
        assert np.abs(model.intercept_ - expected.intercept_).max() <= SAME * scale
    if hasattr(expected, "calibration_"):
        assert np.allclose(model.calibration_.slopes, expected.calibration_.slopes, rtol=1e-8)
        if expected.calibration_.mixing is not None:
            assert np.allclose(model.calibration_.mixing, expected.calibration_.mixing, rtol=1e-7, atol=1e-8)
        assert np.allclose(model.calibration_.offsets, expected.calibration_.offsets, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
@kinds
def test_every_source_gives_the_model_of_the_array(kind, name, tmp_path):
    estimator, make = CASES[name]
    X, y, weights = make()
    data = arguments(kind, tmp_path, X, y, weights, ROWS)
    model, expected = clone(estimator).fit(*data), of_array(name)
    assert_same(model, expected)
    assert np.array_equal(np.asarray(model.predict(data[0])), expected.predict(X))
    if name in PERCEPTRONS:
        assert np.array_equal(model.n_updates_, expected.n_updates_)
        assert np.array_equal(model.converged_, expected.converged_)
        assert np.allclose(model.margin_, expected.margin_, rtol=1e-9, equal_nan=True)
        return
    assert (model.status_ == "optimal").all()
    assert np.all(model.dual_gap_ <= model.tol)
    here, there = model.verify(*data), expected.verify(X, y, weights)
    assert np.all(here.gap <= model.tol)
    assert np.allclose(here.primal, there.primal, rtol=1e-9)
    if name in SVCS:
        assert not here.violation.any()
        assert np.array_equal(model.support_, expected.support_)
        assert np.allclose(model.margin_, expected.margin_, rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize(
    "estimator",
    [
        hinge("mean", warm_start=True, calibration=None),
        PoincareSVC(warm_start=True, calibration=None),
        PoincareLogisticRegression(warm_start=True),
        PoincarePerceptron("mean", warm_start=True, calibration=None, **in_order),
    ],
    ids=["hinge", "squared hinge", "softmax", "perceptron"],
)
@kinds
def test_a_warm_start_continues_from_any_source(kind, estimator, tmp_path):
    X, y, weights = overlapping()
    twice = clone(estimator).fit(X, y, weights).fit(X, y, weights)
    model = clone(estimator).fit(X, y, weights).fit(*arguments(kind, tmp_path, X, y, weights, ROWS))
    assert_same(model, twice)
    assert np.array_equal(model.n_iter_, twice.n_iter_)


@kinds
def test_a_stream_of_a_source_matches_its_blocks(kind, tmp_path):
    X, y, weights = overlapping()
    data = arguments(kind, tmp_path, X, y, weights, ROWS)
    source = data[0]
    sizes = {"frame": [len(X)], "dask": [41, 41, 18]}.get(kind) or [len(block.X) for block in source.blocks()]
    edges = np.cumsum([0, *sizes])
    for stream in (
        hinge("origin", C=0.1),
        hinge(None, C=0.1),
        PoincarePerceptron("origin"),
        PoincareSecondOrderPerceptron("origin"),
    ):
        expected = clone(stream)
        for start, stop in pairwise(edges):
            expected.partial_fit(X[start:stop], y[start:stop], [0, 1, 2], weights[start:stop])
        labels, masses = data[1:] if len(data) == 3 else (None, None)
        stream.partial_fit(source, labels, [0, 1, 2], masses)
        assert np.array_equal(stream.coef_, expected.coef_)
        assert np.array_equal(np.asarray(stream.predict(source)), expected.predict(X))


def halfway(X, y, weights, c):
    """A user's own strategy: the middle of the segment from the origin to the first point."""
    assert weights is None
    assert c == 1
    return 0.5 * X[0]


IN_MEMORY = {
    "CV": (
        PoincareLogisticRegressionCV(Cs=(1, 10), cv=2),
        "needs the data in memory for its folds; .*100 rows, is read",
    ),
    "function": (PoincareSVC(halfway, calibration=None), "reference=halfway needs all points in memory"),
    "shuffled": (
        PoincarePerceptron(max_epochs=3, calibration=None),
        "shuffle=True needs all points in memory; .* is read in blocks",
    ),
    **{
        type(baseline).__name__: (baseline, f"{type(baseline).__name__} needs all points in memory; .*100 rows, is")
        for baseline in (
            PaperSVC("means"),
            AuthorsSVC("means"),
            EuclideanSVC(calibration=None),
            HyperboloidSVC(tol=1e-3, calibration=None),
            HyperboloidPerceptron(max_epochs=3, calibration=None),
        )
    },
}


@pytest.mark.parametrize("name", IN_MEMORY)
@kinds
def test_options_that_need_all_rows_in_memory_raise_and_keep_the_model(kind, name, tmp_path):
    """They work within the memory budget of a source; a function is called if Dask's points fit into the budget."""
    X, y, weights = unweighted()
    estimator, message = IN_MEMORY[name]
    expected, data = clone(estimator).fit(X, y, weights), arguments(kind, tmp_path, X, y, weights, ROWS)
    if kind == "frame" or (kind, name) == ("dask", "function"):
        assert_same(clone(estimator).fit(*data), expected)
        return
    model = clone(estimator).fit(X[::2], y[::2])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message + r"(.|\n)*\n(Pass|Raise) "):
        model.fit(*data)
    assert vars(model).keys() == before.keys()
    assert all(value is before[key] for key, value in vars(model).items())
    if kind != "dask":
        assert_same(clone(estimator).fit(data[0].limited(memory=X.nbytes)), expected)


@pytest.mark.parametrize("kind", ["npz", "parquet", "hdf5", "zarr"])
def test_a_path_is_a_source(kind, tmp_path):
    X, y, _ = overlapping()
    path, _ = written(kind, tmp_path, X, y)
    model = PoincareLogisticRegression().fit(path, "y")
    assert_same(model, of_array("softmax, no weights"))
    assert np.array_equal(model.predict(str(path)), of_array("softmax, no weights").predict(X))
