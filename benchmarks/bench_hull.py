"""Convex hulls of both classes and the paper's reference point, compared with Qhull on the same Klein points.

Qhull gets ready-made Klein points. Our time starts from points of the disk and includes validation, both hulls, the
closest vertices and their midpoint. The data sets differ in the number of rows near the hull.
"""

import numpy as np
from scipy.spatial import ConvexHull
from timing import results, timed

from hyplearn.geometry import ball_to_klein, graham_scan, hull_midpoint, quickhull, translate


def disk(rng, n, radius):
    X = rng.standard_normal((n, 2))
    return X * radius * np.sqrt(rng.uniform(0, 1, (n, 1))) / np.linalg.norm(X, axis=1, keepdims=True)


def datasets(rng, n):
    yield "uniform, R 0.95", disk(rng, n, 0.95)
    yield "uniform, R 1-1e-6", disk(rng, n, 1 - 1e-6)
    yield "off centre", translate(disk(rng, n, 0.5), [0.6, 0.75])
    yield "normal", np.tanh(rng.standard_normal((n, 1)) / 2) * disk(rng, n, 1.0)
    yield "uniform, float32", disk(rng, n, 0.95).astype(np.float32)


def main(record, n=1_000_000):
    for name, X in datasets(np.random.default_rng(0), n):
        K, half = ball_to_klein(X.astype(np.float64)), n // 2
        together, classes, graham, quick, p = (
            timed(f, repeats=3)
            for f in (
                lambda K=K: ConvexHull(K),
                lambda a=K[:half], b=K[half:]: (ConvexHull(a), ConvexHull(b)),
                lambda X=X: graham_scan(X),
                lambda X=X: quickhull(X),
                lambda a=X[:half], b=X[half:]: hull_midpoint(a, b),
            )
        )
        columns = {"vertices": len(quickhull(X)), "Qhull": together, "graham_scan": graham, "quickhull": quick, "p": p}
        ratios = {"p / Qhull": p / together, "p / Qhull per class": p / classes}
        record(f"hulls of {n} points", name, **columns, **ratios)


if __name__ == "__main__":
    with results("hull") as record:
        main(record)
