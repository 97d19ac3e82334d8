"""Trees of classes, read from a mapping from each node to its parents, a networkx graph or a Newick string."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from hyplearn.data.newick import parse_newick
from hyplearn.decision.conformal import Ancestors, least_covers
from hyplearn.types import Array

FORMS = (
    "a mapping of each node to its parent or a list of parents, a networkx.DiGraph with edges from parent to child, "
    "or a Newick string"
)


class Hierarchy(NamedTuple):
    """Part of a tree: the classes of a classifier and all ancestors of these classes."""

    names: list[Any]
    ancestors: Ancestors

    @classmethod
    def of(cls, source: Any, classes: Array) -> Self:
        """Read a hierarchy and find the classes in it.

        Raise ValueError if a class is missing, or if the classes have no common ancestor.
        """
        parents = _parents(source)
        keys = [_key(label, parents) for label in classes.tolist()]
        missing = [label for label, key in zip(classes.tolist(), keys, strict=True) if key is None]
        if missing:
            raise ValueError(
                f"The hierarchy lacks {len(missing)} of {len(classes)} classes: {_listed(missing)}.\n"
                "Add them with their parents, or name the nodes as in y."
            )
        depths = _depths(parents, keys)
        nodes = list(depths)
        place = {node: j for j, node in enumerate(nodes)}
        above = np.zeros((len(classes), len(nodes)), dtype=bool)
        for k, key in enumerate(keys):
            above[k, [place[node] for node in _at_or_above(key, parents)]] = True
        _check_common(above, classes)
        names = [_name(node, above[:, j], classes) for j, node in enumerate(nodes)]
        return cls(names, Ancestors(above, np.array([depths[node] for node in nodes])))

    def answers(self, sets: Array) -> Array:
        """Return, for each set of classes, the name of the root of the smallest subtree that contains these classes.

        For an empty set, return None.
        """
        found = least_covers(sets, self.ancestors)
        names = np.array([*self.names, None], dtype=object)
        return names[found]


def _parents(source: Any) -> dict[Any, list[Any]]:
    """Return a mapping from every node to its parents."""
    if isinstance(source, str):
        tree = parse_newick(source)
        # An unnamed node is represented by the tuple ("", position), because a tuple cannot be equal to a label.
        nodes = [name or ("", row) for row, name in enumerate(tree.names)]
        if len(set(nodes)) < len(nodes):
            twice = next(name for name in nodes if nodes.count(name) > 1)
            raise ValueError(
                f"The name {twice!r} occurs more than once in the Newick string.\nGive every node its own name."
            )
        return {node: [nodes[up]] if up >= 0 else [] for node, up in zip(nodes, tree.parents, strict=True)}
    if hasattr(source, "predecessors"):
        return {node: list(source.predecessors(node)) for node in source.nodes}
    if not isinstance(source, Mapping):
        raise TypeError(f"hierarchy must be {FORMS}; got {type(source).__name__}.")
    parents: dict[Any, list[Any]] = {}
    for node, given in source.items():
        parents[node] = _as_list(given)
    for given in list(parents.values()):
        for node in given:
            parents.setdefault(node, [])
    return parents


def _as_list(given: Any) -> list[Any]:
    if given is None or given != given:  # NaN marks a missing value in a data frame
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _key(label: Any, parents: dict[Any, list[Any]]) -> Any:
    """Return the node of a label: the label itself or its string form, or None if neither is in the tree."""
    return next((key for key in (label, str(label)) if key in parents), None)


def _at_or_above(node: Any, parents: dict[Any, list[Any]]) -> set[Any]:
    found, stack = {node}, [node]
    while stack:
        for parent in parents[stack.pop()]:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _depths(parents: dict[Any, list[Any]], keys: list[Any]) -> dict[Any, int]:
    """Return the depth of each key and each of its ancestors; raise if there is a cycle.

    The depth of a node is the length of the longest path from a root to the node.
    """
    depths: dict[Any, int] = {}
    on_path: dict[Any, None] = {}
    for start in keys:
        stack = [start]
        while stack:
            node = stack[-1]
            waiting = [parent for parent in parents[node] if parent not in depths]
            if node in depths or not waiting:
                depths.setdefault(node, max((depths[parent] + 1 for parent in parents[node]), default=0))
                on_path.pop(stack.pop(), None)
                continue
            on_path[node] = None
            if cyclic := [parent for parent in waiting if parent in on_path]:
                raise ValueError(
                    f"The hierarchy has a cycle: {cyclic[0]!r} is its own ancestor.\nRemove an edge of the cycle."
                )
            stack.extend(waiting)
    return depths


def _check_common(above: Array, classes: Array) -> None:
    if above.all(axis=0).any():
        return
    # The class that shares the fewest ancestors with the other classes is most likely not connected to them.
    shared = (above.astype(np.int64) @ above.T.astype(np.int64)).sum(axis=1)
    loose = classes.tolist()[int(np.argmin(shared))]
    raise ValueError(
        f"No node of the hierarchy is above all classes; {loose!r} shares the fewest ancestors with the other "
        "classes.\nAdd a root above all nodes. If the edges of your graph lead from child to parent, pass "
        "graph.reverse()."
    )


def _name(node: Any, below: Array, classes: Array) -> Any:
    """Return the name of a node or, for an unnamed node, the names of the classes below it."""
    if not (isinstance(node, tuple) and len(node) == 2 and node[0] == ""):
        return node
    return " or ".join(str(label) for label in classes[below])


def _listed(labels: list[Any]) -> str:
    return ", ".join(repr(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
