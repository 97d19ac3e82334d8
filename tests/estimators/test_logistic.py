"""PoincareLogisticRegression as a scikit-learn classifier, its certificate, and the geometry of its boundaries."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from hyplearn import ExpMap, PoincareLogisticRegression, TangentSpace
from hyplearn.cone import cone_coordinates
from hyplearn.data.arrays import ArrayPoints
from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.estimators import logistic as logistic_module
from hyplearn.geometry import distance, frechet_mean, rotate, signed_distance, translate
from hyplearn.tangent import from_frame
from support.balls import at_gap, cloud


def three_classes(seed=0, n=300, d=2, K=3, spread=0.7, c=1.0):
    """Overlapping classes around points at distance 1, in units of the curvature's radius."""
    rng = np.random.default_rng(seed)
    middles = rng.standard_normal((K, d))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    y = rng.integers(0, K, n)
    return from_frame((middles[y] + spread * rng.standard_normal((n, d))) / np.sqrt(c), np.zeros(d), c=c), y


@pytest.fixture(scope="module")
def mammals():
    return load_mammals(return_X_y=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.usefixtures("most_outside")
@parametrize_with_checks([PoincareLogisticRegression(outside="project", fit_intercept=fit) for fit in (True, False)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@parametrize_with_checks([PoincareLogisticRegression(), PoincareLogisticRegression(fit_intercept=False)])
def test_scikit_learns_checks_pass_inside_the_ball_with_the_default(estimator, check, inside_the_ball):
    check(estimator)


def explicit_rows(X, centre, fit_intercept, c=1.0):
    """Cone coordinates; the last column is that of the intercept."""
    rows = cone_coordinates(X, centre, c=c)
    return rows if fit_intercept else rows[:, :-1]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("curvature", [-1.0, -0.3, -4.0])
@pytest.mark.parametrize("K", [2, 3, 5])
def test_solution_matches_scikit_learn_on_explicit_rows(K, curvature, fit_intercept):
    """scikit-learn's multinomial regression has the same penalty; for two classes it uses the binary penalty ½‖w‖²."""
    X, y = three_classes(K=K, c=-curvature)
    model = PoincareLogisticRegression(C=5.0, tol=1e-12, curvature=curvature, fit_intercept=fit_intercept).fit(X, y)
    rows = explicit_rows(X, frechet_mean(X, c=-curvature), fit_intercept, -curvature)
    C = 5.0 if K > 2 else 10.0
    rival = LogisticRegression(C=C, fit_intercept=False, solver="newton-cg", tol=1e-10).fit(rows, y)
    assert np.allclose(model.coef_, rival.coef_[:, :3], atol=1e-5)
    assert np.allclose(model.intercept_, rival.coef_[:, 3:].sum(axis=1), atol=1e-5)
    assert model.intercept_.any() == fit_intercept
    assert np.allclose(model.predict_proba(X), rival.predict_proba(rows), atol=1e-6)
    assert np.allclose(model.decision_function(X), rival.decision_function(rows), atol=1e-5)
    assert np.array_equal(model.predict(X), rival.predict(rows))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes_are_the_binary_problem_with_half_the_penalty(overlapping, fit_intercept):
    X, y = overlapping
    model = PoincareLogisticRegression(C=3.0, tol=1e-12, fit_intercept=fit_intercept).fit(X, y)
    rows = np.where(y == "right", 1.0, -1.0)[:, None] * explicit_rows(X, frechet_mean(X), fit_intercept)
    start = np.zeros(rows.shape[1])
    due = minimize(lambda w: 0.25 * w @ w + 3.0 * np.logaddexp(0, -rows @ w).sum(), start, tol=1e-8)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    assert model.reference_.shape == (1, 2)
    assert model.primal_[0] == pytest.approx(due.fun, rel=1e-9)
    assert np.allclose(model.coef_[0], due.x[:3], atol=1e-3)
    assert model.intercept_[0] == pytest.approx(due.x[3:].sum(), abs=1e-3)
    assert model.decision_function(X).shape == (600,)
    assert np.allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "right", "left"))


def test_fitted_attributes_describe_many_classes(mammals):
    X, y = mammals
    model = PoincareLogisticRegression(C=1000.0).fit(X, y)
    assert model.coef_.shape == (13, 3)
    assert model.intercept_.shape == (13,)
    assert model.intercept_.sum() == pytest.approx(0, abs=1e-8)
    assert np.array_equal(model.reference_, np.tile(model.reference_[0], (13, 1)))
    assert distance(model.reference_[0], frechet_mean(X)) < 1e-9
    assert np.allclose(model.coef_.sum(axis=0), 0, atol=1e-9)
    assert model.status_[0] == "optimal"
    assert 0 <= model.dual_gap_[0] <= 1e-6
    assert model.n_passes_[0] > model.n_iter_[0] >= 1
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.allclose(proba, np.exp(model.predict_log_proba(X)), rtol=1e-9, atol=1e-300)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, y) > 0.97


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_verify_recomputes_the_certificate(fit_intercept):
    X, y = three_classes()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    for labels in (y, y == 1):
        model = PoincareLogisticRegression(
            C=7.0, fit_intercept=fit_intercept, class_weight="balanced", curvature=-0.5, tol=1e-4
        )
        certificate = model.fit(X, labels, weights).verify(X, labels, weights)
        assert certificate.primal[0] == pytest.approx(model.primal_[0], rel=1e-12)
        assert certificate.gap[0] == pytest.approx(model.dual_gap_[0], abs=1e-12)
        assert certificate.dual[0] <= PoincareLogisticRegression(**model.get_params() | {"tol": 1e-12}).fit(
            X, labels, weights
        ).primal_[0] * (1 + 1e-12)


