"""PoincareMap: embed cells, or other rows of features, with the Poincaré maps of Klimovskaia et al. (2020)."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hyplearn.data.points import check_finite_rows
from hyplearn.embedding.descent import Descent, Hydra, descend
from hyplearn.embedding.poincare_map.cells import (
    check_features,
    check_number_of_cells,
    check_parameters,
    connected_graph,
    neighbours_for,
    root_row,
    warn_about_copies,
    warn_about_joints,
    warn_about_neighbours,
)
from hyplearn.embedding.poincare_map.divergence import Divergence, forest_accessibilities, forest_distances
from hyplearn.embedding.poincare_map.placement import Landmarks
from hyplearn.geometry import frechet_mean, translate
from hyplearn.progress import TaskReporter, report_tasks
from hyplearn.scikit_learn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from hyplearn.types import Array

# Maximum number of landmarks for n_landmarks="auto". This many landmarks take half a gigabyte of memory. The other
# cells are placed among the landmarks.
MOST_TOGETHER = 4000
# Largest distance passed to the spectral solution; if a distance is larger, all are scaled down. The solution uses an
# eigendecomposition of the matrix of hyperbolic cosines of the distances. Its rounding errors are proportional to the
# largest cosine, so larger distances would leave too few digits for short distances.
LONGEST_AT_START = 12.0
# Settings of gamma="auto": gamma is LEAST_GAMMA, the published value. If the largest logarithmic forest distance
# divided by this gamma exceeds WIDEST, gamma is raised until the quotient is WIDEST. Two cells at distance WIDEST = 8,
# on opposite sides of the origin, are at hyperbolic distance 4 from it, which is 0.96 of the Euclidean radius of the
# ball. On four synthetic trees, "auto" gives gamma = 2.7 to 3.8. A Euclidean softmax then classifies 73 % of held-out
# cells correctly (54 % with gamma = 2), and PoincareLogisticRegression 85.8 % (83.7 % with gamma = 2). The
# trustworthiness of the maps does not differ.
LEAST_GAMMA, WIDEST = 2.0, 8.0
# WIDTH_AT_START is the standard deviation of the coordinates of a random start, and EARLY_STEPS is the maximum number
# of steps with exaggerated attraction after such a start.
WIDTH_AT_START = 1e-3
EARLY_STEPS = 50
# Number of steps of the descent between two progress reports.
STEPS_REPORTED = 10


@dataclass(eq=False, repr=False)
class PoincareMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Map of cells in the ball that preserves their neighbourhoods along the branches of a hierarchy.

    The graph of nearest neighbours defines, for each cell i, a distribution over all cells: the relative forest
    accessibilities :math:`q_{ij}`, which are the entries of :math:`(I + L)^{-1}` with the graph's Laplacian L. The
    points :math:`x_i` of the cells define another distribution, the softmax of hyperbolic distances
    :math:`p_{ij} \propto e^{-\gamma d(x_i, x_j)}`. The map minimises the symmetric Kullback-Leibler divergence between
    the two distributions of a cell, averaged over the n cells:

    .. math:: \frac1n \sum_{ij} (q_{ij} - p_{ij}) \ln \frac{q_{ij}}{p_{ij}}.

    The method is L-BFGS along geodesics of the ball of curvature -1. By default, it starts at the spectral embedding of
    the distances :math:`D_{ij} / \gamma`, where :math:`D_{ij} = \tfrac12 \ln (q_{ii} q_{jj} / q_{ij}^2)` is the
    logarithmic forest distance.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    n_neighbors : int or "auto", default="auto"
        Number of nearest neighbours of each cell in Euclidean distance. "auto" is 10 for up to 400 landmarks, 15 for
        600 or more, and a fortieth of their number in between. If the graph of neighbours is not connected, its
        components are joined by the shortest edges between them, and a warning is issued.
    sigma : float or None, default=0.5
        Width of the Gaussian weights of a cell's edges, relative to the longest of these edges; None for equal weights.
    gamma : float or "auto", default="auto"
        Factor by which distances are multiplied in the softmax. Smaller values move points farther apart and towards
        the boundary. "auto" is 2, or more for deep hierarchies, so that the largest logarithmic forest distance divided
        by gamma is at most 8 and the farthest cells can be distinguished in a picture.
    root : int or str, optional
        Row of the cell at the origin, or its name in the index of a data frame. By default the Fréchet mean of all
        points is at the origin. The choice does not change any distance.
    n_landmarks : int, None or "auto", default="auto"
        Number of landmarks, which are embedded together; the other cells are placed among them as in :meth:`transform`.
        Landmarks are chosen with k-means++. "auto" means up to 4,000 cells, and None means all cells.
    init : {"spectral", "random"}, default="spectral"
        Start of the descent: the spectral embedding of the logarithmic forest distances, or random points near the
        origin, as in Klimovskaia et al. (2020), with early exaggeration.
    early_exaggeration : float, default=3.0
        Factor by which the attraction of neighbours is multiplied in up to 50 additional steps after a random start.
        It is not used with ``init="spectral"``.
    max_iter : int, default=500
        Maximum number of steps of the descent. A ``ConvergenceWarning`` is issued if more steps would be needed.
    tol : float, default=1e-5
        The descent stops when a step decreases the loss by less than this fraction of the loss.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks and of a random start. All other steps are deterministic.
    verbose : int, default=0
        Whether to report progress: the steps of the descent, and the number of cells placed among the landmarks.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_cells, n_components)
        Points of the cells in the unit ball. Cells with the same features share one point.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers of the landmarks. Of several cells with the same features, only the first can be a landmark.
    gamma_ : float
        Value of gamma that was used.
    loss_ : float
        Mean of the divergences of the landmarks, which the descent minimises.
    n_iter_ : int
        Number of steps of the descent, including those with exaggerated attraction.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has them.

    Notes
    -----
    For n landmarks, memory use is about 30 n² bytes (a quarter of a gigabyte for 3,000), and the computing time grows
    with n². The map does not depend on the order of the cells, on the scale of the features or on the number of
    threads. Steps follow geodesics, which do not leave the ball, and never go beyond hyperbolic radius 36, the limit of
    float64. If this limit stops the descent before it converges, a ``ConvergenceWarning`` is issued.

    References
    ----------
    A. Klimovskaia, D. Lopez-Paz, L. Bottou, M. Nickel, *Poincaré maps for analyzing complex hierarchies in single-cell
    data*, Nature Communications 11, 2020. P. Chebotarev, *A class of graph-geodetic distances generalizing the
    shortest-path and the resistance distances*, Discrete Applied Mathematics 159(5), 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from hyplearn import PoincareLogisticRegression
    >>> from hyplearn.embedding import PoincareMap
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = PoincareMap(root=0).fit(X[::2])
    >>> model.embedding_[0]
    array([0., 0.])
    >>> classifier = PoincareLogisticRegression().fit(model.embedding_, y[::2])
    >>> print(f"{classifier.score(model.transform(X[1::2]), y[1::2]):.1%} of new bottles")
    92.1% of new bottles
    """

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    sigma: float | None = 0.5
    gamma: float | str = "auto"
    root: int | str | None = None
    n_landmarks: int | str | None = "auto"
    init: str = "spectral"
    early_exaggeration: float = 3.0
    max_iter: int = 500
    tol: float = 1e-5
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed cells, given their features.

        Parameters
        ----------
        X : array-like of shape (n_cells, n_features)
            Features whose Euclidean distances define the neighbours of a cell, for example principal components.
        y : None
            Ignored.
        """
        check_parameters(self.get_params())
        names = getattr(X, "index", None) if hasattr(X, "columns") else None
        X = check_features(_rows(self, X, ensure_min_samples=3))
        root = root_row(self.root, names, len(X))
        # Copies are left out, and the cells are sorted, so that their order in X does not matter from here on.
        cells, firsts, place_of = np.unique(X, axis=0, return_index=True, return_inverse=True)
        warn_about_copies(len(X), len(cells))
        check_number_of_cells(cells, self.n_components)
        seed = check_random_state(self.random_state)
        chosen = self._choose_landmarks(cells, seed)
        with report_tasks(type(self).__name__, self.verbose) as report:
            n_neighbors = neighbours_for(self.n_neighbors, len(chosen))
            warn_about_neighbours(n_neighbors, len(chosen))
            graph, joints = connected_graph(cells[chosen], n_neighbors, self.sigma)
            warn_about_joints(joints)
            Q = forest_accessibilities(graph)
            D = forest_distances(Q)
            gamma = max(LEAST_GAMMA, float(D.max()) / WIDEST) if isinstance(self.gamma, str) else float(self.gamma)
            descent = self._descent(Q, D, gamma, seed, report)
            points = self._place_others(cells, Landmarks(cells[chosen], Q, descent.X), chosen, gamma, report)
        descent.warn_if_not_converged("loss", self.max_iter, "Raise gamma, so that the points lie closer together.")
        centre = frechet_mean(points) if root is None else points[place_of[root]]
        self.embedding_ = translate(points, -centre)[place_of]
        self.landmarks_, self._cells = firsts[chosen], cells[chosen]
        self.gamma_, self.loss_, self.n_iter_ = gamma, descent.values[-1], len(descent.values) - 1
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed cells, given their features, and return their points."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Return the points of new cells, without changing the map.

        Each new cell is added separately to the graph of the landmarks, whose points stay fixed. The new point is a
        local minimum of the loss. It is found with Newton's method, which starts at the point of the landmark with the
        highest accessibility from the new cell. New cells do not influence each other. A new cell with the same
        features as a landmark is placed at the point of this landmark.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Features of the new cells.
        """
        check_is_fitted(self)
        X = check_features(_rows(self, X, reset=False))
        row_of = {cell.tobytes(): row for row, cell in enumerate(self._cells)}
        known = np.array([row_of.get(cell.tobytes(), -1) for cell in X])
        landmarks = self.embedding_[self.landmarks_]
        points = landmarks[known]
        if np.any(known < 0):
            graph, _ = connected_graph(self._cells, neighbours_for(self.n_neighbors, len(self._cells)), self.sigma)
            with report_tasks(type(self).__name__, self.verbose) as report:
                placed = Landmarks(self._cells, forest_accessibilities(graph), landmarks)
                gamma = self.gamma_ if isinstance(self.gamma, str) else float(self.gamma)
                points[known < 0] = self._place(placed, X[known < 0], gamma, report)
        return points

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _choose_landmarks(self, cells: Array, seed: np.random.RandomState) -> Array:
        """Choose the landmarks, and return their row numbers in ``cells`` in increasing order.

        All cells are landmarks if there are at most ``n_landmarks``; otherwise landmarks are chosen with k-means++.
        """
        most = MOST_TOGETHER if isinstance(self.n_landmarks, str) else self.n_landmarks or len(cells)
        if len(cells) <= most:
            return np.arange(len(cells))
        check_number_of_cells(cells[:most], self.n_components)
        return np.sort(kmeans_plusplus(cells, most, random_state=seed, n_local_trials=1)[1])

    def _descent(self, Q: Array, D: Array, gamma: float, seed: np.random.RandomState, report: TaskReporter) -> Descent:
        start = self._start(D, gamma, seed)
        loss = Divergence(Q, gamma).value_and_gradient

        def on_step(step: int, value: float, gain: float) -> None:
            if step % STEPS_REPORTED == 0:
                share = np.clip(np.log(max(gain / value, 1e-300)) / np.log(self.tol), 0, 1)
                report(f"step {step}, loss {value:.5f}", float(share), task="descent")

        # The stiffness approximates the second derivative of the loss with respect to one point. This point occurs in
        # one row and one column of the matrix of all pairs, and each contributes about 2 gamma² / n.
        run = partial(descend, stiffness=4 * gamma**2 / len(Q), tol=self.tol, report=on_step)
        if self.init == "spectral":
            return run(start, loss, max_iter=self.max_iter)
        early = run(start, partial(loss, exaggeration=self.early_exaggeration), max_iter=EARLY_STEPS)
        found = run(early.X, loss, max_iter=self.max_iter)
        return found._replace(values=[*early.values[:-1], *found.values])

    def _start(self, D: Array, gamma: float, seed: np.random.RandomState) -> Array:
        if self.init == "random":
            return WIDTH_AT_START * seed.standard_normal((len(D), self.n_components))
        return Hydra.of(min(1 / gamma, LONGEST_AT_START / D.max()) * D, self.n_components).points

    def _place_others(
        self, cells: Array, landmarks: Landmarks, chosen: Array, gamma: float, report: TaskReporter
    ) -> Array:
        """Place the cells that are not landmarks, and return the points of all cells."""
        points = np.empty((len(cells), self.n_components))
        points[chosen] = landmarks.points
        rest = np.setdiff1d(np.arange(len(cells)), chosen)
        if len(rest):
            points[rest] = self._place(landmarks, cells[rest], gamma, report)
        return points

    def _place(self, landmarks: Landmarks, X: Array, gamma: float, report: TaskReporter) -> Array:
        def on_block(done: int) -> None:
            report(f"{done:,} of {len(X):,} placed", done / len(X), task="other cells")

        n_neighbors = neighbours_for(self.n_neighbors, len(landmarks.cells))
        return landmarks.place(X, n_neighbors=n_neighbors, sigma=self.sigma, gamma=gamma, report=on_block)


def _rows(estimator: PoincareMap, X: Any, **options: Any) -> Array:
    """Validate the features X; if some rows are not finite, raise an error that names the first of them."""
    X = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    check_finite_rows(X, "X")
    return X
