"""Rows built from training data: kept where the points lie in memory, rebuilt in every pass where they do not."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from hyplearn.cone import cone_rows
from hyplearn.data.points import Block, PointSource
from hyplearn.data.training import Costs, Encoder, LabelledBlock, TrainingData
from hyplearn.rows.memory import ClassRows, KeptRows, Rows, drawn, join_rows, scale_costs, seed_of
from hyplearn.rows.source import RowSource
from hyplearn.tangent import Features, implicit_rows
from hyplearn.types import Array

# Dual variables that a solution keeps where rows need not fit into memory: 32 MiB with their positions.
MOST_KEPT = 2**21
RowBuilder: TypeAlias = Callable[[LabelledBlock], Rows]


def row_costs(block: LabelledBlock, C: float) -> Array:
    """C times the weight of each row; an infinite C times 0 is 0."""
    if block.weights is None:
        return np.full(len(block.X), C)
    return C * block.weights if np.inf > C else np.where(block.weights > 0, np.inf, 0.0)


@dataclass(frozen=True)
class SignedRowBuilder:
    """Builds the rows of a binary problem: features at p, with the sign of the label, at C times the weight."""

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
    """Builds the rows of all classes at once: cone coordinates at the centre, and a constant column unless it is 0."""

    centre: Array
    c: float
    C: float
    constant: float
    n_classes: int

    def __call__(self, block: LabelledBlock) -> ClassRows:
        """Rows of a block."""
        space, times = cone_rows(block.X, self.centre, c=self.c, gaps=block.gaps)
        return ClassRows(
            *(space.X, space.p, space.along, space.base, row_costs(block, self.C)),
            start=block.start,
            times=times,
            constant=self.constant,
            codes=block.codes.astype(np.int64, copy=False),
            n_classes=self.n_classes,
        )


@njit(cache=True, nogil=True)
def _sign(codes, positive, along, base):  # type: ignore[no-untyped-def]
    """Negate the rows of all classes but the positive one, in place."""
    for i in range(codes.size):
        sign = 1.0 if codes[i] == positive else -1.0
        along[i] *= sign
        base[i] *= sign


def build_rows(
    data: TrainingData, build: RowBuilder, C: float, n_columns: int, *, n_classes: int = 0, threads: int | None = None
) -> RowSource:
    """Rows of the training data, at C times their weights."""
    threads = data.threads if threads is None else threads
    if data.in_memory:
        return KeptRows(build, data.blocks, (data.n_rows, n_columns), n_classes, threads)
    lowest, highest, total = data.weights
    costs = Costs(C * lowest, C * highest if highest else 0.0, C * total)
    encoded = EncodedBuilder(data.encoder, build)
    return StreamedRows(data.points, encoded, data.n_rows, n_columns, n_classes, threads, costs)


@dataclass(frozen=True)
class EncodedBuilder:
    """Builds the rows of a block of a source."""

    encoder: Encoder
    build: RowBuilder

    def __call__(self, block: Block) -> Rows:
        """Rows of a block."""
        return self.build(self.encoder(block))


@dataclass(frozen=True)
class AlteredBuilder:
    """Builds rows and alters them by ``function(rows, *arguments)``."""

    build: Callable[[Block], Rows]
    function: Callable[..., Rows]
    arguments: tuple[Any, ...]

    def __call__(self, block: Block) -> Rows:
        """Rows of a block."""
        return self.function(self.build(block), *self.arguments)


@dataclass(frozen=True)
class ThinnedBuilder:
    """Builds the rows of a random subset of the points, with costs scaled by the inverse of its share."""

    build: Callable[[Block], Rows]
    n_rows: int
    size: int
    seed: int

    def __call__(self, block: Block) -> Rows:
        """Rows of a block."""
        own = drawn(self.n_rows, self.size, self.seed, block.start, block.start + len(block.X))
        rows = self.build(block.taken(own - block.start))
        return replace(rows, costs=rows.costs * (self.n_rows / self.size))


@dataclass(frozen=True)
class StreamedRows(RowSource):
    """Rows that are built from the points of a source in every pass.

    Attributes
    ----------
    points : PointSource
        The source.
    build : callable
        Builds the rows of a block of the source.
    n_rows, n_columns : int
        Shape of the rows.
    n_classes : int
        Number of classes, of rows that carry the code of their class.
    threads : int
        Blocks that are worked on at once.
    known_costs : Costs or None
        Range of the costs, where it is known.
    """

    points: PointSource
    build: Callable[[Block], Rows]
    n_rows: int
    n_columns: int
    n_classes: int = 0
    threads: int = 1
    known_costs: Costs | None = None

    most_kept = MOST_KEPT

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    @cached_property
    def cost_range(self) -> Costs:
        """Range of the costs; where it is unknown, by a pass."""
        return self.known_costs if self.known_costs is not None else self.fold(_cost_range, Costs.merged)

    @property
    def fold(self) -> Callable[..., Any]:
        """One pass of the source, whose blocks become rows: ``fold(function, merge, *arguments)``."""
        return partial(self.points.fold, build=self.build, threads=self.threads)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "StreamedRows":
        """Rows made by ``function(block, *arguments)`` of every block."""
        return replace(self, build=AlteredBuilder(self.build, function, arguments), known_costs=None)

    def sample(self, size: int, rng: np.random.Generator) -> Rows:
        """A random subset of the rows, spread evenly, explicit, with costs that sum to those of all rows."""
        arguments = self.build, self.n_rows, size, seed_of(rng)
        return scale_costs(self.points.fold(_sample, join_rows, *arguments, threads=self.threads), self.cost_range)

    def thinned(self, size: int, rng: np.random.Generator) -> "StreamedRows":
        """A random subset of the rows, spread evenly and rebuilt in every pass, with scaled costs."""
        build = ThinnedBuilder(self.build, self.n_rows, size, seed_of(rng))
        return replace(self, build=build, n_rows=size, known_costs=None)

    def gathered(self) -> Rows:
        """All rows, explicit, in memory."""
        return self.fold(_explicit, join_rows)


def _cost_range(rows: Rows) -> Costs:
    return Costs.of(rows.costs)


def _sample(block: Block, build: Callable[[Block], Rows], n: int, size: int, seed: int) -> Rows:
    """The part of a sample that lies in a block; rows are built of no other points."""
    own = drawn(n, size, seed, block.start, block.start + len(block.X)) - block.start
    return build(block.taken(own)).taken(slice(None))


def _explicit(rows: Rows) -> Rows:
    return rows.taken(slice(None))
