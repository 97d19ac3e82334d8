"""The SVM solvers, compared with an exact solver, their own certificates, and the symmetries of the problem.

For any w and any dual feasible α, D(α) ≤ P* ≤ P(w). So a small gap is a proof, and if two solvers differ by more than
their gaps, one of them is wrong.
"""

import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from hyplearn.datasets import make_ball_classification
from hyplearn.rows import Rows
from hyplearn.rows.memory import MemoryRows
from hyplearn.solvers.svm import hinge
from hyplearn.solvers.svm.interior_point import solve_box
from hyplearn.solvers.svm.margin_scan import (
    BINS,
    EDGES,
    EVERYTHING,
    NOTHING,
    Band,
    losses_along,
    merge_scans,
    scan_block,
)
from hyplearn.solvers.svm.solve import solve_svm
from hyplearn.tangent import frame_coordinates, implicit_rows
from support import naive

SOFT = ("hinge", "squared_hinge")
PROBLEMS = (*SOFT, "hard")
SEEDS = st.integers(0, 10**6)
EPSILON = np.finfo(float).eps
# Relative length of a combination of rows below which Clarabel's solution does not prove a margin.
NO_MARGIN = 1e-10


def solve(U, C, problem="hinge", **options):
    costs = np.where(C > 0, np.inf, 0.0) if problem == "hard" else C
    loss = "squared_hinge" if problem == "squared_hinge" else "hinge"
    return solve_svm(Rows.explicit(U, costs), loss=loss, **options)


def scanned(source, w, band, most):
    """Margin scan of all rows at w."""
    return source.fold(scan_block, merge_scans, w, band, most)


def all_alpha(solution, n):
    """α of every row."""
    alpha = np.zeros(n)
    alpha[solution.support] = solution.alpha
    return alpha


def rounding(U, C, w, problem):
    """Bound on the rounding error of P and D: ⟨u, w⟩ has an error of a few units in the last place of its terms."""
    blur = 4 * (2 + U.shape[1]) * EPSILON * (1 + np.abs(U) @ np.abs(w))
    slack = np.maximum(0, 1 - U @ w + blur)
    if problem == "hard":
        return blur[C > 0].max() * (w @ w)
    loss = C @ (2 * slack * blur) if problem == "squared_hinge" else C[slack > 0] @ blur[slack > 0]
    return loss + 4 * (len(U) + U.shape[1]) * EPSILON * naive.svm_primal(U, C, w, problem)


def check(U, C, solution, problem="hinge", tol=1e-6):
    """Check the certificate: α is dual feasible, P and D belong to w and α, and "optimal" means a closed gap."""
    n = len(U)
    support, alpha = solution.support, all_alpha(solution, n)
    assert np.all(np.diff(support) > 0)
    assert np.all((support >= 0) & (support < n))
    assert len(support) == len(solution.alpha)
    assert np.all(solution.alpha > 0)
    assert not alpha[C == 0].any()
    if problem == "hinge":
        assert np.all(alpha <= C)
    primal, dual = naive.svm_primal(U, C, solution.w, problem), naive.svm_dual(U, C, alpha, problem)
    allowed = rounding(U, C, solution.w, problem)
    lengths = np.linalg.norm(alpha @ U) * (alpha @ np.linalg.norm(U, axis=1))
    dual_rounding = allowed + 4 * n * EPSILON * (alpha.sum() + lengths)
    assert np.allclose(solution.v, alpha @ U, rtol=0, atol=1e-12 * (alpha @ np.linalg.norm(U, axis=1)))
    assert abs(solution.primal - primal) <= allowed
    assert abs(solution.dual - dual) <= dual_rounding
    # For a hard margin, the gap is relative to P if this is stricter, because long rows make P far less than 1.
    relative = (solution.primal - solution.dual) / max(1, solution.primal)
    strictest = max(relative, (solution.primal - solution.dual) / solution.primal) if problem == "hard" else relative
    assert relative - 4 * EPSILON <= solution.gap <= strictest + 8 * EPSILON
    assert (solution.status == "optimal") == (solution.gap <= tol)
    if solution.status == "optimal":
        assert -allowed - dual_rounding <= primal - dual <= tol * max(1, primal) + allowed + dual_rounding


# Difficult problems