def test_verify_detects_a_forged_certificate_and_needs_the_training_data():
    X, y = three_classes()
    with pytest.raises(NotFittedError):
        PoincareLogisticRegression().verify(X, y)
    model = PoincareLogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"verify\(\) needs the training data \(300 rows\); got 299"):
        model.verify(X[1:], y[1:])
    assert model.verify(X, np.roll(y, 1)).gap[0] > 1
    model.intercept_ = model.intercept_ + np.array([0.1, -0.1, 0.0])
    assert model.verify(X, y).gap[0] > 1e-4
    model.fit(X, y).coef_ = 1.1 * model.coef_
    assert model.verify(X, y).gap[0] > 1e-4


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["mean", "means"]), st.booleans())
def test_an_isometry_changes_no_probability(seed, K, reference, fit_intercept):
    rng = np.random.default_rng(seed)
    X, y = three_classes(seed, n=120, d=3, K=K)
    turn, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0], at_gap(rng, 3, 1e-2, 1.0)
    moved = translate(rotate(X, turn), shift)
    here = PoincareLogisticRegression(reference, fit_intercept=fit_intercept, tol=1e-10).fit(X, y)
    there = PoincareLogisticRegression(reference, fit_intercept=fit_intercept, tol=1e-10).fit(moved, y)
    assert there.primal_[0] == pytest.approx(here.primal_[0], rel=1e-6)
    assert np.allclose(there.predict_proba(moved), here.predict_proba(X), atol=1e-4)


def test_order_of_rows_changes_nothing_beyond_the_tolerance(mammals):
    X, y = mammals
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (PoincareLogisticRegression(tol=1e-10).fit(X[index], y[index]) for index in (slice(None), order))
    assert np.array_equal(one.reference_, other.reference_)
    assert np.allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-6)
    assert np.allclose(one.intercept_, other.intercept_, rtol=1e-6, atol=1e-5)


def test_weights_act_like_copies_and_weight_zero_like_absence():
    X, y = three_classes()
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = PoincareLogisticRegression(tol=1e-10).fit(X, y, weights)
    copied = PoincareLogisticRegression(tol=1e-10).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.reference_, copied.reference_)
    assert np.allclose(weighted.coef_, copied.coef_, rtol=1e-6, atol=1e-6)
    assert np.allclose(weighted.intercept_, copied.intercept_, rtol=1e-6, atol=1e-5)
    assert weighted.primal_[0] == pytest.approx(copied.primal_[0], rel=1e-9)


def test_class_weights_are_sample_weights():
    X, y = three_classes()
    by_class = PoincareLogisticRegression(class_weight={0: 3.0, 2: 0.5}).fit(X, y)
    by_row = PoincareLogisticRegression().fit(X, y, np.array([3.0, 1.0, 0.5])[y])
    assert np.array_equal(by_class.coef_, by_row.coef_)
    assert np.array_equal(by_class.intercept_, by_row.intercept_)
    with pytest.raises(ValueError, match="All 300 weights are zero"):
        PoincareLogisticRegression(class_weight=dict.fromkeys(range(3), 0.0)).fit(X, y)


