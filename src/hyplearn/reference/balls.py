r"""Find the hyperplane with the widest margin between two classes of few rows, with touching balls as a proof.

Draw a ball of the same radius around every row. The widest margin is the radius at which the hull of the balls of one
class touches the hull of the balls of the other class. All lengths in this module are in units of 1/√c.

Let x_i be the hyperboloid coordinates of row i, y_i = ±1 its class, and [·, ·] the Minkowski product. The *height* of a
row, :math:`y_i [w, x_i] / \sqrt{[w, w]}`, is the hyperbolic sine of its signed distance to the hyperplane w; it is
positive on the correct side. The hyperplane with the widest margin is therefore the solution of

.. math:: \min_w \tfrac12 [w, w] \quad \text{with} \quad y_i [w, x_i] \ge 1.

In coordinates about a point p of the current hyperplane, :math:`w = (w_0, w')` and :math:`[w, w] = \|w'\|^2 - w_0^2`,
with :math:`w_0 = 0` for the current w. Without the term :math:`-w_0^2`, the problem is convex. Each step replaces w
with the solution of this convex problem, which does not increase [w, w]. The next p is the contact point:
:math:`\sum_i \lambda_i h_i`, scaled onto the hyperboloid, where :math:`\lambda_i` are the multipliers of the convex
problem and :math:`h_i` the projections of the rows onto the new hyperplane. In coordinates about this p, w_0 remains 0
as long as the same rows are active. The convex problem then agrees with the original problem to second order, so two or
three steps suffice.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from hyplearn.geometry import distance, geodesic, mobius_add, project, project_onto, transport
from hyplearn.geometry.hull import klein_about
from hyplearn.geometry.kernels import row_gaps, squared_distances
from hyplearn.tangent import z_dot, z_features
from hyplearn.types import Array

EPS = float(np.finfo(float).eps)
# A value computed from a sum of n terms contains at most n + OPERATIONS rounding errors. For example, the height of a
# row with d coordinates (the sinh of its signed distance to a hyperplane) has an error of at most (d + OPERATIONS) *
# EPS times the size of the row, which ``_sizes`` computes.
OPERATIONS = 16
# Slack added to the constraints of the convex problem, as a multiple of the bound on the rounding error of a row's
# height. The height is the sinh of the row's signed distance to the hyperplane. The slack allows for the rounding
# errors of the heights, which are computed here and again in ``WidestMargin.verify``, and for those of the stored
# hyperplane. It matters only for distant rows.
SLACK = 4.0
# Absolute value of the constant column of the constraint matrix. The unknown of this column is w_0 / BIAS, so w_0² /
# BIAS², about a thousandth of w_0², is added to the objective. This term slows the convergence of the last steps. A
# larger BIAS would slow it less, but would reduce the precision.
BIAS = 30.0
# A step fails if it neither halves the interval between the bounds on the margin nor shortens it by STRIDE. Far from
# the solution, a step can shorten the interval only by a limited length, however wide the interval is.
STRIDE = 0.1
# The iteration stops if the interval between the bounds on the margin is narrower than NARROW, or, after a failed step,
# if it is narrower than CLOSE. It also stops after PATIENCE failed steps in a row. Widths are relative to the margin if
# the margin is above 1.
NARROW, CLOSE, PATIENCE = 1e-14, 1e-9, 4
# The constraints on the normal w, ``G w ≥ scale / times + slack`` (see ``_View``), contain a scale, because with a
# scale of 1 the norm of w would be very large for nearly inseparable rows. For each scale, w is computed from a
# non-negative least-squares problem (see ``_least_norm``). If the residual of this problem is below NOTHING_LEFT, no w
# satisfies the constraints, and the scale is multiplied by SHRINK. If the constraints have no solution for any scale
# down to LEAST, the rows are treated as inseparable.
NOTHING_LEFT, SHRINK, LEAST = 1e-12, 1e-5, 1e-15
# Multipliers below this fraction of the largest multiplier are treated as rounding errors.
NEGLIGIBLE = 1e-18
# Maximum number of scales that are tried in ``_least_norm``.
SCALES = 20
# The scale of the constraints is adapted until ‖w‖ lies in this range, so that the solution has full precision.
WELL_SCALED = (0.1, 10.0)


class Contact(NamedTuple):
    """Result of :func:`touching_balls`: a hyperplane, or a point in the hulls of both classes; and margin bounds."""

    w: Array | None  # unit normal; None if no hyperplane separates the rows
    # Point at which the hull of the balls around the rows of one class touches the hull of the balls around the rows of
    # the other class. If w is None, it is a point that lies in the hulls of the rows of both classes.
    p: Array
    active: Array  # positions of the rows that determine the contact, those with positive multipliers
    weights: Array  # weights of the active rows; they sum to 1
    points: Array  # for each active row, the point of its ball nearest to the hyperplane; the row itself if w is None
    lower: float  # proven lower bound on the signed distances of all rows to the hyperplane; 0 if w is None
    upper: float  # proven upper bound on the margin of any hyperplane

    @property
    def width(self) -> float:
        """Width of the interval from ``lower`` to ``upper``."""
        return self.upper - self.lower


def touching_balls(X: Array, y: Array, p: Array, c: float, first: Array) -> Contact:
    """Find the hyperplane with the widest margin between rows with y = 1 and rows with y = -1.

    The search starts at p, which may be any point. It first uses only the rows at the positions ``first``, which must
    include at least one row of each class. Other rows are added when they violate their constraints.
    """
    gaps, scale, used = row_gaps(X, c), 1.0, np.isin(np.arange(len(X)), first)
    best: Contact | None = None
    failed = 0
    while failed < PATIENCE:
        step = _solve(_View.of(X, y, gaps, p, c), scale, used)
        new = _contact(X, y, step, p, c)
        p, scale = new.p, step.scale
        failed = 0 if best is None or new.width < best.width - min(best.width / 2, STRIDE) else failed + 1
        best = new if best is None or new.width < best.width else best
        if best.width <= (CLOSE if failed else NARROW) * max(1.0, best.lower):
            break
    assert best is not None
    return best


class _View(NamedTuple):
    """Rows in coordinates about a point p, in the form in which they enter the constraints of the convex problem.

    ``G`` contains the Klein coordinates of the rows and a column of -BIAS, both multiplied by y. ``times`` contains
    cosh ρ for each row, where ρ is its distance to p. ``slack`` contains the slack that is added to each constraint.
    """

    G: Array
    times: Array
    slack: Array

    @classmethod
    def of(cls, X: Array, y: Array, gaps: Array, p: Array, c: float) -> "_View":
        K, times = klein_about(X, gaps, p, c, np.sqrt(c))
        slack = SLACK * (X.shape[1] + OPERATIONS) * EPS * _sizes(X, gaps, p, c) / times
        return cls(y[:, None] * np.column_stack([K, np.full(len(K), -BIAS)]), times, slack)


class _Step(NamedTuple):
    """Solution (w_0, w') of the convex problem, scaled so that ``‖w'‖² - w_0² = 1``.

    The field ``w`` contains w', or None if no hyperplane separates the rows. If ``w`` is not None, the sinh of the
    signed distance of every row to the hyperplane is at least ``scale``.
    """

    w: Array | None
    w_0: float
    multipliers: Array
    scale: float


def _solve(view: _View, scale: float, used: Array) -> _Step:
    """Minimise ``‖w'‖²`` subject to ``y (⟨k, w'⟩ - w_0) ≥ scale / cosh ρ`` for all rows.

    Here k denotes the Klein coordinates of a row about p, ρ its distance to p, and y = ±1 its class. The normal is
    (w_0, w') in hyperboloid coordinates about p. Slack is added to the constraints, and w_0² / BIAS² to the objective;
    the comments on SLACK and BIAS explain why. The problem is first solved for the rows in the mask ``used``. As long
    as other rows violate their constraints, the rows with the largest violations are added to this mask, in place, and
    the problem is solved again.
    """
    few = 2 * view.G.shape[1]
    while True:
        rows = np.flatnonzero(used)
        w, u, scale = _least_norm(view.G[rows], view.times[rows], view.slack[rows], scale)
        multipliers = np.zeros(len(used))
        multipliers[rows] = np.where(u > NEGLIGIBLE * u.max(), u, 0.0) / view.times[rows]
        if w is None:
            return _Step(None, 0.0, multipliers, 1.0)
        missing = scale / view.times + 0.75 * view.slack - view.G @ w
        missing[rows] = 0.0
        worst = np.argsort(-missing, kind="stable")[:few]
        worst = worst[missing[worst] > 0]
        if not len(worst):
            break
        used[worst] = True
    w, w_0 = w[:-1], BIAS * w[-1]
    # The Minkowski product [w, w] is positive if w separates the rows. If p is far from the rows, however, rounding
    # errors can make the computed value negative.
    length = np.sqrt(max(w @ w - w_0**2, EPS * (w @ w)))
    return _Step(w / length, float(w_0 / length), multipliers, float(scale / length))


def _least_norm(G: Array, times: Array, slack: Array, scale: float) -> tuple[Array | None, Array, float]:
    """Minimise ``‖w‖`` subject to ``G w ≥ s`` with ``s = scale / times + slack``; return w, multipliers and scale.

    The arrays are those of :class:`_View`, and the multipliers are the Lagrange multipliers of the constraints. The
    scale is adapted until ‖w‖ is near 1. For a fixed scale, this is the least distance problem of Lawson and Hanson. It
    is solved by finding the vector u ≥ 0 for which ``(Gᵀu, ⟨s, u⟩)`` is as near as possible to (0, 1). If the distance
    is 0, u proves that no w satisfies the constraints. If there is no solution for any scale, w is None, and such a u
    is returned instead of the multipliers.
    """
    target = np.zeros(G.shape[1] + 1)
    target[-1] = 1.0
    proof: Array | None = None
    for _ in range(SCALES):
        s = scale / times + slack
        u, _ = nnls(np.vstack([G.T, s]), target, maxiter=100 * len(G) + 1000)
        left = 1 - s @ u
        if left < NOTHING_LEFT:
            # As the proof, keep the u of the first scale for which there is no solution. At this scale the elements of
            # s are of moderate size, which makes this u the most precise proof.
            proof, factor = u if proof is None else proof, SHRINK
        else:
            w, u = _polish(G, s, (u @ G) / left, u / left)
            size = float(np.linalg.norm(w))
            if WELL_SCALED[0] <= size <= WELL_SCALED[1]:
                return w, u, scale
            factor = 1 / size if size > 0 else 1 / SHRINK
        if scale < LEAST:
            break
        scale *= factor
    return None, u if proof is None else proof, scale


def _polish(G: Array, s: Array, w: Array, u: Array) -> tuple[Array, Array]:
    """Correct rounding errors in w and in the positive multipliers (elements of u) of ``G w ≥ s``."""
    used = np.flatnonzero(u)
    inverse = np.linalg.pinv(G[used])
    part = u[used]
    for _ in range(2):
        w = w + inverse @ (s[used] - G[used] @ w)
        part = part + (w - part @ G[used]) @ inverse
    u = np.zeros_like(u)
    u[used] = np.maximum(part, 0.0)
    return w, u


def _contact(X: Array, y: Array, step: _Step, p: Array, c: float) -> Contact:
    """Convert a solution of the convex problem to a :class:`Contact` with proven bounds.

    ``step`` is the solution, in coordinates about p.
    """
    active = np.flatnonzero(step.multipliers)
    X_a, y_a, weights = X[active], y[active], step.multipliers[active]
    Z = np.sqrt(c) * z_features(X_a, p, c=c)
    rows = np.column_stack([np.sqrt(1 + np.sum(Z**2, axis=1)), Z])
    if step.w is None:
        q, _ = _scaled_back(weights @ rows, weights.sum(), p, c)
        weights, upper = ball_bound(X_a, y_a, _balance(X_a, y_a, weights, q, c), X_a, q, c)
        return Contact(None, q, active, weights, X_a, 0.0, upper)
    heights = Z @ step.w - rows[:, 0] * step.w_0
    feet = (rows - heights[:, None] * np.append(step.w_0, step.w)) / np.hypot(1, heights)[:, None]
    q, carried = _scaled_back(weights @ feet, weights.sum(), p, c)
    # ``step.w - step.w_0 * carried`` is the normal at q, transported to p along the hyperboloid. The next line
    # transports it from p back to q, in the ball.
    w = transport(step.w - step.w_0 * carried, p, q, c=c)
    w /= np.linalg.norm(w)
    points = _within(X_a, project_onto(X_a, w, q, c=c), float(np.arcsinh(step.scale)), c)
    weights, upper = ball_bound(X_a, y_a, _balance(points, y_a, weights, q, c), points, q, c)
    lower = proven_margin(proven_heights(X, row_gaps(X, c), y, w, q, c).min())
    return Contact(w, q, active, weights, points, lower, upper)


def _within(X: Array, feet: Array, radius: float, c: float) -> Array:
    """Move each row of X towards its projection onto the hyperplane (``feet``), by at most ``radius``."""
    far = np.sqrt(c) * distance(X, feet, c=c)
    return geodesic(X, feet, radius / np.maximum(far, radius), c=c)


def _scaled_back(total: Array, least: float, p: Array, c: float) -> tuple[Array, Array]:
    """Scale ``total``, a weighted sum of points in hyperboloid coordinates about p, so that it lies on the hyperboloid.

    Return two points: the resulting point of the ball, and, in units of 1/√c, its image under the translation that
    takes p to the origin. ``least`` is the sum of the weights, which is a lower bound on the Minkowski length of the
    weighted sum. If the computed length is smaller, because rounding errors dominate it far from p, ``least`` is used
    instead.
    """
    length = np.sqrt(max(total[0] ** 2 - total[1:] @ total[1:], least**2))
    place = total[1:] / (total[0] + length)
    return mobius_add(p, project(place / np.sqrt(c), c=c), c=c), place


def _balance(points: Array, y: Array, weights: Array, p: Array, c: float) -> Array:
    """Correct the weights so that both classes have the same weighted sum of hyperboloid coordinates.

    The sums differ because points near the rim move when their coordinates are rounded. One weight is left unchanged:
    the weight whose product with cosh ρ is the largest, where ρ is the distance of its point to p.
    """
    K, times = klein_about(points, row_gaps(points, c), p, c, np.sqrt(c))
    M, u = y * np.column_stack([np.ones(len(K)), K]).T, weights * times
    others = np.arange(len(u)) != np.argmax(u)
    for _ in range(2):
        u[others] -= np.linalg.lstsq(M[:, others], M @ u, rcond=EPS)[0]
    return np.maximum(u, 0.0) / times


def proven_heights(X: Array, gaps: Array, y: Array, w: Array, p: Array, c: float) -> Array:
    """Return a lower bound on the height of each row: the computed height minus a bound on its rounding error.

    The height of a row is the hyperbolic sine of its signed distance to the hyperplane (w, p) in units of 1/√c. It is
    positive if the row lies on the correct side.
    """
    error = (X.shape[1] + OPERATIONS) * EPS * _sizes(X, gaps, p, c)
    heights: Array = np.sqrt(c) * y * z_dot(X, w, p, c=c, gaps=gaps) - error
    return heights


def proven_margin(height: float) -> float:
    """Convert a lower bound on heights (sinh of distances) to a lower bound on distances, and round the result down."""
    return float(np.arcsinh(height)) * (1 - OPERATIONS * EPS)


def ball_bound(X: Array, y: Array, weights: Array, points: Array, p: Array, c: float) -> tuple[Array, float]:
    r"""Return rescaled weights, which sum to 1, and the upper bound on margins that follows from them.

    Let :math:`x_i` be the rows, :math:`a_i` the points, :math:`\lambda_i` the weights, and :math:`r_i = d(a_i, x_i)`.
    In hyperboloid coordinates about p, let :math:`A = \sum_+ \lambda_i a_i` be the sum over the class y = 1, and
    :math:`B = \sum_- \lambda_i a_i` the sum over the class y = -1. The weights of each class are rescaled so that A and
    B have the same first coordinate. Let :math:`\|\cdot\|` be the Minkowski length :math:`\sqrt{|[\cdot, \cdot]|}`. A
    hyperplane w of margin M satisfies :math:`y_i [w, a_i] \ge \sinh(M - r_i)`. Let r be the mean radius, defined by
    :math:`\sum_i \lambda_i \sinh(r - r_i) = 0`. If M ≥ r, the hyperplane passes between A and B, or beyond one of them
    by at most :math:`\delta = \operatorname{arsinh}(|\sum_+ \lambda_i \sinh(r - r_i)| / \min(\|A\|, \|B\|))`. Its
    distance to p is therefore at most D + δ, where D is the larger of the distances of A and B to p, and
    :math:`[w, A - B] \le \cosh(D + \delta) \, \|A - B\|`. Together, these inequalities give

    .. math:: \sum_i \lambda_i \sinh(M - r_i) \le \cosh(D + \delta) \, \|A - B\|,

    where a bound on the rounding errors is added to the norm of A - B. The bound on margins is 0 if the weights prove
    that the classes are inseparable, and infinite if no bound follows from the weights.
    """
    if np.array_equal(points, X) and _cancel(points, y, weights, p, c):
        return weights / weights.sum(), 0.0
    Z = np.sqrt(c) * z_features(points, p, c=c)
    times, second = np.sqrt(1 + np.sum(Z**2, axis=1)), y > 0
    sums = np.array([weights[second] @ times[second], weights[~second] @ times[~second]])
    if not np.all(sums > 0):
        return weights, np.inf
    weights = weights / np.where(second, *sums)
    weights /= weights.sum()
    A, B = weights[second] @ Z[second], weights[~second] @ Z[~second]
    error = (len(y) + OPERATIONS) * EPS * (weights @ (times + _sizes(points, row_gaps(points, c), p, c)))
    time = weights[second] @ times[second]
    reach = (max(np.linalg.norm(A), np.linalg.norm(B)) + error) / time
    if not reach < 1:
        return weights, np.inf
    radii = np.sqrt(c) * distance(points, X, c=c)
    radius = radii.max()
    # Solve the inequality in the docstring for M. Its left-hand side is √(grown · shrunk) sinh(M - r), where r is the
    # mean radius. The variable ``radius`` is the largest radius, and ``mean`` is the mean radius r.
    grown, shrunk = weights @ np.exp(radii - radius), weights @ np.exp(radius - radii)
    mean = radius + np.log(grown / shrunk) / 2
    delta = np.arcsinh(abs(weights[second] @ np.sinh(mean - radii[second])) / (time * np.sqrt(1 - reach**2)))
    apart = np.cosh(np.arctanh(reach) + delta) * (np.linalg.norm(A - B) + error)
    upper = mean + np.arcsinh(apart / np.sqrt(grown * shrunk))
    return weights, float(upper * (1 + OPERATIONS * EPS))


def _cancel(X: Array, y: Array, weights: Array, p: Array, c: float) -> bool:
    """Return whether it is proven that some positive weights near ``weights`` give both classes the same weighted sum.

    The sums are those of hyperboloid coordinates about p. If they are equal, the classes are not separable. Each column
    of a matrix M consists of a 1 and the Klein coordinates of one row about p, multiplied by y. The vector u contains
    each weight times cosh ρ, where ρ is the distance of the row to p, so that the sums are equal if M u = 0. If M has
    full row rank, ``u - M⁺ M u`` satisfies this equation exactly. All its elements are positive if the norm of the
    correction ``M⁺ M u`` is smaller than the smallest element of u. Both conditions are tested with bounds on the
    rounding errors of M and M u.
    """
    K, times = klein_about(X, row_gaps(X, c), p, c, np.sqrt(c))
    M, u = y * np.column_stack([np.ones(len(K)), K]).T, weights * times
    error = OPERATIONS * EPS * np.linalg.norm(1 + _sizes(X, row_gaps(X, c), p, c) / times)
    smallest = np.linalg.svd(M, compute_uv=False)[-1] - error
    off = np.linalg.norm(M @ u) + (len(u) * EPS + error) * np.linalg.norm(u)
    return bool(len(u) > len(M) and smallest > 0 and off < smallest * u.min())


def _sizes(X: Array, gaps: Array, p: Array, c: float) -> Array:
    """Return a size for each row; bounds on the rounding errors of the row's features √c z are multiples of it.

    The vector √c z (z features at p, :mod:`hyplearn.tangent`) is a multiple of x - p minus a multiple of p. The size is
    the sum of the norms of these two terms.
    """
    squares, gap_p = squared_distances(X, p), row_gaps(p[None], c)[0]
    sizes: Array = 2 * np.sqrt(c) / gaps * (np.sqrt(squares) + c / gap_p * np.linalg.norm(p) * squares)
    return sizes
