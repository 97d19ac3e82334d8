"""Probabilities of the one-vs-rest classifiers."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.datasets import (
    fetch_cifar10,
    fetch_fashion_mnist,
    fetch_olsson,
    load_mammals,
    make_ball_classification,
)
from hyplearn.estimators.one_vs_rest import _harmless_sharpness
from hyplearn.geometry import conformal_factor, rotate, signed_distance, translate
from hyplearn.solvers.platt import fit_sigmoid
from hyplearn.tangent import frame_coordinates, from_frame
from support.balls import cloud

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every = pytest.mark.parametrize(
    "classifier",
    [PoincareSVC(), PoincarePerceptron(max_epochs=5), PoincareSecondOrderPerceptron(max_epochs=5)],
    ids=lambda c: type(c).__name__,
)


def three_normals(n=600, seed=0):
    rng = np.random.default_rng(seed)
    means = from_frame(1.2 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]]), np.array([0.3, 0.2]))
    y = rng.integers(3, size=n)
    X = np.concatenate([from_frame(rng.standard_normal((1, 2)), means[k]) for k in y])
    return X, np.array(["a", "b", "c"])[y]


def unequal(n=600, seed=0):
    """A narrow class beside a wide one, where no geodesic through the usual point is half-way."""
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


@every
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
    """Platt's sigmoid of ⟨f, w⟩ on the rows of training, one class against the rest, normalised."""
    X, y = three_normals()
    model = PoincareSVC(calibration="training").fit(X, y)
    chances = np.empty((len(X), 3))
    for k, label in enumerate(model.classes_):
        values = frame_coordinates(X, model.reference_[k]) @ model.coef_[k]
        slope, offset = fit_sigmoid(values, y == label, np.ones(len(X)))
        chances[:, k] = 1 / (1 + np.exp(-(slope * values + offset)))
    assert np.allclose(model.predict_proba(X), chances / chances.sum(axis=1, keepdims=True))
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    two = PoincareSVC(calibration="training").fit(*unequal())
    assert np.array_equal(two.predict(X), two.classes_[(two.decision_function(X) > 0).astype(int)])


@pytest.mark.parametrize(
    ("fetch", "paper"), [(fetch_olsson, 89.77), (fetch_cifar10, 91.84), (fetch_fashion_mnist, 87.82)]
)
def test_the_papers_protocol_gives_the_papers_accuracy(fetch, paper, published_data, monkeypatch):
    """Table II: squared hinge, C = 5 on log_p(x) and not on frame coordinates, the published reference points."""
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    data = fetch()
    p = data.reference_points
    model = PoincareSVC(p, C=5 / conformal_factor(p) ** 2, loss="squared_hinge", calibration="training")
    model.fit(data.X_train, data.y_train)
    assert 100 * model.score(data.X_test, data.y_test) == pytest.approx(paper, abs=0.02)


