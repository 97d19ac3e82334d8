"""Newton's method for the softmax, compared with plain NumPy, other solvers, and its certificate, the gradient."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from hyplearn.rows import ClassRows
from hyplearn.solvers.softmax import solve as softmax
from hyplearn.solvers.softmax.solve import solve_softmax
from support import naive


def problem(seed, n=60, d=3, K=4, low=-2.0, high=2.0):
    """Overlapping classes with costs of very different size, some of them 0; one class may have no member."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    rows = rng.standard_normal((n, d)) + rng.standard_normal((K, d))[codes]
    rows[:, 0] = 1 + np.abs(rows[:, 0])
    return rows, codes, 10.0 ** rng.uniform(low, high, n) * (rng.uniform(size=n) > 0.1)


def solve(rows, codes, C, K=4, **options):
    return solve_softmax(ClassRows.of(rows, codes, C, K), **options)


def weights(seed, d=3, K=4):
    return np.random.default_rng(seed + 1).standard_normal((K, d))


@pytest.fixture(params=["full", "quasi-Newton"])
def full_hessian(request):
    """Once with the Hessian of all rows, once with quasi-Newton steps."""
    return 300 if request.param == "full" else 0


@pytest.mark.parametrize("numbers", [37, 2**20])
@given(seed=st.integers(0, 10**6))
def test_a_point_matches_plain_numpy(numbers, seed):
    rows, codes, C = problem(seed)
    W = weights(seed)
    source = replace(ClassRows.of(rows, codes, C, 4), block_numbers=numbers)
    assert len(list(source.blocks())) == (20 if numbers == 37 else 1)
    point, scale = softmax._point(source, W), C.sum()
    assert np.isclose(point.primal, naive.softmax_primal(rows, codes, C, W), rtol=1e-11)
    assert np.allclose(point.gradient, naive.softmax_gradient(rows, codes, C, W), rtol=0, atol=1e-11 * scale)
    assert np.allclose(np.eye(12) + point.hessian, naive.softmax_hessian(rows, C, W), rtol=0, atol=1e-11 * scale)
    rough = softmax._point(source, W, full=False)
    assert np.isclose(rough.loss, point.loss, rtol=1e-11)
    assert np.allclose(rough.V, point.V, rtol=0, atol=1e-11 * scale)


def test_a_block_of_many_chunks_matches_plain_numpy():
    rows, codes, C = problem(0, n=110_001)
    W, direction, lengths = weights(0), weights(1), np.array([0.5, 2.0])
    source = replace(ClassRows.of(rows, codes, C, 4), block_numbers=2**24)
    assert len(list(source.blocks())) == 1
    chunks = list(softmax.chunks(source, sum(W.shape)))
    assert len(chunks) == 3
    chunks = [(chunk.rows, *beside) for chunk, *beside in chunks]
    for due, parts in zip((rows, codes, C), zip(*chunks, strict=True), strict=True):
        assert np.array_equal(np.concatenate(parts), due)
    point, hessian, scale = softmax._point(source, W, full=False), naive.softmax_hessian(rows, C, W), C.sum()
    blocks = hessian.reshape(4, 3, 4, 3)
    assert np.isclose(point.primal, naive.softmax_primal(rows, codes, C, W), rtol=1e-11)
    assert np.allclose(point.gradient, naive.softmax_gradient(rows, codes, C, W), rtol=0, atol=1e-11 * scale)
    diagonal = np.array([blocks[k, :, k] for k in range(4)])
    assert np.allclose(np.eye(3) + point.hessian, diagonal, rtol=0, atol=1e-11 * scale)
    losses = softmax._losses_along_block(source, W, direction, lengths)
    ends = [W + t * direction for t in lengths]
    assert np.allclose(losses, [naive.softmax_primal(rows, codes, C, V) - 0.5 * np.sum(V**2) for V in ends], rtol=1e-11)


@given(st.integers(0, 10**6))
def test_gradient_and_second_derivatives_match_finite_differences(seed):
    rows, codes, C = problem(seed, n=20, high=0.0)
    source, W = ClassRows.of(rows, codes, C, 4), weights(seed)
    point = softmax._point(source, W)
    slopes = approx_fprime(W.ravel(), lambda v: softmax._point(source, v.reshape(4, 3)).primal, 1e-7)
    assert np.allclose(slopes, point.gradient.ravel(), rtol=0, atol=1e-5 * (1 + C.sum()))
    bends = approx_fprime(W.ravel(), lambda v: softmax._point(source, v.reshape(4, 3)).gradient.ravel(), 1e-7)
    assert np.allclose(bends, np.eye(12) + point.hessian, rtol=0, atol=1e-5 * (1 + C.sum()))


