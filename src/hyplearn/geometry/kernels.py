"""Compiled loops over the rows of an array of points, with compensated sums of squares.

Near the rim, the gap ``1 - c‖x‖²`` is the small difference of two nearly equal numbers. A gap of 1e-8 that is computed
from a plain dot product has only 8 correct digits, and so has every distance, logarithm and feature computed from it.
Here the rounding errors of squares and sums are computed as well (the algorithm "Dot2" of Ogita, Rump and Oishi, 2005),
so that the result is as accurate as if computed in twice the precision.

Sums along a row are split into four partial sums. The processor can compute the four sums in parallel, and their
rounding errors are about a fourth of those of a single sum.
"""

import math
from collections.abc import Iterator

import numpy as np
from numba import njit

from hyplearn.numerics import coordinate, fma, log1p
from hyplearn.types import Array

# Squared norms below this value may have lost digits to underflow. In that case the norm is recomputed from scaled
# elements.
SMALLEST_SAFE_SQUARE = 1e-280
# Small number that prevents 0/0. In this file, it is added to a term of the numerator and to a term of the denominator,
# so that a quotient that would be 0/0 evaluates to its limit. It is too small to change other quotients.
TINY = 1e-300
# CHUNK_NUMBERS is the number of elements per chunk, chosen so that a chunk fits into the cache. FEWEST_ROWS is the
# minimum number of rows per chunk, which limits the number of calls from Python.
CHUNK_NUMBERS, FEWEST_ROWS = 2**14, 64
# Number of elements per chunk in :func:`bent_products`. All chunks use the same buffers, which are allocated once.
DIFFERENCE_NUMBERS = 2**15
# FEW_COLUMNS is the largest dimension in which :func:`bent_products` sums column by column instead of along rows.
# SUMMED_AT_ONCE is the number of columns per partial sum of squares in :func:`row_gaps`.
FEW_COLUMNS, SUMMED_AT_ONCE = 16, 32
# Number of points per block of pairwise distances, chosen so that their coordinates fit into the cache.
PAIRS = 512


@njit(cache=True, error_model="numpy")
def add(total, error, a):  # type: ignore[no-untyped-def]
    """Add ``a`` to the unevaluated sum ``total + error``, a pair of floats; return the new pair."""
    new = total + a
    arrived = new - total
    return new, error + ((total - (new - arrived)) + (a - arrived))


@njit(cache=True, error_model="numpy")
def add_square(total, error, a):  # type: ignore[no-untyped-def]
    """Add ``a²`` to the unevaluated sum ``total + error``, a pair of floats; return the new pair."""
    square = a * a
    return add(total, error + fma(a, a, -square), square)


@njit(cache=True, error_model="numpy")
def add_up(t0, t1, t2, t3, error):  # type: ignore[no-untyped-def]
    """Add four partial sums and their common error; return the unevaluated sum ``total + error`` as a pair."""
    t0, error = add(t0, error, t1)
    t2, error = add(t2, error, t3)
    return add(t0, error, t2)


@njit(cache=True, error_model="numpy")
def gap_from(total, error, c):  # type: ignore[no-untyped-def]
    """Compute ``1 - c (total + error)`` from a pair of floats, accurate to the last digit."""
    scaled = c * total
    return (1.0 - scaled) - (fma(c, total, -scaled) + c * error)


@njit(cache=True, error_model="numpy")
def gap_of(X, i, p, c):  # type: ignore[no-untyped-def]
    """Compute ``1 - c‖x‖²`` for row i of X, accurate to the last digit; the number of coordinates is ``len(p)``."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    e0, e1, e2, e3 = 0.0, 0.0, 0.0, 0.0
    d = len(p)
    whole = d - d % 4
    for j in range(0, whole, 4):
        t0, e0 = add_square(t0, e0, coordinate(X, i, j, d))
        t1, e1 = add_square(t1, e1, coordinate(X, i, j + 1, d))
        t2, e2 = add_square(t2, e2, coordinate(X, i, j + 2, d))
        t3, e3 = add_square(t3, e3, coordinate(X, i, j + 3, d))
    for j in range(whole, d):
        t0, e0 = add_square(t0, e0, coordinate(X, i, j, d))
    if whole > 0:
        t0, e0 = add_up(t0, t1, t2, t3, (e0 + e1) + (e2 + e3))
    return gap_from(t0, e0, c)


@njit(cache=True, error_model="numpy")
def shrink(u2):  # type: ignore[no-untyped-def]
    """Compute ``ρ / sinh ρ`` from ``u2 = sinh²(ρ/2)``; the result is 1 at ρ = 0.

    With ``t = 2 u2 = cosh ρ - 1`` and ``sinh ρ = √(t (t + 2))``, ρ is ``log(1 + t + sinh ρ)``.
    """
    t = 2.0 * u2 + TINY
    sinh = math.sqrt(t * (t + 2.0))
    return log1p(t + sinh) / sinh


def unrolled(p: Array) -> Array | tuple[float, ...]:
    """Convert a point of two to four dimensions to a tuple, so that the compiler can vectorise loops over rows.

    Points of other dimensions are returned unchanged.
    """
    return tuple(p.tolist()) if 2 <= len(p) <= 4 else p


def column_chunks(X: Array) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows, each together with the coordinates of these rows as contiguous float64 columns.

    Compiled functions that take columns are compiled only once, because columns are contiguous and float64 for every X.
    """
    for part in chunk_slices(X):
        yield part, X[part].T.astype(np.float64, order="C")


