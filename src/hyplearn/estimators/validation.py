"""Input validation of the estimators, which converts user input to training data, or to points and their gaps.

The gap of a point x is 1 - c‖x‖², which is positive inside the ball.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.class_counts import ClassCounts, Outside, count_classes, find_outside
from hyplearn.data.columns import listed
from hyplearn.data.far_rows import find_far_rows, leave_out_far_rows
from hyplearn.data.folding import joined, threads_of
from hyplearn.data.labels import as_labels, check_one_label_per_row
from hyplearn.data.labels import check_kind as check_label_kind
from hyplearn.data.opening import opened, point_source
from hyplearn.data.points import BLOCK_NUMBERS, Block, PointSource
from hyplearn.data.training import Encoder, TrainingData
from hyplearn.geometry.border import absolute_curvature as absolute_curvature
from hyplearn.geometry.border import pull_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.reference.strategies import OF_EXTREME_ROWS
from hyplearn.types import Array

# Largest fraction of training rows that outside="project" may move into the ball. If more rows lie outside, the
# curvature is probably wrong, or the data are not hyperbolic.
MOST_OUTSIDE = 0.5
# Maximum number of rows of an array that are evaluated at a time. It is small enough for their scores to stay in the
# cache.
EVALUATED_ROWS = 2**16


def training_data(estimator: Any, points: PointSource) -> TrainingData:
    """Validate labelled points and return them as training data; set ``estimator.classes_``.

    Rows that lie far beyond the other rows of their class get weight 0 if ``estimator.trims`` is True.
    """
    c, threads = absolute_curvature(estimator.curvature), threads_of(estimator.n_jobs)
    project = projects(estimator)
    found = count_classes(points, c, threads)
    if found.classes.dtype.kind not in "iubUS":  # integers, booleans and strings are always valid classes
        (check_label_kind if found.classes.dtype.kind == "O" else check_classification_targets)(found.classes)
    if len(found.classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes; got 1 class: "
            f"{found.classes.tolist()[0]!r}.\nCheck the labels, or pass more data."
        )
    report_outside(found.outside, found.n_rows, c, project, training=True)
    estimator.classes_ = found.classes
    factors = class_factors(estimator.class_weight, found.classes, found.counts)
    data = TrainingData.counted(points, found, Encoder(found.classes, factors, c, project), threads)
    check_weights(data)
    data, far = leave_out_far_rows(data, found.classes) if estimator.trims else (data, _ruling_rows(estimator, data))
    if far:
        warnings.warn(far, UserWarning, stacklevel=4)
    return data


def _ruling_rows(estimator: Any, data: TrainingData) -> str:
    """Return a warning if rows far from the other rows of their class affect the reference points, otherwise ""."""
    reference = getattr(estimator, "reference", None)
    far = find_far_rows(data) if isinstance(reference, str) and reference in OF_EXTREME_ROWS else None
    if far is None or not len(far.rows):
        return ""
    return (
        f'reference="{reference}" is defined by the extreme rows of each class, and {len(far.rows)} of {data.n_rows} '
        f"rows lie far beyond the other rows of their class: {far.named(estimator.classes_)}.\n"
        'Check the embedding, leave these rows out with trim=True (soft margins only), or pass reference="boundary".'
    )


def known_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """Validate the training data that are passed to ``verify``, and prepare them as in ``fit``."""
    c, threads, project = absolute_curvature(estimator.curvature), threads_of(estimator.n_jobs), projects(estimator)
    points = training_points(estimator, X, y, sample_weight, reset=False)
    found = count_classes(points, c, threads)
    check_known(found.classes, estimator.classes_)
    report_outside(found.outside, found.n_rows, c, project, training=True)
    counts = _spread(found, estimator.classes_)
    factors = class_factors(estimator.class_weight, estimator.classes_, counts.counts)
    encoder = Encoder(estimator.classes_, factors, c, project)
    data = TrainingData.counted(points, counts, encoder, threads)
    # Do not warn here: fit has already listed the rows that were left out.
    return leave_out_far_rows(data, estimator.classes_)[0] if estimator.trims else data


def _spread(found: ClassCounts, classes: Array) -> ClassCounts:
    """Expand class counts to all classes of an estimator; classes that are absent from ``found`` have 0 rows."""
    places, K = Encoder(classes, np.ones(len(classes)), 1.0).codes(found.classes), len(classes)

    def spread(column: Array, absent: float) -> Array:
        out = np.full(K, absent, dtype=column.dtype)
        out[places] = column
        return out

    return found._replace(
        classes=classes,
        counts=spread(found.counts, 0),
        totals=spread(found.totals, 0),
        lowest=spread(found.lowest, np.inf),
        highest=spread(found.highest, 0),
    )


def training_points(estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> PointSource:
    """Convert X, y and weights to a point source; data that fit into the memory budget are read into memory.

    With ``reset=True``, set ``n_features_in_`` and the feature names of the estimator; otherwise check them.
    """
    points = point_source(X, y, sample_weight)
    if points is None:
        return _array_points(estimator, X, y, sample_weight, reset=reset)
    if not reset:
        check_features(estimator, points)
    else:
        estimator.n_features_in_ = points.n_features
        vars(estimator).pop("feature_names_in_", None)
        if points.feature_names is not None:
            estimator.feature_names_in_ = np.array(points.feature_names, dtype=object)
    block = points.within_memory()
    return points if block is None else _loaded(points, block)


def _loaded(points: PointSource, block: Block) -> ArrayPoints:
    """Return an in-memory point source holding ``block``, which contains every row of ``points``."""
    loaded = ArrayPoints(block.X, block.y, block.weights, name=points.name)
    # ``finished`` is called at the end of a fit, and must remove the checkpoint of ``points`` if there is one.
    loaded.finished = points.finished  # type: ignore[method-assign]
    return loaded.limited(block_rows=vars(points).get("block_rows"))


def _array_points(estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ArrayPoints:
    check_one_label_per_row(X, y)
    # scikit-learn's check for NaN and infinity would need another pass over X; the check of the gaps finds them too.
    X, y = validate_data(
        estimator, X, as_labels(y), reset=reset, dtype=(np.float64, np.float32), order="C", ensure_all_finite=False
    )
    if y.dtype.kind not in "iubUSO":
        check_classification_targets(y)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights is not None and weights.shape != (len(X),):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({len(X)},), one weight per row of X.")
    return ArrayPoints(X, y, weights)


def check_features(estimator: Any, points: PointSource) -> None:
    """Raise if the coordinates of a source differ from those of the training data in their number or names."""
    if points.n_features != getattr(estimator, "n_features_in_", points.n_features):
        raise ValueError(
            f"{points.name} has {points.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input.\nPass points with as many coordinates as the training data."
        )
    check_feature_names(estimator, points)


def check_feature_names(estimator: Any, points: PointSource) -> None:
    """Raise if the coordinate names of a source differ from the coordinate names of the training data."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and points.feature_names is not None and list(known) != points.feature_names:
        raise ValueError(
            f"{points.name} has the coordinates {listed(points.feature_names)}; {type(estimator).__name__} was fitted "
            f"on {listed(list(known))}.\nPass points= to open_points, with the names in the order used in fit."
        )


