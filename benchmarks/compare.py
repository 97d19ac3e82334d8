"""Before and after: the same cases in two source trees, alternately, in one run on one machine.

    python benchmarks/compare.py --base ../old                        # all cases but the large ones
    python benchmarks/compare.py --base ../old --cases 'svc*' --repeats 15
    python benchmarks/compare.py --base ../old --large                # the large ones too: 8 GB of memory
    python benchmarks/compare.py --base ../old --cpu                  # CPU time of all threads: for a busy machine
    python benchmarks/compare.py --list                               # names of the cases

"before" is PATH/src, "after" is src of this checkout, whichever version is installed. Each tree has one process. For
each case both call it once, to compile; then they take turns: before, after, before, after. A ratio is after / before:
lower is better. Peak memory is measured in fresh processes, above the data and in units of X. If the results of the two
trees differ by more than 1 %, the row says so: the ratio then compares two different problems. The rows are written to
``benchmarks/results/compare.json`` as they are measured, and printed again at the end, largest ratio first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from fnmatch import fnmatch
from math import isclose
from pathlib import Path

from timing import Ratio, Times, commit, results

HERE = Path(__file__).resolve().parent
AFTER = HERE.parent / "src"
# Tolerance for equal results: the solvers stop at a relative gap of 1e-6, so coefficients may differ by about 1e-3.
SAME = 1e-2


class CaseError(RuntimeError):
    """Error of a case that fails in one of the trees."""


class Worker:
    """Process that runs cases in one source tree."""

    def __init__(self, source):
        self.source = source
        self._start()

    def _start(self):
        self.process = subprocess.Popen(
            [sys.executable, HERE / "cases.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self.source),
        )
        module = Path(self._reply()["hyplearn"]).resolve()
        if not module.is_relative_to(self.source):
            raise CaseError(f"The process imported {module}, not hyplearn of {self.source}.")

    def ask(self, do, **arguments):
        """Send a request and wait for the reply."""
        if self.process.poll() is not None:  # killed in an earlier case, for example because memory ran out
            self._start()
        print(json.dumps({"do": do, **arguments}), file=self.process.stdin, flush=True)
        return self._reply()

    def _reply(self):
        line = self.process.stdout.readline()
        if not line:
            raise CaseError(f"The process ended with code {self.process.wait()}.")
        reply = json.loads(line)
        if "error" in reply:
            raise CaseError(reply["error"])
        return reply

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def worker(source):
    """Yield a worker process that ends with the block."""
    started = Worker(source)
    try:
        yield started
    finally:
        started.close()


def environment(source):
    """Environment in which ``import hyplearn`` finds this source tree."""
    return os.environ | {"PYTHONPATH": str(source)}


def list_cases():
    """Return the names of the cases, and whether each case is large and measures memory."""
    code = "import json, cases; print(json.dumps({n: [c.large, c.memory] for n, c in cases.CASES.items()}))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=HERE, env=environment(AFTER)).stdout
    return json.loads(output)


def compare(case, workers, folder, repeats, cpu):
    """Measure the times of both trees alternately, and return them with whether the results agree."""
    summaries = [one.ask("prepare", case=case, folder=folder)["summary"] for one in workers]
    rounds = [[one.ask("time", cpu=cpu)["ms"] for one in workers] for _ in range(repeats)]
    times = [Times.of(list(column)) for column in zip(*rounds, strict=True)]
    return *times, isclose(*summaries, rel_tol=SAME)


def peak_memory(case, source, folder):
    """Measure the peak memory above the data in a fresh process, in units of X."""
    with worker(source) as fresh:
        reply = fresh.ask("peak", case=case, folder=folder)
    return reply["peak"] / reply["data"]


def measure(case, memory, workers, repeats, cpu):
    """Measure one case, and return its columns."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, HERE / "cases.py", "--data", case, folder]
        if subprocess.run(command, env=environment(AFTER)).returncode:
            raise CaseError("Cannot make the data; see the error above.")
        before, after, same = compare(case, workers, folder, repeats, cpu)
        peaks = [peak_memory(case, one.source, folder) if memory else None for one in workers]
    ratio = after / before
    return {
        "before": before,
        "after": after,
        "after / before": ratio,
        "of medians": Ratio(ratio.median),
        "peak before": peaks[0],
        "peak after": peaks[1],
        "peak ratio": Ratio(peaks[1] / peaks[0]) if peaks[0] else None,
        "results": "agree" if same else "differ",
    }


def print_sorted(rows):
    """Print all rows, largest ratio of minima first."""
    print(
        f"\nLargest ratio first\n{'':>30} {'before ms':>10} {'after ms':>10} {'minima':>8} {'medians':>8} {'peak':>8}"
    )
    for case, row in sorted(rows.items(), key=lambda item: -item[1]["after / before"].minimum):
        before, after, ratio, peak = (row[name] for name in ("before", "after", "after / before", "peak ratio"))
        text = f"{peak.minimum:8.3f}" if peak else f"{'-':>8}"
        differ = "  results differ" * (row["results"] == "differ")
        print(
            f"{case:>30} {before.minimum:10.2f} {after.minimum:10.2f} {ratio.minimum:8.3f} {ratio.median:8.3f} {text}"
            f"{differ}"
        )


def parse_arguments(known):
    parser = argparse.ArgumentParser(description="Compare the speed of two source trees of hyplearn.")
    parser.add_argument("--base", type=Path, metavar="PATH", help="checkout of the version before")
    parser.add_argument("--cases", nargs="+", default=["*"], metavar="NAME", help="names or patterns; default all")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="timed calls per tree (default 7)")
    parser.add_argument("--large", action="store_true", help="run the large cases too")
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads in place of wall time")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{name}{' (--large)' * large}" for name, (large, _) in known.items()))
        sys.exit()
    if arguments.base is None or not (arguments.base / "src" / "hyplearn").is_dir():
        parser.error(f"--base must be a checkout with src/hyplearn; got {arguments.base}.")
    if arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {arguments.repeats}.")
    chosen = [
        name
        for name, (large, _) in known.items()
        if (arguments.large or not large) and any(fnmatch(name, pattern) for pattern in arguments.cases)
    ]
    if not chosen:
        parser.error(f"No case matches {arguments.cases}. Run --list for the names; large cases need --large.")
    return arguments, chosen


def main():
    known = list_cases()
    arguments, chosen = parse_arguments(known)
    sources = (arguments.base / "src").resolve(), AFTER
    commits = [commit(source / "hyplearn") for source in sources]
    rows, failures = {}, []
    with (
        worker(sources[0]) as before,
        worker(sources[1]) as after,
        results("compare", base=commits[0], commit=commits[1], clock="CPU" if arguments.cpu else "wall") as record,
    ):
        for case in chosen:
            try:
                rows[case] = measure(case, known[case][1], (before, after), arguments.repeats, arguments.cpu)
                record(f"after / before {commits[0]}", case, **rows[case])
            except CaseError as error:
                failures.append(case)
                print(f"{case} failed: {error}", file=sys.stderr, flush=True)
        print_sorted(rows)
    if failures:
        sys.exit(f"Failed: {', '.join(failures)}.")


if __name__ == "__main__":
    main()
