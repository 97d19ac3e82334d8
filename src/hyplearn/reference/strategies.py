"""Where the reference point p comes from.

A strategy is a function of the points, their labels (None where there are none), their weights (None where all are
equal) and c that returns one point of the ball. Those in ``STRATEGIES`` are known to estimators by name and take the
number of threads too; whoever has a better idea passes a function.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hyplearn.geometry import (
    closest_points,
    distance,
    frechet_mean,
    gap,
    geodesic,
    log_map,
    midpoint,
    project,
    translate,
)
from hyplearn.geometry.border import as_rows, check_c
from hyplearn.geometry.closest import ClosestPoints, HalfSpace
from hyplearn.geometry.hull import hull_midpoint
from hyplearn.geometry.kernels import gaps
from hyplearn.geometry.mean import FEW_DIMENSIONS, mean_and_variance
from hyplearn.rows import HyperboloidRows, Rows
from hyplearn.rows.subsample import standing, standing_strides
from hyplearn.solvers.svm.solve import solve_svm
from hyplearn.tangent import implicit_rows, z_dot
from hyplearn.types import Array, Points

__all__ = ["STRATEGIES", "Separation", "closest_points", "reference_point", "separable"]

Strategy: TypeAlias = Callable[[Array, Array | None, Array | None, float], Array]
Reference: TypeAlias = str | Array | Strategy
# In the disk a boundary this far off leaves a twentieth of the directions behind it. Fashion-MNIST and the mammals lose
# accuracy beyond it, and little is gained: who weighs a class so low does not want to see it.
FARTHEST_SHIFT = 2.5
# Proven distance of the class means from the true ones. In few dimensions they are nearer by far: a last step, which
# is exact there, squares it.
MEAN_TOL, MEAN_TOL_OF_MANY_DIMENSIONS = 1e-7, 1e-11
# Cost of a row in the convex fit of "boundary": with 1 the 231 rows of Olsson's cells lose two points and more.
FIT_COST = 0.005
# Duality gap of that fit: its last Newton step then ends at the exact solution, whatever the order of the rows. A
# sample needs no such care.
FIT_TOL, SAMPLE_TOL = 1e-10, 1e-3
# Rows of that fit: so many numbers in all, of which some beside the coordinates of a row, but so many rows for each
# dimension, and no more multiplications per pass (rows times squared dimension); beyond, some rows stand for all.
FIT_NUMBERS, NUMBERS_BESIDE, FIT_ROWS_PER_DIMENSION, FIT_WORK = 2**21, 8, 200, 6 * 10**9
# Numbers up to which hulls are looked at (in many dimensions that takes far longer than a fit), and rows made explicit,
# so many at a time.
HULL_NUMBERS = EXPLICIT_NUMBERS = 2**24
EXPLICIT_STEP = 2**14
# Rows of each class, also per dimension, whose hulls are tried first: where these meet, those of all rows do.
SAMPLE, SAMPLE_PER_DIMENSION = 2000, 8
# Gap at which such a sample is known to be apart: how far, all rows will tell.
APART = 0.1
# Gap at which the closest points of all rows are found: another order of rows, or some of them, ends as near.
CLOSEST_TOL = 1e-12


@dataclass(frozen=True)
class Separation:
    """Whether a geodesic hyperplane separates two classes, with the proof either way.

    Attributes
    ----------
    separable : bool
        Whether ``hyperplane`` has every row strictly on its side.
    hyperplane : tuple (w, p) or None
        The hyperplane halfway between the hulls, across their shortest connection: ``signed_distance(X, w, p)`` is
        positive for the rows of the class that sorts last, negative for the others. Its p is a point through which a
        separating hyperplane passes.
    witness : ndarray of shape (d,) or None
        Where not separable: a point of both hulls, up to half of ``distance``.
    margin : float
        Least hyperbolic distance of a row to the hyperplane, computed from all rows; 0 without one.
    distance, lower_bound : float
        The distance of the hulls lies between ``lower_bound``, which is proven, and ``distance``.
    """

    separable: bool
    hyperplane: HalfSpace | None
    witness: Array | None
    margin: float
    distance: float
    lower_bound: float


def separable(X: Points, y: Any, *, c: float = 1.0) -> Separation:
    """Find out whether any geodesic hyperplane, through whatever point, separates two classes.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, float32 or float64.
    y : array-like of shape (n,)
        Labels, two different ones.
    c : float
        Absolute curvature.

    Returns
    -------
    Separation
        The hyperplane, or a common point of the two hulls as a witness that there is none. Hulls closer than about
        1e-9, where rounding decides, count as not separable unless the hyperplane has all rows on their sides.

    Examples
    --------
    >>> from hyplearn.reference import separable
    >>> X = [[-0.5, 0.3], [-0.5, -0.3], [0.5, 0.0], [0.7, 0.2]]
    >>> found = separable(X, [0, 0, 1, 1])
    >>> print(found.separable, found.margin > 0.9)
    True True
    >>> found = separable([[-0.5, 0.0], [0.5, 0.0], [0.0, -0.5], [0.0, 0.5]], [0, 0, 1, 1])
    >>> print(found.separable, found.witness.round(9) + 0.0)
    False [0. 0.]
    """
    X, c, y = as_rows(X, "X"), check_c(c), np.asarray(y)
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must hold one label for each of the {len(X)} rows of X; got shape {y.shape}.")
    classes = distinct(y)
    if len(classes) != 2:
        raise ValueError(
            f"Separation is a matter of exactly 2 classes; y holds {len(classes)}: {classes.tolist()[:5]}.\n"
            "Pass the labels of one against the rest, such as y == label."
        )
    last = y == classes[1]
    return _separation(X[np.flatnonzero(~last)], X[np.flatnonzero(last)], c)


def _separation(X_a: Array, X_b: Array, c: float, threads: int = 1) -> Separation:
    most = max(SAMPLE, SAMPLE_PER_DIMENSION * X_a.shape[1])
    strides = [max(1, len(X) // most) for X in (X_a, X_b)]
    if max(strides) > 1:
        pair = closest_points(X_a[:: strides[0]], X_b[:: strides[1]], c=c, tol=APART)
        if pair.status == "intersect":
            return _inseparable(pair, c)
    pair = closest_points(X_a, X_b, c=c, tol=CLOSEST_TOL, threads=threads)
    hyperplane = halfway(pair, c)
    if hyperplane is None:
        return _inseparable(pair, c)
    w, p = hyperplane
    with ThreadPoolExecutor(min(threads, 2)) as pool:
        least = pool.map(lambda X, w: z_dot(X, w, p, c=c, rooms=gaps(X, c)).min(), (X_a, X_b), (-w, w))
        heights = list(least)
    if not min(heights) > 0:
        return _inseparable(pair, c)
    margin = float(np.arcsinh(np.sqrt(c) * min(heights)) / np.sqrt(c))
    return Separation(True, (w, p), None, margin, pair.distance, pair.lower_bound)


def halfway(pair: ClosestPoints, c: float) -> HalfSpace | None:
    """The hyperplane (w, p) halfway between two hulls, w pointing to the second; None where they are not apart."""
    if pair.half_space_a is None or pair.half_space_b is None:
        return None
    (_, p_a), (_, p_b) = pair.half_space_a, pair.half_space_b
    p = midpoint(p_a, p_b, c=c)
    w = log_map(p_b, p, c=c)
    return w / (np.linalg.norm(w) or 1.0), p


def _inseparable(pair: ClosestPoints, c: float) -> Separation:
    return Separation(False, None, midpoint(pair.a, pair.b, c=c), 0.0, pair.distance, 0.0)


class _Problem(NamedTuple):
    """The rows that have a weight, and those of each class."""

    X: Array
    y: Array
    weights: Array
    members: list[Array]


def _problem(name: str, X: Array, y: Array | None, weights: Array | None, most: float = 2) -> _Problem:
    """Labelled rows, without those of weight 0, for the strategy of the given name."""
    if y is None:
        raise ValueError(f'reference="{name}" needs labels.\nPass y to fit, or take reference="mean".')
    if weights is None:
        weights = np.ones(len(X))
    elif not weights.all():
        present = np.flatnonzero(weights)
        X, y, weights = X[present], y[present], weights[present]
    classes = distinct(y)
    if len(classes) > most:
        raise too_many_classes(name, len(classes))
    return _Problem(X, y, weights, [np.flatnonzero(y == label) for label in classes])


def too_many_classes(name: str, n_classes: int) -> ValueError:
    """The error of a strategy that knows two classes."""
    return ValueError(
        f'reference="{name}" lies between 2 classes; got {n_classes}.\n'
        'Pass the labels of one against the rest, or take reference="means".'
    )


def distinct(y: Array) -> Array:
    """The labels in order; two numbers are found without sorting them all."""
    if y.size and y.dtype.kind in "fiu":
        ends = np.array([y.min(), y.max()])
        if ends[0] < ends[1] and np.all((y == ends[0]) | (y == ends[1])):
            return ends
    return np.unique(y)


def origin(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    """The centre of the ball, whatever the data."""
    return np.zeros(X.shape[1])


def mean(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    """The weighted Fréchet mean of all points."""
    return frechet_mean(X.astype(np.float64, copy=False), weights, c=c)


def means(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    r"""Between the means of two classes, where both are equally likely; of more classes, the mean of their means.

    On the geodesic from :math:`m_-` to :math:`m_+`, at the signed distance from its midpoint

    .. math:: \frac{s^2}{d(m_-, m_+)} \log \frac{W_-}{W_+}

    with W the weight of a class and :math:`s^2` the mean squared distance to the class means per dimension: the
    boundary of two round, equally wide classes, which leaves more room to the heavier one. As all boundaries pass
    through p, this is how weights of classes come to count. At most ``FARTHEST_SHIFT``, in units of the curvature's
    radius; a class without weight does not count.
    """
    X, y, weights, members = _problem("means", X, y, weights, most=np.inf)
    with ThreadPoolExecutor(min(threads, len(members))) as pool:
        classes = list(pool.map(lambda own: _class_mean(X, weights, own, c), members))
    return between(classes, c)


def between(classes: Sequence[tuple[Array, float, float]], c: float) -> Array:
    """The point of :func:`means`, given mean, variance and weight of every class."""
    centres = np.stack([mean for mean, _, _ in classes])
    apart = distance(centres[0], centres[-1], c=c)
    if len(classes) != 2 or apart == 0:
        return mean(centres, None, None, c)
    (_, variance_a, total_a), (_, variance_b, total_b) = classes
    spread = (total_a * variance_a + total_b * variance_b) / (total_a + total_b) / centres.shape[1]
    limit = FARTHEST_SHIFT / np.sqrt(c)
    shift = np.clip(spread / apart * np.log(total_a / total_b), -limit, limit)
    return geodesic(centres[0], centres[1], 0.5 + shift / apart, c=c)


def mean_tol(d: int) -> float:
    """The distance to which means of d dimensions are sought."""
    return MEAN_TOL if d <= FEW_DIMENSIONS else MEAN_TOL_OF_MANY_DIMENSIONS


def _class_mean(X: Array, weights: Array, members: Array, c: float) -> tuple[Array, float, float]:
    """The mean of some rows, their mean squared distance to it, and their weight; of many numbers without a copy."""
    total = float(weights[members].sum())
    if X.size <= EXPLICIT_NUMBERS:
        X, shares = X[members].astype(np.float64, copy=False), weights[members] / total
    else:
        shares = np.zeros(len(X))
        shares[members] = weights[members] / total
    return *mean_and_variance(X, gaps(X, c), shares, c, tol=mean_tol(X.shape[1])), total


def hull(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    """The paper's point: the midpoint of the closest vertices of the hulls of two classes, in up to five dimensions.

    Made for classes that a geodesic separates, and even there it may lie where none does; where classes overlap it is
    the midpoint of two stray rows. Weights do not count, but for those that are 0.
    """
    X, _, weights, members = _problem("hull", X, y, weights)
    if len(members) == 1:
        return mean(X, None, weights, c)
    return hull_midpoint(X[members[0]], X[members[1]], c=c).astype(np.float64)


def closest(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    """The midpoint of the closest points of the hulls of two classes: where one separates them, so does one through it.

    Where the hulls intersect, a point that both hold: which of them is arbitrary, and a boundary need not pass there.
    Weights do not count, but for those that are 0.
    """
    X, _, weights, members = _problem("closest", X, y, weights)
    if len(members) == 1:
        return mean(X, None, weights, c)
    found = _separation(X[members[0]], X[members[1]], c, threads)
    if found.hyperplane is not None:
        return found.hyperplane[1]
    assert found.witness is not None
    return found.witness


def boundary(X: Array, y: Array | None, weights: Array | None, c: float, threads: int = 1) -> Array:
    r"""A point of the boundary that a convex fit finds, p being free.

    Where a geodesic hyperplane separates the classes, the midpoint of the closest points of their hulls, as in
    :func:`closest`: one through p separates them too. Where they overlap, the functional

    .. math:: \min_u \tfrac12 \|u\|^2 + C \sum_i w_i \max(0, 1 - y_i \langle u, X_i \rangle)^2

    vanishes on a geodesic hyperplane, with :math:`X_i = (\cosh \rho_i, \sqrt c z_i)` the hyperboloid coordinates seen
    from the point of :func:`means`, to which the first term draws that hyperplane where rows are few. From the centre
    of the rows near it, :math:`\sum_i w_i X_i / (1 + e^{|\langle u, X_i \rangle|})` scaled back onto the hyperboloid,
    p is reached by the shortest way to the hyperplane; after ``FARTHEST_SHIFT``, in units of the curvature's radius,
    the way ends.

    Weight 0 is absence, weight k counts as k copies, and p moves with the points under isometries. Beyond
    ``HULL_NUMBERS`` numbers in X the hulls are left out, and beyond :func:`fit_rows` (2e5 in the disk, 2e4
    of 100 dimensions) some rows, as many of both classes, stand for all in the fit: there copies count up to the error
    of that sample.
    """
    everything = _problem("boundary", X, y, weights)
    if len(everything.members) == 1:
        return mean(everything.X, None, everything.weights, c)
    if X.size <= HULL_NUMBERS:
        first, second = (everything.X[own] for own in everything.members)
        found = _separation(first, second, c, threads)
        if found.hyperplane is not None:
            return found.hyperplane[1]
    assert y is not None
    sides = (y == distinct(y)[1]).astype(np.int64)
    strides = standing_strides(np.bincount(sides, minlength=2), fit_rows(X.shape[1]))
    kept = standing(0, sides, strides)
    weights = strides[sides[kept]] * (1.0 if weights is None else weights[kept])
    return convex_boundary(X[kept], sides[kept], weights, c, threads, sampled=bool(strides.max() > 1))


def fit_rows(d: int) -> int:
    """The most rows of d coordinates that a convex fit is made of."""
    wanted = max(FIT_NUMBERS // (d + NUMBERS_BESIDE), FIT_ROWS_PER_DIMENSION * d)
    return max(2, min(wanted, FIT_WORK // d**2))


def convex_boundary(X: Array, y: Array, weights: Array, c: float, threads: int, *, sampled: bool) -> Array:
    """The point of :func:`boundary` for classes that overlap; of a sample it need not be exact."""
    X, y, weights, members = _problem("boundary", X, y, weights)
    if len(members) == 1:
        return mean(X, None, weights, c)
    centre = means(X, y, weights, c, threads)
    sides = np.where(y == y[members[1][0]], 1.0, -1.0)
    rows = _hyperboloid_rows(X, sides, FIT_COST * weights, centre, c, threads)
    u = solve_svm(rows, loss="squared_hinge", tol=SAMPLE_TOL if sampled else FIT_TOL).w
    near = weights / (1 + np.exp(np.minimum(np.abs(rows @ u), 700.0)))
    Q = rows.weighted_sum(np.arange(len(near)), sides * near)
    return where_it_vanishes(u, Q, float(near.sum()), centre, c)


def _hyperboloid_rows(X: Array, y: Array, costs: Array, p: Array, c: float, threads: int) -> Rows:
    """Hyperboloid coordinates as seen from p, signed by y; explicit where they are not too many.

    These are z times √c, and cosh ρ, which is 1 less the base of z.
    """
    z = implicit_rows(X, p, features="z", c=c)
    signed = np.sqrt(c) * y
    rows = HyperboloidRows(z.X, p, signed * z.along, signed * z.base, costs, times=y * (1 - z.base), threads=threads)
    if X.size > EXPLICIT_NUMBERS:
        return rows
    explicit = np.empty(rows.shape)
    for start in range(0, len(X), EXPLICIT_STEP):
        cut = slice(start, start + EXPLICIT_STEP)
        explicit[cut] = rows[cut]
    return replace(Rows.explicit(explicit, costs), threads=threads)


def where_it_vanishes(u: Array, Q: Array, weight: float, centre: Array, c: float) -> Array:
    r"""The point nearest to Q where ``⟨u, X⟩ = 0``; hyperboloid coordinates are those seen from the centre.

    Q is a sum of points with the given weight in all, scaled back onto the hyperboloid. In Minkowski's product it is no
    shorter than that weight (the triangle inequality, reversed), which stands in where rounding loses its length, far
    from the centre. At Q, in the direction e and at the distance ρ from the centre, the functional has

    .. math:: f = u_0 \cosh \rho + \langle u, e \rangle \sinh \rho, \qquad
              g = \bigl(u_0 \sinh \rho + \langle u, e \rangle \cosh \rho,\; u - \langle u, e \rangle e\bigr)

    for its value and its slopes along e and across, and :math:`f \cosh t + \|g\| \sinh t` is its value at the distance
    t from Q in the direction g.
    """
    far = np.linalg.norm(Q[1:])
    e = Q[1:] / (far or 1.0)
    sinh = far / max(np.sqrt(max(Q[0] - far, 0.0)) * np.sqrt(Q[0] + far), weight)
    cosh = np.hypot(1.0, sinh)
    f, along = u[0] * cosh + (u[1:] @ e) * sinh, u[0] * sinh + (u[1:] @ e) * cosh
    across = u[1:] - (u[1:] @ e) * e
    length = np.hypot(along, np.linalg.norm(across))
    limit = np.tanh(FARTHEST_SHIFT)
    t = np.arctanh(np.clip(-f / length, -limit, limit)) if length > 0 else 0.0
    slope, across = along / (length or 1.0), across / (length or 1.0)
    time = np.cosh(t) * cosh + np.sinh(t) * slope * sinh
    space = (np.cosh(t) * sinh + np.sinh(t) * slope * cosh) * e + np.sinh(t) * across
    return translate(project(space / (1 + time) / np.sqrt(c), c=c), centre, c=c)


STRATEGIES: dict[str, Callable[..., Array]] = {
    "origin": origin, "mean": mean, "means": means, "hull": hull, "closest": closest, "boundary": boundary,
}  # fmt: skip


def reference_point(
    reference: Reference, X: Array, y: Array | None, weights: Array | None, c: float, *, threads: int = 1
) -> Array:
    """The point that ``reference`` (a strategy's name, a function like one, or the point itself) stands for.

    Strategies work in up to ``threads`` threads; the point does not depend on their number.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.reference import reference_point
    >>> X, y = np.array([[0.0, 0.0], [0.8, 0.0]]), np.array([0, 1])
    >>> reference_point("means", X, y, None, 1.0)
    array([0.5, 0. ])
    >>> reference_point(lambda X, y, weights, c: X[0], X, y, None, 1.0)
    array([0., 0.])
    """
    if isinstance(reference, str):
        if reference not in STRATEGIES:
            raise ValueError(
                f"reference={reference!r} is no known strategy.\n"
                f"Choose one of {sorted(STRATEGIES)}, or pass a point as an array of shape ({X.shape[1]},)."
            )
        return STRATEGIES[reference](X, y, weights, c, threads)
    if callable(reference):
        name = getattr(reference, "__name__", repr(reference))
        try:
            return _checked_point(reference(X, y, weights, c), X.shape[1], c)
        except _NoPointError as problem:
            raise ValueError(
                f"reference={name} must return one point of the ball, an array of shape ({X.shape[1]},); {problem}\n"
                "It is called with the points, labels of ±1, weights (None where equal) and c."
            ) from None
    return checked_point(reference, X.shape[1], c)


def checked_point(point: Any, d: int, c: float) -> Array:
    """The point itself, as float64, if it is one of the ball in d dimensions; else an error that says why not."""
    try:
        return _checked_point(point, d, c)
    except _NoPointError as problem:
        raise ValueError(
            f"The reference point must have shape ({d},), one coordinate per feature of X; {problem}\n"
            f"Pass a point of the ball, a function, or one of {sorted(STRATEGIES)}."
        ) from None


class _NoPointError(ValueError):
    """What was given for a point, and why it is none."""


def _checked_point(point: Any, d: int, c: float) -> Array:
    try:
        p = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError):
        raise _NoPointError(f"got {point!r:.80}.") from None
    if p.shape != (d,):
        raise _NoPointError(f"got {p.shape}.")
    try:
        gap(p, c=c)
    except ValueError as problem:
        raise _NoPointError(str(problem).splitlines()[0]) from None
    return p
