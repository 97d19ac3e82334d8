"""The widest margin over all geodesic hyperplanes, and the proofs of its lower and upper bounds."""

import dataclasses

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hyplearn import PoincareSVC
from hyplearn.data.training import TrainingData
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators.validation import training_data, training_points
from hyplearn.geometry import (
    ball_to_hyperboloid,
    closest_points,
    distance,
    exp_map,
    geodesic,
    log_map,
    rotate,
    signed_distance,
    translate,
)
from hyplearn.reference import separable, widest, widest_margin
from support import exact
from support.balls import CURVATURES, at_gap, cloud, points, vectors
from support.sources import arguments
from support.two_classes import apart, overlapping


def small(seed, n=10, d=2, smallest_gap=0.05):
    """A few points on the two sides of a random hyperplane."""
    rng = np.random.default_rng(seed)
    X = cloud(rng, n, d, 1.0, smallest_gap)
    w, p = rng.standard_normal(d), at_gap(rng, d, 0.9, 1.0)
    y = signed_distance(X, w, p) > 0
    return (X, y) if 0 < y.sum() < n else small(seed + 1000, n, d, smallest_gap)


def least(X, y, w, p, c=1.0):
    return float(np.min(np.where(y, 1, -1) * signed_distance(X, w, p, c=c)))


def assert_narrow(found, X, y, width=1e-9):
    """Check that the interval is narrow, and that ``verify`` confirms both of its ends."""
    assert found.status == "optimal"
    assert found.lower <= found.upper
    lower, upper = found.verify(X, y)
    assert upper - lower < width * max(1, upper)
    assert lower == pytest.approx(found.lower, rel=1e-9, abs=1e-12)
    assert upper == pytest.approx(found.upper, rel=1e-9, abs=1e-12)


def search_all_geodesics(X, y, zooms=14, n=61):
    """Widest margin over all geodesics of the disk, by a refined grid search over their ends on the rim."""
    centre, spread, best = np.array([0.0, np.pi]), np.pi, -np.inf
    for _ in range(zooms):
        a, b = (centre[:, None] + spread * np.linspace(-1, 1, n)).reshape(2, n)
        a, b = np.meshgrid(a, b)
        # The hyperboloid's functional that vanishes on both ends (1, cos, sin).
        u = np.stack([np.sin(b - a), np.sin(b) - np.sin(a), np.cos(a) - np.cos(b)], axis=-1)
        length = 2 * np.sin((b - a) / 2) ** 2
        heights = (u[..., 1:] @ ball_to_hyperboloid(X)[:, 1:].T) - u[..., :1] * ball_to_hyperboloid(X)[:, 0]
        signed = np.where(y, 1, -1) * heights
        lowest = np.maximum(signed.min(axis=-1), (-signed).min(axis=-1))
        margins = np.divide(lowest, length, out=np.full_like(length, -np.inf), where=length > 1e-9)
        row, column = np.unravel_index(np.argmax(margins), margins.shape)
        centre, spread, best = np.array([a[row, column], b[row, column]]), spread / 3, max(best, margins.max())
    return np.arcsinh(best)


@pytest.mark.parametrize("seed", range(6))
def test_no_geodesic_of_the_disk_has_a_wider_margin_in_a_fine_search(seed):
    X, y = small(seed)
    found = widest_margin(X, y)
    assert_narrow(found, X, y)
    assert search_all_geodesics(X, y) == pytest.approx(found.lower, rel=1e-4)
    assert search_all_geodesics(X, y) <= found.upper * (1 + 1e-12)
    assert least(X, y, *found.hyperplane) == pytest.approx(found.lower, rel=1e-12)


