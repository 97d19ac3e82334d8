"""PoincareLogisticRegression from raw points, compared with scikit-learn's LogisticRegression on ready-made rows.

Our times include validation, the reference point and the features. The baseline gets explicit rows (cone coordinates
and the constant column of the intercept) and the loosest tolerance that comes within a millionth of the optimum.

    python benchmarks/bench_softmax.py            # all
    python benchmarks/bench_softmax.py clothes growth wide memory
"""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from timing import Ratio, once, peak_memory, results, timed

from hyplearn import PoincareLogisticRegression
from hyplearn.cone import cone_coordinates
from hyplearn.datasets import fetch_fashion_mnist
from hyplearn.tangent import from_frame

warnings.simplefilter("ignore", ConvergenceWarning)


def overlapping(n, d, K, seed=0):
    """Classes around points at distance 2 from the origin, with standard deviation 0.8 in each direction."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((K, d))
    centers *= 2 / np.linalg.norm(centers, axis=1, keepdims=True)
    y = rng.integers(0, K, n)
    return from_frame(centers[y] + 0.8 * rng.standard_normal((n, d)), np.zeros(d)), y


def objective(rows, codes, C, W):
    scores = rows @ W.T
    top = scores.max(axis=1)
    losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(codes)), codes]
    return 0.5 * np.sum(W**2) + C * losses.sum()


def fit_baseline(rows, codes, C, optimum, solver):
    """Time with the loosest tolerance that comes within a millionth of the optimum, and the excess over it."""
    for tol in 10.0 ** -np.arange(2, 10):
        model = LogisticRegression(C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000)
        time, _ = once(lambda model=model: model.fit(rows, codes))
        excess = objective(rows, codes, C, model.coef_) / optimum - 1
        if excess <= 1e-6:
            break
    return time, excess


def compare(record, case, X, y, repeats):
    model = PoincareLogisticRegression(C=100.0)
    ours = timed(lambda: model.fit(X, y), repeats)
    rows = cone_coordinates(X, model.reference_[0]).astype(np.float64)
    columns, ratios = {"ours": ours, "dual_gap": model.dual_gap_[0], "passes": model.n_passes_[0]}, {}
    for solver in ("lbfgs", "newton-cholesky"):
        time, excess = fit_baseline(rows, y, model.C, model.primal_[0], solver)
        columns |= {solver: time, f"excess of {solver}": excess}
        ratios[f"ours / {solver}"] = ours / time
    record("fit", case, **columns, **ratios)


def clothes(record):
    data = fetch_fashion_mnist()
    compare(record, "Fashion-MNIST, 60000 × 2", data.X_train, data.y_train, 5)


def wide(record):
    for n, d, K in ((20_000, 20, 10), (20_000, 100, 5), (5_000, 500, 10)):
        compare(record, f"{n} × {d}, {K} classes", *overlapping(n, d, K), 1)


def growth(record):
    for n in (10_000, 100_000, 1_000_000, 4_000_000):
        X, y = overlapping(n, 2, 10)
        model = PoincareLogisticRegression(C=100.0)
        ours = timed(lambda m=model, X=X, y=y: m.fit(X, y), 3 if n < 10**6 else 1)
        read = timed(lambda X=X: X @ X[0])
        columns = {"fit": ours, "ns_per_row": 1e6 * ours.minimum / n, "passes": model.n_passes_[0]}
        columns |= {"dual_gap": model.dual_gap_[0], "read": read, "fit / read": ours / read}
        record("growth with the number of rows, 10 classes", f"{n} × 2", **columns)


def memory(record):
    """Peak memory of a fit in addition to X, with enough rows that earlier allocations are negligible."""
    for n, d, K in ((5_000_000, 2, 10), (200_000, 100, 5)):
        X, y = overlapping(n, d, K)
        model = PoincareLogisticRegression(C=100.0).fit(X[:5000], y[:5000])
        extra = peak_memory(lambda m=model, X=X, y=y: m.fit(X, y))
        columns = {"floats_per_row": extra / n / 8, "peak / X": Ratio(extra / X.nbytes)}
        record("peak memory of a fit", f"{n} × {d}, {K} classes", **columns)


if __name__ == "__main__":
    with results("softmax") as record:
        for part in sys.argv[1:] or ["clothes", "wide", "growth"]:
            globals()[part](record)
