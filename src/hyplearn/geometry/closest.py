r"""The closest points of two convex hulls in any dimension, with a proven error bound.

Half-spaces are convex, so a half-space that contains all rows of a set contains their hull. If two disjoint half-spaces
contain one hull each, and their boundaries have a common perpendicular, then the distance between the boundaries along
that perpendicular is a lower bound on the distance between the hulls. Here, the common perpendicular is the geodesic L
through a point a of the first hull and a point b of the second hull, which are improved step by step. For c = 1, let
:math:`k_i` be the Klein coordinates about a of row i of the first set, and let u be the unit vector at a that points
along L to b. Then no row of the first set lies beyond the hyperplane that is perpendicular to L at the distance

.. math:: \delta_a = \operatorname{artanh} \max_i \langle k_i, u \rangle

from a towards b. Let :math:`\delta_b` be the corresponding distance from b towards a for the second set. The distance
between the hulls is then at least :math:`d(a, b) - \delta_a - \delta_b`. Computing this bound takes one pass over the
rows. If :math:`\delta_a` and :math:`\delta_b` are zero, a and b are the closest points.

Newton's method moves a and b within the hulls of a few rows of each set, which are called the working rows. Each pass
over all rows adds the rows of the first set that lie farthest beyond a, and those of the second set that lie farthest
beyond b, to the working rows. In Klein coordinates about a and b the hulls are Euclidean hulls. Let :math:`\eta_a` be
the displacement of a along L, and :math:`\tau_a` its displacement orthogonal to L. Let :math:`\eta_b` and
:math:`\tau_b` be the displacements of b, transported to a. To second order in all displacements, the cosh of the new
distance d' between a and b, divided by the cosh of the old distance d, is a convex quadratic function, which is smooth
even if the hulls intersect:

.. math:: \frac{\cosh d'}{\cosh d} = \tfrac12 (\eta_b - \eta_a + \tanh d)^2 + \tfrac12 \|\tau_a\|^2
          + \tfrac12 \|\tau_b\|^2 - \frac{\langle \tau_a, \tau_b \rangle}{\cosh d} + \text{const}
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numba import njit

from hyplearn.geometry.ball import distance, gap, log_map, midpoint, ray, step_along, translate, transport
from hyplearn.geometry.border import check_two_sets
from hyplearn.geometry.hull import central_row, klein_about
from hyplearn.geometry.kernels import row_dot, row_gaps, squared_distance, squared_distances, unrolled
from hyplearn.geometry.quadratic import EPS, TOUCHING, minimise
from hyplearn.types import Array, Points

HalfSpace: TypeAlias = tuple[Array, Array]
Status: TypeAlias = Literal["optimal", "intersect", "max_iter"]
# The artanh of a row's height (see _heights) is the distance, for c = 1, by which the row lies beyond the current point
# of its hull. If the height is 1 up to rounding, FARTHEST is used as the distance instead. It exceeds all distances
# between float64 points.
FARTHEST = 80.0
# If the gap 1 - c‖x‖² of the midpoint between the central rows of the two sets is smaller than this, all points are
# first translated, so that the midpoint lies at the origin, where floats are dense.
NEAR_THE_RIM = 0.1
# NEWTON_STEPS is the maximum number of Newton steps on one set of working rows. SMALLEST_STEP is the minimum fraction
# of a Newton step in the line search.
NEWTON_STEPS = 30
SMALLEST_STEP = 1e-8
# If more than one thread is allowed and the array of one set has more elements than this, the passes over the two sets
# run in two threads. With fewer elements, a pass takes less time than handing it to a thread.
THREADED_NUMBERS = 2**15


@dataclass(frozen=True)
class ClosestPoints:
    """The closest points found in two convex hulls, and a lower bound on the distance between the hulls.

    Attributes
    ----------
    a, b : ndarray of shape (d,)
        The closest points. If the hulls intersect, a and b are equal up to rounding.
    support_a, support_b : ndarray of int
        Indices of the rows of ``X_a`` whose weighted combination is a, and of the rows of ``X_b`` whose weighted
        combination is b.
    weights_a, weights_b : ndarray
        Weights of these rows. The weights of each set are positive and sum to 1. The point a is the weighted sum of the
        hyperboloid coordinates of ``X_a[support_a]``, scaled back onto the hyperboloid, and likewise for b.
    distance : float
        Hyperbolic distance between a and b, an upper bound on the distance between the hulls.
    lower_bound : float
        Lower bound on the distance between the hulls, valid up to rounding. It is the distance between the two
        half-spaces, or 0 if no half-spaces were found.
    half_space_a, half_space_b : tuple (w, p) or None
        The half-spaces, or None if none were found. Each is given by its boundary, the hyperplane H(w, p) through p
        with normal w, which points out of the half-space. Up to rounding,
        ``signed_distance(X_a, *half_space_a, c=c) <= 0`` for all rows, and likewise for b. Each w points to the other
        hull along the geodesic between the two points p, which is the common perpendicular of the boundaries.
    status : str
        "optimal" if ``distance - lower_bound`` is within the tolerance. "intersect" if the hulls are considered to have
        a common point: a and b are equal up to rounding, or no step brings them closer and their distance is within
        the tolerance. "max_iter" otherwise. The bounds are valid in all three cases.
    n_iter : int
        Number of iterations, each of which takes at most one pass over all rows.
    """

    a: Array
    b: Array
    support_a: Array
    support_b: Array
    weights_a: Array
    weights_b: Array
    distance: float
    lower_bound: float
    half_space_a: HalfSpace | None
    half_space_b: HalfSpace | None
    status: Status
    n_iter: int

    @property
    def gap(self) -> float:
        """Difference between ``distance`` and ``lower_bound``."""
        return self.distance - self.lower_bound


def closest_points(
    X_a: Points, X_b: Points, *, c: float = 1.0, tol: float = 1e-9, max_iter: int = 200, threads: int = 1
) -> ClosestPoints:
    """Find the closest points of two convex hulls: the pair with the smallest hyperbolic distance.

    Parameters
    ----------
    X_a, X_b : array-like of shape (n, d)
        Points of the ball, as float32 or float64, in any dimension.
    c : float
        Absolute curvature.
    tol : float
        Largest accepted difference between the distance and its lower bound, relative to the distance if the distance
        is above 1. A difference of at most ``8 eps (1 / g_a + 1 / g_b) / √c``, where ``g_a = 1 - c‖a‖²`` is the gap of
        a, is always accepted, because it is about the spacing of float64 points around a and b.
    max_iter : int
        Maximum number of passes over all rows.
    threads : int
        Number of threads. With two or more, the passes over X_a and X_b run in parallel if one of them is large.

    Returns
    -------
    ClosestPoints

    Notes
    -----
    If both sets lie near the same part of the rim, they are first translated to the origin, where floats are dense. The
    resulting points a and b are then translated back, and rounded to the spacing of floats near the rim. If the
    distance between the hulls is below about 1e-8, the status may be "max_iter" with a difference of about 1e-9 between
    the distance and its lower bound, because the direction between two close points loses digits. Hulls with a distance
    below 1e-12 (for c = 1) are considered to intersect.

    Examples
    --------
    >>> from hyplearn.geometry import closest_points
    >>> pair = closest_points([[-0.5, 0.3], [-0.5, -0.3]], [[0.5, 0.0], [0.7, 0.2]])
    >>> print(pair.status, pair.a.round(3), pair.b)
    optimal [-0.448 -0.   ] [0.5 0. ]
    >>> print(pair.support_a, pair.weights_a)
    [0 1] [0.5 0.5]
    """
    (X_a, gaps_a), (X_b, gaps_b), c = check_two_sets(X_a, X_b, c)
    if not tol > 0:
        raise ValueError(
            f"tol must be a positive number; got {tol}.\n"
            "Pass the largest acceptable difference between the distance and its lower bound, such as 1e-9."
        )
    if max_iter < 1:
        raise ValueError(
            f"max_iter must be at least 1; got {max_iter}.\n"
            "Pass the maximum number of passes over all rows, such as 200."
        )
    middle = midpoint(central_row(X_a, c), central_row(X_b, c), c=c)
    near_the_rim = gap(middle, c=c) < NEAR_THE_RIM
    if near_the_rim:
        moved_a, moved_b = (translate(X.astype(np.float64), -middle, c=c) for X in (X_a, X_b))
        A, B = (_Hull(X, row_gaps(X, c), np.zeros_like(middle), c) for X in (moved_a, moved_b))
    else:
        A, B = _Hull(X_a, gaps_a, middle, c), _Hull(X_b, gaps_b, middle, c)
    with ThreadPoolExecutor(min(threads, 2)) as pool:
        threaded = threads > 1 and max(X_a.size, X_b.size) > THREADED_NUMBERS
        pair = _descend(A, B, tol, max_iter, pool.map if threaded else map)
    return _move_back(pair, X_a, X_b, middle, c) if near_the_rim else pair


def _descend(A: "_Hull", B: "_Hull", tol: float, max_iter: int, each: Callable[..., Any]) -> ClosestPoints:
    """Alternate Newton's method on the working rows with passes over all rows, until tol or max_iter is reached."""
    # The two half-spaces that prove the lower bound ``lower``. Each is given by its hull, and by the arguments u and
    # delta of _Hull.half_space.
    bounds: list[tuple[_Hull, Array, float]] = []
    status: Status = "max_iter"
    lower, goal, n_iter = 0.0, np.inf, 0
    while n_iter < max_iter:
        n_iter += 1
        start = A.point, B.point
        A, B = _newton(A, B, goal)
        apart, spacing = _apart(A, B), 8 * EPS * (1 / A.gap + 1 / B.gap)
        if apart <= TOUCHING:
            status = "intersect"
            break
        u_a, u_b = A.direction(B.point), B.direction(A.point)
        delta_a, delta_b = each(_Hull.add_rows_beyond, (A, B), (u_a, u_b))
        if apart - delta_a - delta_b > lower:
            lower = apart - delta_a - delta_b
            bounds = [(A, u_a, delta_a), (B, u_b, delta_b)]
        if lower > 0 and apart - lower <= max(tol * max(np.sqrt(A.c), apart), spacing):
            status = "optimal"
            break
        at_rest = np.array_equal(start, (A.point, B.point))
        if at_rest and goal == 0.0:
            # Newton's method could not move the points even with the stopping threshold ``goal = 0``, so only rounding
            # errors are left.
            status = "intersect" if apart <= max(tol * np.sqrt(A.c), spacing) else "max_iter"
            break
        goal = 0.0 if at_rest and goal < np.inf else 0.1 * (delta_a + delta_b)
    lower = min(lower, apart)
    half_spaces: list[Any] = [hull.half_space(u, delta) for hull, u, delta in bounds] or [None, None]
    return ClosestPoints(
        a=A.point, b=B.point, distance=float(apart / np.sqrt(A.c)), lower_bound=float(lower / np.sqrt(A.c)),
        support_a=A.rows[A.weights > 0], support_b=B.rows[B.weights > 0],
        weights_a=A.weights[A.weights > 0], weights_b=B.weights[B.weights > 0],
        half_space_a=half_spaces[0], half_space_b=half_spaces[1], status=status, n_iter=n_iter,
    )  # fmt: skip


