"""Bad input: each case gets one error that says what is wrong, shows the value and gives the next step."""

import numpy as np
import pytest

from hyplearn import geometry, tangent

X = [[0.1, 0.2], [0.8, 0.9], [1.0, 0.0]]


def test_points_outside_the_ball_are_named_in_the_error():
    with pytest.raises(ValueError) as error:
        geometry.distance(X, [0.0, 0.0])
    assert str(error.value) == (
        "2 of 3 points lie outside the open ball of curvature -1; the farthest is row 1 with norm 1.20416.\n"
        "Rescale the embedding, move the points inside with hyplearn.geometry.project, "
        "or pass the absolute curvature c of your embedding."
    )


def test_a_point_just_beyond_the_rim_shows_all_its_digits():
    with pytest.raises(ValueError, match=r"the point has norm 1\.0000000000000002"):
        geometry.gap([1 + 2e-16, 0.0])
    with pytest.raises(ValueError, match=r"the point has norm 1\."):
        geometry.gap([1.0, 0.0])


def test_the_ball_of_another_curvature_is_named():
    with pytest.raises(ValueError, match=r"curvature -5 \(radius 0\.447214\); the point has norm 0\.6"):
        geometry.conformal_factor([0.6, 0.0], c=5)


@pytest.mark.parametrize("c", [0, -1.0, np.nan, np.inf, "1", None, True, 1j])
def test_curvature_must_be_a_positive_number(c):
    with pytest.raises(ValueError, match="c must be a positive finite number"):
        geometry.distance([0.0], [0.0], c=c)
    with pytest.raises(ValueError, match="c must be a positive finite number"):
        tangent.frame_coordinates([[0.0]], [0.0], c=c)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_reported_with_their_index(bad):
    points = np.array([[0.0, 0.1], [0.2, bad]])
    for call in (
        lambda: geometry.distance(points, [0.0, 0.0]),
        lambda: geometry.exp_map(points, [0.0, 0.0]),
        lambda: tangent.frame_coordinates(points, [0.0, 0.0]),
        lambda: tangent.implicit_rows(points.astype(np.float32), [0.0, 0.0]),
    ):
        with pytest.raises(ValueError, match=r"NaN or infinite values \(1 in total\); .* at index \(1, 1\)"):
            call()


@pytest.mark.parametrize("bad", [[0.1 + 1j, 0.2], ["a", "b"], np.array([0.1, None], dtype=object), [True, False]])
def test_only_real_numbers_are_points(bad):
    with pytest.raises(TypeError, match="must contain real numbers; got dtype"):
        geometry.log_map(bad, [0.0, 0.0])
    with pytest.raises(TypeError, match="must contain real numbers; got dtype"):
        tangent.z_features([bad], [0.0, 0.0])


def test_points_of_another_dimension_are_rejected_even_if_they_would_broadcast():
    with pytest.raises(ValueError, match="same number of coordinates; x has 1, p has 2"):
        geometry.log_map([[0.1]], [0.0, 0.0])
    with pytest.raises(ValueError, match="one point of dimension 1"):
        tangent.frame_coordinates([[0.1]], [0.0, 0.0])


def test_a_scalar_is_rejected_as_a_point():
    with pytest.raises(ValueError, match=r"coordinates along its last axis; got an array of shape \(\)"):
        geometry.gap(0.5)
    with pytest.raises(ValueError, match=r"shape \(3, 0\)"):
        geometry.gap(np.zeros((3, 0)))
    with pytest.raises(ValueError, match=r"whose rows are points; got shape \(2,\)"):
        tangent.frame_coordinates([0.1, 0.2], [0.0, 0.0])


def test_a_base_point_outside_the_ball_is_rejected():
    with pytest.raises(ValueError, match="the point has norm 2"):
        geometry.log_map([0.1, 0.1], [2.0, 0.0])
    with pytest.raises(ValueError, match="the point has norm 2"):
        tangent.z_features([[0.1, 0.1]], [2.0, 0.0])


def test_features_of_points_outside_the_ball_are_rejected():
    for f in (tangent.frame_coordinates, tangent.z_features, tangent.implicit_rows, tangent.eta):
        with pytest.raises(ValueError, match="2 of 3 points lie outside"):
            f(X, [0.0, 0.0])


def test_a_ray_needs_a_direction():
    with pytest.raises(ValueError, match="v must be nonzero"):
        geometry.ray([0.0, 0.0], [0.1, 0.1], 1.0)


def test_nan_cannot_be_projected():
    with pytest.raises(ValueError, match="NaN"):
        geometry.project([np.nan, 2.0])
