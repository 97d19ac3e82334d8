"""Forest accessibilities of graphs, and the loss of a map."""

import numba
import numpy as np
import pytest
from scipy import sparse

from hyplearn.embedding.poincare_map.cells import connected_graph
from hyplearn.embedding.poincare_map.divergence import (
    Divergence,
    forest_accessibilities,
    forest_distances,
    new_accessibilities,
)
from hyplearn.geometry import distance, exp_map, gap, translate
from support import naive
from support.balls import at_gap, cloud


@pytest.fixture
def cells():
    return np.random.default_rng(0).standard_normal((40, 3))


def test_accessibilities_match_the_definition_and_rows_add_up_to_one(cells):
    graph, _ = connected_graph(cells, 4, 1.0)
    Q = forest_accessibilities(graph)
    np.testing.assert_allclose(Q, naive.forest_accessibilities(graph.toarray()), rtol=1e-10)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-13)
    assert np.array_equal(Q, Q.T)


def chain(n, weight):
    return sparse.diags_array([np.full(n - 1, weight)] * 2, offsets=[-1, 1], shape=(n, n)).tocsr()


def test_the_smallest_accessibilities_keep_their_digits():
    """Along a chain, each node passes on the same share r, with w r² - (1 + 2w) r + w = 0."""
    n, w = 60, 1e-3
    Q = forest_accessibilities(chain(n, w))
    share = 2 * w / (1 + 2 * w + np.sqrt((1 + 2 * w) ** 2 - 4 * w**2))
    assert Q[30, 2] < 1e-80
    np.testing.assert_allclose(Q[30, 2:29] / Q[30, 3:30], share, rtol=1e-11)


def test_accessibilities_below_the_range_of_floats_are_rejected():
    with pytest.raises(ValueError, match=r"of the 60 cells are so far.*\nRaise sigma or n_neighbors"):
        forest_accessibilities(chain(60, 1e-7))


def test_logarithmic_forest_distances_are_a_metric(cells):  # Chebotarev, 2011
    Q = forest_accessibilities(connected_graph(cells, 4, 1.0)[0])
    D = forest_distances(Q)
    assert np.all(np.diagonal(D) == 0)
    assert np.all(D[~np.eye(40, dtype=bool)] > 0)
    assert np.all(D[:, :, None] <= D[:, None, :] + D.T[None] + 1e-12)
    assert D[3, 7] == pytest.approx(np.log(Q[3, 3] * Q[7, 7] / Q[3, 7] ** 2) / 2)


def test_a_new_node_has_the_row_of_the_graph_with_it(cells):
    weights = connected_graph(cells, 4, 1.0)[0].toarray()
    neighbours, new = np.array([[3, 8, 12], [30, 1, 2]]), np.array([[1.0, 0.5, 0.7], [0.2, 1.0, 0.9]])
    rows, own = new_accessibilities(naive.forest_accessibilities(weights), neighbours, new)
    for k in range(2):
        larger = np.zeros((41, 41))
        larger[:40, :40] = weights
        larger[40, neighbours[k]] = larger[neighbours[k], 40] = new[k]
        due = naive.forest_accessibilities(larger)[40]
        np.testing.assert_allclose([*rows[k], own[k]], due, rtol=1e-10)


def problem(n=30, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return cloud(rng, n, d, 1.0, 0.01), forest_accessibilities(connected_graph(rng.standard_normal((n, 3)), 5, 1.0)[0])


def moved(X, V):
    """Points moved along the geodesics with frame coordinates V."""
    return exp_map(V * gap(X)[:, None] / 2, X)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_loss_and_normalisers_match_the_formula(d, gamma):
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
    """Three symmetric cells are embedded as three points at equal distances."""
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
