"""Probabilities of the one-vs-rest classifiers."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.cone import cone_coordinates
from hyplearn.datasets import (
    fetch_cifar10,
    fetch_fashion_mnist,
    fetch_olsson,
    load_mammals,
    make_ball_classification,
)
from hyplearn.decision.calibration import LARGEST, Calibration, calibrated_rows, fit_calibration, fit_sigmoids
from hyplearn.estimators import svc as svc_module
from hyplearn.geometry import conformal_factor, rotate, signed_distance, translate
from hyplearn.paper import PaperSVC
from hyplearn.solvers.choice import ASSUMED_OUTLIERS, EASY, LEFT_OUT_WEIGHT, choose_cost
from hyplearn.solvers.platt import fit_sigmoid
from hyplearn.tangent import frame_coordinates, from_frame
from support import naive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
THROUGH_A_POINT = PoincareSVC("boundary", C=1.0, loss="hinge")
POINTED = [THROUGH_A_POINT, PoincarePerceptron(max_epochs=5), PoincareSecondOrderPerceptron(max_epochs=5)]
POINTED_NAMES = ["svc through a point", "perceptron", "second order"]
pointed = pytest.mark.parametrize("classifier", POINTED, ids=POINTED_NAMES)
every = pytest.mark.parametrize("classifier", [PoincareSVC(), *POINTED], ids=["svc", *POINTED_NAMES])
svcs = pytest.mark.parametrize("svc", [PoincareSVC(), THROUGH_A_POINT], ids=["svc", "svc through a point"])


def three_normals(n=600, seed=0):
    rng = np.random.default_rng(seed)
    means = from_frame(1.2 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]]), np.array([0.3, 0.2]))
    y = rng.integers(3, size=n)
    X = np.concatenate([from_frame(rng.standard_normal((1, 2)), means[k]) for k in y])
    return X, np.array(["a", "b", "c"])[y]


def unequal(n=600, seed=0):
    """A narrow class beside a wide one, for which no geodesic through the default point is half-way between them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return np.where(y[:, None], from_frame(1.5 * rng.standard_normal((n, 2)), np.array([0.6, 0.0])),
                    from_frame(0.5 * rng.standard_normal((n, 2)), np.array([-0.2, 0.0]))), y  # fmt: skip


@every
@pytest.mark.parametrize("problem", [three_normals, unequal])
def test_the_prediction_is_the_most_probable_class(classifier, problem):
    X, y = problem()
    model = clone(classifier).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), len(model.classes_))
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])
    assert np.allclose(np.exp(model.predict_log_proba(X)), chances)
    scores = model.decision_function(X)
    due = (scores > 0).astype(int) if len(model.classes_) == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.predict(X), model.classes_[due])


@pointed
def test_without_probabilities_signed_distances_decide(classifier):
    X, y = three_normals()
    model = clone(classifier).set_params(calibration=None).fit(X, y)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
    distances = np.column_stack([signed_distance(X, w, p) for w, p in zip(model.coef_, model.reference_, strict=True)])
    assert np.allclose(model.distances(X), distances)
    assert np.array_equal(model.decision_function(X), model.distances(X))
    assert np.array_equal(model.predict(X), model.classes_[distances.argmax(axis=1)])


def test_training_scores_are_calibrated_as_in_the_paper():
    """The probabilities are normalised Platt sigmoids of ⟨f, w⟩ on the training rows, one class against the rest."""
    X, y = three_normals()
    model = PaperSVC("boundary").fit(X, y)
    chances = np.empty((len(X), 3))
    for k, label in enumerate(model.classes_):
        values = frame_coordinates(X, model.reference_[k]) @ model.coef_[k]
        slope, offset = fit_sigmoid(values, y == label, np.ones(len(X)))
        chances[:, k] = 1 / (1 + np.exp(-(slope * values + offset)))
    assert np.allclose(model.predict_proba(X), chances / chances.sum(axis=1, keepdims=True))
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    two = PaperSVC("boundary").fit(*unequal())
    assert np.array_equal(two.predict(X), two.classes_[(two.decision_function(X) > 0).astype(int)])


