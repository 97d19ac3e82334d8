"""Accuracy near the boundary of the ball: largest relative error against mpmath.

Our functions and the paper's formulas are compared in float64; errors are in units of its machine epsilon. Each column
is a position in the ball: "x at 1e-8" means a point with gap 1e-8. Each entry is the maximum over d in {2, 10, 1000}
and c in {0.3, 1, 5}; nan means that a result is not finite.
"""

import sys
from pathlib import Path

import numpy as np
from mpmath import mpf
from timing import Ratio, results

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from hyplearn import geometry, tangent
from support import exact, naive
from support.balls import CURVATURES, at_gap

# Positions: gap of x, gap of p, and the distance between x and p if they are close.
POSITIONS = {
    "x at 1e-1": (1e-1, 0.5, None),
    "x at 1e-8": (1e-8, 0.5, None),
    "both at 1e-8": (1e-8, 1e-8, None),
    "both at 1e-15": (1e-15, 1e-15, None),
    "1e-8 apart": (0.5, 0.5, 1e-8),
    "1e-15 apart": (0.5, 0.5, 1e-15),
}
EPSILON = float(np.finfo(float).eps)


def ours(x, p, c):
    rows = tangent.frame_coordinates(x[None], p, c=c), tangent.z_features(x[None], p, c=c), tangent.eta(x[None], p, c=c)
    return {
        "gap": geometry.gap(x, c=c),
        "distance": geometry.distance(x, p, c=c),
        "log_map": geometry.log_map(x, p, c=c),
        "mobius_add": geometry.mobius_add(-p, x, c=c),
        "midpoint": geometry.midpoint(x, p, c=c),
        "frame": rows[0][0],
        "z": rows[1][0],
        "eta": rows[2][0],
    }


def from_paper(x, p, c):
    with np.errstate(all="ignore"):
        return {
            "gap": naive.gap(x, c),
            "distance": naive.distance(x, p, c),
            "log_map": naive.log_map(x, p, c),
            "mobius_add": naive.mobius_add(-p, x, c),
            "frame": naive.frame_coordinates(x, p, c),
            "z": naive.eta(x, p, c) * naive.log_map(x, p, c),
            "eta": naive.eta(x, p, c),
        }


def exact_values(x, p, c):
    x, p, c = exact.vector(x), exact.vector(p), mpf(c)
    return {
        "gap": exact.gap(x, c),
        "distance": exact.distance(x, p, c),
        "log_map": exact.log_map(x, p, c),
        "mobius_add": exact.mobius_add(exact.minus(p), x, c),
        "midpoint": exact.midpoint(x, p, c),
        "frame": exact.frame(x, p, c),
        "z": exact.z(x, p, c),
        "eta": exact.eta(x, p, c),
    }


def error(computed, expected):
    """Return the relative error in units of the machine epsilon."""
    return exact.relative_error(computed, expected) / EPSILON if np.all(np.isfinite(computed)) else np.nan


def main(record):
    rng = np.random.default_rng(0)
    tables = {"hyplearn": {}, "the paper's formulas": {}}
    for position, (gap_x, gap_p, apart) in POSITIONS.items():
        for d in (2, 10, 1000):
            for c in CURVATURES:
                for _ in range(2 if d > 100 else 6):
                    x, p = at_gap(rng, d, gap_x, c), at_gap(rng, d, gap_p, c)
                    x = x if apart is None else p + apart * at_gap(rng, d, 0, c)
                    expected = exact_values(x, p, c)
                    for name, f in (("hyplearn", ours), ("the paper's formulas", from_paper)):
                        for operation, value in f(x, p, c).items():
                            errors = tables[name].setdefault(operation, {}).setdefault(position, [])
                            errors.append(error(value, expected[operation]))
    for name, table in tables.items():
        for operation, row in table.items():
            worst = {position: float(np.max(errors)) for position, errors in row.items()}
            record(name, operation, **{position: Ratio(value) for position, value in worst.items()})


if __name__ == "__main__":
    with results("accuracy") as record:
        main(record)
