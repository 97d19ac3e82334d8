"""Hulls of both classes and the paper's reference point, beside Qhull on the same Klein points, in one run.

Qhull gets Klein points that are ready; ours starts from points of the disk and its time holds validation, both hulls,
the closest vertices and their midpoint. The kinds differ in how many rows lie near the hull.
"""

import numpy as np
from scipy.spatial import ConvexHull
from timing import best

from hyplearn.geometry import ball_to_klein, graham_scan, hull_midpoint, quickhull, translate


def disk(rng, n, radius):
    X = rng.standard_normal((n, 2))
    return X * radius * np.sqrt(rng.uniform(0, 1, (n, 1))) / np.linalg.norm(X, axis=1, keepdims=True)


def kinds(rng, n):
    yield "even, R 0.95", disk(rng, n, 0.95)
    yield "even, R 1-1e-6", disk(rng, n, 1 - 1e-6)
    yield "in a corner", translate(disk(rng, n, 0.5), [0.6, 0.75])
    yield "normal", np.tanh(rng.standard_normal((n, 1)) / 2) * disk(rng, n, 1.0)
    yield "even, float32", disk(rng, n, 0.95).astype(np.float32)


def main(n=1_000_000):
    print(f"{'kind':>16} {'vertices':>9} {'Qhull':>8} {'Graham':>8} {'quick':>8} {'p':>8}   p / Qhull, per class")
    for kind, X in kinds(np.random.default_rng(0), n):
        K, half = ball_to_klein(X.astype(np.float64)), n // 2
        together, classes, graham, quick, p = (
            best(f, repeats=3)
            for f in (
                lambda K=K: ConvexHull(K),
                lambda a=K[:half], b=K[half:]: (ConvexHull(a), ConvexHull(b)),
                lambda X=X: graham_scan(X),
                lambda X=X: quickhull(X),
                lambda a=X[:half], b=X[half:]: hull_midpoint(a, b),
            )
        )
        print(
            f"{kind:>16} {len(quickhull(X)):>9} {together:8.1f} {graham:8.1f} {quick:8.1f} {p:8.1f}"
            f"   {p / together:7.2f} {p / classes:7.2f}"
        )


if __name__ == "__main__":
    main()
