"""PoincareSVC from raw points, beside vectorised features and scikit-learn's LinearSVC on ready-made rows, in one run.

The paper's synthetic data (margin 0.01, ‖p‖ = 2R/5), C = 1000, p given. Times of ours hold validation and features, as
those of the rival hold vectorised features. "above": by how much a rival's hinge objective exceeds the optimum.
LinearSVC with the squared hinge solves another problem, and is here for its speed.

    python benchmarks/bench_svm.py            # all
    python benchmarks/bench_svm.py fit growth memory clothes probabilities separable
"""

import subprocess
import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from timing import best, peak_beside

from hyplearn import PoincareSVC
from hyplearn.datasets import fetch_fashion_mnist, make_ball_classification

warnings.simplefilter("ignore", ConvergenceWarning)
C = 1000.0


def vectorised_rows(X, p):
    """Frame coordinates by NumPy expressions, as a user would write them."""
    s = X - p
    squares = np.sum(s * s, axis=1)
    room = (1 - p @ p) * (1 - np.sum(X * X, axis=1))
    norms = np.sqrt(squares)
    directions = s / norms[:, None] - (norms / (1 - p @ p))[:, None] * p
    lengths = 2 * np.arcsinh(norms / np.sqrt(room)) / np.linalg.norm(directions, axis=1)
    return lengths[:, None] * directions


def hinge_objective(rows, y, w):
    return 0.5 * w @ w + C * np.maximum(0, 1 - y * (rows @ w)).sum()


def fit():
    heads = (
        f"{'shape':>14} {'ours':>9} {'gap':>8} {'passes':>6} {'features':>9} {'hinge':>9} {'above':>7} {'squared':>9}"
    )
    print(f"{heads}   ours / (features + rival)")
    for n, d, repeats in ((100_000, 2, 9), (1_000_000, 2, 5), (100_000, 10, 9), (100_000, 100, 3), (100_000, 1000, 1)):
        X, y, p, _ = make_ball_classification(n, d, random_state=0)
        model = PoincareSVC(p, C=C, calibration=None)
        ours = best(lambda m=model, X=X, y=y: m.fit(X, y), repeats)
        features = best(lambda X=X, p=p: vectorised_rows(X, p), min(repeats, 3))
        rows = vectorised_rows(X, p)
        times = {}
        for loss, dual in (("hinge", True), ("squared_hinge", False)):
            rival = LinearSVC(loss=loss, dual=dual, C=C, fit_intercept=False)
            start = perf_counter()
            rival.fit(rows, y)
            times[loss] = 1e3 * (perf_counter() - start)
            if loss == "hinge":
                above = hinge_objective(rows, y, rival.coef_[0]) / model.primal_[0] - 1
        # In many dimensions the row of the table asks for the hinge; elsewhere for the faster of the two.
        rival = times["hinge"] if d >= 100 else min(times.values())
        print(
            f"{n:>9} × {d:<4} {ours:9.1f} {model.dual_gap_[0]:8.0e} {model.n_passes_[0]:6d} {features:9.1f} "
            f"{times['hinge']:9.1f} {above:7.0%} {times['squared_hinge']:9.1f}   {ours / (features + rival):5.3f}"
        )


def growth():
    print(f"\n{'n':>9} {'ms':>9} {'ns per row':>11} {'passes':>7} {'gap':>8}")
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        X, y, p, _ = make_ball_classification(n, 2, random_state=0)
        model = PoincareSVC(p, C=C, calibration=None)
        ours = best(lambda m=model, X=X, y=y: m.fit(X, y), 9 if n < 10**6 else 3)
        print(f"{n:>9} {ours:9.1f} {1e6 * ours / n:11.1f} {model.n_passes_[0]:7d} {model.dual_gap_[0]:8.0e}")


def clothes():
    data = fetch_fashion_mnist()
    model = PoincareSVC(data.reference_points, C=5.0, calibration=None)
    ours = best(lambda: model.fit(data.X_train, data.y_train), 5)
    worst = model.dual_gap_.max()
    print(f"\nFashion-MNIST, ten problems of {len(data.X_train)} rows, C = 5: {ours:.0f} ms, worst gap {worst:.0e}")


def probabilities():
    """What cross-fitted probabilities of 5 folds cost beside the fit alone, with the default reference points."""
    print(f"\n{'data':>24} {'fit':>9} {'with':>9}   ratio, probabilities by 5 folds")
    sets = {
        "two sides, 1e4 × 2": (10_000, 2),
        "two sides, 1e6 × 2": (1_000_000, 2),
        "two sides, 1e5 × 10": (100_000, 10),
    }
    for name in (*sets, "Fashion-MNIST"):
        if name in sets:
            X, y, _, _ = make_ball_classification(*sets[name], random_state=0)
        else:
            data = fetch_fashion_mnist()
            X, y = data.X_train, data.y_train
        alone, both = (
            best(lambda X=X, y=y, c=c: PoincareSVC(calibration=c).fit(X, y), 3) for c in (None, "cross-fitted")
        )
        print(f"{name:>24} {alone:9.1f} {both:9.1f}   {both / alone:.2f}")


def separable():
    print(f"\n{'margin':>7} {'‖p‖':>5} {'hard':>9} {'C = 1000':>9}   training accuracy, n = 10,000, d = 10")
    for margin in (1.0, 0.1, 0.01, 0.001):
        for norm in (0.19, 0.38, 0.57):
            X, y, p, _ = make_ball_classification(10_000, 10, margin=margin, reference_norm=norm, random_state=0)
            hard, soft = (PoincareSVC(p, C=cost, calibration=None).fit(X, y).score(X, y) for cost in (np.inf, C))
            print(f"{margin:7} {norm:5} {hard:9.2%} {soft:9.3%}")


def memory():
    """Peak memory beyond X while fitting 1e5 × 1000, each in a process of its own."""
    print(flush=True)
    for name in ("ours", "rival"):
        print(
            subprocess.run([sys.executable, __file__, f"memory-{name}"], capture_output=True, text=True).stdout, end=""
        )


def peak(name):
    n, d = 100_000, 1000
    X, y, p, _ = make_ball_classification(n, d, random_state=0)
    rows = X if name == "ours" else vectorised_rows(X, p)
    small = slice(0, 3000)
    model = (
        PoincareSVC(p, C=C, calibration=None)
        if name == "ours"
        else LinearSVC(loss="hinge", dual=True, C=C, fit_intercept=False)
    )
    model.fit(rows[small], y[small])  # compile and load libraries outside the measure
    extra = peak_beside(lambda: model.fit(rows, y))
    print(f"peak memory of {name:>5} beside X: {extra / X.nbytes:.2f} × the bytes of X")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["fit", "growth", "clothes", "probabilities", "separable", "memory"]:
        peak(part.removeprefix("memory-")) if part.startswith("memory-") else globals()[part]()
