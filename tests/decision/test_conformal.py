"""Conformal p-values, sets and answers, compared with naive versions and with the theorems on exchangeable scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.decision.conformal import (
    Ancestors,
    HeldOut,
    Neighbours,
    calibration_groups,
    deal_in_turn,
    distance_p_values,
    least_covers,
    least_rows,
    p_values,
    prediction_sets,
    proved_coverage,
)
from support.balls import cloud
from support.naive import naive_distance_p_values, naive_p_values


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 0, 0], [0, 1, 0]], ids=["each", "all", "some"])
@pytest.mark.parametrize("weighted", [True, False])
def test_p_values_match_the_formula(groups, weighted):
    rng = np.random.default_rng(0)
    n, K, F = 40, 3, 4
    weights = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    held = HeldOut(rng.integers(0, 8, n) / 8, rng.integers(0, K, n), rng.integers(0, F, n), weights)  # with ties
    scores = [rng.integers(0, 8, (11, K)) / 8 for _ in range(F)]
    groups = np.array(groups)
    assert np.allclose(p_values(scores, held, groups), naive_p_values(scores, held, groups), rtol=1e-14)


def test_one_fold_of_exchangeable_scores_has_the_coverage_of_the_theorem():
    """Without ties, the p-value of the true class is uniform on 1/(n+1), ..., 1 for any scores."""
    n, R = 19, 20_000
    scores = np.random.default_rng(1).standard_normal((R, n + 1))
    own = np.array([1 + np.sum(row[:-1] >= row[-1]) for row in scores]) / (n + 1)
    coverage = np.mean(prediction_sets(own[:, None], 0.9))
    assert abs(coverage - 0.9) < 3 * np.sqrt(0.09 / R)


def test_a_p_value_of_exactly_alpha_is_excluded_despite_rounding():
    assert 1 / 10 > 1 - 0.9
    assert not prediction_sets(np.array([[1 / 10]]), 0.9).any()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_a_class_of_the_least_number_of_rows_can_be_left_out_and_a_smaller_one_cannot(coverage):
    least = least_rows(coverage)
    assert not prediction_sets(np.array([1 / (least + 1)]), coverage)[0]
    assert prediction_sets(np.array([1 / least]), coverage)[0]


def test_the_proved_coverage_tends_to_one_minus_twice_alpha():
    assert proved_coverage(0.9, 10**9, 5) == pytest.approx(0.8)
    assert proved_coverage(0.9, 20, 5) < proved_coverage(0.9, 200, 5) < 0.8
    assert proved_coverage(0.5, 10, 5) == 0.0


def test_every_fold_has_its_share_of_every_class():
    codes = np.random.default_rng(0).integers(0, 4, 103)
    dealt = deal_in_turn(codes, 5)
    for k in range(4):
        shares = np.bincount(dealt[codes == k], minlength=5)
        assert shares.max() - shares.min() <= 1
    assert np.ptp(np.bincount(dealt)) <= 1


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 0, 0], [0, 1, 0]], ids=["each", "all", "some"])
@pytest.mark.parametrize("c", [1.0, 0.25, None])
def test_distance_p_values_match_full_conformal_prediction(c, groups):
    rng = np.random.default_rng(0)
    X, rows = cloud(rng, 7, 3, 1.0), cloud(rng, 30, 3, 1.0)
    codes = np.r_[np.zeros(20, int), np.full(3, 2), np.ones(7, int)]  # class 2 has fewer than five rows
    weights = rng.integers(0, 3, 30).astype(float)
    groups = np.array(groups)
    found = distance_p_values(X, Neighbours.of(rows, codes, weights, c), 3, c, groups)
    assert np.allclose(found, naive_distance_p_values(X, rows, codes, weights, c, groups), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 14])  # a tree of boxes, and a single box
@pytest.mark.parametrize("c", [1.0, None])
def test_distance_p_values_by_the_tree_match_all_pairs(c, d):
    """The data have copies of rows and far rows; new rows lie among them and beyond them."""
    rng = np.random.default_rng(1)
    rows = np.concatenate([cloud(rng, 250, d, 1.0), 0.2 * cloud(rng, 50, d, 1.0)])
    rows[40:50] = rows[30:40]
    codes = rng.integers(0, 2, 300)
    X = np.concatenate([cloud(rng, 40, d, 1.0), rows[:5], 0.999 * np.eye(d)[:1]])
    found = distance_p_values(X, Neighbours.of(rows, codes, np.ones(300), c), 2, c, np.arange(2))
    assert np.allclose(found, naive_distance_p_values(X, rows, codes, np.ones(300), c, np.arange(2)), rtol=1e-12)


@pytest.mark.parametrize("by_class", [True, False])
def test_distance_p_values_of_exchangeable_rows_are_uniform(by_class):
    """If each row in turn is the new one, the p-values of the true class are 1/n, 2/n, ..., 1 in some order."""
    rng = np.random.default_rng(3)
    rows, codes = cloud(rng, 24, 2, 1.0), np.zeros(24, int)
    if not by_class:
        codes[:8] = 1
    own = []
    for i in range(24):
        rest = np.arange(24) != i
        near = Neighbours.of(rows[rest], codes[rest], np.ones(23), 1.0)
        groups = np.arange(2) if by_class else np.zeros(2, int)
        own.append(distance_p_values(rows[[i]], near, 1 + codes.max(), 1.0, groups)[0, codes[i]])
    assert np.allclose(np.sort(own), np.arange(1, 25) / 24)


def test_p_values_of_a_small_class_and_the_class_that_joins_it_are_uniform_together():
    """So the coverage of both classes together is the requested one, although one of them has only four rows."""
    rng = np.random.default_rng(4)
    rows, codes = cloud(rng, 45, 2, 1.0), np.repeat([0, 1, 2], [30, 4, 11])
    rows[codes == 1] *= 0.3
    own = []
    for i in np.flatnonzero(codes):
        rest = np.arange(45) != i
        groups = calibration_groups(np.bincount(codes[rest]), 0.9)
        assert groups.tolist() == [0, 1, 1]
        near = Neighbours.of(rows[rest], codes[rest], np.ones(44), 1.0)
        own.append(distance_p_values(rows[[i]], near, 3, 1.0, groups)[0, codes[i]])
    assert np.allclose(np.sort(own), np.arange(1, 16) / 15)


@given(st.lists(st.integers(2, 60), min_size=2, max_size=8), st.sampled_from([0.8, 0.9, 0.95]))
def test_every_group_has_enough_rows_to_exclude_a_class_and_only_small_classes_share_one(counts, coverage):
    totals, least = np.array(counts), least_rows(coverage)
    groups = calibration_groups(totals, coverage)
    sizes = np.bincount(groups, totals, minlength=len(totals))[groups]
    assert np.all(sizes >= least) or totals.sum() < least
    shared, small = np.bincount(groups, minlength=len(totals))[groups] > 1, totals < least
    assert np.all(shared[small])
    assert len(set(groups[small])) <= 1
    if np.any(shared & ~small):  # larger classes join only if the small ones together have too few rows
        assert totals[small].sum() < least


def test_rows_that_tie_count_as_far_as_the_new_one():
    """The four corners of a square all have the same score, for any order of the sums."""
    corners = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [0.1, 0.1]])
    for i in range(4):
        rest = np.arange(4) != i
        near = Neighbours.of(corners[rest], np.zeros(3, int), np.ones(3), None)
        assert distance_p_values(corners[[i]], near, 1, None, np.zeros(1, int))[0, 0] == 1


def test_the_least_cover_has_the_fewest_classes_and_is_the_deepest_of_those():
    #        root 0 - only 1 - (left 2 - (a 3, b 4), c 5): root and only have the same classes below
    above = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0], [1, 1, 0, 0, 0, 1]], dtype=bool)
    tree = Ancestors(above, np.array([0, 1, 2, 3, 3, 2]))
    sets = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    assert least_covers(sets, tree).tolist() == [3, 2, 1, -1, 1]
