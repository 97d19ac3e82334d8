"""Frame coordinates: our kernel beside the plain vectorised formula and beside a copy of the array, in one run.

Prints, for each shape, times in milliseconds (best of several) and the two ratios that matter.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from timing import best

from hyplearn.tangent import frame_coordinates, implicit_rows, z_features
from support import naive


def main():
    rng = np.random.default_rng(0)
    print(f"{'shape':>14} {'copy':>8} {'NumPy':>8} {'frame':>8} {'z':>8} {'implicit':>8}   NumPy/frame  frame/copy")
    for n, d in ((1_000_000, 2), (1_000_000, 10), (100_000, 100), (20_000, 1000)):
        X = rng.standard_normal((n, d))
        X *= 0.95 * rng.uniform(0, 1, (n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
        p = 0.4 * X[0] / np.linalg.norm(X[0])
        copy, plain, frame, z, implicit = (
            best(f)
            for f in (
                X.copy,
                lambda X=X, p=p: naive.frame_coordinates(X, p, 1.0),
                lambda X=X, p=p: frame_coordinates(X, p),
                lambda X=X, p=p: z_features(X, p),
                lambda X=X, p=p: implicit_rows(X, p),
            )
        )
        print(
            f"{n:>9} × {d:<4} {copy:8.1f} {plain:8.1f} {frame:8.1f} {z:8.1f} {implicit:8.1f}"
            f"   {plain / frame:11.1f} {frame / copy:11.1f}"
        )


if __name__ == "__main__":
    main()
