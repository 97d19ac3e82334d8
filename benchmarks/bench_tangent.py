"""Time of frame coordinates: our kernel compared with the vectorised NumPy formula and with a copy of the array."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from timing import results, timed

from hyplearn.tangent import frame_coordinates, implicit_rows, z_features
from support import naive


def main(record):
    rng = np.random.default_rng(0)
    for n, d in ((1_000_000, 2), (1_000_000, 10), (100_000, 100), (20_000, 1000)):
        X = rng.standard_normal((n, d))
        X *= 0.95 * rng.uniform(0, 1, (n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
        p = 0.4 * X[0] / np.linalg.norm(X[0])
        copy, plain, frame, z, implicit = (
            timed(f)
            for f in (
                X.copy,
                lambda X=X, p=p: naive.frame_coordinates(X, p, 1.0),
                lambda X=X, p=p: frame_coordinates(X, p),
                lambda X=X, p=p: z_features(X, p),
                lambda X=X, p=p: implicit_rows(X, p),
            )
        )
        columns = {"copy": copy, "NumPy": plain, "frame": frame, "z": z, "implicit": implicit}
        ratios = {"frame / NumPy": frame / plain, "frame / copy": frame / copy, "implicit / copy": implicit / copy}
        record("features of all rows", f"{n} × {d}", **columns, **ratios)


if __name__ == "__main__":
    with results("tangent") as record:
        main(record)