@pytest.mark.parametrize("columns", [3, 2], ids=["blocks", "mean"])
def test_the_hessian_is_the_diagonal_blocks_or_for_many_columns_their_mean(columns):
    rows, codes, C = problem(0)
    W = weights(0)
    point = softmax._point(ClassRows.of(rows, codes, C, 4), W, full=False, block_columns=columns)
    hessian = naive.softmax_hessian(rows, C, W).reshape(4, 3, 4, 3)
    due = np.array([hessian[k, :, k] for k in range(4)]) - np.eye(3)
    due = due if columns == 3 else due.mean(axis=0)
    assert point.hessian.shape == due.shape
    assert np.allclose(point.hessian, due, rtol=1e-10, atol=1e-10 * C.sum())


@given(st.integers(0, 10**6))
def test_half_the_square_of_the_gradient_is_the_gap_at_every_w(seed):
    """P(W) - D = ½‖∇P(W)‖² with the probabilities of W; other probabilities prove less."""
    rows, codes, C = problem(seed)
    W = weights(seed)
    point = softmax._point(ClassRows.of(rows, codes, C, 4), W)
    primal = naive.softmax_primal(rows, codes, C, W)
    dual = naive.softmax_dual(rows, codes, C, naive.softmax_probabilities(rows, W))
    scale = primal + np.sum(point.V**2)
    assert np.isclose(point.gap * max(1, primal), primal - dual, rtol=0, atol=1e-11 * scale)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([(1, 1, 2), (5, 9, 3), (80, 4, 5), (200, 6, 8)]), st.booleans())
def test_no_weights_are_better_than_the_bound_allows(seed, shape, full):
    """P(W) - P* ≤ ½‖∇P(W)‖², with P* from a run to machine precision, at every W and at the result of a loose fit."""
    n, d, K = shape
    rows, codes, C = problem(seed, n, d, K)
    exact = solve(rows, codes, C, K, tol=1e-13)
    assert exact.status == "optimal"
    loose = solve(rows, codes, C, K, tol=1e-2, full_hessian=10**6 if full else 0)
    assert loose.gap <= 1e-2
    for W in (loose.W, exact.W + 0.01 * weights(seed, d, K), weights(seed, d, K)):
        point = softmax._point(ClassRows.of(rows, codes, C, K), W)
        rounding = 1e-12 * point.primal
        assert -rounding <= point.primal - exact.primal <= 0.5 * np.sum(point.gradient**2) + rounding


@pytest.mark.parametrize("K", [3, 6])
def test_solution_matches_other_solvers(K, full_hessian):
    rows, codes, C = problem(K, n=300, K=K, low=0.0, high=0.0)
    solution = solve(rows, codes, C, K, tol=1e-12, full_hessian=full_hessian)
    baseline = LogisticRegression(C=1.0, fit_intercept=False, solver="newton-cg", tol=1e-10).fit(
        rows, codes, sample_weight=C
    )
    assert np.allclose(solution.W, baseline.coef_, atol=1e-5)
    quasi = minimize(
        lambda v: naive.softmax_primal(rows, codes, C, v.reshape(K, 3)),
        np.zeros(3 * K),
        jac=lambda v: naive.softmax_gradient(rows, codes, C, v.reshape(K, 3)).ravel(),
        tol=1e-10,
    )
    assert solution.primal <= quasi.fun * (1 + 1e-12)
    assert np.allclose(solution.W.ravel(), quasi.x, atol=1e-4)


def test_two_classes_are_the_binary_problem_with_half_the_penalty():
    """With W = (-w/2, w/2): ¼‖w‖² + Σ C log(1 + exp(-⟨±x, w⟩))."""
    rows, codes, C = problem(3, K=2, low=0.0, high=1.0)
    solution = solve(rows, codes, C, 2, tol=1e-12)
    signed = np.where(codes == 1, 1.0, -1.0)[:, None] * rows
    due = minimize(
        lambda w: 0.25 * w @ w + C @ np.logaddexp(0, -signed @ w),
        np.zeros(3),
        jac=lambda w: 0.5 * w - (C / (1 + np.exp(signed @ w))) @ signed,
        tol=1e-10,
    )
    assert solution.primal == pytest.approx(due.fun, rel=1e-9)
    assert np.allclose(solution.W[1] - solution.W[0], due.x, atol=1e-5)
    assert np.allclose(solution.W[0], -solution.W[1])


