"""Kinds of fitted attributes: a type, a shape in terms of symbols, and what the numbers have to be.

Symbols stand for sizes that are learned from the first attribute that has them and then hold for all: ``d``
coordinates, ``K`` classes, ``P`` binary problems, ``S`` support vectors, and whatever else a schema names.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyplearn.embedding.poincare_map_cells import LARGEST_FEATURE
from hyplearn.geometry.kernels import row_gaps
from hyplearn.persistence.container import FlawError
from hyplearn.types import Array

LARGEST_WHOLE = 2**62
SINGLE = float(np.finfo(np.float32).max)


@dataclass
class Sizes:
    """What the symbols of a file stand for so far, and the curvature of its ball."""

    c: float
    symbols: dict[str, int]

    def fit(self, shape: tuple[int, ...], expected: tuple[str | int, ...]) -> bool:
        """Whether the shape is the expected one; symbols not seen before take its sizes."""
        if len(shape) != len(expected):
            return False
        for size, want in zip(shape, expected, strict=True):
            if size != (self.symbols.setdefault(want, size) if isinstance(want, str) else want):
                return False
        return True


@dataclass(frozen=True)
class Kind:
    """One attribute: how it is described to readers, and the test that it must pass."""

    words: str
    holds: Callable[[Any, Sizes], bool]
    optional: bool = False

    @property
    def perhaps(self) -> "Kind":
        """The same, for an attribute that may be absent."""
        return replace(self, optional=True)

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Refuse a value of another kind."""
        if not self.holds(value, sizes):
            shown = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.60}"
            raise FlawError(f"{name} must be {self.words}; it is {shown}{_flaws(value)}")


