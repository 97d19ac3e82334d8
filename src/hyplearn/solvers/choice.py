"""The choice of C: the least value of a criterion along powers of ten."""

from collections.abc import Callable

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