def _apart(A: "_Hull", B: "_Hull") -> float:
    """Compute the distance between the current points of the two hulls, in units of 1/√c."""
    return float(np.sqrt(A.c) * distance(A.point, B.point, c=A.c))


def _move_back(pair: ClosestPoints, X_a: Array, X_b: Array, middle: Array, c: float) -> ClosestPoints:
    """Convert the result for points translated by ``-middle`` to the result for the original points."""
    a, b = translate(pair.a, middle, c=c), translate(pair.b, middle, c=c)
    apart = pair.distance
    if len(pair.support_a) == len(pair.support_b) == 1:
        # Both points are rows, so use their original coordinates, which are more accurate than translated coordinates.
        a, b = (X[rows[0]].astype(np.float64) for X, rows in ((X_a, pair.support_a), (X_b, pair.support_b)))
        apart = float(distance(a, b, c=c))
    return replace(
        pair, a=a, b=b, distance=apart, lower_bound=max(apart - pair.gap, 0.0),
        half_space_a=_translate_half_space(pair.half_space_a, middle, c),
        half_space_b=_translate_half_space(pair.half_space_b, middle, c),
    )  # fmt: skip


def _translate_half_space(half_space: HalfSpace | None, middle: Array, c: float) -> HalfSpace | None:
    """Translate a half-space by the hyperbolic translation that takes the origin to ``middle``.

    For accuracy, the new normal is computed from the images of two points on the geodesic along the old normal.
    """
    if half_space is None:
        return None
    w, p = half_space
    moved = translate([p, ray(w, p, 1 / np.sqrt(c), c=c)], middle, c=c)
    return _unit(log_map(moved[1], moved[0], c=c)), moved[0]