def nasty(seed, kind, n=None, d=None, equal=None):
    """Rows of a given kind, with lengths up to 36 (unless the kind says otherwise), and costs from 1e-6 to 1e8."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(1, 50)), d or int(rng.choice([1, 2, 3, 10, 60]))
    U = rng.standard_normal((n, d))
    if kind == "separable":
        U = np.abs(U)
    elif kind == "duplicates":
        U = np.repeat(U[: -(-n // 3)], 3, axis=0)
    elif kind == "constant column":
        U[:, 0] = 1.0
    elif kind == "one per class":
        U = U[:2]
    elif kind == "zero rows":
        U[:: 1 + n // 2] = 0.0
    elif kind == "opposite":
        U = np.vstack([U, -U[:1]])
    U *= 10.0 ** rng.uniform(-3, 0) * 36 / max(1e-9, np.linalg.norm(U, axis=1).max())
    if kind == "lengths":
        U *= 10.0 ** rng.uniform(-4, 0, (n, 1))
    equal = rng.random() < 0.5 if equal is None else equal
    C = np.full(len(U), 10.0 ** rng.uniform(-6, 8)) if equal else 10.0 ** rng.uniform(-6, 8, len(U))
    return U, C


KINDS = (
    "separable",
    "overlapping",
    "duplicates",
    "constant column",
    "one per class",
    "zero rows",
    "opposite",
    "lengths",
)


def exact(U, C, problem):
    """Solution by Clarabel: status, w and α."""
    n, d = U.shape
    squares = 2 * C if problem == "squared_hinge" else np.zeros(n)
    prices = C if problem == "hinge" else np.zeros(n)
    P, q = sp.block_diag([sp.eye(d), sp.diags(squares)]).tocsc(), np.r_[np.zeros(d), prices]
    A = sp.bmat([[-sp.csc_matrix(U), -sp.eye(n)], [None, -sp.eye(n)]]).tocsc()
    b = np.r_[-np.ones(n), np.zeros(n)]
    if problem == "hard":
        P, q, A, b = sp.eye(d).tocsc(), np.zeros(d), sp.csc_matrix(-U), -np.ones(n)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    out = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(len(b))], settings).solve()
    alpha = np.maximum(np.array(out.z)[:n], 0)
    return str(out.status), np.array(out.x)[:d], np.minimum(alpha, C) if problem == "hinge" else alpha


@pytest.mark.parametrize("problem", SOFT)
@settings(max_examples=200)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_every_solution_carries_a_valid_certificate(problem, seed, kind):
    U, C = nasty(seed, kind)
    solution = solve(U, C, problem)
    assert solution.status == "optimal"
    check(U, C, solution, problem)


@pytest.mark.parametrize("problem", SOFT)
@settings(max_examples=150)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_the_optimum_matches_an_exact_solver(problem, seed, kind):
    """P is 1-strongly convex: points with gaps ε and δ are at most √(2ε) + √(2δ) apart."""
    U, C = nasty(seed, kind)
    solution = solve(U, C, problem)
    status, w, alpha = exact(U, C, problem)
    primal, dual = naive.svm_primal(U, C, w, problem), naive.svm_dual(U, C, alpha, problem)
    allowed = rounding(U, C, w, problem) + rounding(U, C, solution.w, problem)
    assert solution.primal <= primal + 1e-6 * max(1, primal) + allowed
    assert solution.dual <= primal + allowed
    # The following holds only if Clarabel has converged, which its own w and α show.
    assume(status == "Solved" and primal - dual <= 1e-6 * max(1, primal))
    assert abs(solution.primal - primal) <= 2e-6 * max(1, primal) + allowed
    assert solution.dual >= dual - 1e-6 * max(1, primal) - allowed
    apart = sum(np.sqrt(2 * max(0, gap) + 2 * allowed) for gap in (primal - dual, solution.primal - solution.dual))
    assert np.linalg.norm(solution.w - w) <= apart


@settings(max_examples=250)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_the_hard_margin_matches_an_exact_solver(seed, kind):
    """The exact solver is trusted only if its w is feasible, or if its α proves that no w is."""
    U, C = nasty(seed, kind)
    solution = solve(U, C, "hard")
    _, w, alpha = exact(U, C, "hard")
    margins, longest = U @ w, np.linalg.norm(U, axis=1).max()
    feasible = np.all(margins > 1 - 1e-6)
    infeasible = np.linalg.norm(alpha @ U) <= 0.1 * NO_MARGIN * longest * alpha.sum()
    assume(feasible or infeasible)
    assert solution.status == ("optimal" if feasible else "infeasible")
    if feasible:
        check(U, C, solution, "hard")
        assert np.all(U @ solution.w >= 1 - 1e-12 * (1 + np.abs(U) @ np.abs(solution.w)))
        w /= margins.min()
        assert solution.primal <= 0.5 * w @ w + 1e-6 * max(1, 0.5 * w @ w)
        assert np.isclose(solution.primal, 0.5 * w @ w, rtol=1e-5, atol=1e-6)


@settings(max_examples=100)
@given(seed=SEEDS, kind=st.sampled_from(["overlapping", "zero rows", "opposite", "lengths"]))
def test_an_infeasible_hard_margin_comes_with_its_proof(seed, kind):
    """Gordan's theorem: no w has ⟨u, w⟩ > 0 for all rows if some α ≥ 0, α ≠ 0 has Σ α u = 0."""
    U, C = nasty(seed, kind, n=30, d=3)
    solution = solve(U, C, "hard")
    assume(solution.status != "optimal")
    assert solution.status == "infeasible"
    assert solution.gap == solution.primal == np.inf
    assert np.all(np.diff(solution.support) > 0)
    assert np.all(solution.alpha >= 0)
    total = solution.alpha @ U[solution.support]
    assert solution.alpha.sum() > 0
    lengths = np.linalg.norm(U[solution.support], axis=1)
    assert np.linalg.norm(total) <= (1 + 1e-3) * NO_MARGIN * (solution.alpha @ lengths)
    assert exact(U, C, "hard")[0] not in ("Solved", "AlmostSolved")


