"""Base class of the classifiers that learn from a stream, in which each row is visited once, in order."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from hyplearn.data.checkpoint import CheckpointedPoints
from hyplearn.data.class_counts import find_outside
from hyplearn.data.labels import as_labels, distinct
from hyplearn.data.points import Block, PointSource, check_shapes
from hyplearn.data.training import Encoder, LabelledBlock, TrainingData
from hyplearn.estimators.one_vs_rest import OneVsRest
from hyplearn.estimators.validation import (
    absolute_curvature,
    check_known,
    class_factors,
    projects,
    report_outside,
    restored_on_failure,
    training_points,
)
from hyplearn.geometry.kernels import row_gaps


def visit_checked(
    block: Block,
    state: Any,
    threads: int,
    *,
    encoder: Encoder,
    visit: Callable[[LabelledBlock, Any, int], Any],
    name: str,
) -> Any:
    """Validate and encode a block of a stream, pass it to ``visit``, and return the new state."""
    return visit(check_block(block, encoder, name), state, threads)


def check_block(block: Block, encoder: Encoder, name: str) -> LabelledBlock:
    """Validate a block of a stream, and return it with its labels encoded as class indices."""
    check_shapes(block, name, block.X.shape[1], labelled=True)
    assert block.y is not None
    check_known(distinct(block.y)[0], encoder.classes)
    gaps = row_gaps(block.X, encoder.c)
    report_outside(find_outside(block, gaps, name, encoder.c), len(block.X), encoder.c, encoder.project)
    return encoder(block, gaps)


class StreamClassifier(OneVsRest):
    """Base class of one-vs-rest classifiers that can also learn from a stream of blocks."""

    @abstractmethod
    def _start_stream(self, d: int) -> Sequence[Any]:
        """Return the initial state of each problem."""

    @abstractmethod
    def _stream_state(self) -> Sequence[Any]:
        """Return the current state of each problem."""

    @abstractmethod
    def _visit(self) -> Callable[[LabelledBlock, Sequence[Any], int], Sequence[Any]]:
        """Return a function that computes the next state from a block, the current state and the number of threads."""

    @abstractmethod
    def _end_stream(self, state: Sequence[Any], d: int) -> None:
        """Set the fitted attributes from the final state."""

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with the next rows of a stream, visiting each row once, in order.

        The first call computes the reference points from the first block of X, unless ``reference`` is "origin" or
        contains points. The calibration of an earlier fit is removed, so that the model has no probabilities.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, needed in the first call
            All classes that occur in the stream.
        """
        self._check_parameters()
        first = not hasattr(self, "classes_")
        self._check_stream(X, classes, first)
        with restored_on_failure(self):
            if first:
                self.classes_ = distinct(np.asarray(as_labels(classes)))[0]
            points = training_points(self, X, y, sample_weight, reset=first)
            encoder = self._stream_encoder(points)
            if first:
                self.reference_ = self._references(_first_block(points, encoder))
                state = self._start_stream(points.n_features)
            else:
                state = self._stream_state()
            visit = partial(visit_checked, encoder=encoder, visit=self._visit(), name=points.name)
            state = points.visited(visit, state)
            self._forget_calibration()
            self._end_stream(state, points.n_features)
            self.decision_ = self._decide()
        return self

    def _stream_encoder(self, points: PointSource) -> Encoder:
        factors = class_factors(self.class_weight, self.classes_, np.ones(len(self.classes_)))
        return Encoder(self.classes_, factors, absolute_curvature(self.curvature), projects(self))

    def _check_stream(self, X: Any, classes: Any, first: bool) -> None:
        """Raise if an argument or parameter is not supported by ``partial_fit``.

        X must not be a source with a checkpoint. The first call must pass ``classes``; later calls must pass the same
        classes or None. ``class_weight`` must not be "balanced", which depends on the class counts.
        """
        if isinstance(X, CheckpointedPoints):
            raise ValueError(
                f"partial_fit makes one pass and writes no checkpoint; got a checkpoint at {X.path}.\n"
                "Pass the points without checkpointed(...), or call fit."
            )
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs all classes.\nPass classes=np.unique(all labels).")
        given = None if first or classes is None else distinct(np.asarray(as_labels(classes)))[0]
        if given is not None and given.tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={given.tolist()} differ from the classes of the first call, "
                f"{self.classes_.tolist()}.\nOmit classes= after the first call, or make a new estimator."
            )
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs the class counts, which are unknown before the stream has ended.\n'
                "Pass a dict of class weights, or sample_weight."
            )


def _first_block(points: PointSource, encoder: Encoder) -> TrainingData:
    """Convert the first block of a stream to training data."""
    block = check_block(next(iter(points.blocks())), encoder, points.name)
    codes, K = block.codes.astype(np.int64), len(encoder.classes)
    return TrainingData.of_arrays(block.X, codes, block.weights, encoder.c, n_classes=K)
