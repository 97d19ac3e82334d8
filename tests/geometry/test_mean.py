"""The Fréchet mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.datasets import load_mammals
from hyplearn.geometry import conformal_factor, distance, frechet_mean, gap, log_map, midpoint, rotate, translate
from hyplearn.geometry.mean import FEW_DIMENSIONS, MeanEquations, sample_hessian, summed_equations
from support.balls import CURVATURES, at_gap, cloud


def gradient(X, m, weights=None, c=1.0):
    """Length of the gradient at m, for c = 1: a bound on the distance to the mean."""
    weights = np.ones(len(X)) if weights is None else weights
    step = conformal_factor(m, c=c) * np.average(log_map(X, m, c=c), axis=0, weights=weights)
    return np.sqrt(c) * np.linalg.norm(step)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize(
    ("n", "d", "smallest_gap"), [(2, 2, 0.1), (50, 3, 1e-3), (300, 2, 1e-12), (40, 100, 0.01), (1, 5, 0.1)]
)
def test_gradient_vanishes_at_the_mean(n, d, smallest_gap, c):
    rng = np.random.default_rng(0)
    X = np.array([at_gap(rng, d, g, c) for g in np.geomspace(smallest_gap, 0.9, n)])
    weights = rng.uniform(0, 2, n)
    assert gradient(X, frechet_mean(X, weights, c=c), weights, c) < 1e-11


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("d", [2, FEW_DIMENSIONS, FEW_DIMENSIONS + 1])
def test_the_equations_are_the_negative_gradient_and_the_hessian(d, c):
    """Compared with differences of the objective along geodesics from m, in frame coordinates."""
    rng = np.random.default_rng(5)
    X, m = cloud(rng, 30, d, c, smallest_gap=0.05), at_gap(rng, d, 0.6, c)
    weights = rng.uniform(0, 1, len(X))
    weights /= weights.sum()
    stiffness, pull, hessian, variance = summed_equations(X, gap(X, c=c), weights, m, c)
    if d > FEW_DIMENSIONS:
        product = sample_hessian(X, gap(X, c=c), weights, m, c)
        hessian = np.column_stack([product(u) for u in np.eye(d)])
    equations = MeanEquations(m, c, stiffness, pull, hessian, variance)

    def objective(step):
        return c / 2 * (weights @ distance(X, equations.moved(step), c=c) ** 2)

    h, u = 1e-3, rng.standard_normal(d)
    u /= np.linalg.norm(u)
    ahead, here, behind = objective(h * u), objective(0 * u), objective(-h * u)
    assert equations.pull @ u == pytest.approx((behind - ahead) / (2 * h), abs=1e-5)
    assert u @ equations.hessian @ u == pytest.approx((ahead - 2 * here + behind) / h**2, rel=1e-4)
    assert equations.variance == pytest.approx(2 * here)
    assert np.linalg.eigvalsh(equations.hessian).max() <= equations.stiffness * (1 + 1e-12)
    assert np.allclose(equations.hessian @ equations.newton_step(), equations.pull, rtol=1e-9, atol=1e-12)


def test_mean_of_two_points_is_their_midpoint():
    x, y = np.array([0.9, 0.1]), np.array([-0.3, 0.6])
    assert distance(frechet_mean([x, y]), midpoint(x, y)) < 1e-11


def test_mean_has_a_lower_objective_than_nearby_points():
    X = cloud(np.random.default_rng(1), 30, 2, 1.0, smallest_gap=0.01)
    m = frechet_mean(X)
    cost = np.sum(distance(X, m) ** 2)
    for angle in np.linspace(0, 2 * np.pi, 12):
        assert np.sum(distance(X, m + 1e-4 * np.array([np.cos(angle), np.sin(angle)])) ** 2) > cost


@given(st.integers(0, 10**6))
def test_mean_moves_with_the_points(seed):
    rng = np.random.default_rng(seed)
    X, a = cloud(rng, 12, 3, 1.0, smallest_gap=0.05), at_gap(rng, 3, 0.3, 1.0)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert distance(frechet_mean(translate(X, a)), translate(frechet_mean(X), a)) < 1e-9
    assert distance(frechet_mean(rotate(X, turn)), rotate(frechet_mean(X), turn)) < 1e-9


def test_weight_k_counts_a_row_k_times():
    X = cloud(np.random.default_rng(2), 5, 2, 1.0)
    copies = np.repeat(X, [3, 0, 1, 2, 1], axis=0)
    assert distance(frechet_mean(X, [3, 0, 1, 2, 1]), frechet_mean(copies)) < 1e-11


def test_mean_of_a_spread_out_tree_is_reached():
    """A gradient iteration with unit steps diverges here: radii reach 8.2, and the Hessian grows with them."""
    X = load_mammals().data
    assert gradient(X, frechet_mean(X)) < 1e-11


def test_mean_of_points_at_the_rim_is_as_good_as_floats_allow():
    X = np.array([[1 - 1e-15, 1e-9], [1 - 1e-15, -1e-9], [1 - 1e-15, 0.0]])
    m = frechet_mean(X)
    assert np.abs(m[1]) < 1e-9
    assert m[0] > 1 - 1e-6


def test_identical_points_are_their_own_mean_bit_for_bit():
    X = np.array([[0.1, 0.2], [0.3, -0.8], [0.3, -0.8]])
    assert np.array_equal(frechet_mean(X, [0, 1, 3]), X[1])
    rim = np.tile([1 - 1e-16, 0.0], (3, 1))
    assert np.array_equal(frechet_mean(rim), rim[0])


def test_the_mean_of_points_outside_the_ball_raises():
    with pytest.raises(ValueError, match="outside the open ball"):
        frechet_mean([[2.0, 0.0]])
    with pytest.raises(ValueError, match="outside the open ball"):
        frechet_mean([[2.0, 0.0], [0.1, 0.1]])


@pytest.mark.parametrize("weights", [[1, -1, 1], [0, 0, 0], [1, 1]])
def test_bad_weights_are_rejected(weights):
    with pytest.raises(ValueError, match="weights must be 3 non-negative numbers"):
        frechet_mean(np.zeros((3, 2)), weights)


def test_a_mean_not_reached_is_an_error_with_the_distance_left():
    X = load_mammals().data
    with pytest.raises(ArithmeticError, match="not reached in 1 steps"):
        frechet_mean(X, max_iter=1)


def test_the_mean_of_no_points_raises():
    with pytest.raises(ValueError, match=r"at least one point, as a row; got shape \(0, 2\)"):
        frechet_mean(np.zeros((0, 2)))


@pytest.mark.parametrize("d", [2, 20])
def test_the_mean_of_many_rows_does_not_depend_on_the_sample(d):
    """The rows of the initial sample are all in one corner, or have no weight."""
    rng = np.random.default_rng(3)
    X = cloud(rng, 50_000, d, 1.0, smallest_gap=0.01)
    X[::5] = X[0]
    assert gradient(X, frechet_mean(X)) < 1e-11
    weights = np.ones(len(X))
    weights[::5] = 0
    assert gradient(X, frechet_mean(X, weights), weights) < 1e-11


def test_the_mean_of_many_rows_at_the_rim_is_found():
    rng = np.random.default_rng(4)
    X = translate(cloud(rng, 30_000, 2, 1.0), [0.999999, 0.0])
    m = frechet_mean(X)
    assert gradient(X, m) < 1e-8
