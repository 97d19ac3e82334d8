"""Named strategies for choosing the reference point of each binary problem.

A custom strategy is a function ``f(X, y, sample_weight, c)`` that returns one point of the ball. For a binary problem,
``y`` contains the labels ±1. If one point is chosen for more than two classes, ``y`` contains the index of each row's
class in the sorted classes. If there are no labels, ``y`` contains zeros. ``sample_weight`` is None if all weights are
equal, and ``c > 0`` is the absolute curvature.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from hyplearn.data.labels import as_labels, distinct
from hyplearn.data.training import TrainingData
from hyplearn.geometry import gap
from hyplearn.geometry.kernels import chunk_slices
from hyplearn.numerics import uniforms
from hyplearn.reference.convex import boundary_point
from hyplearn.reference.hulls import closest_point, hull_point
from hyplearn.reference.means import group_means, mean_of_all, means_between, weighted_sides
from hyplearn.types import Array

Strategy: TypeAlias = Callable[[Array, Array, Array | None, float], Array]
Reference: TypeAlias = str | Array | Strategy
# Strategies that find a point between two groups of classes, and the functions that compute this point.
TWO_SIDED: dict[str, Callable[[TrainingData, Array], Array]] = {
    "boundary": boundary_point,
    "closest": closest_point,
    "hull": hull_point,
}
STRATEGIES = ("boundary", "closest", "hull", "mean", "means", "origin")
# Strategies whose reference point is determined by the extreme rows of each class. A single outlier can move this
# point.
OF_EXTREME_ROWS = ("closest", "hull")
# If there are at most FEW_ROWS rows and FEW_NUMBERS coordinates, equal rows are merged before a reference point is
# computed. Repeating a row is then equivalent to increasing its weight, and the order of the rows does not matter.
FEW_ROWS, FEW_NUMBERS = 10_000, 2**22


def reference_points(reference: Reference, data: TrainingData, problems: Sequence[Array]) -> Array:
    """Compute one reference point per problem; return an array of shape (n_problems, d).

    Parameters
    ----------
    reference : str, callable or array-like
        Name of a strategy, a function, or the points themselves: one point for all problems, or one point per problem.
    data : TrainingData
        The labelled training points.
    problems : sequence of ndarrays
        One array per problem, which maps each class to the number of its group (0 or 1 in a binary problem).
    """
    if isinstance(reference, str):
        if reference not in STRATEGIES:
            raise ValueError(
                f"reference={reference!r} is not a strategy.\n"
                f"Choose one of {list(STRATEGIES)}, or pass a point as an array of shape ({data.n_features},)."
            )
        if data.n_rows <= FEW_ROWS and data.n_rows * data.n_features <= FEW_NUMBERS:
            data = merge_copies(data)
        return np.stack(_by_name(reference, data, problems))
    if callable(reference):
        return np.stack([_by_function(reference, data, sides) for sides in problems])
    return given_points(reference, len(problems), data.n_features, data.c)


def reference_point(
    reference: Reference, X: Array, y: Array | None, weights: Array | None, c: float, *, threads: int = 1
) -> Array:
    """Compute the reference point of labelled points; ``reference`` is a strategy, a function or the point itself.

    Strategies use up to ``threads`` threads; the point does not depend on the number of threads. A function is called
    with the arguments X, y, weights and c. For two classes, y is passed as labels ±1. For more classes, it is passed as
    the index of each row's class in the sorted classes. If y is None, zeros are passed. If all weights are equal, None
    is passed for the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from hyplearn.reference import reference_point
    >>> X, y = np.array([[0.0, 0.0], [0.8, 0.0]]), np.array([0, 1])
    >>> reference_point("means", X, y, None, 1.0)
    array([0.5, 0. ])
    >>> reference_point(lambda X, y, weights, c: X[0], X, y, None, 1.0)
    array([0., 0.])
    """
    if y is None:
        if isinstance(reference, str) and reference in (*TWO_SIDED, "means"):
            raise ValueError(
                f'reference="{reference}" needs labels; got y=None.\nPass y to fit, or pass reference="mean".'
            )
        classes, codes = np.zeros(1), np.zeros(len(X), dtype=np.int64)
    else:
        classes, codes = distinct(np.asarray(as_labels(y)))
    data = TrainingData.of_arrays(X, codes, weights, c, n_classes=len(classes), threads=threads)
    return reference_points(reference, data, [np.arange(len(classes))])[0]


def _by_name(name: str, data: TrainingData, problems: Sequence[Array]) -> list[Array]:
    if name == "origin":
        return [np.zeros(data.n_features) for _ in problems]
    if name == "mean":
        return [mean_of_all(data)] * len(problems)
    if name == "means":
        return means_between(data, problems)
    return [_between_two(name, data, sides) for sides in problems]


def _between_two(name: str, data: TrainingData, sides: Array) -> Array:
    """Return a point between two groups of classes, or the mean of one group if the other has no weight."""
    groups = weighted_sides(data, sides)
    if len(groups) > 2:
        raise ValueError(
            f'reference="{name}" needs exactly 2 classes; got {len(groups)}.\n'
            'Pass the labels of one class against the rest, or pass reference="means".'
        )
    if len(groups) == 1:
        return group_means(data, np.array(groups), 1e-12)[0][0]
    if sides.max() > 1:  # only two of the groups have a positive weight
        sides = groups[1].astype(np.int64)
    return TWO_SIDED[name](data, sides)


def merge_copies(data: TrainingData) -> TrainingData:
    """Sort the rows, and merge equal rows of a class into one row with the sum of their weights.

    As a result, reference points do not depend on the order of the rows. Rows of weight 0 are dropped.
    """
    block = data.gathered()
    X, keys = block.X, _row_keys(block.X)
    order = np.lexsort((block.codes, keys, X[:, 0]))
    keys, codes = keys[order], block.codes[order].astype(np.int64)
    is_copy = np.zeros(len(order), dtype=bool)
    alike = 1 + np.flatnonzero((keys[1:] == keys[:-1]) & (codes[1:] == codes[:-1]))
    is_copy[alike] = np.all(X[order[alike]] == X[order[alike - 1]], axis=1)
    summed = np.bincount(np.cumsum(~is_copy) - 1, block.row_weights[order])
    kept = np.flatnonzero(~is_copy)[summed > 0]
    rows, weights = _without_signed_zeros(X[order[kept]]), summed[summed > 0]
    return TrainingData.of_arrays(rows, codes[kept], weights, data.c, n_classes=data.n_classes, threads=data.threads)


def _row_keys(X: Array) -> Array:
    """Return a hash of each row; sorting by hashes is far cheaper than sorting by all columns."""
    factors = (2.0**63 * uniforms(0, np.arange(X.shape[1]))).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    keys = np.empty(len(X), dtype=np.uint64)
    for part in chunk_slices(X):
        bits = _without_signed_zeros(X[part]).view(np.uint64)
        # Mix in the high bits, because the low bits of coordinates with few digits are 0 and would stay 0 in products
        # modulo 2^64.
        keys[part] = (bits ^ (bits >> np.uint64(32))) @ factors
    return keys


def _without_signed_zeros(X: Array) -> Array:
    """Convert to float64 and replace -0.0 with 0.0, so that equal numbers have equal bits."""
    return np.add(X, 0.0, dtype=np.float64)


def _by_function(reference: Strategy, data: TrainingData, sides: Array) -> Array:
    """Call the user's function to compute the reference point; raise ValueError if X exceeds the memory budget."""
    if not data.in_memory and 8 * data.n_rows * data.n_features > data.points.memory:
        raise ValueError(
            f"reference={_name(reference)} needs all points in memory; {data.points.name} takes "
            f"{data.n_rows * data.n_features * 8:,} bytes, but the memory budget is {data.points.memory:,} bytes.\n"
            f"Raise memory= in open_points, pass the point itself, or choose one of {list(STRATEGIES)}."
        )
    block = data.gathered()
    labels = sides[block.codes]
    labels = np.where(labels > 0, 1.0, -1.0) if sides.max() == 1 else labels
    weights = None if np.all(block.row_weights == block.row_weights[0]) else block.weights
    return _checked_result(reference, reference(block.X, labels, weights, data.c), data.n_features, data.c)


