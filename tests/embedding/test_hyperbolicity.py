from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from hyplearn.embedding import hyperbolicity
from hyplearn.embedding.hyperbolicity import _four_points
from hyplearn.geometry import pairwise_distance
from support.balls import cloud


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def random_tree(n, seed=0):
    rng = np.random.default_rng(seed)
    tree = nx.Graph()
    tree.add_weighted_edges_from((i, int(rng.integers(i)), float(rng.uniform(0.1, 2))) for i in range(1, n))
    return tree


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_has_delta_0_and_is_recovered(seed):  # Buneman's four-point theorem; Saitou and Nei
    found = hyperbolicity(random_tree(60, seed))
    assert found.delta < 1e-12 * found.diameter
    assert found.tree_distortion < 1e-9
    assert found.hierarchy > 0.05
    assert found.gain > 0.05


def test_the_corners_of_a_square_have_the_known_delta():
    found = hyperbolicity([[0, 0], [0, 1], [1, 0], [1, 1]], metric="euclidean")
    assert found.relative_delta == pytest.approx(2 - np.sqrt(2))
    assert found.mean_delta == found.delta


def test_a_circle_has_the_largest_delta():
    found = hyperbolicity(nx.cycle_graph(40))
    assert found.relative_delta == pytest.approx(1)
    assert abs(found.gain) < 0.01


@pytest.mark.parametrize("X", [normal(80, 2), [[x, y] for x in range(9) for y in range(9)]])
def test_curvature_does_not_help_in_the_plane(X):
    found = hyperbolicity(X, metric="euclidean")
    assert found.flat_distortion < 1e-6
    assert abs(found.gain) < 0.001
    assert found.relative_delta > 0.4


def test_negative_curvature_does_not_help_on_a_sphere():
    X = normal(100, 3)
    X /= np.linalg.norm(X, axis=1)[:, None]
    D = np.arccos(np.clip(X @ X.T, -1, 1))
    np.fill_diagonal(D, 0)
    found = hyperbolicity(D)
    assert abs(found.gain) < 0.005
    assert found.relative_delta > 0.8


def test_hyperbolic_distances_have_a_bounded_delta():  # log 2 in curvature -1: Nica and Spakula
    found = hyperbolicity(pairwise_distance(cloud(np.random.default_rng(0), 80, 2, 1.0)))
    assert found.delta < np.log(2)
    assert found.hyperbolic_distortion < 1e-6
    assert found.gain > 0.05


def test_noise_in_many_dimensions_is_a_star():
    found = hyperbolicity(normal(100, 100), metric="euclidean")
    assert found.gain > 0.1
    assert found.hierarchy < 0.01


@pytest.mark.parametrize("D", [nx.cycle_graph(15), random_tree(15), nx.grid_2d_graph(4, 4)])
def test_a_tree_is_never_worse_than_a_star(D):
    assert hyperbolicity(D).hierarchy > -1e-9


def test_four_points_match_the_definition():
    D = pairwise_distance(cloud(np.random.default_rng(1), 12, 3, 1.0))

    def delta(i, j, k, m):
        sums = sorted([D[i, j] + D[k, m], D[i, k] + D[j, m], D[i, m] + D[j, k]])
        return (sums[2] - sums[1]) / 2

    values = [delta(*four) for four in combinations(range(12), 4)]
    assert _four_points(D) == pytest.approx((max(values), np.mean(values)))


def test_the_unit_and_the_order_of_rows_do_not_matter():
    X = normal(60, 4)
    one = hyperbolicity(X, metric="euclidean")
    other = hyperbolicity(1000 * X[::-1], metric="euclidean")
    assert other.relative_delta == pytest.approx(one.relative_delta)
    assert other.star_distortion == pytest.approx(one.star_distortion)
    assert other.tree_distortion == pytest.approx(one.tree_distortion)
    assert other.flat_distortion == pytest.approx(one.flat_distortion, rel=0.02)
    assert other.hyperbolic_distortion == pytest.approx(one.hyperbolic_distortion, rel=0.02)


def test_many_rows_are_sampled_by_the_seed():
    D = pairwise_distance(cloud(np.random.default_rng(0), 2000, 2, 1.0))
    one, again, other = (hyperbolicity(D, n_points=40, random_state=seed) for seed in (3, 3, 4))
    assert len(one.rows) == 40
    assert np.all(np.diff(one.rows) > 0)
    assert np.array_equal(one.rows, again.rows)
    assert np.array_equal(one.flat_distances, again.flat_distances)
    assert np.array_equal(one.hyperbolic_distances, again.hyperbolic_distances)
    assert not np.array_equal(one.rows, other.rows)
    i, j = np.triu_indices(40, 1)
    assert np.array_equal(one.distances, D[one.rows[i], one.rows[j]])


def test_copies_of_points_are_harmless():
    X = np.repeat(normal(10, 3), 3, axis=0)
    found = hyperbolicity(X, metric="euclidean")
    assert np.isfinite([found.gain, found.hierarchy, found.relative_delta]).all()


def test_the_repr_shows_the_measurements():
    text = repr(hyperbolicity(nx.balanced_tree(2, 3)))
    assert text.startswith("<Hyperbolicity of 15 points: 2δ/diameter 0.00 (mean 0.000); distortion of a star 0.")
    assert "tree 0.000, hyperbolic 2-D 0." in text


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (normal(10, 3), {}, 'got shape \\(10, 3\\).\nFor rows of features pass metric="euclidean"'),
        (np.full((5, 5), np.nan), {}, "must be finite"),
        ([[0.0, 1.0], [np.nan, 1.0]], {"metric": "euclidean"}, "contains NaN"),
        (normal(3, 2), {"metric": "euclidean"}, r"hyperbolicity\(\) needs at least 4 points; got 3"),
        (normal(5, 2), {"metric": "euclidean", "n_components": 7}, r"hyperbolicity\(\) needs at least 8 points; got 5"),
        (np.zeros((6, 6)), {}, "All distances are 0"),
        (normal(9, 2), {"metric": "euclidean", "n_points": 3}, "n_points"),
        (normal(9, 2), {"metric": "euclidean", "n_components": 0}, "n_components"),
        (normal(9, 2), {"metric": "beeline"}, "metric"),
    ],
)
def test_bad_input_is_an_error(X, options, message):
    with pytest.raises(ValueError, match=message):
        hyperbolicity(X, **options)
