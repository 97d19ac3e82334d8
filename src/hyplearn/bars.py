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


class TaskBars:
    """One bar per task, told by its share that is done."""

    def __init__(self, bars: Any) -> None:
        self.bars = bars
        self.tasks: dict[str, Any] = {}

    def __call__(self, task: str, share: float, told: str) -> None:
        """Show how far a task is; a new one gets a bar."""
        if task not in self.tasks:
            self.tasks[task] = self.bars.add_task(task, total=1.0, told=told)
        self.bars.update(self.tasks[task], completed=share, told=told)
