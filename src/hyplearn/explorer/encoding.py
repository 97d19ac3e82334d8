"""How numbers and words travel in a page: compact, exact, and inert whatever they say."""

import base64
import json
from typing import Any

import numpy as np

from hyplearn.types import Array

# Little-endian types of NumPy and the typed arrays of JavaScript that read them.
TYPES = {"<f8": "Float64Array", "<f4": "Float32Array", "<u4": "Uint32Array", "<u2": "Uint16Array"}
# Inside a script element only these could end it, begin a comment, or (the last two) break a line.
UNSAFE = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def typed_array(values: Array, dtype: str) -> dict[str, str]:
    """Base64 of the bytes, with the name of the typed array that they are."""
    data = np.ascontiguousarray(values, dtype=np.dtype(dtype))
    return {"type": TYPES[dtype], "base64": base64.b64encode(data.tobytes()).decode("ascii")}


def script_json(value: Any) -> str:
    """JSON that stays data inside a script element: a label such as ``</script>`` cannot end it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # JSON has surrogates only where Python's text had lone ones, which no file could hold.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.translate(UNSAFE)