def cones_allow(X, y, margin):
    """Whether Clarabel finds w with ``-y a ≥ tanh(margin) ‖w⊥‖``, ``w = a x + w⊥``, for all rows (and w ≠ 0)."""
    rows = ball_to_hyperboloid(X)
    d = X.shape[1]
    flip = np.diag([-1.0] + [1.0] * d)
    blocks = []
    for x, sign in zip(rows, np.where(y, 1, -1), strict=True):
        # A Lorentz basis at x: a = -[w, x], and orthonormal coordinates of w⊥.
        boost = np.eye(d + 1)
        boost[0], boost[1:, 0] = x, x[1:]
        boost[1:, 1:] += np.outer(x[1:], x[1:]) / (1 + x[0])
        blocks.append(-np.vstack([sign * (rows[:1] * 0 + x) @ flip, np.tanh(margin) * boost[1:] @ flip]))
    total = np.where(y, 1, -1) @ rows @ flip
    A = sparse.csc_matrix(np.vstack([*blocks, total[None], -total[None]]))
    b = np.concatenate([np.zeros(len(A.indptr) and A.shape[0] - 2), [1.0, -1.0]])
    cones = [clarabel.SecondOrderConeT(d + 1)] * len(rows) + [clarabel.NonnegativeConeT(2)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    out = clarabel.DefaultSolver(sparse.csc_matrix((d + 1, d + 1)), np.zeros(d + 1), A, b, cones, options).solve()
    return str(out.status) == "Solved"


@pytest.mark.parametrize("d", [2, 5])
def test_a_cone_solver_finds_a_hyperplane_just_below_the_margin_and_none_above(d):
    """Hyperplanes with at least a given margin form an intersection of second-order cones."""
    for seed in range(4):
        X, y = small(seed, n=20, d=d, smallest_gap=0.2)
        found = widest_margin(X, y)
        assert cones_allow(X, y, found.lower - 1e-3)
        assert not cones_allow(X, y, found.upper + 1e-3)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), p=points(d=3, smallest_gap=1e-3), w=vectors(3))
def test_no_hyperplane_through_any_point_has_a_wider_margin(seed, p, w):
    X, y = small(seed, d=3)
    found = widest_margin(X, y)
    for sign in (-1, 1):
        assert least(X, y, sign * w, p) <= found.upper


@pytest.mark.parametrize("seed", range(5))
def test_the_margin_is_at_least_that_of_the_best_hyperplane_through_any_point(seed):
    X, y = small(seed, n=20, d=3)
    found = widest_margin(X, y)
    p = found.contact
    near = [translate(q, p) for q in cloud(np.random.default_rng(seed), 5, 3, 1.0, 0.999)]
    through = [PoincareSVC(q, C=np.inf, margin="exact", calibration=None).fit(X, y) for q in [p, *near]]
    margins = [least(X, y, fit.coef_[0], fit.reference_[0]) for fit in through]
    assert margins[0] == pytest.approx(found.lower, rel=1e-5)
    assert max(margins) <= found.upper


@pytest.mark.parametrize(("n", "d"), [(200, 2), (200, 10), (400, 100)])
def test_the_margin_is_at_least_that_of_the_bisector_and_of_the_boundary_strategy(n, d):
    X, y = apart(n=n, d=d)
    found = widest_margin(X, y)
    assert_narrow(found, X, y)
    fit = PoincareSVC("boundary", C=np.inf, margin="exact", calibration=None).fit(X, y)
    assert found.lower >= separable(X, y).margin * (1 - 1e-9)
    assert found.lower >= least(X, y > 0, fit.coef_[0], fit.reference_[0]) * (1 - 1e-9)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_margin_of_two_rows_is_half_their_distance(d):
    a, b = cloud(np.random.default_rng(0), 2, d, 1.0)
    found = widest_margin([a, b], [0, 1])
    assert found.lower == pytest.approx(distance(a, b) / 2, rel=1e-12)
    np.testing.assert_allclose(found.weights, 0.5, rtol=1e-9)