@given(st.integers(0, 10**6), st.floats(0, 6))
def test_weights_sum_to_zero_and_newton_needs_few_steps(seed, exponent):
    rows, codes, C = problem(seed, n=100, high=exponent)
    solution = solve(rows, codes, C)
    assert solution.status == "optimal"
    assert solution.n_iter <= 40
    assert np.allclose(solution.W.sum(axis=0), 0, atol=1e-9 * (1 + np.abs(solution.W).max()))


def test_classes_that_a_hyperplane_separates_have_finite_weights(full_hessian):
    rows, codes, _ = problem(1, n=60)
    rows[:, 1:] = 10 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])[codes] + 0.1 * rows[:, 1:]
    for C in (1.0, 1e4, 1e8):
        solution = solve(rows, codes, np.full(60, C), full_hessian=full_hessian)
        assert solution.status == "optimal"
        assert np.array_equal(np.argmax(rows @ solution.W.T, axis=1), codes)
        assert np.linalg.norm(solution.W) < 10


def test_small_losses_keep_their_digits():
    """If the other classes have a probability of e^-50, the loss and the gradient have this size."""
    rows, codes, C = np.array([[1.0, 0.0]]), np.array([0]), np.array([1.0])
    W = np.array([[25.0, 0.0], [-25.0, 0.0]])
    point = softmax._point(ClassRows.of(rows, codes, C, 2), W)
    assert point.loss == pytest.approx(np.exp(-50), rel=1e-12, abs=0)
    assert point.V[0, 0] == pytest.approx(np.exp(-50), rel=1e-12, abs=0)
    far = softmax._point(ClassRows.of(rows, 1 - codes, C, 2), 40 * W)
    assert far.loss == pytest.approx(2000)
    assert far.V[1, 0] == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_cuts_and_threads_give_the_same_solution(threads, full_hessian):
    rows, codes, C = problem(0, n=900)
    whole = solve(rows, codes, C, full_hessian=full_hessian)
    source = replace(ClassRows.of(rows, codes, C, 4), block_numbers=2000)
    one = solve_softmax(source, full_hessian=full_hessian)
    many = solve_softmax(replace(source, threads=threads), full_hessian=full_hessian)
    assert len(list(source.blocks())) > 5
    assert np.array_equal(one.W, many.W)
    assert np.allclose(one.W, whole.W, atol=1e-3)
    assert one.primal == pytest.approx(whole.primal, rel=2e-6)


def test_more_columns_than_rows_are_rotated_away():
    rows, codes, C = problem(5, n=12, d=40, low=0.0)
    solution = solve(rows, codes, C, tol=1e-12)
    assert solution.W.shape == (4, 40)
    assert np.linalg.norm(naive.softmax_gradient(rows, codes, C, solution.W)) < 1e-4
    assert solve(rows, codes, C, start=solution.W).n_iter == 1


def test_with_many_rows_the_solver_starts_on_a_sample(monkeypatch):
    rows, codes, C = problem(0, n=20_000, low=-1.0, high=1.0)
    starts, inner = [], softmax._point

    def seen(source, W, **options):
        starts.append((source.shape[0], W))
        return inner(source, W, **options)

    monkeypatch.setattr(softmax, "_point", seen)
    solution = solve(rows, codes, C)
    first = next(W for n, W in starts if n == 20_000)
    assert starts[0][0] < 2000
    assert np.linalg.norm(first - solution.W) < 0.5 * np.linalg.norm(solution.W)
    assert solution.n_passes == 1 + sum(n == 20_000 for n, _ in starts) <= 7  # one pass draws the sample


@pytest.mark.parametrize(("seed", "exponent", "scale"), [(2, 1.0, 20), (0, -1.0, 3), (4, 0.0, 10)])
def test_steps_that_go_too_far_are_cut_to_where_the_value_is_lowest(seed, exponent, scale):
    """At confident and wrong weights the Hessian of the loss is almost zero, and a full step goes much too far.

    In the last two cases, the loss without the penalty is lowest at another step length.
    """
    rows, codes, C = problem(seed, low=exponent, high=exponent)
    source = ClassRows.of(rows, codes, C, 4)
    point = softmax._point(source, scale * weights(seed))
    following, passes = softmax._newton_step(source, point)
    step = -np.linalg.solve(naive.softmax_hessian(rows, C, point.W), point.gradient.ravel()).reshape(4, 3)
    assert softmax._point(source, point.W + step).primal > point.primal
    assert passes == 3
    due = min(softmax._point(source, point.W + t * step).primal for t in softmax.LENGTHS)
    assert following.primal == pytest.approx(due, rel=1e-9)
    assert following.primal < point.primal


