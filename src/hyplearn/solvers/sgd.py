r"""The paper's soft-margin algorithm: stochastic gradient descent, one row per step.

The paper is by Chien, Pan, Tabaghi and Milenkovic (2021). For N rows u (feature vectors times labels ±1), step
t = 1, 2, ... uses one row with its cost C, and the step size :math:`\eta = 1 / (t + 1000)`:

.. math:: w \leftarrow w - \eta\, (w - N C u) \text{ if } \langle u, w \rangle \le 1, \qquad
          w \leftarrow w - \eta\, w \text{ otherwise.}

The algorithm needs memory only for w, so it can learn from streams. :mod:`hyplearn.paper.svc` applies it to a fixed
data set, in epochs of N randomly drawn rows.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from hyplearn.geometry.kernels import dot
from hyplearn.rows import Rows
from hyplearn.tangent import element
from hyplearn.types import Array

STEP_OFFSET = 1000


@dataclass
class Descent:
    """State of the gradient descent: weights, number of steps, and number of rows passed to :meth:`stream`."""

    w: Array
    n_steps: int = 0
    n_seen: int = 0

    def visit(self, rows: Rows, order: Array, n: int) -> None:
        """Take one step for each row position in ``order``; ``n`` is the number of rows, N in the module's formula."""
        _descend(rows.X, rows.centre, rows.along, rows.base, rows.costs, order, float(n), self.n_steps, self.w)
        self.n_steps += len(order)

    def stream(self, rows: Rows) -> None:
        """Take one step with each row, in order.

        In the module's formula, N is the number of rows passed to this method so far, including the given rows.
        """
        self.n_seen += len(rows.X)
        for piece in rows.pieces():
            self.visit(piece, np.arange(len(piece.X)), self.n_seen)


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(X, p, along, base, costs, order, n, n_steps, w):  # type: ignore[no-untyped-def]
    u = np.empty(w.size)
    for k in range(order.size):
        i = order[k]
        for j in range(w.size):
            u[j] = element(X, p, along, base, i, j)
        inside = dot(u, w) <= 1.0
        eta = 1.0 / (n_steps + k + 1 + STEP_OFFSET)
        for j in range(w.size):
            w[j] -= eta * w[j]
            if inside:
                w[j] += eta * n * costs[i] * u[j]
