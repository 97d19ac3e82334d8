"""Settings of PoincareMap: neighbours at several sizes of the data, and edge weights and gamma on deep hierarchies.

The first table compares values of n_neighbors for several numbers of cells: random samples of scanpy's blood cells (50
principal components) and simulated lineage, of scikit-learn's digits, and of a synthetic tree. "15-NN" and "PoincareLR"
are accuracies in five folds on the two coordinates: of a vote of fifteen neighbours by hyperbolic distance (five below
300 cells), and of PoincareLogisticRegression with C = 10. "trust" is the trustworthiness with ten neighbours, "joined"
is the number of disconnected parts of the graph that were joined. Each value is the mean over two samples.

The second table compares the settings of the original method (Klimovskaia et al., 2020) with those of PoincareMap, on
synthetic trees of cells of four depths. Every edge of a binary tree is a straight branch in 50 dimensions in a random
direction, cells lie along it with noise, and the branch is the class. "softmax" is scikit-learn's softmax on logarithms
at the origin, "radius" the distance of the farthest cell from the centre.

    python experiments map_settings           # seconds; into experiments/results/quick
    python experiments map_settings --full    # minutes; writes experiments/results/map_settings.*
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from comparison import HyperbolicNeighbours, at_origin
from embedding_cells import data as features
from ledger import fill
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyplearn import PoincareLogisticRegression
from hyplearn.embedding import PoincareMap
from hyplearn.embedding.poincare_map.cells import connected_graph
from hyplearn.geometry import pairwise_distance

# Settings of the second table. Equal weights of all edges (sigma=None) are close to the original method, which divides
# distances by their mean and has a fixed gamma.
SETTINGS = {
    "original": {"sigma": None, "gamma": 2.0, "init": "random", "n_neighbors": 15},
    "equal weights": {"sigma": None, "gamma": 2.0, "n_neighbors": 15},
    "gamma = 2": {"gamma": 2.0, "n_neighbors": 15},
    "default": {},
}


@dataclass(frozen=True)
class Config:
    """Data sets, numbers of cells, neighbours and samples, and depths of the trees; the default is quick."""

    name: str = "quick"
    sets: tuple[str, ...] = ("tree",)
    sizes: tuple[int, ...] = (100, 200)
    neighbours: tuple[int, ...] = (5, 15)
    samples: int = 1
    depths: tuple[int, ...] = (3,)


FULL = Config(
    name="full",
    sets=("pbmc68k_reduced", "krumsiek11", "digits", "tree"),
    sizes=(60, 120, 250, 500, 1000),
    neighbours=(6, 8, 10, 12, 15, 22),
    samples=2,
    depths=(2, 3, 4, 5),
)


def made_tree(n, depth, seed, d=50):
    """Cells along the branches of a binary tree with random directions in d dimensions, labelled by branch."""
    rng = np.random.default_rng([n, depth, seed])
    branches = 2 ** (depth + 1) - 2  # children of node k are 2k + 1 and 2k + 2; branch k ends at node k + 1
    ends = np.zeros((branches + 1, d))
    for node in range(1, branches + 1):
        step = rng.standard_normal(d)
        ends[node] = ends[(node - 1) // 2] + step / np.linalg.norm(step)
    y = 1 + rng.integers(branches, size=n)
    t = rng.uniform(size=(n, 1))
    X = (1 - t) * ends[(y - 1) // 2] + t * ends[y]
    return X + 0.08 * rng.standard_normal((n, d)), y


@lru_cache
def sample(name, n, seed):
    """Return the features and classes of n cells, or None if the data set has fewer cells."""
    if name == "tree":
        return made_tree(n, 3, seed)
    X, y = features(name, 1)
    if n > len(X):
        return None
    rows = np.sort(np.random.default_rng([n, seed]).permutation(len(X))[:n])
    return X[rows], y[rows]


def fitted_map(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about copies, joined parts of the graph, and random starts
        return PoincareMap(random_state=0, **settings).fit(X)


def trust(X, points):
    """Compute the trustworthiness with ten neighbours, by hyperbolic distance in the map."""
    n, k = len(X), 10
    D = euclidean_distances(X)
    np.fill_diagonal(D, np.inf)
    ranks = np.argsort(np.argsort(D, axis=1), axis=1) + 1
    own = pairwise_distance(points)
    np.fill_diagonal(own, np.inf)
    near = np.argsort(own, axis=1)[:, :k]
    excess = np.maximum(np.take_along_axis(ranks, near, axis=1) - k, 0).sum()
    return 1 - 2 * excess / (n * k * (2 * n - 3 * k - 1))


def scores(points, y, models):
    """Measure accuracies in five folds, in per cent; classes with fewer than five cells are left out."""
    names, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, names[counts >= 5])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return [100 * cross_val_score(model, f(points)[kept], y[kept], cv=folds).mean() for model, f in models]


def neighbours(config, cell):
    """Measure accuracies, trustworthiness and parts of the graph for one number of neighbours."""
    rows = []
    for seed in range(config.samples):
        X, y = sample(cell["set"], cell["cells"], seed)
        found = fitted_map(X, n_neighbors=cell["n_neighbors"])
        votes = HyperbolicNeighbours(15 if len(X) >= 300 else 5)
        models = [(votes, np.asarray), (PoincareLogisticRegression(C=10.0), np.asarray)]
        parts = len(connected_graph(np.unique(X, axis=0), cell["n_neighbors"], 0.5)[1].sizes)
        rows.append([*scores(found.embedding_, y, models), 100 * trust(X, found.embedding_), parts])
    names = ("15-NN", "PoincareLR", "trust", "joined")
    return {name: round(float(value), 1) for name, value in zip(names, np.mean(rows, axis=0), strict=True)}


def settings(config, cell):
    """Measure accuracies, trustworthiness and radius for one choice of settings."""
    rows = []
    for seed in range(config.samples):
        X, y = made_tree(1000, cell["depth"], seed)
        found = fitted_map(X, **SETTINGS[cell["settings"]])
        points = found.embedding_
        flat = make_pipeline(StandardScaler(), LogisticRegression(C=10.0, max_iter=5000))
        models = [
            (flat, at_origin), (HyperbolicNeighbours(15), np.asarray), (PoincareLogisticRegression(C=10.0), np.asarray),
        ]  # fmt: skip
        radius = 2 * np.arctanh(np.linalg.norm(points, axis=1).max())
        rows.append([*scores(points, y, models), 100 * trust(X, points), radius, found.gamma_])
    names = ("softmax", "15-NN", "PoincareLR", "trust", "radius", "gamma")
    return {name: round(float(value), 1) for name, value in zip(names, np.mean(rows, axis=0), strict=True)}


def run(config, folder):
    """Run all measurements and write both tables."""
    cells = [
        {"set": name, "cells": n, "n_neighbors": k}
        for name in config.sets
        for n in config.sizes
        for k in config.neighbours
        if sample(name, n, 0) is not None
    ]
    tables = [fill(folder, "map_settings_neighbours", config, cells, partial(neighbours, config))]
    cells = [{"depth": depth, "settings": name} for depth in config.depths for name in SETTINGS]
    tables.append(fill(folder, "map_settings_gamma", config, cells, partial(settings, config)))
    notes = __doc__.split("\n\n", 1)[1].rsplit("\n\n    python", 1)[0]
    (folder / "map_settings.md").write_text("\n\n".join([*map(text, tables), notes]) + "\n")
    return tables


def text(rows):
    """Format the rows as a Markdown table."""
    lines = [f"| {' | '.join(rows[0])} |", "| --- " * len(rows[0]) + "|"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row.values()))} |" for row in rows])
