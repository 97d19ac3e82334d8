"""Byte layout of a model file: a prefix of fixed size, a JSON header with tagged values, raw arrays, and a checksum.

The arrays that :func:`unpack` returns have the sizes declared in the header, and together take no more memory than the
file. A value that JSON does not support is stored as a JSON object with one entry, whose name is a tag such as
``array``; ``docs/format.md`` lists the tags.
"""

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.labels import plain_string
from hyplearn.files import missing_file
from hyplearn.types import Array

# First bytes of a model file. As in PNG, they are a non-ASCII byte, a name, and line endings around the DOS
# end-of-file character. A transfer in text mode changes the line endings, and the file is then rejected.
MAGIC = b"\x89HYP\r\n\x1a\n"
# Version of the file format. Files of version 1, written by hyplearn 0.1, are converted by
# :func:`hyplearn.persistence.parts.upgrade`.
SCHEMA_VERSION = 2
PREFIX = struct.Struct("<8sIIQ")  # magic, schema version, sizes of the header and of the arrays in bytes
DIGEST_BYTES = 32
# Maximum size in bytes of the header, which contains parameters, names and string labels, but no arrays of numbers. The
# limit bounds the memory of the JSON parser, which needs up to twenty times the size of the header.
LARGEST_HEADER = 2**23
# LARGEST_FILE is the maximum size of a file in bytes, LARGEST_DIMENSIONS the maximum number of axes of an array, and
# DEEPEST the maximum depth of nested values.
LARGEST_FILE = 2**32
LARGEST_DIMENSIONS = 3
DEEPEST = 4
SMALLEST_INT, LARGEST_INT = -(2**63), 2**64 - 1
SPECIAL_FLOATS = ("nan", "inf", "-inf")
DTYPES = frozenset(["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"])
BYTES_DTYPE = re.compile(r"\|S[1-9][0-9]{0,4}")
SAVE_AGAIN = "Get a complete copy of the file, or save the model again."
OTHER_FILE = "Pass a file that hyplearn.save has written."


class FlawError(Exception):
    """Flaw in an estimator or a model file; callers convert it to an error that names the class or the file."""

    def __init__(self, problem: str, advice: str = SAVE_AGAIN) -> None:
        super().__init__(problem)
        self.problem, self.advice = problem, advice


