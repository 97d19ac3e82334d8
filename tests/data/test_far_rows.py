"""Far rows, which lie far beyond the other rows of their class and are left out of a fit."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from hyplearn import (
    PoincareLogisticRegression,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
)
from hyplearn.data import far_rows
from hyplearn.data.far_rows import find_far_rows, find_fences, leave_out_far_rows, robust_centres
from hyplearn.data.training import TrainingData
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import distance, project, rotate, translate
from hyplearn.geometry.kernels import row_gaps
from hyplearn.tangent import frame_coordinates, from_frame
from support.balls import at_gap
from support.sources import in_blocks

CLASSES = np.array(["ant", "bee", "cat"])
MODELS = {
    "svc": PoincareSVC(calibration=None),
    "boundary": PoincareSVC("boundary", loss="hinge", calibration=None),
    "softmax": PoincareLogisticRegression(),
    "perceptron": PoincarePerceptron(calibration=None, shuffle=False, max_epochs=3),
    "second order": PoincareSecondOrderPerceptron(calibration=None, shuffle=False, max_epochs=3),
}
models = pytest.mark.parametrize("name", MODELS)


def normals(n=300, d=2, K=3, seed=0, c=1.0):
    """Overlapping classes around points at distance 1, in units of the curvature's radius."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    middles = rng.standard_normal((K, d))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    return from_frame((middles[codes] + 0.7 * rng.standard_normal((n, d))) / np.sqrt(c), np.zeros(d), c=c), codes


def with_rim_rows(rows=(5, 77), **options):
    """The data of ``normals`` with some rows moved to the largest radius, and the positions of these rows."""
    X, codes = normals(**options)
    c = options.get("c", 1.0)
    for row in rows:
        X[row] = at_gap(np.random.default_rng(row), X.shape[1], 1e-14, c)
    return X, codes, np.array(rows)


def training(X, codes, weights=None, c=1.0, K=3):
    return TrainingData.of_arrays(X, codes, weights, c, n_classes=K)


def far(X, codes, weights=None, c=1.0, K=3):
    """Positions of the far rows."""
    block = training(X, codes, weights, c, K).gathered()
    return np.flatnonzero(find_fences(block, K, c).far(block, c) & block.present)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@models
