"""The outer shape of a model file: a fixed prefix, a JSON header, raw arrays, a checksum.

``docs/format.md`` describes it byte by byte. Nothing here knows what a header means; whatever :func:`unpack` returns
has the declared sizes, and no more memory was taken than the file is long.
"""

import hashlib
import json
import math
import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from hyplearn.types import Array

# As in PNG: a byte that no text has, the name, and line ends that a transfer as text would change.
MAGIC = b"\x89HYP\r\n\x1a\n"
# Version 1 was written by hyplearn 0.1; :mod:`hyplearn.persistence.upgrade` reads it.
SCHEMA_VERSION = 2
PREFIX = struct.Struct("<8sIIQ")  # magic, schema version, bytes of the header, bytes of the arrays
DIGEST_BYTES = 32
# A header holds parameters, labels and names; an array of JSON takes up to twenty times its length in memory.
LARGEST_HEADER = 2**23
LARGEST_FILE = 2**32
LARGEST_DIMENSIONS = 3
DTYPES = frozenset(["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"])
BYTES_DTYPE = re.compile(r"\|S[1-9][0-9]{0,4}")

SAVE_AGAIN = "Get a whole copy of the file, or save the model again."


class FlawError(Exception):
    """What is wrong, and the next step; who knows the file or the estimator turns it into an error for users."""

    def __init__(self, problem: str, advice: str = SAVE_AGAIN) -> None:
        super().__init__(problem)
        self.problem, self.advice = problem, advice


def pack(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """The bytes of a model file; ``header["arrays"]`` is written here."""
    stored = [little_endian(array) for array in arrays]
    table = [{"dtype": array.dtype.str, "shape": list(array.shape)} for array in stored]
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode()
    body = b"".join(array.tobytes() for array in stored)
    if len(text) > LARGEST_HEADER or PREFIX.size + len(text) + len(body) + DIGEST_BYTES > LARGEST_FILE:
        raise FlawError(
            f"it takes {len(text):,} bytes of labels, names and parameters and {len(body):,} bytes of arrays; a model "
            f"file can hold {LARGEST_HEADER:,} and {LARGEST_FILE:,} in all",
            "Shorten the labels and names, or fit with fewer support vectors (a lower C has more, a higher one fewer).",
        )
    data = PREFIX.pack(MAGIC, SCHEMA_VERSION, len(text), len(body)) + text + body
    return data + hashlib.sha256(data).digest()


def little_endian(array: Array) -> Array:
    """The same numbers in the byte order of the file, contiguous."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def unpack(data: bytes) -> tuple[int, dict[str, Any], list[Array]]:
    """Schema version, header and arrays of a model file, its sizes and checksum proven; FlawError otherwise."""
    if not data.startswith(MAGIC):
        raise FlawError(
            f"it begins with {data[:8]!r}, not with {MAGIC!r}", "Pass a file that hyplearn.save has written."
        )
    if len(data) < PREFIX.size + DIGEST_BYTES:
        raise FlawError(f"it ends after {len(data)} bytes")
    if hashlib.sha256(memoryview(data)[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise FlawError("its checksum does not fit its contents, so it is damaged or cut off")
    _, version, header_bytes, array_bytes = PREFIX.unpack_from(data)
    if version > SCHEMA_VERSION:
        raise FlawError(
            f"its schema version is {version}, and this hyplearn reads versions up to {SCHEMA_VERSION}",
            "Upgrade hyplearn: pip install --upgrade hyplearn.",
        )
    if version < 1:
        raise FlawError(f"its schema version is {version}; versions begin with 1")
    if header_bytes > LARGEST_HEADER or PREFIX.size + header_bytes + array_bytes + DIGEST_BYTES != len(data):
        raise FlawError(
            f"it declares {header_bytes:,} bytes of header and {array_bytes:,} bytes of arrays in {len(data):,} bytes"
        )
    header = _parsed(data[PREFIX.size : PREFIX.size + header_bytes])
    return version, header, _arrays(header.pop("arrays", None), data, PREFIX.size + header_bytes, array_bytes)


def _parsed(text: bytes) -> dict[str, Any]:
    """The header: one JSON object, no name twice, no NaN or infinity."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FlawError(f"its header is not plain JSON ({str(error)[:100]})") from None
    if not isinstance(header, dict):
        raise FlawError(f"its header is {type(header).__name__}, not an object")
    return header


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _arrays(table: Any, data: bytes, start: int, array_bytes: int) -> list[Array]:
    """The arrays of the table; their sizes are added up before the first is made."""
    if not isinstance(table, list):
        raise FlawError("its header has no list of arrays")
    described = [_described(entry) for entry in table]
    total = sum(dtype.itemsize * math.prod(shape) for dtype, shape in described)
    if total != array_bytes:
        raise FlawError(f"its arrays take {total:,} bytes; {array_bytes:,} are there")
    arrays = []
    for dtype, shape in described:
        size = math.prod(shape)
        array = np.frombuffer(data, dtype=dtype, count=size, offset=start).reshape(shape).copy()
        if dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
            raise FlawError("an array of booleans holds bytes other than 0 and 1")
        arrays.append(array)
        start += dtype.itemsize * size
    return arrays


def _described(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape"}:
        raise FlawError(f"an array is described by {entry!r:.80}, not by its dtype and shape")
    dtype, shape = entry["dtype"], entry["shape"]
    if not isinstance(dtype, str) or not (dtype in DTYPES or BYTES_DTYPE.fullmatch(dtype)):
        raise FlawError(f"an array has the dtype {dtype!r:.80}")
    if (
        not isinstance(shape, list)
        or len(shape) > LARGEST_DIMENSIONS
        or not all(type(n) is int and 0 <= n <= LARGEST_FILE for n in shape)
    ):
        raise FlawError(f"an array has the shape {shape!r:.80}")
    return np.dtype(dtype), tuple(shape)
