"""A hard margin is called infeasible only if α proves it, and a solution optimal only beyond rounding errors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyplearn.rows import Rows
from hyplearn.solvers.certificate import certificate_sums, certify, merge_certificates
from hyplearn.solvers.svm.proof import proven, refutation
from hyplearn.solvers.svm.solve import solve_svm
from hyplearn.solvers.svm.together import Problems, solutions_of, solve_together
from support import naive

SEEDS = st.integers(0, 10**6)


def hard(U):
    return Rows.explicit(U, np.full(len(U), np.inf))


@given(SEEDS)
def test_independent_rows_are_separable_whatever_their_lengths(seed):
    """For eight independent rows in ten dimensions, some w has any given margins; their lengths differ by 1e16."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((8, 10))
    U *= (np.where(np.arange(8) % 2, 2e-4, 1e12) / np.linalg.norm(U, axis=1))[:, None]
    solution = solve_svm(hard(U))
    assert solution.status == "optimal"
    assert np.all(U @ solution.w >= 1 - 1e-9)


@settings(max_examples=30)
@given(SEEDS)
def test_a_refutation_is_a_vanishing_combination_of_rows(seed):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((30, 3)) * 10.0 ** rng.uniform(-8, 8, (30, 1))
    U[::2] *= -np.sign(U[::2] @ np.ones(3))[:, None]
    U[1::2] *= np.sign(U[1::2] @ np.ones(3))[:, None]
    solution = solve_svm(hard(U))
    assert solution.status == "infeasible"
    assert np.all(solution.alpha > 0)
    terms = solution.alpha[:, None] * U[solution.support]
    assert np.linalg.norm(terms.sum(axis=0)) <= 1e-12 * np.linalg.norm(terms, axis=1).sum()


def test_a_combination_that_does_not_vanish_refutes_nothing():
    rng = np.random.default_rng(0)
    U = np.abs(rng.standard_normal((20, 3)))
    assert refutation(hard(U), np.arange(20), rng.uniform(0.5, 1, 20)) is None
    assert refutation(hard(U), np.arange(0), np.empty(0)) is None


def test_rows_that_rounding_alone_separates_are_not_called_infeasible():
    """The rows of two points at neighbouring floats are each other's negatives up to the last bit."""
    u = np.array([0.3, 0.2, 0.1])
    U = np.stack([u, -np.nextafter(u, [1.0, 0.0, 1.0])])
    assert solve_svm(hard(U)).status != "infeasible"


@pytest.mark.parametrize("d", [1, 2, 30])
def test_a_row_and_its_negative_are_infeasible(d):
    rng = np.random.default_rng(d)
    U = np.abs(rng.standard_normal((12, d)))
    U[7] = -U[3]
    solution = solve_svm(hard(U))
    assert solution.status == "infeasible"
    assert np.abs(solution.alpha @ U[solution.support]).max() <= 1e-13 * solution.alpha.max()


def test_a_row_of_zeros_is_infeasible():
    U = np.abs(np.random.default_rng(0).standard_normal((12, 4)))
    U[5] = 0.0
    solution = solve_svm(hard(U))
    assert solution.status == "infeasible"
    assert not np.any(solution.alpha @ U[solution.support] > 1e-13)


def test_columns_of_zeros_do_not_hide_that_a_problem_is_infeasible():
    U = np.zeros((20, 30))
    U[:, [3, 8]] = np.random.default_rng(0).standard_normal((20, 2))
    assert solve_svm(hard(U)).status == "infeasible"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@settings(max_examples=50)
@given(seed=SEEDS)
def test_the_gap_matches_plain_sums(loss, seed):
    """The sum of P - D over rows, without cancellation, equals P minus D, also for α outside its box."""
    rng = np.random.default_rng(seed)
    U, C, w = rng.standard_normal((40, 3)), rng.uniform(0.1, 2, 40), rng.standard_normal(3)
    alpha = rng.uniform(-0.5, 1.5, 40) * C if loss == "hinge" else np.maximum(0, rng.uniform(-1, 2, 40))
    parts = [certificate_sums(U[cut], alpha[cut], C[cut], w, loss) for cut in (slice(0, 11), slice(11, 40))]
    proof = certify(merge_certificates(parts), w, hard=False)
    primal, dual = naive.svm_primal(U, C, w, loss), naive.svm_dual(U, C, alpha, loss)
    assert proof.primal == pytest.approx(primal, rel=1e-12)
    assert proof.dual == pytest.approx(dual, rel=1e-12, abs=1e-12)
    assert proof.gap == pytest.approx((primal - dual) / max(1, primal), rel=1e-10, abs=1e-12)
    assert 0 < proof.rounding < 1e-12
    assert (proof.violation > 0) == (loss == "hinge")


def test_a_claim_smaller_than_the_rounding_error_is_withdrawn():
    """The margin of a row of length 1e15 has no correct digits."""
    U = np.array([[1e15, 1.0], [0.0, 1.0]])
    rows = Rows.explicit(U, np.full(2, 1e6))
    honest = solve_svm(rows)
    assert honest.status == "optimal"
    claim = replace(honest, w=np.array([0.1, 1.0]), gap=0.0, rounding=np.inf)
    assert proven(rows, claim, "hinge", 1e-6).status == "stalled"
    assert proven(rows, replace(claim, support=claim.support[:0]), "hinge", 1e-6).status == "stalled"


def test_no_row_is_longer_than_its_bound():
    rng = np.random.default_rng(0)
    X, p = rng.uniform(-1, 1, (50, 4)), rng.uniform(-1, 1, 4)
    rows = Rows(X, p, rng.standard_normal(50), 10 * rng.standard_normal(50), np.ones(50))
    assert np.linalg.norm(rows[:], axis=1).max() <= rows.length_bound()
    assert rows.taken(slice(0, 0)).length_bound() == 0


def test_problems_solved_together_claim_no_more_than_rounding_allows():
    rng = np.random.default_rng(0)
    rows, codes, costs = rng.standard_normal((30, 3)), rng.integers(0, 2, 30), np.ones(30)
    for scale, status in ((1.0, "optimal"), (1e9, "stalled")):
        problems = Problems.of_classes(scale * rows, codes, np.array([1]), 1e3 * costs)
        found = solve_together(problems, tol=1e-6)
        exact = replace(found, gap=np.zeros(1))
        assert solutions_of(problems, exact, 1e-6)[0].status == status
