"""The paper's formulas in mpmath at 90 digits, as exact values for the tests of floating-point code.

The formulas (Möbius addition, geodesics, exponential and logarithmic maps, both hyperplane distances, the weight η) are
those of the paper, for any c > 0. Inputs are exact: a float stands for its exact rational value.
"""

from collections.abc import Sequence

import numpy as np
from mpmath import acosh, asinh, atanh, cosh, diff, exp, mp, mpf, re, sqrt, tanh

mp.dps = 90
Vector = list[mpf]


def vector(x: Sequence[float]) -> Vector:
    return [mpf(float(a)) for a in x]


def dot(x: Vector, y: Vector) -> mpf:
    return mp.fdot(x, y)


def norm(x: Vector) -> mpf:
    return sqrt(dot(x, x))


def scale(r: mpf, x: Vector) -> Vector:
    return [r * a for a in x]


def add(x: Vector, y: Vector) -> Vector:
    return [a + b for a, b in zip(x, y, strict=True)]


def gap(x: Vector, c: mpf) -> mpf:
    return 1 - c * dot(x, x)


def conformal_factor(x: Vector, c: mpf) -> mpf:
    return 2 / gap(x, c)


def mobius_add(x: Vector, y: Vector, c: mpf) -> Vector:
    xy, xx, yy = dot(x, y), dot(x, x), dot(y, y)
    below = 1 + 2 * c * xy + c**2 * xx * yy
    return add(scale((1 + 2 * c * xy + c * yy) / below, x), scale((1 - c * xx) / below, y))


def mobius_scale(r: mpf, x: Vector, c: mpf) -> Vector:
    length = sqrt(c) * norm(x)
    return x if length == 0 else scale(tanh(r * atanh(length)) / length, x)


def minus(x: Vector) -> Vector:
    return scale(mpf(-1), x)


def distance(x: Vector, y: Vector, c: mpf) -> mpf:
    return 2 / sqrt(c) * atanh(sqrt(c) * norm(mobius_add(minus(x), y, c)))


def geodesic(x: Vector, y: Vector, t: mpf, c: mpf) -> Vector:
    return mobius_add(x, mobius_scale(t, mobius_add(minus(x), y, c), c), c)


def midpoint(x: Vector, y: Vector, c: mpf) -> Vector:
    return geodesic(x, y, mpf(1) / 2, c)


def log_map(x: Vector, p: Vector, c: mpf) -> Vector:
    y = mobius_add(minus(p), x, c)
    length = norm(y)
    return y if length == 0 else scale(2 / conformal_factor(p, c) / sqrt(c) * atanh(sqrt(c) * length) / length, y)


def exp_map(v: Vector, p: Vector, c: mpf) -> Vector:
    length = norm(v)
    if length == 0:
        return p
    return mobius_add(p, scale(tanh(sqrt(c) * conformal_factor(p, c) * length / 2) / (sqrt(c) * length), v), c)


def gyration(a: Vector, b: Vector, v: Vector, c: mpf) -> Vector:
    return mobius_add(minus(mobius_add(a, b, c)), mobius_add(a, mobius_add(b, v, c), c), c)


def transport(v: Vector, p: Vector, q: Vector, c: mpf) -> Vector:
    """``(σ_p / σ_q) gyr[q, -p] v``; gyration is linear, so v is scaled into the ball first."""
    length = norm(v)
    if length == 0:
        return v
    inside = scale(1 / (2 * sqrt(c) * length), v)
    turned = gyration(q, minus(p), inside, c)
    return scale(2 * sqrt(c) * length * conformal_factor(p, c) / conformal_factor(q, c), turned)


def frame(x: Vector, p: Vector, c: mpf) -> Vector:
    return scale(conformal_factor(p, c), log_map(x, p, c))


def eta(x: Vector, p: Vector, c: mpf) -> mpf:
    length = norm(log_map(x, p, c))
    if length == 0:
        return conformal_factor(p, c)
    t = tanh(sqrt(c) * conformal_factor(p, c) * length / 2)
    return 2 * t / ((1 - t**2) * sqrt(c) * length)


def z(x: Vector, p: Vector, c: mpf) -> Vector:
    return scale(eta(x, p, c), log_map(x, p, c))


def signed_distance(x: Vector, w: Vector, p: Vector, c: mpf) -> mpf:
    y = mobius_add(minus(p), x, c)
    return asinh(2 * sqrt(c) * dot(y, w) / ((1 - c * dot(y, y)) * norm(w))) / sqrt(c)


def relative_error(computed: object, exact: mpf | Vector) -> float:
    """``‖computed - exact‖ / ‖exact‖`` (absolute if the exact value is 0)."""
    exact = exact if isinstance(exact, list) else [exact]
    difference = add(vector(np.atleast_1d(np.asarray(computed))), minus(exact))
    size = norm(exact)
    return float(norm(difference) / size) if size else float(norm(difference))


def heat_profile(rho, scale, m):
    """Heat kernel of dimension 2m + 1, relative to its value at 0: m derivatives of ``exp(-s arcosh²)`` at cosh ρ."""
    s = 1 / (2 * mpf(scale) ** 2)

    def unnormalised(rho):
        return re(diff(lambda x: exp(-s * acosh(x) ** 2), cosh(mpf(rho)), m))

    return unnormalised(rho) / unnormalised(0)