def test_a_class_without_weight_has_a_small_probability():
    X, y = three_classes()
    model = PoincareLogisticRegression().fit(X, y, np.where(y == 2, 0.0, 1.0))
    assert model.predict_proba(X)[:, 2].max() < 0.1
    assert model.coef_.shape == (3, 3)


def test_cuts_change_nothing_beyond_the_tolerance_and_threads_not_a_bit():
    X, y = three_classes(n=3000, K=5)
    whole = PoincareLogisticRegression(tol=1e-10).fit(X, y)
    found = []
    for n_jobs, blas in ((1, 1), (2, 2), (4, 1)):
        with threadpool_limits(blas):
            points = ArrayPoints(X, y).limited(block_rows=1000)
            found.append(PoincareLogisticRegression(tol=1e-10, n_jobs=n_jobs).fit(points))
    assert np.allclose(found[0].coef_, whole.coef_, rtol=1e-6, atol=1e-6)
    assert np.allclose(found[0].intercept_, whole.intercept_, rtol=1e-6, atol=1e-5)
    for other in found[1:]:
        assert np.array_equal(found[0].coef_, other.coef_)
        assert np.array_equal(found[0].intercept_, other.intercept_)


def test_blas_uses_one_thread_only_during_the_fit(monkeypatch):
    X, y = three_classes()
    seen, inner = [], logistic_module.solve_softmax

    def blas():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    def watched(*args, **options):
        seen.extend(blas())
        return inner(*args, **options)

    monkeypatch.setattr(logistic_module, "solve_softmax", watched)
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        PoincareLogisticRegression().fit(X, y)
        assert set(seen) == {1}
        assert blas() == before


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c"], [7, -3, 12], [True, False, True], [2.0, 0.0, 5.0]],
    ids=["text", "ints", "bools", "floats"],
)
def test_labels_of_any_kind_are_classes(labels):
    X, y = three_classes()
    y = np.array(labels)[y]
    model = PoincareLogisticRegression().fit(X, y)
    assert np.array_equal(model.classes_, np.unique(y))
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, y) > 0.6


def test_a_class_with_one_row_is_predicted():
    rng = np.random.default_rng(0)
    X = np.vstack([0.5 * cloud(rng, 200, 2, 1.0), [[0.95, 0.0]]])
    y = np.append(rng.choice(["left", "right"], 200), "lonely")
    model = PoincareLogisticRegression().fit(X, y)
    assert model.predict(X[-1:])[0] == "lonely"
    assert model.status_[0] == "optimal"


def test_separable_classes_have_finite_weights():
    X = np.array([[0.5, 0.0], [0.6, 0.1], [-0.5, 0.1], [-0.6, 0.0], [0.0, 0.7], [0.1, 0.8]])
    y = np.repeat(["east", "west", "north"], 2)
    model = PoincareLogisticRegression(C=1e8).fit(X, y)
    assert model.score(X, y) == 1
    assert np.all(np.abs(model.coef_) < 1e3)
    assert model.verify(X, y).gap[0] <= 1e-6


@pytest.mark.parametrize("radius", [18.0, 30.0])
def test_points_near_the_rim_are_harmless(radius):
    rng = np.random.default_rng(0)
    X, y = three_classes(n=200)
    angles = rng.uniform(0, 2 * np.pi, 20)
    far = from_frame(radius * np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(2))
    near = PoincareLogisticRegression("origin").fit(X, y)
    model = PoincareLogisticRegression("origin", trim=False).fit(np.vstack([X, far]), np.append(y, near.predict(far)))
    assert model.status_[0] == "optimal"
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert model.score(far, near.predict(far)) > 0.9
    assert abs(model.score(X, y) - near.score(X, y)) < 0.05
    with pytest.warns(UserWarning, match="4 of 220 rows lie far beyond the others of their classes"):
        trimmed = PoincareLogisticRegression().fit(np.vstack([X, far]), np.append(y, near.predict(far)))
    assert trimmed.status_[0] == "optimal"
    assert abs(trimmed.score(X, y) - near.score(X, y)) < 0.05


