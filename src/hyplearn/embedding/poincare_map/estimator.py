"""Cells, or any rows of features, into the ball: the Poincaré maps of Klimovskaia et al."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hyplearn.embedding.descent import Descent, descend
from hyplearn.embedding.hydra import Hydra
from hyplearn.embedding.poincare_map.divergence import Divergence
from hyplearn.embedding.poincare_map.forest import forest_accessibilities, forest_distances
from hyplearn.embedding.poincare_map.neighbour_graph import connected_graph, warn_of_joints
from hyplearn.embedding.poincare_map.placement import Placed
from hyplearn.embedding.poincare_map.validation import (
    check_enough,
    check_parameters,
    in_range,
    root_row,
    warn_of_copies,
)
from hyplearn.geometry import frechet_mean, translate
from hyplearn.progress import TaskReporter, report_tasks
from hyplearn.types import Array

# With n_landmarks="auto", so many different cells are embedded together; the others are placed among them.
MOST_TOGETHER = 4000
# The spectral start is made of distances of this length at most: longer ones would leave no digits for the short.
LONGEST_AT_START = 12.0
# Size of a random start, and its steps with exaggeration.
WIDTH_AT_START = 1e-3
EARLY_STEPS = 50
# Steps of the descent between two reports.
STEPS_REPORTED = 10


class PoincareMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""A map of cells in the ball that keeps their neighbourhoods along the branches of a hierarchy.

    The graph of nearest neighbours gives each cell i a distribution over all cells, its relative forest
    accessibilities :math:`q_{ij}`, the entries of :math:`(I + L)^{-1}` with the graph's Laplacian L. Points are sought
    whose softmax of hyperbolic distances, :math:`p_{ij} \propto e^{-\gamma d(x_i, x_j)}`, is near to it: the mean of
    the symmetric Kullback-Leibler divergences,

    .. math:: \frac1n \sum_{ij} (q_{ij} - p_{ij}) \ln \frac{q_{ij}}{p_{ij}},

    is descended along geodesics of the ball of curvature -1, by L-BFGS, from the spectral embedding of the logarithmic
    forest distances :math:`\tfrac{1}{2 \gamma} \ln (q_{ii} q_{jj} / q_{ij}^2)`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    n_neighbors : int, default=15
        Nearest neighbours of each cell, by Euclidean distance. If their graph falls into parts, these are joined by
        the shortest edges between them, with a warning.
    sigma : float or None, default=0.5
        Width of the Gaussian weights of a cell's edges, in units of the longest of them; None for equal weights.
    gamma : float, default=2.0
        What distances are multiplied by in the softmax. The smaller, the farther points go apart and towards the rim.
    root : int or str, optional
        Row of the cell that comes to the origin, or its name in the index of a data frame. By default the Fréchet mean
        of all cells is there. It changes no distances.
    n_landmarks : int, None or "auto", default="auto"
        How many cells are embedded together; the others are placed among them as by :meth:`transform`. Landmarks are
        chosen by k-means++. "auto" is 4,000, None all cells.
    init : {"spectral", "random"}, default="spectral"
        Where the descent begins: at the spectral embedding of the logarithmic forest distances, or at random points
        about the origin, as in the paper, with early exaggeration.
    early_exaggeration : float, default=3.0
        For a random start: how many times the attraction of neighbours counts in the first 50 steps. The spectral start
        needs none.
    max_iter : int, default=500
        Most steps of the descent, with a warning when they are taken.
    tol : float, default=1e-5
        The descent stops when a step gains less than this part of the loss.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks and of a random start. Nothing else is random.
    verbose : int, default=0
        Whether to tell how the descent goes.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_cells, n_components)
        The points of the cells in the unit ball. Cells with the same features share one point.
    landmarks_ : ndarray of shape (n_landmarks,)
        Rows of the cells that were embedded together, copies left out.
    loss_ : float
        Mean divergence of the landmarks' rows.
    n_iter_ : int
        Steps of the descent.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has them.

    Notes
    -----
    n landmarks take about 30 n² bytes, a quarter of a gigabyte for 3,000, and a time that grows with n². Neither the
    order of the cells nor the scale of the features changes the map, and the number of threads changes no bit of it.
    Steps are geodesics, which do not leave the ball, and none is taken to where float64 ends, at hyperbolic radius 36.

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
    93.3% of new bottles
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 15,
        sigma: float | None = 0.5,
        gamma: float = 2.0,
        root: int | str | None = None,
        n_landmarks: int | str | None = "auto",
        init: str = "spectral",
        early_exaggeration: float = 3.0,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.gamma = gamma
        self.root = root
        self.n_landmarks = n_landmarks
        self.init = init
        self.early_exaggeration = early_exaggeration
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the cells.

        Parameters
        ----------
        X : array-like of shape (n_cells, n_features)
            Features whose Euclidean distances tell which cells are near, for example principal components.
        y : None
            Not used.
        """
        check_parameters(self.get_params())
        names = getattr(X, "index", None) if hasattr(X, "columns") else None
        X = in_range(validate_data(self, X, dtype=np.float64, ensure_min_samples=3))
        root = root_row(self.root, names, len(X))
        # The order of the cells does not count from here on.
        cells, firsts, place_of = np.unique(X, axis=0, return_index=True, return_inverse=True)
        warn_of_copies(len(X), len(cells))
        check_enough(cells, self.n_components)
        seed = check_random_state(self.random_state)
        chosen = self._chosen(cells, seed)
        with report_tasks(type(self).__name__, self.verbose) as report:
            graph, joints = connected_graph(cells[chosen], self._neighbours(len(chosen), warned=True), self.sigma)
            warn_of_joints(joints, stacklevel=3)
            Q = forest_accessibilities(graph)
            descent = self._descent(Q, seed, report)
            points = self._completed(cells, chosen, Q, descent.X, report)
        self._complain(descent)
        centre = frechet_mean(points) if root is None else points[place_of[root]]
        self.embedding_ = translate(points, -centre)[place_of]
        self.landmarks_, self._cells = firsts[chosen], cells[chosen]
        self.loss_, self.n_iter_ = descent.values[-1], len(descent.values) - 1
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the points of the cells, and return them."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Points of new cells, the map staying as it is.

        A new cell comes to where the loss of the map with this cell added to its graph is least, the cells of the map
        keeping their points; it is found by Newton's method from the cell that is most accessible to it. New cells do
        not see each other. A cell that has the very features of one in the map has its point.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Features of the new cells.
        """
        check_is_fitted(self)
        X = in_range(validate_data(self, X, reset=False, dtype=np.float64))
        row_of = {cell.tobytes(): row for row, cell in enumerate(self._cells)}
        known = np.array([row_of.get(cell.tobytes(), -1) for cell in X])
        landmarks = self.embedding_[self.landmarks_]
        points = landmarks[known]
        if np.any(known < 0):
            n_neighbors = self._neighbours(len(self._cells), warned=False)
            graph, _ = connected_graph(self._cells, n_neighbors, self.sigma)
            with report_tasks(type(self).__name__, self.verbose) as report:
                placed = Placed(self._cells, forest_accessibilities(graph), landmarks)
                points[known < 0] = self._placed_among(placed, X[known < 0], report)
        return points

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _chosen(self, cells: Array, seed: np.random.RandomState) -> Array:
        """Rows of the cells that are embedded together, by k-means++, which prefers cells far from those it has."""
        most = MOST_TOGETHER if isinstance(self.n_landmarks, str) else self.n_landmarks or len(cells)
        if len(cells) <= most:
            return np.arange(len(cells))
        check_enough(cells[:most], self.n_components)
        return np.sort(kmeans_plusplus(cells, most, random_state=seed, n_local_trials=1)[1])

    def _descent(self, Q: Array, seed: np.random.RandomState, report: TaskReporter) -> Descent:
        start = self._start(Q, seed)
        loss = Divergence(Q, self.gamma).value_and_gradient

        def on_step(step: int, value: float, gain: float) -> None:
            if step % STEPS_REPORTED == 0:
                share = np.clip(np.log(max(gain / value, 1e-300)) / np.log(self.tol), 0, 1)
                report(f"step {step}, loss {value:.5f}", float(share), task="descent")

        # The second derivative by a point of its own row and of its column.
        run = partial(descend, stiffness=4 * self.gamma**2 / len(Q), tol=self.tol, report=on_step)
        if self.init == "spectral":
            return run(start, loss, max_iter=self.max_iter)
        early = run(start, partial(loss, exaggeration=self.early_exaggeration), max_iter=EARLY_STEPS)
        found = run(early.X, loss, max_iter=self.max_iter)
        return found._replace(values=[*early.values[:-1], *found.values])

    def _start(self, Q: Array, seed: np.random.RandomState) -> Array:
        if self.init == "random":
            return WIDTH_AT_START * seed.standard_normal((len(Q), self.n_components))
        D = forest_distances(Q)
        D *= min(1 / self.gamma, LONGEST_AT_START / D.max())
        return Hydra.of(D, self.n_components).points

    def _completed(self, cells: Array, chosen: Array, Q: Array, landmarks: Array, report: TaskReporter) -> Array:
        """The points of all cells: of those chosen as they are, of the others where they are placed among them."""
        points = np.empty((len(cells), self.n_components))
        points[chosen] = landmarks
        rest = np.setdiff1d(np.arange(len(cells)), chosen)
        if len(rest):
            points[rest] = self._placed_among(Placed(cells[chosen], Q, landmarks), cells[rest], report)
        return points

    def _placed_among(self, placed: Placed, X: Array, report: TaskReporter) -> Array:
        n_neighbors = self._neighbours(len(placed.cells), warned=False)

        def on_block(done: int) -> None:
            report(f"{done:,} of {len(X):,} placed", done / len(X), task="other cells")

        return placed.place(X, n_neighbors=n_neighbors, sigma=self.sigma, gamma=self.gamma, report=on_block)

    def _neighbours(self, n: int, *, warned: bool) -> int:
        """n_neighbors, or all other cells where there are not so many."""
        if self.n_neighbors >= n and warned:
            warnings.warn(
                f"n_neighbors={self.n_neighbors}, but each cell has {n - 1} others that differ from it. All are taken."
                "\nLower n_neighbors.",
                UserWarning,
                stacklevel=3,
            )
        return int(min(self.n_neighbors, n - 1))

    def _complain(self, descent: Descent) -> None:
        if not descent.converged:
            gain = 1 - descent.values[-1] / descent.values[-2]
            warnings.warn(
                f"The loss still falls after {self.max_iter} steps, the last by {gain:.1e} of it.\n"
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
