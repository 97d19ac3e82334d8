"""Rivals: an epoch of the hyperboloid SVM beside a Python loop over rows, and whole fits on the paper's synthetic data.

The loop is the naive twin of the tests, which does what the published implementations do: one row after the other. The
table of fits shows accuracy on training points as in the paper (C = 10 for the hyperboloid, 1000 elsewhere, p given).
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from timing import best

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.baselines import AuthorsSVC, EuclideanSVC
from hyplearn.baselines.arsinh_svm import loss_and_gradient
from hyplearn.baselines.hyperboloid import hyperboloid_rows
from hyplearn.baselines.projected_gradient import BATCH, epoch
from hyplearn.datasets import make_ball_classification

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import naive

warnings.simplefilter("ignore", ConvergenceWarning)


def epochs():
    print(f"{'shape':>14} {'loop ms':>9} {'epoch ms':>9} {'ratio':>7} {'gradient ms':>12} {'ratio':>7}")
    for n, d in ((20_000, 2), (20_000, 100), (5_000, 1000)):
        X, y, _, w = make_ball_classification(n, d, random_state=0)
        R, y, costs = hyperboloid_rows(X, np.zeros(d), 1.0), y.astype(float), np.full(n, 10.0)
        u, order = np.concatenate([[0.0], 1e-3 * w]), np.random.default_rng(0).permutation(n)
        arguments = (R, y, costs, order, BATCH, 1e-9, 1.0, u)
        loop = best(lambda a=arguments: naive.hyperboloid_epoch(*a), repeats=2)
        ours = best(lambda a=arguments: epoch(*a))
        full = best(lambda a=arguments: loss_and_gradient(*a[:3], a[-1], 0.1))
        print(f"{n:>8} × {d:<4} {loop:9.1f} {ours:9.2f} {loop / ours:7.0f} {full:12.2f} {loop / full:7.0f}")


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
