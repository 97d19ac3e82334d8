"""Embed trees, find the largest scale at which float64 represents all edges, and measure the distortion."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from scipy.special import lambertw

from hyplearn.embedding.tree import layouts
from hyplearn.embedding.tree.sources import RootedTree, read_tree, sums_to_root
from hyplearn.geometry.border import absolute_curvature, as_real, check_integer, check_parameter
from hyplearn.geometry.kernels import norm_of_difference, row_gaps
from hyplearn.scikit_learn import BaseEstimator
from hyplearn.types import Array

# Values of spread that are tried for spread="auto". Each requires one layout and one measurement of the distortion.
SPREADS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3)
# Approximate maximum number of ordered pairs of nodes on which the distortion is measured. It covers all pairs in trees
# of up to 2,000 nodes. In larger trees, more pairs would make the mean more accurate, but take longer.
MOST_PAIRS = 4_000_000
# Approximate maximum number of ordered pairs of nodes on which the distortion is measured for each of the SPREADS.
# These pairs are enough to choose the best spread, and far fewer than the MOST_PAIRS pairs of the final measurement, so
# the choice is fast.
SEARCH_PAIRS = 200_000
# Largest accepted relative error of an edge length due to rounding.
EDGE_TOLERANCE = 0.01
# Number of binary digits of the significand of float64.
DIGITS = 53


@dataclass(eq=False, repr=False)
class TreeEmbedding(BaseEstimator):
    r"""Embed a tree in the ball, so that hyperbolic distances approximate tree distances times a scale.

    The root is at the origin, and the hyperbolic distance of each node from its parent is the length of its edge times
    the scale. Points are computed without optimisation, so that 10⁵ nodes take about a second.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    layout : {"sarkar", "wedges"}, default="sarkar"
        Directions of the neighbours of a node. With "sarkar", all neighbours of a node, including its parent, are well
        separated (Sarkar, 2011): their directions are evenly spaced in the disk, and form a spherical code in higher
        dimensions. With "wedges", which is available only in the disk, the children of a node lie in a wedge around the
        direction away from the node's parent, and a child with more leaves gets a wider angle. Edges do not cross at
        any scale, so this layout is best for pictures.
    spread : float or "auto", default="auto"
        Factor, above 0 and up to 1, by which the layout "sarkar" multiplies the angle between the direction to each
        child of a node and the direction away from the node's parent. The value 1 gives Sarkar's construction; smaller
        values make paths straighter and move siblings closer together. "auto" chooses the value among 1, 0.85, 0.7,
        0.55, 0.4 and 0.3 with the smallest average distortion.
    scale : float or "auto", default="auto"
        Hyperbolic length of an edge of length 1. "auto" is the largest scale at which float64 represents the length of
        every edge to within 1 %. It places the farthest nodes at a hyperbolic radius of 30 to 35, in units of the
        radius of curvature, and gives the smallest distortion.
    root : label of a node, optional
        Node at the origin. By default, it is the root of the tree or, for an undirected graph, the node closest to the
        middle of the longest path.
    curvature : float, default=-1.0
        Sectional curvature of the ball; its radius is ``1/sqrt(-curvature)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_nodes, n_components)
        Points of the nodes.
    labels_ : list
        Label of each row: the nodes of a graph, the keys of a mapping, the row numbers of a list of parents, or the
        names in a Newick string ("" for a node without a name), in their original order.
    parents_ : ndarray of shape (n_nodes,)
        Row of each node's parent, or -1 for the root.
    scale_ : float
        Hyperbolic length of an edge of length 1.
    spread_ : float
        Value of ``spread`` that was used; 1 with the layout "wedges".
    average_distortion_ : float
        Mean of ``|1 - d / (scale_ t)|`` over pairs at hyperbolic distance d and tree distance t.
    worst_distortion_ : float
        Largest ratio ``d / t`` divided by the smallest; 1 for an isometry.
    n_pairs_ : int
        Number of pairs on which the distortion was measured. For up to 2,000 nodes, these are all pairs. For larger
        trees, each node of a fixed random sample is paired with every other node; the worst distortion also includes
        all pairs of neighbouring siblings.

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

    n_components: int = 2
    _: KW_ONLY
    layout: str = "sarkar"
    spread: float | str = "auto"
    scale: float | str = "auto"
    root: Any = None
    curvature: float = -1.0

    def fit(self, X: Any, y: Any = None, *, edge_lengths: Any = None) -> Self:
        """Embed a tree and measure the distortion.

        Parameters
        ----------
        X : str, networkx graph, mapping or sequence of int
            The tree: a Newick string; a networkx tree, undirected or directed away from the root, with lengths in the
            edge attribute ``weight`` (1 if it is missing); a mapping of nodes to parents, with None for the root; or
            the row of each node's parent, with -1 for the root.
        y : None
            Ignored.
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
        distortion = measure_distortion(tree, points, lengths)
        self.embedding_ = np.empty_like(points)
        self.embedding_[tree.rows] = points / np.sqrt(c)
        self.parents_ = np.full(len(labels), -1)
        self.parents_[tree.rows[1:]] = tree.rows[tree.parents[1:]]
        self.labels_, self.scale_, self.spread_ = labels, scale, spread
        self.average_distortion_, self.worst_distortion_, self.n_pairs_ = distortion
        return self

    def fit_transform(self, X: Any, y: Any = None, *, edge_lengths: Any = None) -> Array:
        """Embed a tree, and return the points of its nodes."""
        return self.fit(X, edge_lengths=edge_lengths).embedding_

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, 2)
        check_parameter("layout", self.layout, self.layout in ("sarkar", "wedges"), '"sarkar" or "wedges"')
        if self.layout == "wedges" and self.n_components != 2:
            raise ValueError(f'layout="wedges" needs n_components=2; got {self.n_components}.\nPass layout="sarkar".')
        positive = self.scale == "auto" or 0 < as_real(self.scale) < np.inf
        check_parameter("scale", self.scale, positive, 'a positive finite number or "auto"')
        share = self.spread == "auto" or 0 < as_real(self.spread) <= 1
        check_parameter("spread", self.spread, share, 'a number above 0 and up to 1, or "auto"')

    def _place(self, tree: RootedTree, lengths: Array) -> tuple[Array, float]:
        """Return the points, and the value of ``spread`` that was used, which is 1 for layout="wedges".

        With spread="auto", the value in SPREADS with the smallest average distortion is used.
        """
        if self.layout == "wedges":
            return layouts.wedges(tree, lengths), 1.0
        codes = layouts.Codes.of(tree, self.n_components)
        if self.spread != "auto":
            return layouts.sarkar(tree, lengths, codes.narrow(float(self.spread))), float(self.spread)
        placed = ((layouts.sarkar(tree, lengths, codes.narrow(spread)), spread) for spread in SPREADS)
        return min(placed, key=lambda pair: measure_distortion(tree, pair[0], lengths, SEARCH_PAIRS).average)

    def _scale(self, tree: RootedTree, c: float) -> float:
        if len(tree.rows) == 1:
            return 1.0 if self.scale == "auto" else float(self.scale)
        depths, lengths, d = tree.depths[1:], tree.lengths[1:], self.n_components
        largest = largest_scale(depths, lengths, d) / np.sqrt(c)
        if np.isnan(largest):
            needed = digits_needed(depths, lengths, 1 / np.max(depths), d)
            raise ValueError(
                f"This tree does not fit into float64 at any scale: a shortest edge of {np.min(lengths):.3g} and a "
                f"height of {np.max(depths):.3g} need {needed} binary digits; float64 has {DIGITS}.\n"
                "Lengthen or merge the shortest edges."
            )
        if self.scale == "auto":
            return float(largest)
        scale = float(self.scale)
        if scale > largest:
            needed = digits_needed(depths, lengths, scale * np.sqrt(c), d)
            raise ValueError(
                f"At scale {scale:g}, the farthest node has hyperbolic radius {scale * np.max(depths):.4g}, and the "
                f"edges need {needed} binary digits; float64 has {DIGITS}, enough for scale {largest:.4g}.\n"
                'Pass a scale up to this value, or scale="auto".'
            )
        return scale


def _check_apart(tree: RootedTree, points: Array, labels: list[Any], scale: float, c: float) -> None:
    """Raise an error if two nodes have the same point, which happens if edges are too short to separate all nodes."""
    order = np.lexsort(points.T)
    same = np.flatnonzero(np.all(points[order[1:]] == points[order[:-1]], axis=1))
    if same.size:
        one, other = (labels[tree.rows[order[same[0] + k]]] for k in (0, 1))
        d = points.shape[1]
        free = separating_scale(tree, d)
        needed = digits_needed(tree.depths[1:], tree.lengths[1:], free, d)
        raise ValueError(
            f"Only {len(points) - same.size} of {len(points)} nodes have distinct points at scale {scale:.4g}; for "
            f"example, {one!r} and {other!r} coincide. Sarkar's construction separates all nodes at scale "
            f"{free / np.sqrt(c):.4g}, which needs {needed} binary digits; float64 has {DIGITS}.\n"
            "Pass more components or a larger scale, or split the tree."
        )


def largest_scale(depths: Array, lengths: Array, d: int) -> float:
    r"""Return the largest scale at which float64 represents the length of every edge to within 1 %, for curvature -1.

    At scale s, an edge of length w to a node at depth a has the hyperbolic length :math:`s w` and ends at radius
    :math:`s a`. In d dimensions, the coordinates of both ends are rounded by up to :math:`2^{-54}`. At radius r, this
    changes the hyperbolic length by up to about :math:`\kappa e^r` with :math:`\kappa = \sqrt d \, 2^{-54}`. The result
    is therefore the largest s with

    .. math:: \kappa e^{s a} \le \tfrac{1}{100} s w

    for all edges, computed with Lambert's function W; it is NaN if no s fulfils this condition.
    """
    ratio = _kappa(d) * depths / (EDGE_TOLERANCE * lengths)
    if np.any(ratio > np.exp(-1)):
        return np.nan
    # Ratios below 1e-300 are replaced with 1e-300, because the branch k = -1 of Lambert's W is infinite at 0. The scale
    # then gets slightly smaller, which is safe.
    upper = -lambertw(-np.maximum(ratio, 1e-300), k=-1).real / depths
    lower = -lambertw(-ratio, k=0).real / depths
    return float(np.min(upper)) if np.min(upper) >= np.max(lower) else np.nan


def digits_needed(depths: Array, lengths: Array, scale: float, d: int) -> int:
    """Return the number of binary digits needed to represent the length of every edge to within 1 %.

    The hyperbolic length of an edge is its length in the tree times ``scale``, for curvature -1.
    """
    missing = np.max(scale * depths - np.log(EDGE_TOLERANCE * scale * lengths / _kappa(d))) / np.log(2)
    return int(np.ceil(DIGITS + missing))


def separating_scale(tree: RootedTree, d: int) -> float:
    r"""Return a scale that is large enough to separate the branches of Sarkar's construction, for curvature -1.

    At this scale, the hyperbolic length of the shortest edge is :math:`2 \ln \cot(\theta / 4)`, where :math:`\theta` is
    the smallest angle between the directions to two neighbours of a node. This angle occurs in the spherical code of
    the node with the most neighbours. If no node has two neighbours, the result is 0.
    """
    largest = int(np.max(tree.counts + (np.arange(len(tree.counts)) > 0)))
    if largest < 2:
        return 0.0
    code = layouts.spherical_code(largest, d)
    cosine = max(float(np.max(code[i + 1 :] @ code[i], initial=-1.0)) for i in range(largest))
    return float(2 * np.log(1 / np.tan(np.arccos(min(cosine, 1.0)) / 4)) / np.min(tree.lengths[1:]))


def _kappa(d: int) -> float:
    return float(np.sqrt(d) * 2.0 ** -(DIGITS + 1))


class Distortion(NamedTuple):
    """Distortion of an embedded tree, measured on ``n_pairs`` pairs of nodes.

    The ratio of a pair is ``d / (s t)``, with the hyperbolic distance d, the scale s and the tree distance t.
    ``average`` is the mean of ``|1 - ratio|``, and ``worst`` is the largest ratio divided by the smallest.
    """

    average: float
    worst: float
    n_pairs: int


def measure_distortion(tree: RootedTree, X: Array, lengths: Array, most_pairs: int = MOST_PAIRS) -> Distortion:
    """Measure the distortion of a tree that is embedded in the unit ball.

    X contains one point per node, and ``lengths`` the hyperbolic lengths that the edges should have.

    If there are more than ``most_pairs`` ordered pairs of nodes, the distortion is measured only on pairs whose first
    node is in a fixed random sample. The worst distortion also includes all pairs of neighbouring siblings,
    which usually have the largest distortion.
    """
    n = len(X)
    if n == 1:
        return Distortion(0.0, 1.0, 0)
    everything = n * (n - 1) <= most_pairs
    sources = np.arange(n) if everything else np.random.default_rng(0).choice(n, -(-most_pairs // n), replace=False)
    depths = sums_to_root(tree.parents, lengths)
    total, smallest, largest = _ratios(X, row_gaps(X, 1.0), tree.parents, lengths, depths, sources)
    n_pairs = len(sources) * (n - 1)
    return Distortion(total / n_pairs, largest / smallest, n_pairs // 2 if everything else n_pairs)


@njit(cache=True, error_model="numpy")
def _ratios(X, gaps, parents, lengths, depths, sources):  # type: ignore[no-untyped-def]
    """Return the sum of ``|1 - ratio|`` over all pairs of a source and another node, and the extreme ratios.

    The ratio of a pair of nodes is their hyperbolic distance divided by the length of the path between them in the
    tree. The extreme ratios are the smallest and the largest ratio of these pairs and of all pairs of neighbouring
    siblings.
    """
    n = X.shape[0]
    total, smallest, largest = 0.0, np.inf, 0.0
    to_source, above = np.empty(n), np.empty(n, dtype=np.int64)
    above[:] = -1
    for source in sources:
        v = source
        while v >= 0:
            above[v] = source
            v = parents[v]
        for v in range(n):
            if above[v] == source:
                to_source[v] = depths[source] - depths[v]
            else:
                to_source[v] = to_source[parents[v]] + lengths[v]
            if v != source:
                ratio = _distance(X, gaps, source, v) / to_source[v]
                total += abs(1.0 - ratio)
                smallest, largest = min(smallest, ratio), max(largest, ratio)
    for v in range(2, n):
        if parents[v] == parents[v - 1]:
            ratio = _distance(X, gaps, v - 1, v) / (lengths[v - 1] + lengths[v])
            smallest, largest = min(smallest, ratio), max(largest, ratio)
    return total, smallest, largest


@njit(cache=True, error_model="numpy")
def _distance(X, gaps, i, j):  # type: ignore[no-untyped-def]
    return 2.0 * math.asinh(norm_of_difference(X, i, X[j]) / math.sqrt(gaps[i] * gaps[j]))
