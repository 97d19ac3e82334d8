"""Rows built from training data.

The rows are kept between passes if the points are in memory and the rows do not exceed a size limit. Otherwise they are
rebuilt in every pass. Rows are *explicit* if they are stored as a matrix, and *implicit* if they are stored as points
and a few coefficients per row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from hyplearn.cone import cone_rows
from hyplearn.data.folding import map_in_threads
from hyplearn.data.points import Block, PointSource
from hyplearn.data.training import Costs, EncodedPoints, Encoder, LabelledBlock, TrainingData
from hyplearn.rows.memory import (
    ClassRows,
    HyperboloidRows,
    MemoryRows,
    Rows,
    RowSource,
    join_rows,
    sample_rows,
    scale_costs,
    seed_of,
)
from hyplearn.tangent import Features, implicit_rows
from hyplearn.types import Array

# Maximum number of dual variables that are kept if the rows may not fit into memory. Together with the positions of
# their rows, they take 32 MiB.
MOST_KEPT = 2**21
# Maximum number of columns for which signed cone coordinates are stored as explicit rows, which compiled kernels
# require. With more columns, the rows are stored implicitly, and are made explicit in small pieces for these kernels.
EXPLICIT_COLUMNS = 16
# Maximum number of elements of explicit rows that are kept between passes (128 MiB).
EXPLICIT_NUMBERS = 2**24
# Maximum number of rows whose coefficients and costs are kept between passes (192 MiB). For more rows, writing and
# reading these numbers takes longer than computing them in every pass, and in two dimensions they need more memory than
# the points.
KEPT_ROWS = 2**23
# A RowBuilder builds rows from a labelled block. A BlockBuilder builds rows from one block of a source: a labelled
# block if the points are in memory, and otherwise a block of the point source, which still has to be encoded.
RowBuilder: TypeAlias = Callable[[LabelledBlock], Rows]
BlockBuilder: TypeAlias = Callable[[Any], Rows]


def row_costs(block: LabelledBlock, C: float) -> Array:
    """Return the cost of each row, which is C times its weight; rows of weight 0 have cost 0 even if C is infinite."""
    if block.weights is None:
        return np.full(len(block.X), C)
    return C * block.weights if np.inf > C else np.where(block.weights > 0, np.inf, 0.0)


@dataclass(frozen=True)
class SignedRowBuilder:
    """Callable that builds the rows of a binary problem: the features of each point at p, times its label ±1."""

    positive: int
    p: Array
    features: Features
    c: float
    C: float

    def __call__(self, block: LabelledBlock) -> Rows:
        """Build the rows of a block."""
        rows = implicit_rows(block.X, self.p, features=self.features, c=self.c, gaps=block.gaps)
        _sign(block.codes, self.positive, rows.along, rows.base)
        return Rows(rows.X, rows.p, rows.along, rows.base, row_costs(block, self.C), start=block.start)


@dataclass(frozen=True)
class ClassRowBuilder:
    """Callable that builds rows of cone coordinates about ``centre`` (:mod:`hyplearn.cone`), with class codes.

    The constant column of cone coordinates, which is the last, is included only if ``intercept`` is True.
    """

    centre: Array
    c: float
    C: float
    intercept: bool
    n_classes: int

    def __call__(self, block: LabelledBlock) -> ClassRows:
        """Build the rows of a block."""
        space, times = cone_rows(block.X, self.centre, c=self.c, gaps=block.gaps)
        return ClassRows(
            *(space.X, space.p, space.along, space.base, row_costs(block, self.C)),
            start=block.start,
            times=times,
            inverse_root=1 / float(np.sqrt(self.c)) if self.intercept else 0.0,
            codes=block.codes.astype(np.int64, copy=False),
            n_classes=self.n_classes,
        )


@dataclass(frozen=True)
class ConeRowBuilder:
    """Callable that builds the rows of a binary problem without a reference point.

    The rows are the cone coordinates of the points about ``centre``, times the labels ±1.
    """

    positive: int
    centre: Array
    c: float
    C: float
    intercept: bool

    def __call__(self, block: LabelledBlock) -> Rows:
        """Build the rows of a block."""
        rows = ClassRowBuilder(self.centre, self.c, self.C, self.intercept, 2)(block)
        signs = np.where(block.codes == self.positive, 1.0, -1.0)
        if rows.shape[1] <= EXPLICIT_COLUMNS:
            return Rows(rows[:], np.zeros(rows.shape[1]), signs, np.zeros(len(signs)), rows.costs, start=block.start)
        return HyperboloidRows(
            *(rows.X, rows.p, signs * rows.along, signs * rows.base, rows.costs),
            start=block.start,
            times=signs * rows.times,
            inverse_root=rows.inverse_root,
        )


@njit(cache=True, nogil=True)
def _sign(codes, positive, along, base):  # type: ignore[no-untyped-def]
    """Negate the coefficients of all rows that do not belong to the positive class, in place."""
    for i in range(codes.size):
        sign = 1.0 if codes[i] == positive else -1.0
        along[i] *= sign
        base[i] *= sign


def build_rows(
    data: TrainingData,
    build: RowBuilder,
    C: float,
    n_columns: int,
    *,
    n_classes: int = 0,
    threads: int | None = None,
    explicit_numbers: int = EXPLICIT_NUMBERS,
) -> RowSource:
    """Return the rows of the training data; the cost of each row is C times its weight.

    Rows are kept between passes if the points are in memory and there are at most ``KEPT_ROWS`` rows. Explicit rows
    must also have at most ``explicit_numbers`` elements in total. All other rows are rebuilt in every pass.
    """
    threads = data.threads if threads is None else threads
    is_explicit = isinstance(build, ConeRowBuilder) and n_columns <= EXPLICIT_COLUMNS
    rebuilt = data.n_rows > KEPT_ROWS or (is_explicit and data.n_rows * n_columns > explicit_numbers)
    if data.in_memory and not rebuilt:
        return KeptRows(build, data.blocks, data.n_rows, n_columns, n_classes, threads, _known_costs(data, C))
    return stream_rows(data, build, C, n_columns, n_classes, threads)


def _known_costs(data: TrainingData, C: float) -> Costs:
    lowest, highest, total = data.weights
    return Costs(C * lowest, C * highest if highest else 0.0, C * total)


def stream_rows(
    data: TrainingData, build: RowBuilder, C: float, n_columns: int, n_classes: int, threads: int
) -> "StreamedRows":
    """Return the rows of the training data, rebuilt in every pass; the cost of each row is C times its weight."""
    known = data.n_rows, n_columns, n_classes, threads, _known_costs(data, C)
    if data.in_memory:
        return StreamedRows(data.encoded_points, build, *known, most_kept=np.inf)
    return StreamedRows(data.points, partial(build_encoded, encoder=data.encoder, build=build), *known)


@dataclass(frozen=True, eq=False)
class KeptRows(MemoryRows):
    """Rows of points in memory, built from labelled blocks at the first pass and kept for later passes."""

    build: RowBuilder
    labelled: list[LabelledBlock]
    n_rows: int
    n_columns: int
    n_classes: int = 0
    threads: int = 1
    known_costs: Costs | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return self.n_rows, self.n_columns

    @cached_property
    def cost_range(self) -> Costs:
        """Smallest positive cost, largest cost, and total cost; computed from the rows unless they are known."""
        return super().cost_range if self.known_costs is None else self.known_costs

    @cached_property
    def kept(self) -> list[Rows]:
        """Blocks of rows, which are built when they are first used."""
        built = map_in_threads(self.build, self.labelled, self.threads)
        return [part for rows in built for part in rows.blocks()]

    def blocks(self) -> Iterator[Rows]:
        """Iterate over the blocks of rows."""
        return iter(self.kept)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "KeptRows":
        """Apply ``function(block, *arguments)`` to every block, and return the resulting rows."""
        other = replace(self, known_costs=None)
        other.__dict__["kept"] = [function(block, *arguments) for block in self.kept]
        return other


@dataclass(frozen=True)
class StreamedRows(RowSource):
    """Rows that are built from the blocks of a source in every pass.

    ``known_costs`` contains the range of their costs, or is None if this range has to be computed from the rows.
    """

    points: PointSource | EncodedPoints
    build: BlockBuilder
    n_rows: int
    n_columns: int
    n_classes: int = 0
    threads: int = 1
    known_costs: Costs | None = None
    most_kept: float = MOST_KEPT

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return self.n_rows, self.n_columns

    @cached_property
    def cost_range(self) -> Costs:
        """Smallest positive cost, largest cost, and total cost; computed in a separate pass unless they are known."""
        return self.known_costs if self.known_costs is not None else self.fold(_cost_range, Costs.merged)

    @property
    def fold(self) -> Callable[..., Any]:
        """Function ``fold(function, merge, *arguments)`` that runs one pass, for which all rows are rebuilt."""
        return partial(self.points.fold, build=self.build, threads=self.threads)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "StreamedRows":
        """Return rows whose blocks are the results of ``function(block, *arguments)``, computed in every pass."""
        build = partial(_build_altered, build=self.build, function=function, arguments=arguments)
        return replace(self, build=build, known_costs=None)

    def sample(self, size: int, rng: np.random.Generator) -> Rows:
        """Load a random sample, spread evenly over the rows, as explicit rows; costs are scaled to keep their sum."""
        arguments = self.build, self.n_rows, size, seed_of(rng)
        drawn = self.points.fold(_sample, join_rows, *arguments, threads=self.threads)
        return replace(scale_costs(drawn, self.cost_range), threads=self.threads)

    def thinned(self, size: int, rng: np.random.Generator) -> "StreamedRows":
        """Return a random sample, spread evenly over the rows; costs are divided by the fraction of sampled rows.

        The sample is rebuilt in every pass.
        """
        build = partial(_build_thinned, build=self.build, n=self.n_rows, size=size, seed=seed_of(rng))
        return replace(self, build=build, n_rows=size, known_costs=None)


def build_encoded(block: Block, encoder: Encoder, build: RowBuilder) -> Rows:
    """Encode the labels of a block, and build its rows."""
    return build(encoder(block))


def _build_altered(block: Any, build: BlockBuilder, function: Callable[..., Rows], arguments: Any) -> Rows:
    return function(build(block), *arguments)


def _build_thinned(block: Any, build: BlockBuilder, n: int, size: int, seed: int) -> Rows:
    rows = build(block.taken(sample_rows(n, size, seed, block)))
    return replace(rows, costs=rows.costs * (n / size))


def _sample(block: Any, build: BlockBuilder, n: int, size: int, seed: int) -> Rows:
    """Return explicit rows for those points of a block that belong to a random sample.

    The sample contains about ``size`` of the ``n`` points of all blocks.
    """
    return build(block.taken(sample_rows(n, size, seed, block))).taken(slice(None))


def _cost_range(rows: Rows) -> Costs:
    return Costs.of(rows.costs)
