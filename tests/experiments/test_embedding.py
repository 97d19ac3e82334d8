"""The comparison of tree embeddings on a part of the tree: every step of the full run, in a second."""

import numpy as np
import pytest

import embedding as experiment

CONFIG = experiment.Config(n_nodes=80, dimensions=(2,), epochs=1, bases=(2.0,), max_iter=5)


@pytest.fixture(scope="module")
def rows():
    pytest.MonkeyPatch().setattr(experiment, "gensim_points", lambda parents, d, config: None)
    with pytest.warns(Warning, match="still falls"):
        return experiment.run(CONFIG, lambda text: None)


def found(rows, method, tree):
    return next(row for row in rows if row[0] == method and row[1] == tree)


def test_exact_distances_with_doubling_edges_find_every_hypernym_first(rows):
    assert found(rows, "exact", "doubling, base 2")[3:5] == (1.0, 1.0)
    assert found(rows, "exact", "unit")[4] < 0.9


def test_reconstruction_is_that_of_the_definition():
    D = np.array([[0, 1, 2, 3], [1, 0, 5, 5], [2, 1, 0, 5], [3, 1, 2, 0.0]])
    # Row 2 has hypernyms 1 and 0 at ranks 1 and 1; row 3 has only 0, which the nodes 1 and 2 precede.
    rank, precision = experiment.reconstruction(D, [[], [], [0, 1], [0]])
    assert rank == pytest.approx((1 + 1 + 3) / 3)
    assert precision == pytest.approx((1 + 1 / 3) / 2)


def test_every_method_is_in_the_table_and_gensim_may_be_missing(rows, tmp_path):
    assert {row[0].split(",")[0] for row in rows} == {"exact", "TreeEmbedding", "HyperbolicMDS"}
    experiment.write(rows, CONFIG, 1.0, tmp_path)
    table = (tmp_path / "embedding_trees.md").read_text()
    assert table.count("\n| ") == len(rows) + 1
    assert len((tmp_path / "embedding_trees.csv").read_text().splitlines()) == len(rows) + 1
