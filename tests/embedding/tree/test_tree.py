import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from hyplearn.datasets import load_mammals
from hyplearn.embedding import TreeEmbedding
from hyplearn.geometry import distance, gap, pairwise_distance

NEWICK = "((cat:1,lion:1.5)feline:2,((dog:1,wolf:0.5)canis:1,fox:2)canine:2)carnivore;"


def tree_distances(parents, lengths):
    """Naive tree distances: walk up from both nodes to their first common ancestor."""
    n = len(parents)

    def way_up(node):
        way, total = {}, 0.0
        while node >= 0:
            way[node], total, node = total, total + lengths[node], parents[node]
        return way

    ways = [way_up(node) for node in range(n)]
    return np.array([[min(a[v] + b[v] for v in a if v in b) for b in ways] for a in ways])


@st.composite
def trees(draw, most=25):
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parents = np.array([-1] + [int(rng.integers(i)) for i in range(1, n)])
    return parents, rng.uniform(0.5, 2, n)


LAYOUTS = [(2, "sarkar"), (2, "wedges"), (3, "sarkar"), (6, "sarkar")]


@pytest.mark.parametrize(("d", "layout"), LAYOUTS)
@settings(max_examples=20)
@given(tree=trees())
def test_distances_are_tree_distances_up_to_the_stated_distortion(d, layout, tree):
    parents, lengths = tree
    model = TreeEmbedding(d, layout=layout).fit(parents, edge_lengths=lengths)
    above = np.triu_indices(len(parents), 1)
    ratios = pairwise_distance(model.embedding_)[above] / (model.scale_ * tree_distances(parents, lengths)[above])
    assert model.n_pairs_ == len(ratios)
    assert ratios.max() <= 1 + 0.02  # a path is at least as long as the geodesic; edges are exact to 1 %
    assert model.average_distortion_ == pytest.approx(np.mean(np.abs(1 - ratios)), rel=1e-6)
    assert model.worst_distortion_ == pytest.approx(ratios.max() / ratios.min(), rel=1e-6)


@pytest.mark.parametrize(("d", "layout"), LAYOUTS)
@settings(max_examples=20)
@given(tree=trees(100))
def test_at_the_largest_scale_float64_represents_every_edge_to_one_percent(d, layout, tree):
    parents, lengths = tree
    model = TreeEmbedding(d, layout=layout).fit(parents, edge_lengths=lengths)
    found = distance(model.embedding_[1:], model.embedding_[parents[1:]])
    np.testing.assert_allclose(found, model.scale_ * lengths[1:], rtol=0.01)


@pytest.mark.parametrize(("d", "layout"), LAYOUTS)
def test_edges_are_exact_away_from_the_rim(d, layout):
    parents = load_mammals().parents[:300]
    X = TreeEmbedding(d, layout=layout, scale=1.0, spread=0.7).fit_transform(parents)
    np.testing.assert_allclose(distance(X[1:], X[parents[1:]]), 1, rtol=1e-9 if layout == "wedges" else 1e-12)


def test_narrow_spreads_are_chosen_by_average_distortion():
    parents = load_mammals().parents[:300]
    chosen = TreeEmbedding(3).fit(parents)
    others = [TreeEmbedding(3, spread=spread).fit(parents).average_distortion_ for spread in (1.0, 0.7, 0.3)]
    assert chosen.average_distortion_ <= min(others)
    assert chosen.spread_ < 1


