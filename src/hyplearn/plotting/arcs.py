r"""Geodesics, hypercycles and circles in the disk, computed as circular arcs.

H(w, p) denotes the geodesic through p with normal w. A geodesic meets the rim at right angles. The hypercycle at the
signed distance h from a geodesic meets the rim in the same two points, where its angle to the geodesic is
:math:`\operatorname{gd}(\sqrt c\, h)`, with the Gudermannian function gd. Every geodesic and every hypercycle is
therefore defined by two points of the rim and one angle, even if it is straight.
"""

import numpy as np

from hyplearn.decision import Boundary, Sphere
from hyplearn.geometry import gap, klein_to_ball, log_map, midpoint
from hyplearn.types import Array


def hypercycle(w: Array, p: Array, height: float = 0.0, *, c: float = 1.0, n_points: int = 401) -> Array:
    r"""Return points of the disk at the signed distance ``height`` from the geodesic H(w, p), from rim to rim.

    The chord between the two ends on the rim has the centre m, the half-length a, the unit direction τ and the unit
    normal ν on the side of w. The points are

    .. math::
        m + a \frac{\sin u \varphi}{\sin \varphi} \tau + a \frac{\cos u \varphi - \cos \varphi}{\sin \varphi} \nu,
        \qquad -1 \le u \le 1, \quad \tan \varphi_0 = -\frac{\langle m, \nu \rangle}{a}, \quad
        \varphi = \varphi_0 + \operatorname{gd}(\sqrt c \, \text{height})

    where gd is the Gudermannian function. The code evaluates this formula with the function sin x / x, so that a
    diameter (φ = 0) needs no special case. The first and the last point are on the rim.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.plotting.arcs import hypercycle
    >>> hypercycle(np.array([0.0, 1.0]), np.zeros(2), n_points=3)
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    >>> print(hypercycle(np.array([0.0, 1.0]), np.zeros(2), np.log(3), n_points=3)[1])
    [0.  0.5]
    """
    start, end = rim_points(w, p, c=c)
    centre, half = (start + end) / 2, (end - start) / 2
    # Half the central angle of the geodesic, which is the arc that meets the rim at right angles.
    phi = np.arctan2(centre[0] * half[1] - centre[1] * half[0], half @ half)
    return _arc(start, end, phi + 2 * np.arctan(np.tanh(np.sqrt(c) * height / 2)), n_points)


def circle(p: Array, radius: float, *, c: float = 1.0, n_points: int = 401) -> Array:
    r"""Return points of the circle around p with the hyperbolic radius ``radius``.

    .. math:: \frac{1 - t^2}{1 - c t^2 \|p\|^2}\, p + \frac{t\, (1 - c\|p\|^2)}{\sqrt c\, (1 - c t^2 \|p\|^2)}\, e,
              \qquad t = \tanh \frac{\sqrt c\, \text{radius}}{2}, \quad \|e\| = 1
    """
    t, root = np.tanh(np.sqrt(c) * radius / 2), np.sqrt(c)
    below = gap(p, c=c) + (1 - t) * (1 + t) * c * (p @ p)
    turns = np.linspace(0, 2 * np.pi, n_points)
    e = np.column_stack([np.cos(turns), np.sin(turns)])
    return (1 - t) * (1 + t) / below * p + t * gap(p, c=c) / (root * below) * e


def boundary_curve(found: Boundary, *, c: float = 1.0, shift: float = 0.0) -> Array:
    """Return the curve at the signed distance ``shift`` from a boundary; by default, the boundary itself.

    If the shift would give a circle a negative radius, the result is the centre of the circle, repeated.
    """
    if isinstance(found, Sphere):
        return circle(found.p, max(0.0, found.radius + found.side * shift), c=c)
    return hypercycle(found.w, found.p, found.height + shift, c=c)


def segment(x: Array, y: Array, *, c: float = 1.0, n_points: int = 33) -> Array:
    r"""Return points along the geodesics from each row of x to the corresponding row of y.

    The result has the shape (..., n_points, 2). Geodesics are circular arcs, and the points divide each arc into equal
    parts. Half the central angle of an arc is

    .. math:: \varphi = \arctan \frac{c\, (x_0 y_1 - x_1 y_0)}{1 - c \langle x, y \rangle}
    """
    turn, apart = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0], y - x
    phi = np.arctan2(c * turn, (gap(x, c=c) + gap(y, c=c) + c * np.sum(apart**2, axis=-1)) / 2)
    return _arc(x, y, phi, n_points)


