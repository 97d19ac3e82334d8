r"""The optimisation problem of the hyperboloid SVM (Cho et al., 2019), and two descent methods for it.

Let the rows :math:`x_i` be hyperboloid coordinates about a point, the *centre*, with costs :math:`C_i` and labels
:math:`y_i = \pm 1`, and let :math:`[n, x] = -n^0 x^0 + \sum_j n^j x^j`. The problem is

.. math:: \min_{[n, n] > 0} P(n) = \tfrac12 [n, n]
          + \sum_i C_i \max(0, \operatorname{arsinh} 1 - \operatorname{arsinh}(y_i [n, x_i]))

P is neither convex nor smooth. Both methods try several initial normals, and find a local minimum.
:func:`solve_by_stages` smooths the kinks of P, where a margin :math:`y_i [n, x_i]` is 1, over a width that decreases
from stage to stage. :func:`solve_by_projected_gradient` is the method of Cho et al.

The normal n is stored as ``u = (-n⁰, n¹, n², …)``, so that ``[n, x] = ⟨u, x⟩``, or in polar coordinates v and a, with
``u = (-‖v‖ sinh a, v cosh a)`` and ``[n, n] = ‖v‖²``. In polar coordinates, ``[n, n] > 0`` holds for every v ≠ 0.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, lsqr

from hyplearn.geometry.kernels import dot
from hyplearn.types import Array

# Widths over which the kink of the loss is smoothed, one per stage. The first width smooths the loss for all margins
# from 0 to 1. The last width changes the term of row i in P by at most half the width times C_i, which is less
# than a ten-thousandth of C_i.
WIDTHS = (1.0, 0.1, 0.01, 0.001, 0.0001)
# The distance (for c = 1) of a boundary from the centre is limited to the distance of the farthest row plus BEYOND, and
# to FARTHEST. Beyond FARTHEST, float64 cannot distinguish the normal n from a vector with [n, n] = 0.
BEYOND, FARTHEST = 3.0, 17.0
# Number of past steps that L-BFGS stores.
MEMORY = 20
LEAST_SQUARES_STEPS = 30
BATCH = 32
# First step of the projected gradient, as a multiple of a cautious step that is safe even if the gradients of all rows
# of a batch are parallel. Parallel gradients are rare, so the first step can be much longer.
FIRST_STEP = 1000.0
GROWTH = 1.5
# Number of consecutive halvings of the step after which the descent stops, because the step is then too short to
# matter.
HALVINGS = 16
ARSINH_1 = float(np.arcsinh(1.0))


class LocalMinimum(NamedTuple):
    """Local minimum of P, given by the polar coordinates ``direction`` and ``shift`` of the normal n.

    ``direction`` is v, with ``[n, n] = ‖v‖²``, and ``shift`` is a, the signed distance (for c = 1) of the boundary from
    the centre. ``n_iter`` is the number of evaluations of P and its gradient by :func:`solve_by_stages`, or the number
    of epochs of :func:`solve_by_projected_gradient`.
    """

    direction: Array
    shift: float
    objective: float
    status: str
    n_iter: int

    @property
    def normal(self) -> Array:
        """Normal of the boundary, stored as the vector u with the scores ``R @ u``."""
        return from_polar(self.direction, self.shift)


def objective(R: Array, y: Array, costs: Array, u: Array) -> float:
    """Return the objective P for the normal vector u."""
    return _objective(R @ u, y, costs, u)


def _objective(scores: Array, y: Array, costs: Array, u: Array) -> float:
    """Return the objective P at a normal u, given ``scores``, the inner products of u with all rows."""
    return _sum_of_losses(scores, y, costs) + 0.5 * float(u[1:] @ u[1:] - u[0] ** 2)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_of_losses(scores, y, costs):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(scores.size):
        if y[i] * scores[i] < 1.0:
            total += costs[i] * _rounded(y[i] * scores[i], 0.0)[0]
    return total


def loss_and_gradient(R: Array, y: Array, costs: Array, u: Array, width: float) -> tuple[float, Array]:
    """Return the sum of the losses in P, with their kinks smoothed over ``width``, and its gradient in u."""
    gradient = np.zeros(len(u))
    return _one_pass(R, y, costs, u, width, gradient), gradient


@njit(cache=True, nogil=True, error_model="numpy")
def _one_pass(R, y, costs, u, width, gradient):  # type: ignore[no-untyped-def]
    """Return the sum of the smoothed losses, and add its gradient to ``gradient``; R is read only once."""
    total = 0.0
    for i in range(len(R)):
        margin = y[i] * dot(R[i], u)
        if margin < 1.0:
            loss, slope = _rounded(margin, width)
            total += costs[i] * loss
            pull = costs[i] * y[i] * slope
            for j in range(u.size):
                gradient[j] += pull * R[i, j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _rounded(margin, width):  # type: ignore[no-untyped-def]
    """Return the smoothed loss and its slope for a margin below 1.

    With ``s = arsinh 1 - arsinh margin``, the loss is ``s²/(2 width)`` if s < width, otherwise ``s - width/2``.
    """
    root = math.sqrt(1.0 + margin * margin)
    # This logarithmic form of arsinh has an absolute error of about 2e-16, and takes half the time of math.asinh.
    s = ARSINH_1 + (math.log(root - margin) if margin < 0.0 else -math.log(root + margin))
    if s < width:
        return s * s / (2.0 * width), -s / (width * root)
    return s - 0.5 * width, -1.0 / root


def from_polar(v: Array, a: float) -> Array:
    """Return the normal ``u = (-‖v‖ sinh a, v cosh a)`` with direction v and shift a."""
    return np.concatenate([[-np.linalg.norm(v) * np.sinh(a)], v * np.cosh(a)])


def to_polar(u: Array, farthest: float) -> tuple[Array, float]:
    """Return the direction v and the shift a of a normal u; the shift is clipped to ±``farthest``.

    If all elements of u except the first are 0, the direction is the first unit vector, and the shift is ±``farthest``.
    """
    space = float(np.linalg.norm(u[1:]))
    if space == 0:
        return np.eye(len(u) - 1)[0], -math.copysign(farthest, u[0])
    a = np.arctanh(np.clip(-u[0] / space, -np.tanh(farthest), np.tanh(farthest)))
    return u[1:] / np.cosh(a), float(a)


def farthest_shift(R: Array) -> float:
    """Return the largest allowed shift: the distance of the farthest row plus BEYOND, but at most FARTHEST."""
    return min(float(np.arccosh(R[:, 0].max())) + BEYOND, FARTHEST)


def starts(R: Array, y: Array, costs: Array) -> Iterator[Array]:
    """Yield three initial normals, or only the third if all rows have the same label.

    The boundary of the first normal is halfway between the means of the rows of the two labels. The second normal is a
    least-squares solution of ``⟨u, x_i⟩ / x_i⁰ = y_i``. Both are computed in Klein coordinates ``x_i / x_i⁰``, in which
    hyperplanes are straight and no row is much longer than the others. Rows are weighted so that both labels have the
    same total weight. The boundary of the third normal has the largest allowed distance from the centre. For
    all rows closer to the centre than FARTHEST, it predicts the label with the larger total cost.
    """
    plus, minus = costs * (y > 0), costs * (y < 0)
    tangent = np.eye(R.shape[1] - 1)[0]
    if plus.any() and minus.any():
        above, below = ((paid / paid.sum() / R[:, 0]) @ R for paid in (plus, minus))
        tangent = (above - below)[1:] if np.any(above != below) else tangent
        halfway = np.concatenate([[-tangent @ (above + below)[1:] / 2], tangent])
        yield _scaled(R, y, costs, halfway)
        balance = np.sqrt(plus / plus.sum() + minus / minus.sum())
        share = balance / R[:, 0]
        # This operator applies the weights of the rows to Klein coordinates without a second matrix of the size of R.
        klein = LinearOperator(R.shape, matvec=lambda u: share * (R @ u), rmatvec=lambda q: (share * q) @ R)
        yield _scaled(R, y, costs, lsqr(klein, y * balance, iter_lim=LEAST_SQUARES_STEPS)[0])
    side = 1.0 if plus.sum() > minus.sum() else -1.0
    yield _scaled(R, y, costs, from_polar(tangent, -side * farthest_shift(R)))


def _scaled(R: Array, y: Array, costs: Array, u: Array) -> Array:
    """Clip the shift a of the normal u, so that [n, n] > 0; then multiply u by the best of nine factors.

    The best factor is the one that gives the smallest objective P.
    """
    u = from_polar(*to_polar(u, farthest_shift(R)))
    scores = R @ u
    unit = float(np.median(np.abs(scores))) or 1.0
    scales = np.geomspace(1e-2, 1e2, 9) / unit
    return u * min(scales, key=lambda scale: _objective(scale * scores, y, costs, scale * u))


def solve_by_stages(R: Array, y: Array, costs: Array, *, tol: float, max_iter: int) -> LocalMinimum:
    """Run L-BFGS from every initial normal with the first width, then from the best result with the other widths.

    The rows R, of shape (n, d + 1), should be hyperboloid coordinates about a point among the data, so that they are
    not large. The labels y are ±1, and the costs are positive. A stage ends when a step decreases the smoothed P by at
    most ``tol`` times max(1, P), or after ``max_iter`` steps or twice as many evaluations. The status is "one-sided" if
    all rows are on one side of the boundary, "max_iter" if the last stage reached its maximum number of steps or
    evaluations, and "local" otherwise.
    """
    farthest = farthest_shift(R)
    tried = [_descend(R, y, costs, *to_polar(u, farthest), WIDTHS[0], tol, max_iter) for u in starts(R, y, costs)]
    found = min(tried, key=lambda one: one.objective)
    evaluations = sum(one.n_iter for one in tried)
    for width in WIDTHS[1:]:
        found = _descend(R, y, costs, found.direction, found.shift, width, tol, max_iter)
        evaluations += found.n_iter
    return found._replace(status=status_of(R, found.normal, found.status), n_iter=evaluations)


def status_of(R: Array, u: Array, status: str) -> str:
    """Return the given status, or "one-sided" if all rows are on one side of the boundary."""
    scores = R @ u
    return "one-sided" if np.all(scores > 0) or np.all(scores < 0) else status


def _descend(
    R: Array, y: Array, costs: Array, v: Array, a: float, width: float, tol: float, max_iter: int
) -> LocalMinimum:
    """Run one stage of L-BFGS, starting at the normal with the polar coordinates v and a.

    The variables of the optimisation are a and v / ‖v₀‖, where v₀ is the initial v.
    """
    unit = float(np.linalg.norm(v)) or 1.0

    def value(polar: Array) -> tuple[float, Array]:
        a, v = polar[0], unit * polar[1:]
        length = float(np.linalg.norm(v))
        loss, g = loss_and_gradient(R, y, costs, from_polar(v, a), width)
        by_a = -length * np.cosh(a) * g[0] + np.sinh(a) * (v @ g[1:])
        by_v = v - np.sinh(a) * g[0] * v / (length or 1.0) + np.cosh(a) * g[1:]
        return 0.5 * length**2 + loss, np.concatenate([[by_a], unit * by_v])

    farthest = farthest_shift(R)
    bounds = [(-farthest, farthest)] + [(None, None)] * len(v)
    options = {"ftol": tol, "gtol": 0.0, "maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": MEMORY}
    end = minimize(value, np.concatenate([[a], v / unit]), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    v, a = unit * end.x[1:], float(end.x[0])
    status = "max_iter" if end.status == 1 else "local"
    return LocalMinimum(v, a, objective(R, y, costs, from_polar(v, a)), status, int(end.nfev))


def solve_by_projected_gradient(
    R: Array, y: Array, costs: Array, *, tol: float, max_iter: int, rng: np.random.Generator
) -> LocalMinimum:
    r"""Decrease P from the best initial normal, with gradient steps on mini-batches B.

    .. math:: u \leftarrow \Pi \Bigl( u - \eta \Bigl( \tfrac{|B|}{N} H u
              - \sum_{i \in B,\, y_i \langle u, x_i \rangle < 1} \frac{C_i y_i x_i}{\sqrt{1 + \langle u, x_i \rangle^2}}
              \Bigr) \Bigr), \qquad H = \operatorname{diag}(-1, 1, \dots, 1)

    Here, N is the number of rows, η the step size, and Π the projection onto normals with [n, n] > 0, which is computed
    by :func:`project`. R, y and costs are those of :func:`solve_by_stages`.

    An epoch visits every batch once, in random order. If P decreases by more than ``tol`` times its old value, η is
    increased. Otherwise, the epoch is undone and η is halved. The descent ends after ``max_iter`` epochs (with the
    status "max_iter") or after ``HALVINGS`` consecutive halvings (with the status "local"). As in
    :func:`solve_by_stages`, the status is "one-sided" instead if all rows are on one side of the boundary.
    """
    farthest = farthest_shift(R)
    slope = math.tanh(farthest)
    u = min(starts(R, y, costs), key=lambda u: objective(R, y, costs, u))
    least = objective(R, y, costs, u)
    step = FIRST_STEP * len(R) / BATCH / float(costs @ np.einsum("ij,ij->i", R, R))
    # Rows are shuffled only once, so that the rows of a batch are adjacent in memory; batches are shuffled before every
    # epoch.
    shuffled = rng.permutation(len(R))
    R, y, costs, firsts = R[shuffled], y[shuffled], costs[shuffled], np.arange(0, len(R), BATCH)
    epochs = halvings = 0
    while halvings < HALVINGS and epochs < max_iter:
        tried = u.copy()
        epoch(R, y, costs, rng.permutation(firsts), BATCH, step, slope, tried)
        value = objective(R, y, costs, tried)
        epochs += 1
        if value < least - tol * abs(least):
            u, least, step, halvings = tried, value, GROWTH * step, 0
        else:
            step, halvings = step / 2, halvings + 1
    status = "local" if halvings == HALVINGS else "max_iter"
    return LocalMinimum(*to_polar(u, farthest), least, status_of(R, u, status), epochs)


@njit(cache=True, nogil=True, error_model="numpy")
def epoch(R, y, costs, firsts, batch, step, slope, u):  # type: ignore[no-untyped-def]
    """Visit every batch once and update u in place; ``firsts`` lists the first row of each batch in visiting order."""
    n, d = R.shape
    gradient = np.empty(d)
    for start in firsts:
        stop = min(start + batch, n)
        share = (stop - start) / n
        gradient[0] = -share * u[0]
        for j in range(1, d):
            gradient[j] = share * u[j]
        for i in range(start, stop):
            score = dot(R[i], u)
            if y[i] * score < 1.0:
                pull = costs[i] * y[i] / math.sqrt(1.0 + score * score)
                for j in range(d):
                    gradient[j] -= pull * R[i, j]
        for j in range(d):
            u[j] -= step * gradient[j]
        project(u, slope)


@njit(cache=True, nogil=True, error_model="numpy")
def project(u, slope):  # type: ignore[no-untyped-def]
    """Move u, in place, to the nearest point of the cone ``|u⁰| ≤ slope ‖s‖``, where s contains all elements but u⁰."""
    space = 0.0
    for j in range(1, u.size):
        space += u[j] * u[j]
    space, time = math.sqrt(space), abs(u[0])
    if time <= slope * space:
        return
    new = (slope * time + space) / (1.0 + slope * slope)
    u[0] = math.copysign(slope * new, u[0])
    if space > 0.0:
        for j in range(1, u.size):
            u[j] *= new / space
    else:
        u[1] = new
