"""PoincareSVC from raw points, compared with vectorised features and scikit-learn's LinearSVC on the resulting rows.

The paper's synthetic data (margin 0.01, ‖p‖ = 2R/5), C = 1000, p given. Our times include validation and features; the
time of the baseline is the sum of the vectorised features and LinearSVC. "excess" is the relative amount by which the
hinge objective of LinearSVC exceeds the optimum. LinearSVC with the squared hinge solves a different problem and serves
as a baseline for speed only. "read" is the time of one BLAS product with every row. "table" uses the
defaults instead: no p, automatic C, probabilities; there LinearSVC solves the same problem.

    python benchmarks/bench_svm.py            # all
    python benchmarks/bench_svm.py table fit growth memory clothes probabilities separable
"""

import subprocess
import sys
import warnings
from contextlib import suppress
from time import process_time

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits
from timing import Ratio, Times, once, peak_memory, results, timed

from hyplearn import PoincareSVC
from hyplearn.cone import cone_coordinates
from hyplearn.datasets import fetch_fashion_mnist, fetch_olsson, load_mammals, make_ball_classification

warnings.simplefilter("ignore", ConvergenceWarning)
C = 1000.0
TABLES = {
    True: "default fit with probabilities beside CalibratedClassifierCV(LinearSVC(dual=False), cv=5), CPU ms",
    False: "fit without probabilities beside LinearSVC(dual=False), CPU ms",
}


def vectorised_rows(X, p):
    """Compute frame coordinates with NumPy expressions, as a user would write them."""
    s = X - p
    squares = np.sum(s * s, axis=1)
    gaps = (1 - p @ p) * (1 - np.sum(X * X, axis=1))
    norms = np.sqrt(squares)
    directions = s / norms[:, None] - (norms / (1 - p @ p))[:, None] * p
    lengths = 2 * np.arcsinh(norms / np.sqrt(gaps)) / np.linalg.norm(directions, axis=1)
    return lengths[:, None] * directions


def hinge_objective(rows, y, w):
    return 0.5 * w @ w + C * np.maximum(0, 1 - y * (rows @ w)).sum()


def fit(record):
    for n, d, repeats in ((100_000, 2, 9), (1_000_000, 2, 5), (100_000, 10, 9), (100_000, 100, 3), (100_000, 1000, 1)):
        X, y, p, _ = make_ball_classification(n, d, random_state=0)
        model = PoincareSVC(p, C=C, loss="hinge", calibration=None)
        ours = timed(lambda m=model, X=X, y=y: m.fit(X, y), repeats)
        features = timed(lambda X=X, p=p: vectorised_rows(X, p), min(repeats, 3))
        rows = vectorised_rows(X, p)
        times = {}
        for loss, dual in (("hinge", True), ("squared_hinge", False)):
            baseline = LinearSVC(loss=loss, dual=dual, C=C, fit_intercept=False)
            times[loss], _ = once(lambda b=baseline, rows=rows, y=y: b.fit(rows, y))
            if loss == "hinge":
                excess = hinge_objective(rows, y, baseline.coef_[0]) / model.primal_[0] - 1
        # The hinge in many dimensions, because README.md compares the same problem; otherwise the faster loss.
        best = times["hinge"] if d >= 100 else min(times.values(), key=lambda time: time.minimum)
        columns = {"ours": ours, "dual_gap": model.dual_gap_[0], "passes": model.n_passes_[0], "features": features}
        columns |= {"hinge": times["hinge"], "excess": excess, "squared": times["squared_hinge"]}
        record("fit", f"{n} × {d}", **columns, **{"ours / (features + LinearSVC)": ours / (features + best)})


def table(record):
    """Defaults from raw points, compared with scikit-learn on ready-made cone coordinates about the same centre.

    With up to 100 coordinates, the default fit with its choice of C and probabilities is compared with a LinearSVC with
    that C, calibrated in 5 folds; with 1000 coordinates, both have no probabilities. Times are the CPU times of all
    threads, minima of the repeats. BLAS uses one thread, because its threads would spin while they wait.
    """
    small = {"mammals": load_mammals(return_X_y=True)}
    with suppress(FileNotFoundError, OSError):
        data = fetch_olsson()
        small["Olsson"] = data.X_train, data.y_train
    for name, (X, y) in small.items():
        compare(record, f"{name}, {X.shape[0]} × {X.shape[1]}", X, y, 5)
    sizes = (1000, 2, 5), (100_000, 2, 3), (1_000_000, 2, 1), (100_000, 10, 3), (100_000, 100, 1), (100_000, 1000, 1)
    for n, d, repeats in sizes:
        compare(record, f"{n} × {d}", *noisy(n, d), repeats, probabilities=d < 1000)


def noisy(n, d):
    """Generate the paper's synthetic data with 2 % of the labels wrong."""
    X, y, _, _ = make_ball_classification(n, d, random_state=0)
    return X, np.where(np.random.default_rng(1).random(n) < 0.02, -y, y)


