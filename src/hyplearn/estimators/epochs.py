"""Training epochs of the perceptrons: passes over rows in memory, or over rows that are read in blocks."""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import in_any_order, summed
from hyplearn.data.points import Block
from hyplearn.data.training import Encoder, LabelledBlock, TrainingData
from hyplearn.solvers.perceptron import EQUAL_WEIGHTS, Perceptron
from hyplearn.tangent import TangentRows, implicit_rows
from hyplearn.types import Array

# Constants of early stopping. After at least FIRST_CHECK passes and FIRST_VISITS row visits, whenever the number of
# passes is a power of two, the second half of the passes is compared with the first half. Training stops unless at
# least one of two numbers has decreased by the fraction BETTER: the smallest number of mistakes in a pass, or the total
# sample weight of the training rows that the weights selected by ``keep`` misclassify. With overlapping classes,
# training stops after about 60 passes instead of 1000, without loss of accuracy. On small data, earlier checks would
# stop training before the average of the weights is stable: leaving out a single training row changed up to 7 of 88
# test predictions of the second-order perceptron with FIRST_CHECK = 8, and up to 3 without FIRST_VISITS.
FIRST_CHECK, FIRST_VISITS, BETTER = 32, 2**14, 0.05


class Problems(NamedTuple):
    """Binary problems, each given by its positive class and its reference point, and the curvature of the space."""

    positives: Sequence[int]  # index of the positive class of each problem
    references: Array  # reference point of each problem
    c: float  # absolute curvature

    def rows(self, block: LabelledBlock, k: int) -> "ProblemRows":
        """Return the rows of problem k for the points of a block."""
        rows = implicit_rows(block.X, self.references[k], features="z", c=self.c, gaps=block.gaps)
        weights = EQUAL_WEIGHTS if block.weights is None else block.weights
        return ProblemRows(rows, np.where(block.codes == self.positives[k], 1.0, -1.0), weights)


class ProblemRows(NamedTuple):
    """Rows, labels ±1 and weights of one binary problem."""

    rows: TangentRows
    y: Array
    weights: Array

    def errors(self, w: Array) -> float:
        """Return the total weight of the misclassified rows, for the boundary with normal w."""
        wrong = self.y * (self.rows @ w) <= 0
        return float(wrong.sum() if self.weights.size == 0 else self.weights[wrong].sum())


@checkpointable
class Extremes(NamedTuple):
    """Extreme values over the rows with positive weight, from which mistake bounds and margins are computed.

    In the comments, x is a point, y = ±1 is its label, and z is the vector of its z features (:mod:`hyplearn.tangent`).
    """

    least: float  # smallest y ⟨z, normal⟩; positive if all rows are on the correct side
    longest: float  # largest c ‖z‖²
    gap: float  # smallest gap 1 - c‖x‖²
    copies: bool  # whether all weights are integers and can be treated as numbers of copies

    @classmethod
    def of(cls, part: ProblemRows, gaps: Array, normal: Array) -> Self:
        """Compute all fields from the rows of a problem, for the boundary with the given normal."""
        rows, y, weights = part
        present = weights > 0 if weights.size else np.ones(len(y), dtype=bool)
        # For a point with z features z, let ρ be √c times its distance from the reference point, and let base be its
        # element of ``rows.base``. Then base = 1 - cosh ρ and √c‖z‖ = sinh ρ, so c‖z‖² = base (base - 2).
        return cls(
            float(np.min((y * (rows @ normal))[present], initial=np.inf)),
            float(np.max((rows.base * (rows.base - 2))[present], initial=0.0)),
            float(np.min(gaps[present], initial=np.inf)),
            bool(np.all(weights == np.round(weights))),
        )


class KeptEpochs:
    """Epochs over the rows of a single problem, which are held in memory and visited in order or shuffled."""

    def __init__(self, rows: ProblemRows, rng: np.random.Generator | None) -> None:
        self.rows, self.rng, self.n_rows = rows, rng, len(rows.y)

    def visit(self, perceptrons: dict[int, Perceptron]) -> dict[int, int]:
        """Make one pass over the rows, and update the perceptrons in place; return how many mistakes each one made."""
        return {k: perceptron.visit(*self.rows, self.rng) for k, perceptron in perceptrons.items()}

    def errors(self, weights: dict[int, Array]) -> dict[int, float]:
        """Return, for each problem, the total weight of the misclassified rows."""
        return {k: self.rows.errors(w) for k, w in weights.items()}


class StreamedEpochs:
    """Epochs over points that are read in blocks, in order; each pass trains the perceptrons of all problems."""

    def __init__(self, data: TrainingData, problems: Problems) -> None:
        self.data, self.problems, self.n_rows = data, problems, data.n_rows

    def visit(self, perceptrons: dict[int, Perceptron]) -> dict[int, int]:
        """Make one pass over the rows, and replace the values of ``perceptrons`` with the trained perceptrons.

        Return the number of mistakes made by each perceptron.
        """
        numbers = list(perceptrons)
        visit = partial(_visit_encoded, encoder=self.data.encoder, problems=self.problems, numbers=numbers)
        begun = Pass(list(perceptrons.values()), [0] * len(numbers))
        found = self.data.points.visited(visit, begun, threads=self.data.threads)
        perceptrons.update(zip(numbers, found.perceptrons, strict=True))
        return dict(zip(numbers, found.mistakes, strict=True))

    def errors(self, weights: dict[int, Array]) -> dict[int, float]:
        """Return, for each problem, the total weight of the misclassified rows."""
        return dict(zip(weights, self.data.fold(_errors, summed, self.problems, weights).tolist(), strict=True))


@checkpointable
class Pass(NamedTuple):
    """State during a pass: the perceptrons, and the number of mistakes that each of them has made so far."""

    perceptrons: list[Perceptron]
    mistakes: list[int]


