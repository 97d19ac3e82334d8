"""Ball, hyperboloid and Klein ball are one space."""

import numpy as np
import pytest

from hyplearn.geometry import (
    ball_to_hyperboloid,
    ball_to_klein,
    distance,
    geodesic,
    hyperboloid_to_ball,
    hyperboloid_to_klein,
    klein_to_ball,
    klein_to_hyperboloid,
    minkowski,
    rotate,
    translate,
)
from hyplearn.tangent import z_features
from support.balls import CURVATURES, cloud

curvatures = pytest.mark.parametrize("c", CURVATURES)


@pytest.fixture
def X():
    return cloud(np.random.default_rng(0), 50, 4, 1.0, smallest_gap=1e-3)


@curvatures
def test_round_trips_return_to_the_ball(X, c):
    X = X / np.sqrt(c)
    assert np.allclose(hyperboloid_to_ball(ball_to_hyperboloid(X, c=c), c=c), X, rtol=1e-14)
    assert np.allclose(klein_to_ball(ball_to_klein(X, c=c), c=c), X, rtol=1e-11)
    K = hyperboloid_to_klein(ball_to_hyperboloid(X, c=c), c=c)
    assert np.allclose(K, ball_to_klein(X, c=c), rtol=1e-14)
    assert np.allclose(klein_to_hyperboloid(K, c=c), ball_to_hyperboloid(X, c=c), rtol=1e-9)


@curvatures
def test_mapped_points_lie_on_the_hyperboloid(X, c):
    H = ball_to_hyperboloid(X / np.sqrt(c), c=c)
    assert np.allclose(minkowski(H, H), -1, atol=1e-9)
    assert (H[:, 0] >= 1).all()


def test_hyperboloid_map_is_not_the_papers_hemisphere():
    """Errata: the paper prints (1 - ‖x‖²)/(1 + ‖x‖²), 2x/(1 + ‖x‖²)."""
    assert np.allclose(ball_to_hyperboloid([0.5, 0.0]), [5 / 3, 4 / 3, 0])


@curvatures
def test_minkowski_product_is_the_cosine_of_the_distance(X, c):
    X = X / np.sqrt(c)
    H = ball_to_hyperboloid(X, c=c)
    product = -minkowski(H[:-1], H[1:])
    assert np.allclose(np.arccosh(product) / np.sqrt(c), distance(X[:-1], X[1:], c=c), rtol=1e-6)


def test_geodesics_are_straight_in_the_klein_ball(X):
    curve = ball_to_klein(geodesic(X[0], X[1], np.linspace(0, 1, 9)))
    chord = curve[-1] - curve[0]
    off = (curve - curve[0]) - np.outer((curve - curve[0]) @ chord / (chord @ chord), chord)
    assert np.abs(off).max() < 1e-12


def test_z_is_linear_in_hyperboloid_coordinates(X):
    """By MATHS, fact 1, z is given by one (d + 1) × d matrix per p."""
    Z, H = z_features(X, np.array([0.3, -0.2, 0.1, 0.4])), ball_to_hyperboloid(X)
    matrix = np.linalg.lstsq(H, Z)[0]
    assert matrix.shape == (5, 4)
    assert np.allclose(H @ matrix, Z, rtol=1e-9, atol=1e-9)


def test_rotation_and_translation_are_inverted(X):
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    a = np.array([0.1, 0.2, 0.3, -0.4])
    assert np.allclose(rotate(rotate(X, turn), turn.T), X, rtol=1e-13)
    assert np.allclose(translate(translate(X, a), -a), X, rtol=1e-10)
    assert np.allclose(translate(np.zeros(4), a), a, rtol=1e-15)


def test_rows_off_the_hyperboloid_are_reported():
    with pytest.raises(ValueError, match=r"1 of 2 rows do not lie on the hyperboloid.*row 1 with X⁰ = 2"):
        hyperboloid_to_ball([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="at least 2 coordinates"):
        hyperboloid_to_klein([1.0])


def test_a_matrix_that_is_not_orthogonal_is_rejected():
    with pytest.raises(ValueError, match=r"orthogonal.*differs from the identity by up to 3"):
        rotate([0.1, 0.2], [[2, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"shape \(2, 2\); got shape \(3, 3\)"):
        rotate([0.1, 0.2], np.eye(3))