@every
def test_held_out_scores_come_from_fits_without_the_row(classifier):
    """Typed out: deal the rows of each class in the order of their distances, refit through the same points."""
    X, y = three_normals(150)
    model = clone(classifier).fit(X, y)
    own = model.distances(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    folds = np.empty(len(y), dtype=int)
    for k, label in enumerate(model.classes_):
        rows = np.flatnonzero(y == label)
        folds[rows[np.argsort(own[rows])]] = (np.arange(len(rows)) + k) % 5
    held_out = np.empty((len(y), 3))
    for fold in range(5):
        rest = clone(classifier).set_params(calibration=None, reference=model.reference_)
        rest.fit(X, y, sample_weight=np.where(folds == fold, 0.0, 1.0))
        held_out[folds == fold] = rest.distances(X[folds == fold])
    due = [fit_sigmoid(held_out[:, k], y == label, np.ones(len(y))) for k, label in enumerate(model.classes_)]
    assert np.allclose(model.sigmoids_, due, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Probabilities of classes")
def test_probabilities_are_as_sharp_as_held_out_rows_ask_for():
    """Sigmoids that are only scaled to the sum 1 are far from sure enough; held-out rows know better."""
    X, y = load_mammals(return_X_y=True)
    half = np.random.default_rng(0).permutation(len(X)) % 2 == 0
    model = PoincareSVC("means").fit(X[half], y[half])
    predicted, asked = model.predict(X[~half]), model.sharpness_
    losses = []
    for power in (1.0, asked, 10.0):
        model.sharpness_ = power
        losses.append(log_loss(y[~half], model.predict_proba(X[~half])))
        assert np.array_equal(model.predict(X[~half]), predicted)
    assert losses[1] < 0.9 * min(losses[0], losses[2])
    assert PoincareSVC("means", calibration="training").fit(X[half], y[half]).sharpness_ == 1


def chances_of(weight_of_the_last):
    """Logarithms of sigmoids of three classes: two are certain and right, of the third half the rows are wrong."""
    right, wrong = np.log([0.9, 0.3, 0.3]), np.log([0.3, 0.9, 0.3])
    chances = np.concatenate([np.tile(right, (300, 1)), np.tile(wrong, (300, 1)), np.tile(right[[2, 1, 0]], (100, 1)),
                              np.tile(wrong, (100, 1))])  # fmt: skip
    positive = np.arange(3) == np.repeat([0, 1, 2], [300, 300, 200])[:, None]
    return chances, positive, np.where(positive[:, 2], weight_of_the_last, 1.0)


def test_no_class_clearly_loses_by_the_sharpness_that_is_best_for_all():
    """A class that would pay for the others forbids it, unless it is too light to tell its loss from chance."""
    assert _harmless_sharpness(*chances_of(1.0)) == 1.0
    assert _harmless_sharpness(*chances_of(0.01)) > 1.5
    chances, positive, weights = chances_of(0.0)
    few = weights > 0
    assert _harmless_sharpness(chances, positive, weights) == _harmless_sharpness(
        chances[few], positive[few], weights[few]
    )


def calibration_error(chances, y, classes, bins=15):
    confidence, right = chances.max(axis=1), classes[chances.argmax(axis=1)] == y
    which = np.minimum((bins * confidence).astype(int), bins - 1)
    return sum(abs(np.sum((confidence - right)[which == b])) for b in range(bins)) / len(y)


@pytest.mark.parametrize(
    "fetch",
    [
        fetch_olsson,
        pytest.param(fetch_cifar10, marks=pytest.mark.slow),
        pytest.param(fetch_fashion_mnist, marks=pytest.mark.slow),
    ],
)
def test_held_out_scores_are_no_worse_than_those_of_training_on_the_published_splits(
    fetch, published_data, monkeypatch
):
    """Fashion-MNIST's test rows are harder than those of training: what is best for these is too sharp."""
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    data = fetch()
    found = []
    for calibration in ("cross-fitted", "training"):
        model = PoincareSVC(calibration=calibration).fit(data.X_train, data.y_train)
        chances = model.predict_proba(data.X_test)
        found.append((log_loss(data.y_test, chances), calibration_error(chances, data.y_test, model.classes_)))
    assert found[0][0] <= found[1][0]
    assert found[0][1] <= found[1][1]


def test_two_classes_are_equally_likely_on_the_boundary_unless_held_out_rows_object():
    X, y, p, _ = make_ball_classification(2000, 2, margin=0.01, random_state=0)
    overlapping = cloud(np.random.default_rng(0), 600, 2, 1.0)
    labels = overlapping[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(600) > 0
    for model in (PoincareSVC(p, C=1000).fit(X, y), PoincareSVC([0.0, 0.0]).fit(overlapping, labels)):
        assert model.sigmoids_[0, 1] == 0
        assert np.allclose(model.decision_function(X), signed_distance(X, model.coef_[0], model.reference_[0]))


def test_where_they_object_the_equidistant_they_ask_for_is_the_boundary():
    X, y = unequal()
    X_new, y_new = unequal(5000, seed=1)
    p = [-0.2, 0.0]
    model, plain = PoincareSVC(p).fit(X, y), PoincareSVC(p, calibration=None).fit(X, y)
    slope, offset = model.sigmoids_[0]
    assert offset != 0
    assert np.allclose(model.decision_function(X), plain.decision_function(X) + offset / slope)
    assert model.score(X_new, y_new) > plain.score(X_new, y_new) + 0.05


def test_one_sigmoid_serves_all_classes_where_their_own_err_more():
    """At the rim a perceptron's distances are 36 to either side, and the sigmoids of classes tell little."""
    rng = np.random.default_rng(0)
    centres = 2 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    y = rng.integers(3, size=300)
    X = centres[y] + rng.standard_normal((300, 2))
    model, plain = (PoincarePerceptron(outside="project", max_epochs=20, calibration=c) for c in ("cross-fitted", None))
    for classifier in (model, plain):
        with pytest.warns(UserWarning, match="moved"):
            classifier.fit(X, y)
    assert np.ptp(model.sigmoids_, axis=0).max() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.array_equal(model.predict(X), plain.predict(X))


def test_held_out_scores_are_more_honest_than_those_of_training():
    """Few rows in many dimensions: training scores look far surer than they are."""
    X, y, p, _ = make_ball_classification(1200, 100, margin=0.01, random_state=0)
    honest = PoincareSVC(p, C=1000).fit(X[:200], y[:200])
    vain = PoincareSVC(p, C=1000, calibration="training").fit(X[:200], y[:200])
    assert log_loss(y[200:], honest.predict_proba(X[200:])) < log_loss(y[200:], vain.predict_proba(X[200:])) - 0.1


@every
def test_copies_are_weights_and_no_weight_is_absence(classifier):
    X, y = three_normals(120)
    weights = np.random.default_rng(7).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    weighted = clone(classifier).fit(X, y, sample_weight=weights)
    copied = clone(classifier).fit(X[copies], y[copies])
    assert np.allclose(weighted.sigmoids_, copied.sigmoids_, rtol=1e-6)


@pytest.mark.parametrize("problem", [three_normals, unequal])
def test_probabilities_move_with_the_points_and_know_no_order(problem):
    X, y = problem(200)
    model = PoincareSVC().fit(X, y)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]

    def moved(X):
        return translate(rotate(X, turn), np.array([0.4, -0.5]))

    order = np.random.default_rng(1).permutation(len(X))
    elsewhere = PoincareSVC().fit(moved(X)[order], y[order])
    assert np.allclose(model.predict_proba(X), elsewhere.predict_proba(moved(X)), atol=1e-5)


@every
def test_threads_change_no_bit(classifier):
    X, y = three_normals(200)
    one, two = (clone(classifier).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.sigmoids_, two.sigmoids_)


def test_class_weights_count_once():
    X, y = three_normals(200)
    weights = {"a": 1.0, "b": 3.0, "c": 0.5}
    by_class = PoincareSVC(class_weight=weights).fit(X, y)
    by_row = PoincareSVC().fit(X, y, sample_weight=[weights[label] for label in y])
    assert np.allclose(by_class.sigmoids_, by_row.sigmoids_, rtol=1e-9)


def test_classes_with_few_rows_are_named_and_a_single_row_is_never_held_out():
    X, y = three_normals(90)
    few = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:1], np.flatnonzero(y == "c")[:1]])
    with pytest.warns(UserWarning, match=r"fewer different rows than the 5 folds rest on little: c \(1\)"):
        model = PoincareSVC().fit(X[few], y[few])
    assert np.isfinite(model.predict_proba(X)).all()
    three = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:3]])
    with pytest.warns(UserWarning, match=r"c \(3\)"):
        PoincareSVC().fit(X[three], y[three])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PoincareSVC(folds=3).fit(X[three], y[three])


