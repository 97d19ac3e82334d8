"""The perceptrons for points on a Dask cluster: their state travels from chunk to chunk, in order."""

import copy
from dataclasses import dataclass
from typing import Any, Self

from hyplearn.dask.classifiers import DaskClassifier, check_labelled
from hyplearn.dask.points import DaskPoints
from hyplearn.data.points import Block
from hyplearn.estimators import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.streaming import stream_names


@dataclass(frozen=True)
class _Stream:
    """Lets an estimator learn from a block by ``partial_fit``."""

    classes: Any

    def __call__(self, block: Block, twin: Any, threads: int) -> Any:
        classes = None if hasattr(twin, "classes_") else self.classes
        return copy.deepcopy(twin).partial_fit(block.X, block.y, classes, sample_weight=block.weights)


class _DaskPerceptron(DaskClassifier):
    """Streams over chunks, one after the other."""

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, client: Any = None
    ) -> Self:
        """Visit each row once, in order, and learn from it: a stream of Dask collections, the same bits as a local one.

        Parameters
        ----------
        X, y, sample_weight, client
            As in :meth:`fit`.
        classes : array-like, needed in the first call
            All classes that the stream can bring.
        """
        check_labelled(self, y)
        twin = self._twin()
        twin.__dict__.update(vars(self))
        points = DaskPoints(X, y, sample_weight, client=client)
        names = stream_names(self, points)
        twin.__dict__.pop("feature_names_in_", None)  # chunks have none, and these were compared
        self.__dict__.update(vars(points.visited(_Stream(classes), twin)))
        if names is not None:
            self.feature_names_in_ = names
        return self


class DaskPoincarePerceptron(_DaskPerceptron, PoincarePerceptron):
    """:class:`~hyplearn.PoincarePerceptron` of points on a Dask cluster, visited in the order of their chunks.

    A perceptron learns from one row after the other, so the workers take turns: the cluster gives room, not speed.
    Parameters and fitted attributes are those of :class:`~hyplearn.PoincarePerceptron`, the bits too, with
    ``shuffle=False`` and without ``warm_start``.

    Examples
    --------
    See :mod:`hyplearn.dask`.
    """

    local = PoincarePerceptron


class DaskPoincareSecondOrderPerceptron(_DaskPerceptron, PoincareSecondOrderPerceptron):
    """:class:`~hyplearn.PoincareSecondOrderPerceptron` of points on a Dask cluster, visited in the order of chunks.

    As in :class:`DaskPoincarePerceptron`; a state of d² numbers travels from worker to worker.

    Examples
    --------
    See :mod:`hyplearn.dask`.
    """

    local = PoincareSecondOrderPerceptron
