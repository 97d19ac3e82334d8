"""Where the reference point p comes from.

A strategy is a function of the points, their labels (None where there are none), their weights and c that returns one
point of the ball; it stands in ``STRATEGIES`` under the name by which estimators know it.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hyplearn.geometry import frechet_mean, gap
from hyplearn.geometry.arrays import Array

Strategy: TypeAlias = Callable[[Array, Array | None, Array | None, float], Array]
Reference: TypeAlias = str | Array


def origin(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The centre of the ball, whatever the data."""
    return np.zeros(X.shape[1])


def mean(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The weighted Fréchet mean of all points."""
    return frechet_mean(X.astype(np.float64, copy=False), weights, c=c)


def means(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The Fréchet mean of the classes' Fréchet means, so that a large class does not pull p towards itself.

    For two classes it is the midpoint between their means. A class without weight does not count.
    """
    if y is None:
        raise ValueError('reference="means" needs labels.\nPass y to fit, or take reference="mean".')
    weights = np.ones(len(X)) if weights is None else weights
    members = [(y == label) & (weights > 0) for label in np.unique(y)]
    return mean(np.stack([mean(X[m], None, weights[m], c) for m in members if m.any()]), None, None, c)


STRATEGIES: dict[str, Strategy] = {"origin": origin, "mean": mean, "means": means}


def reference_point(reference: Reference, X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The point that ``reference`` (a strategy's name, or the point itself) stands for.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.reference import reference_point
    >>> X, y = np.array([[0.0, 0.0], [0.0, 0.0], [0.8, 0.0]]), np.array([0, 0, 1])
    >>> reference_point("means", X, y, None, 1.0)
    array([0.5, 0. ])
    """
    if isinstance(reference, str):
        if reference not in STRATEGIES:
            raise ValueError(
                f"reference={reference!r} is no known strategy.\n"
                f"Choose one of {sorted(STRATEGIES)}, or pass a point as an array of shape ({X.shape[1]},)."
            )
        return STRATEGIES[reference](X, y, weights, c)
    p = np.asarray(reference, dtype=np.float64)
    if p.shape != X.shape[1:]:
        raise ValueError(
            f"The reference point must have shape ({X.shape[1]},), one coordinate per feature of X; got {p.shape}.\n"
            f"Pass a point of the ball, or one of {sorted(STRATEGIES)}."
        )
    gap(p, c=c)  # refuses a point outside the ball
    return p
