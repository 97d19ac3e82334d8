"""Contents of tangent displays: frame coordinates, a straight boundary through p, and margins through their rows."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.neighbors import KNeighborsClassifier

from hyplearn import HyperboloidSVC, PoincarePerceptron, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.decision import Calibration
from hyplearn.geometry import signed_distance
from hyplearn.plotting import TangentDisplay
from hyplearn.plotting.palette import LIGHT
from hyplearn.tangent import frame_coordinates, from_frame
from support.balls import cloud
from support.drawn import legend, lines, markers, unnamed_lines

C = 0.25


@pytest.fixture(scope="module")
def data():
    X, y, p, _ = make_ball_classification(120, 2, margin=0.2, reference_norm=0.5, random_state=5)
    return 2 * X, y, 2 * p


def margins(ax, label):
    return lines(ax, label) + unnamed_lines(ax)


def test_points_are_drawn_at_their_frame_coordinates(ax, data):
    X, y, p = data
    TangentDisplay.from_points(X, y, p, curvature=-C).plot(ax)
    for label in (-1, 1):
        assert np.array_equal(markers(ax, str(label)), frame_coordinates(X[y == label], p, c=C))
    assert np.array_equal(markers(ax, "reference point p"), [[0.0, 0.0]])
    assert legend(ax) == ["-1", "1", "reference point p"]


@pytest.mark.parametrize("p", [[-0.5, -0.9], [-1.9, 0.1], [1.2, 1.5]])
def test_all_points_and_p_are_in_the_square_that_is_shown(ax, data, p):
    X, y, _ = data
    display = TangentDisplay.from_points(X[:3], y[:3], p, curvature=-C).plot(ax)
    shown = np.array([*display.cloud.X, [0.0, 0.0]])
    (left, right), (lower, upper) = ax.get_xlim(), ax.get_ylim()
    assert np.all((shown > [left, lower]) & (shown < [right, upper]))
    assert np.isclose(right - left, upper - lower)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_the_boundary_is_the_line_through_p_orthogonal_to_w(ax, data):
    X, y, p = data
    svc = PoincareSVC(p, calibration=None, curvature=-C).fit(X, y)
    TangentDisplay.from_estimator(svc, X, y).plot(ax)
    ((start, end),) = lines(ax, "decision boundary")
    assert np.allclose(start, -end)
    assert abs(start @ svc.coef_[0]) < 1e-12
    (left, right), (lower, upper) = ax.get_xlim(), ax.get_ylim()
    assert not (left < end[0] < right and lower < end[1] < upper)
    assert not (left < start[0] < right and lower < start[1] < upper)


def test_margins_of_the_bound_are_lines_where_the_rows_of_the_svm_are_one(ax, data):
    X, y, p = data
    svc = PoincareSVC(p, C=1000, loss="hinge", curvature=-C).fit(X, y)
    TangentDisplay.from_estimator(svc, X, y).plot(ax)
    low, high = margins(ax, "margin, ⟨f, w⟩ = ±1")
    assert np.allclose(low @ svc.coef_[0], -1, rtol=0, atol=1e-9)
    assert np.allclose(high @ svc.coef_[0], 1, rtol=0, atol=1e-9)
    rows = markers(ax, "support vectors")
    assert np.array_equal(rows, frame_coordinates(svc.support_vectors_, p, c=C))
    assert np.allclose(np.abs(rows @ svc.coef_[0]), 1, atol=1e-3)  # the hard margin


@pytest.mark.parametrize("kind", ["exact", "perceptron", "given"])
def test_other_margins_are_images_of_hypercycles(ax, data, kind):
    X, y, p = data
    if kind == "perceptron":
        model = PoincarePerceptron(p, curvature=-C).fit(X, y)
        due = model.margin_[0]
    else:
        model = PoincareSVC(p, C=np.inf, margin="exact", curvature=-C).fit(X, y)
        due = 0.3 if kind == "given" else np.arcsinh(0.5 / np.linalg.norm(model.coef_)) / 0.5
    given = {"margin": 0.3} if kind == "given" else {}
    TangentDisplay.from_estimator(model, X, y, **given).plot(ax)
    for curve, sign in zip(margins(ax, f"margin {due:.3g}"), (-1, 1), strict=True):
        near = curve[np.linalg.norm(curve, axis=1) < 8]
        assert len(near) > 50
        heights = signed_distance(from_frame(near, p, c=C), model.coef_[0], p, c=C)
        assert np.abs(heights - sign * due).max() < 1e-9


def test_in_higher_dimensions_the_coordinate_along_w_is_kept(ax):
    X, y, p, _ = make_ball_classification(150, 6, margin=0.1, random_state=0)
    svc = PoincareSVC(p, C=1000).fit(X, y)
    TangentDisplay.from_estimator(svc, X, y).plot(ax)
    w = svc.coef_[0]
    for label in (-1, 1):
        due = frame_coordinates(X[y == label], p) @ w / np.linalg.norm(w)
        assert np.allclose(markers(ax, str(label))[:, 0], due, rtol=0, atol=1e-12)
    low, high = margins(ax, "margin, ⟨f, w⟩ = ±1")
    assert np.allclose([*low[:, 0], *high[:, 0]], np.repeat([-1, 1], 2) / np.linalg.norm(w))
    assert ax.get_title() == "Two of 6 frame coordinates at p"
    assert ax.get_xlabel() == "frame coordinate along w"


def test_bent_margins_are_left_out_in_more_dimensions():
    X, y, p, _ = make_ball_classification(80, 3, margin=0.1, random_state=0)
    model = PoincarePerceptron(p).fit(X, y)
    assert TangentDisplay.from_estimator(model, X, y).margins == []
    with pytest.raises(ValueError, match=r"drawn only in two dimensions; got margin=0\.1 in 3 dimensions"):
        TangentDisplay.from_estimator(model, X, y, margin=0.1)


def test_with_several_classes_one_against_the_rest_is_shown():
    X = cloud(np.random.default_rng(1), 200, 2, 1.0)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.3, 0.3])]
    svc = PoincareSVC("boundary").fit(X, y)
    display = TangentDisplay.from_estimator(svc, X, y, label="c")
    assert np.array_equal(display.cloud.X, frame_coordinates(X, svc.reference_[2]))
    assert abs(display.boundary[0] @ svc.coef_[2]) < 1e-12
    assert display.boundary_name == "boundary of c against the rest"
    assert display.support is None
    with pytest.raises(
        ValueError, match=r"separate tangent space; got label=None.\nPass one of the classes as label: 'a', 'b', 'c'"
    ):
        TangentDisplay.from_estimator(svc, X, y)


def test_each_class_against_the_rest_has_a_separate_margin():
    rng = np.random.default_rng(0)
    centres = np.array([[0.8, 0.0], [-0.5, 0.6], [-0.3, -0.8]])
    X = np.concatenate([from_frame(0.3 * rng.standard_normal((30, 2)), p) for p in centres])
    model = PoincarePerceptron().fit(X, np.repeat([0, 1, 2], 30))
    assert len({f"{margin:.3g}" for margin in model.margin_ if margin > 0}) == 3
    for label in (0, 1, 2):
        display = TangentDisplay.from_estimator(model, X, label=label)
        assert display.margin_name == f"margin {model.margin_[label]:.3g}"


def test_colours_match_the_disk_beside_it(ax, data):
    X, y, p = data
    svc = PoincareSVC(p, curvature=-C).fit(X, y)
    TangentDisplay.from_estimator(svc, X[y == 1], y[y == 1]).plot(ax)
    one = next(c for c in ax.collections if c.get_label() == "1")
    assert np.allclose(one.get_facecolor()[0, :3], to_rgb(LIGHT[1]))


def test_many_points_are_a_density_in_the_square_that_is_shown(ax, data):
    X, y, p = data
    display = TangentDisplay.from_points(X, y, p, curvature=-C, most_markers=10).plot(ax)
    left, right, lower, upper = ax.images[0].get_extent()
    assert np.allclose([left, right, lower, upper], [*ax.get_xlim(), *ax.get_ylim()])
    column = ((display.cloud.X[:, 0] - left) / (right - left) * 200).astype(int)
    assert np.array_equal(display.cloud.counts.sum(axis=(0, 1)), np.bincount(column, minlength=200))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: TangentDisplay.from_points(np.zeros((3, 5))), r"X must have two columns; got shape \(3, 5\)"),
        (lambda X, y: TangentDisplay.from_points(X, y, [0.1]), r"p must be one point of dimension 2"),
        (lambda X, y: TangentDisplay.from_points(X, y, [3.0, 0.0], curvature=-C), "outside the open ball"),
        (
            lambda X, y: TangentDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X),
            "no hyperplane through a reference point",
        ),
        (
            lambda X, y: TangentDisplay.from_estimator(PoincareSVC("mean", curvature=-C).fit(X, y), np.zeros((3, 5))),
            "2 coordinates per point, like the training data of PoincareSVC; got 5",
        ),
    ],
)
def test_inputs_that_cannot_be_drawn_raise_clear_errors(data, call, message):
    with pytest.raises(ValueError, match=message):
        call(*data[:2])


@pytest.mark.parametrize("shift", [-0.6, 0.4])
@pytest.mark.parametrize(("kind", "changes"), [(PoincareSVC, {"reference": "boundary"}), (HyperboloidSVC, {})])
def test_a_boundary_at_a_distance_from_p_is_bent(ax, data, kind, changes, shift):
    X, y, _ = data
    model = kind(curvature=-C).set_params(**changes).fit(X, y)
    model.decision_ = replace(model.decision_, calibration=Calibration(np.array([1.0]), np.array([-shift])))
    TangentDisplay.from_estimator(model, X, y).plot(ax)
    (curve,) = lines(ax, "decision boundary")
    assert len(curve) > 100
    assert np.abs(model.decision_function(from_frame(curve, model.reference_[0], c=C))).max() < 1e-7


def test_in_higher_dimensions_the_legend_gives_the_distance_of_the_boundary(ax):
    X, y, p, _ = make_ball_classification(60, 3, margin=0.1, random_state=0)
    svc = PoincareSVC(p).fit(X, y)
    svc.decision_ = replace(svc.decision_, calibration=Calibration(np.array([1.0]), np.array([-0.25])))
    TangentDisplay.from_estimator(svc, X, y).plot(ax)
    ((start, end),) = lines(ax, "H(w, p); the boundary is at distance 0.25")
    assert np.allclose(start, -end)
