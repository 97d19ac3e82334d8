"""Newton's method for the squared hinge, compared with plain NumPy and its certificate, the gradient."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.rows import Rows
from hyplearn.solvers.svm import solve_svm, squared_hinge
from hyplearn.solvers.svm.squared_hinge import POLISHED_TOL, ConjugateDescent, DirectDescent, solve_squared_hinge
from support import naive


def problem(seed, n=80, d=4, low=-3.0, high=3.0):
    """Overlapping rows with costs of very different size, some of them 0."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, d))
    U[:, 0] += 0.5
    return U, 10.0 ** rng.uniform(low, high, n) * (rng.uniform(size=n) > 0.1)


def solve(U, C, **options):
    return solve_squared_hinge(
        Rows.explicit(U, C), **{"tol": 1e-6, "max_iter": 100, "rng": np.random.default_rng(0)} | options
    )


@pytest.mark.parametrize("numbers", [37, 2**20])
@given(seed=st.integers(0, 10**6))
def test_a_point_matches_plain_numpy(numbers, seed):
    U, C = problem(seed)
    w = np.random.default_rng(seed + 1).standard_normal(4)
    source = replace(Rows.explicit(U, C), block_numbers=numbers)
    assert len(list(source.blocks())) == (9 if numbers == 37 else 1)
    point = DirectDescent(source, w).point
    slack = np.maximum(0, 1 - U @ w)
    alpha, active = 2 * C * slack, (slack > 0) & (C > 0)
    assert np.isclose(point.loss, C @ slack**2, rtol=1e-12)
    assert np.isclose(point.primal, naive.svm_primal(U, C, w, "squared_hinge"), rtol=1e-12)
    assert np.allclose(point.v, alpha @ U, rtol=1e-10, atol=1e-10 * alpha.sum())
    hessian = (U[active].T * (2 * C[active])) @ U[active]
    assert np.allclose(point.second, hessian, rtol=1e-10, atol=1e-10 * C.sum())
    assert point.n_active == active.sum()
    wide = ConjugateDescent(source, w)
    assert np.array_equal(wide.point.second, np.flatnonzero(active))
    assert np.isclose(wide.point.loss, point.loss, rtol=1e-12)
    assert np.allclose(wide.point.v, point.v, rtol=1e-10, atol=1e-10 * alpha.sum())


@given(st.integers(0, 10**6))
def test_half_the_square_of_the_gradient_is_the_gap_at_every_w(seed):
    """P(w) - D(2 C max(0, 1 - Uw)) = ½‖∇P(w)‖²."""
    U, C = problem(seed)
    w = np.random.default_rng(seed + 1).standard_normal(4)
    point = DirectDescent(Rows.explicit(U, C), w).point
    alpha = 2 * C * np.maximum(0, 1 - U @ w)
    primal, dual = naive.svm_primal(U, C, w, "squared_hinge"), naive.svm_dual(U, C, alpha, "squared_hinge")
    scale = primal + alpha.sum() + np.sum((alpha @ U) ** 2)
    assert np.isclose(point.dual, dual, rtol=0, atol=1e-11 * scale)
    assert np.isclose(point.gap * max(1, primal), primal - dual, rtol=0, atol=1e-11 * scale)


@given(st.integers(0, 10**6))
def test_a_newton_step_lowers_the_value_or_halves_the_gap(seed):
    U, C = problem(seed)
    w = 10 * np.random.default_rng(seed + 1).standard_normal(4)
    for method in (DirectDescent, ConjugateDescent):
        descent = method(Rows.explicit(U, C), w)
        following, point = descent._following(0.1, 0.0), descent.point
        assert following.primal < point.primal or following.gap < point.gap / 2
        assert (descent.n_iter, descent.n_passes >= 2) == (1, True)


