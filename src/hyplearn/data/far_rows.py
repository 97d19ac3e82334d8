r"""Far rows: outliers that lie far away from the other rows of their class, and are left out of a fit.

In units of 1/√c, the hyperbolic distance of a single row at the rim from the other rows can be 37 or more. Such a row
would dominate a mean, a convex hull or a loss. A row is therefore called *far* if its distance to the robust centre of
its class exceeds

.. math:: Q_3 + 3\, (Q_3 - Q_1) + 4

in units of 1/√c, where :math:`Q_1` and :math:`Q_3` are the quartiles of this distance within the class. This limit is
the *fence* of the class (Tukey's outer fence, plus 4). The robust centre of a class minimises the sum
:math:`\sum w \log \cosh \rho` over its rows, where w is the weight of a row, and ρ is its distance to the centre in
units of 1/√c. The weighted mean of the Klein coordinates of the rows about this centre is 0. Since these coordinates
have norms below 1, the influence of a row is bounded by its weight. Far rows have at most 2 % of the total weight: if
the rows beyond the fences have more weight, all fences are moved outwards by the same distance, until these rows have
at most 2 %.

The rule is invariant under isometries, and treats a row of weight k like k copies of the row. It depends on the order
of rows only if the data are large, because the fences are then estimated from a subsample.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hyplearn.data.folding import columns_joined
from hyplearn.data.training import Costs, LabelledBlock, TrainingData
from hyplearn.geometry.kernels import row_gaps
from hyplearn.types import Array

# A row is far if its distance to the centre of its class exceeds the third quartile of these distances by more
# than RANGES interquartile ranges plus BEYOND, in units of 1/√c.
RANGES, BEYOND = 3.0, 4.0
# Largest share of the total weight that far rows may have. If their share is larger, the fences (the distances beyond
# which rows are far) are increased.
MOST = 0.02
# Size of the subsample from which the fences (the distances beyond which rows are far) are estimated: SAMPLE rows, or
# SAMPLE_PER_CLASS rows per class if that is more.
SAMPLE, SAMPLE_PER_CLASS = 2**11, 128
# Newton's method for the centres takes at most STEPS steps, none longer than LONGEST, and stops when no centre moves by
# more than SHORTEST, in units of 1/√c. When the fences are estimated, FENCE_STEP replaces SHORTEST. In up to
# FEW_DIMENSIONS dimensions, the method converges quadratically, so the error is then about FENCE_STEP squared.
STEPS, LONGEST, SHORTEST, FENCE_STEP = 50, 2.0, 1e-7, 1e-3
# Number that is added to the diagonal of the Hessians, so that rounding does not make them singular.
RIDGE = 1e-9
# Maximum number of Newton steps in the attempt to prove, without estimating the fences, that no row is far.
PROOF_STEPS = 3
# Largest dimension in which Newton steps are taken. In higher dimensions the Hessian is replaced with its upper bound,
# the identity (majorisation), so that no linear system needs to be solved.
FEW_DIMENSIONS = 16
# Maximum number of far rows that are listed in a warning.
NAMED = 5


class Fences(NamedTuple):
    """Robust centre of each class, and the distance from it (in units of 1/√c) beyond which rows are far."""

    centres: Array
    radii: Array

    def safe_gap(self, c: float) -> float:
        """Return a gap 1 - c‖x‖² such that no row with this gap or a larger gap is far.

        By the triangle inequality, no row of a class is far if its distance from the origin is at most the radius of
        the fence minus the distance of the centre from the origin. If this difference is negative for a class, the gap
        is infinite, because even a row at the origin may be far.
        """
        radius = np.min(self.radii - 2 * np.arccosh(row_gaps(self.centres, c) ** -0.5))
        return float(np.cosh(radius / 2) ** -2) if radius >= 0 else np.inf

    def far(self, block: LabelledBlock, c: float) -> Array:
        """Return a mask of the far rows of a block."""
        far = np.zeros(len(block.X), dtype=bool)
        outer = np.flatnonzero(block.gaps < self.safe_gap(c))
        if outer.size:
            codes = block.codes[outer]
            rho = distances_to_own(block.X[outer], codes, block.gaps[outer], self.centres, c)
            far[outer] = rho > self.radii[codes]
        return far


class FarRows(NamedTuple):
    """The far rows of the training data (positions, class indices and weights), and the fences of the classes."""

    fences: Fences | None  # None if the smallest gap proves that no row is far
    rows: Array
    codes: Array
    weights: Array

    def named(self, classes: Array) -> str:
        """Return a string that lists the first far rows and their classes, for a message."""
        pairs = zip(self.rows[:NAMED], self.codes, strict=False)
        named = ", ".join(f"row {row} (class {classes[code]})" for row, code in pairs)
        return named + (", ..." if len(self.rows) > NAMED else "")


class Grouped(NamedTuple):
    """Coordinates, gaps 1 - c‖x‖² and weights of rows, sorted by class."""

    columns: Array  # coordinates of the rows as an array of shape (d, n)
    gaps: Array
    shares: Array  # weights of the rows, which sum to 1 within each class
    counts: Array  # number of rows in each class
    parts: list[slice]  # for each class, the positions of its rows in ``columns``, ``gaps`` and ``shares``


NO_FAR_ROWS = FarRows(None, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


def find_far_rows(data: TrainingData) -> FarRows:
    """Find the far rows of the training data.

    A first pass draws a subsample, from which the fences are estimated. A second pass finds the rows beyond the fences;
    it is skipped if the smallest gap of all rows proves that no row is far.
    """
    block, _ = data.subsampled(max(SAMPLE, SAMPLE_PER_CLASS * data.n_classes))
    present = block.present
    sample = block if present.all() else block.taken(present)
    start = _near_centres(sample, data)
    if start is None:
        return NO_FAR_ROWS
    fences = find_fences(sample, data.n_classes, data.c, start=start)
    if data.least_gap >= fences.safe_gap(data.c):
        return NO_FAR_ROWS
    return FarRows(fences, *data.fold(_far_rows, columns_joined, fences, data.c))


def _near_centres(sample: LabelledBlock, data: TrainingData) -> Array | None:
    r"""Return starting points for the search for the robust centres, or None if it is proven that no row is far.

    All distances are in units of 1/√c. Let R be the largest distance of a row from the origin, and D the largest
    distance of a robust centre from the origin. For each class, compute the third quartile of the distances of its rows
    from the origin, and let q be the smallest of these quartiles. By the triangle inequality, every row is within R + D
    of the centre of its class, and the third quartile of the distances from this centre is at least q - D. With
    B = BEYOND, only rows at a distance of more than q - D + B from the centre can be far. Hence no row is far if
    :math:`2 D \le q + B - R`. The code requires this for D + FENCE_STEP instead of D, because the centres of fences are
    computed with an error.
    """
    n_classes, c = data.n_classes, data.c
    M = np.zeros((n_classes, data.n_features))
    counts = np.bincount(sample.codes, minlength=n_classes)
    if data.n_features > FEW_DIMENSIONS or not data.least_gap > 0 or not counts.all():
        return M
    classes = _by_class(sample.X, sample.codes, sample.gaps, sample.row_weights, n_classes)
    quartile = min(_third_quartile(classes.gaps[part], classes.shares[part]) for part in classes.parts)
    most = (quartile + BEYOND - 2 * np.arccosh(data.least_gap**-0.5)) / 2 - FENCE_STEP
    for _ in range(PROOF_STEPS if most > 0 else 0):
        pulls, hessians = _derivatives(classes, M, c)
        assert hessians is not None
        if np.all(2 * np.arccosh(row_gaps(M, c) ** -0.5) + _errors(pulls, hessians) <= most):
            return None
        M, _ = _moved(M, pulls, hessians, c)
    return M


def _errors(pulls: Array, hessians: Array) -> Array:
    r"""Return upper bounds on the distances from the current points to the robust centres, in units of 1/√c.

    There is one point per class; ``pulls`` and ``hessians`` are the negative gradients g and the Hessians of
    :math:`\sum w \log \cosh \rho` at these points. Along a geodesic, the absolute value of the third derivative
    of log cosh ρ is at most twice the second derivative. Hence the slope of the sum reaches 0 within the distance
    :math:`-\tfrac12 \log(1 - 2 \|g\| / \lambda)`, where λ is the smallest eigenvalue of the Hessian. The bound is
    infinite if :math:`2 \|g\| \ge \lambda`.
    """
    least = np.maximum(np.linalg.eigvalsh(hessians)[:, 0] - 2 * RIDGE, 0.0)
    lengths = 2 * np.linalg.norm(pulls, axis=1)
    known = lengths < least
    return np.where(known, -0.5 * np.log1p(-lengths / np.where(known, least, np.inf)), np.inf)


def _third_quartile(gaps: Array, shares: Array) -> float:
    """Return the third quartile of the distances of rows from the origin, in units of 1/√c.

    The rows are given by their gaps 1 - c‖x‖² and their weights, ``shares``.
    """
    order = np.argsort(-gaps)
    return float(2 * np.arccosh(_quantiles(gaps[order], shares[order], (0.75,))[0] ** -0.5))


def leave_out_far_rows(data: TrainingData, classes: Array) -> tuple[TrainingData, str]:
    """Return training data in which far rows have weight 0, and a message that lists the first far rows.

    The message is empty if there are no far rows.
    """
    far = find_far_rows(data)
    if far.fences is None or not len(far.rows):
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


def find_fences(block: LabelledBlock, n_classes: int, c: float, *, start: Array | None = None) -> Fences:
    """Estimate the fence of each class: the distance from its robust centre beyond which a row is far.

    The search for the centres begins at ``start``.
    """
    present = block.present
    part = block if present.all() else block.taken(present)
    weights, codes = part.row_weights, part.codes
    centres = robust_centres(part.X, codes, part.gaps, weights, n_classes, c, start=start, shortest=FENCE_STEP)
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
    X: Array,
    codes: Array,
    gaps: Array,
    weights: Array,
    n_classes: int,
    c: float,
    *,
    start: Array | None = None,
    shortest: float = SHORTEST,
) -> Array:
    r"""Return the robust centre of each class, which minimises :math:`\sum w \log \cosh \rho`.

    The sum is over the rows of the class, w is the weight of a row, and ρ is its distance to the centre in units of
    1/√c. The iteration starts at ``start``, by default at the origin, and stops if no step is longer than
    ``shortest``.
    """
    classes = _by_class(X, codes, gaps, weights, n_classes)
    M = np.zeros((n_classes, X.shape[1])) if start is None else start
    for _ in range(STEPS):
        M, longest = _moved(M, *_derivatives(classes, M, c), c)
        if longest <= shortest:
            break
    return M


def _by_class(X: Array, codes: Array, gaps: Array, weights: Array, n_classes: int) -> Grouped:
    """Sort rows by class, and store their coordinates as the columns of an array."""
    order, counts = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=n_classes)
    shares = weights / np.bincount(codes, weights, n_classes)[codes]
    ends = np.cumsum(counts).tolist()
    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    columns = np.ascontiguousarray(X[order].T, dtype=np.float64)
    return Grouped(columns, gaps[order], shares[order], counts, parts)


def _derivatives(rows: Grouped, M: Array, c: float) -> tuple[Array, Array | None]:
    r"""Return the negative gradients of :math:`\sum w \log \cosh \rho` at the rows of M, and the Hessians.

    Row i of M is the base point for the rows of class i, whose weights w sum to 1. The negative gradient is the
    weighted mean of the Klein coordinates k = √c z / cosh ρ of the rows about this point, where z is the tangent vector
    of length sinh(ρ) / √c that points to the row. The Hessian is the weighted mean of I - k kᵀ, plus RIDGE on the
    diagonal. In more than FEW_DIMENSIONS dimensions the Hessians are not computed, and None is returned instead.
    """
    d, counts = M.shape[1], rows.counts
    m = np.repeat(M.T, counts, axis=1)
    s = rows.columns - m
    bend = np.einsum("ji,ji->i", s, s)
    bend *= np.repeat(c / row_gaps(M, c), counts)
    factors = 2 * np.sqrt(c) / (rows.gaps + 2 * bend)
    if d > FEW_DIMENSIONS:
        factors *= rows.shares
        sums = [(s[:, part] @ factors[part], factors[part] @ bend[part]) for part in rows.parts]
        return np.stack([pull - along * own for (pull, along), own in zip(sums, M, strict=True)]), None
    s -= m * bend
    s *= factors
    weighted = s * rows.shares
    pulls = np.stack([weighted[:, part].sum(axis=1) for part in rows.parts])
    products = np.stack([weighted[:, part] @ s[:, part].T for part in rows.parts])
    return pulls, (1 + RIDGE) * np.eye(d) - products


def distances_to_centre(block: LabelledBlock, c: float) -> Array:
    """Return the distance of each row to the robust centre of all rows, in units of 1/√c."""
    one = np.zeros(len(block.X), dtype=np.int64)
    centres = robust_centres(block.X, one, block.gaps, block.row_weights, 1, c)
    return distances_to_own(block.X, one, block.gaps, centres, c)


def distances_to_own(X: Array, codes: Array, gaps: Array, centres: Array, c: float) -> Array:
    """Return the distance of each row to the centre of its class, in units of 1/√c."""
    s = X - centres[codes]
    squares = np.einsum("ij,ij->i", s, s)
    return 2 * np.arcsinh(np.sqrt(squares / gaps * (c / row_gaps(centres, c))[codes]))


def _moved(M: Array, pulls: Array, hessians: Array | None, c: float) -> tuple[Array, float]:
    """Move each row of M along a geodesic by a Newton step; return the new points and the length of the longest step.

    Lengths are in units of 1/√c. Steps longer than LONGEST are shortened to LONGEST; the returned length is the length
    before shortening. If ``hessians`` is None, they are replaced with their upper bound, the identity.
    """
    step = pulls if hessians is None else np.linalg.solve(hessians, pulls[:, :, None])[:, :, 0]
    lengths = np.linalg.norm(step, axis=1, keepdims=True)
    step = step * np.minimum(1.0, LONGEST / np.maximum(lengths, LONGEST))
    short = np.minimum(lengths, LONGEST)
    t = np.tanh(short / 2) / np.where(short > 0, short, 1.0) * step / np.sqrt(c)
    dot, mm, tt = c * np.sum(M * t, axis=1), c * np.sum(M**2, axis=1), c * np.sum(t**2, axis=1)
    below = 1 + 2 * dot + mm * tt
    moved = ((1 + 2 * dot + tt)[:, None] * M + row_gaps(M, c)[:, None] * t) / below[:, None]
    # If all rows of a class are at the rim, the new centre may be rounded to a point on the rim or outside the ball.
    # The centre then stays where it was, inside the ball.
    return np.where(row_gaps(moved, c)[:, None] > 0, moved, M), float(lengths.max(initial=0.0))


def _quantiles(values: Array, weights: Array, shares: Sequence[float]) -> list[float]:
    """Return the weighted quantiles of sorted values at the given ``shares`` of the total weight, such as 0.75."""
    sums = np.cumsum(weights)
    return [float(values[min(len(values) - 1, np.searchsorted(sums, share * sums[-1]))]) for share in shares]


def _far_rows(block: LabelledBlock, fences: Fences, c: float) -> tuple[Array, Array, Array]:
    """Return the far rows of a block: their positions in the source, their class indices and their weights."""
    far = np.flatnonzero(fences.far(block, c) & block.present)
    return block.start + far, block.codes[far].astype(np.int64), block.row_weights[far]
