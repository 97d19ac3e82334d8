"""Rows of points that need not fit into memory: made anew from the blocks of a source in every pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from hyplearn.data.points import Block, PointSource
from hyplearn.geometry.kernels import gaps
from hyplearn.rows.memory import ClassRows, Rows, drawn, joined, seed_of, standing_for
from hyplearn.rows.source import Costs, Merge, RowSource
from hyplearn.rows.subsample import standing
from hyplearn.tangent import Features, cone_rows, implicit_rows
from hyplearn.types import Array

# Dual variables that a solution keeps: 32 MiB with their positions.
MOST_KEPT = 2**21
# Numbers of coordinates whose rows are made at once: few enough that what is made of them stays in the cache.
PIECE_NUMBERS = 2**17
Maker: TypeAlias = Callable[[Block], Rows]


@dataclass(frozen=True)
class Weighing:
    """Labels as numbers of classes, and the weight of each row: its own times that of its class.

    Attributes
    ----------
    classes : ndarray
        All labels, in order.
    factors : ndarray
        The weight of each class.
    """

    classes: Array
    factors: Array

    def codes(self, block: Block) -> Array:
        """The number of the class of each row."""
        assert block.y is not None
        if len(self.classes) == 2:
            return (block.y == self.classes[1]).view(np.int8)
        if self.classes.dtype.kind in "iu" and int(self.classes[-1]) - int(self.classes[0]) == len(self.classes) - 1:
            return block.y.astype(np.int64) - int(self.classes[0])
        return np.searchsorted(self.classes, block.y)

    def weights(self, block: Block, codes: Array) -> Array:
        """The weight of each row."""
        if np.all(self.factors == 1):
            return np.ones(len(block.X)) if block.weights is None else block.weights
        factors = self.factors[codes]
        return factors if block.weights is None else factors * block.weights

    def costs(self, block: Block, codes: Array, C: float) -> Array:
        """C times the weight of each row; an infinite C times 0 is 0."""
        if block.weights is None and np.all(self.factors == 1):
            return np.full(len(block.X), C)
        weights = self.weights(block, codes)
        if np.inf > C:
            return C * weights
        return np.where(weights > 0, np.inf, 0.0)


@dataclass(frozen=True)
class SignedRows:
    """Makes the rows of a binary problem: features at p, with the sign of the label, at C times the weight."""

    weighing: Weighing
    positive: int
    p: Array
    features: Features
    c: float
    C: float

    def __call__(self, block: Block) -> Rows:
        """Rows of a block."""
        codes = self.weighing.codes(block)
        rows = implicit_rows(block.X, self.p, features=self.features, c=self.c)
        _sign(codes, self.positive, rows.along, rows.base)
        costs = self.weighing.costs(block, codes, self.C)
        return Rows(rows.X, rows.p, rows.along, rows.base, costs, start=block.start)


@dataclass(frozen=True)
class ConeRows:
    """Makes the rows of all classes at once: cone coordinates at the centre, and a constant if it is not 0."""

    weighing: Weighing
    centre: Array
    c: float
    C: float
    constant: float

    def __call__(self, block: Block) -> ClassRows:
        """Rows of a block."""
        codes = self.weighing.codes(block)
        space, times = cone_rows(block.X, self.centre, c=self.c, rooms=gaps(block.X, self.c))
        return ClassRows(
            *(space.X, space.p, space.along, space.base, self.weighing.costs(block, codes, self.C)),
            start=block.start,
            times=times,
            constant=self.constant,
            codes=codes,
            n_classes=len(self.weighing.classes),
        )


@njit(cache=True, nogil=True)
def _sign(codes, positive, along, base):  # type: ignore[no-untyped-def]
    """Turn the rows of all classes but the positive one round, in place."""
    for i in range(codes.size):
        sign = 1.0 if codes[i] == positive else -1.0
        along[i] *= sign
        base[i] *= sign


@dataclass(frozen=True)
class _Altered:
    make: Maker
    function: Callable[..., Rows]
    arguments: tuple[Any, ...]

    def __call__(self, block: Block) -> Rows:
        return self.function(self.make(block), *self.arguments)


@dataclass(frozen=True)
class _Thinned:
    """Makes rows of some of the points only, each at the cost of all that it stands for."""

    make: Maker
    n_rows: int
    size: int
    seed: int

    def __call__(self, block: Block) -> Rows:
        own = drawn(self.n_rows, self.size, self.seed, block.start, block.start + len(block.X))
        rows = self.make(block.taken(own - block.start))
        return replace(rows, costs=rows.costs * (self.n_rows / self.size))


@dataclass(frozen=True)
class StreamedRows(RowSource):
    """Rows that a maker makes of the points of a source.

    Attributes
    ----------
    points : PointSource
        Where the points are.
    make : callable
        Makes rows of a block of points.
    n_rows, n_columns : int
        How many there are.
    n_classes : int
        Of rows that carry their class: how many there are.
    threads : int
        How many blocks are worked on at once.
    known_costs : Costs or None
        The range of the costs, where it is known.
    """

    points: PointSource
    make: Maker
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
        """The range of the costs; if it is not known, by a pass when it is first asked for."""
        if self.known_costs is not None:
            return self.known_costs
        return self.fold(_cost_range, Costs.merged)

    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """One pass: ``function(block, *arguments)`` of every block, merged in order."""
        return self.points.fold(_on_rows, merge, self.make, function, merge, arguments, threads=self.threads)

    def altered(self, function: Callable[..., Rows], *arguments: Any) -> "StreamedRows":
        """The rows that ``function(block, *arguments)`` makes of every block."""
        return replace(self, make=_Altered(self.make, function, arguments), known_costs=None)

    def sample(self, size: int, rng: np.random.Generator) -> Rows:
        """A random part of the rows, spread evenly, made explicit, with costs that stand for the whole."""
        arguments = self.make, self.n_rows, size, seed_of(rng)
        sample = self.points.fold(_sampled, joined, *arguments, threads=self.threads)
        return standing_for(sample, self.cost_range)

    def thinned(self, size: int, rng: np.random.Generator) -> "StreamedRows":
        """A random part of the rows, spread evenly, made anew in every pass, with costs that stand for the whole."""
        return replace(self, make=_Thinned(self.make, self.n_rows, size, seed_of(rng)), n_rows=size)

    def gathered(self) -> Rows:
        """All rows, explicit, in memory."""
        return self.fold(_all, joined)


def _on_rows(block: Block, make: Maker, function: Callable[..., Any], merge: Merge, arguments: Sequence[Any]) -> Any:
    """What a function finds in the rows of a block of points."""
    parts = []
    for piece in block.pieces(PIECE_NUMBERS):
        rows = make(piece)
        parts += [function(part, *arguments) for part in list(rows.blocks()) or [rows.taken(slice(None))]]
    return merge(parts)


def _cost_range(rows: Rows) -> Costs:
    return Costs.of(rows.costs)


def _sampled(block: Block, make: Maker, n: int, size: int, seed: int) -> Rows:
    """The part of a sample that lies in a block of points: rows are made of no others."""
    return make(block.taken(drawn(n, size, seed, block.start, block.start + len(block.X)) - block.start)).gathered()


def standing_rows(block: Block, weighing: Weighing, sides: Array, strides: Array) -> tuple[Array, Array, Array]:
    """Of a block of points those that stand for all: coordinates, sides and weights; each class has its side."""
    codes = weighing.codes(block)
    kept = standing(block.start, sides[codes], strides)
    own = sides[codes[kept]]
    return block.X[kept], own, weighing.weights(block, codes)[kept] * strides[own]


def _all(rows: Rows) -> Rows:
    return rows.taken(slice(None))
