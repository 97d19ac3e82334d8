"""PoincareKernelClassifier: a certified softmax over functions of a kernel."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hyplearn
from hyplearn import PoincareKernelClassifier, PoincareLogisticRegression, open_points
from hyplearn.cone import cone_coordinates
from hyplearn.data.training import LabelledBlock
from hyplearn.estimators.kernel_search import EQUAL, FINALISTS, PARTS, KernelSearch, Trial, part_numbers
from hyplearn.geometry import frechet_mean, rotate, translate
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels import heat_kernel, laplacian_kernel, secant_kernel
from support.balls import at_gap, cloud

KERNELS = {"laplacian": laplacian_kernel, "secant": secant_kernel, "heat": heat_kernel}
each = pytest.mark.parametrize("kernel", KERNELS)


def choice_of_scale(estimator):
    """Expected failures: rows are held out by position, so scale and C depend on whether weights are copies."""
    check = "check_sample_weight_equivalence_on_dense_data"
    return {check: "rows are held out"} if estimator.scale == "auto" else {}


@parametrize_with_checks(
    [
        PoincareKernelClassifier(n_components=10),
        PoincareKernelClassifier(scale=1.0, C=1.0, tol=1e-15),
    ],
    expected_failed_checks=choice_of_scale,
)
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


def rings(n, classes=4, seed=0):
    """Concentric classes, away from the centre of the ball."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    radius, angle = np.tanh(0.35 * (y + rng.uniform(0.1, 0.9, n))), rng.uniform(0, 2 * np.pi, n)
    return translate(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), [0.3, -0.4]), y


def test_concentric_classes_are_separated():
    X, y = rings(900)
    model = PoincareKernelClassifier().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
    assert model.status_[0] == "optimal"
    assert model.lost_trace_ < 0.05


@each
@pytest.mark.parametrize("classes", [2, 3])
def test_all_rows_as_landmarks_solve_kernel_logistic_regression(kernel, classes):
    """At the optimum, scores are ``Σ α_i k(x_i, x)`` with α = C (e_y - π), where k has a constant and a linear part."""
    X, y = rings(60, classes)
    model = PoincareKernelClassifier(kernel, scale=0.9, C=2.0, n_components=60, tol=1e-12).fit(X, y)
    pi, linear = model.predict_proba(X), cone_coordinates(X, frechet_mean(X))
    linear /= np.sqrt(np.mean(np.sum(linear**2, axis=1)))
    scores = (KERNELS[kernel](X, scale=0.9) + 1.0 + linear @ linear.T) @ (2.0 * (np.eye(classes)[y] - pi))
    # Linear functions are interpolated at the landmarks, up to a ridge penalty.
    assert np.allclose(softmax(scores, axis=1), pi, atol=1e-4)
    assert model.lost_trace_ < 1e-10


@each
def test_verify_proves_the_gap_in_plain_numpy(kernel):
    X, y = rings(300)
    model = PoincareKernelClassifier(kernel, scale=1.0, C=30.0, n_components=40).fit(X, y, np.arange(300) % 3)
    certificate = model.verify(X, y, np.arange(300) % 3)
    assert certificate.gap[0] < 1e-6
    assert certificate.primal[0] == pytest.approx(model.primal_[0], rel=1e-9)
    with pytest.raises(ValueError, match=r"verify\(\) needs the training data \(300 rows\); got 299"):
        model.verify(X[1:], y[1:])


def test_isometries_change_no_probability():
    X, y = rings(200)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((2, 2)))[0]
    moved = translate(rotate(X, Q), at_gap(np.random.default_rng(0), 2, 0.3, 1.0))
    models = [PoincareKernelClassifier(n_components=30, tol=1e-10).fit(points, y) for points in (X, moved)]
    assert np.allclose(models[0].predict_proba(X), models[1].predict_proba(moved), atol=1e-5)


def test_curvature_only_rescales_the_ball():
    X, y = rings(200)
    models = [PoincareKernelClassifier(n_components=30, curvature=-c).fit(X / np.sqrt(c), y) for c in (1.0, 4.0)]
    assert np.allclose(models[0].predict_proba(X), models[1].predict_proba(X / 2), atol=1e-6)


