"""Graphs of nearest neighbours."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from hyplearn.embedding.poincare_map.cells import connected_graph, edge_weights, joining_edges, neighbours_among


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


def test_weights_are_scale_invariant_and_1_for_equal_cells(cells):
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
        assert graph[a, b] == graph[b, a] == pytest.approx(np.exp(-0.5))  # weight of the longest edge of each cell


def test_joints_are_a_tree_over_parts_of_any_order():
    X = np.array([[0.0], [10.0], [0.1], [21.0], [10.2], [21.3]])
    edges, lengths = joining_edges(X, np.array([0, 1, 0, 2, 1, 2]))
    assert {frozenset(edge) for edge in edges.tolist()} == {frozenset({2, 1}), frozenset({4, 3})}
    np.testing.assert_allclose(sorted(lengths), [9.9, 10.8])
