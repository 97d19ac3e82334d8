"""Decisions: predictions of two classes from levels agree with the signs of their scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyplearn.decision import Decision
from hyplearn.decision import decision as module
from hyplearn.decision.calibration import Calibration
from hyplearn.geometry.kernels import row_gaps
from support.balls import at_gap


def decision(slope, offset, c=1.0, w=(1.0, 2.0), p=(0.1, -0.2)):
    """Two classes separated by an equidistant of a hyperplane."""
    plane = Decision.of_hyperplanes(np.array(["no", "yes"]), c, np.array([w]), np.array([p]) / np.sqrt(c))
    return Decision(**{**vars(plane), "calibration": Calibration(np.array([slope]), np.array([offset]))})


def points_near(model, n, rng):
    """Points on the boundary of a decision up to rounding, and points at all distances from the origin."""
    ends = [at_gap(rng, 2, 10.0 ** rng.uniform(-15, 0), model.c) for _ in range(2 * n)]
    X, Y = np.array(ends[:n]), np.array(ends[n:])
    on_x = model.scores(X, row_gaps(X, model.c))[:, 0] > 0
    low, high = np.where(on_x[:, None], Y, X), np.where(on_x[:, None], X, Y)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = model.scores(middle, row_gaps(middle, model.c)) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.concatenate([X, low, high])


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([1e-10, 0.3, 1.0, 50.0, -2.0, 0.0]),
    st.sampled_from([0.0, 1e-13, 0.5, -3.0, 12.0, 100.0]), st.sampled_from([0.25, 1.0, 4.0]),
)  # fmt: skip
def test_predictions_of_two_classes_are_the_signs_of_the_scores(seed, slope, offset, c):
    model = decision(slope, offset * slope, c)
    X = points_near(model, 20, np.random.default_rng(seed))
    gaps = row_gaps(X, c)
    assert np.array_equal(model.predict(X, gaps), np.where(model.scores(X, gaps)[:, 0] > 0, "yes", "no"))


def test_scores_are_computed_near_the_boundary_only(monkeypatch):
    model = decision(2.0, 0.7)
    X = points_near(model, 50, np.random.default_rng(0))
    gaps, rows, scores = row_gaps(X, 1.0), [], Decision.scores
    monkeypatch.setattr(Decision, "scores", lambda self, X, gaps: rows.append(len(X)) or scores(self, X, gaps))
    model.predict(X, gaps)
    assert 0 < sum(rows) < len(X)
    far = model.values(X, gaps)[:, 0] * 2 + 0.7
    away = np.abs(far) > 1e-3
    rows.clear()
    model.predict(X[away], gaps[away])
    assert not rows


@pytest.mark.parametrize("slope", [0.0, -1.0, np.nan])
def test_a_score_that_does_not_increase_with_the_level_has_no_threshold(slope):
    assert decision(slope, 1.0)._threshold is None
    assert decision(1.0, module.FARTHEST * 1.01)._threshold is None
    assert decision(1.0, 0.0)._threshold == 0
