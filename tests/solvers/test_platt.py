"""Platt's sigmoid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hyplearn.solvers import platt
from hyplearn.solvers.platt import Sigmoids, fit_sigmoid, fit_sigmoids
from support.naive import platt_loss


def drawn(seed, n=200, share=0.3, apart=1.0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    return rng.standard_normal(n) + apart * positive, positive, rng.uniform(0, 3, n)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.02, 0.98), st.floats(0, 5))
def test_no_other_sigmoid_has_a_lower_loss(seed, share, apart):
    scores, positive, weights = drawn(seed, share=share, apart=apart)
    found = fit_sigmoid(scores, positive, weights)
    best = minimize(lambda ab: platt_loss(ab, scores, positive, weights), found, method="Nelder-Mead", tol=1e-10)
    # Negative slopes are not allowed; if the best slope is negative, the result is a constant.
    if found.slope > 0:
        assert platt_loss(found, scores, positive, weights) <= best.fun + 1e-9 * weights.sum()
    else:
        assert best.x[0] < 1e-3


@given(st.integers(0, 10**6))
def test_a_pinned_sigmoid_is_one_half_at_zero_and_the_best_of_these(seed):
    scores, positive, weights = drawn(seed, apart=2.0)
    found = fit_sigmoid(scores - 1, positive, weights, pinned=True)
    assert found.offset == 0
    for slope in found.slope * np.array([0.99, 1.01]):
        assert platt_loss((slope, 0), scores - 1, positive, weights) > platt_loss(found, scores - 1, positive, weights)


def test_weight_k_counts_a_row_k_times():
    scores, positive, _ = drawn(1)
    weights = np.random.default_rng(0).integers(0, 4, len(scores))
    copies = np.repeat(np.arange(len(scores)), weights)
    once = fit_sigmoid(scores[copies], positive[copies], np.ones(len(copies)))
    assert np.allclose(fit_sigmoid(scores, positive, weights.astype(float)), once, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_separated_scores_have_a_finite_sigmoid_in_any_unit(scale):
    """Platt's targets (1999) keep the slope finite; with targets 0 and 1 it would be infinite."""
    scores = np.concatenate([np.linspace(-3, -1, 50), np.linspace(1, 2, 40)])
    positive = scores > 0
    slope, offset = fit_sigmoid(scale * scores, positive, np.ones(90))
    unit = fit_sigmoid(scores, positive, np.ones(90))
    assert np.isclose(slope * scale, unit.slope)
    assert np.isclose(offset, unit.offset)
    probabilities = 1 / (1 + np.exp(-(unit.slope * scores + unit.offset)))
    assert np.all((probabilities > 0.5) == positive)
    assert 0 < probabilities.min() < probabilities.max() < 1


def test_constant_or_reversed_scores_give_the_share_of_the_class():
    positive = np.arange(10) < 3
    targets = np.where(positive, 4 / 5, 1 / 9)
    for scores in (np.ones(10), np.where(positive, -1.0, 1.0)):
        slope, offset = fit_sigmoid(scores, positive, np.ones(10))
        assert slope == 0
        assert 1 / (1 + np.exp(-offset)) == pytest.approx(targets.mean())


def test_a_class_without_rows_is_unlikely():
    slope, offset = fit_sigmoid(np.linspace(-1, 1, 20), np.zeros(20, dtype=bool), np.ones(20))
    assert abs(slope) < 1e-12
    assert 1 / (1 + np.exp(-offset)) == pytest.approx(1 / 22)


def test_the_sigmoid_of_many_rows_is_optimal():
    scores, positive, weights = drawn(3, n=60_000)
    found = fit_sigmoid(scores, positive, weights)
    for step in ((1e-4, 0), (-1e-4, 0), (0, 1e-4), (0, -1e-4)):
        other = np.add(found, step)
        assert platt_loss(other, scores, positive, weights) > platt_loss(found, scores, positive, weights)


@pytest.mark.parametrize("pinned", [False, True])
def test_sigmoids_fitted_at_once_are_those_fitted_one_by_one(pinned):
    drawings = [drawn(seed, share=0.1 * seed + 0.1, apart=seed) for seed in range(5)]
    scores, positive, weights = np.stack([d[0] for d in drawings]), np.stack([d[1] for d in drawings]), drawings[0][2]
    scores[3] = 1.0  # uninformative
    single = [fit_sigmoid(own, sides, weights, pinned=pinned) for own, sides in zip(scores, positive, strict=True)]
    found = fit_sigmoids(scores, positive, weights, pinned=pinned)
    assert np.allclose(np.transpose(found), single, rtol=1e-9, atol=1e-12)
    far = Sigmoids(3 * found.slopes + 1, found.offsets - (0 if pinned else 1))
    for start, tol in ((found, 1e-14), (far, 1e-14), (far, 1e-6)):
        again = fit_sigmoids(scores, positive, weights, pinned=pinned, tol=tol, start=start)
        losses = [
            [platt_loss(pair, *own, weights) for pair, *own in zip(np.transpose(pairs), scores, positive, strict=True)]
            for pairs in (found, again)
        ]
        assert np.allclose(*losses, rtol=10 * tol, atol=1e-9)


def test_the_kernel_is_compiled_for_one_memory_layout_only():
    rng = np.random.default_rng(0)
    positive = rng.random((3, 50)) < 0.5
    fit_sigmoids(positive + rng.standard_normal((3, 50)), positive, np.ones(50))
    assert len(platt._sums.signatures) == 1