@pytest.mark.parametrize("problem", PROBLEMS)
@settings(max_examples=40)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_the_certificate_holds_in_rational_arithmetic(problem, seed, kind):
    """P - D ≥ 0 holds exactly, without a tolerance; for the hard margin, only the last scaling is rounded."""
    U, C = nasty(seed, kind, n=12, d=3)
    solution = solve(U, C, problem)
    assume(solution.status == "optimal")
    rows = [[Fraction(u) for u in row] for row in U.tolist()]
    w = [Fraction(x) for x in solution.w.tolist()]
    alpha = {i: Fraction(a) for i, a in zip(solution.support.tolist(), solution.alpha.tolist(), strict=True)}
    costs = [Fraction(cost) for cost in C.tolist()]
    margins = [sum(u * x for u, x in zip(row, w, strict=True)) for row in rows]
    v = [sum(a * rows[i][j] for i, a in alpha.items()) for j in range(3)]
    primal = sum(x * x for x in w) / 2
    dual = sum(alpha.values()) - sum(x * x for x in v) / 2
    assert all(a >= 0 for a in alpha.values())
    if problem == "hinge":
        assert all(a <= costs[i] for i, a in alpha.items())
        primal += sum(cost * max(0, 1 - margin) for cost, margin in zip(costs, margins, strict=True))
    elif problem == "squared_hinge":
        primal += sum(cost * max(0, 1 - margin) ** 2 for cost, margin in zip(costs, margins, strict=True))
        dual -= sum(a * a / (4 * costs[i]) for i, a in alpha.items())
    else:
        assert min(margins) >= 1 - Fraction(1e-12)
        primal /= min(margins) ** 2
    allowed = Fraction(rounding(U, C, solution.w, problem))
    assert 0 <= primal - dual <= Fraction(1e-6) * max(1, primal) + allowed


@pytest.mark.parametrize("problem", PROBLEMS)
def test_one_row_against_ten_thousand(problem):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((10_001, 3))
    U[:, 0] = np.abs(U[:, 0]) + 0.1
    U[5000] = [-0.5, 6.0, 0.0] if problem == "hard" else [-3.0, 0.5, 0.0]
    if problem == "hard":
        U[:, 1] = np.maximum(U[:, 1], -U[:, 0])
    for C in [1.0] if problem == "hard" else [1e-6, 1.0, 1e8]:
        costs = np.full(len(U), C)
        costs[5000] *= 1 if problem == "hard" else 1e4
        solution = solve(U, costs, problem)
        assert solution.status == "optimal"
        check(U, costs, solution, problem)
        _, w, _ = exact(U, costs, problem)
        primal = 0.5 * w @ w if problem == "hard" else naive.svm_primal(U, costs, w, problem)
        assert solution.primal <= primal + 2e-6 * max(1, primal)
        assert 5000 in solution.support


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("u", [1e-3, 0.5, 36.0])
def test_one_row_has_the_solution_of_its_formula(problem, u):
    """The solutions are w = min(C u, 1/u), w = 2C u / (1 + 2C u²) and w = 1/u."""
    C = np.array([2.0])
    w = {"hinge": min(2 * u, 1 / u), "squared_hinge": 4 * u / (1 + 4 * u * u), "hard": 1 / u}[problem]
    solution = solve(np.array([[u]]), C, problem, tol=1e-13)
    assert np.isclose(solution.w[0], w, rtol=1e-6)


