"""Convex hulls in the disk, compared with exact rational arithmetic, and in a few more dimensions."""

from fractions import Fraction
from functools import cmp_to_key

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import hyplearn.geometry
from hyplearn.geometry import (
    ball_to_klein,
    disk_hull,
    distance,
    geodesic,
    midpoint,
    pairwise_distance,
    rotate,
    translate,
)
from hyplearn.geometry.hull import (
    FEWEST_TO_DISCARD,
    central_row,
    closest_vertices,
    graham_scan,
    hull_midpoint,
    hull_vertices,
    klein_about,
    quickhull,
)
from hyplearn.geometry.kernels import row_gaps
from support.balls import CURVATURES, at_gap, cloud

both = pytest.mark.parametrize("hull", [graham_scan, quickhull])
many = settings(max_examples=800)


def z(A, x, c):
    """The scaled tangent vector of x at A in rational numbers, up to a positive factor."""
    s = [b - a for a, b in zip(A, x, strict=True)]
    gap, bend = 1 - c * sum(a * a for a in A), c * sum(a * a for a in s)
    return [gap * b - bend * a for a, b in zip(A, s, strict=True)]


def exact_turn(A, B, C, c):
    (z0, z1), (y0, y1) = z(A, B, c), z(A, C, c)
    return z0 * y1 - z1 * y0


def exact_hull(X, c):
    """Exact version of both algorithms: Andrew's monotone chains in Klein coordinates, without rounding."""
    c, X = Fraction(c), [[Fraction(float(a)) for a in x] for x in X]
    square = [sum(a * a for a in x) for x in X]
    klein = [tuple(a / (1 + c * r) for a in x) for x, r in zip(X, square, strict=True)]
    rows = sorted(set(klein), key=cmp_to_key(lambda k, q: (k > q) - (k < q)))
    rows = [klein.index(k) for k in rows]

    def chain(rows):
        kept = []
        for row in rows:
            while len(kept) > 1 and exact_turn(X[kept[-2]], X[kept[-1]], X[row], c) <= 0:
                kept.pop()
            kept.append(row)
        return kept[:-1]

    vertices = chain(rows) + chain(rows[::-1]) if len(rows) > 1 else rows
    start = min(range(len(vertices)), key=lambda k: (-square[vertices[k]], vertices[k]))
    return vertices[start:] + vertices[:start]


def scattered(rng, n):
    return cloud(rng, n, 2, 1.0, smallest_gap=1e-3)


def at_the_rim(rng, n):
    return np.array([at_gap(rng, 2, g, 1.0) for g in 10 ** rng.uniform(-14, 0, n)])


def in_a_corner(rng, n):
    """Points far from the origin on one side, for which the paper's lowest point need not be a vertex."""
    return translate(0.3 * scattered(rng, n), at_gap(rng, 2, 10 ** rng.uniform(-12, -1), 1.0))


def on_a_lattice(rng, n):
    return rng.integers(-5, 6, (n, 2)) / 8


def on_a_diameter(rng, n):
    return np.outer(rng.integers(-9, 10, n), [3, 1]) / 32


def along_a_geodesic(rng, n):
    """Points on one geodesic up to rounding, so that the last digits decide the orientation of triples."""
    return geodesic(*scattered(rng, 2), rng.uniform(0, 1, n))


