"""Embed points by multidimensional scaling (HyperbolicMDS)."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.utils.validation import check_is_fitted

from hyplearn.embedding.descent import Descent, Hydra
from hyplearn.embedding.mds.distances import (
    check_lengths,
    descend,
    normalise,
    place,
    read_distances,
    stress_and_gradient,
    warn_about_distorted_pairs,
)
from hyplearn.embedding.tree import layouts
from hyplearn.embedding.tree.sources import RootedTree, adjacency
from hyplearn.geometry.border import absolute_curvature, as_real, check_integer, check_parameter
from hyplearn.scikit_learn import BaseEstimator
from hyplearn.types import Array

# Largest allowed distance, for curvature -1. It is slightly smaller than the distance between two opposite points at
# the largest radius that float64 can represent.
LONGEST = 70.0
# Settings of the search for the curvature. The variable of the search is the largest given distance in units of the
# radius of curvature. SEARCH_BOUNDS is the range of this variable, and SEARCH_GRID is the number of grid values in this
# range. For each value that is tried, at most SEARCH_POINTS points are embedded, and their stress is computed.
SEARCH_BOUNDS = (0.3, 30.0)
SEARCH_GRID = 9
SEARCH_POINTS = 250
# Largest hyperbolic radius of a node of the spanning tree. At larger radii, the coordinates have too few digits in
# float64 for the lengths of edges to be accurate.
FARTHEST = 30.0
# Length, relative to the largest distance, of an edge of the spanning tree between two copies of a point. Their
# distance is 0, but SciPy would treat an edge of length 0 as missing.
SHORTEST = 1e-9


@dataclass(eq=False, repr=False)
class HyperbolicMDS(BaseEstimator):
    r"""Embed points in the ball by multidimensional scaling, so that their distances approximate given distances.

    The spectral solution (hydra) is exact if the given distances are those of points in hyperbolic space with
    ``n_components`` dimensions and the curvature of the ball. For other distances, the stress
    :math:`\sum_{i<j} (d(x_i, x_j) - D_{ij})^2` is minimised with L-BFGS along geodesics. The iteration starts at the
    spectral solution or, in two or more dimensions, at an embedding of the minimum spanning tree of the distances (see
    :class:`~hyplearn.embedding.TreeEmbedding`) if this embedding has a smaller stress.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    curvature : float or "auto", default="auto"
        Sectional curvature of the space. "auto" searches for the curvature with the smallest stress on a subset of
        at most 250 points, and uses -1 unless another curvature has a smaller stress. Pass ``curvature_`` to
        classifiers of the embedded points.
    loss : {"absolute", "relative"}, default="absolute"
        Errors whose squares are summed. Absolute errors are the differences between embedded and given distances;
        relative errors are these differences divided by the given distances, and preserve neighbourhoods better if the
        distances vary widely.
    refine : bool, default=True
        Whether to minimise the stress; if False, the points are the spectral solution.
    tol : float, default=1e-4
        The iteration stops when a step decreases the stress by less than this fraction of the stress.
    max_iter : int, default=100
        Maximum number of L-BFGS steps. A ``ConvergenceWarning`` is issued if this number is reached.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_points, n_components)
        Points in the ball of radius ``1/sqrt(-curvature_)``.
    labels_ : list or None
        Nodes of a networkx graph in the order of the rows; None for other input.
    curvature_ : float
        Sectional curvature of the space.
    stress_ : float
        :math:`\sqrt{\sum (d - D)^2 / \sum D^2}` over all pairs, or the root mean square of the relative errors for
        ``loss="relative"``.
    spectral_stress_ : float
        Stress of the spectral solution, normalised like ``stress_``.
    n_iter_ : int
        Number of L-BFGS steps.
    n_features_in_ : int
        Number of points.

    References
    ----------
    M. Keller-Ressel, S. Nargang, *Hydra: a method for strain-minimizing hyperbolic embedding of network- and
    distance-based data*, Journal of Complex Networks 8(1), 2020.

    Notes
    -----
    In the spectral solution, the radius of a point is computed from its space-like coordinates. The time-like
    coordinate is not used: near the centre it is close to 1, so it would give only half of the digits of the radius.

    Examples
    --------
    >>> from hyplearn.embedding import HyperbolicMDS
    >>> from hyplearn.datasets import load_mammals
    >>> from hyplearn.geometry import pairwise_distance
    >>> D = pairwise_distance(load_mammals().data[:100])
    >>> mds = HyperbolicMDS().fit(D)
    >>> bool(abs(pairwise_distance(mds.embedding_) - D).max() < 1e-8)
    True
    """

    n_components: int = 2
    _: KW_ONLY
    curvature: float | str = "auto"
    loss: str = "absolute"
    refine: bool = True
    tol: float = 1e-4
    max_iter: int = 100

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed points, given their distances or a graph.

        Parameters
        ----------
        X : array-like of shape (n_points, n_points), sparse matrix of the same shape, or networkx graph
            Distances; or a sparse matrix of the edge lengths of a graph; or an undirected graph with lengths in the
            edge attribute ``weight`` (1 if it is missing). Distances in a graph are lengths of shortest paths.
        y : None
            Ignored.
        """
        self._check_parameters()
        D, labels = read_distances(X)
        n = len(D)
        if n <= self.n_components:
            raise ValueError(
                f"n_components must be smaller than the number of points; got n_components={self.n_components} and {n} "
                "points.\nPass a smaller n_components."
            )
        scaling = self._scaling
        c = scaling.best_curvature(D) if self.curvature == "auto" else absolute_curvature(self.curvature)
        _check_longest(D, c)
        scaled = np.sqrt(c) * D
        hydra, spectral, descent = scaling.solve(scaled)
        descent.warn_if_not_converged("stress", self.max_iter, 'Pass curvature="auto", or a value closer to 0.')
        if self.refine:
            warn_about_distorted_pairs(descent.X, scaled, np.sqrt(c), automatic=self.curvature == "auto")
        self._hydra, self._points = hydra, descent.X
        self.embedding_ = descent.X / np.sqrt(c)
        self.labels_, self.curvature_, self.n_features_in_ = labels, -c, n
        self.spectral_stress_ = normalise(spectral, scaled, scaling.relative)
        self.stress_ = normalise(descent.values[-1], scaled, scaling.relative)
        self.n_iter_ = len(descent.values) - 1
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed points, given their distances or a graph, and return the embedding."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Embed new points, given their distances to the fitted points. The fitted points do not move.

        With ``refine=False``, the spectral solution is extended to the new points. Otherwise, the stress of each new
        point is minimised, starting at the fitted point with the smallest given distance.

        Parameters
        ----------
        X : array-like of shape (n_new, n_points)
            Distances from the new points to the fitted points.
        """
        check_is_fitted(self)
        D = np.asarray(X)
        if D.ndim != 2 or D.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must contain the distance from each new point to each of the {self.n_features_in_} points of the "
                f"fit; got shape {D.shape}.\nPass an array of shape (n_new, {self.n_features_in_})."
            )
        D = check_lengths(D, "Distances")
        c = -self.curvature_
        _check_longest(D, c)
        scaled = np.sqrt(c) * D
        if self.refine:
            return place(scaled, self._points, self._scaling.relative) / np.sqrt(c)
        return self._hydra.extend(scaled) / np.sqrt(c)

    @property
    def _scaling(self) -> "Scaling":
        return Scaling(self.n_components, self.loss == "relative", self.refine, self.tol, self.max_iter)

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, 1)
        check_integer("max_iter", self.max_iter, 1)
        if isinstance(self.curvature, str):
            check_parameter("curvature", self.curvature, self.curvature == "auto", 'a negative number or "auto"')
        else:
            absolute_curvature(self.curvature)
        check_parameter("loss", self.loss, self.loss in ("absolute", "relative"), '"absolute" or "relative"')
        check_parameter("tol", self.tol, 0 < as_real(self.tol) < 1, "a number greater than 0 and less than 1")


@dataclass(frozen=True)
class Scaling:
    """Solver for multidimensional scaling in the unit ball.

    ``relative`` is True for ``loss="relative"``; the other attributes are parameters of :class:`HyperbolicMDS`.
    """

    n_components: int
    relative: bool = False
    refine: bool = True
    tol: float = 1e-4
    max_iter: int = 100

    def solve(self, D: Array) -> tuple[Hydra, float, Descent]:
        """Return the spectral solution, its stress, and the result of the descent.

        The descent starts at the spectral solution or, in two or more dimensions, at the embedded spanning tree if the
        latter has a smaller stress. If ``refine`` is False, the returned ``Descent`` contains the spectral solution.
        """
        hydra = Hydra.of(D, self.n_components)
        spectral = stress_and_gradient(hydra.points, D, self.relative)[0]
        if not self.refine:
            return hydra, spectral, Descent(hydra.points, [spectral], "converged")
        start = hydra.points
        if self.n_components > 1 and np.any(D):
            tree = spanning_tree_start(D, self.n_components)
            start = tree if stress_and_gradient(tree, D, self.relative)[0] < spectral else start
        return hydra, spectral, descend(start, D, self.relative, tol=self.tol, max_iter=self.max_iter)

    def best_curvature(self, D: Array) -> float:
        """Return the absolute curvature that gives the smallest stress on a fixed subset of the points.

        The result is 1 if the search finds no curvature with a smaller stress than that for 1.
        """
        n, longest = len(D), float(np.max(D))
        if longest == 0:
            return 1.0
        chosen = np.sort(np.random.default_rng(0).permutation(n)[:SEARCH_POINTS])
        part = D[np.ix_(chosen, chosen)] / longest

        def stress(log_size: float) -> float:
            scaled = np.exp(log_size) * part
            return normalise(self.solve(scaled)[2].values[-1], scaled, self.relative)

        grid = np.linspace(np.log(SEARCH_BOUNDS[0]), np.log(SEARCH_BOUNDS[1]), SEARCH_GRID)
        best = int(np.argmin([stress(size) for size in grid]))
        bounds = grid[max(best - 1, 0)], grid[min(best + 1, SEARCH_GRID - 1)]
        found = minimize_scalar(stress, bounds=bounds, method="bounded", options={"xatol": 0.02})
        # If the distances were measured in the unit ball, curvature -1 fits exactly. The search would find this value
        # only approximately, so it is tried separately.
        if longest <= LONGEST and stress(np.log(longest)) <= found.fun:
            return 1.0
        return float((np.exp(found.x) / longest) ** 2)


def _check_longest(D: Array, c: float) -> None:
    longest = float(np.max(D, initial=0.0))
    if np.sqrt(c) * longest > LONGEST:
        raise ValueError(
            f"The largest distance is {longest:.4g}; the limit of float64 is {LONGEST / np.sqrt(c):.4g} for "
            f"curvature {-c:g}.\n"
            f'Scale the distances, or pass curvature="auto" or a value between {-((LONGEST / longest) ** 2):.3g} and 0.'
        )


def spanning_tree_start(D: Array, d: int) -> Array:
    """Lay out the minimum spanning tree of the given distances in the unit ball, and return its points.

    If the distances are those between all nodes of a tree, the spanning tree is this tree. The layout is "wedges" in
    the disk and "sarkar" in higher dimensions. The root is the node closest to the middle of the longest path. All
    edges are shortened by the same factor if a node would otherwise be too far from the origin.
    """
    # SciPy treats an entry of 0 as a missing edge, so copies of a point get a small positive distance.
    shortest = SHORTEST * np.max(D)
    found = minimum_spanning_tree(np.maximum(D, shortest)).tocoo()
    edges = np.column_stack([found.row, found.col]).astype(np.int64)
    tree = RootedTree.of(range(len(D)), edges, found.data, None)
    lengths = min(1.0, FARTHEST / np.max(tree.depths)) * tree.lengths
    points = layouts.wedges(tree, lengths) if d == 2 else layouts.sarkar(tree, lengths, layouts.Codes.of(tree, d))
    start = np.empty_like(points)
    start[tree.rows] = points
    # Move all copies of a point to the position of the first copy.
    _, part = connected_components(adjacency(edges[found.data <= shortest], len(D)), directed=False)
    return start[np.unique(part, return_index=True)[1][part]]
