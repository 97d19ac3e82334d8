"""Pictures of many dimensions: what the stated projections keep."""

import numpy as np
import pytest

from hyplearn import PoincareSVC
from hyplearn.geometry import distance, signed_distance
from hyplearn.plotting.arcs import geodesic_of, hypercycle, minkowski_normal
from hyplearn.plotting.plane import Plane
from hyplearn.tangent import frame_coordinates
from support.balls import CURVATURES, cloud

D = 5


@pytest.fixture(params=CURVATURES)
def across(request):
    c, rng = request.param, np.random.default_rng(0)
    X = cloud(rng, 200, D, c, smallest_gap=1e-3)
    w, p = rng.standard_normal(D), X[0] / 2
    return Plane.across(w, p, X, c), X, w, p, c


def test_sides_and_distances_to_the_boundary_are_kept(across):
    plane, X, w, p, c = across
    shown = signed_distance(plane.project(X), [1.0, 0.0], [0.0, 0.0], c=c)
    assert np.abs(shown - signed_distance(X, w, p, c=c)).max() < 1e-9


def test_a_projection_leaves_the_plane_in_place(across):
    plane, *_, c = across
    for kind in (plane, Plane(plane.p, plane.basis, c, False)):
        x = cloud(np.random.default_rng(1), 50, 2, c)
        assert np.allclose(kind.project(kind.embed(x)), x, rtol=0, atol=1e-12)
        assert np.allclose(kind.embed(kind.project(kind.embed(x))), kind.embed(x), rtol=0, atol=1e-12)


def test_distances_on_the_plane_are_true_and_others_are_shortened(across):
    plane, X, *_, c = across
    x = cloud(np.random.default_rng(1), 2, 2, c)
    assert np.isclose(distance(*plane.embed(x), c=c), distance(*x, c=c))
    shown = plane.project(X)
    assert np.all(distance(shown[1:], shown[:-1], c=c) <= distance(X[1:], X[:-1], c=c) + 1e-9)


def test_the_classifier_says_of_a_picture_what_it_says_of_the_point():
    rng = np.random.default_rng(2)
    X = cloud(rng, 200, D, 1.0)
    svc = PoincareSVC("boundary").fit(X, X @ rng.standard_normal(D) + 0.3 * rng.standard_normal(200) > 0)
    plane = Plane.across(svc.coef_[0], svc.reference_[0], X, 1.0)
    assert np.array_equal(svc.predict(plane.embed(plane.project(X))), svc.predict(X))


def test_the_second_direction_keeps_most_of_the_spread_orthogonal_to_w(across):
    plane, X, w, p, c = across
    F, n = frame_coordinates(X, p, c=c), w / np.linalg.norm(w)
    assert np.allclose(plane.basis @ plane.basis.T, np.eye(2), atol=1e-12)
    assert np.allclose(plane.basis[0], n)
    leading = np.linalg.svd(F - np.outer(F @ n, n))[2][0]
    assert abs(abs(plane.basis[1] @ leading) - 1) < 1e-9


def test_points_along_w_alone_still_have_a_plane():
    w = np.array([1.0, 2.0, 0.0])
    plane = Plane.across(w, np.zeros(3), np.array([0.1 * w]), 1.0)
    assert np.allclose(plane.basis @ plane.basis.T, np.eye(2), atol=1e-12)


def test_orthogonal_projection_finds_the_nearest_point_of_the_principal_plane():
    X = cloud(np.random.default_rng(3), 60, D, 2.0) * [1.0, 1.0, 0.3, 0.2, 0.1]
    plane = Plane.principal(X, 2.0)
    shown = plane.project(X)
    best = distance(plane.embed(shown), X, c=2.0)
    for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert np.all(distance(plane.embed(shown + step), X, c=2.0) >= best)


def test_a_hyperplane_is_cut_where_the_plane_meets_it(across):
    plane, X, *_, c = across
    w, p = np.arange(1.0, D + 1), X[3] / 3
    line = geodesic_of(plane.cut(minkowski_normal(w, p, c=c)), c=c)
    curve = plane.embed(hypercycle(*line, c=c)[1:-1])
    assert np.abs(signed_distance(curve, w, p, c=c)).max() < 1e-9
