import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hyplearn.embedding import HyperbolicMDS, TreeEmbedding
from hyplearn.embedding.descent import Hydra
from hyplearn.embedding.mds import FARTHEST, spanning_tree_start
from hyplearn.embedding.mds.distances import descend, read_distances, stress_and_gradient, warn_about_distorted_pairs
from hyplearn.geometry import distance, exp_map, gap, pairwise_distance, translate
from support.balls import cloud


def hyperbolic(n, d, c=1.0, seed=0):
    """Random points of a ball of curvature -c, and their distances."""
    X = cloud(np.random.default_rng(seed), n, d, c, 0.02)
    return X, pairwise_distance(X, c=c)


@pytest.fixture(scope="module")
def noisy():
    """Distances in five dimensions that have no exact embedding in two."""
    return hyperbolic(30, 5)[1]


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize(("n", "d"), [(12, 2), (60, 4), (450, 3)])  # the last one uses Lanczos' method
def test_hyperbolic_distances_are_recovered(n, d, refine):
    D = hyperbolic(n, d)[1]
    model = HyperbolicMDS(d, refine=refine, curvature=-1.0).fit(D)
    np.testing.assert_allclose(pairwise_distance(model.embedding_), D, atol=1e-8)
    assert model.stress_ < 1e-9


@pytest.mark.parametrize("c", [0.3, 4.0])
def test_other_curvatures_are_recovered_in_their_own_balls(c):
    D = hyperbolic(30, 3, c)[1]
    model = HyperbolicMDS(3, curvature=-c).fit(D)
    np.testing.assert_allclose(pairwise_distance(model.embedding_, c=c), D, atol=1e-8)


def test_the_curvature_of_hyperbolic_distances_is_found():
    D = hyperbolic(60, 2, 2.5)[1]
    model = HyperbolicMDS(2, curvature="auto", refine=False).fit(D)
    assert model.curvature_ == pytest.approx(-2.5, rel=0.1)
    assert model.stress_ < HyperbolicMDS(2, curvature=-1.0, refine=False).fit(D).stress_


def test_only_distances_matter():  # invariance under isometries
    X, D = hyperbolic(30, 2)
    moved = pairwise_distance(translate(X, np.array([0.3, -0.4])))
    one, other = HyperbolicMDS(curvature=-1.0).fit(D), HyperbolicMDS(curvature=-1.0).fit(moved)
    np.testing.assert_allclose(pairwise_distance(one.embedding_), pairwise_distance(other.embedding_), atol=1e-8)


def test_the_order_of_points_does_not_matter(noisy):
    order = np.random.default_rng(0).permutation(len(noisy))
    one = HyperbolicMDS(refine=False, curvature=-1.0).fit(noisy)
    other = HyperbolicMDS(refine=False, curvature=-1.0).fit(noisy[np.ix_(order, order)])
    assert one.stress_ == pytest.approx(other.stress_, rel=1e-9)
    np.testing.assert_allclose(
        pairwise_distance(one.embedding_)[np.ix_(order, order)], pairwise_distance(other.embedding_), atol=1e-7
    )


@pytest.mark.parametrize("relative", [False, True])
def test_stress_matches_the_formula(noisy, relative):
    X = Hydra.of(noisy, 2).points
    above = np.triu_indices(len(X), 1)
    errors = pairwise_distance(X)[above] - noisy[above]
    due = np.sum((errors / noisy[above]) ** 2 if relative else errors**2)
    assert stress_and_gradient(X, noisy, relative)[0] == pytest.approx(due, rel=1e-12)
    model = HyperbolicMDS(refine=False, loss="relative" if relative else "absolute", curvature=-1.0).fit(noisy)
    total = len(errors) if relative else np.sum(noisy[above] ** 2)
    assert model.stress_ == pytest.approx(np.sqrt(due / total), rel=1e-12)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_gradient_is_the_slope_of_the_stress(d, relative):
    rng = np.random.default_rng(d)
    X, D = cloud(rng, 9, d, 1.0, 0.01), hyperbolic(9, d, seed=5)[1]
    V = rng.standard_normal(X.shape)
    values = [stress_and_gradient(exp_map(h * V * gap(X)[:, None] / 2, X), D, relative)[0] for h in (1e-6, -1e-6)]
    slope = np.vdot(stress_and_gradient(X, D, relative)[1], V)
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("relative", [False, True])
def test_stress_never_rises(noisy, relative):
    descent = descend(Hydra.of(noisy, 2).points, noisy, relative, tol=1e-8, max_iter=60)
    assert len(descent.values) > 5
    assert np.all(np.diff(descent.values) < 0)
    assert descent.values[-1] == pytest.approx(stress_and_gradient(descent.X, noisy, relative)[0])


