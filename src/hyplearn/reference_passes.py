"""Reference points of data that need not fit into memory: the strategies that are passes over blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyplearn.geometry import gap
from hyplearn.geometry.arrays import Array
from hyplearn.geometry.kernels import gaps
from hyplearn.geometry.mean import NEAR_THE_RIM, MeanEquations, Steps, mean_and_variance, mean_steps, summed_equations
from hyplearn.reference import (
    FIT_COST,
    FIT_TOL,
    FIT_WORK,
    SAMPLE_TOL,
    STRATEGIES,
    between,
    mean_tol,
    too_many_classes,
    where_it_vanishes,
)
from hyplearn.rows import Rows
from hyplearn.rows.labelled import Labelled
from hyplearn.rows.points import Block
from hyplearn.rows.source import columns_joined, columns_summed, summed
from hyplearn.rows.streamed import SignedHyperboloidRows, Weighing
from hyplearn.solvers.svm import solve_svm

# Rows from which Newton's method for a mean begins.
FIRST_ROWS, START_TOL = 20_000, 1e-4
# Proven distance of the mean of all points from the true one, as in memory.
EXACT = 1e-12


def streamed_references(name: str, data: Labelled, problems: Sequence[Array]) -> list[Array]:
    """The points that a strategy finds for some problems; each tells for every class its side, 0 or 1.

    Problems of which every class is a side of its own may have more than two sides.
    """
    if name == "origin":
        return [np.zeros(data.points.n_features) for _ in problems]
    if name == "mean":
        everything = np.ones((1, data.n_classes), dtype=bool)
        return [_means(data, everything, EXACT)[0][0]] * len(problems)
    if name in ("means", "boundary"):
        groups = [sides == side for sides in problems for side in range(int(sides.max()) + 1)]
        found = _means(data, np.array(groups), mean_tol(data.points.n_features))
        centres = []
        for sides in problems:
            n_sides = int(sides.max()) + 1
            centres.append(between(found[:n_sides], data.c))
            found = found[n_sides:]
        if name == "means":
            return centres
        if any(sides.max() > 1 for sides in problems):
            raise too_many_classes(name, data.n_classes)
        return [_boundary(data, sides, centre) for sides, centre in zip(problems, centres, strict=True)]
    raise ValueError(
        f"reference={name!r:.80} needs all points in memory, but these are read in blocks.\n"
        f"Choose one of {sorted(set(STRATEGIES) - {'hull', 'closest'})}, or pass points as an array."
    )


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


def _merged(parts: Sequence[list[Any]]) -> list[Any]:
    return [None if column[0] is None else columns_summed(column) for column in zip(*parts, strict=True)]


def _boundary(data: Labelled, sides: Array, centre: Array) -> Array:
    """A point of the boundary of a convex fit, as :func:`hyplearn.reference.boundary` finds it beyond its hulls."""
    d = data.points.n_features
    stride = -(-data.n_rows * d**2 // FIT_WORK)
    make = SignedHyperboloidRows(data.weighing, _positive(sides), centre, data.c, FIT_COST, stride)
    rows = data.rows(make, FIT_COST, d + 1, stride=stride)
    u = solve_svm(rows, loss="squared_hinge", tol=FIT_TOL if stride == 1 else SAMPLE_TOL).w
    return where_it_vanishes(u, rows.fold(_near, summed, u), centre, data.c)


def _positive(sides: Array) -> int:
    """The class on side 1, which is one against the rest."""
    return int(np.flatnonzero(sides)[0])


def _near(rows: Rows, u: Array) -> Array:
    """``Σ w X / (1 + exp |⟨u, X⟩|)``, of rows that carry the sign of their label."""
    explicit = rows[:]
    near = rows.costs / (1 + np.exp(np.minimum(np.abs(explicit @ u), 700.0)))
    return (np.sign(explicit[:, 0]) * near) @ explicit
