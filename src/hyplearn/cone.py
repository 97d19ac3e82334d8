r"""Cone coordinates: hyperboloid coordinates relative to a centre, with a constant column, scaled by ρ / sinh ρ.

A linear function of these rows vanishes on a generalised sphere of hyperbolic space: a geodesic hyperplane, an
equidistant of one, a horosphere or a sphere. Without the constant, on a geodesic hyperplane.
"""

import numpy as np

from hyplearn.geometry.border import check_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.tangent import TangentRows, check_rows, frame_coordinates, implicit_rows
from hyplearn.types import Array, Points


def cone_coordinates(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Hyperboloid coordinates of points relative to p, with a constant column, scaled by ρ / sinh ρ.

    .. math:: \frac{\rho}{\sinh \rho} \bigl(\cosh \rho, \; \sqrt c\, z, \; 1\bigr)
              = \Bigl(\rho \coth \rho, \; \rho\, e, \; \frac{\rho}{\sinh \rho}\Bigr), \qquad \rho = \sqrt c\, d(x, p)

    with e the direction of x as seen from p. Hyperboloid coordinates grow like :math:`e^\rho`, so that a few far points
    would outweigh all others; the factor ρ / sinh ρ makes rows as long as points are far. It is positive, so the
    function :math:`u_0 \cosh \rho + \sqrt c \langle z, u \rangle + b` keeps its sign, and its zeros are those of the
    linear function of the rows. At p the row is (1, 0, ..., 0, 1).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, float32 or float64.
    p : array-like of shape (d,)
        Centre.
    c : float
        Absolute curvature.

    Returns
    -------
    ndarray of shape (n, d + 2), of the dtype of X

    Examples
    --------
    >>> from hyplearn.cone import cone_coordinates
    >>> print(cone_coordinates([[0.6, 0.0], [0.1, 0.2]], [0.1, 0.2]).round(2))
    [[ 1.5   1.13 -0.63  0.77]
     [ 1.    0.    0.    1.  ]]
    """
    X, p, c = check_rows(X, p, c)
    gaps = row_gaps(X, c)
    check_inside(X, gaps, c)
    space, times = cone_rows(X, p, c=c, gaps=gaps)
    return np.column_stack([times, space[:], shortening(space, times, c)]).astype(X.dtype, copy=False)


def cone_rows(X: Array, p: Array, *, c: float, gaps: Array, squares: Array | None = None) -> tuple[TangentRows, Array]:
    r"""Cone coordinates in implicit form: the rows ρ e as ``TangentRows``, and the column ρ coth ρ.

    Points and their gaps are trusted. The first column is :math:`\frac{\rho}{\sinh \rho} (1 + (\cosh \rho - 1))`: the
    coefficient of frame coordinates along x - p is :math:`\frac{2}{1 - c\|x\|^2}` times the first factor, and their
    base the product with the second term, with the other sign.
    """
    frame = implicit_rows(X, p, features="frame", c=c, gaps=gaps, squares=squares)
    times = 0.5 * frame.along * gaps - frame.base
    if c != 1:
        np.multiply(frame.along, np.sqrt(c), out=frame.along)
        np.multiply(frame.base, np.sqrt(c), out=frame.base)
    return frame, times


def shortening(space: TangentRows, times: Array, c: float) -> Array:
    """Factor ``ρ / sinh ρ`` of each row, computed from the results of :func:`cone_rows`."""
    return times + space.base / np.sqrt(c)


def plain_cone_rows(X: Array, centre: Array, c: float, *, intercept: bool) -> Array:
    """Explicit rows computed from their definition in plain NumPy; the last column is omitted without an intercept."""
    frame = np.sqrt(c) * frame_coordinates(X.astype(np.float64), centre, c=c)
    rho = np.linalg.norm(frame, axis=1)
    factor = np.where(rho > 0, rho, 1.0) / np.sinh(np.where(rho > 0, rho, np.arcsinh(1.0)))
    columns = [factor * np.cosh(rho), frame, factor]
    return np.column_stack(columns if intercept else columns[:-1])