def test_chances_below_every_float_are_still_told_apart():
    X, y = three_normals()
    model = PoincareSVC().fit(X, y)
    model.sigmoids_ = np.array([[1e4, 0.0]] * 3)
    far = np.array([[0.999, 0.0], [0.0, 0.999], [0.0, -0.999]])
    assert np.array_equal(model.predict(far), model.classes_[model.predict_proba(far).argmax(axis=1)])
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert np.allclose(model.predict_proba(far).sum(axis=1), 1)


def test_a_hard_margin_has_probabilities_too():
    X, y, p, _ = make_ball_classification(300, 3, margin=0.1, random_state=0)
    model = PoincareSVC(p, C=np.inf).fit(X, y)
    assert model.score(X, y) == 1
    assert model.sigmoids_[0, 0] > 0


@pytest.mark.parametrize("classifier", [PoincareSVC, PoincarePerceptron])
def test_a_stream_has_no_probabilities(classifier):
    X, y = three_normals(120)
    model = classifier().fit(X, y)
    model.partial_fit(X, y)
    with pytest.raises(AttributeError, match="no probabilities after partial_fit"):
        model.predict_proba(X)
    assert np.array_equal(model.predict(X), model.classes_[model.distances(X).argmax(axis=1)])
    with pytest.raises(NotFittedError):
        classifier().predict_proba(X)