def test_steps_that_go_too_far_end_at_the_lowest_point():
    """If no row is active, the full step leads to w = 0, where every row is active."""
    source = Rows.explicit(np.array([[1.0, 2.0], [2.0, 1.0]]), np.full(2, 1e8))
    descent = DirectDescent(source, np.full(2, 100.0))
    following, point = descent._following(0.1, 0.0), descent.point
    assert descent.n_passes == 6
    along = [DirectDescent(source, t * point.w).point.primal for t in np.linspace(0, 1, 2001)]
    assert following.primal <= 1.01 * min(along)
    assert following.primal < point.primal


@given(st.integers(0, 10**6), st.sampled_from([(1, 1), (5, 9), (80, 4), (200, 12)]))
def test_newtons_method_ends_at_the_exact_solution(seed, shape):
    """P is piecewise quadratic: once the right rows are active, one step solves for them."""
    U, C = problem(seed, *shape)
    solution = solve(U, C, tol=1e-14)
    assert solution.status == "optimal"
    assert solution.n_iter <= 25
    assert np.allclose(solution.w, solution.alpha @ U[solution.support], rtol=0, atol=1e-6 * np.linalg.norm(solution.w))


@pytest.mark.parametrize(("tol", "steps"), [(POLISHED_TOL, 1), (1.01 * POLISHED_TOL, 0), (1e-2, 0), (1e-6, 1)])
def test_a_tight_tolerance_takes_a_final_step_and_a_loose_one_does_not(tol, steps):
    """The final step squares the error; a fit with a loose tolerance does not need it, and saves its pass."""
    U, _ = problem(1, n=400, d=6)
    C = np.full(len(U), 0.3)
    plain, polished = solve(U, C, tol=tol, polish=False), solve(U, C, tol=tol)
    assert 0 < plain.gap <= tol
    assert polished.n_iter == plain.n_iter + steps
    assert polished.n_passes == plain.n_passes + steps
    # A gap below 1e-25 is rounding error, which no step reduces.
    assert polished.gap < max(0.5 * plain.gap, 1e-25) if steps else polished.gap == plain.gap


def test_all_active_is_ridge_regression_of_ones():
    """The costs are so low that no row reaches its margin, so w = (I + 2C UᵀU)⁻¹ 2C Uᵀ1."""
    rng = np.random.default_rng(3)
    U = rng.standard_normal((40, 3)) + 0.5
    C = np.full(40, 1e-3)
    expected = np.linalg.solve(np.eye(3) + 2e-3 * U.T @ U, 2e-3 * U.sum(axis=0))
    solution = solve(U, C, tol=1e-12)
    assert np.array_equal(solution.support, np.arange(40))
    assert np.allclose(solution.w, expected, rtol=1e-9)


@given(st.integers(0, 10**6), st.floats(2, 8))
def test_active_rows_near_the_margin_are_interpolated(seed, exponent):
    """α solves (UUᵀ + diag 1/2C) α = 1 for any cost, so it is not limited by the digits of w."""
    rng = np.random.default_rng(seed)
    U, C = rng.standard_normal((4, 6)), np.full(4, 10.0**exponent)
    source = Rows.explicit(U, C)
    point = DirectDescent(source, np.zeros(6)).point
    solution = squared_hinge._interpolated(source, point, 1e-6, "stalled", 3, 5)
    expected = np.linalg.solve(U @ U.T + np.diag(1 / (2 * C)), np.ones(4))
    if np.all(expected >= 0):
        assert solution.status == "optimal"
        assert np.allclose(solution.w, expected @ U, rtol=1e-6)
    assert (solution.status == "optimal") == (solution.gap <= 1e-6)
    assert np.all(solution.alpha >= 0)
    assert np.isclose(solution.primal, naive.svm_primal(U, C, solution.w, "squared_hinge"), rtol=1e-6)
    alpha = np.zeros(4)
    alpha[solution.support] = solution.alpha
    assert np.isclose(solution.dual, naive.svm_dual(U, C, alpha, "squared_hinge"), rtol=1e-9)
    assert (solution.n_iter, solution.n_passes) == (3, 7)


