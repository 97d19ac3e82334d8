"""Parse trees that are written in the Newick format."""

import math
import re
from typing import NamedTuple, NoReturn

_TOKENS = re.compile(
    r"""\s+ | \[[^\]]*\]                                # blanks and comments
      | (?P<mark>[(),;])
      | '(?P<quoted>(?:[^']|'')*)'                      # a quote inside quotes is doubled
      | :\s*(?P<length>[^\s()\[\],;:']*)
      | (?P<name>[^\s()\[\],;:']+)""",
    re.VERBOSE,
)
# _AFTER maps each token to the tokens that may follow it; _SUBTREE contains those that may follow "(" and ",". Quoted
# names count as "name".
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
_PLACES = {"start": "at the beginning of a tree", "name": "after a name", "length": "after a branch length"}


class NewickTree(NamedTuple):
    """Tree with its nodes in preorder.

    The fields contain the name of each node ("" if it has no name), the index of its parent (-1 for the root), and the
    length of the branch to its parent (NaN if it has no length).
    """

    names: list[str]
    parents: list[int]
    lengths: list[float]


# No library is used. On 1e5 nested parentheses, which this parser reads in 0.19 s, the libraries newick and dendropy
# raise RecursionError, and ete4 ends with a segmentation fault. scikit-bio needs 0.54 s, and its errors give no
# position.
def parse_newick(text: str) -> NewickTree:
    """Parse one tree; branches without a length get the length NaN.

    Examples
    --------
    >>> from hyplearn.data.newick import parse_newick
    >>> parse_newick("(cat:1,'big dog':2)pet;")
    NewickTree(names=['pet', 'cat', 'big dog'], parents=[-1, 0, 0], lengths=[nan, 1.0, 2.0])
    """
    tree = NewickTree([""], [-1], [math.nan])
    node, before, position = 0, "start", 0
    while position < len(text):
        token = _TOKENS.match(text, position)
        if token is None:
            _raise(text, position, f"{text[position]!r} is an unmatched quote or bracket")
        kind = token["mark"] or ("name" if token.lastgroup == "quoted" else token.lastgroup)
        if kind is not None:
            if kind not in _AFTER[before]:
                _raise(
                    text, position, f"{token[0].strip()!r} is not allowed {_PLACES.get(before, f'after {before!r}')}"
                )
            node = _step(tree, node, kind, token, text)
            before = kind
        position = token.end()
    if before != ";":
        left = "the tree ends without ';'" if node == 0 else "a parenthesis is not closed at the end of the string"
        _raise(text, len(text), left)
    return tree


def _step(tree: NewickTree, node: int, kind: str, token: re.Match[str], text: str) -> int:
    """Add one token to the tree, and return the node to which the next token belongs."""
    if kind == "name":
        tree.names[node] = token["name"] or token["quoted"].replace("''", "'")
    elif kind == "length":
        try:
            tree.lengths[node] = float(token["length"])
        except ValueError:
            _raise(text, token.start(), f"the branch length {token['length']!r} is not a number")
    elif kind == "(":
        return _grow(tree, node)
    elif kind in (",", ")"):
        if node == 0:
            _raise(text, token.start(), f"{kind!r} is outside all parentheses")
        return _grow(tree, tree.parents[node]) if kind == "," else tree.parents[node]
    elif node != 0:
        _raise(text, token.start(), "';' is inside parentheses that are not closed")
    return node


def _grow(tree: NewickTree, parent: int) -> int:
    """Add a child to a parent node, and return the index of the child."""
    tree.names.append("")
    tree.parents.append(parent)
    tree.lengths.append(math.nan)
    return len(tree.names) - 1


def _raise(text: str, position: int, problem: str) -> NoReturn:
    around = text[max(0, position - 20) : position + 20].replace("\n", " ")
    raise ValueError(
        f"Not a Newick tree: {problem}, at character {position} (counted from 0), near {around!r}.\n"
        "Correct the string there. Example of a tree: (cat:1,(dog:1,wolf:1)canine:2)carnivore;"
    )