@pytest.mark.parametrize(
    ("fetch", "paper"), [(fetch_olsson, 89.77), (fetch_cifar10, 91.84), (fetch_fashion_mnist, 87.82)]
)
def test_the_papers_protocol_gives_the_papers_accuracy(fetch, paper, published_data, monkeypatch):
    """Table II: squared hinge, C = 5 on log_p(x) and not on frame coordinates, the published reference points."""
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    data = fetch()
    p = data.reference_points
    model = PaperSVC(p, loss="squared_hinge", C=5 / conformal_factor(p) ** 2)
    model.fit(data.X_train, data.y_train)
    assert 100 * model.score(data.X_test, data.y_test) == pytest.approx(paper, abs=0.02)


@pytest.mark.parametrize(
    "classifier", [PoincareSVC(), PoincareSVC(C=10.0), *POINTED], ids=["svc", "svc of a given C", *POINTED_NAMES]
)
def test_held_out_scores_come_from_fits_without_the_row(classifier):
    """Direct computation: deal the rows of each class to folds in the order of their values, and refit.

    The folds for the choice of C are dealt by the values for C = 1, and are also those of the calibration.
    """
    X, y = three_normals(150)
    model = clone(classifier).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    is_chosen = model.reference is None and model.C == "auto"
    dealing = clone(classifier).set_params(C=1.0).fit(X, y) if is_chosen else model
    own = values_of(dealing, X)[np.arange(len(y)), codes]
    folds = np.empty(len(y), dtype=int)
    for k, label in enumerate(model.classes_):
        rows = np.flatnonzero(y == label)
        folds[rows[np.argsort(own[rows])]] = (np.arange(len(rows)) + k) % 5
    held_out = np.empty((len(y), 3))
    for fold in range(5):
        held_out[folds == fold] = refit_values(classifier, model, X, y, folds == fold)
    mixing, offsets = naive_softmax(held_out, codes, np.ones(len(y)))
    assert np.allclose(model.calibration_.mixing, mixing, rtol=1e-2, atol=3e-3 * np.abs(mixing).max())
    assert np.allclose(model.calibration_.offsets, offsets, rtol=1e-2, atol=5e-3)


@pytest.mark.parametrize("classifier", [PoincareSVC(), THROUGH_A_POINT], ids=["svc", "svc, boundary"])
def test_many_rows_are_calibrated_on_the_values_of_the_fit_to_all_rows(classifier):
    """A model is not overconfident on its training rows if there are 1,000 of them per coordinate."""
    for n, is_seen in ((1999, False), (2000, True)):
        X, y = three_normals(n)
        model = clone(classifier).fit(X, y)
        expected = fit_calibration(values_of(model, X), np.searchsorted(model.classes_, y), np.ones(n))
        assert np.allclose(model.calibration_.mixing, expected.mixing, rtol=1e-6) == is_seen


def values_of(model, X):
    """Signed distances to hyperplanes, or the arsinh of linear functions of cone coordinates."""
    if model.reference is not None:
        return model.distances(X)
    W = np.column_stack([model.coef_, model.intercept_])
    return np.arcsinh(cone_coordinates(X, model.reference_[0]) @ W.T)


def refit_values(classifier, model, X, y, held):
    """Values of some rows by a fit to the other rows, with the same reference points or centre."""
    if model.reference is not None:
        rest = clone(classifier).set_params(calibration=None, reference=model.reference_)
        return rest.fit(X, y, sample_weight=np.where(held, 0.0, 1.0)).distances(X[held])
    rows, columns = cone_coordinates(X, model.reference_[0]), []
    for label in model.classes_:
        svm = LinearSVC(C=model.C_[0], dual=False, fit_intercept=False, tol=1e-10, max_iter=100_000)
        columns.append(svm.fit(rows[~held], y[~held] == label).decision_function(rows[held]))
    return np.arcsinh(np.column_stack(columns))


