"""Feature maps at a reference point p, from the ball to Euclidean space; they provide rows for linear classifiers.

Both feature maps are accurate up to the rim and well-defined at p. With s = x - p, the distance ``d = d(x, p)``, and
the gaps ``g_x = 1 - c‖x‖²`` and ``g_p = 1 - c‖p‖²``, the features of x are:

- z features, of norm ``sinh(√c d) / √c``: ``z = (2 / g_x) (s - (c‖s‖² / g_p) p)``;
- frame coordinates, of norm d: ``σ_p log_p(x) = z · ρ / sinh ρ`` with ``ρ = √c d`` and the conformal factor
  ``σ_p = 2 / g_p``. They are the coordinates of the tangent vector log_p(x) in an orthonormal frame at p. If an
  isometry moves all points and p, all rows change by the same rotation or reflection.

Rows for boundaries that need not pass through p are in :mod:`hyplearn.cone`.

A row of either feature map has the form ``along · (x - p) + base · p``, with two numbers ``along`` and ``base`` per
point x. :class:`TangentRows` stores these numbers instead of a second matrix of the size of X.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from hyplearn.geometry import exp_map, gap
from hyplearn.geometry.border import as_rows, as_vectors, border, check_c, check_inside
from hyplearn.geometry.kernels import (
    FEW_COLUMNS,
    bent_products,
    centred_dot_at,
    column_chunks,
    dot,
    fill_coefficients,
    row_dot,
    row_gaps,
    squared_distances,
    unrolled,
)
from hyplearn.numerics import coordinate
from hyplearn.types import Array, Points

Features = Literal["frame", "z"]


def frame_coordinates(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute the coordinates of points in an orthonormal frame at p.

    .. math:: \sigma_p \log_p(x), \qquad \|\sigma_p \log_p(x)\| = d(x, p), \qquad \sigma_p = \frac{2}{1 - c\|p\|^2}

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64.
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
    r"""Compute the scaled tangent vectors z of points.

    .. math:: z = \eta \log_p(x) = \frac{2}{1 - c\|x\|^2} \Bigl(s - \frac{c \|s\|^2}{1 - c\|p\|^2}\, p\Bigr),
              \qquad s = x - p

    where η is the weight computed by :func:`eta`. The distance of a point to the hyperplane through p with normal w is
    ``arsinh(√c |⟨z, w⟩| / ‖w‖) / √c``. Perceptrons, and SVMs with ``margin="exact"``, use these vectors as rows. The
    parameters and the result are the same as for :func:`frame_coordinates`.
    """
    return _explicit(X, p, "z", c)


@border("v", "p", into_ball=True)
def from_frame(v: Points, p: Points, *, c: float = 1.0) -> Array:
    """Return the points with the given frame coordinates at p; this is the inverse of :func:`frame_coordinates`."""
    return exp_map(gap(p, c=c)[..., None] / 2 * v, p, c=c)


def eta(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute the perceptron's weight η of each point x, for which ``z = η log_p(x)``.

    .. math:: \eta = \sigma_p \frac{\sinh(\sqrt c\, d)}{\sqrt c\, d}, \qquad d = d(x, p), \qquad
              \sigma_p = \frac{2}{1 - c\|p\|^2}

    At x = p the weight is σ_p, although the paper on the perceptron (Chien, Pan, Tabaghi and Milenkovic, 2021) states
    that it is 0.
    """
    X, p, c = check_rows(X, p, c)
    gaps, squares = row_gaps(X, c), squared_distances(X, p)
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
    """Build implicit rows of frame coordinates or z features, which store two values per row but no copy of X.

    The gaps 1 - c‖x‖² and the squares ‖x - p‖² of all points are computed unless they are passed.

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
    if gaps is None:
        gaps = row_gaps(X, c)
        check_inside(X, gaps, c)
    along, base = np.empty(len(X)), squared_distances(X, p) if squares is None else squares.copy()
    fill_coefficients(gaps, _gap_of_p(p, c), c, features == "z", along, base)
    return TangentRows(X, p, along, base)


def z_dot(X: Array, w: Array, p: Array, *, c: float, gaps: Array) -> Array:
    """Compute ``⟨z, w⟩`` for the z features of every row of X in one pass, given the gaps ``1 - c‖x‖²``.

    X and the gaps are not validated; estimators call this function for predictions after they have validated X.
    """
    products = bent_products(X, p, 2 * w, 2 * (c * float(p @ w) / _gap_of_p(p, c)))
    products /= gaps
    return products


# This function is inlined by numba instead of LLVM, so that newly compiled and cached kernels give identical results.
@njit(inline="always", error_model="numpy")
def element(X, p, along, base, i, j):  # type: ignore[no-untyped-def]
    """Return element j of the implicit row ``along_i (x_i - p) + base_i p``; most kernels call it to read rows."""
    return along[i] * (coordinate(X, i, j, len(p)) - p[j]) + base[i] * p[j]


@njit(inline="always", error_model="numpy")
def row_product(X, p, along, base, i, w, p_dot_w):  # type: ignore[no-untyped-def]
    """Return the inner product of w and the implicit row with index i, given ``p_dot_w = ⟨p, w⟩``."""
    return along[i] * row_dot(X, i, w, p) + base[i] * p_dot_w


@dataclass(frozen=True)
class TangentRows:
    """Implicit matrix with rows ``along_i (x_i - p) + base_i p``, stored as X, p and two values per row.

    The product ``rows @ w`` is supported, and ``rows[i:j]`` returns explicit rows as an array.
    """

    X: Array
    p: Array
    along: Array
    base: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return self.X.shape

    def __len__(self) -> int:
        return len(self.X)

    def __matmul__(self, w: Array) -> Array:
        if self.X.shape[1] > FEW_COLUMNS:
            return self.product_at(np.arange(len(self.X)), w)
        out = np.empty(len(self.X))
        _product(self.X, unrolled(self.p), self.along, self.base, np.ascontiguousarray(w, dtype=np.float64), out)
        return out

    def product_at(self, index: Array, w: Array) -> Array:
        """Return the product ``⟨row_k, w⟩`` for each row number k in ``index``."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        products = centred_dot_at(self.X, index, w, self.p)
        products *= self.along[index]
        products += (self.p @ w) * self.base[index]
        return products

    def __getitem__(self, index: slice | Array) -> Array:
        """Return the selected rows as an explicit float64 array."""
        along = self.along[index]
        return self.fill(index, np.empty((len(along), len(self.p))))

    def fill(self, index: slice | Array, out: Array) -> Array:
        """Write the selected rows to ``out``, an array of float64, and return ``out``."""
        along = self.along[index, None]
        if not self.p.any():  # if p = 0, as for explicit rows, row i is along_i · x_i
            return np.multiply(self.X[index], along, out=out)
        np.subtract(self.X[index], self.p, out=out)
        out *= along
        out += self.base[index, None] * self.p
        return out

    def products(self, index: slice | Array, weights: Array) -> Array:
        """Return the products of the selected rows with each row of ``weights``.

        The products of a row do not depend, even in the last bit, on which other rows are selected.
        """
        # BLAS is not used, because the last bits of its results depend on the number of rows.
        if len(weights) >= self.X.shape[1]:
            return np.einsum("ij,kj->ik", self[index], weights)
        products = np.einsum("ij,kj->ik", self.X[index] - self.p, weights)
        products *= self.along[index, None]
        products += self.base[index, None] * (weights @ self.p)
        return products

    def fill_columns(self, part: slice, columns: Array) -> None:
        """Convert points to explicit rows, in place.

        On entry, the columns of the (d, n) array ``columns`` are the points ``X[part]``; on return, they are the rows.
        """
        columns -= self.p[:, None]
        columns *= self.along[part]
        columns += self.base[part] * self.p[:, None]


