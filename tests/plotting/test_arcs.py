"""Curves of the disk pass through the right points, and circles meet the rim at the right angle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.geometry import ball_to_hyperboloid, distance, hyperplane_points, minkowski, signed_distance
from hyplearn.plotting.arcs import (
    bisector,
    circle,
    geodesic_of,
    hypercycle,
    minkowski_normal,
    outline,
    rim_points,
    segment,
)
from support.balls import CURVATURES, at_gap, points, vectors


@given(points(smallest_gap=1e-4), vectors(), st.floats(-3, 3), st.sampled_from(CURVATURES))
def test_every_point_of_a_hypercycle_has_its_signed_distance(p, w, height, c):
    curve = hypercycle(w, p / np.sqrt(c), height, c=c)
    assert np.abs(signed_distance(curve[1:-1], w, p / np.sqrt(c), c=c) - height).max() < 1e-9
    assert np.abs(np.sqrt(c) * np.linalg.norm(curve[[0, -1]], axis=1) - 1).max() < 1e-15


@given(points(smallest_gap=1e-3), vectors())
def test_a_geodesic_meets_the_rim_at_right_angles(p, w):
    # By the circle through three of its points: orthogonal to the unit circle means |centre|² = radius² + 1.
    curve = hypercycle(w, p)
    a, b, m = curve[0], curve[-1], curve[200]
    rows = 2 * np.stack([b - a, m - a])
    if np.linalg.cond(rows) < 1e6:  # otherwise almost a diameter, for which this formula fails
        centre = np.linalg.solve(rows, [b @ b - a @ a, m @ m - a @ a])
        assert abs(centre @ centre - (centre - a) @ (centre - a) - 1) < 1e-9 * (centre @ centre)
        radii = np.linalg.norm(curve - centre, axis=1)
        assert np.ptp(radii) < 1e-9 * radii[0]


@given(points(smallest_gap=1e-4), st.floats(1e-3, 5), st.sampled_from(CURVATURES))
def test_every_point_of_a_circle_has_the_same_distance_from_its_centre(p, radius, c):
    curve = circle(p / np.sqrt(c), radius, c=c)
    assert np.abs(distance(curve, p / np.sqrt(c), c=c) - radius).max() < 1e-7
    assert np.allclose(curve[0], curve[-1], rtol=0, atol=1e-15)
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    assert np.ptp(steps) < 1e-9  # evenly spaced on a Euclidean circle


def test_all_hypercycles_of_a_geodesic_share_its_two_ends_on_the_rim():
    w, p = np.array([0.3, -1.0]), np.array([0.5, 0.4])
    ends = rim_points(w, p)
    for height in (-2.0, 0.0, 0.5):
        assert np.allclose(hypercycle(w, p, height)[[0, -1]], ends, rtol=0, atol=1e-15)


@pytest.mark.parametrize("c", CURVATURES)
def test_a_geodesic_through_the_centre_is_a_straight_diameter(c):
    w, p = np.array([1.0, 2.0]), np.zeros(2)
    curve = hypercycle(w, p, c=c)
    assert np.abs(curve @ w).max() < 1e-15 * 3
    assert np.allclose(np.linalg.norm(curve[-1] - curve[0]), 2 / np.sqrt(c))


def test_points_are_spread_evenly_to_the_eye():
    steps = np.linalg.norm(np.diff(hypercycle(np.array([1.0, 0.0]), np.array([0.8, 0.1]), 0.7), axis=0), axis=1)
    assert np.ptp(steps) < 1e-12


def test_the_geodesic_is_the_hyperplane_of_the_geometry():
    w, p = np.array([0.4, -0.2]), at_gap(np.random.default_rng(0), 2, 0.3, 1.0)
    mine, theirs = hypercycle(w, p), hyperplane_points(w, p)
    nearest = np.linalg.norm(mine[:, None] - theirs, axis=2).min(axis=0)
    assert nearest.max() < np.linalg.norm(np.diff(mine, axis=0), axis=1).max()


@given(points(), points())
def test_the_bisector_is_equidistant_from_both_points(a, b):
    if distance(a, b) > 1e-3:
        curve = hypercycle(*bisector(a, b))[1:-1]
        assert np.allclose(distance(curve, a), distance(curve, b), rtol=0, atol=1e-9)
        assert signed_distance(b, *bisector(a, b)) > 0


@given(points(d=3), points(d=3), vectors(d=3), st.sampled_from(CURVATURES))
def test_the_minkowski_normal_measures_the_signed_distance(x, p, w, c):
    x, p = x / np.sqrt(c), p / np.sqrt(c)
    height = minkowski(minkowski_normal(w, p, c=c), ball_to_hyperboloid(x, c=c))
    assert np.isclose(height, np.sinh(np.sqrt(c) * signed_distance(x, w, p, c=c)), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("c", CURVATURES)
def test_geodesics_and_normals_round_trip(c):
    w, p = np.array([0.3, 0.8]), np.array([-0.2, 0.3])
    found = geodesic_of(minkowski_normal(w, p, c=c), c=c)
    curve = hypercycle(*found, 0.4, c=c)[1:-1]
    assert np.abs(signed_distance(curve, w, p, c=c) - 0.4).max() < 1e-12


def test_a_functional_without_zero_has_no_geodesic():
    assert geodesic_of(np.array([1.0, 0.5, 0.5])) is None


def test_an_outline_runs_along_geodesics_through_all_vertices():
    V = np.array([[0.9, 0.0], [0.0, 0.8], [-0.5, -0.5]])
    curve = outline(V, n_points=5).reshape(3, 5, 2)
    for start, end, edge in zip(V, np.roll(V, -1, axis=0), curve, strict=True):
        assert np.allclose(edge[[0, -1]], [start, end], rtol=0, atol=1e-15)
        assert np.allclose(distance(edge, start) + distance(edge, end), distance(start, end))


@given(points(smallest_gap=1e-6), points(smallest_gap=1e-6), st.sampled_from(CURVATURES))
def test_a_segment_is_the_shortest_path_with_equal_steps(x, y, c):
    x, y = x / np.sqrt(c), y / np.sqrt(c)
    curve = segment(x, y, c=c)
    assert np.allclose(curve[[0, -1]], [x, y], rtol=0, atol=1e-15 / np.sqrt(c))
    inner = curve[1:-1]
    assert np.allclose(distance(inner, x, c=c) + distance(inner, y, c=c), distance(x, y, c=c), rtol=1e-6, atol=1e-9)
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    assert np.ptp(steps) < 1e-9 * steps.max() + 1e-15


def test_many_segments_match_single_segments():
    X, Y = np.random.default_rng(0).uniform(-0.7, 0.7, (2, 5, 2))
    assert np.array_equal(segment(X, Y), [segment(x, y) for x, y in zip(X, Y, strict=True)])