# Many rows


@cache
def many(kind, n, d):
    """Signed rows of the paper's recipe, with or without 5 % of wrong labels, or of two overlapping Gaussians."""
    rng = np.random.default_rng(1)
    if kind == "overlapping":
        U = rng.standard_normal((n, d))
        U[:, 0] += 1.0
        return U
    X, y, p, _ = make_ball_classification(n, d, margin=0.01, random_state=0)
    U = y[:, None] * frame_coordinates(X, p)
    if kind == "noisy":
        U[rng.uniform(size=n) < 0.05] *= -1
    return U


MANY = ("separable", "noisy", "overlapping")


@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize(("n", "d"), [(100_000, 2), (40_000, 10), (20_000, 20)])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e8])
def test_many_rows_are_solved_in_a_handful_of_passes(kind, n, d, C):
    U, costs = many(kind, n, d), np.full(n, C)
    solution = solve(U, costs)
    assert solution.status == "optimal"
    assert solution.n_passes <= 15
    check(U, costs, solution)


@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize(("n", "d"), [(100_000, 2), (20_000, 20)])
def test_many_rows_are_solved_with_squared_hinge(kind, n, d):
    for C in (1e-4, 1.0, 1e3):
        U, costs = many(kind, n, d), np.full(n, C)
        solution = solve(U, costs, "squared_hinge")
        assert solution.status == "optimal"
        check(U, costs, solution, "squared_hinge")


@pytest.mark.parametrize(("n", "d"), [(100_000, 2), (20_000, 20)])
def test_many_rows_are_solved_with_hard_margin(n, d):
    U = many("separable", n, d)
    solution = solve(U, np.ones(n), "hard")
    assert solution.status == "optimal"
    check(U, np.ones(n), solution, "hard")
    assert solve(many("noisy", n, d), np.ones(n), "hard").status == "infeasible"


@pytest.mark.parametrize(("n", "d"), [(100_000, 2), (20_000, 10)])
@pytest.mark.parametrize("tol", [1e-1, 1e-6])
def test_the_nearest_row_lies_on_the_hard_margin(n, d, tol):
    """For any tolerance, w is feasible, and no shorter multiple of it is."""
    U = many("separable", n, d)
    solution = solve(U, np.ones(n), "hard", tol=tol)
    check(U, np.ones(n), solution, "hard", tol=tol)
    assert abs(np.min(U @ solution.w) - 1) <= 1e-12 * (1 + np.max(np.abs(U) @ np.abs(solution.w)))


@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_working_sets_reach_the_same_solution_as_all_rows_at_once(kind, C):
    U, costs = many(kind, 5000, 10), np.full(5000, C)
    solution, box = solve(U, costs), solve_box(U, costs, tol=1e-9)
    assert abs(solution.primal - box.primal) <= 1e-6 * max(1, box.primal)
    assert np.linalg.norm(solution.w - box.w) <= 2 * np.sqrt(2e-6 * max(1, box.primal))


def test_rows_left_out_of_the_working_set_are_clamped_or_ignored():
    """Far below the margin, α is a fixed share of C; far above, it is 0. The working set does not contain all rows."""
    U, costs = many("overlapping", 40_000, 10), np.full(40_000, 1.0)
    sizes = []
    solution = solve(U, costs, report=lambda progress: sizes.append(progress.n_working))
    assert max(sizes) < 40_000
    alpha, margins = all_alpha(solution, 40_000), U @ solution.w
    assert np.ptp(alpha[margins < 0]) == 0
    assert not alpha[margins > 2].any()


def test_an_overlong_step_triggers_a_line_search(monkeypatch):
    """From a bad start, the step of the first working set is too long; a search along the step lowers P."""
    U, costs = many("noisy", 20_000, 20), np.full(20_000, 1e3)
    searched, inner = [], hinge._search

    def seen(source, state, dw):
        before, found = state.here.primal, inner(source, state, dw)
        w = state.here.w if found is None else found
        searched.append((before, naive.svm_primal(U, costs, w, "hinge"), found is not None))
        return found

    monkeypatch.setattr(hinge, "_search", seen)
    solution = solve(U, costs, start=np.full(20, 0.5))
    assert solution.status == "optimal"
    assert all(after < before if moved else np.isclose(after, before, rtol=1e-10) for before, after, moved in searched)
    assert any(moved for _, _, moved in searched)