def test_the_hyperplane_moves_with_the_points_under_isometries():
    X, y = apart(n=500, d=3)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    a = np.array([0.6, -0.3, 0.5])
    found, moved = widest_margin(X, y), widest_margin(translate(rotate(X, rotation), a), y)
    assert moved.lower == pytest.approx(found.lower, rel=1e-10)
    probes = cloud(np.random.default_rng(1), 50, 3, 1.0)
    np.testing.assert_allclose(
        signed_distance(translate(rotate(probes, rotation), a), *moved.hyperplane),
        signed_distance(probes, *found.hyperplane),
        atol=1e-8,
    )
    assert np.array_equal(moved.support, found.support)


def test_the_order_of_rows_and_copies_change_nothing():
    X, y = apart(n=3000, d=4)
    order = np.random.default_rng(0).permutation(3000)
    order = np.concatenate([order, order[:1000], order[:10].repeat(100)])
    found, again = widest_margin(X, y), widest_margin(X[order], y[order])
    assert again.lower == pytest.approx(found.lower, rel=1e-12)
    assert set(order[again.support]) == set(found.support)
    probes = cloud(np.random.default_rng(1), 50, 4, 1.0)
    np.testing.assert_allclose(
        signed_distance(probes, *again.hyperplane), signed_distance(probes, *found.hyperplane), atol=1e-9
    )


def test_other_labels_turn_the_hyperplane_around():
    X, y = small(3)
    found, turned = widest_margin(X, np.where(y, "b", "a")), widest_margin(X, np.where(y, "a", "b"))
    assert np.all(signed_distance(X, *found.hyperplane) > 0, where=y)
    assert np.all(signed_distance(X, *turned.hyperplane) < 0, where=y)
    assert turned.lower == pytest.approx(found.lower, rel=1e-12)


@pytest.mark.parametrize("c", CURVATURES)
def test_margins_scale_with_the_curvature(c):
    X, y = apart(n=300, d=3)
    found = widest_margin(X / np.sqrt(c), y, c=c)
    assert_narrow(found, X / np.sqrt(c), y)
    assert found.lower == pytest.approx(widest_margin(X, y).lower / np.sqrt(c), rel=1e-10)


def test_float32_points_are_exact():
    X, y = small(0, n=50)
    found = widest_margin(X.astype(np.float32), y)
    assert found.lower == pytest.approx(widest_margin(X.astype(np.float32).astype(float), y).lower, rel=1e-14)
    assert_narrow(found, X.astype(np.float32), y)


def rim(seed, d, smallest_gap, near):
    """Rows at the rim; every second one is moved inwards if ``near`` is below 1."""
    rng = np.random.default_rng(seed)
    X = np.array([at_gap(rng, d, smallest_gap * rng.uniform(1, 3), 1.0) for _ in range(12)])
    y = X[:, 0] > -0.1
    X[::2] *= near
    return X, y


@pytest.mark.parametrize("near", [0.5, 1.0])
@pytest.mark.parametrize("smallest_gap", [1e-6, 1e-12, 1e-15])
@pytest.mark.parametrize("d", [2, 5])
def test_both_ends_hold_in_ninety_digits_for_points_up_to_the_rim(d, smallest_gap, near):
    for seed in range(3):
        X, y = rim(seed, d, smallest_gap, near)
        if not 0 < y.sum() < len(y):
            continue
        found = widest_margin(X, y)
        assert_narrow(found, X, y)
        w, p = (exact.vector(v) for v in found.hyperplane)
        margins = [exact.signed_distance(exact.vector(x), w, p, exact.mpf(1)) for x in X]
        margin = min(m if side else -m for m, side in zip(margins, y, strict=True))
        assert found.lower <= margin <= found.upper


