"""Timing, peak memory, and the result files of the benchmarks.

``make bench`` runs every ``bench_*.py``. A script prints its tables and writes ``benchmarks/results/<name>.json`` after
each row, so an interrupted run keeps the rows that it measured::

    with results("svm") as record:
        record("fit", "100000 × 2", ours=ours, LinearSVC=baseline, ratio=ours / baseline)

Times are in milliseconds. Tables show the minimum of the repeats, because noise on a shared machine only adds time; the
file has the medians too. Ratios are ours over the baseline of the same run: lower is better. A file has one entry per
run (date, commit, machine, arguments, rows) and keeps, for each machine type, the latest measurement of each row. If
there is an earlier one, it is printed beside the ratio, with an exclamation mark if the ratio grew by more than 5 %.
"""

import json
import os
import platform
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from importlib.metadata import version
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from statistics import median
from time import perf_counter

from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "results"
# Relative growth above which a ratio is marked; ratios of minima vary by 2 to 3 % between runs on an idle machine.
TOLERANCE = 0.05
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Ratio:
    """Quotient of two measurements: of their minima, and of their medians if there are several repeats."""

    minimum: float
    median: float | None = None


@dataclass(frozen=True)
class Times:
    """Minimum and median of repeated measurements in milliseconds."""

    minimum: float
    median: float
    repeats: int = 1

    @classmethod
    def of(cls, milliseconds):
        """Summarise a list of measurements."""
        return cls(min(milliseconds), median(milliseconds), len(milliseconds))

    def __add__(self, other):
        repeats = min(self.repeats, other.repeats)
        return Times(self.minimum + other.minimum, self.median + other.median, repeats)

    def __truediv__(self, other):
        return Ratio(self.minimum / other.minimum, self.median / other.median)


def timed(function, repeats=9):
    """Measure the times of several calls, after one call that compiles and fills caches."""
    function()
    return Times.of([once(function)[0].minimum for _ in range(repeats)])


def once(function, clock=perf_counter):
    """Measure the time of a single call, and return its result too."""
    start = clock()
    result = function()
    milliseconds = 1e3 * (clock() - start)
    return Times(milliseconds, milliseconds), result


def peak_memory(function):
    """Peak memory of a call in bytes, above the memory in use before it. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the memory in use
    before = _memory("VmRSS")
    function()
    return _memory("VmHWM") - before


def _memory(field):
    """Return the bytes of memory in use (VmRSS) or at the peak (VmHWM)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def without_folder(argument):
    """Return an argument of the command line, without the folders of the machine if it is an absolute path."""
    return Path(argument).name if Path(argument).is_absolute() else argument


@contextmanager
def results(name, **about):
    """Open the result file ``name``; gives ``record(table, case, **columns)``, which writes and prints a row.

    A column is a :class:`Times`, a :class:`Ratio`, a number, a string or None. ``about`` has further facts of the run.
    """
    path = RESULTS / f"{name}.json"
    run = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit(Path(find_spec("hyplearn").origin).parent),
        "machine": machine(),
        "arguments": [without_folder(argument) for argument in sys.argv[1:]],
        **about,
        "rows": [],
    }
    runs = json.loads(path.read_text()) if path.exists() else []
    earlier = {
        _key(row): row for old in reversed(runs) if _same_type(old["machine"], run["machine"]) for row in old["rows"]
    }
    printer = _Printer(earlier)

    def record(table, case, **columns):
        printer.print_row(table, case, columns)
        run["rows"].append({"table": table, "case": case, **columns})
        _write(path, [run, *_without(runs, run)])

    try:
        yield record
    finally:
        printer.print_summary(path)


def _key(row):
    return row["table"], row["case"]


def _same_type(one, other):
    """Whether two machines have the same processor, number of cores and memory; versions may differ."""
    return all(one[part] == other[part] for part in ("cpu", "cores", "memory_gib"))


def _without(runs, run):
    """Earlier runs without the rows that ``run`` measured again on the same machine type."""
    again = {_key(row) for row in run["rows"]}
    kept = [
        old | {"rows": [row for row in old["rows"] if _key(row) not in again]}
        if _same_type(old["machine"], run["machine"])
        else old
        for old in runs
    ]
    return [old for old in kept if old["rows"]]


def _write(path, runs):
    """Replace the file in one step, so that a reader sees either the old or the new file."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(_plain(runs), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    os.replace(new, path)


def _plain(value):
    """The value with types of JSON only; numbers that are not finite become null."""
    if is_dataclass(value):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not isfinite(value) else value


class _Printer:
    """Prints rows as they are measured, each ratio beside its earlier value."""

    def __init__(self, earlier):
        self.earlier, self.head, self.grown = earlier, None, []

    def print_row(self, table, case, columns):
        old = self.earlier.get((table, case), {})
        cells = {name: self._cell(table, case, name, value, old.get(name)) for name, value in columns.items()}
        names = {name: _heading(name, value) for name, value in columns.items()}
        if self.head != (table, list(columns)):
            self.head = table, list(columns)
            self.widths = {n: max(len(names[n]), 26 if _is_ratio(v) and old else 9) for n, v in columns.items()}
            print(f"\n{table}\n{'':>34} " + "  ".join(f"{names[n]:>{w}}" for n, w in self.widths.items()))
        print(f"{case:>34} " + "  ".join(f"{cells[n]:>{w}}" for n, w in self.widths.items()), flush=True)

    def _cell(self, table, case, name, value, old):
        if not (_is_ratio(value) and isinstance(old, dict)):
            return _text(value)
        now, before = value.minimum, old["minimum"]
        if before is None or now <= (1 + TOLERANCE) * before:
            return f"{_text(value)} (was {_text(before)})"
        growth = f"+{now / before - 1:.0%}!" if before else "!"
        self.grown.append(f"{table}, {case}, {name.replace('_', ' ')}: {_text(value)}, was {_text(before)}")
        return f"{_text(value)} (was {_text(before)}, {growth})"

    def print_summary(self, path):
        if self.grown:
            print(f"\nRatios that grew by more than {TOLERANCE:.0%}:")
            print("\n".join(f"  {line}" for line in self.grown))
        if self.head:
            print(f"\nWrote {path}")


def _is_ratio(value):
    return isinstance(value, Ratio)


def _heading(name, value):
    return name.replace("_", " ") + (" ms" if isinstance(value, Times) else "")


def _text(value):
    """Format a value for a table."""
    if value is None:
        return "-"
    if isinstance(value, (Ratio, Times)):
        value = value.minimum
    if isinstance(value, (str, int)):
        return str(value)
    return f"{value:.1f}" if 100 <= abs(value) < 1e7 else f"{value:.4g}"


def machine():
    """Processor, cores, memory, system, and the versions of Python, the libraries and BLAS."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "os": platform.platform(),
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        "blas": _blas(),
    }


def _cpu():
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _blas():
    """Name, version, kernels and threads of each BLAS in use."""
    import scipy.linalg  # noqa: F401  # loads SciPy's own BLAS, as the library does

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return sorted(
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}, {pool['num_threads']} threads"
        for pool in pools
    )


def commit(folder):
    """Commit of a source tree, with ``-dirty`` if files in the folder differ from it."""
    try:
        short = _git(folder, "rev-parse", "--short=12", "HEAD")
        return short + "-dirty" * bool(_git(folder, "status", "--porcelain", "."))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder, *arguments):
    return subprocess.check_output(["git", *arguments], cwd=folder, stderr=subprocess.DEVNULL, text=True).strip()