def compare(record, case, X, y, repeats, *, probabilities=True):
    model = PoincareSVC() if probabilities else PoincareSVC(calibration=None)
    model.fit(X[:: max(1, len(X) // 500)], y[:: max(1, len(X) // 500)])  # compile
    with threadpool_limits(1):
        ours = Times.of([once(lambda: model.fit(X, y), process_time)[0].minimum for _ in range(repeats)])
    rows = cone_coordinates(X, model.reference_[0]).astype(np.float64)
    baseline = LinearSVC(dual=False, C=model.C_[0], fit_intercept=False)
    baseline = CalibratedClassifierCV(baseline, cv=5) if probabilities else baseline
    with threadpool_limits(1):
        theirs = Times.of([once(lambda: baseline.fit(rows, y), process_time)[0].minimum for _ in range(repeats)])
    columns = {"ours": ours, "C": model.C_[0], "gap": model.dual_gap_.max(), "LinearSVC": theirs}
    record(TABLES[probabilities], case, **columns, **{"ours / LinearSVC": ours / theirs})


def growth(record):
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        X, y, p, _ = make_ball_classification(n, 2, random_state=0)
        model = PoincareSVC(p, C=C, loss="hinge", calibration=None)
        ours = timed(lambda m=model, X=X, y=y: m.fit(X, y), 9 if n < 10**6 else 3)
        read = timed(lambda X=X, p=p: X @ p)
        columns = {"fit": ours, "ns_per_row": 1e6 * ours.minimum / n, "passes": model.n_passes_[0]}
        columns |= {"dual_gap": model.dual_gap_[0], "read": read, "fit / read": ours / read}
        record("growth with the number of rows", f"{n} × 2", **columns)


def clothes(record):
    """Fashion-MNIST: ten problems of 60,000 rows at C = 5."""
    data = fetch_fashion_mnist()
    model = PoincareSVC(data.reference_points, C=5.0, loss="hinge", calibration=None)
    ours = timed(lambda: model.fit(data.X_train, data.y_train), 5)
    read = timed(lambda: data.X_train @ data.X_train[0])
    columns = {"fit": ours, "largest_dual_gap": model.dual_gap_.max(), "read": read, "fit / read": ours / read}
    record("ten classes", f"Fashion-MNIST, {len(data.X_train)} × 2", **columns)


def probabilities(record):
    """Fit with cross-fitted probabilities (5 folds), compared with a fit without; default reference points."""
    sets = {
        "two classes, 1e4 × 2": (10_000, 2),
        "two classes, 1e6 × 2": (1_000_000, 2),
        "two classes, 1e5 × 10": (100_000, 10),
    }
    for name in (*sets, "Fashion-MNIST"):
        if name in sets:
            X, y, _, _ = make_ball_classification(*sets[name], random_state=0)
        else:
            data = fetch_fashion_mnist()
            X, y = data.X_train, data.y_train
        alone, both = (
            timed(lambda X=X, y=y, c=c: PoincareSVC(calibration=c).fit(X, y), 3) for c in (None, "cross-fitted")
        )
        columns = {"fit": alone, "with probabilities": both, "with / without": both / alone}
        record("probabilities from 5 folds", name, **columns)


def separable(record):
    """Measure the training accuracy of hard and soft margins on separable classes, in percent."""
    for margin in (1.0, 0.1, 0.01, 0.001):
        for norm in (0.19, 0.38, 0.57):
            X, y, p, _ = make_ball_classification(10_000, 10, margin=margin, reference_norm=norm, random_state=0)
            hard, soft = (
                100 * PoincareSVC(p, C=cost, loss="hinge", calibration=None).fit(X, y).score(X, y)
                for cost in (np.inf, C)
            )
            case = f"margin {margin}, ‖p‖ = {norm}"
            record("training accuracy in percent, 10000 × 10", case, **{"hard margin": hard, "C = 1000": soft})


def memory(record):
    """Peak memory of a fit to 1e5 × 1000 points in addition to X, each measured in a separate process."""
    for name in ("PoincareSVC", "default", "LinearSVC"):
        command = [sys.executable, __file__, f"memory-{name}"]
        found = float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        record("peak memory of a fit", f"{name}, 100000 × 1000", **{"peak / X": Ratio(found)})


def peak(name):
    n, d = 100_000, 1000
    X, y, p, _ = make_ball_classification(n, d, random_state=0)
    rows = vectorised_rows(X, p) if name == "LinearSVC" else X
    small = slice(0, 3000)
    model = {
        "PoincareSVC": PoincareSVC(p, C=C, loss="hinge", calibration=None),
        "default": PoincareSVC(calibration=None),
        "LinearSVC": LinearSVC(loss="hinge", dual=True, C=C, fit_intercept=False),
    }[name]
    model.fit(rows[small], y[small])  # compile and load libraries before measuring
    print(peak_memory(lambda: model.fit(rows, y)) / X.nbytes)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("memory-"):
        peak(sys.argv[1].removeprefix("memory-"))
    else:
        with results("svm") as record:
            for part in sys.argv[1:] or ["table", "fit", "growth", "clothes", "probabilities", "separable", "memory"]:
                globals()[part](record)
