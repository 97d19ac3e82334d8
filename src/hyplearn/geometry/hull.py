"""Convex hulls: the paper's Graham scan and Quickhull in the disk, Qhull in few dimensions, and closest vertices.

A set is convex if it holds the geodesic between any two of its points; the hull is the least convex set around given
points. In the disk every decision is exact (:mod:`hyplearn.geometry.disk_hull`): no vertex is lost or made up.

A Euclidean disk about a point m of the ball is strictly convex (its rim has geodesic curvature
``(1 + c r² - c‖m‖²) / 2r > 0``), so the row at the largest Euclidean distance from any point is a vertex: there both
algorithms start. The paper starts at the lowest row, or at the left- and rightmost, which need not be vertices.
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
# Size of the sample from which a centre is chosen; the centre need only be near some rows, so a small sample suffices.
SAMPLE = 128
# Number of sectors around the centre. The farthest rows of all sectors form a polygon, and rows inside it are
# discarded.
SECTORS = 64
# Depth inside the polygon, relative to r², from which a row needs no exact arithmetic. Klein coordinates of size r have
# an error of 20 half units in the last place of r, and products of two differences have an error of 160 half units in
# the last place of r². The depth is five times the latter error.
CLEARLY_INSIDE = 1e-13
# Singular values below this fraction of the largest one are treated as 0: the points then span fewer dimensions.
FLAT = 1e-12
MAX_HULL_DIMENSION = 5


def graham_scan(X: Points, *, c: float = 1.0) -> Array:
    """Find the vertices of the convex hull of points in the disk with the Poincaré Graham scan.

    All rows are sorted by the angle of ``log_A(x)`` at a vertex A. A walk through them drops each row S₋₁ at which it
    does not turn to the left: where ``det[z(S₋₁), z(x)] ≤ 0``, seen from the row before. Both decisions are exact.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points of the disk, float32 or float64, n ≥ 1.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Rows that are vertices, of equal rows the first; counter-clockwise from the one farthest from the origin.

    Examples
    --------
    >>> from hyplearn.geometry.hull import graham_scan
    >>> graham_scan([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    return _disk_vertices(scan, *_check_disk(X, c))


def quickhull(X: Points, *, c: float = 1.0) -> Array:
    """Find the vertices of the convex hull of points in the disk with the Poincaré Quickhull.

    The geodesic between two vertices splits the rows. On each side the row farthest from it in the Klein model is a
    vertex; all rows in the triangle are dropped, and its two other edges are split in turn. Comparisons are exact.

    Parameters and result are those of :func:`graham_scan`, including the order.

    Examples
    --------
    >>> from hyplearn.geometry.hull import quickhull
    >>> quickhull([[0.5, 0.0], [0.0, 0.5], [0.1, 0.1], [-0.6, 0.0], [0.0, 0.0]])
    array([3, 0, 1])
    """
    return _disk_vertices(split, *_check_disk(X, c))


def hull_vertices(X: Points, *, c: float = 1.0) -> Array:
    r"""Find the vertices of the convex hull of points of the ball, in up to five dimensions.

    On the line these are the two ends; in the disk they are those of :func:`quickhull`, in its order. From three
    dimensions on Qhull finds them in Klein coordinates about a central row p,

    .. math:: k = \frac{2 (g_p s - c \|s\|^2 p)}{g_p g_x + 2 c \|s\|^2}, \qquad s = x - p

    where hulls are Euclidean. There a vertex less than about 1e-15 outside the hull of the others may be missed, as may
    rows at a hyperbolic distance above 18 from p. Flat sets of points are treated in the dimension that they span.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, float32 or float64, n ≥ 1, d ≤ 5.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of int
        Rows that are vertices, of equal rows the first; in increasing order if they span three dimensions or more.

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
            f"Hull vertices can be computed in up to {MAX_HULL_DIMENSION} dimensions; X has {d}.\n"
            "Use hyplearn.geometry.closest_points, which finds the closest points of two hulls without their vertices."
        )
    if d == 1:
        ends = np.array([np.argmin(X), np.argmax(X)])
        return ends[:1] if X[ends[0]] == X[ends[1]] else ends
    return _disk_vertices(split, X, gaps, c) if d == 2 else _qhull(X.astype(np.float64), gaps, c)


def closest_vertices(X_a: Points, X_b: Points, *, c: float = 1.0) -> tuple[int, int]:
    """Find the row of X_a and the row of X_b that are closest to each other in hyperbolic distance.

    The paper takes the vertices of two hulls, and the midpoint of the pair as reference point; see
    :func:`hull_midpoint`. For the closest points of the hulls themselves see :func:`hyplearn.geometry.closest_points`.

    Parameters
    ----------
    X_a, X_b : array-like of shape (n, d)
        Points of the ball. All pairs are compared: pass vertices, not all points.
    c : float
        Absolute curvature.

    Returns
    -------
    i, j : int
        The first of the closest pairs ``X_a[i]``, ``X_b[j]``.

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


def _check_disk(X: Points, c: float) -> tuple[Array, Array, float]:
    """Validate points of the disk and c; return the points, their gaps and c."""
    X, gaps, c = check_points(X, "X", c)
    if X.shape[1] != 2:
        raise ValueError(
            f"X must hold points of the disk, two coordinates each; got shape {X.shape}.\n"
            f"Use hyplearn.geometry.hull.hull_vertices in up to {MAX_HULL_DIMENSION} dimensions."
        )
    return X, gaps, c


def _disk_vertices(find: Callable[[Array, Array, float], Array], X: Array, gaps: Array, c: float) -> Array:
    """Discard rows that cannot be vertices, and apply ``find`` to the others; return the vertices."""
    outer = _outer_rows(X, gaps, c)
    return outer[find(X[outer].astype(np.float64), gaps[outer], c)]


def central_row(X: Array, c: float) -> Array:
    """Robust centre of X: the row of a sample with the smallest sum of distances to all rows of the sample."""
    sample = X[:: -(-len(X) // SAMPLE)].astype(np.float64)
    row: Array = sample[np.argmin(pairwise_distance(sample, c=c).sum(axis=0))]
    return row


def klein_about(X: Array, gaps: Array, p: Array, c: float, scale: float = 1.0) -> tuple[Array, Array]:
    """Klein coordinates about p, multiplied by ``scale``, and the time coordinates on the hyperboloid about p."""
    s = X - p
    bend = c * np.sum(s**2, axis=1)
    gap_p = row_gaps(p[None], c)[0]
    K = 2 * scale * (gap_p * s - bend[:, None] * p) / (gap_p * gaps + 2 * bend)[:, None]
    return K, 1 + 2 * bend / (gap_p * gaps)


def _qhull(X: Array, gaps: Array, c: float) -> Array:
    """Find vertices with Qhull, in increasing order; if the points span fewer dimensions, they are projected first."""
    p = central_row(X, c)
    K, _ = klein_about(X, gaps, p, c)
    _, sizes, axes = np.linalg.svd(np.linalg.qr(K, mode="r"))
    rank = np.count_nonzero(sizes > FLAT * sizes[0])
    if rank == 0:
        return np.array([0])
    if rank < X.shape[1]:
        return hull_vertices(pull_inside(translate(X, -p, c=c) @ axes[:rank].T, c), c=c)
    vertices = ConvexHull(K).vertices
    # If several rows are equal, Qhull returns any one of them; replace it with the first.
    alike = np.flatnonzero(np.isin(X[:, 0], X[vertices, 0]))
    _, first, inverse = np.unique(X[alike], axis=0, return_index=True, return_inverse=True)
    return np.sort(alike[first[inverse.ravel()[np.searchsorted(alike, vertices)]]])


def _outer_rows(X: Array, gaps: Array, c: float) -> Array:
    """Return the rows outside the polygon of a few extreme rows: all candidates (Akl and Toussaint, 1978)."""
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
    """Return the largest norm in Klein coordinates about p; write the farthest row of each sector to ``extreme``."""
    squares = np.full(SECTORS, -1.0)
    for i in range(X.shape[0]):
        k0, k1 = klein(X, i, p, gap_p, gaps, c)
        # Position along the diamond |k0| + |k1| = 1, from 0 to 4. It increases with the angle and needs no arc tangent.
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
    # If the polygon is a segment AB, a row on its geodesic is outside if the row is farther from A than B is, or
    # farther from B than A is. If the polygon is a point, every other row is outside.
    A, B = point(X, polygon[0]), point(X, polygon[m - 1])
    return m < 3 and (farther(A, x, B) > 0.0 or farther(B, x, A) > 0.0)


@njit(cache=True, error_model="numpy")
def _closest_pair(X_a, X_b, gaps_a, gaps_b):  # type: ignore[no-untyped-def]
    """Find the first pair of rows (i, j) with the smallest ``‖x - y‖² / g_x g_y``, and thus the smallest distance."""
    least, at = np.inf, (0, 0)
    inverse_b = 1.0 / gaps_b
    for i in range(X_a.shape[0]):
        for j in range(X_b.shape[0]):
            apart = squared_distance(X_b, j, X_a[i]) * inverse_b[j]
            if apart < least * gaps_a[i]:
                least, at = apart / gaps_a[i], (i, j)
    return at