def given_points(reference: Any, n_problems: int, d: int, c: float) -> Array:
    """Validate the given reference points, one for all problems or one per problem; return one point per problem."""
    try:
        given = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"reference must be an array of real numbers, of shape (n_features,) or (n_problems, n_features); got "
            f"{reference!r:.80}.\n"
            f"Pass one point, one point per binary problem, a function, or one of {list(STRATEGIES)}."
        ) from None
    if given.ndim == 2 and len(given) != n_problems > 1:
        raise ValueError(
            f"reference has {len(given)} points; expected {n_problems} (one per binary problem).\n"
            "Pass one point for all problems, or one point per class (a single point for two classes)."
        )
    rows = given if given.ndim == 2 and len(given) == n_problems else [given] * n_problems
    return np.stack([checked_point(p, d, c) for p in rows])


def checked_point(point: Any, d: int, c: float) -> Array:
    """Check that the point lies in the d-dimensional ball, and return it as float64; raise ValueError otherwise."""
    p, problem = _as_point(point, d, c)
    if problem:
        raise ValueError(
            f"The reference point must lie in the ball and must have shape ({d},), one coordinate per feature of X; "
            f"{problem}\n"
            f"Pass a point of the ball, a function, or one of {list(STRATEGIES)}."
        )
    return p


def _checked_result(reference: Strategy, point: Any, d: int, c: float) -> Array:
    p, problem = _as_point(point, d, c)
    if problem:
        raise ValueError(
            f"reference={_name(reference)} must return one point of the ball, an array of shape ({d},); {problem}\n"
            "Correct the function; its arguments are the points, the labels, the weights (None if all are equal) and c."
        )
    return p


def _as_point(point: Any, d: int, c: float) -> tuple[Array, str]:
    """Return the point as float64, and an error message, which is empty if the point lies in the ball."""
    try:
        p = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0), f"got {point!r:.80}."
    if p.shape != (d,):
        return p, f"got {p.shape}."
    try:
        gap(p, c=c)
    except ValueError as problem:
        return p, str(problem).splitlines()[0]
    return p, ""


def _name(reference: Any) -> str:
    return getattr(reference, "__name__", repr(reference))
