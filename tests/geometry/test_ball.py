"""Laws of the Poincaré ball."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.geometry import (
    conformal_factor,
    distance,
    exp_map,
    gap,
    geodesic,
    log_map,
    midpoint,
    mobius_add,
    mobius_scale,
    pairwise_distance,
    project,
    ray,
    rotate,
    translate,
    transport,
)
from hyplearn.geometry.kernels import norms, row_gaps
from support import naive
from support.balls import CURVATURES, cloud, points, vectors

curvatures = pytest.mark.parametrize("c", CURVATURES)


def close(a, b, tolerance=1e-9):
    return np.allclose(a, b, rtol=tolerance, atol=tolerance)


@curvatures
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 11])
def test_kernels_agree_with_their_naive_twins(d, c):
    X, Y = (cloud(np.random.default_rng(seed), 40, d, c) for seed in (0, 1))
    assert close(row_gaps(X, c), naive.gap(X, c), 1e-13)
    assert close(norms(X), naive.norm(X), 1e-14)
    assert close(mobius_add(X, Y, c=c), naive.mobius_add(X, Y, c), 1e-12)
    assert close(distance(X, Y, c=c), naive.distance(X, Y, c), 1e-12)
    assert close(pairwise_distance(X, Y, c=c), naive.pairwise_distance(X, Y, c), 1e-12)
    assert close(log_map(X, Y[0], c=c), naive.log_map(X, Y[0], c), 1e-12)
    assert close(conformal_factor(X, c=c), naive.conformal_factor(X, c), 1e-12)


@given(points(3))
def test_origin_is_the_neutral_element(x):
    assert close(mobius_add(np.zeros(3), x), x, 1e-15)
    assert close(mobius_add(x, np.zeros(3)), x, 1e-15)


@given(points(3))
def test_minus_x_undoes_x_exactly(x):
    assert np.array_equal(mobius_add(-x, x), np.zeros(3))


@given(points(3), points(3))
def test_left_cancellation(x, y):
    assert distance(mobius_add(-x, mobius_add(x, y)), y) < 1e-8


@given(points(3), points(3))
def test_sums_have_the_same_length_in_both_orders(x, y):
    assert close(norms(mobius_add(x, y)[None]), norms(mobius_add(y, x)[None]), 1e-14)


@given(points(3, smallest_gap=0.05), points(3, smallest_gap=0.05), points(3, smallest_gap=0.05))
def test_addition_is_gyroassociative(x, y, z):
    def gyration(v):
        return mobius_add(-mobius_add(x, y), mobius_add(x, mobius_add(y, v)))

    assert close(mobius_add(x, mobius_add(y, z)), mobius_add(mobius_add(x, y), gyration(z)), 1e-8)


@given(points(2, smallest_gap=0.05), st.floats(-2, 2), st.floats(-2, 2))
def test_scaling_distributes_over_numbers(x, r, s):
    assert close(mobius_scale(r + s, x), mobius_add(mobius_scale(r, x), mobius_scale(s, x)), 1e-8)
    assert close(mobius_scale(r, mobius_scale(s, x)), mobius_scale(r * s, x), 1e-8)


@given(points(2), st.floats(-3, 3))
def test_scaling_multiplies_the_distance_to_the_origin(x, r):
    origin = np.zeros(2)
    assert distance(mobius_scale(r, x), origin) == pytest.approx(abs(r) * distance(x, origin), rel=1e-6, abs=1e-12)


@given(points(3, smallest_gap=1e-14), points(3, smallest_gap=1e-14))
def test_distance_is_symmetric_and_zero_on_the_diagonal_bit_for_bit(x, y):
    assert distance(x, y) == distance(y, x)
    assert distance(x, x) == 0
    assert pairwise_distance([x, y])[0, 1] == pairwise_distance([x, y])[1, 0]


@curvatures
@pytest.mark.parametrize("d", [1, 2, 6, 40])
def test_pairwise_distances_are_symmetric_and_zero_on_the_diagonal_bit_for_bit(d, c):
    X = cloud(np.random.default_rng(d), 700, d, c, smallest_gap=1e-12)
    D = pairwise_distance(X, c=c)
    assert np.array_equal(D, D.T)
    assert not np.any(np.diag(D))
    assert np.allclose(D[-1], distance(X[-1], X, c=c), rtol=1e-15, atol=0)


def test_pairwise_distances_do_not_underflow():
    D = pairwise_distance([[1e-200, 0.0]], [[0.0, 0.0], [0.0, 1e-200], [1e-200, 0.0]])
    assert np.allclose(D, [[2e-200, 2e-200 * np.sqrt(2), 0.0]], rtol=1e-15, atol=0)


@given(points(2), points(2), points(2))
def test_triangle_inequality(x, y, z):
    assert distance(x, z) <= distance(x, y) + distance(y, z) + 1e-12


@given(points(2), points(2), points(2, smallest_gap=0.01))
def test_distance_is_invariant_under_translations(x, y, a):
    assert close(distance(translate(x, a), translate(y, a)), distance(x, y), 1e-7)


@given(points(2), points(2), st.floats(0, 7))
def test_distance_is_invariant_under_rotations(x, y, angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert close(distance(rotate(x, turn), rotate(y, turn)), distance(x, y), 1e-9)


@given(points(3, c=0.3), points(3, c=0.3))
def test_curvature_scales_distances(x, y):
    assert close(distance(x, y, c=0.3) * np.sqrt(0.3), distance(x * np.sqrt(0.3), y * np.sqrt(0.3)), 1e-9)


@given(points(3), points(3))
def test_exponential_map_undoes_the_logarithm(x, p):
    assert distance(exp_map(log_map(x, p), p), x) < 1e-6


@given(vectors(3, size=0.5), points(3, smallest_gap=0.1))
def test_logarithm_undoes_the_exponential_map(v, p):
    assert close(log_map(exp_map(v, p), p), v, 1e-7)


@given(points(3))
def test_logarithm_of_the_base_point_is_exactly_zero(p):
    assert np.array_equal(log_map(p, p), np.zeros(3))
    assert np.array_equal(exp_map(np.zeros(3), p), p)


@given(points(2), points(2))
def test_length_of_the_logarithm_is_the_distance(x, p):
    assert conformal_factor(p) * norms(log_map(x, p)[None])[0] == pytest.approx(distance(x, p), rel=1e-13)


@given(points(2), points(2), st.floats(0, 1))
def test_geodesic_divides_the_distance(x, y, t):
    between = geodesic(x, y, t)
    assert distance(x, between) == pytest.approx(t * distance(x, y), rel=1e-7, abs=1e-9)
    assert distance(between, y) == pytest.approx((1 - t) * distance(x, y), rel=1e-7, abs=1e-9)


@given(points(2, smallest_gap=1e-14), points(2, smallest_gap=1e-14))
def test_geodesic_starts_and_ends_exactly(x, y):
    assert np.array_equal(geodesic(x, y, [0, 1]), [x, y])
    assert np.array_equal(midpoint(x, y), midpoint(y, x))


@given(points(2, smallest_gap=0.2), points(2, smallest_gap=0.2), st.floats(-1, 2))
def test_geodesic_is_the_papers_formula(x, y, t):
    assert close(geodesic(x, y, t), mobius_add(x, mobius_scale(t, mobius_add(-x, y))), 1e-8)


@given(vectors(2), points(2, smallest_gap=0.1), st.floats(-2, 2))
def test_ray_is_parametrised_by_distance(v, p, t):
    assert distance(ray(v, p, t), p) == pytest.approx(abs(t), rel=1e-7, abs=1e-12)
    velocity = (ray(v, p, 1e-6) - ray(v, p, -1e-6)) / 2e-6
    assert close(velocity * conformal_factor(p), v / np.linalg.norm(v), 1e-5)


@given(vectors(3), vectors(3), points(3, smallest_gap=0.01), points(3, smallest_gap=0.01))
def test_transport_keeps_lengths_and_angles(u, v, p, q):
    there_u, there_v = transport(u, p, q), transport(v, p, q)
    before = conformal_factor(p) ** 2 * (u @ v)
    assert conformal_factor(q) ** 2 * (there_u @ there_v) == pytest.approx(
        before, rel=1e-9, abs=1e-9 * abs(before) + 1e-9
    )


@given(points(3, smallest_gap=0.01), points(3, smallest_gap=0.01))
def test_transport_carries_a_geodesics_velocity_along(p, q):
    assert close(transport(log_map(q, p), p, q), -log_map(p, q), 1e-10)


@given(vectors(3), points(3))
def test_transport_to_the_same_point_changes_nothing(v, p):
    assert np.array_equal(transport(v, p, p), v)


@given(vectors(3), points(3, smallest_gap=0.01))
def test_transport_from_the_origin_is_a_scaling(v, q):
    assert close(transport(v, np.zeros(3), q), gap(q) * v, 1e-12)


@curvatures
def test_projection_leaves_points_inside_untouched(c):
    X = cloud(np.random.default_rng(0), 30, 3, c, smallest_gap=1e-9)
    assert np.array_equal(project(X, c=c), X)
    moved = project(5 * X / norms(X)[:, None] / np.sqrt(c), c=c)
    assert close(norms(moved) * np.sqrt(c), 1, 1e-15)
    assert (gap(moved, c=c) > 0).all()


def test_functions_broadcast_over_leading_axes():
    rng = np.random.default_rng(0)
    X, Y = cloud(rng, 6, 3, 1.0).reshape(2, 3, 3), cloud(rng, 3, 3, 1.0)
    t = np.linspace(0, 1, 4)
    assert distance(X, Y).shape == (2, 3)
    assert distance(X[:, :, None], Y).shape == (2, 3, 3)
    assert geodesic(X[0, 0], Y[0], t).shape == (4, 3)
    assert geodesic(X, Y, 0.5).shape == (2, 3, 3)
    assert geodesic(X[0], Y, t[:, None]).shape == (4, 3, 3)
    assert mobius_scale([0.5, 1, 2], Y).shape == (3, 3)
    assert np.array_equal(log_map(X, Y)[1, 2], log_map(X[1, 2], Y[2]))
    assert np.array_equal(transport(X, Y, Y[0])[1, 2], transport(X[1, 2], Y[2], Y[0]))
    assert np.ndim(distance(X[0, 0], Y[0])) == 0
    assert distance(np.zeros((0, 2)), np.zeros(2)).shape == (0,)


def test_arrays_of_any_layout_are_accepted():
    X = cloud(np.random.default_rng(0), 10, 4, 1.0)
    assert np.array_equal(distance(np.asfortranarray(X), X[::-1][::-1]), np.zeros(10))
    assert np.array_equal(gap(X[:, ::2]), gap(X[:, ::2].copy()))
