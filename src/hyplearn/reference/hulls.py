"""Reference points between the hulls of two classes, and a test of whether a geodesic hyperplane separates them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_joined, in_any_order
from hyplearn.data.labels import as_labels, distinct
from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.geometry import closest_points, log_map, midpoint
from hyplearn.geometry.border import as_rows, check_c, check_inside
from hyplearn.geometry.closest import ClosestPoints, HalfSpace
from hyplearn.geometry.hull import hull_midpoint, hull_vertices
from hyplearn.geometry.kernels import row_gaps
from hyplearn.tangent import z_dot
from hyplearn.types import Array, Points

# The first sample of each class has about SAMPLE rows, or SAMPLE_PER_DIMENSION rows per dimension if that is more. If
# the hulls of the samples intersect, so do the hulls of all rows, and no further pass is needed.
SAMPLE, SAMPLE_PER_DIMENSION = 2000, 8
# Tolerance with which the closest points of the hulls of two samples are computed. It is small enough to decide whether
# these hulls intersect. If they do not, the distance between the hulls of all rows is computed next.
APART = 0.1
# Tolerance for the closest points of the hulls of all rows. It is so small that the result does not depend on the order
# of the rows.
CLOSEST_TOL = 1e-12
# A row counts as outside a half-space if its distance to the half-space, in units of 1/√c, is above this value, which
# allows for rounding errors.
BEYOND = 1e-13


@dataclass(frozen=True)
class Separation:
    """Whether a geodesic hyperplane separates two classes, with a proof: the hyperplane or a common point of the hulls.

    Attributes
    ----------
    separable : bool
        Whether every row lies strictly on its side of ``hyperplane``.
    hyperplane : tuple (w, p) or None
        The hyperplane halfway between the hulls, perpendicular to their shortest connection at the point p.
        ``signed_distance(X, w, p)`` is positive for the rows of the class that sorts last and negative for the other
        rows. None if the classes are not separable.
    witness : ndarray of shape (d,) or None
        Common point of both hulls up to rounding if the classes are not separable, otherwise None. Its distance to each
        hull is at most half of ``distance``.
    margin : float
        Smallest hyperbolic distance of a row to the hyperplane, computed from all rows; 0 if there is no hyperplane.
    distance, lower_bound : float
        Upper bound and proven lower bound on the distance between the hulls.
    """

    separable: bool
    hyperplane: HalfSpace | None
    witness: Array | None
    margin: float
    distance: float
    lower_bound: float


def separable(X: Points, y: Any, *, c: float = 1.0) -> Separation:
    """Decide whether any geodesic hyperplane separates two classes.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64.
    y : array-like of shape (n,)
        Labels of exactly two classes.
    c : float
        Absolute curvature.

    Returns
    -------
    Separation
        The hyperplane, or a common point of the two hulls as a proof that there is none. If the distance between the
        hulls is below about 1e-9, rounding errors matter, and the classes are considered separable only if every row
        lies on its side of the computed hyperplane.

    Examples
    --------
    >>> from hyplearn.reference import separable
    >>> X = [[-0.5, 0.3], [-0.5, -0.3], [0.5, 0.0], [0.7, 0.2]]
    >>> found = separable(X, [0, 0, 1, 1])
    >>> print(found.separable, found.margin > 0.9)
    True True
    >>> found = separable([[-0.5, 0.0], [0.5, 0.0], [0.0, -0.5], [0.0, 0.5]], [0, 0, 1, 1])
    >>> print(found.separable, found.witness.round(9) + 0.0)
    False [0. 0.]
    """
    X, codes, c = two_classes(X, y, c, "separable()")
    return separation(TrainingData.of_arrays(X, codes, None, c, n_classes=2), np.array([0, 1]))


def two_classes(X: Points, y: Any, c: float, name: str) -> tuple[Array, Array, float]:
    """Validate points, labels of two classes and c; return the points, the labels as codes 0 and 1, and c.

    ``name`` is the name of the function that needs two classes, for the error message.
    """
    X, c, y = as_rows(X, "X"), check_c(c), np.asarray(as_labels(y))
    if y.shape != X.shape[:1]:
        raise ValueError(
            f"y must contain one label for each of the {len(X)} rows of X; got shape {y.shape}.\n"
            f"Pass an array of shape ({len(X)},)."
        )
    classes, codes = distinct(y)
    if len(classes) != 2:
        listed = ", ".join(map(repr, classes.tolist()[:5])) + (", ..." if len(classes) > 5 else "")
        raise ValueError(
            f"{name} needs exactly 2 classes; y has {len(classes)}: {listed}.\n"
            "Pass the labels of one class against the rest, such as y == label."
        )
    check_inside(X, row_gaps(X, c), c)
    return X, codes, c


def separation(data: TrainingData, sides: Array, *, sample: int = SAMPLE) -> Separation:
    """Decide whether a geodesic hyperplane separates two groups of classes; ``sides`` maps each class to group 0 or 1.

    The hulls of a sample of each group are compared first. If they do not intersect and all points are in memory, the
    hulls of all rows are compared next. If the points are read in blocks, the search for the closest points of the two
    sample hulls yields one half-space around each hull. Each pass then adds the rows farthest outside the half-space of
    their group to the sample. When no row lies outside, the distance between the half-spaces is the distance between
    the hulls of all rows.
    """
    most = max(sample, SAMPLE_PER_DIMENSION * data.n_features)
    X_a, X_b, is_sample = _first_rows(data, sides, most)
    if is_sample:
        pair = closest_points(X_a, X_b, c=data.c, tol=APART)
        if pair.status == "intersect":
            return _inseparable(pair, data.c)
        if data.in_memory:
            X_a, X_b, is_sample = _first_rows(data, sides, data.n_rows)
    while True:
        pair = closest_points(X_a, X_b, c=data.c, tol=CLOSEST_TOL, threads=data.threads)
        hyperplane = halfway(pair, data.c)
        if hyperplane is None:
            return _inseparable(pair, data.c)
        half_spaces = pair.half_space_a, pair.half_space_b
        found = data.fold(_beyond, _farthest, sides, half_spaces, hyperplane, data.c, most if is_sample else 0)
        if not len(found.X_a) + len(found.X_b):
            break
        X_a, X_b = np.concatenate([X_a, found.X_a]), np.concatenate([X_b, found.X_b])
    if not found.least > 0:
        return _inseparable(pair, data.c)
    margin = float(np.arcsinh(found.least) / np.sqrt(data.c))
    return Separation(True, hyperplane, None, margin, pair.distance, pair.lower_bound)


def hull_point(data: TrainingData, sides: Array) -> Array:
    """Return the midpoint of the closest vertices of the hulls of two groups of classes.

    ``sides`` maps each class to group 0 or 1. The midpoint is the reference point of Chien, Pan, Tabaghi and Milenkovic
    (2021). It is meant for separable groups, although a separating hyperplane through it need not exist. If the groups
    overlap, the closest vertices do not indicate a good boundary. Points may have up to 5 dimensions. Weights are
    ignored, except that rows of weight 0 are left out. Only the vertices of each block's hulls are kept, because every
    vertex of the hull of all rows is also a vertex of the hull of its block.
    """
    X_a, X_b = data.fold(_vertices, _merge_vertices, sides, data.c)[:2]
    return hull_midpoint(X_a, X_b, c=data.c).astype(np.float64)


def closest_point(data: TrainingData, sides: Array) -> Array:
    """Return the midpoint of the closest points of the hulls of two groups of classes.

    ``sides`` maps each class to group 0 or 1. If the groups are separable, a hyperplane through this point separates
    them. If the hulls intersect, the result is an arbitrary common point, which need not lie near a good boundary.
    Weights are ignored, except that rows of weight 0 are left out.
    """
    found = separation(data, sides)
    if found.hyperplane is not None:
        return found.hyperplane[1]
    assert found.witness is not None
    return found.witness


def halfway(pair: ClosestPoints, c: float) -> HalfSpace | None:
    """Return the hyperplane (w, p) halfway between two hulls, or None if ``pair`` does not contain two half-spaces.

    The normal w is a unit vector that points to the second hull.
    """
    if pair.half_space_a is None or pair.half_space_b is None:
        return None
    (_, p_a), (_, p_b) = pair.half_space_a, pair.half_space_b
    p = midpoint(p_a, p_b, c=c)
    w = log_map(p_b, p, c=c)
    return w / (np.linalg.norm(w) or 1.0), p


def _inseparable(pair: ClosestPoints, c: float) -> Separation:
    return Separation(False, None, midpoint(pair.a, pair.b, c=c), 0.0, pair.distance, 0.0)


def _rows_of_sides(block: LabelledBlock, sides: Array) -> tuple[Array, Array]:
    """Return the positions, within a block, of the rows of group 0 and of the rows of group 1.

    ``sides`` maps each class to group 0 or 1. Rows of weight 0 are left out.
    """
    second, present = _second_side(block, sides), block.present
    return np.flatnonzero(present > second), np.flatnonzero(present & second)


def _second_side(block: LabelledBlock, sides: Array) -> Array:
    """Return a mask of the rows of a block whose class is in group 1; ``sides`` maps each class to group 0 or 1."""
    return np.take(sides > 0, block.codes)


def _first_rows(data: TrainingData, sides: Array, most: int) -> tuple[Array, Array, bool]:
    """Return an evenly spaced sample of fewer than ``2 * most`` rows of each group, and whether it omits any rows.

    ``sides`` maps each class to group 0 or 1.
    """
    starts, counts_a, counts_b = data.fold(_count_sides, columns_joined, sides)
    counts = np.stack([counts_a, counts_b])
    strides = np.maximum(1, counts.sum(axis=1) // most)
    ahead = np.cumsum(counts, axis=1) - counts
    X_a, X_b = data.fold(_every_of_side, columns_joined, sides, strides, starts, ahead)
    return X_a, X_b, bool(strides.max() > 1)


def _count_sides(block: LabelledBlock, sides: Array) -> tuple[Array, Array, Array]:
    present = block.present
    n_second, n = np.count_nonzero(present & _second_side(block, sides)), np.count_nonzero(present)
    return np.array([block.start]), np.array([n - n_second]), np.array([n_second])


def _every_of_side(
    block: LabelledBlock, sides: Array, strides: Array, starts: Array, ahead: Array
) -> tuple[Array, ...]:
    """Return the rows of a block that belong to the sample, which contains every k-th row of each group.

    ``sides`` maps each class to group 0 or 1, and ``strides`` contains k for each group. ``ahead`` contains the number
    of rows of each group before each block, and ``starts`` contains the position of each block's first row in the data.
    """
    skipped = -ahead[:, np.searchsorted(starts, block.start)] % strides
    own = _rows_of_sides(block, sides)
    return tuple(block.X[rows[skip::stride]] for rows, skip, stride in zip(own, skipped, strides, strict=True))


@checkpointable
class Beyond(NamedTuple):
    """Rows that lie outside the half-space of their group, and the smallest margin of all rows.

    A margin is the hyperbolic sine of a signed distance in units of 1/√c. ``margins_a`` and ``margins_b`` are the
    margins of the rows ``X_a`` and ``X_b`` to the boundaries of the half-spaces; they are positive outside the
    half-spaces. ``least`` is the smallest margin of any row to the hyperplane halfway between the half-spaces; it is
    positive if all rows lie on the correct side. ``most`` is the maximum number of rows per group.
    """

    X_a: Array
    X_b: Array
    margins_a: Array
    margins_b: Array
    most: int
    least: float


def _beyond(
    block: LabelledBlock,
    sides: Array,
    half_spaces: tuple[HalfSpace, HalfSpace],
    hyperplane: HalfSpace,
    c: float,
    most: int,
) -> Beyond:
    """Find the rows of a block farthest outside the half-spaces, and the smallest margin of any row of the block.

    At most ``most`` rows are returned per group; ``sides`` maps each class to group 0 or 1.
    """
    products = np.sqrt(c) * z_dot(block.X, *hyperplane, c=c, gaps=block.gaps)
    products *= 2.0 * _second_side(block, sides) - 1.0
    least = float((products if block.weights is None else products[block.present]).min(initial=np.inf))
    if not most:
        return Beyond(block.X[:0], block.X[:0], np.empty(0), np.empty(0), most, least)
    parts = []
    for own, (w, p) in zip(_rows_of_sides(block, sides), half_spaces, strict=True):
        part = block.taken(own)
        margins = np.sqrt(c) / np.linalg.norm(w) * z_dot(part.X, w, p, c=c, gaps=part.gaps)
        parts.append(_highest(part.X, margins, most, BEYOND))
    (X_a, margins_a), (X_b, margins_b) = parts
    return Beyond(X_a, X_b, margins_a, margins_b, most, least)


def _highest(X: Array, margins: Array, most: int, above: float = -np.inf) -> tuple[Array, Array]:
    order = np.argsort(-margins, kind="stable")[:most]
    order = order[margins[order] > above]
    return X[order], margins[order]


@in_any_order
def _farthest(parts: Sequence[Beyond]) -> Beyond:
    most, least = parts[0].most, min(part.least for part in parts)
    X_a, X_b, margins_a, margins_b = columns_joined([part[:4] for part in parts])
    (X_a, margins_a), (X_b, margins_b) = _highest(X_a, margins_a, most), _highest(X_b, margins_b, most)
    return Beyond(X_a, X_b, margins_a, margins_b, most, least)


def _vertices(block: LabelledBlock, sides: Array, c: float) -> tuple[Array, Array, float]:
    X_a, X_b = (_hull_rows(block.X[own], c) for own in _rows_of_sides(block, sides))
    return X_a, X_b, c


def _hull_rows(X: Array, c: float) -> Array:
    """Return the rows that are vertices of the hull of X, in their original order."""
    return X[np.sort(hull_vertices(X, c=c))] if len(X) else X


@in_any_order
def _merge_vertices(parts: Sequence[tuple[Array, Array, float]]) -> tuple[Array, Array, float]:
    """Merge the hull vertices of several blocks: return the hull vertices of each group of classes, and c."""
    if len(parts) == 1:
        return parts[0]
    all_a, all_b, curvatures = zip(*parts, strict=True)
    c = curvatures[0]
    return _hull_rows(np.concatenate(all_a), c), _hull_rows(np.concatenate(all_b), c), c
