"""Fréchet mean, computed by Newton's method with a proven error bound."""

import math
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from scipy.sparse.linalg import LinearOperator, cg

from hyplearn.geometry.ball import gap, step_along
from hyplearn.geometry.border import border, check_inside
from hyplearn.geometry.kernels import (
    TINY,
    centred_dot,
    centred_sum,
    chunk_slices,
    column_chunks,
    row_gaps,
    shrink,
)
from hyplearn.types import Array, Points, Scalars

# With many rows, Newton's method starts at the approximate mean of a sample that contains every k-th row. SAMPLE is the
# minimum size of the sample, SAMPLE_STRIDE is the largest k, and SAMPLE_TOL is the tolerance of the sample's mean.
SAMPLE, SAMPLE_STRIDE, SAMPLE_TOL = 10_000, 16, 1e-4
# If the gap 1 - c‖m‖² of the sample's mean m is below this value, Newton's method starts at the origin instead, because
# floats near the rim are too sparse for short steps.
NEAR_THE_RIM = 0.01
# Largest dimension in which the Hessian of the mean squared distance is computed as a matrix. In more dimensions, only
# products of the Hessian with vectors are computed.
FEW_DIMENSIONS = 16
# Relative tolerance for linear systems with the Hessian of a sample. It is smaller than the sampling error.
SAMPLE_FORCING = 1e-2
Hessian: TypeAlias = Array | Callable[[Array], Array] | None


@border("X", scalars=("weights",), into_ball=True)
def frechet_mean(
    X: Points, weights: Scalars = None, *, tol: float = 1e-12, max_iter: int = 100, c: float = 1.0
) -> Array:
    r"""Compute the weighted Fréchet mean of rows, which is the point with the smallest mean squared distance to them.

    .. math:: \operatorname*{arg\,min}_m \tfrac12 \sum_i w_i \, d(m, x_i)^2 \big/ \sum_i w_i

    The objective is strongly convex along geodesics with constant 1, so the length of its gradient at m is an upper
    bound on the distance from m to the mean. Newton steps, safeguarded by majorisation steps, are taken until this
    bound is at most ``tol`` or the spacing of float64 points around m.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball.
    weights : array-like of shape (n,), optional
        Non-negative weights; a row with integer weight k counts as k equal rows.
    tol : float
        Largest hyperbolic distance (for c = 1) between the result and the exact mean.
    max_iter : int
        Maximum number of steps. An error is raised if the mean has not been found by then.
    c : float
        Absolute curvature.

    Examples
    --------
    >>> from hyplearn.geometry import frechet_mean
    >>> frechet_mean([[0.0, 0.0], [0.8, 0.0]])
    array([0.5, 0. ])
    """
    if X.ndim != 2 or len(X) == 0:
        raise ValueError(
            f"X must contain at least one point, as a row; got shape {X.shape}.\n"
            "Pass an array of shape (n, d) with n ≥ 1."
        )
    weights = _normalised(weights, len(X))
    gaps = row_gaps(X, c)
    check_inside(X, gaps, c)
    return mean_and_variance(X, gaps, weights, c, tol=tol, max_iter=max_iter)[0]


def mean_and_variance(
    X: Array, gaps: Array, weights: Array, c: float, *, tol: float = 1e-12, max_iter: int = 100
) -> tuple[Array, float]:
    """Compute the weighted mean of rows, and the weighted mean of their squared distances to it.

    ``gaps`` are the gaps of the rows, and ``weights`` must sum to 1.
    """
    if _all_alike(X, weights):
        return X[np.argmax(weights > 0)].astype(np.float64), 0.0
    steps = mean_steps(_start(X, gaps, weights, c), tol=tol, max_iter=max_iter)
    state = _RowEquations(X, gaps, weights, next(steps), c)
    while True:
        try:
            state = state.at(steps.send(state))
        except StopIteration as end:
            return end.value


Steps: TypeAlias = Generator[Array, "MeanEquations", tuple[Array, float]]


