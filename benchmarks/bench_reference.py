"""Strategies for the reference point p, compared with the SVM fit that follows.

The data are the paper's synthetic data (margin 0.01), and the same with 10 % wrong labels, so that classes overlap.
"mean" is the Fréchet mean of all rows; "fit" is PoincareSVC with p given, at C = 1000 (C = 1 if the classes overlap).

    python benchmarks/bench_reference.py            # all
    python benchmarks/bench_reference.py speed memory
"""

import json
import subprocess
import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from timing import Ratio, once, peak_memory, results, timed

from hyplearn import PoincareSVC
from hyplearn.data.folding import one_blas_thread, threads_of
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import frechet_mean
from hyplearn.reference import reference_point, separable

warnings.simplefilter("ignore", ConvergenceWarning)
# Threads as in a fit: all cores for our kernels, one for BLAS.
THREADS = threads_of(None)
KINDS = {"separable": 0.0, "overlapping": 0.1}


def draw(n, d, wrong):
    X, y, p, _ = make_ball_classification(n, d, random_state=0)
    flipped = np.random.default_rng(0).random(n) < wrong
    return X, np.where(flipped, -y, y).astype(float), p


def speed(record):
    for n, d, repeats in ((10_000, 2, 9), (1_000_000, 2, 3), (100_000, 10, 3), (10_000, 100, 3)):
        for kind, wrong in KINDS.items():
            X, y, p = draw(n, d, wrong)
            model = PoincareSVC(p, C=1.0 if wrong else 1000.0, loss="hinge", calibration=None)
            mean, apart, means, boundary, fit = (
                timed(f, repeats)
                for f in (
                    lambda X=X: frechet_mean(X),
                    lambda X=X, y=y: separable(X, y),
                    lambda X=X, y=y: reference_point("means", X, y, None, 1.0, threads=THREADS),
                    lambda X=X, y=y: reference_point("boundary", X, y, None, 1.0, threads=THREADS),
                    lambda m=model, X=X, y=y: m.fit(X, y),
                )
            )
            columns = {"mean": mean, "separable": apart, "means": means, "boundary": boundary, "fit": fit}
            ratios = {"boundary / fit": boundary / fit, "means / fit": means / fit}
            record("strategies", f"{n} × {d}, {kind}", **columns, **ratios)


def memory(record):
    """Peak memory of "boundary" on 1e5 × 1000 points in addition to X, each measured in a separate process."""
    for kind in KINDS:
        command = [sys.executable, __file__, f"memory-{kind}"]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        columns = {"seconds": found["seconds"], "peak / X": Ratio(found["peak"])}
        record("peak memory of boundary", f"100000 × 1000, {kind}", **columns)


def peak(kind):
    X, y, _ = draw(100_000, 1000, KINDS[kind])
    reference_point("boundary", X[:20_000], y[:20_000], None, 1.0)  # compile and load libraries before measuring
    time, extra = once(lambda: peak_memory(lambda: reference_point("boundary", X, y, None, 1.0, threads=THREADS)))
    print(json.dumps({"seconds": time.minimum / 1e3, "peak": extra / X.nbytes}))


if __name__ == "__main__":
    with one_blas_thread():
        if sys.argv[1:] and sys.argv[1].startswith("memory-"):
            peak(sys.argv[1].removeprefix("memory-"))
        else:
            with results("reference") as record:
                for part in sys.argv[1:] or ["speed", "memory"]:
                    globals()[part](record)
