"""Read trees and edges from Newick files and tables, for embeddings, class hierarchies and interactive pages."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.newick import parse_newick
from hyplearn.data.text import is_number, text_table
from hyplearn.types import Array

NEWICK = (".nwk", ".newick", ".tree", ".tre")
TEXT = (".csv", ".tsv")
# Names by which a column of edge lengths is recognised.
LENGTHS = ("length", "weight", "distance")
# Recognised pairs of column names in a table of edges. The two columns contain the two ends of each edge.
ENDS = (("source", "target"), ("from", "to"))


def read_tree(path: Path, label: str | None) -> tuple[Any, dict[str, float] | None, dict[str, str] | None]:
    """Read a tree from a Newick file, or from a table with the name and the parent (empty for the root) of each node.

    Returns the tree, the edge lengths and the node labels. The tree is a Newick string or a dict from nodes to parents,
    as in :class:`~hyplearn.embedding.TreeEmbedding`. The lengths and the labels are dicts from nodes to values. Both
    are None for Newick files. For tables, the lengths are None if there is no column of lengths, and the labels are
    None if ``label`` is None. An empty field in the column of lengths counts as 1.
    """
    suffix = path.suffix.lower()
    if suffix in NEWICK:
        return path.read_text(encoding="utf-8"), None, None
    if suffix not in TEXT:
        raise ValueError(
            f"Cannot read a tree from {path}; supported suffixes are {', '.join(NEWICK + TEXT)}.\n"
            "Convert the file, or correct its suffix."
        )
    names, rows = text_table(path)
    parent = column_of(path, names, "parent")
    node = 0 if parent else 1
    length = length_column(names)
    if repeated := [name for name, times in Counter(row[node] for row in rows).items() if times > 1]:
        raise ValueError(
            f"{path}: column {names[node]!r} contains {repeated[0]!r} more than once.\n"
            "List each node once, with its parent."
        )
    parents = {row[node]: row[parent] or None for row in rows}
    lengths = None if length is None else {row[node]: number_in(path, row[length] or "1") for row in rows}
    if label is None:
        return parents, lengths, None
    own = column_of(path, names, label)
    return parents, lengths, {row[node]: row[own] for row in rows}


def edges_between(path: Path, names: Array | None) -> tuple[Array, int]:
    """Read the edges of a tree or of a table of edges, and match their nodes to points by name.

    Returns the edges whose two nodes are points, as pairs of row numbers, and the number of all other edges.
    """
    if names is None:
        raise ValueError(
            "Edges are matched to points by name, but these points have no names.\nPass --names with a column of names."
        )
    nodes, pairs = _read_graph(path)
    rows = names.tolist()
    # If points and nodes have the same names in the same order, as in files written by hyplearn embed, they are matched
    # by position. Names may then be empty or repeated.
    if nodes == rows:
        return np.array(pairs, dtype=np.int64).reshape(-1, 2), 0
    if repeated := [name for name, times in Counter(rows).items() if times > 1 and name in set(nodes)]:
        raise ValueError(
            f"Edges are matched to points by name, but several points are called {repeated[0]!r} (number of repeated "
            f"names: {len(repeated)}).\n"
            "Give these points different names."
        )
    place = {name: row for row, name in enumerate(rows) if name}
    found = [(place[nodes[a]], place[nodes[b]]) for a, b in pairs if nodes[a] in place and nodes[b] in place]
    if not found:
        raise ValueError(f"No edge of {path} connects two of the points.\nUse the same names for nodes and points.")
    return np.array(found), len(pairs) - len(found)


def _read_graph(path: Path) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the node names of a tree or an edge table, and its edges as pairs of node numbers."""
    if path.suffix.lower() in NEWICK:
        tree = parse_newick(path.read_text(encoding="utf-8"))
        return tree.names, [(node, parent) for node, parent in enumerate(tree.parents) if parent >= 0]
    columns, rows = text_table(path) if path.suffix.lower() in TEXT else ([], [])
    ends = next((ends for ends in ENDS if set(ends) <= set(columns)), None)
    if ends is None:
        parents, *_ = read_tree(path, None)
        named = [(node, parent) for node, parent in parents.items() if parent is not None]
        nodes = list(dict.fromkeys([*parents, *(parent for _, parent in named)]))
    else:
        named = [(row[columns.index(ends[0])], row[columns.index(ends[1])]) for row in rows]
        nodes = list(dict.fromkeys(name for pair in named for name in pair))
    number = {name: k for k, name in enumerate(nodes)}
    return nodes, [(number[a], number[b]) for a, b in named]


def length_column(names: list[str]) -> int | None:
    """Return the position of the column of edge lengths, or None if there is no such column."""
    return next((names.index(name) for name in LENGTHS if name in names), None)


def column_of(path: Path, names: list[str], name: str) -> int:
    """Return the position of the column with the given name; raise if there is none."""
    if name not in names:
        raise ValueError(
            f"{path} has no column {name!r}; its columns are {', '.join(names)}.\n"
            "Check the name of the column. The table of a tree needs one line per node, with the name of the node in "
            "the first column, and a column called parent."
        )
    return names.index(name)


def number_in(path: Path, text: str) -> float:
    """Parse a number; raise if the string is not a number."""
    if not is_number(text):
        raise ValueError(f"{path} contains {text!r} where a number is expected.\nCorrect the file.")
    return float(text)
