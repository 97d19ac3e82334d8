"""The choice of C along powers of ten."""

import numpy as np
import pytest

from hyplearn.rows import ClassRows
from hyplearn.solvers.choice import (
    ASSUMED_OUTLIERS,
    EASY,
    ENOUGH,
    HIGHEST,
    LOWEST,
    choose_cost,
    choose_softmax_cost,
    leave_one_out,
    outlier_share,
    with_floor,
)
from hyplearn.solvers.softmax import solve_softmax
from support import naive


def watched(criterion):
    """Wrap the criterion; also returns the list of the costs at which it was evaluated."""
    seen = []

    def evaluate(C):
        seen.append(C)
        return criterion(C)

    return evaluate, seen


@pytest.mark.parametrize("best", range(LOWEST, HIGHEST + 1))
def test_the_minimum_of_a_unimodal_criterion_is_found(best):
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


def test_a_criterion_that_hardly_decreases_selects_the_smaller_cost():
    assert choose_cost(lambda C: 1.0) == 10.0
    falling = {k: (1 - 0.5 * ENOUGH) ** k for k in range(-4, 7)}
    assert choose_cost(lambda C: falling[round(np.log10(C))]) == 10.0
    steeper = {k: (1 - 2 * ENOUGH) ** k for k in range(-4, 7)}
    assert choose_cost(lambda C: steeper[round(np.log10(C))]) == 10.0**HIGHEST


def test_a_negative_criterion_is_compared_by_its_size():
    """The negative logarithm of the evidence may itself be negative; lower is still better."""
    assert choose_cost(lambda C: -100.0 + (np.log10(C) - 3) ** 2) == 1000.0


def test_smaller_costs_are_tried_only_if_larger_ones_are_no_better():
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C) - 2))
    choose_cost(evaluate)
    assert seen == [10.0, 100.0, 1000.0]
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C)))
    assert choose_cost(evaluate) == 1.0
    assert seen == [10.0, 100.0, 1.0, 0.1]


def test_the_search_may_start_at_another_cost():
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C) - 3))
    assert choose_cost(evaluate, first=2) == 1000.0
    assert seen == [100.0, 1000.0, 10000.0]


def test_a_patient_search_crosses_a_rise():
    values = {-3: 9, -2: 9, -1: 9, 0: 9, 1: 5, 2: 4, 3: 4.5, 4: 2, 5: 3}
    assert choose_cost(lambda C: values[round(np.log10(C))], first=2) == 100.0
    assert choose_cost(lambda C: values[round(np.log10(C))], first=2, patience=2) == 10000.0
    evaluate, seen = watched(lambda C: 1 + abs(np.log10(C) - 2))
    assert choose_cost(evaluate, first=2, patience=2) == 100.0
    assert seen == [100.0, 1000.0, 10000.0, 10.0, 1.0]


def test_the_search_tries_the_first_direction_first_and_asks_each_for_its_own_improvement():
    seen = []
    values = {-1: 1.0, 0: 1.0, 1: 0.99, 2: 0.5}

    def criterion(C):
        seen.append(round(np.log10(C)))
        return values[seen[-1]]

    assert choose_cost(criterion, first=0, enough={-1: 0.0, 1: 0.02}) == 1.0
    assert seen == [0, -1, 1]
    values[-1] = 1 - 1e-9
    values[-2] = 2.0
    assert choose_cost(criterion, first=0, enough={-1: 0.0, 1: 0.02}) == 0.1
    values[-1], values[1] = 1.5, 0.97
    values[3] = 0.5
    assert choose_cost(criterion, first=0, enough={-1: 0.0, 1: 0.02}) == 100.0


def softmax_problem(K, n=60, d=4, spread=1.0):
    rng = np.random.default_rng(K)
    codes = rng.integers(K, size=n)
    rows = spread * rng.standard_normal((K, d))[codes] + rng.standard_normal((n, d))
    return rows, codes, rng.integers(0, 3, n).astype(float)