def _arc(start: Array, end: Array, phi: Array, n_points: int) -> Array:
    """Return points along the circular arc of central angle 2φ from start to end.

    If φ > 0, the arc is to the left of its chord.
    """
    u, phi = np.linspace(-1, 1, n_points)[:, None], np.asarray(phi)[..., None, None]
    centre, half = (start + end)[..., None, :] / 2, (end - start)[..., None, :] / 2
    left = np.stack([-half[..., 1], half[..., 0]], axis=-1)
    along = u * _sinc(u * phi) / _sinc(phi)
    across = phi * (1 - u**2) / 2 * _sinc((1 + u) * phi / 2) * _sinc((1 - u) * phi / 2) / _sinc(phi)
    return centre + along * half + across * left


def _sinc(x: Array) -> Array:
    """Compute ``sin x / x``, which is 1 at x = 0."""
    return np.sinc(x / np.pi)


def rim_points(w: Array, p: Array, *, c: float = 1.0) -> Array:
    r"""Return the two ends of the geodesic H(w, p) on the rim.

    For an observer who moves from the first end to the second, w points to the left.

    .. math:: p \oplus \frac{\pm t}{\sqrt c} = p + \frac{1 - c\|p\|^2}{c} \frac{s}{\|s\|^2},
              \qquad s = p \pm \frac{t}{\sqrt c}, \quad t \perp w, \quad \|t\| = 1
    """
    along = np.array([w[1], -w[0]]) / np.linalg.norm(w)
    s = p + np.array([[-1.0], [1.0]]) * along / np.sqrt(c)
    ends = p + gap(p, c=c) / c * s / np.sum(s**2, axis=1, keepdims=True)
    return ends / (np.sqrt(c) * np.linalg.norm(ends, axis=1, keepdims=True))


def bisector(a: Array, b: Array, *, c: float = 1.0) -> tuple[Array, Array]:
    """Return w and p of the geodesic whose points are equally far from a and b; w points towards b."""
    p = midpoint(a, b, c=c)
    return log_map(b, p, c=c), p


def outline(V: Array, *, c: float = 1.0, n_points: int = 61) -> Array:
    """Return points along the closed geodesic polygon with vertices V, ``n_points`` per edge."""
    return segment(V, np.roll(V, -1, axis=0), c=c, n_points=n_points).reshape(-1, 2)


def minkowski_normal(w: Array, p: Array, *, c: float = 1.0) -> Array:
    r"""Return N with ``[N, N] = 1`` and ``[N, X] = sinh(√c d)`` for points x at the signed distance d from H(w, p).

    X denotes the hyperboloid coordinates of x, scaled to curvature -1, and [N, X] the Minkowski product, in which the
    product of the first coordinates is subtracted.

    .. math:: N = \Bigl(\frac{2 \sqrt c \langle p, n \rangle}{1 - c\|p\|^2}, \;
              n + \frac{2 c \langle p, n \rangle}{1 - c\|p\|^2}\, p\Bigr), \qquad n = w / \|w\|
    """
    n = w / np.linalg.norm(w)
    slope = 2 * np.sqrt(c) * (p @ n) / gap(p, c=c)
    return np.concatenate([[slope], n + slope * np.sqrt(c) * p])


def geodesic_of(N: Array, *, c: float = 1.0) -> tuple[Array, Array] | None:
    """Return w and p of the geodesic on which ``[N, X] = 0``, or None if there is no such geodesic.

    X denotes hyperboloid coordinates, and [N, X] the Minkowski product, as in :func:`minkowski_normal`. Of all points
    of the geodesic, p is the one nearest to the centre.
    """
    length = np.linalg.norm(N[1:])
    if not length > abs(N[0]):
        return None
    return N[1:], klein_to_ball(N[0] / length**2 * N[1:] / np.sqrt(c), c=c)
