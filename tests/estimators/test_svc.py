"""PoincareSVC as a scikit-learn classifier, and its certificate."""

import pickle
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from hyplearn import PoincareSVC
from hyplearn.datasets import fetch_fashion_mnist, load_mammals, make_ball_classification
from hyplearn.geometry import distance, log_map, rotate, signed_distance, translate
from hyplearn.tangent import frame_coordinates, z_features
from support.balls import cloud

# Most data sets here are small; tests/decision/test_calibration.py tests this warning.
pytestmark = pytest.mark.filterwarnings("ignore:Classes with fewer distinct rows")
KINDS = [
    {"loss": "hinge", "margin": "bound"},
    {"loss": "hinge", "margin": "exact"},
    {"loss": "squared_hinge", "margin": "bound"},
    {"loss": "squared_hinge", "margin": "exact"},
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['loss']}-{kind['margin']}")


@pytest.fixture
def separable():
    """X, y, p and w of two classes with a margin of 0.05."""
    return make_ball_classification(500, 3, margin=0.05, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.usefixtures("most_outside")
@parametrize_with_checks(
    [PoincareSVC(outside="project")]
    + [PoincareSVC("boundary", loss=loss, outside="project") for loss in ("hinge", "squared_hinge")]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        PoincareSVC(),
        PoincareSVC(fit_intercept=False),
        PoincareSVC(loss="hinge"),
        PoincareSVC("boundary", loss="hinge"),
        PoincareSVC("boundary", loss="squared_hinge"),
        PoincareSVC("boundary", loss="hinge", margin="exact"),
    ]
)
def test_scikit_learns_checks_pass_inside_the_ball_with_the_default(estimator, check, inside_the_ball):
    check(estimator)


def paper_svc(reference="boundary", *, C=1.0, loss="hinge", **options):
    """The paper's SVM, with the hinge loss and boundaries through a reference point."""
    return PoincareSVC(reference, C=C, loss=loss, **options)


def objective(X, y, p, w, C, *, loss="hinge", margin="bound", c=1.0):
    """P(w) of the paper's soft margin, computed from the paper's logarithm or from z."""
    rows = z_features(X, p, c=c) if margin == "exact" else 2 / (1 - c * p @ p) * log_map(X, p, c=c)
    slack = np.maximum(0, 1 - y * (rows @ w))
    return 0.5 * w @ w + C * np.sum(slack if loss == "hinge" else slack**2)


@kinds
@pytest.mark.parametrize("curvature", [-1.0, -0.3, -4.0])
def test_objective_matches_the_theorem_and_is_certified(kind, curvature, separable):
    X, y, p, _ = separable
    X, p = X / np.sqrt(-curvature), p / np.sqrt(-curvature)
    model = paper_svc(p, C=3.0, curvature=curvature, **kind).fit(X, y)
    P = objective(X, y, p, model.coef_[0], 3.0, **kind, c=-curvature)
    assert model.primal_[0] == pytest.approx(P, rel=1e-9)
    assert model.dual_[0] <= P * (1 + 1e-12)
    assert -1e-12 <= model.dual_gap_[0] <= 1e-6
    assert model.status_[0] == "optimal"
    for other in np.random.default_rng(0).standard_normal((20, 3)):
        assert objective(X, y, p, model.coef_[0] + 1e-2 * other, 3.0, **kind, c=-curvature) > P


@kinds
def test_verify_recomputes_the_certificate(kind, overlapping):
    X, y = overlapping
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    model = paper_svc(C=7.0, class_weight={"left": 2.0}, **kind).fit(X, y, weights)
    certificate = model.verify(X, y, weights)
    assert np.allclose(certificate.primal, model.primal_, rtol=1e-9)
    assert np.allclose(certificate.dual, model.dual_, rtol=1e-9)
    assert certificate.gap[0] <= 1e-6
    assert certificate.violation[0] == 0


