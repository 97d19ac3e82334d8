"""Convex hulls in the disk, computed with exact tests of orientation and exact comparisons of distances and heights.

A hull is computed by a sequence of such tests (predicates), and a single error can make it wrong. Each predicate is the
sign of a polynomial in the coordinates. The polynomial is computed in float64 with a bound on its rounding error. If
the sign is uncertain, the polynomial is computed again without rounding, as an "expansion", which is a sum of floats
that do not overlap (Shewchuk, 1997). Points are pairs of float64. The result is exact unless products underflow, which
cannot happen if c = 1 and the absolute values of all coordinates and their differences are 0 or at least 1e-60.
"""

import math

import numpy as np
from numba import njit

from hyplearn.numerics import coordinate, fma

# Bound on the relative rounding error of each term of a predicate: 16 half units in the last place. A term has at most
# eleven rounding errors of half a unit each; the other five allow for the rounding errors of the bound itself.
ERROR = 8 * np.finfo(float).eps
# The error bound of a predicate is valid if the absolute values of its terms sum to more than this number. If the sum
# is smaller, terms may have underflowed.
SMALLEST_SAFE_SIZE = 1e-250


@njit(cache=True, error_model="numpy")
def klein(X, i, p, gap_p, gaps, c):  # type: ignore[no-untyped-def]
    """Compute the Klein coordinates of row i of X about p; ``gap_p`` is the gap of p."""
    s0, s1 = coordinate(X, i, 0, 2) - p[0], coordinate(X, i, 1, 2) - p[1]
    bend = c * (s0 * s0 + s1 * s1)
    factor = 2.0 / (gap_p * gaps[i] + 2.0 * bend)
    return factor * (gap_p * s0 - bend * p[0]), factor * (gap_p * s1 - bend * p[1])


@njit(cache=True, error_model="numpy")
def _farthest(X, A):  # type: ignore[no-untyped-def]
    """Return the index of the first row at the largest Euclidean distance from A; it is a vertex of the hull."""
    best = 0
    for i in range(1, X.shape[0]):
        if farther(A, point(X, i), point(X, best)) > 0.0:
            best = i
    return best


@njit(cache=True, error_model="numpy")
def scan(X, gaps, c):  # type: ignore[no-untyped-def]
    """Find the vertices of the hull with Graham's scan, and return their indices in counter-clockwise order.

    The first vertex is the row farthest from the origin.
    """
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
    """Return the indices of the rows that differ from A = X[start], counter-clockwise around A.

    Rows in the same direction from A are sorted by their distance from A.
    """
    A, gap_p = point(X, start), gaps[start]
    others = np.empty(X.shape[0], dtype=np.int64)
    angles = np.empty(X.shape[0])
    size = 0
    for i in range(X.shape[0]):
        if point(X, i) != A:
            k0, k1 = klein(X, i, A, gap_p, gaps, c)
            # The angle is measured from the direction to the origin. It lies between -90° and 90°, because A is the row
            # farthest from the origin.
            angles[size] = math.atan2(A[1] * k0 - A[0] * k1, -(A[0] * k0 + A[1] * k1))
            others[size] = i
            size += 1
    # Sort by rounded angles, then merge with exact comparisons. Merging two runs that are already in order takes only
    # one comparison.
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
    """Merge the sorted runs ``old[low:middle]`` and ``old[middle:high]``, and write the result to ``new``.

    A single comparison is enough if the two runs together are already in order.
    """
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
def split(X, gaps, c):  # type: ignore[no-untyped-def]
    """Find the vertices of the hull with Quickhull, and return their indices in the same order as :func:`scan`.

    The stack contains edges PQ of a growing polygon of vertices. Each edge is stored with the rows to the right of PQ.
    """
    start = _farthest(X, (0.0, 0.0))
    opposite = _farthest(X, point(X, start))
    if point(X, start) == point(X, opposite):
        return np.array([start])
    rows = np.arange(X.shape[0])
    hull = np.empty(rows.size, dtype=np.int64)
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
    """Return the elements of ``rows`` to the right of the geodesic from row P to row Q, in the same order."""
    A, B = point(X, P), point(X, Q)
    right = np.empty(rows.size, dtype=np.bool_)
    for k in range(rows.size):
        right[k] = turn(A, B, point(X, rows[k]), gaps[P], c) < 0.0
    return rows[right]