def pack(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """Return the bytes of a model file; the header is extended with the dtypes and shapes of the arrays."""
    stored = [np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C") for array in arrays]
    table = [{"dtype": array.dtype.str, "shape": list(array.shape)} for array in stored]
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode()
    body = b"".join(array.tobytes() for array in stored)
    if len(text) > LARGEST_HEADER or PREFIX.size + len(text) + len(body) + DIGEST_BYTES > LARGEST_FILE:
        raise FlawError(
            f"the labels, names and parameters take {len(text):,} bytes and the arrays {len(body):,} bytes; the limits "
            f"are {LARGEST_HEADER:,} bytes for labels, names and parameters, and {LARGEST_FILE:,} bytes for the file",
            "Shorten the labels and names, fit to fewer points or, for an SVM, raise C to get fewer support vectors.",
        )
    data = PREFIX.pack(MAGIC, SCHEMA_VERSION, len(text), len(body)) + text + body
    return data + hashlib.sha256(data).digest()


def unpack(data: bytes) -> tuple[int, dict[str, Any], list[Array]]:
    """Check the checksum, version and sizes of a model file, and return its schema version, header and arrays."""
    if not data.startswith(MAGIC):
        raise FlawError("it is not a model file", OTHER_FILE)
    if len(data) < PREFIX.size + DIGEST_BYTES:
        raise FlawError(
            f"the file ends after {len(data)} bytes; a model file has at least {PREFIX.size + DIGEST_BYTES} bytes"
        )
    if hashlib.sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise FlawError("the checksum does not match the contents, so the file is damaged or truncated")
    _, version, header_bytes, array_bytes = PREFIX.unpack_from(data)
    if version > SCHEMA_VERSION:
        raise FlawError(
            f"the schema version is {version}, but this version of hyplearn reads only versions up to {SCHEMA_VERSION}",
            "Upgrade hyplearn: pip install --upgrade hyplearn.",
        )
    if version < 1:
        raise FlawError(f"the schema version is {version}; versions start at 1")
    if header_bytes > LARGEST_HEADER or PREFIX.size + header_bytes + array_bytes + DIGEST_BYTES != len(data):
        raise FlawError(
            f"the file has {len(data):,} bytes, which does not match the declared header of {header_bytes:,} bytes (at "
            f"most {LARGEST_HEADER:,} are allowed) and arrays of {array_bytes:,} bytes"
        )
    header = _parse_header(data[PREFIX.size : PREFIX.size + header_bytes])
    return version, header, _arrays(header.pop("arrays", None), data, PREFIX.size + header_bytes, array_bytes)


def _parse_header(text: bytes) -> dict[str, Any]:
    """Parse the header, which must be one JSON object without repeated names, NaN or infinity."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FlawError(f"the header is not plain JSON ({str(error)[:100]})") from None
    if not isinstance(header, dict):
        raise FlawError(f"the header must be a JSON object; it is {header!r:.80}")
    return header


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _arrays(table: Any, data: bytes, start: int, array_bytes: int) -> list[Array]:
    """Read the arrays that the table describes, after checking that their total size is ``array_bytes``."""
    if not isinstance(table, list):
        raise FlawError("the header has no list of arrays")
    described = [_described(entry) for entry in table]
    total = sum(dtype.itemsize * math.prod(shape) for dtype, shape in described)
    if total != array_bytes:
        raise FlawError(f"the arrays need {total:,} bytes, but {array_bytes:,} are present")
    arrays = []
    for dtype, shape in described:
        size = math.prod(shape)
        array = np.frombuffer(data, dtype=dtype, count=size, offset=start).reshape(shape).copy()
        if dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
            raise FlawError("an array of booleans contains bytes other than 0 and 1")
        arrays.append(array)
        start += dtype.itemsize * size
    return arrays


def _described(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape"}:
        raise FlawError(f"an array is described with {entry!r:.80} instead of its dtype and shape")
    dtype, shape = entry["dtype"], entry["shape"]
    if not isinstance(dtype, str) or not (dtype in DTYPES or BYTES_DTYPE.fullmatch(dtype)):
        raise FlawError(f"an array has the unsupported dtype {dtype!r:.80}")
    if (
        not isinstance(shape, list)
        or len(shape) > LARGEST_DIMENSIONS
        or not all(type(n) is int and 0 <= n <= LARGEST_FILE for n in shape)
    ):
        raise FlawError(f"an array has the invalid shape {shape!r:.80}")
    return np.dtype(dtype), tuple(shape)


def read_whole(path: Path) -> bytes:
    """Read a file of at most LARGEST_FILE bytes; if it is not a model file, read and return only its first bytes."""
    if not path.exists():
        raise missing_file(path)
    if not path.is_file():
        raise FlawError("the path is not a regular file", OTHER_FILE)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise FlawError(f"the file has {size:,} bytes; the limit for a model file is {LARGEST_FILE:,} bytes")
        start = file.read(len(MAGIC))
        # The rest of the file is read only if the file starts like a model file.
        return start + file.read(size + 1) if start == MAGIC else start


class Encoder:
    """Converter from values to JSON.

    Arrays and NumPy scalars, unless they contain strings, are appended to the list ``arrays``, and the JSON contains
    their indices in this list. Nested estimators are appended as arrays of bytes: ``model_bytes`` is a function that
    converts a nested estimator to the bytes of a model file. If it is None, nested estimators are not allowed.
    """

    def __init__(self, model_bytes: Callable[[Any], bytes] | None = None) -> None:
        self.arrays: list[Array] = []
        self.model_bytes = model_bytes

    def encode(self, value: Any) -> Any:
        """Return the JSON form of a value; raise FlawError if the value cannot be stored in a model file."""
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
        if self.model_bytes is not None and hasattr(value, "get_params"):
            return {"model": self._stored(np.frombuffer(self.model_bytes(value), dtype=np.uint8))}
        raise FlawError(f"a model file cannot store the value {value!r:.80} of type {type(value).__name__}")

    def _array(self, array: Array) -> dict[str, Any]:
        if array.dtype.kind == "U" and array.ndim == 1:
            return {"text": [array.dtype.itemsize // 4, array.tolist()]}
        if array.dtype.kind == "O" and array.ndim == 1 and all(isinstance(item, str) for item in array):
            return {"objects": [plain_string(item) for item in array]}
        return {"array": self._stored(array)}

    def _stored(self, array: Array) -> int:
        dtype = array.dtype.newbyteorder("<").str
        if array.ndim > LARGEST_DIMENSIONS or not (dtype in DTYPES or BYTES_DTYPE.fullmatch(dtype)):
            raise FlawError(
                f"a model file cannot store an array of dtype {array.dtype} and shape {array.shape}",
                "Pass labels as strings, integers or booleans, and numbers as float64.",
            )
        self.arrays.append(array)
        return len(self.arrays) - 1


class Decoder:
    """Converter from JSON to values; each array must be referenced exactly once, in order.

    ``model_of`` is a function that restores an estimator from a nested model file. If it is None, nested model files
    are not allowed.
    """

    def __init__(self, arrays: list[Array], model_of: Callable[[bytes], Any] | None = None) -> None:
        self.arrays, self.used, self.model_of = arrays, 0, model_of

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Return the value that is encoded in JSON; raise FlawError if the encoding is invalid."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return _checked_number(value)
        if depth >= DEEPEST:
            raise FlawError(f"a value is nested more than {DEEPEST} levels deep")
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if len(value) == 1:
            ((tag, content),) = value.items()
            if tag in ("tuple", "dict"):
                return self._nested(tag, content, depth + 1)
            readers: dict[str, Callable[[Any], Any]] = {
                "float": _special_float,
                "array": self._array,
                "scalar": self._scalar,
                "text": _text,
                "objects": lambda words: np.array(_words(words), dtype=object),
                "model": self._model,
            }
            if tag in readers:
                return readers[tag](content)
        raise FlawError(f"{value!r:.80} does not encode a value")

    def finish(self) -> None:
        """Raise FlawError if there are arrays that no value has referenced."""
        if self.used != len(self.arrays):
            raise FlawError(f"{len(self.arrays)} arrays are present, but only {self.used} are used")

    def _array(self, content: Any) -> Array:
        if type(content) is not int or content != self.used or content >= len(self.arrays):
            raise FlawError(
                f"a value refers to array {content!r:.80}, but {self.used} of {len(self.arrays)} arrays were "
                "referenced before it; arrays are numbered from 0, and each must be referenced once, in order"
            )
        self.used += 1
        return self.arrays[content]

    def _scalar(self, content: Any) -> Any:
        array = self._array(content)
        if array.shape != ():
            raise FlawError(f"a scalar has the shape {array.shape} instead of ()")
        return array[()]

    def _model(self, content: Any) -> Any:
        array = self._array(content)
        if self.model_of is None or array.dtype != np.uint8 or array.ndim != 1:
            raise FlawError("a nested model is not an array of bytes, or is inside another nested model")
        return self.model_of(array.tobytes())

    def _nested(self, tag: str, content: Any, depth: int) -> tuple[Any, ...] | dict[Any, Any]:
        if not isinstance(content, list):
            raise FlawError(f"{content!r:.80} does not encode a {tag}")
        if tag == "tuple":
            return tuple(self.decode(item, depth) for item in content)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in content):
            raise FlawError(f"{content!r:.80} does not encode a dict")
        decoded = [(self.decode(key, depth), self.decode(item, depth)) for key, item in content]
        if not all(isinstance(key, (bool, int, float, str, np.generic)) for key, _ in decoded):
            raise FlawError("a key of a dict is not a number, a boolean or a string")
        found = dict(decoded)
        if len(found) < len(decoded):
            raise FlawError("a key of a dict occurs twice")
        return found


def _special_float(content: Any) -> float:
    if content not in SPECIAL_FLOATS:
        raise FlawError(f"{content!r:.80} is not one of nan, inf and -inf")
    return float(content)


def _text(content: Any) -> Array:
    if not isinstance(content, list) or len(content) != 2 or type(content[0]) is not int:
        raise FlawError(f"{content!r:.80} does not encode an array of strings")
    width, words = content[0], _words(content[1])
    # Check the width of the strings first, because it determines the size of the array that is allocated.
    if not max(1, max(map(len, words), default=1)) <= width or width * max(1, len(words)) > LARGEST_HEADER:
        raise FlawError(f"{len(words)} strings are stored with the invalid width of {width} characters")
    return np.array(words, dtype=f"<U{width}")


def _words(content: Any) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(word, str) for word in content):
        raise FlawError(f"{content!r:.80} is not a list of strings")
    return content


def _checked_number(value: float) -> float:
    if isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT:
        raise FlawError("an integer has more than 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise FlawError("a number is too large for a float")
    return value
