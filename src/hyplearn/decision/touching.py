r"""Geodesic hyperplanes that touch the boundary of two classes of a softmax on cone coordinates.

At the distance ρ from the centre, in units of the curvature's radius, in the direction e the log-odds is

.. math:: f = s(\rho)\, (u_0 \coth \rho + \langle u, e \rangle) + b

with the length s of the rows (:func:`~hyplearn.cone.cone_length`). On a sphere around the centre f is highest and
lowest on the axis, the geodesic through the centre along u. So the zero of f nearest to the centre lies on the axis;
and if the axis has none, there is none. The geodesic hyperplane that touches the zeros there, at distance t from the
centre, has all of them on one side: the sinh of the signed distance of a zero to it is a positive multiple of
:math:`b\, (s(\rho) \coth \rho - s(t) \coth t)`.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from hyplearn.cone import NEAR, SINH_NEAR
from hyplearn.geometry import distance, transport
from hyplearn.tangent import from_frame
from hyplearn.types import Array

# No two points of the ball that float64 holds are farther apart, in units of the curvature's radius.
FARTHEST = 75.0


def touching_hyperplane(u: Array, b: float, centre: Array, *, c: float) -> tuple[Array, Array] | None:
    r"""The geodesic hyperplane that touches ``f = 0`` where that is nearest to the centre; None if it is empty.

    u holds the coefficients of cone coordinates about the centre, b is the intercept.

    It is (w, p): w points to where f is positive, and :math:`\frac{s(\rho)}{\sinh \rho} \|w\|` is the slope of f at p.
    With b = 0 the hyperplane is the zero set itself. With ``u[1:] = 0`` that is a sphere, and p one of its points.
    Zeros beyond all points of the ball that float64 holds are none.
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
    """The smallest ρ with ``h = s (a coth ρ - length) + b = 0``, where a + b ≥ 0, and ``-h' sinh ρ / s`` there."""
    if b == 0:
        return (math.atanh(a / length), math.sqrt((length - a) * (length + a))) if a < length else None
    if a + b == 0:
        return (0.0, length) if length > 0 else None
    for start, end in ((0.0, NEAR), (NEAR, FARTHEST)):
        lowest = _turn(a, b, start, end)
        if _height(lowest, a, b, length) <= 0:
            rho = _zero(_height, start, lowest, a, b, length)
            return rho, _descent(a, length, rho)
    return None


def _turn(a: float, b: float, start: float, end: float) -> float:
    """End of the fall of ``h / s`` between the two: it falls while ``a q + b > 0``, and q falls in each part of s."""
    return _zero(_fall, start, end, a, b, start) if _fall(end, a, b, start) < 0 else end


def _fall(rho: float, a: float, b: float, start: float) -> float:
    """``a q + b`` with ``q = (s / sinh ρ)² / s'``, which is 1 where a part of s starts."""
    return a * (_factor(rho) ** 2 if start else 1 / math.cosh(rho)) + b


def _height(rho: float, a: float, b: float, length: float) -> float:
    """h; it changes its sign once at most while ``h / s`` falls."""
    return _factor(rho) * (a * math.cosh(rho) - length * math.sinh(rho)) + b


def _descent(a: float, length: float, rho: float) -> float:
    """``-h' sinh ρ / s``."""
    if rho <= NEAR:
        return length * math.cosh(rho) - a * math.sinh(rho)
    return (length - a / math.tanh(rho)) / _factor(rho) + a / math.sinh(rho)


def _factor(rho: float) -> float:
    """``s / sinh ρ``, by which rows are shorter than hyperboloid coordinates."""
    return 1.0 if rho <= NEAR else (SINH_NEAR + rho - NEAR) / math.sinh(rho)


def _zero(function: Callable[..., float], start: float, end: float, *args: float) -> float:
    """Zero, to the last digits, of a function that is positive at the start and not at the end."""
    return float(brentq(function, start, end, args=args, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=2000))
