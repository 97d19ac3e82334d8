"""Pictures by their content: where points, edges and regions are, not only that a file exists."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from balls import cloud
from hyplearn import TangentSpace
from hyplearn.geometry import geodesic, signed_distance
from hyplearn.plotting import BoundaryDisplay, DiskDisplay


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.fixture
def labelled():
    X = cloud(np.random.default_rng(0), 80, 2, 1.0)
    return X, np.where(X[:, 0] > 0.1, "right", "left")


def test_points_are_drawn_where_they_are_in_their_class_colour(ax, labelled):
    X, y = labelled
    display = DiskDisplay.from_points(X, y).plot(ax)
    assert display.ax_ is ax
    drawn = {c.get_label(): np.asarray(c.get_offsets()) for c in ax.collections}
    assert np.array_equal(drawn["left"], X[y == "left"])
    assert np.array_equal(drawn["right"], X[y == "right"])
    colours = {tuple(c.get_facecolor()[0]) for c in ax.collections}
    assert len(colours) == 2


def test_edges_are_drawn_as_geodesics(ax, labelled):
    X, _ = labelled
    DiskDisplay.from_points(X, edges=[[0, 1], [2, 3]]).plot(ax)
    first, second = ax.collections[0].get_segments()
    assert np.allclose(first, geodesic(X[0], X[1], np.linspace(0, 1, 17)))
    assert np.allclose(second, geodesic(X[2], X[3], np.linspace(0, 1, 17)))


def test_rim_has_the_radius_of_the_curvature(ax, labelled):
    DiskDisplay.from_points(labelled[0] * 2, curvature=-0.25).plot(ax)
    rim = ax.lines[0].get_xydata()
    assert np.allclose(np.linalg.norm(rim, axis=1), 2)


def test_regions_are_the_sides_of_the_fitted_geodesic(ax, labelled):
    X, y = labelled
    p = np.array([0.1, 0.0])
    model = make_pipeline(TangentSpace(p), LogisticRegression(fit_intercept=False)).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, resolution=80).plot(ax)
    assert np.allclose(display.grid, np.linspace(-1, 1, 81)[:-1] + 1 / 80)  # the centres of 80 pixels
    pixels = np.stack(np.meshgrid(display.grid, display.grid), axis=-1)
    inside = np.linalg.norm(pixels, axis=-1) < 1
    heights = signed_distance(pixels[inside], model[-1].coef_[0], p)
    assert np.array_equal(display.regions[inside], (heights > 0).astype(int))
    assert (display.regions[~inside] == -1).all()


def test_boundary_line_follows_the_geodesic(ax, labelled):
    X, y = labelled
    p = np.array([0.1, 0.0])
    model = make_pipeline(TangentSpace(p), LogisticRegression(fit_intercept=False)).fit(X, y)
    BoundaryDisplay.from_estimator(model, resolution=300).plot(ax)
    contour = next(c for c in ax.collections if c.get_paths() and len(c.get_paths()[0].vertices) > 50)
    line = contour.get_paths()[0].vertices
    line = line[np.linalg.norm(line, axis=1) < 0.95]
    # Within a pixel of the true boundary, in Euclidean terms.
    off = signed_distance(line, model[-1].coef_[0], p) * (1 - np.sum(line**2, axis=1)) / 2
    assert np.abs(off).max() < 1.5 * 2 / 300


def test_a_class_called_other_is_grey_and_all_colours_differ():
    from hyplearn.plotting.disk import OTHER, class_colours

    colours = class_colours(np.array([*"abcdefghijklm", "other"]))
    assert colours["other"] == OTHER
    assert len(set(colours.values())) == 14


def test_only_the_disk_can_be_drawn():
    with pytest.raises(ValueError, match=r"two coordinates; got shape \(5, 3\)"):
        DiskDisplay.from_points(np.zeros((5, 3)))


def test_nothing_is_drawn_before_plot(labelled):
    before = plt.get_fignums()
    DiskDisplay.from_points(*labelled)
    assert plt.get_fignums() == before