def class_factors(class_weight: Any, classes: Array, counts: Array) -> Array:
    """Return the factor by which ``class_weight`` multiplies the row weights of each class."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return counts.sum() / (len(classes) * np.maximum(counts, 1))
    return compute_class_weight(class_weight, classes=classes, y=classes).astype(np.float64)


def check_weights(data: TrainingData) -> None:
    """Raise if all weights are 0."""
    if not data.totals.any():
        raise ValueError(
            f"All {data.n_rows} weights are zero, so there is nothing to learn from.\n"
            "Check sample_weight and class_weight."
        )


def check_known(classes: Array, known: Array) -> None:
    """Check that all ``classes`` are known; raise ValueError otherwise."""
    table = set(known.tolist())
    unknown = [label for label in classes.tolist() if label not in table]
    if unknown:
        raise ValueError(
            f"y contains unknown classes: {listed(unknown, 5)}; known classes: {known.tolist()}.\n"
            "Pass only known classes; partial_fit needs all classes in the first call."
        )


def projects(estimator: Any) -> bool:
    """Return whether points outside the ball are projected into it; raise if ``outside`` is invalid."""
    if estimator.outside not in ("raise", "project"):
        raise ValueError(f'outside must be "raise" or "project"; got {estimator.outside!r}.')
    return bool(estimator.outside == "project")


def report_outside(outside: Outside, n_rows: int, c: float, project: bool, *, training: bool = False) -> None:
    """Raise an error for points on or outside the rim, or warn if they are projected.

    Training rows are projected only if at least half of them lie inside the ball; otherwise an error is raised.
    """
    sentence = outside.describe(n_rows, c)
    if not sentence:
        return
    if outside.advice:
        raise ValueError(sentence + outside.advice)
    if training and outside.n_outside > MOST_OUTSIDE * n_rows:
        reason = ' outside="project" is for embeddings with only a few points outside.' if project else ""
        raise ValueError(f"{sentence}{reason}\nRescale the embedding, or set curvature to that of your embedding.")
    if not project:
        raise ValueError(
            f'{sentence}\nRescale the embedding, pass outside="project", or set curvature to that of your embedding.'
        )
    warnings.warn(
        f"{sentence} They were moved to the largest representable radius.", DataConversionWarning, stacklevel=4
    )


def inside_rows(
    estimator: Any, X: Array, name: str = "X", *, start: int = 0, keep_dtype: bool = False
) -> tuple[Array, Array]:
    """Return points that all lie inside the ball, and the gap 1 - c‖x‖² of each point.

    If rows of X lie on or outside the rim of the ball, raise an error. With ``outside="project"``, warn instead, and
    move these rows to the largest radius that float64 can represent; the points are then returned as float64. With
    ``keep_dtype``, the dtype of X is kept, and the rows are moved to the largest radius that this dtype can represent.
    """
    project, c = projects(estimator), absolute_curvature(estimator.curvature)
    gaps = row_gaps(X, c)
    if np.all(gaps > 0):
        return X, gaps
    report_outside(find_outside(Block(X, None, None, start), gaps, name, c), len(X), c, project)
    X = np.ascontiguousarray(pull_inside(X if keep_dtype else X.astype(np.float64), c))
    return X, row_gaps(X, c)


def ball_rows(estimator: Any, X: Any, *, reset: bool = False, keep_dtype: bool = False) -> tuple[Array, Array]:
    """Check that an array of points lies in the ball; return the points, and the gap 1 - c‖x‖² of each point."""
    return inside_rows(estimator, _rows(estimator, X, reset=reset), keep_dtype=keep_dtype)


def _rows(estimator: Any, X: Any, *, reset: bool = False) -> Array:
    """Validate an array of points, without checking that they lie inside the ball."""
    return validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32), order="C", ensure_all_finite=False)


def evaluate(estimator: Any, X: Any, function: Callable[[Array, Array], Array]) -> Array:
    """Evaluate ``function`` block by block, so that an interrupt takes effect between two blocks.

    The arguments of the function are the points of a block and their gaps 1 - c‖x‖².
    """
    if not isinstance(X, (str, os.PathLike, PointSource)):
        X, c = _rows(estimator, X), absolute_curvature(estimator.curvature)
        found = _evaluate_parts(function, X, None, c)
        return _evaluate_parts(function, *inside_rows(estimator, X), c) if found is None else found
    points = prediction_points(estimator, X)
    return joined(
        [function(*inside_rows(estimator, block.X, points.name, start=block.start)) for block in points.blocks()]
    )


def _evaluate_parts(function: Callable[[Array, Array], Array], X: Array, gaps: Array | None, c: float) -> Any:
    """Evaluate ``function(X, gaps)`` on consecutive parts of X, where ``gaps`` contains 1 - c‖x‖² of each point.

    If ``gaps`` is None, the gaps are computed, and None is returned if a row does not lie inside the ball. The gaps of
    a part are computed just before they are used: an array of all gaps would not fit into the cache.
    """
    out, step = None, max(1, min(EVALUATED_ROWS, BLOCK_NUMBERS // X.shape[1]))
    for start in range(0, len(X), step):
        cut = slice(start, start + step)
        own = row_gaps(X[cut], c) if gaps is None else gaps[cut]
        if gaps is None and not np.all(own > 0):
            return None
        part = function(X[cut], own)
        if len(X) <= step:
            return part
        # The results are written to one array, because joining parts at the end would take twice as much memory.
        out = np.empty((len(X), *part.shape[1:]), dtype=part.dtype) if out is None else out
        out[cut] = part
    return out


def prediction_points(estimator: Any, source: Any) -> PointSource:
    """Open a point source that reads the columns on which the estimator was fitted."""
    names = getattr(estimator, "feature_names_in_", None)
    points = opened(source, None, None, None, None, columns=None if names is None else list(names), labelled=False)
    check_features(estimator, points)
    return points


def lazily(estimator: Any, method: str, X: Any, columns: list[Any] | None, dtype: Any) -> Any:
    """Apply a method of an estimator to a Dask collection lazily; return a Dask collection."""
    from hyplearn.data.dask import lazy_result

    return lazy_result(estimator, method, X, columns, dtype)


# scikit-learn's private _validate_params is not used, for three reasons. It takes 90 µs, whereas all parameter checks
# here take 8 µs. It accepts C=[1, -1], and a ragged list as ``reference``. Its messages do not say what to pass.
def check_stopping(tol: Any, max_iter: Any) -> None:
    """Check that tol lies strictly between 0 and 1, and max_iter is a positive integer; raise ValueError otherwise."""
    if not isinstance(tol, (int, float, np.number)) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number greater than 0 and less than 1 (a relative duality gap); got {tol!r}.")
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1; got {max_iter!r}.")


class InfeasibleError(ValueError):
    """Raised if a hard-margin problem has no solution; the fitted attribute ``dual_coef_`` proves it."""


@contextmanager
def restored_on_failure(estimator: Any) -> Iterator[None]:
    """Restore the earlier attributes of the estimator if a fit raises an exception.

    After InfeasibleError, the attributes that the fit has set are kept, because they prove the infeasibility.
    """
    before = dict(vars(estimator))
    try:
        yield
    except InfeasibleError:
        raise
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
