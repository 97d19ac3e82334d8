"""Reference points given as names of strategies, functions or points."""

import numpy as np
import pytest

from hyplearn import PoincareLogisticRegression, PoincareSVC, TangentSpace
from hyplearn.data.training import TrainingData
from hyplearn.geometry import distance, frechet_mean, gap, rotate, translate
from hyplearn.reference import reference_point
from hyplearn.reference.strategies import STRATEGIES, TWO_SIDED, checked_point, merge_copies
from support.two_classes import apart, overlapping

PROBLEMS = [pytest.param(overlapping, id="overlapping"), pytest.param(apart, id="apart")]


ALL = ["mean", "means", "hull", "closest", "boundary"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_weights_act_like_copies_and_weight_zero_like_absence(name, data):
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    copies = reference_point(name, np.repeat(X, weights, axis=0), np.repeat(y, weights), None, 1.0)
    assert distance(reference_point(name, X, y, weights.astype(float), 1.0), copies) < 1e-6


@pytest.mark.parametrize("name", ["means", "boundary"])
def test_copies_of_many_rows_count_as_weights(name):
    X, y = overlapping(n=30_000)
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    copies = reference_point(name, np.repeat(X, weights, axis=0), np.repeat(y, weights), None, 1.0)
    assert distance(reference_point(name, X, y, weights.astype(float), 1.0), copies) < 1e-6


@pytest.mark.parametrize("name", [name for name in ALL if name != "closest"])
@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("d", [2, 4])
def test_strategies_move_with_the_points(name, data, d):
    rng = np.random.default_rng(1)
    X, y = data(d=d)
    a = rng.uniform(-0.4, 0.4, d)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    due = translate(rotate(reference_point(name, X, y, None, 1.0), turn), a)
    assert distance(reference_point(name, translate(rotate(X, turn), a), y, None, 1.0), due) < 1e-6


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_strategies_scale_with_the_curvature(name, data):
    X, y = data()
    due = reference_point(name, X, y, None, 1.0) / 2
    assert np.allclose(reference_point(name, X / 2, y, None, 4.0), due, atol=1e-7)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("data", PROBLEMS)
def test_strategies_repeat_their_bits_and_leave_their_arguments_alone(name, data):
    X, y = data()
    weights = np.ones(len(X))
    before = X.copy(), y.copy()
    assert np.array_equal(reference_point(name, X, y, weights, 1.0), reference_point(name, X, y, weights, 1.0))
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


@pytest.mark.parametrize("name", ["means", "hull", "closest", "boundary"])
def test_a_class_without_weight_is_ignored(labelled, name):
    X, y = labelled
    only_a = reference_point(name, X, y, (y == "a").astype(float), 1.0)
    assert distance(only_a, frechet_mean(X[y == "a"])) < 1e-10


def test_an_array_is_used_as_given(labelled):
    X, y = labelled
    assert np.array_equal(reference_point([0.1, 0.2], X, y, None, 1.0), [0.1, 0.2])


def test_a_function_is_called_with_each_binary_problem():
    X, y = overlapping()
    X, y = np.concatenate([X, X[:20]]), np.concatenate([y, np.full(20, 2.0)])
    seen = []

    def first_positive(X, y, weights, c):
        seen.append((len(X), sorted(set(y)), weights, c))
        return X[np.argmax(y > 0)]

    model = PoincareSVC(first_positive).fit(X, y)
    assert seen == 3 * [(len(X), [-1.0, 1.0], None, 1.0)]
    assert np.array_equal(model.reference_, [X[np.argmax(y == label)] for label in (-1, 1, 2)])


@pytest.mark.parametrize(
    ("labels", "given"), [(["b", "a", "b"], [1.0, -1.0, 1.0]), ([7, 3, 9], [1, 0, 2]), (None, [0, 0, 0])]
)
@pytest.mark.parametrize(("weights", "distinct"), [(None, False), (np.full(3, 2.0), False), (np.arange(3.0), True)])
def test_a_function_gets_the_same_arguments_everywhere(labels, given, weights, distinct):
    X, seen = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]), []

    def first(X, y, weights, c):
        seen.append((y.tolist(), None if weights is None else weights.tolist(), c))
        return X[0]

    labels = None if labels is None else np.array(labels)
    TangentSpace(first, curvature=-0.25).fit(X, labels, weights)
    reference_point(first, X, labels, weights, 0.25)
    if labels is not None:
        PoincareLogisticRegression(first, C=1.0, trim=False, curvature=-0.25).fit(X, labels, weights)
    assert seen == [(given, weights.tolist() if distinct else None, 0.25)] * len(seen)


