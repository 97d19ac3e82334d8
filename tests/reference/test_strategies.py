"""Where the reference point comes from."""

import numpy as np
import pytest

import hyplearn.reference.strategies
from hyplearn import PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import (
    ball_to_hyperboloid,
    closest_points,
    closest_vertices,
    distance,
    frechet_mean,
    gap,
    geodesic,
    graham_scan,
    midpoint,
    rotate,
    signed_distance,
    translate,
)
from hyplearn.reference.strategies import (
    FARTHEST_SHIFT,
    STRATEGIES,
    reference_point,
    separable,
    where_it_vanishes,
)
from hyplearn.rows import HyperboloidRows, Rows
from hyplearn.tangent import from_frame
from support.balls import CURVATURES, cloud


@pytest.fixture
def labelled():
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    return X, np.repeat(["a", "b"], [25, 5])


def overlapping(seed=0, n=300, d=2, c=1.0):
    """Two wrapped normals, one three times as heavy as the other, off the centre of the ball."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.25, 1.0, -1.0)
    at = from_frame(rng.standard_normal(d) / np.sqrt(c * d), np.zeros(d), c=c)
    shift = np.zeros(d)
    shift[0] = 0.7 / np.sqrt(c)
    return from_frame(y[:, None] * shift + rng.standard_normal((n, d)) / np.sqrt(c * d), at, c=c), y


def apart(seed=0, n=300, d=2):
    X, y, _, _ = make_ball_classification(n, d, random_state=seed)
    return X, y.astype(float)


PROBLEMS = [pytest.param(overlapping, id="overlapping"), pytest.param(apart, id="apart")]


@pytest.mark.parametrize("d", [2, 10])
def test_classes_on_two_sides_of_a_hyperplane_are_separated_by_the_one_returned(d):
    X, y = apart(n=2000, d=d)
    found = separable(X, y)
    assert found.separable
    assert found.witness is None
    heights = y * signed_distance(X, *found.hyperplane)
    assert heights.min() == pytest.approx(found.margin, rel=1e-6)
    assert found.margin >= found.lower_bound / 2 * (1 - 1e-9)
    assert 0 < found.lower_bound <= found.distance


@pytest.mark.parametrize("n", [300, 30_000])
def test_the_witness_of_overlapping_classes_lies_in_both_hulls(n):
    X, y = overlapping(n=n)
    found = separable(X, y)
    assert not found.separable
    assert found.hyperplane is None
    assert found.margin == found.lower_bound == 0
    for label in (-1, 1):
        assert closest_points(X[y == label], [found.witness]).distance < 1e-9


def test_many_rows_are_separated_and_not_only_a_sample_of_them():
    X, y = apart(n=30_000)
    found = separable(X, y)
    assert found.separable
    assert np.all(y * signed_distance(X, *found.hyperplane) > 0)


def test_one_row_on_the_wrong_side_makes_classes_inseparable():
    """The second row of its class, which is in no evenly spread sample."""
    X, y = apart(n=30_000)
    X[np.flatnonzero(y < 0)[1]] = frechet_mean(X[y > 0])
    assert not separable(X, y).separable


def test_touching_hulls_are_not_strictly_separable():
    found = separable([[-0.5, 0.0], [0.0, 0.0], [0.0, 0.0], [0.5, 0.0]], [0, 0, 1, 1])
    assert not found.separable
    assert np.allclose(found.witness, 0, atol=1e-9)


def test_a_hyperplane_that_misses_a_row_is_not_called_separating(monkeypatch):
    """The proof is not trusted: the hyperplane is tried on every row."""
    X, y = apart()
    true = closest_points(X[y < 0], X[y > 0])
    monkeypatch.setattr(
        hyplearn.reference.strategies, "closest_points", lambda X_a, X_b, c, **_: closest_points(X_a[:3], X_b[:3], c=c)
    )
    found = separable(X, y)
    assert true.lower_bound > 0
    assert not found.separable
    assert found.hyperplane is None


def test_separation_is_asked_of_exactly_two_classes():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"exactly 2 classes; y holds 3: \[0, 1, 2\]"):
        separable(X, [0, 1, 2])
    with pytest.raises(ValueError, match="exactly 2 classes; y holds 1"):
        separable(X, ["a", "a", "a"])
    with pytest.raises(ValueError, match=r"one label for each of the 3 rows of X; got shape \(2,\)"):
        separable(X, [0, 1])


def test_equally_heavy_classes_meet_midway_between_their_means(labelled):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(reference_point("means", X, y, weights, 1.0), between) < 1e-10


@pytest.mark.parametrize("heavy", ["a", "b"])
def test_a_heavier_class_pushes_the_point_towards_the_other(labelled, heavy):
    X, y = labelled
    weights = np.where(y == "a", 5.0, 25.0) * np.where(y == heavy, 1.5, 1.0)
    centre = {label: frechet_mean(X[y == label]) for label in "ab"}
    between = midpoint(centre["a"], centre["b"])
    p = reference_point("means", X, y, weights, 1.0)
    spread = np.average([distance(x, centre[label]) ** 2 for x, label in zip(X, y, strict=True)], weights=weights) / 2
    assert distance(p, between) == pytest.approx(np.log(1.5) * spread / distance(centre["a"], centre["b"]), rel=1e-6)
    assert distance(p, centre[heavy]) > distance(between, centre[heavy])


def test_the_push_is_limited(labelled):
    X, y = labelled
    p = reference_point("means", X, y, np.where(y == "a", 1e9, 1.0), 1.0)
    between = midpoint(frechet_mean(X[y == "a"]), frechet_mean(X[y == "b"]))
    assert distance(p, between) == pytest.approx(FARTHEST_SHIFT, rel=1e-6)


def test_classes_with_one_mean_have_it_as_their_point():
    X = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
    assert np.allclose(reference_point("means", X, np.array([0, 0, 1, 1]), None, 1.0), 0, atol=1e-12)


def test_hull_is_the_midpoint_of_the_closest_vertices():
    X, y = apart()
    V_a, V_b = (X[y == label][graham_scan(X[y == label])] for label in (-1, 1))
    i, j = closest_vertices(V_a, V_b)
    assert distance(reference_point("hull", X, y, None, 1.0), midpoint(V_a[i], V_b[j])) < 1e-12


def test_hulls_are_not_listed_in_many_dimensions():
    X, y = apart(d=6)
    with pytest.raises(ValueError, match="at most 5 dimensions; X has 6"):
        reference_point("hull", X, y, None, 1.0)


@pytest.mark.parametrize("name", ["closest", "boundary"])
def test_separable_classes_have_the_midpoint_of_their_hulls_closest_points(name):
    X, y = apart()
    pair = closest_points(X[y < 0], X[y > 0], tol=1e-12)
    assert distance(reference_point(name, X, y, None, 1.0), midpoint(pair.a, pair.b)) < 1e-11


def test_closest_is_the_witness_where_hulls_meet():
    X, y = overlapping()
    assert np.array_equal(reference_point("closest", X, y, None, 1.0), separable(X, y).witness)


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
def test_the_way_ends_at_the_nearest_point_where_the_functional_vanishes(c):
    rng = np.random.default_rng(0)
    centre, q = from_frame(rng.standard_normal((2, 3)) / np.sqrt(c), np.zeros(3), c=c)
    u = np.array([0.4, 1.0, -0.5, 0.3])
    Q = 3 * ball_to_hyperboloid(translate(q, -centre, c=c), c=c)
    p = where_it_vanishes(u, Q, 3.0, centre, c)

    def height(x):
        return ball_to_hyperboloid(translate(x, -centre, c=c), c=c) @ u

    assert abs(height(p)) < 1e-9
    # Whatever is nearer to q lies on its side.
    nearer = from_frame(rng.standard_normal((500, 3)) / np.sqrt(c), q, c=c)
    nearer = geodesic(q, nearer, 0.999 * np.minimum(1, distance(q, p, c=c) / distance(q, nearer, c=c)), c=c)
    assert np.all(np.sign(height(nearer)) == np.sign(height(q)))


@pytest.mark.parametrize("radius", [10.0, 15.0])
def test_the_way_to_a_boundary_is_exact_far_from_the_centre(radius):
    """Coordinates of 1e4 and 1e6, whose squares differ by 1: found from those, its direction would be lost."""
    e = np.array([1.0, 0.0])
    Q = 5 * np.concatenate([[np.cosh(radius)], np.sinh(radius) * e])
    p = where_it_vanishes(
        np.array([0.0, 0.6, -0.8]), Q, 5.0, np.zeros(2), 1.0
    )  # a line through the centre, too far off
    assert distance(p, np.tanh(radius / 2) * e) == pytest.approx(FARTHEST_SHIFT, rel=1e-6)
    p = where_it_vanishes(np.array([-0.6 * np.tanh(radius - 2), 0.6, 0.0]), Q, 5.0, np.zeros(2), 1.0)
    assert distance(p, np.zeros(2)) == pytest.approx(radius - 2, abs=0.01)


def test_points_so_far_that_their_sum_has_no_length_still_have_a_boundary():
    """Of coordinates from 1e16 on their difference is rounded away; the total weight bounds it from below."""
    for e in (np.array([1.0, 0.0]), np.array([0.6, -0.8])):
        p = where_it_vanishes(np.array([-5e-25, 3e-25, 4e-25]), 6e24 * np.array([1.0, *e]), 3.0, 0.99 * e, 1.0)
        assert gap(p) > 0


def test_a_functional_that_is_least_where_the_points_are_leaves_them_there():
    """Its gradient is 0 there, and no direction leads to where it vanishes, as it does nowhere."""
    p = where_it_vanishes(np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0]), 2.0, np.array([0.3, 0.1]), 1.0)
    np.testing.assert_allclose(p, [0.3, 0.1], rtol=1e-15)


def test_a_class_too_light_for_a_boundary_is_passed_at_a_limited_distance():
    X, y = overlapping()
    p = reference_point("boundary", X, y, np.where(y > 0, 1e-3, 1.0), 1.0)
    assert distance(p, frechet_mean(X[y < 0])) < 4 * FARTHEST_SHIFT
    heights = PoincareSVC(p).fit(X, y, np.where(y > 0, 1e-3, 1.0)).decision_function(X)
    assert np.mean(heights < 0) > 0.9


def test_rows_beyond_the_budget_give_the_point_of_explicit_ones(monkeypatch):
    X, y = overlapping(n=3000, d=5)
    due = reference_point("boundary", X, y, None, 1.0)
    monkeypatch.setattr(hyplearn.reference.strategies, "EXPLICIT_NUMBERS", 0)
    assert distance(reference_point("boundary", X, y, None, 1.0), due) < 1e-9
    monkeypatch.setattr(hyplearn.reference.strategies, "HULL_NUMBERS", 0)
    assert distance(reference_point("boundary", X, y, None, 1.0), due) < 1e-9
    monkeypatch.setattr(hyplearn.reference.strategies, "FIT_WORK", 25 * 1500)
    assert 1e-9 < distance(reference_point("boundary", X, y, None, 1.0), due) < 0.1


def test_hyperboloid_rows_are_those_of_their_explicit_matrix():
    rng = np.random.default_rng(0)
    n, d = 50, 3
    rows = HyperboloidRows(
        rng.random((n, d)), rng.random(d), rng.random(n), rng.random(n), rng.random(n), times=rng.random(n)
    )
    explicit, w, index = rows[:], rng.random(d + 1), np.array([3, 1, 4])
    assert rows.shape == explicit.shape == (n, d + 1)
    assert np.array_equal(explicit[:, 0], rows.times)
    assert np.allclose(rows @ w, explicit @ w)
    assert np.allclose(rows.weighted_sum(index, w[:3]), w[:3] @ explicit[index])
    blocks = list(rows.map(lambda block: (block.start, block[:], block.costs)))
    assert np.array_equal(np.concatenate([block[1] for block in blocks]), explicit)
    assert isinstance(rows.sample(8, rng), Rows)


ALL = ["mean", "means", "hull", "closest", "boundary"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_weights_count_as_copies_and_zero_as_absence(name, data):
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    copies = reference_point(name, np.repeat(X, weights, axis=0), np.repeat(y, weights), None, 1.0)
    assert distance(reference_point(name, X, y, weights.astype(float), 1.0), copies) < 1e-6


@pytest.mark.parametrize("name", ["means", "boundary"])
def test_copies_of_many_rows_count_as_weights(name):
    X, y = overlapping(n=30_000)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    copies = reference_point(name, np.repeat(X, weights, axis=0), np.repeat(y, weights), None, 1.0)
    assert distance(reference_point(name, X, y, weights.astype(float), 1.0), copies) < 1e-6


@pytest.mark.parametrize("name", [name for name in ALL if name != "closest"])
@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("d", [2, 4])
def test_strategies_move_with_the_points(name, data, d):
    rng = np.random.default_rng(1)
    X, y = data(d=d)
    a = rng.uniform(-0.4, 0.4, d)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    due = translate(rotate(reference_point(name, X, y, None, 1.0), turn), a)
    assert distance(reference_point(name, translate(rotate(X, turn), a), y, None, 1.0), due) < 1e-6


def test_closest_moves_with_points_that_are_apart():
    """Where hulls meet, which common point is found is arbitrary."""
    X, y = apart()
    a = np.array([0.4, -0.5])
    moved = reference_point("closest", translate(X, a), y, None, 1.0)
    assert distance(moved, translate(reference_point("closest", X, y, None, 1.0), a)) < 1e-6


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_strategies_scale_with_the_curvature(name, data):
    X, y = data()
    due = reference_point(name, X, y, None, 1.0) / 2
    assert np.allclose(reference_point(name, X / 2, y, None, 4.0), due, atol=1e-7)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_strategies_repeat_their_bits_and_leave_their_arguments_alone(name, data):
    X, y = data()
    weights = np.ones(len(X))
    before = X.copy(), y.copy()
    assert np.array_equal(reference_point(name, X, y, weights, 1.0), reference_point(name, X, y, weights, 1.0))
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


@pytest.mark.parametrize("name", ["means", "hull", "closest", "boundary"])
def test_a_class_without_weight_does_not_count(labelled, name):
    X, y = labelled
    only_a = reference_point(name, X, y, (y == "a").astype(float), 1.0)
    assert distance(only_a, frechet_mean(X[y == "a"])) < 1e-10


def test_rows_at_the_rim_have_a_boundary():
    X, y = overlapping(n=60)
    X[::7] *= (1 - 1e-13) / np.linalg.norm(X[::7], axis=1, keepdims=True)
    assert np.linalg.norm(reference_point("boundary", X, y, None, 1.0)) < 1


def test_an_array_is_taken_as_it_is(labelled):
    X, y = labelled
    assert np.array_equal(reference_point([0.1, 0.2], X, y, None, 1.0), [0.1, 0.2])


def test_a_function_is_called_with_each_binary_problem():
    X, y = overlapping()
    X, y = np.concatenate([X, X[:20]]), np.concatenate([y, np.full(20, 2.0)])
    seen = []

    def first_positive(X, y, weights, c):
        seen.append((len(X), sorted(set(y)), weights, c))
        return X[np.argmax(y > 0)]

    model = PoincareSVC(first_positive).fit(X, y)
    assert seen == 3 * [(len(X), [-1.0, 1.0], None, 1.0)]
    assert np.array_equal(model.reference_, [X[np.argmax(y == label)] for label in (-1, 1, 2)])


def test_bad_references_are_refused(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="'centroid' is no known strategy"):
        reference_point("centroid", X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\).*got \(3,\)"):
        reference_point([0.0, 0.0, 0.0], X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\).*got \['a', 'b'\]"):
        reference_point(["a", "b"], X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"the point has norm 1\.5"):
        reference_point([1.5, 0.0], X, y, None, 1.0)


@pytest.mark.parametrize("name", ["means", "hull", "closest", "boundary"])
def test_what_lies_between_classes_needs_labels(labelled, name):
    with pytest.raises(ValueError, match=f'"{name}" needs labels'):
        reference_point(name, labelled[0], None, None, 1.0)


@pytest.mark.parametrize("name", ["hull", "closest", "boundary"])
def test_what_lies_between_two_classes_refuses_three(labelled, name):
    X, _ = labelled
    with pytest.raises(ValueError, match=f'"{name}" lies between 2 classes; got 3'):
        reference_point(name, X, np.arange(30) % 3, None, 1.0)


def test_functions_that_return_no_point_are_named(labelled):
    X, y = labelled

    def all_rows(X, y, weights, c):
        return X

    def far_off(X, y, weights, c):
        return [2.0, 0.0]

    with pytest.raises(ValueError, match=r"reference=all_rows must return one point.*shape \(2,\); got \(30, 2\)"):
        reference_point(all_rows, X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"reference=far_off must return one point of the ball.*norm 2"):
        reference_point(far_off, X, y, None, 1.0)


def test_ragged_references_are_refused_by_estimators(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match=r"of equal length and real; got \[\[0.1, 0.2\], \[0.3\]\]"):
        PoincareSVC([[0.1, 0.2], [0.3]]).fit(X, y)


def test_a_strategy_is_a_function_in_the_table(labelled, monkeypatch):
    X, y = labelled
    monkeypatch.setitem(STRATEGIES, "first", lambda X, y, weights, c, threads: X[0])
    assert np.array_equal(reference_point("first", X, y, None, 1.0), X[0])
