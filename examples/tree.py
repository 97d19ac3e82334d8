"""From a tree to boundaries: the carnivores of WordNet, embedded from names and parents only.

A mapping of names to parents is embedded in the disk without any training: the root is at the centre, all edges have
the same hyperbolic length, and no two edges cross. Left: the tree. Right: the regions of a classifier of the families
that was fitted to the points. Writes ``out/tree.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareLogisticRegression
from hyplearn.datasets import load_mammals
from hyplearn.embedding import TreeEmbedding
from hyplearn.plotting import BoundaryDisplay, DiskDisplay
from hyplearn.plotting.canvas import draw_legend_below
from hyplearn.plotting.style import STYLE, WIDTH

ROOT = "carnivore"


def carnivores():
    """Return the raw data: a mapping from the name of each carnivore to the name of its parent."""
    mammals = load_mammals()
    parents = {ROOT: None}
    for name, parent in zip(mammals.names.tolist(), mammals.names[mammals.parents].tolist(), strict=True):
        if parent in parents and name not in parents:
            parents[name] = parent
    return parents


def families(parents, least=8):
    """Return the family of each node, named by a child of the root; small families and the root are "other"."""
    family = {}
    for name, parent in parents.items():
        family[name] = ROOT if parent is None else name if parent == ROOT else family[parent]
    names, counts = np.unique(list(family.values()), return_counts=True)
    large = set(names[counts >= least].tolist()) - {ROOT}
    return np.array([name if name in large else "other" for name in family.values()])


def main():
    parents = carnivores()
    tree = TreeEmbedding(layout="wedges", scale=1.0).fit(parents)
    X, y = tree.embedding_, families(parents)
    child = np.flatnonzero(tree.parents_ >= 0)
    edges = np.column_stack([child, tree.parents_[child]])
    model = PoincareLogisticRegression().fit(X, y)
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.9), layout="constrained")
    DiskDisplay.from_points(X, y, edges=edges).plot(ax=left, legend=False)
    left.set_title(f"{len(X)} carnivores from their names and parents\nedges of hyperbolic length {tree.scale_:g}")
    BoundaryDisplay.from_estimator(model, X, y, edges=edges).plot(ax=right, legend=False)
    right.set_title(f"Families, learned from the points\ntraining accuracy {model.score(X, y):.1%}")
    draw_legend_below(figure, [right], 4)
    path = Path("out") / "tree.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"Average distortion of tree distances at scale 1: {tree.average_distortion_:.0%};")
    print(f"at the largest scale for float64: {TreeEmbedding().fit(parents).average_distortion_:.0%}.")
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
