"""The mammals of WordNet: a small real hierarchy that ships with the package."""

import csv
from importlib import resources
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

_DESCR = """\
The mammals of WordNet 3.0 in the Poincaré disk
-----------------------------------------------
1170 nodes, 2 features, 13 classes.

Each row is a noun of WordNet's hierarchy below "mammal", from the root to breeds of dogs; `parents` holds the tree. The
points are made from the tree alone, never from the labels: the root is the origin, each child lies at hyperbolic
distance 1 from its parent, and children share out the directions away from their parent by their numbers of leaves to
the power 0.7. No two edges cross. Tree distances are on average 1.31 times the hyperbolic ones, and never smaller; the
worst ratio, 61, is between two of the 35 children of the rodent. The farthest point has hyperbolic radius 8.24.

Each node is labelled by the order that it is, or is below of:

carnivores 366, even-toed ungulates 185, rodents 139, odd-toed ungulates 116, primates 105, bats 41, marsupials 37,
cetaceans 33, lagomorphs 25, edentates 22, pinnipeds 22, insectivores 21; other 58: what stands above or beside the
orders (mammal, ungulate, livestock) and small orders (elephants, sea cows, monotremes).

Orders are those of WordNet: it counts seals as aquatic mammals, not as carnivores. A repeated name is numbered: "pony",
"pony 2". tools/make_mammals.py in the source repository makes the file.

WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. The licence stands beside the data file, in
WORDNET_LICENSE.
"""


@overload
def load_mammals(*, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_mammals(*, return_X_y: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.str_]]: ...


def load_mammals(*, return_X_y: bool = False) -> Bunch | tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Load the mammals of WordNet 3.0, a tree of 1170 nodes in the Poincaré disk, labelled by order.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    mammals : Bunch
        With the attributes

        data : ndarray of shape (1170, 2)
            Points of the open unit disk (curvature -1); the root is the origin.
        target : ndarray of shape (1170,)
            The order of each node, a string.
        target_names : list of str
            The 13 orders, sorted.
        feature_names : list of str
            ``["x0", "x1"]``.
        names : ndarray of shape (1170,)
            The name of each node.
        parents : ndarray of shape (1170,)
            The row of each node's parent, always an earlier row; -1 for the root.
        DESCR : str
            How the data were made.
    X_y : tuple of ndarray
        ``(data, target)``, if ``return_X_y`` is true.

    Examples
    --------
    >>> from hyplearn.datasets import load_mammals
    >>> mammals = load_mammals()
    >>> mammals.data.shape
    (1170, 2)
    >>> print(", ".join(mammals.target_names))
    bats, carnivores, cetaceans, edentates, even-toed ungulates, insectivores, lagomorphs, marsupials,
    odd-toed ungulates, other, pinnipeds, primates, rodents
    """
    source = resources.files("hyplearn.datasets") / "data" / "mammals.csv"
    with source.open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    names, parents, orders, x0, x1 = zip(*rows, strict=True)
    data = np.column_stack([np.array(x0, dtype=np.float64), np.array(x1, dtype=np.float64)])
    target = np.array(orders)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=sorted(set(orders)),
        feature_names=["x0", "x1"],
        names=np.array(names),
        parents=np.array(parents, dtype=np.intp),
        DESCR=_DESCR,
    )
