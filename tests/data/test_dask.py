"""Fits on a cluster of two processes, compared with fits in memory."""

import asyncio
import enum
import os
import pickle
import re
import signal
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.data.folding import columns_joined, in_any_order, needs_order, summed
from hyplearn.solvers.svm import hinge
from hyplearn.solvers.svm.margin_scan import MarginScan

pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
from hyplearn.data import dask as dask_module  # noqa: E402
from hyplearn.data.dask import DaskPoints  # noqa: E402

UNEVEN = (1, 0, 257, 40, 3, 0, 299)
FITTED = ("coef_", "reference_", "intercept_", "margin_", "primal_", "support_")
Text = enum.Enum("Text", {"A": "a", "B": "b", "D": "c"}, type=str)
# More rows than the sample for the reference point.
MANY = 10_500


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


def overlapping(n=600, d=2, K=2, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    X *= (rng.uniform(0.1, 0.95, n) / np.linalg.norm(X, axis=1))[:, None]
    scores = X[:, 0] + 0.25 * rng.standard_normal(n)
    return X.astype(dtype), np.searchsorted(np.quantile(scores, np.arange(1, K) / K), scores)


def apart(n=600, d=2, seed=0):
    X, _ = overlapping(n, d, seed=seed)
    y = (X[:, 0] > 0.1).astype(int)
    X[:, 0] = np.where(y == 1, X[:, 0] * 0.8 + 0.15, X[:, 0] * 0.8 - 0.1)
    keep = np.linalg.norm(X, axis=1) < 0.97
    return X[keep], y[keep]


def cut(array, chunks):
    return da.from_array(array, chunks=(chunks, *array.shape[1:]))


def spread(client, array, size):
    """Dask array whose chunks are on the two workers alternately, so that neighbours are never on the same worker."""
    workers = sorted(client.nthreads())
    parts = []
    for i, start in enumerate(range(0, len(array), size)):
        part = array[start : start + size]
        future = client.scatter(part, workers=[workers[i % 2]], hash=False)
        parts.append(da.from_delayed(dask.delayed(future), part.shape, dtype=array.dtype))
    return da.concatenate(parts)


def assert_same(local, remote, tol=1e-10):
    compared = [name for name in FITTED if hasattr(local, name)]
    assert {"coef_", "reference_"} <= set(compared)
    for name in compared:
        expected, found = getattr(local, name), getattr(remote, name)
        assert expected.shape == found.shape, name
        # The intercept is an entry of the same weight vector as the coefficients and has the same rounding error.
        sized = local.coef_ if name == "intercept_" else expected
        # A class without a boundary has a margin of minus infinity.
        scale = max(1.0, float(np.max(np.abs(sized), initial=0.0, where=np.isfinite(sized))))
        assert np.allclose(expected, found, rtol=0, atol=tol * scale), name
    if getattr(local, "calibration", None):
        for name in ("slopes", "offsets"):
            expected, found = getattr(local.calibration_, name), getattr(remote.calibration_, name)
            assert np.allclose(expected, found, rtol=0, atol=1e-8 * np.abs(expected).max(initial=1.0)), name
    assert np.array_equal(local.classes_, remote.classes_)


@pytest.mark.parametrize("chunks", [(600,), UNEVEN, pytest.param((7,) * 85 + (5,), marks=pytest.mark.slow)])
def test_any_chunking_gives_the_same_model_as_memory(client, chunks):
    X, y = overlapping()
    assert_same(PoincareSVC().fit(X, y), PoincareSVC().fit(cut(X, chunks), cut(y, chunks)))


@pytest.mark.parametrize(
    ("options", "K"),
    [
        ({"C": 3.0, "class_weight": "balanced"}, 3),
        ({"loss": "squared_hinge"}, 2),
        ({"margin": "exact", "reference": "means"}, 2),
        ({"reference": "mean", "curvature": -0.7, "calibration": None}, 2),
        ({"reference": "closest", "calibration": None}, 2),
        ({"reference": "hull", "calibration": None}, 2),
        ({"reference": [0.1, 0.2], "calibration": None}, 3),
    ],
)
def test_svcs_match_memory(client, options, K):
    X, y = overlapping(K=K)
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    local = PoincareSVC(**options).fit(X, y, sample_weight=weights)
    remote = PoincareSVC(**options).fit(cut(X, UNEVEN), cut(y, UNEVEN), sample_weight=cut(weights, 100))
    assert_same(local, remote)


def test_hard_margins_match_memory(client):
    X, y = apart()
    options = {"C": np.inf, "calibration": None}
    remote = PoincareSVC(**options).fit(spread(client, X, 60), spread(client, y, 60))
    assert_same(PoincareSVC(**options).fit(X, y), remote)


def test_single_class_chunks_and_float32_are_supported(client):
    X, y = overlapping(dtype=np.float32)
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["left", "right"])[y[order]]
    local, remote = PoincareSVC().fit(X, y), PoincareSVC().fit(cut(X, 50), cut(y, 50))
    assert remote.support_vectors_.dtype == np.float32
    assert_same(local, remote)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False, "reference": "means", "class_weight": "balanced"}])
