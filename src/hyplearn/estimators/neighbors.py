"""Nearest-neighbour classifier with hyperbolic distances."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.folding import columns_joined, map_in_threads, one_blas_thread, threads_of
from hyplearn.data.opening import is_dask
from hyplearn.estimators.accuracy import AccuracyMixin
from hyplearn.estimators.validation import (
    absolute_curvature,
    evaluate,
    lazily,
    restored_on_failure,
    training_data,
    training_points,
)
from hyplearn.geometry.border import check_integer, check_parameter
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.nearest import NearestTree, nearest, nearest_tree
from hyplearn.scikit_learn import BaseEstimator
from hyplearn.types import Array

# Number of query points that a thread processes at a time.
QUERIES = 2048


@dataclass(eq=False, repr=False)
class PoincareKNeighborsClassifier(AccuracyMixin, BaseEstimator):
    """k-nearest-neighbours classifier in the Poincaré ball: a vote of the closest training points.

    The neighbours are exact, even for points near the rim. Most distances need not be computed: points that cannot be
    neighbours are excluded with a k-d tree in up to 12 dimensions, and with matrix products in higher dimensions.
    Neighbours at equal distances are returned in the order of the training rows.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours that vote.
    weights : {"uniform", "distance"}, default="uniform"
        Weight of each vote: 1 for "uniform", and the inverse of the distance for "distance". With "distance",
        neighbours at distance 0 outvote all others.
    n_jobs : int, default=None
        Number of threads; None for all cores, or as many as OMP_NUM_THREADS allows. Results do not depend on it.
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim of the ball: raise an error that lists them, or move them to the
        largest representable radius with a warning.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_samples_fit_ : int
        Number of training points.
    n_features_in_ : int
        Number of coordinates.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the coordinates, if X has them.

    Examples
    --------
    >>> from hyplearn import PoincareKNeighborsClassifier
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = PoincareKNeighborsClassifier(5).fit(X[::2], y[::2])
    >>> print(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> distances, rows = model.kneighbors(X[:1], n_neighbors=2)
    >>> print(rows[0, 0], distances[0, 0])
    0 0.0
    """

    n_neighbors: int = 15
    _: KW_ONLY
    weights: str = "uniform"
    n_jobs: int | None = None
    curvature: float = -1.0
    outside: str = "raise"

    # All rows have the same weight. Rows far beyond the other rows of their class are not left out, because they affect
    # only the predictions near them.
    class_weight, trims = None, False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training points, and build the search tree.

        Parameters
        ----------
        X, y
            Points in the ball and labels, as in :meth:`PoincareSVC.fit`; files and Dask collections are read into
            memory.
        """
        check_integer("n_neighbors", self.n_neighbors, 1)
        valid = isinstance(self.weights, str) and self.weights in ("uniform", "distance")
        check_parameter("weights", self.weights, valid, '"uniform" or "distance"')
        with restored_on_failure(self):
            self.__dict__.pop("_tree", None)
            rows = training_data(self, training_points(self, X, y, None, reset=True)).gathered()
            self._points, self._codes = np.array(rows.X), rows.codes.astype(np.int64)
            self.n_samples_fit_ = len(self._points)
            self._checked_number(self.n_neighbors, self.n_samples_fit_)
            self._tree  # noqa: B018, build the search tree now instead of in the first prediction
        return self

    @cached_property
    def _tree(self) -> NearestTree:
        return nearest_tree(self._points, row_gaps(self._points, absolute_curvature(self.curvature)))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training points of each point, sorted by distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a file, optional
            Points in the ball; by default the training points, which are then not counted as their own neighbours.
        n_neighbors : int, optional
            Number of neighbours; by default the parameter ``n_neighbors``.
        return_distance : bool, default=True
            Whether to return distances as well.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Hyperbolic distances; only with ``return_distance=True``.
        rows : ndarray of shape (n_samples, n_neighbors)
            Indices of the training points.
        """
        check_is_fitted(self)
        itself = X is None
        number = self._checked_number(self.n_neighbors if n_neighbors is None else n_neighbors, self._most(itself))
        if itself:
            gaps = row_gaps(self._points, absolute_curvature(self.curvature))
            distances, rows = _without_itself(*self._neighbors(self._points, gaps, number + 1))
        else:
            found = evaluate(self, X, lambda X, gaps: np.stack(self._neighbors(X, gaps, number), axis=2))
            distances, rows = found[:, :, 0], found[:, :, 1].astype(np.int64)
        return (distances, rows) if return_distance else rows

    def _most(self, itself: bool) -> int:
        return self.n_samples_fit_ - itself

    def _checked_number(self, number: Any, most: int) -> int:
        check_integer("n_neighbors", number, 1)
        if number > most:
            raise ValueError(
                f"n_neighbors must be at most {most}, as there are {self.n_samples_fit_} training points; got {number}."
                "\nPass a smaller n_neighbors, or fit to more points. If X is None, a point is not its own neighbour."
            )
        return int(number)

    def _neighbors(self, X: Array, gaps: Array, number: int) -> tuple[Array, ...]:
        """Compute the distances and row indices of the nearest training points, in parallel threads."""
        c, tree = absolute_curvature(self.curvature), self._tree
        cuts = [slice(start, start + QUERIES) for start in range(0, len(X), QUERIES)]
        with one_blas_thread():
            found = map_in_threads(
                lambda cut: nearest(tree, X[cut], gaps[cut], number, c), cuts, threads_of(self.n_jobs)
            )
            return columns_joined(list(found))

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest sum of votes for each point; ties go to the first class in ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball. Files are read in blocks; for a Dask collection the result is a lazy Dask collection.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "predict", X, None, self.classes_.dtype)
        return self.classes_[evaluate(self, X, lambda X, gaps: np.argmax(self._votes(X, gaps), axis=1))]

    def predict_proba(self, X: Any) -> Any:
        """Compute the share of each class in the weighted votes; the columns are in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, "predict_proba", X, self.classes_.tolist(), np.float64)
        return evaluate(self, X, self._votes)

    def _votes(self, X: Array, gaps: Array) -> Array:
        """Return the share of each class in the weighted votes, as an array of shape (n, n_classes)."""
        distances, rows = self._neighbors(X, gaps, self._checked_number(self.n_neighbors, self._most(False)))
        weights = np.ones_like(distances)
        if self.weights == "distance":
            # Multiply the inverse distances by the distance of the nearest neighbour, so that no weight overflows.
            nearest = distances[:, :1]
            weights = np.divide(nearest, distances, out=(distances == 0).astype(float), where=nearest > 0)
        n, K = len(X), len(self.classes_)
        places = np.arange(n)[:, None] * K + self._codes[rows]
        votes = np.bincount(places.ravel(), weights.ravel(), n * K).reshape(n, K)
        return votes / votes.sum(axis=1, keepdims=True)


def _without_itself(distances: Array, rows: Array) -> tuple[Array, Array]:
    """Remove each row from its own neighbours.

    A row may be missing from its own neighbours because of other rows with the same coordinates. Its last neighbour is
    then removed instead.
    """
    hidden = rows == np.arange(len(rows))[:, None]
    hidden[~hidden.any(axis=1), -1] = True
    shape = len(rows), rows.shape[1] - 1
    return distances[~hidden].reshape(shape), rows[~hidden].reshape(shape)