def test_verify_detects_a_forged_certificate(overlapping):
    X, y = overlapping
    model = paper_svc(C=7.0).fit(X, y)
    model.coef_ = 1.1 * model.coef_
    assert model.verify(X, y).gap[0] > 1e-4
    model = paper_svc(C=7.0).fit(X, y)
    model.dual_coef_ = 2 * model.dual_coef_
    assert model.verify(X, y).violation[0] > 0.1
    assert model.verify(X, np.where(y == "left", "right", "left")).violation[0] > 0.1


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_verify_detects_dual_variables_outside_their_bounds(loss, overlapping):
    X, y = overlapping
    weights = np.ones(len(y))
    weights[::5] = 0.0
    model = paper_svc(C=7.0, loss=loss, calibration=None).fit(X, y, weights)
    assert model.verify(X, y, weights).violation[0] == 0
    honest = model.dual_coef_
    # Rows of weight 0 have no dual variable for any loss.
    model.support_, model.dual_coef_ = np.append(0, model.support_), np.column_stack([[[0.1]], honest])
    if y[0] != model.classes_[1]:
        model.dual_coef_[0, 0] = -0.1
    assert model.verify(X, y, weights).violation[0] > 0
    for bad in (np.nan, np.inf):
        model.dual_coef_[0, 1] = bad
        certificate = model.verify(X, y, weights)
        assert certificate.violation[0] == np.inf
        assert certificate.gap[0] == np.inf


def test_verify_needs_the_training_data(overlapping):
    X, y = overlapping
    with pytest.raises(NotFittedError):
        paper_svc().verify(X, y)
    model = paper_svc().fit(X, y)
    with pytest.raises(ValueError, match=r"verify\(\) needs the training data \(600 rows\); got 599 rows"):
        model.verify(X[1:], y[1:])
    with pytest.raises(ValueError, match="partial_fit computes no certificate"):
        paper_svc().partial_fit(X, y, classes=["left", "right"]).verify(X, y)


@kinds
def test_decision_function_is_the_signed_hyperbolic_distance(kind, separable):
    X, y, p, _ = separable
    model = paper_svc(p, C=10.0, calibration=None, **kind).fit(X, y)
    assert np.allclose(model.decision_function(X), signed_distance(X, model.coef_[0], p), rtol=1e-9)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) > 0, 1, -1))
    assert model.margin_[0] == pytest.approx(np.min(y * model.decision_function(X)), rel=1e-9)


@kinds
def test_calibrated_scores_are_lines_of_the_distance_and_the_boundary_is_where_they_vanish(kind, separable):
    X, y, p, _ = separable
    model = paper_svc(p, C=10.0, **kind).fit(X, y)
    (slope,), (offset,) = model.calibration_.slopes, model.calibration_.offsets
    distances = signed_distance(X, model.coef_[0], p)
    assert np.allclose(model.decision_function(X), slope * distances + offset, rtol=1e-9, atol=1e-9)
    assert np.allclose(model.distances(X)[:, 0], distances + offset / slope, rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) > 0, 1, -1))


@pytest.mark.parametrize("norm", [0.19, 0.38, 0.57])
@pytest.mark.parametrize("margin", [1.0, 0.1, 0.01, 0.001])
def test_hard_margin_classifies_every_training_point(margin, norm):
    """By the hard-margin theorem; with C = 1000 the accuracy is at least 99.99 %, as in the paper's experiments."""
    X, y, p, _ = make_ball_classification(10_000, 3, margin=margin, reference_norm=norm, random_state=0)
    hard = paper_svc(p, C=np.inf).fit(X, y)
    assert hard.score(X, y) == 1
    assert hard.status_[0] == "optimal"
    assert np.min(y * (frame_coordinates(X, p) @ hard.coef_[0])) >= 1 - 1e-9
    assert paper_svc(p, C=1000, calibration=None).fit(X, y).score(X, y) >= 0.9999
    exact = paper_svc(p, C=np.inf, margin="exact").fit(X, y)
    assert exact.margin_[0] >= margin * (1 - 1e-6)
    assert exact.margin_[0] >= hard.margin_[0] * (1 - 1e-6)


