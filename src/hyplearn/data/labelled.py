"""A source of labelled points after its census, and the rows that makers make of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hyplearn.data.points import PointSource
from hyplearn.rows.source import Costs, Merge
from hyplearn.rows.streamed import Maker, StreamedRows, Weighing
from hyplearn.types import Array


@dataclass(frozen=True)
class Labelled:
    """A source with what its census told.

    Attributes
    ----------
    points : PointSource
        The points.
    weighing : Weighing
        Classes, and the weight of each.
    totals, counts : ndarrays
        Weight and number of all rows of each class.
    weights : Costs
        Range of the weights of rows, with those of their classes.
    c : float
        Absolute curvature.
    threads : int
        How many blocks are worked on at once.
    """

    points: PointSource
    weighing: Weighing
    totals: Array
    counts: Array
    weights: Costs
    c: float
    threads: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.totals)

    def fold(self, function: Callable[..., Any], merge: Merge, *arguments: Any) -> Any:
        """One pass over the points."""
        return self.points.fold(function, merge, *arguments, threads=self.threads)

    def rows(self, make: Maker, C: float, n_columns: int, *, n_classes: int = 0) -> StreamedRows:
        """The rows that a maker makes, at C times their weights."""
        lowest, highest, total = self.weights
        costs = Costs(C * lowest, C * highest if highest else 0.0, C * total)
        return StreamedRows(self.points, make, self.n_rows, n_columns, n_classes, self.threads, costs)
