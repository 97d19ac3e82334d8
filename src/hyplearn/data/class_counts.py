"""First pass over labelled points: count the rows of each class, add their weights, and find rows outside the ball."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import in_any_order
from hyplearn.data.labels import class_sizes, distinct
from hyplearn.data.points import Block, PointSource, check_shapes
from hyplearn.geometry.border import hyperboloid_advice, outside_sentence
from hyplearn.geometry.kernels import norms, row_gaps
from hyplearn.types import Array


@checkpointable
class Outside(NamedTuple):
    """Number of rows on or outside the rim of the ball, and the smallest gap 1 - c‖x‖² of all rows.

    If ``n_outside`` is positive, ``row`` and ``norm`` are the position and the norm of the row with the smallest gap.
    If all rows of the block that contains this row lie on a hyperboloid, ``advice`` explains how to convert them.
    """

    n_outside: int
    gap: float
    row: int
    norm: float
    advice: str = ""

    def describe(self, n_rows: int, c: float) -> str:
        """Describe the rows outside the ball in one sentence; return an empty string if there are none."""
        return outside_sentence(self.n_outside, n_rows, self.row, self.norm, c) if self.n_outside else ""


@checkpointable
class ClassCounts(NamedTuple):
    """Row count, total weight, smallest positive weight (infinity if there is none) and largest weight of each class.

    ``outside`` summarises the rows outside the ball. ``gaps`` contains the gaps 1 - c‖x‖² of all rows, as one array per
    block, if the points are in memory; otherwise it is empty.
    """

    classes: Array
    counts: Array
    totals: Array
    lowest: Array
    highest: Array
    outside: Outside
    gaps: list[Array]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())


def count_classes(points: PointSource, c: float, threads: int) -> ClassCounts:
    """Count the rows of every class and the rows outside the ball; raise if a coordinate is not finite."""
    return points.fold(_count, _merge, points.name, points.n_features, c, points.in_memory, threads=threads)


def _count(block: Block, name: str, n_features: int, c: float, keep_gaps: bool) -> ClassCounts:
    check_shapes(block, name, n_features, labelled=True)
    gaps = row_gaps(block.X, c)
    outside, kept = find_outside(block, gaps, name, c), [gaps] if keep_gaps else []
    assert block.y is not None
    if block.weights is None:
        classes, counts = class_sizes(block.y, block.start)
        ones = np.ones(len(classes))
        return ClassCounts(classes, counts, counts.astype(np.float64), ones, ones, outside, kept)
    classes, codes = distinct(block.y, block.start)
    counts, lowest, highest = np.bincount(codes), np.full(len(classes), np.inf), np.zeros(len(classes))
    np.minimum.at(lowest, codes, np.where(block.weights > 0, block.weights, np.inf))
    np.maximum.at(highest, codes, block.weights)
    return ClassCounts(classes, counts, np.bincount(codes, block.weights), lowest, highest, outside, kept)


def find_outside(block: Block, gaps: Array, name: str, c: float) -> Outside:
    """Summarise the rows of a block that are not inside the ball; raise if a coordinate is not finite."""
    least = float(np.min(gaps, initial=1.0))
    if least > 0:
        return Outside(0, least, 0, 0.0)
    X, bad = block.X, np.argwhere(~np.isfinite(block.X))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{name} holds NaN or infinite coordinates; the first is {X[row, column]} in row {block.start + row}.\n"
            "Remove these rows, or impute the values."
        )
    far = int(np.argmin(gaps))
    norm = float(norms(X[far : far + 1].astype(np.float64))[0])
    count = int(np.count_nonzero(~(gaps > 0)))
    return Outside(count, float(gaps[far]), block.start + far, norm, hyperboloid_advice(X, c))


# The order of parts matters only for ``gaps``. Gaps are kept only if the points are in memory, and parts of such points
# are always merged in order. Therefore this function may be marked with ``in_any_order``.
@in_any_order
def _merge(parts: Sequence[ClassCounts]) -> ClassCounts:
    classes, counts, totals, lows, highs = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:5])
    classes, places = distinct(classes)
    lowest, highest = np.full(len(classes), np.inf), np.zeros(len(classes))
    np.minimum.at(lowest, places, lows)
    np.maximum.at(highest, places, highs)
    n_outside = sum(part.outside.n_outside for part in parts)
    outside = min((part.outside for part in parts), key=attrgetter("gap"))._replace(n_outside=n_outside)
    counts, gaps = np.bincount(places, counts).astype(np.int64), [gaps for part in parts for gaps in part.gaps]
    return ClassCounts(classes, counts, np.bincount(places, totals), lowest, highest, outside, gaps)
