r"""Box-constrained SVM on rows that fit into memory, solved by a primal-dual interior point method.

.. math:: \min_w \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - \langle u_i, w \rangle), \qquad
          \max_\alpha \sum_i \alpha_i - \tfrac12 \Bigl\| \sum_i \alpha_i u_i \Bigr\|^2, \quad 0 \le \alpha_i \le C_i

Let U be the matrix of the rows :math:`u_i`. With :math:`g = Uw - 1 = s - \xi`, :math:`s, \xi \ge 0`, and
:math:`\beta = C - \alpha`, the optimality conditions are :math:`w = U^T \alpha`, :math:`\alpha s = 0`,
:math:`\beta \xi = 0`. A Newton step towards :math:`\alpha s = \beta \xi = \mu` reduces to one positive definite system
of the size of w, with residuals :math:`r_d = U^T \alpha - w` and :math:`r = \mu / \alpha - \mu / \beta - g`:

.. math:: (I + U^T \Theta U)\, dw = r_d + U^T \Theta r, \qquad \Theta^{-1} = s / \alpha + \xi / \beta.

Mehrotra's predictor chooses μ, and Gondzio's correctors lengthen the step. Since α stays strictly inside its box, the
dual value is a proven lower bound after every step. For an exact solution, each row is classified at the end as free
(0 < α < C) or at a bound (α = 0 or α = C), and w and α are computed for this classification. If the classification is
right, the solution is exact up to rounding.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotrs

from hyplearn.geometry.kernels import dot
from hyplearn.types import Array

# The initial values of the products α s and β ξ are this multiple of the mean of C. A high multiple keeps the first
# steps long. On all data tried, 100 needed fewer steps than 1 or 10^4.
START_ABOVE = 100.0
# A step goes at most this fraction of the way to the point at which a variable becomes 0.
DAMPING = 0.995
MOST_CORRECTORS = 3
LONG_ENOUGH = 0.9
# Correctors change only products α s and β ξ that are below LEAST_PRODUCT or above LARGEST_PRODUCT times the target μ.
LEAST_PRODUCT, LARGEST_PRODUCT = 0.1, 10.0
# With at most this many columns the normal matrix ``I + Uᵀ Θ U`` is summed row by row; with more, BLAS is faster.
FEW_COLUMNS = 12
# The normal matrix is summed over strips of this many rows, in the same order for any number of threads.
STRIP = 2048
# Maximum number of free rows (0 < α < C) in excess of the number of columns. The extra rows are copies of other rows,
# or lie on the margin by chance.
MOST_COPIES = 500
# If the solution does not yet show which rows are free, the tolerance is multiplied by FINER, until it is below FINEST.
FINER, FINEST = 1e-2, 1e-13
# Gaps below this fraction of P are treated as rounding errors.
ROUNDING = 1e-12
# Eigenvalues below this fraction of the largest eigenvalue are treated as rounding errors.
SINGULAR = 1e-13
# The solver stops after this many steps without a smaller gap, because rounding prevents progress.
PATIENCE = 5


class BoxSolution(NamedTuple):
    """Solution of a box-constrained SVM: w, α, P(w), D(α), and the number of steps."""

    w: Array
    alpha: Array
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Absolute duality gap."""
        return self.primal - self.dual


def solve_box(
    U: Array, C: Array, *, tol: float, exact: bool = True, max_iter: int = 200, threads: int = 1
) -> BoxSolution:
    """Solve the SVM up to a gap of ``tol · max(1, primal)`` or, if ``exact``, as precisely as rounding allows."""
    m, d = U.shape
    if m < d:
        # The solution lies in the span of the rows, so the rows are replaced by their m coordinates in an orthonormal
        # basis.
        Q, R = np.linalg.qr(U.T)
        inner = solve_box(np.ascontiguousarray(R.T), C, tol=tol, exact=exact, max_iter=max_iter, threads=threads)
        return inner._replace(w=Q @ inner.w)
    w, v, g = np.zeros(d), np.empty(d), np.full(m, -1.0)
    point = _centred(g, C, START_ABOVE * float(np.mean(C)))
    dw, steps, theta, t, stalled = np.empty(d), np.zeros((4, m)), np.empty(m), 0.0, 0
    best = vertex = BoxSolution(w, point[0], np.inf, -np.inf, 0)
    asked = tol
    with ThreadPoolExecutor(threads) as pool:
        for iteration in range(max_iter + 1):
            loss, total = _products(U, C, w, point, g, theta, v)
            primal, dual = 0.5 * float(w @ w) + loss, total - 0.5 * float(v @ v)
            stalled += 1
            if primal - dual < best.gap:
                best, stalled = BoxSolution(w, np.minimum(point[0], C), primal, dual, iteration), 0
            if best.gap <= tol * max(1.0, best.primal) or stalled == PATIENCE:
                crossed = _crossed_over(U, C, t * steps / point) if exact else None
                if crossed is not None and crossed.gap < vertex.gap:
                    vertex = crossed._replace(n_iter=iteration)
                done = vertex.gap <= max(best.gap, ROUNDING * best.primal)
                if done or not exact or stalled == PATIENCE or tol < FINEST:
                    break
                tol *= FINER
            factor, failed = dpotrf(_normal_matrix(U, theta, pool), lower=1, overwrite_a=1)
            if failed:
                break
            t = DAMPING * _long_step(U, g, point, theta, factor, v - w, dw, steps)
            w = w + t * dw
            point += t * steps
    return vertex if vertex.gap <= max(best.gap, asked * max(1.0, best.primal)) else best


