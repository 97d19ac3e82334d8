r"""Reference point for the "boundary" strategy, computed from the closest points of the hulls or by a convex fit."""

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

# Cost C of the convex fit. With C = 1, the accuracy on the 231 cells of Olsson's data is lower by at least two
# percentage points.
FIT_COST = 0.005
# FIT_TOL is the tolerance of the convex fit for all rows, and SAMPLE_TOL the tolerance for a sample. FIT_TOL is so
# small that the last Newton step reaches the exact solution, which does not depend on the order of the rows.
FIT_TOL, SAMPLE_TOL = 1e-10, 1e-3
# FIT_NUMBERS is the maximum number of array elements in the convex fit, where each row has NUMBERS_BESIDE elements in
# addition to its coordinates. Larger data are subsampled, but at least FIT_ROWS_PER_DIMENSION rows per dimension are
# kept.
FIT_NUMBERS, NUMBERS_BESIDE, FIT_ROWS_PER_DIMENSION = 2**21, 8, 200
# Maximum number of multiplications per pass of the convex fit, even if this leaves fewer than FIT_ROWS_PER_DIMENSION
# rows per dimension. A pass takes d² multiplications per row.
FIT_WORK = 6 * 10**9
# Maximum number of elements of X for which the hulls are compared before a convex fit. In high dimensions, the
# comparison takes far longer than the fit.
HULL_NUMBERS = 2**24
# EXPLICIT_NUMBERS is the maximum number of elements of X for which the rows are stored as a matrix. This matrix is
# computed in blocks of EXPLICIT_STEP rows.
EXPLICIT_NUMBERS, EXPLICIT_STEP = 2**24, 2**14


def boundary_point(
    data: TrainingData, sides: Array, *, hull_numbers: int = HULL_NUMBERS, most_rows: int | None = None
) -> Array:
    r"""Return the reference point p for the "boundary" strategy, given two groups of classes.

    ``sides`` maps each class to group 0 or 1. If a geodesic hyperplane separates the groups, p is the midpoint of the
    closest points of their hulls, and the hyperplane through p perpendicular to the geodesic between these points
    separates the groups. If the groups overlap, a linear functional u is fitted:

    .. math:: \min_u \tfrac12 \|u\|^2 + C \sum_i w_i \max(0, 1 - y_i \langle u, X_i \rangle)^2

    Here C is ``FIT_COST``, :math:`w_i` is the weight of row i, and :math:`y_i = \pm 1` is its group. The hyperboloid
    coordinates of the row about the point m of the "means" strategy are :math:`X_i = (\cosh \rho_i, \sqrt c z_i)`,
    where :math:`\rho_i` is its distance to m in units of 1/√c. The fit needs no reference point. The points at which u
    is 0 form a geodesic hyperplane; if there are few rows, the first term pulls this hyperplane towards m. The centre
    of the rows near the hyperplane is :math:`\sum_i w_i X_i / (1 + e^{|\langle u, X_i \rangle|})`, scaled back onto the
    hyperboloid. The result p is the point of the hyperplane nearest to this centre. If the hyperplane is farther from
    the centre than ``FARTHEST_SHIFT``, in units of 1/√c, p is instead the point reached from the centre by moving this
    far towards the hyperplane.

    Rows of weight 0 are ignored, a row of weight k is equivalent to k copies of it, and if an isometry moves all
    points, it moves p too. If X has more than ``hull_numbers`` elements, the hulls are not compared, and u is always
    fitted. If X has more than ``most_rows`` rows (by default :func:`fit_rows`, which is 2e5 in two and 2e4 in 100
    dimensions), u is fitted to a subsample of both groups. In this case, weights and copies are equivalent only up to
    the sampling error.
    """
    d = data.n_features
    if data.n_rows * d <= hull_numbers and (hyperplane := separation(data, sides).hyperplane) is not None:
        return hyperplane[1]
    rows, is_sample = data.subsampled(fit_rows(d) if most_rows is None else most_rows, sides)
    return convex_boundary(rows, sides, data.c, data.threads, is_sample=is_sample)


def fit_rows(d: int) -> int:
    """Return the maximum number of rows for the convex fit in d dimensions."""
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
    """Return the point p of :func:`boundary_point` for two overlapping groups of classes, found by a convex fit.

    ``sides`` maps each class to group 0 or 1. If ``is_sample`` is True, the fit has a larger tolerance.
    """
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
    """Return rows of hyperboloid coordinates about p, multiplied by y = ±1.

    The rows are computed once and stored as a matrix if X has at most ``explicit_numbers`` elements. Otherwise they are
    stored as X and coefficients. The coordinates of a point are cosh ρ and √c z, where ρ is its distance to p in units
    of 1/√c, and z is the vector of its z features (:mod:`hyplearn.tangent`). The first coordinate is computed from the
    coefficient ``base`` of the implicit z features, which is ``1 - cosh ρ``.
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
    r"""Return the point nearest to Q at which a linear functional u is 0.

    If this point is farther from Q than FARTHEST_SHIFT, the result is instead the point at the distance FARTHEST_SHIFT
    from Q in the same direction. The functional is ``⟨u, X⟩``, where X are hyperboloid coordinates about ``centre``.
    All distances are in units of 1/√c.

    The argument Q is a weighted sum of points in these coordinates, and ``weight`` is the sum of the weights. This
    function divides the sum by its Minkowski length, which gives a point of the hyperboloid. By the reverse triangle
    inequality, the length is at least ``weight``. If rounding errors far from the centre make the computed length
    smaller, ``weight`` is used instead.

    Let e be the direction from the centre to the point Q, and ρ the distance. Let :math:`u = (u_0, u')`. At Q, the
    functional has the value f and the gradient g; the two parts of g are its component along e and the part orthogonal
    to e:

    .. math:: f = u_0 \cosh \rho + \langle u', e \rangle \sinh \rho, \qquad
              g = \bigl(u_0 \sinh \rho + \langle u', e \rangle \cosh \rho,\; u' - \langle u', e \rangle e\bigr)

    At distance t from Q in the direction of g, the value is :math:`f \cosh t + \|g\| \sinh t`, which is zero for
    :math:`\tanh t = -f / \|g\|`.
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
