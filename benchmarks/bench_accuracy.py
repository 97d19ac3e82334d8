"""Accuracy up to the rim: largest relative error against mpmath, of ours and of the paper's formulas in float64.

Each column is a place in the ball; each cell the worst over d in {2, 10, 1000} and c in {0.3, 1, 5}.
"""

import sys
from pathlib import Path

import numpy as np
from mpmath import mpf

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from hyplearn import geometry, tangent
from support import exact, naive
from support.balls import CURVATURES, at_gap

# Gap of x, gap of p, distance between them where they are close.
PLACES = {
    "x at 1e-1": (1e-1, 0.5, None),
    "x at 1e-8": (1e-8, 0.5, None),
    "both at 1e-8": (1e-8, 1e-8, None),
    "both at 1e-15": (1e-15, 1e-15, None),
    "1e-8 apart": (0.5, 0.5, 1e-8),
    "1e-15 apart": (0.5, 0.5, 1e-15),
}


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


def the_papers(x, p, c):
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


def truth(x, p, c):
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


def error(computed, due):
    return exact.relative_error(computed, due) if np.all(np.isfinite(computed)) else np.nan


def main():
    rng = np.random.default_rng(0)
    tables = {"hyplearn": {}, "the paper's formulas": {}}
    for place, (gap_x, gap_p, apart) in PLACES.items():
        for d in (2, 10, 1000):
            for c in CURVATURES:
                for _ in range(2 if d > 100 else 6):
                    x, p = at_gap(rng, d, gap_x, c), at_gap(rng, d, gap_p, c)
                    x = x if apart is None else p + apart * at_gap(rng, d, 0, c)
                    due = truth(x, p, c)
                    for name, f in (("hyplearn", ours), ("the paper's formulas", the_papers)):
                        for operation, value in f(x, p, c).items():
                            cell = tables[name].setdefault(operation, {}).setdefault(place, [])
                            cell.append(error(value, due[operation]))
    for name, table in tables.items():
        print(f"\n{name:22}" + "".join(f"{place:>15}" for place in PLACES))
        for operation, row in table.items():
            print(f"  {operation:20}" + "".join(f"{np.max(row[place]):15.1e}" for place in PLACES))


if __name__ == "__main__":
    main()
