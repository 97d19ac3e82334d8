r"""Far rows: outliers that lie far away from the other rows of their class, and are left out of a fit.

A single row at the rim can be as much as 37 units of hyperbolic distance away from all others, and would dominate a
mean, a convex hull or a loss. A row is therefore called *far* if its distance to the robust centre of its class exceeds

.. math:: Q_3 + 3\, (Q_3 - Q_1) + 4

in units of 1/√c, where :math:`Q_1` and :math:`Q_3` are the quartiles of this distance within the class (Tukey's outer
fence, plus 4). The centre of a class minimises :math:`\sum w \log \cosh \rho`. There the weighted mean of the Klein
coordinates relative to the centre vanishes, so that the influence of a row is bounded by its weight. Far rows have at
most 2 % of the total weight: if more rows exceed these distances, they are regarded as part of the data, and all
distances are increased. The rule is invariant under isometries, treats weights as numbers of copies, and does not
depend on the order of rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hyplearn.data.folding import columns_joined
from hyplearn.data.training import Costs, LabelledBlock, TrainingData
from hyplearn.types import Array

# A row is far if its distance to the centre of its class exceeds the third quartile of these distances by more
# than RANGES interquartile ranges plus BEYOND.
RANGES, BEYOND = 3.0, 4.0
# Largest share of the total weight that far rows may have. If their share is larger, all fences are widened.
MOST = 0.02
# Size of the subsample from which the fences are estimated: SAMPLE rows, or SAMPLE_PER_CLASS rows per class if
# that is more.
SAMPLE, SAMPLE_PER_CLASS = 2**11, 128
# Newton's method for the centres takes at most STEPS steps, none longer than LONGEST, and stops if a step is shorter
# than SHORTEST. To estimate fences, it stops at FENCE_STEP: in few dimensions the error is about FENCE_STEP squared.
STEPS, LONGEST, SHORTEST, FENCE_STEP = 50, 2.0, 1e-7, 1e-3
# Largest dimension in which Newton steps are taken. In higher dimensions the Hessian is replaced with its upper bound,
# the identity (majorisation), so that no linear system needs to be solved.
FEW_DIMENSIONS = 16
# Maximum number of far rows that are listed in a warning.
NAMED = 5


class Fences(NamedTuple):
    """Centre of each class, and the distance (in units of 1/√c) from the centre beyond which rows are far."""

    centres: Array
    radii: Array

    def far(self, block: LabelledBlock, c: float) -> Array:
        """Return a mask of the far rows of a block."""
        far = np.zeros(len(block.X), dtype=bool)
        # By the triangle inequality, no row within this radius of the origin is far. Such rows are recognised by their
        # gaps, without computing a distance.
        radius = np.min(self.radii - 2 * np.arctanh(np.sqrt(c) * np.linalg.norm(self.centres, axis=1)))
        outer = np.flatnonzero(block.gaps * np.cosh(max(radius, 0.0) / 2) ** 2 < 1)
        if outer.size:
            codes = block.codes[outer]
            rho = distances_to_own(block.X[outer], codes, block.gaps[outer], self.centres, c)
            far[outer] = rho > self.radii[codes]
        return far


class FarRows(NamedTuple):
    """Fences of the classes, and positions, class codes and weights of the far rows of the training data."""

    fences: Fences
    rows: Array
    codes: Array
    weights: Array

    def named(self, classes: Array) -> str:
        """Format the first far rows and their classes for a message."""
        pairs = zip(self.rows[:NAMED], self.codes, strict=False)
        named = ", ".join(f"row {row} (class {classes[code]})" for row, code in pairs)
        return named + (", ..." if len(self.rows) > NAMED else "")


def find_far_rows(data: TrainingData) -> FarRows:
    """Find the far rows of the training data in one pass."""
    block, _ = data.subsampled(max(SAMPLE, SAMPLE_PER_CLASS * data.n_classes))
    fences = find_fences(block, data.n_classes, data.c)
    return FarRows(fences, *data.fold(_far_rows, columns_joined, fences, data.c))


def leave_out_far_rows(data: TrainingData, classes: Array) -> tuple[TrainingData, str]:
    """Return the training data without far rows, and a message that lists the far rows (empty if there are none)."""
    far = find_far_rows(data)
    if not len(far.rows):
        return data, ""
    one = len(far.rows) == 1
    message = (
        f"{len(far.rows)} of {data.n_rows} rows {'lies' if one else 'lie'} far beyond the others of "
        f"{'its class' if one else 'their classes'} and {'is' if one else 'are'} left out of the fit: "
        f"{far.named(classes)}.\nCheck the embedding, or pass trim=False to keep such rows."
    )
    totals = data.totals - np.bincount(far.codes, far.weights, data.n_classes)
    spans = Costs(data.weights.lowest, data.weights.highest, float(totals.sum()))
    return replace(data, encoder=replace(data.encoder, far=far.fences.far), totals=totals, weights=spans), message


def find_fences(block: LabelledBlock, n_classes: int, c: float) -> Fences:
    """Estimate the fences of all classes from labelled rows."""
    present = np.flatnonzero(block.present)
    part = block if len(present) == len(block.X) else block.taken(present)
    weights, codes = part.row_weights, part.codes
    centres = robust_centres(part.X, codes, part.gaps, weights, n_classes, c, shortest=FENCE_STEP)
    rho = distances_to_own(part.X, codes, part.gaps, centres, c)
    radii = np.zeros(n_classes)
    order = np.lexsort((rho, codes))
    for k, own in enumerate(np.split(order, np.cumsum(np.bincount(codes, minlength=n_classes))[:-1])):
        if len(own):
            low, high = _quantiles(rho[own], weights[own], (0.25, 0.75))
            radii[k] = high + RANGES * (high - low) + BEYOND
    excess = rho - radii[codes]
    beyond = np.flatnonzero(excess > 0)
    if weights[beyond].sum() > MOST * weights.sum():
        ordered = beyond[np.argsort(-excess[beyond], kind="stable")]
        within = np.searchsorted(np.cumsum(weights[ordered]), MOST * weights.sum(), side="right")
        radii += excess[ordered[within]]
    return Fences(centres, radii)


def robust_centres(
    X: Array, codes: Array, gaps: Array, weights: Array, n_classes: int, c: float, *, shortest: float = SHORTEST
) -> Array:
    r"""Return the robust centre of each class, which minimises :math:`\sum w \log \cosh \rho` over the class.

    Up to its sign, the gradient is the weighted sum of the Klein coordinates k of the rows relative to the centre. The
    Hessian is the weighted sum of I - k kᵀ, which is at most the identity if the weights sum to 1. Steps are taken
    until no step is longer than ``shortest``.
    """
    # Sort the rows by class, so that the sums over each class are matrix products.
    order = np.argsort(codes, kind="stable")
    X, codes, gaps, weights = X[order].astype(np.float64, copy=False), codes[order], gaps[order], weights[order]
    shares = weights / np.bincount(codes, weights, n_classes)[codes]
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    parts = [slice(start, end) for start, end in zip(np.append(0, ends[:-1]), ends, strict=True)]
    identity: Array = (1 + 1e-9) * np.eye(X.shape[1])
    M: Array = np.zeros((n_classes, X.shape[1]))
    for _ in range(STEPS):
        klein = _klein_rows(X, codes, gaps, M, c)
        step: Array = np.stack([shares[part] @ klein[part] for part in parts])
        if X.shape[1] <= FEW_DIMENSIONS:
            weighted = shares[:, None] * klein
            squares = np.stack([weighted[part].T @ klein[part] for part in parts])
            step = np.linalg.solve(identity - squares, step[:, :, None])[:, :, 0]
        lengths = np.linalg.norm(step, axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST / np.maximum(lengths, LONGEST))
        M = _moved(M, step, c)
        if lengths.max(initial=0.0) <= shortest:
            break
    return M


def distances_to_centre(block: LabelledBlock, c: float) -> Array:
    """Return the distance of each row to the robust centre of all rows, in units of 1/√c."""
    one = np.zeros(len(block.X), dtype=np.int64)
    centres = robust_centres(block.X, one, block.gaps, block.row_weights, 1, c)
    return distances_to_own(block.X, one, block.gaps, centres, c)


def distances_to_own(X: Array, codes: Array, gaps: Array, centres: Array, c: float) -> Array:
    """Return the distance of each row to the centre of its class, in units of 1/√c."""
    own = centres[codes]
    squares = np.sum((X - own) ** 2, axis=1)
    return 2 * np.arcsinh(np.sqrt(c * squares / gaps / (1 - c * np.sum(own**2, axis=1))))


def _klein_rows(X: Array, codes: Array, gaps: Array, M: Array, c: float) -> Array:
    """Return the Klein coordinates √c z / cosh ρ of each row relative to the centre of its class."""
    own = M[codes]
    s = X - own
    bend = c * np.sum(s**2, axis=1) / (1 - c * np.sum(own**2, axis=1))
    return (2 * np.sqrt(c) / (gaps + 2 * bend))[:, None] * (s - bend[:, None] * own)


def _moved(M: Array, step: Array, c: float) -> Array:
    """Move each point of M along a geodesic, by a step that gives the direction and the length in units of 1/√c."""
    lengths = np.linalg.norm(step, axis=1, keepdims=True)
    t = np.tanh(lengths / 2) / np.where(lengths > 0, lengths, 1.0) * step / np.sqrt(c)
    dot, mm, tt = c * np.sum(M * t, axis=1), c * np.sum(M**2, axis=1), c * np.sum(t**2, axis=1)
    below = 1 + 2 * dot + mm * tt
    return ((1 + 2 * dot + tt)[:, None] * M + (1 - mm)[:, None] * t) / below[:, None]


def _quantiles(values: Array, weights: Array, shares: Sequence[float]) -> list[float]:
    """Return weighted quantiles of sorted values, for the given shares of the total weight."""
    sums = np.cumsum(weights)
    return [float(values[min(len(values) - 1, np.searchsorted(sums, share * sums[-1]))]) for share in shares]


def _far_rows(block: LabelledBlock, fences: Fences, c: float) -> tuple[Array, Array, Array]:
    """Return the positions in the source, the class codes and the weights of the far rows of a block."""
    far = np.flatnonzero(fences.far(block, c) & block.present)
    return block.start + far, block.codes[far].astype(np.int64), block.row_weights[far]
