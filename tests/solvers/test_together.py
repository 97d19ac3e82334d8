"""Many squared-hinge problems at once, compared with the solver of one problem, liblinear and the naive objective."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from hyplearn.rows import Rows
from hyplearn.solvers.svm import solve_svm, together
from hyplearn.solvers.svm.together import Problems, column_products, solutions_of, solve_together
from support import naive

TOL = 1e-12


def made(n=120, m=5, K=3, seed=0):
    """Rows of K overlapping classes, similar to cone coordinates, and their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    return rng.standard_normal((K, m))[codes] + rng.standard_normal((n, m)), codes


def folds(rows, codes, K=3, n_folds=4, C=2.0, seed=0):
    """Problems of all classes and folds; in each, the held-out rows have cost 0."""
    rng = np.random.default_rng(seed)
    weights, dealt = rng.uniform(0.2, 3.0, len(codes)), rng.integers(n_folds, size=len(codes))
    costs = np.where(dealt[:, None] == np.arange(n_folds), 0.0, C * weights[:, None])
    return Problems.of_classes(rows, codes, np.arange(K), weights).in_folds(costs)


def parts(problems, b):
    """Signs and costs of problem b."""
    signs = np.where(problems.codes == problems.positives[b], 1.0, -1.0)
    return signs, problems.costs[:, problems.columns[b]]


def check(problems, found):
    """Check the objective of every problem, and that the solver of one problem finds the same weights."""
    for b, w in enumerate(found.W):
        signs, costs = parts(problems, b)
        U = signs[:, None] * problems.rows[problems.sets[b]]
        alone = solve_svm(Rows.explicit(U, costs), loss="squared_hinge", tol=TOL)
        assert np.allclose(w, alone.w, rtol=1e-5, atol=1e-6 * np.abs(alone.w).max())
        assert found.primal[b] == pytest.approx(naive.svm_primal(U, costs, w, "squared_hinge"), rel=1e-12)
        assert found.primal[b] == pytest.approx(alone.primal, rel=1e-10)
        assert found.gap[b] <= TOL


