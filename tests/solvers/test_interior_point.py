"""The interior-point method, compared with its optimality conditions and plain NumPy."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.solvers.svm import interior_point
from hyplearn.solvers.svm.interior_point import FEW_COLUMNS, MOST_COPIES, STRIP, solve_box
from support import naive


def problem(seed, n=80, d=4):
    """Overlapping rows with costs of very different size."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, d))
    U[:, 0] += 0.5
    return U, 10.0 ** rng.uniform(-3, 3, n)


def interior(seed, n=80, d=4):
    """Interior point of a problem: rows, costs, w, (α, β, s, ξ) and Θ."""
    U, C = problem(seed, n, d)
    rng = np.random.default_rng(seed + 1)
    w, share = rng.standard_normal(d), rng.uniform(0.01, 0.99, n)
    point = np.vstack([share * C, (1 - share) * C, 10.0 ** rng.uniform(-3, 1, (2, n))])
    return U, C, w, point, 1 / (point[2] / point[0] + point[3] / point[1])


@given(st.integers(0, 10**6), st.floats(-12, 12))
def test_a_centred_point_has_equal_products_and_the_given_slacks(seed, exponent):
    rng, mu = np.random.default_rng(seed), 10.0**exponent
    C = 10.0 ** rng.uniform(-8, 8, 40)
    g = rng.choice([-1.0, 0.0, 1.0], 40) * 10.0 ** rng.uniform(-6, 6, 40)
    alpha, beta, s, xi = interior_point._centred(g, C, mu)
    assert np.all(np.vstack([alpha, beta, s, xi]) > 0)
    assert np.allclose(alpha * s, mu, rtol=1e-12, atol=0)
    assert np.allclose(beta * xi, mu, rtol=1e-12, atol=0)
    assert np.all(np.abs(s - xi - g) <= 1e-12 * np.maximum(s, xi))
    assert np.allclose(alpha + beta, C, rtol=1e-9, atol=0)


@pytest.mark.parametrize("d", [1, 3, FEW_COLUMNS, FEW_COLUMNS + 1, 40])
@pytest.mark.parametrize("n", [1, STRIP, 2 * STRIP + 5])
def test_the_normal_matrix_matches_plain_numpy(n, d):
    rng = np.random.default_rng(d)
    U, theta = rng.standard_normal((n, d)), 10.0 ** rng.uniform(-6, 6, n)
    with ThreadPoolExecutor(2) as pool:
        H = interior_point._normal_matrix(U, theta, pool)
    expected = np.eye(d) + U.T @ np.diag(theta) @ U if n < STRIP else np.eye(d) + (U.T * theta) @ U
    assert np.allclose(np.tril(H), np.tril(expected), rtol=1e-11, atol=1e-12 * np.abs(expected).max())


@given(st.integers(0, 10**6), st.sampled_from([1, 4, 15]))
def test_products_match_plain_numpy(seed, d):
    U, C, w, point, _ = interior(seed, d=d)
    g, theta, v = np.empty(len(U)), np.empty(len(U)), np.empty(d)
    loss, total = interior_point._products(U, C, w, point, g, theta, v)
    assert np.allclose(g, U @ w - 1, rtol=0, atol=1e-12)
    assert np.allclose(theta, 1 / (point[2] / point[0] + point[3] / point[1]), rtol=1e-12)
    assert np.allclose(v, point[0] @ U, rtol=1e-10, atol=1e-10)
    assert np.isclose(loss, C @ np.maximum(0, 1 - U @ w), rtol=1e-10)
    assert np.isclose(total, point[0].sum(), rtol=1e-10)


@given(st.integers(0, 10**6), st.integers(1, 15))
def test_a_cholesky_factor_solves_in_place(seed, d):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d + 3, d))
    K, b = np.eye(d) + A.T @ A, rng.standard_normal(d)
    L = np.asfortranarray(np.linalg.cholesky(K) + np.triu(np.full((d, d), np.nan), 1))
    x = b.copy()
    interior_point._solve_in_place(L, x)
    assert np.allclose(x, np.linalg.solve(K, b), rtol=1e-8, atol=1e-10)


@given(st.integers(0, 10**6), st.sampled_from([1, 4, 15]))
def test_a_newton_step_solves_the_linearised_conditions(seed, d):
    U, _, w, point, theta = interior(seed, d=d)
    rng = np.random.default_rng(seed)
    alpha, beta, s, xi = point
    g, v = U @ w - 1, alpha @ U
    changes = rng.standard_normal((2, len(U))) * point[:2] * point[2:]
    factor = np.asfortranarray(np.linalg.cholesky(np.eye(d) + (U.T * theta) @ U))
    dw, steps = np.empty(d), np.empty_like(point)
    t = interior_point._step(U, g, point, 1 / point, theta, factor, v - w, changes, dw, steps)
    da, db, ds, dxi = steps
    scale = np.abs(da) @ np.abs(U)
    assert np.all(np.abs(w + dw - v - da @ U) <= 1e-9 * (scale + 1))
    assert np.array_equal(db, -da)
    assert np.allclose(s * da + alpha * ds, changes[0], rtol=1e-7, atol=1e-9 * np.abs(changes).max())
    assert np.allclose(xi * db + beta * dxi, changes[1], rtol=1e-7, atol=1e-9 * np.abs(changes).max())
    slack_scale = np.abs(ds) + np.abs(dxi) + np.abs(U) @ np.abs(dw) + s + xi
    assert np.all(np.abs((s + ds) - (xi + dxi) - (g + U @ dw)) <= 1e-8 * slack_scale)
    assert np.all(point + t * steps >= -1e-12 * point)
    assert t == 1 or np.isclose(np.min((point + t * steps) / point), 0, atol=1e-9)


