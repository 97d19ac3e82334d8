"""How the benchmarks measure: the least of several calls, because these machines are noisy in one direction only."""

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