def chunk_slices(X: Array, numbers: int = CHUNK_NUMBERS) -> Iterator[slice]:
    """Iterate over slices of rows, each with about ``numbers`` elements, but at least ``FEWEST_ROWS`` rows."""
    step = max(FEWEST_ROWS, numbers // X.shape[1])
    return (slice(start, min(start + step, len(X))) for start in range(0, len(X), step))


def row_gaps(X: Array, c: float) -> Array:
    """Compute the gap ``1 - c‖x‖²`` of every row of X."""
    gaps = np.empty(len(X))
    for part, columns in column_chunks(X):
        _gaps(columns, c, gaps[part], np.empty((3, columns.shape[1])))
    return gaps


@njit(cache=True, nogil=True, error_model="numpy")
def _gaps(columns, c, totals, buffers):  # type: ignore[no-untyped-def]
    """Write the gap of every point to ``totals``; squares are summed in groups of columns to limit rounding errors."""
    errors, own_totals, own_errors = buffers[0], buffers[1], buffers[2]
    for i in range(totals.size):
        totals[i], errors[i] = 0.0, 0.0
    for start in range(0, columns.shape[0], SUMMED_AT_ONCE):
        for i in range(totals.size):
            own_totals[i], own_errors[i] = 0.0, 0.0
        for j in range(start, min(start + SUMMED_AT_ONCE, columns.shape[0])):
            column = columns[j]
            for i in range(totals.size):
                own_totals[i], own_errors[i] = add_square(own_totals[i], own_errors[i], column[i])
        for i in range(totals.size):
            totals[i], errors[i] = add(totals[i], errors[i] + own_errors[i], own_totals[i])
    for i in range(totals.size):
        totals[i] = gap_from(totals[i], errors[i], c)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_coefficients(gaps, gap_p, c, z, along, base):  # type: ignore[no-untyped-def]
    """Write the coefficients ``along`` and ``base`` of the sum ``along * (x - p) + base * p`` for each row x.

    On entry, ``base`` contains ``‖x - p‖²``. Let ``g_x = 1 - c‖x‖²`` be the gap of x, ``ρ = √c d(x, p)`` and
    ``b = c‖x - p‖² / g_p``. If ``z`` is true, the sum is the vector of z features of x at p (:mod:`hyplearn.tangent`),
    and ``along = 2 / g_x``. Otherwise the sum is the vector of frame coordinates of x at p, and ``along = ρ / h``,
    where ``h = √(b (b + g_x))`` is half of ``g_x sinh ρ``. As x approaches p, ``ρ / h`` approaches ``2 / g_x``. In both
    cases, ``base = -along * b``.
    """
    bending = c / gap_p
    if z:
        for i in range(gaps.size):
            along[i] = 2.0 / gaps[i]
            base[i] = -along[i] * (base[i] * bending)
        return
    for i in range(gaps.size):
        bend = base[i] * bending
        raised = bend + TINY
        half = math.sqrt(raised * (raised + gaps[i]))
        along[i] = log1p(2.0 * (raised + half) / gaps[i]) / half
        base[i] = -along[i] * bend


# This function is inlined by numba, not by LLVM, because LLVM inlines only functions that are compiled in the same
# process. If this function were loaded from numba's cache, its callers would be half as fast, and the last bits of
# their results would differ.
@njit(inline="always", error_model="numpy")
def squared_distance(X, i, p):  # type: ignore[no-untyped-def]
    """Compute ``‖x - p‖²`` for row i of X."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    d = len(p)
    whole = d - d % 4
    for j in range(0, whole, 4):
        s0 += (coordinate(X, i, j, d) - p[j]) ** 2
        s1 += (coordinate(X, i, j + 1, d) - p[j + 1]) ** 2
        s2 += (coordinate(X, i, j + 2, d) - p[j + 2]) ** 2
        s3 += (coordinate(X, i, j + 3, d) - p[j + 3]) ** 2
    for j in range(whole, d):
        s0 += (coordinate(X, i, j, d) - p[j]) ** 2
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, error_model="numpy")
def norm_of_difference(X, i, y):  # type: ignore[no-untyped-def]
    """Compute ``‖x - y‖`` for row i of X and the point y, without underflow or overflow."""
    square = squared_distance(X, i, y)
    if SMALLEST_SAFE_SQUARE < square < np.inf:
        return math.sqrt(square)
    return _scaled_norm(X[i] - y)


@njit(cache=True, error_model="numpy")
def _scaled_norm(s):  # type: ignore[no-untyped-def]
    """Compute ``‖s‖`` as ``m ‖s / m‖``, where m is the largest absolute value of an element."""
    largest = np.max(np.abs(s))
    if largest == 0.0 or largest == np.inf:
        return largest
    total = 0.0
    for j in range(s.size):
        total += (s[j] / largest) ** 2
    return largest * math.sqrt(total)


def norms(X: Array) -> Array:
    """Compute ``‖x‖`` for every row of X, without underflow or overflow."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    unsafe = np.flatnonzero(~((squares > SMALLEST_SAFE_SQUARE) & (squares < np.inf)))
    out = np.sqrt(squares)
    if unsafe.size:
        largest = np.abs(X[unsafe]).max(axis=1, initial=0.0).astype(np.float64)
        scale = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
        scaled = X[unsafe] / scale[:, None]
        out[unsafe] = np.where(scale == largest, scale * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), largest)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def half_sinh_pairs(X, columns, gap_x, gap_y, c, out):  # type: ignore[no-untyped-def]
    """Write ``sinh(√c d(x, y) / 2)`` to ``out`` for every row x of X and every column y of ``columns``.

    The result is exactly symmetric in x and y. The inner loops run over blocks of points y. The compiler can vectorise
    these loops, and a block fits into the cache. Adding four coordinates at a time keeps rounding errors small.
    """
    d, root = X.shape[1], math.sqrt(c)
    whole = d - d % 4
    for start in range(0, len(gap_y), PAIRS):
        part = slice(start, start + PAIRS)
        gaps = gap_y[part]
        for i in range(X.shape[0]):
            squares = out[i, part]
            squares[:] = 0.0
            for j in range(0, whole, 4):
                y0, y1, y2, y3 = columns[j, part], columns[j + 1, part], columns[j + 2, part], columns[j + 3, part]
                x0, x1, x2, x3 = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
                for k in range(squares.size):
                    squares[k] += ((y0[k] - x0) ** 2 + (y1[k] - x1) ** 2) + ((y2[k] - x2) ** 2 + (y3[k] - x3) ** 2)
            for j in range(whole, d):
                y0, x0 = columns[j, part], X[i, j]
                for k in range(squares.size):
                    squares[k] += (y0[k] - x0) ** 2
            unsafe = 0
            for k in range(squares.size):
                unsafe += not SMALLEST_SAFE_SQUARE < squares[k] < np.inf
            for k in range(squares.size):
                squares[k] = math.sqrt(squares[k])
            if unsafe > 0:
                _rescale(X[i], columns[:, part], squares)
            for k in range(squares.size):
                squares[k] = root * squares[k] / math.sqrt(gap_x[i] * gaps[k])