def test_exact_margin_is_the_widest_through_p(separable):
    """The margin is asinh(1 / ‖w‖), and no other direction has a wider one."""
    X, y, p, _ = separable
    model = paper_svc(p, C=np.inf, margin="exact").fit(X, y)
    assert model.margin_[0] == pytest.approx(np.arcsinh(1 / np.linalg.norm(model.coef_)), rel=1e-6)
    bound = paper_svc(p, C=np.inf).fit(X, y)
    assert bound.margin_[0] < model.margin_[0]
    assert bound.margin_[0] >= 1 / np.linalg.norm(bound.coef_) * (1 - 1e-6)  # the lower bound that it maximises
    for turn in np.random.default_rng(0).standard_normal((200, 3)):
        w = model.coef_[0] / np.linalg.norm(model.coef_[0]) + 0.02 * turn
        assert np.min(y * signed_distance(X, w, p)) <= model.margin_[0] * (1 + 1e-9)


@pytest.mark.parametrize("margin", ["bound", "exact"])
def test_an_infeasible_hard_margin_suggests_a_soft_one_and_keeps_its_proof(margin, overlapping):
    X, y = overlapping
    model = paper_svc(C=np.inf, margin=margin)
    message = r"No geodesic hyperplane through the reference point.*class right(.|\n)*soft margin"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert model.status_[0] == "infeasible"
    sign = np.where(y == "right", 1.0, -1.0)[model.support_]
    alpha = sign * model.dual_coef_[0]
    rows = (frame_coordinates if margin == "bound" else z_features)(X[model.support_], model.reference_[0])
    assert alpha.min() > 0
    assert np.linalg.norm(model.dual_coef_[0] @ rows) <= 1e-10 * (alpha @ np.linalg.norm(rows, axis=1))


@pytest.mark.parametrize(
    "shape",
    [
        (20_000, 2),
        pytest.param((1_000_000, 2), marks=pytest.mark.slow),
        pytest.param((100_000, 100), marks=pytest.mark.slow),
    ],
)
def test_linear_svc_stops_above_the_certified_optimum_with_a_warning(shape):
    """Hinge loss with C = 1000 on the paper's data."""
    X, y, p, _ = make_ball_classification(*shape, random_state=0)
    model = paper_svc(p, C=1000.0).fit(X, y)
    rows = frame_coordinates(X, p)
    with pytest.warns(ConvergenceWarning):
        rival = LinearSVC(loss="hinge", C=1000.0, fit_intercept=False, random_state=0).fit(rows, y)
    assert objective(X, y, p, rival.coef_[0], 1000.0) > 1.05 * model.primal_[0]
    assert model.verify(X, y).gap[0] <= 1e-6


@pytest.mark.parametrize(
    ("shape", "margin", "seed"), [((10_000, 2), 0.01, 0), ((5_000, 10), 0.1, 9), ((1_000, 2), 0.1, 4)]
)
def test_linear_svc_stops_silently_above_the_certified_optimum(shape, margin, seed):
    """Squared hinge with C = 1000: no warning (an error here), although P is more than 1.5 times the optimum."""
    X, y, p, _ = make_ball_classification(*shape, margin=margin, random_state=seed)
    model = paper_svc(p, C=1000.0, loss="squared_hinge").fit(X, y)
    rival = LinearSVC(dual=False, C=1000.0, fit_intercept=False, random_state=0).fit(frame_coordinates(X, p), y)
    assert objective(X, y, p, rival.coef_[0], 1000.0, loss="squared_hinge") > 1.5 * model.primal_[0]
    assert model.verify(X, y).gap[0] <= 1e-6


