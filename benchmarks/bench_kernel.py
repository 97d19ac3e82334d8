"""PoincareKernelClassifier with its choice of scale and C, compared with tuned classifiers of scikit-learn.

All three are fitted to Fashion-MNIST. The leaf size of the forest is chosen from three values by 3-fold
cross-validation, and the parameters of the Gaussian SVC from 5 by 5 values on ``SVC_ROWS`` rows only, because its time
grows with their square. "growth" reports the number of passes, and the peak memory in addition to the points. Times are
CPU times.

    python benchmarks/bench_kernel.py                  # clothes and growth
    python benchmarks/bench_kernel.py growth file      # file: 1e8 points on disk; ROWS= for fewer, TOL= for sooner
"""

import os
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from bench_softmax import overlapping, overlapping_blocks
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from timing import once, peak_memory, results

from hyplearn import PoincareKernelClassifier, open_points
from hyplearn.datasets import fetch_fashion_mnist

# Number of rows in the grid search of the SVC; its time grows at least in proportion to this number.
SVC_ROWS = 6000


def clothes(record):
    data = fetch_fashion_mnist()
    X, y = np.asarray(data.X_train, dtype=np.float64), data.y_train
    PoincareKernelClassifier(n_components=10).fit(X[:500], y[:500])  # compiles
    ours, model = once(lambda: PoincareKernelClassifier().fit(X, y), process_time)
    forest = GridSearchCV(RandomForestClassifier(random_state=0), {"min_samples_leaf": [1, 3, 10]}, cv=3)
    theirs, _ = once(lambda: forest.fit(X, y), process_time)
    some = np.random.default_rng(0).permutation(len(X))[:SVC_ROWS]
    grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.1, 1, 10, 100, 1000]}, cv=3)
    part, _ = once(lambda: grid.fit(X[some], y[some]), process_time)
    columns = {"ours": ours, "forest": theirs, f"SVC_{SVC_ROWS}_rows": part, "ours / forest": ours / theirs}
    columns |= {"ours / SVC of a part": ours / part, "dual_gap": model.dual_gap_[0], "passes": model.n_passes_[0]}
    record("fit with the choice of parameters", f"Fashion-MNIST, {len(X)} × 2", **columns)


def growth(record):
    for n in (100_000, 1_000_000):
        X, y = overlapping(n, 2, 10)
        model = PoincareKernelClassifier(n_components=300)
        model.fit(X[:2000], y[:2000])  # compiles
        time = {}
        memory = peak_memory(lambda m=model, X=X, y=y, t=time: t.update(fit=once(lambda: m.fit(X, y), process_time)[0]))
        columns = {**time, "passes": model.n_passes_[0], "dual_gap": model.dual_gap_[0], "MiB": memory / 2**20}
        record("growth with the number of rows, 10 classes, 300 components", f"{n} × 2", **columns)


def file(record):
    """Fit in blocks to a file of points, which is written first."""
    n, tol = int(float(os.environ.get("ROWS", 1e8))), float(os.environ.get("TOL", 1e-6))
    with tempfile.TemporaryDirectory() as folder:
        X, y = (np.lib.format.open_memmap(Path(folder, f"{name}.npy"), "w+", dtype, shape) for name, dtype, shape in (
            ("X", np.float32, (n, 2)), ("y", np.int8, (n,)),
        ))  # fmt: skip
        blocks = overlapping_blocks(10**6, 2, 10)
        for start in range(0, n, 10**6):
            points, codes = next(blocks)
            size = min(10**6, n - start)
            X[start : start + size], y[start : start + size] = points[:size], codes[:size]
        X.flush()
        y.flush()
        del X, y
        source = open_points(Path(folder, "X.npy"), label=Path(folder, "y.npy"))
        model = PoincareKernelClassifier(tol=tol, verbose=1)
        time = {}
        memory = peak_memory(lambda: time.update(fit=once(lambda: model.fit(source), process_time)[0]))
    columns = {**time, "passes": model.n_passes_[0], "dual_gap": model.dual_gap_[0], "MiB": memory / 2**20}
    record("from a file, 10 classes, 300 components", f"{n} × 2, tol {tol:g}", **columns)


if __name__ == "__main__":
    with results("kernel") as record:
        for part in sys.argv[1:] or ["clothes", "growth"]:
            globals()[part](record)