def _flaws(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
        return " with NaN or infinite numbers"
    return ""


def _array(
    words: str, dtypes: str, shape: tuple[str | int, ...], right: Callable[[Array, Sizes], Any] = lambda a, sizes: True
) -> Kind:
    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.str[1:] not in dtypes.split():
            return False
        return sizes.fit(value.shape, shape) and bool(right(value, sizes))

    return Kind(f"{words} of shape ({', '.join(map(str, shape))})", holds)


def real(*shape: str | int) -> Kind:
    """Finite float64 numbers."""
    return _array("finite float64 numbers", "f8", shape, lambda a, sizes: np.all(np.isfinite(a)))


def units(*shape: str | int) -> Kind:
    """Numbers from -1 to 1, as unit vectors have them."""
    return _array("float64 numbers from -1 to 1", "f8", shape, lambda a, sizes: np.all(np.abs(a) <= 1))


def proof(*shape: str | int) -> Kind:
    """Float64 numbers that may be unknown (NaN) or without bound."""
    return _array("float64 numbers", "f8", shape)


def positive(*shape: str | int) -> Kind:
    """Finite positive float64 numbers."""
    return _array("positive finite float64 numbers", "f8", shape, lambda a, sizes: np.all((a > 0) & (a < np.inf)))


def count(*shape: str | int) -> Kind:
    """Integers from 0."""
    return _array("integers from 0", "i4 i8", shape, lambda a, sizes: np.all((a >= 0) & (a < LARGEST_WHOLE)))


def features(*shape: str | int) -> Kind:
    """Numbers whose squares are numbers too, in different rows that are in order, as np.unique has them."""

    def right(a: Array, sizes: Sizes) -> bool:
        return bool(np.all(np.abs(a) <= LARGEST_FEATURE)) and np.array_equal(a, np.unique(a, axis=0))

    return _array(f"float64 numbers up to {LARGEST_FEATURE:g}, rows different and in order,", "f8", shape, right)


def parents(*shape: str | int) -> Kind:
    """Rows of parents; -1 for a root."""
    return _array("integers from -1", "i8", shape, lambda a, sizes: np.all((a >= -1) & (a < len(a))))


def weights(*shape: str | int) -> Kind:
    """Sums of weights, which need not be whole."""
    return _array("numbers from 0", "f8", shape, lambda a, sizes: np.all((a >= 0) & (a < LARGEST_WHOLE)))


def truth(*shape: str | int) -> Kind:
    """Booleans."""
    return _array("booleans", "b1", shape)


def points(*shape: str | int) -> Kind:
    """Points inside the ball of the estimator's curvature."""
    what = "points inside the ball, float32 or float64,"
    return _array(what, "f4 f8", shape, lambda a, sizes: are_inside(a, sizes.c))


def single(*shape: str | int) -> Kind:
    """Float64 numbers that float32 has room for, in which networks run."""
    return _array("float64 numbers in the range of float32", "f8", shape, lambda a, sizes: np.all(np.abs(a) <= SINGLE))


def shares(*shape: str | int) -> Kind:
    """Numbers from 0 to 1."""
    return _array("float64 numbers from 0 to 1", "f8", shape, lambda a, sizes: np.all((a >= 0) & (a <= 1)))


def unit_points(*shape: str | int) -> Kind:
    """Points inside the unit ball, whatever the estimator's curvature."""
    return _array("points inside the unit ball, float64,", "f8", shape, lambda a, sizes: are_inside(a, 1.0))


def are_inside(a: Array, c: float) -> bool:
    """Whether all points lie inside the ball of curvature -c."""
    rows = np.ascontiguousarray(a.reshape(-1, a.shape[-1]))
    return bool(np.all(row_gaps(rows, c) > 0))  # NaN and infinity have no positive gap


def word(*allowed: str) -> Kind:
    """One of a few words."""
    return Kind(f"one of {', '.join(allowed)}", lambda value, sizes: isinstance(value, str) and value in allowed)


def words(*shape: str | int, among: tuple[str, ...]) -> Kind:
    """Words out of a few."""

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "U":
            return False
        return sizes.fit(value.shape, shape) and bool(np.all(np.isin(value, among)))

    return Kind(f"words out of {', '.join(among)}, of shape ({', '.join(map(str, shape))})", holds)


def names(symbol: str) -> Kind:
    """Texts as an array of objects: how scikit-learn keeps names of features."""

    def holds(value: Any, sizes: Sizes) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind == "O" and sizes.fit(value.shape, (symbol,))

    return Kind(f"names, of shape ({symbol},)", holds)


def labels(symbol: str) -> Kind:
    """At least two labels, all different and in order, of any type that labels have; floats are whole, as in a fit."""

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
            return False
        whole = value.dtype.kind != "f" or bool(np.all(np.isfinite(value) & (value == np.round(value))))
        return whole and bool(np.all(value[:-1] < value[1:])) and sizes.fit(value.shape, (symbol,))

    return Kind(f"two or more labels, all different and in order, floats being whole, of shape ({symbol},)", holds)


def node_labels(symbol: str) -> Kind:
    """A list of texts and integers: names of nodes."""

    def holds(value: Any, sizes: Sizes) -> bool:
        plain = type(value) is list and all(type(item) in (str, int) for item in value)
        return plain and sizes.fit((len(value),), (symbol,))

    return Kind(f"a list of texts or integers of length {symbol}", holds)


def none_or(kind: Kind) -> Kind:
    """None, or what the kind is."""
    return Kind(f"None, or {kind.words}", lambda value, sizes: value is None or kind.holds(value, sizes))


def whole() -> Kind:
    """An integer from 0."""
    return Kind("an integer from 0", lambda value, sizes: type(value) is int and 0 <= value < LARGEST_WHOLE)


def size(symbol: str) -> Kind:
    """An integer from 1 that a symbol stands for."""

    def holds(value: Any, sizes: Sizes) -> bool:
        return type(value) is int and value >= 1 and sizes.fit((value,), (symbol,))

    return Kind(f"the integer {symbol} from 1", holds)


def truth_value() -> Kind:
    """True or False."""
    return Kind("True or False", lambda value, sizes: type(value) is bool)


def share() -> Kind:
    """A float from 0 to 1."""
    return Kind("a float from 0 to 1", lambda value, sizes: type(value) is float and 0 <= value <= 1)


def row_shape() -> Kind:
    """The shape of a flat row or of an image."""

    def holds(value: Any, sizes: Sizes) -> bool:
        if type(value) is not tuple or len(value) not in (1, 3):
            return False
        return all(type(n) is int and 1 <= n < LARGEST_WHOLE for n in value)

    return Kind("a tuple of one or three integers from 1", holds)


def number(*, above: float = -np.inf, below: float = np.inf) -> Kind:
    """A finite float."""
    least = "" if above == -np.inf else f" above {above:g}"
    most = "" if below == np.inf else f" below {below:g}"
    return Kind(f"a finite float{least}{most}", lambda value, sizes: type(value) is float and above < value < below)