def test_a_row_at_the_rim_is_left_out_with_a_warning(name):
    X, codes, rows = with_rim_rows()
    y = CLASSES[codes]
    named = ", ".join(rf"row {row} \(class {y[row]}\)" for row in rows)
    message = f"2 of 300 rows lie far beyond the others of their classes and are left out of the fit: {named}.\n"
    with pytest.warns(UserWarning, match=message + "Check the embedding, or pass trim=False"):
        trimmed = clone(MODELS[name]).fit(X, y)
    absent = clone(MODELS[name]).fit(X, y, np.isin(np.arange(300), rows, invert=True).astype(float))
    assert np.allclose(trimmed.reference_, absent.reference_, atol=1e-12)
    assert np.allclose(trimmed.coef_, absent.coef_, rtol=1e-9, atol=1e-9)
    with pytest.warns(UserWarning, match=r"1 of 300 rows lies far beyond the others of its class and is left out"):
        clone(MODELS[name]).fit(np.where(np.arange(300)[:, None] == 5, X, normals()[0]), y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@models
def test_without_trim_all_rows_are_used(name):
    X, codes, _ = with_rim_rows()
    all_rows = clone(MODELS[name]).set_params(trim=False).fit(X, codes)
    clean = clone(MODELS[name]).set_params(trim=False).fit(*normals())
    assert not np.allclose(all_rows.coef_, clean.coef_, rtol=1e-3)


def test_a_hard_margin_uses_all_rows():
    X, _ = normals(K=2)
    y = X[:, 0] > 0.1
    X = X[np.abs(X[:, 0] - 0.1) > 0.03]
    y = X[:, 0] > 0.1
    X[3] = [1 - 1e-14, 0.0]
    y[3] = True
    assert 3 in far(X, y.astype(int), K=2)
    for reference in (None, [0.1, 0.0]):
        model = PoincareSVC(reference, C=np.inf, calibration=None).fit(X, y)
        assert model.score(X, y) == 1
        assert model.verify(X, y).violation[0] == 0


@pytest.mark.parametrize("options", [{"trim": False}, {"C": np.inf}], ids=str)
@pytest.mark.parametrize("reference", ["hull", "closest"])
def test_a_reference_of_extreme_rows_warns_about_far_rows(reference, options):
    X, y, _, _ = make_ball_classification(200, 2, margin=0.2, radius=0.8, random_state=0)
    X[7] = project(X[7:8] / np.linalg.norm(X[7]))[0]
    with pytest.warns(UserWarning, match=rf'reference="{reference}" is defined by (.|\n)*: row 7 \(class -?1\)'):
        PoincareSVC(reference, calibration=None, **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PoincareSVC(reference, calibration=None, trim=False).fit(np.delete(X, 7, 0), np.delete(y, 7))


def test_many_far_rows_are_counted_and_the_first_five_named():
    X, codes, rows = with_rim_rows(range(10, 19), n=600)
    data, message = leave_out_far_rows(training(X, codes), CLASSES)
    assert re.search(r"9 of 600 rows lie far(.|\n)*row 14 \(class \w+\), \.\.\.\.\n", message)
    assert np.array_equal(np.flatnonzero(data.gathered().weights == 0), rows)
    assert np.allclose(data.totals, np.bincount(np.delete(codes, rows), minlength=3))
    assert data.weights.total == pytest.approx(591)


def test_data_without_far_rows_are_left_as_they_are():
    X, codes = normals()
    data = training(X, codes)
    left, message = leave_out_far_rows(data, CLASSES)
    assert left is data
    assert message == ""


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.3, 5.0]), st.sampled_from([2, 5, 20]))
def test_neither_order_nor_isometries_change_which_rows_are_far(seed, c, d):
    rng = np.random.default_rng(seed)
    X, codes = normals(seed=seed, d=d, c=c)
    for row in rng.choice(300, 4, replace=False):
        X[row] = at_gap(rng, d, 10 ** rng.uniform(-13, -3), c)
    found = far(X, codes, c=c)
    order = rng.permutation(300)
    assert np.array_equal(np.sort(order[far(X[order], codes[order], c=c)]), found)
    turn, shift = np.linalg.qr(rng.standard_normal((d, d)))[0], at_gap(rng, d, 0.3, c)
    moved = translate(rotate(X, turn, c=c), shift, c=c)
    assert np.array_equal(far(moved, codes, c=c), found)


def test_weights_act_like_copies_and_weight_zero_like_absence():
    X, codes, rows = with_rim_rows((5, 77, 130))
    weights = np.random.default_rng(1).integers(0, 3, 300)
    weights[rows] = 1, 2, 0
    copies = np.repeat(np.arange(300), weights)
    weighted, copied = far(X, codes, weights.astype(float)), far(X[copies], codes[copies])
    assert np.array_equal(weighted, rows[:2])
    assert np.array_equal(copies[copied], np.repeat(weighted, weights[weighted]))


def far_cluster(share, n=500):
    """Two classes, with some rows of the second in a narrow cluster 20 units away."""
    X, codes = normals(n, K=2)
    own = np.flatnonzero(codes == 1)[: round(share * np.sum(codes == 1))]
    rng = np.random.default_rng(0)
    X[own] = from_frame(0.1 * rng.standard_normal((len(own), 2)), np.array([np.tanh(10.0), 0.0]))
    return X, codes, own