def on_a_circle(rng, n):
    """Points at equal distances from the origin up to rounding, and the origin itself."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.vstack([[0, 0], 0.7 * np.column_stack([np.cos(angle), np.sin(angle)])])


def repeated(rng, n):
    return rng.choice(scattered(rng, 3), n)


def within_rounding(rng, n):
    """Points a few units in the last place from one another, or from a line through them."""
    return np.array([0.3, 0.6]) * (1 + np.finfo(float).eps * rng.integers(-3, 4, (n, 2)))


KINDS = [
    scattered,
    at_the_rim,
    in_a_corner,
    on_a_lattice,
    on_a_diameter,
    along_a_geodesic,
    on_a_circle,
    repeated,
    within_rounding,
]


@st.composite
def point_sets(draw, kinds=KINDS, largest=24):
    """Strategy for points of the disk and a curvature, with all kinds of difficult inputs for hulls."""
    rng, c = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.sampled_from(CURVATURES))
    X = draw(st.sampled_from(kinds))(rng, draw(st.integers(1, largest))) / np.sqrt(c)
    return X[row_gaps(X, c) > 0], c


@many
@given(point_sets())
def test_both_algorithms_find_the_vertices_of_exact_arithmetic(given_set):
    X, c = given_set
    if len(X):
        expected = exact_hull(X, c)
        assert graham_scan(X, c=c).tolist() == expected
        assert quickhull(X, c=c).tolist() == expected


@settings(max_examples=200)
@given(point_sets())
def test_discarding_inner_rows_loses_no_vertex(given_set):
    X, c = given_set
    if len(X):
        copies = np.tile(X, (-(-FEWEST_TO_DISCARD // len(X)), 1))
        assert graham_scan(copies, c=c).tolist() == exact_hull(X, c)
        assert quickhull(copies, c=c).tolist() == exact_hull(X, c)


@many
@given(st.integers(0, 2**32 - 1), st.sampled_from(CURVATURES), st.booleans())
def test_hull_is_the_euclidean_hull_of_klein_coordinates(seed, c, corner):
    rng = np.random.default_rng(seed)
    X = cloud(rng, rng.integers(3, 200), 2, 1.0, smallest_gap=0.05)
    X = (translate(0.4 * X, [0.5, 0.6]) if corner else X) / np.sqrt(c)
    vertices = ConvexHull(ball_to_klein(X, c=c)).vertices
    for computed in (graham_scan(X, c=c), quickhull(X, c=c)):
        start = np.flatnonzero(vertices == computed[0])[0]
        assert np.array_equal(np.roll(vertices, -start), computed)


def cycle(rows):
    return np.roll(rows, -np.argmin(rows)).tolist()


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(3, 150))
def test_hulls_move_with_the_points(seed, n):
    rng = np.random.default_rng(seed)
    X, a = scattered(rng, n), at_gap(rng, 2, 10 ** rng.uniform(-3, 0), 1.0)
    angle = rng.uniform(0, 2 * np.pi)
    turned = rotate(X, [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for hull in (graham_scan, quickhull):
        assert cycle(hull(translate(X, a))) == cycle(hull(X)) == cycle(hull(turned))


@both
def test_the_lowest_point_need_not_be_a_vertex(hull):
    """Errata: the paper's scan starts from the lowest point, which is not a vertex here."""
    X = np.array([[-0.6, 0.5], [0.6, 0.5], [0.0, 0.45], [0.0, 0.7]])
    assert cycle(hull(X)) == [0, 1, 3]


@both
def test_few_points_and_degenerate_sets_have_hulls(hull):
    A, B, C = [0.5, 0.0], [0.0, 0.4], [-0.3, -0.3]
    assert hull([A]).tolist() == [0]
    assert hull([B, A]).tolist() == [1, 0]
    assert hull([A, B, C]).tolist() == [0, 1, 2]
    assert hull([A, C, B]).tolist() == [0, 2, 1]
    assert hull([A, A, A]).tolist() == [0]
    assert hull(np.tile(A, (100, 1))).tolist() == [0]
    assert hull([[0.0, 0.0], [0.0, 0.0]]).tolist() == [0]
    assert hull([[0.1, 0.1], [0.5, 0.5], [-0.25, -0.25], [0.3, 0.3]]).tolist() == [1, 2]
    assert hull([B, A, B, C, A]).tolist() == [1, 0, 3]


@both
def test_a_thousand_points_on_one_geodesic_leave_its_ends(hull):
    X = np.outer(np.random.default_rng(0).permutation(1001) - 400, [1, 1]) / 1024
    assert set(X[hull(X), 0]) == {X[:, 0].max(), X[:, 0].min()}


