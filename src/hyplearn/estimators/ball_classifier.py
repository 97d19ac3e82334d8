"""What all classifiers of the ball share: labels, weights, and where a reference point comes from."""

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from hyplearn.data.labelled import Labelled
from hyplearn.data.points import PointSource
from hyplearn.estimators.streaming import fits_into_memory, keep_feature_names, labelled, unchanged_on_failure
from hyplearn.estimators.threads import one_blas_thread
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.kernels import gaps
from hyplearn.progress import FitReporter, report_fit
from hyplearn.reference import STRATEGIES, distinct, reference_point
from hyplearn.types import Array

# Up to this many rows copies are merged before a reference point is learned, so that copies and weights, and any order
# of rows, give the same bits.
FEW_ROWS = 10_000


class LabelledRows(NamedTuple):
    """Validated training data: points with their gaps, labels among ``classes_``, and weights (None for equal).

    ``offsets`` holds the reference point that was given for all problems, if one was, and the squared distances to it.
    """

    X: Array
    rooms: Array
    offsets: tuple[Array, Array] | None
    y: Array
    weights: Array | None


class BallClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of points of the ball, with weights and a reference point."""

    reference: Any
    curvature: float
    outside: str
    class_weight: Any
    classes_: Array

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled points."""

    def _fit_source(self, points: PointSource) -> Self:
        """Learn from points in blocks; few numbers as if passed as an array, unless the points stay where they are."""
        with unchanged_on_failure(self):
            if not points.stays and fits_into_memory(points):
                block = points.gathered()
                self.fit(block.X, block.y, sample_weight=block.weights)
                keep_feature_names(self, points)
            else:
                tol, verbose = getattr(self, "tol", 1.0), getattr(self, "verbose", 0)
                with one_blas_thread(), report_fit(type(self).__name__, tol, verbose, points) as tell:
                    self._fit_points(labelled(self, points), tell)
        points.finished()
        return self

    def _fit_points(self, data: Labelled, tell: FitReporter) -> None:
        """Learn in passes over points whose classes are known already, and tell how it goes."""
        raise ValueError(
            f"{type(self).__name__} learns from points in memory only; {data.points.name} holds {data.n_rows} rows.\n"
            "Pass some of them as an array."
        )

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

    def _gathered_rows(self, data: Labelled) -> LabelledRows:
        """All points of a source in memory, after its census."""
        block = data.points.gathered()
        assert block.y is not None
        weights = self._weights(block.X, block.y, block.weights)
        return LabelledRows(block.X, gaps(block.X, data.c), None, block.y, weights)

    def _reference_point(self, data: LabelledRows, y: Array, threads: int = 1) -> Array:
        """The point that ``reference`` stands for, with labels y."""
        X, weights = data.X, data.weights
        if isinstance(self.reference, str) and len(X) <= FEW_ROWS:
            X, y, weights = merged(X, y, weights)
        return reference_point(self.reference, X, y, weights, absolute_curvature(self.curvature), threads=threads)


def merged(X: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Rows sorted, copies merged into weights: the same bits whatever the order of rows, copied or weighted."""
    rows, index = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    summed = np.bincount(np.ravel(index), weights, minlength=len(rows)).astype(np.float64)
    present = summed > 0
    return np.ascontiguousarray(rows[present, :-1]), rows[present, -1], summed[present]
