"""Measures of hyperbolicity: Gromov's δ, and the distortion of trees, hyperbolic embeddings and flat embeddings."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize, nnls
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from hyplearn.embedding.mds import Scaling
from hyplearn.embedding.mds.distances import read_distances
from hyplearn.geometry import pairwise_distance
from hyplearn.geometry.border import check_integer
from hyplearn.tangent import frame_coordinates
from hyplearn.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Hyperbolicity:
    r"""Measures of how well a tree, hyperbolic space and flat space reproduce given distances.

    A distortion is :math:`\sqrt{\sum (d - D)^2 / \sum D^2}` over all pairs of points, for the given distances D and the
    distances d of the tree or of the embedding. Arrays of distances are condensed, like the result of
    :func:`scipy.spatial.distance.pdist`.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Indices of the rows that were used: all rows, or a random sample.
    n_components : int
        Dimension of the hyperbolic and of the flat embedding.
    diameter : float
        Largest distance.
    delta : float
        Gromov's δ, which is the largest δ of all quadruples of ``rows`` (see :func:`hyperbolicity`); 0 for a tree.
    mean_delta : float
        Mean δ of all quadruples.
    distances : ndarray of shape (n_pairs,)
        Given distances D.
    star_distances, tree_distances : ndarray of shape (n_pairs,)
        Distances along the fitted star, which is a tree with one inner node, and along the fitted tree.
    hyperbolic_distances, flat_distances : ndarray of shape (n_pairs,)
        Distances between the embedded points, in hyperbolic and in flat space.
    curvature : float
        Sectional curvature that fits the distances best.
    """

    rows: Array
    n_components: int
    diameter: float
    delta: float
    mean_delta: float
    distances: Array
    star_distances: Array
    tree_distances: Array
    hyperbolic_distances: Array
    flat_distances: Array
    curvature: float

    @property
    def relative_delta(self) -> float:
        """Value of 2δ/diameter: 0 for a tree, 0.59 for the corners of a square, 1 for distances along a circle."""
        return 2 * self.delta / self.diameter

    @property
    def star_distortion(self) -> float:
        """Distortion of the best star, which is a tree without hierarchy."""
        return _distortion(self.star_distances, self.distances)

    @property
    def tree_distortion(self) -> float:
        """Distortion of the tree found by neighbour joining, with the edge lengths that fit the distances best."""
        return _distortion(self.tree_distances, self.distances)

    @property
    def hyperbolic_distortion(self) -> float:
        """Distortion of the hyperbolic embedding in ``n_components`` dimensions, by :class:`HyperbolicMDS`."""
        return _distortion(self.hyperbolic_distances, self.distances)

    @property
    def flat_distortion(self) -> float:
        """Distortion of the Euclidean embedding in ``n_components`` dimensions, by multidimensional scaling."""
        return _distortion(self.flat_distances, self.distances)

    @property
    def gain(self) -> float:
        """Flat distortion minus hyperbolic distortion: about 0 if curvature does not help."""
        return self.flat_distortion - self.hyperbolic_distortion

    @property
    def hierarchy(self) -> float:
        """Star distortion minus tree distortion: about 0 if a star fits as well as the tree."""
        return self.star_distortion - self.tree_distortion

    def __repr__(self) -> str:
        space = f"{self.n_components}-D"
        return (
            f"<Hyperbolicity of {len(self.rows)} points: 2δ/diameter {self.relative_delta:.2f} (mean "
            f"{2 * self.mean_delta / self.diameter:.3f}); distortion of a star {self.star_distortion:.3f}, "
            f"tree {self.tree_distortion:.3f}, hyperbolic {space} {self.hyperbolic_distortion:.3f}, flat {space} "
            f"{self.flat_distortion:.3f}>"
        )


def hyperbolicity(
    X: Any, *, metric: str = "precomputed", n_components: int = 2, n_points: int = 200, random_state: int = 0
) -> Hyperbolicity:
    r"""Measure how close data are to a tree, and how much better they embed in hyperbolic space than in flat space.

    Three properties are measured on the same rows:

    - Gromov's δ from the four-point condition. Four points can be split into two pairs in three ways. For each way, the
      distances within the two pairs are added. The δ of the quadruple is half the difference between the two largest
      sums. It is 0 for all quadruples of a tree.
    - The distortions of the best star and of the tree found by neighbour joining. A star is a tree without a hierarchy.
      Neighbour joining recovers distances along a tree exactly.
    - The distortions of two embeddings of the same dimension: by :class:`HyperbolicMDS`, and in Euclidean space. Both
      embeddings minimise the same stress.

    Parameters
    ----------
    X : array-like, sparse matrix or networkx graph
        Distances of shape (n, n), or a graph as in :meth:`HyperbolicMDS.fit`. If ``metric`` is not "precomputed", X
        must contain rows of features, with the shape (n, n_features).
    metric : str, default="precomputed"
        "precomputed", or a metric of :func:`sklearn.metrics.pairwise_distances` such as "euclidean" or "cosine".
    n_components : int, default=2
        Dimension of the two embeddings.
    n_points : int, default=200
        Maximum number of rows to use. The computing time grows with its fourth power.
    random_state : int, default=0
        Seed of the sample, if there are more rows than ``n_points``.

    Returns
    -------
    Hyperbolicity
        The measurements; :class:`~hyplearn.plotting.HyperbolicityDisplay` draws them.

    Notes
    -----
    If all distances are nearly equal, as for noise in many dimensions, they are close to the distances along a star. A
    star is a tree, so hyperbolic space reproduces these distances well although there is no hierarchy. In this case,
    the star distortion is about as small as the tree distortion, and ``hierarchy`` is about 0.

    References
    ----------
    M. Gromov, *Hyperbolic groups*, Essays in Group Theory, 1987. N. Saitou, M. Nei, *The neighbor-joining method*,
    Molecular Biology and Evolution 4(4), 1987.

    Examples
    --------
    >>> import networkx as nx
    >>> from hyplearn.embedding import hyperbolicity
    >>> hyperbolicity(nx.balanced_tree(3, 4))
    <Hyperbolicity of 121 points: 2δ/diameter 0.00 (mean 0.000); distortion of a star 0.226, tree 0.000, ...>
    >>> grid = [[x, y] for x in range(10) for y in range(10)]
    >>> hyperbolicity(grid, metric="euclidean").relative_delta
    0.585...
    """
    check_integer("n_components", n_components, 1)
    check_integer("n_points", n_points, max(4, n_components + 1))
    rows, D = _sample(X, metric, n_points, random_state)
    if len(D) < max(4, n_components + 1):
        raise ValueError(
            f"hyperbolicity() needs at least {max(4, n_components + 1)} points; got {len(D)}.\n"
            "Pass more points or a smaller n_components."
        )
    diameter = float(D.max())
    if diameter == 0:
        raise ValueError("All distances are 0, but hyperbolicity() needs positive distances.\nPass points that differ.")
    given = squareform(D, checks=False)
    delta, mean_delta = _four_points(D)
    # BLAS is limited to one thread, because its results depend on the number of threads.
    with threadpool_limits(limits=1, user_api="blas"):
        curvature, points = _hyperbolic_points(D, n_components)
        flat = _flat_distances(D, points)
        star, tree = _along_tree(np.eye(len(D), dtype=bool), given), _along_tree(_neighbour_joining(D), given)
    return Hyperbolicity(
        rows=rows,
        n_components=n_components,
        diameter=diameter,
        delta=delta,
        mean_delta=mean_delta,
        distances=given,
        star_distances=star,
        tree_distances=tree,
        hyperbolic_distances=squareform(pairwise_distance(points), checks=False) / np.sqrt(-curvature),
        flat_distances=flat,
        curvature=curvature,
    )


def _distortion(d: Array, D: Array) -> float:
    return float(np.sqrt(np.sum((d - D) ** 2) / np.sum(D**2)))


def _sample(X: Any, metric: str, n_points: int, random_state: int) -> tuple[Array, Array]:
    """Sample rows; return their indices in increasing order, and the matrix of their distances."""
    if metric != "precomputed":
        X = check_array(X)
        rows = _sampled_rows(len(X), n_points, random_state)
        return rows, read_distances(pairwise_distances(X[rows], metric=metric))[0]
    shape: tuple[int, ...] = () if hasattr(X, "adj") else np.shape(X)
    if len(shape) == 2 and shape[0] != shape[1]:
        raise ValueError(
            f"A matrix of distances must be square; got shape {shape}.\n"
            'For rows of features pass metric="euclidean", or another metric of scikit-learn.'
        )
    D, _ = read_distances(X)
    rows = _sampled_rows(len(D), n_points, random_state)
    return rows, np.ascontiguousarray(D[np.ix_(rows, rows)])


def _sampled_rows(n: int, n_points: int, random_state: int) -> Array:
    if n <= n_points:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).permutation(n)[:n_points])


@njit(cache=True)
def _four_points(D):  # type: ignore[no-untyped-def]
    """Compute Gromov's δ of every quadruple of points; return the largest δ and the mean δ."""
    n = D.shape[0]
    largest, total, count = 0.0, 0.0, 0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                for m in range(k):
                    a, b, c = D[i, j] + D[k, m], D[i, k] + D[j, m], D[i, m] + D[j, k]
                    # Twice δ is the largest of the three sums minus the second largest.
                    twice = max(a, b, c) - max(min(a, b), min(max(a, b), c))
                    largest, total, count = max(largest, twice), total + twice, count + 1
    return largest / 2, total / 2 / count


