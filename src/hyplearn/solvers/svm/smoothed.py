r"""A start for the hinge loss over rows of many columns, by Newton's method on smoother losses.

Within a width δ above the margin the loss is a parabola,

.. math:: h_\delta(s) = 0, \; \frac{s^2}{2\delta}, \; s - \frac{\delta}{2} \qquad
          \text{for } s \le 0, \; 0 < s < \delta, \; s \ge \delta, \qquad s = 1 - \langle u, w \rangle

and :math:`\alpha_i = C_i \min(1, \max(0, s_i / \delta))` is dual feasible for the hinge loss itself, with the gap

.. math:: P - D = \tfrac12 \|w - v\|^2 + \sum_{0 < s_i < \delta} C_i s_i (1 - s_i / \delta), \qquad
          v = \sum_i \alpha_i u_i

δ falls until that gap is small enough for a working set. A Newton step costs the square of the number of columns for
each row within the width only, of which a part is enough; an interior point method pays that for all of its rows. Where
δ falls, rows within the width are expected to keep their α, and the step goes to where they do.
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

# From this many columns on it is faster than samples, if costs are not so high that few rows lie within the width.
MANY_COLUMNS, MODERATE_COST = 200, 3.0
# All rows lie within the first width at w = 0; the second is for a start from a sample.
FIRST_WIDTH, NEXT_WIDTH = 2.0, 0.5
# The width falls by this factor, once the gradient's part of the gap is at most so many times the other.
NARROWER, SETTLED = 0.5, 2.0
# Of more rows within the width than so many per column, a part stands for all in the Hessian.
ROWS_PER_COLUMN = 6
# So many rows per column span all columns, and leave the Hessian well conditioned.
SPANNING = 2
# A sample to begin with has so many rows per column, and is a fourth of the rows at most.
SAMPLE_PER_COLUMN = 3
# The gap at which a working set closes the rest in fewer operations.
CLOSE = 0.04
# Armijo's: part of the decrease that the slope promises. Parts of a step that are tried otherwise.
ENOUGH, LENGTHS = 1e-4, np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 40)])


class Point(NamedTuple):
    """Sums of a pass at w with a width."""

    w: Array
    width: float
    loss: float  # Σ C max(0, s)
    smooth: float  # Σ C h(s)
    terms: float  # Σ of P - D by rows
    v: Array  # Σ α u
    v_within: Array  # the same over rows within the width
    n_within: int
    rows: Array  # rows within the width, or a part of them
    costs: Array  # their C

    @property
    def primal(self) -> float:
        """P(w) of the hinge loss."""
        return float(0.5 * (self.w @ self.w) + self.loss)

    @property
    def objective(self) -> float:
        """P(w) of the smoother loss."""
        return float(0.5 * (self.w @ self.w) + self.smooth)

    @property
    def apart(self) -> float:
        """``½‖w - v‖²``, the part of the gradient in P - D."""
        return float(0.5 * np.sum((self.w - self.v) ** 2))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.apart + self.terms) / max(1.0, self.primal)


def smoothing_pays(source: RowSource) -> bool:
    """Whether there are many columns, moderate costs, and rows in memory, where passes are cheap."""
    in_memory = source.most_kept == np.inf
    return in_memory and source.shape[1] >= MANY_COLUMNS and source.cost_range.highest <= MODERATE_COST


def solve_smoothed(
    source: RowSource, *, max_iter: int, threads: int, rng: np.random.Generator
) -> tuple[Array, int, int]:
    """A normal vector close to that of the hinge loss, how many rows are within its width, and the passes made."""
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
    """Newton's method on a source, and the passes made."""

    source: RowSource
    threads: int
    n_passes: int

    def following(self, point: Point) -> Point | None:
        """The point after a step; None if there is none that lowers the objective."""
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
        """Pass at w; about ``n_within`` rows were within the width before."""
        stride = max(1, -(-n_within // (ROWS_PER_COLUMN * len(w))))
        self.n_passes += 1
        return Point(w, width, *self.source.fold(_point_block, _merged, w, width, stride))

    def _step(self, point: Point, width: float) -> Array | None:
        """Newton's step to a width, along which rows within the present one keep their α; None if rounding forbids."""
        gradient = point.w - point.v - (point.width / width - 1) * point.v_within
        scale = point.n_within / max(1, len(point.rows)) / width
        return _solved(point.rows, scale * point.costs, -gradient, self.threads)

    def _lowest(self, point: Point, step: Array) -> float:
        """Length in [0, 1] at which the smoother objective is lowest along a step, in one pass."""
        slopes = self.source.fold(_slopes_block, summed, point.w, step, point.width)
        slopes = slopes + step @ point.w + LENGTHS * (step @ step)
        self.n_passes += 1
        k = int(np.clip(np.searchsorted(slopes, 0.0), 1, len(LENGTHS) - 1))
        rise = slopes[k] - slopes[k - 1]
        part = -slopes[k - 1] / rise if rise > 0 else 1.0
        return float(LENGTHS[k - 1] + part * (LENGTHS[k] - LENGTHS[k - 1]))


def _solved(rows: Array, costs: Array, b: Array, threads: int) -> Array | None:
    """Solve ``(I + Σ C u uᵀ) x = b``, in float32 where the rows span all columns: its digits are enough for a step."""
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
    """Contributions of a block to a point; of the rows within the width one in ``stride`` is gathered."""
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
    """Contribution of the loss to the slope at each length."""
    slack, rise = 1 - block @ w, block @ step
    return np.array([-(block.costs * np.clip((slack - t * rise) / width, 0, 1)) @ rise for t in LENGTHS])
