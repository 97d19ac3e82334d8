"""Minimise a quadratic function of the weights of two points, one in each of two convex hulls.

Each hull consists of the weighted means of the rows of an array, with non-negative weights that sum to 1.
"""

import numpy as np
from numba import njit
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hyplearn.types import Array

EPS = float(np.finfo(float).eps)
# Distance (for c = 1) below which two points count as equal. It is about the rounding error of a weighted mean of a
# thousand rows.
TOUCHING = 1e-12
# FACES is the maximum number of calls of _solve_face, which optimises the weights of the rows whose weight is positive.
# Before each call, _exchange repeatedly moves weight between two rows. The number of these moves is at most EXCHANGES
# times the number of rows in the two hulls.
FACES = 20
EXCHANGES = 20
# Maximum number of linear systems solved in one call of _solve_face.
DROPS = 8


def minimise(H: Array, w: Array, n_a: int, tol: float) -> Array:
    """Return the weights ≥ 0 that minimise ``wᵀ H w / 2``; the search starts at ``w``, which is not changed.

    The first ``n_a`` weights belong to the rows of the first hull, and the other weights to the rows of the second
    hull. The weights of each hull sum to 1.
    """
    w = w.copy()
    # _exchange finds the rows of positive weight, and _solve_face finds their weights. Repeat both until the gain of
    # _exchange is at most ``tol``, or until wᵀ H w is 0 up to rounding. In the second case, w defines the same point in
    # both hulls: for two points that are close together, wᵀ H w is about their squared distance.
    for _ in range(FACES):
        if _exchange(H, w, n_a, tol, EXCHANGES * len(w)) <= tol or w @ H @ w < (0.1 * TOUCHING) ** 2:
            break
        _solve_face(H, w, n_a)
    return w


@njit(cache=True, error_model="numpy")
def _exchange(H, w, n_a, tol, max_steps):  # type: ignore[no-untyped-def]
    """Repeatedly move weight, in place, from one row to another row of the same hull; return the last ``gain``.

    The gain of two rows of a hull is the derivative of ``wᵀ H w / 2`` with respect to the weight of the first row,
    minus the derivative with respect to the weight of the second row. Each step considers all pairs whose first row has
    a positive weight, and moves weight from the first to the second row of the pair with the largest gain. Stop if this
    gain is at most ``tol``, or after ``max_steps`` steps.
    """
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
    """Minimise ``wᵀ H w / 2`` over the weights w of those rows whose weight is positive, and change w in place.

    If a weight would become negative, it is set to 0.
    """
    for _ in range(DROPS):
        used = np.flatnonzero(w > 0)
        face, old, first = H[np.ix_(used, used)], w[used], used < n_a
        best = _face_minimum(face, first)
        if best is None:
            return
        # Drop all rows of negative weight at once if that decreases ``wᵀ H w``. Otherwise, shorten the step from
        # ``old`` to ``best`` so that it ends as soon as any weight reaches 0.
        new = np.maximum(best, 0.0)
        new /= np.where(first, new[first].sum(), new[~first].sum())
        if not new @ face @ new < old @ face @ old:
            ratios = np.divide(old, old - best, out=np.full_like(old, np.inf), where=best < old)
            new = np.maximum(old + min(1.0, ratios.min()) * (best - old), 0.0)
            new[ratios <= min(1.0, ratios.min())] = 0.0
        # Keep the old weights if ``wᵀ H w`` would increase. This can happen if rows are linearly dependent: the linear
        # system is then singular, and its computed solution may be wrong.
        if not new @ face @ new <= old @ face @ old + EPS * face.diagonal().max():
            return
        w[used] = new
        if np.all(best > 0):
            return


def _face_minimum(face: Array, first: Array) -> Array | None:
    """Return the weights w that minimise ``wᵀ face w / 2`` and sum to 1 in each hull; they may be negative.

    ``first`` marks the weights of the first hull. None is returned if the linear system cannot be solved.
    """
    ones = np.column_stack([first, ~first]).astype(float)
    scale = max(face.diagonal().max(), EPS)
    try:
        # The term with ``ones`` is constant for weights that sum to 1 in each hull, so it does not change the solution.
        # It makes the matrix positive definite if the rows are independent. The added multiple of the identity is of
        # the size of rounding errors; it prevents them from making the matrix indefinite.
        factor = cho_factor(face + scale * (ones @ ones.T) + len(face) * EPS * scale * np.eye(len(face)))
        columns = cho_solve(factor, ones)
        best: Array = columns @ np.linalg.solve(ones.T @ columns, np.ones(2))
    except LinAlgError:
        return None
    return best