@njit(cache=True)
def _neighbour_joining(D):  # type: ignore[no-untyped-def]
    """Build a tree by neighbour joining; return its edges as a bool array with one row per edge.

    The row of an edge is True for the leaves on one side of the edge, and False for those on the other side.
    """
    n = D.shape[0]
    splits = np.zeros((2 * n - 3, n), dtype=np.bool_)
    D, sums, below, n_edges = D.copy(), np.empty(n), np.eye(n) > 0, 0
    for size in range(n, 2, -1):
        for i in range(size):
            sums[i] = D[i, :size].sum()
        best, a, b = np.inf, 0, 1
        for i in range(size):
            for j in range(i):
                q = (size - 2) * D[i, j] - sums[i] - sums[j]
                if q < best:
                    best, a, b = q, j, i
        splits[n_edges], splits[n_edges + 1] = below[a], below[b]
        n_edges += 2
        # The new node that joins a and b takes the position of a, and the last node moves to the position of b.
        between = D[a, b]
        for k in range(size):
            D[a, k] = D[k, a] = (D[a, k] + D[b, k] - between) / 2
        D[a, a] = 0.0
        below[a] |= below[b]
        below[b] = below[size - 1]
        for k in range(size):
            D[b, k] = D[k, b] = D[size - 1, k]
        D[b, b] = 0.0
    splits[n_edges] = below[1]
    return splits