@pytest.mark.parametrize("c", [1.0, 0.3])
def test_a_row_at_the_origin_may_be_far(c):
    frames = np.random.default_rng(0).normal(0, 0.1, (200, 2))
    X = from_frame(frames / np.sqrt(c), from_frame([[9 / np.sqrt(c), 0.0]], np.zeros(2), c=c)[0], c=c)
    X[7] = 0.0
    far = find_far_rows(training(X, np.zeros(200, dtype=np.int64), c=c, K=1))
    assert far.rows.tolist() == [7]


def test_a_far_cluster_of_a_fifth_of_a_class_is_kept():
    """At most 2 % of the weight can be far: otherwise the limit grows until the nearest rows beyond it are kept."""
    X, codes, own = far_cluster(0.2)
    found = far(X, codes, K=2)
    assert set(found) <= set(own)
    assert len(found) <= 0.02 * len(X)
    weights = np.ones(len(X))
    weights[own[0]] = 0.021 * len(X)
    heavy = far(X, codes, weights, K=2)
    assert weights[heavy].sum() <= 0.02 * weights.sum()
    few = far_cluster(0.03)
    assert np.array_equal(far(*few[:2], K=2), few[2])


def test_each_class_has_its_own_distances():
    """A rare class is kept at any distance from the other classes."""
    X, codes = normals(400, K=2)
    rng = np.random.default_rng(2)
    rare = rng.choice(400, 5, replace=False)
    X[rare] = from_frame(0.5 * rng.standard_normal((5, 2)), np.array([np.tanh(10.0), 0.0]))
    codes[rare] = 2
    assert len(far(X, codes)) == 0
    codes[rare] = 0
    assert np.array_equal(far(X, codes), np.sort(rare))


@pytest.mark.parametrize("c", [1.0, 0.3])
@pytest.mark.parametrize("d", [1, 2, 16, 17, 40])
def test_mean_klein_coordinates_vanish_at_the_centre_of_a_class(d, c):
    X, codes, _ = with_rim_rows(d=d, c=c)
    weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 4.0], 300)
    block = training(X, codes, weights, c).gathered()
    centres = robust_centres(block.X, block.codes, block.gaps, weights, 3, c)
    for k, m in enumerate(centres):
        own = codes == k
        frame = np.sqrt(c) * frame_coordinates(X[own], m, c=c)
        rho = np.linalg.norm(frame, axis=1, keepdims=True)
        klein = np.tanh(rho) / rho * frame
        assert np.allclose(weights[own] @ klein / weights[own].sum(), 0, atol=1e-6)


