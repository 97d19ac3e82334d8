"""Accuracy of every operation, compared with the paper's formulas in mpmath, from the centre to the rim."""

import numpy as np
import pytest
from mpmath import mpf

from hyplearn import geometry, tangent
from support import exact
from support.balls import CURVATURES, at_gap

EPS = np.finfo(float).eps
GAPS = (1e-1, 1e-2, 1e-4, 1e-8, 1e-12, 1e-15)


def pairs(d, c, seed=0):
    """Pairs (x, p) with every gap of x, then pairs as close as 1e-15; fewer in high dimensions, for speed."""
    rng = np.random.default_rng(seed)
    few = d > 100
    for gap in GAPS:
        for gap_p in (rng.choice(GAPS),) if few else (1.0, 0.5, rng.choice(GAPS)):
            yield at_gap(rng, d, gap, c), at_gap(rng, d, gap_p, c)
    for apart in 10.0 ** np.arange(-15, -1, 5 if few else 2):
        p = at_gap(rng, d, rng.choice([0.9, 0.1, 1e-2]), c)
        yield p + apart * at_gap(rng, d, 0, c), p


def worst(operation, truth, d, c, check=exact.relative_error):
    """Largest relative error of ``operation(x, p)`` over the pairs."""
    exact_c = mpf(c)
    return max(check(operation(x, p), truth(exact.vector(x), exact.vector(p), exact_c)) for x, p in pairs(d, c))


dimensions = pytest.mark.parametrize("d", [2, 10, 1000])
curvatures = pytest.mark.parametrize("c", CURVATURES)


@dimensions
@curvatures
@pytest.mark.parametrize("name", ["distance", "log_map"])
def test_distance_and_logarithm_are_exact_up_to_the_rim(name, d, c):
    operation, truth = getattr(geometry, name), getattr(exact, name)
    assert worst(lambda x, p: operation(x, p, c=c), truth, d, c) <= 4 * EPS


@dimensions
@curvatures
def test_pairwise_distances_are_exact_up_to_the_rim(d, c):
    def between(x, p):
        # More points than a block of the kernel, so that points of different blocks are compared too.
        return geometry.pairwise_distance(np.stack([p, x]), np.repeat([p, x], [512, 1], axis=0), c=c)[0, -1]

    assert worst(between, exact.distance, d, c) <= 4 * EPS


@dimensions
@curvatures
def test_tangent_features_are_exact_up_to_the_rim(d, c):
    frame = worst(lambda x, p: tangent.frame_coordinates(x[None], p, c=c), exact.frame, d, c, row_error)
    z = worst(lambda x, p: tangent.z_features(x[None], p, c=c), exact.z, d, c, row_error)
    # A larger tolerance than for distances: the order of sums over 1,000 coordinates depends on the compiler.
    assert frame <= 5 * EPS
    assert z <= 5 * EPS


def row_error(computed, truth):
    return exact.relative_error(computed[0], truth)


@dimensions
@curvatures
def test_eta_is_exact_up_to_the_rim(d, c):
    assert worst(lambda x, p: tangent.eta(x[None], p, c=c)[0], exact.eta, d, c) <= 40 * EPS


@dimensions
@curvatures
def test_implicit_rows_are_exact_up_to_the_rim(d, c):
    error = worst(lambda x, p: tangent.implicit_rows(x[None], p, c=c)[:], exact.frame, d, c, row_error)
    assert error <= 4 * EPS


@dimensions
@curvatures
def test_gap_is_exact_up_to_the_rim(d, c):
    assert worst(lambda x, p: geometry.gap(x, c=c), lambda x, p, k: exact.gap(x, k), d, c) <= 2 * EPS
    factor = worst(lambda x, p: geometry.conformal_factor(x, c=c), lambda x, p, k: exact.conformal_factor(x, k), d, c)
    assert factor <= 2 * EPS


@dimensions
@curvatures
def test_mobius_operations_are_exact_up_to_the_rim(d, c):
    added = worst(lambda x, p: geometry.mobius_add(x, p, c=c), exact.mobius_add, d, c)
    subtracted = worst(
        lambda x, p: geometry.mobius_add(-p, x, c=c), lambda x, p, k: exact.mobius_add(exact.minus(p), x, k), d, c
    )
    assert added <= 4 * EPS
    assert subtracted <= 4 * EPS
    for r in (-2.0, 0.1, 1.0, 3.0) if d < 100 else (0.1,):
        scaled = worst(
            lambda x, p, r=r: geometry.mobius_scale(r, x, c=c),
            lambda x, p, k, r=r: exact.mobius_scale(mpf(r), x, k),
            d,
            c,
        )
        assert scaled <= 4 * EPS


