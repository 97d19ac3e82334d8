"""Validate the arguments of the public functions of ``hyplearn.geometry``, and convert their results.

A function decorated with :func:`border` receives a positive finite ``c`` and finite float64 arrays in which all points
and vectors have the same number of coordinates, so it need not check these properties again. The result is converted to
the float type of the arguments (float64 for integers).
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
    """Return a decorator that validates arguments of a function and converts its result to the arguments' float type.

    Parameters
    ----------
    *vectors : str
        Names of the arguments that contain coordinates along their last axis.
    scalars : tuple of str
        Names of the arguments that contain one number per vector; they broadcast against the leading axes of the
        vectors.
    into_ball : bool
        Whether the result consists of points. If so, points on or outside the rim, for example because of rounding,
        are moved inside the ball.
    """

    def decorate(function: Callable[P, Array]) -> Callable[P, Array]:
        signature = inspect.signature(function)
        parameters = signature.parameters
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        positional = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> Array:
            given: dict[str, Any] = {**defaults, **dict(zip(positional, args, strict=False)), **kwargs}
            if (
                given.keys() != parameters.keys()
                or len(args) > len(positional)
                or any(name in kwargs for name in positional[: len(args)])
            ):
                # ``bind`` raises a TypeError here. It is slow, so it is called only if the arguments do not match.
                signature.bind(*args, **kwargs)
            c = given["c"] = check_c(given["c"])
            present = [name for name in vectors if given[name] is not None]
            dtype = _result_dtype([given[name] for name in present])
            for name in present:
                given[name] = as_vectors(given[name], name)
            _check_same_dimension({name: given[name] for name in present})
            for name in scalars:
                if given[name] is not None:
                    given[name] = _as_reals(given[name], name)
            result = function(**given).astype(dtype, copy=False)  # type: ignore[call-arg]
            return pull_inside(result, c) if into_ball else result[()]

        return checked

    return decorate


def check_c(c: object) -> float:
    """Return the absolute curvature c as a float; raise an error unless it is positive and finite."""
    if 0 < (value := as_real(c)) < np.inf:
        return value
    raise ValueError(
        f"c must be a positive finite number, the absolute value of the curvature; got {c!r}.\n"
        "For sectional curvature -1 pass c=1."
    )


def absolute_curvature(curvature: object) -> float:
    """Return the absolute curvature ``c = -curvature``; raise an error unless it is positive and finite."""
    if -np.inf < (value := as_real(curvature)) < 0:
        return -value
    raise ValueError(
        f"curvature must be a negative finite number, the sectional curvature of hyperbolic space; got {curvature!r}.\n"
        "For the ball of radius 1 pass curvature=-1.0; for radius r pass curvature=-1/r**2."
    )


def as_real(value: object) -> float:
    """Convert a real number to float; for a bool or any other value, return NaN, which fails every range check."""
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else np.nan


def check_integer(name: str, value: object, least: int) -> None:
    """Raise an error unless a parameter is an integer of at least ``least``."""
    check_parameter(name, value, is_integer(value, least), f"an integer of at least {least}")


def is_integer(value: object, least: int) -> bool:
    """Return whether a value is an integer of at least ``least``; bools do not count as integers."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def check_parameter(name: str, value: object, valid: bool, expected: str) -> None:
    """Raise ValueError if ``valid`` is False; the message says that the parameter must be ``expected``."""
    if not valid:
        raise ValueError(f"{name} must be {expected}; got {value!r}.")


def as_vectors(x: ArrayLike, name: str) -> Array:
    """Convert coordinates to a contiguous float64 array; check that they are finite and the last axis is not empty."""
    vectors = _as_reals(x, name)
    if vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise ValueError(
            f"{name} must contain coordinates along its last axis; got an array of shape {vectors.shape}.\n"
            "Pass an array of shape (d,) for one point or (n, d) for n points."
        )
    return np.ascontiguousarray(vectors)


def as_rows(X: ArrayLike, name: str) -> Array:
    """Convert points to contiguous rows of float32 or float64, without checking for NaN and infinity."""
    rows = _real(X, name)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"{name} must be an array whose rows are points; got shape {rows.shape}.\n"
            "Pass an array of shape (n, d), or (1, d) for a single point."
        )
    return np.ascontiguousarray(rows, dtype=np.float32 if rows.dtype == np.float32 else np.float64)


def check_points(X: ArrayLike, name: str, c: float) -> tuple[Array, Array, float]:
    """Validate c and an array of one or more points; return the points, their gaps and c."""
    rows, c = as_rows(X, name), check_c(c)
    if len(rows) == 0:
        raise ValueError(
            f"{name} must contain at least one point; got shape {rows.shape}.\n"
            "Pass an array of shape (n, d) with n ≥ 1."
        )
    gaps = row_gaps(rows, c)
    check_inside(rows, gaps, c)
    return rows, gaps, c


def check_two_sets(X_a: ArrayLike, X_b: ArrayLike, c: float) -> tuple[tuple[Array, Array], tuple[Array, Array], float]:
    """Validate c and two sets of points of the same dimension; return the points and gaps of each set, and c."""
    rows_a, gaps_a, c = check_points(X_a, "X_a", c)
    rows_b, gaps_b, c = check_points(X_b, "X_b", c)
    if rows_a.shape[1] != rows_b.shape[1]:
        raise ValueError(
            f"X_a and X_b must have the same dimension; got shapes {rows_a.shape} and {rows_b.shape}.\n"
            "Pass two arrays with the same number of columns."
        )
    return (rows_a, gaps_a), (rows_b, gaps_b), c


