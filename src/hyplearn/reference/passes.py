"""Reference points of data that need not fit into memory: the strategies that are passes over blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyplearn.data.labelled import Labelled
from hyplearn.data.points import Block
from hyplearn.geometry import gap
from hyplearn.geometry.kernels import gaps
from hyplearn.geometry.mean import NEAR_THE_RIM, MeanEquations, Steps, mean_and_variance, mean_steps, summed_equations
from hyplearn.reference import strategies as reference
from hyplearn.reference.hulls import closest_point, hull_point, separating_hyperplane
from hyplearn.reference.strategies import STRATEGIES, between, convex_boundary, fit_rows, mean_tol, too_many_classes
from hyplearn.rows.source import columns_joined, columns_summed, in_any_order
from hyplearn.rows.streamed import Weighing, standing_rows
from hyplearn.rows.subsample import standing_strides
from hyplearn.types import Array

# Rows from which Newton's method for a mean begins.
FIRST_ROWS, START_TOL = 20_000, 1e-4
# Proven distance of the mean of all points from the true one, as in memory.
EXACT = 1e-12
# Strategies that lie between two sides.
TWO_SIDED = ("boundary", "closest", "hull")


def streamed_references(name: str, data: Labelled, problems: Sequence[Array]) -> list[Array]:
    """The points that a strategy finds for some problems; each tells for every class its side, 0 or 1.

    Problems of which every class is a side of its own may have more than two sides.
    """
    if name == "origin":
        return [np.zeros(data.points.n_features) for _ in problems]
    if name == "mean":
        everything = np.ones((1, data.n_classes), dtype=bool)
        return [_means(data, everything, EXACT)[0][0]] * len(problems)
    if name == "means":
        return _betweens(data, problems)
    if name in TWO_SIDED:
        if any(len(_weighted_sides(data, sides)) > 2 for sides in problems):
            raise too_many_classes(name, data.n_classes)
        return [_two_sided(name, data, sides) for sides in problems]
    raise ValueError(
        f"reference={name!r:.80} needs all points in memory, but these are read in blocks.\n"
        f"Choose one of {sorted(STRATEGIES)}, or pass points as an array."
    )


def _weighted_sides(data: Labelled, sides: Array) -> list[Array]:
    """For each side that has a weight, which classes are on it."""
    groups = [sides == side for side in range(int(sides.max()) + 1)]
    return [group for group in groups if data.totals[group].any()]


def _betweens(data: Labelled, problems: Sequence[Array]) -> list[Array]:
    """The point between the means of the sides of each problem."""
    sided = [_weighted_sides(data, sides) for sides in problems]
    found = _means(data, np.array([group for groups in sided for group in groups]), mean_tol(data.points.n_features))
    ends = np.cumsum([len(groups) for groups in sided])
    return [between(found[end - len(groups) : end], data.c) for groups, end in zip(sided, ends, strict=True)]


def _two_sided(name: str, data: Labelled, sides: Array) -> Array:
    """A point between two sides; where only one has a weight, its mean."""
    groups = _weighted_sides(data, sides)
    if len(groups) == 1:
        return _means(data, np.array(groups), EXACT)[0][0]
    if name == "hull":
        return hull_point(data, sides)
    if name == "closest":
        return closest_point(data, sides)
    return _boundary(data, sides)


def _means(data: Labelled, groups: Array, tol: float) -> list[tuple[Array, float, float]]:
    """Mean, variance and weight of groups of classes, all in the same passes."""
    starts = _starts(data, groups)
    totals = groups @ data.totals
    searches: list[Steps] = [mean_steps(start, tol=tol) for start in starts]
    centres: list[Array | None] = [next(search) for search in searches]
    found: list[Any] = [None] * len(groups)
    while any(centre is not None for centre in centres):
        sums = data.fold(_equations, _merged, data.weighing, groups / totals[:, None], centres, data.c)
        for g, part in enumerate(sums):
            if (centre := centres[g]) is None:
                continue
            try:
                centres[g] = searches[g].send(MeanEquations(centre, data.c, *part))
            except StopIteration as end:
                found[g], centres[g] = (*end.value, float(totals[g])), None
    return found


def _starts(data: Labelled, groups: Array) -> list[Array]:
    """The means of some rows of each group, spread evenly; the centre of the ball where there are none."""
    stride = max(1, data.n_rows // FIRST_ROWS)
    X, codes, weights = data.fold(_every, columns_joined, data.weighing, stride)
    starts = []
    for group in groups:
        own = np.flatnonzero(group[codes] & (weights > 0))
        start = np.zeros(data.points.n_features)
        if len(own):
            rows, shares = X[own].astype(np.float64), weights[own] / weights[own].sum()
            m, _ = mean_and_variance(rows, gaps(rows, data.c), shares, data.c, tol=START_TOL)
            start = m if gap(m, c=data.c) > NEAR_THE_RIM else start
        starts.append(start)
    return starts


def _every(block: Block, weighing: Weighing, stride: int) -> tuple[Array, Array, Array]:
    """One of ``stride`` rows of a source: points, classes and weights."""
    codes = weighing.codes(block)
    every = slice(-block.start % stride, None, stride)
    return block.X[every], codes[every], weighing.weights(block, codes)[every]


def _equations(
    block: Block, weighing: Weighing, shares: Array, centres: Sequence[Array | None], c: float
) -> list[tuple[Any, ...] | None]:
    """What the rows of a block add to the equations of each mean that is still sought."""
    codes = weighing.codes(block)
    weights, rooms = weighing.weights(block, codes), gaps(block.X, c)
    parts: list[tuple[Any, ...] | None] = []
    for share, centre in zip(shares, centres, strict=True):
        if centre is None:
            parts.append(None)
            continue
        own = np.flatnonzero(share[codes])
        parts.append(summed_equations(block.X[own], rooms[own], weights[own] * share.max(), centre, c))
    return parts


@in_any_order
def _merged(parts: Sequence[list[Any]]) -> list[Any]:
    return [None if column[0] is None else columns_summed(column) for column in zip(*parts, strict=True)]


def _boundary(data: Labelled, sides: Array) -> Array:
    """Halfway between hulls that do not meet, else on the boundary of a convex fit: as in memory."""
    d = data.points.n_features
    if data.n_rows * d <= reference.HULL_NUMBERS and (hyperplane := separating_hyperplane(data, sides)[0]) is not None:
        return hyperplane[1]
    counts = np.bincount(sides, data.counts, minlength=2).astype(np.int64)
    strides = standing_strides(counts, fit_rows(d))
    X, own, weights = data.fold(standing_rows, columns_joined, data.weighing, sides, strides)
    return convex_boundary(X, own, weights, data.c, data.threads, sampled=bool(strides.max() > 1))
