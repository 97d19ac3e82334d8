"""Where p comes from, beside the SVM fit for which it is meant, in one run.

The paper's synthetic data (margin 0.01), and the same with a tenth of the labels wrong, so that the classes overlap.
"mean" is the Fréchet mean of all rows; "fit" is PoincareSVC with p given, C = 1000 (C = 1 where classes overlap).

    python benchmarks/bench_reference.py            # all
    python benchmarks/bench_reference.py speed memory
"""

import subprocess
import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from timing import best, peak_beside

from hyplearn import PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators.threads import one_blas_thread, threads_of
from hyplearn.geometry import frechet_mean
from hyplearn.reference import reference_point, separable

warnings.simplefilter("ignore", ConvergenceWarning)
# As a fit has them: all cores, of which BLAS gets one.
THREADS = threads_of(None)
KINDS = {"separable": 0.0, "overlapping": 0.1}


def draw(n, d, wrong):
    X, y, p, _ = make_ball_classification(n, d, random_state=0)
    flipped = np.random.default_rng(0).random(n) < wrong
    return X, np.where(flipped, -y, y).astype(float), p


def speed():
    print(
        f"{'shape':>14} {'classes':>12} {'mean':>8} {'separable':>10} {'means':>8} {'boundary':>9} {'fit':>9}   ratio"
    )
    for n, d, repeats in ((10_000, 2, 9), (1_000_000, 2, 3), (100_000, 10, 3), (10_000, 100, 3)):
        for kind, wrong in KINDS.items():
            X, y, p = draw(n, d, wrong)
            model = PoincareSVC(p, C=1.0 if wrong else 1000.0, calibration=None)
            mean, apart, means, boundary, fit = (
                best(f, repeats)
                for f in (
                    lambda X=X: frechet_mean(X),
                    lambda X=X, y=y: separable(X, y),
                    lambda X=X, y=y: reference_point("means", X, y, None, 1.0, threads=THREADS),
                    lambda X=X, y=y: reference_point("boundary", X, y, None, 1.0, threads=THREADS),
                    lambda m=model, X=X, y=y: m.fit(X, y),
                )
            )
            print(
                f"{n:>9} × {d:<4} {kind:>10} {mean:8.1f} {apart:10.1f} {means:8.1f} {boundary:9.1f} {fit:9.1f}"
                f"   {boundary / fit:5.2f}"
            )


def memory():
    """Time and peak memory beside X of "boundary" for 1e5 × 1000, each in a process of its own."""
    print(flush=True)
    for kind in KINDS:
        subprocess.run([sys.executable, __file__, f"memory-{kind}"], check=True)


def peak(kind):
    X, y, _ = draw(100_000, 1000, KINDS[kind])
    reference_point("boundary", X[:20_000], y[:20_000], None, 1.0)  # compile and load libraries outside the measure
    start = perf_counter()
    extra = peak_beside(lambda: reference_point("boundary", X, y, None, 1.0, threads=THREADS))
    ms = 1e3 * (perf_counter() - start)
    print(f"100000 × 1000, {kind}: {ms / 1e3:.1f} s, {extra / X.nbytes:.2f} × the bytes of X")


if __name__ == "__main__":
    with one_blas_thread():
        for part in sys.argv[1:] or ["speed", "memory"]:
            peak(part.removeprefix("memory-")) if part.startswith("memory-") else globals()[part]()