def test_sarkars_distortion_falls_as_the_scale_grows():  # Sarkar 2011, theorem 6
    found = [TreeEmbedding(spread=1.0, scale=s).fit(NEWICK).worst_distortion_ for s in (1.0, 2.0, 4.0, 6.0)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1.15


def test_neighbours_are_spread_evenly_over_the_circle():
    X = TreeEmbedding(spread=1.0, scale=1.0).fit_transform([-1, 0, 0, 0, 0])
    angles = np.sort(np.degrees(np.arctan2(X[1:, 1], X[1:, 0])) % 360)
    np.testing.assert_allclose(np.diff(angles), 90)


def test_names_do_not_move_points():
    parents = load_mammals().parents[:200]
    named = {f"node {i}": None if parent < 0 else f"node {parent}" for i, parent in enumerate(parents)}
    by_name = TreeEmbedding().fit(named)
    np.testing.assert_array_equal(by_name.embedding_, TreeEmbedding().fit_transform(parents))
    assert by_name.labels_ == list(named)


def test_order_of_the_rows_does_not_change_distances_to_the_root_nor_the_distortion():
    rng = np.random.default_rng(3)
    parents = np.array([-1] + [int(rng.integers(i)) for i in range(1, 60)])
    order = rng.permutation(60)
    place = np.argsort(order)
    moved = np.where(parents[order] < 0, -1, place[parents[order]])
    one, other = TreeEmbedding().fit(parents), TreeEmbedding().fit(moved)
    np.testing.assert_array_equal(other.parents_, moved)
    assert one.scale_ == other.scale_
    # The distance to the parent does not depend on the order of the rows, but the places of siblings do.
    np.testing.assert_allclose(
        distance(one.embedding_[order][moved >= 0], one.embedding_[parents[order][moved >= 0]]),
        distance(other.embedding_[moved >= 0], other.embedding_[moved[moved >= 0]]),
        rtol=0.02,
    )


def test_newick_mappings_lists_and_graphs_give_the_same_tree():
    networkx = pytest.importorskip("networkx")
    newick = TreeEmbedding().fit(NEWICK)
    parents = {
        name: newick.labels_[row] if row >= 0 else None
        for name, row in zip(newick.labels_, newick.parents_, strict=True)
    }
    lengths = {"cat": 1, "lion": 1.5, "feline": 2, "dog": 1, "wolf": 0.5, "canis": 1, "fox": 2, "canine": 2}
    graph = networkx.DiGraph()
    graph.add_nodes_from(newick.labels_)
    graph.add_weighted_edges_from((parent, node, lengths[node]) for node, parent in parents.items() if parent)
    for model in (
        TreeEmbedding().fit(parents, edge_lengths=lengths),
        TreeEmbedding().fit(newick.parents_, edge_lengths=[lengths.get(name, 0) for name in newick.labels_]),
        TreeEmbedding().fit(graph),
        TreeEmbedding(root="carnivore").fit(graph.to_undirected()),
    ):
        np.testing.assert_array_equal(model.embedding_, newick.embedding_)
        np.testing.assert_array_equal(model.parents_, newick.parents_)


def test_an_undirected_tree_is_rooted_in_the_middle_of_its_longest_path():
    networkx = pytest.importorskip("networkx")
    model = TreeEmbedding().fit(networkx.path_graph(7))
    assert model.parents_.tolist() == [1, 2, 3, -1, 3, 4, 5]
    np.testing.assert_array_equal(model.embedding_[3], [0, 0])


def test_another_root_keeps_the_tree():
    model = TreeEmbedding(root="wolf", scale=2.0).fit(NEWICK)
    row = model.labels_.index("wolf")
    assert model.parents_[row] == -1
    np.testing.assert_array_equal(model.embedding_[row], [0, 0])
    assert model.worst_distortion_ < 1.6


def test_curvature_scales_the_ball_and_keeps_the_distortion():
    one, other = TreeEmbedding().fit(NEWICK), TreeEmbedding(curvature=-4.0).fit(NEWICK)
    np.testing.assert_allclose(other.embedding_, one.embedding_ / 2, rtol=1e-12)
    assert other.scale_ == pytest.approx(one.scale_ / 2)
    gap(other.embedding_, c=4.0)


def test_tree_embedding_reproduces_the_packaged_mammals():
    mammals = load_mammals()
    X = TreeEmbedding(layout="wedges", scale=1.0).fit_transform(mammals.parents)
    assert X.tobytes() == mammals.data.tobytes()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", ["star", "path", "random"])
@pytest.mark.parametrize("n", [4000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_nodes_of_large_trees_do_not_coincide(n, kind, d):
    rng = np.random.default_rng(0)
    parents = {
        "star": np.r_[-1, np.zeros(n - 1, dtype=int)],
        "path": np.arange(n) - 1,
        "random": np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(int)],
    }[kind]
    model = TreeEmbedding(d, spread=0.5).fit(parents)
    assert np.all(gap(model.embedding_) > 0)
    assert len(np.unique(model.embedding_, axis=0)) == n
    assert np.isfinite(model.worst_distortion_)
    assert model.n_pairs_ < n * (n - 1) / 2


def test_one_node_is_the_origin():
    model = TreeEmbedding(3).fit([-1])
    np.testing.assert_array_equal(model.embedding_, [[0, 0, 0]])
    assert (model.average_distortion_, model.worst_distortion_, model.n_pairs_) == (0, 1, 0)


def test_parameters_are_cloned():
    model = clone(TreeEmbedding(4, scale=2.0, root="a", spread=0.5, curvature=-2.0))
    assert model.get_params() == {
        "n_components": 4, "layout": "sarkar", "spread": 0.5, "scale": 2.0, "root": "a", "curvature": -2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ([1, 2, 0], "a cycle: every node has a parent"),
        ([-1, 2, 1], "cycle, which is closed by the edge between 2 and 1"),
        ([-1, 0, -1], "2 roots: no parent is given for 0, 2"),
        ([-1, 5], "row 1 has 5"),
        ([-1, -2], "row 1 has -2"),
        ([], "one row number per node"),
        ([-1.0, 0.0], "one row number per node"),
        ({"a": None, "b": "c"}, "parent 'c' of 'b' is not a node"),
        ({"a": "b", "b": "a"}, "a cycle"),
        ("(a:1,b:-1);", "first is -1 between 'b' and ''"),
        ("(a:1,b:0);", "first is 0 between"),
        ("(a:nan,b:1)r;", "1 of 2 branches have no length"),
        ("(a:1,b)r;", "1 of 2 branches have no length"),
        ("(a:inf,b:1)r;", "first is inf"),
        ("(a,a)r;", "more than once.*'a'"),
        ("(a,b", "Newick"),
    ],
)
def test_invalid_trees_are_rejected(source, problem):
    with pytest.raises(ValueError, match=problem):
        TreeEmbedding().fit(source)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_invalid_lengths_are_rejected(bad):
    with pytest.raises(ValueError, match=f"1 of 2 are not; the first is {bad:g} between 2 and 0"):
        TreeEmbedding().fit([-1, 0, 0], edge_lengths=[0, 1, bad])


def test_graphs_that_are_no_trees_are_rejected():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match=r"closed by the edge .*\.\nPass a spanning tree"):
        TreeEmbedding().fit(networkx.cycle_graph(4))
    graph = networkx.path_graph(3)
    graph.add_node("alone")
    with pytest.raises(ValueError, match="2 connected components of 1 to 3 nodes; 'alone' is in the smallest"):
        TreeEmbedding().fit(graph)
    with pytest.raises(ValueError, match="2 roots"):
        TreeEmbedding().fit(networkx.DiGraph([(0, 2), (1, 2)]))
    with pytest.raises(ValueError, match="closed by the edge"):
        TreeEmbedding().fit(networkx.Graph([(0, 1), (1, 1)]))
    with pytest.raises(ValueError, match="no nodes"):
        TreeEmbedding().fit(networkx.Graph())
    with pytest.raises(ValueError, match="first is nan"):
        TreeEmbedding().fit(networkx.Graph([(0, 1, {"weight": np.nan})]))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"n_components": 1}, "at least 2"),
        ({"n_components": True}, "at least 2"),
        ({"layout": "circle"}, '"sarkar" or "wedges"'),
        ({"layout": "wedges", "n_components": 3}, r"layout=\"wedges\" needs n_components=2; got 3"),
        ({"scale": 0}, "scale must be a positive finite number"),
        ({"scale": "large"}, "scale must be a positive finite number"),
        ({"spread": 1.5}, "spread must be"),
        ({"curvature": 1.0}, "negative finite number"),
        ({"root": "horse"}, "root must be a node"),
    ],
)
def test_bad_parameters_are_rejected(parameters, problem):
    with pytest.raises(ValueError, match=problem):
        TreeEmbedding(**parameters).fit(NEWICK)


