"""Boundaries and their tangent hyperplanes, compared with zeros found by bisection on rays from the centre."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hyplearn.decision import Decision
from hyplearn.decision.boundary import Equidistant, Sphere, boundary_of, touching_hyperplane
from hyplearn.geometry import distance, gap, side, signed_distance
from hyplearn.tangent import frame_coordinates, from_frame

RADII = np.linspace(0, 12, 601)[1:]


def log_odds(radii, slopes, u0, b):
    """Values of f on rays from the centre, for given slopes ⟨u, e⟩."""
    return u0 * np.cosh(radii) + slopes * np.sinh(radii) + b


def value(x, u, b, centre, c):
    """Values of f at points, by its definition."""
    frame = np.sqrt(c) * frame_coordinates(x, centre, c=c)
    rho = np.linalg.norm(frame, axis=-1)
    return u[0] * np.cosh(rho) + np.sinh(rho) / np.where(rho > 0, rho, 1) * (frame @ u[1:]) + b


def zeros(u, b, ways):
    """Frame coordinates of the zeros of f on rays, found by bisection between two radii with a change of sign."""
    slopes = ways @ u[1:]
    values = np.sign(log_odds(RADII, slopes[:, None], u[0], b))
    ray, place = np.nonzero(values[:, 1:] != values[:, :-1])
    low, high = RADII[place], RADII[place + 1]
    for _ in range(50):
        middle = (low + high) / 2
        beyond = np.sign(log_odds(middle, slopes[ray], u[0], b)) != values[ray, place]
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return low[:, None] * ways[ray]


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([1.0, 0.3, 5.0]))
def test_zeros_are_no_nearer_than_p_and_all_on_one_side(seed, d, c):
    """A zero at distance ρ lies b (cosh ρ - cosh t) times a positive number above that at distance t."""
    rng = np.random.default_rng(seed)
    *u, b = rng.standard_normal(d + 2) * 10 ** rng.uniform(-2, 2, d + 2)
    b *= 10 ** rng.uniform(0, 2)
    u = np.array(u)
    centre = from_frame(rng.standard_normal(d) / np.sqrt(c), np.zeros(d), c=c)
    ways = rng.standard_normal((200, d))
    ways = np.vstack([ways / np.linalg.norm(ways, axis=1, keepdims=True), u[1:] / np.linalg.norm(u[1:])])
    ways = np.vstack([ways, -ways[-1:]])
    found = from_frame(zeros(u, b, ways) / np.sqrt(c), centre, c=c)
    touching = touching_hyperplane(u, b, centre, c=c)
    if touching is None:
        assert len(found) == 0
        return
    w, p = touching
    radius = np.sqrt(c) * distance(centre, p, c=c)
    assume(RADII[0] < radius < RADII[-2])
    scale = np.abs(u).max() * np.exp(radius) + abs(b)
    assert value(p[None], u, b, centre, c)[0] == pytest.approx(0, abs=1e-9 * scale)
    away = np.sqrt(c) * distance(found, centre, c=c)
    assert away.min() == pytest.approx(radius, rel=1e-6)
    heights = np.sign(b) * np.sinh(np.sqrt(c) * signed_distance(found, w, p, c=c))
    assert np.all(heights >= -1e-6 * np.exp(away))


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_normal_points_to_where_the_log_odds_grow(seed, d):
    rng = np.random.default_rng(seed)
    u, b, centre = rng.standard_normal(d + 1), rng.standard_normal(), from_frame(rng.standard_normal(d), np.zeros(d))
    touching = touching_hyperplane(u, b, centre, c=1.0)
    assume(touching is not None)
    w, p = touching
    assume(distance(centre, p) < 10)
    ahead, behind = (from_frame(h * w / np.linalg.norm(w), p) for h in (1e-6, -1e-6))
    values = value(np.array([ahead, behind]), u, b, centre, 1.0)
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(np.linalg.norm(w), rel=1e-3, abs=1e-6)


@given(st.integers(0, 10**6))
def test_a_small_intercept_moves_the_hyperplane_a_little(seed):
    """The closed form without intercept is the limit of the search with one."""
    u = np.random.default_rng(seed).standard_normal(3)
    assume(abs(u[0]) < 0.95 * np.linalg.norm(u[1:]))
    (w, p), (v, q) = (touching_hyperplane(u, b, np.array([0.3, 0.2]), c=1.0) for b in (0.0, 1e-9))
    assert np.allclose(w, v, rtol=0, atol=1e-7)
    assert np.allclose(p, q, rtol=0, atol=1e-7)


def test_the_nearer_of_two_zeros_is_taken():
    """The cases are: the first zero on each side of the centre, two zeros on one side, and two zeros far out."""
    origin = np.zeros(1)
    for u, b in (([10.0, 1.0], -12.0), ([10.0, 7.0], -7.5), ([1.0, 0.9985], -0.06)):
        _, p = touching_hyperplane(np.array(u), b, origin, c=1.0)
        roots = 2 * np.arctanh(np.abs(from_frame(zeros(np.array(u), b, np.array([[1.0], [-1.0]])), origin)))
        assert len(roots) == 2
        assert 2 * np.arctanh(abs(p[0])) == pytest.approx(roots.min(), rel=1e-9)


def test_a_sphere_around_the_centre_is_touched_from_outside():
    w, p = touching_hyperplane(np.array([-1.0, 0.0, 0.0]), 2.0, np.array([0.2, 0.1]), c=1.0)
    rho = distance(p, [0.2, 0.1])
    assert np.cosh(rho) == pytest.approx(2)
    assert side([0.2, 0.1], w, p) == 1


@pytest.mark.parametrize("direction", [[0.0, 1.0], [1.0, 0.0]])
def test_a_boundary_through_the_centre_touches_there(direction):
    w, p = touching_hyperplane(np.array([3.0, *direction]), -3.0, np.array([0.2, 0.1]), c=1.0)
    assert np.allclose(p, [0.2, 0.1])
    assert np.allclose(w, direction)


@pytest.mark.parametrize(
    ("u", "b"),
    [
        ([0.0, 0.0, 0.0], 0.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([1.0, 0.0, 0.0], 0.0),
        ([1.0, 0.0, 0.0], 1.0),
        ([1.0, 0.0, 0.0], -1.0),
        ([1.0, 0.6, 0.8], 0.0),
        ([1.0, 0.6, 0.8], 0.1),
        ([-2.0, 1.0, 0.0], -1.0),
        ([2.0, 1.0, 0.0], -1.5),
        ([0.0, 1e-32, 0.0], 1.0),
        ([-5e-33, 5e-33, 0.0], 1.0),
    ],
)
def test_without_a_zero_there_is_no_hyperplane(u, b):
    """The last two cases have a zero only beyond all points that float64 can represent."""
    assert touching_hyperplane(np.array(u), b, np.zeros(2), c=1.0) is None


def test_zeros_beyond_the_range_of_floats_do_not_exist():
    """A zero at distance 36 from the centre is representable towards the middle of the ball, but not away from it."""
    centre, b = from_frame([0.0, 10.0], np.zeros(2)), float(np.sinh(36.0))
    w, p = touching_hyperplane(np.array([0.0, 0.0, 1.0]), b, centre, c=1.0)
    assert distance(centre, p) == pytest.approx(36, abs=0.1)
    assert side(centre, w, p) == 1
    assert touching_hyperplane(np.array([0.0, 0.0, -1.0]), b, centre, c=1.0) is None


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([1.0, 0.3, 5.0]))
def test_distances_vanish_on_the_zeros_and_have_the_sign_of_f(seed, d, c):
    """Spheres, equidistants and hyperplanes: the three cases of the sign of ‖u‖² - u₀², and b = 0."""
    rng = np.random.default_rng(seed)
    u, b = rng.standard_normal(d + 1), rng.standard_normal() * rng.integers(0, 2) * 3
    centre = from_frame(rng.standard_normal(d) / np.sqrt(c), np.zeros(d), c=c)
    found, X = boundary_of(u, b, centre, c=c), from_frame(rng.standard_normal((40, d)) / np.sqrt(c), np.zeros(d), c=c)
    signs = np.sign(value(X, u, b, centre, c))
    if found is None:
        assert np.all(signs == signs[0])
        return
    space_like = np.linalg.norm(u[1:]) > abs(u[0])
    assert found.kind == (("equidistant" if b else "hyperplane") if space_like else "sphere")
    assert np.array_equal(np.sign(found.distances(X, gap(X, c=c), c)), signs)
    ways = rng.standard_normal((50, d))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    on = from_frame(zeros(u, b, ways) / np.sqrt(c), centre, c=c)
    away = np.exp(np.sqrt(c) * distance(on, centre, c=c))
    assert np.all(np.abs(found.distances(on, gap(on, c=c), c)) <= 1e-8 * away)


@pytest.mark.parametrize("b", [0.0, 1.3, -2.5])
@pytest.mark.parametrize("u0", [0.4, -3.0, 3.0])
def test_distances_are_the_shortest_ways_to_the_zeros(u0, b):
    u, centre = np.array([u0, 1.0, -0.5]), np.array([0.2, -0.1])
    found = boundary_of(u, b, centre, c=1.0)
    turns = np.linspace(0, 2 * np.pi, 4001)
    on = from_frame(zeros(u, b, np.column_stack([np.cos(turns), np.sin(turns)])), centre)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    if found is None:
        assert not len(on)
        return
    shortest = np.array([distance(x, on).min() for x in X])
    assert np.allclose(np.abs(found.distances(X, gap(X), 1.0)), shortest, atol=2e-3)


def test_a_horosphere_has_the_distances_of_its_busemann_function():
    """f - b = e^B with B = log(‖x - ω‖² / (1 - ‖x‖²)) for the end ω of the axis; the signed distance is B - log(-b)."""
    X, omega = np.random.default_rng(1).uniform(-0.6, 0.6, (30, 2)), np.array([0.6, 0.8])
    found = boundary_of(np.array([1.0, *-omega]), -2.0, np.zeros(2), c=1.0)
    assert isinstance(found, Equidistant)
    assert found.kind == "horosphere"
    assert found.hyperplane is None
    busemann = np.log(np.sum((X - omega) ** 2, axis=1) / gap(X))
    assert np.allclose(found.distances(X, gap(X), 1.0), busemann - np.log(2), atol=1e-6)
    assert boundary_of(np.array([1.0, *-omega]), 2.0, np.zeros(2), c=1.0) is None


def test_a_sphere_has_its_centre_and_radius():
    found = boundary_of(np.array([-1.0, 0.0, 0.0]), 2.0, np.array([0.2, 0.1]), c=1.0)
    assert isinstance(found, Sphere)
    assert found.hyperplane is None
    assert np.allclose(found.p, [0.2, 0.1])
    assert np.cosh(found.radius) == pytest.approx(2)
    assert found.distances(np.array([[0.2, 0.1]]), gap(np.array([[0.2, 0.1]])), 1.0)[0] == pytest.approx(found.radius)


def test_boundaries_of_a_decision_are_computed_once():
    decision = Decision.of_hyperplanes(np.array([0, 1]), 1.0, np.array([[1.0, 2.0]]), np.array([[0.1, 0.2]]))
    assert decision.boundaries is decision.boundaries


@pytest.mark.parametrize("b", [0.0, 0.4, -3.0])
def test_margins_are_the_least_distances_of_each_side(b):
    """The boundaries are equidistants, hyperplanes and, with a large b, a sphere and an empty set."""
    rng = np.random.default_rng(1)
    X = from_frame(rng.standard_normal((60, 2)), np.array([0.1, 0.2]), c=2.0)
    U = np.array([[0.3, 1.0, 0.2], [-0.1, 0.4, 0.9], [2.0, 0.5, 0.1], [0.0, 1.0, -1.0]])
    intercepts = np.array([b, -b, b, 0.0])
    decision = Decision(np.arange(4), 2.0, "sphere-arsinh", U, np.tile([0.1, 0.0], (4, 1)), intercepts)
    own = rng.integers(-1, 2, (4, 60))
    distances = decision.distances(X, gap(X, c=2.0)).T
    assert {getattr(found, "kind", None) for found in decision.boundaries} >= {"hyperplane"}
    with np.errstate(invalid="ignore"):
        due = np.min(np.where(own == 0, np.inf, own * distances), axis=1)
    assert np.allclose(decision.margins(X, gap(X, c=2.0), own), due, rtol=1e-12)
    assert np.all(decision.margins(X, gap(X, c=2.0), np.zeros_like(own)) == np.inf)
