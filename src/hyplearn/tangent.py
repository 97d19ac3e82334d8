"""The one bridge from the ball to R^d: what linear classifiers see of points, from a reference point p.

Two feature maps, both without a 0/0 at p and both exact up to the rim (s = x - p, g the gap 1 - c‖·‖²):

- z rows, of length ``sinh(√c d) / √c``: ``z = (2 / g_x) (s - (c‖s‖² / g_p) p)``;
- frame coordinates, of length d: ``σ_p log_p(x) = z · ρ / sinh ρ`` with ``ρ = √c d``, the tangent vector in an
  orthonormal frame at p, unchanged when points and p move together.

A third, for boundaries that need not pass through p, has one coordinate more: hyperboloid coordinates as seen from p,
shortened far from it, where they explode (:func:`cone_coordinates`).

Each row of the first two is ``along · (x - p) + base · p``: two numbers beside X replace a second matrix of the size
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
    gaps,
    offsets,
    row_dot,
    squared_distance,
    squared_distances,
    unrolled,
)
from hyplearn.numerics.elementary import log1p
from hyplearn.numerics.entries import coordinate
from hyplearn.types import Array, Points

Features = Literal["frame", "z"]
# Rows per stage of the kernels: few enough to stay in the cache, many enough to overlap their square roots.
CHUNK = 256
# Distance to p, in units of the curvature's radius, up to which cone coordinates are hyperboloid coordinates.
NEAR = 4.0
SINH_NEAR, COSH_NEAR = math.sinh(NEAR), math.cosh(NEAR)


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


def cone_coordinates(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Hyperboloid coordinates of points as seen from p, shortened where they explode.

    .. math:: \frac{s(\rho)}{\sinh \rho} \bigl(\cosh \rho, \; \sqrt c\, z\bigr)
              = s(\rho) \Bigl(\coth \rho, \; \frac{\log_p(x)}{\|\log_p(x)\|}\Bigr), \qquad \rho = \sqrt c\, d(x, p)

    where s (:func:`cone_length`) is sinh ρ up to the distance 4, and beyond grows like the distance: there e^ρ would
    let a few far points outweigh all others. A positive factor leaves every point on its ray of the cone
    :math:`X^0 > \|X\|`, so a linear function of these rows vanishes on a geodesic hyperplane, or nowhere. At ρ = 0 the
    row is (1, 0, ..., 0).

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
    ndarray of shape (n, d + 1), of the dtype of X

    Examples
    --------
    >>> from hyplearn.tangent import cone_coordinates
    >>> print(cone_coordinates([[0.6, 0.0], [0.1, 0.2]], [0.1, 0.2]).round(2))
    [[ 1.95  1.47 -0.82]
     [ 1.    0.    0.  ]]
    """
    X, p, c = _checked(X, p, c)
    rooms = gaps(X, c)
    check_inside(X, rooms, c)
    space, times = cone_rows(X, p, c=c, rooms=rooms)
    return np.column_stack([times, space[:]]).astype(X.dtype, copy=False)


def cone_length(rho: Array) -> Array:
    r"""Length of cone coordinates without their first, at distances ρ in units of the curvature's radius.

    .. math:: s(\rho) = \sinh \rho \;\text{ for } \rho \le 4, \qquad s(\rho) = \sinh 4 + (\rho - 4) \;\text{ beyond}
    """
    near = np.minimum(rho, NEAR)
    return np.sinh(near) + (rho - near)


def cone_rows(
    X: Array, p: Array, *, c: float, rooms: Array, squares: Array | None = None
) -> tuple["TangentRows", Array]:
    """Cone coordinates as three numbers per row beside X: the rows without their first coordinate, and that one.

    Points and their gaps are trusted. Before they are shortened the first is ``cosh ρ = 1 + (cosh ρ - 1)``, whose
    second term is the base of z with the other sign.
    """
    z = implicit_rows(X, p, features="z", c=c, rooms=rooms, squares=squares)
    times = 1.0 - z.base
    _shorten(np.sqrt(c), times, z.along, z.base)
    return z, times


@njit(cache=True, nogil=True, error_model="numpy")
def _shorten(root, times, along, base):  # type: ignore[no-untyped-def]
    """From cosh ρ and the coefficients of z to cone coordinates, in place."""
    for i in range(times.size):
        factor = 1.0
        if times[i] > COSH_NEAR:
            sinh = math.sqrt((times[i] - 1.0) * (times[i] + 1.0))
            factor = (SINH_NEAR + math.log(times[i] + sinh) - NEAR) / sinh
        times[i] *= factor
        along[i] *= root * factor
        base[i] *= root * factor


@border("v", "p", into_ball=True)
def from_frame(v: Points, p: Points, *, c: float = 1.0) -> Array:
    """Points with the given frame coordinates at p: the inverse of :func:`frame_coordinates`."""
    return exp_map(gap(p, c=c)[..., None] / 2 * v, p, c=c)


