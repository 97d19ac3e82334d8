"""Rows with costs, which are the input of the solvers: the interface of row sources, and rows in memory.

The rows of a binary problem are signed: u = y f, where f contains the features of a point and y = ±1 is its label. The
rows of a softmax regression have a class code instead of a sign. A block of rows is an instance of :class:`Rows`, and
therefore also a source.

Rows are *explicit* if they are stored as a matrix, and *implicit* if they are stored as points and a few coefficients
per row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import Merge, fold_parts, joined, map_in_threads
from hyplearn.data.points import BLOCK_NUMBERS, PIECE_NUMBERS
from hyplearn.data.training import Costs
from hyplearn.geometry.kernels import centred_dot, centred_sum, centred_sum_at, unrolled
from hyplearn.numerics import uniforms
from hyplearn.tangent import TangentRows
from hyplearn.types import Array

R = TypeVar("R", bound="Rows")
# Maximum number of elements of a sample. Samples are always kept in memory.
SAMPLE_NUMBERS = 2**23
# Number of consecutive rows that are sampled together. They share cache lines, so reading them takes less time.
RUN = 8


class RowSource(ABC):
    """Source of rows with costs, which solvers read in passes.

    The functions that are passed to :meth:`fold` must be defined at the top level of a module, so that they can be
    pickled and sent to the worker that stores a block.
    """

    # Maximum number of dual variables that a solution contains. It is finite only if the rows may not fit into memory.
    most_kept: float = np.inf
    # Number of classes; used only if the rows have class codes.
    n_classes: int
    # Number of threads used in a pass.
    threads: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""

    @property
    @abstractmethod
    def cost_range(self) -> Costs:
        """Smallest positive cost, largest cost, and total cost."""

    @abstractmethod
    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """Run one pass: call ``function(block, *arguments)`` for every block, and merge the results in order."""

    @abstractmethod
    def altered(self, function: Callable[..., "Rows"], *arguments: Any) -> "RowSource":
        """Apply ``function(block, *arguments)`` to every block, and return the resulting rows."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> "Rows":
        """Load a random sample, spread evenly over the rows, as explicit rows; costs are scaled to keep their sum."""

    @abstractmethod
    def thinned(self, size: int, rng: np.random.Generator) -> "RowSource":
        """Return a random sample, spread evenly over the rows; costs are divided by the fraction of sampled rows."""

    def gathered(self) -> "Rows":
        """Load all rows into memory as explicit rows."""
        return self.fold(_explicit, join_rows)


class MemoryRows(RowSource):
    """Base class of rows in memory; subclasses define the blocks of rows."""

    @abstractmethod
    def blocks(self) -> Iterator["Rows"]:
        """Iterate over the blocks of rows."""

    @property
    def cost_range(self) -> Costs:
        """Smallest positive cost, largest cost, and total cost."""
        return Costs.merged([Costs.of(block.costs) for block in self.blocks()])

    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """Run one pass: call ``function(block, *arguments)`` for every block, and merge the results in order."""
        return fold_parts(map_in_threads(function, self.blocks(), self.threads, arguments), merge)

    def sample(self, size: int, rng: np.random.Generator) -> "Rows":
        """Load a random sample, spread evenly over the rows, as explicit rows; costs are scaled to keep their sum."""
        return replace(scale_costs(self._drawn(size, rng), self.cost_range), threads=self.threads)

    def thinned(self, size: int, rng: np.random.Generator) -> "Rows":
        """Return a random sample, spread evenly over the rows, as explicit rows.

        Costs are divided by the fraction of sampled rows.
        """
        part = self._drawn(size, rng)
        return replace(part, costs=part.costs * (self.shape[0] / size), threads=self.threads)

    def _drawn(self, size: int, rng: np.random.Generator) -> "Rows":
        n, seed = self.shape[0], seed_of(rng)
        return join_rows([block.taken(sample_rows(n, size, seed, block)) for block in self.blocks()])


