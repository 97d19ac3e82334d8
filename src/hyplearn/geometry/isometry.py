"""Isometries of the ball: translations and rotations, which together are all that fix its orientation."""

import numpy as np

from hyplearn.geometry.ball import mobius_add
from hyplearn.geometry.border import border
from hyplearn.types import Array, Points


@border("x", "a", into_ball=True)
def translate(x: Points, a: Points, *, c: float = 1.0) -> Array:
    r"""Hyperbolic translation that carries the origin to a.

    .. math:: x \mapsto a \oplus x

    Its inverse is the translation by -a.

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
    """Rotation about the origin, by an orthogonal matrix of shape (d, d): each row x becomes ``rotation @ x``.

    Examples
    --------
    >>> from hyplearn.geometry import rotate
    >>> rotate([0.5, 0.0], [[0, -1], [1, 0]])
    array([0. , 0.5])
    """
    rotation = np.asarray(rotation, dtype=np.float64)
    d = x.shape[-1]
    if rotation.shape != (d, d):
        raise ValueError(f"rotation must be a matrix of shape ({d}, {d}); got {rotation.shape}.")
    error = np.max(np.abs(rotation @ rotation.T - np.eye(d)))
    if not error < 1e-8:
        raise ValueError(
            f"rotation must be orthogonal; rotation @ rotation.T differs from the identity by {error:.3g}.\n"
            "Take the Q of a QR decomposition."
        )
    return x @ rotation.T