@given(SEEDS, st.floats(-3, 0))
def test_a_line_search_returns_the_best_of_its_lengths(seed, exponent):
    U, C = noisy(seed)
    C *= 10.0**exponent
    source, w = Rows.explicit(U, C), np.random.default_rng(seed).standard_normal(5)
    dw = 4 * C @ U - w
    state = hinge.State(scanned(source, w, EVERYTHING, len(U)), size=len(U))
    found = hinge._search(source, state, dw)
    values = [naive.svm_primal(U, C, w + t * dw, "hinge") for t in hinge.LENGTHS]
    if min(values) < naive.svm_primal(U, C, w, "hinge"):
        assert np.allclose(found, w + hinge.LENGTHS[np.argmin(values)] * dw, rtol=1e-12)
    else:
        assert found is None


@pytest.mark.parametrize(("n", "d"), [(20_000, 2), (20_000, 30)])
def test_the_solution_is_certified_where_linear_svc_ends_far_above_the_optimum(n, d):
    U, C = many("separable", n, d), np.full(n, 1000.0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    model = LinearSVC(loss="hinge", dual=True, fit_intercept=False, C=1000, max_iter=1000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(y[:, None] * U, y)
    solution = solve(U, C)
    check(U, C, solution)
    assert solution.status == "optimal"
    assert naive.svm_primal(U, C, model.coef_[0], "hinge") > 1.05 * solution.primal


# Symmetries


def noisy(seed, n=300, d=5):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, d))
    U[:, 0] += 1.5
    return U, 10.0 ** rng.uniform(-2, 1, n)


def check_same(one, other, tol=1e-6):
    """Check that two solutions agree: both values are near the optimum, and so are both w by strong convexity."""
    scale = max(1, one.primal)
    assert abs(one.primal - other.primal) <= tol * scale
    assert np.linalg.norm(one.w - other.w) <= 2 * np.sqrt(2 * tol * scale)


@pytest.mark.parametrize("problem", SOFT)
@settings(max_examples=20)
@given(seed=SEEDS, exponent=st.floats(-3, 3))
def test_longer_rows_at_lower_costs_have_a_shorter_normal(problem, seed, exponent):
    """P(w / s; s U, C / s²) = P(w; U, C) / s²; gaps are relative to max(1, P), so the smaller has a lower tolerance."""
    U, C = noisy(seed)
    s = 10.0**exponent
    one, other = solve(U, C, problem, tol=1e-12), solve(s * U, C / s**2, problem, tol=1e-12 / max(1, s * s))
    assert np.isclose(other.primal * s**2, one.primal, rtol=1e-9)
    assert np.allclose(s * other.w, one.w, rtol=0, atol=1e-4 * np.linalg.norm(one.w))


def test_the_hard_margin_of_longer_rows_has_a_shorter_normal():
    U = nasty(0, "separable", n=40, d=3)[0]
    one, other = solve(U, np.ones(40), "hard"), solve(8 * U, np.ones(40), "hard")
    assert np.allclose(8 * other.w, one.w, rtol=1e-5)


@pytest.mark.parametrize("problem", SOFT)
@settings(max_examples=20)
@given(seed=SEEDS, n=st.sampled_from([4, 300, 3000]))
def test_rotating_the_rows_rotates_the_normal(problem, seed, n):
    U, C = noisy(seed, n)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
    one, other = solve(U, C, problem, tol=1e-9), solve(U @ Q.T, C, problem, tol=1e-9)
    check_same(replace(one, w=Q @ one.w), other, tol=1e-8)