def naive_softmax(values, codes, weights):
    """A and b of the softmax regression of values / rms and a constant, with C by evidence and leave-one-out loss."""
    K, rms = values.shape[1], np.sqrt(weights @ values**2 / weights.sum())
    rows = np.column_stack([values / rms, np.ones(len(values))])

    def solution(C):
        regression = LogisticRegression(C=C, fit_intercept=False, tol=1e-9, max_iter=10_000)
        return regression.fit(rows, codes, sample_weight=weights).coef_

    def criterion(C):
        W = solution(C)
        log_det = np.linalg.slogdet(naive.softmax_hessian(rows, C * weights, W))[1]
        evidence = naive.softmax_primal(rows, codes, C * weights, W) / C + 0.5 * log_det
        log_pi = naive.leave_one_out(rows, codes, weights, C, W, len(W) == 2, EASY)
        share = naive.outlier_share(log_pi, weights, K, ASSUMED_OUTLIERS)
        return evidence - LEFT_OUT_WEIGHT * weights @ np.log((1 - share) * np.exp(log_pi) + share / K)

    W = solution(choose_cost(criterion, highest=LARGEST))
    return W[:, :K] / rms, W[:, K]


@pytest.mark.parametrize("kind", ["overlapping", "separated", "useless", "weighted"])
def test_the_softmax_of_scores_matches_a_plain_optimiser(kind):
    rng = np.random.default_rng(3)
    codes = rng.integers(4, size=120)
    values = rng.standard_normal((120, 4)) * [0.5, 1.0, 3.0, 10.0]
    weights = rng.integers(0, 4, 120).astype(float) if kind == "weighted" else np.ones(120)
    own = np.arange(120), codes
    values[own] += {"separated": 100.0, "useless": -1.0}.get(kind, 2.0)
    found = fit_calibration(values, codes, weights)
    mixing, offsets = naive_softmax(values, codes, weights)
    assert np.allclose(found.mixing, mixing, rtol=1e-2, atol=3e-3 * np.abs(mixing).max())
    assert np.allclose(found.offsets, offsets, atol=5e-3)
    assert np.array_equal(found.slopes, np.diag(found.mixing))
    assert np.allclose(found.scores(values), values @ found.mixing.T + found.offsets)
    assert found.sharpness is None


def test_scale_and_sign_of_a_value_do_not_matter():
    """The sign is reversed for a class that is less likely on its own side."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=300)
    values = np.where(np.arange(3) == codes[:, None], 1.0, -1.0) + 0.8 * rng.standard_normal((300, 3))
    factors = np.array([1e-3, 5.0, -20.0])
    plain, scaled = (fit_calibration(v, codes, np.ones(300)) for v in (values, factors * values))
    assert np.allclose(plain.mixing, scaled.mixing * factors, rtol=1e-4, atol=1e-4)
    assert np.allclose(plain.offsets, scaled.offsets, atol=1e-4)
    assert np.all(plain.slopes > 0)
    assert scaled.slopes[2] < 0


def test_the_value_of_one_class_affects_the_probabilities_of_others():
    """Two values carry no information about their own classes, and the third one distinguishes all three."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=600)
    values = rng.standard_normal((600, 3))
    values[:, 2] = np.array([-2.0, 0.0, 2.0])[codes] + 0.3 * rng.standard_normal(600)
    found = fit_calibration(values, codes, np.ones(600))
    assert np.mean(found.scores(values).argmax(axis=1) == codes) > 0.97


def test_values_of_many_classes_are_calibrated_on_enough_rows():
    assert [calibrated_rows(K, 2) for K in (2, 3, 8, 10)] == [2**14, 3 * 2**13, 2**16, 2**16]
    assert calibrated_rows(100, 2) == 64 * 100**2
    assert calibrated_rows(100, 64) == 2**21 // 64


