"""The Fréchet mean, by Newton's method with a proof of how near it is."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from hyplearn.geometry.arrays import Array, Points, Scalars
from hyplearn.geometry.ball import exp_map, gap, shrink
from hyplearn.geometry.border import border, check_inside
from hyplearn.geometry.kernels import centred_dot, centred_sum, offsets


@border("X", scalars=("weights",), into_ball=True)
def frechet_mean(
    X: Points, weights: Scalars = None, *, tol: float = 1e-12, max_iter: int = 100, c: float = 1.0
) -> Array:
    r"""Weighted Fréchet mean of the rows of X: the point of least mean squared distance.

    .. math:: \operatorname*{arg\,min}_m \tfrac12 \sum_i w_i \, d(m, x_i)^2 \big/ \sum_i w_i

    The objective is strongly convex along geodesics with constant 1, so the length of its gradient bounds the
    distance of m from the mean: Newton steps, safeguarded by majorisation steps, run until that proven distance
    is at most ``tol`` or falls below the spacing of float64 points around m.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball.
    weights : array-like of shape (n,), optional
        Non-negative weights; weight k counts a row k times.
    tol : float
        Largest hyperbolic distance (for c = 1) between the result and the mean.
    max_iter : int
        Largest number of steps; a mean not reached by then is an error.
    c : float
        Absolute curvature.

    Examples
    --------
    >>> from hyplearn.geometry import frechet_mean
    >>> frechet_mean([[0.0, 0.0], [0.8, 0.0]])
    array([0.5, 0. ])
    """
    if X.ndim != 2 or len(X) == 0:
        raise ValueError(f"X must hold at least one row of points; got shape {X.shape}.\nPass shape (n, d), n ≥ 1.")
    weights = _normalised(weights, len(X))
    first = X[np.argmax(weights > 0)]
    if np.all((first == X).all(axis=1) | (weights == 0)):
        gap(first, c=c)  # refuses a point outside the ball
        return first
    # From the centre, where every step is exact: at the rim floats are too sparse to move by less than a unit.
    state = _MeanEquations(X, weights, np.zeros(X.shape[1]), c)
    for _ in range(max_iter):
        spacing = 4 * np.finfo(float).eps / float(gap(state.m, c=c))
        if state.residual <= max(tol, spacing):
            return state.m
        newton = _MeanEquations(X, weights, state.moved(state.newton_step()), c)
        if newton.residual <= state.residual / 2:
            state = newton
        else:
            state = _MeanEquations(X, weights, state.moved(state.gradient / state.stiffness), c)
    raise ArithmeticError(
        f"The Fréchet mean of {len(X)} points was not reached in {max_iter} steps: it lies within "
        f"{state.residual:.3g} of the last iterate, tol is {tol:g}.\nRaise max_iter or tol."
    )


def _normalised(weights: Array | None, n: int) -> Array:
    if weights is None:
        return np.full(n, 1 / n)
    if weights.shape != (n,) or np.any(weights < 0) or not weights.sum() > 0:
        raise ValueError(
            f"weights must be {n} non-negative numbers with a positive sum; got shape {weights.shape}, "
            f"least {weights.min(initial=np.inf):g}, sum {weights.sum():g}.\nPass one weight per row of X."
        )
    return weights / weights.sum()


class _MeanEquations:
    """Gradient and Hessian of half the mean squared distance at m, in frame coordinates and for c = 1."""

    def __init__(self, X: Array, weights: Array, m: Array, c: float) -> None:
        self.X, self.weights, self.m, self.c = X, weights, m, c
        room = gap(m, c=c)
        rooms, squares = offsets(X, m, c)
        check_inside(X, rooms, c)
        half = np.sqrt(c * squares / (room * rooms))
        rho = 2 * np.arcsinh(half)
        # Row i in frame coordinates is along_i (x_i - m) + base_i m.
        self.along = np.sqrt(c) * 2 / rooms * shrink(half)
        self.base = -self.along * c * squares / room
        self.gradient = self._transposed(weights)
        self.residual = float(np.linalg.norm(self.gradient))
        across = np.divide(rho, np.tanh(rho), out=np.ones_like(rho), where=rho > 0)
        self.stiffness = float(weights @ across)
        self.radial = np.divide(across - 1, rho**2, out=np.zeros_like(rho), where=rho > 0)

    def _transposed(self, q: Array) -> Array:
        return centred_sum(self.X, q * self.along, self.m) + (q @ self.base) * self.m

    def _hessian_times(self, u: Array) -> Array:
        """``Σ w (ρ coth ρ · u - (ρ coth ρ - 1) ⟨v̂, u⟩ v̂)``: 1 along each geodesic to a point, ρ coth ρ across."""
        projected = self.along * centred_dot(self.X, u, self.m) + self.base * (self.m @ u)
        return self.stiffness * u - self._transposed(self.weights * self.radial * projected)

    def newton_step(self) -> Array:
        size = len(self.m)
        operator = LinearOperator((size, size), matvec=self._hessian_times)
        step, _ = cg(operator, self.gradient, rtol=min(0.1, self.residual), maxiter=size)
        return step

    def moved(self, step: Array) -> Array:
        return exp_map(step * gap(self.m, c=self.c) / (2 * np.sqrt(self.c)), self.m, c=self.c)
