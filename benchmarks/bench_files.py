"""Fits on a file larger than the memory they are allowed: passes, time per pass, and memory beside the file.

``python benchmarks/bench_files.py [rows]`` writes 1e8 points of the disk (0.8 GB) to a temporary folder, unless another
number is given, and prints ratios to reading the file and summing it, both with the file's pages dropped from the
cache before every pass and with the pages in it. The fit runs in a process whose address space may grow by 512 MiB.
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

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.data.arrays import ArrayFile, ArrayPoints
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators import streaming

CEILING = 512 * 2**20
WRITTEN = 1_000_000
# Probabilities would be one more pass and fits in memory: they are left out.
MODELS = {"PoincareSVC": PoincareSVC(calibration=None), "PoincareLogisticRegression": PoincareLogisticRegression()}


def write(folder, n, noise=0.02):
    """Two classes of the paper's synthetic data, some labels wrong, copies of a million points pulled inwards."""
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
    """Points that count the seconds of passes, and whose files can be dropped from the cache before each of them."""

    seconds, folder = 0.0, None

    def fold(self, function, merge, *arguments, threads=1):
        """One pass, from the disk or from the cache."""
        if self.folder is not None:
            drop_from_cache(self.folder)
        start = time.perf_counter()
        found = super().fold(function, merge, *arguments, threads=threads)
        self.seconds += time.perf_counter() - start
        return found


def summed(folder):
    """Seconds to read the points and labels and sum them."""
    start, total, buffer = time.perf_counter(), 0.0, bytearray(8 * 2**20)
    for name, dtype in (("X.npy", np.float32), ("y.npy", np.int8)):
        with (folder / name).open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                total += np.frombuffer(buffer, dtype, count // np.dtype(dtype).itemsize).sum(dtype=np.float64)
    return time.perf_counter() - start


def memory(name):
    """What this process has in memory, or had at its peak, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def fitted(folder, model, cold):
    """Fit in this process, whose address space may grow by the ceiling; what it took."""
    estimator = MODELS[model]
    streaming.IN_MEMORY = 0
    small, labels, _, _ = make_ball_classification(20_000, 2, margin=0.01, random_state=0)
    estimator.fit(ArrayPoints(small.astype(np.float32), (labels > 0).astype(np.int8)))  # compiles what will be used
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + CEILING, pages + CEILING))
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    points = WatchedPoints(ArrayFile.npy(folder / "X.npy"), ArrayFile.npy(folder / "y.npy"))
    points.folder = folder if cold else None
    start = time.perf_counter()
    estimator.fit(points)
    seconds = time.perf_counter() - start
    return {
        "passes of the solver": int(estimator.n_passes_.max()),
        "passes in all": points.n_passes,
        "gap": float(estimator.dual_gap_.max()),
        "seconds": seconds,
        "between passes": seconds - points.seconds,
        "seconds per pass": points.seconds / points.n_passes,
        "MiB more at the peak": memory("VmHWM") - before,
    }


def main(n):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        print(f"{n:.0e} x 2 float32, {sum(f.stat().st_size for f in folder.iterdir()) / 1e9:.2f} GB")
        for cold in (True, False):
            for model in MODELS:
                if cold:
                    drop_from_cache(folder)
                else:
                    summed(folder)
                reading = summed(folder)
                command = [sys.executable, __file__, "--fit", name, model, str(int(cold))]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                found["pass / reading and summing"] = found["seconds per pass"] / reading
                print(f"{model}, {'from disk' if cold else 'from the cache'}:", end=" ")
                print(", ".join(f"{key} {value:.3g}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fitted(Path(sys.argv[2]), sys.argv[3], sys.argv[4] == "1")))
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
