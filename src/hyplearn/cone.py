"""Rows that need no reference point: hyperboloid coordinates about a centre, shortened far out.

A linear function of these rows vanishes on a geodesic hyperplane, or nowhere; with a constant column on a sphere, a
horosphere or an equidistant, as long as the rows are not shortened.
"""

import math

import numpy as np
from numba import njit

from hyplearn.geometry.border import check_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.tangent import TangentRows, check_rows, frame_coordinates, implicit_rows
from hyplearn.types import Array, Points

# Distance to the centre, in units of the curvature's radius, up to which cone coordinates are hyperboloid coordinates.
# Farther out e^ρ would let a few points outweigh all others.
NEAR = 4.0
SINH_NEAR, COSH_NEAR = math.sinh(NEAR), math.cosh(NEAR)
# Entry of the constant column for an intercept, above all others in rows that are not shortened: an intercept of b
# needs a coefficient of b / 30, so that its penalty is negligible and the objective strongly convex in all weights.
INTERCEPT = 30.0


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
    >>> from hyplearn.cone import cone_coordinates
    >>> print(cone_coordinates([[0.6, 0.0], [0.1, 0.2]], [0.1, 0.2]).round(2))
    [[ 1.95  1.47 -0.82]
     [ 1.    0.    0.  ]]
    """
    X, p, c = check_rows(X, p, c)
    gaps = row_gaps(X, c)
    check_inside(X, gaps, c)
    space, times = cone_rows(X, p, c=c, gaps=gaps)
    return np.column_stack([times, space[:]]).astype(X.dtype, copy=False)


def cone_length(rho: Array) -> Array:
    r"""Length of cone coordinates without their first, at distances ρ in units of the curvature's radius.

    .. math:: s(\rho) = \sinh \rho \;\text{ for } \rho \le 4, \qquad s(\rho) = \sinh 4 + (\rho - 4) \;\text{ beyond}
    """
    near = np.minimum(rho, NEAR)
    return np.sinh(near) + (rho - near)


def cone_rows(X: Array, p: Array, *, c: float, gaps: Array, squares: Array | None = None) -> tuple[TangentRows, Array]:
    """Cone coordinates as three numbers per row beside X: the rows without their first coordinate, and that one.

    Points and their gaps are trusted. Before they are shortened the first is ``cosh ρ = 1 + (cosh ρ - 1)``, whose
    second term is the base of z with the other sign.
    """
    z = implicit_rows(X, p, features="z", c=c, gaps=gaps, squares=squares)
    times = 1.0 - z.base
    _shorten(np.sqrt(c), times, z.along, z.base)
    return z, times


def plain_cone_rows(X: Array, centre: Array, c: float, *, intercept: bool) -> Array:
    """Explicit rows by their definition, in plain NumPy, with the constant column of an intercept: for certificates."""
    frame = np.sqrt(c) * frame_coordinates(X.astype(np.float64), centre, c=c)
    rho = np.linalg.norm(frame, axis=1)
    safe = np.where(rho > 0, rho, 1.0)
    length = np.where(rho > 0, cone_length(safe), 0.0)
    first = np.where(rho > 0, length / np.tanh(safe), 1.0)
    columns = [first, (length / safe)[:, None] * frame, np.full(len(rho), INTERCEPT)]
    return np.column_stack(columns if intercept else columns[:-1])


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
