"""Möbius sums and exponential maps in twice the precision: near the rim the last bit of a coordinate is far apart.

Two points at distance ρ of the centre have a sum at up to 2ρ, where a rounding of 1e-16 moves it by up to
``1e-16 e^(2ρ)``: what is lost before the last rounding would be multiplied by that too.
"""

from collections.abc import Callable

import numpy as np

from hyplearn.geometry.border import check_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.geometry.twofold import Twofold
from hyplearn.types import Array

# Numbers per block: the many small steps then work in the processor's cache.
BLOCK = 2**14
# Beyond this e^(-2a) is 0 next to any gap that a point can have.
FARTHEST = 300.0


def in_blocks(function: Callable[[Array, Array, float], Array], x: Array, y: Array, c: float) -> Array:
    """``function(x, y, c)`` of rows, some at a time, scaled by a power of two to a ball of radius between 1 and 2."""
    for points in (x, y) if function is added else (y,):
        check_inside(points, row_gaps(points.reshape(-1, points.shape[-1]), c).reshape(points.shape[:-1]), c)
    scale = 2.0 ** np.floor(np.log2(c) / 2)
    shape = np.broadcast_shapes(x.shape, y.shape)
    X, Y = (np.broadcast_to(a, shape).reshape(-1, shape[-1]) for a in (x, y))
    out, step = np.empty(X.shape), max(1, BLOCK // shape[-1])
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        out[part] = function(X[part] * scale, Y[part] * scale, c / scale / scale)
    return (out / scale).reshape(shape)


def added(x: Array, y: Array, c: float) -> Array:
    """``x ⊕ y`` of rows."""
    t, gap_x = Twofold.of(x) + y, _gap(Twofold.of(x), c)
    square = (t * t).sum() * np.asarray(c)
    below = gap_x * _gap(Twofold.of(y), c) + square
    return ((t * gap_x.column() + square.column() * x) / below.column()).high


def arrived(v: Array, p: Array, c: float) -> Array:
    r"""``exp_p(v)`` of rows.

    .. math:: p + \frac{g_p\, \epsilon\, m}{\sqrt c \|m\|^2}, \qquad \epsilon = 1 - e^{-2 \sqrt c \|v\| / g_p},
              \quad m = (2 - \epsilon) \frac{v}{\|v\|} + \epsilon \sqrt c\, p

    is the formula of the exponential map without its quotient ``τ = ε / (2 - ε)``.
    """
    largest = np.max(np.abs(v), axis=-1)
    size = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))
    unit = Twofold.of(np.where(largest[:, None] > 0, v / size[:, None], 1.0))
    length, gap_p, root = (unit * unit).sum().sqrt(), _gap(Twofold.of(p), c), Twofold.of(np.asarray(c)).sqrt()
    time = root * length / gap_p
    # The product with the size may overflow; a row that moves by nothing has time 0.
    with np.errstate(over="ignore"):
        size = np.where(largest > 0, np.minimum(size, FARTHEST / time.high), 0.0)
    epsilon = -((time * (-2.0 * size)).expm1())
    m = (unit / length.column()) * (Twofold.of(np.asarray(2.0)) - epsilon).column() + (epsilon * root).column() * p
    step = gap_p * epsilon / (root * (m * m).sum())
    return (m * step.column() + p).high


def _gap(x: Twofold, c: float) -> Twofold:
    """``1 - c‖x‖²``."""
    return Twofold.of(np.asarray(1.0)) - (x * x).sum() * np.asarray(c)
