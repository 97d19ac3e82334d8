r"""Convex hulls: the paper's Graham scan and Quickhull in the disk, Qhull in few dimensions, the closest vertices.

A set is convex if it holds the geodesic between any two of its points; the hull is the least convex set around given
points. In the disk every decision is exact (:mod:`hyplearn.geometry.orientation`): no vertex is lost or made up,
however close to the rim or to one geodesic the points lie.

Two facts carry the algorithms. Which way A, B, C turn is the sign of ``det[z_A(B), z_A(C)]``. And a Euclidean disk
about a point m of the ball is strictly convex (its rim has geodesic curvature ``(1 + c r² - c‖m‖²) / 2r > 0``), so the
row farthest from any point in Euclidean terms is a vertex: there both algorithms start. The paper starts at the lowest
row, or at the left- and rightmost, which need not be vertices.
"""

import math

import numpy as np
from numba import njit
from scipy.spatial import ConvexHull

from hyplearn.geometry.ball import midpoint, pairwise_distance, translate
from hyplearn.geometry.border import as_rows, check_c, check_inside, pull_inside
from hyplearn.geometry.kernels import gap_of, row_gaps
from hyplearn.geometry.orientation import farther, higher, point, turn, turn_and_bound
from hyplearn.numerics import coordinate
from hyplearn.types import Array, Points

# Fewer rows than this are not worth a pass that discards.
FEWEST_TO_DISCARD = 64
# Rows looked at for a centre; it need not be a good one, only not far from all.
SAMPLE = 128
# Sectors around the centre, each of which gives its farthest row as a corner of the polygon that discards.
SECTORS = 64
# Klein coordinates of size r are known to 20 half units in the last place of r, so products of two differences to
# 160 of r²; what lies deeper inside than five times that needs no exact arithmetic.
CLEARLY_INSIDE = 1e-13
# Singular values below this part of the largest are rounding: the points lie in a flat.
FLAT = 1e-12
MAX_HULL_DIMENSION = 5


