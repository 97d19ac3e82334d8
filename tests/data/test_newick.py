import math

import pytest

from hyplearn.data.newick import parse_newick


def test_names_parents_and_lengths_are_read():
    tree = parse_newick("((a:1,b:2.5e0)ab:.5,c)root:9;")
    assert tree.names == ["root", "ab", "a", "b", "c"]
    assert tree.parents == [-1, 0, 1, 1, 0]
    assert tree.lengths[:4] == [9.0, 0.5, 1.0, 2.5]
    assert math.isnan(tree.lengths[4])


def test_quotes_comments_and_blanks_are_parsed():
    tree = parse_newick(" ( 'it''s (me)' : 1 , [a comment; with marks]b )\n;\n")
    assert tree.names == ["", "it's (me)", "b"]
    assert tree.lengths[1] == 1.0


def test_nodes_may_have_no_names():
    assert parse_newick("(,(,));").parents == [-1, 0, 0, 2, 2]


def test_a_single_node_is_a_tree():
    assert parse_newick("only;").names == ["only"]


def test_deep_trees_do_not_exhaust_the_stack():
    assert len(parse_newick("(" * 50_000 + ")" * 50_000 + ";").names) == 50_001


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("(a,b", 4, "not closed"),
        ("(a,b);x", 6, "is not allowed after ';'"),
        ("(a,b)", 5, "without ';'"),
        ("a,b;", 1, "outside all parentheses"),
        ("(a,b));", 5, "outside all parentheses"),
        ("((a,b);", 6, "not closed"),
        ("(a(b));", 2, "'\\(' is not allowed after a name"),
        ("(a:x,b);", 2, "'x' is not a number"),
        ("(a b);", 3, "is not allowed after a name"),
        ("(a:1:2);", 4, "is not allowed after a branch length"),
        ("(a,'b);", 3, "is an unmatched quote or bracket"),
        ("", 0, "without ';'"),
        (";", 0, "at the beginning"),
    ],
)
def test_errors_report_the_position(text, position, problem):
    with pytest.raises(ValueError, match=rf"{problem}.*at character {position} "):
        parse_newick(text)
