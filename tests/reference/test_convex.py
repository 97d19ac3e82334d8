"""The reference point of a convex fit in which p is free."""

import numpy as np
import pytest

from hyplearn import PoincareSVC
from hyplearn.data.training import TrainingData
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import ball_to_hyperboloid, distance, frechet_mean, gap, geodesic, translate
from hyplearn.reference import reference_point
from hyplearn.reference.convex import (
    FIT_NUMBERS,
    FIT_ROWS_PER_DIMENSION,
    FIT_WORK,
    NUMBERS_BESIDE,
    boundary_point,
    convex_boundary,
    fit_rows,
    nearest_zero,
)
from hyplearn.reference.means import FARTHEST_SHIFT
from hyplearn.tangent import from_frame
from support.balls import CURVATURES
from support.two_classes import apart, overlapping


@pytest.mark.parametrize("d", [2, 10, 100])
def test_separable_classes_are_separated_though_p_is_unknown(d):
    X, y, _, _ = make_ball_classification(2000, d, margin=0.01, random_state=1)
    assert PoincareSVC(C=1000).fit(X, y).score(X, y) >= 0.999


@pytest.mark.parametrize("c", CURVATURES)
def test_the_boundary_of_round_classes_goes_through_the_point(c):
    """Two equal, equally heavy wrapped normals have the bisector of their means for their best boundary."""
    rng = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 10_000)
    at, shift = np.array([0.3, -0.2]) / np.sqrt(c), np.array([1.0, 0.0]) / np.sqrt(c)
    means = [from_frame(sign * shift, at, c=c) for sign in (1, -1)]
    X = np.empty((len(y), 2))
    for k, m in enumerate(means):
        X[k::2] = from_frame(rng.standard_normal((10_000, 2)) / np.sqrt(c), m, c=c)
    p = reference_point("boundary", X, y, None, c)
    assert abs(distance(p, means[0], c=c) - distance(p, means[1], c=c)) < 0.2 / np.sqrt(c)


@pytest.mark.parametrize("c", CURVATURES)
def test_the_path_ends_at_the_nearest_zero_of_the_functional(c):
    rng = np.random.default_rng(0)
    centre, q = from_frame(rng.standard_normal((2, 3)) / np.sqrt(c), np.zeros(3), c=c)
    u = np.array([0.4, 1.0, -0.5, 0.3])
    Q = 3 * ball_to_hyperboloid(translate(q, -centre, c=c), c=c)
    p = nearest_zero(u, Q, 3.0, centre, c)

    def value(x):
        return ball_to_hyperboloid(translate(x, -centre, c=c), c=c) @ u

    assert abs(value(p)) < 1e-9
    # All points nearer to q than p are on the same side as q.
    nearer = from_frame(rng.standard_normal((500, 3)) / np.sqrt(c), q, c=c)
    nearer = geodesic(q, nearer, 0.999 * np.minimum(1, distance(q, p, c=c) / distance(q, nearer, c=c)), c=c)
    assert np.all(np.sign(value(nearer)) == np.sign(value(q)))


@pytest.mark.parametrize("radius", [10.0, 15.0])
def test_the_path_to_a_boundary_is_accurate_far_from_the_centre(radius):
    """Squares of coordinates of 1e4 and 1e6 differ only by 1, so a direction computed from them would be lost."""
    e = np.array([1.0, 0.0])
    Q = 5 * np.concatenate([[np.cosh(radius)], np.sinh(radius) * e])
    p = nearest_zero(np.array([0.0, 0.6, -0.8]), Q, 5.0, np.zeros(2), 1.0)  # a line through the centre, too far off
    assert distance(p, np.tanh(radius / 2) * e) == pytest.approx(FARTHEST_SHIFT, rel=1e-6)
    p = nearest_zero(np.array([-0.6 * np.tanh(radius - 2), 0.6, 0.0]), Q, 5.0, np.zeros(2), 1.0)
    assert distance(p, np.zeros(2)) == pytest.approx(radius - 2, abs=0.01)


def test_points_so_far_that_their_sum_has_no_length_still_have_a_boundary():
    """The difference of coordinates above 1e16 is lost to rounding; the total weight is a lower bound for it."""
    for e in (np.array([1.0, 0.0]), np.array([0.6, -0.8])):
        p = nearest_zero(np.array([-5e-25, 3e-25, 4e-25]), 6e24 * np.array([1.0, *e]), 3.0, 0.99 * e, 1.0)
        assert gap(p) > 0


def test_a_functional_that_is_least_where_the_points_are_leaves_them_there():
    """The gradient is 0 at the points, and the functional has no zero."""
    p = nearest_zero(np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0]), 2.0, np.array([0.3, 0.1]), 1.0)
    np.testing.assert_allclose(p, [0.3, 0.1], rtol=1e-15)


def test_a_class_too_light_for_a_boundary_is_passed_at_a_limited_distance():
    X, y = overlapping()
    p = reference_point("boundary", X, y, np.where(y > 0, 1e-3, 1.0), 1.0)
    assert distance(p, frechet_mean(X[y < 0])) < 4 * FARTHEST_SHIFT
    margins = PoincareSVC(p).fit(X, y, np.where(y > 0, 1e-3, 1.0)).decision_function(X)
    assert np.mean(margins < 0) > 0.9


def test_rows_beyond_the_budget_give_the_point_of_explicit_ones():
    X, y = overlapping(n=3000, d=5)
    data, sides = TrainingData.of_arrays(X, (y > 0).astype(int), None, 1.0, n_classes=2), np.array([0, 1])
    due = boundary_point(data, sides)
    assert distance(reference_point("boundary", X, y, None, 1.0), due) < 1e-9
    assert distance(boundary_point(data, sides, hull_numbers=0), due) < 1e-9
    implicit = convex_boundary(data.gathered(), sides, 1.0, 1, is_sample=False, explicit_numbers=0)
    assert distance(implicit, due) < 1e-9
    assert 1e-9 < distance(boundary_point(data, sides, most_rows=1500), due) < 0.1


def test_without_hulls_the_boundary_of_separable_classes_matches_the_fit():
    X, y = apart()
    data, sides = TrainingData.of_arrays(X, (y > 0).astype(int), None, 1.0, n_classes=2), np.array([0, 1])
    fitted = convex_boundary(data.gathered(), sides, 1.0, 1, is_sample=False)
    assert np.array_equal(boundary_point(data, sides, hull_numbers=0), fitted)
    assert distance(boundary_point(data, sides), fitted) > 1e-6


def test_the_rows_of_the_fit_are_limited_by_numbers_and_by_work():
    assert fit_rows(2) == FIT_NUMBERS // (2 + NUMBERS_BESIDE)
    assert fit_rows(100) == 100 * FIT_ROWS_PER_DIMENSION
    assert fit_rows(1000) == FIT_WORK // 1000**2
    assert fit_rows(10**6) == 2


def test_rows_at_the_rim_have_a_boundary():
    X, y = overlapping(n=60)
    X[::7] *= (1 - 1e-13) / np.linalg.norm(X[::7], axis=1, keepdims=True)
    assert np.linalg.norm(reference_point("boundary", X, y, None, 1.0)) < 1
