"""PoincareSVC without a reference point: rows are cone coordinates about a mean, with or without an intercept."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from hyplearn import PoincareSVC, load, save
from hyplearn.data.training import TrainingData
from hyplearn.datasets import make_ball_classification
from hyplearn.embedding import TreeEmbedding
from hyplearn.estimators.svc_rows import DEEP
from hyplearn.geometry import distance, frechet_mean, mobius_add, signed_distance
from hyplearn.rows.built import ConeRowBuilder, KeptRows, StreamedRows, build_rows
from hyplearn.solvers.svm import solve_svm
from hyplearn.tangent import from_frame
from support import naive

kinds = pytest.mark.parametrize(
    "kind", [{"loss": loss, "fit_intercept": b} for loss in ("hinge", "squared_hinge") for b in (True, False)], ids=str
)


@pytest.fixture(scope="module")
def overlapping():
    X, y, _, _ = make_ball_classification(300, 3, random_state=0)
    return X, np.where(np.random.default_rng(0).random(300) < 0.1, -y, y)


def objective(model, X, y, W):
    rows = naive.cone_coordinates(X, model.reference_[0], 1.0)[:, : len(W)]
    slack = np.maximum(0, 1 - y * (rows @ W))
    return 0.5 * W @ W + model.C * np.sum(slack if model.loss == "hinge" else slack**2)


@kinds
def test_objective_is_certified_and_no_other_weights_are_better(kind, overlapping):
    X, y = overlapping
    model = PoincareSVC(None, C=3.0, calibration=None, **kind).fit(X, y)
    W = np.append(model.coef_[0], model.intercept_) if model.fit_intercept else model.coef_[0]
    P = objective(model, X, y, W)
    assert model.primal_[0] == pytest.approx(P, rel=1e-9)
    assert model.status_[0] == "optimal"
    certificate = model.verify(X, y)
    assert certificate.gap[0] <= 1e-6
    assert certificate.violation[0] == 0
    assert certificate.primal[0] == pytest.approx(P, rel=1e-9)
    for other in np.random.default_rng(0).standard_normal((20, len(W))):
        assert objective(model, X, y, W + 1e-2 * other) > P


def test_liblinear_finds_the_same_boundary(overlapping):
    X, y = overlapping
    model = PoincareSVC(None, C=3.0, loss="squared_hinge", calibration=None).fit(X, y)
    rows = naive.cone_coordinates(X, model.reference_[0], 1.0)
    truth = LinearSVC(C=3.0, dual=False, fit_intercept=False, tol=1e-10).fit(rows, y)
    assert np.allclose(truth.coef_[0], np.append(model.coef_[0], model.intercept_), rtol=1e-4, atol=1e-5)
    assert np.array_equal(truth.predict(rows), model.predict(X))


def test_boundary_without_intercept_is_a_geodesic_hyperplane(overlapping):
    X, y = overlapping
    model = PoincareSVC(None, C=3.0, fit_intercept=False).fit(X, y)
    (boundary,) = model.boundaries_
    assert boundary.kind == "hyperplane"
    w, p = boundary.hyperplane
    found = signed_distance(X, w, p)
    assert np.allclose(model.distances(X)[:, 0], found, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found > 0, model.predict(X) == model.classes_[1])
    assert model.margin_[0] == pytest.approx(np.min(np.where(y == model.classes_[1], found, -found)), rel=1e-9)


def test_an_intercept_encloses_a_class_that_no_hyperplane_separates():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((300, 2))
    y = rng.integers(2, size=300)
    radii = np.where(y == 1, 0.5, 2.0) + 0.1 * rng.random(300)
    X = from_frame(radii[:, None] * V / np.linalg.norm(V, axis=1)[:, None], np.array([0.3, 0.1]))
    model = PoincareSVC(None, C=10.0).fit(X, y)
    assert model.score(X, y) == 1
    (sphere,) = model.boundaries_
    assert sphere.kind == "sphere"
    assert sphere.hyperplane is None
    assert sphere.side == -1  # class 1 is inside
    assert 0.6 < sphere.radius < 2.0
    found = sphere.radius - distance(X, sphere.p)
    assert np.allclose(model.distances(X)[:, 0], found, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found > 0, model.predict(X) == 1)
    assert model.margin_[0] == pytest.approx(np.min(np.where(y == 1, found, -found)), rel=1e-9)
    assert PoincareSVC(None, C=10.0, fit_intercept=False).fit(X, y).score(X, y) < 0.8


@kinds
def test_isometries_change_no_probability(kind, overlapping):
    X, y = overlapping
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((3, 3)))[0]
    moved = mobius_add(np.array([0.3, -0.2, 0.1]), X) @ turn.T
    one, other = (PoincareSVC(None, C=10.0, **kind).fit(Z, y).predict_proba(Z) for Z in (X, moved))
    assert np.allclose(one, other, atol=1e-4)


def test_weights_act_like_copies(overlapping):
    X, y = overlapping
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = PoincareSVC(None, C=2.0, calibration=None).fit(X, y, weights)
    copied = PoincareSVC(None, C=2.0, calibration=None).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(weighted.coef_, copied.coef_, rtol=1e-5, atol=1e-8)


def test_curvature_only_changes_units(overlapping):
    X, y = overlapping
    one = PoincareSVC(None, C=2.0).fit(X, y)
    other = PoincareSVC(None, C=2.0, curvature=-0.25).fit(2 * X, y)
    assert np.allclose(one.predict_proba(X), other.predict_proba(2 * X), atol=1e-6)


def test_hard_margin_without_reference_separates_or_proves_that_nothing_does():
    rng = np.random.default_rng(3)
    V = rng.standard_normal((40, 2))
    X = from_frame(V, np.array([0.2, 0.0]))
    y = (distance(X, np.array([0.2, 0.0])) > 1).astype(int)
    model = PoincareSVC(None, C=np.inf, calibration=None).fit(X, y)
    assert model.status_[0] == "optimal"
    assert model.score(X, y) == 1
    with pytest.raises(ValueError, match=r"No boundary separates the classes"):
        PoincareSVC(None, C=np.inf, fit_intercept=False).fit(X, y)


@pytest.mark.parametrize("C", ["auto", 10.0])
def test_exact_margin_without_a_reference_point_needs_to_be_hard(C, overlapping):
    with pytest.raises(ValueError, match="without a reference point needs a hard margin; got C="):
        PoincareSVC(None, C=C, margin="exact").fit(*overlapping)


def test_rows_beyond_the_limit_of_explicit_ones_are_rebuilt_in_every_pass(overlapping):
    X, y = overlapping
    data = TrainingData.of_arrays(X, (y > 0).astype(np.int64), None, 1.0, n_classes=2)
    build = ConeRowBuilder(1, np.zeros(3), 1.0, 2.0, True)
    kept, rebuilt = (build_rows(data, build, 2.0, 5, explicit_numbers=limit) for limit in (10**6, 10))
    assert isinstance(kept, KeptRows)
    assert isinstance(rebuilt, StreamedRows)
    assert np.array_equal(kept.gathered()[:], rebuilt.gathered()[:])
    one, other = (solve_svm(rows, loss="squared_hinge") for rows in (kept, rebuilt))
    assert np.allclose(one.w, other.w, rtol=1e-9)


def test_warm_start_continues_from_the_solution(overlapping):
    X, y = overlapping
    model = PoincareSVC(None, C=2.0, loss="squared_hinge", warm_start=True, calibration=None).fit(X, y)
    coef = model.coef_.copy()
    assert model.fit(X, y).n_iter_[0] == 1
    assert np.allclose(model.coef_, coef, rtol=1e-6)


@pytest.mark.parametrize("references", [("origin", None), (None, "origin")])
def test_a_second_fit_with_another_reference_replaces_all_attributes(references, overlapping):
    X, y = overlapping
    first, second = references
    model = PoincareSVC(first, warm_start=True, calibration=None).fit(X, y)
    model.set_params(reference=second).fit(X, y)
    fresh = PoincareSVC(second, calibration=None).fit(X, y)
    assert hasattr(model, "intercept_") == (second is None)
    assert np.allclose(model.coef_, fresh.coef_, rtol=1e-6, atol=1e-9)


def classes_at(depth, d=3, n=240, seed=0, spread=1.0):
    """Four overlapping wrapped normals around points at a distance from the centre."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    places = from_frame(depth * np.linalg.qr(rng.standard_normal((max(d, 4), 4)))[0].T[:, :d], np.zeros(d))
    X = np.stack([from_frame(spread * v, places[k]) for v, k in zip(rng.standard_normal((n, d)), y, strict=True)])
    return X, y


