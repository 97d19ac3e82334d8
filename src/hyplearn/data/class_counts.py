"""The first pass over a source: what it holds, and whether all points lie in the ball."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyplearn.data.points import Block, PointSource, check_shapes
from hyplearn.geometry.border import describe_outside
from hyplearn.geometry.kernels import gaps
from hyplearn.rows.source import in_any_order
from hyplearn.types import Array

# Range of whole numbers up to which they are counted instead of sorted.
FEW_VALUES = 2**16


class Census(NamedTuple):
    """Labels with the number of their rows, the sum of their weights, the least above 0, and the largest."""

    classes: Array
    counts: Array
    totals: Array
    lowest: Array
    highest: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())


def taken_census(points: PointSource, c: float, threads: int) -> Census:
    """Count the rows of every class and check every point."""
    return points.fold(_count, _merged, points.name, points.n_features, c, threads=threads)


def _count(block: Block, name: str, n_features: int, c: float) -> Census:
    _check(block, name, n_features, c)
    assert block.y is not None
    classes, codes = _coded(block.y)
    counts = np.bincount(codes, minlength=len(classes))
    if block.weights is None:
        ones = np.ones(len(classes))
        return Census(classes, counts, counts.astype(np.float64), ones, ones)
    lowest, highest = np.full(len(classes), np.inf), np.zeros(len(classes))
    np.minimum.at(lowest, codes, np.where(block.weights > 0, block.weights, np.inf))
    np.maximum.at(highest, codes, block.weights)
    return Census(classes, counts, np.bincount(codes, block.weights), lowest, highest)


def _coded(y: Array) -> tuple[Array, Array]:
    """The labels in order, and the number of each row's; whole numbers of a small range without sorting."""
    if y.dtype.kind in "iu" and (high := int(y.max())) - (low := int(y.min())) < FEW_VALUES:
        offsets = y.astype(np.int64) - low if high < 2**63 else (y - y.min()).astype(np.int64)
        present = np.bincount(offsets, minlength=high - low + 1) > 0
        return y.min() + np.flatnonzero(present).astype(y.dtype), (np.cumsum(present) - 1)[offsets]
    return _distinct(y)


def _distinct(y: Array) -> tuple[Array, Array]:
    """The labels in order, and the number of each row's."""
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(f"Labels must be of one type; got {kinds}.\nFill in those that are missing.") from None
    return classes, np.ravel(codes)


def _check(block: Block, name: str, n_features: int, c: float) -> None:
    check_shapes(block, name, n_features, labelled=True)
    X = block.X
    rooms = gaps(X, c)
    if np.all(rooms > 0):
        return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{name}: row {block.start + bad[0]} holds {X[bad[0]][~np.isfinite(X[bad[0]])][0]}.\n"
            "Leave out such rows before the fit."
        )
    raise ValueError(
        f"{name}, rows {block.start} to {block.start + len(X) - 1}: "
        f"{describe_outside(X, rooms, c, start=block.start)}\n"
        "Rescale the embedding, or set curvature to that of your embedding."
    )


@in_any_order
def _merged(parts: Sequence[Census]) -> Census:
    classes, places = _distinct(np.concatenate([part.classes for part in parts]))
    _, counts, totals, lows, highs = (np.concatenate(column) for column in zip(*parts, strict=True))
    lowest, highest = np.full(len(classes), np.inf), np.zeros(len(classes))
    np.minimum.at(lowest, places, lows)
    np.maximum.at(highest, places, highs)
    return Census(classes, np.bincount(places, counts).astype(np.int64), np.bincount(places, totals), lowest, highest)