def test_weights_act_like_copies():
    X, y = rings(120)
    weights = np.arange(120) % 3
    options = {"scale": 1.0, "C": 5.0, "n_components": 200, "tol": 1e-10}
    weighted = PoincareKernelClassifier(**options).fit(X, y, weights)
    copied = PoincareKernelClassifier(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-4)
    halved = PoincareKernelClassifier(**options, class_weight={0: 0.5}).fit(X, y)
    assert np.allclose(
        halved.predict_proba(X), PoincareKernelClassifier(**options).fit(X, y, np.where(y, 1, 0.5)).predict_proba(X)
    )


def test_a_kernel_of_a_large_scale_leaves_the_linear_softmax():
    """Rings are generalised spheres: if the kernel is almost constant, linear functions distinguish them."""
    X, y = rings(400)
    model = PoincareKernelClassifier(scale=1e5, C=1e3, n_components=100).fit(X[::2], y[::2])
    linear = PoincareLogisticRegression().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) >= linear.score(X[1::2], y[1::2]) - 0.02
    assert model.score(X[1::2], y[1::2]) > 0.9


def test_files_are_read_in_blocks_and_give_the_same_model(tmp_path):
    X, y = rings(500)
    np.savez(tmp_path / "points.npz", X=X, y=y)
    options = {"n_components": 25, "tol": 1e-9}
    array = PoincareKernelClassifier(**options).fit(X, y)
    source = open_points(tmp_path / "points.npz", points="X", label="y", block_rows=97, memory=0)
    file = PoincareKernelClassifier(**options).fit(source)
    assert (file.scale_, file.C_) == (array.scale_, array.C_)
    assert np.allclose(file.predict_proba(tmp_path / "points.npz"), array.predict_proba(X), atol=1e-4)
    assert file.n_passes_[0] > 1
    assert file.verify(source).gap[0] < 1e-8


def test_dask_collections_give_the_same_model():
    da, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    X, y = rings(300)
    options = {"scale": 1.0, "C": 10.0, "n_components": 25, "tol": 1e-9}
    array = PoincareKernelClassifier(**options).fit(X, y)
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        model = PoincareKernelClassifier(**options).fit(da.from_array(X, chunks=(80, 2)), da.from_array(y, chunks=80))
        lazy = model.predict_proba(da.from_array(X, chunks=(80, 2))).compute()
    assert np.allclose(lazy, array.predict_proba(X), atol=1e-4)


def test_float32_and_data_frames_are_supported():
    X, y = rings(150)
    table = pd.DataFrame(X.astype(np.float32), columns=["a", "b"])
    model = PoincareKernelClassifier(n_components=20).fit(table, np.array(["w", "x", "y", "z"])[y])
    assert model.predict(table).shape == (150,)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_scale_and_cost_match_the_least_log_loss():
    X, y = rings(250)
    model = PoincareKernelClassifier(n_components=30).fit(X, y)
    near = model.search_[model.search_[:, 2] <= EQUAL * model.search_[:, 2].min()]
    assert (model.scale_, model.C_) == tuple(near[np.argmin(near[:, 1]), :2])
    assert len(model.search_) < 25
    assert set(PoincareKernelClassifier(n_components=30, C=5.0).fit(X, y).search_[:, 1]) == {5.0}
    assert set(PoincareKernelClassifier(n_components=30, scale=2.0).fit(X, y).search_[:, 0]) == {2.0}
    given = PoincareKernelClassifier(n_components=30, scale=model.scale_, C=model.C_, tol=1e-9).fit(X, y)
    assert given.search_.shape == (0, 3)
    assert np.allclose(given.predict_proba(X), model.predict_proba(X), atol=1e-2)


def test_with_some_more_rows_the_best_trials_are_compared_on_all_parts():
    X, y = rings(600)
    model = PoincareKernelClassifier(n_components=30).fit(X, y)
    explored, finalists = model.search_[:-FINALISTS], model.search_[-FINALISTS:]
    best = explored[np.argsort(explored[:, 2], kind="stable")][:FINALISTS]
    assert np.array_equal(finalists[:, :2], best[:, :2])
    assert not np.allclose(finalists[:, 2], best[:, 2], rtol=0.02)
    near = finalists[finalists[:, 2] <= EQUAL * finalists[:, 2].min()]
    assert (model.scale_, model.C_) == tuple(near[np.argmin(near[:, 1]), :2])