@pytest.mark.parametrize("seed", range(5))
def test_a_contact_point_near_the_rim_keeps_far_rows_on_their_sides(seed):
    """The rounded point is slightly off the best hyperplane, an error that is far larger at the far rows."""
    rng = np.random.default_rng(seed)
    near, far = (translate(cloud(rng, 8, 3, 1.0, 0.5), at_gap(rng, 3, 1e-8, 1.0)) for _ in range(2))
    y = np.repeat([True, False], 8)
    # The row farthest from its cluster is moved to the other class.
    y[np.argmax(np.linalg.norm(translate(near, -near.mean(axis=0)), axis=1))] = False
    X = np.concatenate([near, far])
    if not separable(X, y).separable:
        return
    found = widest_margin(X, y)
    assert found.separable
    assert found.upper - found.lower < 1e-6
    assert found.verify(X, y).lower > 0.999 * found.lower


def test_an_interval_that_rounding_keeps_wide_is_called_stalled():
    """Both classes have a row at the largest radius, and the hyperplane ends between these rows."""
    X, y = rim(0, 2, 1e-15, 0.5)
    X = translate(X, [1 - 1e-13, 0.0])
    found = widest_margin(X, y)
    assert found.status == "stalled"
    assert found.upper - found.lower > 1e-6
    assert found.verify(X, y).lower == pytest.approx(found.lower, rel=1e-2)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_classes_that_overlap_have_a_common_point_and_no_margin(d):
    X, y = overlapping(n=400, d=d)
    found = widest_margin(X, y)
    assert found.status == "inseparable"
    assert not found.separable
    assert found.hyperplane is None
    assert found.lower == 0
    assert found.upper == 0
    for label in (-1, 1):
        assert closest_points(X[y == label], [found.witness]).distance < 1e-9
    assert found.verify(X, y) == (0, 0)


def test_classes_that_touch_have_no_margin_up_to_rounding():
    X = [[-0.5, 0.0], [0.1, 0.2], [0.1, 0.2], [0.5, 0.0]]
    found = widest_margin(X, [0, 0, 1, 1])
    assert found.status == "inseparable"
    assert found.upper < 1e-12
    assert found.verify(X, [0, 0, 1, 1]).upper < 1e-12
    np.testing.assert_allclose(found.witness, [0.1, 0.2], atol=1e-12)


def test_a_margin_of_a_billionth_is_found():
    X = np.array([[-0.5, 0.0], [0.1, 0.2], [0.1 + 1e-9, 0.2], [0.5, 0.0]])
    y = [0, 0, 1, 1]
    found = widest_margin(X, y)
    assert found.separable
    assert found.lower == pytest.approx(distance(X[1], X[2]) / 2, rel=1e-3)
    assert found.verify(X, y).lower > 0


def test_the_weights_are_multipliers_of_the_rows():
    """Stationarity: the weighted rows of both classes differ by sinh(margin) times the unit normal."""
    X, y = apart(n=300, d=5)
    found = widest_margin(X, y)
    sides = np.where(y > 0, 1, -1)[found.support]
    total = (found.weights * sides) @ ball_to_hyperboloid(X[found.support])
    assert found.weights.sum() == pytest.approx(1, rel=1e-12)
    heights = np.arcsinh((ball_to_hyperboloid(X)[:, 1:] @ total[1:] - ball_to_hyperboloid(X)[:, 0] * total[0]) /
                         np.sqrt(total[1:] @ total[1:] - total[0] ** 2))  # fmt: skip
    np.testing.assert_allclose(heights, signed_distance(X, *found.hyperplane), atol=1e-9)
    assert np.sqrt(total[1:] @ total[1:] - total[0] ** 2) == pytest.approx(np.sinh(found.lower), rel=1e-9)


def test_the_margin_grows_by_the_weight_of_a_row_that_moves_away():
    X, y = small(1, n=30, d=3)
    found, step = widest_margin(X, y), 1e-5
    for row, weight in zip(found.support, found.weights, strict=True):
        foot = found.points[list(found.support).index(row)]
        away = X.copy()
        v = log_map(foot, X[row])
        away[row] = exp_map(-step / distance(foot, X[row]) * v, X[row])
        assert widest_margin(away, y).lower - found.lower == pytest.approx(weight * step, rel=1e-2)


