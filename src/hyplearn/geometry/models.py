"""Models of hyperbolic space: the Poincaré ball, the hyperboloid, the Klein ball and, as input only, the half-space.

For every curvature, the hyperboloid is ``{X : [X, X] = -1, X⁰ > 0}`` with the Minkowski product
``[X, Y] = -X⁰Y⁰ + ⟨X, Y⟩``. Here X⁰ is the first coordinate, and ⟨X, Y⟩ is the dot product of the other coordinates.
The conversion formulas below also write X for the other coordinates. The Klein ball has the same radius ``1/√c`` as the
Poincaré ball, and its geodesics are straight. In float64 and for c = 1, points have hyperbolic radii of up to 37 in the
Poincaré ball, but only up to 19 in the Klein ball. Beyond a radius of 19, the rounding errors of hyperboloid
coordinates change [X, X] by more than 1.
"""

import numpy as np

from hyplearn.geometry.ball import gap
from hyplearn.geometry.border import border
from hyplearn.types import Array, Points


@border("X", "Y")
def minkowski(X: Points, Y: Points, *, c: float = 1.0) -> Array:
    r"""Compute the Minkowski product of hyperboloid coordinates.

    .. math:: [X, Y] = -X^0 Y^0 + \sum_{i \ge 1} X^i Y^i
    """
    return np.sum(X[..., 1:] * Y[..., 1:], axis=-1) - X[..., 0] * Y[..., 0]


@border("x")
def ball_to_hyperboloid(x: Points, *, c: float = 1.0) -> Array:
    r"""Convert points of the Poincaré ball to hyperboloid coordinates.

    .. math:: X^0 = \frac{1 + c\|x\|^2}{1 - c\|x\|^2}, \qquad X = \frac{2 \sqrt c \, x}{1 - c\|x\|^2}

    Chien, Pan, Tabaghi and Milenkovic (2021) give the formula for the hemisphere model instead, by mistake.

    Examples
    --------
    >>> from hyplearn.geometry import ball_to_hyperboloid
    >>> ball_to_hyperboloid([0.5, 0.0])
    array([1.67, 1.33, 0.  ])
    """
    gap_x = gap(x, c=c)[..., None]
    return np.concatenate([(2 - gap_x) / gap_x, 2 * np.sqrt(c) * x / gap_x], axis=-1)


@border("X", into_ball=True)
def hyperboloid_to_ball(X: Points, *, c: float = 1.0) -> Array:
    r"""Convert hyperboloid coordinates to points of the Poincaré ball.

    .. math:: x = \frac{X}{\sqrt c \, (1 + X^0)}
    """
    _check_on_hyperboloid(X)
    return X[..., 1:] / (np.sqrt(c) * (1 + X[..., :1]))


@border("x", into_ball=True)
def ball_to_klein(x: Points, *, c: float = 1.0) -> Array:
    r"""Convert points of the Poincaré ball to Klein coordinates.

    .. math:: k = \frac{2x}{1 + c\|x\|^2}
    """
    return 2 * x / (2 - gap(x, c=c)[..., None])


@border("k", into_ball=True)
def klein_to_ball(k: Points, *, c: float = 1.0) -> Array:
    r"""Convert Klein coordinates to points of the Poincaré ball.

    .. math:: x = \frac{k}{1 + \sqrt{1 - c\|k\|^2}}
    """
    return k / (1 + np.sqrt(gap(k, c=c)[..., None]))


@border("k")
def klein_to_hyperboloid(k: Points, *, c: float = 1.0) -> Array:
    r"""Convert Klein coordinates to hyperboloid coordinates.

    .. math:: X^0 = \frac{1}{\sqrt{1 - c\|k\|^2}}, \qquad X = \sqrt c \, X^0 k
    """
    time = 1 / np.sqrt(gap(k, c=c)[..., None])
    return np.concatenate([time, np.sqrt(c) * time * k], axis=-1)


@border("X", into_ball=True)
def hyperboloid_to_klein(X: Points, *, c: float = 1.0) -> Array:
    r"""Convert hyperboloid coordinates to Klein coordinates.

    .. math:: k = \frac{X}{\sqrt c \, X^0}
    """
    _check_on_hyperboloid(X)
    return X[..., 1:] / (np.sqrt(c) * X[..., :1])


@border("Y", into_ball=True)
def half_space_to_ball(Y: Points, *, c: float = 1.0) -> Array:
    r"""Convert points of the half-space, whose last coordinate t is positive, to points of the Poincaré ball.

    .. math:: (u, t) \mapsto \frac{1}{\sqrt c} \frac{(2u,\; \|u\|^2 + t^2 - 1)}{\|u\|^2 + (1 + t)^2}

    The distance between the points y and y' with last coordinates t and t' is
    :math:`\tfrac{2}{\sqrt c} \operatorname{arsinh} \frac{\|y - y'\|}{2\sqrt{t t'}}`. The point :math:`(0, 1)` is mapped
    to the origin.

    Examples
    --------
    >>> from hyplearn.geometry import half_space_to_ball
    >>> half_space_to_ball([[0.0, 1.0], [0.0, 3.0]])
    array([[0. , 0. ],
           [0. , 0.5]])
    """
    u, t = Y[..., :-1], Y[..., -1:]
    if not np.all(t > 0):
        heights = np.ravel(t)
        row = int(np.argmin(heights))
        raise ValueError(
            f"{np.count_nonzero(~(heights > 0))} of {heights.size} rows do not lie in the half-space; the worst is row "
            f"{row} with last coordinate {heights[row]:.6g}.\n"
            "Pass points whose last coordinate, the height, is positive."
        )
    square = np.sum(u**2, axis=-1, keepdims=True)
    # Computing t² - 1 as a product avoids cancellation near t = 1.
    top = np.concatenate([2 * u, square + (t - 1) * (t + 1)], axis=-1)
    return top / (np.sqrt(c) * (square + (1 + t) ** 2))


def _check_on_hyperboloid(X: Array) -> None:
    """Raise an error if a row does not lie on the hyperboloid; relative errors of X⁰ of up to 1e-5 are accepted."""
    if X.shape[-1] < 2:
        raise ValueError(
            f"A point of the hyperboloid must have at least 2 coordinates; got {X.shape[-1]}.\n"
            "Pass X⁰ as the first coordinate, followed by at least one other."
        )
    # Check X⁰ = √(1 + ‖X‖²) instead of [X, X] = -1, because the difference of large squares loses its digits to
    # rounding.
    time, due = np.ravel(X[..., 0]), np.ravel(np.hypot(1, np.linalg.norm(X[..., 1:], axis=-1)))
    off = np.abs(time - due) / due
    if np.any(off > 1e-5):
        row = int(np.argmax(off))
        raise ValueError(
            f"{np.count_nonzero(off > 1e-5)} of {off.size} rows do not lie on the hyperboloid [X, X] = -1, X⁰ > 0; "
            f"the worst is row {row} with X⁰ = {time[row]:.6g}, where {due[row]:.6g} was expected.\n"
            "Pass X⁰ as the first coordinate, and divide by the radius of the hyperboloid if it is not 1."
        )
