r"""Decision boundaries: generalised spheres in hyperbolic space, and signed distances to them.

Distances are in units of 1/√c. Let ρ be the distance from a fixed centre to a point, e the unit vector at the centre
towards the point, u a vector, and :math:`u_0` and b numbers. The zero set of

.. math:: f = u_0 \cosh \rho + \langle u, e \rangle \sinh \rho + b

depends on the sign of :math:`N^2 = \|u\|^2 - u_0^2`:

- If N² > 0, it is an equidistant of a geodesic hyperplane. The signed distance δ to this hyperplane satisfies
  :math:`\sinh \delta = (f - b)/N`. If b = 0, the zero set is the hyperplane itself.
- If N² < 0, it is a sphere, a point or empty. The distance d to the centre of the sphere satisfies
  :math:`f - b = \pm |N| \cosh d`, with the sign of :math:`u_0`.
- If N² = 0, it is empty or a horosphere, which is the limit of both other cases.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hyplearn.geometry import distance, transport
from hyplearn.geometry.kernels import row_gaps, squared_distances
from hyplearn.tangent import from_frame, z_dot
from hyplearn.types import Array

Hyperplane: TypeAlias = tuple[Array, Array]
# Largest value of |N| / ‖u‖ (see the module docstring) that is treated as 0, so that the zero set is a horosphere. A
# horosphere is represented as an equidistant of a hyperplane at distance 19 / √c from the centre. In float64, these two
# surfaces cannot be distinguished.
LIGHT_LIKE = 1e-8
EPSILON = float(np.finfo(np.float64).eps)
# Maximum number of coordinates for which matrix-vector products are summed column by column, which is then twice as
# fast as BLAS.
FEW_COORDINATES = 3


class Equidistant(NamedTuple):
    """Points at a fixed signed distance from a geodesic hyperplane; at distance 0, the hyperplane itself."""

    # Normal of the hyperplane, which points to the positive side.
    w: Array
    # Point on the hyperplane.
    p: Array
    # Signed hyperbolic distance of the boundary from the hyperplane.
    height: float
    # Kind of the boundary: "equidistant", "hyperplane" or "horosphere".
    kind: str = "equidistant"

    def distances(self, X: Array, gaps: Array, c: float) -> Array:
        """Return the signed distance from each point x to the boundary; ``gaps`` contains 1 - c‖x‖² of each point."""
        return self.distance_at(self.levels(X, gaps, c), c)

    def levels(self, X: Array, gaps: Array, c: float) -> Array:
        """Return the level of each point: ``sinh(√c d)``, where d is its signed distance from the hyperplane.

        Levels increase with the signed distances from the boundary, but are faster to compute.
        """
        length = np.linalg.norm(self.w)
        # A unit vector is not normalised again, because that would change its last bits.
        w = np.sqrt(c) * (self.w if abs(length - 1) <= 1e-15 else self.w / length)
        return z_dot(X, w, self.p, c=c, gaps=gaps)

    def linear_form(self, c: float) -> tuple[Array, float]:
        """Return a and k such that ``(⟨x, a⟩ + k) / (1 - c‖x‖²)`` is the level of a point x plus a constant.

        The result is a vector a and a number k. Levels are defined in :meth:`levels`.
        """
        w = np.sqrt(c) * self.w / np.linalg.norm(self.w)
        product, square = float(self.p @ w), float(self.p @ self.p)
        bend = c * product / float(row_gaps(self.p[None], c)[0])
        return 2 * w + 4 * bend * self.p, -2 * (product + bend * (1 / c + square))

    def distance_at(self, levels: Any, c: float) -> Any:
        """Convert the levels of points (see :meth:`levels`) to their signed distances from the boundary."""
        return np.arcsinh(levels) / np.sqrt(c) - self.height

    @property
    def hyperplane(self) -> Hyperplane | None:
        """Normal and point of the geodesic hyperplane; None for a horosphere."""
        return None if self.kind == "horosphere" else (self.w, self.p)


class Sphere(NamedTuple):
    """Points at a fixed distance from a centre."""

    # Centre of the sphere.
    p: Array
    # Hyperbolic radius of the sphere.
    radius: float
    # 1 if the positive side is outside the sphere, -1 if it is inside.
    side: float
    kind: str = "sphere"

    def distances(self, X: Array, gaps: Array, c: float) -> Array:
        """Return the signed distance from each point x to the boundary; ``gaps`` contains 1 - c‖x‖² of each point."""
        return self.distance_at(self.levels(X, gaps, c), c)

    def levels(self, X: Array, gaps: Array, c: float) -> Array:
        """Return the level of each point: ``side sinh(√c d / 2) / √c``, where d is its distance from the centre.

        Levels increase with the signed distances from the boundary, but are faster to compute. The attribute ``side``
        is 1 or -1.
        """
        gap_p = row_gaps(self.p[None], c)[0]
        return self.side * (np.sqrt(squared_distances(X, self.p)) / np.sqrt(gaps) / np.sqrt(gap_p))

    def linear_form(self, c: float) -> tuple[Array, float]:
        """Return a and k such that ``(⟨x, a⟩ + k) / (1 - c‖x‖²)`` increases with the level of a point x.

        The result is a vector a and a number k. Levels are defined in :meth:`levels`.
        """
        return -2 * self.side * self.p, self.side * (1 / c + float(self.p @ self.p))

    def distance_at(self, levels: Any, c: float) -> Any:
        """Convert the levels of points (see :meth:`levels`) to their signed distances from the boundary."""
        root = np.sqrt(c)
        return 2 / root * np.arcsinh(root * levels) - self.side * self.radius

    @property
    def hyperplane(self) -> Hyperplane | None:
        """Always None, because a sphere is not defined by a geodesic hyperplane."""
        return None


Boundary: TypeAlias = Equidistant | Sphere


def least_distance(boundary: Boundary, X: Array, gaps: Array, sides: Array, c: float) -> float:
    """Return the smallest signed distance of the points from the boundary, negative if a point is on the wrong side.

    ``sides`` contains the correct side of each point: 1, -1, or 0 for points to leave out. For all points, a matrix
    product first approximates a quantity that increases with the signed distance. The few points that may be the
    nearest, given the rounding errors of the matrix product, are then compared accurately.
    """
    a, k = boundary.linear_form(c)
    values = _products(X, a)
    values += k
    values /= gaps
    largest = (float(np.linalg.norm(a)) / math.sqrt(c) + abs(k)) / float(gaps.min())
    error, least = 8 * (len(a) + 8) * EPSILON * largest, math.inf
    # Shift the values of points with side 1 down, and the values of points with side -1 up. Among the points with side
    # 1, the nearest to the boundary then has the lowest value of all points. Among the points with side -1, the nearest
    # has the highest value.
    values -= 3 * largest * sides
    near = np.flatnonzero((values <= values.min() + error) | (values >= values.max() - error))
    for side in (1, -1):
        rows = near[sides[near] == side]
        if len(rows):
            levels = side * boundary.levels(X[rows], gaps[rows], c)
            least = min(least, side * float(boundary.distance_at(side * levels.min(), c)))
    return least


def _products(X: Array, a: Array) -> Array:
    """Return ``X @ a``, summed column by column if there are few coordinates."""
    if len(a) > FEW_COORDINATES:
        return X @ a
    products = np.multiply(X[:, 0], a[0], dtype=np.float64)
    for column, factor in zip(X.T[1:], a[1:], strict=True):
        products += np.multiply(column, factor, dtype=np.float64)
    return products


def plane_boundary(w: Array, p: Array, height: float = 0.0) -> Equidistant:
    """Return the boundary at signed distance ``height`` from the geodesic hyperplane through p with normal w."""
    return Equidistant(w, p, height, "equidistant" if height else "hyperplane")


def boundary_of(u: Array, b: float, centre: Array, *, c: float) -> Boundary | None:
    """Return the zero set of ``u[0] cosh ρ + ⟨u[1:], e⟩ sinh ρ + b``; None if it has at most one point in float64.

    Here ρ is the distance of a point from ``centre`` in units of 1/√c, and e its direction as seen from the centre.
    """
    return boundaries_of(u[None], np.array([b]), centre[None], c=c)[0]


def boundaries_of(U: Array, intercepts: Array, centres: Array, *, c: float) -> list[Boundary | None]:
    """Apply :func:`boundary_of` to each row of U with its intercept and centre."""
    forms = [_form(u, float(b), math.sqrt(c)) for u, b in zip(U, intercepts, strict=True)]
    axes = np.stack([form.axis for form in forms])
    far = np.array([form.far for form in forms])
    points = from_frame(far[:, None] * axes, centres, c=c)
    # Floats are sparse close to the rim, so a computed point may lie at the wrong distance from its centre. The
    # boundary is then treated as empty.
    reached = np.abs(distance(points, centres, c=c) - np.abs(far)) * math.sqrt(c) <= 0.1
    normals = transport(axes, centres, points, c=c)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    found: list[Boundary | None] = []
    for form, p, w, inside in zip(forms, points, normals, reached, strict=True):
        if not form.kind or not inside:
            found.append(None)
        elif form.kind == "sphere":
            found.append(Sphere(p, form.size, form.side))
        else:
            found.append(Equidistant(w, p, form.size, form.kind))
    return found


class _Form(NamedTuple):
    """Kind of a boundary ("" if it is empty), and its position relative to the fixed centre of the module docstring."""

    kind: str
    # Unit vector at the fixed centre. It points along the axis, the geodesic about which the boundary is symmetric.
    axis: Array
    # Signed distance, along the axis, from the fixed centre to the point ``p`` of the Equidistant or Sphere.
    far: float = 0.0
    # Attribute ``height`` of an Equidistant, or ``radius`` of a Sphere.
    size: float = 0.0
    # Attribute ``side`` of a Sphere; other boundaries do not use this value.
    side: float = 1.0


def _form(u: Array, b: float, root: float) -> _Form:
    time, length = float(u[0]), float(np.linalg.norm(u[1:]))
    axis = u[1:] / length if length > 0 else np.eye(len(u) - 1)[0]
    if max(length, abs(time)) == 0:
        return _Form("", axis)
    size = math.sqrt(abs(length - abs(time))) * math.sqrt(length + abs(time))
    light, sign = size <= LIGHT_LIKE * length, math.copysign(1.0, time)
    if light or length > abs(time):
        if light and time * b >= 0:
            # f has no zeros: f - b has the sign of u₀ everywhere, and b has the same sign or is 0.
            return _Form("", axis)
        size = max(size, LIGHT_LIKE * length)
        kind = "horosphere" if light else "equidistant" if b else "hyperplane"
        # Among the points of the hyperplane, the nearest to the centre lies on the axis, at a signed distance t from
        # the centre with tanh t = -u₀ / ‖u‖.
        return _Form(kind, axis, -math.asinh(time / size) / root, math.asinh(-b / size) / root)
    cosh = -sign * b / size
    if not cosh > 1:
        return _Form("", axis)
    return _Form("sphere", axis, -sign * math.asinh(length / size) / root, math.acosh(cosh) / root, sign)


def touching_hyperplane(u: Array, b: float, centre: Array, *, c: float) -> Hyperplane | None:
    r"""Return the geodesic hyperplane (w, p) tangent to the zero set of f at the zero nearest to the centre.

    The function f is defined in the module docstring. On any sphere around the centre, it has its maximum and minimum
    on the axis along u. The nearest zero therefore lies on this axis. Let ρ be its distance from the centre. If f is
    positive at the centre, :math:`E = e^\rho` is a root of

    .. math:: (u_0 - \|u\|) E^2 + 2 b E + (u_0 + \|u\|) = 0.

    If f is negative at the centre, the same holds for -f. The zero set lies entirely on one side of the hyperplane; if
    b = 0, it is the hyperplane. The normal w points in the direction in which f increases at p, and its length is the
    slope of f at p. The result is None if f has at most one zero, or if float64 cannot represent the nearest zero.
    """
    length = float(np.linalg.norm(u[1:]))
    axis = u[1:] / length if length > 0 else np.eye(len(centre))[0]
    # If f is positive at the centre, the nearest zero lies in the direction of -axis; if f is negative there, the
    # nearest zero lies in the direction of axis.
    sign = math.copysign(1.0, u[0] + b)
    a, b = sign * float(u[0]), sign * b
    square = b * b + (length - a) * (length + a)
    if not square > 0:  # f has no zeros, or only one
        return None
    slope = math.sqrt(square)
    # The root E of the quadratic equation in the docstring is the quotient above / below. Of its two equivalent
    # formulas, use the one without cancellation.
    above, below = (a + length, slope - b) if b <= 0 else (b + slope, length - a)
    if not below > 0:
        return None
    p = _moved(centre, axis, -sign * math.log(max(1.0, above / below)) / math.sqrt(c), c)
    return None if p is None else (slope * _carried(axis, centre, p, c), p)


def _moved(centre: Array, axis: Array, far: float, c: float) -> Array | None:
    """Return the point on the axis at signed distance ``far`` from the centre; None if float64 cannot represent it."""
    p = from_frame(far * axis, centre, c=c)
    # Floats are sparse close to the rim, so the computed point may lie at the wrong distance from the centre.
    return p if abs(distance(p, centre, c=c) - abs(far)) * math.sqrt(c) <= 0.1 else None


def _carried(axis: Array, centre: Array, p: Array, c: float) -> Array:
    """Transport the unit vector ``axis`` along the geodesic from the centre to p, and normalise it."""
    normal = transport(axis, centre, p, c=c)
    return normal / np.linalg.norm(normal)
