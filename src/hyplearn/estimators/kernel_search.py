"""Choice of the scale of a kernel and of C by validation: a few fits to a part of the rows, with warm starts."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hyplearn.data.training import LabelledBlock
from hyplearn.kernels.nystrom import KernelMap, median_distance, nystrom
from hyplearn.numerics import uniforms
from hyplearn.rows.kernel import kernel_rows
from hyplearn.rows.memory import ClassRows
from hyplearn.solvers.softmax import solve_softmax
from hyplearn.types import Array

# Rows that take part: enough to tell scales apart on all sets that were made for the choice of these numbers.
SEARCH_ROWS = 6000
# Up to so many rows each third is held out in turn, beyond only one: a third of few rows says little.
FEW_ROWS, PARTS = 2000, 3
# Values of C tried at the median distance as scale, then factors of the scale and of the best C. Far from its scale the
# Laplacian kernel is 1 - ρ/s, where a larger scale is a smaller C: the two change together.
FIRST_COSTS = (1.0, 10.0, 100.0, 1000.0)
SCALE_FACTORS = ((0.25, 1.0), (0.25, 0.25), (4.0, 4.0))
FINER = (0.3, 3.0)
# A relative gap at which log-losses of held-out rows no longer change in their third digit.
SEARCH_TOL = 1e-3


class Choice(NamedTuple):
    """Scale and C of the least log-loss, the weights there, and all that was tried."""

    scale: float
    C: float
    start: Array | None
    tried: Array  # scale, C and log-loss, one row per fit


def choose_scale_and_cost(
    rows: LabelledBlock,
    n_classes: int,
    landmarks: Array,
    kernel: str,
    c: float,
    *,
    scale: float | None,
    C: float | None,
) -> Choice:
    """Scale and C of the least log-loss on rows held out, unless they are given."""
    search = KernelSearch(rows, n_classes, landmarks, kernel, c)
    first = median_distance(landmarks, c) if scale is None else scale
    if scale is not None and C is not None:
        return Choice(scale, C, None, np.empty((0, 3)))
    for cost in FIRST_COSTS if C is None else (C,):
        search.fit(first, cost)
    best = search.best()
    if scale is None:
        for factor, share in SCALE_FACTORS if C is None else [(factor, 1.0) for factor in (0.25, 4.0)]:
            search.fit(factor * first, share * best.C)
    if C is None:
        best = search.best()
        for factor in FINER:
            search.fit(best.scale, factor * best.C)
    return search.best()


@dataclass
class KernelSearch:
    """Fits to parts of the rows and their log-losses on the others; weights of rows are made to be 1 on average."""

    rows: LabelledBlock
    n_classes: int
    landmarks: Array
    kernel: str
    c: float
    tried: list[tuple[float, float, float]] = field(default_factory=list)
    starts: dict[tuple[float, int], Array] = field(default_factory=dict)
    made: tuple[float, Array] = (0.0, np.empty(0))  # scale of the last fit and its rows

    def __post_init__(self) -> None:
        weights = self.rows.row_weights
        self.rows = self.rows._replace(weights=weights / weights.mean())
        self.parts = part_numbers(self.rows.codes)
        self.n_parts = PARTS if len(weights) <= FEW_ROWS else 1

    def fit(self, scale: float, C: float) -> None:
        """Log-loss of the rows held out, over all parts."""
        if self.made[0] != scale:
            kernel_map = self.map_of(scale)
            self.made = scale, kernel_rows(kernel_map, self.rows.X, self.rows.gaps)
        sums = np.sum([self._held_out(part, scale, C) for part in range(self.n_parts)], axis=0)
        self.tried.append((scale, C, float(sums[0] / max(sums[1], 1e-300))))

    def map_of(self, scale: float) -> KernelMap:
        """The map of a scale."""
        return nystrom(self.landmarks, self.kernel, scale, self.c, len(self.landmarks))

    def _held_out(self, part: int, scale: float, C: float) -> tuple[float, float]:
        """Sum of the log-losses of a part in a fit to the others, and of its weights."""
        codes, weights, R = self.rows.codes.astype(np.int64), self.rows.row_weights, self.made[1]
        held = self.parts == part
        source = ClassRows.of(R[~held], codes[~held], C * weights[~held], self.n_classes)
        W = solve_softmax(source, tol=SEARCH_TOL, start=self.starts.get((scale, part))).W
        self.starts[scale, part] = W
        # A class without rows to learn from says nothing about scale and C.
        known = held & (np.bincount(codes[~held], minlength=self.n_classes)[codes] > 0)
        scores, own = R[known] @ W.T, codes[known]
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(own)), own]
        return float(weights[known] @ losses), float(weights[known].sum())

    def best(self) -> Choice:
        """The fit of the least log-loss, the first of equal ones."""
        tried = np.array(self.tried)
        scale, C, _ = tried[np.argmin(tried[:, 2])]
        return Choice(float(scale), float(C), self.starts.get((float(scale), 0)), tried)


def part_numbers(codes: Array) -> Array:
    """Number of the part of each row: random by position, and of each class as many rows in every part."""
    order = np.lexsort((uniforms(1, np.arange(len(codes))), codes))
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    # Rare classes begin with different parts, so that these are of equal size.
    return (ranks + codes) % PARTS
