r"""Cone coordinates: hyperboloid coordinates about a centre, and a constant column, all multiplied by ρ / sinh ρ.

Here ρ is the distance to the centre in units of 1/√c. The zeros of a linear function of these coordinates, if there are
any, form a generalised sphere of hyperbolic space: a geodesic hyperplane, an equidistant surface of a hyperplane, a
horosphere, or a sphere (possibly a single point). Without the constant column, they form a geodesic hyperplane.
"""

import numpy as np

from hyplearn.geometry.border import check_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.tangent import TangentRows, check_rows, frame_coordinates, implicit_rows
from hyplearn.types import Array, Points


def cone_coordinates(X: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute hyperboloid coordinates about p, and a constant column, all multiplied by ρ / sinh ρ.

    .. math:: \frac{\rho}{\sinh \rho} \bigl(\cosh \rho, \; \sqrt c\, z, \; 1\bigr)
              = \Bigl(\rho \coth \rho, \; \rho\, e, \; \frac{\rho}{\sinh \rho}\Bigr), \qquad \rho = \sqrt c\, d(x, p)

    where z is computed by :func:`hyplearn.tangent.z_features`, and e is the unit vector parallel to z. Hyperboloid
    coordinates grow like :math:`e^\rho`, so that a few distant points would outweigh all others; with the factor
    ρ / sinh ρ, rows grow only like ρ. The factor is positive. A linear function of the rows with the coefficients
    :math:`(u_0, u, b)` therefore has the same zeros as
    :math:`u_0 \cosh \rho + \sqrt c \langle z, u \rangle + b`. At p the row is (1, 0, ..., 0, 1).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64.
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
    r"""Compute cone coordinates in implicit form: the columns ρ e as ``TangentRows``, and the first column ρ coth ρ.

    Here, ρ is the distance of a point from p in units of 1/√c, and e is its direction as seen from p. Points and their
    gaps 1 - c‖x‖² are not validated. The first column is :math:`\frac{\rho}{\sinh \rho} (1 + (\cosh \rho - 1))`. It is
    computed from the coefficients of frame coordinates: ``along`` is :math:`\frac{2}{1 - c\|x\|^2}` times the factor
    :math:`\frac{\rho}{\sinh \rho}`, and ``base`` is :math:`-(\cosh \rho - 1)` times this factor. The last column,
    ``ρ / sinh ρ``, is not returned; :func:`shortening` computes it from the result.
    """
    frame = implicit_rows(X, p, features="frame", c=c, gaps=gaps, squares=squares)
    times = 0.5 * frame.along * gaps - frame.base
    if c != 1:
        np.multiply(frame.along, np.sqrt(c), out=frame.along)
        np.multiply(frame.base, np.sqrt(c), out=frame.base)
    return frame, times


def shortening(space: TangentRows, times: Array, c: float) -> Array:
    """Compute the factor ``ρ / sinh ρ`` of each row from the results of :func:`cone_rows`."""
    return times + space.base / np.sqrt(c)


def plain_cone_rows(X: Array, centre: Array, c: float, *, intercept: bool) -> Array:
    """Compute cone coordinates from their definition, in plain NumPy; without an intercept, omit the last column."""
    frame = np.sqrt(c) * frame_coordinates(X.astype(np.float64), centre, c=c)
    rho = np.linalg.norm(frame, axis=1)
    factor = np.where(rho > 0, rho, 1.0) / np.sinh(np.where(rho > 0, rho, np.arcsinh(1.0)))
    columns = [factor * np.cosh(rho), frame, factor]
    return np.column_stack(columns if intercept else columns[:-1])
