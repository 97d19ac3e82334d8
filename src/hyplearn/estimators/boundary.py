r"""Where two classes of a softmax on cone coordinates are equally likely, seen from the centre of the rows.

With v the frame coordinates at the centre in units of the curvature's radius and ρ their length, the log-odds is

.. math:: f = u_0\, \rho \coth \rho + \langle u, v \rangle + b

On a sphere around the centre f is highest and lowest on the axis, the geodesic through the centre along u. So the zero
of f nearest to the centre lies on the axis; and if the axis has none, there is none. The geodesic hyperplane that
touches the zeros there, at distance t from the centre, has all of them on one side: the sinh of the signed distance of
a zero to it is a positive multiple of :math:`b\, (\rho \coth \rho - t \coth t)`.
"""

import math

import numpy as np

from hyplearn.geometry import distance, transport
from hyplearn.geometry.arrays import Array
from hyplearn.tangent import from_frame

# No two points of the ball that float64 holds are farther apart, in units of the curvature's radius.
FARTHEST = 75.0


def touching_hyperplane(u: Array, b: float, centre: Array, *, c: float) -> tuple[Array, Array] | None:
    r"""The geodesic hyperplane that touches ``f = 0`` where that is nearest to the centre; None if it is empty.

    It is (w, p): w points to where f is positive, and :math:`\frac{\rho}{\sinh \rho} \|w\|` is the slope of f at p.
    With b = 0 the hyperplane is the zero set itself. With ``u[1:] = 0`` that is a sphere, and p one of its points.
    Zeros beyond all points of the ball that float64 holds are none.

    Parameters
    ----------
    u : ndarray of shape (d + 1,)
        Coefficients of ρ coth ρ, first, and of v.
    b : float
        Intercept.
    centre : ndarray of shape (d,)
        Centre of the rows.
    c : float
        Absolute curvature.
    """
    length = float(np.linalg.norm(u[1:]))
    axis = u[1:] / length if length > 0 else np.eye(len(centre))[0]
    # Where f is positive at the centre its first zero lies against the axis, otherwise along it.
    sign = math.copysign(1.0, u[0] + b)
    way = -sign / np.sqrt(c) * axis
    reach = np.sqrt(c) * distance(from_frame(FARTHEST * way, centre, c=c), centre, c=c)
    zero = _first_zero(sign * float(u[0]), sign * b, length)
    if zero is None or zero[0] > reach:
        return None
    rho, size = zero
    p = from_frame(rho * way, centre, c=c)
    normal = transport(axis, centre, p, c=c)
    return size / np.linalg.norm(normal) * normal, p


def _first_zero(a: float, b: float, length: float) -> tuple[float, float] | None:
    """The smallest ρ with ``h = a ρ coth ρ + b - length ρ = 0``, where a + b ≥ 0, and ``-h' sinh ρ / ρ`` there."""
    if b == 0:
        return (math.atanh(a / length), math.sqrt((length - a) * (length + a))) if a < length else None
    if a + b == 0:
        return (0.0, length) if length > 0 else None
    rho = _newton(a, b, length)
    return None if rho is None else (rho, _descent(a, length, rho) * math.sinh(rho) / rho)


def _newton(a: float, b: float, length: float) -> float | None:
    """Newton's method from where ρ coth ρ is replaced by a lower bound of it, 1 or ρ.

    h is convex for a > 0 and begins positive: steps lead up to the first zero and never beyond; where h turns upwards
    there is none. For a ≤ 0 it is concave and falls: steps lead down to its only zero. So a step in the wrong
    direction is rounding, and the end.
    """
    above, divisor = (a + b, length) if a > 0 else (b, length - a)
    rho = above / divisor if divisor > 0 else math.inf
    while rho <= FARTHEST:
        descent = _descent(a, length, rho)
        if descent <= 0:
            return None
        step = (a * rho / math.tanh(rho) + b - length * rho) / descent
        if rho + step == rho or (step > 0) != (a > 0):
            return rho
        rho += step
    return None


def _descent(a: float, length: float, rho: float) -> float:
    """``-h'(ρ)``."""
    return length - a * (math.sinh(2 * rho) - 2 * rho) / (2 * math.sinh(rho) ** 2)
