"""The choice of C by cross-validation."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn import PoincareLogisticRegression, PoincareLogisticRegressionCV
from hyplearn.datasets import load_mammals
from hyplearn.tangent import from_frame

pytestmark = pytest.mark.filterwarnings("ignore:The least populated class")
COSTS = [300.0, 1.0, 10.0]


def overlapping(seed=0, n=200):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    middles = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return from_frame(middles[y] + rng.standard_normal((n, 2)), np.array([0.2, 0.1])), np.array(["a", "b", "c"])[y]


@parametrize_with_checks([PoincareLogisticRegressionCV(Cs=(1, 10), cv=2)])
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


def test_losses_match_single_fits_and_the_least_is_chosen():
    X, y = overlapping()
    folds = StratifiedKFold(3)
    model = PoincareLogisticRegressionCV(Cs=COSTS, cv=folds, tol=1e-10).fit(X, y)
    assert model.Cs_.tolist() == sorted(COSTS)

    def loss(C, train, test):
        alone = PoincareLogisticRegression(C=C, tol=1e-10).fit(X[train], y[train])
        return log_loss(y[test], alone.predict_proba(X[test]))

    due = np.array([[loss(C, *fold) for C in sorted(COSTS)] for fold in folds.split(X, y)])
    assert np.allclose(model.log_losses_, due, rtol=1e-5)
    assert sorted(COSTS)[np.argmin(due.mean(axis=0))] == model.C_
    single = PoincareLogisticRegression(C=model.C_, tol=1e-10).fit(X, y)
    assert np.allclose(model.predict_proba(X), single.predict_proba(X), atol=1e-6)
    assert model.verify(X, y).gap < 1e-6


def test_a_path_of_costs_uses_warm_starts(monkeypatch):
    X, y = overlapping(n=3000)
    passes, minimise = [], PoincareLogisticRegressionCV._minimise

    def counted(self, data, start, report):
        minimise(self, data, start, report)
        passes.append(int(self.n_iter_[0]))

    monkeypatch.setattr(PoincareLogisticRegressionCV, "_minimise", counted)
    PoincareLogisticRegressionCV(Cs=[100.0, 101.0], cv=2).fit(X, y)
    assert len(passes) == 5  # two folds of two C, and all rows
    first, second = passes[0:4:2], passes[1:4:2]
    assert max(second) < min(first)


def test_weights_act_like_copies_in_the_choice_of_c():
    X, y = overlapping()
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    half = len(X) // 2
    cuts = [(np.arange(half), np.arange(half, len(X))), (np.arange(half, len(X)), np.arange(half))]
    copied = [tuple(np.flatnonzero(np.isin(copies, part)) for part in cut) for cut in cuts]
    by_weight = PoincareLogisticRegressionCV(Cs=COSTS, cv=cuts).fit(X, y, weights)
    by_copy = PoincareLogisticRegressionCV(Cs=COSTS, cv=copied).fit(X[copies], y[copies])
    assert np.allclose(by_weight.log_losses_, by_copy.log_losses_, rtol=1e-4)
    assert by_weight.C_ == by_copy.C_


def test_a_class_of_one_row_is_no_error():
    X, y = overlapping()
    few = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:1]])
    model = PoincareLogisticRegressionCV(Cs=COSTS, cv=2).fit(X[few], y[few])
    assert np.isfinite(model.log_losses_).all()
    assert model.predict_proba(X).shape == (len(X), 3)


def test_a_weak_penalty_is_chosen_for_the_mammals():
    X, y = load_mammals(return_X_y=True)
    assert PoincareLogisticRegressionCV(Cs=[1, 100], cv=2).fit(X, y).C_ == 100


@pytest.mark.parametrize("costs", [[], [0.0], [np.inf], ["big"], None, [-1.0, 1.0]])
def test_bad_costs_raise_one_clear_error(costs):
    with pytest.raises(ValueError, match="Cs must be a non-empty list of positive finite numbers"):
        PoincareLogisticRegressionCV(Cs=costs).fit(*overlapping())
