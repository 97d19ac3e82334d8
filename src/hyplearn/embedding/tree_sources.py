"""Trees from the forms in which users hold them: Newick strings, networkx graphs, lists and mappings of parents."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from hyplearn.embedding.tree_rooted import RootedTree, reroot_at_centre
from hyplearn.types import Array

_TOKENS = re.compile(
    r"""\s+ | \[[^\]]*\]                                # blanks and comments
      | (?P<mark>[(),;])
      | '(?P<quoted>(?:[^']|'')*)'                      # a quote inside quotes is doubled
      | :\s*(?P<length>[^\s()\[\],;:']*)
      | (?P<name>[^\s()\[\],;:']+)""",
    re.VERBOSE,
)
# Tokens that may follow each token; "name" includes quoted names.
_SUBTREE = {"(", "name", "length", ",", ")"}
_AFTER = {
    "start": {"(", "name"},
    "(": _SUBTREE,
    ",": _SUBTREE,
    ")": {"name", "length", ",", ")", ";"},
    "name": {"length", ",", ")", ";"},
    "length": {",", ")", ";"},
    ";": set(),
}

# Labels of the nodes, edges as pairs (child, parent) of positions, their lengths, and the position of the root.
_Parts: TypeAlias = tuple[list[Any], Array, Array, int | None]


class LabelledTree(NamedTuple):
    """A tree with the labels of its nodes in the user's order."""

    labels: list[Any]
    tree: RootedTree


def read_tree(source: Any, edge_lengths: Any, root: Any) -> LabelledTree:
    """Tree of a Newick string, a networkx graph, a list of parents or a mapping of nodes to parents."""
    if edge_lengths is not None and (isinstance(source, str) or hasattr(source, "adj")):
        raise ValueError(
            "edge_lengths go with a list or mapping of parents; Newick strings and graphs carry their own.\n"
            "Leave them out, or set them in the tree."
        )
    if isinstance(source, str):
        labels, edges, lengths, start = _from_newick(source)
    elif hasattr(source, "adj"):
        labels, edges, lengths, start = _from_graph(source)
    elif isinstance(source, Mapping):
        labels, edges, lengths, start = _from_mapping(source, edge_lengths)
    else:
        labels, edges, lengths, start = _from_parents(source, edge_lengths)
    if root is not None:
        if root not in labels:
            raise ValueError(f"root must be a node of the tree; got {root!r}.\nThe first nodes are {labels[:5]}.")
        start = labels.index(root)
    tree = RootedTree.of(labels, edges, lengths, 0 if start is None else start)
    return LabelledTree(labels, reroot_at_centre(labels, edges, lengths, tree) if start is None else tree)


def _from_newick(text: str) -> _Parts:
    names, parents, lengths = parse_newick(text)
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise ValueError(
            f"{len(repeated)} names occur more than once in the Newick string; the first is {repeated[0]!r}.\n"
            "Give every node its own name, or none."
        )
    edges = np.column_stack([np.arange(1, len(names)), parents[1:]]).astype(np.int64).reshape(-1, 2)
    branches = np.array(lengths[1:], dtype=np.float64)
    missing = np.isnan(branches)
    if missing.any() and not missing.all():
        node = int(np.flatnonzero(missing)[0]) + 1
        raise ValueError(
            f"{np.count_nonzero(missing)} of {len(branches)} branches have no length; the first is that of node "
            f"{node} ({names[node]!r}).\nGive a length to all branches, or to none: then all have length 1."
        )
    return list(names), edges, np.ones(len(branches)) if missing.all() else branches, 0


def _from_graph(graph: Any) -> _Parts:
    labels = list(graph.nodes)
    place = {node: row for row, node in enumerate(labels)}
    triples = list(graph.edges(data="weight", default=1.0))
    edges = np.array([(place[v], place[u]) for u, v, _ in triples], dtype=np.int64).reshape(-1, 2)
    start = None
    if graph.is_directed():
        roots = sorted(set(range(len(labels))) - set(edges[:, 0].tolist()))
        start = _single_root([labels[row] for row in roots], roots, "no edge leads to")
    return labels, edges, np.array([length for _, _, length in triples], dtype=np.float64), start


def _from_mapping(parents: Mapping[Any, Any], edge_lengths: Any) -> _Parts:
    labels = list(parents)
    place = {node: row for row, node in enumerate(labels)}
    for node, parent in parents.items():
        if parent is not None and parent not in place:
            raise ValueError(
                f"The parent {parent!r} of {node!r} is not a node itself.\n"
                "Add it with its own parent; the root has None."
            )
    rows = [-1 if parent is None else place[parent] for parent in parents.values()]
    if edge_lengths is not None:
        missing = [node for node in labels if parents[node] is not None and node not in edge_lengths]
        if missing:
            raise ValueError(f"edge_lengths lacks {len(missing)} nodes; the first is {missing[0]!r}.\nAdd them.")
        edge_lengths = [edge_lengths.get(node, 0.0) for node in labels]
    _, edges, lengths, start = _from_parents(rows, edge_lengths, labels)
    return labels, edges, lengths, start


def _from_parents(parents: Any, edge_lengths: Any, labels: list[Any] | None = None) -> _Parts:
    given = np.asarray(parents)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ValueError(
            f"A list of parents holds one row number per node, -1 for the root; got shape {given.shape} of "
            f"{given.dtype}.\nPass integers, a mapping of nodes to parents, a networkx tree or a Newick string."
        )
    n = len(given)
    labels = list(range(n)) if labels is None else labels
    if given.min() < -1 or given.max() >= n:
        row = int(np.argmax((given < -1) | (given >= n)))
        raise ValueError(f"Parents are rows 0 to {n - 1}, or -1; row {row} has {given[row]}.\nCount rows from 0.")
    roots = np.flatnonzero(given == -1)
    start = _single_root([labels[row] for row in roots], roots.tolist(), "no parent is given for")
    lengths = np.ones(n) if edge_lengths is None else np.asarray(edge_lengths, dtype=np.float64)
    if lengths.shape != (n,):
        raise ValueError(
            f"edge_lengths must hold one number for each of the {n} nodes; got shape {lengths.shape}.\n"
            "Entry i is the length of the edge from node i to its parent; the entry of the root is ignored."
        )
    below = np.flatnonzero(given >= 0)
    return labels, np.column_stack([below, given[below]]).astype(np.int64), lengths[below], start


def _single_root(names: list[Any], rows: list[int], which: str) -> int:
    if len(rows) == 1:
        return rows[0]
    found = "a cycle: every node has a parent" if not rows else f"{len(rows)} roots: {which} {_listing(names)}"
    raise ValueError(f"A tree has one root; this has {found}.\nCut the cycle, or join the parts below one root.")


def _listing(names: Sequence[Any], most: int = 5) -> str:
    more = "" if len(names) <= most else f" and {len(names) - most} more"
    return ", ".join(repr(name) for name in names[:most]) + more


class NewickTree(NamedTuple):
    """Names ("" if there is none), parents and branch lengths of nodes, in the order in which their subtrees begin."""

    names: list[str]
    parents: list[int]
    lengths: list[float]


# This reads 1e5 nested parentheses in 0.19 s. Of the Newick packages, newick and dendropy end there in RecursionError,
# ete4 in a segmentation fault; scikit-bio needs 0.54 s and names no position of an error.
def parse_newick(text: str) -> NewickTree:
    """Parse one tree; a branch without a length has length NaN.

    Examples
    --------
    >>> from hyplearn.embedding.tree_sources import parse_newick
    >>> parse_newick("(cat:1,'big dog':2)pet;")
    NewickTree(names=['pet', 'cat', 'big dog'], parents=[-1, 0, 0], lengths=[nan, 1.0, 2.0])
    """
    tree = NewickTree([""], [-1], [math.nan])
    node, before, position = 0, "start", 0
    while position < len(text):
        token = _TOKENS.match(text, position)
        if token is None:
            _raise(text, position, f"{text[position]!r} begins a quote or a comment that does not end, or ends one")
        kind = token["mark"] or ("name" if token.lastgroup == "quoted" else token.lastgroup)
        if kind is not None:
            if kind not in _AFTER[before]:
                _raise(text, position, f"{token[0].strip()!r} cannot stand {_place(before)}")
            node = _step(tree, node, kind, token, text)
            before = kind
        position = token.end()
    if before != ";":
        left = "the tree ends without ';'" if node == 0 else "a parenthesis is not closed at the end of the string"
        _raise(text, len(text), left)
    return tree


def _step(tree: NewickTree, node: int, kind: str, token: re.Match[str], text: str) -> int:
    """Add one token to the tree, and return the node to which the next one belongs."""
    if kind == "name":
        tree.names[node] = token["name"] or token["quoted"].replace("''", "'")
    elif kind == "length":
        tree.lengths[node] = _number(token, text)
    elif kind == "(":
        return _grow(tree, node)
    elif kind in (",", ")"):
        if node == 0:
            _raise(text, token.start(), f"{kind!r} stands outside all parentheses")
        return _grow(tree, tree.parents[node]) if kind == "," else tree.parents[node]
    elif node != 0:
        _raise(text, token.start(), "';' stands inside parentheses that are not closed")
    return node


def _grow(tree: NewickTree, parent: int) -> int:
    tree.names.append("")
    tree.parents.append(parent)
    tree.lengths.append(math.nan)
    return len(tree.names) - 1


def _number(token: re.Match[str], text: str) -> float:
    try:
        return float(token["length"])
    except ValueError:
        _raise(text, token.start(), f"the branch length {token['length']!r} is not a number")


def _place(before: str) -> str:
    if before == "start":
        return "at the beginning of a tree"
    return f"after {'a name' if before == 'name' else 'a branch length' if before == 'length' else repr(before)}"


def _raise(text: str, position: int, problem: str) -> NoReturn:
    around = text[max(0, position - 20) : position + 20].replace("\n", " ")
    raise ValueError(
        f"Not a Newick tree: {problem}, at character {position} (counted from 0), near {around!r}.\n"
        "Correct the string there; a tree looks like (cat:1,(dog:1,wolf:1)canine:2)carnivore;"
    )