def test_a_cost_for_each_class():
    X, y = three_normals(200)
    costs = np.array([0.1, 1.0, 10.0])
    model = PoincareSVC(C=costs, calibration=None).fit(X, y)
    for k, C in enumerate(costs):
        alone = PoincareSVC(model.reference_[k], C=C, calibration=None).fit(X, y == model.classes_[k])
        assert np.allclose(model.coef_[k], alone.coef_[0], rtol=1e-6)
    assert np.all(model.verify(X, y).gap < 1e-6)
    with pytest.raises(ValueError, match="3 binary problems need as many C; got 2"):
        PoincareSVC(C=[1.0, 2.0]).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibration": "isotonic"}, 'calibration must be "cross-fitted", "training" or None; got \'isotonic\''),
        ({"folds": 1}, "folds must be a whole number of at least 2; got 1"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2; got 2.5"),
    ],
)
@every
def test_bad_options_get_one_clear_error(classifier, options, message):
    with pytest.raises(ValueError, match=message):
        clone(classifier).set_params(**options).fit(*three_normals(60))


def test_probabilities_without_calibration_say_what_to_pass():
    X, y = three_normals(60)
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        PoincareSVC(calibration=None).fit(X, y).predict_proba(X)
    assert 'Pass calibration="cross-fitted"' in str(raised.value.__cause__)


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_folds_that_do_not_converge_are_told_once(monkeypatch):
    X, y, p, _ = make_ball_classification(200, 2, margin=0.05, random_state=0)
    with pytest.warns(ConvergenceWarning) as told:
        PoincarePerceptron(p, max_epochs=1).fit(X, y)
    assert len(told) == 1
    fit = PoincareSVC.fit

    def unfinished(self, X, y, sample_weight=None):
        if self.calibration is None:
            warnings.warn("not reached", ConvergenceWarning, stacklevel=2)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(PoincareSVC, "fit", unfinished)
    with pytest.warns(ConvergenceWarning, match=r"5 of the 5 fits for probabilities(.|\n)*not reached"):
        PoincareSVC(p).fit(X, y)


def test_verbose_tells_the_folds(capsys):
    X, y = three_normals(60)
    PoincarePerceptron(max_epochs=1, verbose=1).fit(X, y)
    assert "PoincarePerceptron: probabilities, fold 5 of 5" in capsys.readouterr().out


@every
def test_scikit_learns_tools_take_the_probabilities(classifier):
    X, y = three_normals(150)
    model = make_pipeline(FunctionTransformer(), clone(classifier))
    assert cross_val_score(model, X, y, cv=2, scoring="neg_log_loss").shape == (2,)
    search = GridSearchCV(clone(classifier), {"calibration": ["training", None]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    outer = CalibratedClassifierCV(clone(classifier), cv=2).fit(X, y)
    assert outer.predict_proba(X).shape == (150, 3)


def test_the_mammals_are_predicted_better_with_probabilities():
    X, y = load_mammals(return_X_y=True)
    with pytest.warns(UserWarning, match="rest on little"):
        scores = [
            cross_val_score(PoincareSVC("means", calibration=calibration, folds=20), X, y, cv=3).mean()
            for calibration in ("cross-fitted", None)
        ]
    assert scores[0] > scores[1]