def graham_scan(X: Points, *, c: float = 1.0) -> Array:
    r"""Vertices of the convex hull of points in the disk, by the Poincaré Graham scan.

    From a row A that is surely a vertex all others are sorted by the angle of ``log_A(x)``; a walk through them drops
    each row at which it does not turn to the left, that is where

    .. math:: \det[z_{S_{-2}}(S_{-1}), \, z_{S_{-2}}(x)] \le 0

    for the last two rows S₋₂, S₋₁ kept. Sorting and turning are exact.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points of the disk, float32 or float64, n ≥ 1.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Rows of X that are vertices, counter-clockwise from the one farthest from the origin: the vertices are
        ``X[graham_scan(X)]``. Equal rows are listed once, by the first; rows on an edge are not listed.

    Examples
    --------
    >>> from hyplearn.geometry.hull import graham_scan
    >>> graham_scan([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    X, gaps, c = _disk(X, c)
    outer = _outer_rows(X, gaps, c)
    return outer[_scan(X[outer].astype(np.float64), gaps[outer], c)]


def quickhull(X: Points, *, c: float = 1.0) -> Array:
    """Vertices of the convex hull of points in the disk, by the Poincaré Quickhull.

    The geodesic between two vertices splits the rows; on each side the row F farthest from it is a vertex, all rows
    in the triangle are dropped, and its two other edges are treated alike. Farthest is meant in Klein terms, where
    it is a linear function; the comparison is exact and a stack of edges takes the place of recursion.

    Parameters and result are those of :func:`graham_scan`, to which it is equal, order included.

    Examples
    --------
    >>> from hyplearn.geometry.hull import quickhull
    >>> quickhull([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    X, gaps, c = _disk(X, c)
    return _quickhull(X, gaps, c)


def hull_vertices(X: Points, *, c: float = 1.0) -> Array:
    r"""Vertices of the convex hull of points of the ball, in up to five dimensions.

    On the line these are the two ends; in the disk they are those of :func:`quickhull`, in its order. From three
    dimensions on Qhull finds them in Klein coordinates about a central row p,

    .. math:: k = \frac{2 (g_p s - c \|s\|^2 p)}{g_p g_x + 2 c \|s\|^2}, \qquad s = x - p

    where hulls are Euclidean, up to rounding: there a vertex that stands out from the others' hull by less than about
    1e-15 in k may be missed, as may rows at a hyperbolic distance above 18 from p. Points that span fewer dimensions
    (few rows, or all in a geodesic plane) are treated in the dimension that they span.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, float32 or float64, n ≥ 1, d ≤ 5.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Rows of X that are vertices; equal rows are listed once, by the first. In increasing order where the points
        span three dimensions or more.

    Examples
    --------
    >>> from hyplearn.geometry.hull import hull_vertices
    >>> hull_vertices([[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5], [0.1, 0.1, 0.1], [0, 0, 0]])
    array([0, 1, 2, 4])
    """
    X, gaps, c = check_points(X, "X", c)
    d = X.shape[1]
    if d > MAX_HULL_DIMENSION:
        raise ValueError(
            f"Hulls are listed in at most {MAX_HULL_DIMENSION} dimensions; X has {d}, where most rows are vertices.\n"
            "Use hyplearn.geometry.closest_points, which finds the closest points of two hulls without listing them."
        )
    if d == 1:
        ends = np.array([np.argmin(X), np.argmax(X)])
        return ends[:1] if X[ends[0]] == X[ends[1]] else ends
    return _quickhull(X, gaps, c) if d == 2 else _qhull(X.astype(np.float64), c)


def closest_vertices(X_a: Points, X_b: Points, *, c: float = 1.0) -> tuple[int, int]:
    """Rows of X_a and of X_b at the least hyperbolic distance from each other, over all pairs.

    The paper takes the vertices of two hulls for X_a and X_b, and the midpoint of the pair for the reference point p:
    :func:`hull_midpoint` does all of it. The closest points of the hulls themselves lie on faces in general:
    :func:`hyplearn.geometry.closest_points`.

    Parameters
    ----------
    X_a, X_b : array-like of shape (n, d)
        Points of the ball. Every pair is looked at: pass vertices, not all points.
    c : float
        Absolute curvature.

    Returns
    -------
    i, j : int
        The pair ``X_a[i]``, ``X_b[j]``; the first such pair where several are equally close.

    Examples
    --------
    >>> from hyplearn.geometry import midpoint
    >>> from hyplearn.geometry.hull import closest_vertices
    >>> X_a, X_b = [[-0.5, 0.1], [-0.2, 0.0]], [[0.2, 0.0], [0.7, 0.3]]
    >>> i, j = closest_vertices(X_a, X_b)
    >>> i, j, midpoint(X_a[i], X_b[j])
    (1, 0, array([0., 0.]))
    """
    X_a, rooms_a, c = check_points(X_a, "X_a", c)
    X_b, rooms_b, c = check_points(X_b, "X_b", c)
    check_same_width(X_a, X_b)
    return _closest_pair(X_a.astype(np.float64), X_b.astype(np.float64), rooms_a, rooms_b)


def hull_midpoint(X_a: Points, X_b: Points, *, c: float = 1.0) -> Array:
    """The paper's reference point: the midpoint of the closest vertices of the hulls of two classes.

    Examples
    --------
    >>> from hyplearn.geometry.hull import hull_midpoint
    >>> hull_midpoint([[-0.5, 0.1], [-0.2, 0.0], [-0.5, -0.1]], [[0.2, 0.0], [0.7, 0.3]])
    array([0., 0.])
    """
    X_a, X_b = as_rows(X_a, "X_a"), as_rows(X_b, "X_b")
    V_a, V_b = X_a[hull_vertices(X_a, c=c)], X_b[hull_vertices(X_b, c=c)]
    i, j = closest_vertices(V_a, V_b, c=c)
    return midpoint(V_a[i], V_b[j], c=c)


def _quickhull(X: Array, gaps: Array, c: float) -> Array:
    outer = _outer_rows(X, gaps, c)
    return outer[_split(X[outer].astype(np.float64), gaps[outer], c)]


def check_points(X: Points, name: str, c: float) -> tuple[Array, Array, float]:
    """At least one row of points, their gaps, and a positive c."""
    X, c = as_rows(X, name), check_c(c)
    if len(X) == 0:
        raise ValueError(
            f"{name} must hold at least one row of points; got shape {X.shape}.\nPass shape (n, d), n ≥ 1."
        )
    gaps = row_gaps(X, c)
    check_inside(X, gaps, c)
    return X, gaps, c


def _disk(X: Points, c: float) -> tuple[Array, Array, float]:
    X, gaps, c = check_points(X, "X", c)
    if X.shape[1] != 2:
        raise ValueError(
            f"X must hold points of the disk, two coordinates each; got shape {X.shape}.\n"
            f"Use hyplearn.geometry.hull.hull_vertices in up to {MAX_HULL_DIMENSION} dimensions."
        )
    return X, gaps, c


def check_same_width(X_a: Array, X_b: Array) -> None:
    """Raise unless the rows of both have the same dimension."""
    if X_a.shape[1] != X_b.shape[1]:
        raise ValueError(
            f"X_a and X_b must have the same dimension; got shapes {X_a.shape} and {X_b.shape}.\n"
            "Check the last axes: rows are points."
        )


def central_row(X: Array, c: float) -> Array:
    """The row with the least sum of distances, of a sample of all: a centre that no outlier and no rim can move."""
    sample = X[:: -(-len(X) // SAMPLE)].astype(np.float64)
    row: Array = sample[np.argmin(pairwise_distance(sample, c=c).sum(axis=0))]
    return row


def klein_about(X: Array, p: Array, c: float) -> Array:
    """Klein coordinates of the rows of X as seen from p, which comes to lie in the origin."""
    s = X - p
    bend = c * np.sum(s**2, axis=1, keepdims=True)
    gap_p = row_gaps(p[None], c)
    return 2 * (gap_p * s - bend * p) / (gap_p * row_gaps(X, c)[:, None] + 2 * bend)


def _qhull(X: Array, c: float) -> Array:
    """Vertices in three dimensions or more, in increasing order; those of fewer dimensions if the points are flat."""
    p = central_row(X, c)
    K = klein_about(X, p, c)
    _, sizes, axes = np.linalg.svd(np.linalg.qr(K, mode="r"))
    rank = np.count_nonzero(sizes > FLAT * sizes[0])
    if rank == 0:
        return np.array([0])
    if rank < X.shape[1]:
        return hull_vertices(pull_inside(translate(X, -p, c=c) @ axes[:rank].T, c), c=c)
    vertices = ConvexHull(K).vertices
    # Qhull names any of several equal rows; the first one is due.
    alike = np.flatnonzero(np.isin(X[:, 0], X[vertices, 0]))
    _, first, inverse = np.unique(X[alike], axis=0, return_index=True, return_inverse=True)
    return np.sort(alike[first[inverse.ravel()[np.searchsorted(alike, vertices)]]])


def _outer_rows(X: Array, gaps: Array, c: float) -> Array:
    """Rows that may be vertices, in order: all but those in the polygon of some extreme rows (Akl and Toussaint, 1978).

    Which rows span the polygon does not matter to the result, and what is not clearly inside is decided exactly.
    """
    if len(X) < FEWEST_TO_DISCARD:
        return np.arange(len(X))
    p = tuple(central_row(X, c).tolist())
    extreme = np.full(SECTORS, -1)
    radius = _largest_norm(X, p, gaps, c, extreme)
    extreme = np.unique(extreme[extreme >= 0])
    polygon = extreme[_scan(X[extreme].astype(np.float64), gaps[extreme], c)]
    outside = np.zeros(len(X), dtype=bool)
    _mark_outside(X, p, polygon, CLEARLY_INSIDE * radius**2, gaps, c, outside)
    outside[polygon] = True
    return np.flatnonzero(outside)


@njit(cache=True, error_model="numpy")
def _klein(X, i, p, gap_p, gaps, c):  # type: ignore[no-untyped-def]
    """Klein coordinates of row i of X as seen from p, whose gap is ``gap_p``."""
    s0, s1 = coordinate(X, i, 0, 2) - p[0], coordinate(X, i, 1, 2) - p[1]
    bend = c * (s0 * s0 + s1 * s1)
    factor = 2.0 / (gap_p * gaps[i] + 2.0 * bend)
    return factor * (gap_p * s0 - bend * p[0]), factor * (gap_p * s1 - bend * p[1])


@njit(cache=True, error_model="numpy")
def _largest_norm(X, p, gaps, c, extreme):  # type: ignore[no-untyped-def]
    """Largest norm in Klein coordinates around p; the first row farthest from p in each sector is written."""
    squares = np.full(SECTORS, -1.0)
    gap_p = gap_of(np.array([[p[0], p[1]]]), 0, p, c)
    for i in range(X.shape[0]):
        k0, k1 = _klein(X, i, p, gap_p, gaps, c)
        # Along the diamond |k0| + |k1| = 1 from 0 to 4, which needs no arc tangent.
        along = 1.0 + k1 / max(abs(k0) + abs(k1), 1e-300)
        sector = int((along if k0 >= 0.0 else 4.0 - along) * (SECTORS / 4)) % SECTORS
        square = k0 * k0 + k1 * k1
        if square > squares[sector]:
            extreme[sector], squares[sector] = i, square
    return math.sqrt(np.max(squares))


@njit(cache=True, error_model="numpy")
def _mark_outside(X, p, polygon, margin, gaps, c, outside):  # type: ignore[no-untyped-def]
    """Mark the rows that lie outside the counter-clockwise polygon; on its edges is inside."""
    m = polygon.size
    gap_p = gap_of(np.array([[p[0], p[1]]]), 0, p, c)
    corners, edges = np.empty((m, 2)), np.empty((m, 2))
    for j in range(m):
        corners[j, 0], corners[j, 1] = _klein(X, polygon[j], p, gap_p, gaps, c)
    inradius = np.inf
    for j in range(m):
        edges[j] = corners[(j + 1) % m] - corners[j]
        depth = edges[j, 1] * corners[j, 0] - edges[j, 0] * corners[j, 1] - margin
        inradius = min(inradius, depth / math.hypot(edges[j, 0], edges[j, 1]))
    for i in range(X.shape[0]):
        k0, k1 = _klein(X, i, p, gap_p, gaps, c)
        if inradius > 0.0 and k0 * k0 + k1 * k1 < inradius * inradius:
            continue
        clear = True
        for j in range(m):
            depth = edges[j, 0] * (k1 - corners[j, 1]) - edges[j, 1] * (k0 - corners[j, 0])
            clear = clear and depth > margin
        if not clear:
            outside[i] = _is_outside(X, i, polygon, gaps, c)


@njit(cache=True, error_model="numpy")
def _is_outside(X, i, polygon, gaps, c):  # type: ignore[no-untyped-def]
    m = polygon.size
    x = point(X, i)
    for j in range(m):
        A, B = point(X, polygon[j]), point(X, polygon[(j + 1) % m])
        if turn(A, B, x, gaps[polygon[j]], c) < 0.0:
            return True
    # A polygon of one or two corners: chords grow along a geodesic, so what is beyond an end is farther from the other.
    A, B = point(X, polygon[0]), point(X, polygon[m - 1])
    return m < 3 and (farther(A, x, B) > 0.0 or farther(B, x, A) > 0.0)


@njit(cache=True, error_model="numpy")
def _farthest(X, A):  # type: ignore[no-untyped-def]
    """First row at the largest Euclidean distance from A: a vertex of the hull."""
    best = 0
    for i in range(1, X.shape[0]):
        if farther(A, point(X, i), point(X, best)) > 0.0:
            best = i
    return best


@njit(cache=True, error_model="numpy")
def _scan(X, gaps, c):  # type: ignore[no-untyped-def]
    """Graham's scan."""
    start = _farthest(X, (0.0, 0.0))
    others = _sorted_around(X, start, gaps, c)
    hull = np.empty(others.size + 1, dtype=np.int64)
    hull[0] = start
    size = 1
    for row in others:
        x = point(X, row)
        if x == point(X, hull[size - 1]):
            continue
        while size > 1:
            below = hull[size - 2]
            if turn(point(X, below), point(X, hull[size - 1]), x, gaps[below], c) > 0.0:
                break
            size -= 1
        hull[size] = row
        size += 1
    return hull[:size].copy()


@njit(cache=True, error_model="numpy")
def _sorted_around(X, start, gaps, c):  # type: ignore[no-untyped-def]
    """Rows other than A = X[start], counter-clockwise around it; on one ray the nearer first, of equal ones the first.

    Sorted by rounded angles, then merged by exact comparisons: one per row where the rounded order was right.
    """
    A, gap_p = point(X, start), gaps[start]
    others = np.empty(X.shape[0], dtype=np.int64)
    angles = np.empty(X.shape[0])
    size = 0
    for i in range(X.shape[0]):
        x = point(X, i)
        if x != A:
            s0, s1 = x[0] - A[0], x[1] - A[1]
            bend = c * (s0 * s0 + s1 * s1)
            z0, z1 = gap_p * s0 - bend * A[0], gap_p * s1 - bend * A[1]
            # Seen from the row farthest from the origin, all others lie within a right angle of the origin.
            angles[size] = math.atan2(A[1] * z0 - A[0] * z1, -(A[0] * z0 + A[1] * z1))
            others[size] = i
            size += 1
    old = others[:size][np.argsort(angles[:size])]
    new = np.empty_like(old)
    width = 1
    while width < size:
        for low in range(0, size, 2 * width):
            _merge(X, A, old, low, min(low + width, size), min(low + 2 * width, size), gap_p, c, new)
        old, new = new, old
        width *= 2
    return old


@njit(cache=True, error_model="numpy")
def _merge(X, A, old, low, middle, high, gap_p, c, new):  # type: ignore[no-untyped-def]
    """Merge two sorted runs of rows; runs in order already cost one comparison."""
    if middle >= high or _comes_before(X, A, old[middle - 1], old[middle], gap_p, c):
        new[low:high] = old[low:high]
        return
    left, right = low, middle
    for k in range(low, high):
        if right >= high or (left < middle and _comes_before(X, A, old[left], old[right], gap_p, c)):
            new[k] = old[left]
            left += 1
        else:
            new[k] = old[right]
            right += 1


@njit(cache=True, error_model="numpy")
def _comes_before(X, A, i, j, gap_p, c):  # type: ignore[no-untyped-def]
    B, C = point(X, i), point(X, j)
    side = turn(A, B, C, gap_p, c)
    if side == 0.0:
        side = farther(A, C, B)
    return side > 0.0 or (side == 0.0 and i < j)


@njit(cache=True, error_model="numpy")
def _split(X, gaps, c):  # type: ignore[no-untyped-def]
    """Quickhull: a stack of edges (P, Q), each with the rows to its right."""
    start = _farthest(X, (0.0, 0.0))
    opposite = _farthest(X, point(X, start))
    rows = np.arange(X.shape[0])
    hull = np.empty(rows.size, dtype=np.int64)
    if point(X, start) == point(X, opposite):
        hull[0] = start
        return hull[:1].copy()
    right = _right_of(X, start, opposite, rows, gaps, c)
    left = _right_of(X, opposite, start, rows, gaps, c)
    stack = [(opposite, start, left), (start, opposite, right)]
    size = 0
    while len(stack) > 0:
        P, Q, beyond = stack.pop()
        if beyond.size == 0:
            hull[size] = P
            size += 1
        else:
            F = _highest(X, P, Q, beyond, gaps, c)
            stack.append((F, Q, _right_of(X, F, Q, beyond, gaps, c)))
            stack.append((P, F, _right_of(X, P, F, beyond, gaps, c)))
    return hull[:size].copy()


@njit(cache=True, error_model="numpy")
def _right_of(X, P, Q, rows, gaps, c):  # type: ignore[no-untyped-def]
    """Rows to the right of the geodesic from row P to row Q, in their order."""
    A, B = point(X, P), point(X, Q)
    out = np.empty(rows.size, dtype=np.int64)
    size = 0
    for row in rows:
        if turn(A, B, point(X, row), gaps[P], c) < 0.0:
            out[size] = row
            size += 1
    return out[:size].copy()


@njit(cache=True, error_model="numpy")
def _highest(X, P, Q, rows, gaps, c):  # type: ignore[no-untyped-def]
    """First of the rows highest over the edge from P to Q; where several distinct ones are, the one nearest to Q."""
    A, B = point(X, P), point(X, Q)
    best, best_height, best_bound = rows[0], -1.0, 0.0
    for row in rows:
        x = point(X, row)
        value, bound = turn_and_bound(A, B, x, gaps[P], c)
        height, bound = -value / (2.0 - gaps[row]), 2.0 * bound / (2.0 - gaps[row])
        above = height - best_height
        if abs(above) <= bound + best_bound:
            above = higher(A, B, x, point(X, best), c)
            if above == 0.0:
                # Level with the best so far; seen from P the one nearer to Q lies to the left.
                above = turn(A, point(X, best), x, gaps[P], c)
        if above > 0.0:
            best, best_height, best_bound = row, height, bound
    return best


@njit(cache=True, error_model="numpy")
def _closest_pair(X_a, X_b, rooms_a, rooms_b):  # type: ignore[no-untyped-def]
    """First rows i, j with the least ``‖x - y‖² / g_x g_y``, of which the distance is an increasing function."""
    least, at = np.inf, (0, 0)
    inverse_b = 1.0 / rooms_b
    for i in range(X_a.shape[0]):
        for j in range(X_b.shape[0]):
            square = 0.0
            for k in range(X_a.shape[1]):
                square += (X_a[i, k] - X_b[j, k]) ** 2
            apart = square * inverse_b[j]
            if apart < least * rooms_a[i]:
                least, at = apart / rooms_a[i], (i, j)
    return at
