"""Where the descent of a stress may begin: at the minimum spanning tree of the distances, placed as a tree."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hyplearn.embedding.tree import layouts
from hyplearn.embedding.tree.rooted import RootedTree, reroot_at_centre
from hyplearn.types import Array

# Hyperbolic radius of the farthest point at most: beyond, float64 has too few digits for the edges.
FARTHEST = 30.0
# Length of an edge between copies, by the longest distance.
SHORTEST = 1e-9


def tree_start(D: Array, d: int) -> Array:
    """Points of the unit ball for distances in curvature -1: those of a tree are kept to its distortion.

    The spanning tree of distances along a tree is that tree. In the disk its branches get wedges, in more dimensions
    Sarkar's directions; the middle of its longest path is the origin.
    """
    # An entry of 0 is no edge to SciPy.
    shortest = SHORTEST * np.max(D)
    found = minimum_spanning_tree(np.maximum(D, shortest)).tocoo()
    edges = np.column_stack([found.row, found.col]).astype(np.int64)
    labels = range(len(D))
    tree = reroot_at_centre(labels, edges, found.data, RootedTree.of(labels, edges, found.data, 0))
    lengths = min(1.0, FARTHEST / np.max(tree.depths)) * tree.lengths
    points = layouts.wedges(tree, lengths) if d == 2 else layouts.sarkar(tree, lengths, layouts.Codes.of(tree, d))
    start = np.empty_like(points)
    start[tree.rows] = points
    return start[_first_copies(edges[found.data <= shortest], len(D))]


def _first_copies(edges: Array, n: int) -> Array:
    """For each point the first that edges between copies join it with: itself where there are none."""
    _, part = connected_components(coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n)), directed=False)
    return np.unique(part, return_index=True)[1][part]