@both
def test_every_point_of_a_circle_at_the_rim_is_a_vertex(hull):
    """At a gap of 1e-12, Klein coordinates round all points onto the rim, and Qhull finds fewer vertices."""
    angle = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    X = np.sqrt(1 - 1e-12) * np.column_stack([np.cos(angle), np.sin(angle)])
    assert len(hull(X)) == 3000


@both
def test_points_that_float32_holds_give_the_same_hull(hull):
    X = scattered(np.random.default_rng(0), 500).astype(np.float32)
    assert np.array_equal(hull(X), hull(X.astype(np.float64)))


@both
def test_a_large_set_has_the_hull_of_its_klein_points(hull):
    X = cloud(np.random.default_rng(1), 20_000, 2, 1.0)
    assert set(hull(X)) == set(ConvexHull(ball_to_klein(X)).vertices)


@many
@given(point_sets(largest=4), st.randoms())
def test_turn_distance_and_height_have_the_signs_of_exact_arithmetic(given_set, random):
    X, c = given_set
    if not len(X):
        return
    P, Q, A, B = (tuple(X[random.randrange(len(X))].tolist()) for _ in range(4))
    exact = [[Fraction(a) for a in x] for x in (P, Q, A, B)]
    p, q, a, b = exact
    turn = exact_turn(p, q, a, Fraction(c))
    assert disk_hull.turn(P, Q, A, row_gaps(np.array([P]), c)[0], c) == np.sign(float(turn > 0) - float(turn < 0))
    far, near = (sum((u - v) ** 2 for u, v in zip(p, x, strict=True)) for x in (q, a))
    assert disk_hull.farther(P, Q, A) == float(far > near) - float(far < near)
    over_a, over_b = (-exact_turn(p, q, x, Fraction(c)) / (1 + Fraction(c) * (x[0] ** 2 + x[1] ** 2)) for x in (a, b))
    assert disk_hull.higher(P, Q, A, B, c) == float(over_a > over_b) - float(over_a < over_b)


def test_points_of_a_circle_are_distinguished_by_their_last_digits():
    circle = [tuple(x) for x in on_a_circle(np.random.default_rng(0), 40)[1:].tolist()]
    square = {x: sum(Fraction(a) ** 2 for a in x) for x in circle}
    for B in circle:
        for C in circle:
            assert disk_hull.farther((0.0, 0.0), B, C) == (square[B] > square[C]) - (square[B] < square[C])


def inside_others(K, row):
    """Whether a row of Klein coordinates is a convex combination of the others."""
    others = np.delete(K, row, axis=0)
    equations = np.vstack([others.T, np.ones(len(others))])
    return linprog(np.zeros(len(others)), A_eq=equations, b_eq=np.append(K[row], 1)).success


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_vertices_are_the_rows_outside_the_hull_of_the_others(d, c):
    X = cloud(np.random.default_rng(d), 40, d, c, smallest_gap=0.2)
    K = ball_to_klein(X, c=c)
    assert sorted(hull_vertices(X, c=c)) == [row for row in range(len(X)) if not inside_others(K, row)]


@pytest.mark.parametrize("d", [3, 5])
def test_vertices_are_found_in_a_corner_of_the_ball_as_at_its_centre(d):
    rng = np.random.default_rng(0)
    X = cloud(rng, 60, d, 1.0, smallest_gap=0.1)
    assert np.array_equal(hull_vertices(translate(X, at_gap(rng, d, 1e-8, 1.0))), hull_vertices(X))


