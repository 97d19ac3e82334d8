"""Baseline classifiers: an epoch of the hyperboloid SVM compared with a Python loop, and fits on synthetic data.

The loop is the naive version in the tests; like the published implementations, it visits one row after the other.
"gradient" is a step of the solver "stages", "epoch" a step of "projected_gradient"; both read every row once. "read" is
the time of one BLAS product with every row, a lower bound for any solver that visits all rows. At d = 1000, a row has
8 kB, so that even one NumPy call per row costs little more than reading the row. The table of fits shows accuracy on
the training points as in the paper (C = 10 for the hyperboloid, C = 1000 otherwise, p given), and the time in units of
"read".
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from timing import once, results, timed

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.paper import AuthorsSVC, EuclideanSVC
from hyplearn.paper.arsinh_svm import BATCH, epoch, loss_and_gradient
from hyplearn.paper.hyperboloid import hyperboloid_rows

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from support import naive

warnings.simplefilter("ignore", ConvergenceWarning)


def epochs(record):
    for n, d in ((20_000, 2), (20_000, 10), (20_000, 100), (20_000, 1000)):
        X, y, _, w = make_ball_classification(n, d, random_state=0)
        R, y, costs = hyperboloid_rows(X, np.zeros(d), 1.0), y.astype(float), np.full(n, 10.0)
        u, firsts = np.concatenate([[0.0], 1e-3 * w]), np.random.default_rng(0).permutation(np.arange(0, n, BATCH))
        arguments = (R, y, costs, firsts, BATCH, 1e-9, 1.0, u)
        loop = timed(lambda a=arguments: naive.hyperboloid_epoch(*a), repeats=2)
        ours = timed(lambda a=arguments: epoch(*a))
        full = timed(lambda a=arguments: loss_and_gradient(*a[:3], a[-1], 0.1))
        read = timed(lambda R=R, u=u: R @ u)
        columns = {"loop": loop, "epoch": ours, "gradient": full, "read": read}
        ratios = {"epoch / loop": ours / loop, "gradient / loop": full / loop, "gradient / read": full / read}
        record("one pass over the rows", f"{n} × {d}", **columns, **ratios)


def fits(record, shapes=((1_000, 2), (100_000, 2), (1_000_000, 2), (10_000, 100), (10_000, 1000))):
    for n, d in shapes:
        X, y, p, w = make_ball_classification(n, d, random_state=0)
        read = timed(lambda X=X, w=w: X @ w)
        for model in (
            PoincareSVC(p, C=1000.0, loss="hinge", calibration=None),
            HyperboloidSVC(C=10.0, calibration=None),
            HyperboloidSVC(C=10.0, solver="projected_gradient", tol=1e-3, calibration=None),
            EuclideanSVC(C=1000.0, calibration=None),
            EuclideanSVC(C=1000.0, fit_intercept=False, calibration=None),
            AuthorsSVC(p, C=1000.0),
        ):
            model.fit(X[:1000], y[:1000])  # the first call compiles
            time, _ = once(lambda model=model, X=X, y=y: model.fit(X, y))
            option = getattr(model, "solver", "") if isinstance(model, HyperboloidSVC) else ""
            option = "no intercept" if getattr(model, "fit_intercept", True) is False else option
            columns = {"fit": time, "accuracy_%": 100 * model.score(X, y), "fit / read": time / read}
            record(f"fits of {n} × {d}", f"{type(model).__name__} {option}", **columns)


if __name__ == "__main__":
    with results("baselines") as record:
        epochs(record)
        fits(record)