def mean_steps(start: Array, *, tol: float, max_iter: int = 100) -> Steps:
    """Run Newton's method as a generator; the caller computes the equations at each point.

    The generator repeatedly yields a point and receives the :class:`MeanEquations` at this point. After convergence, it
    returns the mean and the variance.
    """
    state = yield start
    for _ in range(max_iter):
        spacing = 16 * np.finfo(float).eps / state.gap_m
        if state.residual <= spacing or (state.residual <= tol and state.hessian is None):
            return state.m, state.variance / state.c
        if state.residual <= tol / 2:
            # One more Newton step reduces the error without another pass over the rows. With the exact Hessian, it
            # approximately squares the error. Both the error before the step and the length of the step are at most the
            # residual, that is, at most tol / 2. The error after the step is therefore proven to be at most tol.
            return state.moved(state.newton_step()), state.variance / state.c
        newton = yield state.moved(state.newton_step())
        state = newton if newton.residual <= state.residual / 2 else (yield state.moved(state.majorising_step()))
    raise ArithmeticError(
        f"The Fréchet mean was not reached in {max_iter} steps: the bound on its distance from the last iterate (for "
        f"c = 1) is {state.residual:.3g}, but tol is {tol:g}.\nRaise max_iter or tol."
    )


def _start(X: Array, gaps: Array, weights: Array, c: float) -> Array:
    """Choose the initial point: the mean of a sample, or the origin.

    The origin is used if there are few rows, if all weights in the sample are 0, or if the mean of the sample is near
    the rim.
    """
    stride = min(len(X) // SAMPLE, SAMPLE_STRIDE)
    some = np.ascontiguousarray(weights[::stride]) if stride > 1 else weights[:0]
    if some.any():
        sample = np.ascontiguousarray(X[::stride]), np.ascontiguousarray(gaps[::stride]), some / some.sum()
        m, _ = mean_and_variance(*sample, c, tol=SAMPLE_TOL)
        if gap(m, c=c) > NEAR_THE_RIM:
            return m
    return np.zeros(X.shape[1])


def _normalised(weights: Array | None, n: int) -> Array:
    if weights is None:
        return np.full(n, 1 / n)
    if weights.shape != (n,) or np.any(weights < 0) or not weights.sum() > 0:
        raise ValueError(
            f"weights must be {n} non-negative numbers with a positive sum; got shape {weights.shape}, "
            f"smallest {weights.min(initial=np.inf):g}, sum {weights.sum():g}.\nPass one weight per row of X."
        )
    return weights / weights.sum()


def _all_alike(X: Array, weights: Array) -> bool:
    """Return whether all rows with a positive weight are equal."""
    kept = np.flatnonzero(weights)
    first = X[kept[0]]
    return bool(np.array_equal(X[kept[-1]], first) and np.all(X[kept] == first))


class MeanEquations:
    """Gradient and Hessian, at m, of half the mean squared distance to the rows, in frame coordinates and for c = 1.

    For a row of weight w, let v be its logarithm at m, ρ the length of v, and v̂ the direction of v. Then ``stiffness``
    is ``Σ w ρ coth ρ``, an upper bound on the eigenvalues of the Hessian, and ``pull`` is ``Σ w v``, the negative
    gradient. ``residual`` is the length of ``pull``, and ``variance`` is ``Σ w ρ²``.

    ``hessian`` takes one of three forms: the Hessian as a matrix, which is ``stiffness`` times the identity minus
    ``Σ w (ρ coth ρ - 1) v̂ v̂ᵀ``; a function that multiplies a vector by the Hessian for a sample of the rows; or None
    if a subclass computes the products with the Hessian itself.
    """

    def __init__(self, m: Array, c: float, stiffness: float, pull: Array, hessian: Hessian, variance: float) -> None:
        self.m, self.c, self.gap_m = m, c, float(row_gaps(m[None], c)[0])
        self.stiffness, self.pull, self.hessian, self.variance = stiffness, pull, hessian, variance
        self.residual = float(np.linalg.norm(pull))

    def newton_step(self) -> Array:
        """Compute the step from m to the minimum of the quadratic model of the objective, in frame coordinates."""
        assert self.hessian is not None
        if callable(self.hessian):
            return _solve_by_products(self.hessian, self.pull, SAMPLE_FORCING)
        return np.linalg.solve(self.hessian, self.pull)

    def majorising_step(self) -> Array:
        """Compute the step from m to the minimum of a quadratic upper bound of the objective, in frame coordinates."""
        return self.pull / self.stiffness

    def moved(self, step: Array) -> Array:
        """Return the endpoint of a step from m; the step is given in frame coordinates."""
        return step_along(step * self.gap_m / (2 * np.sqrt(self.c)), self.m, c=self.c)


class _RowEquations(MeanEquations):
    """Gradient and Hessian for rows in memory.

    In high dimensions, only products of the Hessian with vectors are computed.
    """

    along: Array
    base: Array
    radial: Array

    def __init__(self, X: Array, gaps: Array, weights: Array, m: Array, c: float, numbers: Array | None = None) -> None:
        self.X, self.gaps, self.weights, self.numbers = X, gaps, weights, numbers
        if X.shape[1] <= FEW_DIMENSIONS:
            super().__init__(m, c, *summed_equations(X, gaps, weights, m, c))
            return
        # The frame coordinates of row i are along_i * (x_i - m) + base_i * m; see _fill_numbers.
        self.numbers = np.empty((3, len(X))) if numbers is None else numbers
        self.along, self.base, self.radial = self.numbers
        stiffness, pull, variance = 0.0, np.zeros(X.shape[1]), 0.0
        gap_m = float(gap(m, c=c))
        for part in chunk_slices(X):
            rows, own, numbers = X[part] - m, weights[part], self.numbers[:, part]
            squares = np.einsum("ij,ij->i", rows, rows)
            sums = _fill_numbers(squares, gaps[part], own, gap_m, c, *numbers)
            stiffness, variance = stiffness + sums[0], variance + sums[2]
            pull += centred_sum(X[part], own * numbers[0], m) + sums[1] * m
        super().__init__(m, c, stiffness, pull, None, variance)

    def at(self, m: Array) -> "_RowEquations":
        """Return the equations at another point m; they reuse and overwrite the coefficient arrays of this object."""
        return _RowEquations(self.X, self.gaps, self.weights, m, self.c, self.numbers)

    def newton_step(self) -> Array:
        """Compute the Newton step; in high dimensions, approximate it by conjugate gradients."""
        if self.hessian is not None:
            return super().newton_step()
        return _solve_by_products(self.hessian_times, self.pull, min(0.1, self.residual))

    def hessian_times(self, u: Array) -> Array:
        """Multiply the Hessian by u: return ``Σ w (ρ coth ρ · u - (ρ coth ρ - 1) ⟨v̂, u⟩ v̂)``.

        The symbols are those of :class:`MeanEquations`.
        """
        projected = self.along * centred_dot(self.X, u, self.m) + self.base * (self.m @ u)
        q = self.weights * self.radial * projected
        return self.stiffness * u - centred_sum(self.X, q * self.along, self.m) - (q @ self.base) * self.m


def summed_equations(X: Array, gaps: Array, weights: Array, m: Array, c: float) -> tuple[float, Array, Any, float]:
    """Compute ``stiffness``, ``pull``, ``hessian`` and ``variance`` of :class:`MeanEquations` for a block of rows.

    The results of several blocks can be added up. In high dimensions, 0 is returned for ``hessian``, because computing
    the matrix would take most of the time.
    """
    if X.shape[1] <= FEW_DIMENSIONS:
        return _summed_columns(X, gaps, weights, m, c)
    at = _RowEquations(X, gaps, weights, m, c)
    return at.stiffness, at.pull, 0.0, at.variance


def sample_hessian(X: Array, gaps: Array, weights: Array, m: Array, c: float) -> Callable[[Array], Array]:
    """Return a function that multiplies a vector by the Hessian, at m, of half the mean squared distance to the rows.

    The rows are a sample of the data. The function is used in high dimensions, where the Hessian is not computed as a
    matrix.
    """
    return _RowEquations(X, gaps, weights, m, c).hessian_times


def _solve_by_products(product: Callable[[Array], Array], right: Array, rtol: float) -> Array:
    """Solve ``product(x) = right`` by conjugate gradients."""
    d = len(right)
    return cg(LinearOperator((d, d), matvec=product), right, rtol=rtol, maxiter=d)[0]


def _summed_columns(X: Array, gaps: Array, weights: Array, m: Array, c: float) -> tuple[float, Array, Array, float]:
    """Compute the result of :func:`summed_equations` column by column, for up to FEW_DIMENSIONS dimensions."""
    d, gap_m = X.shape[1], float(row_gaps(m[None], c)[0])
    stiffness, pull, products, variance = 0.0, np.zeros(d), np.zeros((d, d)), 0.0
    for part, columns in column_chunks(X):
        columns -= m[:, None]
        squares, own = np.einsum("ji,ji->i", columns, columns), weights[part]
        numbers = np.empty((3, len(own)))
        sums = _fill_numbers(squares, gaps[part], own, gap_m, c, *numbers)
        stiffness, variance = stiffness + sums[0], variance + sums[2]
        _add_derivatives(columns, m, own, numbers, pull, products)
        pull += sums[1] * m
    hessian = stiffness * np.eye(d) - np.where(np.tri(d, dtype=bool), products, products.T)
    return stiffness, pull, hessian, variance


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _add_derivatives(columns, m, weights, numbers, pull, products):  # type: ignore[no-untyped-def]
    """Add ``Σ w * along * (x - m)`` to ``pull``, and the lower triangle of ``Σ w * radial * v vᵀ`` to ``products``.

    The sums run over the rows x of a chunk; w is the weight of a row, and v contains its frame coordinates at m. The
    rows of ``numbers`` are ``along``, ``base`` and ``radial``, as computed by :func:`_fill_numbers`. On entry,
    ``columns`` contains ``x - m``. Two arrays are changed in place: ``columns`` is overwritten with v, and the row
    ``radial`` of ``numbers`` is multiplied by the weights.
    """
    along, base, radial = numbers[0], numbers[1], numbers[2]
    for i in range(weights.size):
        radial[i] *= weights[i]
    for j in range(m.size):
        column, total = columns[j], 0.0
        for i in range(weights.size):
            s = along[i] * column[i]
            column[i] = s + base[i] * m[j]
            total += weights[i] * s
        pull[j] += total
        for k in range(j + 1):
            other, total = columns[k], 0.0
            for i in range(weights.size):
                total += radial[i] * column[i] * other[i]
            products[j, k] += total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _fill_numbers(squares, gaps, weights, gap_m, c, along, base, radial):  # type: ignore[no-untyped-def]
    """Write ``along``, ``base`` and ``radial`` of each row; return ``Σ w ρ coth ρ``, ``Σ w base`` and ``Σ w ρ²``.

    The sums run over the rows x_i with the weights w and the distances ρ from m, for c = 1. Row i has the frame
    coordinates ``along_i * (x_i - m) + base_i * m``. If ρ > 0, ``radial_i`` is ``(ρ coth ρ - 1) / ρ²``; if ρ = 0, its
    value does not matter, and 0 is written. ``squares`` contains ``‖x_i - m‖²``.
    """
    stiffness, base_sum, variance, bending, root = 0.0, 0.0, 0.0, c / gap_m, 2.0 * math.sqrt(c)
    for i in range(gaps.size):
        bend = squares[i] * bending
        u2 = bend / gaps[i]
        ratio = shrink(u2)
        across = ratio * (1.0 + 2.0 * u2)
        square = 4.0 * u2 * (1.0 + u2) * ratio * ratio
        radial[i] = (across - 1.0) / (square + TINY)
        along[i] = root / gaps[i] * ratio
        base[i] = -along[i] * bend
        stiffness += weights[i] * across
        base_sum += weights[i] * base[i]
        variance += weights[i] * square
    return stiffness, base_sum, variance
