"""Geodesic hyperplanes H(w, p) = {x : ⟨log_p(x), w⟩ = 0}: sides, signed distances, projections and points to draw."""

import numpy as np

from hyplearn.geometry.ball import gap, mobius_add, project, z_vector
from hyplearn.geometry.border import border
from hyplearn.types import Array, Points


def _check_normal(w: Array) -> None:
    if not np.all(np.any(w != 0, axis=-1)):
        raise ValueError(
            "w must be nonzero, because it is the normal vector of a hyperplane; got a zero vector.\nPass a nonzero w."
        )


def _height(x: Array, w: Array, p: Array, c: float) -> Array:
    """Compute ``sinh(√c d) = √c ⟨z, w⟩ / ‖w‖``, where d is the signed distance and ``z = z_vector(x, p, c)``."""
    _check_normal(w)
    normal = w / np.max(np.abs(w), axis=-1, keepdims=True)
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.sqrt(c) * np.sum(z_vector(x, p, c) * normal, axis=-1)


@border("x", "w", "p")
def side(x: Points, w: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Return 1 if x lies on the side of the hyperplane H(w, p) to which w points, -1 on the other side, 0 on H(w, p).

    .. math:: \operatorname{sign} \Bigl\langle s - \tfrac{c \|s\|^2}{1 - c\|p\|^2}\, p, \; w \Bigr\rangle,
              \qquad s = x - p

    Examples
    --------
    >>> from hyplearn.geometry import side
    >>> side([[0.5, 0.0], [-0.5, 0.3], [0.0, 0.2]], [1.0, 0.0], [0.0, 0.0])
    array([ 1., -1.,  0.])
    """
    return np.sign(_height(x, w, p, c))


@border("x", "w", "p")
def signed_distance(x: Points, w: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Compute the signed hyperbolic distance of x to the hyperplane H(w, p), positive on the side to which w points.

    .. math:: d(x, H) = \tfrac{1}{\sqrt c} \operatorname{arsinh} \frac{\sqrt c \, \langle z, w \rangle}{\|w\|}

    where z is the tangent vector at p that points to x and has length ``sinh(√c d(p, x)) / √c``. Both closed forms of
    Chien, Pan, Tabaghi and Milenkovic (2021) are equal to this formula.

    Examples
    --------
    >>> from hyplearn.geometry import signed_distance
    >>> print(signed_distance([[0.6, 0.0], [-0.6, 0.3]], [1.0, 0.0], [0.0, 0.0]))
    [ 1.38629436 -1.52211093]
    """
    return np.arcsinh(_height(x, w, p, c)) / np.sqrt(c)


@border("x", "w", "p", into_ball=True)
def project_onto(x: Points, w: Points, p: Points, *, c: float = 1.0) -> Array:
    r"""Project x orthogonally onto the hyperplane H(w, p).

    .. math:: p \oplus \frac{z_\perp}{\sqrt{1 + c \|z\|^2} + \sqrt{1 + c \langle z, n \rangle^2}},
              \qquad z_\perp = z - \langle z, n \rangle n, \quad n = w / \|w\|

    where z is the same vector as in :func:`signed_distance`. This is the orthogonal projection on the hyperboloid, in
    coordinates about p.
    """
    height = _height(x, w, p, c)[..., None]
    normal = w / np.linalg.norm(w, axis=-1, keepdims=True)
    z = z_vector(x, p, c)
    flat = z - height / np.sqrt(c) * normal
    # This is c‖z‖², because z is the sum of a component along the hyperplane and a component orthogonal to it.
    square = c * np.sum(flat**2, axis=-1, keepdims=True) + height**2
    # If x is far from p, rounding may place the second summand of the Möbius sum on the rim, so it is moved inside.
    return mobius_add(p, project(flat / (np.sqrt(1 + square) + np.sqrt(1 + height**2)), c=c), c=c)


@border("w", "p", "u", into_ball=True)
def hyperplane_points(w: Points, p: Points, u: Points = None, *, n_points: int = 201, c: float = 1.0) -> Array:
    r"""Compute points along a geodesic through p in the hyperplane H(w, p), from rim to rim, for drawing.

    In the disk, this geodesic is the hyperplane itself.

    Parameters
    ----------
    w, p : array-like of shape (d,)
        Normal vector and reference point of the hyperplane.
    u : array-like of shape (d,), optional
        Direction of the geodesic at p; its component along w is ignored. It is not needed in the disk.
    n_points : int
        Number of points.
    c : float
        Absolute curvature.

    Notes
    -----
    Let e₊ and e₋ be the two ends of the geodesic on the rim. In the Klein ball, the geodesic is the chord between them.
    Its point ``k = (e₊ + e₋)/2 + cos θ (e₊ - e₋)/2`` corresponds to ``k / (1 + sin θ ‖e₊ - e₋‖/2)`` in the Poincaré
    ball (for c = 1). The angle θ runs from π - 0.0001 to 0.0001, so that all points lie inside the open ball.

    Examples
    --------
    >>> from hyplearn.geometry import hyperplane_points
    >>> hyperplane_points([0.0, 1.0], [0.0, 0.0], n_points=3)
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """
    if w.ndim != 1 or p.ndim != 1:
        raise ValueError(
            f"w and p must be vectors that describe one hyperplane; got shapes {w.shape} and {p.shape}.\n"
            "Pass arrays of shape (d,), and call hyperplane_points once per hyperplane."
        )
    direction = _within(w, u)
    gap_p = gap(p, c=c)
    ends = []
    for sign in (-1, 1):
        t = p + sign * direction / np.sqrt(c)
        # This is p ⊕ y for a point y on the rim, whose gap is 0.
        ends.append(p + gap_p / c * t / (t @ t))
    centre, half_chord = (ends[1] + ends[0]) / 2, (ends[1] - ends[0]) / 2
    theta = np.linspace(np.pi - 1e-4, 1e-4, n_points)[:, None]
    klein = centre + np.cos(theta) * half_chord
    return klein / (1 + np.sin(theta) * np.sqrt(c) * np.linalg.norm(half_chord))


def _within(w: Array, u: Array | None) -> Array:
    """Return a unit vector along the hyperplane, parallel to the part of u that is orthogonal to w.

    If u is None, w is rotated by -90°, which is possible only in the disk.
    """
    _check_normal(w)
    normal = w / np.linalg.norm(w)
    if u is None:
        if w.size != 2:
            raise ValueError(
                f"u is required in dimension {w.size}, where a hyperplane is not a curve; got u=None.\n"
                "Pass a direction along the hyperplane as u."
            )
        return np.array([normal[1], -normal[0]])
    flat = u - (u @ normal) * normal
    if not np.any(flat):
        raise ValueError(
            "u must not be parallel to w, because u is a direction along the hyperplane and w is its normal vector.\n"
            "Pass a u that has a component orthogonal to w."
        )
    return flat / np.linalg.norm(flat)
