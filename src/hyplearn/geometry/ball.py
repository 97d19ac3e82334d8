"""The Poincaré ball: distance, geodesics, Möbius operations and isometries.

Points lie in the open ball ``{x : c‖x‖² < 1}`` of sectional curvature ``-c``. The public functions take and return
float32 or float64, compute in float64, and broadcast over leading axes (except ``pairwise_distance``).
Distances, logarithms and tangent vectors are accurate up to the rim, because they are computed from the gap
``1 - c‖x‖²`` and from differences of points, both of which are exact to the last digit. Möbius sums and the exponential
map are computed in twice the precision (``rounded.py``). Other functions that return points have errors of a few units
in the last place.
"""

import numpy as np

from hyplearn.geometry.border import border, check_inside, pull_inside
from hyplearn.geometry.kernels import TINY, half_sinh_pairs, norms, row_gaps
from hyplearn.geometry.rounded import added, arrived, in_blocks
from hyplearn.types import Array, Points, Scalars

# Number of pairs of points per call of compiled code. It is small enough that an interrupt takes effect within
# milliseconds and that the results stay in the cache, but large enough that the overhead of a call is negligible.
PAIRS_PER_CALL = 2**20


@border("x")
def gap(x: Points, *, c: float = 1.0) -> Array:
    r"""Compute the gap of a point, which falls from 1 at the origin to 0 on the rim.

    .. math:: 1 - c \|x\|^2

    It is computed as if in twice the working precision. An error is raised for points on or outside the rim.

    Examples
    --------
    >>> from hyplearn.geometry import gap
    >>> print(gap([0.6, 0.0]))
    0.64
    """
    return _gap(x, c)


def _gap(x: Array, c: float) -> Array:
    values: Array = row_gaps(x.reshape(-1, x.shape[-1]), c).reshape(x.shape[:-1])
    check_inside(x, values, c)
    return values


def _norm(x: Array) -> Array:
    flat: Array = norms(np.ascontiguousarray(x).reshape(-1, x.shape[-1]))
    return flat.reshape(x.shape[:-1])


@border("x")
def conformal_factor(x: Points, *, c: float = 1.0) -> Array:
    r"""Compute the conformal factor, which is the ratio of hyperbolic to Euclidean length at a point.

    .. math:: \sigma_x = \frac{2}{1 - c \|x\|^2}
    """
    return 2 / _gap(x, c)


@border("x", into_ball=True)
def project(x: Points, *, c: float = 1.0) -> Array:
    """Move points on or outside the rim to the largest representable radius inside the ball.

    Points inside the ball are left unchanged.

    Examples
    --------
    >>> from hyplearn.geometry import project
    >>> project([[0.5, 0.5], [3.0, 4.0]])
    array([[0.5, 0.5],
           [0.6, 0.8]])
    """
    return x


@border("x", "y", into_ball=True)
def mobius_add(x: Points, y: Points, *, c: float = 1.0) -> Array:
    r"""Compute the Möbius sum x ⊕ y, the image of y under the hyperbolic translation that takes the origin to x.

    .. math::
        x \oplus y = \frac{(1 - c\|x\|^2)\, t + c\|t\|^2 x}{(1 - c\|x\|^2)(1 - c\|y\|^2) + c\|t\|^2}, \qquad t = x + y

    This is the formula of Chien, Pan, Tabaghi and Milenkovic (2021), regrouped to avoid cancellation and evaluated in
    twice the working precision, so that the result is exact up to its final rounding. In particular,
    ``(-x) ⊕ x`` is exactly 0.

    Examples
    --------
    >>> from hyplearn.geometry import mobius_add
    >>> mobius_add([0.5, 0.0], [0.5, 0.0])
    array([0.8, 0. ])
    """
    return in_blocks(added, x, y, c)


@border("x", scalars=("r",), into_ball=True)
def mobius_scale(r: Scalars, x: Points, *, c: float = 1.0) -> Array:
    r"""Compute the Möbius product r ⊗ x, the point in the direction of x that is r times as far from the origin.

    .. math:: r \otimes x = \tfrac{1}{\sqrt c} \tanh\bigl(r \operatorname{artanh}(\sqrt c \|x\|)\bigr) \frac{x}{\|x\|}

    The artanh is computed as ``arsinh(√c‖x‖ / √(1 - c‖x‖²))``, which keeps full precision near the rim.

    Examples
    --------
    >>> from hyplearn.geometry import mobius_scale
    >>> mobius_scale(0.5, [0.8, 0.0])
    array([0.5, 0. ])
    """
    length = np.sqrt(c) * _norm(x)
    radius = np.tanh(r * np.arcsinh(length / np.sqrt(_gap(x, c))))
    ratio = np.divide(radius, length, out=np.broadcast_to(r, radius.shape).copy(), where=length > 0)
    return ratio[..., None] * x