def check_rows(X: Points, p: Points, c: float) -> tuple[Array, Array, float]:
    """Validate X, p and c; return X as contiguous float32 or float64 rows, p as a float64 vector, and c."""
    X, p = as_rows(X, "X"), as_vectors(p, "p")
    if p.shape != X.shape[1:]:
        raise ValueError(
            f"p must be one point of dimension {X.shape[1]}, like the rows of X; got shape {p.shape}.\n"
            f"Pass an array of shape ({X.shape[1]},)."
        )
    return X, p, check_c(c)


def _gap_of_p(p: Array, c: float) -> float:
    """Return the gap 1 - c‖p‖²; raise ValueError if p is not inside the ball."""
    gaps = row_gaps(p[None], c)
    check_inside(p[None], gaps, c)
    return float(gaps[0])


def _explicit(X: Points, p: Points, features: Features, c: float) -> Array:
    rows = implicit_rows(X, p, features=features, c=c)
    out = np.empty_like(rows.X)
    for part, columns in column_chunks(rows.X):
        rows.fill_columns(part, columns)
        out[part] = columns.T
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _product(X, p, along, base, w, out):  # type: ignore[no-untyped-def]
    p_dot_w = dot(p, w)
    for i in range(X.shape[0]):
        out[i] = row_product(X, p, along, base, i, w, p_dot_w)
