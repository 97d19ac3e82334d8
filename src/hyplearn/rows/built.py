"""Rows built from training data: kept between passes if the points are in memory, otherwise rebuilt in every pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from hyplearn.cone import cone_rows
from hyplearn.data.folding import map_in_threads
from hyplearn.data.points import Block, PointSource
from hyplearn.data.training import Costs, Encoder, LabelledBlock, TrainingData
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

# Maximum number of dual variables to keep if the rows may not fit into memory: 32 MiB with their positions.
MOST_KEPT = 2**21
# Up to this many columns signed cone coordinates are explicit, for compiled kernels; more columns go to BLAS in pieces.
EXPLICIT_COLUMNS = 16
# Up to this many elements explicit rows of points in memory are kept between passes: 128 MiB.
EXPLICIT_NUMBERS = 2**24
# Up to this many rows the coefficients of implicit rows of points in memory are kept: 192 MiB. Above it, writing and
# reading them takes longer than computing them in every pass, and as much memory as the points.
KEPT_ROWS = 2**23
RowBuilder: TypeAlias = Callable[[LabelledBlock], Rows]
BlockBuilder: TypeAlias = Callable[[Block], Rows]


def row_costs(block: LabelledBlock, C: float) -> Array:
    """Cost of each row: C times its weight; infinity times 0 is 0."""
    if block.weights is None:
        return np.full(len(block.X), C)
    return C * block.weights if np.inf > C else np.where(block.weights > 0, np.inf, 0.0)


@dataclass(frozen=True)
class SignedRowBuilder:
    """Builds the rows of a binary problem: features at p times the label ±1, with C times the weight as cost."""

    positive: int
    p: Array
    features: Features
    c: float
    C: float

    def __call__(self, block: LabelledBlock) -> Rows:
        """Rows of a block."""
        rows = implicit_rows(block.X, self.p, features=self.features, c=self.c, gaps=block.gaps)
        _sign(block.codes, self.positive, rows.along, rows.base)
        return Rows(rows.X, rows.p, rows.along, rows.base, row_costs(block, self.C), start=block.start)


@dataclass(frozen=True)
class ClassRowBuilder:
    """Builds the rows of all classes: cone coordinates about the centre, with a last column only for an intercept."""

    centre: Array
    c: float
    C: float
    intercept: bool
    n_classes: int

    def __call__(self, block: LabelledBlock) -> ClassRows:
        """Rows of a block."""
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
    """Builds the rows of a binary problem without a reference point: signed cone coordinates."""

    positive: int
    centre: Array
    c: float
    C: float
    intercept: bool

    def __call__(self, block: LabelledBlock) -> Rows:
        """Rows of a block."""
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
    """Negate the rows of all classes except the positive one, in place."""
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
    """Rows of the training data, with C times their weights as costs.

    Rows of points in memory are kept between passes, explicit ones up to ``explicit_numbers`` elements.
    """
    threads = data.threads if threads is None else threads
    is_explicit = isinstance(build, ConeRowBuilder) and n_columns <= EXPLICIT_COLUMNS
    rebuilt = data.n_rows > KEPT_ROWS or (is_explicit and data.n_rows * n_columns > explicit_numbers)
    if data.in_memory and not rebuilt:
        return KeptRows(build, data.blocks, data.n_rows, n_columns, n_classes, threads)
    return stream_rows(data, build, C, n_columns, n_classes, threads)


def stream_rows(
    data: TrainingData, build: RowBuilder, C: float, n_columns: int, n_classes: int, threads: int
) -> "StreamedRows":
    """Rows of the training data, rebuilt in every pass, with C times their weights as costs."""
    lowest, highest, total = data.weights
    costs = Costs(C * lowest, C * highest if highest else 0.0, C * total)
    encoded = partial(build_encoded, encoder=data.encoder, build=build)
    kept = np.inf if data.in_memory else MOST_KEPT
    return StreamedRows(data.points, encoded, data.n_rows, n_columns, n_classes, threads, costs, kept)


@dataclass(frozen=True, eq=False)
class KeptRows(MemoryRows):
    """Rows of points in memory, built from labelled blocks when they are first needed and kept between passes."""

    build: RowBuilder
    labelled: list[LabelledBlock]
    n_rows: int
    n_columns: int
    n_classes: int = 0
    threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    @cached_property
    def kept(self) -> list[Rows]:
        """The blocks."""
        built = map_in_threads(self.build, self.labelled, self.threads)
        return [part for rows in built for part in rows.blocks()]

    def blocks(self) -> Iterator[Rows]:
        """The rows block by block."""
        return iter(self.kept)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "KeptRows":
        """Rows made by ``function(block, *arguments)`` of every block."""
        other = replace(self)
        other.__dict__["kept"] = [function(block, *arguments) for block in self.kept]
        return other


@dataclass(frozen=True)
class StreamedRows(RowSource):
    """Rows that are built from the blocks of a source in every pass; the range of costs may be known beforehand."""

    points: PointSource
    build: BlockBuilder
    n_rows: int
    n_columns: int
    n_classes: int = 0
    threads: int = 1
    known_costs: Costs | None = None
    most_kept: float = MOST_KEPT

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    @cached_property
    def cost_range(self) -> Costs:
        """Range of the costs; computed in a pass if it is unknown."""
        return self.known_costs if self.known_costs is not None else self.fold(_cost_range, Costs.merged)

    @property
    def fold(self) -> Callable[..., Any]:
        """Function for one pass, ``fold(function, merge, *arguments)``, which builds rows from each block."""
        return partial(self.points.fold, build=self.build, threads=self.threads)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "StreamedRows":
        """Rows made by ``function(block, *arguments)`` of every block."""
        build = partial(_build_altered, build=self.build, function=function, arguments=arguments)
        return replace(self, build=build, known_costs=None)

    def sample(self, size: int, rng: np.random.Generator) -> Rows:
        """Random, evenly spread subset of the rows, explicit and in memory; costs are scaled to keep their sum."""
        arguments = self.build, self.n_rows, size, seed_of(rng)
        drawn = self.points.fold(_sample, join_rows, *arguments, threads=self.threads)
        return replace(scale_costs(drawn, self.cost_range), threads=self.threads)

    def thinned(self, size: int, rng: np.random.Generator) -> "StreamedRows":
        """Random, evenly spread subset of the rows, rebuilt in every pass, with scaled costs."""
        build = partial(_build_thinned, build=self.build, n=self.n_rows, size=size, seed=seed_of(rng))
        return replace(self, build=build, n_rows=size, known_costs=None)


def build_encoded(block: Block, encoder: Encoder, build: RowBuilder) -> Rows:
    """Encode the labels of a block, and build its rows."""
    return build(encoder(block))


def _build_altered(block: Block, build: BlockBuilder, function: Callable[..., Rows], arguments: Any) -> Rows:
    return function(build(block), *arguments)


def _build_thinned(block: Block, build: BlockBuilder, n: int, size: int, seed: int) -> Rows:
    rows = build(block.taken(sample_rows(n, size, seed, block)))
    return replace(rows, costs=rows.costs * (n / size))


def _sample(block: Block, build: BlockBuilder, n: int, size: int, seed: int) -> Rows:
    """Build the rows of a block that belong to a sample."""
    return build(block.taken(sample_rows(n, size, seed, block))).taken(slice(None))


def _cost_range(rows: Rows) -> Costs:
    return Costs.of(rows.costs)
