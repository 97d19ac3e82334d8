"""Geodesic hyperplanes."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize

from hyplearn.geometry import (
    distance,
    exp_map,
    hyperplane_points,
    project,
    project_onto,
    rotate,
    side,
    signed_distance,
    translate,
    transport,
)
from support import naive
from support.balls import CURVATURES, cloud, points, vectors


@given(points(3, smallest_gap=0.05), vectors(3), points(3, smallest_gap=0.05))
def test_both_closed_forms_of_the_paper_agree(x, w, p):
    computed = abs(signed_distance(x, w, p))
    assert computed == pytest.approx(naive.hyperplane_distance(x, w, p, 1.0), rel=1e-9, abs=1e-12)
    if distance(x, p) > 1e-6:
        tangent = naive.hyperplane_distance_in_tangent_space(x, w, p, 1.0)
        assert computed == pytest.approx(tangent, rel=1e-8, abs=1e-11)


@settings(max_examples=15)
@given(points(3, smallest_gap=0.2), vectors(3), points(3, smallest_gap=0.2))
def test_signed_distance_is_the_least_distance_to_the_hyperplane(x, w, p):
    basis = np.linalg.svd(w[None] / np.linalg.norm(w))[2][1:]

    def to_point(coordinates):
        return float(distance(x, exp_map(coordinates @ basis, p)))

    least = min(
        minimize(to_point, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
        for start in ([0.0, 0.0], [0.1, 0.1])
    )
    assert abs(signed_distance(x, w, p)) == pytest.approx(least, rel=1e-5, abs=1e-7)


@given(points(2, smallest_gap=0.01), vectors(2), points(2, smallest_gap=0.01))
def test_projection_lies_on_the_hyperplane_at_the_stated_distance(x, w, p):
    foot = project_onto(x, w, p)
    assert abs(signed_distance(foot, w, p)) < 1e-7
    assert distance(x, foot) == pytest.approx(abs(signed_distance(x, w, p)), rel=1e-6, abs=1e-8)


def test_points_at_the_last_radius_have_projections_inside_the_ball():
    """In coordinates about p, about one point in twenty is rounded onto the rim."""
    rng = np.random.default_rng(0)
    X = project(2 * rng.standard_normal((100, 2)) + 1)
    feet = project_onto(X, np.stack([-X[:, 1], X[:, 0]], axis=1), [0.0, 0.0])
    np.testing.assert_allclose(feet, X, atol=1e-15)


@given(points(3, smallest_gap=0.01), vectors(3), points(3, smallest_gap=0.01))
def test_side_is_the_sign_of_the_distance(x, w, p):
    assert side(x, w, p) == np.sign(signed_distance(x, w, p))
    assert signed_distance(x, -w, p) == -signed_distance(x, w, p)
    assert side(p, w, p) == 0


@given(vectors(2), points(2, smallest_gap=1e-3))
def test_length_of_the_normal_does_not_matter(w, p):
    x = np.array([0.3, 0.1])
    assert signed_distance(x, w, p) == pytest.approx(signed_distance(x, 1e200 * w, p), rel=1e-14)
    assert signed_distance(x, w, p) == pytest.approx(signed_distance(x, 1e-200 * w, p), rel=1e-14)


@given(points(2, smallest_gap=0.05), vectors(2), points(2, smallest_gap=0.05), points(2, smallest_gap=0.05))
def test_distance_to_a_hyperplane_is_invariant_under_isometries(x, w, p, a):
    """The differential of a translation by a maps w to its transport to a ⊕ p, rotated by the gyration."""
    step = 1e-7 * w / np.linalg.norm(w)
    moved_w = translate(p + step, a) - translate(p - step, a)
    moved = signed_distance(translate(x, a), moved_w, translate(p, a))
    assert moved == pytest.approx(signed_distance(x, w, p), rel=1e-5, abs=1e-5)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = signed_distance(rotate(x, turn), turn @ w, rotate(p, turn))
    assert turned == pytest.approx(signed_distance(x, w, p), rel=1e-9, abs=1e-12)


@given(vectors(2), points(2, smallest_gap=0.01))
def test_the_hyperplane_does_not_depend_on_which_of_its_points_is_p(w, p):
    q = hyperplane_points(w, p, n_points=7)[2]
    moved = transport(w, p, q)
    X = cloud(np.random.default_rng(0), 20, 2, 1.0)
    assert np.allclose(signed_distance(X, w, p), signed_distance(X, moved, q), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("gap_p", [1.0, 0.5, 1e-2, 1e-4])
def test_drawn_points_lie_on_the_hyperplane_from_rim_to_rim(gap_p, c):
    p = np.array([np.sqrt((1 - gap_p) / c), 0.0])
    w = np.array([0.3, 1.0])
    curve = hyperplane_points(w, p, c=c)
    assert curve.shape == (201, 2)
    # Towards the ends, distances grow without bound, so the points are compared with H in Euclidean terms.
    margins = translate(curve, -p, c=c) @ (w / np.linalg.norm(w)) * np.sqrt(c)
    assert np.abs(margins).max() < 1e-11
    ends = np.linalg.norm(curve[[0, -1]], axis=1) * np.sqrt(c)
    assert (ends > 1 - 2e-4).all()
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    assert steps.max() < 2.1 * steps.min()


def test_drawn_points_in_space_follow_the_direction_asked_for():
    w, p, u = np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, 5.0])
    curve = hyperplane_points(w, p, u, n_points=51)
    assert np.abs(signed_distance(curve[1:-1], w, p)).max() < 1e-9
    assert distance(curve, p).min() < 0.1


def test_a_hyperplane_in_three_dimensions_needs_a_direction():
    with pytest.raises(ValueError, match="u is required in dimension 3, where a hyperplane is not a curve"):
        hyperplane_points([0, 0, 1], [0, 0, 0])
    with pytest.raises(ValueError, match="must not be parallel to w"):
        hyperplane_points([0, 0, 1], [0, 0, 0], [0, 0, 2])
    with pytest.raises(ValueError, match="one hyperplane"):
        hyperplane_points([[0, 1]], [[0, 0]])


@pytest.mark.parametrize("f", [side, signed_distance, project_onto])
def test_a_zero_normal_is_rejected(f):
    with pytest.raises(ValueError, match="w must be nonzero"):
        f([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
