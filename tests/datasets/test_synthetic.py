import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import stats

from hyplearn.datasets import make_ball_classification
from hyplearn.datasets.synthetic import sample_classes
from hyplearn.geometry import signed_distance

rng = partial(np.random.default_rng, 0)
SHAPES = [(2, 1), (50, 1), (1000, 2), (500, 10), (200, 300)]


def signed_distance_as_printed(X, w, p):
    """The paper's second closed form, with the paper's definition of Möbius addition."""
    q = -p
    inner, square = X @ q, np.sum(X**2, axis=1)
    moved = (1 + 2 * inner + square)[:, None] * q + (1 - q @ q) * X
    moved /= (1 + 2 * inner + (q @ q) * square)[:, None]
    return np.arcsinh(2 * (moved @ w) / ((1 - np.sum(moved**2, axis=1)) * np.linalg.norm(w)))


def radius_quantiles(X, radius):
    """d-th powers of the relative radii, which are uniform on [0, 1] if the rows are uniform in the Euclidean ball."""
    return (np.linalg.norm(X, axis=1) / radius) ** X.shape[1]


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("margin", [0, 0.01, 0.5])
def test_no_point_lies_within_the_margin(n, d, margin):
    X, _, p, w = make_ball_classification(n, d, margin=margin, random_state=1)
    assert np.abs(signed_distance_as_printed(X, w, p)).min() > margin - 1e-12


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_label_is_the_side_of_the_hyperplane(n, d):
    X, y, p, w = make_ball_classification(n, d, random_state=2)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, np.sign(signed_distance_as_printed(X, w, p)))


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_there_are_exactly_n_finite_rows_of_both_classes(n, d, seed):
    X, y, _, _ = make_ball_classification(n, d, margin=0.3, random_state=seed)
    assert X.shape == (n, d)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(y.tolist()) == {-1, 1}


def test_rows_after_the_first_block_are_filled_too():
    X, y, p, w = sample_classes(1000, 3, rng(), margin=0.2, reference_norm=0.38, radius=0.95, block_numbers=64)
    assert len(np.unique(X, axis=0)) == 1000
    assert (y * signed_distance(X, w, p)).min() > 0.2


@pytest.mark.parametrize("radius", [0.3, 0.95, 1 - 1e-12])
def test_no_point_passes_the_radius(radius):
    X, _, _, _ = make_ball_classification(20_000, 2, reference_norm=0.1, radius=radius, random_state=3)
    norms = np.linalg.norm(X, axis=1)
    assert 0.99 * radius < norms.max() <= radius * (1 + 1e-15)


@pytest.mark.parametrize("d", [1, 2, 5, 100])
def test_radii_match_a_uniform_euclidean_ball(d):
    X, _, _, _ = make_ball_classification(20_000, d, margin=0, random_state=4)
    assert stats.kstest(radius_quantiles(X, 0.95), "uniform").pvalue > 0.01


def test_directions_are_uniform():
    X, _, _, _ = make_ball_classification(20_000, 2, margin=0, random_state=5)
    angles = np.arctan2(X[:, 1], X[:, 0])
    assert stats.kstest(angles, "uniform", args=(-np.pi, 2 * np.pi)).pvalue > 0.01


def test_the_boundary_is_uniformly_random_and_of_the_promised_size():
    pairs = [make_ball_classification(2, 2, reference_norm=0.5, random_state=seed)[2:] for seed in range(400)]
    for vectors, size in zip(map(np.array, zip(*pairs, strict=True)), (0.5, 1), strict=True):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), size, rtol=1e-14)
        angles = np.arctan2(vectors[:, 1], vectors[:, 0])
        assert stats.kstest(angles, "uniform", args=(-np.pi, 2 * np.pi)).pvalue > 0.01
    cosines = np.array([2 * p @ w for p, w in pairs])
    assert stats.kstest(np.arccos(cosines), "uniform", args=(0, np.pi)).pvalue > 0.01


def test_a_boundary_through_the_origin_is_allowed():
    X, y, p, w = make_ball_classification(300, 4, reference_norm=0, random_state=0)
    assert not p.any()
    np.testing.assert_array_equal(y, np.sign(X @ w))


