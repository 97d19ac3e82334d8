"""What estimators share where points are read in blocks: the first pass, class weights, samples for probabilities."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from hyplearn.data.class_counts import taken_census
from hyplearn.data.columns import listed
from hyplearn.data.labelled import Labelled
from hyplearn.data.points import Block, PointSource
from hyplearn.estimators.threads import threads_of
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry.kernels import gaps
from hyplearn.rows.source import Costs, columns_joined, in_any_order
from hyplearn.rows.streamed import Weighing, standing_rows
from hyplearn.rows.subsample import standing_strides
from hyplearn.tangent import z_dot
from hyplearn.types import Array

# Numbers of coordinates from which probabilities are learned at most: two parameters per class need no more.
CALIBRATED_NUMBERS = 2**21


def fits_into_memory(points: PointSource) -> bool:
    """Whether the points are few enough to be read at once; where their number is not known, they are counted."""
    if points.n_rows is not None:
        return 8 * points.n_rows * points.n_features <= points.memory
    size = 0
    return all((size := size + 8 * block.X.size) <= points.memory for block in points.blocks())


def labelled(estimator: Any, points: PointSource) -> Labelled:
    """Pass over the points once: learn the classes, check every row, weigh the classes."""
    if estimator.outside != "raise":
        raise ValueError(
            f'Points that are read in blocks are taken as they are; got outside="{estimator.outside}".\n'
            "Move the points inside before, or pass them as an array."
        )
    c, threads = absolute_curvature(estimator.curvature), threads_of(estimator.n_jobs)
    census = taken_census(points, c, threads)
    classes = census.classes
    if classes.dtype.kind not in "iubUS":
        check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes; got 1 class: {classes.tolist()[0]!r} in "
            f"{points.name}.\nCheck the labels, or pass more data."
        )
    estimator.classes_, estimator.n_features_in_ = classes, points.n_features
    keep_feature_names(estimator, points)
    factors = _class_factors(estimator.class_weight, classes, census.counts)
    totals = factors * census.totals
    if not totals.any():
        raise ValueError(
            f"All {census.n_rows} weights are 0, so nothing is left to learn from.\n"
            "Check sample_weight and class_weight."
        )
    present = totals > 0
    lowest, highest = (factors * census.lowest)[present].min(), (factors * census.highest).max()
    weights = Costs(float(lowest), float(highest), float(totals.sum()))
    return Labelled(points, Weighing(classes, factors), totals, census.counts, weights, c, threads)


def keep_feature_names(estimator: Any, points: PointSource) -> None:
    """Remember how the source calls its coordinates."""
    if points.feature_names is not None:
        estimator.feature_names_in_ = np.array(points.feature_names, dtype=object)


def check_feature_names(estimator: Any, points: PointSource) -> None:
    """Refuse a source that calls its coordinates otherwise than the estimator knows them."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and points.feature_names is not None and list(known) != points.feature_names:
        raise ValueError(
            f"{points.name} has the coordinates {listed(points.feature_names)}; {type(estimator).__name__} was fitted "
            f"on {listed(list(known))}.\nName them in that order by open_points(..., points=)."
        )


def stream_names(estimator: Any, points: PointSource) -> Array | None:
    """How a stream calls its coordinates: as its first source did, and as each later one must."""
    check_feature_names(estimator, points)
    if hasattr(estimator, "classes_") or points.feature_names is None:
        return vars(estimator).get("feature_names_in_")
    return np.array(points.feature_names, dtype=object)


class InfeasibleError(ValueError):
    """There is no solution; the fitted attributes prove it."""


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Take back what a fit has set, if it fails for another reason than that there is no solution."""
    before = dict(vars(estimator))
    try:
        yield
    except InfeasibleError:
        raise
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _class_factors(class_weight: Any, classes: Array, counts: Array) -> Array:
    if class_weight == "balanced":
        return counts.sum() / (len(classes) * counts)
    return compute_class_weight(class_weight, classes=classes, y=classes).astype(np.float64)


def least_heights(data: Labelled, positives: Sequence[int], coef: Array, references: Array) -> Array:
    """For each problem the least ``√c ⟨y z, w⟩ / ‖w‖`` of a row that has a weight, in one pass."""
    return data.fold(_least_heights, _least, data.weighing, list(positives), coef, references, data.c)


def _least_heights(
    block: Block, weighing: Weighing, positives: Sequence[int], coef: Array, references: Array, c: float
) -> Array:
    codes = weighing.codes(block)
    present, rooms, least = weighing.weights(block, codes) > 0, gaps(block.X, c), []
    for k, w, p in zip(positives, coef, references, strict=True):
        heights = z_dot(block.X, np.sqrt(c) / (np.linalg.norm(w) or 1.0) * w, p, c=c, rooms=rooms)
        least.append(np.where(codes == k, heights, -heights).min(where=present, initial=np.inf))
    return np.array(least)


@in_any_order
def _least(parts: Sequence[Array]) -> Array:
    return np.min(parts, axis=0)


def points_at(data: Labelled, index: Array) -> tuple[Array, Array]:
    """Points and labels with the given positions, which are in order."""
    X, y = data.fold(_points_at, columns_joined, index)
    return X, y


def _points_at(block: Block, index: Array) -> tuple[Array, Array]:
    first, last = np.searchsorted(index, [block.start, block.start + len(block.X)])
    own = index[first:last] - block.start
    assert block.y is not None
    return block.X[own], block.y[own]


def rows_for_probabilities(data: Labelled) -> tuple[Array, Array, Array]:
    """Points, classes and weights of rows that stand for all when probabilities are learned."""
    strides = standing_strides(data.counts, CALIBRATED_NUMBERS // data.points.n_features)
    X, codes, weights = data.fold(standing_rows, columns_joined, data.weighing, np.arange(data.n_classes), strides)
    return X, data.weighing.classes[codes], weights