@pytest.mark.parametrize("problem", SOFT)
@settings(max_examples=20)
@given(seed=SEEDS, n=st.sampled_from([4, 300, 3000]))
def test_the_order_of_rows_does_not_matter(problem, seed, n):
    U, C = noisy(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    one, other = solve(U, C, problem, tol=1e-9), solve(U[order], C[order], problem, tol=1e-9)
    check_same(one, other, tol=1e-8)
    if n <= 300:
        assert np.allclose(all_alpha(one, n)[order], all_alpha(other, n), rtol=0, atol=1e-3 * C.max())


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("n", [30, 3000])
def test_cost_k_acts_like_k_copies(problem, n):
    U, C = (np.abs(noisy(0, n)[0]) if problem == "hard" else noisy(0, n)[0]), noisy(0, n)[1]
    k = np.random.default_rng(0).integers(0, 4, n)
    weighted, copied = solve(U, k * C, problem), solve(np.repeat(U, k, axis=0), np.repeat(C, k), problem)
    assert weighted.status == copied.status == "optimal"
    check_same(weighted, copied, tol=2e-6)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("n", [4, 300, 3000])
def test_rows_without_cost_change_nothing(problem, n):
    U, C = (np.abs(noisy(0, n)[0]) if problem == "hard" else noisy(0, n)[0]), noisy(0, n)[1]
    more = np.random.default_rng(1).standard_normal((n, 5)) * 100
    paid = np.tile([True, False], n)
    both, costs = np.empty((2 * n, 5)), np.where(paid, np.repeat(C, 2), 0.0)
    both[paid], both[~paid] = U, more
    one, other = solve(U, C, problem), solve(both, costs, problem)
    check(both, costs, other, problem)
    assert other.status == "optimal"
    assert np.all(other.support % 2 == 0)
    check_same(one, other, tol=2e-6)


# Blocks and threads


def labelled(seed=0, n=6000, d=5, **options):
    X, y, p, _ = make_ball_classification(n, d, margin=0.01, random_state=seed)
    flipped = np.random.default_rng(seed).uniform(size=n) < 0.05
    rows = Rows.labelled(implicit_rows(X, p), np.where(flipped, -y, y).astype(float), np.full(n, 10.0))
    return replace(rows, **options)


@pytest.mark.parametrize("problem", SOFT)
@pytest.mark.parametrize("numbers", [500, 4096])
def test_the_cut_into_blocks_does_not_change_the_optimum(problem, numbers):
    rows = labelled(block_numbers=numbers)
    assert len(list(rows.blocks())) > 1
    whole, cut = (solve_svm(source, loss=problem, tol=1e-10) for source in (labelled(), rows))
    assert np.isclose(cut.primal, whole.primal, rtol=1e-9)
    check(rows[:], rows.costs, cut, problem, tol=1e-10)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_threads_over_blocks_do_not_change_a_bit(problem):
    out = []
    for threads in (1, 2):
        rows = labelled(threads=threads, block_numbers=4096)
        rows = replace(rows, costs=np.full(6000, np.inf)) if problem == "hard" else rows
        out.append(solve_svm(rows, loss="squared_hinge" if problem == "squared_hinge" else "hinge"))
    check_bits(*out)


def test_threads_of_dense_algebra_do_not_change_a_bit():
    U, C = many("noisy", 20_000, 20), np.full(20_000, 10.0)
    check_bits(*(solve(U, C, threads=threads) for threads in (1, 2)))


def check_bits(one, two):
    for name in ("w", "support", "alpha", "v"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert (one.primal, one.dual, one.n_passes) == (two.primal, two.dual, two.n_passes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_implicit_and_explicit_rows_give_the_same_solution(dtype):
    rows = labelled()
    rows = replace(rows, X=rows.X.astype(dtype))
    implicit, explicit = solve_svm(rows), solve_svm(Rows.explicit(rows[:], rows.costs))
    check(rows[:], rows.costs, implicit)
    check_same(implicit, explicit)


# Progress


@pytest.mark.parametrize("problem", SOFT)
@pytest.mark.parametrize("n", [200, 6000])
def test_a_warm_start_reaches_the_same_optimum(problem, n):
    U, C = noisy(2, n)
    cold = solve(U, C, problem)
    near, far = solve(U, C, problem, start=cold.w), solve(U, C, problem, start=np.full(5, 100.0))
    for warm in (near, far):
        assert warm.status == "optimal"
        check(U, C, warm, problem)
        check_same(cold, warm, tol=2e-6)
    assert near.n_iter <= cold.n_iter


def test_a_warm_start_works_with_fewer_rows_than_columns():
    U, C = noisy(2, n=3)
    cold = solve(U, C)
    for problem in PROBLEMS:
        warm = solve(U, C, problem, start=10 * cold.w)
        assert warm.status == "optimal"
        check_same(solve(U, C, problem), warm, tol=2e-6)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_too_few_steps_end_with_the_true_gap(problem):
    U, C = many("separable", 20_000, 20), np.full(20_000, 1e3)
    solution = solve(U, C, problem, max_iter=1, start=np.full(20, 0.1))
    assert solution.status == "max_iter"
    assert solution.gap > 1e-6
    if problem != "hard":
        assert solution.n_iter == 1
        check(U, C, solution, problem)


@pytest.mark.parametrize("problem", SOFT)
@pytest.mark.parametrize("n", [200, 6000])
def test_every_step_is_reported(problem, n):
    U, C = noisy(3, n)
    seen = []
    solution = solve(U, C, problem, report=seen.append)
    assert len(seen) == solution.n_iter
    passes = [progress.n_passes for progress in seen]
    assert passes == sorted(set(passes))
    assert passes[-1] <= solution.n_passes <= passes[-1] + 1
    assert passes[0] >= 2
    last = seen[-1]
    assert np.isclose(last.primal, solution.primal, rtol=1e-12)
    assert np.isclose(last.dual, solution.dual, rtol=1e-9)
    assert last.gap <= 1e-6
    assert last.gap == min(progress.gap for progress in seen)
    assert all(0 < progress.n_working <= n for progress in seen)


@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_bounds_are_monotone(kind, C):
    """Neither a working set with a lower bound nor a step that went too far is kept."""
    U, costs, seen = many(kind, 20_000, 20), np.full(20_000, C), []
    solve(U, costs, start=np.full(20, -0.5), report=seen.append)
    assert len(seen) > 1
    assert all(later.dual >= earlier.dual for earlier, later in pairwise(seen))
    assert all(later.primal <= earlier.primal for earlier, later in pairwise(seen))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("kind", "n", "d"), [("noisy", 20_000, 20), ("separable", 20_000, 20), ("noisy", 30, 50)])
def test_passes_are_counted(monkeypatch, problem, kind, n, d):
    """Drawing a sample counts as a pass, because it is one if the rows are read from a file."""
    U, passes = many(kind, n, d), []

    def counted(inner):
        def method(self, *arguments):
            passes.append(self.shape[0])
            return inner(self, *arguments)

        return method

    for name in ("fold", "sample"):
        monkeypatch.setattr(MemoryRows, name, counted(getattr(MemoryRows, name)))
    solution = solve(U, np.full(n, 10.0), problem)
    assert solution.n_passes == passes.count(n)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_seed_of_the_samples_does_not_change_the_optimum(problem):
    U = many("separable", 20_000, 20)
    one, other = (solve(U, np.ones(20_000), problem, seed=seed) for seed in (0, 1))
    check_same(one, other, tol=2e-6)


# Margin scans


@pytest.mark.parametrize("numbers", [100, 2**20])
@settings(max_examples=30)
@given(seed=SEEDS, below=st.floats(0, 3), above=st.floats(0, 3))
def test_a_margin_scan_matches_plain_numpy(numbers, seed, below, above):
    """The number of rows is not a multiple of any chunk or vector length."""
    rows = labelled(seed % 50, n=403, block_numbers=numbers)
    assert len(list(rows.blocks())) == (21 if numbers == 100 else 1)
    rng = np.random.default_rng(seed)
    rows = replace(rows, costs=rng.uniform(size=403) * (rng.uniform(size=403) > 0.2))
    U, C, w = rows[:], rows.costs, rng.standard_normal(5)
    seen = scanned(rows, w, Band(below, above), 403)
    gathered, clamped = naive.sides(U, C, w, below, above)
    paid, g = C > 0, U @ w - 1
    assert seen.complete
    assert np.array_equal(seen.found, np.flatnonzero(gathered))
    assert np.array_equal(seen.rows, U[gathered])
    assert np.array_equal(seen.costs, C[gathered])
    assert np.isclose(seen.loss, C @ np.maximum(0, -g), rtol=1e-12)
    assert np.isclose(seen.primal, naive.svm_primal(U, C, w, "hinge"), rtol=1e-12)
    assert np.isclose(seen.least, (U @ w)[paid].min(), rtol=1e-9)
    assert np.isclose(seen.longest, np.linalg.norm(U[paid], axis=1).max(), rtol=1e-12)
    assert np.allclose(seen.clamped, C[clamped] @ U[clamped], rtol=0, atol=1e-10)
    assert np.isclose(seen.clamped_cost, C[clamped].sum(), rtol=1e-12, atol=1e-12)
    bins = np.searchsorted(EDGES, np.abs(g) / np.linalg.norm(U, axis=1), side="right") - 1
    for side, here in enumerate((paid & (g < 0), paid & (g >= 0))):
        assert np.array_equal(seen.counts[side], np.bincount(bins[here].clip(0), minlength=BINS))


def test_a_margin_scan_counts_rows_at_any_distance():
    """The rows are on the margin, have length zero, or lie beyond the last edge."""
    U = np.array([[1.0, 0.0], [0.0, 0.0], [1e-9, 0.0], [2.0, 0.0], [1e3, 0.0]])
    seen = scanned(Rows.explicit(U, np.ones(5)), np.array([1.0, 0.0]), NOTHING, 5)
    assert seen.counts[0, BINS - 1] == 2
    assert seen.counts[1, 0] == 1
    assert seen.counts.sum() == 5
    assert len(seen.found) == 0


def test_a_margin_scan_that_would_gather_too_much_gathers_nothing():
    rows = labelled(n=400)
    seen = scanned(rows, np.zeros(5), EVERYTHING, 399)
    assert not seen.complete
    assert len(seen.found) == len(seen.rows) == len(seen.costs) == 0
    whole = scanned(rows, np.zeros(5), EVERYTHING, 400)
    assert whole.complete
    assert np.array_equal(whole.found, np.arange(400))


def test_blocks_that_together_gather_too_much_gather_nothing():
    seen = scanned(labelled(n=400, block_numbers=500), np.zeros(5), EVERYTHING, 350)
    assert not seen.complete
    assert len(seen.found) == len(seen.rows) == len(seen.costs) == 0


@given(SEEDS, st.integers(2, 400))
def test_a_band_of_a_given_size_gathers_about_that_number_of_rows(seed, size):
    """Half are on each side if possible; edges are half octaves, so a band may have too few rows, never too many."""
    rows = labelled(seed % 50, n=400)
    w = np.random.default_rng(seed).standard_normal(5)
    here = scanned(rows, w, NOTHING, 0)
    band = here.band_of(size)
    inside = scanned(rows, w, band, 400)
    assert here.count_within(band) <= size
    # The upper edge is itself part of a band, and not of the counts.
    assert abs(here.count_within(band) - len(inside.found)) <= 1
    assert here.count_within(here.band_of(400)) == 400


@given(SEEDS)
def test_losses_along_a_line_match_plain_numpy(seed):
    rows = labelled(seed % 50, n=400, block_numbers=300)
    rng = np.random.default_rng(seed)
    w, dw, lengths = rng.standard_normal(5), rng.standard_normal(5), rng.uniform(0, 2, 6)
    U, C = rows[:], rows.costs
    losses = losses_along(rows, w, dw, lengths)
    assert np.allclose(losses, [C @ np.maximum(0, 1 - U @ (w + t * dw)) for t in lengths], rtol=1e-11)


def test_costs_of_zero_leave_nothing_to_solve():
    rows = np.random.default_rng(0).standard_normal((50, 3))
    for problem in ("hinge", "squared_hinge"):
        solution = solve_svm(Rows.explicit(rows, np.zeros(50)), loss=problem)
        assert solution.status == "optimal"
        assert not solution.w.any()


@pytest.mark.parametrize("problem", ["hinge", "squared_hinge", "hard"])
def test_few_paid_rows_among_many_are_found(problem):
    U, C = np.random.default_rng(0).standard_normal((100_000, 3)), np.zeros(100_000)
    C[[5, 50_000, 99_990]] = np.inf if problem == "hard" else 1.0
    solution = solve_svm(Rows.explicit(U, C), loss="hinge" if problem == "hard" else problem)
    alone = solve_svm(Rows.explicit(U[C > 0], C[C > 0]), loss="hinge" if problem == "hard" else problem)
    assert solution.status == alone.status == "optimal"
    assert np.allclose(solution.w, alone.w, rtol=1e-6)


def test_rows_of_very_different_lengths_that_cannot_be_separated_are_proven_so():
    rng = np.random.default_rng(51)
    U = rng.standard_normal((40, 20)) * 10.0 ** rng.uniform(-6, 0, (40, 1))
    assert solve_svm(Rows.explicit(U, np.full(40, np.inf))).status == "infeasible"


def test_no_active_row_and_no_remaining_step_is_reported():
    solution = solve_svm(
        Rows.explicit(np.ones((3, 2)), np.full(3, 1e8)), loss="squared_hinge", start=np.full(2, 1e3), max_iter=1
    )
    assert solution.status == "max_iter"
    assert solution.gap > 1e-6


class Backwards(Rows):
    """Rows whose blocks are merged from the last to the first."""

    def fold(self, function, merge, *arguments):
        return merge([function(block, *arguments) for block in reversed(list(self.blocks()))])


def test_rows_of_a_margin_scan_are_sorted_for_any_order_of_blocks():
    rng = np.random.default_rng(0)
    U, costs, w = rng.standard_normal((95, 3)), rng.uniform(size=95), rng.standard_normal(3)
    sources = [replace(kind.explicit(U, costs), block_numbers=30) for kind in (Rows, Backwards)]
    assert len(list(sources[0].blocks())) == 10
    forwards, backwards = (scanned(source, w, EVERYTHING, 95) for source in sources)
    for name in ("found", "rows", "costs"):
        assert np.array_equal(getattr(forwards, name), getattr(backwards, name)), name
