"""PoincareLogisticRegression from raw points, beside scikit-learn's on ready-made rows, in one run.

Times of ours hold validation, the centre and the features; the rival gets the explicit rows, cone coordinates and the
constant column of the intercept, and the loosest of its tolerances that comes within a millionth of the optimum.

    python benchmarks/bench_softmax.py            # all
    python benchmarks/bench_softmax.py clothes growth wide memory
"""

import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from timing import best, peak_beside

from hyplearn import PoincareLogisticRegression
from hyplearn.cone import cone_coordinates
from hyplearn.datasets import fetch_fashion_mnist
from hyplearn.estimators.logistic import INTERCEPT
from hyplearn.tangent import from_frame

warnings.simplefilter("ignore", ConvergenceWarning)


def overlapping(n, d, K, seed=0):
    """Classes around points at distance 2, each with a spread of 0.8 in every direction."""
    rng = np.random.default_rng(seed)
    middles = rng.standard_normal((K, d))
    middles *= 2 / np.linalg.norm(middles, axis=1, keepdims=True)
    y = rng.integers(0, K, n)
    return from_frame(middles[y] + 0.8 * rng.standard_normal((n, d)), np.zeros(d)), y


def objective(rows, codes, C, W):
    scores = rows @ W.T
    top = scores.max(axis=1)
    losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(codes)), codes]
    return 0.5 * np.sum(W**2) + C * losses.sum()


def rival(rows, codes, C, optimum, solver):
    """Milliseconds of the loosest tolerance that comes within a millionth of the optimum, and by how much it misses."""
    for tol in 10.0 ** -np.arange(2, 10):
        start = perf_counter()
        found = LogisticRegression(C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000).fit(rows, codes)
        took = 1e3 * (perf_counter() - start)
        above = objective(rows, codes, C, found.coef_) / optimum - 1
        if above <= 1e-6:
            break
    return took, above


def beside_rivals(X, y, repeats):
    model = PoincareLogisticRegression()
    ours = best(lambda: model.fit(X, y), repeats)
    rows = np.column_stack([cone_coordinates(X, model.reference_[0]), np.full(len(X), INTERCEPT)]).astype(np.float64)
    print(f"ours {ours:.0f} ms, gap {model.dual_gap_[0]:.0e}, {model.n_passes_[0]} passes")
    for solver in ("lbfgs", "newton-cholesky"):
        took, above = rival(rows, y, model.C, model.primal_[0], solver)
        print(f"  {solver} {took:.0f} ms, {above:.0e} above the optimum; ours / theirs {ours / took:.3f}")


def clothes():
    data = fetch_fashion_mnist()
    print("Fashion-MNIST, 60,000 × 2, 10 classes: ", end="")
    beside_rivals(data.X_train, data.y_train, 5)


def wide():
    for n, d, K in ((20_000, 20, 10), (20_000, 100, 5), (5_000, 500, 10)):
        print(f"{n} × {d}, {K} classes: ", end="")
        beside_rivals(*overlapping(n, d, K), 1)


def growth():
    print(f"\n{'n':>9} {'ms':>9} {'ns per row':>11} {'passes':>7} {'gap':>8}   10 classes in the disk")
    for n in (10_000, 100_000, 1_000_000, 4_000_000):
        X, y = overlapping(n, 2, 10)
        model = PoincareLogisticRegression()
        ours = best(lambda m=model, X=X, y=y: m.fit(X, y), 3 if n < 10**6 else 1)
        print(f"{n:>9} {ours:9.1f} {1e6 * ours / n:11.1f} {model.n_passes_[0]:7d} {model.dual_gap_[0]:8.0e}")


def memory():
    """Peak memory beyond X while fitting; rows so many that what came before leaves no mark."""
    for n, d, K in ((5_000_000, 2, 10), (200_000, 100, 5)):
        X, y = overlapping(n, d, K)
        model = PoincareLogisticRegression().fit(X[:5000], y[:5000])
        extra = peak_beside(lambda m=model, X=X, y=y: m.fit(X, y))
        print(f"{n} × {d}, {K} classes: {extra / X.nbytes:.2f} × the bytes of X, {extra / n / 8:.1f} numbers per row")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["clothes", "wide", "growth"]:
        globals()[part]()