def _along_tree(splits: Array, distances: Array) -> Array:
    """Return the condensed distances along a tree whose edge lengths are fitted to the condensed ``distances``.

    Each row of ``splits`` represents an edge: it is True for the leaves on one side of the edge. The lengths are fitted
    by non-negative least squares.
    """
    i, j = np.triu_indices(splits.shape[1], 1)
    crossed = (splits[:, i] != splits[:, j]).astype(np.float64)
    factor = cholesky(crossed @ crossed.T)
    lengths, _ = nnls(factor, solve_triangular(factor, crossed @ distances, trans="T"))
    return lengths @ crossed


def _hyperbolic_points(D: Array, n_components: int) -> tuple[float, Array]:
    """Return the curvature that :class:`HyperbolicMDS` would choose, and the embedded points in the unit ball.

    No warnings are issued about distorted pairs or about a descent that did not converge, because the reported
    distortion already shows how good the embedding is.
    """
    scaling = Scaling(n_components)
    c = scaling.best_curvature(D)
    return -c, scaling.solve(np.sqrt(c) * D)[2].X


def _flat_distances(D: Array, points: Array) -> Array:
    """Return the condensed distances of a flat embedding with minimal stress.

    The stress is minimised twice, and the better result is returned. The first start is the solution of classical
    multidimensional scaling. The second start consists of the frame coordinates, at the origin, of the hyperbolic
    ``points``, scaled so that the largest distance between them equals the largest distance in D.
    """
    d = points.shape[1]
    centred = D**2 - (D**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (centred - centred.mean(axis=1)[:, None]))
    classical = vectors[:, -d:] * np.sqrt(np.maximum(values[-d:], 0))
    unrolled = frame_coordinates(points, np.zeros(d))
    unrolled *= D.max() / pdist(unrolled).max()
    given = squareform(D, checks=False)
    return min((_least_stress(start, D) for start in (classical, unrolled)), key=lambda flat: _distortion(flat, given))


def _least_stress(start: Array, D: Array) -> Array:
    """Minimise the stress, starting at an initial embedding, and return the condensed distances of the result."""
    n, d = start.shape

    def stress_and_gradient(flat: Array) -> tuple[float, Array]:
        X = flat.reshape(n, d)
        distances = squareform(pdist(X))
        off = distances - D
        weights = np.divide(off, distances, out=np.zeros_like(off), where=distances > 0)
        gradient = 2 * (weights.sum(axis=1)[:, None] * X - weights @ X)
        return float(np.sum(off**2)) / 2, gradient.ravel()

    found = minimize(stress_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return pdist(found.x.reshape(n, d))