@checkpointable
@dataclass(frozen=True)
class Rows(MemoryRows):
    """Signed rows ``along_i * (x_i - p) + base_i * p``; both coefficients include the sign of the label.

    ``X``, ``p``, ``along`` and ``base`` are defined in :class:`~hyplearn.tangent.TangentRows`. ``start`` is the
    position of the first row of a block in the source.
    """

    X: Array
    p: Array
    along: Array
    base: Array
    costs: Array
    start: int = 0
    threads: int = 1
    block_numbers: int = BLOCK_NUMBERS
    # Names of the fields that have one element per row.
    per_row: ClassVar[tuple[str, ...]] = ("X", "along", "base", "costs")

    @classmethod
    def labelled(cls, rows: TangentRows, y: Array, costs: Array, *, threads: int = 1) -> Self:
        """Create signed rows from the rows of a feature map and labels y = ±1."""
        return cls(rows.X, rows.p, y * rows.along, y * rows.base, costs, threads=threads)

    @classmethod
    def explicit(cls, U: Array, costs: Array) -> Self:
        """Create rows from a matrix of explicit rows, which have already been multiplied by their signs."""
        n, d = U.shape
        return cls(np.ascontiguousarray(U), np.zeros(d), np.ones(n), np.zeros(n), costs)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return self.X.shape

    @property
    def centre(self) -> Array | tuple[float, ...]:
        """Point p, in the form that compiled kernels expect."""
        return unrolled(self.p)

    def __getitem__(self, index: slice | Array) -> Array:
        """Return the rows at the given positions as a matrix of float64."""
        return TangentRows(self.X, self.p, self.along, self.base)[index]

    def __matmul__(self, w: Array) -> Array:
        """Compute ``⟨u, w⟩`` for every row u."""
        return TangentRows(self.X, self.p, self.along, self.base) @ w

    def product_at(self, index: Array, w: Array) -> Array:
        """Compute ``⟨u_k, w⟩`` for the rows at the given positions."""
        return TangentRows(self.X, self.p, self.along, self.base).product_at(index, w)

    def weighted_sum(self, index: Array, q: Array) -> Array:
        """Compute ``Σ q_k u_k`` over the rows at the given positions."""
        coefficients, bases = q * self.along[index], q @ self.base[index]
        return centred_sum_at(self.X, index, coefficients, self.p) + bases * self.p

    def scaled(self, factor: float) -> Self:
        """Return the rows multiplied by a factor; costs do not change."""
        return replace(self, along=factor * self.along, base=factor * self.base)

    def length_bound(self) -> float:
        """Return an upper bound on the norms of the rows, without computing explicit rows."""
        if not len(self.X):
            return 0.0
        largest = max(float(self.X.max()), -float(self.X.min())) + float(np.abs(self.p).max())
        along, base = float(np.abs(self.along).max()), float(np.abs(self.base).max())
        return float(along * largest * np.sqrt(self.X.shape[1]) + base * np.linalg.norm(self.p))

    def taken(self, index: Array | slice) -> "Rows":
        """Return the rows at the given positions as explicit rows, with their costs."""
        return Rows.explicit(self[index], self.costs[index])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> "Rows":
        """Concatenate several parts; the result has explicit rows."""
        return Rows.explicit(joined([part[:] for part in parts]), joined([part.costs for part in parts]))

    def altered(self, function: Callable[..., "Rows"], *arguments: Any) -> "Rows":
        """Apply ``function(rows, *arguments)`` to these rows as a single block, and return the resulting rows."""
        return function(self, *arguments)

    @property
    def _step(self) -> int:
        """Number of rows per block."""
        return max(1, self.block_numbers // self.shape[1])

    def _cuts(self) -> Iterator[slice]:
        """Iterate over the slices that divide the rows into blocks."""
        return (slice(i, i + self._step) for i in range(0, len(self.X), self._step))

    def blocks(self) -> Iterator[Self]:
        """Iterate over the blocks of rows, which are views."""
        for cut in self._cuts():
            columns: dict[str, Any] = {name: getattr(self, name)[cut] for name in self.per_row}
            yield replace(self, **columns, start=self.start + cut.start, threads=1)

    def pieces(self) -> Iterator["Rows"]:
        """Yield these rows as a single piece, in the form that compiled kernels expect.

        The kernels compute each row from ``X``, ``p``, ``along`` and ``base``.
        """
        yield self


@dataclass(frozen=True, kw_only=True)
class HyperboloidRows(Rows):
    """Signed rows of hyperboloid coordinates, ``(times_i, along_i * (x_i - p) + base_i * p)``, stored implicitly.

    The first column is called the time column, and the others are the space columns. If ``inverse_root`` is 1/√c
    instead of 0, the rows have one more column for the intercept, ``times + base / √c`` (:mod:`hyplearn.cone`). This
    column is not stored.
    """

    times: Array
    inverse_root: float = 0.0
    per_row: ClassVar[tuple[str, ...]] = (*Rows.per_row, "times")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns; there are one or two more columns than in X."""
        return self.X.shape[0], self.X.shape[1] + 1 + (self.inverse_root != 0)

    def _last(self, index: Any) -> Array:
        """Compute the intercept column."""
        return self.times[index] + self.inverse_root * self.base[index]

    def __getitem__(self, index: slice | Array) -> Array:
        times, d = self.times[index], self.X.shape[1]
        out = np.empty((len(times), self.shape[1]))
        out[:, 0] = times
        TangentRows(self.X, self.p, self.along, self.base).fill(index, out[:, 1 : 1 + d])
        if self.inverse_root:
            out[:, -1] = self._last(index)
        return out

    def __matmul__(self, w: Array) -> Array:
        return self._completed(super().__matmul__(self._of_space(w)), slice(None), w)

    def product_at(self, index: Array, w: Array) -> Array:
        """Compute ``⟨u_k, w⟩`` for the rows at the given positions."""
        return self._completed(super().product_at(index, self._of_space(w)), index, w)

    def _of_space(self, w: Array) -> Array:
        """Return the elements of w for the space columns, without the time and intercept columns."""
        return w[1 : 1 + self.X.shape[1]]

    def _completed(self, product: Array, index: Any, w: Array) -> Array:
        """Add the terms of the time column and the intercept column to products with the space columns."""
        product = self.times[index] * w[0] + product
        return product + w[-1] * self._last(index) if self.inverse_root else product

    def weighted_sum(self, index: Array, q: Array) -> Array:
        """Compute ``Σ q_k u_k`` over the rows at the given positions."""
        sums = np.append(q @ self.times[index], super().weighted_sum(index, q))
        return np.append(sums, q @ self._last(index)) if self.inverse_root else sums

    def scaled(self, factor: float) -> Self:
        """Return the rows multiplied by a factor; costs do not change."""
        return replace(super().scaled(factor), times=factor * self.times)

    def length_bound(self) -> float:
        """Return an upper bound on the norms of the rows, without computing explicit rows.

        The absolute value of ``times`` is an upper bound on the norm of the space columns and on the intercept, so the
        norm of a row is at most √3 times this value.
        """
        return float(np.sqrt(3) * np.abs(self.times).max(initial=0.0))

    def pieces(self) -> Iterator[Rows]:
        """Yield the rows as small chunks of explicit rows, which is the form that compiled kernels expect."""
        step = max(1, PIECE_NUMBERS // self.shape[1])
        for start in range(0, max(1, len(self.X)), step):
            cut = slice(start, start + step)
            yield replace(Rows.explicit(self[cut], self.costs[cut]), start=self.start + start)


class Chunk(Protocol):
    """Chunk of rows, with the two products that softmax solvers need."""

    @property
    def rows(self) -> Array:
        """Explicit rows of the chunk."""

    def scores(self, W: Array) -> Array:
        """Compute ``⟨W_k, u_i⟩`` for every class k and row u_i; return an array of shape (K, n)."""

    def sums(self, Q: Array) -> Array:
        """Compute the weighted sum of rows ``Σ_i Q_ki u_i`` for every class k."""


@dataclass(frozen=True)
class RowChunk:
    """Chunk of rows that are stored as points and coefficients.

    Products for one class are computed by compiled kernels, and products for several classes by BLAS.
    """

    X: Array
    p: Array
    along: Array
    base: Array
    times: Array
    last: Array | None

    @cached_property
    def offsets(self) -> Array:
        """Differences x - p, one row per point."""
        return self.X - self.p

    @property
    def rows(self) -> Array:
        """Explicit rows of the chunk."""
        space = self.along[:, None] * self.offsets + self.base[:, None] * self.p
        return np.column_stack([self.times, space] if self.last is None else [self.times, space, self.last])

    def scores(self, W: Array) -> Array:
        """Compute ``⟨W_k, u_i⟩`` for every class k and row u_i; return an array of shape (K, n)."""
        of_space = W[:, 1 : 1 + len(self.p)]
        scores = centred_dot(self.X, of_space[0], self.p)[None] if len(W) == 1 else of_space @ self.offsets.T
        scores *= self.along
        scores += np.outer(of_space @ self.p, self.base)
        scores += np.outer(W[:, 0], self.times)
        if self.last is not None:
            scores += np.outer(W[:, -1], self.last)
        return scores

    def sums(self, Q: Array) -> Array:
        """Compute the weighted sum of rows ``Σ_i Q_ki u_i`` for every class k."""
        scaled = Q * self.along
        of_space = centred_sum(self.X, scaled[0], self.p)[None] if len(Q) == 1 else scaled @ self.offsets
        columns = [Q @ self.times, of_space + np.outer(Q @ self.base, self.p)]
        return np.column_stack(columns if self.last is None else [*columns, Q @ self.last])


@checkpointable
@dataclass(frozen=True, kw_only=True)
class ClassRows(HyperboloidRows):
    """Rows of hyperboloid coordinates with a class code instead of a sign, for softmax regression."""

    codes: Array
    n_classes: int
    per_row: ClassVar[tuple[str, ...]] = (*HyperboloidRows.per_row, "codes")

    @classmethod
    def of(cls, rows: Array, codes: Array, costs: Array, n_classes: int) -> Self:
        """Create rows from a matrix of explicit rows."""
        n, d = rows.shape
        # Copy to contiguous arrays, because kernels are compiled again for every memory layout.
        X, times = np.ascontiguousarray(rows[:, 1:]), np.ascontiguousarray(rows[:, 0])
        return cls(X, np.zeros(d - 1), np.ones(n), np.zeros(n), costs, times=times, codes=codes, n_classes=n_classes)

    @property
    def _step(self) -> int:
        """Number of rows per block; smaller than for binary problems, because each row has one score per class."""
        return max(self.shape[1], self.block_numbers // (4 * (self.shape[1] + self.n_classes)))

    def chunk(self, cut: slice) -> Chunk:
        """Return a slice of the rows as a chunk."""
        last = self._last(cut) if self.inverse_root else None
        return RowChunk(self.X[cut], self.p, self.along[cut], self.base[cut], self.times[cut], last)

    def taken(self, index: Array | slice) -> "ClassRows":
        """Return the rows at the given positions as explicit rows, with their classes and costs."""
        return ClassRows.of(self[index], self.codes[index], self.costs[index], self.n_classes)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> "ClassRows":
        """Concatenate several parts; the result has explicit rows."""
        columns = zip(*((part[:], part.codes, part.costs) for part in parts), strict=True)
        rows, codes, costs = map(joined, columns)
        return ClassRows.of(rows, codes, costs, parts[0].n_classes)


def join_rows(parts: Sequence[R]) -> Rows:
    """Concatenate several parts into explicit rows; if there is only one part, return it unchanged."""
    return parts[0] if len(parts) == 1 else type(parts[0]).joined(parts)


def _explicit(rows: Rows) -> Rows:
    return rows.taken(slice(None))


def seed_of(rng: np.random.Generator) -> int:
    """Draw a seed for :func:`sample_rows`."""
    return int(rng.integers(2**63))


def sample_rows(n: int, size: int, seed: int, block: Any) -> Array:
    """Return the indices of the rows of a block that belong to an evenly spread sample of about ``size`` rows.

    All blocks together have ``n`` rows. The positions at which a run of ``RUN`` consecutive rows can start are divided
    into sections of equal length, and one run starts at a random position in each section. This position is computed
    from a hash of the seed and the index of the section, so the sampled rows of a block do not depend on other blocks.
    """
    start, stop = block.start, block.start + len(block.X)
    runs = -(-size // RUN)
    share = (n - RUN + 1) / runs
    first, last = max(0, int((start - RUN) / share) - 1), min(runs, int(stop / share) + 2)
    numbers = np.arange(first, last)
    index = (((numbers + uniforms(seed, numbers)) * share).astype(np.int64)[:, None] + np.arange(RUN)).ravel()
    return index[(index >= start) & (index < stop)] - start


def scale_costs(sample: R, whole: Costs) -> R:
    """Scale the costs of a sample so that their sum is the total cost of all rows."""
    scale = whole.total / sample.costs.sum() if sample.costs.any() else 1.0
    return replace(sample, costs=sample.costs * scale)