def _crossed_over(U: Array, C: Array, changes: Array) -> BoxSolution | None:
    """Classify rows as free or at a bound, and return the solution for this classification.

    ``changes`` contains the relative changes of (α, β, s, ξ) in the last step. Variables that tend to zero decrease by
    a large factor in this step, and other variables do not (El-Bakry, Tapia and Zhang, 1994). The free rows U_F lie on
    the margin: ``U_F w = 1`` with ``w = Σ_{α = C} C u + U_Fᵀ α_F``. The result is None if too many rows are free.
    """
    alpha, beta, s, xi = changes
    full, free = beta < xi, (alpha >= s) & (beta >= xi)
    ends = np.where(full, C, 0.0)
    clamped, U_free = ends @ U, U[free]
    if len(U_free) > len(clamped) + MOST_COPIES:
        return None
    ends[free] = np.clip(_least_squares(U_free @ U_free.T, 1 - U_free @ clamped), 0, C[free])
    w = ends @ U
    primal = 0.5 * float(w @ w) + float(C @ np.maximum(1 - U @ w, 0))
    return BoxSolution(w, ends, primal, float(ends.sum()) - 0.5 * float(w @ w), 0)


def _least_squares(K: Array, b: Array) -> Array:
    """Return ``K⁺ b`` for a positive semi-definite K, by Cholesky or, if K is singular, by eigendecomposition."""
    if K.size == 0:
        return b
    factor, failed = dpotrf(K, lower=1)
    if not failed and np.min(np.diag(factor)) ** 2 > SINGULAR * np.max(np.diag(K)):
        x = dpotrs(factor, b, lower=1)[0]
        return x + dpotrs(factor, b - K @ x, lower=1)[0]
    values, vectors = np.linalg.eigh(K)
    kept = values > SINGULAR * values[-1]
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])


def _centred(g: Array, C: Array, mu: float) -> Array:
    """Return the point (α, β, s, ξ) with ``α + β = C``, ``α s = β ξ = μ`` and ``s - ξ = g``.

    The slacks s and ξ are computed from a quadratic equation.
    """
    h = C * g
    root = np.hypot(2 * mu, h)
    small = 4 * mu * mu / (root + np.abs(h))  # equals root - |h|, without cancellation
    slacks = (2 * mu + np.where([h > 0, h < 0], root + np.abs(h), small)) / (2 * C)
    return np.vstack([mu / slacks, slacks])


def _normal_matrix(U: Array, theta: Array, pool: ThreadPoolExecutor) -> Array:
    """Return ``I + Uᵀ Θ U``, of which only the lower triangle is used."""
    d = U.shape[1]
    H = np.eye(d, order="F")
    if d <= FEW_COLUMNS:
        _add_outer(U, theta, H)
        return H

    def strip(i: int) -> Array:
        rows = U[i : i + STRIP] * np.sqrt(theta[i : i + STRIP, None])
        return rows.T @ rows

    for part in pool.map(strip, range(0, len(U), STRIP)):
        H += part
    return H