@njit(cache=True, error_model="numpy")
def _highest(X, P, Q, rows, gaps, c):  # type: ignore[no-untyped-def]
    """Return the index of the row with the largest height (see :func:`higher`) above the edge PQ.

    If several rows have this height, return the one nearest to Q.
    """
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
                # The heights are equal. The row nearer to Q is the one that lies to the left of the other, seen from P.
                above = turn(A, point(X, best), x, gaps[P], c)
        if above > 0.0:
            best, best_height, best_bound = row, height, bound
    return best


@njit(cache=True, error_model="numpy")
def point(X, i):  # type: ignore[no-untyped-def]
    """Return row i of X as a pair of floats."""
    return np.float64(X[i, 0]), np.float64(X[i, 1])


@njit(cache=True, error_model="numpy")
def turn(A, B, C, gap_a, c):  # type: ignore[no-untyped-def]
    """Return 1 if the path A, B, C turns left, -1 if it turns right, and 0 if A, B and C lie on one geodesic.

    This is the sign of ``det[z_A(B), z_A(C)]``, where ``z_A(B)`` is the tangent vector at A that points to B
    (:func:`hyplearn.geometry.ball.z_vector`).
    """
    value, bound = turn_and_bound(A, B, C, gap_a, c)
    if abs(value) > bound:
        return np.sign(value)
    return _sign(_exact_turn(A, B, C, c))


@njit(cache=True, error_model="numpy")
def turn_and_bound(A, B, C, gap_a, c):  # type: ignore[no-untyped-def]
    """Compute ``g_A s×t - c‖s‖² A×t + c‖t‖² A×s`` for s = B - A and t = C - A, and a bound on its rounding error.

    The value equals ``det[z_A(B), z_A(C)] g_A g_B g_C / 4``, where ``g_A = 1 - c‖A‖²`` is the gap of A. The bound is
    infinite if terms may have underflowed.
    """
    s0, s1, t0, t1 = B[0] - A[0], B[1] - A[1], C[0] - A[0], C[1] - A[1]
    bend_s, bend_t = c * (s0 * s0 + s1 * s1), c * (t0 * t0 + t1 * t1)
    value = gap_a * (s0 * t1 - s1 * t0) - bend_s * (A[0] * t1 - A[1] * t0) + bend_t * (A[0] * s1 - A[1] * s0)
    size = (
        gap_a * (abs(s0 * t1) + abs(s1 * t0))
        + bend_s * (abs(A[0] * t1) + abs(A[1] * t0))
        + bend_t * (abs(A[0] * s1) + abs(A[1] * s0))
    )
    return value, ERROR * size if size > SMALLEST_SAFE_SIZE else np.inf


@njit(cache=True, error_model="numpy")
def farther(A, B, C):  # type: ignore[no-untyped-def]
    """Return the sign of ``‖B - A‖² - ‖C - A‖²``, which is 1 if B is farther from A than C is."""
    s0, s1, t0, t1 = B[0] - A[0], B[1] - A[1], C[0] - A[0], C[1] - A[1]
    square_s, square_t = s0 * s0 + s1 * s1, t0 * t0 + t1 * t1
    if abs(square_s - square_t) > ERROR * (square_s + square_t) > SMALLEST_SAFE_SIZE:
        return np.sign(square_s - square_t)
    return _sign(_plus(_square(A, B), -_square(A, C)))


@njit(cache=True, error_model="numpy")
def higher(P, Q, X, Y, c):  # type: ignore[no-untyped-def]
    """Compare the heights of X and Y above the geodesic PQ: 1 if X is higher, -1 if Y is higher, 0 if they are equal.

    The height of X is its distance from the line PQ in Klein coordinates, positive to the right of PQ. It is
    ``-det(P, Q, X) / (1 + c‖X‖²)`` up to a positive factor that is the same for X and Y, where the determinant is that
    of :func:`_exact_turn`. The comparison is always exact.
    """
    over_x, over_y = _exact_turn(P, Q, X, c), _exact_turn(P, Q, Y, c)
    return _sign(_plus(_times(over_y, _one_plus(c, X)), -_times(over_x, _one_plus(c, Y))))


