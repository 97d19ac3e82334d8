"""Convex hulls: Graham scan and Quickhull in the disk, Qhull in low dimensions, and closest vertices.

Both algorithms in the disk are those of the paper (Chien, Pan, Tabaghi and Milenkovic, 2021), except for the rows at
which they start.

A set is convex if it contains the geodesic between any two of its points. The convex hull of some points is the
smallest convex set that contains them. In the disk all comparisons are exact (:mod:`hyplearn.geometry.disk_hull`), so
the result contains all vertices and no other rows.

A Euclidean disk of radius r about a point m of the ball is strictly convex, because its boundary circle has the
geodesic curvature ``(1 + c r² - c‖m‖²) / 2r > 0``. Therefore the row with the largest Euclidean distance from m is a
vertex: all rows lie in the disk about m whose boundary contains this row. Graham scan and Quickhull start at such a
row. In the paper, Graham scan starts at the lowest row, and Quickhull at the leftmost and rightmost rows, but these
rows need not be vertices.
"""

import math
from collections.abc import Callable

import numpy as np
from numba import njit
from scipy.spatial import ConvexHull

from hyplearn.geometry.ball import midpoint, pairwise_distance, translate
from hyplearn.geometry.border import as_rows, check_points, check_two_sets, pull_inside
from hyplearn.geometry.disk_hull import farther, klein, point, scan, split, turn
from hyplearn.geometry.kernels import row_gaps, squared_distance
from hyplearn.types import Array, Points

# Minimum number of rows for which interior rows are discarded; with fewer rows this would not save time.
FEWEST_TO_DISCARD = 64
# Maximum size of the sample from which a centre is chosen. The centre need only be near some rows, so a small sample
# suffices.
SAMPLE = 128
# Number of sectors around the centre. The rows that are farthest from the centre, one in each sector, span a polygon,
# and rows inside this polygon are discarded.
SECTORS = 64
# A row is discarded without exact arithmetic if its cross products with all edges of the polygon exceed this multiple
# of r², where r is the largest norm in Klein coordinates. The error of a Klein coordinate is at most 20 u r, where u =
# 2⁻⁵³, so the error of a cross product of two differences is at most about 160 u r² = 2e-14 r². The threshold is five
# times that.
CLEARLY_INSIDE = 1e-13
# Singular values of the Klein coordinates that are at most this fraction of the largest one are treated as 0, so that
# the hull is computed in fewer dimensions.
FLAT = 1e-12
MAX_HULL_DIMENSION = 5


