"""What all classifiers of the tangent space share: rows seen from reference points, signed distances."""

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hyplearn.data.checkpoint import CheckpointedPoints
from hyplearn.data.points import Block, PointSource, rows_named
from hyplearn.estimators.ball_classifier import LabelledRows
from hyplearn.estimators.one_vs_rest import OneVsRest
from hyplearn.estimators.streaming import stream_names
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.tangent import Features, TangentRows, implicit_rows, z_dot
from hyplearn.types import Array


def _itself(block: Block) -> Block:
    return block


class TangentClassifier(OneVsRest):
    """A classifier whose boundaries are geodesic hyperplanes through one reference point per binary problem.

    Subclasses learn ``coef_`` and ``reference_``, one row per problem.
    """

    coef_: Array
    reference_: Array

    @abstractmethod
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in order."""

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

    def _stream(self, points: PointSource, classes: Any) -> Self:
        """Learn from each block of a source in order; an error leaves the estimator as it was."""
        if isinstance(points, CheckpointedPoints):
            raise ValueError(
                f"partial_fit makes one pass and writes no checkpoint; got one to write to {points.path}.\n"
                "Pass the points without checkpointed(...), or call fit."
            )
        learner, names = copy.deepcopy(self), stream_names(self, points)
        self._check_stream(classes, first=not hasattr(self, "classes_"))
        learner.__dict__.pop("feature_names_in_", None)  # blocks have none, and these were compared
        for block in points.map(_itself):
            if block.y is None:
                raise ValueError(f"{points.name} has no labels.\nName them by open_points(..., label=).")
            with rows_named(block, points.name):
                learner.partial_fit(block.X, block.y, classes=classes, sample_weight=block.weights)
        self.__dict__.update(learner.__dict__)
        if names is not None:
            self.feature_names_in_ = names
        return self

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
        return self._plain_scores(*self._checked(X))

    def _plain_scores(self, X: Array, rooms: Array) -> Array:
        root = np.sqrt(absolute_curvature(self.curvature))
        return np.stack([np.arcsinh(height) / root for height in self._heights(X, rooms)], axis=1)

    def _platt_scores(self, X: Array, rooms: Array) -> Array:
        """Signed distances; for the paper's way, the values ``⟨f, w⟩`` of the rows that were learned from."""
        if self.calibration != "training":
            return self._plain_scores(X, rooms)
        c = absolute_curvature(self.curvature)
        values = [
            implicit_rows(X, p, features=self._features, c=c, rooms=rooms) @ w
            for w, p in zip(self.coef_, self.reference_, strict=True)
        ]
        return np.stack(values, axis=1)

    def _sines_at(self, score: float) -> Array | None:
        root = np.sqrt(absolute_curvature(self.curvature))
        if not (self.calibration == "training" and self._is_calibrated):
            return np.full(len(self.coef_), np.sinh(root * score))
        return root * score / np.linalg.norm(self.coef_, axis=1) if self._features == "z" else None

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
