"""Signs that are never wrong: which way three points turn, which of two is farther, which is higher over an edge.

A hull is a chain of such questions, and one wrong answer breaks the chain. Each is the sign of a polynomial in the
coordinates: it is computed in float64 with a bound on its rounding error, and again without any rounding where the
bound leaves the sign open, as an "expansion", a sum of floats that do not overlap (Shewchuk, 1997). Points are pairs
of float64. Exact unless products underflow, that is for coordinates and differences that are 0 or at least 1e-60.
"""

import numpy as np
from numba import njit

from hyplearn.numerics import fma

# Every term below is a product of at most eight rounded factors and two sums: 16 half units in the last place.
ERROR = 8 * np.finfo(float).eps
# Below this the terms themselves may have underflowed.
SMALLEST_SAFE_SIZE = 1e-250


@njit(cache=True, error_model="numpy")
def point(X, i):  # type: ignore[no-untyped-def]
    """Row i of X as a pair."""
    return np.float64(X[i, 0]), np.float64(X[i, 1])


@njit(cache=True, error_model="numpy")
def turn(A, B, C, gap_a, c):  # type: ignore[no-untyped-def]
    """Sign of ``det[z_A(B), z_A(C)]``: 1 if A, B, C turn to the left, -1 to the right, 0 on one geodesic.

    ``gap_a`` is the gap of A.
    """
    value, bound = turn_and_bound(A, B, C, gap_a, c)
    if abs(value) > bound:
        return np.sign(value)
    return _sign(_exact_turn(A, B, C, c))


@njit(cache=True, error_model="numpy")
def turn_and_bound(A, B, C, gap_a, c):  # type: ignore[no-untyped-def]
    """``g_A s×t - c‖s‖² A×t + c‖t‖² A×s`` with s = B - A, t = C - A, and a bound on its rounding error.

    That is ``det[z_A(B), z_A(C)]`` times ``g_A g_B g_C / 4``, without its divisions. The bound is infinite where
    terms may have underflowed.
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
    """Sign of ``‖B - A‖² - ‖C - A‖²``: 1 if B is farther from A than C is, in Euclidean terms."""
    s0, s1, t0, t1 = B[0] - A[0], B[1] - A[1], C[0] - A[0], C[1] - A[1]
    square_s, square_t = s0 * s0 + s1 * s1, t0 * t0 + t1 * t1
    if abs(square_s - square_t) > ERROR * (square_s + square_t) > SMALLEST_SAFE_SIZE:
        return np.sign(square_s - square_t)
    return _sign(_plus(_square(A, B), -_square(A, C)))


@njit(cache=True, error_model="numpy")
def higher(P, Q, X, Y, c):  # type: ignore[no-untyped-def]
    """Sign of the height of X over the geodesic from P to Q less that of Y, measured to the right and in Klein terms.

    The height of X is ``-det(P, Q, X) / (1 + c‖X‖²)`` up to a factor that X and Y share; always exact.
    """
    over_x, over_y = _exact_turn(P, Q, X, c), _exact_turn(P, Q, Y, c)
    return _sign(_plus(_times(over_y, _one_plus(c, X)), -_times(over_x, _one_plus(c, Y))))


@njit(cache=True, error_model="numpy")
def _exact_turn(A, B, C, c):  # type: ignore[no-untyped-def]
    """The value of :func:`turn_and_bound`, as the determinant of the three rows ``(1 + c‖x‖², x)``."""
    total = np.empty(0)
    for P, Q, R in ((A, B, C), (B, C, A), (C, A, B)):
        total = _plus(total, _times(_one_plus(c, P), _cross(Q, R)))
    return total


@njit(cache=True, error_model="numpy")
def _cross(Q, R):  # type: ignore[no-untyped-def]
    """``Q×R``."""
    return _plus(_product(Q[0], R[1]), -_product(Q[1], R[0]))


@njit(cache=True, error_model="numpy")
def _one_plus(c, P):  # type: ignore[no-untyped-def]
    """``1 + c‖P‖²``."""
    return _plus(np.ones(1), _times(np.array([c]), _plus(_product(P[0], P[0]), _product(P[1], P[1]))))


@njit(cache=True, error_model="numpy")
def _square(A, B):  # type: ignore[no-untyped-def]
    """``‖B - A‖²``."""
    s0, s1 = _difference(B[0], A[0]), _difference(B[1], A[1])
    return _plus(_times(s0, s0), _times(s1, s1))


@njit(cache=True, error_model="numpy")
def _difference(a, b):  # type: ignore[no-untyped-def]
    """The expansion of ``a - b``."""
    out = np.empty(2)
    return out[: _grow(out, _grow(out, 0, -b), a)]


@njit(cache=True, error_model="numpy")
def _product(a, b):  # type: ignore[no-untyped-def]
    """The expansion of ``a b``."""
    out = np.empty(2)
    return out[: _grow(out, _grow(out, 0, fma(a, b, -(a * b))), a * b)]


@njit(cache=True, error_model="numpy")
def _plus(e, f):  # type: ignore[no-untyped-def]
    """The sum of two expansions."""
    out = np.empty(e.size + f.size)
    out[: e.size] = e
    size = e.size
    for k in range(f.size):
        size = _grow(out, size, f[k])
    return out[:size]


@njit(cache=True, error_model="numpy")
def _times(e, f):  # type: ignore[no-untyped-def]
    """The product of two expansions."""
    out = np.empty(2 * e.size * f.size)
    size = 0
    for j in range(e.size):
        for k in range(f.size):
            for part in _product(e[j], f[k]):
                size = _grow(out, size, part)
    return out[:size]


@njit(cache=True, error_model="numpy")
def _grow(out, size, a):  # type: ignore[no-untyped-def]
    """Add the float a to the expansion ``out[:size]``, in place and without zeros; the new size."""
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
    """Sign of an expansion: that of its largest float, which outweighs all others."""
    return np.sign(e[e.size - 1]) if e.size else 0.0