def eta(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Weight of each point in the paper's perceptron, the ratio of z to the logarithm.

    .. math:: \eta = \sigma_p \frac{\sinh(\sqrt c\, d)}{\sqrt c\, d}, \qquad d = d(x, p)

    It tends to σ_p at x = p (the paper prints 0).
    """
    X, p, c = _checked(X, p, c)
    rooms, squares = offsets(X, p, c)
    check_inside(X, rooms, c)
    frame = implicit_rows(X, p, features="frame", c=c, rooms=rooms, squares=squares)
    z = implicit_rows(X, p, features="z", c=c, rooms=rooms, squares=squares)
    return (2 / gap(p, c=c) * z.along / frame.along).astype(X.dtype)


def implicit_rows(
    X: Points,
    p: Points,
    *,
    features: Features = "frame",
    c: float = 1.0,
    rooms: Array | None = None,
    squares: Array | None = None,
) -> "TangentRows":
    """Rows of frame coordinates or z features as two numbers per row beside X; nothing of the size of X is made.

    ``rooms`` takes the gaps of X where they are known already, as they are for several reference points on one X, and
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
    X, p, c = _checked(X, p, c)
    room, z, along = _room(p, c), features == "z", np.empty(len(X))
    if rooms is None:
        base = np.empty(len(X))
        if not _coefficients_of_points(X, unrolled(p), room, c, z, along, base):
            check_inside(X, gaps(X, c), c)
    else:
        base = squared_distances(X, p) if squares is None else squares.copy()
        _coefficients(rooms, room, c, z, along, base)
    return TangentRows(X, p, along, base)


def z_dot(X: Array, w: Array, p: Array, *, c: float, rooms: Array) -> Array:
    """``⟨z, w⟩`` of every row of X, given its gaps, in one pass that stores nothing else; for predictions.

    Points and gaps are trusted: this is what an estimator calls once it has validated X.
    """
    out = np.empty(len(X))
    _z_dot(X, unrolled(p), w, _room(p, c), c, rooms, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _z_dot(X, p, w, room, c, rooms, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for i in range(X.shape[0]):
        bend = squared_distance(X, i, p) * c / room
        out[i] = 2.0 / rooms[i] * (row_dot(X, i, w, p) - bend * p_dot_w)


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

    def transposed_dot(self, q: Array) -> Array:
        """``Σ q_i row_i``, the product of the transposed matrix with q."""
        return centred_sum(self.X, q * self.along, self.p) + (q @ self.base) * self.p

    def __getitem__(self, index: slice | Array) -> Array:
        """Explicit rows, as float64."""
        along, base = self.along[index], self.base[index]
        return along[..., None] * (self.X[index] - self.p) + base[..., None] * self.p


def _checked(X: Points, p: Points, c: float) -> tuple[Array, Array, float]:
    """Contiguous rows of float32 or float64, a float64 reference point of the same width, a positive c."""
    X, p = as_rows(X, "X"), as_vectors(p, "p")
    if p.shape != X.shape[1:]:
        raise ValueError(f"p must be one point of dimension {X.shape[1]}, like the rows of X; got shape {p.shape}.")
    return X, p, check_c(c)


def _room(p: Array, c: float) -> float:
    """The gap of p, which must lie inside."""
    rooms = gaps(p[None], c)
    check_inside(p[None], rooms, c)
    return float(rooms[0])


def _explicit(X: Points, p: Points, features: Features, c: float) -> Array:
    X, p, c = _checked(X, p, c)
    out = np.empty_like(X)
    if not _rows(X, unrolled(p), _room(p, c), c, features == "z", out):
        check_inside(X, gaps(X, c), c)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _product(X, p, along, base, w, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for i in range(X.shape[0]):
        out[i] = along[i] * row_dot(X, i, w, p) + base[i] * p_dot_w


@njit(cache=True, nogil=True, error_model="numpy")
def _coefficients(rooms, room, c, z, along, base):  # type: ignore[no-untyped-def]
    """Two numbers per row, from the gaps of x and p; ``base`` comes with the squares ‖x - p‖².

    With ``b = c‖x - p‖² / g_p`` and ``h = √(b (b + g_x))`` the half of ``g_x sinh ρ``, frame coordinates have
    ``along = ρ / h``; 2 / g_x is its limit at p, and that of z.
    """
    bending = c / room
    if z:
        for i in range(rooms.size):
            along[i] = 2.0 / rooms[i]
            base[i] = -along[i] * (base[i] * bending)
        return
    for i in range(rooms.size):
        bend = base[i] * bending
        raised = bend + TINY
        half = math.sqrt(raised * (raised + rooms[i]))
        along[i] = log1p(2.0 * (raised + half) / rooms[i]) / half
        base[i] = -along[i] * bend


@njit(cache=True, nogil=True, error_model="numpy")
def _coefficients_of_points(X, p, room, c, z, along, base):  # type: ignore[no-untyped-def]
    """The same from the points, chunk by chunk; returns whether all lie inside."""
    rooms, inside = np.empty(CHUNK), True
    for start in range(0, X.shape[0], CHUNK):
        part = slice(start, min(start + CHUNK, X.shape[0]))
        own = rooms[: part.stop - start]
        fill_offsets(X[part], p, c, own, base[part])
        for room_of_row in own:
            inside &= room_of_row > 0.0
        _coefficients(own, room, c, z, along[part], base[part])
    return inside


@njit(cache=True, nogil=True, error_model="numpy")
def _rows(X, p, room, c, z, out):  # type: ignore[no-untyped-def]
    """The explicit rows, chunk by chunk; returns whether all points lie inside."""
    along, base, inside = np.empty(CHUNK), np.empty(CHUNK), True
    for start in range(0, X.shape[0], CHUNK):
        stop = min(start + CHUNK, X.shape[0])
        inside &= _coefficients_of_points(X[start:stop], p, room, c, z, along, base)
        for i in range(start, stop):
            for j in range(len(p)):
                out[i, j] = along[i - start] * (coordinate(X, i, j, len(p)) - p[j]) + base[i - start] * p[j]
    return inside
