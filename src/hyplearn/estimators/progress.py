"""Telling a user how a long fit goes: bars where rich is installed and somebody watches, lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from hyplearn.bars import TaskBars, watched_bars
from hyplearn.data.points import PointSource
from hyplearn.solvers.svm.solution import Progress

# Receives the progress of a named problem.
Teller: TypeAlias = Callable[[str, Progress], None]
# Seconds between two lines about a pass that is under way.
TOLD_EVERY = 5.0


@contextmanager
def told(name: str, tol: float, verbose: int, points: PointSource | None = None) -> Iterator[Teller]:
    """A teller for the time of a fit; silent unless ``verbose``. Passes over points in blocks are told as they run."""
    if not verbose:
        yield lambda problem, progress: None
    elif (bars := watched_bars()) is not None:
        with bars, _watched(points, _PassBar(bars)):
            yield _GapBars(bars, tol)
    else:
        with _watched(points, _PassLines(name)):
            yield lambda problem, progress: print(_line(name, problem, progress))  # noqa: T201


@contextmanager
def _watched(points: PointSource | None, tell: Callable[["Reading"], None]) -> Iterator[None]:
    """Tell of every block of the points, beside whoever is told already."""
    if points is None:
        yield
        return
    before, reading = points.on_block, Reading(points)

    def on_block(rows: int) -> None:
        tell(reading.after(rows))
        if before is not None:
            before(rows)

    points.on_block = on_block
    try:
        yield
    finally:
        points.on_block = before


class Reading:
    """How far the pass is that is under way.

    Attributes
    ----------
    n_pass : int
        Its number, from 1.
    rows : int
        Rows that were seen in it.
    speed : float
        Rows per second since its first block; 0 before a second one.
    """

    def __init__(self, points: PointSource) -> None:
        self.points, self.n_pass, self.rows, self.speed = points, -1, 0, 0.0
        self._first, self._began = 0, 0.0

    def after(self, rows: int) -> "Reading":
        """The same after some more rows."""
        if self.n_pass != self.points.n_passes:
            self.n_pass, self.rows, self.speed = self.points.n_passes, rows, 0.0
            self._first, self._began = rows, time.monotonic()
        else:
            self.rows += rows
            self.speed = (self.rows - self._first) / max(time.monotonic() - self._began, 1e-9)
        return self

    def __str__(self) -> str:
        total = "" if self.points.n_rows is None else f" of {self.points.n_rows:,}"
        return f"pass {self.n_pass} over {self.points.name}: {self.rows:,}{total} rows, {self.speed:,.0f} per second"


class _PassLines:
    """A line now and then, so that the record of a long fit stays short."""

    def __init__(self, name: str) -> None:
        self.name, self.told = name, time.monotonic()

    def __call__(self, reading: Reading) -> None:
        if time.monotonic() - self.told >= TOLD_EVERY:
            self.told = time.monotonic()
            print(f"{self.name}: {reading}")  # noqa: T201


class _PassBar:
    """One bar for whichever pass is under way."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.task = bars, None

    def __call__(self, reading: Reading) -> None:
        if self.task is None:
            self.task = self.bars.add_task("", told="")
        self.bars.update(
            self.task,
            description=f"pass {reading.n_pass}",
            total=reading.points.n_rows,
            completed=reading.rows,
            told=f"{reading.rows:,} rows, {reading.speed:,.0f} per second",
        )


def _line(name: str, problem: str, progress: Progress) -> str:
    return (
        f"{name}: {problem}, pass {progress.n_passes}, {progress.n_working:,} rows in the working set, "
        f"gap {progress.gap:.1e}"
    )


class _GapBars:
    """One bar per problem, full when the gap is closed: each digit of the gap is as long as any other."""

    def __init__(self, bars: Any, tol: float) -> None:
        self.tell, self.digits = TaskBars(bars), max(-np.log10(tol), 1e-9)

    def __call__(self, problem: str, progress: Progress) -> None:
        closed = float(np.clip(-np.log10(max(progress.gap, 1e-300)), 0, self.digits))
        told = f"pass {progress.n_passes}, {progress.n_working:,} rows, gap {progress.gap:.1e}"
        self.tell(problem, closed / self.digits, told)
