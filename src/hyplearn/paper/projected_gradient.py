r"""The descent that Cho et al. (2019) propose for the hyperboloid SVM: mini-batches, each followed by a projection.

.. math:: u \leftarrow \Pi \Bigl( u - \eta \Bigl( \tfrac{|B|}{N} H u
          - \sum_{i \in B,\, y_i \langle u, x_i \rangle < 1} \frac{C_i y_i x_i}{\sqrt{1 + \langle u, x_i \rangle^2}}
          \Bigr) \Bigr), \qquad H = \operatorname{diag}(-1, 1, \dots, 1)

Every row is in one batch of an epoch. Rows are shuffled once and batches before every epoch, so that the rows of a
batch lie side by side in memory. The step η grows as long as an epoch lowers the objective; an epoch that does not is
undone and η halved, until halving helps no more.
"""

import math

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import dot
from hyplearn.paper.arsinh_svm import Found, farthest_shift, judged, objective, starts, to_polar
from hyplearn.types import Array

BATCH = 32
# The first step, in units of what is safe when all rows of a batch pull the same way; they hardly ever do.
FIRST_STEP = 1000.0
GROWTH = 1.5
# Halvings in a row after which the step is too short to matter.
HALVINGS = 16


def solve_by_projected_gradient(
    R: Array, y: Array, costs: Array, *, tol: float, max_iter: int, rng: np.random.Generator
) -> Found:
    """Descend from the best start; rows, labels, costs and result are those of ``solve_by_stages``.

    ``tol`` is the relative decrease of the objective that makes an epoch worth its while, ``max_iter`` the largest
    number of epochs.
    """
    farthest = farthest_shift(R)
    slope = math.tanh(farthest)
    u = min(starts(R, y, costs), key=lambda u: objective(R, y, costs, u))
    least = objective(R, y, costs, u)
    step = FIRST_STEP * len(R) / BATCH / float(costs @ np.einsum("ij,ij->i", R, R))
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
    return Found(*to_polar(u, farthest), least, judged(R, u, status), epochs)


@njit(cache=True, nogil=True, error_model="numpy")
def epoch(R, y, costs, firsts, batch, step, slope, u):  # type: ignore[no-untyped-def]
    """Visit all rows once, batch by batch in the order of their first rows, and update u in place."""
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
    """Move u to the nearest point of the cone ``|u⁰| ≤ slope ‖u¹…‖``, in place."""
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
