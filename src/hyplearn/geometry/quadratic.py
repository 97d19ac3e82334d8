"""Minimise a quadratic function over the weights of two convex hulls."""

import numpy as np
from numba import njit
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hyplearn.types import Array

EPS = float(np.finfo(float).eps)
# Distance (for c = 1) below which points count as equal: about the rounding error of a combination of a thousand rows.
TOUCHING = 1e-12
# FACES is the maximum number of exact minimisations over the rows of positive weight. EXCHANGES is the maximum number
# of exchanges per row between two such minimisations.
FACES = 20
EXCHANGES = 20
# Maximum number of linear systems solved in one exact minimisation.
DROPS = 8


def minimise(H: Array, w: Array, n_a: int, tol: float) -> Array:
    """Minimise ``wᵀ H w / 2`` over w ≥ 0, with the first n_a weights summing to 1 and the others summing to 1."""
    w = w.copy()
    # Exchanges find the rows of positive weight, and a linear system gives their weights. Repeat until no exchange
    # gains more than tol, or until the function (half a squared distance) is 0 up to rounding.
    for _ in range(FACES):
        if _exchange(H, w, n_a, tol, EXCHANGES * len(w)) <= tol or w @ H @ w < (0.1 * TOUCHING) ** 2:
            break
        _solve_face(H, w, n_a)
    return w


@njit(cache=True, error_model="numpy")
def _exchange(H, w, n_a, tol, max_steps):  # type: ignore[no-untyped-def]
    """Repeatedly move weight between two rows of a hull, chosen for the largest gain; return the remaining gain."""
    gradient = H @ w
    n = w.size
    gain = np.inf
    for _ in range(max_steps):
        gain, to, away = 0.0, 0, 0
        for first, last in ((0, n_a), (n_a, n)):
            low, high = -1, -1
            for i in range(first, last):
                if low < 0 or gradient[i] < gradient[low]:
                    low = i
                if w[i] > 0.0 and (high < 0 or gradient[i] > gradient[high]):
                    high = i
            if gradient[high] - gradient[low] > gain:
                gain, to, away = gradient[high] - gradient[low], low, high
        if gain <= tol:
            break
        second = H[to, to] + H[away, away] - 2.0 * H[to, away]
        step = w[away] if second * w[away] <= gain else gain / second
        w[to] += step
        w[away] = 0.0 if step == w[away] else w[away] - step
        for i in range(n):
            gradient[i] += step * (H[i, to] - H[i, away])
    return gain


def _solve_face(H: Array, w: Array, n_a: int) -> None:
    """Minimise the function over the positive weights only; drop rows whose weights would become negative."""
    for _ in range(DROPS):
        used = np.flatnonzero(w > 0)
        face, old, first = H[np.ix_(used, used)], w[used], used < n_a
        best = _face_minimum(face, first)
        if best is None:
            return
        # Drop all rows of negative weight at once if that decreases the function. Otherwise shorten the step so that it
        # ends where the first weight reaches 0.
        new = np.maximum(best, 0.0)
        new /= np.where(first, new[first].sum(), new[~first].sum())
        if not new @ face @ new < old @ face @ old:
            ratios = np.divide(old, old - best, out=np.full_like(old, np.inf), where=best < old)
            new = np.maximum(old + min(1.0, ratios.min()) * (best - old), 0.0)
            new[ratios <= min(1.0, ratios.min())] = 0.0
        # If rows are linearly dependent, the system is singular and its computed solution may be wrong.
        if not new @ face @ new <= old @ face @ old + EPS * face.diagonal().max():
            return
        w[used] = new
        if np.all(best > 0):
            return


def _face_minimum(face: Array, first: Array) -> Array | None:
    """Minimise ``wᵀ face w / 2`` over weights of any sign that sum to 1 in each hull; return None if this fails."""
    ones = np.column_stack([first, ~first]).astype(float)
    scale = max(face.diagonal().max(), EPS)
    try:
        # The added term is constant for weights that sum to 1 in each hull. It makes the matrix positive definite if
        # the rows are independent.
        factor = cho_factor(face + scale * (ones @ ones.T) + len(face) * EPS * scale * np.eye(len(face)))
        columns = cho_solve(factor, ones)
        best: Array = columns @ np.linalg.solve(ones.T @ columns, np.ones(2))
    except LinAlgError:
        return None
    return best
