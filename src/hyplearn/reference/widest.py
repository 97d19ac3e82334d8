"""Find the geodesic hyperplane with the widest margin between two classes, with proven lower and upper bounds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_joined, in_any_order, one_blas_thread
from hyplearn.data.training import LabelledBlock, TrainingData, subsample, subsample_strides
from hyplearn.geometry import midpoint
from hyplearn.geometry.closest import HalfSpace
from hyplearn.geometry.hull import central_row
from hyplearn.geometry.kernels import row_gaps, squared_distances
from hyplearn.reference.balls import EPS, Contact, proven_heights, proven_margin, touching_balls
from hyplearn.reference.certified_margin import Status, WidestMargin
from hyplearn.reference.hulls import two_classes
from hyplearn.types import Array, Points

# The search stops if the lower and the upper bound on the margin, in units of 1/√c, differ by at most TOL, or by at
# most TOL times the margin if the margin is above 1.
TOL = 1e-9
# Near the rim, the point p of the hyperplane is stored less precisely. The search therefore also stops if the bounds
# differ by at most SPACING times the hyperbolic distance between neighbouring floats at p, or by at most LARGEST_TOL if
# that is less.
SPACING, LARGEST_TOL = 64.0, 1e-6
# The problem is first solved for a sample of about SAMPLE_NUMBERS coordinates, or of about SAMPLE_ROWS rows if that is
# more.
SAMPLE_NUMBERS, SAMPLE_ROWS = 2**18, 2**12
# Each pass adds at most FEW + FEW_PER_DIMENSION * d rows of each class to the rows for which the problem is solved.
FEW, FEW_PER_DIMENSION = 32, 4


def widest_margin(X: Points, y: Any, *, c: float = 1.0) -> WidestMargin:
    """Find the geodesic hyperplane with the widest margin between two classes.

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
    WidestMargin
        The hyperplane, bounds on the widest margin, and the certificate that proves them; or, if no hyperplane
        separates the classes, a common point of their hulls as a proof.

    See Also
    --------
    separable : Decide whether a separating hyperplane exists, without maximising its margin.

    Examples
    --------
    >>> from hyplearn.reference import separable, widest_margin
    >>> X, y = [[-0.5, 0.3], [-0.5, -0.3], [0.5, 0.0], [0.7, 0.2]], [0, 0, 1, 1]
    >>> found = widest_margin(X, y)
    >>> print(f"{found.lower:.9f} {found.upper:.9f} {separable(X, y).margin:.3f}")
    1.147832325 1.147832325 1.032
    >>> print(found.support, found.weights)
    [0 1 2] [0.23 0.23 0.53]
    """
    X, codes, c = two_classes(X, y, c, "widest_margin()")
    with one_blas_thread():
        return widest(TrainingData.of_arrays(X, codes, None, c, n_classes=2), np.array([0, 1]))


def widest(data: TrainingData, sides: Array, *, sample_rows: int | None = None) -> WidestMargin:
    """Find the widest margin between two groups of classes; ``sides`` maps each class to group 0 or 1.

    The problem is first solved for a sample. The search over all rows then starts with the rows that determine this
    solution as its working rows (:class:`Working`). Weights are ignored, except that rows of weight 0 are left out.
    """
    sample_rows = sample_rows or max(SAMPLE_ROWS, SAMPLE_NUMBERS // data.n_features)
    strides = subsample_strides(data.counts, sample_rows)
    positions, X, y = data.fold(_sample_block, columns_joined, sides, strides)
    sample = TrainingData.of_arrays(X, (y > 0).astype(np.int64), None, data.c, n_classes=2)
    found = _close(sample, np.array([0, 1]), *_nearest_rows(X, y, data.c))
    found = found._replace(working=found.working._replace(positions=positions[found.working.positions]))
    if len(X) < data.n_rows:
        # If no hyperplane separates the sample, none separates all rows.
        separable = found.contact.w is not None
        found = _close(data, sides, found.working, found.contact.p) if separable else found._replace(n_passes=0)
    return _as_value(found, 1 + found.n_passes, data.c)


class Working(NamedTuple):
    """The subset of rows on which the search solves the problem: their positions in the data, points, and labels ±1."""

    positions: Array
    X: Array
    y: Array


class Found(NamedTuple):
    """Solution for the working rows, and the best hyperplane found so far.

    ``lower`` is the proven margin of this hyperplane, in units of 1/√c.
    """

    contact: Contact
    hyperplane: HalfSpace | None
    lower: float
    working: Working
    n_passes: int


def _close(data: TrainingData, sides: Array, working: Working, p: Array) -> Found:
    """Alternately solve the problem for the working rows, and add the rows nearest to the resulting hyperplane.

    The search starts at the point p. It ends if the bounds on the margin agree, if there are no more rows to add, or if
    no hyperplane separates the working rows.
    """
    few = FEW + FEW_PER_DIMENSION * data.n_features
    hyperplane, lower, n_passes, first = None, 0.0, 0, np.arange(len(working.X))
    while True:
        contact = touching_balls(working.X, working.y, p, data.c, first)
        if contact.w is None:
            return Found(contact, None, 0.0, working, n_passes)
        p, n_passes = contact.p, n_passes + 1
        scan = data.fold(_scan_block, _lowest, sides, (contact.w, p), data.c, np.sinh(contact.upper), few)
        if (least := proven_margin(scan.least)) > lower:
            hyperplane, lower = (contact.w, p), least
        new = np.flatnonzero(~np.isin(scan.positions, working.positions))
        if contact.upper - lower <= _tolerance(lower, p, data.c) or not len(new):
            return Found(contact, hyperplane, lower, working, n_passes)
        first = np.concatenate([contact.active, np.arange(len(working.X), len(working.X) + len(new))])
        added = (scan.positions[new], scan.X[new], scan.y[new])
        working = Working(*(np.concatenate(pair) for pair in zip(working, added, strict=True)))


def _tolerance(margin: float, p: Array, c: float) -> float:
    """Return the tolerance of the search, in units of 1/√c.

    The search stops when the difference between the bounds on the margin is at most this tolerance.
    """
    spacing = EPS / row_gaps(p[None], c)[0]
    return max(TOL * max(1.0, margin), min(SPACING * spacing, LARGEST_TOL))


def _as_value(found: Found, n_passes: int, c: float) -> WidestMargin:
    contact, root = found.contact, np.sqrt(c)
    narrow = contact.upper - found.lower <= _tolerance(found.lower, contact.p, c)
    separable = found.hyperplane is not None
    rows = found.working.positions[contact.active]
    order = np.argsort(rows)
    order = order[contact.weights[order] > 0]
    status: Status = "stalled" if not narrow else "optimal" if separable else "inseparable"
    return WidestMargin(
        separable=separable,
        hyperplane=found.hyperplane,
        lower=float(found.lower / root),
        upper=float(contact.upper / root),
        support=rows[order],
        weights=contact.weights[order],
        points=contact.points[order],
        contact=contact.p,
        status=status,
        n_passes=n_passes,
        c=c,
    )


def _nearest_rows(X: Array, y: Array, c: float) -> tuple[Working, Array]:
    """Return two working rows, one of each class, and their midpoint, as a start for the search.

    A central row of each class is chosen. The working row of each class is the row nearest to the midpoint of these two
    central rows.
    """
    p = midpoint(*(central_row(X[y == side], c) for side in (-1, 1)), c=c)
    ratios = squared_distances(X, p) / row_gaps(X, c)
    rows = np.array([np.flatnonzero(y == side)[np.argmin(ratios[y == side])] for side in (-1, 1)])
    nearest = X[rows].astype(np.float64)
    return Working(rows, nearest, y[rows]), midpoint(*nearest, c=c)


def _sample_block(block: LabelledBlock, sides: Array, strides: Array) -> tuple[Array, Array, Array]:
    """Return the positions, points and labels ±1 of those rows of a block that belong to the sample."""
    kept = subsample(block.start, block.codes, strides)
    kept = kept[block.present[kept]]
    return block.start + kept, block.X[kept], _signs(block, sides)[kept]


def _signs(block: LabelledBlock, sides: Array) -> Array:
    return np.where(sides[block.codes] > 0, 1.0, -1.0)


@checkpointable
class Scan(NamedTuple):
    """Result of a pass: the rows of each class with the smallest heights, and the smallest height of all rows.

    The height of a row is the hyperbolic sine of its signed distance to the hyperplane in units of 1/√c, minus a bound
    on the rounding error. The distance is negative if the row lies on the wrong side. ``few`` is the maximum number of
    rows per class, and ``least`` is the smallest height.
    """

    positions: Array
    X: Array
    y: Array
    heights: Array
    few: int
    least: float


def _scan_block(block: LabelledBlock, sides: Array, hyperplane: HalfSpace, c: float, below: float, few: int) -> Scan:
    """Find the rows of a block that are nearest to the hyperplane: at most ``few`` of each class.

    Only rows with heights less than ``below`` are considered; :class:`Scan` defines the height of a row.
    """
    y = _signs(block, sides)
    heights = proven_heights(block.X, block.gaps, y, *hyperplane, c)
    heights[~block.present] = np.inf
    low = np.flatnonzero(heights < below)
    kept = low[_few_lowest(low, y[low], heights[low], few)]
    least = float(heights.min(initial=np.inf))
    return Scan(block.start + kept, block.X[kept].astype(np.float64), y[kept], heights[kept], few, least)


@in_any_order
def _lowest(parts: Sequence[Scan]) -> Scan:
    positions, X, y, heights = columns_joined([part[:4] for part in parts])
    few, least = parts[0].few, min(part.least for part in parts)
    kept = _few_lowest(positions, y, heights, few)
    return Scan(positions[kept], X[kept], y[kept], heights[kept], few, least)


def _few_lowest(positions: Array, y: Array, heights: Array, few: int) -> Array:
    """Return the indices of the rows with the smallest heights (:class:`Scan`), at most ``few`` of each class.

    If several rows of a class have the same height, only the first of them is used.
    """
    order, kept = np.lexsort((positions, heights)), []
    for side in (-1, 1):
        own = order[y[order] == side]
        first = np.append(True, heights[own[1:]] > heights[own[:-1]])[: len(own)]
        kept.append(own[first][:few])
    return np.concatenate(kept)