def test_rows_without_weight_do_not_calibrate():
    rng = np.random.default_rng(0)
    codes, values = rng.integers(3, size=200), rng.standard_normal((200, 3))
    weights = rng.integers(0, 3, 200).astype(float)
    copies = np.repeat(np.arange(200), weights.astype(int))
    for fit in (fit_calibration, fit_sigmoids):
        weighted, copied = fit(values, codes, weights), fit(values[copies], codes[copies], np.ones(len(copies)))
        assert np.allclose(weighted.slopes, copied.slopes, rtol=1e-6, atol=1e-9)
        assert np.allclose(weighted.offsets, copied.offsets, rtol=1e-6, atol=1e-9)
        if fit is fit_calibration:
            assert np.allclose(weighted.mixing, copied.mixing, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Classes with fewer")
def test_joint_calibration_is_more_confident_than_separate_sigmoids():
    """The K binary classifiers together determine the class with more certainty than each of them alone."""
    X, y = load_mammals(return_X_y=True)
    half = np.random.default_rng(0).permutation(len(X)) % 2 == 0
    model = PoincareSVC("means", C=1.0, loss="hinge").fit(X[half], y[half])
    values, codes = model.distances(X[half]), np.searchsorted(model.classes_, y[half])
    apart = fit_sigmoids(values, codes, np.ones(half.sum()))
    alone = np.exp(apart.log_probabilities(apart.scores(model.distances(X[~half]))))
    assert log_loss(y[~half], model.predict_proba(X[~half])) < 0.9 * log_loss(y[~half], alone)


def test_sigmoids_with_a_sharpness_are_powers_scaled_to_the_sum_1():
    """This calibration is used in model files of version 0.1."""
    scores = np.array([[2.0, -1.0, 0.5], [-3.0, -4.0, -2.0]])
    powers = (1 / (1 + np.exp(-scores))) ** 1.7
    found = np.exp(Calibration(np.ones(3), np.zeros(3), 1.7).log_probabilities(scores))
    assert np.allclose(found, powers / powers.sum(axis=1, keepdims=True))


def calibration_error(chances, y, classes, bins=15):
    confidence, right = chances.max(axis=1), classes[chances.argmax(axis=1)] == y
    which = np.minimum((bins * confidence).astype(int), bins - 1)
    return sum(abs(np.sum((confidence - right)[which == b])) for b in range(bins)) / len(y)


@pytest.mark.parametrize(
    ("fetch", "shift"),
    [
        (fetch_olsson, 0.0),
        pytest.param(fetch_cifar10, 0.0, marks=pytest.mark.slow),
        pytest.param(fetch_fashion_mnist, 0.04, marks=pytest.mark.slow),
    ],
)
def test_held_out_scores_are_no_worse_than_those_of_training_on_the_published_splits(
    fetch, shift, published_data, monkeypatch
):
    """Fashion-MNIST's test rows are harder than its training rows, so training scores give too high probabilities."""
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    data = fetch()
    found = []
    for model in (clone(THROUGH_A_POINT), PaperSVC("boundary")):
        model.fit(data.X_train, data.y_train)
        chances = model.predict_proba(data.X_test)
        found.append((log_loss(data.y_test, chances), calibration_error(chances, data.y_test, model.classes_)))
    assert found[0][0] <= found[1][0] + shift
    assert found[0][1] <= found[1][1] + shift


def test_a_pinned_sigmoid_is_half_on_the_boundary():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 1)) + 0.4
    codes = (values[:, 0] + 0.5 * rng.standard_normal(200) > 0.4).astype(int)
    free, pinned = (fit_calibration(values, codes, np.ones(200), pinned=pinned) for pinned in (False, True))
    assert pinned.offsets[0] == 0 < pinned.slopes[0]
    assert free.offsets[0] != 0


def test_uninformative_values_keep_the_sign_as_the_decision():
    rng = np.random.default_rng(0)
    values, codes = rng.standard_normal((400, 1)), rng.integers(2, size=400)
    backwards = fit_calibration(values, (values[:, 0] < 0).astype(int), np.ones(400))
    assert backwards.slopes[0] > 0 == backwards.offsets[0]
    chances = np.exp(backwards.log_probabilities(backwards.scores(values)))
    assert np.allclose(chances, 0.5, atol=1e-6)
    assert np.array_equal(chances.argmax(axis=1), (values[:, 0] > 0).astype(int))
    assert codes.any()