@each
def test_warm_starts_and_negligible_columns_hardly_change_log_losses(kernel):
    X, y = rings(600)
    rows = LabelledBlock(X, y, None, row_gaps(X, 1.0))
    trials = [(1.0, 1.0), (1.0, 100.0), (4.0, 100.0), (400.0, 1000.0), (0.3, 10.0)]
    search = KernelSearch(rows, 4, X[:80], kernel, 1.0)
    found = [search.fit(*trial) for trial in trials]
    cold = [KernelSearch(rows, 4, X[:80], kernel, 1.0, negligible=0.0).fit(*trial) for trial in trials]
    assert np.allclose(found, cold, rtol=0.03)
    assert np.ptp(cold) > 0.3


def test_the_smallest_cost_is_the_best_of_equal_log_losses():
    X, y = rings(60)
    search = KernelSearch(LabelledBlock(X, y, None, row_gaps(X, 1.0)), 4, X[:20], "secant", 1.0)
    search.trials = [Trial(1.0, 100.0, 0.5), Trial(4.0, 10.0, 0.503), Trial(1.0, 1.0, 0.51), Trial(4.0, 400.0, 0.5)]
    assert search.best == (4.0, 10.0, 0.503)


def test_no_trial_is_fitted_twice_to_the_same_part(monkeypatch):
    fitted, held_out = [], KernelSearch._held_out

    def count(search, part, scaled, C):
        fitted.append((scaled.scale, C, part))
        return held_out(search, part, scaled, C)

    monkeypatch.setattr(KernelSearch, "_held_out", count)
    X, y = rings(600)
    PoincareKernelClassifier(n_components=30).fit(X, y)
    assert len(fitted) == len(set(fitted))
    assert {part for *_, part in fitted} == set(range(PARTS))


def test_parts_of_the_search_are_stratified():
    codes = np.repeat([0, 1, 2], [30, 60, 2])
    parts = part_numbers(codes)
    assert np.array_equal(np.bincount(parts[codes == 1]), [20] * PARTS)
    assert np.array_equal(np.bincount(parts[codes == 0]), [10] * PARTS)
    assert len(set(parts[codes == 2])) == 2


def test_threads_do_not_change_a_bit():
    X, y = rings(300)
    models = [PoincareKernelClassifier(n_components=20, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert np.array_equal(models[0].coef_, models[1].coef_)


def test_classes_of_one_row_and_many_dimensions_are_supported():
    rng = np.random.default_rng(0)
    X, y = cloud(rng, 40, 60, 1.0), np.append(np.arange(39) % 2, 2)
    model = PoincareKernelClassifier(n_components=10).fit(X, y)
    assert model.predict_proba(X).shape == (40, 3)
    assert (model.landmarks_ == X[-1]).all(axis=1).any()


@each
def test_a_model_file_restores_it_bit_for_bit(kernel, tmp_path):
    X, y = rings(120)
    model = PoincareKernelClassifier(kernel, n_components=15).fit(X, y)
    hyplearn.save(model, tmp_path / "model.hyp")
    loaded = hyplearn.load(tmp_path / "model.hyp")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.verify(X, y).gap[0] < 1e-6


def test_a_gap_that_is_not_reached_is_a_warning():
    X, y = rings(200)
    with pytest.warns(ConvergenceWarning, match='status "max_iter"'):
        PoincareKernelClassifier(scale=1.0, C=1e3, n_components=50, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf"}, 'kernel must be "laplacian" or "secant" or "heat"; got \'rbf\''),
        ({"scale": -1}, 'scale must be "auto" or a positive finite number; got -1'),
        ({"C": 0}, 'C must be "auto" or a positive finite number; got 0'),
        ({"C": "best"}, "C must be \"auto\" or a positive finite number; got 'best'"),
        ({"C": np.inf}, "C must be"),
        ({"n_components": 1.5}, "n_components must be an integer of at least 1; got 1.5"),
        ({"tol": 2}, "tol must be"),
        ({"curvature": 1}, "curvature must be a negative finite number"),
    ],
)
def test_bad_parameters_are_rejected(parameters, message):
    X, y = rings(50)
    with pytest.raises(ValueError, match=message):
        PoincareKernelClassifier(**parameters).fit(X, y)
