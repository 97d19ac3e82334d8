"""The widest margin over all geodesic hyperplanes: passes, time and interval, compared with separable().

The data are the paper's synthetic data with margins 0.01 and 0.5, and the same with 1 % of the rows moved to a gap of
1e-12. "separable" finds the bisector of the closest points of the hulls; "margin" is our margin over the bisector's.
"""

import numpy as np
from timing import Ratio, once, results, timed

from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import signed_distance
from hyplearn.reference import separable, widest_margin

SIZES = ((1000, 2, 9), (1_000_000, 2, 3), (100_000, 10, 3), (10_000, 100, 3), (100_000, 100, 1))


def datasets(n, d):
    """Name, points and labels of each data set; a row moved to the rim gets the label of the side where it ends up."""
    for margin in (0.01, 0.5):
        X, y, p, w = make_ball_classification(n, d, margin=margin, random_state=0)
        yield f"margin {margin}", X, y
    X = X.copy()
    X[::100] *= np.sqrt(1 - 1e-12) / np.linalg.norm(X[::100], axis=1, keepdims=True)
    yield "1 % at the rim", X, np.sign(signed_distance(X, w, p))


def main(record):
    for n, d, repeats in SIZES:
        for name, X, y in datasets(n, d):
            ours = timed(lambda X=X, y=y: widest_margin(X, y), repeats)
            hulls, bisector = once(lambda X=X, y=y: separable(X, y))
            found = widest_margin(X, y)
            check, (lower, upper) = once(lambda found=found, X=X, y=y: found.verify(X, y))
            record(
                "widest margin", f"{n} × {d}, {name}", passes=found.n_passes, status=found.status, lower=lower,
                width=upper - lower, margin=found.lower / bisector.margin if bisector.separable else None,
                ours=ours, separable=hulls, verify=check, ratio=Ratio(ours.minimum / hulls.minimum),
            )  # fmt: skip


if __name__ == "__main__":
    with results("widest") as record:
        main(record)