@pytest.mark.parametrize("m", [1, 2, 5, 22, 30])
def test_every_problem_has_the_solution_of_the_single_problem_solver(m):
    """With up to 22 columns, Hessians are sums of products of columns; with more, they are sums over active rows."""
    rows, codes = made(m=m)
    problems = folds(rows, codes)
    assert (m * (m + 1) // 2 <= together.MOST_PRODUCTS) == (m <= 22)
    found = solve_together(problems, tol=TOL)
    assert found.W.shape == (12, m)
    check(problems, found)


def separate(n=120, m=5):
    """Problems of three classes and four folds, in which each class has its own rows."""
    rows, codes = made(n, m)
    rng = np.random.default_rng(1)
    return folds(rows + 0.3 * rng.standard_normal((3, n, m)), codes)


@pytest.mark.parametrize("m", [5, 30])
@pytest.mark.parametrize("numbers", [1, 500, 2**19])
def test_problems_with_separate_rows_have_the_solutions_of_the_single_problem_solver(m, numbers):
    problems = separate(m=m)
    assert np.array_equal(problems.sets, np.repeat([0, 1, 2], 4))
    check(problems, solve_together(problems, tol=TOL, group_numbers=numbers))


def test_separate_rows_in_their_span():
    problems = separate(n=20, m=50)
    found = solve_together(problems, tol=TOL)
    check(problems, found)
    assert solve_together(problems, tol=TOL, start=found.W).n_iter <= 1


def test_products_that_are_too_many_to_keep_change_nothing():
    kept = solve_together(separate(), tol=TOL)
    problems = replace(separate(), kept_numbers=0)
    again = solve_together(problems, tol=TOL)
    assert problems.products is None
    assert np.array_equal(again.W, kept.W)


def test_fewer_rows_than_columns_are_solved_in_their_span():
    rows, codes = made(n=20, m=50)
    problems = folds(rows, codes)
    found = solve_together(problems, tol=TOL)
    check(problems, found)
    again = solve_together(problems, tol=TOL, start=found.W)
    assert again.n_iter <= 1
    assert np.allclose(again.W, found.W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [20, 60])
def test_groups_are_limited_in_the_span_of_the_rows_too(n, monkeypatch):
    sizes = []

    class Counted(together._Group):
        def solve(self, tol, max_iter):
            sizes.append(len(self.W))
            return super().solve(tol, max_iter)

    monkeypatch.setattr(together, "_Group", Counted)
    solve_together(folds(*made(n=n, m=50)), tol=TOL, group_numbers=5 * n)
    assert sizes == [5, 5, 2]


def test_liblinear_finds_the_same_weights():
    rows, codes = made()
    problems = folds(rows, codes)
    found = solve_together(problems, tol=TOL)
    for b, w in enumerate(found.W):
        signs, costs = parts(problems, b)
        paid = costs > 0
        rival = LinearSVC(C=1.0, dual=False, loss="squared_hinge", fit_intercept=False, tol=1e-10, max_iter=100_000)
        rival.fit(rows[paid], signs[paid], sample_weight=costs[paid])
        assert np.allclose(w, rival.coef_[0], rtol=1e-4, atol=1e-5)


def test_order_of_problems_is_class_by_class_and_fold_by_fold():
    rows, codes = made()
    problems = folds(rows, codes)
    assert np.array_equal(problems.positives, np.repeat([0, 1, 2], 4))
    assert np.array_equal(problems.columns, np.tile([0, 1, 2, 3], 3))
    assert np.array_equal(problems.signs(4)[0], np.where(codes == 1, 1.0, -1.0))
    assert problems.signs(slice(2, 7)).shape == (5, 120)


def test_each_problem_may_have_a_separate_cost():
    rows, codes = made()
    C = np.array([0.01, 1.0, 100.0])
    problems = Problems.of_classes(rows, codes, np.arange(3), np.ones(120)).at_costs(C)
    assert np.array_equal(problems.costs[:, problems.columns], np.ones((120, 1)) * C)
    check(problems, solve_together(problems, tol=TOL))


def test_one_cost_for_all_problems_multiplies_the_costs_of_each_fold():
    rows, codes = made()
    problems = folds(rows, codes)
    for C in (3.0, np.full(12, 3.0)):
        assert np.array_equal(problems.at_costs(C).costs, 3 * problems.costs)
        assert np.array_equal(problems.at_costs(C).columns, problems.columns)


def test_problems_on_the_same_rows_share_the_products_of_columns():
    rows, codes = made()
    problems = Problems.of_classes(rows, codes, np.arange(3), np.ones(120))
    products = problems.products
    assert problems.at_costs(2.0).in_folds(np.ones((120, 2))).products is products


@pytest.mark.parametrize("numbers", [1, 500, 2**19])
def test_groups_change_nothing_beyond_rounding(numbers):
    rows, codes = made()
    problems = folds(rows, codes)
    whole = solve_together(problems, tol=TOL)
    cut = solve_together(problems, tol=TOL, group_numbers=numbers)
    assert np.allclose(cut.W, whole.W, rtol=1e-9, atol=1e-10)
    assert np.allclose(cut.primal, whole.primal, rtol=1e-12)


def test_a_start_saves_steps_and_is_not_changed():
    rows, codes = made()
    problems = folds(rows, codes)
    cold = solve_together(problems, tol=TOL)
    start = cold.W.copy()
    warm = solve_together(problems, tol=TOL, start=start)
    assert np.array_equal(start, cold.W)
    assert np.array_equal(warm.W, cold.W)
    assert warm.n_iter == 0 < cold.n_iter
    far = solve_together(problems, tol=TOL, start=cold.W + 100.0)
    assert np.allclose(far.W, cold.W, rtol=1e-6, atol=1e-7)


def test_problems_without_a_cost_have_no_weights():
    rows, codes = made()
    problems = Problems.of_classes(rows, codes, np.arange(3), np.ones(120)).in_folds(np.zeros((120, 2)))
    found = solve_together(problems, tol=TOL)
    assert not found.W.any()
    assert not found.primal.any()


def test_reaching_max_iter_leaves_a_gap_above_the_tolerance():
    rows, codes = made()
    problems = folds(rows, codes, C=1e4)
    found = solve_together(problems, tol=TOL, max_iter=1)
    assert found.gap.max() > TOL
    assert found.n_iter == 1
    for b, w in enumerate(found.W):
        signs, costs = parts(problems, b)
        primal = naive.svm_primal(signs[:, None] * rows, costs, w, "squared_hinge")
        assert found.primal[b] == pytest.approx(primal, rel=1e-12)
        assert found.primal[b] - found.gap[b] * max(1.0, primal) <= solve_together(problems, tol=TOL).primal[b]


@pytest.mark.parametrize("C", [1e-6, 1e6, 1e9])
def test_extreme_costs_are_solved(C):
    rows, codes = made()
    problems = folds(rows, codes, C=C)
    found = solve_together(problems, tol=1e-6)
    assert found.gap.max() <= 1e-6


def test_separable_rows_are_solved():
    rows, codes = made()
    rows[:, 0] = np.where(codes == 1, 5.0, -5.0)
    problems = folds(rows, codes, C=1e4)
    check(problems, solve_together(problems, tol=TOL))


@pytest.mark.parametrize("problems", [folds(*made()), separate()], ids=["shared rows", "separate rows"])
def test_solutions_carry_dual_variables_that_prove_the_gap(problems):
    found = solve_together(problems, tol=1e-6)
    for b, solution in enumerate(solutions_of(problems, found, 1e-6)):
        signs, costs = parts(problems, b)
        U = signs[:, None] * problems.rows[problems.sets[b]]
        alpha = np.zeros(len(U))
        alpha[solution.support] = solution.alpha
        assert np.all(solution.alpha > 0)
        assert not alpha[costs == 0].any()
        assert np.allclose(solution.v, alpha @ U)
        assert solution.status == "optimal"
        assert solution.n_support == len(solution.support)
        dual = naive.svm_dual(U, costs, alpha, "squared_hinge")
        assert solution.dual == pytest.approx(dual, rel=1e-6)
        assert solution.primal - dual == pytest.approx(solution.gap * max(1.0, solution.primal), abs=1e-9)
    unsolved = solve_together(problems, tol=1e-6, max_iter=1)
    assert {one.status for one in solutions_of(problems, unsolved, 1e-15)} == {"stalled"}


def test_products_of_columns_match_each_row():
    rows, _ = made(n=7, m=4)
    due = [np.outer(row, row)[np.triu_indices(4)] for row in rows]
    assert np.allclose(column_products(rows).T, due)
