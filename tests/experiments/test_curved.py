"""The comparison on classes with curved boundaries."""

import curved
import numpy as np
import pytest


def test_the_best_of_a_row_is_bold_and_ranks_are_means_over_sets(tmp_path):
    methods = ("PoincareKNeighborsClassifier", "PoincareLogisticRegression")
    rows = curved.run(curved.Config(methods=methods, sets=("nested",), rows=150), tmp_path)
    better = max(rows, key=lambda row: row["quality"])
    table = (tmp_path / "curved.md").read_text()
    assert f"**{better['quality']:.1f}**" in table
    assert "| mean rank | | | 2.0 | 1.0 |" in table
    assert better["method"] == "PoincareLogisticRegression"  # rings are spheres
    assert f"| {better['commit']} |" in table


@pytest.mark.parametrize("name", ["nested", "36 overlapping"])
def test_synthetic_sets_are_the_same_in_every_run(name):
    first, second = (curved.MAKERS[name]() for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])


def test_small_classes_are_left_out(monkeypatch):
    monkeypatch.setitem(curved.MAKERS, "few", lambda: (np.zeros((50, 2)), np.repeat(["a", "b"], [45, 5])))
    X, y = curved.points("few", 1000)
    assert len(X) == 45
    assert set(y) == {0}


def test_nodes_have_the_label_of_the_nearest_subtree_and_of_the_largest_sense():
    parents = {
        "root": None,
        "beast": "root",
        "ant": "beast",
        "person": "root",
        "baker": "person",
        "pastry cook": "baker",
    }
    senses = {"beast": "animal", "ant": "worker", "person": "worker", "baker": "baker"}
    words = senses | {f"no {word}": word for word in curved.SUBTREES}
    due = ["other", "animal", "animal", "worker", "worker", "worker"]
    assert curved.subtree_labels(parents, words) == dict(zip(parents, due, strict=True))
