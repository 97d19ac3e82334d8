"""Graphs of nearest neighbours and their forest accessibilities."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from hyplearn.embedding.poincare_map.forest import accessibilities_of_new, forest_accessibilities, forest_distances
from hyplearn.embedding.poincare_map.neighbour_graph import (
    connected_graph,
    edge_weights,
    joining_edges,
    neighbours_among,
)
from support import naive


@pytest.fixture
def cells():
    return np.random.default_rng(0).standard_normal((40, 3))


def test_a_graph_is_symmetric_with_weights_by_the_longest_edge_of_each_cell(cells):
    graph, joints = connected_graph(cells, 4, 0.8)
    D = np.linalg.norm(cells[:, None] - cells, axis=2)
    due = np.zeros_like(D)
    for i in range(40):
        nearest = np.argsort(D[i])[1:5]
        due[i, nearest] = np.exp(-((D[i, nearest] / D[i, nearest].max()) ** 2) / (2 * 0.8**2))
    np.testing.assert_allclose(graph.toarray(), np.maximum(due, due.T), rtol=1e-12)
    assert len(joints.edges) == 0
    assert set(connected_graph(cells, 4, None)[0].data) == {1.0}


def test_weights_do_not_see_the_scale_and_equal_cells_weigh_one(cells):
    np.testing.assert_allclose(connected_graph(1e9 * cells, 4, 1.0)[0].data, connected_graph(cells, 4, 1.0)[0].data)
    assert edge_weights(np.zeros((2, 3)), 0.5).tolist() == [[1.0] * 3] * 2


def test_distances_of_close_cells_far_from_the_origin_keep_their_digits():
    X = 1e7 + np.array([[0.0] * 20, [1e-3] * 20, [3e-3] * 20])
    new = X[:1] + 1e-4
    near = neighbours_among(NearestNeighbors(n_neighbors=1, algorithm="brute").fit(X), new)
    assert near.distances[0, 0] == pytest.approx(np.linalg.norm(X[near.cells[0, 0]] - new[0]), rel=1e-12)


def test_parts_are_joined_by_their_shortest_edges(cells):
    apart = np.concatenate([cells[:20], cells[20:30] + 50.0, cells[30:] - 80.0])
    graph, joints = connected_graph(apart, 4, 1.0)
    assert connected_components(graph)[0] == 1
    assert sorted(joints.sizes) == [10, 10, 20]
    D = np.linalg.norm(apart[:, None] - apart, axis=2)
    parts = [slice(0, 20), slice(20, 30), slice(30, 40)]
    due = sorted([D[parts[0], parts[1]].min(), D[parts[0], parts[2]].min()])
    np.testing.assert_allclose(sorted(joints.lengths), due, rtol=1e-12)
    for (a, b), length in zip(joints.edges, joints.lengths, strict=True):
        assert D[a, b] == pytest.approx(length, rel=1e-12)
        assert graph[a, b] == graph[b, a] == pytest.approx(np.exp(-0.5))  # the weight of each cell's longest edge


def test_joints_are_a_tree_over_parts_of_any_order():
    X = np.array([[0.0], [10.0], [0.1], [21.0], [10.2], [21.3]])
    edges, lengths = joining_edges(X, np.array([0, 1, 0, 2, 1, 2]))
    assert {frozenset(edge) for edge in edges.tolist()} == {frozenset({2, 1}), frozenset({4, 3})}
    np.testing.assert_allclose(sorted(lengths), [9.9, 10.8])


def test_accessibilities_are_those_of_the_definition_and_rows_add_up_to_one(cells):
    graph, _ = connected_graph(cells, 4, 1.0)
    Q = forest_accessibilities(graph)
    np.testing.assert_allclose(Q, naive.forest_accessibilities(graph.toarray()), rtol=1e-10)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-13)
    assert np.array_equal(Q, Q.T)


def chain(n, weight):
    return sparse.diags_array([np.full(n - 1, weight)] * 2, offsets=[-1, 1], shape=(n, n)).tocsr()


def test_the_smallest_accessibilities_keep_their_digits():
    """Along a chain every node passes on the same share, r with w r² - (1 + 2w) r + w = 0."""
    n, w = 60, 1e-3
    Q = forest_accessibilities(chain(n, w))
    share = 2 * w / (1 + 2 * w + np.sqrt((1 + 2 * w) ** 2 - 4 * w**2))
    assert Q[30, 2] < 1e-80
    np.testing.assert_allclose(Q[30, 2:29] / Q[30, 3:30], share, rtol=1e-11)


def test_accessibilities_below_the_range_of_floats_are_refused():
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
    rows, own = accessibilities_of_new(naive.forest_accessibilities(weights), neighbours, new)
    for k in range(2):
        larger = np.zeros((41, 41))
        larger[:40, :40] = weights
        larger[40, neighbours[k]] = larger[neighbours[k], 40] = new[k]
        due = naive.forest_accessibilities(larger)[40]
        np.testing.assert_allclose([*rows[k], own[k]], due, rtol=1e-10)