@given(st.integers(0, 10**6), st.booleans())
def test_least_squares_match_the_pseudo_inverse(seed, copies):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 8))
    if copies:
        A[3:] = A[:3]
    K, b = A @ A.T, A @ rng.standard_normal(8)
    x = interior_point._least_squares(K, b)
    assert np.allclose(K @ x, b, rtol=1e-8, atol=1e-8)
    assert np.allclose(x, np.linalg.pinv(K, rcond=1e-10, hermitian=True) @ b, rtol=1e-6, atol=1e-8)
    assert interior_point._least_squares(np.empty((0, 0)), np.empty(0)).size == 0


@given(st.integers(0, 10**6), st.sampled_from([(1, 1), (3, 8), (80, 4), (60, 20)]), st.booleans())
def test_the_bounds_returned_match_w_and_alpha(seed, shape, exact):
    U, C = problem(seed, *shape)
    box = solve_box(U, C, tol=1e-6, exact=exact)
    assert np.all(box.alpha >= 0)
    assert np.all(box.alpha <= C)
    primal, dual = naive.svm_primal(U, C, box.w, "hinge"), naive.svm_dual(U, C, box.alpha, "hinge")
    assert np.isclose(box.primal, primal, rtol=1e-10, atol=1e-10)
    assert np.isclose(box.dual, dual, rtol=1e-10, atol=1e-10)
    assert primal - dual <= 1e-6 * max(1, primal)


@given(st.integers(0, 10**6), st.sampled_from([(1, 1), (3, 8), (80, 4), (60, 20)]))
def test_an_exact_solution_closes_the_gap_to_rounding(seed, shape):
    """At the solution every row is free or at an end of its box, and w is Σ α u."""
    U, C = problem(seed, *shape)
    box = solve_box(U, C, tol=1e-6)
    assert abs(box.gap) <= 1e-10 * max(1, box.primal)
    assert np.allclose(box.w, box.alpha @ U, rtol=0, atol=1e-7 * np.linalg.norm(box.w))
    margins = U @ box.w
    inside = (box.alpha > 1e-6 * C) & (box.alpha < (1 - 1e-6) * C)
    assert np.allclose(margins[inside], 1, atol=1e-6)
    assert np.all(box.alpha[margins > 1 + 1e-6] <= 1e-6 * C[margins > 1 + 1e-6])
    assert np.all(box.alpha[margins < 1 - 1e-6] >= (1 - 1e-6) * C[margins < 1 - 1e-6])


@given(st.integers(0, 10**6))
def test_crossover_stays_within_the_bounds_from_any_point(seed):
    U, C = problem(seed)
    crossed = interior_point._crossed_over(U, C, np.random.default_rng(seed).standard_normal((4, len(U))))
    assert np.all((crossed.alpha >= 0) & (crossed.alpha <= C))
    assert np.isclose(crossed.primal, naive.svm_primal(U, C, crossed.w, "hinge"), rtol=1e-10)
    assert np.isclose(crossed.dual, naive.svm_dual(U, C, crossed.alpha, "hinge"), rtol=1e-8, atol=1e-8 * crossed.primal)


def test_few_steps_leave_the_best_bounds_so_far():
    U, C = problem(0, n=300, d=6)
    gaps = [solve_box(U, C, tol=1e-12, max_iter=k).gap for k in range(12)]
    assert all(later <= earlier for earlier, later in pairwise(gaps))
    assert gaps[-1] < 1e-3 * gaps[1]


def test_very_many_copies_are_solved_without_crossover():
    """There are more rows on the margin than the crossover can solve for."""
    copies = 2 * MOST_COPIES
    U, C = np.tile([[2.0, 0.0]], (copies, 1)), np.full(copies, 1.0)
    box = solve_box(U, C, tol=1e-9)
    assert box.primal - box.dual <= 1e-9
    assert np.allclose(box.w, [0.5, 0.0], atol=1e-4)


@pytest.mark.parametrize("d", [FEW_COLUMNS, 30])
def test_threads_do_not_change_a_bit(d):
    U, C = problem(1, n=3 * STRIP, d=d)
    one, two = (solve_box(U, C, tol=1e-6, exact=False, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.w, two.w)
    assert np.array_equal(one.alpha, two.alpha)
