r"""The strategy "boundary": a reference point on the hyperplane of a convex fit that needs no reference point."""

from dataclasses import replace

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.geometry import project, translate
from hyplearn.reference.hulls import separation
from hyplearn.reference.means import FARTHEST_SHIFT, means_between
from hyplearn.rows import HyperboloidRows, Rows
from hyplearn.solvers.svm import solve_svm
from hyplearn.tangent import implicit_rows
from hyplearn.types import Array

# Cost C of the convex fit. C = 1 loses two percentage points of accuracy or more on the 231 cells of Olsson's data.
FIT_COST = 0.005
# Tolerance of the convex fit for all rows and for a sample. FIT_TOL is so small that the last Newton step reaches the
# exact solution, whatever the order of the rows.
FIT_TOL, SAMPLE_TOL = 1e-10, 1e-3
# Maximum size of the convex fit in array elements; a row has NUMBERS_BESIDE elements in addition to its coordinates.
# Larger data are subsampled, but to no fewer than FIT_ROWS_PER_DIMENSION rows per dimension.
FIT_NUMBERS, NUMBERS_BESIDE, FIT_ROWS_PER_DIMENSION = 2**21, 8, 200
# Maximum number of multiplications per pass of the convex fit, which is the number of rows times d².
FIT_WORK = 6 * 10**9
# Maximum size of X for which the hulls are compared first: in many dimensions this takes far longer than a fit.
HULL_NUMBERS = 2**24
# Maximum size of X for which the matrix of rows is explicit. It is computed in blocks of EXPLICIT_STEP rows.
EXPLICIT_NUMBERS, EXPLICIT_STEP = 2**24, 2**14


def boundary_point(
    data: TrainingData, sides: Array, *, hull_numbers: int = HULL_NUMBERS, most_rows: int | None = None
) -> Array:
    r"""Return a point on the boundary of a convex fit that needs no reference point.

    Where a geodesic hyperplane separates the sides, the midpoint of the closest points of their hulls: one through p
    separates them too. Where they overlap, the functional

    .. math:: \min_u \tfrac12 \|u\|^2 + C \sum_i w_i \max(0, 1 - y_i \langle u, X_i \rangle)^2

    vanishes on a geodesic hyperplane, with :math:`X_i = (\cosh \rho_i, \sqrt c z_i)` the hyperboloid coordinates seen
    from the point of "means", to which the first term draws that hyperplane where rows are few. From the centre of the
    rows near it, :math:`\sum_i w_i X_i / (1 + e^{|\langle u, X_i \rangle|})` scaled back onto the hyperboloid, p is
    reached by the shortest way to the hyperplane; after ``FARTHEST_SHIFT``, in units of the curvature's radius, the way
    ends.

    Weight 0 is absence, weight k counts as k copies, and p moves with the points under isometries. Beyond
    ``hull_numbers`` numbers the hulls are left out, and beyond ``most_rows`` (by default :func:`fit_rows`: 2e5 in the
    disk, 2e4 of 100 dimensions) the fit sees a subsample, as many rows of both sides: there copies count up to the
    sampling error.
    """
    d = data.n_features
    if data.n_rows * d <= hull_numbers and (hyperplane := separation(data, sides).hyperplane) is not None:
        return hyperplane[1]
    rows, is_sample = data.subsampled(fit_rows(d) if most_rows is None else most_rows, sides)
    return convex_boundary(rows, sides, data.c, data.threads, is_sample=is_sample)