def test_softmax_matches_memory(client, options):
    X, y = overlapping(K=3)
    local = PoincareLogisticRegression(**options).fit(X, y)
    remote = PoincareLogisticRegression(**options).fit(cut(X, UNEVEN), cut(y, UNEVEN))
    assert_same(local, remote)
    assert np.allclose(local.predict_proba(X), remote.predict_proba(cut(X, 77)).compute(), rtol=0, atol=1e-10)


SLOW = pytest.mark.slow
REFERENCES = [
    ("boundary", overlapping),
    ("boundary", apart),
    ("hull", apart),
    ("means", overlapping),
    *(pytest.param(name, make, marks=SLOW) for name in ("closest", "mean") for make in (overlapping, apart)),
]


@pytest.mark.parametrize(("reference", "make"), REFERENCES)
def test_reference_points_of_many_rows_match_memory(client, reference, make):
    X, y = make(MANY)
    options = {"reference": reference, "calibration": None, "loss": "squared_hinge"}
    local = PoincareSVC(**options).fit(X, y)
    remote = PoincareSVC(**options).fit(spread(client, X, 1500), spread(client, y, 1500))
    assert np.allclose(local.reference_, remote.reference_, rtol=0, atol=1e-10)
    assert np.allclose(local.coef_, remote.coef_, rtol=1e-10, atol=0)


@pytest.mark.parametrize("reference", ["boundary", pytest.param("hull", marks=SLOW), pytest.param("means", marks=SLOW)])
def test_a_side_without_weight_leaves_the_mean_of_the_other(client, reference):
    X, y = overlapping(MANY)
    options = {"reference": reference, "calibration": None, "class_weight": {0: 0.0, 1: 1.0}}
    remote = PoincareSVC(**options).fit(cut(X, 4000), cut(y, 4000))
    assert np.allclose(PoincareSVC(**options).fit(X, y).reference_, remote.reference_, rtol=0, atol=1e-10)


def test_neighbouring_chunks_on_different_workers_give_the_same_model_as_memory(client):
    X, y = overlapping(MANY, 3, 3)
    local, remote = PoincareSVC(), PoincareSVC()
    assert_same(local.fit(X, y), remote.fit(spread(client, X, 700), spread(client, y, 700)))


