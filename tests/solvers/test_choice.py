"""The choice of C along powers of ten."""

import numpy as np
import pytest

from hyplearn.solvers.choice import ENOUGH, HIGHEST, LOWEST, choose_cost


def watched(criterion):
    """The criterion, and the list of the costs at which it was evaluated."""
    seen = []

    def evaluate(C):
        seen.append(C)
        return criterion(C)

    return evaluate, seen


@pytest.mark.parametrize("best", range(LOWEST, HIGHEST + 1))
def test_the_lowest_of_a_valley_is_found_wherever_it_lies(best):
    evaluate, seen = watched(lambda C: 1 + (np.log10(C) - best) ** 2)
    assert choose_cost(evaluate) == 10.0**best
    assert len(seen) == len(set(seen)) <= abs(best - 1) + 3


@pytest.mark.parametrize("criterion", [lambda C: 1 + 1 / C, lambda C: 1 + C, lambda C: -np.log(C)])
def test_costs_stay_between_their_limits(criterion):
    evaluate, seen = watched(criterion)
    choose_cost(evaluate)
    assert min(seen) >= 10.0**LOWEST
    assert max(seen) <= 10.0**HIGHEST
    evaluate, seen = watched(lambda C: -np.log(C))
    assert choose_cost(evaluate, highest=3) == 1000.0 == max(seen)


def test_a_criterion_that_hardly_falls_ends_at_the_smaller_cost():
    assert choose_cost(lambda C: 1.0) == 10.0
    falling = {k: (1 - 0.5 * ENOUGH) ** k for k in range(-4, 7)}
    assert choose_cost(lambda C: falling[round(np.log10(C))]) == 10.0
    steeper = {k: (1 - 2 * ENOUGH) ** k for k in range(-4, 7)}
    assert choose_cost(lambda C: steeper[round(np.log10(C))]) == 10.0**HIGHEST


def test_a_negative_criterion_is_compared_by_its_size():
    """Negative logarithms of evidence may be negative: better is lower."""
    assert choose_cost(lambda C: -100.0 + (np.log10(C) - 3) ** 2) == 1000.0


def test_smaller_costs_are_tried_only_if_larger_ones_are_no_better():
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C) - 2))
    choose_cost(evaluate)
    assert seen == [10.0, 100.0, 1000.0]
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C)))
    assert choose_cost(evaluate) == 1.0
    assert seen == [10.0, 100.0, 1.0, 0.1]
