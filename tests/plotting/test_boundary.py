"""Contents of boundary displays: regions, arcs, margins, support vectors, and the statement about a projection."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from hyplearn import (
    ConformalClassifier,
    HyperboloidSVC,
    PoincareKernelClassifier,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.datasets import make_ball_classification
from hyplearn.decision import Calibration
from hyplearn.geometry import signed_distance
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, PaperSVC
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import class_tints
from hyplearn.plotting.palette import LIGHT
from hyplearn.tangent import from_frame, z_features
from support import two_classes
from support.balls import cloud
from support.drawn import legend, lines, markers, unnamed_lines
from support.two_classes import nested

MODELS = {
    "exact": lambda p, k: PoincareSVC(p, C=np.inf, margin="exact", curvature=k),
    "bound": lambda p, k: PoincareSVC(p, C=1000, curvature=k),
    "perceptron": lambda p, k: PoincarePerceptron(p, curvature=k),
    "second order": lambda p, k: PoincareSecondOrderPerceptron(p, curvature=k),
}


@pytest.fixture(scope="module")
def separable():
    X, y, p, _ = make_ball_classification(120, 2, margin=0.2, reference_norm=0.5, random_state=5)
    return X, y, p


@pytest.fixture(params=[1.0, 0.25])
def curved(request, separable):
    """The same points in a disk of another radius; the curvature; and p."""
    c, (X, y, p) = request.param, separable
    return X / np.sqrt(c), y, p / np.sqrt(c), -c


@pytest.fixture(scope="module")
def three():
    X = cloud(np.random.default_rng(1), 300, 2, 1.0)
    return X, np.array(["a", "b", "c"])[np.argmax(X @ [[1, -1, 0.2], [0.3, 0, -1]] + [0, 0.1, 0], axis=1)]


@pytest.mark.parametrize("name", MODELS)
def test_boundary_and_margins_lie_at_their_distances(ax, curved, name):
    X, y, p, k = curved
    model = MODELS[name](p, k).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, resolution=60).plot(ax)
    assert display.curvature == k
    (arc,) = lines(ax, "decision boundary")
    heights = signed_distance(arc[1:-1], model.coef_[0], p, c=-k)
    (slope,), (offset,) = model.calibration_.slopes, model.calibration_.offsets
    assert np.abs(heights + offset / slope).max() < 1e-9
    assert np.abs(model.distances(arc[1:-1])).max() < 1e-9
    assert np.array_equal(model.distances(X)[:, 0] > 0, model.predict(X) == 1)
    assert np.allclose(np.linalg.norm(arc[[0, -1]], axis=1), 1 / np.sqrt(-k), rtol=1e-15)
    named = f"margin {display.margin:.3g}"
    margins = lines(ax, named) + unnamed_lines(ax)[1:]
    assert len(margins) == 2
    for curve, sign in zip(margins, (-1, 1), strict=True):
        heights = signed_distance(curve[1:-1], model.coef_[0], p, c=-k)
        assert np.abs(heights - sign * display.margin).max() < 1e-9
        assert np.allclose(curve[[0, -1]], arc[[0, -1]])
    assert np.array_equal(markers(ax, "reference point p"), [p])
    rings = ["support vectors"] if hasattr(model, "support_vectors_") else []
    assert legend(ax) == ["-1", "1", "decision boundary", named, *rings, "reference point p"]


def test_exact_margin_is_where_the_rows_of_the_svm_are_one(curved):
    X, y, p, k = curved
    svc = PoincareSVC(p, C=1.0, margin="exact", curvature=k).fit(X, y)  # soft: points lie within the margin
    display = BoundaryDisplay.from_estimator(svc, resolution=20)
    for curve, sign in zip(display.margins, (-1, 1), strict=True):
        assert np.allclose(z_features(curve[1:-1], p, c=-k) @ svc.coef_[0], sign, rtol=0, atol=1e-9)
    assert svc.margin_[0] < display.margin


@pytest.mark.parametrize("name", ["bound", "perceptron"])
def test_other_margins_are_the_least_distance_of_a_training_point(separable, name):
    X, y, p = separable
    model = MODELS[name](p, -1.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, resolution=20)
    assert display.margin == model.margin_[0]


def test_a_negative_margin_is_not_drawn_but_a_given_one_is(overlapping):
    svc = PoincareSVC("boundary").fit(*overlapping)
    assert svc.margin_[0] < 0
    assert BoundaryDisplay.from_estimator(svc, resolution=20).margins == []
    display = BoundaryDisplay.from_estimator(svc, resolution=20, margin=0.3)
    heights = [signed_distance(m[1:-1], svc.coef_[0], svc.reference_[0]) for m in display.margins]
    assert np.allclose(heights, [[-0.3], [0.3]], rtol=0, atol=1e-9)


def test_support_vectors_are_ringed_where_they_are(ax, separable):
    X, y, p = separable
    svc = PoincareSVC(p).fit(X, y)
    BoundaryDisplay.from_estimator(svc, X, y, resolution=20).plot(ax)
    assert np.array_equal(markers(ax, "support vectors"), X[svc.support_])


def test_regions_are_the_sides_of_the_fitted_geodesic_in_the_tint_of_their_class(ax, labelled):
    X, y = labelled
    p = np.array([0.1, 0.0])
    model = make_pipeline(TangentSpace(p), LogisticRegression(fit_intercept=False)).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, resolution=80).plot(ax)
    assert np.allclose(display.grid, np.linspace(-1, 1, 81)[:-1] + 1 / 80)  # the centres of 80 pixels
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 1
    heights = signed_distance(pixels[inside], model[-1].coef_[0], p)
    assert np.array_equal(display.regions[inside], (heights > 0).astype(int))
    # Pixels that the rim cuts have a class too, that of their innermost corner.
    corners = pixels - np.sign(pixels) / 80
    cut = ~inside & (np.linalg.norm(corners, axis=-1) < 1)
    assert np.array_equal(display.regions[cut], (signed_distance(corners[cut], model[-1].coef_[0], p) > 0).astype(int))
    assert cut.sum() > 80
    assert (display.regions[~inside & ~cut] == -1).all()
    image = ax.images[0]
    assert image.origin == "lower"
    for code, colour in enumerate(LIGHT[:2]):
        tint = 0.76 + 0.24 * np.array(to_rgb(colour))
        assert np.allclose(image.get_array()[display.regions == code], tint)


class OnlyPredictions:
    """Classifier without scores."""

    def __init__(self, model):
        self.classes_, self.predict = model.classes_, model.predict


@pytest.mark.parametrize(("wrapper", "pixels"), [(lambda model: model, 0.01), (OnlyPredictions, 1.0)])
def test_regions_without_arcs_are_separated_by_a_line_where_scores_are_equal(ax, labelled, wrapper, pixels):
    X, y = labelled
    p = np.array([0.1, 0.0])
    model = make_pipeline(TangentSpace(p), LogisticRegression(fit_intercept=False)).fit(X, y)
    BoundaryDisplay.from_estimator(wrapper(model), resolution=300).plot(ax)
    edges = [one for one in ax.collections if isinstance(one, QuadContourSet) and not one.filled]
    line = np.vstack([path.vertices for one in edges for path in one.get_paths()])
    line = line[np.linalg.norm(line, axis=1) < 0.95]
    assert len(line) > 100
    off = signed_distance(line, model[-1].coef_[0], p) * (1 - np.sum(line**2, axis=1)) / 2
    assert np.abs(off).max() < pixels * 2 / 300


def test_regions_of_few_pixels_have_smooth_edges(three):
    model = PoincareLogisticRegression(C=10.0).fit(*three)
    figure = plt.figure(figsize=(4, 4), dpi=100)
    ax = figure.add_axes((0, 0, 1, 1))
    BoundaryDisplay.from_estimator(model, resolution=60).plot(ax, legend=False)
    figure.canvas.draw()
    drawn = np.asarray(figure.canvas.buffer_rgba())[:, :, :3] / 255
    centres = np.stack(np.meshgrid(np.arange(400), np.arange(400)), axis=-1) + 0.5
    places = ax.transData.inverted().transform(centres.reshape(-1, 2)).reshape(centres.shape)
    plt.close(figure)
    inside = np.linalg.norm(places, axis=-1) < 0.98
    tints = np.array([class_tints(model.classes_)[label] for label in model.classes_])
    far = np.linalg.norm(drawn[::-1][inside][:, None] - tints, axis=2)
    plain = far.min(axis=1) < 0.02  # not covered by a line
    assert plain.mean() > 0.95
    wrong = model.classes_[np.argmin(far, axis=1)] != model.predict(places[inside])
    assert np.mean(wrong[plain]) < 0.001


def test_regions_are_those_of_predictions_where_scores_contradict_them(three):
    X, y = three
    model = OnlyPredictions(KNeighborsClassifier().fit(X, y))
    model.decision_function = lambda x: np.tile([0.0, 1.0, 2.0], (len(x), 1))
    display = BoundaryDisplay.from_estimator(model, resolution=50)
    assert np.all(display.leads == 1)
    sides = dict(display.sides())
    assert list(sides) == [0, 1, 2]
    inside = display.regions >= 0
    assert all(np.array_equal(sides[k][inside] > 0, display.regions[inside] == k) for k in sides)


def test_regions_without_points_are_in_the_legend(ax, three):
    BoundaryDisplay.from_estimator(KNeighborsClassifier().fit(*three), resolution=30).plot(ax)
    assert legend(ax) == ["a", "b", "c"]


@pytest.mark.parametrize("most_markers", [0, 1000])
def test_points_have_the_colour_of_their_region_whatever_classes_they_lack(ax, three, most_markers):
    X, y = three
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(X, y)
    some = np.where(y[y != "a"] == "b", "b", "new")
    display = BoundaryDisplay.from_estimator(svc, X[y != "a"], some, resolution=20, most_markers=most_markers).plot(ax)
    assert legend(ax) == ["a", "b", "c", "new"]
    for handle, colour in zip(ax.get_legend().legend_handles, LIGHT[:4], strict=True):
        assert np.allclose(handle.get_facecolor()[0, :3], to_rgb(colour))
    if most_markers:
        assert np.array_equal(markers(ax, "new"), X[y == "c"])
        assert len(markers(ax, "c")) == 0
    else:
        assert display.points.cloud.counts.sum(axis=(1, 2)).tolist() == [0, np.sum(y == "b"), 0, np.sum(y == "c")]


def test_boundaries_of_several_classes_are_not_hidden_by_a_density(ax, three):
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(*three)
    BoundaryDisplay.from_estimator(svc, *three, resolution=20, most_markers=10).plot(ax)
    assert all(line.get_zorder() > ax.images[1].get_zorder() for line in ax.lines)


class Softmax:
    """Minimal multinomial model for the display: three classes with pairwise hyperplanes."""

    def __init__(self, svc, answers):
        self.classes_, self.predict, self.answers = svc.classes_, svc.predict, answers
        # Weights at a common p, which do not determine the boundaries.
        self.coef_ = self.reference_ = np.full(svc.coef_.shape, 0.1)

    def hyperplane_between(self, a, b):
        if (a, b) not in self.answers:
            raise ValueError("These two classes are nowhere equally likely.")
        return self.answers[a, b]


def test_classes_against_the_rest_meet_on_arcs_where_they_are_equally_far(ax, three):
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(*three)
    display = BoundaryDisplay.from_estimator(svc, *three, resolution=60).plot(ax)
    assert len(display.boundaries) >= 2
    for arc in display.boundaries:
        scores = np.sort(svc.decision_function(arc[np.linalg.norm(arc, axis=1) < 1 - 1e-6]), axis=1)
        assert np.abs(scores[:, 2] - scores[:, 1]).max() < 1e-9
    drawn = [line for line in unnamed_lines(ax)[1:] if len(line) > 2]
    assert all(np.array_equal(a, b) for a, b in zip(drawn, display.boundaries, strict=True))
    assert display.reference is None
    assert display.margins == []


def test_arcs_end_on_the_rim_or_where_a_third_class_begins(three):
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(*three)
    ends = np.concatenate([arc[[0, -1]] for arc in BoundaryDisplay.from_estimator(svc, resolution=20).boundaries])
    inner = ends[np.linalg.norm(ends, axis=1) < 1 - 1e-12]
    assert 0 < len(inner) < len(ends)
    assert np.ptp(svc.decision_function(inner), axis=1).max() < 0.01  # all three classes are equally far


def test_every_border_between_regions_has_an_arc(three):
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(*three)
    display = BoundaryDisplay.from_estimator(svc, resolution=200)
    inner = np.hypot(*np.meshgrid(display.grid, display.grid)) < 0.97
    right = np.argwhere((display.regions[:, 1:] != display.regions[:, :-1]) & inner[:, 1:] & inner[:, :-1])
    borders = np.stack([display.grid[right[:, 1]] + 1 / 200, display.grid[right[:, 0]]], axis=1)
    curve = np.concatenate(display.boundaries)
    nearest = np.linalg.norm(borders[:, None] - curve, axis=2).min(axis=1)
    assert nearest.max() < 1 / 200 + 1e-3


def test_pairwise_hyperplanes_are_selected_by_class_labels(three):
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(*three)
    w, p = np.array([1.0, 0.3]), np.array([0.1, 0.2])
    display = BoundaryDisplay.from_estimator(Softmax(svc, {("a", "b"): (w, p)}), resolution=20)
    for arc in display.boundaries:
        assert np.abs(signed_distance(arc[1:-1], w, p)).max() < 1e-9
        assert not np.any(svc.predict(arc[1:-1]) == "c")
    assert display.boundaries


def test_two_classes_with_a_pairwise_hyperplane_have_its_arc(labelled):
    svc = PoincareSVC("boundary").fit(*labelled)
    w, p = svc.coef_[0], svc.reference_[0]
    display = BoundaryDisplay.from_estimator(Softmax(svc, {("right", "left"): (w, p)}), resolution=20)
    assert np.abs(signed_distance(display.boundaries[0][1:-1], w, p)).max() < 1e-9
    assert display.reference is None  # p is a point of the boundary, not one that was chosen


def test_more_dimensions_are_drawn_on_a_plane_and_the_title_says_so(ax):
    X, y, p, _ = make_ball_classification(150, 6, margin=0.1, random_state=0)
    svc = PoincareSVC(p, C=1000).fit(X, y)
    display = BoundaryDisplay.from_estimator(svc, X, y, resolution=60).plot(ax)
    assert "6 dimensions on the geodesic plane through p" in ax.get_title()
    assert "distances to the boundary are exact" in ax.get_title()
    (arc,) = lines(ax, "decision boundary")
    height = svc.decision_.boundary().height
    away = lambda x: signed_distance(x, [1.0, 0.0], [0.0, 0.0]) - height  # noqa: E731
    assert np.abs(away(arc[1:-1])).max() < 1e-9
    for label, sign in (("-1", -1), ("1", 1)):
        assert np.allclose(away(markers(ax, label)), svc.distances(X[y == sign])[:, 0], rtol=0, atol=1e-9)
    rings = away(markers(ax, "support vectors"))
    assert np.allclose(rings, svc.distances(svc.support_vectors_)[:, 0], rtol=0, atol=1e-9)
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 1
    assert np.array_equal(display.regions[inside], (away(pixels[inside]) > 0).astype(int))
    assert np.array_equal(markers(ax, "reference point p"), [[0.0, 0.0]])


def test_several_classes_of_more_dimensions_are_shown_by_their_predictions(ax):
    X = cloud(np.random.default_rng(1), 200, 4, 1.0)
    y = np.argmax(X[:, :3], axis=1)
    y[::20] = 3  # some points that are misclassified
    svc = PoincareSVC("boundary", C=10, calibration=None).fit(X, y)
    display = BoundaryDisplay.from_estimator(svc, X, y, resolution=40).plot(ax)
    assert "4 dimensions on the geodesic plane through the mean" in ax.get_title()
    assert f"agrees with {display.plane.agreement:.0%} of all predictions" in ax.get_title()
    assert display.boundaries == []
    wrong = svc.predict(X) != y
    assert wrong.sum() >= 5
    crossed = markers(ax, f"misclassified: {wrong.sum()} of 200")
    assert np.array_equal(crossed, display.plane.project(X)[wrong])
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 1
    assert np.array_equal(display.plane.neighbours.predict(pixels[inside]), display.regions[inside])


def test_a_search_is_drawn_with_its_best_estimator(separable):
    X, y, p = separable
    search = GridSearchCV(PoincareSVC(2 * p, curvature=-0.25), {"C": [1.0, 10.0]}, cv=2).fit(2 * X, y)
    display = BoundaryDisplay.from_estimator(search, resolution=20)
    assert display.curvature == -0.25
    assert np.array_equal(display.reference, 2 * p)


def test_a_pipeline_is_drawn_with_the_curvature_of_its_step(labelled):
    X, y = labelled
    model = make_pipeline(TangentSpace(curvature=-0.25), LogisticRegression()).fit(2 * X, y)
    assert np.isclose(BoundaryDisplay.from_estimator(model, resolution=20).grid[-1], 2 * (1 - 1 / 20))


@pytest.mark.parametrize(
    "wrapped",
    [
        CalibratedClassifierCV(PoincareSVC(curvature=-4.0, calibration=None), cv=2),
        CalibratedClassifierCV(make_pipeline(TangentSpace(curvature=-4.0), LogisticRegression()), cv=2),
        OneVsRestClassifier(PoincareSVC(curvature=-4.0, calibration=None)),
    ],
)
def test_a_wrapper_is_drawn_with_the_curvature_of_its_estimator(labelled, wrapped):
    X, y = labelled[0] / 2, labelled[1]
    display = BoundaryDisplay.from_estimator(wrapped.fit(X, y), X, y, resolution=20)
    assert display.curvature == -4
    assert display.grid[-1] == pytest.approx(0.5 * 19 / 20)


def test_a_frozen_classifier_in_a_wrapper_is_drawn_with_its_curvature(labelled):
    X, y = labelled[0] / 2, labelled[1]
    frozen = FrozenEstimator(PoincareSVC(curvature=-4.0, calibration=None).fit(X, y))
    assert BoundaryDisplay.from_estimator(CalibratedClassifierCV(frozen).fit(X, y), resolution=20).curvature == -4


def test_a_classifier_of_named_columns_is_drawn_without_a_warning(labelled):
    X, y = labelled
    frame = pd.DataFrame(X, columns=["first", "second"])
    display = BoundaryDisplay.from_estimator(PoincareSVC().fit(frame, y), frame, y, resolution=20)
    assert np.array_equal(display.points.X, X)


def test_the_resolution_may_be_a_numpy_integer(labelled):
    svc = PoincareSVC().fit(*labelled)
    assert BoundaryDisplay.from_estimator(svc, resolution=np.int64(20)).regions.shape == (20, 20)


def test_many_points_are_a_density_over_the_regions(ax, labelled):
    BoundaryDisplay.from_estimator(PoincareSVC().fit(*labelled), *labelled, resolution=20, most_markers=10).plot(ax)
    assert [len(image.get_array()) for image in ax.images] == [20, 200]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"curvature": -2.0}, "fitted with curvature=-1.0; got curvature=-2.0"),
        ({"margin": -1.0}, "positive finite hyperbolic distance; got -1.0"),
        ({"resolution": 0}, "an integer of at least 2; got 0"),
        ({"X": np.zeros((3, 5))}, "2 coordinates per point, like the training data of PoincareSVC; got 5"),
        ({"X": [[2.0, 0.0]]}, "outside the open ball"),
    ],
)
def test_inputs_that_do_not_match_the_estimator_raise_clear_errors(labelled, change, message):
    svc = PoincareSVC().fit(*labelled)
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_estimator(svc, **{"resolution": 20} | change)


def test_points_are_needed_to_choose_a_plane():
    X = cloud(np.random.default_rng(1), 40, 3, 1.0)
    with pytest.raises(ValueError, match="In 3 dimensions, X is required to choose the plane of the plot; got X=None"):
        BoundaryDisplay.from_estimator(PoincareSVC().fit(X, X[:, 0] > 0))


def test_a_margin_needs_two_classes(three):
    with pytest.raises(ValueError, match=r"got margin=0\.1 for .* with 3 classes"):
        BoundaryDisplay.from_estimator(PoincareSVC().fit(*three), margin=0.1)


def test_only_a_fitted_classifier_can_be_drawn(labelled):
    with pytest.raises(NotFittedError, match="PoincareSVC"):
        BoundaryDisplay.from_estimator(PoincareSVC())
    with pytest.raises(ValueError, match="predict and classes_; got SVR"):
        BoundaryDisplay.from_estimator(SVR().fit(labelled[0], labelled[0][:, 0]))


def test_nothing_is_drawn_before_plot(labelled):
    before = plt.get_fignums()
    BoundaryDisplay.from_estimator(PoincareSVC().fit(*labelled), *labelled, resolution=20)
    assert plt.get_fignums() == before


def test_the_binary_boundary_is_the_equidistant_chosen_by_calibration():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    narrow = from_frame(0.5 * rng.standard_normal((400, 2)), np.array([-0.2, 0.0]))
    wide = from_frame(1.5 * rng.standard_normal((400, 2)), np.array([0.6, 0.0]))
    svc = PoincareSVC([-0.2, 0.0]).fit(np.where(y[:, None], wide, narrow), y)
    (slope,), (offset,) = svc.calibration_.slopes, svc.calibration_.offsets
    assert abs(offset / slope) > 0.01
    (arc,) = BoundaryDisplay.from_estimator(svc, resolution=20).boundaries
    heights = signed_distance(arc[1:-1], svc.coef_[0], svc.reference_[0])
    assert np.allclose(heights, -offset / slope, atol=1e-6)
    assert np.allclose(svc.decision_function(arc[1:-1]), 0, atol=1e-6)
    assert np.allclose(svc.distances(arc[1:-1]), 0, atol=1e-6)
    assert np.allclose(svc.predict_proba(arc[1:-1]), 0.5, atol=1e-6)


def test_boundaries_bent_by_sigmoids_are_drawn_from_the_regions(three, overlapping):
    assert BoundaryDisplay.from_estimator(PoincareSVC("boundary", C=10).fit(*three), resolution=20).boundaries == []
    assert BoundaryDisplay.from_estimator(PaperSVC().fit(*overlapping), resolution=20).boundaries == []


FREE = [
    ("sphere", nested, {}),
    ("equidistant", two_classes.overlapping, {}),
    ("hyperplane", two_classes.overlapping, {"fit_intercept": False}),
]


@pytest.mark.parametrize(("kind", "data", "changes"), FREE)
@pytest.mark.parametrize("c", [1.0, 0.25])
def test_predictions_change_on_the_boundary_of_an_svm_without_a_reference_point(ax, kind, data, changes, c):
    X, y = data(c=c)
    svc = PoincareSVC(curvature=-c, **changes).fit(X, y)
    assert svc.boundaries_[0].kind == kind
    display = BoundaryDisplay.from_estimator(svc, X, y, resolution=20, margin=0.3).plot(ax)
    (arc,) = lines(ax, "decision boundary")
    arc = arc if kind == "sphere" else arc[1:-1]
    assert len(arc) > 300
    assert np.abs(svc.decision_function(arc)).max() < 1e-7
    assert np.abs(svc.distances(arc)).max() < 1e-9
    for curve, sign in zip(display.margins, (-1, 1), strict=True):
        # Beside the boundary, at the distance of the margin, each class is predicted.
        curve = curve if kind == "sphere" else curve[1:-1]
        assert np.allclose(svc.distances(curve), sign * 0.3, rtol=0, atol=1e-7)
        assert np.all(svc.predict(curve) == svc.classes_[(sign + 1) // 2])
    assert np.array_equal(markers(ax, "support vectors"), X[svc.support_])
    assert display.reference is None  # boundaries do not pass through a chosen point
    assert "reference point p" not in legend(ax)


def test_the_margin_of_a_sphere_is_drawn_on_both_sides_or_not_at_all():
    X, y = nested()
    svc = PoincareSVC(C=1000).fit(X, y)
    display = BoundaryDisplay.from_estimator(svc, resolution=20)
    assert display.margin == svc.margin_[0] > 0
    assert np.allclose([np.abs(svc.distances(curve)).max() for curve in display.margins], display.margin)
    # If the margin is wider than the radius, there is no curve inside the sphere.
    inner = BoundaryDisplay.from_estimator(svc, resolution=20, margin=5.0).margins
    assert sorted(np.ptp(curve, axis=0).max() > 0 for curve in inner) == [False, True]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_svm_without_a_reference_point_is_drawn_across_its_boundary_in_more_dimensions(fit_intercept):
    X = cloud(np.random.default_rng(1), 80, 3, 1.0)
    svc = PoincareSVC(fit_intercept=fit_intercept).fit(X, X[:, 0] + 0.3 * X[:, 1] > 0.1)
    assert svc.boundaries_[0].kind == "equidistant" if fit_intercept else "hyperplane"
    display = BoundaryDisplay.from_estimator(svc, X, resolution=20)
    (arc,) = display.boundaries
    assert np.abs(svc.decision_function(display.plane.embed(arc[1:-1]))).max() < 1e-7
    assert np.allclose(svc.distances(display.plane.embed(display.points.X)), svc.distances(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("c", [1.0, 0.25])
def test_a_sphere_of_more_dimensions_is_drawn_about_its_centre(ax, c):
    X = cloud(np.random.default_rng(1), 300, 3, c)
    svc = PoincareSVC(C=100, curvature=-c).fit(X, c * np.sum(X**2, axis=1) < 0.36)
    assert svc.boundaries_[0].kind == "sphere"
    display = BoundaryDisplay.from_estimator(svc, X, resolution=40, margin=0.2).plot(ax)
    shown = display.plane.embed(display.points.X)
    assert np.allclose(svc.distances(shown), svc.distances(X), rtol=0, atol=1e-9)
    (circle,) = lines(ax, "decision boundary")
    assert np.abs(svc.distances(display.plane.embed(circle))).max() < 1e-9
    assert len(display.margins) == 2
    assert display.wrong is None


@pytest.mark.parametrize("model", [PoincareKernelClassifier(), PoincareKNeighborsClassifier()])
@pytest.mark.parametrize("d", [2, 3])
def test_classifiers_whose_boundaries_curve_are_drawn(ax, model, d):
    X = cloud(np.random.default_rng(1), 90, d, 1.0)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.2, 0.2])]
    display = BoundaryDisplay.from_estimator(model.fit(X, y), X, y, resolution=30).plot(ax)
    assert set(np.unique(display.regions)) == {-1, 0, 1, 2}
    assert legend(ax)[:3] == ["a", "b", "c"]


@pytest.mark.parametrize("d", [2, 3])
def test_points_outside_the_ball_are_drawn_where_the_model_projects_them(ax, d):
    X = cloud(np.random.default_rng(1), 60, d, 1.0)
    y = np.array(["a", "b", "c"])[np.argmax(X @ np.eye(d, 3) + [0, 0, 0.1], axis=1)]
    X[0] = 1.5 * X[0] / np.linalg.norm(X[0])
    model = PoincareLogisticRegression(outside="project", trim=False)
    with pytest.warns(DataConversionWarning):
        model.fit(X, y)
    with pytest.warns(DataConversionWarning):
        display = BoundaryDisplay.from_estimator(model, X, y, resolution=30)
    display.plot(ax)
    assert np.all(np.linalg.norm(display.points.X, axis=1) < 1)


def test_prediction_sets_of_several_classes_or_none_are_hatched(ax):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    X = from_frame(0.5 * rng.standard_normal((120, 2)) + np.where(y == "a", -0.4, 0.4)[:, None] * [1, 0], np.zeros(2))
    model = ConformalClassifier(PoincareSVC(), coverage=0.95, conformity="distance").fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, resolution=30).plot(ax)
    assert {"no class in the set", "several classes in the set"} <= set(legend(ax))
    inside = np.hypot(*np.meshgrid(*2 * [np.linspace(-1, 1, 201)[:-1] + 1 / 200])) < 1
    rows, columns = (np.argwhere(inside)[::997]).T
    pixels = np.stack([columns, rows], axis=1) / 100 - 1 + 1 / 200
    assert np.array_equal(display.set_sizes[rows, columns], model.predict_set(pixels).sum(axis=1))
    assert np.all(display.set_sizes[~inside] == 1)


def test_regions_of_classes_with_one_colour_differ(ax):
    tints = class_tints(range(40))
    assert len({tuple(tint) for tint in tints.values()}) == 40


def calibrated(model, X, y, slope=2.0, shift=0.4):
    """Fitted classifier of two classes, calibrated so that both are equally likely at a given value."""
    model.fit(X, y)
    calibration = Calibration(np.array([slope]), np.array([-slope * shift]))
    model.decision_ = replace(model.decision_, calibration=calibration)
    return model


ARCS = {
    "svc": lambda: PoincareSVC("boundary", curvature=-0.25),
    "exact svc": lambda: PoincareSVC("boundary", margin="exact", curvature=-0.25),
    "perceptron": lambda: PoincarePerceptron(curvature=-0.25),
    "second order": lambda: PoincareSecondOrderPerceptron(curvature=-0.25),
    "hyperboloid svc": lambda: HyperboloidSVC(curvature=-0.25),
    "hyperboloid svc of training": lambda: HyperboloidSVC(calibration="training", curvature=-0.25),
    "hyperboloid perceptron": lambda: HyperboloidPerceptron(max_epochs=3, curvature=-0.25),
    "euclidean": lambda: EuclideanSVC(curvature=-0.25),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ARCS)
@pytest.mark.parametrize("slope", [2.0, -2.0])
@pytest.mark.parametrize("d", [2, 3])
def test_predictions_change_on_the_drawn_boundary_whatever_scores_are(name, slope, d):
    X = 2 * cloud(np.random.default_rng(1), 60, d, 1.0)
    model = calibrated(ARCS[name](), X, X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.2, slope)
    display = BoundaryDisplay.from_estimator(model, X, resolution=20, margin=0.5)
    (arc,) = display.boundaries
    curves = [curve[1:-1] if d == 2 else display.plane.embed(curve[1:-1]) for curve in (arc, *display.margins)]
    assert np.abs(model.decision_function(curves[0])).max() < 1e-7
    assert np.abs(model.distances(curves[0])).max() < 1e-7
    w, p, height, kind = model.decision_.boundary()
    assert kind == "equidistant"
    if hasattr(model, "reference_"):  # a falling sigmoid turns the boundary around
        assert np.array_equal(p, model.reference_[0])
        assert np.allclose(w / np.linalg.norm(w), np.sign(slope) * model.coef_[0] / np.linalg.norm(model.coef_[0]))
    distances = [signed_distance(curve, w, p, c=0.25) for curve in curves]
    assert np.ptp(distances[0]) < 1e-7
    assert np.allclose(distances[0], height, rtol=0, atol=1e-7)
    assert abs(height) > 1e-3
    # Margins are about the hyperplane of the model, or about the boundary of a Euclidean model.
    middle = height if name == "euclidean" else 0.0
    assert np.allclose(distances[1:], [[middle - 0.5], [middle + 0.5]], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        AuthorsSVC("means", calibration="cross-fitted"),
        AuthorsSVC("means"),
        PaperSVC(),
        PoincareLogisticRegression(),
    ],
)
def test_boundaries_that_are_not_equidistant_are_drawn_from_the_regions(ax, overlapping, model):
    calibrated(model, *overlapping)
    display = BoundaryDisplay.from_estimator(model, resolution=300).plot(ax)
    assert display.boundaries == []
    assert not hasattr(model, "distances")
    line = max((path.vertices for c in ax.collections for path in c.get_paths()), key=len)
    line = line[np.linalg.norm(line, axis=1) < 0.9]
    assert len(line) > 100
    # The prediction changes within a pixel of the line, horizontally or vertically.
    steps = np.array([[1, 0], [0, 1]]) / 300
    changes = [model.predict(line + step) != model.predict(line - step) for step in steps]
    assert np.all(changes[0] | changes[1])


def test_authors_svm_without_a_shift_has_the_geodesic(overlapping):
    model = calibrated(AuthorsSVC("means", calibration="cross-fitted"), *overlapping, shift=0.0)
    (arc,) = BoundaryDisplay.from_estimator(model, resolution=20).boundaries
    assert np.abs(model.decision_function(arc[1:-1])).max() < 1e-9


@pytest.mark.parametrize("model", [PoincareSVC("boundary"), EuclideanSVC()])
def test_a_classifier_that_predicts_one_class_has_no_boundary(overlapping, model):
    X, y = overlapping
    calibrated(model, X, y, shift=1e4)
    assert BoundaryDisplay.from_estimator(model, resolution=20).boundaries == []
    assert np.all(model.predict(X) == model.classes_[0])
    assert np.all(model.distances(X) == -np.inf)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        HyperboloidSVC(C=10, calibration=None),
        HyperboloidPerceptron(max_epochs=3, calibration=None),
        PoincarePerceptron(calibration=None),
    ],
)
def test_many_classes_meet_where_their_scores_are_equal(three, model):
    model.fit(*three)
    display = BoundaryDisplay.from_estimator(model, resolution=20)
    assert display.boundaries
    for arc in display.boundaries:
        scores = np.sort(model.decision_function(arc[np.linalg.norm(arc, axis=1) < 1 - 1e-6]), axis=1)
        assert np.abs(scores[:, 2] - scores[:, 1]).max() < 1e-7


def test_many_classes_of_the_authors_svm_do_not_meet_on_geodesics(three):
    model = AuthorsSVC("means", calibration=None).fit(*three)
    assert BoundaryDisplay.from_estimator(model, resolution=20).boundaries == []


def test_the_repr_of_a_display_shows_array_shapes():
    X, y, p, _ = make_ball_classification(100, 2, margin=0.2, random_state=0)
    display = BoundaryDisplay.from_estimator(PoincareSVC(p, C=1000).fit(X, y), X, y, resolution=90)
    told = repr(display)
    assert told.startswith("BoundaryDisplay(grid=<array of shape (90,)>, regions=<array of shape (90, 90)>, classes=")
    assert "points=DiskDisplay(" in told
    assert len(told) < 1000
    assert "\n" not in told
