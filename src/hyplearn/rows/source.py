"""What a solver asks of rows, wherever they are: passes over blocks, a sample, the range of their costs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hyplearn.data.folding import Merge
from hyplearn.data.training import Costs

if TYPE_CHECKING:
    from hyplearn.rows.memory import Rows

# Numbers in a sample at most: it is held in memory, wherever the rows are.
SAMPLE_NUMBERS = 2**23


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