@njit(cache=True, nogil=True, error_model="numpy")
def _add_outer(U, theta, H):  # type: ignore[no-untyped-def]
    """Add ``Σ θ_i u_i u_iᵀ`` to the lower triangle of H."""
    d = U.shape[1]
    for i in range(U.shape[0]):
        for j in range(d):
            scaled = theta[i] * U[i, j]
            for k in range(j, d):
                H[k, j] += scaled * U[i, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _products(U, C, w, point, g, theta, v):  # type: ignore[no-untyped-def]
    """Write ``Uw - 1`` to g, Θ to theta and ``Uᵀ α`` to v; return ``Σ C max(0, -g)`` and ``Σ α``."""
    loss, total = 0.0, 0.0
    v[:] = 0.0
    for i in range(U.shape[0]):
        alpha = point[0, i]
        g[i] = dot(U[i], w) - 1.0
        theta[i] = 1.0 / (point[2, i] / alpha + point[3, i] / point[1, i])
        loss += C[i] * max(0.0, -g[i])
        total += alpha
        for j in range(w.size):
            v[j] += alpha * U[i, j]
    return loss, total


@njit(cache=True, nogil=True, error_model="numpy")
def _long_step(U, g, point, theta, factor, residual, dw, steps):  # type: ignore[no-untyped-def]
    """Compute a step with Mehrotra's predictor and corrector and Gondzio's correctors.

    The step is written to ``dw`` and ``steps``. Return its maximum length, which is defined in :func:`_step`.
    """
    m = g.size
    inverse = 1.0 / point
    changes = -point[:2] * point[2:]
    mu = -np.sum(changes) / (2 * m)
    t = _step(U, g, point, inverse, theta, factor, residual, changes, dw, steps)
    reached = 0.0
    for k in range(2):
        for i in range(m):
            reached += (point[k, i] + t * steps[k, i]) * (point[2 + k, i] + t * steps[2 + k, i])
    target = mu * (reached / (2 * m * mu)) ** 3
    for k in range(2):
        for i in range(m):
            changes[k, i] += target - steps[k, i] * steps[2 + k, i]
    t = _step(U, g, point, inverse, theta, factor, residual, changes, dw, steps)
    other_dw, other_steps = np.empty_like(dw), np.empty_like(steps)
    for _ in range(MOST_CORRECTORS):
        if t > LONG_ENOUGH:
            break
        _correct(point, steps, min(1.0, 1.5 * t + 0.1), target, changes)
        longer = _step(U, g, point, inverse, theta, factor, residual, changes, other_dw, other_steps)
        if longer < 1.01 * t + 0.01:
            break
        t = longer
        dw[:], steps[:] = other_dw, other_steps
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def _step(U, g, point, inverse, theta, factor, residual, changes, dw, steps):  # type: ignore[no-untyped-def]
    """Compute the Newton step that changes the products (α s, β ξ) by ``changes``; return its maximum length.

    The maximum length is the largest length up to 1 for which all variables stay non-negative. The step of w is written
    to ``dw``, and the steps (dα, dβ, ds, dξ) to ``steps``. The linear system for dw is given in the documentation of
    the module. In the code, ``unmoved`` denotes ``Θ r``, which would be the step of α if dw were 0.
    """
    m = g.size
    unmoved, heights = steps[0], steps[2]
    for i in range(m):
        r = changes[0, i] * inverse[0, i] - changes[1, i] * inverse[1, i] - (g[i] - point[2, i] + point[3, i])
        unmoved[i] = theta[i] * r
    dw[:] = residual
    for i in range(m):
        for j in range(dw.size):
            dw[j] += unmoved[i] * U[i, j]
    _solve_in_place(factor, dw)
    for i in range(m):
        heights[i] = dot(U[i], dw)
    for i in range(m):
        da = unmoved[i] - theta[i] * heights[i]
        steps[0, i], steps[1, i] = da, -da
        steps[2, i] = (changes[0, i] - point[2, i] * da) * inverse[0, i]
        steps[3, i] = (changes[1, i] + point[3, i] * da) * inverse[1, i]
    steepest = 1.0
    for k in range(4):
        steepest = max(steepest, _steepest(steps[k], inverse[k]))
    return 1.0 / steepest


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc"})
def _steepest(steps, inverse):  # type: ignore[no-untyped-def]
    """Return the largest relative decrease of any variable in a full step."""
    out = 0.0
    for i in range(steps.size):
        out = max(out, -steps[i] * inverse[i])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_in_place(L, x):  # type: ignore[no-untyped-def]
    """Replace x by ``(L Lᵀ)⁻¹ x``, where L is a lower triangular matrix stored by columns."""
    d = x.size
    for j in range(d):
        x[j] /= L[j, j]
        for i in range(j + 1, d):
            x[i] -= x[j] * L[i, j]
    for j in range(d - 1, -1, -1):
        x[j] = (x[j] - dot(L[j + 1 :, j], x[j + 1 :])) / L[j, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _correct(point, steps, t, target, changes):  # type: ignore[no-untyped-def]
    """Adjust ``changes`` for those products α s and β ξ that would be far from the target after a step of length t."""
    least, largest = LEAST_PRODUCT * target, LARGEST_PRODUCT * target
    for k in range(2):
        for i in range(point.shape[1]):
            product = (point[k, i] + t * steps[k, i]) * (point[2 + k, i] + t * steps[2 + k, i])
            changes[k, i] += max(min(max(product, least), largest) - product, -largest)