def _unit(v: Array) -> Array:
    return v / np.linalg.norm(v)


class _Hull:
    """A convex hull and its current point, which is a weighted combination of a few rows, the working rows."""

    def __init__(self, X: Array, gaps: Array, towards: Array, c: float) -> None:
        self.X, self.gaps, self.c = X, gaps, c
        squares = squared_distances(X, towards)
        self.rows, self.weights = np.array([np.argmin(squares / gaps)]), np.ones(1)
        self.point = self._working_rows()[0]

    def _working_rows(self) -> Array:
        return self.X[self.rows].astype(np.float64)

    @property
    def gap(self) -> float:
        """Gap ``1 - c‖x‖²`` of the current point."""
        return float(row_gaps(self.point[None], self.c)[0])

    def klein(self) -> tuple[Array, Array]:
        """Return the Klein coordinates (for c = 1) of the working rows about the current point, and the rows' weights.

        The weights sum to 1. The weighted mean of the coordinates is 0 up to rounding, because the current point is the
        weighted mean of the working rows and has the coordinates 0.
        """
        K, times = klein_about(self._working_rows(), self.gaps[self.rows], self.point, self.c, np.sqrt(self.c))
        weights = self.weights * times
        return K, weights / weights.sum()

    def moved_to(self, weights: Array) -> "_Hull":
        """Return a copy whose current point is the weighted mean of the working rows in Klein coordinates."""
        new = copy(self)
        _, times = klein_about(self._working_rows(), self.gaps[self.rows], self.point, self.c)
        new.weights = weights / times
        new.weights /= new.weights.sum()
        if np.count_nonzero(weights) == 1:
            new.point = self._working_rows()[np.argmax(weights)]
            return new
        # The weights were computed from Klein coordinates about the old point, which have rounding errors. Move to
        # the weighted mean in coordinates about the new point, and repeat this until the mean no longer changes.
        for _ in range(4):
            K, mixed = new.klein()
            k = mixed @ K
            length = float(np.linalg.norm(k))
            if length <= EPS:
                break
            far = np.arctanh(min(length, 1 - EPS)) / np.sqrt(self.c)
            new.point = step_along(0.5 * new.gap * far / length * k, new.point, c=self.c)
        return new

    def direction(self, other: Array) -> Array:
        """Return the unit vector at the current point that points to ``other``."""
        return _unit(log_map(other, self.point, c=self.c))

    def half_space(self, u: Array, delta: float) -> HalfSpace:
        """Return the half-space bounded by the hyperplane that is perpendicular to the geodesic along u.

        The hyperplane meets the geodesic at the distance ``delta`` (for c = 1) from the current point. The vector u
        points out of the half-space.
        """
        p = ray(u, self.point, delta / np.sqrt(self.c), c=self.c)
        return _unit(transport(u, self.point, p, c=self.c)), p

    def add_rows_beyond(self, u: Array) -> float:
        """Add the rows that lie farthest beyond the current point, in the direction u, to the working rows.

        Return the largest distance (for c = 1) by which a row lies beyond the point (see :func:`_beyond`), or 0 if no
        row does. If there are already many working rows, those of weight 0 are dropped before the new rows are added.
        """
        heights = np.empty(len(self.X))
        _heights(self.X, unrolled(self.point), u, self.gaps, self.gap, self.c, heights)
        highest = heights.max()
        few = 8 + self.X.shape[1] // 8
        new = np.flatnonzero(heights > highest / 2) if highest > 0 else np.array([], dtype=int)
        if len(new) > few:
            new = new[np.argpartition(heights[new], -few)[-few:]]
        new = np.setdiff1d(new, self.rows)
        used = self.weights > 0 if len(self.rows) > 4 * few else np.ones(len(self.rows), dtype=bool)
        self.rows = np.concatenate([self.rows[used], new])
        self.weights = np.concatenate([self.weights[used], np.zeros(len(new))])
        return _beyond(highest)