@njit(cache=True, error_model="numpy")
def _rescale(x, columns, lengths):  # type: ignore[no-untyped-def]
    """Recompute those elements of ``lengths`` that may have lost digits to underflow or overflow.

    On entry, ``lengths`` contains ``‖x - y‖`` for each column y of ``columns``.
    """
    for k in range(lengths.size):
        if not SMALLEST_SAFE_SQUARE < lengths[k] ** 2 < np.inf:
            lengths[k] = _scaled_norm(x - columns[:, k])


def squared_distances(X: Array, p: Array) -> Array:
    """Compute ``‖x - p‖²`` for every row of X."""
    return bent_products(X, p)


def bent_products(X: Array, p: Array, w: Array | None = None, bend: float = 0.0) -> Array:
    """Compute ``⟨s, w - bend s⟩`` for every row x of X, where s = x - p; if w is None, compute ``‖s‖²``.

    BLAS is not used, because its results may depend on the number of threads.
    """
    out, few = np.empty(len(X)), X.shape[1] <= FEW_COLUMNS
    buffers = np.empty((2, max(2 * X.shape[1], min(X.size, DIFFERENCE_NUMBERS + FEWEST_ROWS * X.shape[1]))))
    if few:
        p, w = p[:, None], None if w is None else w[:, None]
    for part in chunk_slices(X, DIFFERENCE_NUMBERS):
        # If there are few coordinates, sum column by column. If there are many, sum along rows, which einsum does with
        # small rounding errors. A single row is duplicated, because einsum would add its elements in a different order
        # than if there were several rows.
        rows = X[part] if len(X[part]) > 1 else np.repeat(X[part], 2, axis=0)
        s, t = (buffer[: rows.size].reshape(rows.shape[::-1] if few else rows.shape) for buffer in buffers)
        np.subtract(rows.T if few else rows, p, out=s)
        if w is not None:
            np.multiply(s, -bend, out=t)
            t += w
        out[part] = np.einsum("ji,ji->i" if few else "ij,ij->i", s, s if w is None else t)[: len(X[part])]
    return out


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def dot(x, y):  # type: ignore[no-untyped-def]
    """Compute ``⟨x, y⟩``; the compiler may reorder the sum to use vector instructions."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


# This function is inlined by numba, for the same reason as squared_distance.
@njit(inline="always", error_model="numpy")
def row_dot(X, i, w, p):  # type: ignore[no-untyped-def]
    """Compute ``⟨x - p, w⟩`` for row i of X; subtracting p first avoids cancellation if x is close to p."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    d = len(p)
    whole = d - d % 4
    for j in range(0, whole, 4):
        s0 += (coordinate(X, i, j, d) - p[j]) * w[j]
        s1 += (coordinate(X, i, j + 1, d) - p[j + 1]) * w[j + 1]
        s2 += (coordinate(X, i, j + 2, d) - p[j + 2]) * w[j + 2]
        s3 += (coordinate(X, i, j + 3, d) - p[j + 3]) * w[j + 3]
    for j in range(whole, d):
        s0 += (coordinate(X, i, j, d) - p[j]) * w[j]
    return (s0 + s1) + (s2 + s3)