def solve(rows, codes, costs, K, **options):
    return solve_softmax(ClassRows.of(rows, codes, costs, K), tol=1e-12, **options)


@pytest.mark.parametrize("most", [300, 0], ids=["full Hessian", "blocks"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_leave_one_out_probabilities_match_a_newton_step_without_the_row(K, C, most):
    rows, codes, weights = softmax_problem(K)
    solution = solve(rows, codes, C * weights, K, full_hessian=most)
    due = naive.leave_one_out(rows, codes, weights, C, solution.W, K == 2 or not solution.is_full, EASY)
    assert np.allclose(leave_one_out(rows, codes, weights, solution, C), due, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("K", "C", "spread", "close"),
    [(2, 1.0, 1.0, 0.02), (5, 1.0, 1.0, 0.01), (5, 100.0, 1.0, 0.01), (8, 100.0, 3.0, 0.02)],
)
def test_the_leave_one_out_loss_is_close_to_that_of_fits_without_the_row(K, C, spread, close):
    rows, codes, _ = softmax_problem(K, n=150, spread=spread)
    solution = solve(rows, codes, np.full(150, C), K)
    due = 0.0
    for i in range(150):
        W = solve(np.delete(rows, i, 0), np.delete(codes, i), np.full(149, C), K, start=solution.W).W
        due -= np.log(naive.softmax_probabilities(rows[[i]], W)[0, codes[i]])
    assert -leave_one_out(rows, codes, np.ones(150), solution, C).sum() == pytest.approx(due, rel=close)


@pytest.mark.parametrize("wrong", [0, 3, 30])
def test_the_share_of_misplaced_rows_is_the_most_likely_one(wrong):
    rng = np.random.default_rng(wrong)
    weights = rng.integers(1, 3, 300).astype(float)
    log_pi = np.where(np.arange(300) < wrong, -rng.uniform(20, 800, 300), -rng.exponential(0.1, 300))
    found = outlier_share(log_pi, weights, 5)
    assert found == pytest.approx(naive.outlier_share(log_pi, weights, 5, ASSUMED_OUTLIERS), rel=1e-4)
    assert found == pytest.approx(1.25 * weights[:wrong].sum() / weights.sum(), abs=0.01)


def test_a_floor_bounds_the_log_loss_and_keeps_sums_and_ranks():
    log_pi = np.log([[0.7, 0.2, 0.1], [1.0, 1e-300, 1e-300]])
    mixed = with_floor(log_pi, 0.03, 3)
    assert np.allclose(np.exp(mixed), 0.97 * np.exp(log_pi) + 0.01, rtol=1e-14)
    assert np.allclose(np.exp(mixed).sum(axis=1), 1.0)
    assert np.array_equal(with_floor(log_pi, 0.0, 3), log_pi)
    assert with_floor(np.array([-5000.0]), 0.03, 3)[0] == pytest.approx(np.log(0.01))


def test_weights_count_as_copies_in_the_choice():
    rows, codes, weights = softmax_problem(3)
    copies = np.repeat(np.arange(60), weights.astype(int))
    options = {"tol": 1e-12}
    C, W, floor = choose_softmax_cost(rows, codes, weights, 3, **options)
    again, copied, same = choose_softmax_cost(rows[copies], codes[copies], np.ones(len(copies)), 3, **options)
    assert again == C
    assert np.allclose(W, copied, atol=1e-6)
    assert same == pytest.approx(floor, rel=1e-6)


def test_fewer_rows_than_columns_have_the_weights_of_all_columns():
    rows, codes, _ = softmax_problem(3, n=12, d=30)
    C, W, _ = choose_softmax_cost(rows, codes, np.ones(12), 3, tol=1e-12)
    assert np.allclose(W, solve(rows, codes, np.full(12, C), 3).W, atol=1e-6)