@njit(cache=True, error_model="numpy")
def _exact_turn(A, B, C, c):  # type: ignore[no-untyped-def]
    """Compute the value of :func:`turn_and_bound` exactly, as an expansion (a sum of floats that do not overlap).

    The value is the determinant of the matrix whose rows are ``(1 + c‖x‖², x)`` for x = A, B and C.
    """
    total = np.empty(0)
    for P, Q, R in ((A, B, C), (B, C, A), (C, A, B)):
        total = _plus(total, _times(_one_plus(c, P), _cross(Q, R)))
    return total


@njit(cache=True, error_model="numpy")
def _cross(Q, R):  # type: ignore[no-untyped-def]
    """Compute the cross product ``Q×R`` exactly, as an expansion (a sum of floats that do not overlap)."""
    return _plus(_product(Q[0], R[1]), -_product(Q[1], R[0]))


@njit(cache=True, error_model="numpy")
def _one_plus(c, P):  # type: ignore[no-untyped-def]
    """Compute ``1 + c‖P‖²`` exactly, as an expansion (a sum of floats that do not overlap)."""
    return _plus(np.ones(1), _times(np.array([c]), _plus(_product(P[0], P[0]), _product(P[1], P[1]))))


@njit(cache=True, error_model="numpy")
def _square(A, B):  # type: ignore[no-untyped-def]
    """Compute ``‖B - A‖²`` exactly, as an expansion (a sum of floats that do not overlap)."""
    s0, s1 = _difference(B[0], A[0]), _difference(B[1], A[1])
    return _plus(_times(s0, s0), _times(s1, s1))


@njit(cache=True, error_model="numpy")
def _difference(a, b):  # type: ignore[no-untyped-def]
    """Compute the difference of two floats exactly, as an expansion (a sum of floats that do not overlap)."""
    out = np.empty(2)
    return out[: _grow(out, _grow(out, 0, -b), a)]


@njit(cache=True, error_model="numpy")
def _product(a, b):  # type: ignore[no-untyped-def]
    """Compute the product of two floats exactly, as an expansion (a sum of floats that do not overlap)."""
    out = np.empty(2)
    return out[: _grow(out, _grow(out, 0, fma(a, b, -(a * b))), a * b)]


@njit(cache=True, error_model="numpy")
def _plus(e, f):  # type: ignore[no-untyped-def]
    """Add two expansions (sums of floats that do not overlap) exactly."""
    out = np.empty(e.size + f.size)
    out[: e.size] = e
    size = e.size
    for k in range(f.size):
        size = _grow(out, size, f[k])
    return out[:size]


@njit(cache=True, error_model="numpy")
def _times(e, f):  # type: ignore[no-untyped-def]
    """Multiply two expansions (sums of floats that do not overlap) exactly."""
    out = np.empty(2 * e.size * f.size)
    size = 0
    for j in range(e.size):
        for k in range(f.size):
            for part in _product(e[j], f[k]):
                size = _grow(out, size, part)
    return out[:size]


@njit(cache=True, error_model="numpy")
def _grow(out, size, a):  # type: ignore[no-untyped-def]
    """Add the float a to the expansion ``out[:size]`` in place; return its new size.

    An expansion is a sum of floats that do not overlap. Floats that become 0 are removed.
    """
    kept = 0
    for k in range(size):
        total = a + out[k]
        arrived = total - a
        error = (a - (total - arrived)) + (out[k] - arrived)
        if error != 0.0:
            out[kept] = error
            kept += 1
        a = total
    if a != 0.0:
        out[kept] = a
        kept += 1
    return kept


@njit(cache=True, error_model="numpy")
def _sign(e):  # type: ignore[no-untyped-def]
    """Return the sign of an expansion, or 0 if the expansion is empty.

    The sign is that of the last float, whose absolute value exceeds that of the sum of all other floats.
    """
    return np.sign(e[e.size - 1]) if e.size else 0.0
