"""Where rows come from. Solvers see them, with a cost each, only as blocks that they map over.

Rows u = y f carry the sign of their label; those of a softmax carry the number of their class instead. A solver makes
passes: ``source.map(function, *arguments)`` applies a function of one block to every block, in order, and the solver
reduces what it yields. A block is itself a :class:`Rows`, so whatever holds rows in memory is a source.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from hyplearn.geometry.arrays import Array
from hyplearn.geometry.kernels import centred_sum_at, unrolled
from hyplearn.tangent import TangentRows

# Numbers per block: 8 MiB of coordinates are some milliseconds of work, so that a pass can be shared between threads
# and interrupted. The cut does not depend on the number of threads, so neither do the sums.
BLOCK_NUMBERS = 2**20
# A sample takes runs of this many neighbours, which share cache lines.
RUN = 8


@dataclass(frozen=True)
class Rows:
    """Signed rows in memory: row i is ``along_i (x_i - p) + base_i p``, with the sign of its label in both numbers.

    Attributes
    ----------
    X, p, along, base
        As in :class:`~hyplearn.tangent.TangentRows`.
    costs : ndarray of shape (n,)
        Cost of each row.
    start : int
        Position of the first row in the source that this block was cut from.
    threads : int
        How many blocks are worked on at once.
    """

    X: Array
    p: Array
    along: Array
    base: Array
    costs: Array
    start: int = 0
    threads: int = 1

    @classmethod
    def labelled(cls, rows: TangentRows, y: Array, costs: Array, *, threads: int = 1) -> Self:
        """Rows of a feature map with labels y = ±1."""
        return cls(rows.X, rows.p, y * rows.along, y * rows.base, costs, threads=threads)

    @classmethod
    def explicit(cls, U: Array, costs: Array) -> Self:
        """The rows of a matrix, signed already."""
        n, d = U.shape
        return cls(np.ascontiguousarray(U), np.zeros(d), np.ones(n), np.zeros(n), costs)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.X.shape

    @property
    def centre(self) -> Array | tuple[float, ...]:
        """The point p as kernels like it."""
        return unrolled(self.p)

    def __getitem__(self, index: slice | Array) -> Array:
        """Explicit rows, as float64."""
        return TangentRows(self.X, self.p, self.along, self.base)[index]

    def __matmul__(self, w: Array) -> Array:
        """``⟨u, w⟩`` of every row."""
        return TangentRows(self.X, self.p, self.along, self.base) @ w

    def weighted_sum(self, index: Array, q: Array) -> Array:
        """``Σ q_k u_k`` over the rows with the given positions."""
        coefficients, bases = q * self.along[index], q @ self.base[index]
        return centred_sum_at(self.X, index, coefficients, self.p) + bases * self.p

    def sample(self, size: int, rng: np.random.Generator) -> "Rows":
        """A random part of the rows, spread evenly, made explicit, with costs that stand for the whole."""
        index, costs = self._drawn(size, rng)
        return Rows.explicit(self[index], costs)

    def _drawn(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Positions of a random part of the rows, and costs that stand for the whole."""
        n, runs = len(self.X), -(-size // RUN)
        first = ((np.arange(runs) + rng.random(runs)) * ((n - RUN + 1) / runs)).astype(np.int64)
        index = (first[:, None] + np.arange(RUN)).ravel()
        costs = self.costs[index]
        scale = self.costs.sum() / costs.sum() if costs.any() else 1.0
        return index, costs * scale

    @property
    def _step(self) -> int:
        """Rows per block."""
        return max(1, BLOCK_NUMBERS // self.shape[1])

    def _cuts(self) -> Iterator[slice]:
        """Where blocks begin and end."""
        return (slice(i, i + self._step) for i in range(0, len(self.X), self._step))

    def blocks(self) -> Iterator["Rows"]:
        """The rows block by block, as views."""
        for cut in self._cuts():
            yield Rows(self.X[cut], self.p, self.along[cut], self.base[cut], self.costs[cut], self.start + cut.start)

    def map(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """``function(block, *arguments)`` for every block, in order."""
        if self.threads == 1 or len(self.X) <= self._step:
            for block in self.blocks():
                yield function(block, *arguments)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(lambda block: function(block, *arguments), self.blocks())


@dataclass(frozen=True, kw_only=True)
class HyperboloidRows(Rows):
    """Signed rows ``(times_i, along_i (x_i - p) + base_i p)``: hyperboloid coordinates, as three numbers beside X."""

    times: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns, one more than X has."""
        return self.X.shape[0], self.X.shape[1] + 1

    def __getitem__(self, index: slice | Array) -> Array:
        """Explicit rows, as float64."""
        return np.column_stack([self.times[index], super().__getitem__(index)])

    def __matmul__(self, w: Array) -> Array:
        """``⟨u, w⟩`` of every row."""
        return self.times * w[0] + super().__matmul__(w[1:])

    @property
    def _step(self) -> int:
        """Rows per block: at least as many as columns, as what a solver keeps of a block is square."""
        return max(self.shape[1], super()._step)

    def blocks(self) -> Iterator[Rows]:
        """The rows block by block, explicit."""
        for cut in self._cuts():
            yield replace(Rows.explicit(self[cut], self.costs[cut]), start=self.start + cut.start)

    def weighted_sum(self, index: Array, q: Array) -> Array:
        """``Σ q_k u_k`` over the rows with the given positions."""
        return np.concatenate([[q @ self.times[index]], super().weighted_sum(index, q)])


@dataclass(frozen=True, kw_only=True)
class ClassRows(HyperboloidRows):
    """Rows of several classes: each carries the number of its class, from 0, instead of a sign.

    Where ``constant`` is not 0, every row ends with it: a column for an intercept, which takes no memory.
    """

    codes: Array
    n_classes: int
    constant: float = 0.0

    @classmethod
    def of(cls, rows: Array, codes: Array, costs: Array, n_classes: int) -> Self:
        """The rows of a matrix."""
        n, d = rows.shape
        X, along, base = rows[:, 1:], np.ones(n), np.zeros(n)
        return cls(X, np.zeros(d - 1), along, base, costs, times=rows[:, 0], codes=codes, n_classes=n_classes)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n, d = super().shape
        return n, d + (self.constant != 0)

    def __getitem__(self, index: slice | Array) -> Array:
        """Explicit rows, as float64."""
        rows = super().__getitem__(index)
        return np.column_stack([rows, np.full(len(rows), self.constant)]) if self.constant else rows

    def __matmul__(self, w: Array) -> Array:
        """``⟨u, w⟩`` of every row."""
        d = super().shape[1]
        return super().__matmul__(w[:d]) + self.constant * w[d:].sum()

    def weighted_sum(self, index: Array, q: Array) -> Array:
        """``Σ q_k u_k`` over the rows with the given positions."""
        total = super().weighted_sum(index, q)
        return np.append(total, self.constant * q.sum()) if self.constant else total

    @property
    def _step(self) -> int:
        """Rows per block: as many scores as columns, and exponentials of them, are several times the work."""
        return max(self.shape[1], BLOCK_NUMBERS // (4 * (self.shape[1] + self.n_classes)))

    def sample(self, size: int, rng: np.random.Generator) -> "ClassRows":
        """A random part of the rows, spread evenly, made explicit, with costs that stand for the whole."""
        index, costs = self._drawn(size, rng)
        return ClassRows.of(self[index], self.codes[index], costs, self.n_classes)

    def blocks(self) -> Iterator["ClassRows"]:
        """The rows block by block, as views."""
        for cut in self._cuts():
            columns = {name: getattr(self, name)[cut] for name in ("X", "along", "base", "costs", "times", "codes")}
            yield replace(self, **columns, start=self.start + cut.start, threads=1)
