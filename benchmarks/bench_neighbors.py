"""Nearest neighbours by hyperbolic distance, compared with scikit-learn's Euclidean ones on the same points.

Each row fits as many points as it then predicts. In few dimensions the baseline is scikit-learn's ball tree, in many
its blocks of matrix products. Times are CPU times. Peak memory is counted beyond that of the points.

    python benchmarks/bench_neighbors.py        # all
    python benchmarks/bench_neighbors.py 100    # rows of 100 dimensions only
"""

import sys
import tracemalloc
from time import process_time

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from timing import once, results

from hyplearn import PoincareKNeighborsClassifier


def points(rng, n, d, radius):
    """Generate points in random directions, at normally distributed distances from the centre."""
    directions = rng.standard_normal((n, d))
    lengths = np.tanh(np.abs(rng.normal(0, radius, (n, 1))) / 2)
    return lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)


def peak(function):
    """Return the peak memory of a call in MiB, above the memory in use before it."""
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main(record):
    rng = np.random.default_rng(0)
    for n, d, radius in (
        (100_000, 2, 1.0),
        (100_000, 2, 4.0),
        (100_000, 2, 8.0),
        (100_000, 5, 2.0),
        (20_000, 100, 2.0),
    ):
        if sys.argv[1:] and str(d) not in sys.argv[1:]:
            continue
        X, Q, y = points(rng, n, d, radius), points(rng, n, d, radius), rng.integers(5, size=n)
        theirs = KNeighborsClassifier(15, algorithm="ball_tree" if d < 20 else "brute")
        models = PoincareKNeighborsClassifier(15), theirs
        models[0].fit(X[:100], y[:100]).predict(Q[:100])  # the first call compiles
        ours, baseline = (
            once(lambda model=model, X=X, y=y, Q=Q: model.fit(X, y).predict(Q), process_time)[0] for model in models
        )
        memory = peak(lambda model=models[0], X=X, y=y, Q=Q: model.fit(X, y).kneighbors(Q))
        columns = {"ours": ours, "scikit-learn": baseline, "MiB": memory, "ratio": ours / baseline}
        record("fit and predict, 15 neighbours", f"{n} × {n}, d {d}, radius {radius:g}", **columns)


if __name__ == "__main__":
    with results("neighbors") as record:
        main(record)