@pytest.mark.parametrize("flat", [0, 1, 2, 3])
@pytest.mark.parametrize("away", [0.0, 0.7])
def test_flat_sets_have_the_hull_of_their_dimension(flat, away):
    rng = np.random.default_rng(flat)
    basis = np.linalg.qr(rng.standard_normal((4, 4)))[0][:flat]
    plane = cloud(rng, 30, max(flat, 1), 1.0) if flat else np.zeros((30, 1))
    X = translate(plane[:, : len(basis)] @ basis, away * np.array([0.5, 0.5, 0.5, 0.5]))
    assert sorted(hull_vertices(X)) == (sorted(hull_vertices(plane)) if flat else [0])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_rows_in_many_dimensions_are_all_vertices(n):
    assert sorted(hull_vertices(cloud(np.random.default_rng(0), n, 4, 1.0))) == list(range(n))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_equal_rows_are_represented_by_the_first(d):
    X = cloud(np.random.default_rng(0), 30, d, 1.0)
    shuffled = np.vstack([X[::-1], X, X])
    assert max(hull_vertices(shuffled)) < 30


def test_klein_coordinates_about_a_point_are_those_after_a_translation():
    X = cloud(np.random.default_rng(0), 20, 3, 1.0)
    p = central_row(X, 1.0)
    K, _ = klein_about(X, row_gaps(X, 1.0), p, 1.0)
    assert np.allclose(K, ball_to_klein(translate(X, -p)), rtol=1e-13)
    assert p in X


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("d", [2, 7])
def test_closest_vertices_are_the_pair_of_least_distance(d, c):
    rng = np.random.default_rng(d)
    X_a, X_b = (np.array([at_gap(rng, d, g, c) for g in 10 ** rng.uniform(-9, 0, n)]) for n in (30, 50))
    i, j = closest_vertices(X_a, X_b, c=c)
    assert (i, j) == np.unravel_index(np.argmin(pairwise_distance(X_a, X_b, c=c)), (30, 50))
    assert closest_vertices(X_b, X_a, c=c) == (j, i)


def test_the_papers_reference_point_is_the_midpoint_of_the_closest_vertices():
    rng = np.random.default_rng(0)
    X_a, X_b = translate(0.5 * scattered(rng, 300), [-0.7, 0.1]), translate(0.5 * scattered(rng, 200), [0.7, 0.2])
    p = hull_midpoint(X_a, X_b)
    V_a, V_b = X_a[quickhull(X_a)], X_b[quickhull(X_b)]
    i, j = np.unravel_index(np.argmin(pairwise_distance(V_a, V_b)), (len(V_a), len(V_b)))
    assert distance(p, midpoint(V_a[i], V_b[j])) == 0


@pytest.mark.parametrize("function", [graham_scan, quickhull, hull_vertices])
def test_bad_points_are_rejected(function):
    with pytest.raises(ValueError, match=r"1 of 2 points lies outside the open ball"):
        function([[0.1, 0.2], [1.0, 0.3]])
    with pytest.raises(ValueError, match="NaN or infinite"):
        function([[0.1, 0.2], [np.nan, 0.3]])
    with pytest.raises(ValueError, match=r"at least one point; got shape \(0, 2\)"):
        function(np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"whose rows are points; got shape \(2,\)"):
        function([0.1, 0.2])
    with pytest.raises(ValueError, match="c must be a positive finite number"):
        function([[0.1, 0.2]], c=-1)
    with pytest.raises(TypeError, match="real numbers"):
        function([["a", "b"]])


def test_the_error_for_a_wrong_dimension_names_an_alternative():
    with pytest.raises(ValueError, match=r"got shape \(4, 3\).\nUse hyplearn.geometry.hull.hull_vertices"):
        quickhull(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"up to 5 dimensions; X has 6 columns.\nUse hyplearn.geometry.closest_points"):
        hull_vertices(np.zeros((4, 6)))
    with pytest.raises(ValueError, match=r"same dimension; got shapes \(1, 2\) and \(1, 3\)"):
        closest_vertices(np.zeros((1, 2)), np.zeros((1, 3)))


def test_hulls_are_reached_through_the_geometry():
    assert hyplearn.geometry.hull.graham_scan is hyplearn.geometry.graham_scan
