r"""Starting point for the hinge loss with many columns, computed by Newton's method on smoothed losses.

The rows u are feature vectors times labels ±1. The margin of a row is ⟨u, w⟩, and its slack is s = 1 - ⟨u, w⟩. The
smoothed loss is a parabola for slacks between 0 and a width δ:

.. math:: h_\delta(s) = \begin{cases} 0 & \text{for } s \le 0, \\ s^2 / (2\delta) & \text{for } 0 < s < \delta, \\
          s - \delta / 2 & \text{for } s \ge \delta. \end{cases}

The dual variables :math:`\alpha_i = C_i \min(1, \max(0, s_i / \delta))` are feasible for the hinge loss without
smoothing. Their duality gap is

.. math:: P - D = \tfrac12 \|w - v\|^2 + \sum_{0 < s_i < \delta} C_i s_i (1 - s_i / \delta), \qquad
          v = \sum_i \alpha_i u_i

δ is decreased until this gap is so small that working sets (:mod:`~hyplearn.solvers.svm.hinge`) need fewer operations
than further Newton steps. With d columns, a Newton step takes O(d²) operations for each row with 0 < s < δ (a row
*within the width*), and a subsample of these rows is enough. A step of the interior point method, which solves a
working set, takes O(d²) operations for every row of the working set. Each Newton step assumes that the rows within the
width remain the same, even if δ is decreased in this step.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hyplearn.data.folding import in_any_order, summed
from hyplearn.rows import Rows, RowSource
from hyplearn.solvers.svm.interior_point import STRIP
from hyplearn.types import Array

# With at least MANY_COLUMNS columns and costs of at most MODERATE_COST, smoothing is faster than sampling. With higher
# costs, few rows have a slack between 0 and the width δ of the smoothed loss, and sampling is faster.
MANY_COLUMNS, MODERATE_COST = 200, 3.0
# Initial width δ of the smoothed loss. It is FIRST_WIDTH if the starting point is w = 0, where every row has the slack
# 1, which is between 0 and δ. It is NEXT_WIDTH if the starting point is the solution for a sample.
FIRST_WIDTH, NEXT_WIDTH = 2.0, 0.5
# The duality gap P - D is ½‖w - v‖² plus a sum over the rows (see the formula above). Once ½‖w - v‖² is at most SETTLED
# times this sum, the width of the smoothed loss is multiplied by NARROWER.
NARROWER, SETTLED = 0.5, 2.0
# The Hessian is computed from at most this many rows per column. If more rows have a slack between 0 and δ, only some
# of them are used.
ROWS_PER_COLUMN = 6
# The Hessian is computed in float32 if there are at least this many rows per column, which makes it well conditioned.
SPANNING = 2
# The starting point is the solution for a random sample with this many rows per column. No sample is drawn if it would
# contain more than a quarter of the rows.
SAMPLE_PER_COLUMN = 3
# Relative gap below which working sets need fewer operations than further Newton steps.
CLOSE = 0.04
# Armijo's constant: a full step must achieve this fraction of the decrease that the slope predicts. Otherwise the best
# length is found from the slopes at LENGTHS.
ENOUGH, LENGTHS = 1e-4, np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 40)])


class Point(NamedTuple):
    """Sums over all rows at the weights w, computed in one pass for a given width δ of the smoothed loss."""

    w: Array
    width: float
    loss: float  # hinge loss Σ C max(0, s)
    smooth: float  # smoothed loss Σ C h(s)
    terms: float  # sum of the rows' terms in P - D, without ½‖w - v‖²
    v: Array  # Σ α u
    v_within: Array  # Σ α u over the rows with a slack s between 0 and δ
    n_within: int
    rows: Array  # rows with a slack s between 0 and δ, or a subset of these rows
    costs: Array  # costs C of ``rows``

    @property
    def primal(self) -> float:
        """Primal objective P(w) with the hinge loss."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def objective(self) -> float:
        """Primal objective P(w) with the smoothed loss."""
        return float(0.5 * (self.w @ self.w) + self.smooth)

    @property
    def apart(self) -> float:
        """First term of P - D, ``½‖w - v‖²``, which is half the squared gradient norm of the smoothed objective."""
        return float(0.5 * np.sum((self.w - self.v) ** 2))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.apart + self.terms) / max(1.0, self.primal)


def smoothing_pays(source: RowSource) -> bool:
    """Return whether smoothing is faster than sampling.

    This is the case if there are many columns, the costs are moderate, and the rows are in memory.
    """
    in_memory = source.most_kept == np.inf
    return in_memory and source.shape[1] >= MANY_COLUMNS and source.cost_range.highest <= MODERATE_COST


def solve_smoothed(
    source: RowSource, *, max_iter: int, threads: int, rng: np.random.Generator
) -> tuple[Array, int, int]:
    """Compute a starting point w close to the solution for the hinge loss.

    Return w, the number of rows with a slack between 0 and the final width of the smoothed loss, and the number of
    passes.
    """
    n, d = source.shape
    w, width, n_passes = np.zeros(d), FIRST_WIDTH, 0
    if n >= 4 * SAMPLE_PER_COLUMN * d:
        sample = source.sample(SAMPLE_PER_COLUMN * d, rng)
        n_passes = 1
        if sample.costs.any():
            w, _, _ = solve_smoothed(sample, max_iter=max_iter, threads=threads, rng=rng)
            width = NEXT_WIDTH
    descent = Descent(source, threads, n_passes)
    point = descent.point(w, width, n)
    for _ in range(max_iter):
        following = descent.following(point) if point.gap > CLOSE else None
        if following is None:
            break
        point = following
    return point.w, point.n_within, descent.n_passes


