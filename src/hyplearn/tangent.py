"""The one bridge from the ball to R^d: what linear classifiers see of points, from a reference point p.

Two feature maps, both without a 0/0 at p and both exact up to the rim (s = x - p, g the gap 1 - c‖·‖²):

- z rows, of length ``sinh(√c d) / √c``: ``z = (2 / g_x) (s - (c‖s‖² / g_p) p)``;
- frame coordinates, of length d: ``σ_p log_p(x) = z · ρ / sinh ρ`` with ``ρ = √c d``, the tangent vector in an
  orthonormal frame at p, unchanged when points and p move together.

Rows for boundaries that need not pass through p are in :mod:`hyplearn.cone`.

Each row is ``along · (x - p) + base · p``: two numbers beside X replace a second matrix of the size
of X.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from hyplearn.geometry import exp_map, gap
from hyplearn.geometry.border import as_rows, as_vectors, border, check_c, check_inside
from hyplearn.geometry.kernels import (
    TINY,
    centred_sum,
    dot,
    fill_offsets,
    offsets,
    row_dot,
    row_gaps,
    squared_distance,
    squared_distances,
    unrolled,
)
from hyplearn.numerics import coordinate, log1p
from hyplearn.types import Array, Points

Features = Literal["frame", "z"]
# Rows per stage of the kernels: few enough to stay in the cache, many enough to overlap their square roots.
CHUNK = 256


def frame_coordinates(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Coordinates of points in an orthonormal frame at p.

    .. math:: \sigma_p \log_p(x), \qquad \|\sigma_p \log_p(x)\| = d(x, p)

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, float32 or float64.
    p : array-like of shape (d,)
        Reference point.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of shape (n, d), of the dtype of X

    Examples
    --------
    >>> from hyplearn.tangent import frame_coordinates
    >>> print(frame_coordinates([[0.6, 0.0], [0.1, 0.2]], [0.1, 0.2]).round(2))
    [[ 1.13 -0.63]
     [ 0.    0.  ]]
    """
    return _explicit(X, p, "frame", c)


