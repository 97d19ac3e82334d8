"""The closest points of two hulls are optimal and certified, and are one common point if the hulls meet."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from scipy.optimize import linprog, minimize, minimize_scalar

from hyplearn.geometry import (
    ball_to_hyperboloid,
    ball_to_klein,
    closest_points,
    conformal_factor,
    distance,
    geodesic,
    project_onto,
    quickhull,
    rotate,
    signed_distance,
    translate,
)
from hyplearn.geometry.closest import _heights
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.quadratic import _exchange, _solve_face, minimise
from support import exact, naive
from support.balls import CURVATURES, at_gap, cloud

DIMENSIONS = (1, 2, 3, 10, 100)


def two_clouds(rng, d, c=1.0, apart=0.8, largest=60):
    """Two clouds on either side of the origin, up to ``apart`` from it; they may overlap."""
    shift = np.zeros(d)
    shift[0] = rng.uniform(0, apart) / np.sqrt(c)
    sizes = rng.integers(1, largest, 2)
    A, B = (0.6 * cloud(rng, n, d, c, smallest_gap=0.05) for n in sizes)
    return translate(A, -shift, c=c), translate(B, shift, c=c)


def lorentz_normal(w, p, c):
    """Unit normal of H(w, p) in hyperboloid coordinates, by the derivative of the map from the ball in plain NumPy."""
    g, slope = 1 - c * p @ p, 2 * c * p @ w
    n = np.concatenate([[2 * slope / g**2], 2 * np.sqrt(c) * (w / g + slope * p / g**2)])
    return n / np.sqrt(n[1:] @ n[1:] - n[0] ** 2)


def lorentz(X, c):
    g = 1 - c * np.sum(X**2, axis=1, keepdims=True)
    return np.hstack([(2 - g) / g, 2 * np.sqrt(c) * X / g])


def minkowski(x, y):
    return x[..., 1:] @ y[1:] - x[..., 0] * y[0]


def check_certificate(pair, X_a, X_b, c):
    """Check that each hull lies in its half-space, and that the half-spaces have the stated distance."""
    n_a, n_b = lorentz_normal(*pair.half_space_a, c), lorentz_normal(*pair.half_space_b, c)
    for n, X in ((n_a, X_a), (n_b, X_b)):
        rows = lorentz(X, c)
        assert np.all(minkowski(rows, n) <= 1e-9 * rows[:, 0])
    assert np.arccosh(max(-minkowski(n_a, n_b), 1)) / np.sqrt(c) >= pair.lower_bound * (1 - 1e-9) - 1e-7


def check_points(pair, X_a, X_b, c):
    """Check that both points are the stated combinations of rows of their sets."""
    for point, X, support, weights in (
        (pair.a, X_a, pair.support_a, pair.weights_a),
        (pair.b, X_b, pair.support_b, pair.weights_b),
    ):
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1, rel=1e-12)
        mixed = weights @ lorentz(X[support], c)
        mixed /= np.sqrt(mixed[0] ** 2 - mixed[1:] @ mixed[1:])
        assert np.allclose(mixed[1:] / (1 + mixed[0]) / np.sqrt(c), point, atol=1e-9)
    assert pair.distance == pytest.approx(distance(pair.a, pair.b, c=c), rel=1e-9, abs=1e-12)


@settings(max_examples=120)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DIMENSIONS), st.sampled_from(CURVATURES))
def test_the_certificate_proves_the_distance_or_shows_a_common_point(seed, d, c):
    X_a, X_b = two_clouds(np.random.default_rng(seed), d, c)
    pair = closest_points(X_a, X_b, c=c)
    check_points(pair, X_a, X_b, c)
    if pair.status == "intersect":
        assert pair.distance < 1e-9
        assert (pair.half_space_a, pair.half_space_b, pair.lower_bound) == (None, None, 0)
    else:
        assert pair.status == "optimal"
        assert 0 <= pair.gap <= 1e-9 * max(1, pair.distance)
        check_certificate(pair, X_a, X_b, c)


def klein_hulls_meet(X_a, X_b):
    """Whether two sets of Klein points have a common convex combination, by linear programming."""
    K_a, K_b = ball_to_klein(X_a), ball_to_klein(X_b)
    n, m = len(K_a), len(K_b)
    equations = np.block([[K_a.T, -K_b.T], [np.ones(n), np.zeros(m)], [np.zeros(n), np.ones(m)]])
    due = np.append(np.zeros(K_a.shape[1]), [1, 1])
    return linprog(np.zeros(n + m), A_eq=equations, b_eq=due).status == 0


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 10]))
def test_hulls_intersect_exactly_where_linear_programming_says_so(seed, d):
    X_a, X_b = two_clouds(np.random.default_rng(seed), d, apart=0.5, largest=20)
    assert (closest_points(X_a, X_b).status == "intersect") == klein_hulls_meet(X_a, X_b)


def distance_to_segment(x, P, Q):
    """Distance to the geodesic segment from P to Q: to its line if the foot is on the segment, otherwise to an end."""
    z = naive.log_map(Q, P, 1.0)
    foot = project_onto(x, [-z[1], z[0]], P)
    inside = distance(P, foot) + distance(foot, Q) <= distance(P, Q) + 1e-9
    return distance(x, foot) if inside else min(distance(x, P), distance(x, Q))


def brute_force(X_a, X_b):
    """Smallest distance over all pairs of edges; along an edge, the distance to another edge is a convex function."""
    edges_a, edges_b = (list(pairwise(X[np.append(h := quickhull(X), h[0])])) for X in (X_a, X_b))

    def between(edge, other):
        along = minimize_scalar(
            lambda t: distance_to_segment(geodesic(*edge, t), *other), bounds=(0, 1), options={"xatol": 1e-10}
        )
        ends = [distance_to_segment(end, *other) for end in edge]
        return min(along.fun, *ends)

    return min(between(edge, other) for edge in edges_a for other in edges_b)


@pytest.mark.parametrize("seed", range(6))
def test_closest_points_match_the_closest_pair_of_edges(seed):
    rng = np.random.default_rng(seed)
    X_a, X_b = translate(0.6 * cloud(rng, 6, 2, 1.0), [-0.5, 0]), translate(0.6 * cloud(rng, 6, 2, 1.0), [0.5, 0])
    pair = closest_points(X_a, X_b)
    assert pair.status == "optimal"
    assert pair.distance == pytest.approx(brute_force(X_a, X_b), abs=1e-7)


@pytest.mark.parametrize("d", [3, 6])
def test_a_general_solver_comes_no_closer(d):
    rng = np.random.default_rng(d)
    shift = np.eye(d)[0] * 0.5
    X_a, X_b = translate(0.6 * cloud(rng, 8, d, 1.0), -shift), translate(0.6 * cloud(rng, 8, d, 1.0), shift)
    H_a, H_b = ball_to_hyperboloid(X_a), ball_to_hyperboloid(X_b)

    def cosh(weights):
        a, b = weights[:8] @ H_a, weights[8:] @ H_b
        return -minkowski(a, b) / np.sqrt(minkowski(a, a) * minkowski(b, b))

    sums = [{"type": "eq", "fun": lambda w, part=part: w[part].sum() - 1} for part in (slice(8), slice(8, 16))]
    solved = minimize(cosh, np.full(16, 1 / 8), method="SLSQP", bounds=[(0, 1)] * 16, constraints=sums, tol=1e-14)
    assert closest_points(X_a, X_b).distance == pytest.approx(np.arccosh(solved.fun), abs=1e-6)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("gap", [0.5, 1e-4, 1e-8, 1e-10])
def test_distance_to_a_segment_matches_mpmath_up_to_the_rim(gap, c):
    rng = np.random.default_rng(1)
    m = at_gap(rng, 2, gap, c)
    X = translate(np.array([[0.1, 0.6], [-0.2, -0.7], [0.7, 0.1]]) / np.sqrt(c), m, c=c)
    P, Q, x = (exact.vector(row) for row in X)
    z = exact.z(Q, P, mpf(c))
    truth = abs(exact.signed_distance(x, [-z[1], z[0]], P, mpf(c)))
    pair = closest_points(X[:2], X[2:], c=c)
    assert pair.distance == pytest.approx(float(truth), rel=1e-12)
    assert len(pair.support_a) == 2


@pytest.mark.parametrize("gap", [1e-6, 1e-10, 1e-13])
def test_vertices_at_opposite_ends_of_the_ball_keep_all_digits(gap):
    rng = np.random.default_rng(0)
    x = at_gap(rng, 4, gap, 1.0)
    pair = closest_points([x, translate(x, 0.5 * x)], [-x, translate(-x, -0.5 * x)])
    truth = exact.distance(exact.vector(x), exact.vector(-x), mpf(1))
    assert pair.distance == pytest.approx(float(truth), rel=1e-14)
    assert (pair.status, pair.support_a.tolist(), pair.support_b.tolist()) == ("optimal", [0], [0])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 5]), st.sampled_from([1e-6, 1e-10, 1e-14]))
def test_bounds_hold_for_points_of_every_distance_from_the_rim(seed, d, smallest_gap):
    rng = np.random.default_rng(seed)
    X_a, X_b = (
        np.array([at_gap(rng, d, g, 1.0) for g in 10 ** rng.uniform(np.log10(smallest_gap), 0, rng.integers(1, 12))])
        for _ in range(2)
    )
    pair = closest_points(X_a, X_b)
    spacing = 16 * np.finfo(float).eps * (conformal_factor(pair.a) + conformal_factor(pair.b))
    assert 0 <= pair.gap <= 1e-8 * max(1, pair.distance) + spacing
    for X, half_space in ((X_a, pair.half_space_a), (X_b, pair.half_space_b)):
        if half_space is not None:
            # Compared in Klein coordinates: the last digit of a far row moves it by more than the spacing.
            margins = np.sinh(signed_distance(X, *half_space)) / np.cosh(distance(X, half_space[1]))
            assert margins.max() <= 1e-12 + spacing


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("d", [1, 2, 50])
def test_hulls_of_single_points_are_as_far_apart_as_the_points(d, c):
    rng = np.random.default_rng(0)
    x, y = at_gap(rng, d, 0.3, c), at_gap(rng, d, 1e-9, c)
    pair = closest_points(x[None], y[None], c=c)
    assert pair.distance == pytest.approx(distance(x, y, c=c), rel=1e-14)
    assert pair.lower_bound == pytest.approx(pair.distance, rel=1e-9)
    assert closest_points([x, x, x], [y, y], c=c).distance == pair.distance


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5]))
def test_points_move_with_the_sets_and_change_places_with_them(seed, d):
    rng = np.random.default_rng(seed)
    shift = np.eye(d)[0] * 0.6
    X_a, X_b = translate(0.5 * cloud(rng, 20, d, 1.0), -shift), translate(0.5 * cloud(rng, 30, d, 1.0), shift)
    pair = closest_points(X_a, X_b)
    swapped = closest_points(X_b, X_a)
    assert swapped.distance == pytest.approx(pair.distance, abs=2e-9)
    assert distance(swapped.a, pair.b) < 1e-4
    a, turn = at_gap(rng, d, 10 ** rng.uniform(-4, 0), 1.0), np.linalg.qr(rng.standard_normal((d, d)))[0]
    moved = closest_points(rotate(translate(X_a, a), turn), rotate(translate(X_b, a), turn))
    assert moved.distance == pytest.approx(pair.distance, abs=1e-8)
    assert distance(moved.a, rotate(translate(pair.a, a), turn)) < 1e-4
    assert distance(moved.b, rotate(translate(pair.b, a), turn)) < 1e-4


def test_parallel_edges_have_their_closest_points_in_the_middle():
    """All pairs of opposite points are equally close in Klein coordinates, but only one is closest in the disk."""
    pair = closest_points([[0.1, 0.5], [0.1, -0.5]], [[-0.1, 0.5], [-0.1, -0.5]])
    assert pair.status == "optimal"
    assert abs(pair.a[1]) < 1e-7
    assert np.allclose(pair.weights_a, 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("X_a", "X_b", "common"),
    [
        ([[0, 0], [0.5, 0.5], [0.5, -0.5]], [[0, 0], [-0.5, 0.5], [-0.5, -0.3]], [0, 0]),
        ([[0, 0.5], [0, -0.5], [0.5, 0]], [[0, 0.1], [-0.5, 0.5], [-0.5, -0.3]], [0, 0.1]),
        ([[0.5, 0.5], [-0.5, -0.5]], [[0.5, -0.5], [-0.5, 0.5]], [0, 0]),
        ([[0.3, 0.2], [0.1, 0.1]], [[0.3, 0.2]], [0.3, 0.2]),
    ],
)
def test_hulls_that_touch_in_one_point_have_it_as_their_witness(X_a, X_b, common):
    pair = closest_points(X_a, X_b)
    assert pair.status == "intersect"
    assert np.allclose(pair.a, common, atol=1e-12)
    assert np.allclose(pair.b, common, atol=1e-12)


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6, 1e-11])
def test_a_narrow_slit_between_hulls_is_proven(width):
    X_a, X_b = [[width, 0.5], [width, -0.5], [0.5, 0]], [[-width, 0.5], [-width, -0.4], [-0.5, 0.1]]
    pair = closest_points(X_a, X_b)
    assert pair.status == "optimal"
    assert 0 < pair.lower_bound <= pair.distance < 6 * width
    # The directions of the hyperplanes need more digits than two points this close can determine.
    assert signed_distance(X_a, *pair.half_space_a).max() <= 1e-15
    assert signed_distance(X_b, *pair.half_space_b).max() <= 1e-15


def test_bounds_hold_when_passes_run_out():
    X_a, X_b = (
        translate(0.5 * cloud(np.random.default_rng(k), 500, 5, 1.0), s * np.eye(5)[0] / 2)
        for k, s in ((0, -1), (1, 1))
    )
    best = closest_points(X_a, X_b)
    first = closest_points(X_a, X_b, max_iter=1)
    assert (first.status, first.n_iter) == ("max_iter", 1)
    assert first.lower_bound <= best.distance <= first.distance
    assert best.n_iter > 1


def test_float32_points_are_used_without_rounding():
    rng = np.random.default_rng(0)
    X_a, X_b = (X.astype(np.float32) for X in two_clouds(rng, 3, apart=0.8))
    single, double = closest_points(X_a, X_b), closest_points(X_a.astype(float), X_b.astype(float))
    assert single.distance == double.distance
    assert np.array_equal(single.support_a, double.support_a)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("d", [2, 7])
def test_heights_are_products_with_klein_coordinates_about_the_point(d, c):
    rng = np.random.default_rng(0)
    X, p, u = cloud(rng, 30, d, c), at_gap(rng, d, 0.4, c), rng.standard_normal(d)
    out = np.empty(30)
    _heights(X, p, u, row_gaps(X, c), row_gaps(p[None], c)[0], c, out)
    Y = naive.mobius_add(-p, X, c)
    klein = 2 * np.sqrt(c) * Y / (1 + c * np.sum(Y**2, axis=1, keepdims=True))
    assert np.allclose(out, klein @ u, rtol=1e-12, atol=1e-13)


def exchange(H, w, n_a):
    """Plain NumPy version of the kernel, which repeats the best exchange."""
    w = w.copy()
    for _ in range(2000):
        gradient, best = H @ w, (0, None, None)
        for part in (np.arange(n_a), np.arange(n_a, len(w))):
            used = part[w[part] > 0]
            low, high = part[np.argmin(gradient[part])], used[np.argmax(gradient[used])]
            best = max(best, (gradient[high] - gradient[low], low, high), key=lambda entry: entry[0])
        gain, low, high = best
        if gain <= 1e-12:
            return w
        step = min(w[high], gain / (H[low, low] + H[high, high] - 2 * H[low, high]))
        w[low], w[high] = w[low] + step, w[high] - step
    return w


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_weights_minimise_the_quadratic_function(seed):
    rng = np.random.default_rng(seed)
    n_a, n_b = rng.integers(1, 12, 2)
    F = rng.standard_normal((n_a + n_b, 6))
    F[n_a:, 0] += 2
    H, start = F @ F.T, np.zeros(n_a + n_b)
    start[[0, n_a]] = 1
    expected = exchange(H, start, n_a)
    swapped, solved = start.copy(), minimise(H, start, n_a, 1e-12)
    _exchange(H, swapped, n_a, 1e-12, 2000)
    for w in (swapped, solved):
        assert w @ H @ w == pytest.approx(expected @ H @ expected, abs=1e-7)
        assert w.min() >= 0
        assert (w[:n_a].sum(), w[n_a:].sum()) == pytest.approx((1, 1), abs=1e-12)
    gradient = H @ solved
    assert np.all(gradient[:n_a] >= gradient[:n_a][solved[:n_a] > 0].max() - 1e-9)


def test_the_minimum_on_a_face_drops_rows_that_would_get_a_negative_weight():
    F = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0], [0.0, 0.0]])
    w = np.array([0.4, 0.4, 0.2, 1.0])
    _solve_face(F @ F.T, w, 3)
    assert np.allclose(w, [0.5, 0.5, 0, 1])


def test_bad_points_are_rejected():
    good = [[0.1, 0.2]]
    with pytest.raises(ValueError, match="outside the open ball"):
        closest_points(good, [[1.0, 0.3]])
    with pytest.raises(ValueError, match="NaN or infinite"):
        closest_points([[np.nan, 0.1]], good)
    with pytest.raises(ValueError, match=r"X_b must contain at least one point; got shape \(0, 2\)"):
        closest_points(good, np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"same dimension; got shapes \(1, 2\) and \(1, 3\)"):
        closest_points(good, [[0.1, 0.2, 0.3]])
    with pytest.raises(ValueError, match="c must be a positive finite number"):
        closest_points(good, good, c=0)
    with pytest.raises(ValueError, match="tol must be a positive number; got -1"):
        closest_points(good, good, tol=-1)
    with pytest.raises(ValueError, match="max_iter must be at least 1; got 0"):
        closest_points(good, good, max_iter=0)


def test_signed_distance_finds_every_row_in_its_half_space():
    rng = np.random.default_rng(3)
    X_a, X_b = (
        translate(0.6 * cloud(rng, 40, 4, 1.0), -np.eye(4)[0] / 2),
        translate(0.6 * cloud(rng, 40, 4, 1.0), np.eye(4)[0] / 2),
    )
    pair = closest_points(X_a, X_b)
    assert signed_distance(X_a, *pair.half_space_a).max() <= 1e-12
    assert signed_distance(X_b, *pair.half_space_b).max() <= 1e-12
    assert distance(pair.half_space_a[1], pair.half_space_b[1]) == pytest.approx(pair.lower_bound, rel=1e-9)
