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


def solve_by_sample(problem, size, larger, **options):
    """Solve with the Hessian of the first ``size`` rows, and with first steps over the first ``larger`` rows."""
    raw, projection, codes, costs = problem
    sample, more = (
        ClassRows.of(rows[:most], codes[:most], costs[:most] * costs.sum() / costs[:most].sum(), 4)
        for rows, most in ((raw @ projection, size), (raw, larger))
    )
    return solve_softmax_by_sample(ClassRows.of(raw, codes, costs, 4), projection, sample, more, **options)


@pytest.mark.parametrize(("size", "larger"), [(3000, 3000), (400, 400), (60, 400), (60, 60)])
def test_samples_of_any_size_lead_to_the_solution_of_all_rows(problem, size, larger):
    raw, projection, codes, costs = problem
    rows = raw @ projection
    expected = solve_softmax(ClassRows.of(rows, codes, costs, 4), tol=1e-12)
    found = solve_by_sample(problem, size, larger, tol=1e-12)
    assert found.status == "optimal"
    assert np.allclose(found.W, expected.W, atol=1e-5)
    assert certify_softmax(softmax_sums(rows, codes, costs, found.W), found.W).gap[0] <= 1.01e-12


def test_a_larger_sample_takes_fewer_passes(problem):
    passes = [solve_by_sample(problem, size, size, tol=1e-9).n_passes for size in (3000, 1000, 40)]
    assert passes == sorted(passes)
    assert passes[0] <= 6


def test_first_steps_on_a_larger_sample_save_passes(problem):
    passes = [solve_by_sample(problem, 40, larger, tol=1e-9).n_passes for larger in (1500, 40)]
    assert passes[0] < passes[1]


def test_reaching_max_iter_is_reported(problem):
    found = solve_by_sample(problem, 60, 60, tol=1e-12, max_iter=1)
    assert found.status == "max_iter"
    assert found.gap > 1e-12