def test_points_at_the_last_representable_gap_are_classified():
    rng = np.random.default_rng(1)
    X = np.array([at_gap(rng, 3, 1e-15, 1.0) for _ in range(60)])
    y = np.argmax(X, axis=1)
    model = PoincareLogisticRegression("origin").fit(X, y)
    assert model.score(X, y) == 1
    assert model.verify(X, y).gap[0] <= 1e-6


def test_float32_points_give_the_same_boundary():
    X, y = three_classes()
    wide, narrow = (PoincareLogisticRegression().fit(X.astype(dtype), y) for dtype in (np.float64, np.float32))
    assert np.allclose(wide.predict_proba(X), narrow.predict_proba(X.astype(np.float32)), atol=1e-3)
    assert narrow.coef_.dtype == np.float64
    assert narrow.verify(X.astype(np.float32), y).gap[0] <= 1e-6


@pytest.mark.parametrize("c", [1.0, 0.2, 4.0])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_boundary_without_intercept_is_the_hyperplane_where_scores_are_equal(c, d):
    """sign(score_a - score_b) is the side, and the log-odds is (ρ / sinh ρ) ‖w‖ sinh(√c signed distance)."""
    X, y = three_classes(3, d=d, K=4, c=c)
    model = PoincareLogisticRegression(C=300.0, fit_intercept=False, curvature=-c).fit(X, y)
    centre, points = model.reference_[0], cloud(np.random.default_rng(4), 500, d, c, smallest_gap=1e-3)
    scores = model.decision_function(points)
    rho = np.sqrt(c) * distance(points, centre, c=c)
    drawn = 0
    for a in range(4):
        for b in range(4):
            u = model.coef_[a] - model.coef_[b]
            if a == b or u[1:] @ u[1:] <= u[0] ** 2:
                continue
            w, p = model.hyperplane_between(a, b)
            odds, away = scores[:, a] - scores[:, b], signed_distance(points, w, p, c=c)
            due = rho / np.sinh(rho) * np.linalg.norm(w) * np.sinh(np.sqrt(c) * away)
            assert np.allclose(odds, due, rtol=1e-7, atol=1e-9 * np.abs(odds).max())
            assert abs(signed_distance(centre, w, p, c=c)) == pytest.approx(distance(centre, p, c=c), abs=1e-9)
            drawn += 1
    assert drawn >= 6


@pytest.mark.parametrize("c", [1.0, 0.2, 4.0])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_hyperplane_touches_the_boundary_at_its_point_nearest_to_the_centre(c, d):
    """Scores are equal at p, their slope is (ρ / sinh ρ) ‖w‖ along w, and the order of scores is constant nearer by."""
    X, y = three_classes(3, d=d, K=4, c=c)
    model = PoincareLogisticRegression(curvature=-c).fit(X, y)
    centre, ways = model.reference_[0], np.random.default_rng(4).standard_normal((500, d))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    drawn = 0
    for a, b in [(a, b) for a in range(4) for b in range(4) if a != b]:

        def odds(points, a=a, b=b):
            scores = model.decision_function(points)
            return scores[:, a] - scores[:, b]

        try:
            w, p = model.hyperplane_between(a, b)
        except ValueError:
            inside = from_frame(np.geomspace(1e-3, 12, 500)[:, None] / np.sqrt(c) * ways, centre, c=c)
            assert len(set(np.sign(odds(inside)))) == 1
            continue
        scale = np.abs(model.coef_).max() + np.abs(model.intercept_).max()
        assert odds(p[None])[0] == pytest.approx(0, abs=1e-9 * scale)
        far = distance(centre, p, c=c)
        nearer = from_frame(np.random.default_rng(5).uniform(0, 0.999 * far, (500, 1)) * ways, centre, c=c)
        assert np.all(np.sign(odds(nearer)) == np.sign(odds(centre[None])))
        around = from_frame(1e-4 / np.sqrt(c) * ways, p, c=c)
        rho = np.sqrt(c) * far
        due = rho / np.sinh(rho) * np.linalg.norm(w) * np.sinh(np.sqrt(c) * signed_distance(around, w, p, c=c))
        assert np.allclose(odds(around), due, rtol=0, atol=1e-7 * scale)
        drawn += 1
    assert drawn >= 6


