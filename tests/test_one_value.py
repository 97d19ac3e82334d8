"""Scores, predictions, probabilities, distances, pictures and the explorer agree at every point."""

import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hyplearn import (
    ConformalClassifier,
    HyperboloidSVC,
    PoincareKernelClassifier,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
    explore,
)
from hyplearn.cone import cone_coordinates
from hyplearn.decision import Decision, decision_of
from hyplearn.geometry import distance, gap, signed_distance
from hyplearn.kernels import secant_kernel
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, PaperSVC
from hyplearn.plotting import BoundaryDisplay
from hyplearn.tangent import frame_coordinates, from_frame, z_features
from support.explored import decoded, model_of, scene_of

CALIBRATIONS = ("cross-fitted", "training", None)
MODELS = {
    **{f"svc, {m}, {k}": PoincareSVC("means", loss="hinge", margin=m, calibration=k) for m in ("bound", "exact")
       for k in ("cross-fitted", None)},
    "svc, boundary": PoincareSVC("boundary", loss="hinge", folds=2),
    "svc, squared hinge": PoincareSVC("origin", folds=2),
    **{f"svc, free, {k}": PoincareSVC(C=C, calibration=k) for C, k in (("auto", "cross-fitted"), (100, None))},
    "svc, free, hinge": PoincareSVC(loss="hinge", folds=2),
    **{f"svc, free, no intercept, {k}": PoincareSVC(fit_intercept=False, calibration=k)
       for k in ("cross-fitted", None)},
    "svc, free, no intercept, hinge": PoincareSVC(fit_intercept=False, loss="hinge", folds=2),
    "stream": PoincareSVC("origin", loss="hinge"),
    "stream, free": PoincareSVC(C=0.1, loss="hinge"),
    "stream, free, no intercept": PoincareSVC(C=0.1, loss="hinge", fit_intercept=False),
    "perceptron": PoincarePerceptron("means", max_epochs=5, folds=2),
    "perceptron without probabilities": PoincarePerceptron("means", max_epochs=5, calibration=None),
    "second order": PoincareSecondOrderPerceptron("means", max_epochs=5, folds=2),
    "softmax": PoincareLogisticRegression(),
    "softmax without intercept": PoincareLogisticRegression(fit_intercept=False),
    "kernel": PoincareKernelClassifier(n_components=30),
    "softmax cv": PoincareLogisticRegressionCV(Cs=[1, 100], cv=2),
    **{f"paper, {k}": PaperSVC("means", C=10, calibration=k) for k in CALIBRATIONS},
    "paper, sgd": PaperSVC("means", solver="sgd", max_iter=20),
    **{f"authors, {k}": AuthorsSVC("means", calibration=k) for k in CALIBRATIONS},
    **{f"hyperboloid svc, {k}": HyperboloidSVC(max_iter=100, calibration=k) for k in CALIBRATIONS},
    **{f"hyperboloid perceptron, {k}": HyperboloidPerceptron(max_epochs=5, calibration=k) for k in CALIBRATIONS},
    **{f"euclidean, {k}": EuclideanSVC(calibration=k) for k in CALIBRATIONS},
    "euclidean without intercept": EuclideanSVC(fit_intercept=False, folds=2),
}  # fmt: skip
CURVATURE = -0.25


def points(rng, n, reach):
    """Points of the disk of curvature -1/4, up to a distance from its centre."""
    V = rng.standard_normal((n, 2))
    return from_frame(rng.uniform(0, reach, (n, 1)) * V / np.linalg.norm(V, axis=1)[:, None], np.zeros(2), c=0.25)


def fitted(name, n_classes):
    """Classifier fitted to overlapping classes, so that calibrations have offsets."""
    rng = np.random.default_rng(n_classes)
    X = points(rng, 90, 5.0)
    scores = X @ [[1, -1, 0.2], [0.3, 0, -1]] + 0.25 * rng.standard_normal((90, 3))
    y = np.array(["ant", "bee", "cat"])[np.argmax(scores[:, :n_classes] + [0.2, 0.0, 0.1][:n_classes], axis=1)]
    model = MODELS[name]
    model = type(model)(**model.get_params() | {"curvature": CURVATURE})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.partial_fit(X, y, classes=np.unique(y)) if name.startswith("stream") else model.fit(X, y)