def _beyond(height: float) -> float:
    """Return the distance, for c = 1, by which a row lies beyond a point p in the direction of a geodesic through p.

    This is the distance from p to the projection of the row onto the geodesic. It is computed from the row's height
    (see :func:`_heights`), and is 0 if the height is negative.
    """
    return FARTHEST if height > 1 - 16 * EPS else float(np.arctanh(max(height, 0.0)))


@njit(cache=True, nogil=True, error_model="numpy")
def _heights(X, p, u, gaps, gap_p, c, out):  # type: ignore[no-untyped-def]
    """Write the height ``√c ⟨k, u⟩`` of every row to ``out``, where k are the row's Klein coordinates about p.

    The row is projected onto the geodesic through p in the direction of the unit vector u. The height is tanh(t), where
    t is the signed distance from p to this projection, in units of 1/√c. ``gap_p`` is the gap of p.
    """
    p_dot_u = 0.0
    for j in range(len(p)):
        p_dot_u += p[j] * u[j]
    for i in range(X.shape[0]):
        bend = c * squared_distance(X, i, p)
        out[i] = 2.0 * np.sqrt(c) * (gap_p * row_dot(X, i, u, p) - bend * p_dot_u) / (gap_p * gaps[i] + 2.0 * bend)


def _newton(A: _Hull, B: _Hull, goal: float) -> tuple[_Hull, _Hull]:
    """Take at most ``NEWTON_STEPS`` Newton steps from the current points; return the hulls with the new points.

    Stop earlier if the points are equal up to rounding, if δ_a + δ_b (see the module docstring) is at most ``goal`` for
    the working rows, or if no step is an improvement.
    """
    view = _View(A, B)
    for _ in range(NEWTON_STEPS):
        if view.apart <= TOUCHING or view.gap <= goal:
            break
        tol = max(0.1 * min(goal, view.gap), EPS) * np.tanh(view.apart)
        target = minimise(view.quadratic(), view.weights, len(A.rows), tol)
        step = 1.0
        while step > SMALLEST_STEP:
            new = view.moved((1 - step) * view.weights + step * target)
            if new.improves(view):
                break
            step /= 4
        else:
            break
        view = new
    return view.A, view.B


