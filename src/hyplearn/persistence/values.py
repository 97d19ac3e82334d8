"""Values in the header: what parameters and attributes may be, as JSON with a few tags.

Plain JSON stands for None, bool, int, finite float, str and list. Everything else is an object with one tag:

=========== ======================================================= =====================================
tag         content                                                 value
=========== ======================================================= =====================================
``float``   ``"nan"``, ``"inf"`` or ``"-inf"``                      that float
``array``   number of an array, from 0                              the array
``scalar``  number of an array of shape ()                          its NumPy scalar
``text``    ``[width, [str, ...]]``                                 array of the dtype ``<U{width}``
``objects`` ``[str, ...]``                                          array of dtype object that holds str
``tuple``   ``[value, ...]``                                        tuple
``dict``    ``[[key, value], ...]``                                 dict
=========== ======================================================= =====================================
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hyplearn.persistence.container import BYTES_DTYPE, DTYPES, LARGEST_DIMENSIONS, LARGEST_HEADER, FlawError
from hyplearn.types import Array

DEEPEST = 4
SMALLEST_INT, LARGEST_INT = -(2**63), 2**64 - 1
SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """Turns values into JSON, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def encode(self, value: Any) -> Any:
        """The value as JSON; FlawError if a model file cannot hold it."""
        if value is None or isinstance(value, (bool, str)):
            return value if not isinstance(value, np.str_) else str(value)
        if isinstance(value, np.generic):
            return {"scalar": self._stored(np.asarray(value))}
        if isinstance(value, int) and SMALLEST_INT <= value <= LARGEST_INT:
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is np.ndarray:
            return self._array(value)
        if type(value) is list:
            return [self.encode(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        raise FlawError(f"a model file holds no {type(value).__name__}, and got {value!r:.80}")

    def _array(self, array: Array) -> dict[str, Any]:
        if array.dtype.kind == "U" and array.ndim == 1:
            return {"text": [array.dtype.itemsize // 4, array.tolist()]}
        if array.dtype.kind == "O" and array.ndim == 1 and all(isinstance(item, str) for item in array):
            return {"objects": [str(item) for item in array]}
        return {"array": self._stored(array)}

    def _stored(self, array: Array) -> int:
        dtype = array.dtype.newbyteorder("<").str
        if array.ndim > LARGEST_DIMENSIONS or not (dtype in DTYPES or BYTES_DTYPE.fullmatch(dtype)):
            raise FlawError(
                f"a model file holds no array of dtype {array.dtype} and shape {array.shape}",
                "Pass labels as text, integers or booleans, and numbers as float64.",
            )
        self.arrays.append(array)
        return len(self.arrays) - 1


class Decoder:
    """Turns JSON back into values; every array is to be named once, and in order."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays, self.used = arrays, 0

    def decode(self, value: Any, depth: int = 0) -> Any:
        """The value; FlawError where the JSON stands for none."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return _checked_number(value)
        if depth >= DEEPEST:
            raise FlawError(f"a value is nested more than {DEEPEST} deep")
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if len(value) == 1:
            tag, content = next(iter(value.items()))
            readers: dict[str, Callable[[Any, int], Any]] = {
                "float": self._float, "array": self._array, "scalar": self._scalar, "text": self._text,
                "objects": self._objects, "tuple": self._tuple, "dict": self._dict,
            }  # fmt: skip
            if tag in readers:
                return readers[tag](content, depth + 1)
        raise FlawError(f"{value!r:.80} stands for no value")

    def finish(self) -> None:
        """Refuse arrays that nobody named."""
        if self.used != len(self.arrays):
            raise FlawError(f"{len(self.arrays)} arrays are there, of which {self.used} are used")

    def _float(self, content: Any, depth: int) -> float:
        if not isinstance(content, str) or content not in SPECIAL_FLOATS:
            raise FlawError(f"{content!r:.80} is no special float")
        return SPECIAL_FLOATS[content]

    def _array(self, content: Any, depth: int) -> Array:
        if type(content) is not int or content != self.used or content >= len(self.arrays):
            raise FlawError(f"array {content!r:.80} is named where array {self.used} of {len(self.arrays)} is due")
        self.used += 1
        return self.arrays[content]

    def _scalar(self, content: Any, depth: int) -> Any:
        array = self._array(content, depth)
        if array.shape != ():
            raise FlawError(f"a scalar has the shape {array.shape}")
        return array[()]

    def _text(self, content: Any, depth: int) -> Array:
        if not isinstance(content, list) or len(content) != 2 or type(content[0]) is not int:
            raise FlawError(f"{content!r:.80} is no text")
        width, words = content[0], _words(content[1])
        # The width alone decides how much memory is taken.
        if not max(1, max(map(len, words), default=1)) <= width or width * max(1, len(words)) > LARGEST_HEADER:
            raise FlawError(f"{len(words)} texts cannot be {width} characters wide")
        return np.array(words, dtype=f"<U{width}")

    def _objects(self, content: Any, depth: int) -> Array:
        words = _words(content)
        array = np.empty(len(words), dtype=object)
        array[:] = words
        return array

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        if not isinstance(content, list):
            raise FlawError(f"{content!r:.80} is no tuple")
        return tuple(self.decode(item, depth) for item in content)

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        if not isinstance(content, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in content):
            raise FlawError(f"{content!r:.80} is no dict")
        decoded = [(self.decode(key, depth), self.decode(item, depth)) for key, item in content]
        if not all(isinstance(key, (bool, int, float, str, np.generic)) for key, _ in decoded):
            raise FlawError("a key of a dict is neither number nor text")
        found = dict(decoded)
        if len(found) < len(decoded):
            raise FlawError("a key of a dict occurs twice")
        return found


def _words(content: Any) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(word, str) for word in content):
        raise FlawError(f"{content!r:.80} is no list of texts")
    return content


def _checked_number(value: float) -> float:
    if isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT:
        raise FlawError("an integer needs more than 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise FlawError("a number is too large for a float")
    return value