@pytest.mark.parametrize("c", [1.0, 0.37])
@pytest.mark.parametrize("d", [2, 10, 30])
def test_the_centre_of_a_class_at_the_rim_lies_inside_the_ball(d, c):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        outermost = project(rng.standard_normal((1, d)) * 1e3, c=c)[0]
        X = np.repeat([outermost, at_gap(rng, d, 1e-3, c)], 8, axis=0)
        data = training(X, np.repeat([0, 1], 8), c=c, K=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            far = find_far_rows(data)
        assert not len(far.rows)
        block, _ = data.subsampled(16)
        centres = robust_centres(X, block.codes, block.gaps, np.ones(16), 2, c)
        assert np.all(row_gaps(centres, c) > 0)
        assert np.sqrt(c) * distance(X[0], centres[0], c=c) < 8  # neighbouring floats lie units apart there
        assert distance(X[8], centres[1], c=c) < 1e-9


def test_one_row_moves_the_centre_of_its_class_by_no_more_than_its_weight_however_far_it_is():
    shifts = []
    for far_out in (1e-2, 1e-8, 1e-14):
        X, codes = normals()
        X[5] = [np.sqrt(1 - far_out), 0.0]
        block = training(X, codes).gathered()
        centres = find_fences(block, 3, 1.0).centres
        clean = training(*normals()).gathered()
        shifts.append(distance(centres[codes[5]], find_fences(clean, 3, 1.0).centres[codes[5]]))
    assert max(shifts) < 0.05
    assert shifts[2] == pytest.approx(shifts[1], rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@models
@pytest.mark.parametrize("rows", [7, 110])
def test_blocks_give_the_same_model_as_memory(name, rows):
    X, codes, _ = with_rim_rows()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    fitted = []
    for data in ((X, codes, weights), (in_blocks(X, codes, weights, rows=rows),)):
        with pytest.warns(UserWarning, match=r"2 of 300 rows lie far .* row 5 (.|\n)*, row 77 "):
            fitted.append(clone(MODELS[name]).fit(*data))
    memory, blocks = fitted
    scale = np.abs(memory.coef_).max()
    assert np.allclose(blocks.reference_, memory.reference_, atol=1e-10)
    assert np.allclose(blocks.coef_, memory.coef_, atol=1e-9 * scale)


@pytest.mark.parametrize("name", ["svc", "boundary", "softmax"])
def test_a_certificate_covers_the_kept_rows_and_the_others_are_reported_once(name):
    X, codes, rows = with_rim_rows()
    with pytest.warns(UserWarning, match="2 of 300 rows"):
        model = clone(MODELS[name]).fit(X, codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.verify(X, codes).gap.max() <= 1e-6
    if name != "softmax":
        assert not np.isin(rows, model.support_).any()
        distances = model.distances(np.delete(X, rows, axis=0))
        own = np.where(np.delete(codes, rows)[:, None] == np.arange(3), distances, -distances)
        assert np.allclose(model.margin_, own.min(axis=0), rtol=1e-9)


def known(X, codes, **options):
    """Training data whose smallest gap is known, as after the pass that counts the classes."""
    data = training(X, codes, **options)
    return replace(data, least_gap=float(data.gathered().gaps.min()))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 3), st.floats(0.1, 3.0), st.floats(0.0, 6.0), st.floats(0.0, 20.0),
    st.sampled_from([0.25, 1.0, 4.0]),
)  # fmt: skip
def test_a_known_smallest_gap_changes_no_far_row(seed, d, spread, shift, outlier, c):
    """No row is far if the proof says so, wherever the classes and the outliers lie."""
    rng = np.random.default_rng(seed)
    codes = np.arange(60) % 3
    frame = spread * rng.standard_normal((60, d)) + shift * rng.standard_normal((3, d))[codes]
    frame[0] += outlier * rng.standard_normal(d)
    X = project(from_frame(frame / np.sqrt(c), np.zeros(d), c=c), c=c)
    plain, fast = find_far_rows(training(X, codes, c=c)), find_far_rows(known(X, codes, c=c))
    assert np.array_equal(fast.rows, plain.rows)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_rows_near_the_origin_need_no_search(d, monkeypatch):
    """Beyond 16 dimensions the fences are computed, but no row is compared with them."""
    X, codes = normals(3000, d)
    data = known(X, codes)
    monkeypatch.setattr(far_rows, "_far_rows", None)
    if d <= 16:
        monkeypatch.setattr(far_rows, "find_fences", None)
    assert not len(find_far_rows(data).rows)
    with pytest.raises(TypeError):
        find_far_rows(training(X, codes))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_errors_of_centres_are_bounded(d):
    rng = np.random.default_rng(d)
    X, codes = normals(d=d)
    block = training(X, codes).gathered()
    centres = robust_centres(block.X, block.codes, block.gaps, block.row_weights, 3, 1.0)
    classes = far_rows._by_class(block.X, block.codes, block.gaps, block.row_weights, 3)
    tight = 0
    for _ in range(100):
        M = project(centres + rng.choice([1e-3, 1e-2, 0.1, 0.3]) * rng.standard_normal((3, d)))
        errors = far_rows._errors(*far_rows._derivatives(classes, M, 1.0))
        apart = np.array([distance(m, centre) for m, centre in zip(M, centres, strict=True)])
        assert np.all(apart <= errors + 1e-6)
        tight += np.count_nonzero(errors < 4 * apart)
    assert tight > 50
