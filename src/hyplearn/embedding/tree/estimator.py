"""Trees into the ball, without any optimisation."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from hyplearn.embedding.tree import layouts
from hyplearn.embedding.tree.distortion import measure
from hyplearn.embedding.tree.precision import DIGITS, digits_needed, largest_scale, scale_of_free_branches
from hyplearn.embedding.tree.rooted import RootedTree, read_tree
from hyplearn.geometry.border import absolute_curvature
from hyplearn.types import Array

SPREADS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3)
# Enough to tell spreads apart, at a fraction of the time of the final measurement.
SEARCH_PAIRS = 200_000


class TreeEmbedding(BaseEstimator):
    r"""A tree in the ball: hyperbolic distances are tree distances times a scale, up to a distortion that is measured.

    The root is the origin, and each node stands at the hyperbolic distance of its edge from its parent. Nothing is
    optimised: 10⁵ nodes take about a second.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    layout : {"sarkar", "wedges"}, default="sarkar"
        In which directions neighbours go. With "sarkar" the neighbours of a node, its parent among them, keep as far
        apart as they can (Sarkar, 2011): evenly spaced angles in the disk, a spherical code in more dimensions. With
        "wedges", for the disk alone, children share out the directions away from their parent by their numbers of
        leaves: edges never cross, whatever the scale, so it is the one for pictures.
    spread : float or "auto", default="auto"
        For the layout "sarkar": what the angles of children to the direction away from their parent are multiplied by,
        above 0 and up to 1, Sarkar's own construction. Below 1 paths are straighter and siblings closer. By default
        the best of 1, 0.85, 0.7, 0.55, 0.4 and 0.3 by average distortion.
    scale : float or "auto", default="auto"
        Hyperbolic length of an edge of length 1. By default the largest at which float64 holds every edge to 1 %,
        which puts the farthest nodes at a hyperbolic radius of 30 to 35 and gives the least distortion.
    root : label of a node, optional
        The node at the origin. By default that of the tree, or the middle of the longest path where the tree has none,
        as an undirected graph.
    curvature : float, default=-1.0
        Sectional curvature of the ball; its radius is ``1/sqrt(-curvature)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_nodes, n_components)
        The points.
    labels_ : list
        The label of each row: a graph's nodes in their order, the keys of a mapping, row numbers for a list of
        parents, names ("" where there is none) in the order of a Newick text.
    parents_ : ndarray of shape (n_nodes,)
        The row of each node's parent, -1 for the root.
    scale_ : float
        Hyperbolic length of an edge of length 1.
    spread_ : float
        What angles were multiplied by; 1 with the layout "wedges".
    average_distortion_ : float
        Mean of ``|1 - d / (scale_ t)|`` over pairs at hyperbolic distance d and tree distance t.
    worst_distortion_ : float
        Largest ``d / t`` over the smallest; 1 for an isometry.
    n_pairs_ : int
        How many pairs were measured: all of them up to 2,000 nodes; of larger trees, all pairs of a fixed random choice
        of nodes, and for the worst distortion all neighbouring siblings.

    References
    ----------
    R. Sarkar, *Low distortion Delaunay embedding of trees in hyperbolic plane*, Graph Drawing 2011. F. Sala, C. De Sa,
    A. Gu, C. Ré, *Representation tradeoffs for hyperbolic embeddings*, ICML 2018.

    Examples
    --------
    >>> from hyplearn.embedding import TreeEmbedding
    >>> from hyplearn.geometry import distance
    >>> tree = TreeEmbedding().fit("((cat:1,lion:1)feline:2,(dog:1,wolf:1)canine:2)carnivore;")
    >>> cat, wolf = (tree.embedding_[tree.labels_.index(name)] for name in ("cat", "wolf"))
    >>> print(f"{distance(cat, wolf) / tree.scale_:.2f} for 6, {tree.average_distortion_:.1%} off on average")
    5.95 for 6, 0.5% off on average
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        layout: str = "sarkar",
        spread: float | str = "auto",
        scale: float | str = "auto",
        root: Any = None,
        curvature: float = -1.0,
    ) -> None:
        self.n_components = n_components
        self.layout = layout
        self.spread = spread
        self.scale = scale
        self.root = root
        self.curvature = curvature

    def fit(self, X: Any, y: Any = None, *, edge_lengths: Any = None) -> Self:
        """Place the nodes of a tree.

        Parameters
        ----------
        X : str, networkx graph, mapping or sequence of int
            The tree: Newick text; an undirected tree of networkx, or a directed one whose edges lead away from the
            root, with lengths in the edge attribute ``weight`` (1 where it is missing); a mapping of nodes to parents,
            None for the root; or the row of each node's parent, -1 for the root.
        y : None
            Not used.
        edge_lengths : mapping or sequence of float, optional
            Length of the edge from each node to its parent, for a mapping or a list of parents; 1 by default.
        """
        c = absolute_curvature(self.curvature)
        self._check_parameters()
        labels, tree = read_tree(X, edge_lengths, self.root)
        scale = self._scale(tree, c)
        lengths = np.sqrt(c) * scale * tree.lengths
        points, spread = self._place(tree, lengths)
        _check_apart(tree, points, labels, scale, c)
        distortion = measure(tree, points, lengths)
        self.embedding_ = np.empty_like(points)
        self.embedding_[tree.rows] = points / np.sqrt(c)
        self.parents_ = np.full(len(labels), -1)
        self.parents_[tree.rows[1:]] = tree.rows[tree.parents[1:]]
        self.labels_, self.scale_, self.spread_ = labels, scale, spread
        self.average_distortion_, self.worst_distortion_, self.n_pairs_ = distortion
        return self

    def fit_transform(self, X: Any, y: Any = None, *, edge_lengths: Any = None) -> Array:
        """Place the nodes of a tree; their points."""
        return self.fit(X, edge_lengths=edge_lengths).embedding_

    def _check_parameters(self) -> None:
        d, scale = self.n_components, self.scale
        if not isinstance(d, numbers.Integral) or isinstance(d, bool) or d < 2:
            raise ValueError(f"n_components must be a whole number of at least 2; got {d!r}.\nA tree needs directions.")
        if self.layout not in ("sarkar", "wedges"):
            raise ValueError(f'layout must be "sarkar" or "wedges"; got {self.layout!r}.')
        if self.layout == "wedges" and d != 2:
            raise ValueError(f'Wedges are those of the disk; got n_components={d}.\nPass layout="sarkar".')
        if scale != "auto" and not _is_positive(scale):
            raise ValueError(f'scale must be a positive number or "auto"; got {scale!r}.')
        if self.spread != "auto" and not (_is_positive(self.spread) and self.spread <= 1):
            raise ValueError(f'spread must be a number above 0 and up to 1, or "auto"; got {self.spread!r}.')

    def _place(self, tree: RootedTree, lengths: Array) -> tuple[Array, float]:
        """Points and spread: of several spreads, those with the least average distortion."""
        if self.layout == "wedges":
            return layouts.wedges(tree, lengths), 1.0
        codes = layouts.Codes.of(tree, self.n_components)
        if self.spread != "auto":
            return layouts.sarkar(tree, lengths, codes.narrowed(float(self.spread))), float(self.spread)
        placed = ((layouts.sarkar(tree, lengths, codes.narrowed(spread)), spread) for spread in SPREADS)
        return min(placed, key=lambda pair: measure(tree, pair[0], lengths, SEARCH_PAIRS).average)

    def _scale(self, tree: RootedTree, c: float) -> float:
        if len(tree.rows) == 1:
            return 1.0 if self.scale == "auto" else float(self.scale)
        depths, lengths, d = tree.depths[1:], tree.lengths[1:], self.n_components
        largest = largest_scale(depths, lengths, d) / np.sqrt(c)
        if np.isnan(largest):
            needed = digits_needed(depths, lengths, 1 / np.max(depths), d)
            raise ValueError(
                f"No scale lets float64 hold this tree: its shortest edge is {np.min(lengths):.3g}, its height "
                f"{np.max(depths):.3g}; that takes floats of {needed} binary digits, and these have {DIGITS}.\n"
                "Lengthen or merge the shortest edges."
            )
        if self.scale == "auto":
            return float(largest)
        scale = float(self.scale)
        if scale > largest:
            needed = digits_needed(depths, lengths, scale * np.sqrt(c), d)
            raise ValueError(
                f"At scale {scale:g} the farthest node has hyperbolic radius {scale * np.max(depths):.4g} and takes "
                f"floats of {needed} binary digits; float64 has {DIGITS}, enough for scale {largest:.4g}.\n"
                'Pass at most that, or scale="auto".'
            )
        return scale


def _is_positive(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < np.inf


def _check_apart(tree: RootedTree, points: Array, labels: list[Any], scale: float, c: float) -> None:
    """Nodes of different branches may still meet, if edges are too short for so many neighbours."""
    order = np.lexsort(points.T)
    same = np.flatnonzero(np.all(points[order[1:]] == points[order[:-1]], axis=1))
    if same.size:
        one, other = (labels[tree.rows[order[same[0] + k]]] for k in (0, 1))
        d = points.shape[1]
        free = scale_of_free_branches(tree, d)
        needed = digits_needed(tree.depths[1:], tree.lengths[1:], free, d)
        raise ValueError(
            f"{same.size} nodes fall onto others at scale {scale:.4g}; {one!r} and {other!r} are the first pair. For "
            f"its branches to stay apart this tree needs scale {free / np.sqrt(c):.4g}, which takes floats of {needed} "
            f"binary digits; float64 has {DIGITS}.\nTake more components or a larger scale, or cut the tree."
        )
