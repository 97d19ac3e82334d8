"""How the benchmarks measure: the least of several calls, because these machines are noisy in one direction only."""

from pathlib import Path
from time import perf_counter


def best(function, repeats=9):
    """Least time of several calls in milliseconds, after one that warms up."""
    function()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return 1e3 * min(times)


def peak_beside(function):
    """Bytes that a call holds at its peak beyond what is held before it; on Linux."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    before = _memory("VmRSS")
    function()
    return _memory("VmHWM") - before


def _memory(field):
    """Bytes that this process holds (VmRSS) or has held at most (VmHWM)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