def test_bad_references_are_rejected(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="reference='centroid' is not a strategy"):
        reference_point("centroid", X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\).*got \(3,\)"):
        reference_point([0.0, 0.0, 0.0], X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must be an array of real numbers, of shape .*; got \['a', 'b'\]"):
        reference_point(["a", "b"], X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\).*got \['a', 'b'\]"):
        checked_point(["a", "b"], 2, 1.0)
    with pytest.raises(ValueError, match=r"must have shape \(2,\), one coordinate per feature of X; got \(3, 2\)"):
        reference_point(np.zeros((3, 2)), X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"the point has norm 1\.5"):
        reference_point([1.5, 0.0], X, y, None, 1.0)


@pytest.mark.parametrize("name", ["means", "hull", "closest", "boundary"])
def test_strategies_between_classes_need_labels(labelled, name):
    with pytest.raises(ValueError, match=f'"{name}" needs labels'):
        reference_point(name, labelled[0], None, None, 1.0)


@pytest.mark.parametrize("name", ["hull", "closest", "boundary"])
def test_strategies_between_two_classes_reject_three(labelled, name):
    X, _ = labelled
    with pytest.raises(ValueError, match=f'"{name}" needs exactly 2 classes; got 3'):
        reference_point(name, X, np.arange(30) % 3, None, 1.0)


def test_functions_that_do_not_return_a_point_raise_clear_errors(labelled):
    X, y = labelled

    def all_rows(X, y, weights, c):
        return X

    def far_off(X, y, weights, c):
        return [2.0, 0.0]

    with pytest.raises(ValueError, match=r"reference=all_rows must return one point.*shape \(2,\); got \(30, 2\)"):
        reference_point(all_rows, X, y, None, 1.0)
    with pytest.raises(ValueError, match=r"reference=far_off must return one point of the ball.*norm 2"):
        reference_point(far_off, X, y, None, 1.0)


def test_ragged_references_are_rejected_by_estimators(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match=r"\(n_problems, n_features\); got \[\[0.1, 0.2\], \[0.3\]\]"):
        PoincareSVC([[0.1, 0.2], [0.3]]).fit(X, y)


@pytest.mark.parametrize("name", sorted(TWO_SIDED))
def test_every_two_sided_strategy_is_in_the_table(labelled, monkeypatch, name):
    X, y = labelled
    seen = []
    monkeypatch.setitem(TWO_SIDED, name, lambda data, sides: seen.append((data, sides)) or X[0])
    assert np.array_equal(reference_point(name, X, y, None, 1.0), X[0])
    (data, sides), *others = seen
    assert not others
    assert data.n_rows == len(X)
    assert np.array_equal(sides, [0, 1])


def test_every_strategy_gives_a_point_of_the_ball(labelled):
    assert {*TWO_SIDED, "mean", "means", "origin"} == set(STRATEGIES)
    for name in STRATEGIES:
        assert gap(reference_point(name, *labelled, None, 1.0)) > 0
    assert not reference_point("origin", *labelled, None, 1.0).any()


@pytest.mark.parametrize("d", [1, 2, 40])
def test_merged_copies_have_the_same_bits_in_any_order(d):
    rng = np.random.default_rng(2)
    X = rng.choice([-0.5, -0.0, 0.0, 0.25], size=(60, d)) / d + rng.choice([0.0, 2.0**-9], size=(60, 1)) / d
    y, weights = rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    order = rng.permutation(weights.sum())
    copied = np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order], None
    one, other = (
        merge_copies(TrainingData.of_arrays(*data, 1.0, n_classes=2)).gathered()
        for data in ((X, y, weights.astype(float)), copied)
    )
    for part, twin in zip(one, other, strict=True):
        np.testing.assert_array_equal(part, twin)
    distinct, counts = np.unique(np.column_stack(copied[:2]), axis=0, return_counts=True)
    merged = np.column_stack([one.X, one.codes])
    sort = np.lexsort(merged.T[::-1])
    np.testing.assert_array_equal(merged[sort], distinct)
    np.testing.assert_array_equal(one.weights[sort], counts)
