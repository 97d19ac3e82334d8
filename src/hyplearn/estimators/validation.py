"""The border of the estimators: curvature, points inside the ball, and what to do with those outside."""

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import assert_all_finite, validate_data

from hyplearn.geometry.arrays import Array
from hyplearn.geometry.border import describe_outside, pull_inside
from hyplearn.geometry.kernels import gaps


def absolute_curvature(curvature: object) -> float:
    """``c = -curvature``, or an error if that is not positive."""
    if isinstance(curvature, numbers.Real) and not isinstance(curvature, bool) and -np.inf < float(curvature) < 0:
        return -float(curvature)
    raise ValueError(
        f"curvature must be a negative number, the sectional curvature of hyperbolic space; got {curvature!r}.\n"
        "For the ball of radius 1 pass curvature=-1.0; for radius r pass curvature=-1/r**2."
    )


def ball_rows(estimator: Any, X: Any, *, reset: bool, keep_dtype: bool = False, **check_params: Any) -> Any:
    """X, its gaps (and y, where given in ``check_params``), validated, with every row inside the ball.

    Rows on or outside the rim are an error, or with ``outside="project"`` are moved onto the largest representable
    radius with a warning that counts them: the radius of float64, so that a model fitted on float64 sees the same
    points in float32, unless ``keep_dtype`` asks for that of the rows' own type.
    """
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
    if isinstance(checked, tuple):
        return *_inside(checked[0], estimator, c, keep_dtype), checked[1]
    return _inside(checked, estimator, c, keep_dtype)


def _inside(X: Array, estimator: Any, c: float, keep_dtype: bool) -> tuple[Array, Array]:
    rooms = gaps(X, c)
    if np.all(rooms > 0):
        return X, rooms
    assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    problem = describe_outside(X, rooms, c)
    if estimator.outside == "raise":
        raise ValueError(
            f'{problem}\nRescale the embedding, pass outside="project", or set curvature to that of your embedding.'
        )
    warnings.warn(
        f"{problem} They were moved onto the largest representable radius.", DataConversionWarning, stacklevel=4
    )
    X = pull_inside(X if keep_dtype else X.astype(np.float64), c)
    return X, gaps(X, c)