def test_more_than_two_classes_far_from_the_mean_have_their_own_centres():
    X, y = classes_at(6.0)
    means = np.stack([frechet_mean(X[y == k]) for k in range(4)])
    assert np.sqrt(np.mean(distance(means, frechet_mean(X)) ** 2)) > DEEP
    assert np.allclose(PoincareSVC().fit(X, y).reference_, means, atol=1e-9)
    two = y < 2
    assert np.allclose(PoincareSVC().fit(X[two], y[two]).reference_, frechet_mean(X[two]), atol=1e-9)
    X, y = classes_at(1.0)
    assert np.allclose(PoincareSVC().fit(X, y).reference_, np.tile(frechet_mean(X), (4, 1)), atol=1e-9)


def test_a_class_without_weight_has_the_mean_of_all_as_its_centre():
    X, y = classes_at(6.0)
    weights = np.where(y == 2, 0.0, 1.0)
    model = PoincareSVC(calibration=None).fit(X, y, weights)
    assert np.allclose(model.reference_[2], frechet_mean(X[y != 2]), atol=1e-9)
    assert np.allclose(model.reference_[0], frechet_mean(X[y == 0]), atol=1e-9)


@kinds
def test_problems_with_their_own_centres_are_certified(kind):
    X, y = classes_at(6.0)
    model = PoincareSVC(C=3.0, calibration=None, **kind).fit(X, y)
    assert set(model.status_) == {"optimal"}
    certificate = model.verify(X, y)
    assert certificate.gap.max() <= 1e-6
    assert certificate.violation.max() == 0
    for k in range(4):
        W = np.append(model.coef_[k], model.intercept_[k]) if model.fit_intercept else model.coef_[k]
        rows = naive.cone_coordinates(X, model.reference_[k], 1.0)[:, : len(W)]
        slack = np.maximum(0, 1 - np.where(y == k, 1, -1) * (rows @ W))
        P = 0.5 * W @ W + 3.0 * np.sum(slack if model.loss == "hinge" else slack**2)
        assert model.primal_[k] == pytest.approx(P, rel=1e-9)
        assert np.allclose(model.decision_function(X)[:, k], np.arcsinh(rows @ W), rtol=1e-9, atol=1e-9)


