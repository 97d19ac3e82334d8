"""Points and boundaries on the hyperboloid, with the ball's precision.

Seen from a point p, a point x has the hyperboloid coordinates ``(cosh ρ, √c z)``, with ``ρ = √c d(x, p)`` and z the
scaled tangent vector at p: all of them exact up to the rim of the ball. A normal n with ``[n, n] > 0`` stands for the
geodesic hyperplane ``[n, x] = 0``, whose distance from p, along n, is ``arsinh(n⁰ / √[n, n])``.
"""

import numpy as np

from hyplearn.geometry import conformal_factor, transport
from hyplearn.geometry.arrays import Array
from hyplearn.tangent import from_frame, z_dot, z_features


def hyperboloid_rows(X: Array, p: Array, c: float) -> Array:
    """Coordinates of points as seen from p, X⁰ first; from p = 0, those of ``ball_to_hyperboloid``."""
    space = np.sqrt(c) * z_features(X, p, c=c)
    return np.column_stack([np.hypot(1, np.linalg.norm(space, axis=1)), space])


def boundary(direction: Array, shift: float, p: Array, c: float) -> tuple[Array, Array]:
    r"""The hyperplane of a normal seen from p, as its foot and its normal in frame coordinates there.

    .. math:: n = (\|v\| \sinh a, \; v \cosh a)

    Parameters
    ----------
    direction : ndarray of shape (d,)
        v, of length √[n, n].
    shift : float
        a, the signed distance from p to the hyperplane along v, times √c.
    p : ndarray of shape (d,)
        Where the normal is seen from.
    c : float
        Absolute curvature.

    Returns
    -------
    w, q : ndarrays of shape (d,)
        The normal, as long as v, and the point of the hyperplane next to p.
    """
    length = float(np.linalg.norm(direction))
    if length == 0:  # nothing was learned, and every point has the score 0
        return direction, p
    q = from_frame(shift / np.sqrt(c) / length * direction, p, c=c)
    unit = transport(direction / length / conformal_factor(p, c=c), p, q, c=c) * conformal_factor(q, c=c)
    return length * unit / np.linalg.norm(unit), q


def products(X: Array, rooms: Array, w: Array, q: Array, c: float) -> Array:
    """``[n, x]`` of every row of X, for the normal that :func:`boundary` gave as w and q."""
    return z_dot(X, np.sqrt(c) * w, q, c=c, rooms=rooms)