def test_the_points_of_the_balls_have_the_contact_point_in_both_hulls():
    X, y = apart(n=300, d=4)
    found = widest_margin(X, y)
    assert np.all(distance(found.points, X[found.support]) <= found.upper)
    for label in (-1, 1):
        assert closest_points(found.points[y[found.support] == label], [found.contact]).distance < 1e-9
    np.testing.assert_array_equal(found.contact, found.hyperplane[1])


FORGED = {
    "a negative weight": lambda f: {"weights": f.weights * np.where(np.arange(len(f.weights)) == 0, -1, 1)},
    "a weight that is NaN": lambda f: {"weights": np.where(np.arange(len(f.weights)) == 0, np.nan, f.weights)},
    "a weight that is infinite": lambda f: {"weights": np.where(np.arange(len(f.weights)) == 0, np.inf, f.weights)},
    "no weight on one side": lambda f: {"weights": 0 * f.weights},
    "points outside the ball": lambda f: {"points": 2 + f.points},
    "points that are NaN": lambda f: {"points": np.nan * f.points},
    "a contact point outside the ball": lambda f: {"contact": 2 + f.contact},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("make", [apart, overlapping])
def test_a_forged_witness_proves_no_upper_end(change, make):
    X, y = make()
    found = widest_margin(X, y)
    assert dataclasses.replace(found, **change(found)).verify(X, y).upper == np.inf


def test_other_witnesses_prove_less():
    """The bounds proven by any points and weights are valid."""
    rng = np.random.default_rng(0)
    X, y = apart(n=300, d=3)
    found = widest_margin(X, y)
    for _ in range(50):
        size = 10 ** rng.uniform(-6, -1)
        weights = found.weights * np.exp(size * rng.standard_normal(len(found.weights)))
        moved = translate(found.points, size * rng.standard_normal(3) / 3)
        w, p = found.hyperplane
        forged = dataclasses.replace(found, weights=weights, points=moved, hyperplane=(w + size * rng.random(3), p))
        lower, upper = forged.verify(X, y)
        assert lower <= found.upper
        assert upper >= found.lower


@pytest.mark.parametrize("t", [0.0, 0.5, 0.99])
def test_points_nearer_to_their_rows_do_not_meet_and_prove_no_smaller_margin(t):
    X, y = apart(n=300, d=3)
    found = widest_margin(X, y)
    nearer = geodesic(X[found.support], found.points, t)
    assert dataclasses.replace(found, points=nearer).verify(X, y).upper >= found.lower


def test_a_hyperplane_with_a_row_on_the_wrong_side_proves_no_lower_end():
    X, y = apart()
    found = widest_margin(X, y)
    w, p = found.hyperplane
    for forged in ((-w, p), (np.nan * w, p), (0 * w, p), (w, X[y > 0][0]), (w, 2 + p), (w, np.nan * p)):
        assert dataclasses.replace(found, hyperplane=forged).verify(X, y).lower == 0


def test_a_witness_of_overlap_proves_nothing_about_other_rows():
    X, y = overlapping()
    found = widest_margin(X, y)
    X, y = apart()
    assert found.verify(X, y).upper >= widest_margin(X, y).lower


def test_rows_of_another_data_set_raise_an_error():
    X, y = apart()
    with pytest.raises(
        ValueError, match=r"verify\(\) needs the X .* computed, which has at least \d+ rows; got 20 rows"
    ):
        widest_margin(X, y).verify(X[:20], y[:20])


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# Number of rows of the first sample, small enough that passes over all rows find violated rows.
FEW_ROWS = 40


def of_arrays(X, y):
    """The widest margin from a small sample and passes over all rows."""
    data = TrainingData.of_arrays(X, (y > 0).astype(np.int64), None, 1.0, n_classes=2)
    return widest.widest(data, np.array([0, 1]), sample_rows=FEW_ROWS)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", ["array", "npz", "iterable", "dask"])
def test_every_source_has_the_same_widest_margin(kind, tmp_path):
    X, y = apart(n=2000, d=3)
    fit = PoincareSVC()
    source = (*arguments(kind, tmp_path, X, y, rows=300), None, None)[:3]
    data = training_data(fit, training_points(fit, *source, reset=True))
    found, due = widest.widest(data, np.array([0, 1]), sample_rows=FEW_ROWS), widest_margin(X, y)
    assert found.lower == pytest.approx(due.lower, rel=1e-12)
    assert np.array_equal(found.support, due.support)
    assert_narrow(found, X, y)


def test_one_class_against_the_rest_takes_the_sides_of_all_classes():
    X, y = apart(n=1000, d=3)
    classes = np.where(y > 0, 1, np.where(X[:, 0] > 0, 0, 2))
    data = TrainingData.of_arrays(X, classes, None, 1.0, n_classes=3)
    found, due = widest.widest(data, np.array([0, 1, 0]), sample_rows=FEW_ROWS), widest_margin(X, y)
    assert found.lower == pytest.approx(due.lower, rel=1e-12)
    assert found.interval(X, y > 0).lower == pytest.approx(found.lower, rel=1e-12)


@pytest.mark.parametrize("n", [60, 1000])
def test_rows_of_weight_zero_are_absent(n):
    X, y = apart(n=n, d=2)
    codes, weights = (y > 0).astype(int), np.ones(n)
    wrong = np.arange(0, n, 7)
    weights[wrong] = 0
    data = TrainingData.of_arrays(X, np.where(weights > 0, codes, 1 - codes), weights, 1.0, n_classes=2)
    found = widest.widest(data, np.array([0, 1]), sample_rows=FEW_ROWS)
    due = widest_margin(X[weights > 0], y[weights > 0])
    assert found.lower == pytest.approx(due.lower, rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(100_000, 2), (20_000, 10), (3000, 100)])
