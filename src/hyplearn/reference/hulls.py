"""Reference points between the hulls of points that stay in their blocks: passes that bring few rows."""

from collections.abc import Sequence

import numpy as np

from hyplearn.data.labelled import Labelled
from hyplearn.data.points import Block
from hyplearn.geometry import closest_points, midpoint
from hyplearn.geometry.closest import ClosestPoints, HalfSpace
from hyplearn.geometry.hull import hull_midpoint, hull_vertices
from hyplearn.geometry.kernels import gaps
from hyplearn.reference.strategies import APART, CLOSEST_TOL, SAMPLE, SAMPLE_PER_DIMENSION, halfway
from hyplearn.rows.source import columns_joined, in_any_order
from hyplearn.rows.streamed import Weighing
from hyplearn.tangent import z_dot
from hyplearn.types import Array

# A row is beyond a half-space from this distance on (for c = 1): what rounding makes of the rows that it touches.
BEYOND = 1e-13


def hull_point(data: Labelled, sides: Array) -> Array:
    """The midpoint of the closest vertices of two hulls, as :func:`hyplearn.reference.hull` finds it.

    A vertex of the hull of all rows is one of the hull of its block, so that each block brings its vertices only.
    """
    X_a, X_b = data.fold(_vertices, _vertices_of_all, data.weighing, sides, data.c)[:2]
    return hull_midpoint(X_a, X_b, c=data.c).astype(np.float64)


def closest_point(data: Labelled, sides: Array) -> Array:
    """The midpoint of the closest points of two hulls, as :func:`hyplearn.reference.closest` finds it."""
    hyperplane, pair = separating_hyperplane(data, sides)
    return midpoint(pair.a, pair.b, c=data.c) if hyperplane is None else hyperplane[1]


def separating_hyperplane(data: Labelled, sides: Array) -> tuple[HalfSpace | None, ClosestPoints]:
    """The hyperplane halfway between the hulls of two sides, None where they meet; and their closest points.

    The first rows are those that :func:`hyplearn.reference.separable` tries first. Each pass then adds the rows that
    lie farthest beyond the half-spaces found so far, until there are none: the half-spaces hold all rows, which
    proves that no points of the hulls are closer.
    """
    c, most = data.c, max(SAMPLE, SAMPLE_PER_DIMENSION * data.points.n_features)
    starts, counts_a, counts_b = data.fold(_counts, columns_joined, data.weighing, sides)
    counts = np.stack([counts_a, counts_b])
    strides = np.maximum(1, counts.sum(axis=1) // most)
    ahead = np.cumsum(counts, axis=1) - counts
    X_a, X_b = data.fold(_every_of_side, columns_joined, data.weighing, sides, strides, starts, ahead)
    if strides.max() > 1:
        pair = closest_points(X_a, X_b, c=c, tol=APART)
        if pair.status == "intersect":
            return None, pair
    while True:
        pair = closest_points(X_a, X_b, c=c, tol=CLOSEST_TOL)
        hyperplane = halfway(pair, c)
        if hyperplane is None:
            return None, pair
        half_spaces = pair.half_space_a, pair.half_space_b
        more_a, more_b = data.fold(_beyond, _farthest, data.weighing, sides, half_spaces, c, most)[:2]
        if not len(more_a) + len(more_b):
            return hyperplane, pair
        X_a, X_b = np.concatenate([X_a, more_a]), np.concatenate([X_b, more_b])


def _of_sides(block: Block, weighing: Weighing, sides: Array) -> tuple[Array, Array]:
    """Positions in the block of the rows of either side that have a weight."""
    codes = weighing.codes(block)
    present, second = weighing.weights(block, codes) > 0, sides[codes] > 0
    return np.flatnonzero(present & ~second), np.flatnonzero(present & second)


def _counts(block: Block, weighing: Weighing, sides: Array) -> tuple[Array, Array, Array]:
    first, second = _of_sides(block, weighing, sides)
    return np.array([block.start]), np.array([len(first)]), np.array([len(second)])


def _every_of_side(
    block: Block, weighing: Weighing, sides: Array, strides: Array, starts: Array, ahead: Array
) -> tuple[Array, ...]:
    """Of each side one of so many rows, counted among its own; ``ahead`` are those before each block."""
    skipped = -ahead[:, np.searchsorted(starts, block.start)] % strides
    own = _of_sides(block, weighing, sides)
    return tuple(block.X[rows[skip::stride]] for rows, skip, stride in zip(own, skipped, strides, strict=True))


def _beyond(
    block: Block, weighing: Weighing, sides: Array, half_spaces: tuple[HalfSpace, HalfSpace], c: float, most: int
) -> tuple[Array, ...]:
    """Rows of either side beyond its half-space, those farthest beyond it where they are many, and how far."""
    parts = []
    for own, (w, p) in zip(_of_sides(block, weighing, sides), half_spaces, strict=True):
        X = block.X[own]
        heights = np.sqrt(c) / np.linalg.norm(w) * z_dot(X, w, p, c=c, rooms=gaps(X, c))
        parts.append(_highest(X, heights, most, BEYOND))
    (X_a, heights_a), (X_b, heights_b) = parts
    return X_a, X_b, heights_a, heights_b, np.array(most)


def _highest(X: Array, heights: Array, most: int, above: float = -np.inf) -> tuple[Array, Array]:
    order = np.argsort(-heights, kind="stable")[:most]
    order = order[heights[order] > above]
    return X[order], heights[order]


@in_any_order
def _farthest(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    most = int(parts[0][-1])
    X_a, X_b, heights_a, heights_b = columns_joined([part[:-1] for part in parts])
    (X_a, heights_a), (X_b, heights_b) = _highest(X_a, heights_a, most), _highest(X_b, heights_b, most)
    return X_a, X_b, heights_a, heights_b, np.array(most)


def _vertices(block: Block, weighing: Weighing, sides: Array, c: float) -> tuple[Array, Array, float]:
    X_a, X_b = (_hull_rows(block.X[own], c) for own in _of_sides(block, weighing, sides))
    return X_a, X_b, c


def _hull_rows(X: Array, c: float) -> Array:
    """The rows that are vertices, as they stand."""
    return X[np.sort(hull_vertices(X, c=c))] if len(X) else X


@in_any_order
def _vertices_of_all(parts: Sequence[tuple[Array, Array, float]]) -> tuple[Array, Array, float]:
    """The vertices of several hulls together."""
    all_a, all_b, curvatures = zip(*parts, strict=True)
    c = curvatures[0]
    return _hull_rows(np.concatenate(all_a), c), _hull_rows(np.concatenate(all_b), c), c
