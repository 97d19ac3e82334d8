"""Notebook widget that shows an explorer page and exchanges the selected rows with Python; requires anywidget."""

from importlib import resources
from typing import Any

import numpy as np

from hyplearn.types import Array


def to_bytes(rows: Array) -> bytes:
    """Encode row indices as bytes of little-endian uint32."""
    return np.asarray(rows, dtype="<u4").tobytes()


def to_rows(data: bytes) -> Array:
    """Decode row indices from bytes, and sort them in ascending order."""
    return np.sort(np.frombuffer(data, dtype="<u4").astype(np.int64))


def widget_class() -> Any:
    """Return the class of the widget, or None if anywidget is not installed."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None
    source = resources.files("hyplearn.explorer").joinpath("page", "widget.js").read_text(encoding="utf-8")

    class ExplorerWidget(anywidget.AnyWidget):
        """Widget that shows an explorer page; ``selection`` contains the selected rows, encoded by :func:`to_bytes`."""

        _esm = source
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        # Notebooks send a memoryview, which is converted to bytes.
        selection = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))

    return ExplorerWidget