def test_a_few_passes_close_the_interval(n, d):
    X, y = apart(n=n, d=d)
    found = of_arrays(X, y)
    assert found.n_passes <= 12
    assert_narrow(found, X, y)


def test_a_sample_that_overlaps_needs_no_other_pass():
    X, y = overlapping(n=3000)
    found = of_arrays(X, y)
    assert found.status == "inseparable"
    assert found.n_passes == 1
    assert found.verify(X, y) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(1_000_000, 2), (100_000, 10)])
@pytest.mark.parametrize("margin", [0.01, 0.5])
def test_twelve_passes_close_the_interval_of_many_rows(n, d, margin):
    X, y, _, _ = make_ball_classification(n, d, margin=margin, random_state=0)
    found = widest_margin(X, y)
    assert found.n_passes <= 12
    assert_narrow(found, X, y)


def test_bad_inputs_raise_clear_errors():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"widest_margin\(\) needs exactly 2 classes; y has 3: 0, 1, 2\."):
        widest_margin(X, [0, 1, 2])
    with pytest.raises(ValueError, match="exactly 2 classes; y has 1"):
        widest_margin(X, ["a", "a", "a"])
    with pytest.raises(ValueError, match=r"one label for each of the 3 rows of X; got shape \(2,\)"):
        widest_margin(X, [0, 1])
    with pytest.raises(ValueError, match="1 of 3 points lies outside the open ball"):
        widest_margin([[0, 0], [1, 1], [0, 0]], [0, 1, 1])
    with pytest.raises(ValueError, match="NaN or infinite"):
        widest_margin([[0, 0], [np.nan, 1], [0, 0]], [0, 1, 1])
    with pytest.raises(ValueError, match="c must be a positive finite number"):
        widest_margin(X, [0, 1, 1], c=-1)
    with pytest.raises(ValueError, match="X must be an array whose rows are points"):
        widest_margin([0.1, 0.2], [0, 1])
