"""Contents of hull displays: edges along geodesics, closest pairs, midpoints, and bisectors."""

import re

import numpy as np
import pytest

from hyplearn.geometry import closest_points, distance, graham_scan, midpoint, pairwise_distance, signed_distance
from hyplearn.plotting import HullDisplay
from hyplearn.plotting.arcs import outline
from support.drawn import legend, lines, markers

C = 0.25
# The closest vertices are the two above; the closest point of the left hull is on its long edge.
X = np.array([[-1.0, 0.5], [-1.0, -0.6], [-1.4, 0.0], [-1.1, 0.0], [1.0, 0.0], [1.4, 0.4], [1.4, -0.2]])
Y = np.array(["left"] * 4 + ["right"] * 3)


@pytest.fixture
def display():
    return HullDisplay.from_points(X, Y, curvature=-C)


def test_hulls_are_drawn_along_geodesics_between_their_vertices(ax, display):
    display.plot(ax)
    for label, patch in zip(("left", "right"), ax.patches[1:], strict=True):
        rows = X[label == Y]
        V = rows[graham_scan(rows, c=C)]
        assert np.allclose(patch.get_xy(), outline(V, c=C))
    assert np.array_equal(markers(ax, "left"), X[Y == "left"])


def test_a_hull_has_the_colour_of_its_points(ax):
    HullDisplay.from_points(X, np.where(Y == "left", "other", "z"), curvature=-C).plot(ax)
    for label, patch in zip(("other", "z"), ax.patches[1:], strict=True):
        points = next(c for c in ax.collections if c.get_label() == label)
        assert np.allclose(patch.get_facecolor()[:3], points.get_facecolor()[0, :3])


def test_the_pairs_are_the_closest_vertices_and_the_closest_points(ax, display):
    display.plot(ax)
    a, b = display.pairs["vertices"]
    assert np.isclose(distance(a, b, c=C), pairwise_distance(X[Y == "left"], X[Y == "right"], c=C).min())
    exact = closest_points(X[Y == "left"], X[Y == "right"], c=C)
    assert np.allclose(display.pairs["points"], [exact.a, exact.b])
    (vertices,), (nearest,) = (lines(ax, f"closest {kind} of the hulls") for kind in ("vertices", "points"))
    assert np.array_equal(vertices, [a, b])
    assert np.array_equal(nearest, display.pairs["points"])


def test_each_boundary_is_halfway_and_through_its_midpoint(ax, display):
    display.plot(ax)
    stars = [c.get_offsets()[0] for c in ax.collections if c.get_label() == "their midpoint p"]
    for pair, star, curve in zip(("vertices", "points"), stars, lines(ax, "boundary halfway"), strict=True):
        a, b = display.pairs[pair]
        assert np.array_equal(star, midpoint(a, b, c=C))
        assert np.allclose(distance(curve[1:-1], a, c=C), distance(curve[1:-1], b, c=C), rtol=0, atol=1e-9)
        assert np.allclose(np.linalg.norm(curve[[0, -1]], axis=1), 2)


def test_the_boundary_between_the_closest_points_separates_the_classes(display):
    p = display.reference("points")
    a, b = display.pairs["points"]
    heights = signed_distance(X, b - p, p, c=C)  # b and p lie on the first axis here, as does the normal
    assert np.isclose(a[1] / a[0], b[1] / b[0], atol=0.1)
    assert np.array_equal(heights > 0, Y == "right")


def test_one_pair_is_drawn_once_where_vertices_are_the_closest_points(ax):
    HullDisplay.from_points([[-0.5, 0.0], [-0.8, 0.2], [0.5, 0.0], [0.7, 0.2]], [0, 0, 1, 1]).plot(ax)
    assert legend(ax) == ["0", "1", "closest points, both vertices", "their midpoint p", "boundary halfway"]


def test_pairs_that_differ_by_rounding_are_one(ax, display):
    display.pairs["points"] = display.pairs["vertices"] + 1e-9
    display.plot(ax)
    assert "closest points, both vertices" in legend(ax)
    assert "closest vertices of the hulls" not in legend(ax)


def test_hulls_that_intersect_have_no_closest_points(ax, overlapping):
    display = HullDisplay.from_points(*overlapping).plot(ax)
    assert list(display.pairs) == ["vertices"]
    assert legend(ax) == ["left", "right", "closest vertices of the hulls", "their midpoint p", "boundary halfway"]


def test_only_the_requested_pairs_are_drawn(ax, display):
    display.plot(ax, pairs=("points",), boundary=False)
    assert legend(ax) == ["left", "right", "closest points of the hulls", "their midpoint p"]
    for wrong in ("points", ("corners",)):
        with pytest.raises(ValueError, match=re.escape(f"got {wrong!r}")):
            display.plot(ax, pairs=wrong)


def test_a_common_point_of_both_classes_has_no_bisector(ax):
    display = HullDisplay.from_points([[0.1, 0.2], [0.5, 0.0], [0.1, 0.2], [-0.5, 0.0]], [0, 0, 1, 1]).plot(ax)
    assert np.array_equal(display.reference("vertices"), [0.1, 0.2])
    assert legend(ax) == ["0", "1", "closest vertices of the hulls", "their midpoint p"]


@pytest.mark.parametrize("y", [["a"] * 7, list("abcabca")])
def test_hulls_need_exactly_two_classes(y):
    with pytest.raises(ValueError, match=f"exactly 2 classes; got {len(set(y))} in y: "):
        HullDisplay.from_points(X / 2, y)
