"""Read trees from Newick files and tables of nodes, for ``hyplearn embed`` and for class hierarchies."""

from collections import Counter
from pathlib import Path
from typing import Any

from hyplearn.data.text import is_number, text_table

NEWICK = (".nwk", ".newick", ".tree", ".tre")
TEXT = (".csv", ".tsv")
LENGTHS = ("length", "weight", "distance")


def read_tree(path: Path, label: str | None) -> tuple[Any, dict[str, float] | None, dict[str, str] | None]:
    """Read a tree from a Newick file, or from a table with the name and the parent (empty for the root) of each node.

    Returns the input of :class:`~hyplearn.embedding.TreeEmbedding`, the edge lengths and the node labels.
    """
    suffix = path.suffix.lower()
    if suffix in NEWICK:
        return path.read_text(encoding="utf-8"), None, None
    if suffix not in TEXT:
        raise ValueError(f"{path} is not a tree: supported are {', '.join(NEWICK + TEXT)}.\nConvert it, or rename it.")
    names, rows = text_table(path)
    parent = column_of(path, names, "parent")
    node = 0 if parent else 1
    length = length_column(names)
    if repeated := [name for name, times in Counter(row[node] for row in rows).items() if times > 1]:
        raise ValueError(
            f"{path}: column {names[node]!r} holds {repeated[0]!r} more than once.\n"
            "List each node once, with its parent."
        )
    parents = {row[node]: row[parent] or None for row in rows}
    lengths = None if length is None else {row[node]: number_in(path, row[length] or "1") for row in rows}
    if label is None:
        return parents, lengths, None
    own = column_of(path, names, label)
    return parents, lengths, {row[node]: row[own] for row in rows}


def length_column(names: list[str]) -> int | None:
    """Return the position of the column of edge lengths, or None if there is no such column."""
    return next((names.index(name) for name in LENGTHS if name in names), None)


def column_of(path: Path, names: list[str], name: str) -> int:
    """Return the position of the column with the given name; raise if there is none."""
    if name not in names:
        raise ValueError(
            f"{path} has no column {name!r}; it has {', '.join(names)}.\nThe table of a tree needs one line per node, "
            "with its name in the first column and a column called parent."
        )
    return names.index(name)


def number_in(path: Path, text: str) -> float:
    """Parse a number; raise if the string is not a number."""
    if not is_number(text):
        raise ValueError(f"{path} contains {text!r} where a number is expected.\nCorrect it.")
    return float(text)
