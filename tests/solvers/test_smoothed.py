"""The start for many columns, compared with plain NumPy, and the solver with and without this start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.rows import Rows
from hyplearn.rows.memory import MemoryRows
from hyplearn.solvers.svm import hinge, smoothed
from hyplearn.solvers.svm.solve import solve_svm

SEEDS = st.integers(0, 10**6)


def problem(seed=0, n=400, d=5):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, d))
    U[:, 0] += 1.0
    return U, rng.uniform(0.1, 2.0, n) * (rng.uniform(size=n) > 0.1)


@given(SEEDS, st.floats(0.01, 3.0))
def test_a_point_has_the_sums_of_its_formula(seed, width):
    U, C = problem(seed)
    w = np.random.default_rng(seed).standard_normal(5)
    point = smoothed.Descent(Rows.explicit(U, C), 1, 0).point(w, width, 0)
    s = 1 - U @ w
    alpha, inside = C * np.clip(s / width, 0, 1), (s > 0) & (s < width) & (C > 0)
    losses = np.where(s < width, np.maximum(s, 0) ** 2 / (2 * width), s - width / 2)
    assert point.primal == pytest.approx(0.5 * w @ w + C @ np.maximum(0, s), rel=1e-12)
    assert point.objective == pytest.approx(0.5 * w @ w + C @ losses, rel=1e-12)
    assert np.allclose(point.v, alpha @ U, rtol=0, atol=1e-10)
    assert np.allclose(point.v_within, alpha[inside] @ U[inside], rtol=0, atol=1e-10)
    assert point.n_within == inside.sum()
    dual = alpha.sum() - 0.5 * np.sum((alpha @ U) ** 2)
    assert point.gap == pytest.approx((point.primal - dual) / max(1, point.primal), rel=1e-9, abs=1e-12)


def test_a_newton_step_may_use_a_part_of_the_rows():
    U, C = problem(n=4000)
    descent, w = smoothed.Descent(Rows.explicit(U, np.where(C > 0, 1.0, 0.0)), 1, 0), np.full(5, 0.1)
    whole, part = descent.point(w, 2.0, 0), descent.point(w, 2.0, 300)
    assert len(part.rows) < 0.2 * len(whole.rows) == 0.2 * whole.n_within
    assert (part.gap, part.n_within) == pytest.approx((whole.gap, whole.n_within))
    one, other = (descent._step(point, 2.0) for point in (whole, part))
    assert np.linalg.norm(one - other) <= 0.3 * np.linalg.norm(one)


@pytest.mark.parametrize("kind", ["overlapping", "separable"])
def test_the_start_is_close_to_the_solution(kind):
    U, C = problem(n=3000, d=20)
    U[:, 0] = np.abs(U[:, 0]) + 0.1 if kind == "separable" else U[:, 0]
    rows = Rows.explicit(U, C)
    w, n_within, _ = smoothed.solve_smoothed(rows, max_iter=100, threads=1, rng=np.random.default_rng(0))
    optimum = solve_svm(rows).primal
    assert 0.5 * w @ w + C @ np.maximum(0, 1 - U @ w) <= 1.1 * optimum
    assert 0 < n_within < 1000


class Streamed(Rows):
    """Rows that the solver takes from samples, as those of a file."""

    most_kept = 10.0**9


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_many_columns_have_the_solution_of_samples(threads, monkeypatch):
    U, C = problem(n=3000, d=smoothed.MANY_COLUMNS)
    rows = Rows.explicit(U, C)
    assert smoothed.smoothing_pays(rows)
    assert not smoothed.smoothing_pays(Streamed.explicit(U, C))
    expected = solve_svm(Streamed.explicit(U, C))
    starts = []
    inner = hinge.solve_smoothed
    monkeypatch.setattr(hinge, "solve_smoothed", lambda *a, **o: starts.append(inner(*a, **o)) or starts[-1])
    solution = solve_svm(rows, threads=threads)
    assert len(starts) == 1
    assert solution.status == "optimal"
    assert solution.primal == pytest.approx(expected.primal, rel=1e-6)
    assert solution.n_passes > starts[0][2]


def test_smoothing_is_for_moderate_costs_in_memory():
    U = np.zeros((10, smoothed.MANY_COLUMNS))
    assert smoothed.smoothing_pays(Rows.explicit(U, np.ones(10)))
    assert not smoothed.smoothing_pays(Rows.explicit(U, np.full(10, 100.0)))
    assert not smoothed.smoothing_pays(Rows.explicit(U[:, :20], np.ones(10)))


@given(SEEDS)
def test_a_step_that_goes_too_far_is_cut_where_the_objective_is_lowest(seed):
    U, C = problem(seed)
    descent, rng = smoothed.Descent(Rows.explicit(U, C), 1, 0), np.random.default_rng(seed)
    point = descent.point(rng.standard_normal(5), 0.5, 0)
    step = 3.0 * (point.v - point.w)
    t = descent._lowest(point, step)
    values = [descent.point(point.w + part * step, 0.5, 0).objective for part in (t, 0.9 * t, 0.5 * t, 1.1 * t)]
    assert values[0] <= point.objective
    assert min(values[1:]) >= values[0] - 0.02 * (point.objective - values[0])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_a_tolerance_below_rounding_stops_immediately(loss, C, monkeypatch):
    """It takes only a few passes more than a tolerance that can be reached."""
    U, _ = problem(n=6000, d=10)
    rows, passes, inner = Rows.explicit(U, np.full(6000, C)), [], MemoryRows.fold
    monkeypatch.setattr(MemoryRows, "fold", lambda *arguments: passes.append(1) or inner(*arguments))
    reached = solve_svm(rows, loss=loss)
    n_passes = len(passes)
    beyond = solve_svm(rows, loss=loss, tol=1e-30)
    assert reached.status == "optimal"
    assert beyond.status == "stalled"
    assert beyond.gap < 1e-13
    assert len(passes) - n_passes <= n_passes + 10