def test_costs_of_all_sizes_are_solved_in_increasing_order():
    """Otherwise, rows become active a few at a time: the first case would take 113 steps and 1,150 passes."""
    for seed in (3, 1, 7):
        rng = np.random.default_rng(seed)
        U, C = rng.standard_normal((170, 60)), 10.0 ** rng.uniform(-6, 8, 170)
        solution = solve(U, C)
        assert solution.status == "optimal"
        assert solution.n_passes < 100


def test_with_many_rows_the_solver_starts_on_a_sample(monkeypatch):
    U, C = problem(0, n=20_000, low=-1.0, high=1.0)
    starts, inner = [], DirectDescent._at

    def seen(self, w):
        starts.append((self.source.shape[0], w))
        return inner(self, w)

    monkeypatch.setattr(DirectDescent, "_at", seen)
    solution = solve(U, C)
    first = next(w for n, w in starts if n == 20_000)
    assert solution.status == "optimal"
    assert starts[0][0] < 2000
    assert np.linalg.norm(first - solution.w) < 0.5 * np.linalg.norm(solution.w)
    assert solution.n_passes == sum(n == 20_000 for n, _ in starts) + 2  # the sample is drawn first, α computed last


def wide_rows(n=3000, d=210):
    """More active rows than the preconditioner uses, with columns of very different sizes."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((n, d)) + 0.2) * 10.0 ** rng.uniform(-2, 1, d)


@pytest.mark.parametrize("cost", [1e-3, 0.1, 30.0])
def test_conjugate_gradients_and_the_hessian_give_the_same_solution(cost):
    U = wide_rows()
    source, start = Rows.explicit(U, np.full(len(U), cost)), np.zeros(U.shape[1])
    found = []
    for method in (DirectDescent, ConjugateDescent):
        descent = method(source, start)
        assert descent.run(1e-8, 100) == "optimal"
        descent.polish()
        found.append(descent)
    direct, conjugate = (descent.point for descent in found)
    assert found[1].n_iter <= 2 * found[0].n_iter
    assert np.allclose(conjugate.w, direct.w, rtol=0, atol=1e-6 * np.linalg.norm(direct.w))
    assert conjugate.primal == pytest.approx(direct.primal, rel=1e-10)


def test_a_newton_step_may_use_a_part_of_the_active_rows():
    U = wide_rows()
    descent = ConjugateDescent(Rows.explicit(U, np.full(len(U), 0.1)), np.zeros(U.shape[1]))
    descent._precondition()
    assert descent.made_at is None
    L = np.tril(descent.factor[0])
    hessian = np.eye(U.shape[1]) + 0.2 * U.T @ U
    # The eigenvalues of the preconditioned Hessian are near 1, because four rows per column are most of the 3,000.
    values = np.linalg.eigvals(np.linalg.solve(L @ L.T, hessian)).real
    assert 0.2 < values.min() < 1 < values.max() < 5


def test_sources_of_many_columns_in_memory_have_no_hessians():
    narrow, wide = (
        Rows.explicit(np.ones((3, d)), np.ones(3)) for d in (squared_hinge.MANY_COLUMNS - 1, squared_hinge.MANY_COLUMNS)
    )
    assert (squared_hinge.descent_of(narrow), squared_hinge.descent_of(wide)) == (DirectDescent, ConjugateDescent)


def test_no_shorter_step_is_searched_where_rounding_hides_the_decrease():
    """At the solution P changes only in its last bits, so there are three passes: for the start, the step, and α."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = Rows.explicit(rng.normal([0.5, 0.0, 0.0], 1.0, (20_000, 3)), np.ones(20_000))
        solution = solve_svm(rows, loss="squared_hinge")
        for _ in range(3):
            solution = solve_svm(rows, loss="squared_hinge", start=solution.w)
            assert solution.status == "optimal"
            assert solution.n_passes <= 3