@dimensions
@curvatures
def test_geodesics_are_exact_between_their_ends(d, c):
    for t in (0.25, 0.5, 0.9) if d < 100 else (0.25,):
        computed = [geometry.geodesic(x, p, t, c=c) for x, p in pairs(d, c)]
        truth = [exact.geodesic(exact.vector(x), exact.vector(p), mpf(t), mpf(c)) for x, p in pairs(d, c)]
        # Ends on opposite sides cancel, so the error is measured relative to the ends and not to the point.
        errors = [
            float(exact.norm(exact.add(exact.vector(a), exact.minus(b)))) * np.sqrt(c)
            for a, b in zip(computed, truth, strict=True)
        ]
        assert max(errors) <= 6 * EPS


@dimensions
@curvatures
def test_transport_is_exact_up_to_the_rim(d, c):
    v = np.random.default_rng(5).standard_normal(d)
    error = worst(
        lambda x, p: geometry.transport(v, x, p, c=c), lambda x, p, k: exact.transport(exact.vector(v), x, p, k), d, c
    )
    assert error <= 12 * EPS


@dimensions
@curvatures
def test_signed_distance_is_exact_up_to_the_rim(d, c):
    rng = np.random.default_rng(3)
    for x, p in pairs(d, c):
        w = rng.standard_normal(d)
        computed = geometry.signed_distance(x, w, p, c=c)
        X, W, P = exact.vector(x), exact.vector(w), exact.vector(p)
        truth = exact.signed_distance(X, W, P, mpf(c))
        # The relative error of ⟨z, w⟩ grows with the reciprocal of the cosine of the angle.
        cosine = abs(exact.dot(exact.z(X, P, mpf(c)), W)) / (exact.norm(exact.z(X, P, mpf(c))) * exact.norm(W))
        assert exact.relative_error(computed, truth) <= 4 * EPS * max(1, np.sqrt(d) / 4 / float(cosine))


@dimensions
@curvatures
def test_exponential_map_is_exact_for_its_input(d, c):
    """Near the rim, the last digit of the velocity moves the result, so an error of this size is allowed."""
    rng = np.random.default_rng(4)
    for _, p in pairs(d, c):
        for length in (1e-8, 1.0, 10.0) if d < 100 else (1.0,):
            v = at_gap(rng, d, 0, 1.0) * length * float(geometry.gap(p, c=c)) / np.sqrt(c)
            truth = exact.exp_map(exact.vector(v), exact.vector(p), mpf(c))
            turned = v + EPS * np.linalg.norm(v) * at_gap(rng, d, 0, 1.0)
            moved = exact.relative_error(truth_of(turned, p, c), truth)
            assert exact.relative_error(geometry.exp_map(v, p, c=c), truth) <= 4 * EPS + 4 * moved


ROUNDING = EPS / 2


def misplacement(point, truth, c):
    """Distance of a point to the true one in units of rounding; 0 too close to the rim for float64."""
    gap = float(exact.gap(truth, mpf(c)))
    moved = float(exact.distance(exact.vector(point), truth, mpf(c))) * np.sqrt(c) * gap / 2
    return moved / ROUNDING if gap > 16 * EPS else 0.0


@pytest.mark.parametrize("d", [2, 5])
@curvatures
@pytest.mark.parametrize("gap", [0.5, 1e-6, 1e-12, 1e-15])
def test_sums_and_exponentials_are_the_true_points_rounded_once(d, c, gap):
    # Scaling by √c may double a unit in the last place, and even twice the precision loses digits near the centre.
    rng, most = np.random.default_rng(7), 0.5 * np.sqrt(2 * d) + 0.1 + 40 * EPS**2 / gap / ROUNDING
    for _ in range(10):
        x, y, u = at_gap(rng, d, gap, c), at_gap(rng, d, rng.choice([0.5, gap]), c), at_gap(rng, d, 0, 1.0)
        added = exact.mobius_add(exact.vector(x), exact.vector(y), mpf(c))
        assert misplacement(geometry.mobius_add(x, y, c=c), added, c) <= most
        for direction in (u, -x / np.linalg.norm(x)):  # through the centre, where the float64 formula loses all digits
            v = direction * rng.uniform(0, 60) * float(geometry.gap(x, c=c)) / (2 * np.sqrt(c))
            truth = exact.exp_map(exact.vector(v), exact.vector(x), mpf(c))
            assert misplacement(geometry.exp_map(v, x, c=c), truth, c) <= most


def test_exponentials_of_velocities_of_any_size_stay_in_the_ball():
    p = np.array([0.3, -0.2])
    for size in (1e-320, 1e-200, 1e-20, 1e20, 1e200, 1e300):
        reached = geometry.exp_map(np.array([size, size / 3]), p)
        assert geometry.gap(reached) > 0
        assert size > 1 or np.array_equal(reached, p)
    assert np.array_equal(geometry.exp_map(np.zeros((3, 2)), p), np.tile(p, (3, 1)))
    assert geometry.exp_map(np.empty((0, 2)), p).shape == (0, 2)
    assert np.array_equal(geometry.mobius_add(-p, p), np.zeros(2))


