"""Trees of classes in every input format, and errors for invalid trees."""

import networkx as nx
import numpy as np
import pytest

from hyplearn.estimators.hierarchy import Hierarchy

CLASSES = np.array(["B", "NK", "T"])
PARENTS = {"B": "lymphocyte", "T": "T or NK", "NK": "T or NK", "T or NK": "lymphocyte", "lymphocyte": None}
LISTS = {"B": ["lymphocyte"], "T": ["T or NK"], "NK": ("T or NK",), "T or NK": ["lymphocyte"]}
GRAPH = nx.DiGraph([("lymphocyte", "B"), ("lymphocyte", "T or NK"), ("T or NK", "T"), ("T or NK", "NK")])
NEWICK = "(B:1,(T,NK)'T or NK')lymphocyte;"
SETS = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize("source", [PARENTS, LISTS, GRAPH, NEWICK, nx.MultiDiGraph(GRAPH)])
def test_every_form_gives_the_least_subtree(source):
    assert Hierarchy.of(source, CLASSES).answers(SETS).tolist() == ["T", "T or NK", "lymphocyte", None]


def test_nodes_without_a_name_are_called_by_the_classes_below():
    answers = Hierarchy.of("(B,(T,NK));", CLASSES).answers(SETS).tolist()
    assert answers == ["T", "NK or T", "B or NK or T", None]


def test_labels_that_are_numbers_are_found_by_their_string():
    assert Hierarchy.of("(0,(1,2)x)y;", np.arange(3)).answers(SETS).tolist() == ["2", "x", "y", None]
    assert Hierarchy.of({0: "y", 1: "x", 2: "x", "x": "y"}, np.arange(3)).answers(SETS).tolist() == [2, "x", "y", None]


def test_a_class_may_be_an_ancestor_of_another():
    tree = Hierarchy.of({"T": "B", "NK": "T"}, CLASSES)
    assert tree.answers(SETS).tolist() == ["T", "T", "B", None]


def test_with_several_parents_the_subtree_with_the_fewest_classes_is_taken():
    """In this ontology, T and NK are both "lymphocyte" and "cytotoxic", and B is a lymphocyte too."""
    parents = {
        "T": ["lymphocyte", "cytotoxic"],
        "NK": ["cytotoxic", "lymphocyte"],
        "B": ["lymphocyte"],
        "lymphocyte": ["cell"],
        "cytotoxic": ["cell"],
    }
    assert Hierarchy.of(parents, CLASSES).answers(SETS).tolist() == ["T", "cytotoxic", "lymphocyte", None]


def test_very_deep_chains_are_read():
    chain = {f"n{k}": f"n{k + 1}" for k in range(20_000)}
    assert Hierarchy.of({**chain, "B": "n0", "T": "n5"}, np.array(["B", "T"])).answers(
        np.ones((1, 2), dtype=bool)
    ).tolist() == ["n5"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"B": "x", "T": "x"}, r"lacks 1 of 3 classes: 'NK'"),
        ({"B": "x", "T": "x", "NK": "y"}, r"No node .* above all classes; 'NK' shares the fewest"),
        (GRAPH.reverse(), r"(?s)No node .* graph.reverse\(\)"),
        ({"B": "x", "T": "x", "NK": "x", "x": "y", "y": "x"}, r"has a cycle: '[xy]' is its own ancestor"),
        ("(B,T,NK,B);", r"name 'B' occurs more than once"),
        ("(B,T,NK)", r"Not a Newick tree"),
        (3, r"hierarchy must be a mapping .* got int"),
    ],
)
def test_invalid_trees_raise_clear_errors(source, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Hierarchy.of(source, CLASSES)
