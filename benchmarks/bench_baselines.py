"""Rivals: an epoch of the hyperboloid SVM beside a Python loop over rows, and whole fits on the paper's synthetic data.

The loop is the naive twin of the tests, which does what the published implementations do: one row after the other.
"gradient" is a step of the solver "stages", "epoch" one of "projected_gradient"; both read every row once. No way to
visit all rows is faster than the memory they lie in: "read" is the time in which BLAS takes one product with each row,
and the loop's time over it bounds what any vectorisation can gain. At d = 1000 a NumPy call per row is hidden behind
its 8 kB, and the bound itself is below 50. The table of fits shows accuracy on training points as in the paper (C = 10
for the hyperboloid, 1000 elsewhere, p given).
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from timing import best

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.paper import AuthorsSVC, EuclideanSVC
from hyplearn.paper.arsinh_svm import loss_and_gradient
from hyplearn.paper.hyperboloid import hyperboloid_rows
from hyplearn.paper.projected_gradient import BATCH, epoch

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from support import naive

warnings.simplefilter("ignore", ConvergenceWarning)


def epochs():
    named = ("loop ms", "epoch ms", "ratio", "gradient ms", "ratio", "read ms", "bound")
    print(f"{'shape':>14} " + " ".join(f"{name:>11}" for name in named))
    for n, d in ((20_000, 2), (20_000, 10), (20_000, 100), (20_000, 1000)):
        X, y, _, w = make_ball_classification(n, d, random_state=0)
        R, y, costs = hyperboloid_rows(X, np.zeros(d), 1.0), y.astype(float), np.full(n, 10.0)
        u, firsts = np.concatenate([[0.0], 1e-3 * w]), np.random.default_rng(0).permutation(np.arange(0, n, BATCH))
        arguments = (R, y, costs, firsts, BATCH, 1e-9, 1.0, u)
        loop = best(lambda a=arguments: naive.hyperboloid_epoch(*a), repeats=2)
        ours = best(lambda a=arguments: epoch(*a))
        full = best(lambda a=arguments: loss_and_gradient(*a[:3], a[-1], 0.1))
        read = best(lambda R=R, u=u: R @ u)
        row = (f"{loop:.1f}", f"{ours:.2f}", f"{loop / ours:.0f}", f"{full:.2f}", f"{loop / full:.0f}")
        row = (*row, f"{read:.2f}", f"{loop / read:.0f}")
        print(f"{n:>8} × {d:<4} " + " ".join(f"{value:>11}" for value in row))


def fits(shapes=((1_000, 2), (100_000, 2), (1_000_000, 2), (10_000, 100), (10_000, 1000))):
    print(f"\n{'shape':>14} {'fit':>38} {'seconds':>9} {'accuracy %':>11}")
    for n, d in shapes:
        X, y, p, _ = make_ball_classification(n, d, random_state=0)
        for model in (
            PoincareSVC(p, C=1000.0, calibration=None),
            HyperboloidSVC(C=10.0, calibration=None),
            HyperboloidSVC(C=10.0, solver="projected_gradient", tol=1e-3, calibration=None),
            EuclideanSVC(C=1000.0, calibration=None),
            EuclideanSVC(C=1000.0, fit_intercept=False, calibration=None),
            AuthorsSVC(p, C=1000.0),
        ):
            start = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - start
            option = getattr(model, "solver", "") if isinstance(model, HyperboloidSVC) else ""
            option = "no intercept" if getattr(model, "fit_intercept", True) is False else option
            named = f"{type(model).__name__} {option}"
            print(f"{n:>8} × {d:<4} {named:>38} {seconds:9.2f} {100 * model.score(X, y):11.3f}", flush=True)


if __name__ == "__main__":
    epochs()
    fits()