@kinds
def test_weights_act_like_copies_and_weight_zero_like_absence(kind, overlapping):
    X, y = overlapping
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = paper_svc(**kind).fit(X, y, weights)
    copied = paper_svc(**kind).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.reference_, copied.reference_)
    assert np.allclose(weighted.coef_, copied.coef_, rtol=1e-6, atol=1e-9)
    assert weighted.primal_[0] == pytest.approx(copied.primal_[0], rel=1e-9)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_fit_is_equivariant_under_isometries(seed, kind):
    rng = np.random.default_rng(seed)
    X, y, p, _ = make_ball_classification(120, 3, margin=0.05, reference_norm=0.3, random_state=seed)
    y = np.where(rng.random(120) < 0.1, -y, y)
    turn, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0], cloud(rng, 1, 3, 1.0)[0]
    moved = translate(rotate(X, turn), shift)
    here = paper_svc(p, C=2.0, **kind).fit(X, y)
    there = paper_svc(translate(rotate(p, turn), shift), C=2.0, **kind).fit(moved, y)
    assert there.primal_[0] == pytest.approx(here.primal_[0], rel=1e-6)
    scale = np.abs(here.decision_function(X)).max()
    assert np.allclose(there.decision_function(moved), here.decision_function(X), atol=1e-4 * scale)


def test_order_of_rows_changes_nothing_beyond_the_tolerance(overlapping):
    X, y = overlapping
    order = np.random.default_rng(0).permutation(len(y))
    one, other = paper_svc(C=5.0).fit(X, y), paper_svc(C=5.0).fit(X[order], y[order])
    assert np.allclose(one.coef_, other.coef_, rtol=1e-7)
    assert np.array_equal(np.sort(order[other.support_]), one.support_)


@pytest.mark.parametrize("shape", [(30_000, 4), (3_000, 60)])
def test_threads_give_identical_results(shape):
    X, y, p, _ = make_ball_classification(*shape, random_state=0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.05, -y, y)
    found = []
    for n_jobs, blas in ((1, 1), (2, 2), (4, 1)):
        with threadpool_limits(blas):
            found.append(paper_svc(p, C=10.0, n_jobs=n_jobs).fit(X, y))
    for other in found[1:]:
        assert np.array_equal(other.coef_, found[0].coef_)
        assert np.array_equal(other.dual_coef_, found[0].dual_coef_)


class InTurn(PoincareSVC):
    """SVC that solves one problem after the other, each on all threads, as for large data."""

    @contextmanager
    def _problem_map(self, data):
        yield map, data.threads


def test_threads_give_identical_results_for_many_classes():
    mammals = load_mammals()
    found = [
        estimator.fit(mammals.data, mammals.target)
        for estimator in (paper_svc(n_jobs=1), paper_svc(n_jobs=2), InTurn("boundary", C=1.0, loss="hinge", n_jobs=2))
    ]
    for other in found[1:]:
        assert np.array_equal(other.coef_, found[0].coef_)
        assert np.array_equal(other.dual_coef_, found[0].dual_coef_)
        assert np.array_equal(other.calibration_.slopes, found[0].calibration_.slopes)


def test_blas_keeps_its_threads_after_a_fit(separable):
    X, y, p, _ = separable
    with threadpool_limits(2, user_api="blas") as limits:
        before = [library["num_threads"] for library in limits._controller.info()]
        paper_svc(p).fit(X, y)
        assert [library["num_threads"] for library in limits._controller.info()] == before


def test_many_classes_make_one_certified_problem_each():
    mammals = load_mammals()
    model = paper_svc(C=10.0).fit(mammals.data, mammals.target)
    K = len(model.classes_)
    assert model.coef_.shape == model.reference_.shape == (K, 2)
    assert model.dual_coef_.shape == (K, len(model.support_))
    assert (model.status_ == "optimal").all()
    certificate = model.verify(mammals.data, mammals.target)
    assert certificate.gap.max() <= 1e-6
    assert certificate.violation.max() == 0
    assert np.array_equal(model.support_vectors_, mammals.data[model.support_])
    assert np.array_equal(
        model.predict(mammals.data), model.classes_[np.argmax(model.decision_function(mammals.data), axis=1)]
    )
    assert model.score(mammals.data, mammals.target) > 0.7


