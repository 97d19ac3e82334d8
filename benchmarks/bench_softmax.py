"""PoincareLogisticRegression from raw points, compared with scikit-learn's LogisticRegression on ready-made rows.

Our times include validation, the reference point and the features. The baseline gets explicit rows in float64 (cone
coordinates and the constant column of the intercept), the same objective, and the loosest tolerance that comes within a
millionth of the optimum; ours proves that it does. CPU times, with one thread of BLAS. "auto" is our time with C chosen
from the data instead of given.

    python benchmarks/bench_softmax.py            # all
    python benchmarks/bench_softmax.py clothes wide families growth memory
"""

import sys
import warnings
from time import process_time

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from timing import Ratio, Times, once, peak_memory, results, timed

from hyplearn import PoincareLogisticRegression
from hyplearn.cone import cone_coordinates
from hyplearn.datasets import fetch_fashion_mnist, fetch_web_of_life, make_ball_classification
from hyplearn.embedding import TreeEmbedding
from hyplearn.tangent import from_frame

warnings.simplefilter("ignore", ConvergenceWarning)


def overlapping(n, d, K, seed=0):
    """Classes around points at distance 2 from the origin, with standard deviation 0.8 in each direction."""
    return next(overlapping_blocks(n, d, K, seed))


def overlapping_blocks(n, d, K, seed=0):
    """Yield an endless stream of blocks of n points from overlapping classes."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((K, d))
    centers *= 2 / np.linalg.norm(centers, axis=1, keepdims=True)
    while True:
        y = rng.integers(0, K, n)
        yield from_frame(centers[y] + 0.8 * rng.standard_normal((n, d)), np.zeros(d)), y


def objective(rows, codes, C, W):
    """Our objective; scikit-learn stores one row for two classes, the difference of both."""
    W = np.concatenate([-0.5 * W, 0.5 * W]) if len(W) == 1 else W
    scores = rows @ W.T
    top = scores.max(axis=1)
    losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(codes)), codes]
    return 0.5 * np.sum(W**2) + C * losses.sum()


def fit_baseline(rows, codes, C, optimum, solver):
    """Time with the loosest tolerance that comes within a millionth of the optimum, and the excess over it.

    For two classes the penalty of the difference of both rows is half as large, so its C is twice ours.
    """
    own = 2 * C if codes.max() == 1 else C
    for tol in 10.0 ** -np.arange(2, 10):
        model = LogisticRegression(C=own, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000)
        time, _ = once(lambda model=model: model.fit(rows, codes), process_time)
        excess = objective(rows, codes, C, model.coef_) / optimum - 1
        if excess <= 1e-6:
            break
    return time, excess


def compare(record, case, X, y, repeats, *, C=100.0, solvers=("lbfgs", "newton-cholesky")):
    codes = np.unique(y, return_inverse=True)[1]
    # All rows, as the baseline has them.
    model, chosen = (PoincareLogisticRegression(C=cost, trim=False) for cost in (C, "auto"))
    with threadpool_limits(1):
        model.fit(X, y)  # the first call compiles
        ours = Times.of([once(lambda: model.fit(X, y), process_time)[0].minimum for _ in range(repeats)])
        auto, _ = once(lambda: chosen.fit(X, y), process_time)
        rows = cone_coordinates(X, model.reference_[0]).astype(np.float64)
        columns = {"ours": ours, "dual_gap": model.dual_gap_[0], "passes": model.n_passes_[0]}
        columns |= {"auto": auto, "chosen C": chosen.C_}
        times = []
        for solver in solvers:
            time, excess = fit_baseline(rows, codes, C, model.primal_[0], solver)
            columns |= {solver: time, f"excess of {solver}": excess}
            times.append(time)
    best = min(times, key=lambda time: time.minimum)
    record("fit, CPU time", f"{case}, C = {C:g}", **columns, **{"ours / fastest": ours / best})


def clothes(record):
    data = fetch_fashion_mnist()
    compare(record, "Fashion-MNIST, 60000 × 2", data.X_train, data.y_train, 5)


def wide(record):
    solvers = "lbfgs", "newton-cg"
    compare(record, "10000 × 1000, 2 classes", *overlapping(10_000, 1000, 2), 3, C=1.0, solvers=solvers)
    compare(record, "8000 × 512, 20 classes", *overlapping(8000, 512, 20), 3, C=1.0, solvers=solvers)
    for n in (10_000, 60_000):
        compare(record, f"{n} × 1000, 2 % wrong labels", *noisy(n, 1000), 3, C=1.0, solvers=solvers)


def families(record):
    """Compare fits on the families of the Web of Life with at least 40 genomes, in ten dimensions."""
    life = fetch_web_of_life()
    tips = np.setdiff1d(np.arange(len(life.names)), life.parents)
    own = life.ranks[tips, life.rank_names.index("family")]
    names, counts = np.unique(own, return_counts=True)
    kept = np.isin(own, names[(counts >= 40) & (names != "")])
    X = TreeEmbedding(10).fit(life.newick).embedding_[tips[kept]]
    for C in (1.0, 100.0):
        compare(record, f"{len(X)} × 10, 55 families", X, own[kept], 3, C=C, solvers=("lbfgs",))


def noisy(n, d):
    """Generate the paper's synthetic data with 2 % of the labels wrong."""
    X, y, _, _ = make_ball_classification(n, d, random_state=0)
    return X, np.where(np.random.default_rng(1).random(n) < 0.02, -y, y)


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
        for part in sys.argv[1:] or ["clothes", "wide", "families", "growth"]:
            globals()[part](record)