def test_refinement_lowers_the_stress_and_reports_by_how_much(noisy):
    model = HyperbolicMDS(curvature=-1.0).fit(noisy)
    assert model.stress_ < 0.9 * model.spectral_stress_
    assert model.spectral_stress_ == pytest.approx(HyperbolicMDS(refine=False, curvature=-1.0).fit(noisy).stress_)


def test_identical_points_stay_identical():
    X = hyperbolic(12, 2)[0]
    D = pairwise_distance(X[[*range(12), 3]])
    embedding = HyperbolicMDS().fit_transform(D)
    assert distance(embedding[3], embedding[12]) < 1e-7
    assert np.all(np.isfinite(HyperbolicMDS().fit_transform(np.zeros((4, 4)))))
    assert np.all(np.isfinite(HyperbolicMDS(curvature="auto").fit_transform(np.zeros((4, 4)))))


@pytest.mark.parametrize("refine", [False, True])
def test_a_training_point_is_transformed_to_itself(noisy, refine):
    exact = HyperbolicMDS(5, refine=refine, curvature=-1.0).fit(noisy)
    np.testing.assert_allclose(exact.transform(noisy), exact.embedding_, atol=1e-8)
    model = HyperbolicMDS(refine=refine, tol=1e-7, max_iter=200, curvature=-1.0).fit(noisy)
    assert np.max(distance(model.transform(noisy), model.embedding_)) < (1e-2 if refine else 1e-7)


@pytest.mark.parametrize("refine", [False, True])
def test_a_new_point_is_placed_at_the_given_distances(refine):
    D = hyperbolic(50, 3)[1]
    model = HyperbolicMDS(3, refine=refine, curvature=-1.0).fit(D[:40, :40])
    placed = model.transform(D[40:, :40])
    np.testing.assert_allclose(pairwise_distance(placed, model.embedding_), D[40:, :40], atol=1e-7)


def test_graphs_give_shortest_paths():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 0.5), ("c", "a", 4.0), ("c", "d", 1.0)])
    D = np.array([[0, 1, 1.5, 2.5], [1, 0, 0.5, 1.5], [1.5, 0.5, 0, 1], [2.5, 1.5, 1, 0]])
    expected = HyperbolicMDS(curvature=-1.0).fit(D).embedding_
    model = HyperbolicMDS(curvature=-1.0).fit(graph)
    np.testing.assert_allclose(model.embedding_, expected, atol=1e-12)
    assert model.labels_ == ["a", "b", "c", "d"]
    adjacency = sparse.csr_array(networkx.to_scipy_sparse_array(graph))
    np.testing.assert_allclose(HyperbolicMDS(curvature=-1.0).fit_transform(adjacency), expected, atol=1e-12)


