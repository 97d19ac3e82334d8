"""Fits on a file larger than the memory limit: passes, time per pass, and peak memory.

``python benchmarks/bench_files.py [rows]`` writes 1e8 points of the disk (0.8 GB), or the given number, to a temporary
folder. The ratio is the time of a pass over the time to read and sum the file: from the disk (its pages are dropped
from the page cache before every pass) and from the cache. The address space of the fitting process may grow by 512 MiB.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import Ratio, results

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.data.arrays import ArrayFile, ArrayPoints
from hyplearn.datasets import make_ball_classification

CEILING = 512 * 2**20
WRITTEN = 1_000_000
# Models without probabilities, which would need one more pass and further fits in memory.
MODELS = {"PoincareSVC": PoincareSVC(calibration=None), "PoincareLogisticRegression": PoincareLogisticRegression()}


def write(folder, n, noise=0.02):
    """Write synthetic data with some wrong labels: copies of a million points, scaled towards the origin."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n, 2))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.int8, shape=(n,))
    points, labels, _, _ = make_ball_classification(WRITTEN, 2, margin=0.01, random_state=0)
    for start in range(0, n, WRITTEN):
        size = min(WRITTEN, n - start)
        order = rng.permutation(WRITTEN)[:size]
        X[start : start + size] = points[order] * (1 - 1e-3 * rng.random((size, 1)))
        y[start : start + size] = (labels[order] > 0) ^ (rng.random(size) < noise)


def drop_from_cache(folder):
    for name in ("X.npy", "y.npy"):
        descriptor = os.open(folder / name, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class WatchedPoints(ArrayPoints):
    """Points that measure the time of passes, and optionally drop their files from the cache before each pass."""

    seconds, folder = 0.0, None

    def fold(self, function, merge, *arguments, threads=1):
        """Run and time one pass, from the disk or from the page cache."""
        if self.folder is not None:
            drop_from_cache(self.folder)
        start = time.perf_counter()
        found = super().fold(function, merge, *arguments, threads=threads)
        self.seconds += time.perf_counter() - start
        return found


def time_to_sum(folder):
    """Return the seconds to read and sum the points and labels."""
    start, total, buffer = time.perf_counter(), 0.0, bytearray(8 * 2**20)
    for name, dtype in (("X.npy", np.float32), ("y.npy", np.int8)):
        with (folder / name).open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                total += np.frombuffer(buffer, dtype, count // np.dtype(dtype).itemsize).sum(dtype=np.float64)
    return time.perf_counter() - start


def memory(name):
    """Return the memory of this process in MiB: the current use (VmRSS) or the peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def measure_fit(folder, model, cold):
    """Fit in this process, whose address space may grow by at most ``CEILING``."""
    estimator = MODELS[model]
    small, labels, _, _ = make_ball_classification(20_000, 2, margin=0.01, random_state=0)
    few = ArrayPoints(small.astype(np.float32), (labels > 0).astype(np.int8)).limited(memory=0)
    estimator.fit(few)  # the first call compiles
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + CEILING, pages + CEILING))
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the memory in use
    points = WatchedPoints(ArrayFile.npy(folder / "X.npy"), ArrayFile.npy(folder / "y.npy"))
    points.limited(memory=0).folder = folder if cold else None
    start = time.perf_counter()
    estimator.fit(points)
    seconds = time.perf_counter() - start
    return {
        "solver passes": int(estimator.n_passes_.max()),
        "all passes": points.n_passes,
        "dual gap": float(estimator.dual_gap_.max()),
        "seconds": seconds,
        "s between passes": seconds - points.seconds,
        "s per pass": points.seconds / points.n_passes,
        "peak MiB": memory("VmHWM") - before,
    }


def main(record, n):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e9
        for cold in (True, False):
            for model in MODELS:
                if cold:
                    drop_from_cache(folder)
                else:
                    time_to_sum(folder)
                reading = time_to_sum(folder)
                command = [sys.executable, __file__, "--fit", name, model, str(int(cold))]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                table = f"{n} × 2 float32, {size:.2f} GB, from the {'disk' if cold else 'cache'}"
                record(table, model, **found, **{"pass / sum of the file": Ratio(found["s per pass"] / reading)})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        print(json.dumps(measure_fit(Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "1")))
    else:
        with results("files") as record:
            main(record, int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
