"""PoincareKNeighborsClassifier: exact neighbours, and the interface of scikit-learn's KNeighborsClassifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import hyplearn
from hyplearn import PoincareKNeighborsClassifier
from hyplearn.estimators.neighbors import QUERIES
from hyplearn.geometry import pairwise_distance
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.nearest import PRODUCT_POINTS, PRODUCT_QUERIES, nearest, nearest_tree
from support.balls import at_gap, cloud


@parametrize_with_checks(
    [
        PoincareKNeighborsClassifier(3),
        PoincareKNeighborsClassifier(4, weights="distance"),
    ]
)
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


def deep(seed, n, d):
    """Points with all gaps down to 1e-15, including a few copies."""
    rng = np.random.default_rng(seed)
    X = np.array([at_gap(rng, d, 10.0**-g, 1.0) for g in rng.uniform(0, 15, n)])
    X[n // 2 : n // 2 + 10] = X[:10]
    return X


def naive_neighbors(X, Q, k, c=1.0):
    """Neighbours by sorting all distances; ties are in the order of the rows."""
    D = pairwise_distance(Q, X, c=c)
    rows = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, rows, axis=1), rows


@pytest.mark.parametrize("d", [1, 2, 3, 12, 13, 40])
@pytest.mark.parametrize("points", [deep, lambda seed, n, d: cloud(np.random.default_rng(seed), n, d, 1.0)])
def test_neighbours_match_all_distances_up_to_the_rim(d, points):
    X, Q = points(0, PRODUCT_POINTS + 200, d), points(1, PRODUCT_QUERIES + 20, d)  # several blocks of products
    Q[:10] = X[:10]
    distances, rows = nearest(nearest_tree(X, row_gaps(X, 1.0)), Q, row_gaps(Q, 1.0), 12, 1.0)
    expected, order = naive_neighbors(X, Q, 12)
    assert np.allclose(distances, expected, rtol=1e-15, atol=0)
    assert np.array_equal(rows, order)


def test_close_points_at_the_rim_are_distinguished_where_products_lose_all_digits():
    """Matrix products would compute squared distances of 1e-18 as differences of numbers near 1."""
    rng = np.random.default_rng(0)
    X = at_gap(rng, 30, 1e-7, 1.0) + 1e-9 * rng.standard_normal((200, 30))
    distances, rows = nearest(nearest_tree(X, row_gaps(X, 1.0)), X[:50], row_gaps(X[:50], 1.0), 5, 1.0)
    expected, order = naive_neighbors(X, X[:50], 5)
    assert np.allclose(distances, expected, rtol=1e-14, atol=0)
    assert np.array_equal(rows, order)


def test_equal_distances_come_in_the_order_of_rows():
    X = np.repeat([[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0], [0.0, -0.5]], 30, axis=0)[
        np.random.default_rng(0).permutation(120)
    ]
    model = PoincareKNeighborsClassifier(7).fit(X, np.arange(120) % 2)
    assert np.array_equal(model.kneighbors([[0.0, 0.0]])[1], [np.arange(7)])
    assert np.array_equal(model.kneighbors([[0.5, 0.0]], 30)[1][0], np.flatnonzero(X[:, 0] == 0.5))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("curvature", [-1.0, -0.3])
def test_votes_match_scikit_learn_with_the_same_distances(weights, curvature):
    rng, c = np.random.default_rng(0), -curvature
    X, Q, y = cloud(rng, 300, 3, c), cloud(rng, 60, 3, c), rng.integers(4, size=300)
    Q[:20] = X[:20]
    ours = PoincareKNeighborsClassifier(9, weights=weights, curvature=curvature).fit(X, y)
    theirs = KNeighborsClassifier(9, weights=weights, metric="precomputed").fit(pairwise_distance(X, c=c), y)
    D = pairwise_distance(Q, X, c=c)
    assert np.allclose(ours.predict_proba(Q), theirs.predict_proba(D), rtol=1e-12)
    assert np.array_equal(ours.predict(Q), theirs.predict(D))
    assert np.allclose(ours.kneighbors(Q)[0], theirs.kneighbors(D)[0], rtol=1e-14)


def test_training_points_are_not_their_own_neighbours():
    X = deep(0, 80, 2)
    rows = PoincareKNeighborsClassifier(5).fit(X, np.arange(80) % 2).kneighbors(return_distance=False)
    D = pairwise_distance(X)
    np.fill_diagonal(D, np.inf)
    assert np.array_equal(np.take_along_axis(D, rows, axis=1), np.sort(D, axis=1)[:, :5])
    assert not np.any(rows == np.arange(80)[:, None])


def test_threads_and_blocks_do_not_change_a_bit():
    X, y = cloud(np.random.default_rng(0), 500, 2, 1.0), np.arange(500) % 3
    new = cloud(np.random.default_rng(1), 2 * QUERIES + 7, 2, 1.0)
    model = PoincareKNeighborsClassifier(n_jobs=2).fit(X, y)
    expected = np.concatenate([model.predict_proba(part) for part in np.array_split(new, 3)])
    assert np.array_equal(model.predict_proba(new), expected)
    assert np.array_equal(PoincareKNeighborsClassifier(n_jobs=1).fit(X, y).predict_proba(new), expected)


def test_files_and_frames_give_the_same_neighbours(tmp_path):
    X, y = cloud(np.random.default_rng(0), 90, 2, 1.0), np.array(["ant", "bee"])[np.arange(90) % 2]
    np.savez(tmp_path / "points.npz", X=X, y=y)
    due = PoincareKNeighborsClassifier().fit(X, y).predict_proba(X)
    source = hyplearn.open_points(tmp_path / "points.npz", points="X", label="y")
    assert np.array_equal(PoincareKNeighborsClassifier().fit(source).predict_proba(tmp_path / "points.npz"), due)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = PoincareKNeighborsClassifier().fit(table, y)
    assert np.array_equal(model.predict_proba(table), due)
    assert model.kneighbors(n_neighbors=1)[0].shape == (90, 1)


def test_a_model_file_restores_it_bit_for_bit(tmp_path):
    X, y = cloud(np.random.default_rng(0), 50, 3, 1.0), np.arange(50) % 3
    model = PoincareKNeighborsClassifier(4, weights="distance").fit(X.astype(np.float32), y)
    hyplearn.save(model, tmp_path / "model.hyp")
    loaded = hyplearn.load(tmp_path / "model.hyp")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.kneighbors()[1].tolist() == model.kneighbors()[1].tolist()


def test_a_second_fit_replaces_the_first():
    X, y = cloud(np.random.default_rng(0), 60, 2, 1.0), np.arange(60) % 2
    model = PoincareKNeighborsClassifier(1).fit(X[:30], y[:30]).fit(X[30:], y[30:])
    assert np.array_equal(model.predict(X[30:]), y[30:])
    with pytest.raises(ValueError, match="outside the open ball"):
        model.fit(3 * X, y)
    assert np.array_equal(model.predict(X[30:]), y[30:])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1; got 0"),
        (
            {"n_neighbors": 31},
            r"n_neighbors must be at most 30, as there are 30 training points; got 31.\nPass a smaller",
        ),
        ({"weights": "inverse"}, 'weights must be "uniform" or "distance"; got \'inverse\''),
        ({"curvature": 0.5}, "curvature must be a negative finite number"),
        ({"outside": "clip"}, "outside must be"),
    ],
)
def test_bad_parameters_are_rejected(parameters, message):
    X, y = cloud(np.random.default_rng(0), 30, 2, 1.0), np.arange(30) % 2
    with pytest.raises(ValueError, match=message):
        PoincareKNeighborsClassifier(**parameters).fit(X, y)


def test_more_neighbours_than_points_are_rejected_in_a_query():
    X, y = cloud(np.random.default_rng(0), 30, 2, 1.0), np.arange(30) % 2
    model = PoincareKNeighborsClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be at most 29"):
        model.kneighbors(n_neighbors=30)
    assert model.kneighbors(X, 30)[0].shape == (30, 30)