def fit_rows(d: int) -> int:
    """Maximum number of rows for the convex fit in d dimensions."""
    wanted = max(FIT_NUMBERS // (d + NUMBERS_BESIDE), FIT_ROWS_PER_DIMENSION * d)
    return max(2, min(wanted, FIT_WORK // d**2))


def convex_boundary(
    block: LabelledBlock,
    sides: Array,
    c: float,
    threads: int,
    *,
    is_sample: bool,
    explicit_numbers: int = EXPLICIT_NUMBERS,
) -> Array:
    """Compute the point of :func:`boundary_point` for overlapping sides, less precisely if the rows are a sample."""
    block = block if block.present.all() else block.taken(np.flatnonzero(block.present))
    X, y, weights = block.X, sides[block.codes], block.row_weights
    data = TrainingData.of_arrays(X, y, weights, c, n_classes=2, threads=threads)
    centre = means_between(data, [np.array([0, 1])])[0]
    signs = np.where(y == 1, 1.0, -1.0)
    rows = _hyperboloid_rows(X, signs, FIT_COST * weights, centre, c, threads, explicit_numbers)
    u = solve_svm(rows, loss="squared_hinge", tol=SAMPLE_TOL if is_sample else FIT_TOL).w
    near = weights / (1 + np.exp(np.minimum(np.abs(rows @ u), 700.0)))
    Q = rows.weighted_sum(np.arange(len(near)), signs * near)
    return nearest_zero(u, Q, float(near.sum()), centre, c)


def _hyperboloid_rows(
    X: Array, y: Array, costs: Array, p: Array, c: float, threads: int, explicit_numbers: int
) -> Rows:
    """Return hyperboloid coordinates about p, multiplied by y, as an explicit matrix if X is small.

    The coordinates are √c z and cosh ρ, which is 1 minus the base of z.
    """
    z = implicit_rows(X, p, features="z", c=c)
    signed = np.sqrt(c) * y
    rows = HyperboloidRows(z.X, p, signed * z.along, signed * z.base, costs, times=y * (1 - z.base), threads=threads)
    if X.size > explicit_numbers:
        return rows
    explicit = np.empty(rows.shape)
    for start in range(0, len(X), EXPLICIT_STEP):
        cut = slice(start, start + EXPLICIT_STEP)
        explicit[cut] = rows[cut]
    return replace(Rows.explicit(explicit, costs), threads=threads)


def nearest_zero(u: Array, Q: Array, weight: float, centre: Array, c: float) -> Array:
    r"""Return the point nearest to Q with ``⟨u, X⟩ = 0``, where Q and X are hyperboloid coordinates about the centre.

    Q is a weighted sum of points, which is scaled back onto the hyperboloid; ``weight`` is the sum of the weights. By
    the reversed triangle inequality, the Minkowski length of Q is at least ``weight``, which replaces the length if
    rounding errors make it smaller, far from the centre. Let e be the direction of Q from the centre, and ρ the
    distance. At Q, the functional has the value f and the gradient g, whose parts along and across e are

    .. math:: f = u_0 \cosh \rho + \langle u, e \rangle \sinh \rho, \qquad
              g = \bigl(u_0 \sinh \rho + \langle u, e \rangle \cosh \rho,\; u - \langle u, e \rangle e\bigr)

    At the distance t from Q in the direction g, its value is :math:`f \cosh t + \|g\| \sinh t`.
    """
    far = np.linalg.norm(Q[1:])
    e = Q[1:] / (far or 1.0)
    sinh = far / max(np.sqrt(max(Q[0] - far, 0.0)) * np.sqrt(Q[0] + far), weight)
    cosh = np.hypot(1.0, sinh)
    f, along = u[0] * cosh + (u[1:] @ e) * sinh, u[0] * sinh + (u[1:] @ e) * cosh
    across = u[1:] - (u[1:] @ e) * e
    length = np.hypot(along, np.linalg.norm(across))
    limit = np.tanh(FARTHEST_SHIFT)
    t = np.arctanh(np.clip(-f / length, -limit, limit)) if length > 0 else 0.0
    slope, across = along / (length or 1.0), across / (length or 1.0)
    time = np.cosh(t) * cosh + np.sinh(t) * slope * sinh
    space = (np.cosh(t) * sinh + np.sinh(t) * slope * cosh) * e + np.sinh(t) * across
    return translate(project(space / (1 + time) / np.sqrt(c), c=c), centre, c=c)
