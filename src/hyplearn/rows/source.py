"""What a solver asks of rows, wherever they are: passes over blocks, a sample, the range of their costs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from hyplearn.types import Array

if TYPE_CHECKING:
    from hyplearn.rows.memory import Rows

# Makes one part of several, associatively: what blocks yield, or what earlier merges made of that.
Merge: TypeAlias = Callable[[Sequence[Any]], Any]
M = TypeVar("M", bound=Merge)
# Merges that need not see their parts in order: see :func:`in_any_order`.
_IN_ANY_ORDER: set[Merge] = {max}
# Parts that are merged at a time: few enough to hold, enough that what they carry is not copied for every block.
PENDING = 8
# Numbers in a sample at most: it is held in memory, wherever the rows are.
SAMPLE_NUMBERS = 2**23
# Numbers that a working set may take, with some for each row beside its coordinates: 128 MiB.
MOST_GATHERED, BESIDE_A_ROW = 2**24, 16


def in_any_order(merge: M) -> M:
    """Say of a merge that what it makes does not depend on the order of its parts, up to rounding: sums, not joins.

    Blocks that lie on several machines, not one after the other, are then merged where they are.
    """
    _IN_ANY_ORDER.add(merge)
    return merge


def minds_order(merge: Merge) -> bool:
    """Whether parts must be merged in the order of their blocks."""
    return merge not in _IN_ANY_ORDER


class Costs(NamedTuple):
    """The least cost above 0 (infinite where there is none), the highest, and the sum."""

    lowest: float
    highest: float
    total: float

    @classmethod
    def of(cls, costs: Array) -> Self:
        """The range of some costs."""
        lowest = costs.min(where=costs > 0, initial=np.inf)
        return cls(float(lowest), float(costs.max(initial=0.0)), float(costs.sum()))

    @classmethod
    def merged(cls, parts: Sequence["Costs"]) -> Self:
        """The range of the costs of several blocks."""
        lowest, highest, totals = zip(*parts, strict=True)
        return cls(min(lowest), max(highest), sum(totals))


in_any_order(Costs.merged)


class RowSource(ABC):
    """Rows with costs that are seen in passes.

    Functions of a block, and what merges their results, belong to modules and not to calls, so that they can travel
    to where a block is.
    """

    # How many dual variables a solution keeps: all of them unless rows may not fit into memory.
    most_kept: float = np.inf
    # Of rows that carry the number of their class: how many classes there are.
    n_classes: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""

    @property
    def most_gathered(self) -> int:
        """How many rows a working set may have: as many everywhere, as fits that gather others end in other digits."""
        return MOST_GATHERED // (self.shape[1] + BESIDE_A_ROW)

    @property
    @abstractmethod
    def cost_range(self) -> Costs:
        """The range of the costs."""

    @abstractmethod
    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """One pass: ``function(block, *arguments)`` of every block, merged in order."""

    @abstractmethod
    def altered(self, function: Callable[..., "Rows"], *arguments: Any) -> "RowSource":
        """The rows that ``function(block, *arguments)`` makes of every block."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> "Rows":
        """A random part of the rows, spread evenly, made explicit, with costs that stand for the whole."""

    @abstractmethod
    def thinned(self, size: int, rng: np.random.Generator) -> "RowSource":
        """A random part of the rows, spread evenly, that stands for the whole and is a source itself."""

    @abstractmethod
    def gathered(self) -> "Rows":
        """All rows, explicit, in memory."""


class Folding:
    """The parts of a pass so far: each time that ``PENDING`` parts of as many blocks are there, they become one.

    So few parts wait, and what they carry is copied once for each digit of the number of blocks. Which are merged when
    depends on that number alone, so that a pass can go on.
    """

    def __init__(self, merge: Merge, pending: Iterable[Any] = (), n_blocks: int = 0) -> None:
        self.merge, self.pending, self.n_blocks = merge, list(pending), n_blocks

    def add(self, part: Any) -> None:
        """Take the part of the next block."""
        self.pending.append(part)
        self.n_blocks += 1
        full = self.n_blocks
        while full % PENDING == 0:
            self.pending[-PENDING:] = [self.merge(self.pending[-PENDING:])]
            full //= PENDING

    def result(self) -> Any:
        """All parts, merged."""
        return self.merge(self.pending)


def folded(parts: Iterable[Any], merge: Merge) -> Any:
    """Parts merged in order, a few at a time."""
    folding = Folding(merge)
    for part in parts:
        folding.add(part)
    return folding.result()


@in_any_order
def summed(parts: Sequence[Any]) -> Any:
    """The sum of arrays or numbers, from the first to the last."""
    return sum(parts[1:], parts[0])


@in_any_order
def columns_summed(parts: Sequence[Any]) -> tuple[Any, ...]:
    """The sums of tuples of arrays or numbers, entry by entry."""
    return tuple(summed(column) for column in zip(*parts, strict=True))


def columns_joined(parts: Sequence[Any]) -> tuple[Array, ...]:
    """Tuples of arrays, joined entry by entry."""
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