def visit_problems(block: LabelledBlock, so_far: Pass, threads: int, *, problems: Problems, numbers: list[int]) -> Pass:
    """Train each perceptron on the rows of a block, in order; return a new Pass and leave ``so_far`` unchanged."""
    perceptrons = copy.deepcopy(so_far.perceptrons)

    def mistakes(k: int, perceptron: Perceptron, before: int) -> int:
        return before + perceptron.visit(*problems.rows(block, k))

    with ThreadPoolExecutor(threads) as pool:
        return Pass(perceptrons, list(pool.map(mistakes, numbers, perceptrons, so_far.mistakes)))


def _visit_encoded(block: Block, so_far: Pass, threads: int, *, encoder: Encoder, **arguments: Any) -> Pass:
    return visit_problems(encoder(block), so_far, threads, **arguments)


def _errors(block: LabelledBlock, problems: Problems, weights: dict[int, Array]) -> Array:
    return np.array([problems.rows(block, k).errors(w) for k, w in weights.items()])


def find_extremes(data: TrainingData, problems: Problems, normals: dict[int, Array]) -> dict[int, Extremes]:
    """Compute in one pass the :class:`Extremes` of each problem that has a normal in ``normals``."""
    return dict(zip(normals, data.fold(_extremes, _merge_extremes, problems, normals), strict=True)) if normals else {}


def _extremes(block: LabelledBlock, problems: Problems, normals: dict[int, Array]) -> list[Extremes]:
    return [Extremes.of(problems.rows(block, k), block.gaps, normal) for k, normal in normals.items()]


@in_any_order
def _merge_extremes(parts: Sequence[Sequence[Extremes]]) -> list[Extremes]:
    merged = []
    for column in zip(*parts, strict=True):
        least, longest, gaps, copies = zip(*column, strict=True)
        merged.append(Extremes(min(least), max(longest), min(gaps), all(copies)))
    return merged


class Learned(NamedTuple):
    """Trained weights of a problem, the number of mistakes in the last pass, and the number of passes."""

    w: Array
    mistakes: int
    epochs: int


def learn(
    epochs: KeptEpochs | StreamedEpochs,
    perceptrons: list[Perceptron],
    *,
    max_epochs: int,
    keep: str,
    report: Callable[[int, int, int], Any],
) -> list[Learned]:
    """Train the perceptrons in at most ``max_epochs`` passes; return the results in the order of ``perceptrons``.

    The training of a perceptron ends after a pass without mistakes or, unless ``keep`` is "last", when it stops
    improving (:class:`Halves`). ``keep`` selects the weights to return, as in :class:`PoincarePerceptron`. The
    perceptrons in the list are replaced with the trained ones.
    """
    active, learned = dict(enumerate(perceptrons)), {}
    best = {k: perceptron.w.copy() for k, perceptron in active.items()}
    fewest = dict.fromkeys(active, np.inf)
    progress = {k: Halves() for k in active}
    for epoch in range(1, max_epochs + 1):
        mistakes = epochs.visit(active)
        if keep == "best":
            errors = epochs.errors({k: perceptron.w for k, perceptron in active.items()})
            for k in active:
                if errors[k] < fewest[k]:
                    best[k], fewest[k] = active[k].w.copy(), errors[k]
        kept = {k: _kept_weights(keep, active[k], best[k]) for k in active}
        averaged = {k: kept[k] for k, count in mistakes.items() if count == 0 and keep == "auto"}
        for k, wrong in (epochs.errors(averaged) if averaged else {}).items():
            kept[k] = active[k].w.copy() if wrong else kept[k]
        for k, count in mistakes.items():
            progress[k].count(count)
        halted: set[int] = set()
        if keep != "last" and is_checked(epoch, epochs.n_rows):
            errors = epochs.errors(kept)
            halted = {k for k in active if progress[k].is_over(errors[k])}
        for k, count in mistakes.items():
            report(k, epoch, count)
            if count == 0 or epoch == max_epochs or k in halted:
                perceptrons[k] = active.pop(k)
                learned[k] = Learned(kept[k], count, epoch)
        if not active:
            break
    return [learned[k] for k in range(len(perceptrons))]


def is_checked(epoch: int, n_rows: int) -> bool:
    """Return whether to check for early stopping after this epoch (see ``FIRST_CHECK``)."""
    return epoch >= FIRST_CHECK and epoch * n_rows >= FIRST_VISITS and epoch & (epoch - 1) == 0


class Halves:
    """Early-stopping rule that compares the second half of the passes with the first half.

    Training stops if neither the smallest number of mistakes in a pass nor the total sample weight of the misclassified
    training rows has decreased enough.
    """

    def __init__(self) -> None:
        self.before, self.since, self.errors = np.inf, np.inf, np.inf

    def count(self, mistakes: int) -> None:
        """Record the number of mistakes of a pass."""
        self.since = min(self.since, mistakes)

    def is_over(self, errors: float) -> bool:
        """Return whether training should stop.

        The passes since the previous call are compared with all passes before that call. ``errors`` is the total sample
        weight of the training rows that are misclassified now; it is compared with the smallest such weight in previous
        calls. Training should stop if neither this weight nor the smallest number of mistakes in a pass has decreased
        by at least the fraction ``BETTER``.
        """
        over = self.since > (1 - BETTER) * self.before and errors > (1 - BETTER) * self.errors
        self.before, self.since, self.errors = min(self.before, self.since), np.inf, min(self.errors, errors)
        return bool(over)


def _kept_weights(keep: str, perceptron: Perceptron, best: Array) -> Array:
    if keep == "best":
        return best
    return perceptron.w.copy() if keep == "last" else perceptron.average