def z_features(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Scaled tangent vectors, the rows of the perceptrons and of the exact-margin SVM.

    .. math:: z = \eta \log_p(x) = \frac{2}{1 - c\|x\|^2} \Bigl(s - \frac{c \|s\|^2}{1 - c\|p\|^2}\, p\Bigr),
              \qquad s = x - p

    A hyperplane through p with normal w lies at distance ``arsinh(√c |⟨z, w⟩| / ‖w‖) / √c``. Parameters and result
    are those of :func:`frame_coordinates`.
    """
    return _explicit(X, p, "z", c)


@border("v", "p", into_ball=True)
def from_frame(v: Points, p: Points, *, c: float = 1.0) -> Array:
    """Points with the given frame coordinates at p: the inverse of :func:`frame_coordinates`."""
    return exp_map(gap(p, c=c)[..., None] / 2 * v, p, c=c)


def eta(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Weight of each point in the paper's perceptron, the ratio of z to the logarithm.

    .. math:: \eta = \sigma_p \frac{\sinh(\sqrt c\, d)}{\sqrt c\, d}, \qquad d = d(x, p)

    It tends to σ_p at x = p (the paper prints 0).
    """
    X, p, c = check_rows(X, p, c)
    gaps, squares = offsets(X, p, c)
    check_inside(X, gaps, c)
    frame = implicit_rows(X, p, features="frame", c=c, gaps=gaps, squares=squares)
    z = implicit_rows(X, p, features="z", c=c, gaps=gaps, squares=squares)
    return (2 / gap(p, c=c) * z.along / frame.along).astype(X.dtype)


def implicit_rows(
    X: Points,
    p: Points,
    *,
    features: Features = "frame",
    c: float = 1.0,
    gaps: Array | None = None,
    squares: Array | None = None,
) -> "TangentRows":
    """Rows of frame coordinates or z features as two numbers per row beside X; nothing of the size of X is made.

    ``gaps`` takes the gaps of X where they are known already, as they are for several reference points on one X, and
    ``squares`` the squared distances to p where they are known too.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.tangent import frame_coordinates, implicit_rows
    >>> X, p, w = np.array([[0.6, 0.0], [0.1, -0.3]]), np.array([0.1, 0.2]), np.array([1.0, 2.0])
    >>> rows = implicit_rows(X, p)
    >>> print(rows @ w, frame_coordinates(X, p) @ w)
    [-0.12638812 -2.11626993] [-0.12638812 -2.11626993]
    """
    X, p, c = check_rows(X, p, c)
    gap_p, z, along = _gap_of_p(p, c), features == "z", np.empty(len(X))
    if gaps is None:
        base = np.empty(len(X))
        if not _coefficients_of_points(X, unrolled(p), gap_p, c, z, along, base):
            check_inside(X, row_gaps(X, c), c)
    else:
        base = squared_distances(X, p) if squares is None else squares.copy()
        _coefficients(gaps, gap_p, c, z, along, base)
    return TangentRows(X, p, along, base)


def z_dot(X: Array, w: Array, p: Array, *, c: float, gaps: Array) -> Array:
    """``⟨z, w⟩`` of every row of X, given its gaps, in one pass that stores nothing else; for predictions.

    Points and gaps are trusted: this is what an estimator calls once it has validated X.
    """
    out = np.empty(len(X))
    _z_dot(X, unrolled(p), w, _gap_of_p(p, c), c, gaps, out)
    return out


# Inlined by numba, not by LLVM: whether a kernel is compiled or loaded from the cache then changes no bit.
@njit(inline="always", error_model="numpy")
def element(X, p, along, base, i, j):  # type: ignore[no-untyped-def]
    """Entry j of the implicit row ``along_i (x_i - p) + base_i p``: the one place where kernels read it."""
    return along[i] * (coordinate(X, i, j, len(p)) - p[j]) + base[i] * p[j]


@njit(inline="always", error_model="numpy")
def row_product(X, p, along, base, i, w, p_dot_w):  # type: ignore[no-untyped-def]
    """``⟨u, w⟩`` of the implicit row u, given ``⟨p, w⟩``."""
    return along[i] * row_dot(X, i, w, p) + base[i] * p_dot_w


@njit(cache=True, nogil=True, error_model="numpy")
def _z_dot(X, p, w, gap_p, c, gaps, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for i in range(X.shape[0]):
        bend = squared_distance(X, i, p) * c / gap_p
        out[i] = 2.0 / gaps[i] * (row_dot(X, i, w, p) - bend * p_dot_w)


@dataclass(frozen=True)
class TangentRows:
    """A matrix whose row i is ``along_i (x_i - p) + base_i p``, kept as X, p and two numbers per row.

    Supports ``rows @ w``, ``rows.transposed_dot(q)`` and ``rows[i:j]`` (explicit rows).
    """

    X: Array
    p: Array
    along: Array
    base: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.X.shape

    def __len__(self) -> int:
        return len(self.X)

    def __matmul__(self, w: Array) -> Array:
        out = np.empty(len(self.X))
        _product(self.X, unrolled(self.p), self.along, self.base, np.ascontiguousarray(w, dtype=np.float64), out)
        return out

    def product_at(self, index: Array, w: Array) -> Array:
        """``⟨row_k, w⟩`` of the rows with the given positions."""
        out = np.empty(len(index))
        w = np.ascontiguousarray(w, dtype=np.float64)
        _product_at(self.X, unrolled(self.p), self.along, self.base, index, w, out)
        return out

    def transposed_dot(self, q: Array) -> Array:
        """``Σ q_i row_i``, the product of the transposed matrix with q."""
        return centred_sum(self.X, q * self.along, self.p) + (q @ self.base) * self.p

    def __getitem__(self, index: slice | Array) -> Array:
        """Explicit rows, as float64."""
        along, base = self.along[index], self.base[index]
        return along[..., None] * (self.X[index] - self.p) + base[..., None] * self.p


def check_rows(X: Points, p: Points, c: float) -> tuple[Array, Array, float]:
    """Contiguous rows of float32 or float64, a float64 reference point of the same width, a positive c."""
    X, p = as_rows(X, "X"), as_vectors(p, "p")
    if p.shape != X.shape[1:]:
        raise ValueError(f"p must be one point of dimension {X.shape[1]}, like the rows of X; got shape {p.shape}.")
    return X, p, check_c(c)


def _gap_of_p(p: Array, c: float) -> float:
    """The gap of p, which must lie inside."""
    gaps = row_gaps(p[None], c)
    check_inside(p[None], gaps, c)
    return float(gaps[0])


def _explicit(X: Points, p: Points, features: Features, c: float) -> Array:
    X, p, c = check_rows(X, p, c)
    out = np.empty_like(X)
    if not _rows(X, unrolled(p), _gap_of_p(p, c), c, features == "z", out):
        check_inside(X, row_gaps(X, c), c)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _product(X, p, along, base, w, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for i in range(X.shape[0]):
        out[i] = row_product(X, p, along, base, i, w, p_dot_w)


@njit(cache=True, nogil=True, error_model="numpy")
def _product_at(X, p, along, base, index, w, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for k in range(index.size):
        out[k] = row_product(X, p, along, base, index[k], w, p_dot_w)


@njit(cache=True, nogil=True, error_model="numpy")
def _coefficients(gaps, gap_p, c, z, along, base):  # type: ignore[no-untyped-def]
    """Two numbers per row, from the gaps of x and p; ``base`` comes with the squares ‖x - p‖².

    With ``b = c‖x - p‖² / g_p`` and ``h = √(b (b + g_x))`` the half of ``g_x sinh ρ``, frame coordinates have
    ``along = ρ / h``; 2 / g_x is its limit at p, and that of z.
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


@njit(cache=True, nogil=True, error_model="numpy")
def _coefficients_of_points(X, p, gap_p, c, z, along, base):  # type: ignore[no-untyped-def]
    """The same from the points, chunk by chunk; returns whether all lie inside."""
    gaps, inside = np.empty(CHUNK), True
    for start in range(0, X.shape[0], CHUNK):
        part = slice(start, min(start + CHUNK, X.shape[0]))
        own = gaps[: part.stop - start]
        fill_offsets(X[part], p, c, own, base[part])
        for i in range(own.size):
            inside &= own[i] > 0.0
        _coefficients(own, gap_p, c, z, along[part], base[part])
    return inside


@njit(cache=True, nogil=True, error_model="numpy")
def _rows(X, p, gap_p, c, z, out):  # type: ignore[no-untyped-def]
    """The explicit rows, chunk by chunk; returns whether all points lie inside."""
    along, base, inside = np.empty(CHUNK), np.empty(CHUNK), True
    for start in range(0, X.shape[0], CHUNK):
        stop = min(start + CHUNK, X.shape[0])
        inside &= _coefficients_of_points(X[start:stop], p, gap_p, c, z, along, base)
        for i in range(start, stop):
            for j in range(len(p)):
                out[i, j] = element(X[start:stop], p, along, base, i - start, j)
    return inside
