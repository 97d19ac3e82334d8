"""The border of the ball: what comes in is checked once, here, and what goes out is rounded to stay inside.

Every public function of ``hyplearn.geometry`` passes through :func:`border`; behind it arrays are float64, finite
and of one dimension, ``c`` is positive, and formulas need no guards.
"""

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from hyplearn.geometry.kernels import norms, row_gaps
from hyplearn.types import Array

P = ParamSpec("P")


def border(
    *vectors: str, scalars: tuple[str, ...] = (), into_ball: bool = False
) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """Check and convert the arguments of a geometric function, and round its result like its input.

    Parameters
    ----------
    *vectors : str
        Names of the arguments that hold coordinates along their last axis.
    scalars : tuple of str
        Names of the arguments that hold one number per vector; they broadcast against the leading axes.
    into_ball : bool
        Whether the result holds points. A point nearer to the rim than its float type can express is then
        rounded to the nearest representable one inside.
    """

    def decorate(function: Callable[P, Array]) -> Callable[P, Array]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> Array:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            c = given["c"] = check_c(given["c"])
            present = [name for name in vectors if given[name] is not None]
            dtype = _result_dtype([given[name] for name in present])
            for name in present:
                given[name] = as_vectors(given[name], name)
            _check_same_dimension({name: given[name] for name in present})
            for name in scalars:
                if given[name] is not None:
                    given[name] = _as_reals(given[name], name)
            result = function(*bound.args, **bound.kwargs).astype(dtype, copy=False)
            return pull_inside(result, c) if into_ball else result[()]

        return checked

    return decorate


def check_c(c: object) -> float:
    """The absolute curvature as a float, or an error that says what it must be."""
    if isinstance(c, numbers.Real) and not isinstance(c, bool) and 0 < float(c) < np.inf:
        return float(c)
    raise ValueError(
        f"c must be a positive number, the absolute value of the curvature; got {c!r}.\n"
        "For sectional curvature -1 pass c=1."
    )


def absolute_curvature(curvature: object) -> float:
    """``c = -curvature``, or an error if that is not positive."""
    if isinstance(curvature, numbers.Real) and not isinstance(curvature, bool) and -np.inf < float(curvature) < 0:
        return -float(curvature)
    raise ValueError(
        f"curvature must be a negative number, the sectional curvature of hyperbolic space; got {curvature!r}.\n"
        "For the ball of radius 1 pass curvature=-1.0; for radius r pass curvature=-1/r**2."
    )


def as_vectors(x: ArrayLike, name: str) -> Array:
    """Finite float64 coordinates, contiguous, with at least one axis."""
    vectors = _as_reals(x, name)
    if vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise ValueError(
            f"{name} must hold coordinates along its last axis; got an array of shape {vectors.shape}.\n"
            "Pass one point as shape (d,) or n points as shape (n, d)."
        )
    return np.ascontiguousarray(vectors)


def as_rows(X: ArrayLike, name: str) -> Array:
    """Contiguous rows for the kernels, float32 kept as it is; whether they are finite the gaps will tell."""
    rows = _real(X, name)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"{name} must hold points as rows; got shape {rows.shape}.\nPass shape (n, d); one point is (1, d)."
        )
    return np.ascontiguousarray(rows, dtype=np.float32 if rows.dtype == np.float32 else np.float64)


def _as_reals(x: ArrayLike, name: str) -> Array:
    array = _real(x, name)
    _check_finite(array, name)
    return array.astype(np.float64, copy=False)


def _real(x: ArrayLike, name: str) -> Array:
    array = np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise TypeError(
            f"{name} must hold real numbers; got dtype {array.dtype}.\nConvert it to float64 coordinates first."
        )
    return array


def _check_finite(array: Array, name: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{name} holds {np.count_nonzero(~finite)} values that are NaN or infinite; the first is "
            f"{array[where]} at index {where}.\nRemove those rows or impute them."
        )


def _result_dtype(arrays: list[ArrayLike]) -> type[np.floating[Any]]:
    """Float32 (or float16) only where all coordinates came so; whatever the input, the formulas run in float64."""
    dtype = np.result_type(*(np.asarray(x).dtype for x in arrays))
    return dtype.type if dtype.kind == "f" and dtype.itemsize < 8 else np.float64


def _check_same_dimension(vectors: dict[str, Array]) -> None:
    if len({x.shape[-1] for x in vectors.values()}) > 1:
        sizes = ", ".join(f"{name} has {x.shape[-1]}" for name, x in vectors.items())
        raise ValueError(
            f"All coordinates must have the same dimension; {sizes}.\nCheck the last axes: rows are points."
        )


def check_inside(x: Array, gap: Array, c: float) -> None:
    """Raise unless every gap is positive; `x` holds the points that the gaps belong to."""
    if not np.all(gap > 0):
        _check_finite(x, "X")
        raise ValueError(
            f"{describe_outside(x, gap, c)}\n"
            "Rescale the embedding, move the points inside with hyplearn.geometry.project, "
            "or pass the c of your embedding."
        )


def describe_outside(x: Array, gap: Array, c: float) -> str:
    """One sentence: how many points lie outside, and which is the farthest."""
    rows, row_gaps = x.reshape(-1, x.shape[-1]), np.ravel(gap)
    farthest = int(np.argmin(row_gaps))
    norm = float(norms(rows[farthest : farthest + 1])[0])
    return outside_sentence(int(np.count_nonzero(~(row_gaps > 0))), len(rows), farthest, norm, c)


def outside_sentence(count: int, n: int, farthest: int, norm: float, c: float) -> str:
    """One sentence: how many of n points lie outside, and the row and norm of the farthest."""
    radius = 1 / np.sqrt(c)
    # Six digits, unless they would show a point beyond the rim as one on it.
    shown = f"{norm:.6g}" if f"{norm:.6g}" != f"{radius:.6g}" else f"{norm:.17g}"
    where = "the point has" if n == 1 else f"the farthest is row {farthest} with"
    lie = "lies" if count == 1 else "lie"
    size = "" if c == 1 else f" (radius {radius:.6g})"
    return f"{count} of {n} points {lie} outside the open ball of curvature {-c:g}{size}; {where} norm {shown}."


def pull_inside(x: Array, c: float) -> Array:
    """Move points on or beyond the rim to the largest radius of their float type; leave all others untouched."""
    rows = x.reshape(-1, x.shape[-1])
    out = np.flatnonzero(~(row_gaps(np.ascontiguousarray(rows, dtype=np.float64), c) > 0))
    if out.size == 0:
        return x
    rows = rows.copy()
    spacing = float(np.finfo(x.dtype).eps) / 2
    outside = rows[out].astype(np.float64)
    direction = outside / (np.sqrt(c) * norms(outside)[:, None])
    # Rounding the coordinates can put a point of radius 1 - spacing back onto the rim: shrink until it is inside.
    shrink = spacing
    while out.size:
        rows[out] = direction * (1 - shrink)
        still = ~(row_gaps(rows[out].astype(np.float64), c) > 0)
        out, direction, shrink = out[still], direction[still], 2 * shrink
    return rows.reshape(x.shape)
