"""Pictures of many dimensions: properties that the projections preserve."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.geometry import distance, signed_distance
from hyplearn.plotting.plane import Plane, choose_plane, predicted_codes
from hyplearn.tangent import frame_coordinates, from_frame
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
    for kind in (plane, replace(plane, projection="nearest"), replace(plane, projection="around")):
        x = cloud(np.random.default_rng(1), 50, 2, c)
        assert np.allclose(kind.project(kind.embed(x)), x, rtol=0, atol=1e-12)
        assert np.allclose(kind.embed(kind.project(kind.embed(x))), kind.embed(x), rtol=0, atol=1e-12)


def test_distances_in_the_plane_are_exact_and_others_are_shortened(across):
    plane, X, *_, c = across
    x = cloud(np.random.default_rng(1), 2, 2, c)
    assert np.isclose(distance(*plane.embed(x), c=c), distance(*x, c=c))
    shown = plane.project(X)
    assert np.all(distance(shown[1:], shown[:-1], c=c) <= distance(X[1:], X[:-1], c=c) + 1e-9)


def test_a_point_and_its_projection_have_the_same_prediction():
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


def test_orthogonal_projection_finds_the_nearest_point_of_the_plane_between_classes():
    X = cloud(np.random.default_rng(3), 60, D, 2.0) * [1.0, 1.0, 0.3, 0.2, 0.1]
    plane = Plane.between(X, (X[:, 0] > 0).astype(int), 2.0)
    shown = plane.project(X)
    best = distance(plane.embed(shown), X, c=2.0)
    for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert np.all(distance(plane.embed(shown + step), X, c=2.0) >= best)


@pytest.mark.parametrize("c", CURVATURES)
def test_points_rotated_about_p_keep_their_distance_to_it(c):
    X = cloud(np.random.default_rng(3), 60, D, c)
    p = X[0] / 3
    plane = Plane.about(p, X, c)
    # A point without a direction in the plane, and p itself.
    normal = np.linalg.svd(plane.basis)[2][-1]
    X = np.concatenate([X, from_frame(0.7 * normal[None], p, c=c), p[None]])
    assert np.allclose(distance(plane.project(X), np.zeros(2), c=c), distance(X, p, c=c), rtol=1e-9, atol=1e-9)


def blobs(rng, n_classes, d=10):
    """Classes around random points of the ball, far apart relative to their width."""
    centres = from_frame(0.75 * rng.standard_normal((n_classes, d)), np.zeros(d))
    codes = np.repeat(np.arange(n_classes), 60)
    return np.concatenate([from_frame(0.3 * rng.standard_normal((1, d)), centres[k]) for k in codes]), codes


def test_regions_of_ten_dimensions_match_the_predictions():
    X, y = blobs(np.random.default_rng(0), 8)
    model = PoincareLogisticRegression().fit(X, y)
    assert model.score(X, y) == 1
    plane = choose_plane(model, model.decision_.boundary(), X, 1.0)
    agree = np.mean(predicted_codes(model, plane, plane.project(X)) == y)
    assert agree == plane.agreement > 0.95
    # On the plane itself, which is far from all points, the predictions are different.
    assert np.mean(model.predict(plane.embed(plane.project(X))) == y) < 0.8
    assert f"agrees with {agree:.0%} of all predictions" in plane.statement


def test_the_plane_holds_the_directions_that_the_predictions_depend_on():
    rng = np.random.default_rng(1)
    F = rng.standard_normal((400, 6)) * [0.5, 0.5, 1.5, 1.5, 1.5, 1.5]
    codes = (F[:, 0] > 0) + 2 * (F[:, 1] > 0)
    plane = Plane.between(from_frame(F, np.zeros(6)), codes, 1.0)
    # The points spread most in the other four directions.
    assert np.linalg.norm(plane.basis[:, :2]) > 0.95 * np.sqrt(2)
    assert plane.agreement > 0.85


def test_one_predicted_class_is_the_region_everywhere():
    X, y = blobs(np.random.default_rng(0), 2, d=3)
    model = DummyClassifier().fit(X, y)
    plane = choose_plane(model, None, X, 1.0)
    assert plane.agreement == 1
    assert np.array_equal(predicted_codes(model, plane, plane.project(X)), np.zeros(len(X)))


def test_with_few_points_all_of_them_vote():
    X, y = blobs(np.random.default_rng(0), 2, d=3)
    plane = Plane.between(X[58:62], y[58:62], 1.0)
    assert plane.neighbours.n_neighbors == 4