def _as_reals(x: ArrayLike, name: str) -> Array:
    array = _real(x, name)
    _check_finite(array, name)
    return array.astype(np.float64, copy=False)


def _real(x: ArrayLike, name: str) -> Array:
    array = np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must contain real numbers; got dtype {array.dtype}.\nConvert it to float64 first.")
    return array


def _check_finite(array: Array, name: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{name} contains NaN or infinite values ({np.count_nonzero(~finite)} in total); the first is "
            f"{array[where]} at index {where}.\nRemove or impute these values."
        )


def _result_dtype(arrays: list[ArrayLike]) -> type[np.floating[Any]]:
    """Return the float type of the result: the common type of the inputs if it is float16 or float32, else float64."""
    dtypes = {np.asarray(x).dtype for x in arrays}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
    return dtype.type if dtype.kind == "f" and dtype.itemsize < 8 else np.float64


def _check_same_dimension(vectors: dict[str, Array]) -> None:
    if len({x.shape[-1] for x in vectors.values()}) > 1:
        sizes = ", ".join(f"{name} has {x.shape[-1]}" for name, x in vectors.items())
        raise ValueError(
            f"All points and vectors must have the same number of coordinates; {sizes}.\n"
            "Pass arrays whose last axes have the same length."
        )


def check_inside(x: Array, gap: Array, c: float) -> None:
    """Raise an error if a point of x lies on or outside the rim, that is, if its gap is not positive."""
    if not np.all(gap > 0):
        _check_finite(x, "X")
        rows = x.reshape(-1, x.shape[-1])
        if advice := hyperboloid_advice(rows, c):
            raise ValueError(describe_outside(x, gap, c) + advice)
        raise ValueError(
            f"{describe_outside(x, gap, c)}\n"
            "Rescale the embedding, move the points inside with hyplearn.geometry.project, "
            "or pass the absolute curvature c of your embedding."
        )


def describe_outside(x: Array, gap: Array, c: float) -> str:
    """Return a sentence with the number of points on or outside the rim, and the row and norm of the farthest point."""
    rows, row_gaps = x.reshape(-1, x.shape[-1]), np.ravel(gap)
    farthest = int(np.argmin(row_gaps))
    norm = float(norms(rows[farthest : farthest + 1])[0])
    return outside_sentence(int(np.count_nonzero(~(row_gaps > 0))), len(rows), farthest, norm, c)


def outside_sentence(count: int, n: int, farthest: int, norm: float, c: float) -> str:
    """Return a sentence, for a message, which says that ``count`` of ``n`` points lie on or outside the rim.

    The sentence also describes the farthest point, which is row ``farthest`` and has the norm ``norm``.
    """
    radius = 1 / np.sqrt(c)
    # Show six digits of the norm, or all digits if it would otherwise look equal to the radius.
    shown = f"{norm:.6g}" if f"{norm:.6g}" != f"{radius:.6g}" else f"{norm:.17g}"
    where = "the point has" if n == 1 else f"the farthest is row {farthest} with"
    lie = "lies" if count == 1 else "lie"
    size = "" if c == 1 else f" (radius {radius:.6g})"
    return f"{count} of {n} points {lie} outside the open ball of curvature {-c:g}{size}; {where} norm {shown}."


# Tolerance for the equation t² - ‖s‖² = r² of a hyperboloid of radius r, relative to t², where t is the time coordinate
# of a row and s contains its other coordinates. It is large enough for the rounding errors of float32 rows.
ON_HYPERBOLOID = 1e-5


def hyperboloid_advice(X: Array, c: float) -> str:
    """Return advice on how to convert rows if all of them lie on a hyperboloid; otherwise return an empty string.

    Rows on a hyperboloid satisfy ``t² - ‖s‖² = r²`` with t > 0 and the same radius r for all rows. The time coordinate
    t is the first or the last column, and s contains the other columns. For fewer than three rows, or a single column,
    the string is empty.
    """
    rows = X.astype(np.float64)
    for time, column in (("first", 0), ("last", -1)) if rows.shape[1] > 1 and len(rows) > 2 else ():
        times = rows[:, column]
        squares = 2 * times**2 - np.sum(rows**2, axis=1)
        radius = float(squares[np.argmin(times)])
        if np.all(times > 0) and radius > 0 and np.all(np.abs(squares - radius) <= ON_HYPERBOLOID * times**2):
            curvature = 0.0 - float(f"{1 / radius:.4g}")
            given = "" if abs(radius - 1) < ON_HYPERBOLOID * float(times.min()) ** 2 else f", curvature={curvature:g}"
            given += "" if time == "first" else ', time="last"'
            return (
                f" The rows lie on the hyperboloid of curvature {curvature:g}, with the time coordinate {time}.\n"
                f"Convert them with hyplearn.embedding.from_hyperboloid(X{given})."
            )
    return ""


def pull_inside(x: Array, c: float) -> Array:
    """Move points on or outside the rim into the ball, about as close to the rim as their float type permits."""
    rows = x.reshape(-1, x.shape[-1])
    out = np.flatnonzero(~(row_gaps(np.ascontiguousarray(rows, dtype=np.float64), c) > 0))
    if out.size == 0:
        return x
    rows = rows.copy()
    outside = rows[out].astype(np.float64)
    direction = outside / (np.sqrt(c) * norms(outside)[:, None])
    # Rounding the coordinates can move a point back onto the rim. In that case, reduce its norm until it is inside.
    shrink = float(np.finfo(x.dtype).eps) / 2
    while out.size:
        rows[out] = direction * (1 - shrink)
        still = ~(row_gaps(rows[out].astype(np.float64), c) > 0)
        out, direction, shrink = out[still], direction[still], 2 * shrink
    return rows.reshape(x.shape)
