"""Weights of two convex hulls at which a quadratic function is least."""

import numpy as np
from numba import njit
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hyplearn.types import Array

EPS = float(np.finfo(float).eps)
# Points this close (for c = 1) are one point: the rounding error of a combination of a thousand rows.
TOUCHING = 1e-12
# Faces on which the quadratic function is minimised exactly, and exchanges per row between them.
FACES = 20
EXCHANGES = 20
# Largest number of linear systems solved in search of one such face.
DROPS = 8


def minimise(H: Array, w: Array, n_a: int, tol: float) -> Array:
    """Weights of least ``wᵀ H w / 2``, the first n_a and the others each non-negative with sum 1."""
    w = w.copy()
    # Exchanges find the rows in use, a linear system their weights; both again until no exchange gains more than tol
    # or the function, half a squared distance, is that of one point.
    for _ in range(FACES):
        if _exchange(H, w, n_a, tol, EXCHANGES * len(w)) <= tol or w @ H @ w < (0.1 * TOUCHING) ** 2:
            break
        _solve_face(H, w, n_a)
    return w


@njit(cache=True, error_model="numpy")
def _exchange(H, w, n_a, tol, max_steps):  # type: ignore[no-untyped-def]
    """Move weight repeatedly between the two rows of one hull with the largest gain; return the gain that is left."""
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
    """Go towards the minimum on the rows in use, dropping those that would get a negative weight."""
    for _ in range(DROPS):
        used = np.flatnonzero(w > 0)
        face, old, first = H[np.ix_(used, used)], w[used], used < n_a
        best = _face_minimum(face, first)
        if best is None:
            return
        # All rows of negative weight at once where that is an improvement, otherwise up to the first that reaches 0.
        new = np.maximum(best, 0.0)
        new /= np.where(first, new[first].sum(), new[~first].sum())
        if not new @ face @ new < old @ face @ old:
            ratios = np.divide(old, old - best, out=np.full_like(old, np.inf), where=best < old)
            new = np.maximum(old + min(1.0, ratios.min()) * (best - old), 0.0)
            new[ratios <= min(1.0, ratios.min())] = 0.0
        # Where the rows depend on one another the system is singular, and its solution may be none.
        if not new @ face @ new <= old @ face @ old + EPS * face.diagonal().max():
            return
        w[used] = new
        if np.all(best > 0):
            return


def _face_minimum(face: Array, first: Array) -> Array | None:
    """Weights of least ``wᵀ face w / 2`` of any sign, those of the first rows and the others each with sum 1."""
    ones = np.column_stack([first, ~first]).astype(float)
    scale = max(face.diagonal().max(), EPS)
    try:
        # The added term is constant for these weights; it makes the matrix definite where rows are independent.
        factor = cho_factor(face + scale * (ones @ ones.T) + len(face) * EPS * scale * np.eye(len(face)))
        columns = cho_solve(factor, ones)
        best: Array = columns @ np.linalg.solve(ones.T @ columns, np.ones(2))
    except LinAlgError:
        return None
    return best
