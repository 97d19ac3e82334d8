"""The comparison of tree embeddings on a part of the tree: every step of the full run, in a second."""

import embedding_trees as experiment
import ledger
import numpy as np
import pytest

CONFIG = experiment.Config(n_nodes=80, epochs=1, max_iter=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


@pytest.fixture(scope="module")
def rows(folder):
    """Rows of the table without gensim, which may not be installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "with_gensim", lambda: False)
        yield experiment.run(CONFIG, folder)


def found(rows, method, tree):
    return next(row for row in rows if (row["method"], row["tree"]) == (method, tree))


def test_exact_distances_with_doubling_edges_find_every_hypernym_first(rows):
    exact = found(rows, "exact", "doubling, base 2")
    assert (exact["mean rank"], exact["MAP"], exact["distortion"]) == (1.0, 1.0, 0.0)
    assert found(rows, "exact", "unit")["MAP"] < 0.9


def test_reconstruction_matches_the_definition():
    D = np.array([[0, 1, 2, 3], [1, 0, 5, 5], [2, 1, 0, 5], [3, 1, 2, 0.0]])
    # Row 2 has hypernyms 1 and 0 at ranks 1 and 1; row 3 has only 0, which the nodes 1 and 2 precede.
    rank, precision = experiment.reconstruction(D, [[], [], [0, 1], [0]])
    assert rank == pytest.approx((1 + 1 + 3) / 3)
    assert precision == pytest.approx((1 + 1 / 3) / 2)


def test_every_method_is_measured_on_every_tree(rows, folder):
    methods = {"exact", *experiment.TREE_EMBEDDINGS, *experiment.MDS}
    assert [(row["method"], row["tree"]) for row in rows] == [
        (cell["method"], cell["tree"]) for cell in experiment.all_cells(CONFIG) if cell["method"] != experiment.GENSIM
    ]
    assert {row["method"] for row in rows if row["tree"] == "unit"} == methods
    assert ledger.read(folder / "embedding_trees.csv") == rows
    assert 0 < found(rows, "TreeEmbedding", "unit")["distortion"] < 0.2


def test_wedges_are_laid_out_in_the_disk_alone_and_gensim_runs_where_it_is_installed(monkeypatch):
    monkeypatch.setattr(experiment, "with_gensim", lambda: True)
    of_dimension = {
        d: [cell["method"] for cell in experiment.all_cells(experiment.FULL) if cell["dimensions"] == d] for d in (2, 5)
    }
    assert of_dimension[2].count("TreeEmbedding, wedges") == 3
    assert "TreeEmbedding, wedges" not in of_dimension[5]
    assert [methods.count(experiment.GENSIM) for methods in of_dimension.values()] == [1, 1]


def test_the_table_says_what_is_missing_and_the_verdict_matches_the_full_run(rows, folder):
    text = (folder / "embedding_trees.md").read_text()
    assert text.count("\n| ") == len(rows) + 1
    assert experiment.MISSING in text
    assert experiment.VERDICT not in text
    assert experiment.VERDICT in experiment.text(experiment.FULL, rows)
    assert "](embedding_trees.png)" in text


def test_the_picture_has_a_dot_for_every_measured_method(rows):
    (ax,) = experiment.draw(CONFIG, rows).axes
    dots = {round(x, 4) for line in ax.lines if line.get_linestyle() == "None" for x in line.get_xdata()}
    assert dots == {row["MAP"] for row in rows if row["method"] != "exact"}
    assert [label.get_text() for label in ax.get_yticklabels()] == [*experiment.MDS, *experiment.TREE_EMBEDDINGS]