def test_isometries_change_no_probability_of_classes_with_their_own_centres():
    X, y = classes_at(4.5)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((3, 3)))[0]
    moved = mobius_add(np.array([0.3, -0.2, 0.1]), X) @ turn.T
    one, other = (PoincareSVC().fit(Z, y).predict_proba(Z) for Z in (X, moved))
    assert np.allclose(one, other, atol=1e-4)


def test_a_file_and_a_model_file_keep_the_centres_of_classes(tmp_path):
    X, y = classes_at(6.0)
    model = PoincareSVC().fit(X, y)
    np.savez(tmp_path / "points.npz", X=X, y=y)
    assert np.allclose(PoincareSVC().fit(str(tmp_path / "points.npz"), "y").predict_proba(X), model.predict_proba(X))
    save(model, tmp_path / "model.hyp")
    assert np.array_equal(load(tmp_path / "model.hyp").predict_proba(X), model.predict_proba(X))


def test_branches_of_a_deep_tree_are_separated():
    """Twelve branches at the ends of a comb, up to 30 units from its root: about one centre their angles vanish."""
    parents, labels = {0: None}, {}
    for branch in range(12):
        parents[f"stem {branch}"] = 0 if branch == 0 else f"stem {branch - 1}"
        for leaf in range(12):
            parents[f"{branch}.{leaf}"] = f"stem {branch}"
            labels[f"{branch}.{leaf}"] = branch
    tree = TreeEmbedding(2).fit(parents)
    y = np.array([labels.get(str(node), -1) for node in tree.labels_])
    X, y = tree.embedding_[y >= 0], y[y >= 0]
    assert np.max(distance(X, np.zeros(2))) > 25
    held = np.arange(len(y)) % 2 == 0
    assert PoincareSVC().fit(X[~held], y[~held]).score(X[held], y[held]) == 1