def test_a_start_saves_steps_and_each_step_is_reported():
    rows, codes, C = problem(4, n=300)
    reported = []
    cold = solve(rows, codes, C, report=reported.append)
    assert [progress.n_passes for progress in reported] == sorted({progress.n_passes for progress in reported})
    assert len(reported) == cold.n_iter
    assert reported[-1].gap == cold.gap
    assert reported[-1].primal - reported[-1].dual == pytest.approx(cold.gap * max(1, cold.primal))
    assert solve(rows, codes, C, start=cold.W).n_passes == 1


def test_the_status_is_max_iter_or_stalled_if_the_gap_is_not_reached():
    rows, codes, C = problem(4, n=300)
    assert solve(rows, codes, C, max_iter=2).status == "max_iter"
    stalled = solve(rows, codes, C, tol=1e-300)
    assert stalled.status == "stalled"
    assert stalled.gap < 1e-15


def test_without_costs_the_weights_are_zero():
    rows, codes, C = problem(0)
    solution = solve(rows, codes, 0 * C)
    assert not solution.W.any()
    assert solution.status == "optimal"


@pytest.mark.parametrize("d", [3, 120])
def test_very_long_rows_end_with_status_stalled(d):
    rng = np.random.default_rng(0)
    rows = 1e12 * rng.standard_normal((400, 2)) @ rng.standard_normal((2, d))
    solution = solve_softmax(ClassRows.of(rows, rng.integers(0, 3, 400), np.full(400, 1e6), 3))
    assert solution.status == "stalled"
    assert np.isfinite(solution.W).all()


def laplace(rows, codes, weights, C, W):
    """-log of the integral of e^(-loss) over a normal prior of variance C, by the dense Hessian at its peak."""
    scores = rows @ W.T
    loss = weights @ (logsumexp(scores, axis=1) - scores[np.arange(len(rows)), codes])
    precision = naive.softmax_hessian(rows, weights, W) - np.eye(W.size) + np.eye(W.size) / C
    return loss + np.sum(W**2) / (2 * C) + 0.5 * np.linalg.slogdet(precision)[1] + 0.5 * W.size * np.log(C)


def evidence_problem(K, n=200, d=4):
    rng = np.random.default_rng(K)
    codes = rng.integers(K, size=n)
    rows = rng.standard_normal((K, d))[codes] + rng.standard_normal((n, d))
    return rows, codes, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_evidence_matches_laplaces_approximation(K, C):
    rows, codes, weights = evidence_problem(K)
    solution = solve(rows, codes, C * weights, K, tol=1e-12)
    assert solution.is_full
    assert solution.evidence(C) == pytest.approx(laplace(rows, codes, weights, C, solution.W), rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_evidence_of_two_classes_from_blocks_is_exact(C):
    rows, codes, weights = evidence_problem(2)
    full, blocks = (solve(rows, codes, C * weights, 2, tol=1e-12, full_hessian=most) for most in (300, 0))
    assert blocks.hessian.shape == (2, 4, 4)
    assert not blocks.is_full
    assert blocks.evidence(C) == pytest.approx(full.evidence(C), rel=1e-6)


@pytest.mark.parametrize("columns", [128, 2], ids=["blocks", "their mean"])
@pytest.mark.parametrize("K", [3, 6])
def test_evidence_from_blocks_is_close_and_prefers_the_same_cost(K, columns):
    rows, codes, weights = evidence_problem(K)
    costs, options = 10.0 ** np.arange(-2, 4), {"tol": 1e-10, "block_columns": columns}
    found = np.array(
        [
            [solve(rows, codes, C * weights, K, full_hessian=most, **options).evidence(C) for most in (300, 0)]
            for C in costs
        ]
    )
    assert np.allclose(found[:, 0], found[:, 1], rtol=0.05)
    assert found[:, 0].argmin() == found[:, 1].argmin()


def test_evidence_with_fewer_rows_than_columns_matches_the_full_computation():
    """The solver rotates such rows into fewer columns; the others add nothing."""
    rows, codes, weights = evidence_problem(3, n=6, d=15)
    solution = solve(rows, codes, 10 * weights, 3, tol=1e-12)
    assert solution.evidence(10.0) == pytest.approx(laplace(rows, codes, weights, 10.0, solution.W), rel=1e-9)