def test_the_error_for_too_large_a_scale_gives_the_largest_one():
    largest = TreeEmbedding().fit(NEWICK).scale_
    with pytest.raises(ValueError, match=rf"146 binary digits; float64 has 53, enough for scale {largest:.4g}"):
        TreeEmbedding(scale=25.0).fit(NEWICK)


def test_edges_too_short_for_any_scale_are_rejected():
    with pytest.raises(ValueError, match="This tree does not fit into float64 at any scale: a shortest edge of 1e-20"):
        TreeEmbedding().fit([-1, 0, 1], edge_lengths=[0, 1, 1e-20])


def test_branches_that_meet_are_rejected_with_the_scale_they_need():
    # Many very short edges far out: float64 can represent each edge, but not 5,000 directions at its end.
    parents, lengths = np.r_[-1, 0, 0, 0, np.full(5000, 2)], np.r_[0, 1, 1, 1, np.full(5000, 1e-4)]
    with pytest.raises(ValueError, match=r"nodes have distinct points.*coincide.* at scale .*, which needs \d+ b"):
        TreeEmbedding(spread=1.0).fit(parents, edge_lengths=lengths)


def test_lengths_for_newick_text_are_rejected():
    with pytest.raises(ValueError, match="contain lengths"):
        TreeEmbedding().fit(NEWICK, edge_lengths=[1, 2])
    with pytest.raises(ValueError, match="edge_lengths has no length for 1 nodes; the first is 'b'"):
        TreeEmbedding().fit({"a": None, "b": "a"}, edge_lengths={})
    with pytest.raises(ValueError, match="one number for each of the 2 nodes"):
        TreeEmbedding().fit([-1, 0], edge_lengths=[1.0])
