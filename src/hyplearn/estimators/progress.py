"""Telling a user how a long fit goes: a bar where rich is installed and somebody watches, a line per pass elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from hyplearn.solvers.solution import Progress

# Receives the progress of a named problem.
Teller: TypeAlias = Callable[[str, Progress], None]


@contextmanager
def told(name: str, tol: float, verbose: int) -> Iterator[Teller]:
    """A teller for the time of a fit; silent unless ``verbose``."""
    if not verbose:
        yield lambda problem, progress: None
    elif sys.stderr.isatty() and (bars := _bars()) is not None:
        with bars:
            yield _Bars(bars, tol)
    else:
        yield lambda problem, progress: print(_line(name, problem, progress))  # noqa: T201


def _line(name: str, problem: str, progress: Progress) -> str:
    return (
        f"{name}: {problem}, pass {progress.n_passes}, {progress.n_working:,} rows in the working set, "
        f"gap {progress.gap:.1e}"
    )


def _bars() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    return Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True))


class _Bars:
    """One bar per problem, full when the gap is closed: each digit of the gap is as long as any other."""

    def __init__(self, bars: Any, tol: float) -> None:
        self.bars, self.digits, self.tasks = bars, -np.log10(tol), {}  # type: ignore[var-annotated]

    def __call__(self, problem: str, progress: Progress) -> None:
        told = f"pass {progress.n_passes}, {progress.n_working:,} rows, gap {progress.gap:.1e}"
        if problem not in self.tasks:
            self.tasks[problem] = self.bars.add_task(problem, total=self.digits, told=told)
        closed = float(np.clip(-np.log10(max(progress.gap, 1e-300)), 0, self.digits))
        self.bars.update(self.tasks[problem], completed=closed, told=told)