def graham_scan(X: Points, *, c: float = 1.0) -> Array:
    """Find the vertices of the convex hull of points in the disk with the Poincaré Graham scan.

    The rows are sorted by the angle of ``log_A(x)`` at a vertex A. They are then visited in this order and pushed onto
    a stack of candidates. Let S₋₁ be the top of the stack and S₋₂ the candidate below it. Before a row x is pushed, S₋₁
    is removed repeatedly until the path S₋₂, S₋₁, x turns left, or until only A is left. The path turns left if
    ``det[z(S₋₁), z(x)] > 0``, where z(y) is a tangent vector at S₋₂ that points to y. Both the order and the turns are
    determined exactly.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points of the disk, as float32 or float64, with n ≥ 1.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Indices of the vertices in counter-clockwise order, starting with the vertex farthest from the origin. If
        several rows are equal, only the first is returned.

    Examples
    --------
    >>> from hyplearn.geometry.hull import graham_scan
    >>> graham_scan([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    return _disk_vertices(scan, *_check_disk(X, c))


def quickhull(X: Points, *, c: float = 1.0) -> Array:
    """Find the vertices of the convex hull of points in the disk with the Poincaré Quickhull.

    The geodesic between two vertices splits the rows into two sides. On each side, the row farthest from the geodesic
    in the Klein model is a vertex. All rows inside the triangle of these three vertices are dropped, and its two other
    edges are treated in the same way. All comparisons are exact.

    The parameters and the result, including its order, are the same as those of :func:`graham_scan`.

    Examples
    --------
    >>> from hyplearn.geometry.hull import quickhull
    >>> quickhull([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    return _disk_vertices(split, *_check_disk(X, c))


def hull_vertices(X: Points, *, c: float = 1.0) -> Array:
    r"""Find the vertices of the convex hull of points of the ball, in up to five dimensions.

    In one dimension the vertices are the two ends, and in the disk they are found by :func:`quickhull`. In three or
    more dimensions they are found by Qhull, in Klein coordinates about a central row p,

    .. math:: k = \frac{2 (g_p s - c \|s\|^2 p)}{g_p g_x + 2 c \|s\|^2}, \qquad s = x - p

    in which hulls are Euclidean; ``g_x = 1 - c‖x‖²`` is the gap of x. Qhull may miss vertices that lie less than about
    1e-15 outside the hull of the other rows, and vertices at a hyperbolic distance above 18 (for c = 1) from p. If all
    points lie in a subspace of fewer dimensions, they are first projected to it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64, with n ≥ 1 and d ≤ 5.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Indices of the vertices, in the order of :func:`quickhull` in the disk, in increasing order if the points span
        three or more dimensions, and in any order otherwise. If several rows are equal, only the first is returned.

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
            f"Hull vertices can be computed in up to {MAX_HULL_DIMENSION} dimensions; X has {d} columns.\n"
            "Use hyplearn.geometry.closest_points, which needs no vertices to find the closest points of two hulls."
        )
    if d == 1:
        ends = np.array([np.argmin(X), np.argmax(X)])
        return ends[:1] if X[ends[0]] == X[ends[1]] else ends
    return _disk_vertices(split, X, gaps, c) if d == 2 else _qhull(X.astype(np.float64), gaps, c)


def closest_vertices(X_a: Points, X_b: Points, *, c: float = 1.0) -> tuple[int, int]:
    """Find the row of X_a and the row of X_b that are closest to each other in hyperbolic distance.

    Chien, Pan, Tabaghi and Milenkovic (2021) apply this to the vertices of two convex hulls, and use the midpoint of
    the pair as reference point; see :func:`hull_midpoint`. For the closest points of the hulls themselves, see
    :func:`hyplearn.geometry.closest_points`.

    Parameters
    ----------
    X_a, X_b : array-like of shape (n, d)
        Points of the ball, usually the vertices of two hulls. All pairs are compared, so large sets take long.
    c : float
        Absolute curvature.

    Returns
    -------
    i, j : int
        Row numbers of the closest pair ``X_a[i]`` and ``X_b[j]``. If several pairs are equally close, the first is
        returned.

    Examples
    --------
    >>> from hyplearn.geometry import midpoint
    >>> from hyplearn.geometry.hull import closest_vertices
    >>> X_a, X_b = [[-0.5, 0.1], [-0.2, 0.0]], [[0.2, 0.0], [0.7, 0.3]]
    >>> i, j = closest_vertices(X_a, X_b)
    >>> i, j, midpoint(X_a[i], X_b[j])
    (1, 0, array([0., 0.]))
    """
    (X_a, gaps_a), (X_b, gaps_b), c = check_two_sets(X_a, X_b, c)
    return _closest_pair(X_a.astype(np.float64), X_b.astype(np.float64), gaps_a, gaps_b)


def hull_midpoint(X_a: Points, X_b: Points, *, c: float = 1.0) -> Array:
    """Compute the midpoint between the closest vertices of the convex hulls of two classes.

    Chien, Pan, Tabaghi and Milenkovic (2021) use it as the reference point of their classifiers.

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


def _check_disk(X: Points, c: float) -> tuple[Array, Array, float]:
    """Validate c and points of the disk; return the points, their gaps and c."""
    X, gaps, c = check_points(X, "X", c)
    if X.shape[1] != 2:
        raise ValueError(
            f"X must contain points of the disk, that is, have two columns; got shape {X.shape}.\n"
            f"Use hyplearn.geometry.hull.hull_vertices for points with up to {MAX_HULL_DIMENSION} coordinates."
        )
    return X, gaps, c


def _disk_vertices(find: Callable[[Array, Array, float], Array], X: Array, gaps: Array, c: float) -> Array:
    """Discard rows that cannot be vertices, and apply ``find`` to the others; return the indices of the vertices."""
    outer = _outer_rows(X, gaps, c)
    return outer[find(X[outer].astype(np.float64), gaps[outer], c)]


def central_row(X: Array, c: float) -> Array:
    """Return a robust centre of X: the row of a sample with the smallest sum of distances to the rest of the sample."""
    sample = X[:: -(-len(X) // SAMPLE)].astype(np.float64)
    row: Array = sample[np.argmin(pairwise_distance(sample, c=c).sum(axis=0))]
    return row


def klein_about(X: Array, gaps: Array, p: Array, c: float, scale: float = 1.0) -> tuple[Array, Array]:
    """Compute Klein coordinates about p, multiplied by ``scale``, and time coordinates on the hyperboloid about p."""
    s = X - p
    bend = c * np.sum(s**2, axis=1)
    gap_p = row_gaps(p[None], c)[0]
    K = 2 * scale * (gap_p * s - bend[:, None] * p) / (gap_p * gaps + 2 * bend)[:, None]
    return K, 1 + 2 * bend / (gap_p * gaps)


def _qhull(X: Array, gaps: Array, c: float) -> Array:
    """Find the indices of the vertices with Qhull.

    The indices are in increasing order, with one exception: if all points lie in a subspace of fewer dimensions, they
    are projected to it, and the indices are returned in the order of :func:`hull_vertices`.
    """
    p = central_row(X, c)
    K, _ = klein_about(X, gaps, p, c)
    _, sizes, axes = np.linalg.svd(np.linalg.qr(K, mode="r"))
    rank = np.count_nonzero(sizes > FLAT * sizes[0])
    if rank == 0:
        return np.array([0])
    if rank < X.shape[1]:
        return hull_vertices(pull_inside(translate(X, -p, c=c) @ axes[:rank].T, c), c=c)
    vertices = ConvexHull(K).vertices
    # If several rows are equal, Qhull returns any of them; replace the returned row with the first of them.
    alike = np.flatnonzero(np.isin(X[:, 0], X[vertices, 0]))
    _, first, inverse = np.unique(X[alike], axis=0, return_index=True, return_inverse=True)
    return np.sort(alike[first[inverse.ravel()[np.searchsorted(alike, vertices)]]])


def _outer_rows(X: Array, gaps: Array, c: float) -> Array:
    """Return the indices of the rows that may be vertices: all rows except those inside a polygon of extreme rows.

    This is the heuristic of Akl and Toussaint (1978).
    """
    if len(X) < FEWEST_TO_DISCARD:
        return np.arange(len(X))
    centre = central_row(X, c)
    p, gap_p = tuple(centre.tolist()), row_gaps(centre[None], c)[0]
    extreme = np.full(SECTORS, -1)
    radius = _largest_norm(X, p, gap_p, gaps, c, extreme)
    extreme = np.unique(extreme[extreme >= 0])
    polygon = extreme[scan(X[extreme].astype(np.float64), gaps[extreme], c)]
    outside = np.zeros(len(X), dtype=bool)
    _mark_outside(X, p, gap_p, polygon, CLEARLY_INSIDE * radius**2, gaps, c, outside)
    outside[polygon] = True
    return np.flatnonzero(outside)


@njit(cache=True, error_model="numpy")
def _largest_norm(X, p, gap_p, gaps, c, extreme):  # type: ignore[no-untyped-def]
    """Return the largest norm in Klein coordinates about p, and find the row with the largest norm in each sector.

    The indices of these rows are written to ``extreme``, which is left unchanged for empty sectors.
    """
    squares = np.full(SECTORS, -1.0)
    for i in range(X.shape[0]):
        k0, k1 = klein(X, i, p, gap_p, gaps, c)
        # Computing the angle of the row would need an arc tangent. Instead, the ray from the centre through the row is
        # intersected with the diamond |k0| + |k1| = 1. The sector is computed from the position of the intersection
        # along the diamond, a number from 0 to 4 that increases with the angle.
        along = 1.0 + k1 / max(abs(k0) + abs(k1), 1e-300)
        sector = int((along if k0 >= 0.0 else 4.0 - along) * (SECTORS / 4)) % SECTORS
        square = k0 * k0 + k1 * k1
        if square > squares[sector]:
            extreme[sector], squares[sector] = i, square
    return math.sqrt(np.max(squares))


@njit(cache=True, error_model="numpy")
def _mark_outside(X, p, gap_p, polygon, margin, gaps, c, outside):  # type: ignore[no-untyped-def]
    """Mark the rows outside a counter-clockwise polygon; rows on its edges count as inside."""
    m = polygon.size
    corners, edges = np.empty((m, 2)), np.empty((m, 2))
    for j in range(m):
        corners[j, 0], corners[j, 1] = klein(X, polygon[j], p, gap_p, gaps, c)
    inradius = np.inf
    for j in range(m):
        edges[j] = corners[(j + 1) % m] - corners[j]
        depth = edges[j, 1] * corners[j, 0] - edges[j, 0] * corners[j, 1] - margin
        inradius = min(inradius, depth / math.hypot(edges[j, 0], edges[j, 1]))
    for i in range(X.shape[0]):
        k0, k1 = klein(X, i, p, gap_p, gaps, c)
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
    # If the polygon is a segment AB, a row on the geodesic through A and B is outside if it is farther from A than B
    # is, or farther from B than A is. If the polygon is a point, every other row is outside.
    A, B = point(X, polygon[0]), point(X, polygon[m - 1])
    return m < 3 and (farther(A, x, B) > 0.0 or farther(B, x, A) > 0.0)


@njit(cache=True, error_model="numpy")
def _closest_pair(X_a, X_b, gaps_a, gaps_b):  # type: ignore[no-untyped-def]
    """Return the indices (i, j) of the closest pair of rows x and y, or of the first if there are several.

    The pair has the smallest ``‖x - y‖² / (g_x g_y)``, where ``g_x = 1 - c‖x‖²`` is the gap of x.
    """
    least, at = np.inf, (0, 0)
    inverse_b = 1.0 / gaps_b
    for i in range(X_a.shape[0]):
        for j in range(X_b.shape[0]):
            apart = squared_distance(X_b, j, X_a[i]) * inverse_b[j]
            if apart < least * gaps_a[i]:
                least, at = apart / gaps_a[i], (i, j)
    return at