def test_a_tree_is_embedded_better_in_curved_space_than_in_almost_flat_one():
    D = pairwise_distance(TreeEmbedding(4, spread=0.5, scale=3.0).fit_transform((np.arange(31) - 1) // 2)) / 3
    flat, curved = (HyperbolicMDS(curvature=c).fit(D).stress_ for c in (-0.01, -1.0))
    assert curved < 0.8 * flat


def test_the_same_bits_for_any_number_of_threads(noisy):
    import numba

    threads = numba.get_num_threads()
    many = HyperbolicMDS(curvature=-1.0).fit_transform(noisy)
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(HyperbolicMDS(curvature=-1.0).fit_transform(noisy), many)
    finally:
        numba.set_num_threads(threads)


def test_parameters_are_cloned():
    parameters = {
        "n_components": 3,
        "curvature": "auto",
        "loss": "relative",
        "refine": False,
        "tol": 0.1,
        "max_iter": 3,
    }
    assert clone(HyperbolicMDS(**parameters)).get_params() == parameters


def test_sides_that_are_too_long_cause_a_warning():
    D = hyperbolic(20, 2)[1]
    D[2, 5] = D[5, 2] = 9.0
    with pytest.warns(
        UserWarning, match=r"not a metric: D\[2, 5\] = 9 is longer than the path through .*% of 8,000 triples"
    ):
        HyperbolicMDS().fit(D)


def test_with_many_points_a_sample_of_triples_is_checked():
    """For squared distances along a line, every detour is shorter than the direct way."""
    D = np.subtract.outer(np.arange(301.0), np.arange(301.0)) ** 2
    with pytest.warns(UserWarning, match=r"; 3[23]\.\d\d% of 1,000,000 triples violate"):
        read_distances(D)


def test_a_descent_that_reaches_max_iter_causes_a_warning(noisy):
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        HyperbolicMDS(max_iter=2).fit(noisy)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda D: D[:, :5], "square; got shape"),
        (lambda D: np.where(np.eye(len(D)) > 0, 1, D), "distance of row 0 to itself is 1; expected 0"),
        (lambda D: np.triu(D), r"symmetric; D\[\d+, \d+\] = "),
        (lambda D: -D, "finite and not negative"),
        (lambda D: np.where(D > 2, np.nan, D), "finite and not negative.* nan at"),
        (lambda D: np.where(D > 2, np.inf, D), "finite and not negative.* inf at"),
        (lambda D: 30 * D, "the limit of float64 is 70 for curvature -1"),
        (lambda D: D[:2, :2], "got n_components=2 and 2 points"),
    ],
)
def test_invalid_distances_are_rejected(spoil, problem):
    with pytest.raises(ValueError, match=problem):
        HyperbolicMDS(curvature=-1.0).fit(spoil(hyperbolic(10, 2)[1]))


def test_strings_are_rejected():
    with pytest.raises(TypeError, match="real numbers"):
        HyperbolicMDS().fit(np.array([["a", "b"], ["c", "d"]]))


def edges(*triples, n=4):
    u, v, w = zip(*triples, strict=True)
    return sparse.coo_array((np.array(w, dtype=float), (u, v)), shape=(n, n)).tocsr()


@pytest.mark.parametrize(
    ("adjacency", "problem"),
    [
        (edges((0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, 1)), "2 connected components, .*; row 0 is in the smallest"),
        (edges((0, 1, 1), (1, 2, 1), (2, 3, 1)), "must be symmetric; it differs from its transpose by up to 1"),
        (edges((0, 1, -1), (1, 0, -1)), "Edge weights must be finite and not negative, but 2 are not"),
        (edges((0, 1, np.nan), (1, 0, np.nan)), "2 are not; the first is nan"),
        (edges((0, 1, 0), (1, 0, 0)), "2 entries of the adjacency matrix are stored as 0"),
    ],
)
def test_graphs_without_distances_are_rejected(adjacency, problem):
    with pytest.raises(ValueError, match=problem):
        HyperbolicMDS().fit(adjacency)


def test_directed_graphs_are_rejected():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="directed"):
        HyperbolicMDS().fit(networkx.DiGraph([(0, 1), (1, 2)]))
    with pytest.raises(ValueError, match="several edges between two nodes"):
        HyperbolicMDS().fit(networkx.MultiGraph([(0, 1), (0, 1), (1, 2)]))
    graph = networkx.path_graph(3)
    graph.add_node("b")
    with pytest.raises(ValueError, match=r"2 connected components, .*; 'b' is in the smallest"):
        HyperbolicMDS().fit(graph)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"n_components": 0}, "at least 1"),
        ({"curvature": 1.0}, "negative finite number"),
        ({"curvature": "best"}, 'negative number or "auto"'),
        ({"loss": "square"}, '"absolute" or "relative"'),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_parameters_are_rejected(noisy, parameters, problem):
    with pytest.raises(ValueError, match=problem):
        HyperbolicMDS(**parameters).fit(noisy)


