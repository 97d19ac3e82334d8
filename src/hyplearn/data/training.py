"""Training data: validated points from any source, in blocks with class indices and weights.

For points in memory, these blocks are built once and kept; for other sources, they are built again in every pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, Self

import numpy as np

from hyplearn.data.arrays import ArrayPoints
from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.class_counts import ClassCounts
from hyplearn.data.folding import Merge, columns_joined, fold_parts, in_any_order, joined, map_in_threads
from hyplearn.data.labels import object_codes
from hyplearn.data.points import Block, Function, PointSource, on_pieces
from hyplearn.geometry.border import pull_inside
from hyplearn.geometry.kernels import row_gaps
from hyplearn.numerics import uniforms
from hyplearn.types import Array


@checkpointable
class Costs(NamedTuple):
    """Smallest positive cost of a row (infinity if there is none), largest cost, and sum of the costs.

    The cost of a row is its weight, or its weight times C.
    """

    lowest: float
    highest: float
    total: float

    @classmethod
    def of(cls, costs: Array) -> Self:
        """Return the smallest positive cost, the largest cost and the sum of the given costs."""
        lowest = costs.min(where=costs > 0, initial=np.inf)
        return cls(float(lowest), float(costs.max(initial=0.0)), float(costs.sum()))

    @classmethod
    def merged(cls, parts: Sequence["Costs"]) -> Self:
        """Merge the costs of several blocks."""
        lowest, highest, totals = zip(*parts, strict=True)
        return cls(min(lowest), max(highest), sum(totals))


in_any_order(Costs.merged)


class LabelledBlock(NamedTuple):
    """Validated rows of the training data: consecutive rows of the source, or rows selected from these."""

    X: Array  # points inside the ball, float32 or float64, of shape (n, d)
    codes: Array  # index of each row's label in the sorted classes
    weights: Array | None  # sample weight times class weight, 0 for rows left out of the fit; None if all are 1
    gaps: Array  # 1 - c‖x‖² of every row
    start: int = 0  # position of the first row in the source; selecting rows does not change it

    def taken(self, index: Array | slice) -> "LabelledBlock":
        """Return a block with the rows at the given positions and the same ``start``."""
        weights = None if self.weights is None else self.weights[index]
        return LabelledBlock(self.X[index], self.codes[index], weights, self.gaps[index], self.start)

    @property
    def present(self) -> Array:
        """Mask of the rows with a positive weight."""
        return np.ones(len(self.X), dtype=bool) if self.weights is None else self.weights > 0

    @property
    def row_weights(self) -> Array:
        """Weight of each row."""
        return np.ones(len(self.X)) if self.weights is None else self.weights


@dataclass(frozen=True)
class Encoder:
    """Callable that converts a block of a source to a labelled block.

    ``classes`` contains the sorted class labels, and ``factors`` contains the weight of each class. If ``project`` is
    True, rows on or outside the rim of the ball are moved inside, about as close to the rim as float64 permits.
    """

    classes: Array
    factors: Array
    c: float
    project: bool = False
    # Function that returns a mask of the far rows of a block (see far_rows.py), which get weight 0.
    far: Callable[[LabelledBlock, float], Array] | None = None

    def __call__(self, block: Block, gaps: Array | None = None) -> LabelledBlock:
        """Encode a validated block; ``gaps`` contains 1 - c‖x‖² of its rows, or is None if not yet computed."""
        X, codes = block.X, self.codes(block.y)
        gaps = row_gaps(X, self.c) if gaps is None else gaps
        if self.project and not np.all(gaps > 0):
            # Compute in float64, so that points give the same result whether they are stored as float32 or float64.
            X = np.ascontiguousarray(pull_inside(X.astype(np.float64), self.c))
            gaps = row_gaps(X, self.c)
        labelled = LabelledBlock(X, codes, self._weights(block.weights, codes), gaps, block.start)
        if self.far is None:
            return labelled
        return labelled._replace(weights=np.where(self.far(labelled, self.c), 0.0, labelled.row_weights))

    def codes(self, y: Array | None) -> Array:
        """Return the index of each label in ``classes``."""
        assert y is not None
        if self.classes.dtype.kind == "O":
            return object_codes(y, self.classes)
        if len(self.classes) == 2:
            return (y == self.classes[1]).view(np.int8)
        if self.classes.dtype.kind in "iu" and int(self.classes[-1]) - int(self.classes[0]) == len(self.classes) - 1:
            return y.astype(np.int64) - int(self.classes[0])
        return np.searchsorted(self.classes, y)

    def _weights(self, weights: Array | None, codes: Array) -> Array | None:
        if np.all(self.factors == 1):
            return weights
        factors = self.factors[codes]
        return factors if weights is None else factors * weights


@dataclass(frozen=True)
class EncodedPoints:
    """Labelled blocks of points in memory; their class indices and gaps are stored and need not be recomputed."""

    points: PointSource
    blocks: list[LabelledBlock]

    def fold(
        self,
        function: Function,
        merge: Merge,
        *arguments: Any,
        build: Callable[..., Any] | None = None,
        threads: int = 1,
    ) -> Any:
        """Run one pass: compute ``function(block, *arguments)`` for every labelled block, and merge the results.

        If ``build`` is given, each block is split into pieces, and the function is called with ``build(piece)`` for
        each piece, not with the whole block. The source ``points`` counts the pass and reports its progress.
        """
        self.points.n_passes += 1
        if build is not None:
            function, arguments = on_pieces, (build, function, merge, arguments)
        return fold_parts(self.points.map_blocks(self.blocks, function, arguments, threads), merge)


@dataclass(frozen=True)
class TrainingData:
    """Validated points with labels, and the number of rows and the total weight of each class."""

    # Source of the points; an ArrayPoints if they are in memory.
    points: PointSource
    encoder: Encoder
    # Number of rows of each class.
    counts: Array
    # Total weight of each class.
    totals: Array
    # Smallest positive weight of a row, largest weight, and sum of the weights.
    weights: Costs
    threads: int = 1
    # Gaps 1 - c‖x‖² of the rows of each block; empty if they were not kept when the classes were counted.
    gaps: Sequence[Array] = ()
    # Smallest gap of all rows, before rows outside the ball are moved inside; 0 if it is not known.
    least_gap: float = 0.0

    @classmethod
    def counted(cls, points: PointSource, found: ClassCounts, encoder: Encoder, threads: int) -> Self:
        """Create training data from the result of the pass that counts the classes."""
        totals = encoder.factors * found.totals
        lowest = (encoder.factors * found.lowest)[totals > 0].min(initial=np.inf)
        weights = Costs(float(lowest), float((encoder.factors * found.highest).max()), float(totals.sum()))
        return cls(points, encoder, found.counts, totals, weights, threads, found.gaps, found.outside.gap)

    @classmethod
    def of_arrays(
        cls, X: Array, codes: Array, weights: Array | None, c: float, *, n_classes: int, threads: int = 1
    ) -> Self:
        """Create training data from validated points and the class indices (``codes``) of their labels."""
        counts: Array = np.bincount(codes, minlength=n_classes)
        totals: Array = counts.astype(np.float64) if weights is None else np.bincount(codes, weights, n_classes)
        span = Costs(1.0, 1.0, float(len(X))) if weights is None else Costs.of(weights)
        encoder = Encoder(np.arange(n_classes), np.ones(n_classes), c)
        return cls(ArrayPoints(X, codes, weights), encoder, counts, totals, span, threads)

    @property
    def c(self) -> float:
        """Absolute value of the curvature of the space."""
        return self.encoder.c

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.totals)

    @property
    def n_features(self) -> int:
        """Number of coordinates."""
        return self.points.n_features

    @property
    def in_memory(self) -> bool:
        """Whether the points are in memory; if so, labelled blocks are kept between passes."""
        return self.points.in_memory

    @cached_property
    def blocks(self) -> list[LabelledBlock]:
        """All labelled blocks, built at the first access and kept; used only if the points are in memory."""
        known = zip(self.points.blocks(), self.gaps or repeat(None), strict=False)
        return list(map_in_threads(lambda pair: self.encoder(*pair), known, self.threads))

    @property
    def encoded_points(self) -> "EncodedPoints":
        """Labelled blocks of points in memory."""
        return EncodedPoints(self.points, self.blocks)

    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """Run one pass: compute ``function(block, *arguments)`` for every labelled block, and merge the results."""
        if not self.in_memory:
            return self.points.fold(function, merge, *arguments, build=self.encoder, threads=self.threads)
        self.points.n_passes += 1
        return fold_parts(map_in_threads(function, self.blocks, self.threads, arguments), merge)

    def taken(self, index: Array) -> tuple[Array, Array]:
        """Return the points and the class indices of the rows at the given sorted positions."""
        if not len(index):  # a pass over the data would find nothing
            return np.empty((0, self.n_features)), np.empty(0, dtype=np.int64)
        return self.fold(_rows_at, columns_joined, index)

    def gathered(self) -> LabelledBlock:
        """Return all rows as one block; they are not copied if they are already a single block in memory."""
        if self.in_memory and len(self.blocks) == 1:
            return self.blocks[0]
        return LabelledBlock(*self.fold(_columns, columns_joined))

    def subsampled(self, most: int, sides: Array | None = None) -> tuple[LabelledBlock, bool]:
        """Return a subsample of roughly ``most`` rows or fewer, and whether rows were left out.

        ``sides`` maps each class to the number of its group, which is 0 or 1 in a binary problem; by default, each
        class is a separate group. If rows are left out, each group keeps roughly ``most`` divided by the number of
        groups, or fewer, and the weights of the kept rows are increased to represent the rows that were left out. The
        selection is reproducible: it depends only on ``most``, the number of rows of each group, and each row's group
        and position.
        """
        sides = np.arange(self.n_classes) if sides is None else sides
        counts = np.bincount(sides, self.counts).astype(np.int64)
        strides = subsample_strides(counts, most)
        if strides.max() == 1:
            return self.gathered(), False
        if self.in_memory:
            return LabelledBlock(*self.fold(_subsample_block, columns_joined, sides, strides)), True
        arguments = self.encoder, sides, strides
        return LabelledBlock(
            *self.points.fold(_encode_subsample, columns_joined, *arguments, threads=self.threads)
        ), True

    def reweighted(self, weights: Array) -> "TrainingData":
        """Return the training data with the given row weights; cross-validation gives held-out rows weight 0."""
        parts = [block._replace(weights=weights[block.start : block.start + len(block.X)]) for block in self.blocks]
        codes = joined([block.codes for block in parts])
        totals = np.bincount(codes, weights, minlength=self.n_classes)
        data = replace(self, totals=totals, weights=Costs.of(weights))
        data.__dict__["blocks"] = parts
        return data


def _rows_at(block: LabelledBlock, index: Array) -> tuple[Array, Array]:
    first, last = np.searchsorted(index, [block.start, block.start + len(block.X)])
    own = index[first:last] - block.start
    return block.X[own], block.codes[own]


def _columns(block: LabelledBlock) -> tuple[Array, Array, Array, Array]:
    return block.X, block.codes, block.row_weights, block.gaps


def _subsample_block(block: LabelledBlock, sides: Array, strides: Array) -> tuple[Array, Array, Array, Array]:
    strides = strides[sides]
    return _scale_weights(block.taken(subsample(block.start, block.codes, strides)), strides)


def _encode_subsample(
    block: Block, encoder: Encoder, sides: Array, strides: Array
) -> tuple[Array, Array, Array, Array]:
    """Compute the result of :func:`_subsample_block` for a block that is not encoded yet.

    Only the drawn rows are encoded.
    """
    assert block.y is not None
    y, strides = block.y, strides[sides]
    drawn = _draw_positions(block.start, len(y), lambda positions: encoder.codes(y[positions]), strides)
    return _scale_weights(encoder(block.taken(drawn)), strides)


def _scale_weights(part: LabelledBlock, strides: Array) -> tuple[Array, Array, Array, Array]:
    return part.X, part.codes, part.row_weights * strides[part.codes], part.gaps


def subsample_strides(counts: Array, most: int) -> Array:
    """Return a stride k for each class: one in k of its rows is kept, so that roughly ``most`` rows or fewer remain.

    All strides are 1 if there are at most ``most`` rows. Otherwise, roughly ``most / len(counts)`` rows or fewer
    remain of each class.
    """
    if counts.sum() <= most:
        return np.ones_like(counts)
    return np.maximum(1, -(-counts // max(1, most // len(counts))))


def subsample(start: int, codes: Array, strides: Array) -> Array:
    """Return the indices of the rows to keep in a block: about one in k rows of a class with stride k.

    For each stride k, the positions in the source are divided into runs of length k, and one position of each run is
    drawn at random. The row at this position is kept if its class has the stride k. Other rows are not examined, so
    that a small subsample takes little time.
    """
    return _draw_positions(start, len(codes), codes.__getitem__, strides)


def _draw_positions(start: int, n_rows: int, codes_at: Callable[[Array], Array], strides: Array) -> Array:
    """Compute the result of :func:`subsample` for a block of ``n_rows`` rows that starts at position ``start``.

    The function ``codes_at`` returns the class indices of the rows at the given positions in the block.
    """
    stop, kept = start + n_rows, []
    for stride in np.unique(strides):
        cells = np.arange(start // stride, (stop - 1) // stride + 1)
        positions = cells * stride + (uniforms(0, cells) * stride).astype(np.int64) - start
        positions = positions[(positions >= 0) & (positions < n_rows)]
        kept.append(positions[strides[codes_at(positions)] == stride])
    return np.sort(np.concatenate(kept)) if len(kept) > 1 else kept[0]
