"""Time and branches: distances from a root, branches of a known tree, rules for the root."""

import numpy as np
import pandas as pd
import pytest

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402
from hyplearn.embedding import TreeEmbedding  # noqa: E402
from hyplearn.geometry import distance, pairwise_distance  # noqa: E402
from support.balls import cloud  # noqa: E402


def chain(name, start, n):
    """A branch of n nodes that starts below a node."""
    nodes = [f"{name}{k}" for k in range(n)]
    return dict(zip(nodes, [start, *nodes[:-1]], strict=True))


@pytest.fixture(scope="module")
def lineage():
    """A stem that splits into a and b; b splits into c and d. Branches have 20 cells."""
    parents = {"stem0": None, **chain("stem", "stem0", 20)} | {"stem0": None}
    parents |= chain("a", "stem19", 24) | chain("b", "stem19", 20) | chain("c", "b19", 22) | chain("d", "b19", 20)
    tree = TreeEmbedding(root="stem0").fit(parents)
    names = [str(label) for label in tree.labels_]
    obs = pd.DataFrame({"kind": [name.rstrip("0123456789") for name in names]}, index=names)
    made = anndata.AnnData(np.zeros((len(names), 1)), obs=obs, obsm={"X_poincare": tree.embedding_})
    made.uns["parents"] = parents
    return made


def test_time_is_the_hyperbolic_distance_from_the_root(lineage):
    X = lineage.obsm["X_poincare"]
    row = lineage.obs_names.get_loc("stem0")
    hs.tl.pseudotime(lineage, root="stem0", n_neighbors=4)
    assert np.array_equal(lineage.obs["poincare_pseudotime"], distance(X, X[row]))
    along = lineage.obs["poincare_pseudotime_along"]
    assert np.all(along >= lineage.obs["poincare_pseudotime"] - 1e-9)
    path = [f"stem{k}" for k in range(20)] + [f"b{k}" for k in range(20)] + [f"d{k}" for k in range(20)]
    assert np.all(np.diff(along[path]) > 0)
    assert lineage.uns["poincare_pseudotime"]["root_name"] == "stem0"


def test_paths_step_to_the_nearest_cells_and_copies_have_no_edge_to_themselves():
    """Compared with the shortest paths in the graph of all pairs, with six cells at one point."""
    X = cloud(np.random.default_rng(0), 40, 2, 1.0)
    X[10:16] = X[10]
    cells = anndata.AnnData(np.zeros((40, 1)), obsm={"X_poincare": X})
    hs.tl.pseudotime(cells, root=3, n_neighbors=4)
    D = pairwise_distance(X)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, :4]
    graph = np.full(D.shape, np.inf)
    np.put_along_axis(graph, near, np.take_along_axis(D, near, axis=1), axis=1)
    graph = np.minimum(graph, graph.T)
    np.fill_diagonal(graph, 0.0)
    for k in range(40):
        graph = np.minimum(graph, graph[:, [k]] + graph[[k]])
    assert np.allclose(cells.obs["poincare_pseudotime_along"], graph[3], rtol=1e-9)


def test_branches_match_the_tree(lineage):
    hs.tl.branches(lineage, root="stem0")
    found = pd.crosstab(lineage.obs["kind"], lineage.obs["poincare_branch"])
    majority = found.idxmax(axis=1)
    assert len(set(majority)) == 5
    assert found.max(axis=1).sum() / len(lineage) > 0.95
    assert majority["stem"] == "0"
    assert {majority["a"], majority["b"]} == {"0.1", "0.2"}
    assert {majority["c"], majority["d"]} == {f"{majority['b']}.1", f"{majority['b']}.2"}
    assert len(lineage.uns["poincare_branch"]["depths"]) == 2


def test_a_sample_gives_the_branches_of_all(lineage):
    hs.tl.branches(lineage, root="stem0", key_added="all")
    hs.tl.branches(lineage, root="stem0", n_landmarks=60, key_added="some")
    assert np.mean(lineage.obs["all"].astype(str) == lineage.obs["some"].astype(str)) > 0.9


def test_the_root_can_be_a_row_or_a_label_and_defaults_to_iroot_or_the_centre(lineage):
    def root(**arguments):
        return hs.tl.pseudotime(lineage, copy=True, **arguments).uns["poincare_pseudotime"]["root_name"]

    assert root() == "stem0"  # the centre
    assert root(root=3) == lineage.obs_names[3]
    middle = root(root=("kind", "a"))
    assert middle in [f"a{k}" for k in range(8, 16)]
    lineage.uns["iroot"] = 7
    assert root() == lineage.obs_names[7]
    assert root(root="b3") == "b3"
    del lineage.uns["iroot"]
    with pytest.raises(ValueError, match=r"No cell has the label 'z' in obs\['kind'\]; it contains 'a', 'b'"):
        root(root=("kind", "z"))
    with pytest.raises((ValueError, KeyError), match="'nobody'"):
        root(root="nobody")


@pytest.mark.parametrize("min_cells", [1, 2.7, "3", True])
def test_the_smallest_branch_must_have_an_integer_of_at_least_two_cells(lineage, min_cells):
    with pytest.raises(ValueError, match=f"at least 2; got {min_cells!r}\\.\nPass min_cells=2 or more, or omit it"):
        hs.tl.branches(lineage, min_cells=min_cells)


@pytest.mark.parametrize("tool", [hs.tl.pseudotime, hs.tl.branches])
def test_cells_outside_the_unit_ball_raise_an_error_and_nothing_is_written(lineage, tool):
    cells = lineage.copy()
    cells.obsm["X_poincare"][44] = [1.5, 0.0]
    before = set(cells.obs), set(cells.uns)
    message = r"Basis 'X_poincare': 1 of \d+ points lies outside the open ball .*1; .* row 44 .*\n.*radius r by r"
    with pytest.raises(ValueError, match=message):
        tool(cells, root="stem0")
    assert (set(cells.obs), set(cells.uns)) == before


def test_a_root_at_the_edge_of_the_map_causes_a_warning(lineage):
    from hyplearn.single_cell.lineage import warn_if_at_tip

    X = lineage.obsm["X_poincare"]
    with pytest.warns(UserWarning, match="The root is at the edge of the map"):
        warn_if_at_tip(X, lineage.obs_names.get_loc("d19"))
    warn_if_at_tip(X, lineage.obs_names.get_loc("b0"))


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_cells_are_one_branch(n):
    few = anndata.AnnData(np.ones((n, 3)))
    few.obsm["X_poincare"] = 0.1 * np.arange(2.0 * n).reshape(n, 2)
    hs.tl.branches(few)
    assert list(few.obs["poincare_branch"]) == ["0"] * n


def test_cells_that_are_not_connected_to_the_root_cause_a_warning():
    parts = anndata.AnnData(np.ones((40, 2)))
    parts.obsm["X_poincare"] = np.where(np.arange(40)[:, None] < 30, 0.3, -0.3) + 0.01 * np.arange(40)[:, None] / 40
    with pytest.warns(UserWarning, match=r"10 of 40 cells are not connected to the root(.|\n)*Raise n_neighbors"):
        hs.tl.pseudotime(parts, root=0, n_neighbors=3)
    assert np.isinf(parts.obs["poincare_pseudotime_along"]).sum() == 10
    assert np.isfinite(parts.obs["poincare_pseudotime"]).all()