def page_scores(spec, x):
    """Scores of a decision in the page, by the definition of its link in the unit disk."""
    columns = []
    for p, w, b in zip(np.array(spec["points"]), np.array(spec["weights"]), spec["intercepts"], strict=True):
        value = {
            "arsinh": lambda p, w, b: spec["gain"] * np.arcsinh(z_features(x, p) @ w),
            "frame": lambda p, w, b: frame_coordinates(x, p) @ w,
            "z": lambda p, w, b: z_features(x, p) @ w,
            "sphere": lambda p, w, b: cone_coordinates(x, p) @ np.append(w, b),
            "sphere-arsinh": lambda p, w, b: np.arcsinh(cone_coordinates(x, p) @ np.append(w, b)),
            "ball": lambda p, w, b: x @ w + b,
            "kernel": lambda p, w, b: (
                secant_kernel(x, spec["kernel"]["landmarks"], scale=spec["kernel"]["scale"]) @ w + b
            ),
        }[spec["link"]]
        columns.append(value(p, w, b))
    values = np.stack(columns, axis=1)
    if spec["mixing"] is not None:
        return values @ np.array(spec["mixing"]).T + spec["offsets"]
    return values if spec["slopes"] is None else values * spec["slopes"] + spec["offsets"]


def codes_of(scores):
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def n_classes(request):
    return request.param


@pytest.mark.parametrize("name", MODELS)
def test_all_outputs_of_a_model_agree_on_every_point(name, n_classes):
    model = fitted(name, n_classes)
    Q = points(np.random.default_rng(7), 400, 9.0)
    codes = np.searchsorted(model.classes_, model.predict(Q))
    scores = model.decision_function(Q).reshape(len(Q), -1)
    # The hyperboloid perceptron learns little, and its calibration may predict one class only, without a boundary.
    assert len(np.unique(codes)) == n_classes or name.startswith("hyperboloid perceptron")
    assert np.array_equal(codes_of(scores), codes)
    check_probabilities(model, Q, codes)
    check_distances(model, Q, codes)
    check_picture(model)
    check_scene(model, Q, codes, scores)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("svc, free")])
def test_everything_a_model_says_of_a_point_agrees_if_each_class_has_a_centre(name):
    rng = np.random.default_rng(3)
    places = from_frame(8.0 * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]), np.zeros(2), c=0.25)
    codes = np.arange(90) % 3
    X = np.stack([from_frame(v, places[k], c=0.25) for v, k in zip(rng.standard_normal((90, 2)), codes, strict=True)])
    model = type(MODELS[name])(**MODELS[name].get_params() | {"curvature": CURVATURE}).fit(X, codes)
    assert len(np.unique(model.reference_, axis=0)) == 3
    Q = points(np.random.default_rng(7), 400, 16.0)
    scores, codes = model.decision_function(Q), model.predict(Q)
    assert np.array_equal(codes_of(scores), codes)
    check_probabilities(model, Q, codes)
    check_distances(model, Q, codes)
    check_picture(model)
    check_scene(model, Q, codes, scores)


def check_probabilities(model, Q, codes):
    if not model.decision_.has_probabilities:
        with pytest.raises(AttributeError):
            model.predict_proba(Q)
    else:
        probabilities = model.predict_proba(Q)
        largest = np.sort(probabilities, axis=1)
        clear = largest[:, -1] > largest[:, -2]
        assert clear.mean() > 0.9  # the others are too certain for float64
        assert np.array_equal(probabilities.argmax(axis=1)[clear], codes[clear])


def check_distances(model, Q, codes):
    """Check that the sign of the distance is the prediction, for two classes and models that have distances."""
    assert getattr(model, "distances", None) is None or model.decision_.has_distances
    if hasattr(model, "distances") and len(model.classes_) == 2:
        assert np.array_equal(model.distances(Q)[:, 0] > 0, codes == 1)


def check_picture(model):
    """Check that pixels equal predictions, and that these differ on the two sides of a drawn line."""
    display = BoundaryDisplay.from_estimator(model, resolution=60)
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 2
    assert np.array_equal(model.classes_[display.regions[inside]], model.predict(pixels[inside]))
    assert bool(display.boundaries) == has_arcs(model.decision_)
    for arc in display.boundaries:
        inner = arc[np.linalg.norm(arc, axis=1) < 1.98][5:-5]
        along = np.diff(inner, axis=0)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        middle = (inner[1:] + inner[:-1]) / 2
        step = 1e-3 * gap(middle, c=0.25)[:, None] * across
        left, right = model.predict(middle + step), model.predict(middle - step)
        assert np.all(left != right)
        if len(model.classes_) == 2:
            assert len(np.unique(left)) == len(np.unique(right)) == 1


