"""What all classifiers of the tangent space share: labels, one-vs-rest, reference points, signed distances."""

from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from hyplearn.estimators.calibration import Calibrated
from hyplearn.estimators.parallel import single_threaded_blas, thread_count
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.arrays import Array
from hyplearn.geometry.kernels import gaps
from hyplearn.reference import STRATEGIES, distinct, reference_point
from hyplearn.tangent import Features, TangentRows, implicit_rows, z_dot

# Up to this many rows copies are merged before a reference point is learned, so that copies and weights, and any order
# of rows, give the same bits.
FEW_ROWS = 10_000
# Problems of up to this many numbers are solved side by side; larger ones one after the other, each on all threads, so
# that an interrupt is answered at once.
SMALL_PROBLEM = 10**7


class LabelledRows(NamedTuple):
    """Validated training data: points with their gaps, labels among ``classes_``, and weights (None for equal).

    ``offsets`` holds the reference point that was given for all problems, if one was, and the squared distances to it.
    """

    X: Array
    rooms: Array
    offsets: tuple[Array, Array] | None
    y: Array
    weights: Array | None


class TangentClassifier(Calibrated):
    """A classifier whose boundaries are geodesic hyperplanes through one reference point per binary problem.

    Two classes make one problem, whose positive class is ``classes_[1]``; K > 2 classes make K problems, each class
    against the rest. Subclasses learn ``coef_`` and ``reference_``, one row per problem.
    """

    reference: Any
    curvature: float
    outside: str
    n_jobs: int | None
    class_weight: Any
    classes_: Array
    coef_: Array
    reference_: Array

    def _labelled_rows(self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, reset: bool) -> LabelledRows:
        """Validate training data; learn ``classes_`` unless they are known."""
        p = self._given_points()
        X, rooms, squares, y = ball_rows(self, X, y=y, reset=reset, p=p)
        if y.dtype.kind not in "iubUS":  # whole numbers, booleans and text are classes whatever their values
            check_classification_targets(y)
        if reset:
            self.classes_ = distinct(y) if classes is None else np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs samples of at least 2 classes; "
                    f"got 1 class: {self.classes_.tolist()[0]!r}.\nCheck y, or pass more data."
                )
        if classes is not None or not reset:
            self._check_known(y)
        offsets = None if p is None or squares is None else (p, squares)
        return LabelledRows(X, rooms, offsets, y, self._weights(X, y, sample_weight))

    def _check_known(self, y: Array) -> None:
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y holds {unknown.size} classes that were not announced, first {unknown.tolist()[0]!r}; known are "
                f"{self.classes_.tolist()}.\nName all classes in the first call."
            )

    def _check_stream(self, classes: Any, first: bool) -> None:
        """Refuse a stream whose classes are unknown or change, or whose balance would have to be known beforehand."""
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs all classes.\nPass classes=np.unique(all labels).")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()} are not those of the first call, {self.classes_.tolist()}.\n"
                "Leave classes out after the first call, or make a new estimator."
            )
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not known before the stream has ended.\n'
                "Pass a dict of class weights, or sample_weight."
            )

    def _weights(self, X: Array, y: Array, sample_weight: Any) -> Array | None:
        """Sample weights times class weights; None where all are equal."""
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = (1 if weights is None else weights) * compute_sample_weight(self.class_weight, y)
        if weights is not None and not np.any(weights > 0):
            raise ValueError(
                f"All {len(weights)} weights are 0, so nothing is left to learn from.\n"
                "Check sample_weight and class_weight."
            )
        return weights

    def _binary_labels(self, data: LabelledRows, k: int) -> Array:
        return np.where(data.y == self._positive(k), 1.0, -1.0)

    def _given_points(self) -> Array | None:
        """The reference as an array, unless it is a strategy."""
        if isinstance(self.reference, str) or callable(self.reference):
            return None
        try:
            return np.asarray(self.reference, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"reference must be a point of shape (n_features,), or points of shape (n_classes, n_features), of "
                f"equal length and real; got {self.reference!r:.80}.\n"
                f"Pass such an array, a function, or one of {sorted(STRATEGIES)}."
            ) from None

    def _reference_points(self, data: LabelledRows) -> Array:
        """One reference point per problem: a strategy sees the two classes of each, an array is one point or K."""
        c = absolute_curvature(self.curvature)
        given = self._given_points()
        if given is not None and given.ndim == 2:
            if len(given) != self._n_problems:
                raise ValueError(
                    f"{self._n_problems} binary problems need as many reference points; got {len(given)}.\n"
                    "Pass one point for all, or one per class (one in all for two classes)."
                )
            return np.stack([reference_point(p, data.X, None, None, c) for p in given])
        threads = thread_count(self.n_jobs)
        if self._n_problems == 1 or data.X.size > SMALL_PROBLEM:
            return np.stack([self._learned_point(data, c, threads, k) for k in range(self._n_problems)])
        with single_threaded_blas(), ThreadPoolExecutor(min(threads, self._n_problems)) as pool:
            return np.stack(list(pool.map(partial(self._learned_point, data, c, 1), range(self._n_problems))))

    def _learned_point(self, data: LabelledRows, c: float, threads: int, k: int) -> Array:
        X, y, weights = data.X, self._binary_labels(data, k), data.weights
        if isinstance(self.reference, str) and len(X) <= FEW_ROWS:
            X, y, weights = merged(X, y, weights)
        return reference_point(self.reference, X, y, weights, c, threads=threads)

    def _heights(self, X: Array, rooms: Array) -> Iterator[Array]:
        """``√c ⟨z, w⟩ / ‖w‖`` for each problem: the hyperbolic sine of the signed distance, cheap and monotone."""
        c = absolute_curvature(self.curvature)
        for w, p in zip(self.coef_, self.reference_, strict=True):
            scaled = np.sqrt(c) / (np.linalg.norm(w) or 1.0) * w
            yield z_dot(X, scaled, p, c=c, rooms=rooms)

    def distances(self, X: Any) -> Array:
        """Signed hyperbolic distance of each point to the geodesic boundary of each problem.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples, n_problems), positive on the side of the problem's own class.
        """
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        return self._distances(X, rooms)

    def _parameters_of_a_fold(self) -> dict[str, Any]:
        # Distances to hyperplanes through other points would be other scores.
        return super()._parameters_of_a_fold() | {"reference": self.reference_}

    def _scores(self, X: Array) -> Array:
        return self._platt_scores(X, gaps(X, absolute_curvature(self.curvature)))

    def _scores_of(self, X: Any) -> Array:
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        return self._platt_scores(X, rooms)

    def _platt_scores(self, X: Array, rooms: Array) -> Array:
        """Signed distances; for the paper's way, the values ``⟨f, w⟩`` of the rows that were learned from."""
        if self.calibration != "training":
            return self._distances(X, rooms)
        c = absolute_curvature(self.curvature)
        values = [
            implicit_rows(X, p, features=self._features, c=c, rooms=rooms) @ w
            for w, p in zip(self.coef_, self.reference_, strict=True)
        ]
        return np.stack(values, axis=1)

    def _distances(self, X: Array, rooms: Array) -> Array:
        root = np.sqrt(absolute_curvature(self.curvature))
        return np.stack([np.arcsinh(height) / root for height in self._heights(X, rooms)], axis=1)

    @property
    @abstractmethod
    def _features(self) -> Features:
        """The rows that are learned from."""

    def _rows(self, data: LabelledRows, k: int) -> TangentRows:
        c, p = absolute_curvature(self.curvature), self.reference_[k]
        squares = None
        # Not where a warm start keeps an earlier reference point.
        if data.offsets is not None and np.array_equal(data.offsets[0], p):
            squares = data.offsets[1]
        return implicit_rows(data.X, p, features=self._features, c=c, rooms=data.rooms, squares=squares)


def merged(X: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Rows sorted, copies merged into weights: the same bits whatever the order of rows, copied or weighted."""
    rows, index = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    summed = np.bincount(np.ravel(index), weights, minlength=len(rows)).astype(np.float64)
    present = summed > 0
    return np.ascontiguousarray(rows[present, :-1]), rows[present, -1], summed[present]
