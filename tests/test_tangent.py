"""Frame coordinates, z features and implicit rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn import geometry
from hyplearn.cone import cone_coordinates, plain_cone_rows
from hyplearn.geometry.kernels import centred_dot, centred_sum, shrink, squared_distances
from hyplearn.tangent import eta, frame_coordinates, from_frame, implicit_rows, z_dot, z_features
from support import naive
from support.balls import CURVATURES, at_gap, cloud

dimensions = pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9, 100])


@dimensions
@pytest.mark.parametrize("c", CURVATURES)
def test_features_agree_with_their_naive_twins(d, c):
    rng = np.random.default_rng(0)
    X, p = cloud(rng, 600, d, c), at_gap(rng, d, 0.5, c)
    assert np.allclose(frame_coordinates(X, p, c=c), naive.frame_coordinates(X, p, c), rtol=1e-10, atol=1e-12)
    assert np.allclose(z_features(X, p, c=c), naive.z_features(X, p, c), rtol=1e-10, atol=1e-12)
    assert np.allclose(eta(X, p, c=c), naive.eta(X, p, c), rtol=1e-10)
    assert np.allclose(cone_coordinates(X, p, c=c), naive.cone_coordinates(X, p, c), rtol=1e-10, atol=1e-12)


def test_small_kernels_agree_with_their_naive_twins():
    rng = np.random.default_rng(0)
    X, w, p, q = rng.standard_normal((9, 5)), rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal(9)
    assert np.allclose(centred_dot(X, w, p), naive.centred_dot(X, w, p), rtol=1e-13)
    assert np.allclose(centred_sum(X, q, p), naive.centred_sum(X, q, p), rtol=1e-12)
    squares = np.geomspace(1e-20, 1e30, 200)
    assert np.allclose([shrink(u2) for u2 in squares], naive.shrink(squares), rtol=1e-15)
    assert shrink(0.0) == 1


@dimensions
def test_length_of_a_row_is_the_distance_to_p(d):
    rng = np.random.default_rng(1)
    X, p = cloud(rng, 50, d, 1.0, smallest_gap=1e-12), at_gap(rng, d, 0.2, 1.0)
    distances = geometry.distance(X, p)
    assert np.allclose(np.linalg.norm(frame_coordinates(X, p), axis=1), distances, rtol=1e-13)
    assert np.allclose(np.linalg.norm(z_features(X, p), axis=1), np.sinh(distances), rtol=1e-12)


def test_the_reference_point_itself_has_zero_features_and_eta_of_the_conformal_factor():
    """Errata: the paper prints η = 0 there."""
    p = np.array([[0.3, 0.4]])
    assert np.array_equal(frame_coordinates(p, p[0]), [[0, 0]])
    assert np.array_equal(z_features(p, p[0]), [[0, 0]])
    assert eta(p, p[0])[0] == pytest.approx(geometry.conformal_factor(p[0]), rel=4e-16)


@dimensions
@pytest.mark.parametrize("c", CURVATURES)
def test_cone_coordinates_are_hyperboloid_ones_and_1_shortened_to_the_length_of_the_distance(d, c):
    rng = np.random.default_rng(3)
    p, ways = at_gap(rng, d, 0.3, c), rng.standard_normal((20, d))
    steps = np.linspace(0.1, 3.9, 20)[:, None] / np.linalg.norm(ways, axis=1, keepdims=True)
    far = [at_gap(rng, d, g, c) for g in np.geomspace(1e-15, 1e-3, 20)]
    X = np.vstack([far, from_frame(steps * ways / np.sqrt(c), p, c=c)])
    rho = np.sqrt(c) * geometry.distance(X, p, c=c)
    rows, z = cone_coordinates(X, p, c=c), np.sqrt(c) * z_features(X, p, c=c)
    assert np.allclose(rows[:, 0], rho / np.tanh(rho), rtol=1e-13)
    assert np.allclose(rows[:, 1:-1], (rho / np.sinh(rho))[:, None] * z, rtol=1e-11, atol=1e-13)
    assert np.allclose(np.linalg.norm(rows[:, 1:-1], axis=1), rho, rtol=1e-12)
    assert np.allclose(rows[:, -1], rho / np.sinh(rho), rtol=1e-9, atol=1e-13)
    assert np.allclose(cone_coordinates(p[None], p, c=c), [[1, *np.zeros(d), 1]], rtol=4e-16, atol=0)
    assert cone_coordinates(X.astype(np.float32)[30:], p, c=c).dtype == np.float32
    for intercept in (True, False):
        plain = plain_cone_rows(np.vstack([X, p]), p, c, intercept=intercept)
        due = np.vstack([rows, [1, *np.zeros(d), 1]])[:, : d + 1 + intercept]
        assert np.allclose(plain, due, rtol=1e-9, atol=1e-13)


def test_cone_coordinates_reject_points_outside():
    with pytest.raises(ValueError, match="outside the open ball"):
        cone_coordinates([[0.5, 0.0], [1.0, 0.5]], [0.0, 0.0])


@dimensions
@pytest.mark.parametrize("features", ["frame", "z"])
def test_implicit_rows_equal_explicit_rows(d, features):
    rng = np.random.default_rng(2)
    X, p, w = cloud(rng, 40, d, 1.0), at_gap(rng, d, 0.4, 1.0), rng.standard_normal(d)
    explicit = (frame_coordinates if features == "frame" else z_features)(X, p)
    rows = implicit_rows(X, p, features=features)
    assert rows.shape == (40, d)
    assert len(rows) == 40
    assert np.allclose(rows @ w, explicit @ w, rtol=1e-12, atol=1e-12)
    assert np.allclose(rows[3:9], explicit[3:9], rtol=1e-14, atol=1e-15)
    assert np.allclose(rows[np.array([5, 1])], explicit[[5, 1]], rtol=1e-14, atol=1e-15)


@dimensions
def test_products_with_z_need_no_rows(d):
    rng = np.random.default_rng(5)
    X, p, w = cloud(rng, 30, d, 0.7), at_gap(rng, d, 0.4, 0.7), rng.standard_normal(d)
    product = z_dot(X, w, p, c=0.7, gaps=geometry.gap(X, c=0.7))
    assert np.allclose(product, naive.z_features(X, p, 0.7) @ w, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("d", [2, 9])
def test_known_gaps_change_nothing(d):
    rng = np.random.default_rng(3)
    X, p = cloud(rng, 30, d, 1.0), at_gap(rng, d, 0.4, 1.0)
    for features in ("frame", "z"):
        known = implicit_rows(X, p, features=features, gaps=geometry.gap(X))
        both = implicit_rows(X, p, features=features, gaps=geometry.gap(X), squares=squared_distances(X, p))
        asked = implicit_rows(X, p, features=features)
        for rows in (known, both):
            assert np.array_equal(rows.along, asked.along)
            assert np.array_equal(rows.base, asked.base)


def test_implicit_rows_share_the_users_array():
    X = cloud(np.random.default_rng(3), 10, 3, 1.0)
    assert np.shares_memory(implicit_rows(X, np.zeros(3)).X, X)


@given(st.integers(0, 10**6))
def test_frame_coordinates_keep_their_inner_products_under_isometries(seed):
    """MATHS, section 4: if points and p are moved together, frame coordinates only rotate."""
    rng = np.random.default_rng(seed)
    X, p, a = cloud(rng, 8, 3, 1.0), at_gap(rng, 3, 0.5, 1.0), at_gap(rng, 3, 0.3, 1.0)
    for f in (frame_coordinates, z_features):
        before, after = f(X, p), f(geometry.translate(X, a), geometry.translate(p, a))
        assert np.allclose(before @ before.T, after @ after.T, rtol=1e-8, atol=1e-8)


@given(st.integers(0, 10**6), st.sampled_from(CURVATURES))
def test_from_frame_undoes_frame_coordinates(seed, c):
    rng = np.random.default_rng(seed)
    X, p = cloud(rng, 8, 3, c, smallest_gap=0.01), at_gap(rng, 3, 0.3, c)
    assert np.allclose(from_frame(frame_coordinates(X, p, c=c), p, c=c), X, rtol=1e-9, atol=1e-10)


def test_any_layout_and_integer_points_are_accepted():
    X = cloud(np.random.default_rng(4), 10, 3, 1.0)
    p = X[0]
    assert np.array_equal(frame_coordinates(np.asfortranarray(X), p), frame_coordinates(X, p))
    assert np.array_equal(frame_coordinates(X[::2], p), frame_coordinates(X, p)[::2])
    assert np.array_equal(frame_coordinates([[0, 0]], [0, 0]), [[0, 0]])
    readonly = X.copy()
    readonly.flags.writeable = False
    assert np.array_equal(z_features(readonly, p), z_features(X, p))
    assert frame_coordinates(np.zeros((0, 3)), p).shape == (0, 3)
