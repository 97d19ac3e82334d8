"""Rooted trees with edge lengths, read from Newick strings, networkx graphs, or lists or mappings of parents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numba import njit
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from hyplearn.data.newick import parse_newick
from hyplearn.types import Array

# Description of a tree by the labels of its nodes, its edges (pairs of positions in the list of labels), the lengths of
# the edges, and the position of the root (None for an undirected graph).
_Parts: TypeAlias = tuple[list[Any], Array, Array, int | None]


class RootedTree(NamedTuple):
    """Tree with nodes in breadth-first order: the root comes first, and the children of a node are consecutive.

    For each node, ``rows`` contains its position in the input, ``parents`` its parent's position in breadth-first order
    (-1 for the root), and ``lengths`` the length of the edge to its parent (0 for the root).
    """

    rows: Array
    parents: Array
    lengths: Array

    @classmethod
    def of(cls, labels: Sequence[Any], edges: Array, lengths: Array, root: int | None) -> Self:
        """Build a tree from edges, which are pairs of positions in ``labels``.

        If ``root`` is None, the root is the node closest to the middle of the longest path.
        """
        _check_tree(labels, edges)
        _check_lengths(labels, edges, lengths)
        if root is not None:
            return cls._rooted(edges, lengths, root)
        # The node farthest from an arbitrary node is an end of a longest path. If the root is the node closest to the
        # middle of this path, the tree has the smallest possible height.
        tree = cls._rooted(edges, lengths, 0)
        across = cls._rooted(edges, lengths, int(tree.rows[np.argmax(tree.depths)]))
        depths = across.depths
        node = int(np.argmax(depths))
        half = depths[node] / 2
        while depths[node] > half and depths[node] - half >= half - depths[across.parents[node]]:
            node = int(across.parents[node])
        return cls._rooted(edges, lengths, int(across.rows[node]))

    @classmethod
    def _rooted(cls, edges: Array, lengths: Array, root: int) -> Self:
        n = len(edges) + 1
        rows, before = breadth_first_order(adjacency(edges, n), root, directed=False)
        place = np.empty(n, dtype=np.int64)
        place[rows] = np.arange(n)
        parents = np.concatenate([[-1], place[before[rows[1:]]]])
        own = np.zeros(n)
        # The child is the later of the two ends of an edge in breadth-first order.
        own[np.max(place[edges], axis=1, initial=0)] = lengths
        own[0] = 0.0
        return cls(rows.astype(np.int64), parents, own)

    @property
    def depths(self) -> Array:
        """Distance of each node from the root."""
        return sums_to_root(self.parents, self.lengths)

    @property
    def counts(self) -> Array:
        """Number of children of each node."""
        return np.bincount(self.parents[1:], minlength=len(self.parents))

    @property
    def first_children(self) -> Array:
        """Position of the first child of each node; not meaningful for a leaf."""
        return 1 + np.cumsum(self.counts) - self.counts


@njit(cache=True)
def sums_to_root(parents, values):  # type: ignore[no-untyped-def]
    """Return, for each node, the sum of the values of all nodes on the path to the root, both ends included."""
    sums = values.copy()
    for v in range(1, parents.size):
        sums[v] += sums[parents[v]]
    return sums


def adjacency(edges: Array, n: int) -> Any:
    """Return the sparse adjacency matrix of n nodes, with an entry for only one direction of each edge."""
    return coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n)).tocsr()


def _check_tree(labels: Sequence[Any], edges: Array) -> None:
    n = len(labels)
    if n == 0:
        raise ValueError("A tree must have at least one node; got no nodes.\nPass at least one node.")
    parts, part = connected_components(adjacency(edges, n), directed=False)
    if len(edges) > n - parts:
        joined = DisjointSet(range(n))
        u, v = next((u, v) for u, v in edges.tolist() if not joined.merge(u, v))
        raise ValueError(
            f"The graph has a cycle, which is closed by the edge between {labels[u]!r} and {labels[v]!r}.\n"
            "Pass a spanning tree, or embed the graph with HyperbolicMDS."
        )
    if parts > 1:
        sizes = np.bincount(part)
        raise ValueError(
            f"The graph has {parts} connected components of {np.min(sizes)} to {np.max(sizes)} nodes; "
            f"{labels[int(np.argmax(part == np.argmin(sizes)))]!r} is in the smallest.\n"
            "Join the components below one root, or embed each component separately."
        )


def _check_lengths(labels: Sequence[Any], edges: Array, lengths: Array) -> None:
    bad = ~((lengths > 0) & (lengths < np.inf))
    if bad.any():
        edge = int(np.argmax(bad))
        u, v = edges[edge]
        raise ValueError(
            f"Edge lengths must be positive and finite, but {np.count_nonzero(bad)} of {len(lengths)} are not; the "
            f"first is {lengths[edge]:g} between {labels[u]!r} and {labels[v]!r}.\n"
            "Correct these lengths, and merge nodes whose distance is 0."
        )


def read_tree(source: Any, edge_lengths: Any, root: Any) -> tuple[list[Any], RootedTree]:
    """Read a tree in any form that :meth:`TreeEmbedding.fit` accepts; return its labels and the rooted tree.

    The labels are in the order of the input. Without ``root``, the root is chosen as in :class:`TreeEmbedding`.
    """
    if edge_lengths is not None and (isinstance(source, str) or hasattr(source, "adj")):
        raise ValueError(
            "edge_lengths can be passed only with a list or mapping of parents; Newick strings and graphs "
            "contain lengths.\n"
            "Omit edge_lengths, or set the lengths in the tree."
        )
    if isinstance(source, str):
        parts = _from_newick(source)
    elif hasattr(source, "adj"):
        parts = _from_graph(source)
    else:
        parts = (_from_mapping if isinstance(source, Mapping) else _from_parents)(source, edge_lengths)
    labels, edges, lengths, start = parts
    if root is not None:
        if root not in labels:
            raise ValueError(
                f"root must be a node of the tree; got {root!r}.\n"
                f"Pass one of its nodes; the first are {', '.join(map(repr, labels[:5]))}."
            )
        start = labels.index(root)
    return labels, RootedTree.of(labels, edges, lengths, start)


def _from_newick(text: str) -> _Parts:
    names, parents, lengths = parse_newick(text)
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise ValueError(
            "The Newick string contains these names more than once: "
            f"{', '.join(map(repr, repeated[:5]))}{', ...' if repeated[5:] else ''}.\n"
            "Give every node a unique name, or no name."
        )
    edges = np.column_stack([np.arange(1, len(names)), parents[1:]]).astype(np.int64).reshape(-1, 2)
    branches = np.array(lengths[1:], dtype=np.float64)
    missing = np.isnan(branches)
    if missing.any() and not missing.all():
        node = int(np.flatnonzero(missing)[0]) + 1
        raise ValueError(
            f"{np.count_nonzero(missing)} of {len(branches)} branches have no length; the first leads to node "
            f"{node} ({names[node]!r}).\nGive a length to every branch. If no branch has a length, all have length 1."
        )
    return list(names), edges, np.ones(len(branches)) if missing.all() else branches, 0


def _from_graph(graph: Any) -> _Parts:
    labels = list(graph.nodes)
    place = {node: row for row, node in enumerate(labels)}
    triples = list(graph.edges(data="weight", default=1.0))
    edges = np.array([(place[v], place[u]) for u, v, _ in triples], dtype=np.int64).reshape(-1, 2)
    start = None
    if graph.is_directed():
        roots = np.setdiff1d(np.arange(len(labels)), edges[:, 0])
        start = _single_root(labels, roots.tolist(), "no edge leads to")
    return labels, edges, np.array([length for _, _, length in triples], dtype=np.float64), start


def _from_mapping(parents: Mapping[Any, Any], edge_lengths: Any) -> _Parts:
    labels = list(parents)
    place = {node: row for row, node in enumerate(labels)}
    for node, parent in parents.items():
        if parent is not None and parent not in place:
            raise ValueError(
                f"The parent {parent!r} of {node!r} is not a node of the tree.\n"
                f"Add {parent!r} with its own parent, or with None if it is the root."
            )
    rows = [-1 if parent is None else place[parent] for parent in parents.values()]
    if edge_lengths is not None:
        missing = [node for node in labels if parents[node] is not None and node not in edge_lengths]
        if missing:
            raise ValueError(
                f"edge_lengths has no length for {len(missing)} nodes; the first is {missing[0]!r}.\n"
                "Add a length for every node except the root."
            )
        edge_lengths = [edge_lengths.get(node, 0.0) for node in labels]
    return _from_parents(rows, edge_lengths, labels)


def _from_parents(parents: Any, edge_lengths: Any, labels: list[Any] | None = None) -> _Parts:
    given = np.asarray(parents)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ValueError(
            "A list of parents must contain one row number per node, and -1 for the root; got an array of "
            f"dtype {given.dtype} and shape {given.shape}.\n"
            "Pass integers, a mapping of nodes to parents, a networkx tree or a Newick string."
        )
    n = len(given)
    labels = list(range(n)) if labels is None else labels
    if given.min() < -1 or given.max() >= n:
        row = int(np.argmax((given < -1) | (given >= n)))
        raise ValueError(
            f"Parents must be row numbers from 0 to {n - 1}, or -1 for the root; row {row} has {given[row]}.\n"
            "Count rows from 0."
        )
    start = _single_root(labels, np.flatnonzero(given == -1).tolist(), "no parent is given for")
    lengths = np.ones(n) if edge_lengths is None else np.asarray(edge_lengths, dtype=np.float64)
    if lengths.shape != (n,):
        raise ValueError(
            f"edge_lengths must contain one number for each of the {n} nodes; got shape {lengths.shape}.\n"
            "Pass the length of the edge from node i to its parent as element i; the element of the root is ignored."
        )
    below = np.flatnonzero(given >= 0)
    return labels, np.column_stack([below, given[below]]).astype(np.int64), lengths[below], start


def _single_root(labels: list[Any], roots: list[int], which: str) -> int:
    """Return the position of the only root; raise an error if there is no root or more than one."""
    if len(roots) == 1:
        return roots[0]
    names = ", ".join(repr(labels[row]) for row in roots[:5]) + (f" and {len(roots) - 5} more" if roots[5:] else "")
    found = f"{len(roots)} roots: {which} {names}" if roots else "a cycle: every node has a parent"
    raise ValueError(
        f"A tree must have one root; this tree has {found}.\nRemove the cycle, or join the parts below one root."
    )
