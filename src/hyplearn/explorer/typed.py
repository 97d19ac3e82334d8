"""Encode arrays and names for the page that :func:`hyplearn.explore` creates."""

import base64
from typing import Any

import numpy as np

from hyplearn.types import Array

# Maximum number of classes, or of categories in a column. Codes are stored in at most two bytes, and the largest
# two-byte code marks pixels outside the disk.
MOST_CLASSES = 2**16 - 1
# Maximum number of classes for which class codes are stored in one byte.
FEW_CLASSES = 2**8
# Maximum number of characters in a name. Longer names are truncated, because they would leave no space for the rest of
# the page.
MOST_LETTERS = 200
# Names of the JavaScript typed arrays that correspond to little-endian NumPy dtypes.
TYPES = {
    "<f8": "Float64Array", "<f4": "Float32Array", "<u4": "Uint32Array", "<u2": "Uint16Array", "|u1": "Uint8Array",
}  # fmt: skip


def typed_array(values: Array, dtype: str) -> dict[str, str]:
    """Encode an array in base64, with the name of its JavaScript type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype))
    return {"type": TYPES[dtype], "base64": base64.b64encode(data.tobytes()).decode("ascii")}


def code_array(codes: Array, n_classes: int, name: str = "y") -> dict[str, str]:
    """Encode codes of classes or categories with one byte each, or with two bytes each if ``n_classes`` is large."""
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"{name} can have at most {MOST_CLASSES} classes or categories on a page; got {n_classes}.\n"
            "Merge some of them first."
        )
    return typed_array(codes, "|u1" if n_classes <= FEW_CLASSES else "<u2")


def shortened(text: Any) -> str:
    """Convert a name to a string, and truncate it to at most MOST_LETTERS characters."""
    text = str(text)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