def test_boundary_of_a_binary_model_matches_its_decision_function(overlapping):
    X, y = overlapping
    model = PoincareLogisticRegression(fit_intercept=False).fit(X, y)
    w, p = model.hyperplane_between("right", "left")
    assert np.array_equal(signed_distance(X, w, p) > 0, model.predict(X) == "right")
    assert np.allclose(model.hyperplane_between("left", "right")[0], -w)
    assert model.decision_function(p[None])[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_classes_without_a_boundary_are_reported(fit_intercept):
    rng = np.random.default_rng(0)
    X = 0.5 * cloud(rng, 400, 2, 1.0)
    y = np.where(rng.random(400) < 0.02, "rare", "common")
    model = PoincareLogisticRegression(C=1e-3, fit_intercept=fit_intercept).fit(X, y)
    assert set(model.predict(cloud(rng, 500, 2, 1.0, 1e-6))) == {"common"}
    for pair in (("rare", "common"), ("common", "rare")):
        with pytest.raises(ValueError, match=r"no boundary between .*: 'common' is likelier in the whole ball"):
            model.hyperplane_between(*pair)
    with pytest.raises(ValueError, match="'other' is not a class of this model; its classes are"):
        model.hyperplane_between("rare", "other")
    with pytest.raises(ValueError, match="got 'rare' twice"):
        model.hyperplane_between("rare", "rare")
    with pytest.raises(NotFittedError):
        PoincareLogisticRegression().hyperplane_between("rare", "common")


@pytest.mark.parametrize(
    ("u", "level", "verdict"),
    [
        ([0, 0, 0], 0, "they are equally"),
        ([-1e-17, 0, 1e-17], 1, "0 is"),
        ([1e-17, 0, 1e-17], -1, "1 is"),
        ([-1, 0, 0], 1, "1 is"),
    ],
)
def test_the_likelier_of_two_classes_without_a_boundary_is_named(u, level, verdict):
    """The boundary of the second and third is beyond float64's points; that of the last is a single point."""
    model = PoincareLogisticRegression("origin").fit(*three_classes())
    model.coef_[1] = model.intercept_[1] = 0.0
    model.coef_[0], model.intercept_[0] = u, level
    with pytest.raises(ValueError, match=f"no boundary between 0 and 1: {verdict} likel.* in the whole ball"):
        model.hyperplane_between(0, 1)


@pytest.mark.parametrize("reference", ["origin", "mean", "means", [0.1, 0.2], lambda X, y, weights, c: X[y == 0][0]])
def test_the_centre_may_be_a_strategy_a_function_or_an_array(reference):
    X, y = three_classes()
    model = PoincareLogisticRegression(reference).fit(X, y + 5)
    if isinstance(reference, list):
        assert np.array_equal(model.reference_[0], reference)
    elif callable(reference):
        assert np.array_equal(model.reference_[0], X[y == 0][0])
    assert model.verify(X, y + 5).gap[0] <= 1e-6
    assert model.score(X, y + 5) > 0.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, 'C must be a positive finite number or "auto"; got 0.0'),
        ({"C": np.inf}, 'C must be a positive finite number or "auto"; got inf'),
        ({"C": "big"}, "C must be a positive finite number or \"auto\"; got 'big'"),
        ({"tol": 0.0}, "tol must be a number greater than 0 and less than 1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"reference": "nowhere"}, "reference='nowhere' is not a strategy"),
        ({"reference": "boundary"}, r'reference="boundary" needs exactly 2 classes; got 3'),
        ({"reference": [[0.1, 0.2]] * 3}, r"must have shape \(2,\), one coordinate per feature of X; got \(3, 2\)"),
        ({"curvature": 1.0}, "curvature must be a negative finite number"),
        ({"outside": "drop"}, 'outside must be "raise" or "project"'),
    ],
)
def test_bad_options_raise_one_clear_error(options, message):
    X, y = three_classes()
    with pytest.raises(ValueError, match=message):
        PoincareLogisticRegression(**options).fit(X, y)


def test_bad_data_raise_one_clear_error():
    X, y = three_classes()
    with pytest.raises(ValueError, match="needs samples of at least 2 classes; got 1 class: 4"):
        PoincareLogisticRegression().fit(X, np.full(len(y), 4))
    with pytest.raises(ValueError, match="1 of 300 points lie"):
        PoincareLogisticRegression().fit(np.vstack([X[1:], [[1.0, 0.5]]]), y)
    model = PoincareLogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="y contains unknown classes: 3; known classes:"):
        model.verify(X, y + 1)


