"""The border of the estimators: curvature, points inside the ball, and what to do with those outside."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import assert_all_finite, validate_data

from hyplearn.data.opening import refuse_dask, refuse_unread

# The border of estimators begins with the curvature, and their users take it from here.
from hyplearn.geometry.border import absolute_curvature as absolute_curvature
from hyplearn.geometry.border import describe_outside, pull_inside
from hyplearn.geometry.kernels import gaps, offsets
from hyplearn.types import Array


class BallRows(NamedTuple):
    """Points inside the ball with their gaps; and, where asked for, their squared distances to a point.

    Both come from one pass over X, so distances to a point that is known beforehand cost nothing.
    """

    X: Array
    rooms: Array
    squares: Array | None
    y: Array | None


def ball_rows(
    estimator: Any, X: Any, *, reset: bool, keep_dtype: bool = False, p: Array | None = None, **check_params: Any
) -> BallRows:
    """X (and y, where given in ``check_params``), validated, with every row inside the ball.

    Rows on or outside the rim are an error, or with ``outside="project"`` are moved onto the largest representable
    radius with a warning that counts them: the radius of float64, so that a model fitted on float64 sees the same
    points in float32, unless ``keep_dtype`` asks for that of the rows' own type.
    """
    refuse_dask(X, check_params.get("y"))
    refuse_unread(X)
    if estimator.outside not in ("raise", "project"):
        raise ValueError(f'outside must be "raise" or "project"; got {estimator.outside!r}.')
    c = absolute_curvature(estimator.curvature)
    # The gaps tell NaN and infinity too, so scikit-learn need not pass over X for them.
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=(np.float64, np.float32),
        order="C",
        ensure_all_finite=False,
        **check_params,
    )
    X, y = checked if isinstance(checked, tuple) else (checked, None)
    rooms, squares = _offsets(X, p, c)
    if not np.all(rooms > 0):
        X = _moved_inside(X, rooms, estimator, c, keep_dtype)
        rooms, squares = _offsets(X, p, c)
    return BallRows(X, rooms, squares, y)


def _offsets(X: Array, p: Array | None, c: float) -> tuple[Array, Array | None]:
    # A point of another dimension is the reference strategies' to refuse.
    return (gaps(X, c), None) if p is None or p.shape != X.shape[1:] else offsets(X, p, c)


def _moved_inside(X: Array, rooms: Array, estimator: Any, c: float, keep_dtype: bool) -> Array:
    """X with its rows outside moved onto the rim, if the estimator allows it; an error that names them otherwise."""
    assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    problem = describe_outside(X, rooms, c)
    if estimator.outside == "raise":
        raise ValueError(
            f'{problem}\nRescale the embedding, pass outside="project", or set curvature to that of your embedding.'
        )
    warnings.warn(
        f"{problem} They were moved onto the largest representable radius.", DataConversionWarning, stacklevel=4
    )
    return pull_inside(X if keep_dtype else X.astype(np.float64), c)


def check_stopping(tol: Any, max_iter: Any) -> None:
    """Refuse a relative gap that proves nothing, or no step at all."""
    if not isinstance(tol, (int, float, np.number)) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number between 0 and 1, a relative gap; got {tol!r}.")
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of at least 1; got {max_iter!r}.")
