"""Perceptrons on points that are read in blocks: all binary problems in the same passes, rows in order."""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from hyplearn.data.labelled import Labelled
from hyplearn.data.points import Block
from hyplearn.geometry.kernels import gaps
from hyplearn.rows.source import in_any_order, summed
from hyplearn.rows.streamed import Weighing
from hyplearn.solvers.perceptron import EQUAL_WEIGHTS, Perceptron
from hyplearn.tangent import TangentRows, implicit_rows
from hyplearn.types import Array


class Extremes(NamedTuple):
    """What bounds and margin need of the rows that have a weight.

    Attributes
    ----------
    least : float
        The least ``⟨y z, normal⟩``.
    longest : float
        The largest ``c ‖z‖²``.
    room : float
        The least gap.
    copies : bool
        Whether all weights are whole numbers, of copies.
    """

    least: float
    longest: float
    room: float
    copies: bool

    @classmethod
    def of(cls, rows: TangentRows, y: Array, rooms: Array, weights: Array, normal: Array) -> Self:
        """The extremes of some rows."""
        present = weights > 0 if weights.size else np.ones(len(y), dtype=bool)
        # base = 1 - cosh ρ, and √c‖z‖ = sinh ρ.
        return cls(
            float(np.min((y * (rows @ normal))[present], initial=np.inf)),
            float(np.max((rows.base * (rows.base - 2))[present], initial=0.0)),
            float(np.min(rooms[present], initial=np.inf)),
            bool(np.all(weights == np.round(weights))),
        )

    @classmethod
    def merged(cls, parts: Sequence["Extremes"]) -> Self:
        """The extremes of all rows."""
        least, longest, room, copies = zip(*parts, strict=True)
        return cls(min(least), max(longest), min(room), all(copies))


class Problems(NamedTuple):
    """Binary problems of labelled points, and the rows that they see.

    Attributes
    ----------
    weighing : Weighing
        Classes and weights.
    positives : sequence of int
        The class of each problem.
    references : ndarray
        The reference point of each.
    c : float
        Absolute curvature.
    """

    weighing: Weighing
    positives: Sequence[int]
    references: Array
    c: float

    def rows(self, block: Block, k: int, rooms: Array) -> tuple[TangentRows, Array, Array]:
        """Rows, labels ±1 and weights of a block in problem k."""
        codes = self.weighing.codes(block)
        rows = implicit_rows(block.X, self.references[k], features="z", c=self.c, rooms=rooms)
        equal = block.weights is None and np.all(self.weighing.factors == 1)
        weights = EQUAL_WEIGHTS if equal else self.weighing.weights(block, codes)
        return rows, np.where(codes == self.positives[k], 1.0, -1.0), weights


class Pass(NamedTuple):
    """Perceptrons in the middle of a pass, and the mistakes that each has made in it."""

    perceptrons: list[Perceptron]
    mistakes: list[int]


@dataclass(frozen=True)
class Visit:
    """Lets the perceptrons of some problems visit the rows of a block, in order."""

    problems: Problems
    numbers: list[int]

    def __call__(self, block: Block, so_far: Pass, threads: int) -> Pass:
        """The pass after the block; what was given stays as it is, as another worker may be asked again."""
        rooms, perceptrons = gaps(block.X, self.problems.c), copy.deepcopy(so_far.perceptrons)

        def mistakes(k: int, perceptron: Perceptron, before: int) -> int:
            return before + perceptron.visit(*self.problems.rows(block, k, rooms))

        with ThreadPoolExecutor(threads) as pool:
            return Pass(perceptrons, list(pool.map(mistakes, self.numbers, perceptrons, so_far.mistakes)))


def visited(data: Labelled, problems: Problems, perceptrons: dict[int, Perceptron]) -> dict[int, int]:
    """One pass of some perceptrons in order; the mistakes of each."""
    numbers = list(perceptrons)
    begun = Pass(list(perceptrons.values()), [0] * len(numbers))
    found = data.points.visited(Visit(problems, numbers), begun, threads=data.threads)
    perceptrons.update(zip(numbers, found.perceptrons, strict=True))
    return dict(zip(numbers, found.mistakes, strict=True))


def weighted_errors(data: Labelled, problems: Problems, weights: dict[int, Array]) -> dict[int, float]:
    """The weight of the rows on the wrong side of some boundaries."""
    return dict(zip(weights, data.fold(_errors, summed, problems, weights).tolist(), strict=True))


def _errors(block: Block, problems: Problems, weights: dict[int, Array]) -> Array:
    rooms = gaps(block.X, problems.c)
    return np.array([errors_of(*problems.rows(block, k, rooms), w) for k, w in weights.items()])


def errors_of(rows: TangentRows, y: Array, weights: Array, w: Array) -> float:
    """The weight of the rows on the wrong side of a boundary."""
    wrong = y * (rows @ w) <= 0
    return float(wrong.sum() if weights.size == 0 else weights[wrong].sum())


def extremes(data: Labelled, problems: Problems, normals: dict[int, Array]) -> dict[int, Extremes]:
    """What bounds and margins of some boundaries need, in one pass."""
    return dict(zip(normals, data.fold(_extremes, _merged, problems, normals), strict=True)) if normals else {}


def _extremes(block: Block, problems: Problems, normals: dict[int, Array]) -> list[Extremes]:
    rooms = gaps(block.X, problems.c)
    found = []
    for k, normal in normals.items():
        rows, y, weights = problems.rows(block, k, rooms)
        found.append(Extremes.of(rows, y, rooms, weights, normal))
    return found


@in_any_order
def _merged(parts: Sequence[Sequence[Extremes]]) -> list[Extremes]:
    return [Extremes.merged(column) for column in zip(*parts, strict=True)]


class Learned(NamedTuple):
    """What became of a problem: the weights kept, the mistakes of the last pass, the number of passes."""

    w: Array
    mistakes: int
    epochs: int


def kept_weights(keep: str, perceptron: Perceptron, best: Array, mistakes: int) -> Array:
    """The weights that a problem keeps."""
    if keep == "best":
        return best
    averaged = keep == "average" or (keep == "auto" and mistakes > 0)
    return perceptron.average if averaged else perceptron.w.copy()


def learned_in_passes(
    data: Labelled,
    problems: Problems,
    perceptrons: list[Perceptron],
    *,
    max_epochs: int,
    keep: str,
    report: Callable[[int, int, int], Any],
) -> list[Learned]:
    """Pass over the points until no problem has a mistake, and leave the perceptrons as they are then.

    Each problem takes part until it has no mistake.
    """
    active, learned = dict(enumerate(perceptrons)), {}
    best = {k: perceptron.w.copy() for k, perceptron in active.items()}
    fewest = dict.fromkeys(active, np.inf)
    for epoch in range(1, max_epochs + 1):
        mistakes = visited(data, problems, active)
        if keep == "best":
            errors = weighted_errors(data, problems, {k: perceptron.w for k, perceptron in active.items()})
            for k in active:
                if errors[k] < fewest[k]:
                    best[k], fewest[k] = active[k].w.copy(), errors[k]
        for k, count in mistakes.items():
            report(k, epoch, count)
            if count == 0 or epoch == max_epochs:
                perceptrons[k] = active.pop(k)
                learned[k] = Learned(kept_weights(keep, perceptrons[k], best[k], count), count, epoch)
        if not active:
            break
    return [learned[k] for k in range(len(perceptrons))]
