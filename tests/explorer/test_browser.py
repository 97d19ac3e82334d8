"""The explorer in a real browser: arithmetic against Python, pixels against predictions, clicks, drags and keys."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

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
from hyplearn.decision import Calibration, decision_of
from hyplearn.geometry import distance, gap, signed_distance, translate, transport
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, PaperSVC
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.arcs import hypercycle
from hyplearn.plotting.plane import Plane, choose_plane, predicted_codes
from hyplearn.tangent import from_frame
from support.balls import cloud
from support.explored import rgb, scene_of
from support.luminance import luminance
from support.two_classes import nested, overlapping

TINT = 0.2
HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>\'&amp;{{scene}}\u2028'

MODELS = {
    "svc": PoincareSVC(folds=2),
    "svc without intercept": PoincareSVC(fit_intercept=False, folds=2),
    "svc without probabilities": PoincareSVC(calibration=None),
    "svc through a point": PoincareSVC("boundary", C=10, folds=2),
    "svc, exact": PoincareSVC("boundary", margin="exact", folds=2),
    "svc through a point without probabilities": PoincareSVC("boundary", calibration=None),
    "perceptron": PoincarePerceptron("means", max_epochs=5, folds=2),
    "second order": PoincareSecondOrderPerceptron("means", max_epochs=5, folds=2),
    "softmax": PoincareLogisticRegression(),
    "softmax without intercept": PoincareLogisticRegression(fit_intercept=False),
    "softmax cv": PoincareLogisticRegressionCV(Cs=[1, 100], cv=2),
    "kernel": PoincareKernelClassifier(n_components=40),
    "heat kernel": PoincareKernelClassifier("heat", n_components=40),
    "Laplacian kernel": PoincareKernelClassifier("laplacian", n_components=40),
    "hyperboloid svc": HyperboloidSVC(folds=2),
    "hyperboloid svc, paper's calibration": HyperboloidSVC(calibration="training"),
    "hyperboloid perceptron": HyperboloidPerceptron(),
    "authors": AuthorsSVC("means"),
    "paper": PaperSVC("means", C=10),
    "paper without probabilities": PaperSVC("means", calibration=None),
    "euclidean": EuclideanSVC(C=10, folds=2),
}
# Models that are also shown in a disk of another curvature.
CURVED = ("svc", "svc through a point", "softmax", "authors", "paper", "euclidean", "hyperboloid svc")
# Links whose values are linear in hyperboloid coordinates about one centre.
CENTRED = ("sphere", "sphere-arsinh", "cone")
LINKS = ("arsinh", "frame", "z", *CENTRED, "ball")


def many(seed=3, n=150):
    """Three overlapping classes."""
    rng = np.random.default_rng(seed)
    X = cloud(rng, n, 2, 1.2)
    scores = X @ [[1, -1, 0.2], [0.3, 0, -1]] + [0, 0.1, 0.05] + 0.15 * rng.standard_normal((n, 3))
    return X, np.array(["ant", "bee", "cat"])[np.argmax(scores, axis=1)]


def two(seed=3, n=150):
    X, y = many(seed, n)
    return X, np.where(y == "ant", "ant", "other insect")


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def tints(page):
    """Colour of the region of each class on white."""
    return [np.round(255 + TINT * (np.array(rgb(colour)) - 255)) for colour in colours_of(page)]


def colours_of(page):
    return [style["light"] for style in scene_of(page)["styles"]]


def seen_from(p, x):
    """(-p) ⊕ x in complex numbers, independent of the library."""
    p, x = complex(*p), np.asarray(x) @ [1, 1j]
    moved = (x - p) / (1 - np.conj(p) * x)
    return np.stack([moved.real, moved.imag], axis=-1)


def on_stage(browser, v):
    """Positions on the stage, in pixels, of places of the disk at zoom 1."""
    width, height = browser.run("const { width, height } = document.getElementById('stage').getBoundingClientRect();"
                                "return [width, height]")  # fmt: skip
    radius = min(width, height) / 2 - 14
    return np.array([width / 2, height / 2]) + radius * np.asarray(v) * [1, -1], radius


def test_arithmetic_of_the_disk_matches_python(browser, tmp_path):
    X, y = many(n=30)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    rng = np.random.default_rng(0)
    # Points up to a gap of 1e-12, and close pairs near the rim.
    directions = rng.standard_normal((60, 2))
    gaps = 10.0 ** rng.uniform(-12, 0, 60)
    A = directions / np.linalg.norm(directions, axis=1, keepdims=True) * np.sqrt(1 - gaps)[:, None]
    B = np.where(rng.random((60, 1)) < 0.5, translate(cloud(rng, 60, 2, 1.0), A), A[::-1])
    W = rng.standard_normal((60, 2))
    assert np.allclose(browser.map("geometry.gap", A), gap(A), rtol=1e-12, atol=0)
    pairs = np.stack([A, B], axis=1)
    assert np.allclose(browser.map("geometry.distance", pairs), distance(A, B), rtol=1e-12, atol=0)
    seen = np.array(browser.map("geometry.seenFrom", pairs))
    assert np.allclose(seen, translate(B, -A), rtol=1e-9, atol=1e-12)
    carried = np.array(browser.map("geometry.transported", np.stack([W, A, B], axis=1)))
    # Compared in frame coordinates, which keep lengths.
    true = transport(W * gap(A)[:, None], A, B) / gap(B)[:, None]
    assert np.allclose(carried, true, rtol=1e-7, atol=1e-7)
    centres = np.array(browser.map("geometry.centreThatShows", np.stack([0.9 * A, 0.9 * B[::-1]], axis=1)))
    assert np.allclose(translate(0.9 * A, -centres), 0.9 * B[::-1], atol=1e-12)


def assert_page_agrees(browser, model, Q, name):
    """Compare scores, classes, probabilities and distances of the page with Python, at points Q of the unit disk."""
    decision = model.decision_
    X = Q / np.sqrt(decision.c)
    scores = np.array(browser.map("scores", Q))
    expected = model.decision_function(X)
    if decision.is_binary:
        assert np.all(scores[:, 0] == 0), name
        scores = scores[:, 1]
    # If kernel weights are far larger than their sum, the sum has a larger rounding error.
    rounding = 1e-11 + 4e-16 * np.abs(decision.weights).sum(axis=1).max()
    assert np.allclose(scores, expected, rtol=1e-9, atol=rounding), name
    codes = np.array(browser.map("classOf", Q))
    assert np.array_equal(model.classes_[codes], model.predict(X)), name
    probabilities = browser.map("probabilities", Q)
    if decision.has_probabilities:
        assert np.allclose(probabilities, model.predict_proba(X), rtol=1e-9, atol=rounding), name
    else:
        assert set(probabilities) == {None}
        assert not hasattr(model, "predict_proba")
    found = browser.map("distances", Q)
    if decision.has_distances:
        distances = decision.distances(X, gap(X, c=decision.c))
        # Without a boundary the distance is infinite, which JSON cannot represent.
        assert np.array_equal(np.equal(found, None), np.isinf(distances)), name
        found = np.where(np.isinf(distances), distances, np.array(found)).astype(float)
        assert np.allclose(found, distances, rtol=1e-9, atol=1e-11), name
        if decision.is_binary:
            assert np.array_equal(np.ravel(found) > 0, codes == 1), name
    else:
        assert set(found) == {None}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_page_evaluates_every_link_and_calibration(browser, tmp_path, n_classes):
    """The decisions are random and include those that occur only in files of version 0.1."""
    rng = np.random.default_rng(5)
    # Points up to a distance of 12; version 0.1 shortens rows beyond 4.
    Q = from_frame(rng.uniform(0, 12, (300, 1)) * unit_rows(rng.standard_normal((300, 2))), np.zeros(2))
    n_problems = 1 if n_classes == 2 else n_classes
    model = fitted(PoincareSVC("origin", curvature=-0.25, calibration="cross-fitted"), *labelled(n_classes))
    for link in LINKS:
        points = cloud(rng, n_problems, 2, 0.25)
        decision = replace(
            model.decision_,
            link=link,
            weights=rng.standard_normal((n_problems, 3 if link in CENTRED else 2)),
            points=np.tile(points[0], (n_problems, 1)) if link in CENTRED else points,
            intercepts=0.2 * rng.standard_normal(n_problems) if link in (*CENTRED, "ball") else np.zeros(n_problems),
            gain=1.7,
        )
        slopes, offsets = rng.uniform(-1, 2, n_problems), 0.3 * rng.standard_normal(n_problems)
        calibrations = [None, Calibration(slopes, offsets), Calibration(slopes, offsets, 1.4)]
        if n_classes > 2:
            mixing = rng.standard_normal((n_classes, n_classes))
            calibrations.append(Calibration(np.diag(mixing), offsets, mixing=mixing))
        for calibration in calibrations:
            model.calibration = None if calibration is None else "cross-fitted"
            model.decision_ = replace(decision, calibration=calibration)
            browser.open(explore(model, Q[:9] / 0.5), tmp_path)
            assert_page_agrees(browser, model, Q, (link, calibration))


def unit_rows(V):
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def labelled(n_classes):
    X, y = (two if n_classes == 2 else many)(n=40)
    return 2 * X, y


def test_a_drag_moves_points_by_a_translation(browser, tmp_path):
    X, y = many(n=60)
    model = fitted(MODELS["softmax"], X, y)
    page = explore(model, X, y)
    browser.open(page, tmp_path)
    # Places that are not covered by other points and stay near the middle.
    (start, end), radius = on_stage(browser, [[0.4, 0.3], [-0.1, -0.2]])
    start, end = np.round(start), np.round(end)
    grabbed, aim = (((place - on_stage(browser, [0, 0])[0]) / radius) * [1, -1] for place in (start, end))
    browser.drag(start, (start + end) / 2, end)
    # The only centre p for which the grabbed point appears at the end of the drag: p - x v conj(p) = x - v.
    x, v = complex(*grabbed), complex(*aim)
    p = ((x - v) + x * v * np.conj(x - v)) / (1 - abs(x * v) ** 2)
    p = np.array([p.real, p.imag])
    assert np.allclose(browser.ask("state().centre"), p, atol=1e-9)
    seen = seen_from(p, X)
    assert np.allclose(seen, translate(X, -p), atol=1e-12)
    places = on_stage(browser, seen)[0]
    assert np.allclose(browser.screen(X), places, atol=1e-6)
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 1e9 * np.eye(len(X))
    clear = (apart.min(axis=1) > 12) & (np.linalg.norm(seen, axis=1) < 0.8)
    assert clear.sum() > 15
    colours = {str(label): rgb(colours_of(page)[k]) for k, label in enumerate(model.classes_)}
    assert np.array_equal(browser.pixels(places[clear])[:, :3], [colours[label] for label in y[clear]])
    browser.double_click(on_stage(browser, [0.0, -0.5])[0])
    assert browser.ask("state().centre") == [0, 0]


def near_a_change(predicted_at, V, radius):
    """Whether the prediction changes within a pixel and a half of places of the disk."""
    turns = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    ring = 1.5 / radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    around = np.stack([predicted_at(V + step) for step in ring])
    return np.any(around != predicted_at(V), axis=0)


def check_regions(browser, page, predicted_at, *, drag=True):
    """Compare pixels of regions with ``predicted_at(places of the disk, centre)``, before and after a drag."""
    for moved in (False, True) if drag else (False,):
        if moved:
            browser.drag(*on_stage(browser, [[0.3, 0.45], [-0.2, 0.1]])[0])
        centre = np.array(browser.ask("state().centre"))
        _, radius = on_stage(browser, [0, 0])
        V = cloud(np.random.default_rng(1), 6000, 2, 0.5)
        V = V[np.linalg.norm(V, axis=1) < 0.97][:3000]
        middle, _ = on_stage(browser, [0, 0])
        V = ((np.floor(on_stage(browser, V)[0]) + 0.5 - middle) / radius) * [1, -1]
        colours = browser.pixels(on_stage(browser, V)[0])[:, :3]
        known = np.array(tints(page))
        # Pixels under a point or on a line have other colours.
        match = np.all(np.abs(colours[:, None] - known) <= 1, axis=-1)
        is_region = match.any(axis=1)
        far = ~near_a_change(lambda W, c=centre: predicted_at(W, c), V, radius)
        assert (is_region & far).mean() > 0.9
        assert np.array_equal(match.argmax(axis=1)[is_region & far], predicted_at(V, centre)[is_region & far])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("svc", many),
        ("svc", two),
        ("svc through a point", many),
        ("paper", many),
        ("paper", two),
        ("softmax", many),
        ("softmax", two),
        ("euclidean", two),
    ],
)
def test_regions_match_predict_at_every_pixel(browser, tmp_path, name, data):
    X, y = data()
    model = fitted(MODELS[name], X, y)
    page = explore(model, X[:6], y[:6])
    browser.open(page, tmp_path)
    check_regions(browser, page, lambda V, p: np.searchsorted(model.classes_, model.predict(translate(V, p))))


def at_a_distance(model, shift):
    """The fitted classifier, calibrated so that both classes are equally likely at the value ``shift``."""
    calibration = Calibration(np.array([1.5]), np.array([-1.5 * shift]))
    model.decision_ = replace(model.decision_, calibration=calibration)
    return model


def test_predict_changes_at_an_equidistant_boundary(browser, tmp_path):
    """The boundary is an equidistant of the geodesic, and is drawn with the margins of the exact SVM."""
    X, y = two()
    model = at_a_distance(fitted(PoincareSVC("boundary", margin="exact", C=10), X, y), 0.4)
    page = explore(model, X[:2], y[:2])
    browser.open(page, tmp_path)
    check_regions(browser, page, lambda V, p: np.searchsorted(model.classes_, model.predict(translate(V, p))))
    assert "equally far from a geodesic, a straight line" in browser.text("bend")
    w, p = model.coef_[0], model.reference_[0]
    margin = scene_of(page)["models"][0]["margin"]
    assert np.isclose(margin, np.arcsinh(1 / np.linalg.norm(w)))
    for height, share in ((0.4, 0.97), (margin, 0.4), (-margin, 0.4)):
        arc = hypercycle(w, p, height)[20:-20]
        assert np.abs(signed_distance(arc, w, p) - height).max() < 1e-9
        alpha = browser.pixels(browser.screen(arc), layer="pen")[:, 3]
        assert (alpha > 60).mean() > share, height


@pytest.mark.parametrize(
    ("kind", "data", "changes", "text"),
    [
        ("sphere", nested, {}, "Their boundary is a circle"),
        ("equidistant", overlapping, {}, "equally far from a geodesic, a straight line"),
        ("hyperplane", overlapping, {"fit_intercept": False}, "it is a geodesic, a straight line in hyperbolic space"),
    ],
)
@pytest.mark.parametrize("c", [1.0, 0.25])
def test_boundaries_without_a_reference_point_are_drawn_where_predictions_change(
    browser, tmp_path, kind, data, changes, text, c
):
    X, y = data(c=c)
    model = fitted(PoincareSVC(curvature=-c, **changes), X, y)
    assert model.boundaries_[0].kind == kind
    page = explore(model, X[:2], y[:2])
    browser.open(page, tmp_path)
    assert text in browser.text("bend")
    assert not browser.is_shown("movable")
    check_regions(
        browser, page, lambda V, p: np.searchsorted(model.classes_, model.predict(translate(V, p) / np.sqrt(c)))
    )
    display = BoundaryDisplay.from_estimator(model, resolution=20)
    for curve, share in ((display.boundaries[0], 0.97), *((curve, 0.4) for curve in display.margins)):
        alpha = browser.pixels(browser.screen(np.sqrt(c) * curve[20:-20]), layer="pen")[:, 3]
        assert (alpha > 60).mean() > share
    assert np.sign(model.margin_[0]) == (1 if kind == "sphere" else -1)
    assert len(display.margins) == (2 if kind == "sphere" else 0)
    assert_page_agrees(browser, model, cloud(np.random.default_rng(8), 300, 2, 1.6), kind)


@pytest.mark.parametrize("kind", [HyperboloidSVC, EuclideanSVC])
def test_the_boundary_of_a_baseline_is_drawn_where_its_scores_are_0(browser, tmp_path, kind):
    X, y = two()
    model = at_a_distance(fitted(kind(), X, y), 0.4)
    browser.open(explore(model, X[:2], y[:2]), tmp_path)
    (arc,) = BoundaryDisplay.from_estimator(model, resolution=20).boundaries
    inner = arc[20:-20]
    assert np.abs(model.decision_function(inner)).max() < 1e-9
    assert (browser.pixels(browser.screen(inner), layer="pen")[:, 3] > 60).mean() > 0.97


# Classifiers that the page cannot evaluate, and wrappers of classifiers that it can.
WRAPPED = {
    "neighbours": PoincareKNeighborsClassifier(5),
    "conformal": ConformalClassifier(PoincareLogisticRegression()),
    "conformal of an svc": ConformalClassifier(PoincareSVC("means", folds=2)),
    "foreign": KNeighborsClassifier(5),
    "foreign svc": SVC(),
    "pipeline": make_pipeline(TangentSpace(), LogisticRegression()),
}
TELL = "return [...Array(arguments[0]).keys()].map((i) => hyplearnExplorer.told(i))"


@pytest.mark.parametrize("data", [many, two])
def test_predictions_of_the_page_match_python(browser, tmp_path, data):
    """Compared at points all over the disk, on cards of every kind of model, and for another curvature."""
    X, y = data()
    Q = cloud(np.random.default_rng(8), 300, 2, 1.6)
    for name, model in (MODELS | WRAPPED).items():
        c = 0.25 if name in CURVED else 1.0
        points = X / np.sqrt(c)
        model = fitted(clone(model).set_params(curvature=-c) if name in CURVED else model, points, y)
        page = explore(model, points, y)
        browser.open(page, tmp_path)
        if name in MODELS:
            assert_page_agrees(browser, model, Q, name)
        spec = scene_of(page)["models"][0]
        assert_cards_agree(model, points[:25], spec, browser.run(TELL, 25), name)


def test_the_page_decides_as_python_does_if_each_class_has_a_centre(browser, tmp_path):
    rng, codes = np.random.default_rng(5), np.arange(90) % 3
    places = from_frame(5.0 * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]), np.zeros(2))
    X = np.stack([from_frame(v, places[k]) for v, k in zip(rng.standard_normal((90, 2)), codes, strict=True)])
    model = PoincareSVC().fit(X, codes)
    assert len(np.unique(model.reference_, axis=0)) == 3
    page = explore(model, X, codes)
    browser.open(page, tmp_path)
    check_regions(browser, page, lambda V, p: model.predict(translate(V, p)))
    assert_page_agrees(browser, model, cloud(np.random.default_rng(8), 300, 2, 1.6), "svc")
    assert_cards_agree(model, X[:25], scene_of(page)["models"][0], browser.run(TELL, 25), "svc")


@pytest.mark.parametrize("name", ["svc", "svc through a point", "softmax", "kernel", "neighbours", "conformal"])
def test_cards_agree_with_python_for_points_off_the_plane_of_the_picture(browser, tmp_path, name):
    for data in (many, two):
        X, y = data(n=60)
        X = np.hstack([X, cloud(np.random.default_rng(1), 60, 3, 0.5)]) * 0.5
        model = fitted((MODELS | WRAPPED)[name], X, y)
        page = explore(model, X, y)
        browser.open(page, tmp_path)
        assert_cards_agree(model, X, scene_of(page)["models"][0], browser.run(TELL, 60), name)


def assert_cards_agree(model, X, spec, cards, name):
    predicted = np.searchsorted(model.classes_, model.predict(X))
    assert [card["predicted"] for card in cards] == predicted.tolist(), name
    assert [card["rows"][0]["code"] for card in cards] == predicted.tolist(), name
    if hasattr(model, "predict_proba"):
        found = np.array([[row["probability"] for row in card["rows"]] for card in cards])
        assert np.allclose(found, -np.sort(-model.predict_proba(X), axis=1)[:, : found.shape[1]], atol=1e-6), name
    for card, code in zip(cards, predicted, strict=True):
        own = model.classes_[code]
        if spec["decision"] is not None:
            assert card["region"] == code, name
            others = [row["distance"] for row in card["rows"] if row["code"] != code and row["distance"] is not None]
            assert all(far >= 0 for far in others), name
            if "from the boundary" in card["text"]:
                assert f"{others[0]:.3f} from the boundary, on the side of {own}" in card["text"], name
        assert f"predicted{own}" in card["text"], name
    decision = decision_of(model)
    if spec["decision"] is not None and decision.is_binary and decision.has_distances:
        true = np.abs(decision.distances(X, gap(X, c=decision.c))[:, 0])
        assert np.allclose([card["rows"][1]["distance"] for card in cards], true, rtol=1e-7, atol=1e-9), name


def test_the_help_does_not_describe_points_off_the_plane_as_misclassified(browser, tmp_path):
    X, y = many(n=60)
    model = fitted(MODELS["softmax"], X, y)
    browser.open(explore(model, X, y), tmp_path)
    assert "A point whose colour differs from the colour of its region is misclassified" in browser.text("help-text")
    X = np.hstack([X, 0.3 * X]) * 0.9
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    assert "misclassified" not in browser.text("help-text")
    assert "The card of a point shows its own prediction" in browser.text("help-text")


@pytest.mark.parametrize(
    ("of", "text"),
    [(None, "of these points"), ("training", "of the training points"), ("held-out", "of the held-out points")],
)
def test_counts_are_labelled_with_the_kind_of_points(browser, tmp_path, of, text):
    X, y = many(n=60)
    model = fitted(MODELS["softmax"], X, y)
    browser.open(explore(model, X, y, of=of), tmp_path)
    assert browser.text("accuracy") == f"{100 * model.score(X, y):.1f} % {text} classified correctly"


@pytest.mark.parametrize("size", [(390, 844), (1000, 760), (1440, 900)])
def test_a_tap_pins_a_card_that_does_not_cover_its_point(browser, tmp_path, size):
    X, y = many(n=80)
    browser.resize(*size, touch=True)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    clear = lone(browser.screen(X), 30)
    for i in clear[:6]:
        browser.run("document.querySelector('#card .close')?.click()")  # it may cover the next point
        browser.tap(browser.screen(X)[i])
        assert browser.ask("state().pinned") == i
        x, y_ = browser.screen(X)[i]
        box = browser.box("#card")
        assert not (box[0] <= x <= box[2] and box[1] <= y_ <= box[3])
        assert box[0] >= 0
        assert box[2] <= size[0]
        assert box[3] <= size[1]
    # The card moves with its point, and closes after a tap on an empty place.
    browser.drag(*on_stage(browser, [[0.1, 0.1], [0.3, 0.2]])[0])
    assert browser.ask("state().marked") == clear[:6][-1]
    browser.run("document.querySelector('#card .close').click()")
    assert not browser.is_shown("card")


def lone(places, apart):
    """Rows whose places are farther than ``apart`` from all others."""
    away = np.linalg.norm(places[:, None] - places, axis=-1) + 1e9 * np.eye(len(places))
    return np.flatnonzero(away.min(axis=1) > apart)


def test_one_finger_moves_the_disk_and_two_zoom(browser, tmp_path):
    X, y = many(n=40)
    browser.resize(390, 844, touch=True)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    browser.swipe([[195, 195]], [[255, 175]])
    assert np.allclose(browser.screen([[0, 0]])[0], [255, 175], atol=1)
    assert browser.ask("state().zoom") == 1
    browser.swipe([[175, 195], [215, 195]], [[155, 195], [235, 195]])
    assert browser.ask("state().zoom") == pytest.approx(2, rel=0.02)
    assert browser.ask("state().pinned") == -1


def test_no_button_lies_on_the_disk(browser, tmp_path):
    X, y = many(n=40)
    page = explore(fitted(MODELS["softmax"], X, y), X, y)
    for size in ((390, 844), (844, 390), (1000, 760)):
        browser.resize(*size)
        browser.open(page, tmp_path)
        on_disk = """
            const stage = document.getElementById("stage").getBoundingClientRect();
            return [...document.querySelectorAll("button, input, select")].filter((one) => {
              const box = one.getBoundingClientRect();
              const isLevel = box.top < stage.bottom && box.bottom > stage.top;
              return box.width > 0 && isLevel && box.left < stage.right && box.right > stage.left;
            }).length"""
        assert browser.run(on_disk) == 0


def test_higher_dimensions_are_shown_as_a_projection_onto_a_plane(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = cloud(rng, 200, 4, 1.0)
    classes = {"two": np.where(X[:, 0] > 0.1, "right", "left"), "three": np.array(list("abc"))[np.argmax(X[:, :3], 1)]}
    for name, y in classes.items():
        model = fitted(PoincareSVC("boundary", C=10, folds=2), X, y)
        page = explore(model, X, y)
        browser.open(page, tmp_path)
        plane = choose_plane(model, model.decision_.boundary(), X, 1.0)
        assert isinstance(plane, Plane)
        assert "Projection: 4 dimensions on the geodesic plane" in browser.text("notes")
        assert not browser.is_shown("movable")
        found = np.searchsorted(model.classes_, model.predict(X))
        assert browser.ask("state().counts.wrong") == np.sum(found != np.searchsorted(model.classes_, y))
        assert np.allclose(browser.screen(plane.project(X)), on_stage(browser, plane.project(X))[0])
        few = explore(model, X[:4], y[:4])
        few_plane = choose_plane(model, model.decision_.boundary(), X[:4], 1.0)
        browser.open(few, tmp_path)
        check_regions(
            browser, few, lambda V, p, plane=few_plane, model=model: predicted_codes(model, plane, translate(V, p)),
            drag=name == "two",
        )  # fmt: skip


def test_any_classifier_is_shown_by_a_table_of_its_predictions(browser, tmp_path):
    X, y = many()
    model = KNeighborsClassifier(15).fit(X, y)
    page = explore(model, X[:6], y[:6])
    browser.open(page, tmp_path)
    assert "table of 512 × 512 predictions" in browser.text("notes")
    V = cloud(np.random.default_rng(1), 2000, 2, 0.5)
    cells = (np.floor((V + 1) * 256) + 0.5) / 256 - 1
    inside = np.linalg.norm(cells, axis=1) < 0.99
    codes = np.array(browser.map("classOf", V[inside]))
    assert np.array_equal(model.classes_[codes], model.predict(cells[inside]))
    rows = browser.ask("facts(3).rows")
    expected = np.sort(model.predict_proba(X[3:4])[0])[::-1]
    assert np.allclose([row["probability"] for row in rows], expected, atol=1e-6)


def test_wheel_zooms_about_the_pointer_and_buttons_and_keys_zoom_too(browser, tmp_path):
    X, y = many(n=40)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    place = np.round(on_stage(browser, [0.35, 0.2])[0])
    v = (place - on_stage(browser, [0, 0])[0]) / on_stage(browser, [0, 0])[1] * [1, -1]
    browser.wheel(place, -600)
    zoom = browser.ask("state().zoom")
    assert zoom == pytest.approx(np.exp(600 * 0.0016))
    assert np.allclose(browser.screen([v])[0], place, atol=1e-6)
    # Zoomed, a drag still keeps the grabbed point under the pointer.
    browser.drag(place, place + np.array([40, 30]))
    assert np.allclose(browser.screen([v])[0], place + np.array([40, 30]), atol=1e-6)
    browser.keys("#stage", "0")
    assert browser.ask("state().zoom") == 1
    browser.click("#zoom-in")
    assert browser.ask("state().zoom") == pytest.approx(1.35)
    browser.keys("#stage", "+", "-", "-")
    assert browser.ask("state().zoom") == 1


def test_hovering_over_a_point_shows_its_card(browser, tmp_path):
    X, y = many(n=120)
    names = [f"animal {i}" for i in range(120)]
    model = fitted(MODELS["svc"], X, y)
    browser.open(explore(model, X, y, names=names, title="Animals"), tmp_path)
    places = browser.screen(X)
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 1e9 * np.eye(120)
    wrong = model.predict(X) != y
    assert wrong.any()
    i = np.flatnonzero((apart.min(axis=1) > 3) & wrong)[0]
    browser.hover(places[i])
    assert browser.ask("state().marked") == i
    card = browser.text("card")
    assert names[i] in card
    assert f"class{y[i]}" in card
    assert f"predicted{model.predict(X[i : i + 1])[0]} ✗ wrong" in card
    facts = browser.ask(f"facts({i}).rows")
    for row in facts:
        k = model.classes_.tolist().index(row["name"])
        assert row["probability"] == pytest.approx(model.predict_proba(X[i : i + 1])[0, k])
        share = row["probability"]
        digits = 2 if share < 1e-3 or share > 0.999 else 1
        assert ("< 0.01 %" if share < 5e-5 else f"{100 * share:.{digits}f} %") in card
        assert (row["distance"] is None) == (row["name"] == model.predict(X[i : i + 1])[0])
        assert row["distance"] is None or f"{row['distance']:.3f}" in card
    browser.hover((3, 3))
    assert not browser.is_shown("card")


def test_distances_to_boundaries_of_any_shape_are_the_least(browser, tmp_path):
    """If the boundary of two classes is a geodesic, the closed form gives the exact distance at any point."""
    X, y = many(n=60)
    model = fitted(MODELS["softmax without intercept"], X, y)
    browser.open(explore(model, X, y), tmp_path)
    for i, own in enumerate(model.predict(X)[:10]):
        rows = {row["name"]: row["distance"] for row in browser.ask(f"facts({i}).rows")}
        assert rows.pop(own) is None
        for other, found in rows.items():
            assert found == pytest.approx(abs(signed_distance(X[i], *model.hyperplane_between(own, other))), rel=1e-6)


def test_legend_slider_and_switch_filter_the_points(browser, tmp_path):
    X, y = many()
    model = fitted(MODELS["softmax"], X, y)
    browser.open(explore(model, X, y), tmp_path)
    sizes = {label: int(np.sum(y == label)) for label in model.classes_}
    shown = lambda: browser.ask("state().counts.shown")  # noqa: E731
    assert shown() == len(X)
    browser.click("#legend li:nth-child(2) button")
    assert shown() == len(X) - sizes["bee"]
    assert browser.find("#legend li:nth-child(2) button").get_attribute("aria-pressed") == "false"
    assert browser.text("shown") == f"Showing {len(X) - sizes['bee']} of {len(X)} points"
    browser.click("#legend li:nth-child(3) button", times=2)
    assert shown() == sizes["cat"]
    browser.click("#legend li:nth-child(3) button", times=2)
    assert shown() == len(X)
    browser.click("#wrong")
    wrong = model.predict(X) != y
    assert shown() == wrong.sum() > 0
    assert browser.text("wrong-count") == str(wrong.sum())
    browser.click("#wrong")
    browser.keys("#sure", Keys.HOME + 70 * Keys.ARROW_RIGHT)
    assert browser.text("sure-value") == "≤ 70 %"
    unsure = model.predict_proba(X).max(axis=1) <= 0.7
    assert shown() == unsure.sum() > 0
    # Hidden points do not respond to the pointer.
    places = browser.screen(X)
    sure = np.flatnonzero(~unsure)
    alone = np.linalg.norm(places[sure][:, None] - places[unsure], axis=-1).min(axis=1) > 15
    browser.hover(places[sure[alone][0]])
    assert browser.ask("state().marked") == -1


def test_dragging_p_shows_a_hypothetical_boundary_with_a_note(browser, tmp_path):
    X, y = two()
    model = fitted(PoincareSVC("boundary", C=10, folds=2), X, y)
    browser.open(explore(model, X, y), tmp_path)
    assert browser.is_shown("how-to-move")
    assert not browser.is_shown("what-if")
    start = browser.screen([model.reference_[0]])[0]
    browser.drag(start, on_stage(browser, [0.1, 0.1])[0], on_stage(browser, [-0.25, 0.3])[0])
    state = browser.ask("state()")
    q = np.array(state["p"])
    assert np.allclose(browser.screen([q])[0], on_stage(browser, [-0.25, 0.3])[0], atol=0.6)
    assert state["isWhatIf"]
    # The expected boundary passes through q, with the transported normal.
    moved = fitted(PoincareSVC("boundary", C=10, folds=2), X, y)
    w = transport(model.decision_.weights[0] * gap(model.reference_[0]) / 2, model.reference_[0], q)
    moved.decision_ = replace(model.decision_, weights=(w / np.linalg.norm(w))[None], points=q[None])
    right = np.mean(moved.predict(X) == y)
    assert state["counts"]["wrong"] == round((1 - right) * len(X))
    text = browser.text("what-if-text")
    assert "What if p were here?" in text
    assert "nothing is fitted again" in text
    before = f"compared with {100 * model.score(X, y):.1f} % at the fitted p"
    assert f"{100 * right:.1f} % of these points are classified correctly, {before}" in text
    height = moved.decision_.boundary().height
    assert height == pytest.approx(model.decision_.boundary().height)
    assert height != 0
    arc = hypercycle(w, q, height)[10:-10]
    assert (browser.pixels(browser.screen(arc), layer="pen")[:, 3] > 60).mean() > 0.97
    browser.click("#put-back")
    assert browser.ask("state().counts.wrong") == np.sum(model.predict(X) != y)
    assert np.allclose(browser.ask("state().p"), model.reference_[0])


def test_arrow_keys_move_between_points_and_show_their_cards(browser, tmp_path):
    X, y = many(n=50)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    browser.keys("#stage", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_UP)
    step = np.tanh(0.125)
    centre = translate(np.array([0.0, step]), translate(np.array([step, 0.0]), np.array([step, 0.0])))
    assert np.allclose(browser.ask("state().centre"), centre)
    browser.keys("#stage", Keys.ENTER)
    assert browser.ask("state().marked") == np.argmin(distance(X, centre))
    browser.keys("#stage", Keys.ESCAPE)
    assert not browser.is_shown("card")
    # Beyond the points that float64 can distinguish, all values stay finite.
    browser.keys("#stage", 150 * Keys.ARROW_RIGHT)
    assert 0 < 1 - np.hypot(*browser.ask("state().centre")) < 1e-10
    assert np.all(np.isfinite(browser.screen(X)))


def test_html_in_names_is_shown_as_text(browser, tmp_path):
    X, y = many(n=40)
    labels = np.where(y == "ant", HOSTILE, "fine")
    model = fitted(PoincareSVC(), X, labels)
    browser.open(explore(model, X, labels, names=[HOSTILE] * 40, title=HOSTILE), tmp_path)
    browser.hover(browser.screen(X)[0])
    assert browser.run("return [window.hacked ?? null, document.images.length, document.scripts.length]") == [
        None,
        0,
        3,
    ]
    assert browser.text("title") == HOSTILE
    assert browser.run("return document.querySelector('#card h3').textContent") == HOSTILE
    assert HOSTILE in browser.text("legend")
    assert browser.driver.title == HOSTILE


def test_a_notebook_shows_the_page_in_a_frame(browser, tmp_path):
    X, y = many(n=40)
    page = explore(fitted(MODELS["softmax"], X, y), X, y, title=HOSTILE)
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body>{page._repr_html_()}", encoding="utf-8")
    browser.driver.get(file.as_uri())
    browser.driver.switch_to.frame(0)
    browser.rest()
    assert browser.ask("state().counts.shown") == 40
    assert browser.text("title") == HOSTILE
    browser.driver.switch_to.default_content()


def test_the_picture_adapts_to_window_size_pixel_density_and_dark_mode(browser, tmp_path):
    X, y = many(n=40)
    browser.open(explore(fitted(MODELS["softmax"], X, y), X, y), tmp_path)
    light = browser.pixels([(2, 2)])[0]
    browser.resize(700, 900, ratio=2, scheme="dark")
    browser.next_frames()
    size = browser.run("const c = document.getElementById('pixels'); return [c.width, c.height, c.clientWidth]")
    assert size[0] == 2 * size[2] == 1400
    dark = browser.pixels([(2, 2)])[0]
    assert dark[:3].max() < 40 < 200 < light[:3].min()
    seen, _ = on_stage(browser, X)
    assert np.allclose(browser.screen(X), seen)
    # Dark blue is lightened on the dark background: every class has the contrast that WCAG requires for graphics.
    light, dark = (luminance(rgb) + 0.05 for rgb in (browser.pixels(seen)[:, :3], np.array([0x19, 0x1C, 0x22])))
    assert np.all(light / dark > 3)


def test_help_opens_and_closes(browser, tmp_path):
    X, y = two(n=40)
    browser.open(explore(fitted(MODELS["svc"], X, y), X, y), tmp_path)
    assert not browser.run("return document.getElementById('help-text').open")
    browser.click("#help")
    assert browser.run("return document.getElementById('help-text').open")
    assert "a straight line in hyperbolic space" in browser.text("help-text")
    browser.keys("#help-text button", Keys.ESCAPE)
    assert not browser.run("return document.getElementById('help-text').open")


def test_all_seventy_thousand_points_are_drawn_after_a_sample_was_animated(browser, tmp_path):
    browser.hurries = False
    X, y = many(n=70_000)
    model = fitted(PoincareLogisticRegression(), X[:2000], y[:2000])
    browser.open(explore(model, X, y), tmp_path)
    assert browser.ask("state().counts.shown") == 70_000
    # A moving frame shows a sample of the points as squares: about half of the pixels have the same colours as at rest;
    # with points at wrong places it would be about a fifth.
    grid = np.mgrid[200:470:9, 200:470:9].reshape(2, -1).T
    at_rest = browser.pixels(grid)
    moving = browser.pixels(grid, first="hyplearnExplorer.drawQuickly();")
    assert np.all(moving == at_rest, axis=1).mean() > 0.35
    browser.rest()
    browser.drag(*on_stage(browser, [[0.0, 0.0], [0.2, 0.1], [0.3, 0.3]])[0])
    i = int(np.argmin(distance(X, np.array(browser.ask("state().centre")))))
    browser.hover(browser.screen(X[i : i + 1])[0])
    marked = browser.ask("state().marked")
    assert np.linalg.norm(browser.screen(X[[marked]]) - browser.screen(X[[i]])) < 2