@dataclass
class Descent:
    """Newton's method for the smoothed loss of a row source, with a count of the passes."""

    source: RowSource
    threads: int
    n_passes: int

    def following(self, point: Point) -> Point | None:
        """Return the point after a Newton step, or None if no step decreases the smoothed objective.

        If the gradient is small enough, the width of the smoothed loss decreases in this step as well.
        """
        if point.apart <= SETTLED * point.terms:
            width = NARROWER * point.width
            step = self._step(point, width)
            found = None if step is None else self.point(point.w + step, width, point.n_within)
            if found is not None and found.objective <= point.primal:
                return found
            point = self.point(point.w, width, point.n_within)
        step = self._step(point, point.width)
        if step is None:
            return None
        found = self.point(point.w + step, point.width, point.n_within)
        if found.objective > point.objective + ENOUGH * float(step @ (point.w - point.v)):
            found = self.point(point.w + self._lowest(point, step) * step, point.width, point.n_within)
        return found if found.objective < point.objective else None

    def point(self, w: Array, width: float, n_within: int) -> Point:
        """Compute the sums at w in one pass.

        ``n_within`` is an estimate of the number of rows with a slack between 0 and ``width``.
        """
        stride = max(1, -(-n_within // (ROWS_PER_COLUMN * len(w))))
        self.n_passes += 1
        return Point(w, width, *self.source.fold(_point_block, _merged, w, width, stride))

    def _step(self, point: Point, width: float) -> Array | None:
        """Return a Newton step for the given width, or None if rounding prevents it.

        The rows whose slack is between 0 and ``point.width`` before the step are assumed to be those whose slack is
        between 0 and ``width`` after the step.
        """
        gradient = point.w - point.v - (point.width / width - 1) * point.v_within
        scale = point.n_within / max(1, len(point.rows)) / width
        return _solved(point.rows, scale * point.costs, -gradient, self.threads)

    def _lowest(self, point: Point, step: Array) -> float:
        """Return the step length in [0, 1] with the lowest smoothed objective, found in one pass."""
        slopes = self.source.fold(_slopes_block, summed, point.w, step, point.width)
        slopes = slopes + step @ point.w + LENGTHS * (step @ step)
        self.n_passes += 1
        k = int(np.clip(np.searchsorted(slopes, 0.0), 1, len(LENGTHS) - 1))
        rise = slopes[k] - slopes[k - 1]
        part = -slopes[k - 1] / rise if rise > 0 else 1.0
        return float(LENGTHS[k - 1] + part * (LENGTHS[k] - LENGTHS[k - 1]))


def _solved(rows: Array, costs: Array, b: Array, threads: int) -> Array | None:
    """Solve ``(I + Σ C u uᵀ) x = b``, in float32 if there are many rows; return None if rounding prevents it."""
    dtype = np.float32 if len(rows) >= SPANNING * len(b) else np.float64
    scaled = (np.sqrt(costs)[:, None] * rows).astype(dtype, copy=False)
    with ThreadPoolExecutor(threads) as pool:
        strips = pool.map(_outer, [scaled[i : i + STRIP] for i in range(0, len(rows), STRIP)])
        hessian = sum(strips, np.eye(len(b), dtype=dtype))
    try:
        x = cho_solve(cho_factor(hessian, lower=True, overwrite_a=True), b.astype(dtype))
    except LinAlgError:
        return None
    return np.asarray(x, dtype=np.float64) if np.all(np.isfinite(x)) else None


def _outer(rows: Array) -> Array:
    return rows.T @ rows


def _point_block(block: Rows, w: Array, width: float, stride: int) -> tuple[Any, ...]:
    """Return a block's contribution to a :class:`Point`.

    The contribution includes every ``stride``-th of the rows with a slack between 0 and ``width``.
    """
    slack = 1 - block @ w
    alpha = block.costs * np.clip(slack / width, 0.0, 1.0)
    inside, positive = (alpha > 0) & (slack < width), np.maximum(slack, 0)
    within, beyond = np.flatnonzero(inside), np.flatnonzero((alpha > 0) & ~inside)
    gathered = within[::stride]
    rows = block[gathered]
    v_within = alpha[within] @ rows if stride == 1 else block.weighted_sum(within, alpha[within])
    return (
        float(block.costs @ positive),
        float(alpha @ np.where(inside, 0.5 * slack, positive - 0.5 * width)),
        float(alpha[within] @ (width - slack[within])),
        v_within + block.weighted_sum(beyond, alpha[beyond]),
        v_within,
        len(within),
        rows,
        block.costs[gathered],
    )


@in_any_order
def _merged(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    columns = list(zip(*parts, strict=True))
    return *(summed(column) for column in columns[:-2]), *(np.concatenate(column) for column in columns[-2:])


def _slopes_block(block: Rows, w: Array, step: Array, width: float) -> Array:
    """Return the slope of a block's smoothed loss along the step, at each length of LENGTHS."""
    slack, rise = 1 - block @ w, block @ step
    return np.array([-(block.costs * np.clip((slack - t * rise) / width, 0, 1)) @ rise for t in LENGTHS])
