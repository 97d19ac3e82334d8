"""The perceptrons for points on a Dask cluster: their state travels from chunk to chunk, in order."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from hyplearn.dask.classifiers import DaskClassifier
from hyplearn.dask.points import DaskPoints
from hyplearn.estimators import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.streaming import labelled, least_heights, rows_for_probabilities
from hyplearn.geometry.arrays import Array
from hyplearn.rows.labelled import Labelled
from hyplearn.rows.points import Block
from hyplearn.rows.streamed import Weighing
from hyplearn.solvers.perceptron import NO_BOUNDS, Perceptron
from hyplearn.tangent import implicit_rows


class Pass(NamedTuple):
    """The perceptrons in the middle of a pass, and the mistakes that each has made in it."""

    perceptrons: list[Perceptron]
    mistakes: list[int]


@dataclass(frozen=True)
class _Visit:
    """Visits the rows of a block, in order, with the perceptrons of some problems."""

    weighing: Weighing
    positives: Sequence[int]
    references: Array
    c: float

    def __call__(self, block: Block, so_far: Pass) -> Pass:
        # A worker may be asked again for the same block: what it was given must not change.
        perceptrons, mistakes = copy.deepcopy(so_far.perceptrons), list(so_far.mistakes)
        codes = self.weighing.codes(block)
        weights = self.weighing.weights(block, codes)
        for i, (k, p) in enumerate(zip(self.positives, self.references, strict=True)):
            rows = implicit_rows(block.X, p, features="z", c=self.c)
            mistakes[i] += perceptrons[i].visit(rows, np.where(codes == k, 1.0, -1.0), weights)
        return Pass(perceptrons, mistakes)


@dataclass(frozen=True)
class _Stream:
    """Lets an estimator learn from a block by ``partial_fit``."""

    classes: Any

    def __call__(self, block: Block, twin: Any) -> Any:
        classes = None if hasattr(twin, "classes_") else self.classes
        return copy.deepcopy(twin).partial_fit(block.X, block.y, classes, sample_weight=block.weights)


class _DaskPerceptron(DaskClassifier):
    """Passes and streams over chunks, one after the other."""

    def _learned(self, twin: Any, X: Any, y: Any, sample_weight: Any, client: Any) -> Self:
        twin._check_options()
        if twin.shuffle or twin.keep == "best" or twin.warm_start:
            given = "shuffle=True" if twin.shuffle else 'keep="best"' if twin.keep == "best" else "warm_start=True"
            raise ValueError(
                f"On a cluster rows are visited in the order of chunks, from the start; got {given}.\n"
                'Pass shuffle=False, warm_start=False and keep="auto", "last" or "average".'
            )
        points = DaskPoints(X, y, sample_weight, client=client)
        data = labelled(twin, points)
        twin.reference_ = twin._streamed_references(data)
        _pass_until_right(twin, points, data)
        self.__dict__.update(vars(twin))
        return self

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
        twin = self._twin()
        twin.__dict__.update(vars(self))
        points = DaskPoints(X, y, sample_weight, client=client)
        self.__dict__.update(vars(points.visited(_Stream(classes), twin)))
        return self


def _pass_until_right(twin: Any, points: DaskPoints, data: Labelled) -> None:
    """Pass over the chunks until a pass has no mistake, and set the fitted attributes."""
    n = twin._n_problems
    perceptrons = [twin._start(data.points.n_features) for _ in range(n)]
    mistakes, twin.n_iter_ = np.full(n, -1), np.zeros(n, dtype=int)
    open_problems = np.arange(n)
    while len(open_problems) and twin.n_iter_.max() < twin.max_epochs:
        positives = [twin._positives[k] for k in open_problems]
        visit = _Visit(data.weighing, positives, twin.reference_[open_problems], data.c)
        begun = Pass([perceptrons[k] for k in open_problems], [0] * len(open_problems))
        found = points.visited(visit, begun)
        for k, perceptron, count in zip(open_problems, *found, strict=True):
            perceptrons[k], mistakes[k] = perceptron, count
        twin.n_iter_[open_problems] += 1
        open_problems = np.flatnonzero(mistakes)
    averaged = (mistakes > 0) if twin.keep == "auto" else np.full(n, twin.keep == "average")
    twin._perceptrons = perceptrons
    twin.coef_ = np.stack([p.average if a else p.w for p, a in zip(perceptrons, averaged, strict=True)])
    twin.n_updates_ = np.array([p.n_updates for p in perceptrons])
    twin.converged_ = mistakes == 0
    least = least_heights(data, twin._positives, twin.coef_, twin.reference_)
    margins = np.where(twin.converged_, np.arcsinh(least) / np.sqrt(data.c), np.nan)
    twin._set_bounds([NO_BOUNDS] * n, margins)
    if not twin.converged_.all():
        twin._warn(mistakes)
    if twin.calibration is not None:
        twin._calibrate(*rows_for_probabilities(data), warned=not twin.converged_.all())


class DaskPoincarePerceptron(_DaskPerceptron, PoincarePerceptron):
    """:class:`~hyplearn.PoincarePerceptron` of points on a Dask cluster, visited in the order of their chunks.

    A perceptron learns from one row after the other, so the workers take turns: the cluster gives room, not speed.
    Parameters and fitted attributes are those of :class:`~hyplearn.PoincarePerceptron`, the bits too, with
    ``shuffle=False`` and without ``keep="best"`` and ``warm_start``; bounds on updates are left out (NaN).

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