@border("x", "y")
def distance(x: Points, y: Points, *, c: float = 1.0) -> Array:
    r"""Compute the hyperbolic distance between points.

    .. math:: d(x, y) = \tfrac{2}{\sqrt c} \operatorname{arsinh}
              \frac{\sqrt c \, \|x - y\|}{\sqrt{(1 - c\|x\|^2)(1 - c\|y\|^2)}}

    The arsinh keeps full precision for close points, for which the equivalent formula with arcosh would give 0. The
    result is exactly symmetric in x and y.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.geometry import distance
    >>> print(distance([0.0, 0.0], [0.6, 0.0]), np.log(4))
    1.386294361119890 1.386294361119890
    >>> print(distance([0.0, 0.0], [1e-12, 0.0]))
    2e-12
    """
    return 2 / np.sqrt(c) * np.arcsinh(_half_sinh(x, y, c))


def _half_sinh(x: Array, y: Array, c: float) -> Array:
    """Compute ``sinh(√c d(x, y) / 2)``."""
    return np.sqrt(c) * _norm(x - y) / np.sqrt(_gap(x, c) * _gap(y, c))


@border("X", "Y")
def pairwise_distance(X: Points, Y: Points | None = None, *, c: float = 1.0) -> Array:
    """Compute the hyperbolic distance between each row of X and each row of Y; Y defaults to X.

    Examples
    --------
    >>> from hyplearn.geometry import pairwise_distance
    >>> pairwise_distance([[0.0, 0.0], [0.6, 0.0]])
    array([[0.  , 1.38],
           [1.38, 0.  ]])
    """
    X = np.atleast_2d(X)
    Y = X if Y is None else np.atleast_2d(Y)
    found, columns, gap_x, gap_y = np.empty((len(X), len(Y))), np.ascontiguousarray(Y.T), _gap(X, c), _gap(Y, c)
    rows = max(1, PAIRS_PER_CALL // max(1, len(Y)))
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        half_sinh_pairs(X[part], columns, gap_x[part], gap_y, c, found[part])
        np.arcsinh(found[part], out=found[part])
        found[part] *= 2 / np.sqrt(c)
    return found


@border("x", "y", scalars=("t",), into_ball=True)
def geodesic(x: Points, y: Points, t: Scalars, *, c: float = 1.0) -> Array:
    r"""Compute the point at fraction t of the geodesic from x to y.

    .. math:: \gamma_{x \to y}(t) = x \oplus (t \otimes ((-x) \oplus y))

    For 0 ≤ t ≤ 1 the point is computed by interpolation on the hyperboloid, as a quotient with positive coefficients:

    .. math::
        \gamma(t) = \frac{A x + B y}{A + B + K}, \quad A = \frac{\sinh((1-t) r)}{g_x \sinh r}, \quad
        B = \frac{\sinh(t r)}{g_y \sinh r}, \quad K = \frac{\sinh((1-t) r/2) \sinh(t r/2)}{\cosh(r/2)}

    where ``r = √c d(x, y)``, and ``g_x = 1 - c‖x‖²`` is the gap of x. This avoids tangent vectors, whose directions
    lose digits near the rim. For t < 0 or t > 1 the point is ``exp_map(t log_map(y, x), x)``.

    Examples
    --------
    >>> from hyplearn.geometry import geodesic
    >>> geodesic([0.0, 0.0], [0.8, 0.0], 0.5)
    array([0.5, 0. ])
    """
    between = _interpolate(x, y, np.clip(t, 0, 1), c)
    if np.all((t >= 0) & (t <= 1)):
        return between
    beyond = exp_map(t[..., None] * log_map(y, x, c=c), x, c=c)
    return np.where(((t >= 0) & (t <= 1))[..., None], between, beyond)


def _interpolate(x: Array, y: Array, t: Array, c: float) -> Array:
    r = 2 * np.arcsinh(_half_sinh(x, y, c))
    span = np.where(r > 0, np.sinh(r), 1)
    A = np.where(r > 0, np.sinh((1 - t) * r) / span, 1 - t) / _gap(x, c)
    B = np.where(r > 0, np.sinh(t * r) / span, t) / _gap(y, c)
    K = np.sinh((1 - t) * r / 2) * np.sinh(t * r / 2) / np.cosh(r / 2)
    point = (A[..., None] * x + B[..., None] * y) / (A + B + K)[..., None]
    return np.where((t == 0)[..., None], x, np.where((t == 1)[..., None], y, point))


@border("v", "p", scalars=("t",), into_ball=True)
def ray(v: Points, p: Points, t: Scalars, *, c: float = 1.0) -> Array:
    r"""Compute the point at hyperbolic distance t from p in the direction of v.

    .. math:: \gamma_{p, v}(t) = p \oplus
              \Bigl(\tfrac{1}{\sqrt c} \tanh\bigl(\tfrac{\sqrt c \, t}{2}\bigr) \frac{v}{\|v\|}\Bigr)

    Only the direction of v matters. If t is negative, the point lies in the opposite direction.
    """
    length = _norm(v)
    if not np.all(length > 0):
        raise ValueError(
            "v must be nonzero, because it gives the direction of the ray; got a zero vector.\n"
            "Pass a nonzero v. The point at distance 0 is p itself."
        )
    return exp_map((t * _gap(p, c) / 2 / length)[..., None] * v, p, c=c)


@border("x", "y", into_ball=True)
def midpoint(x: Points, y: Points, *, c: float = 1.0) -> Array:
    r"""Compute the midpoint of the geodesic between x and y.

    .. math:: m = \frac{x / g_x + y / g_y}{1 / g_x + 1 / g_y + \cosh(\sqrt c \, d(x, y) / 2) - 1}

    where ``g_x = 1 - c‖x‖²`` is the gap of x. The result is exactly symmetric in x and y.

    Examples
    --------
    >>> from hyplearn.geometry import midpoint
    >>> midpoint([0.0, 0.0], [0.8, 0.0])
    array([0.5, 0. ])
    """
    return _interpolate(x, y, np.asarray(0.5), c)


def z_vector(x: Array, p: Array, c: float) -> Array:
    r"""Compute the vector z at p that points to x and has the Euclidean norm ``sinh(√c d(x, p)) / √c``.

    .. math:: z = \frac{2}{g_x} \Bigl(s - \frac{c \|s\|^2}{g_p} p\Bigr), \qquad s = x - p

    where ``g_x = 1 - c‖x‖²`` is the gap of x.
    """
    s = x - p
    bend = c * _norm(s) ** 2 / _gap(p, c)
    return 2 / _gap(x, c)[..., None] * (s - bend[..., None] * p)


@border("x", "p")
def log_map(x: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute the logarithmic map, which is the tangent vector at p whose geodesic reaches x at time 1.

    .. math:: \log_p(x) = \tfrac{2}{\sigma_p \sqrt c} \operatorname{artanh}\bigl(\sqrt c \|(-p) \oplus x\|\bigr)
              \frac{(-p) \oplus x}{\|(-p) \oplus x\|}

    where :math:`\sigma_p` is the conformal factor at p. The Euclidean norm of the result is ``d(x, p) / σ_p``. If
    x = p, the result is exactly 0.

    Examples
    --------
    >>> from hyplearn.geometry import log_map
    >>> log_map([0.6, 0.0], [0.0, 0.0])
    array([0.69, 0.  ])
    """
    scale = _gap(p, c) / 2 * shrink(_half_sinh(x, p, c))
    return scale[..., None] * z_vector(x, p, c)


def shrink(u: Array) -> Array:
    """Return ``ρ / sinh ρ``, given ``u = sinh(ρ/2)``; the result is 1 at ρ = 0."""
    return np.divide(np.arcsinh(u), u, out=np.ones_like(u), where=u > 0) / np.sqrt(1 + u**2)


@border("v", "p", into_ball=True)
def exp_map(v: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute the exponential map, which is the point at time 1 on the geodesic that starts at p with velocity v.

    .. math:: \exp_p(v) = p + \frac{g_p \tau m}{\sqrt c \|m\|^2}, \qquad
              \tau = \tanh \frac{\sqrt c \|v\|}{g_p}, \quad m = \frac{v}{\|v\|} + \tau \sqrt c \, p

    where ``g_p = 1 - c‖p‖²`` is the gap of p. This equals ``p ⊕ tanh(√c σ_p‖v‖ / 2) v / (√c‖v‖)`` with the conformal
    factor ``σ_p = 2 / g_p``. It is evaluated in twice the working precision, so that the result is exact up to its
    final rounding. If v = 0, the result is exactly p.

    Examples
    --------
    >>> from hyplearn.geometry import exp_map, log_map
    >>> exp_map(log_map([0.3, 0.4], [0.1, 0.2]), [0.1, 0.2])
    array([0.3, 0.4])
    """
    return in_blocks(arrived, v, p, c)


def step_along(v: Array, p: Array, *, c: float = 1.0) -> Array:
    """Compute the exponential map in plain float64, without validation.

    The result is less accurate than that of :func:`exp_map`, but for one point it is computed much faster. The function
    is meant for iterative algorithms, in which later steps correct the rounding errors of earlier steps.
    """
    gap_p: Array = row_gaps(p.reshape(-1, p.shape[-1]), c).reshape(p.shape[:-1])
    length = np.sqrt(np.einsum("...j,...j->...", v, v))
    tau = np.tanh(np.sqrt(c) * length / gap_p)
    m = v / np.where(length > 0, length, 1.0)[..., None] + (tau * np.sqrt(c))[..., None] * p
    # TINY prevents a division by 0: m is 0 if v is 0, or if p and the endpoint are, up to rounding, opposite points of
    # the rim.
    step = gap_p * tau / np.sqrt(c) / np.maximum(np.einsum("...j,...j->...", m, m), TINY)
    return pull_inside(p + step[..., None] * m, c)


@border("v", "p", "q")
def transport(v: Points, p: Points, q: Points, *, c: float = 1.0) -> Array:
    r"""Compute the parallel transport of the tangent vector v from p to q along the geodesic between them.

    .. math:: P_{p \to q}(v) = \frac{\sigma_p}{\sigma_q} \operatorname{gyr}[q, -p]\, v
              = \frac{g_q}{g_p} (I - 2 e e^T)(I - 2 \hat s \hat s^T)\, v

    where ``g_p = 1 - c‖p‖²`` is the gap of p, ``σ_p = 2 / g_p`` the conformal factor at p, gyr the gyration, ``ŝ`` the
    unit vector in the direction of q - p, and e the unit velocity of the geodesic at q. The reflection along ŝ is
    applied first. Up to a positive factor, it is the differential of the inversion that swaps p and q and has its
    centre on the line through p and q. The reflection along e then corrects the sign of the velocity, which the
    inversion reverses. Reflections do not lose accuracy, even near the rim.
    """
    s = q - p
    length = _norm(s)
    moved = (length > 0)[..., None]
    unit = s / np.where(moved, length[..., None], 1)
    arriving = unit + (c * length / _gap(q, c))[..., None] * q
    arriving /= np.where(moved, _norm(arriving)[..., None], 1)
    turned = _reflect(_reflect(v, unit), arriving)
    return np.where(moved, (_gap(q, c) / _gap(p, c))[..., None] * turned, v)


def _reflect(v: Array, unit: Array) -> Array:
    return v - 2 * np.sum(v * unit, axis=-1, keepdims=True) * unit


@border("x", "a", into_ball=True)
def translate(x: Points, a: Points, *, c: float = 1.0) -> Array:
    r"""Move points by the hyperbolic translation that takes the origin to a.

    .. math:: x \mapsto a \oplus x

    The inverse of this map is the translation that takes the origin to -a.

    Examples
    --------
    >>> from hyplearn.geometry import distance, translate
    >>> x, y, a = [0.1, 0.2], [0.7, -0.1], [0.5, 0.5]
    >>> print(distance(translate(x, a), translate(y, a)), distance(x, y))
    1.724775 1.724775
    """
    return mobius_add(a, x, c=c)


@border("x", into_ball=True)
def rotate(x: Points, rotation: Points, *, c: float = 1.0) -> Array:
    """Rotate points about the origin by an orthogonal matrix of shape (d, d): each row x becomes ``rotation @ x``.

    Examples
    --------
    >>> from hyplearn.geometry import rotate
    >>> rotate([0.5, 0.0], [[0, -1], [1, 0]])
    array([0. , 0.5])
    """
    rotation = np.asarray(rotation, dtype=np.float64)
    d = x.shape[-1]
    if rotation.shape != (d, d):
        raise ValueError(
            f"rotation must be a matrix of shape ({d}, {d}); got shape {rotation.shape}.\n"
            "Pass an orthogonal matrix whose size is the number of coordinates of x."
        )
    error = np.max(np.abs(rotation @ rotation.T - np.eye(d)))
    if not error < 1e-8:
        raise ValueError(
            f"rotation must be orthogonal; rotation @ rotation.T differs from the identity by up to {error:.3g}.\n"
            "Pass an orthogonal matrix, such as the factor Q of numpy.linalg.qr(rotation)."
        )
    return x @ rotation.T
