"""Möbius addition and exponential map in twice the working precision, which is needed near the rim.

For c = 1, the Möbius sum of two points at distance ρ from the origin may lie at distance 2ρ, where a rounding error of
1e-16 in a coordinate moves a point by up to ``1e-16 e^(2ρ)``. Rounding errors of intermediate results would have
effects of the same size.
"""

from collections.abc import Callable

import numpy as np

from hyplearn.geometry.border import check_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.twofold import Twofold
from hyplearn.types import Array

# Number of coordinates per block, small enough that all intermediate arrays fit into the processor's cache.
BLOCK = 2**14
# The exponential map exp_p(v) limits √c‖v‖ / g_p, where g_p = 1 - c‖p‖², to this value. For larger values,
# e^(-2 √c‖v‖ / g_p) is negligible compared to the gap 1 - c‖x‖² of any float64 point x inside the ball.
FARTHEST = 300.0


def in_blocks(function: Callable[[Array, Array, float], Array], x: Array, y: Array, c: float) -> Array:
    """Compute ``function(x, y, c)`` in blocks of rows, with points scaled to a ball of radius between 1/2 and 1.

    An error is raised if a point lies on or outside the rim. For :func:`arrived`, x contains vectors, not points.
    """
    for points in (x, y) if function is added else (y,):
        check_inside(points, row_gaps(points.reshape(-1, points.shape[-1]), c).reshape(points.shape[:-1]), c)
    scale = 2.0 ** np.floor(np.log2(c) / 2)
    shape = np.broadcast_shapes(x.shape, y.shape)
    X, Y = (np.broadcast_to(a, shape).reshape(-1, shape[-1]) for a in (x, y))
    out, step = np.empty(X.shape), max(1, BLOCK // shape[-1])
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        # A single row is passed as a vector. Its norm and gap are then scalars, whose arithmetic is ten times as fast.
        rows = 0 if len(X) == 1 else part
        out[rows] = function(X[rows] * scale, Y[rows] * scale, c / scale / scale)
    return (out / scale).reshape(shape)


def added(x: Array, y: Array, c: float) -> Array:
    """Compute the Möbius sum ``x ⊕ y`` of two vectors, or of each pair of rows."""
    t, gap_x = Twofold.sum_of(x, y), _gap(x, c)
    square = (t * t).sum() * c
    below = gap_x * _gap(y, c) + square
    return ((t * gap_x.column() + square.column() * x) / below.column()).high


def arrived(v: Array, p: Array, c: float) -> Array:
    r"""Compute the exponential map ``exp_p(v)`` of a vector, or of each row.

    .. math:: p + \frac{g_p\, \epsilon\, m}{\sqrt c \|m\|^2}, \qquad \epsilon = 1 - e^{-2 \sqrt c \|v\| / g_p},
              \quad m = (2 - \epsilon) \frac{v}{\|v\|} + \epsilon \sqrt c\, p

    where ``g_p = 1 - c‖p‖²``. This is the formula of :func:`hyplearn.geometry.exp_map` with ``τ = ε / (2 - ε)``, and
    with m multiplied by 2 - ε.
    """
    largest = np.max(np.abs(v), axis=-1)
    moves = largest > 0
    size = np.exp2(np.floor(np.log2(largest + ~moves)))
    unit = np.where(moves[..., None], v / size[..., None], 1.0)
    length, gap_p, root = Twofold.product_of(unit, unit).sum().sqrt(), _gap(p, c), Twofold.of(np.asarray(c)).sqrt()
    time = root * length / gap_p
    # ``size`` is limited to FARTHEST / time, because ``size * time`` might overflow. ``size`` is 0 for rows with v = 0.
    with np.errstate(over="ignore"):
        size = moves * np.minimum(size, FARTHEST / time.high)
    epsilon = -((time * (-2.0 * size)).expm1())
    m = ((-epsilon + 2.0) / length).column() * unit + (epsilon * root).column() * p
    step = gap_p * epsilon / (root * (m * m).sum())
    return (m * step.column() + p).high


def _gap(x: Array, c: float) -> Twofold:
    """Compute ``1 - c‖x‖²`` in twice the precision."""
    return -(Twofold.product_of(x, x).sum() * c) + 1.0