def test_a_reference_point_per_class_serves_each_problem():
    mammals = load_mammals()
    K = len(np.unique(mammals.target))
    points = 0.5 * cloud(np.random.default_rng(0), K, 2, 1.0)
    model = paper_svc(points).fit(mammals.data, mammals.target)
    assert np.array_equal(model.reference_, points)
    one = paper_svc(points[2]).fit(mammals.data, mammals.target == model.classes_[2])
    assert np.allclose(model.coef_[2], one.coef_[0], rtol=1e-9)


def test_published_embeddings_are_certified(published_data, monkeypatch):
    """Fashion-MNIST has ten overlapping problems of 60,000 rows; the reference points are the authors'."""
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    clothes = fetch_fashion_mnist(download_if_missing=False)
    model = paper_svc(clothes.reference_points, C=5.0).fit(clothes.X_train, clothes.y_train)
    assert model.dual_gap_.max() <= 1e-6
    assert model.verify(clothes.X_train, clothes.y_train).gap.max() <= 1e-6
    assert model.score(clothes.X_test, clothes.y_test) > 0.75


def test_float32_points_give_the_same_boundary(separable):
    X, y, p, _ = separable
    wide, narrow = paper_svc(p).fit(X, y), paper_svc(p).fit(X.astype(np.float32), y)
    assert np.allclose(wide.coef_, narrow.coef_, rtol=1e-3)
    assert narrow.support_vectors_.dtype == np.float32
    assert narrow.verify(X.astype(np.float32), y).gap[0] <= 1e-6


def test_warm_start_begins_at_the_previous_solution():
    X, y, p, _ = make_ball_classification(20_000, 5, random_state=0)
    model = paper_svc(p, C=100.0, warm_start=True).fit(X, y)
    cold = model.coef_.copy()
    model.set_params(C=110.0).fit(X, y)
    fresh = paper_svc(p, C=110.0).fit(X, y)
    assert model.primal_[0] == pytest.approx(fresh.primal_[0], rel=2e-6)
    assert not np.array_equal(model.coef_, cold)
    other = make_ball_classification(500, 3, random_state=0)
    assert model.set_params(reference=other[2]).fit(*other[:2]).coef_.shape == (1, 3)


def test_unsolved_problems_warn_with_the_gap_and_the_next_step():
    X, y, p, _ = make_ball_classification(20_000, 30, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r'gap of .*not tol=1.0e-06 \(class 1; status "max_iter"\).\nRaise'):
        model = paper_svc(p, C=1000.0, max_iter=1).fit(X, y)
    assert model.status_[0] == "max_iter"
    assert model.dual_gap_[0] > 1e-6
    assert model.verify(X, y).gap[0] == pytest.approx(model.dual_gap_[0], rel=1e-6)


def test_a_stream_follows_the_papers_steps(separable):
    X, y, p, _ = separable
    rows, C, w = frame_coordinates(X, p), 0.01, np.zeros(3)
    for t, (v, sign) in enumerate(zip(rows, y, strict=True), start=1):
        gradient = w.copy() if 1 - sign * (v @ w) < 0 else w - len(y) * C * sign * v
        w = w - gradient / (t + 1000)
    model = paper_svc(p, C=C).partial_fit(X, y, classes=[-1, 1])
    assert np.allclose(model.coef_[0], w, rtol=1e-10)
    assert model.status_[0] == "online"
    assert np.isnan(model.dual_gap_[0])


