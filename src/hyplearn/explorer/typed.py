"""Arrays and text as the page takes them."""

import base64
from typing import Any

import numpy as np

from hyplearn.types import Array

# A code is stored in two bytes, and the last one means outside the disk.
MOST_CLASSES = 2**16 - 1
# Codes below this fit in one byte.
FEW_CLASSES = 2**8
# Letters of a name that are shown: longer ones would push everything else off the page.
MOST_LETTERS = 200
# Little-endian types of NumPy and the typed arrays of JavaScript that read them.
TYPES = {
    "<f8": "Float64Array", "<f4": "Float32Array", "<u4": "Uint32Array", "<u2": "Uint16Array", "|u1": "Uint8Array",
}  # fmt: skip


def typed_array(values: Array, dtype: str) -> dict[str, str]:
    """Bytes of an array in base64, with the name of its JavaScript type."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype))
    return {"type": TYPES[dtype], "base64": base64.b64encode(data.tobytes()).decode("ascii")}


def code_array(codes: Array, n_classes: int, name: str = "y") -> dict[str, str]:
    """Codes of classes in one byte each, or two if there are more."""
    if n_classes > MOST_CLASSES:
        raise ValueError(f"The page shows up to {MOST_CLASSES} classes; {name} has {n_classes}.\nMerge classes first.")
    return typed_array(codes, "|u1" if n_classes <= FEW_CLASSES else "<u2")


def shortened(text: Any) -> str:
    """A name that a card or a legend can show."""
    text = str(text)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