class _View:
    """Working rows of two hulls, in Klein coordinates about the current points a and b of the hulls.

    The coordinates about b are transported to a, so that both sets of coordinates refer to the same tangent space.
    """

    def __init__(self, A: _Hull, B: _Hull) -> None:
        self.A, self.B = A, B
        self.apart = _apart(A, B)
        (self.K_a, weights_a), (K_b, weights_b) = A.klein(), B.klein()
        self.weights = np.concatenate([weights_a, weights_b])
        self.K_b = transport(K_b, B.point, A.point, c=A.c) * (B.gap / A.gap)
        towards = log_map(B.point, A.point, c=A.c)
        u = _unit(towards) if np.any(towards) else towards
        self.eta_a, self.eta_b = self.K_a @ u, self.K_b @ u
        self.gap = _beyond(self.eta_a.max()) + _beyond(-self.eta_b.min())

    def moved(self, weights: Array) -> "_View":
        n_a = len(self.K_a)
        return _View(self.A.moved_to(weights[:n_a]), self.B.moved_to(weights[n_a:]))

    def improves(self, old: "_View") -> bool:
        """Return whether the two current points are better than those of ``old``.

        They are better if they are closer together, or if they are equally close up to rounding and δ_a + δ_b (see the
        module docstring) is over 10 % smaller.
        """
        if self.apart < old.apart - self.spacing:
            return True
        return self.apart <= old.apart + self.spacing and self.gap < 0.9 * old.gap

    @property
    def spacing(self) -> float:
        """Estimated rounding error of the distance between the two current points."""
        return EPS * (1 / self.A.gap + 1 / self.B.gap + self.apart)

    def quadratic(self) -> Array:
        """Compute the matrix H of the function ``wᵀ H w / 2``, which a Newton step minimises over the weights w."""
        slope, coupling = np.tanh(self.apart), 1 / np.cosh(self.apart)
        H_aa = self.K_a @ self.K_a.T
        H_bb = self.K_b @ self.K_b.T + slope * (self.eta_b[:, None] + self.eta_b) + slope**2
        H_ab = -np.outer(self.eta_a, slope + (1 - coupling) * self.eta_b) - coupling * self.K_a @ self.K_b.T
        return np.block([[H_aa, H_ab], [H_ab.T, H_bb]])