def test_streams_continue_from_chunk_to_chunk_and_from_a_fit(separable):
    X, y, p, _ = separable
    stream = paper_svc(p, C=0.1)
    for cut in np.array_split(np.arange(len(y)), 7):
        stream.partial_fit(X[cut], y[cut], classes=[-1, 1])
    assert stream.score(X, y) > 0.9
    model = paper_svc(p, C=0.1).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X, y)
    assert 0 < np.linalg.norm(model.coef_ - before) < np.linalg.norm(before)
    with pytest.raises(ValueError, match="needs all classes"):
        paper_svc(p).partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        paper_svc(p, loss="squared_hinge").partial_fit(X, y, classes=[-1, 1])
    assert not hasattr(paper_svc(p, C=np.inf), "partial_fit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"C": 0.0},
            r'C must be a positive number, one number per binary problem, or "auto"; got 0.0.\nPass numpy.inf',
        ),
        ({"C": "big"}, "C must be a positive number, one number per binary problem, or \"auto\"; got 'big'"),
        ({"C": np.nan}, 'C must be a positive number, one number per binary problem, or "auto"; got nan'),
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge'; got 'log'"),
        ({"margin": "wide"}, "margin must be one of 'bound', 'exact'; got 'wide'"),
        ({"tol": 0.0}, "tol must be a number greater than 0 and less than 1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"folds": 1}, "folds must be an integer of at least 2; got 1"),
        ({"calibration": "training"}, "calibration must be \"cross-fitted\" or None; got 'training'"),
        ({"reference": "nowhere"}, "reference='nowhere' is not a strategy"),
    ],
)
def test_bad_options_raise_one_clear_error(options, message, separable):
    X, y, _, _ = separable
    with pytest.raises(ValueError, match=message):
        paper_svc(**options).fit(X, y)


def test_verbose_prints_a_line_per_pass(separable, capsys):
    X, y, p, _ = separable
    paper_svc(p, verbose=1).fit(X, y)
    assert "PoincareSVC: class 1, pass 2, 500 rows in the working set, gap " in capsys.readouterr().out


def test_a_progress_bar_is_drawn_in_a_terminal(separable, monkeypatch):
    rich_progress = pytest.importorskip("rich.progress")
    X, y, p, _ = separable
    drawn = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(rich_progress.Progress, "update", lambda self, task, **fields: drawn.append(fields))
    paper_svc(p, verbose=1).fit(X, y)
    assert drawn[-1]["completed"] == 1
    assert "500 rows, gap" in drawn[-1]["message"]


def test_a_model_survives_pickling_and_cloning(separable):
    X, y, p, _ = separable
    model = paper_svc(p, C=10.0).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).get_params()["C"] == 10.0


def test_support_vectors_carry_the_solution(separable):
    """w = Σ y α f over the support vectors, and removing all other rows changes nothing."""
    X, y, p, _ = separable
    model = paper_svc(p, C=10.0).fit(X, y)
    assert np.allclose(model.dual_coef_[0] @ frame_coordinates(model.support_vectors_, p), model.coef_[0], rtol=1e-6)
    few = paper_svc(p, C=10.0).fit(X[model.support_], y[model.support_])
    assert np.allclose(few.coef_, model.coef_, rtol=1e-6)
    assert len(model.support_) < 100
    assert np.all(np.diff(model.support_) > 0)


def test_class_imbalance_does_not_lose_a_class():
    """The data have one positive point and ten thousand negative ones."""
    rng = np.random.default_rng(0)
    X = 0.9 * cloud(rng, 10_001, 2, 1.0)
    y = np.zeros(10_001, dtype=int)
    y[5000], X[5000] = 1, [0.95, 0.0]
    model = paper_svc(reference=[0.9, 0.0], C=1000.0, calibration=None).fit(X, y)
    assert model.predict(X[5000:5001])[0] == 1
    assert model.dual_gap_[0] <= 1e-6


def test_hyperplane_bisects_two_points():
    X, y = np.array([[0.2, 0.1], [-0.4, 0.3]]), np.array([0, 1])
    model = paper_svc(C=np.inf).fit(X, y)
    near, far = np.abs(model.distances(X)[:, 0])
    assert near == pytest.approx(far, rel=1e-6)
    assert near == pytest.approx(distance(*X) / 2, rel=1e-6)