def test_the_offset_of_two_classes_moves_the_boundary_that_everything_shows():
    """A boundary through a given point has no intercept; the offset turns it into an equidistant."""
    X, y = unequal()
    X_new, y_new = unequal(5000, seed=1)
    p = [-0.2, 0.0]
    model, plain = (PoincareSVC(p, loss="hinge", calibration=k).fit(X, y) for k in ("cross-fitted", None))
    boundary = model.decision_.boundary()
    assert boundary.height != 0
    assert np.allclose(model.distances(X), plain.distances(X) - boundary.height)
    assert np.array_equal(model.distances(X_new)[:, 0] > 0, model.predict(X_new) == 1)
    assert model.score(X_new, y_new) > plain.score(X_new, y_new) + 0.05


def at_the_rim(n, seed):
    rng = np.random.default_rng(seed)
    centres = 2 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    y = rng.integers(3, size=n)
    return centres[y] + rng.standard_normal((n, 2)), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.usefixtures("most_outside")
def test_probabilities_cost_little_accuracy_at_the_rim():
    """At the rim a perceptron's distances are about ±36; they determine the class but not its probability."""
    X_new, y_new = at_the_rim(2000, 99)
    scores = np.array(
        [
            PoincarePerceptron(outside="project", max_epochs=20, calibration=calibration)
            .fit(*at_the_rim(300, seed))
            .score(X_new, y_new)
            for seed in range(4)
            for calibration in ("cross-fitted", None)
        ]
    )
    assert scores[::2].mean() > scores[1::2].mean() - 0.015
    assert scores[::2].min() > 0.8


def test_held_out_scores_are_better_calibrated_than_training_scores():
    """With few rows in many dimensions, training scores are far too confident."""
    X, y, p, _ = make_ball_classification(1200, 100, margin=0.01, random_state=0)
    honest = PoincareSVC(p, C=1000, loss="hinge").fit(X[:200], y[:200])
    vain = PaperSVC(p, C=1000).fit(X[:200], y[:200])
    assert log_loss(y[200:], honest.predict_proba(X[200:])) < log_loss(y[200:], vain.predict_proba(X[200:])) - 0.1


@every
def test_weights_act_like_copies_and_weight_zero_like_absence(classifier):
    X, y = three_normals(120)
    weights = np.random.default_rng(7).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    weighted = clone(classifier).fit(X, y, sample_weight=weights)
    copied = clone(classifier).fit(X[copies], y[copies])
    assert np.allclose(weighted.calibration_.mixing, copied.calibration_.mixing, rtol=1e-5, atol=1e-6)
    assert np.allclose(weighted.calibration_.offsets, copied.calibration_.offsets, rtol=1e-5, atol=1e-6)


@svcs
@pytest.mark.parametrize("problem", [three_normals, unequal])
def test_probabilities_are_invariant_under_isometries_and_row_order(svc, problem):
    X, y = problem(200)
    model = clone(svc).fit(X, y)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]

    def moved(X):
        return translate(rotate(X, turn), np.array([0.4, -0.5]))

    order = np.random.default_rng(1).permutation(len(X))
    elsewhere = clone(svc).fit(moved(X)[order], y[order])
    assert np.allclose(model.predict_proba(X), elsewhere.predict_proba(moved(X)), atol=1e-5)


@every
def test_threads_do_not_change_a_bit(classifier):
    X, y = three_normals(200)
    one, two = (clone(classifier).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.calibration_.mixing, two.calibration_.mixing)
    assert np.array_equal(one.calibration_.offsets, two.calibration_.offsets)


