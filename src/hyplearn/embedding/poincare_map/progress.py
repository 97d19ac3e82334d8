"""Telling a user how a map is made: bars where somebody watches, a line now and then elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from hyplearn.bars import TaskBars, watched_bars

# Receives what is being done, which share of it is done, and a word on how it goes.
Teller: TypeAlias = Callable[[str, float, str], None]


@contextmanager
def told(name: str, verbose: int) -> Iterator[Teller]:
    """A teller for the time of a fit; silent unless ``verbose``."""
    if not verbose:
        yield lambda task, share, text: None
    elif (bars := watched_bars()) is not None:
        with bars:
            yield TaskBars(bars)
    else:
        yield lambda task, share, text: print(f"{name}: {task}, {text}", flush=True)  # noqa: T201
