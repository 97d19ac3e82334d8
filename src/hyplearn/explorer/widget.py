"""The page as a widget of anywidget, through which a notebook and Python exchange the selection."""

from importlib import resources
from typing import Any

import numpy as np

from hyplearn.types import Array


def to_bytes(rows: Array) -> bytes:
    """Rows as bytes of little-endian uint32."""
    return np.asarray(rows, dtype="<u4").tobytes()


def to_rows(data: bytes) -> Array:
    """Rows in ascending order from their bytes."""
    return np.sort(np.frombuffer(data, dtype="<u4").astype(np.int64))


def widget_class() -> Any:
    """The class of the widget, or None without anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None
    source = resources.files("hyplearn.explorer").joinpath("page", "widget.js").read_text(encoding="utf-8")

    class ExplorerWidget(anywidget.AnyWidget):
        """A frame with the page; ``selection`` is what :func:`to_bytes` makes of the selected rows."""

        _esm = source
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        # From a notebook bytes come as a memoryview.
        selection = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))

    return ExplorerWidget
