"""Raw data of ``hyplearn embed``: trees, distances and features from files."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hyplearn.cli.data import Data, read_points
from hyplearn.data.text import is_number, text_table
from hyplearn.datasets import load_points
from hyplearn.types import Array

NEWICK = (".nwk", ".newick", ".tree", ".tre")
TEXT = (".csv", ".tsv")
# Names of the two ends of an edge, and of its length.
ENDS = (("source", "target"), ("from", "to"))
LENGTHS = ("length", "weight", "distance")


class Tree(NamedTuple):
    """Input of :class:`~hyplearn.embedding.TreeEmbedding`, and the label of each node where there are any."""

    source: Any
    lengths: dict[str, float] | None
    labels: dict[str, str] | None


def read_tree(path: Path, label: str | None) -> Tree:
    """Newick text, or a table with a line for each node: its name first, and its parent, empty for the root."""
    suffix = path.suffix.lower()
    if suffix in NEWICK:
        return Tree(path.read_text(encoding="utf-8"), None, None)
    if suffix not in TEXT:
        raise ValueError(f"{path} is not a tree: known are {', '.join(NEWICK + TEXT)}.\nConvert it, or rename it.")
    names, rows = text_table(path)
    parent = _column(path, names, "parent")
    node = 0 if parent else 1
    length = next((names.index(name) for name in LENGTHS if name in names), None)
    nodes = [row[node] for row in rows]
    if repeated := [name for name, times in Counter(nodes).items() if times > 1]:
        raise ValueError(
            f"{path}: column {names[node]!r} holds {repeated[0]!r} more than once.\nList each node once, with its "
            "parent."
        )
    parents = {row[node]: row[parent] or None for row in rows}
    lengths = None if length is None else {row[node]: _number(path, row[length] or "1") for row in rows}
    if label is None:
        return Tree(parents, lengths, None)
    own = _column(path, names, label)
    return Tree(parents, lengths, {row[node]: row[own] for row in rows})


def read_distances(path: Path) -> tuple[Array | None, Any]:
    """Names where there are any, and a square matrix of distances, or a sparse one of the lengths of edges."""
    if path.suffix.lower() not in TEXT:
        return None, load_points(path)[0]
    names, rows = text_table(path)
    for ends in ENDS:
        if set(ends) <= set(names):
            return _edges(path, names, rows, ends)
    if all(map(is_number, names)) and len(rows) < len(names):
        rows.insert(0, names)  # the first line holds numbers, not names
    named = not is_number(rows[0][0])
    first = 1 if named else 0
    matrix = np.array([[_number(path, field) for field in row[first:]] for row in rows])
    return np.array([row[0] for row in rows]) if named else None, matrix


def _edges(path: Path, names: list[str], rows: list[list[str]], ends: tuple[str, str]) -> tuple[Array, Any]:
    one, other = (names.index(end) for end in ends)
    length = next((names.index(name) for name in LENGTHS if name in names), None)
    nodes = np.array(list(dict.fromkeys(row[end] for row in rows for end in (one, other))))
    number = {name: k for k, name in enumerate(nodes.tolist())}
    pairs: dict[tuple[int, int], float] = {}
    for row in rows:
        first, second = sorted((number[row[one]], number[row[other]]))
        value = 1.0 if length is None else _number(path, row[length])
        if pairs.setdefault((first, second), value) != value:
            raise ValueError(f"{path} gives the edge from {row[one]!r} to {row[other]!r} two lengths.\nKeep one.")
    index = np.array(list(pairs)).T
    half = sparse.coo_array((list(pairs.values()), index), shape=(len(nodes), len(nodes))).tocsr()
    return nodes, half.maximum(half.T)


def read_features(path: Path, points: str | None, label: str | None) -> Data:
    """A table of features; for AnnData the principal components unless points is passed."""
    return read_points(path, points or ("X_pca" if path.suffix.lower() == ".h5ad" else None), label)


def _column(path: Path, names: list[str], name: str) -> int:
    if name not in names:
        raise ValueError(
            f"{path} has no column {name!r}; it has {', '.join(names)}.\nA tree's table has a line for each node: its "
            "name first, and a column parent."
        )
    return names.index(name)


def _number(path: Path, text: str) -> float:
    if not is_number(text):
        raise ValueError(f"{path} holds {text!r} where a number is needed.\nCorrect it.")
    return float(text)