@pytest.mark.parametrize(
    "seed", [lambda: 7, lambda: np.int32(7), lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)]
)
def test_the_same_seed_gives_identical_results(seed):
    first, second = (make_ball_classification(500, 3, random_state=seed()) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("seed", [np.random.RandomState(7), np.random.default_rng(7), None])
def test_a_generator_is_advanced_and_none_gives_a_new_seed(seed):
    first, second = (make_ball_classification(20, 2, random_state=seed)[0] for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("seed", range(10))
def test_a_margin_that_can_empty_a_class_is_rejected_whatever_the_seed(seed):
    # Largest distance of points on the shorter side from a boundary at 0.38, in one dimension.
    room = signed_distance([[0.95], [-0.95]], [1.0], [0.38])[0]
    with pytest.raises(ValueError, match=r"Pass a margin below 2\.86344, a smaller reference_norm, or a larger radius"):
        make_ball_classification(10, 3, margin=room * (1 + 1e-12), random_state=seed)
    _, y, _, _ = make_ball_classification(10, 1, margin=room * 0.99, random_state=seed)
    assert set(y.tolist()) == {-1, 1}


def test_a_hopelessly_rare_margin_ends_in_an_error():
    with pytest.raises(ValueError, match=r"Only 0 of 1\d{4} random points lie farther than margin=2.8"):
        sample_classes(10, 200, rng(), margin=2.8, reference_norm=0.38, radius=0.95, rows_of_grace=100)


def test_a_hopelessly_rare_class_ends_in_an_error():
    with pytest.raises(ValueError, match=r"None of 1\d{4} random points lies in class (1|-1): .*\n.*reference_norm"):
        sample_classes(10, 200, rng(), margin=0, reference_norm=0.9, radius=0.95, rows_of_grace=100)


def test_a_missing_class_replaces_only_the_last_row():
    replaced = 0
    for seed in range(20):
        many, sides, _, _ = make_ball_classification(1000, 20, reference_norm=0.6, random_state=seed)
        X, y, p, w = make_ball_classification(8, 20, reference_norm=0.6, random_state=seed)
        missing = bool(np.all(sides[:8] == sides[0]))
        np.testing.assert_array_equal(X[: 8 - missing], many[: 8 - missing])
        np.testing.assert_array_equal(y[: 8 - missing], sides[: 8 - missing])
        assert signed_distance(X[-1], w, p) * y[-1] > 0.01
        assert set(y.tolist()) == {-1, 1}
        replaced += missing
    assert 0 < replaced < 20


def test_memory_use_stays_below_two_copies_of_the_points():
    make_ball_classification(2, 200, random_state=0)
    tracemalloc.start()
    X, y, _, _ = make_ball_classification(20_000, 200, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - X.nbytes - y.nbytes < X.nbytes / 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 1}, "n_samples must be an integer of at least 2; got 1"),
        ({"n_samples": 10.0}, "n_samples must be an integer of at least 2; got 10.0"),
        ({"n_samples": True}, "n_samples must be an integer of at least 2; got True"),
        ({"n_features": 0}, "n_features must be an integer of at least 1; got 0"),
        ({"n_features": True}, "n_features must be an integer of at least 1; got True"),
        ({"margin": -0.1}, "margin must be a finite non-negative number; got -0.1"),
        ({"margin": np.nan}, "margin must be a finite non-negative number; got nan"),
        ({"margin": np.inf}, "margin must be a finite non-negative number; got inf"),
        ({"radius": 1}, "radius must be a number above 0 and below 1; got 1"),
        ({"radius": 0}, "radius must be a number above 0 and below 1; got 0"),
        ({"radius": "0.9"}, "radius must be a number above 0 and below 1; got '0.9'"),
        ({"reference_norm": 0.95}, "reference_norm must be a non-negative number below radius=0.95; got 0.95"),
        ({"reference_norm": -0.1}, "reference_norm must be a non-negative number below radius=0.95; got -0.1"),
        ({"random_state": -1}, "random_state must be None, a non-negative integer, .*; got -1"),
        ({"random_state": "seed"}, "random_state must be None, a non-negative integer, .*; got 'seed'"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_ball_classification(**parameters)


def test_an_error_about_a_parameter_says_what_to_pass():
    """The default of reference_norm is too large for this radius, so the advice cannot be to omit reference_norm."""
    with pytest.raises(ValueError, match=r"below radius=0\.3; got 0\.38\.\nPass another value as reference_norm\.$"):
        make_ball_classification(radius=0.3)
