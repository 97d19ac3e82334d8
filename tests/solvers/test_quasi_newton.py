"""The quasi-Newton method of the softmax against plain NumPy and against Newton's method."""

from functools import partial

import numpy as np
import pytest

from hyplearn.rows import ClassRows
from hyplearn.rows.memory import MemoryRows
from hyplearn.solvers.softmax import solve as softmax
from hyplearn.solvers.softmax.quasi_newton import SampleHessian, _block, _line_search, block_inverse, quasi_newton
from support import naive

KINDS = {
    "whole": {},
    "blocks": {"matrix_entries": 0},
    "diagonal": {"matrix_entries": 0, "block_columns": 0},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def problem(seed, n=200, d=5, K=4):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    rows = rng.standard_normal((n, d)) + rng.standard_normal((K, d))[codes]
    return rows, codes, rng.uniform(0.0, 5.0, n)


def source_of(rows, codes, C):
    return ClassRows.of(rows, codes, C, int(codes.max()) + 1)


def point_at(source, W):
    return softmax._point(source, W, full=False, second=False)


def solved(source, tol=1e-10, **options):
    """Rounds from zero weights until the gap is at most tol; also the number of passes."""
    method, evaluate = SampleHessian(source, 0, **options), partial(point_at, source)
    point, passes = evaluate(np.zeros((source.n_classes, source.shape[1]))), 0
    while point.gap > tol:
        point, own = method.round(evaluate, point, tol)
        passes += own
    return point, passes


@kinds
@pytest.mark.parametrize("K", [2, 4])
def test_the_initial_guess_inverts_the_hessian_its_blocks_or_its_diagonal(kind, K):
    """Blocks and diagonal have the factor K / (K - 1), as gradients sum to zero over the classes.

    Blocks are centred over the classes. The diagonal comes with the entry of the first and the last column.
    """
    rows, codes, C = problem(0, n=80, K=K)
    W, x = np.random.default_rng(1).standard_normal((2, K, 5))
    hessian = naive.softmax_hessian(rows, C, W)
    blocks = np.eye(5) + K / (K - 1) * (np.einsum("kakb->kab", hessian.reshape(K, 5, K, 5)) - np.eye(5))
    J = np.eye(K) - 1 / K
    kept = np.eye(5)
    kept[0, -1] = kept[-1, 0] = 1.0
    due = {
        "whole": np.linalg.solve(hessian, x.ravel()).reshape(K, 5),
        "blocks": J @ np.linalg.solve(blocks, (J @ x)[:, :, None])[:, :, 0],
        "diagonal": np.linalg.solve(blocks * kept, x[:, :, None])[:, :, 0],
    }
    found = SampleHessian(source_of(rows, codes, C), 0, **KINDS[kind]).inverse(W)(x)
    assert np.allclose(found, due[kind], rtol=1e-9)


def test_centred_blocks_are_the_pseudo_inverse_where_rows_have_nothing_in_common():
    """``(diag π - ππᵀ)⁺ = J diag(1/π) J`` for every row, if each row has a column of its own and much weight."""
    K, n = 4, 6
    W = np.random.default_rng(0).standard_normal((K, n))
    x = np.random.default_rng(1).standard_normal((K, n))
    pi = np.exp(W) / np.exp(W).sum(axis=0)
    found = block_inverse(np.eye(n), np.full(n, 1e9), np.full_like(pi, 1 / K))(x)
    exact = np.column_stack([np.linalg.pinv(np.eye(K) / K - np.full((K, K), 1 / K**2)) @ x[:, i] for i in range(n)])
    assert np.allclose(1e9 * found, exact, rtol=1e-6)


def test_thinned_blocks_estimate_those_of_all_rows():
    rng = np.random.default_rng(0)
    rows, costs = rng.standard_normal((40_000, 3)), rng.uniform(0, 1, 40_000)
    shares = rng.uniform(0, 0.25, 40_000) ** 2
    due = (rows.T * costs * shares) @ rows
    assert np.linalg.norm(_block(rows, costs, shares) - due, 2) < 0.25 * np.linalg.norm(due, 2)


def test_blocks_of_two_classes_are_their_whole_hessian():
    rows, codes, C = problem(0, n=80, K=2)
    source = source_of(rows, codes, C)
    point = point_at(source, np.outer([-1, 1], np.random.default_rng(0).standard_normal(5)))
    found = SampleHessian(source, 0, matrix_entries=0).inverse(point.W)(point.gradient)
    due = np.linalg.solve(naive.softmax_hessian(rows, C, point.W), point.gradient.ravel())
    assert np.allclose(found.ravel(), due, rtol=1e-9)


def test_the_last_remembered_step_is_recovered_from_its_change_of_the_gradient():
    """The secant equation: the corrected inverse maps the last change of the gradient to the last step."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 12))
    steps = [(s, (s.ravel() @ root @ root.T).reshape(s.shape)) for s in rng.standard_normal((4, 3, 4))]
    assert np.allclose(quasi_newton(steps[-1][1], steps, lambda x: 0.3 * x), steps[-1][0], rtol=1e-9)
    assert np.array_equal(quasi_newton(steps[0][0], [], lambda x: 0.3 * x), 0.3 * steps[0][0])


@kinds
@pytest.mark.parametrize("K", [2, 4])
def test_every_initial_guess_leads_to_the_solution_of_newtons_method(kind, K):
    rows, codes, C = problem(2, K=K)
    source = source_of(rows, codes, C)
    due = softmax.solve_softmax(source, tol=1e-14)
    found, _ = solved(source, tol=1e-14, **KINDS[kind])
    assert np.allclose(found.W, due.W, rtol=0, atol=1e-6 * np.abs(due.W).max())
    assert found.primal == pytest.approx(due.primal, rel=1e-12)


@kinds
def test_a_sample_is_enough_for_the_initial_guess(kind):
    rows, codes, C = problem(3, n=20_000)
    source = source_of(rows, codes, C)
    found, passes = solved(source, sample_numbers=5 * 800, **KINDS[kind])
    assert found.primal == pytest.approx(softmax.solve_softmax(source, tol=1e-10).primal, rel=1e-9)
    assert passes <= 60


@kinds
@pytest.mark.parametrize("n", [200, 20_000])
def test_the_pass_that_reads_the_sample_is_counted(kind, n, monkeypatch):
    rows, codes, C = problem(3, n=n)
    source, seen = source_of(rows, codes, C), []
    for name in ("fold", "sample"):
        inner = getattr(MemoryRows, name)
        monkeypatch.setattr(MemoryRows, name, lambda *arguments, inner=inner: seen.append(1) or inner(*arguments))
    _, passes = solved(source, sample_numbers=5 * 800, **KINDS[kind])
    assert passes == len(seen) - 1  # the first point is computed before the rounds


def test_the_whole_matrix_saves_passes_where_columns_are_of_different_lengths():
    rng = np.random.default_rng(0)
    rows, codes = rng.standard_normal((1000, 20)) * np.logspace(0, -3, 20), rng.integers(6, size=1000)
    rows[:, 0] += codes
    source = source_of(rows, codes, np.full(1000, 1e3))
    passes = {kind: solved(source, tol=1e-8, **options)[1] for kind, options in KINDS.items()}
    assert passes["whole"] < passes["blocks"] < passes["diagonal"]
    assert passes["whole"] < 0.7 * passes["diagonal"]


@pytest.mark.parametrize("scale", [3, 100, 1e4])
def test_steps_that_go_too_far_are_shortened_until_the_value_decreases(scale):
    rows, codes, C = problem(1)
    source = source_of(rows, codes, C)
    point = point_at(source, np.zeros((4, 5)))
    step = -scale * point.gradient
    assert point_at(source, step).primal > point.primal
    following, passes = _line_search(partial(point_at, source), point, step)
    length = (following.W / step)[0, 0]
    assert following.primal <= point.primal + 1e-4 * length * np.sum(point.gradient * step)
    assert 1 < passes <= 2 + np.log10(scale * 1e4)


def test_a_direction_of_ascent_ends_the_search():
    rows, codes, C = problem(1)
    source = source_of(rows, codes, C)
    point = point_at(source, np.zeros((4, 5)))
    following, passes = _line_search(partial(point_at, source), point, point.gradient)
    assert following is None
    assert passes == 0


def test_a_decrease_lost_in_rounding_is_judged_by_the_slope():
    """Near the solution P does not change in float64; the gap still decreases, because the gradient does."""
    rows, codes, C = problem(2)
    source = source_of(rows, codes, C)
    point, _ = solved(source, tol=1e-22)
    assert point.gap <= 1e-22


def test_parallel_columns_do_not_make_the_guess_singular():
    rows, codes = np.ones((100, 3)), np.arange(100) % 2
    x = np.outer([1.0, -1.0], [1.0, 0.0, -1.0])
    for C in (1.0, 1e10, 1e18):
        found = SampleHessian(source_of(rows, codes, np.full(100, C)), 0, **KINDS["diagonal"]).inverse(
            np.zeros((2, 3))
        )(x)
        assert np.all(np.isfinite(found))
        assert np.sum(found * x) > 0
