"""Where the reference point p comes from.

A strategy is a function of the points, their labels (None where there are none), their weights and c that returns one
point of the ball; it stands in ``STRATEGIES`` under the name by which estimators know it.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hyplearn.geometry import distance, frechet_mean, gap, geodesic
from hyplearn.geometry.arrays import Array

Strategy: TypeAlias = Callable[[Array, Array | None, Array | None, float], Array]
Reference: TypeAlias = str | Array
# In the disk a boundary this far off leaves a twentieth of the directions behind it. Fashion-MNIST and the mammals lose
# accuracy beyond it, and little is gained: who weighs a class so low does not want to see it.
FARTHEST_SHIFT = 2.5


def origin(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The centre of the ball, whatever the data."""
    return np.zeros(X.shape[1])


def mean(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The weighted Fréchet mean of all points."""
    return frechet_mean(X.astype(np.float64, copy=False), weights, c=c)


def means(X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    r"""Between the means of two classes, where both are equally likely; of more classes, the mean of their means.

    On the geodesic from :math:`m_-` to :math:`m_+`, at the signed distance from its midpoint

    .. math:: \frac{s^2}{d(m_-, m_+)} \log \frac{W_-}{W_+}

    with W the weight of a class and :math:`s^2` the mean squared distance to the class means per dimension: the
    boundary of two round, equally wide classes, which leaves more room to the heavier one. As all boundaries pass
    through p, this is how weights of classes come to count. At most ``FARTHEST_SHIFT``, in units of the curvature's
    radius; a class without weight does not count.
    """
    if y is None:
        raise ValueError('reference="means" needs labels.\nPass y to fit, or take reference="mean".')
    weights = np.ones(len(X)) if weights is None else weights
    members = [m for m in ((y == label) & (weights > 0) for label in np.unique(y)) if m.any()]
    centres = np.stack([mean(X[m], None, weights[m], c) for m in members])
    apart = distance(centres[0], centres[-1], c=c)
    if len(members) != 2 or apart == 0:
        return mean(centres, None, None, c)
    total = [weights[m].sum() for m in members]
    spread = sum(weights[m] @ distance(X[m], centre, c=c) ** 2 for m, centre in zip(members, centres, strict=True))
    shift = spread / sum(total) / X.shape[1] / apart * np.log(total[0] / total[1])
    limit = FARTHEST_SHIFT / np.sqrt(c)
    return geodesic(centres[0], centres[1], 0.5 + np.clip(shift, -limit, limit) / apart, c=c)


STRATEGIES: dict[str, Strategy] = {"origin": origin, "mean": mean, "means": means}


def reference_point(reference: Reference, X: Array, y: Array | None, weights: Array | None, c: float) -> Array:
    """The point that ``reference`` (a strategy's name, or the point itself) stands for.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.reference import reference_point
    >>> X, y = np.array([[0.0, 0.0], [0.8, 0.0]]), np.array([0, 1])
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
