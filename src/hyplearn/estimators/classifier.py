"""What all classifiers of the tangent space share: one-vs-rest, reference points, signed distances."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.estimators.ball_classifier import BallClassifier, LabelledRows
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.arrays import Array
from hyplearn.reference import reference_point
from hyplearn.tangent import Features, TangentRows, implicit_rows, z_dot


class TangentClassifier(BallClassifier):
    """A classifier whose boundaries are geodesic hyperplanes through one reference point per binary problem.

    Two classes make one problem, whose positive class is ``classes_[1]``; K > 2 classes make K problems, each class
    against the rest. Subclasses learn ``coef_`` and ``reference_``, one row per problem.
    """

    coef_: Array
    reference_: Array

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

    @property
    def _n_problems(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _positive(self, k: int) -> Any:
        """The positive class of problem k."""
        return self.classes_[1 if len(self.classes_) == 2 else k]

    def _binary_labels(self, data: LabelledRows, k: int) -> Array:
        return np.where(data.y == self._positive(k), 1.0, -1.0)

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
        return np.stack([self._reference_point(data, self._binary_labels(data, k)) for k in range(self._n_problems)])

    def _heights(self, X: Array, rooms: Array) -> Iterator[Array]:
        """``√c ⟨z, w⟩ / ‖w‖`` for each problem: the hyperbolic sine of the signed distance, cheap and monotone."""
        c = absolute_curvature(self.curvature)
        for w, p in zip(self.coef_, self.reference_, strict=True):
            scaled = np.sqrt(c) / (np.linalg.norm(w) or 1.0) * w
            yield z_dot(X, scaled, p, c=c, rooms=rooms)

    def decision_function(self, X: Any) -> Array:
        """Signed hyperbolic distance of each point to the boundary of each problem.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, positive on the side of ``classes_[1]``; of shape
        (n_samples, n_classes) for more.
        """
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        root = np.sqrt(absolute_curvature(self.curvature))
        distances = np.stack([np.arcsinh(height) / root for height in self._heights(X, rooms)], axis=1)
        return distances[:, 0] if len(self.classes_) == 2 else distances

    def predict(self, X: Any) -> Array:
        """Class of each point: the side of the boundary it is on, or the class on whose side it is farthest."""
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        heights = self._heights(X, rooms)
        if len(self.classes_) == 2:
            return np.where(next(heights) > 0, self.classes_[1], self.classes_[0])
        return self.classes_[np.argmax(np.stack(list(heights), axis=1), axis=1)]

    def _rows(self, data: LabelledRows, k: int, features: Features) -> TangentRows:
        c, p = absolute_curvature(self.curvature), self.reference_[k]
        squares = None
        # Not where a warm start keeps an earlier reference point.
        if data.offsets is not None and np.array_equal(data.offsets[0], p):
            squares = data.offsets[1]
        return implicit_rows(data.X, p, features=features, c=c, rooms=data.rooms, squares=squares)