def centred_dot(X: Array, w: Array, p: Array) -> Array:
    """Compute ``⟨x - p, w⟩`` for every row of X."""
    return centred_dot_at(X, np.arange(len(X)), w, p)


def centred_sum(X: Array, q: Array, p: Array) -> Array:
    """Compute ``Σ q_i (x_i - p)`` over all rows of X."""
    return centred_sum_at(X, np.arange(len(X)), q, p)


# The next two functions process four rows at a time. The processor can compute the four sums in parallel, and each
# element of the vectors that all rows share, such as w and p, is loaded once for the four rows.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def centred_dot_at(X, index, w, p):  # type: ignore[no-untyped-def]
    """Compute ``⟨x_i - p, w⟩`` for every i in ``index``; subtracting p first avoids cancellation if x_i is near p."""
    out = np.empty(index.size)
    whole = index.size - index.size % 4
    for k in range(0, whole, 4):
        x0, x1, x2, x3 = X[index[k]], X[index[k + 1]], X[index[k + 2]], X[index[k + 3]]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(X.shape[1]):
            s0 += (x0[j] - p[j]) * w[j]
            s1 += (x1[j] - p[j]) * w[j]
            s2 += (x2[j] - p[j]) * w[j]
            s3 += (x3[j] - p[j]) * w[j]
        out[k], out[k + 1], out[k + 2], out[k + 3] = s0, s1, s2, s3
    for k in range(whole, index.size):
        x0, s0 = X[index[k]], 0.0
        for j in range(X.shape[1]):
            s0 += (x0[j] - p[j]) * w[j]
        out[k] = s0
    return out


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def centred_sum_at(X, index, q, p):  # type: ignore[no-untyped-def]
    """Compute ``Σ_k q_k (x_i - p)``, where i is ``index[k]`` and x_i is row i of X."""
    out = np.zeros(X.shape[1])
    whole = index.size - index.size % 4
    for k in range(0, whole, 4):
        x0, x1, x2, x3 = X[index[k]], X[index[k + 1]], X[index[k + 2]], X[index[k + 3]]
        q0, q1, q2, q3 = q[k], q[k + 1], q[k + 2], q[k + 3]
        for j in range(X.shape[1]):
            upper = q0 * (x0[j] - p[j]) + q1 * (x1[j] - p[j])
            out[j] += upper + (q2 * (x2[j] - p[j]) + q3 * (x3[j] - p[j]))
    for k in range(whole, index.size):
        x0, q0 = X[index[k]], q[k]
        for j in range(X.shape[1]):
            out[j] += q0 * (x0[j] - p[j])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def walk(x, u, length):  # type: ignore[no-untyped-def]
    """Return the point at distance ``length`` from x in the direction of the unit vector u, for c = 1.

    The point is ``x + g τ m / ‖m‖²``, where g is the gap of x, ``τ = tanh(length / 2)`` and ``m = u + τ x``.
    """
    tau = math.tanh(length / 2.0)
    m = u + tau * x
    return x + gap_of(x.reshape(1, x.size), 0, x, 1.0) * tau / np.sum(m * m) * m
