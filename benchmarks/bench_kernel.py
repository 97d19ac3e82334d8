"""PoincareKernelClassifier with its choice of scale and C, compared with tuned classifiers of scikit-learn.

All three are fitted to Fashion-MNIST. The leaf size of the forest is chosen from three values by 3-fold
cross-validation, and the parameters of the Gaussian SVC from 5 by 5 values on ``SVC_ROWS`` rows only, because its time
grows almost with their square; so its time is a lower bound of that on all rows. "growth" reports the number of
passes, and the peak memory in addition to the points. Times are CPU times.

    python benchmarks/bench_kernel.py                  # clothes and growth
    python benchmarks/bench_kernel.py growth file      # file: 1e8 points on disk; ROWS= for fewer, TOL= for sooner

If ``FOLDER`` is a directory, "file" keeps its points and a checkpoint there, and a run that was stopped is continued.
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

# Number of rows in the grid search of the SVC, enough for a lower bound that is several times our time on all rows.
SVC_ROWS = 20_000


def clothes(record):
    data = fetch_fashion_mnist()
    X, y = np.asarray(data.X_train, dtype=np.float64), data.y_train
    PoincareKernelClassifier(n_components=10).fit(X[:500], y[:500])  # the first call compiles
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
        model.fit(X[:2000], y[:2000])  # the first call compiles
        time = {}
        memory = peak_memory(lambda m=model, X=X, y=y, t=time: t.update(fit=once(lambda: m.fit(X, y), process_time)[0]))
        columns = {**time, "passes": model.n_passes_[0], "dual_gap": model.dual_gap_[0], "MiB": memory / 2**20}
        record("growth with the number of rows, 10 classes, 300 components", f"{n} × 2", **columns)


def file(record):
    """Fit in blocks to a file of points, which is written first unless an interrupted run left it in ``FOLDER``."""
    n, tol = int(float(os.environ.get("ROWS", 1e8))), float(os.environ.get("TOL", 1e-6))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("FOLDER", temporary))
        if not (folder / "y.npy").exists():
            write_points(folder, n)
        checkpoint, time = folder / "checkpoint", {}
        is_whole = not checkpoint.exists()
        source = open_points(folder / "X.npy", label=folder / "y.npy").checkpointed(checkpoint, every=60)
        model = PoincareKernelClassifier(tol=tol, verbose=1)
        memory = peak_memory(lambda: time.update(fit=once(lambda: model.fit(source), process_time)[0]))
    # The time of a fit that was continued is that of its last part only.
    columns = {"fit": time["fit"] if is_whole else None, "passes": model.n_passes_[0]}
    columns |= {"dual_gap": model.dual_gap_[0], "MiB": memory / 2**20}
    record("from a file, 10 classes, 300 components", f"{n} × 2, tol {tol:g}", **columns)


def write_points(folder, n, size=10**6):
    """Write points in float32 and their labels block by block; the labels last, under their name when complete."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, 2))
    y = np.lib.format.open_memmap(folder / "y.new", "w+", np.int8, (n,))
    for start, (points, codes) in zip(range(0, n, size), overlapping_blocks(size, 2, 10), strict=False):
        X[start : start + size], y[start : start + size] = points[: n - start], codes[: n - start]
    X.flush()
    y.flush()
    (folder / "y.new").rename(folder / "y.npy")


if __name__ == "__main__":
    with results("kernel") as record:
        for part in sys.argv[1:] or ["clothes", "growth"]:
            globals()[part](record)