@svcs
def test_class_weights_count_once(svc):
    X, y = three_normals(200)
    weights = {"a": 1.0, "b": 3.0, "c": 0.5}
    by_class = clone(svc).set_params(class_weight=weights).fit(X, y)
    by_row = clone(svc).fit(X, y, sample_weight=[weights[label] for label in y])
    assert np.allclose(by_class.calibration_.mixing, by_row.calibration_.mixing, rtol=1e-8)
    assert np.allclose(by_class.calibration_.offsets, by_row.calibration_.offsets, rtol=1e-8)


def test_classes_with_few_rows_cause_a_warning_and_a_single_row_is_never_held_out():
    X, y = three_normals(90)
    few = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:1], np.flatnonzero(y == "c")[:1]])
    with pytest.warns(UserWarning, match=r"fewer distinct rows than folds \(5\)(.|\n)*: c \(1\)"):
        model = PoincareSVC().fit(X[few], y[few])
    assert np.isfinite(model.predict_proba(X)).all()
    three = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:3]])
    with pytest.warns(UserWarning, match=r"c \(3\)"):
        PoincareSVC().fit(X[three], y[three])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PoincareSVC(folds=3).fit(X[three], y[three])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_of_zero_are_named_as_such(loss):
    """Both classes are symmetric about the origin, so all directions through it are equally good."""
    half = np.random.default_rng(0).uniform(-0.4, 0.4, (20, 2))
    X, y = np.concatenate([half, -half, 0.9 * half, -0.9 * half]), np.repeat(["a", "b"], 40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PoincareSVC("origin", loss=loss).fit(X, y)
    assert np.linalg.norm(model.coef_) < 1e-9
    assert [str(warning.message).splitlines()[0] for warning in caught] == [
        "All rows have the same score (class b): the weights of the boundary are zero."
    ]
    assert np.allclose(model.predict_proba(X), 0.5)


def test_probabilities_below_the_smallest_float_are_still_ranked():
    X, y = three_normals()
    model = PoincareSVC().fit(X, y)
    model.decision_ = replace(model.decision_, calibration=Calibration(np.full(3, 1e4), np.zeros(3)))
    far = np.array([[0.999, 0.0], [0.0, 0.999], [0.0, -0.999]])
    assert np.array_equal(model.predict(far), model.classes_[model.predict_proba(far).argmax(axis=1)])
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert np.allclose(model.predict_proba(far).sum(axis=1), 1)


def test_a_hard_margin_has_probabilities_too():
    X, y, p, _ = make_ball_classification(300, 3, margin=0.1, random_state=0)
    model = PoincareSVC(p, C=np.inf).fit(X, y)
    assert model.score(X, y) == 1
    assert model.calibration_.slopes[0] > 0


@pytest.mark.parametrize("classifier", [THROUGH_A_POINT, PoincarePerceptron()], ids=["svc", "perceptron"])
def test_a_stream_has_no_probabilities(classifier):
    X, y = three_normals(120)
    model = clone(classifier).fit(X, y)
    model.partial_fit(X, y)
    with pytest.raises(AttributeError, match="no probabilities after partial_fit"):
        model.predict_proba(X)
    assert np.array_equal(model.predict(X), model.classes_[model.distances(X).argmax(axis=1)])
    with pytest.raises(NotFittedError):
        clone(classifier).predict_proba(X)


@svcs
def test_each_class_may_have_its_own_cost(svc):
    X, y = three_normals(200)
    costs = np.array([0.1, 1.0, 10.0])
    model = clone(svc).set_params(C=costs, calibration=None, tol=1e-12).fit(X, y)
    assert np.array_equal(model.C_, costs)
    for k, C in enumerate(costs):
        p = None if svc.reference is None else model.reference_[k]
        alone = clone(svc).set_params(reference=p, C=C, calibration=None, tol=1e-12).fit(X, y == model.classes_[k])
        assert np.allclose(model.coef_[k], alone.coef_[0], rtol=1e-6)
    assert np.all(model.verify(X, y).gap < 1e-6)
    with pytest.raises(ValueError, match=r"C has 2 entries; expected 3 \(one per binary problem\)"):
        PoincareSVC(C=[1.0, 2.0]).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration": "isotonic"}, "calibration must be \"cross-fitted\" or None; got 'isotonic'"),
        ({"folds": 1}, "folds must be an integer of at least 2; got 1"),
        ({"folds": 2.5}, "folds must be an integer of at least 2; got 2.5"),
    ],
)
@every
def test_bad_options_raise_one_clear_error(classifier, options, message):
    with pytest.raises(ValueError, match=message):
        clone(classifier).set_params(**options).fit(*three_normals(60))


