"""The loss of a map, and the loss of one cell more."""

import numba
import numpy as np
import pytest

from hyplearn.embedding.poincare_map.divergence import Divergence
from hyplearn.embedding.poincare_map.forest import forest_accessibilities
from hyplearn.embedding.poincare_map.neighbour_graph import connected_graph
from hyplearn.embedding.poincare_map.placement import Placed, loss_at, walked
from hyplearn.geometry import distance, exp_map, gap, pairwise_distance, translate
from support import naive
from support.balls import at_gap, cloud


def problem(n=30, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return cloud(rng, n, d, 1.0, 0.01), forest_accessibilities(connected_graph(rng.standard_normal((n, 3)), 5, 1.0)[0])


def moved(X, V):
    """Along the geodesics with the frame coordinates V."""
    return exp_map(V * gap(X)[:, None] / 2, X)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_loss_and_normalisers_are_those_of_the_formula(d, gamma):
    X, Q = problem(d=d)
    D = naive.pairwise_distance(X, X, 1.0)
    divergence = Divergence(Q, gamma)
    assert divergence.value_and_gradient(X)[0] == pytest.approx(np.mean(naive.row_divergences(Q, D, gamma)), rel=1e-9)
    exaggerated = np.mean(naive.row_divergences(Q, D, gamma) + 2 * naive.row_attractions(Q, D, gamma))
    assert divergence.value_and_gradient(X, 3.0)[0] == pytest.approx(exaggerated, rel=1e-9)
    Z, F = divergence.normalisers(X)
    powers = np.exp(-gamma * D)
    np.testing.assert_allclose(Z, powers.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(F, np.sum(powers * (np.log(Q) + gamma * D), axis=1) / powers.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("exaggeration", [1.0, 4.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradient_is_the_slope_of_the_loss(d, exaggeration):
    X, Q = problem(d=d)
    V = np.random.default_rng(1).standard_normal(X.shape)
    divergence = Divergence(Q, 1.3)
    values = [divergence.value_and_gradient(moved(X, h * V), exaggeration)[0] for h in (1e-6, -1e-6)]
    slope = np.vdot(divergence.value_and_gradient(X, exaggeration)[1], V)
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope, rel=1e-6)


def test_loss_is_invariant_under_isometries():
    X, Q = problem()
    divergence = Divergence(Q, 1.0)
    there = divergence.value_and_gradient(translate(X, np.array([0.4, -0.3])))[0]
    assert there == pytest.approx(divergence.value_and_gradient(X)[0], rel=1e-11)


def test_accessibilities_that_are_a_softmax_of_distances_have_no_loss():
    """Three cells whose rows are alike in all: three points at equal distances."""
    Q = np.where(np.eye(3) > 0, 0.6, 0.2)
    corners = np.exp(2j * np.pi * np.arange(3) / 3)
    unit = np.stack([corners.real, corners.imag], axis=1)
    radius = min(np.linspace(0.01, 0.9, 2000), key=lambda r: abs(distance(r * unit[0], r * unit[1]) - np.log(3) / 2))
    assert Divergence(Q, 2.0).value_and_gradient(radius * unit)[0] == pytest.approx(0, abs=1e-6)


def test_points_at_the_rim_and_in_one_place_have_finite_loss_and_gradient():
    X, Q = problem()
    rng = np.random.default_rng(0)
    X[0], X[1] = at_gap(rng, 2, 1e-14, 1.0), at_gap(rng, 2, 1e-12, 1.0)
    X[5] = X[4]
    value, gradient = Divergence(Q, 1.0).value_and_gradient(X)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_the_same_bits_for_any_number_of_threads():
    X, Q = problem(230)
    threads = numba.get_num_threads()
    value, gradient = Divergence(Q, 1.0).value_and_gradient(X)
    try:
        numba.set_num_threads(1)
        again, same = Divergence(Q, 1.0).value_and_gradient(X)
    finally:
        numba.set_num_threads(threads)
    assert again == value
    assert np.array_equal(same, gradient)


@pytest.fixture
def among():
    """Points, their normalisers for γ = 1.2, and the row of a new cell."""
    X, Q = problem(20)
    row = np.random.default_rng(3).dirichlet(np.ones(21))
    return X, Q, row[:20], row[20]


def loss_of_one_more(X, Q, q, own, gamma, x):
    """The sum of the divergences of all rows with x added, up to what does not depend on x."""
    points = np.concatenate([X, x[None]])
    D = pairwise_distance(points)
    rows = np.block([[Q, q[:, None]], [q[None], np.array([[own]])]])
    P = np.exp(-gamma * D)
    P /= P.sum(axis=1, keepdims=True)
    f = np.log(rows) + gamma * D
    return 2 * np.sum(q * f[20, :20]) - np.sum(P * f)


def terms(among, gamma, x):
    X, Q, q, own = among
    return loss_at(
        np.ascontiguousarray(X.T), 1 / gap(X), *Divergence(Q, gamma).normalisers(X), gamma, q, np.log(q), own, x
    )


def test_the_loss_of_a_new_cell_is_that_of_all_rows_with_it(among):
    here, there = np.array([0.1, 0.2]), np.array([-0.3, 0.5])
    naive_change = loss_of_one_more(*among, 1.2, there) - loss_of_one_more(*among, 1.2, here)
    assert terms(among, 1.2, there)[0] - terms(among, 1.2, here)[0] == pytest.approx(naive_change, rel=1e-9)


def test_gradient_and_hessian_of_a_new_cell_are_slopes_along_geodesics(among):
    x = np.array([0.1, 0.2])
    value, hessian, downhill = terms(among, 1.2, x)
    for v in np.array([[1.0, 0.0], [0.0, 1.0], [0.6, -0.8]]):
        ahead, behind = (terms(among, 1.2, walked(x, h * v))[0] for h in (1e-4, -1e-4))
        assert (ahead - behind) / 2e-4 == pytest.approx(-downhill @ v, rel=1e-6)
        assert (ahead - 2 * value + behind) / 1e-8 == pytest.approx(v @ hessian @ v, rel=1e-4)


def test_a_walk_is_the_exponential_map(among):
    X = among[0]
    V = np.random.default_rng(0).standard_normal(X.shape)
    np.testing.assert_allclose([walked(x, v) for x, v in zip(X, V, strict=True)], moved(X, V), rtol=1e-14)
    assert np.array_equal(walked(X[0], np.zeros(2)), X[0])


def test_a_placed_cell_is_at_rest():
    rng = np.random.default_rng(0)
    cells, new = rng.standard_normal((60, 3)), rng.standard_normal((5, 3))
    Q = forest_accessibilities(connected_graph(cells, 8, 1.0)[0])
    X = cloud(rng, 60, 2, 1.0, 0.3)
    told = []
    placed = Placed(cells, Q, X).place(new, n_neighbors=8, sigma=1.0, gamma=1.0, report=told.append)
    again = Placed(cells, Q, X).place(new[2:3], n_neighbors=8, sigma=1.0, gamma=1.0)
    np.testing.assert_allclose(again[0], placed[2], rtol=1e-12)
    assert told == [5]
    for k in range(5):
        near = np.argsort(np.linalg.norm(cells - new[k], axis=1))[:8]
        lengths = np.linalg.norm(cells[near] - new[k], axis=1)
        larger = np.zeros((61, 61))
        larger[:60, :60] = connected_graph(cells, 8, 1.0)[0].toarray()
        larger[60, near] = larger[near, 60] = np.exp(-((lengths / lengths.max()) ** 2) / 2)
        row = naive.forest_accessibilities(larger)[60]
        _, hessian, downhill = loss_at(
            np.ascontiguousarray(X.T),
            1 / gap(X),
            *Divergence(Q, 1.0).normalisers(X),
            1.0,
            row[:60],
            np.log(row[:60]),
            row[60],
            placed[k],
        )
        # At rest, or at one of the cells itself, where the loss has a corner.
        assert np.linalg.norm(downhill) < 1e-6 or distance(X, placed[k]).min() == 0
        assert np.linalg.eigvalsh(hessian).min() > 0
