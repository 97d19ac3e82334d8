"""Report the progress of long computations, as bars in a terminal if rich is installed, otherwise as lines.

tqdm is not used, because in a log file it produces carriage returns or nothing, instead of lines.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

# Minimum number of seconds between two lines about the current pass, so that the log of a long fit stays short.
LINE_INTERVAL = 5.0


class TaskReporter(Protocol):
    """Function that reports the progress of a computation, or of one of its named tasks."""

    def __call__(self, message: str, share: float, *, task: str = "", line: str | None = None) -> None:
        """Show a message and the completed fraction of the task.

        If progress is printed as lines, the fraction is not shown, and ``line`` is printed instead of the message
        unless it is None. If ``line`` is empty, nothing is printed.
        """


class SolverState(Protocol):
    """State of a solver after a pass; :class:`hyplearn.solvers.solution.Progress` implements this protocol."""

    @property
    def n_passes(self) -> int:
        """Number of passes so far."""

    @property
    def n_working(self) -> int:
        """Number of rows in the working set."""

    @property
    def gap(self) -> float:
        """Relative duality gap."""


class BlockSource(Protocol):
    """Points that are read in blocks; :class:`hyplearn.data.points.PointSource` implements this protocol."""

    name: str
    n_rows: int | None
    n_passes: int
    on_block: Callable[[int], None] | None


# Function that is called with the name of a problem and the state of its solver.
FitReporter: TypeAlias = Callable[[str, SolverState], None]


@contextmanager
def report_tasks(name: str, verbose: int) -> Iterator[TaskReporter]:
    """Provide a reporter for the tasks of a computation; if ``verbose`` is 0, the reporter does nothing."""
    if not verbose:
        yield lambda message, share, *, task="", line=None: None
    elif (bars := _terminal_bars()) is not None:
        with bars:
            yield _TaskBars(name, bars)
    else:
        yield _TaskLines(name)


@contextmanager
def report_fit(name: str, tol: float, verbose: int, points: BlockSource | None = None) -> Iterator[FitReporter]:
    """Provide a reporter for the solvers of a fit, and report passes over ``points``.

    If ``verbose`` is 0, nothing is reported.
    """
    if not verbose:
        yield lambda problem, state: None
    elif (bars := _terminal_bars()) is not None:
        with bars, _watch_passes(points, _PassBar(bars)):
            yield _GapReporter(_TaskBars(name, bars), tol)
    else:
        with _watch_passes(points, _PassLines(name)):
            yield _GapReporter(_TaskLines(name), tol)


@contextmanager
def report_steps(n_steps: int) -> Iterator[Callable[[str], None]]:
    """Provide a function that updates a progress bar; call it at the start of each step with a description of the step.

    The function does nothing if stderr is not a terminal or rich is not installed.
    """
    bars = _terminal_bars(transient=True)
    if bars is None:
        yield lambda description: None
        return
    from rich.markup import escape

    with bars:
        task, begun = bars.add_task("", total=n_steps), iter(range(n_steps))
        yield lambda text: bars.update(task, description=escape(text), completed=next(begun, n_steps))


def _terminal_bars(*, transient: bool = False) -> Any:
    """Return rich progress bars that are drawn on stderr; None if rich is missing or stderr is not a terminal.

    Transient bars disappear at the end and have no ``message`` field.
    """
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        return None
    message = [] if transient else [TextColumn("{task.fields[message]}")]
    columns = (TextColumn("{task.description}"), BarColumn(), *message, TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=transient)


class _TaskBars:
    """Task reporter with one progress bar per task; the task with an empty name is the computation itself."""

    def __init__(self, name: str, bars: Any) -> None:
        self.name, self.bars = name, bars
        self.tasks: dict[str, Any] = {}

    def __call__(self, message: str, share: float, *, task: str = "", line: str | None = None) -> None:
        if task not in self.tasks:
            self.tasks[task] = self.bars.add_task(task or self.name, total=1.0, message=message)
        self.bars.update(self.tasks[task], completed=share, message=message)


class _TaskLines:
    """Task reporter that prints one line per message, with the names of the computation and of the task."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, message: str, share: float, *, task: str = "", line: str | None = None) -> None:
        text = message if line is None else line
        if text:
            # Flush each line; otherwise output to a pipe appears only when the buffer is full.
            print(f"{self.name}: {task}, {text}" if task else f"{self.name}: {text}", flush=True)  # noqa: T201


class _GapReporter:
    """Fit reporter with one task per problem.

    The completed fraction of a task is ``log(gap) / log(tol)``, clipped to [0, 1], where gap is the duality gap.
    """

    def __init__(self, report: TaskReporter, tol: float) -> None:
        self.report, self.digits = report, max(-math.log10(max(tol, 1e-300)), 1e-9)

    def __call__(self, problem: str, state: SolverState) -> None:
        closed = min(max(-math.log10(max(state.gap, 1e-300)), 0.0), self.digits)
        rows, gap = f"pass {state.n_passes}, {state.n_working:,} rows", f"gap {state.gap:.1e}"
        line = f"{rows} in the working set, {gap}"
        self.report(f"{rows}, {gap}", closed / self.digits, task=problem, line=line)


class PassProgress:
    """Progress of the current pass over the points."""

    def __init__(self, points: BlockSource) -> None:
        self.points, self.n_pass, self.rows, self.speed = points, -1, 0, 0.0
        self._first, self._began = 0, 0.0

    def advance(self, rows: int) -> None:
        """Add the number of rows of a block to the count of the current pass, and update the speed."""
        if self.n_pass != self.points.n_passes:
            self.n_pass, self.rows, self.speed = self.points.n_passes, rows, 0.0
            self._first, self._began = rows, time.monotonic()
        else:
            self.rows += rows
            self.speed = (self.rows - self._first) / max(time.monotonic() - self._began, 1e-9)

    def __str__(self) -> str:
        total = "" if self.points.n_rows is None else f" of {self.points.n_rows:,}"
        return f"pass {self.n_pass} over {self.points.name}: {self.rows:,}{total} rows, {self.speed:,.0f} per second"


@contextmanager
def _watch_passes(points: BlockSource | None, show: Callable[[PassProgress], None]) -> Iterator[None]:
    """Within the context, call ``show`` and then the original ``points.on_block`` after each block of points."""
    if points is None:
        yield
        return
    before, progress = points.on_block, PassProgress(points)

    def on_block(rows: int) -> None:
        progress.advance(rows)
        show(progress)
        if before is not None:
            before(rows)

    points.on_block = on_block
    try:
        yield
    finally:
        points.on_block = before


class _PassLines:
    """Reporter for passes that prints a line about the current pass, at most every :data:`LINE_INTERVAL` seconds."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, time.monotonic()

    def __call__(self, progress: PassProgress) -> None:
        if time.monotonic() - self.last >= LINE_INTERVAL:
            self.last = time.monotonic()
            print(f"{self.name}: {progress}", flush=True)  # noqa: T201


class _PassBar:
    """Reporter for passes, with a single progress bar that shows the current pass."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.task = bars, None

    def __call__(self, progress: PassProgress) -> None:
        if self.task is None:
            self.task = self.bars.add_task("", message="")
        self.bars.update(
            self.task,
            description=f"pass {progress.n_pass}",
            total=progress.points.n_rows,
            completed=progress.rows,
            message=f"{progress.rows:,} rows, {progress.speed:,.0f} per second",
        )
