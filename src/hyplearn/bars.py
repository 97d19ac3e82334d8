"""Bars for who watches a long fit, where rich is installed and errors go to a terminal."""

import sys
from typing import Any


def watched_bars() -> Any:
    """Bars of rich with a text field ``told``, or None where nobody would see them."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    return Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