def test_new_rows_of_another_length_are_rejected(noisy):
    model = HyperbolicMDS().fit(noisy)
    with pytest.raises(ValueError, match=r"each of the 30 points of the fit; got shape \(30, 10\)"):
        model.transform(noisy[:, :10])
    with pytest.raises(ValueError, match="finite and not negative"):
        model.transform(-noisy)


@pytest.mark.parametrize("d", [2, 3])
def test_the_descent_starts_at_the_spanning_tree_if_it_has_less_stress(d):
    """For tree distances, the spanning tree is the tree itself, and far better than the spectral solution."""
    parents = np.array([-1, *(k // 3 for k in range(120))])
    D = np.zeros((121, 121))
    for node in range(1, 121):
        D[node, :node] = D[:node, node] = D[parents[node], :node] + 2.5
    tree = TreeEmbedding(d, scale=2.5, layout="wedges" if d == 2 else "sarkar").fit(parents)
    model = HyperbolicMDS(d, curvature=-1.0).fit(D)
    off = np.sqrt(np.sum((pairwise_distance(tree.embedding_) - D) ** 2) / np.sum(D**2))
    assert model.stress_ < off < 0.7 * model.spectral_stress_
    assert model.spectral_stress_ == pytest.approx(HyperbolicMDS(d, refine=False, curvature=-1.0).fit(D).stress_)


def test_spanning_trees_of_copies_and_of_long_distances_are_placed_in_the_ball():
    D = np.zeros((6, 6))
    D[:3, 3:] = D[3:, :3] = 60.0
    start = spanning_tree_start(D, 2)
    assert np.all(np.linalg.norm(start, axis=1) < 1)
    found = pairwise_distance(start)
    assert not found[:3, :3].any()
    assert np.min(found[:3, 3:]) == pytest.approx(2 * FARTHEST, rel=0.51)
    assert np.isfinite(HyperbolicMDS().fit(D / 10).embedding_).all()


def test_the_default_does_not_depend_on_the_unit_of_the_distances():
    D = tree_distances_of(3)
    one, other = (HyperbolicMDS().fit(unit * D) for unit in (1.0, 100.0))
    assert one.stress_ == pytest.approx(other.stress_, rel=1e-6)
    assert one.stress_ < 0.7 * HyperbolicMDS(curvature=-1.0).fit(0.1 * D).stress_
    assert one.curvature_ == pytest.approx(1e4 * other.curvature_, rel=1e-3)


def test_the_default_keeps_the_curvature_of_distances_of_the_unit_ball():
    _, D = hyperbolic(30, 2)
    model = HyperbolicMDS().fit(D)
    assert model.curvature_ == -1.0
    assert np.abs(pairwise_distance(model.embedding_) - D).max() < 1e-6


def test_badly_embedded_pairs_are_reported_with_the_worst_pair():
    X = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 1e-4], [-0.5, 0.0]])
    D = pairwise_distance(X)
    warn_about_distorted_pairs(X, D, 1.0, automatic=True)  # no warning (an error in tests) for exact distances
    D[1, 2] = D[2, 1] = 0.5
    with pytest.warns(UserWarning, match="more than a factor of 10") as caught:
        warn_about_distorted_pairs(X, D, 2.0, automatic=False)
    assert str(caught[0].message) == (
        "The distances of 1 pair of points are wrong by more than a factor of 10; the worst is between rows 1 and 2: "
        '0.000133 instead of 0.25.\nUse more components or curvature="auto", or '
        "TreeEmbedding if the distances are measured along a tree."
    )
    with pytest.warns(UserWarning, match="Use more components, or TreeEmbedding if"):
        warn_about_distorted_pairs(X, D, 1.0, automatic=True)
    D[1, 2] = D[2, 1] = 1e-9  # too close to be distinguished
    warn_about_distorted_pairs(X, D, 1.0, automatic=True)


def tree_distances_of(branches, depth=4):
    """Distances along a tree with unit edges."""
    n = sum(branches**level for level in range(depth))
    parents = np.array([-1, *((k - 1) // branches for k in range(1, n))])
    D = np.zeros((n, n))
    for node in range(1, n):
        D[node, :node] = D[:node, node] = D[parents[node], :node] + 1.0
    return D