def test_probabilities_without_calibration_say_what_to_pass():
    X, y = three_normals(60)
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        PoincareSVC(calibration=None).fit(X, y).predict_proba(X)
    assert 'Pass calibration="cross-fitted"' in str(raised.value.__cause__)


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_folds_that_do_not_converge_are_reported_once(monkeypatch):
    X, y, p, _ = make_ball_classification(200, 2, margin=0.05, random_state=0)
    with pytest.warns(ConvergenceWarning) as told:
        PoincarePerceptron(p, max_epochs=1).fit(X, y)
    assert len(told) == 1
    solve, calls = svc_module.solve_svm, []

    def unfinished(*args, **kwargs):
        calls.append(1)
        solution = solve(*args, **kwargs)
        return solution if len(calls) == 1 else replace(solution, status="max_iter", gap=0.125)

    monkeypatch.setattr(svc_module, "solve_svm", unfinished)
    with pytest.warns(ConvergenceWarning, match=r"5 of the 5 fits for calibrating(.|\n)*gap is 1.2e-01"):
        PoincareSVC(p).fit(X, y)


def test_verbose_reports_the_folds(capsys):
    X, y = three_normals(60)
    PoincarePerceptron(max_epochs=1, verbose=1).fit(X, y)
    assert "PoincarePerceptron: probabilities, fold 5 of 5" in capsys.readouterr().out


@every
def test_scikit_learns_tools_take_the_probabilities(classifier):
    X, y = three_normals(150)
    model = make_pipeline(FunctionTransformer(), clone(classifier))
    assert cross_val_score(model, X, y, cv=2, scoring="neg_log_loss").shape == (2,)
    search = GridSearchCV(clone(classifier), {"calibration": ["cross-fitted", None]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    outer = CalibratedClassifierCV(clone(classifier), cv=2).fit(X, y)
    assert outer.predict_proba(X).shape == (150, 3)


def test_the_mammals_are_predicted_better_with_probabilities():
    X, y = load_mammals(return_X_y=True)
    with pytest.warns(UserWarning, match="unreliable probabilities"):
        scores = [
            cross_val_score(
                PoincareSVC("means", C=1.0, loss="hinge", calibration=calibration, folds=20), X, y, cv=3
            ).mean()
            for calibration in ("cross-fitted", None)
        ]
    assert scores[0] > scores[1]


def test_values_of_a_part_of_the_rows_calibrate_the_model_of_all_rows():
    """Ten values of four columns: large entries of A cancel, and a small common deviation of the values would not."""
    rng = np.random.default_rng([1, 200_000, 10, 2])
    angles = rng.standard_normal((10, 2))
    radii = 3.5 * rng.uniform(0.1, 1, (10, 1)) ** 0.5
    centres = from_frame(radii * angles / np.linalg.norm(angles, axis=1, keepdims=True), np.zeros(2))
    shapes = 0.5 * (rng.standard_normal((10, 2, 2)) + 0.6 * np.eye(2))
    y = rng.choice(10, 100_000, p=rng.dirichlet(np.full(10, 1.5)))
    assert calibrated_rows(10, 2) < len(y)
    normals = np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((len(y), 2)))
    X = np.empty_like(normals)
    for k in range(10):
        X[y == k] = from_frame(normals[y == k], centres[k])
    model = PoincareSVC(C=100.0).fit(X, y)
    rows = X[:20_000]
    chances = model.predict_proba(rows)[np.arange(20_000), y[:20_000]]
    assert model.score(rows, y[:20_000]) > 0.85
    assert -np.mean(np.log(chances)) < 0.4
