"""The softmax solver with the Hessian of a sample."""

import numpy as np
import pytest

from hyplearn.rows import ClassRows
from hyplearn.solvers.certificate import certify_softmax, softmax_sums
from hyplearn.solvers.softmax import solve_softmax, solve_softmax_by_sample


@pytest.fixture
def problem():
    """Raw rows, a matrix that transforms them into rows, and overlapping classes."""
    rng = np.random.default_rng(0)
    raw, codes = rng.standard_normal((3000, 6)), rng.integers(4, size=3000)
    raw[:, :4] += 1.5 * np.eye(4)[codes]
    return raw, rng.standard_normal((6, 5)), codes, rng.uniform(0, 3, 3000)


@pytest.mark.parametrize("sample_numbers", [10**6, 2000, 300])
def test_a_sample_of_any_size_leads_to_the_solution_of_all_rows(problem, sample_numbers):
    raw, projection, codes, costs = problem
    rows = raw @ projection
    expected = solve_softmax(ClassRows.of(rows, codes, costs, 4), tol=1e-12)
    source = ClassRows.of(raw, codes, costs, 4)
    found = solve_softmax_by_sample(source, projection, tol=1e-12, sample_numbers=sample_numbers)
    assert found.status == "optimal"
    assert np.allclose(found.W, expected.W, atol=1e-5)
    assert certify_softmax(softmax_sums(rows, codes, costs, found.W), found.W).gap[0] <= 1.01e-12


def test_a_larger_sample_takes_fewer_passes(problem):
    raw, projection, codes, costs = problem
    source = ClassRows.of(raw, codes, costs, 4)
    passes = [
        solve_softmax_by_sample(source, projection, tol=1e-9, sample_numbers=numbers).n_passes
        for numbers in (10**6, 5000, 200)
    ]
    assert passes == sorted(passes)
    assert passes[0] <= 6


def test_reaching_max_iter_is_reported(problem):
    raw, projection, codes, costs = problem
    found = solve_softmax_by_sample(
        ClassRows.of(raw, codes, costs, 4), projection, tol=1e-12, max_iter=1, sample_numbers=300
    )
    assert found.status == "max_iter"
    assert found.gap > 1e-12
