"""The loss of one additional cell, and the placement of new cells."""

import numpy as np
import pytest

from hyplearn.embedding.poincare_map.cells import connected_graph
from hyplearn.embedding.poincare_map.divergence import forest_accessibilities
from hyplearn.embedding.poincare_map.placement import Fixed, Landmarks, loss_at, walk
from hyplearn.geometry import distance, exp_map, gap, pairwise_distance
from support import naive
from support.balls import cloud


def problem(n=20, d=2):
    rng = np.random.default_rng(0)
    return cloud(rng, n, d, 1.0, 0.01), forest_accessibilities(connected_graph(rng.standard_normal((n, 3)), 5, 1.0)[0])


def moved(X, V):
    """Points moved along the geodesics with frame coordinates V."""
    return exp_map(V * gap(X)[:, None] / 2, X)


@pytest.fixture
def among():
    """Points, their normalisers for γ = 1.2, and the row of a new cell."""
    X, Q = problem()
    row = np.random.default_rng(3).dirichlet(np.ones(21))
    return X, Q, row[:20], row[20]


def loss_of_one_more(X, Q, q, own, gamma, x):
    """Sum of the divergences of all rows after adding x, up to terms that do not depend on x."""
    points = np.concatenate([X, x[None]])
    D = pairwise_distance(points)
    rows = np.block([[Q, q[:, None]], [q[None], np.array([[own]])]])
    P = np.exp(-gamma * D)
    P /= P.sum(axis=1, keepdims=True)
    f = np.log(rows) + gamma * D
    return 2 * np.sum(q * f[20, :20]) - np.sum(P * f)


def terms(among, gamma, x):
    X, Q, q, own = among
    return loss_at(Fixed.of(X, Q, gamma), q, np.log(q), own, x)


def test_the_loss_of_a_new_cell_matches_all_rows_with_it(among):
    here, there = np.array([0.1, 0.2]), np.array([-0.3, 0.5])
    naive_change = loss_of_one_more(*among, 1.2, there) - loss_of_one_more(*among, 1.2, here)
    assert terms(among, 1.2, there)[0] - terms(among, 1.2, here)[0] == pytest.approx(naive_change, rel=1e-9)


def test_gradient_and_hessian_of_a_new_cell_are_slopes_along_geodesics(among):
    x = np.array([0.1, 0.2])
    value, hessian, downhill = terms(among, 1.2, x)
    for v in np.array([[1.0, 0.0], [0.0, 1.0], [0.6, -0.8]]):
        ahead, behind = (terms(among, 1.2, walk(x, h * v))[0] for h in (1e-4, -1e-4))
        assert (ahead - behind) / 2e-4 == pytest.approx(-downhill @ v, rel=1e-6)
        assert (ahead - 2 * value + behind) / 1e-8 == pytest.approx(v @ hessian @ v, rel=1e-4)


def test_a_step_follows_the_exponential_map(among):
    X = among[0]
    V = np.random.default_rng(0).standard_normal(X.shape)
    np.testing.assert_allclose([walk(x, v) for x, v in zip(X, V, strict=True)], moved(X, V), rtol=1e-14)
    assert np.array_equal(walk(X[0], np.zeros(2)), X[0])


def test_the_gradient_vanishes_at_a_placed_cell():
    rng = np.random.default_rng(0)
    cells, new = rng.standard_normal((60, 3)), rng.standard_normal((5, 3))
    Q = forest_accessibilities(connected_graph(cells, 8, 1.0)[0])
    X = cloud(rng, 60, 2, 1.0, 0.3)
    reported = []
    placed = Landmarks(cells, Q, X).place(new, n_neighbors=8, sigma=1.0, gamma=1.0, report=reported.append)
    again = Landmarks(cells, Q, X).place(new[2:3], n_neighbors=8, sigma=1.0, gamma=1.0)
    np.testing.assert_allclose(again[0], placed[2], rtol=1e-12)
    assert reported == [5]
    for k in range(5):
        near = np.argsort(np.linalg.norm(cells - new[k], axis=1))[:8]
        lengths = np.linalg.norm(cells[near] - new[k], axis=1)
        larger = np.zeros((61, 61))
        larger[:60, :60] = connected_graph(cells, 8, 1.0)[0].toarray()
        larger[60, near] = larger[near, 60] = np.exp(-((lengths / lengths.max()) ** 2) / 2)
        row = naive.forest_accessibilities(larger)[60]
        _, hessian, downhill = loss_at(Fixed.of(X, Q, 1.0), row[:60], np.log(row[:60]), row[60], placed[k])
        # The gradient vanishes, or the point is one of the cells, where the loss is not differentiable.
        assert np.linalg.norm(downhill) < 1e-6 or distance(X, placed[k]).min() == 0
        assert np.linalg.eigvalsh(hessian).min() > 0
