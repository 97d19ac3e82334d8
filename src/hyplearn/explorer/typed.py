"""Encode arrays and names for the page."""

import base64
from typing import Any

import numpy as np

from hyplearn.types import Array

# Maximum number of classes. Class codes are stored in two bytes, and the largest code marks pixels outside the disk.
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
    """Encode class codes with one byte each, or with two bytes if there are many classes."""
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"A page can show at most {MOST_CLASSES} classes; {name} has {n_classes}.\nMerge classes first."
        )
    return typed_array(codes, "|u1" if n_classes <= FEW_CLASSES else "<u2")


def shortened(text: Any) -> str:
    """Truncate a name to MOST_LETTERS characters."""
    text = str(text)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