def test_unsolved_problems_warn_with_the_gap_and_the_next_step(mammals):
    X, y = mammals
    with pytest.warns(ConvergenceWarning, match=r'gap of .*not tol=1.0e-06 \(status "max_iter"\).\nRaise max_iter'):
        model = PoincareLogisticRegression(max_iter=2).fit(X, y)
    assert model.verify(X, y).gap[0] == pytest.approx(model.dual_gap_[0], rel=1e-9)
    with pytest.warns(ConvergenceWarning, match=r'status "stalled"\).\nLimited by rounding'):
        PoincareLogisticRegression(tol=1e-100).fit(X, y)


@pytest.mark.parametrize("K", [2, 4])
def test_warm_start_begins_at_the_previous_solution(K):
    X, y = three_classes(K=K)
    model = PoincareLogisticRegression(C=100.0, warm_start=True).fit(X, y)
    cold = model.n_iter_[0]
    assert model.fit(X, y).n_passes_[0] == 1
    model.set_params(C=110.0).fit(X, y)
    fresh = PoincareLogisticRegression(C=110.0).fit(X, y)
    assert model.n_iter_[0] < cold
    assert model.primal_[0] == pytest.approx(fresh.primal_[0], rel=2e-6)
    assert model.fit(*three_classes(K=K + 1)).coef_.shape == (K + 1, 3)


@pytest.mark.parametrize("K", [2, 4])
def test_warm_start_goes_on_with_an_intercept_or_without(K):
    X, y = three_classes(K=K)
    model = PoincareLogisticRegression(warm_start=True).fit(X, y)
    for fit_intercept in (False, True):
        model.set_params(fit_intercept=fit_intercept).fit(X, y)
        fresh = PoincareLogisticRegression(fit_intercept=fit_intercept).fit(X, y)
        assert model.primal_[0] == pytest.approx(fresh.primal_[0], rel=2e-6)
        assert model.intercept_.any() == fit_intercept


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_uninformative_points_give_class_frequencies(fit_intercept):
    """The cost with the largest evidence is high enough to fit the class frequencies."""
    y = np.where(np.arange(2000) < 40, "rare", "common")
    model = PoincareLogisticRegression(fit_intercept=fit_intercept).fit(np.zeros((2000, 2)), y)
    assert model.predict_proba(np.zeros((1, 2)))[0, 1] == pytest.approx(0.02, abs=1e-3)


def test_verbose_prints_a_line_per_pass(capsys):
    X, y = three_classes()
    PoincareLogisticRegression(verbose=1).fit(X, y)
    assert "PoincareLogisticRegression: 3 classes, pass 2, 300 rows in the working set, gap " in capsys.readouterr().out


def test_a_model_survives_pickling_and_cloning():
    X, y = three_classes()
    model = PoincareLogisticRegression(C=10.0).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_it_works_with_the_tools_of_scikit_learn():
    X, y = three_classes()
    model = PoincareLogisticRegression()
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(model, {"C": [0.01, 10.0]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0}
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.7
    flat = TangentSpace().fit(X).transform(X)
    assert make_pipeline(ExpMap(), model).fit(flat, y).score(flat, y) > 0.7
    steps = make_pipeline(ExpMap().set_output(transform="pandas"), model).fit(flat, y)
    assert len(steps[-1].feature_names_in_) == 2


def test_weights_are_routed_to_the_fit_of_every_fold():
    X, y = three_classes()
    weights = np.where(y == 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PoincareLogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=3).fit(X, y, sample_weight=weights)
    assert search.best_estimator_.predict_proba(X)[:, 0].max() < 0.1


def test_columns_of_a_data_frame_are_remembered():
    X, y = three_classes()
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = PoincareLogisticRegression().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert np.array_equal(model.predict(frame), PoincareLogisticRegression().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"east": "west"}))


def test_published_embeddings_are_certified_and_as_accurate_as_with_hyperboloid_coordinates(
    published_data, monkeypatch
):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    for fetch, accuracy in ((fetch_olsson, 0.897), (fetch_cifar10, 0.918), (fetch_fashion_mnist, 0.901)):
        data = fetch(download_if_missing=False)
        model = PoincareLogisticRegression().fit(data.X_train, data.y_train)
        assert model.verify(data.X_train, data.y_train).gap[0] <= 1e-6
        assert model.score(data.X_test, data.y_test) >= accuracy
