"""Predictions all over the disk: the class of every pixel, and where classes meet."""

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from hyplearn.decision import Decision, ForeignDecision
from hyplearn.plotting.arcs import geodesic_of, hypercycle, minkowski_normal
from hyplearn.plotting.plane import Plane
from hyplearn.types import Array

# Numbers that predict sees at once.
BLOCK_NUMBERS = 2**22
# Points along a boundary that is cut where a third class begins: the cut is that precise.
CUT_POINTS = 4001


def predicted_regions(estimator: Any, plane: Plane | None, resolution: int, c: float) -> tuple[Array, Array]:
    """Pixel centres and the code of the class predicted for each; -1 for pixels that the disk does not touch.

    A pixel on the rim whose centre is outside has the class of its corner next to the middle of the disk: left empty,
    such pixels would be seen as notches.
    """
    radius = 1 / np.sqrt(c)
    grid = radius * ((2 * np.arange(resolution) + 1) / resolution - 1)
    pixels = np.stack(np.meshgrid(grid, grid), axis=-1)
    outside = np.sum(pixels**2, axis=-1) >= radius**2
    pixels[outside] -= np.sign(pixels[outside]) * radius / resolution
    touched = np.sum(pixels**2, axis=-1) < radius**2
    regions = np.full(touched.shape, -1)
    regions[touched] = predicted_codes(estimator, plane, pixels[touched])
    return grid, regions


def predicted_codes(estimator: Any, plane: Plane | None, x: Array) -> Array:
    """Codes of the predicted classes, for points of the picture; without a plane these are points of the ball."""
    return np.searchsorted(estimator.classes_, answers(estimator, "predict", plane, x))


def answers(estimator: Any, method: str, plane: Plane | None, x: Array) -> Array:
    """Result of a method of the classifier for points, so many at a time that they fit in memory."""
    step = max(1, BLOCK_NUMBERS // (x.shape[1] if plane is None else len(plane.p)))
    blocks = (x[i : i + step] for i in range(0, len(x), step))
    with warnings.catch_warnings():
        # A classifier fitted on named columns: pixels have the same, unnamed.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        said = [getattr(estimator, method)(block if plane is None else plane.embed(block)) for block in blocks]
    return np.concatenate(said)


def pairwise_arcs(estimator: Any, decision: Decision | ForeignDecision, plane: Plane | None) -> Iterator[Array]:
    """The geodesics on which two classes are equally likely, as far as no third class is predicted there."""
    for i, j, N in pairwise_normals(decision):
        line = geodesic_of(N if plane is None else plane.cut(N), c=decision.c)
        if line is None:
            continue
        arc = hypercycle(*line, c=decision.c, n_points=CUT_POINTS)
        # The two ends lie on the rim, where no classifier can be asked.
        valid = np.pad(np.isin(predicted_codes(estimator, plane, arc[1:-1]), [i, j]), 1, mode="edge")
        cuts = np.flatnonzero(np.diff(valid, prepend=False, append=False))
        yield from (arc[start:stop] for start, stop in cuts.reshape(-1, 2) if stop - start > 1)


def pairwise_normals(decision: Decision | ForeignDecision) -> Iterator[tuple[int, int, Array]]:
    """Codes of two classes and the vector N of Minkowski space with ``[N, X] = 0`` where both are equally likely.

    With a hyperplane per class, scores compare as multiples of the sinh of the distances to them. These are linear in
    X, so two classes meet on a geodesic hyperplane.
    """
    pairs, steepness = combinations(range(len(decision.classes)), 2), decision.steepness()
    if steepness is not None:
        planes = zip(steepness, decision.weights, decision.points, strict=True)
        normals = [factor * minkowski_normal(w, p, c=decision.c) for factor, w, p in planes]
        yield from ((i, j, normals[j] - normals[i]) for i, j in pairs)
    elif decision.is_pairwise:
        found = ((i, j, decision.hyperplane_between(i, j)) for i, j in pairs)
        yield from ((i, j, minkowski_normal(*plane, c=decision.c)) for i, j, plane in found if plane is not None)
