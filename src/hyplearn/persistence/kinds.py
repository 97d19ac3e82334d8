"""Kinds of fitted attributes. A kind combines a type, a symbolic shape, and a condition on the values.

A symbol in a shape stands for a size that several attributes share: ``d`` is the number of coordinates, ``K`` the
number of classes, ``P`` the number of binary problems (1 for two classes, otherwise K), and ``S`` the number of support
vectors. A schema may use further symbols. Except for P, the value of a symbol is the size in the first attribute with
this symbol.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hyplearn.embedding.poincare_map.cells import LARGEST_FEATURE
from hyplearn.geometry.kernels import row_gaps
from hyplearn.persistence.container import FlawError
from hyplearn.types import Array

LARGEST_INTEGER = 2**62
# Maximum absolute value of weights, slopes and other real numbers. It is small enough that the product of a weight, a
# slope, an element of a mixing matrix and the norm of a row (up to 1e17 for a point near the rim) does not overflow.
LARGEST_NUMBER = 1e60
SINGLE = float(np.finfo(np.float32).max)


@dataclass
class Sizes:
    """Values of the symbols in shapes, such as "d", and the absolute value ``c`` of the curvature."""

    c: float
    symbols: dict[str, int]

    def fit(self, shape: tuple[int, ...], expected: tuple[str | int, ...]) -> bool:
        """Return whether a shape matches the expected shape, which may contain symbols.

        If a symbol has no value yet, its value is set to the size at its position in ``shape``.
        """
        if len(shape) != len(expected):
            return False
        pairs = zip(shape, expected, strict=True)
        known = [self.symbols.setdefault(want, n) if isinstance(want, str) else want for n, want in pairs]
        return list(shape) == known


@dataclass(frozen=True)
class Kind:
    """Kind of an attribute: a description for error messages, a test of values, and whether it is optional."""

    words: str
    holds: Callable[[Any, Sizes], bool]
    optional: bool = False

    @property
    def perhaps(self) -> "Kind":
        """Copy of this kind for an optional attribute."""
        return replace(self, optional=True)

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise FlawError if the value is not of this kind."""
        if self.holds(value, sizes):
            return
        shown = f"{value!r:.60}"
        if isinstance(value, np.ndarray):
            shown = f"an array of dtype {value.dtype} and shape {value.shape}"
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                shown += " with NaN or infinite numbers"
        raise FlawError(f"{name} must be {self.words}; it is {shown}")


def _array(words: str, dtypes: tuple[str, ...], right: Callable[[Array, float], Any], *shape: str | int) -> Kind:
    """Return a kind that accepts arrays with these dtypes and this shape; ``right(array, c)`` tests their values."""

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or not value.dtype.str[1:].startswith(dtypes):
            return False
        return sizes.fit(value.shape, shape) and bool(np.all(right(value, sizes.c)))

    return Kind(f"{words} of shape ({', '.join(map(str, shape))})", holds)


def are_inside(a: Array, c: float) -> bool:
    """Return whether all points lie inside the ball of curvature -c."""
    rows = np.ascontiguousarray(a.reshape(-1, a.shape[-1]))
    return bool(np.all(row_gaps(rows, c) > 0))  # the gap 1 - c‖x‖² is not positive if x contains NaN or infinity


def _are_features(a: Array, c: float) -> bool:
    """Return whether all values can be squared without overflow and the rows are distinct and sorted."""
    return bool(np.all(np.abs(a) <= LARGEST_FEATURE)) and np.array_equal(a, np.unique(a, axis=0))


