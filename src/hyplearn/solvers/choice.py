"""The choice of C: the least value of a criterion along powers of ten."""

from collections.abc import Callable
from typing import Any

from hyplearn.rows import RowSource
from hyplearn.solvers.softmax import solve_softmax
from hyplearn.types import Array

# Where to begin, and between which exponents of 10 to look.
FIRST, LOWEST, HIGHEST = 1, -3, 5
# Part of the criterion by which the next power has to be better: a criterion that hardly falls any more, as that of
# separated classes, ends at the smaller C.
ENOUGH = 2e-3


def choose_cost(criterion: Callable[[float], float], *, highest: int = HIGHEST) -> float:
    """The power of ten, up to that of ``highest``, at which the criterion is lowest; found downhill from 10.

    Examples
    --------
    >>> from hyplearn.solvers.choice import choose_cost
    >>> choose_cost(lambda C: (C - 90) ** 2)
    100.0
    """
    values = {FIRST: criterion(10.0**FIRST)}
    for way in (1, -1):
        k = FIRST
        while LOWEST <= k + way <= highest:
            values[k + way] = criterion(10.0 ** (k + way))
            if not values[k + way] < values[k] - ENOUGH * abs(values[k]):
                break
            k += way
        if k != FIRST:
            break
    return 10.0**k


def choose_by_evidence(
    rows_at: Callable[[float], RowSource], *, highest: int = HIGHEST, **options: Any
) -> tuple[float, Array]:
    """The power of ten of greatest evidence for a softmax, and the weights of the last fit on the way.

    ``rows_at`` gives the rows at C times their weights; ``options`` are those of :func:`solve_softmax`.
    """
    start: Array | None = None

    def evidence(C: float) -> float:
        nonlocal start
        solution = solve_softmax(rows_at(C), start=start, **options)
        start = solution.W
        return solution.evidence(C)

    C = choose_cost(evidence, highest=highest)
    assert start is not None
    return C, start
