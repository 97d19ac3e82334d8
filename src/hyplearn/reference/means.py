"""Reference points from Fréchet means: the mean of all points, or a point between class means."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyplearn.data.folding import columns_joined, columns_summed, in_any_order, map_in_threads
from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.geometry import distance, frechet_mean, gap, geodesic
from hyplearn.geometry.mean import (
    FEW_DIMENSIONS,
    NEAR_THE_RIM,
    MeanEquations,
    Steps,
    mean_and_variance,
    mean_steps,
    sample_hessian,
    summed_equations,
)
from hyplearn.types import Array

# Newton's method starts at the mean of a sample, which is computed with the tolerance START_TOL. The sample has about
# FIRST_ROWS rows, or about FIRST_NUMBERS coordinates if that is less. Smaller data are not sampled. Data in memory with
# at most COPIED_NUMBERS coordinates are not sampled either, because copying the rows of every group of classes once is
# cheaper than selecting them in every pass of Newton's method.
FIRST_ROWS, FIRST_NUMBERS, START_TOL, COPIED_NUMBERS = 20_000, 2**22, 1e-4, 2**20
# Means of at most this many rows are computed in one thread, because one step takes less time than handing it to
# another thread.
FEW_ROWS = 10_000
# Tolerances of the means. In more than FEW_DIMENSIONS dimensions, the distance of a computed mean from the exact mean,
# in units of 1/√c, is proven to be at most the tolerance. CLASS_TOL is for the class means of binary problems.
# CENTRE_TOL is for the mean of all points, and for class means that are computed together with it. It is larger than
# CLASS_TOL, because the mean of all points serves only as a centre of coordinates. In at most FEW_DIMENSIONS
# dimensions, MEAN_TOL suffices for all means, because a final Newton step squares the error.
CENTRE_TOL, CLASS_TOL, MEAN_TOL = 1e-6, 1e-11, 1e-7
# Maximum distance of a reference point from the midpoint of the class means, in units of 1/√c. In the Poincaré disk, a
# boundary at this distance, seen from the midpoint, spans a twentieth of all directions. Larger values reduce the
# accuracy on Fashion-MNIST and the mammals data, and have little benefit on other data.
FARTHEST_SHIFT = 2.5


def mean_of_all(data: TrainingData) -> Array:
    """Compute the weighted Fréchet mean of all points."""
    return group_means(data, np.ones((1, data.n_classes), dtype=bool), _tolerance(data, CENTRE_TOL))[0][0]


def mean_and_class_means(data: TrainingData) -> tuple[Array, Array]:
    """Compute weighted Fréchet means of all points and of each class; a class of weight 0 gets the overall mean."""
    groups = np.vstack([np.ones(data.n_classes, dtype=bool), np.eye(data.n_classes, dtype=bool)])
    found = group_means(data, groups, _tolerance(data, CENTRE_TOL))
    mean = found[0][0]
    return mean, np.stack([own if total > 0 else mean for own, _, total in found[1:]])


def _tolerance(data: TrainingData, of_many: float) -> float:
    return MEAN_TOL if data.n_features <= FEW_DIMENSIONS else of_many


def means_between(data: TrainingData, problems: Sequence[Array]) -> list[Array]:
    """Return one reference point per problem, which :func:`between` computes from the means of its groups of classes.

    Each problem is an array that maps every class to the number of its group. The means of all problems are computed in
    the same passes over the data.
    """
    sided = [weighted_sides(data, sides) for sides in problems]
    found = group_means(data, np.array([group for groups in sided for group in groups]), _tolerance(data, CLASS_TOL))
    ends = np.cumsum([len(groups) for groups in sided])
    return [between(found[end - len(groups) : end], data.c) for groups, end in zip(sided, ends, strict=True)]


def between(classes: Sequence[tuple[Array, float, float]], c: float) -> Array:
    r"""Return the point between two class means at which both classes are equally likely.

    If there are not exactly two classes, or if both means are equal, the mean of the class means is returned.

    Otherwise the point lies on the geodesic from the first mean :math:`m_-` to the second mean :math:`m_+`, at the
    following signed distance from the midpoint of the geodesic, which is positive towards :math:`m_+`:

    .. math:: \frac{s^2}{d(m_-, m_+)} \log \frac{W_-}{W_+}

    where W is the weight of a class and :math:`s^2` is the mean squared distance to the class means per dimension. At
    this point, the boundary between two spherical classes of equal variance crosses the geodesic, which leaves more
    space for the class with the larger weight. Since all boundaries pass through the reference point, class weights can
    shift them only by changing this distance. Its absolute value is limited to ``FARTHEST_SHIFT``, in units of 1/√c.

    Parameters
    ----------
    classes : sequence of tuples
        Mean, variance and weight of every class.
    c : float
        Absolute curvature.
    """
    centres = np.stack([mean for mean, _, _ in classes])
    apart = distance(centres[0], centres[-1], c=c)
    if len(classes) != 2 or apart == 0:
        return frechet_mean(centres, c=c)
    (_, variance_a, total_a), (_, variance_b, total_b) = classes
    spread = (total_a * variance_a + total_b * variance_b) / (total_a + total_b) / centres.shape[1]
    limit = FARTHEST_SHIFT / np.sqrt(c)
    shift = np.clip(spread / apart * np.log(total_a / total_b), -limit, limit)
    return geodesic(centres[0], centres[1], 0.5 + shift / apart, c=c)


def weighted_sides(data: TrainingData, sides: Array) -> list[Array]:
    """Return the groups of classes that have a positive weight, each as a mask of classes.

    ``sides`` maps each class to the number of its group.
    """
    groups = [sides == side for side in range(int(sides.max()) + 1)]
    return [group for group in groups if data.totals[group].any()]


def group_means(data: TrainingData, groups: Array, tol: float) -> list[tuple[Array, float, float]]:
    """Compute the mean, variance and weight of each group (a mask of classes), in the same passes for all groups."""
    totals, d = groups @ data.totals, data.n_features
    first = min(FIRST_ROWS, max(1, FIRST_NUMBERS // d))
    few = data.n_rows <= first or (data.in_memory and data.n_rows * d <= COPIED_NUMBERS)
    if few:
        return [
            (*part[:2], float(total)) for part, total in zip(_means_of_some(data, groups, 1, tol), totals, strict=True)
        ]
    parts = _means_of_some(data, groups, max(2, data.n_rows // first), START_TOL)
    searches: list[Steps] = [mean_steps(start, tol=tol) for *_, start, _ in parts]
    centres: list[Array | None] = [next(search) for search in searches]
    found: list[Any] = [None] * len(groups)
    while any(centre is not None for centre in centres):
        sums = data.fold(_equations, _merge_equations, groups, totals, centres, data.c)
        for g, part in enumerate(sums):
            if (centre := centres[g]) is None:
                continue
            if d > FEW_DIMENSIONS:  # the Hessian of all rows would take most of the time, so use that of the sample
                part = (*part[:2], parts[g][3], part[3])
            try:
                centres[g] = searches[g].send(MeanEquations(centre, data.c, *part))
            except StopIteration as end:
                found[g], centres[g] = (*end.value, float(totals[g])), None
    return found


def _means_of_some(data: TrainingData, groups: Array, stride: int, tol: float) -> list[tuple[Array, float, Array, Any]]:
    """Return (mean, variance, start, hessian) for each group, computed from a sample of every ``stride``-th row.

    The mean and variance are those of the group's rows in the sample, or the origin and 0 if there are none. ``start``
    is the initial point for the mean of all rows of the group: the mean of the sample, or the origin if this mean is
    near the rim. ``hessian`` is a function that multiplies a vector by the Hessian, at ``start``, of half the mean
    squared distance to the group's rows in the sample. If ``stride`` is 1, or if there are at most FEW_DIMENSIONS
    dimensions, ``hessian`` is None. If the group has no rows in the sample, ``hessian`` is always a function that
    returns a copy of the vector.
    """
    X, codes, weights, gaps = data.fold(_every, columns_joined, stride)
    present = weights > 0

    def of_group(group: Array) -> tuple[Array, float, Array, Any]:
        own, origin = np.flatnonzero(group[codes] & present), np.zeros(data.n_features)
        if not len(own):
            return origin, 0.0, origin, np.copy
        # Do not copy the rows if the group contains all of them.
        parts = (X, gaps, weights) if len(own) == len(X) else (np.take(a, own, axis=0) for a in (X, gaps, weights))
        rows, row_gaps, shares = parts
        rows, shares = rows.astype(np.float64, copy=False), shares / shares.sum()
        m, variance = mean_and_variance(rows, row_gaps, shares, data.c, tol=tol)
        start = m if gap(m, c=data.c) > NEAR_THE_RIM else origin
        use_sample = stride > 1 and data.n_features > FEW_DIMENSIONS
        return m, variance, start, sample_hessian(rows, row_gaps, shares, start, data.c) if use_sample else None

    return list(map_in_threads(of_group, groups, data.threads if len(X) > FEW_ROWS else 1))


def _every(block: LabelledBlock, stride: int) -> tuple[Array, Array, Array, Array]:
    part = block.taken(slice(-block.start % stride, None, stride))
    return part.X, part.codes, part.row_weights, part.gaps


def _equations(
    block: LabelledBlock, groups: Array, totals: Array, centres: Sequence[Array | None], c: float
) -> list[tuple[Any, ...] | None]:
    """Return, for each group, the block's contribution to the equations of its mean, or None if the mean has converged.

    ``centres`` contains the current iterate of each mean, or None if this mean has converged.
    """
    parts: list[tuple[Any, ...] | None] = []
    for group, total, centre in zip(groups, totals, centres, strict=True):
        if centre is None:
            parts.append(None)
            continue
        own = block if group.all() else block.taken(np.flatnonzero(group[block.codes]))
        parts.append(summed_equations(own.X, own.gaps, own.row_weights / total, centre, c))
    return parts


@in_any_order
def _merge_equations(parts: Sequence[list[Any]]) -> list[Any]:
    return [None if column[0] is None else columns_summed(column) for column in zip(*parts, strict=True)]