@curvatures
@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_single_vector_gives_the_bits_of_a_row_among_many(d, c):
    rng = np.random.default_rng(3)
    X, Y = (np.array([at_gap(rng, d, gap, c) for gap in (0.9, 0.5, 1e-3, 1e-12)]) for _ in range(2))
    V = np.array([0.0, 1e-9, 1.0, 1e3])[:, None] * X
    for function, first in ((geometry.mobius_add, X), (geometry.exp_map, V)):
        alone = [function(a, b, c=c) for a, b in zip(first, Y, strict=True)]
        assert np.array_equal(alone, function(first, Y, c=c))


def truth_of(v, p, c):
    return [float(a) for a in exact.exp_map(exact.vector(v), exact.vector(p), mpf(c))]


@dimensions
@curvatures
def test_models_are_exact_where_they_can_hold_the_point(d, c):
    def hyperboloid(x, p, k):
        gap = exact.gap(x, k)
        return [(2 - gap) / gap, *exact.scale(2 * mpf(k) ** 0.5 / gap, x)]

    def klein(x, p, k):
        return exact.scale(2 / (2 - exact.gap(x, k)), x)

    assert worst(lambda x, p: geometry.ball_to_hyperboloid(x, c=c), hyperboloid, d, c) <= 4 * EPS
    assert worst(lambda x, p: geometry.ball_to_klein(x, c=c), klein, d, c) <= 4 * EPS


@curvatures
def test_close_points_keep_a_distance(c):
    for apart in (1e-300, 1e-200, 1e-15):
        assert geometry.distance([0.0, 0.0], [apart, 0.0], c=c) == pytest.approx(2 * apart, rel=4 * EPS, abs=0)


@dimensions
@curvatures
def test_nothing_is_nan_or_infinite_inside_the_ball(d, c):
    rng = np.random.default_rng(6)
    rim = geometry.project(np.array([at_gap(rng, d, 0, c) * 2 for _ in range(20)]), c=c)
    inner = np.array([at_gap(rng, d, g, c) for g in rng.uniform(0, 1, 20)])
    X, Y = np.concatenate([rim, inner, rim, inner]), np.concatenate([rim[::-1], inner[::-1], inner, rim])
    v = rng.standard_normal(X.shape)
    results = [
        geometry.distance(X, Y, c=c),
        geometry.mobius_add(X, Y, c=c),
        geometry.mobius_scale(1e6, X, c=c),
        geometry.log_map(X, Y, c=c),
        geometry.exp_map(v, X, c=c),
        geometry.exp_map(1e6 * v, X, c=c),
        geometry.transport(v, X, Y, c=c),
        geometry.geodesic(X, Y, 0.3, c=c),
        geometry.geodesic(X, Y, 40.0, c=c),
        geometry.midpoint(X, Y, c=c),
        geometry.signed_distance(X, v, Y, c=c),
        geometry.project_onto(X, v, Y, c=c),
        geometry.ball_to_hyperboloid(X, c=c),
        geometry.ball_to_klein(X, c=c),
        tangent.frame_coordinates(X, X[0], c=c),
        tangent.z_features(X, X[0], c=c),
        tangent.eta(X, X[0], c=c),
    ]
    assert all(np.isfinite(r).all() for r in results)


@pytest.mark.parametrize("c", CURVATURES)
def test_points_stay_inside_the_ball(c):
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        X = geometry.project(rng.standard_normal((50, 3)).astype(dtype) * 9, c=c)
        for points in (
            X,
            geometry.mobius_add(X, X[::-1], c=c),
            geometry.exp_map(X * 1e3, X, c=c),
            geometry.mobius_scale(50, X, c=c),
            geometry.geodesic(X, X[::-1], 0.5, c=c),
        ):
            assert points.dtype == dtype
            assert (geometry.gap(points.astype(float), c=c) > 0).all()


@curvatures
def test_float32_gives_the_rounded_float64_result(c):
    rng = np.random.default_rng(8)
    x, p, v = (np.array([at_gap(rng, 3, g, c) for g in (0.9, 0.5, 1e-3, 1e-6)], dtype=np.float32) for _ in range(3))
    for f in (geometry.distance, geometry.log_map, geometry.mobius_add, geometry.midpoint):
        assert f(x, p, c=c).dtype == np.float32
        rounded = f(x.astype(float), p.astype(float), c=c).astype(np.float32)
        # The only exception is a point that float32 rounds onto the rim: it is kept inside.
        due = geometry.project(rounded, c=c) if f in (geometry.mobius_add, geometry.midpoint) else rounded
        assert np.array_equal(f(x, p, c=c), due)
    for f in (tangent.frame_coordinates, tangent.z_features):
        rows = f(x, p[0], c=c)
        assert rows.dtype == np.float32
        assert np.array_equal(rows, f(x.astype(float), p[0].astype(float), c=c).astype(np.float32))
    assert geometry.exp_map(v, x, c=c).dtype == np.float32