# Each of the following functions takes a shape and returns a kind, for example real("P", "d").
real = partial(
    _array,
    f"float64 numbers from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}",
    ("f8",),
    lambda a, c: np.abs(a) <= LARGEST_NUMBER,
)
positive = partial(_array, "positive finite float64 numbers", ("f8",), lambda a, c: (a > 0) & (a < np.inf))
# Costs may be infinite, which means a hard margin.
costs = partial(_array, "positive float64 numbers", ("f8",), lambda a, c: a > 0)
# Arrays of the kind ``proof`` may contain NaN, which marks an unknown value.
proof = partial(_array, "float64 numbers", ("f8",), lambda a, c: True)
units = partial(_array, "float64 numbers from -1 to 1", ("f8",), lambda a, c: np.abs(a) <= 1)
shares = partial(_array, "float64 numbers from 0 to 1", ("f8",), lambda a, c: (a >= 0) & (a <= 1))
weights = partial(
    _array, "non-negative float64 numbers below 2**62", ("f8",), lambda a, c: (a >= 0) & (a < LARGEST_INTEGER)
)
# Network weights must be in the range of float32, the type that networks compute with.
single = partial(_array, "float64 numbers in the range of float32", ("f8",), lambda a, c: np.abs(a) <= SINGLE)
count = partial(_array, "non-negative integers", ("i4", "i8"), lambda a, c: (a >= 0) & (a < LARGEST_INTEGER))
# Row number of the parent of each node; -1 for a root.
parents = partial(_array, "integers from -1", ("i8",), lambda a, c: (a >= -1) & (a < len(a)))
truth = partial(_array, "booleans", ("b1",), lambda a, c: True)
points = partial(_array, "points inside the ball, float32 or float64,", ("f4", "f8"), are_inside)
unit_points = partial(_array, "points inside the unit ball, float64,", ("f8",), lambda a, c: are_inside(a, 1.0))
features = partial(
    _array,
    f"float64 numbers from {-LARGEST_FEATURE:g} to {LARGEST_FEATURE:g}, with distinct, sorted rows,",
    ("f8",),
    _are_features,
)
# Feature names are strings in an object array, as in scikit-learn.
names = partial(_array, "strings in an object array", ("O",), lambda a, c: True)


def words(*shape: str | int, among: tuple[str, ...]) -> Kind:
    """Return a kind that accepts arrays of this shape whose elements are strings in ``among``."""
    return _array(f"strings, each one of {', '.join(among)},", ("U",), lambda a, c: np.isin(a, among), *shape)


def labels(symbol: str) -> Kind:
    """Return a kind that accepts arrays of two or more distinct, sorted labels; floats must have integral values."""

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
            return False
        whole = value.dtype.kind != "f" or bool(np.all(np.isfinite(value) & (value == np.round(value))))
        return whole and bool(np.all(value[:-1] < value[1:])) and sizes.fit(value.shape, (symbol,))

    return Kind(f"two or more distinct, sorted labels (integral if floats) of shape ({symbol})", holds)


def node_labels(symbol: str) -> Kind:
    """Return a kind that accepts lists of node names, which are strings or integers."""

    def holds(value: Any, sizes: Sizes) -> bool:
        plain = type(value) is list and all(type(item) in (str, int) for item in value)
        return plain and sizes.fit((len(value),), (symbol,))

    return Kind(f"a list of strings or integers of length {symbol}", holds)


def none_or(kind: Kind) -> Kind:
    """Return a kind that accepts None and the values of the given kind."""
    return Kind(f"None, or {kind.words}", lambda value, sizes: value is None or kind.holds(value, sizes))


def size(symbol: str) -> Kind:
    """Return a kind that accepts a positive integer, which is the value of ``symbol`` (see :class:`Sizes`).

    If the symbol already has a value, the integer must equal it; otherwise, the integer becomes its value.
    """
    return Kind(
        f"the positive integer {symbol}",
        lambda value, sizes: type(value) is int and value >= 1 and sizes.fit((value,), (symbol,)),
    )


def word(*allowed: str) -> Kind:
    """Return a kind that accepts the given strings."""
    described = f"one of {', '.join(allowed)}" if len(allowed) > 1 else f"the string {allowed[0]}"
    return Kind(described, lambda value, sizes: isinstance(value, str) and value in allowed)


def number(*, above: float = -np.inf, below: float = np.inf) -> Kind:
    """Return a kind that accepts finite floats greater than ``above`` and less than ``below``."""
    bounds = {f" above {above:g}": above > -np.inf, f" below {below:g}": below < np.inf}
    described = "a finite float" + " and".join(words for words, applies in bounds.items() if applies)
    return Kind(described, lambda value, sizes: type(value) is float and above < value < below)


def _is_row_shape(value: Any, sizes: Sizes) -> bool:
    is_shape = type(value) is tuple and len(value) in (1, 3)
    return is_shape and all(type(n) is int and 1 <= n < LARGEST_INTEGER for n in value)


INTEGER = Kind("a non-negative integer", lambda value, sizes: type(value) is int and 0 <= value < LARGEST_INTEGER)
BOOL = Kind("True or False", lambda value, sizes: type(value) is bool)
SHARE = Kind("a float from 0 to 1", lambda value, sizes: type(value) is float and 0 <= value <= 1)
# Shape of one sample: a vector (one axis) or an image (three axes).
ROW_SHAPE = Kind("a tuple of one or three positive integers", _is_row_shape)