def test_repeated_fits_are_identical(client):
    X, y = overlapping()
    first, second = (PoincareSVC().fit(cut(X, 70), cut(y, 70)) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert np.array_equal(first.calibration_.slopes, second.calibration_.slopes)
    assert np.array_equal(first.calibration_.offsets, second.calibration_.offsets)


@pytest.mark.parametrize("perceptron", [PoincarePerceptron, PoincareSecondOrderPerceptron])
def test_perceptrons_visit_chunks_in_order_with_identical_bits(client, perceptron):
    X, y = overlapping(K=3)
    chunks = cut(X, UNEVEN), cut(y, UNEVEN)
    streamed, there = (perceptron([0.1, 0.0]).partial_fit(*data, classes=[0, 1, 2]) for data in ((X, y), chunks))
    assert np.array_equal(streamed.coef_, there.coef_)
    options = {"reference": [0.1, 0.0], "shuffle": False, "max_epochs": 3}
    for keep in ("auto", "best"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted, there = (perceptron(keep=keep, **options).fit(*data) for data in ((X, y), chunks))
        for name in ("coef_", "n_updates_", "n_iter_", "converged_"):
            assert np.array_equal(getattr(fitted, name), getattr(there, name)), name
    assert np.allclose(fitted.predict_proba(X), there.predict_proba(X), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="shuffle=True needs all points in memory; X is read in blocks"):
        perceptron().fit(*chunks)


def test_a_stream_of_chunks_takes_the_papers_steps_of_the_same_cuts(client):
    X, y = overlapping(K=3)
    remote = PoincareSVC([0.1, 0.0], C=0.1, loss="hinge").partial_fit(cut(X, 90), cut(y, 90), classes=[0, 1, 2])
    local = PoincareSVC([0.1, 0.0], C=0.1, loss="hinge")
    for start in range(0, len(X), 90):
        local.partial_fit(X[start : start + 90], y[start : start + 90], classes=[0, 1, 2])
    assert np.array_equal(remote.coef_, local.coef_)
    again = (model.partial_fit(cut(X, 600), cut(y, 600)).coef_ for model in (remote, local))
    assert np.array_equal(*again)


def test_a_perceptron_that_separates_stops_and_has_a_margin(client):
    X, y = apart()
    options = {"reference": "closest", "shuffle": False, "calibration": None}
    local, remote = (PoincarePerceptron(**options).fit(*data) for data in ((X, y), (cut(X, 90), cut(y, 90))))
    assert remote.converged_.all()
    assert remote.n_iter_ == local.n_iter_
    assert remote.mistake_bound_ == pytest.approx(local.mistake_bound_, rel=1e-10)
    assert np.allclose(local.margin_, remote.margin_, rtol=1e-10)


def framed(K=2):
    X, y = overlapping(K=K)
    frame = pd.DataFrame(X, columns=["east", "north"], index=np.arange(600) + 7)
    frame["kind"] = np.array(["a", "b", "c"])[y]
    return frame, dd.from_pandas(frame, npartitions=5)


def test_dataframes_of_unknown_sizes_name_their_features(client):
    frame, parts = framed(3)
    columns, kept = ["east", "north"], frame[frame.east > -0.4]
    parts = parts[parts.east > -0.4]
    local = PoincareSVC().fit(kept[columns], kept.kind)
    remote = PoincareSVC().fit(parts[columns], parts.kind)
    assert_same(local, remote)
    assert remote.feature_names_in_.tolist() == columns
    found = remote.predict(parts[columns])
    assert isinstance(found, dd.Series)
    pd.testing.assert_series_equal(
        found.compute(), pd.Series(local.predict(kept[columns]), index=kept.index), check_dtype=False
    )
    probabilities = remote.predict_proba(parts[columns]).compute()
    assert probabilities.columns.tolist() == ["a", "b", "c"]
    assert np.allclose(probabilities, local.predict_proba(kept[columns]), rtol=0, atol=1e-10)
    assert remote.score(parts[columns], parts.kind) == pytest.approx(local.score(kept[columns], kept.kind))


def test_a_stream_of_dataframes_stores_feature_names(client):
    frame, parts = framed(3)
    columns, classes = ["east", "north"], np.unique(frame.kind)
    stream = PoincarePerceptron([0.1, 0.0]).partial_fit(parts[columns], parts.kind, classes=classes)
    assert stream.feature_names_in_.tolist() == columns
    with pytest.raises(ValueError, match="has the coordinates 'north', 'east'; PoincarePerceptron was fitted on"):
        stream.partial_fit(parts[columns[::-1]], parts.kind)
    local = PoincarePerceptron([0.1, 0.0])
    for _ in range(2):
        local.partial_fit(frame[columns], frame.kind, classes=classes)
    assert np.array_equal(stream.partial_fit(parts[columns], parts.kind).coef_, local.coef_)
    assert stream.feature_names_in_.tolist() == columns


def test_arrays_of_unknown_sizes_are_measured(client):
    X, y = overlapping()
    kept = X[:, 0] > -0.3
    lazy, labels = cut(X, 90), cut(y, 90)
    mask = lazy[:, 0] > -0.3
    remote = PoincareSVC(calibration=None).fit(lazy[mask], labels[mask])
    assert_same(PoincareSVC(calibration=None).fit(X[kept], y[kept]), remote)
    with pytest.raises(ValueError, match=r"X has 7 chunks, but y has 1, and the chunk sizes are unknown"):
        remote.fit(lazy[mask], cut(y, 600)[cut(X, 600)[:, 0] > -0.3])


@pytest.mark.parametrize("K", [2, 3])
def test_predictions_are_lazy_and_those_of_the_points_in_memory(client, K):
    X, y = overlapping(K=K)
    model = PoincareSVC().fit(cut(X, 200), cut(y, 200))

    def never(block):
        raise AssertionError("computed")

    bomb = cut(X, UNEVEN).map_blocks(never, dtype=float, meta=np.empty((0, 2)))
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy, expected = getattr(model, name)(cut(X, UNEVEN)), getattr(model, name)(X)
        assert getattr(model, name)(bomb).shape == lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        assert np.array_equal(lazy.compute(), expected)
    assert model.score(cut(X, 200), cut(y, 200)) == pytest.approx(model.score(X, y))
    weights = np.arange(600.0)
    weighted = model.score(cut(X, 200), cut(y, 200), sample_weight=cut(weights, 200))
    assert weighted == pytest.approx(model.score(X, y, sample_weight=weights))


def test_estimators_are_cloned_and_pickled_as_any_other(client):
    X, y = overlapping()
    model = PoincareSVC(C=5.0, calibration=None).fit(cut(X, 200), cut(y, 200))
    assert clone(model).get_params() == model.get_params()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        model.predict_proba(cut(X, 200))


@pytest.mark.parametrize(
    "estimator",
    [PoincareSVC("means"), PoincareLogisticRegression(), PoincarePerceptron("closest", shuffle=False)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_one_estimator_takes_points_in_memory_and_collections(client, estimator):
    X, y = apart()
    local, remote = clone(estimator).fit(X, y), clone(estimator).fit(cut(X, 100), cut(y, 100))
    assert_same(local, remote)
    for model in (local, remote):
        assert np.array_equal(model.predict(cut(X, 100)).compute(), model.predict(X))
    frame, parts = framed()
    with pytest.raises(TypeError, match="y must be a Dask array"):
        clone(estimator).fit(parts[["east", "north"]], frame.kind)


def test_points_outside_are_projected_as_in_memory(client):
    X, y = overlapping()
    X[301] *= 1.5 / np.linalg.norm(X[301])
    fitted = []
    for data in ((X, y), (cut(X, 100), cut(y, 100))):
        with pytest.warns(UserWarning, match="1 of 600 points lies outside(.|\n)*moved to the largest"):
            fitted.append(PoincareSVC("mean", outside="project", trim=False).fit(*data))
    assert_same(*fitted)


@pytest.mark.parametrize("kind", ["array", "array of unknown chunks", "data frame"])
def test_the_advice_for_labels_in_memory_works(kind):
    """The expression in the error is evaluated; its chunks are those of X."""
    X, y = overlapping()
    frame = dd.from_pandas(pd.DataFrame(X, columns=["east", "north"]), npartitions=7)
    X = {"array": cut(X, 100), "array of unknown chunks": frame.values, "data frame": frame}[kind]
    with pytest.raises(TypeError, match=r"y must be a Dask array of shape \(n,\)(.|\n)*got ndarray") as error:
        dask_module._align_chunks(X, y, None)
    advice = re.search(r"dask\.array\.from_array\(.*\)", str(error.value))[0]
    labels = eval(advice, {"dask": dask, "X": X, "y": y})
    chunks = [(points.compute(), own.compute()) for points, own, _ in dask_module._align_chunks(X, labels, None)]
    assert all(len(points) == len(own) for points, own in chunks)
    assert np.array_equal(np.concatenate([own for _, own in chunks]), y)


@pytest.mark.parametrize("labels", [["a", "a\0", "b"], list(Text)], ids=["trailing NUL", "string enum"])
@pytest.mark.parametrize("series", [False, True], ids=["array", "series"])
def test_strings_that_numpy_would_merge_are_distinguished(client, labels, series):
    """The chunks differ in their labels, so that NumPy's strings would preserve the labels of some chunks only."""
    X, codes = overlapping(K=3)
    order = np.argsort(codes == 1, kind="stable")
    X, y = X[order], np.array([labels[k] for k in codes[order]], dtype=object)
    local = PoincareSVC().fit(X, y)
    points = dd.from_pandas(pd.DataFrame(X), npartitions=3) if series else cut(X, 200)
    column = dd.from_pandas(pd.Series(y, dtype=object), npartitions=3) if series else cut(y, 200)
    remote = PoincareSVC().fit(points, column)
    assert remote.classes_.tolist() == local.classes_.tolist() == sorted(labels)
    assert_same(local, remote)
    assert remote.predict(cut(X, 200)).compute().tolist() == local.predict(X).tolist()


def test_bad_input_raises_a_clear_error(client):
    X, y = overlapping()
    model, lazy, labels = PoincareSVC(), cut(X, 100), cut(y, 100)
    frame, parts = framed()
    outside, missing = X.copy(), frame.copy()
    outside[301] = 1.5
    missing.loc[50, "kind"] = None
    cases = [
        (TypeError, "X must be a Dask array", (X, labels)),
        (TypeError, "y must be a Dask array", (lazy, y)),
        (
            ValueError,
            r"each row must have one label; got .* with no labels, starting at row \d+.\nPass one label per row",
            (lazy, None),
        ),
        (TypeError, "float32 or float64; got int64", (labels[:, None], labels)),
        (TypeError, "float32 or float64; got", (parts, parts.kind)),
        (ValueError, "X has 600 rows, but y has 599", (lazy, labels[:-1])),
        (ValueError, "1 of 600 points lies outside.* row 301 with norm 2.12", (cut(outside, 100), labels)),
        (ValueError, "at least 2 classes; got 1 class: 0", (lazy, 0 * labels)),
        (ValueError, "X has no rows", (lazy[lazy[:, 0] > 2], labels[lazy[:, 0] > 2])),
        (ValueError, "A chunk has 1 missing labels", (parts[["east", "north"]], dd.from_pandas(missing.kind, 5))),
        (ValueError, "points has .* labels", (parts[["east", "north"]], dd.from_pandas(frame.kind[:-9], 5))),
    ]
    for error, message, data in cases:
        with pytest.raises(error, match=message):
            model.fit(*data)
        assert vars(model) == vars(PoincareSVC())
    with pytest.raises(ValueError, match="with no labels"):
        PoincarePerceptron().partial_fit(lazy, classes=[0, 1])
    with pytest.raises(ValueError, match=r"weights .* not negative"):
        model.fit(lazy, labels, sample_weight=-labels)


def test_merges_that_depend_on_the_order_are_distinguished():
    assert needs_order(columns_joined)
    assert not needs_order(summed)
    assert not needs_order(in_any_order(lambda parts: parts[0]))


def rows_in(part, merge):
    """Number of rows near the margin, or finally of rows with a dual variable, that a worker sends."""
    if merge is hinge._merged:
        return len(part[0])
    return len(part.found) if isinstance(part, MarginScan) else 0


@pytest.mark.parametrize("size", [500, pytest.param(50, marks=SLOW)])
def test_few_bytes_are_sent_for_any_number_of_chunks(client, monkeypatch, size):
    """A worker sends O(d²) numbers and the rows near the margin per pass; its chunks are never neighbours."""
    X, y = overlapping(MANY, 4)
    passes, merges, fold, gathered = [], [], DaskPoints.fold, DaskPoints._gathered

    def watched(self, function, merge, *arguments, **options):
        merges.append(merge)
        return fold(self, function, merge, *arguments, **options)

    def measured(self, futures):
        found = gathered(self, futures)
        if merges and not needs_order(merges[-1]):
            rows = [sum(rows_in(part, merges[-1]) for _, part in parts) for parts in found]
            passes.extend((len(pickle.dumps(parts)), n) for parts, n in zip(found, rows, strict=True))
        merges.clear()
        return found

    monkeypatch.setattr(DaskPoints, "fold", watched)
    monkeypatch.setattr(DaskPoints, "_gathered", measured)
    d, data = X.shape[1], (spread(client, X, size), spread(client, y, size))
    PoincareSVC(calibration=None).fit(*data)
    PoincareLogisticRegression().fit(*data)
    assert len(passes) > 10
    assert max(sent - 8 * (d + 2) * rows for sent, rows in passes) < 4096 + 8 * (2 * (d + 2)) ** 2


def killing(client, monkeypatch, at, *, everyone=False):
    """Kill one worker, or all, by SIGKILL while the results of a pass are awaited; returns a record of it."""
    pids = client.run(os.getpid)
    killed, gathered = [], DaskPoints._gathered

    def waited(self, futures):
        killed.append(None)
        if len(killed) == at:
            victim = min(pids)  # has the first chunks
            for pid in pids.values() if everyone else [pids[victim]]:
                os.kill(pid, signal.SIGKILL)
            killed[-1] = victim
        return gathered(self, futures)

    monkeypatch.setattr(DaskPoints, "_gathered", waited)
    return killed


@pytest.mark.parametrize("at", [1, 6])
def test_a_fit_survives_a_lost_worker_if_chunks_can_be_recomputed(client, monkeypatch, at):
    client.wait_for_workers(2)
    X, y = overlapping(seed=3)
    local, data = PoincareSVC().fit(X, y), (cut(X, 80), cut(y, 80))
    undisturbed = PoincareSVC().fit(*data)
    killed = killing(client, monkeypatch, at=at)
    remote = PoincareSVC().fit(*data)
    assert killed[at - 1] is not None
    assert_same(local, remote)
    assert np.array_equal(undisturbed.coef_, remote.coef_)


@pytest.mark.slow
def test_a_fit_survives_the_loss_of_all_workers_if_they_are_restarted(client, monkeypatch):
    client.wait_for_workers(2)
    X, y = overlapping(seed=4)
    data = cut(X, 80), cut(y, 80)
    undisturbed = PoincareSVC(calibration=None).fit(*data)
    killed = killing(client, monkeypatch, at=5, everyone=True)
    remote = PoincareSVC(calibration=None).fit(DaskPoints(*data, check_seconds=0.5))
    assert killed[4] is not None
    assert np.allclose(undisturbed.coef_, remote.coef_)


def test_a_fit_fails_if_no_worker_returns(client, monkeypatch):
    client.wait_for_workers(2)
    points = DaskPoints(cut(overlapping()[0], 100), client=client, check_seconds=0.1, patience=0.2)
    monkeypatch.setattr(client, "nthreads", dict)
    slow = client.submit(time.sleep, 3, pure=False)
    with pytest.raises(RuntimeError, match="has had no workers for 0 seconds, so the fit failed"):
        points._gathered([slow])
    slow.cancel()


def test_a_fit_fails_if_a_lost_worker_had_the_only_copy(client, monkeypatch):
    client.wait_for_workers(2)
    X, y = overlapping()
    data = spread(client, X, 100), spread(client, y, 100)
    killing(client, monkeypatch, at=4)
    with pytest.raises(RuntimeError, match="cannot be recomputed, so the fit failed"):
        PoincareSVC().fit(*data)


def test_without_a_cluster_an_error_says_how_to_start_one(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(dask_module, "default_client", none)
    with pytest.raises(ValueError, match=r"no Dask cluster.*\n.*distributed\.Client\(\)"):
        PoincareSVC().fit(da.zeros((4, 2)), da.zeros(4))


def test_a_closed_client_raises_a_clear_error():
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        pass
    with pytest.raises(ValueError, match="The Dask client is closed"):
        DaskPoints(da.zeros((4, 2)), da.zeros(4), client=client)


def test_an_asynchronous_client_raises_a_clear_error():
    async def fit():
        options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
        async with distributed.Client(asynchronous=True, **options) as client:
            DaskPoints(da.zeros((4, 2)), da.zeros(4), client=client)

    with pytest.raises(ValueError, match="The Dask client is asynchronous"):
        asyncio.run(fit())
