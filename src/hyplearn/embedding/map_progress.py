"""Telling a user how a map is made: bars where somebody watches, a line now and then elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from hyplearn.bars import watched_bars

# Receives what is being done, which share of it is done, and a word on how it goes.
Teller: TypeAlias = Callable[[str, float, str], None]


@contextmanager
def told(name: str, verbose: int) -> Iterator[Teller]:
    """A teller for the time of a fit; silent unless ``verbose``."""
    if not verbose:
        yield lambda task, share, text: None
    elif (bars := watched_bars()) is not None:
        with bars:
            yield _Bars(bars)
    else:
        yield lambda task, share, text: print(f"{name}: {task}, {text}", flush=True)  # noqa: T201


class _Bars:
    """One bar per task."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.tasks = bars, {}  # type: ignore[var-annotated]

    def __call__(self, task: str, share: float, text: str) -> None:
        if task not in self.tasks:
            self.tasks[task] = self.bars.add_task(task, total=1.0, told=text)
        self.bars.update(self.tasks[task], completed=share, told=text)