def has_arcs(decision):
    """Whether predictions change on curves with a formula."""
    return decision.boundary() is not None or decision.steepness() is not None or decision.is_pairwise


def check_scene(model, Q, codes, scores):
    """Check that the page has the predictions of Python, and a decision function that reproduces them."""
    scene = scene_of(explore(model, Q))
    page = scene["models"][0]
    assert np.array_equal(decoded(page["predicted"]), codes)
    x, spec = Q / 2, page["decision"]
    assert np.array_equal(np.stack([decoded(scene["points"][axis]) for axis in "xy"], axis=1), x)
    again = page_scores(spec, x)
    rounding = 1e-10 + 4e-16 * np.abs(model.decision_.weights).sum(axis=1).max()  # of sums that cancel
    assert np.allclose(again, scores, rtol=1e-9, atol=rounding)
    assert np.array_equal(codes_of(again), codes)
    if model.decision_.has_probabilities:
        assert np.array_equal(decoded(page["confidence"]), model.predict_proba(Q).max(axis=1).astype("f4"))
    assert (spec["boundaries"] is not None) == model.decision_.has_distances
    if model.decision_.has_distances:
        for k, arc in enumerate(spec["boundaries"]):
            distances = model.decision_.distances(Q, gap(Q, c=0.25))[:, k] / 2
            if arc is None:
                assert np.all(np.isinf(distances))
            else:
                assert np.allclose(page_distances(arc, x), distances, rtol=1e-9, atol=1e-9)


def page_distances(arc, x):
    """Signed distances to a boundary of the page."""
    if arc["kind"] == "sphere":
        return arc["side"] * (distance(x, arc["p"]) - arc["radius"])
    return signed_distance(x, arc["w"], arc["p"]) - arc["height"]


def test_all_outputs_of_a_neighbours_classifier_agree(n_classes):
    """These classifiers have no closed-form decision function: pictures and pages use their predictions."""
    base = fitted("softmax", n_classes)
    X, Q = points(np.random.default_rng(1), 90, 5.0), points(np.random.default_rng(7), 400, 9.0)
    model = PoincareKNeighborsClassifier(curvature=CURVATURE).fit(X, base.predict(X))
    codes = np.searchsorted(model.classes_, model.predict(Q))
    assert np.array_equal(model.predict_proba(Q).argmax(axis=1), codes)
    display = BoundaryDisplay.from_estimator(model, resolution=60)
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 2
    assert np.array_equal(model.classes_[display.regions[inside]], model.predict(pixels[inside]))
    page = scene_of(explore(model, Q))
    shown = page["models"][0]
    assert np.array_equal(decoded(shown["predicted"]), codes)
    assert np.array_equal(decoded(shown["confidence"]), model.predict_proba(Q).max(axis=1).astype("f4"))


def test_a_conformal_classifier_predicts_like_the_classifier_it_wraps(n_classes):
    base = fitted("softmax", n_classes)
    X, Q = points(np.random.default_rng(1), 200, 5.0), points(np.random.default_rng(7), 400, 9.0)
    model = ConformalClassifier(PoincareLogisticRegression(curvature=CURVATURE)).fit(X, base.predict(X))
    assert model.decision_ is model.estimator_.decision_
    codes = np.searchsorted(model.classes_, model.predict(Q))
    scores = model.decision_function(Q).reshape(len(Q), -1)
    assert np.array_equal(codes_of(scores), codes)
    check_probabilities(model, Q, codes)
    check_picture(model)
    check_scene(model, Q, codes, scores)


def test_a_frozen_classifier_has_the_decision_of_the_classifier_it_wraps():
    model = fitted("svc, bound, cross-fitted", 2)
    assert decision_of(FrozenEstimator(model)) is model.decision_


def test_a_pipeline_is_shown_by_its_predictions():
    Q = points(np.random.default_rng(7), 60, 6.0)
    model = make_pipeline(TangentSpace(curvature=CURVATURE), LogisticRegression()).fit(Q, Q[:, 0] > 0.2)
    assert not isinstance(decision_of(model), Decision)
    page = model_of(explore(model, Q))
    assert page["decision"] is None
    assert np.array_equal(decoded(page["predicted"]), model.predict(Q))
