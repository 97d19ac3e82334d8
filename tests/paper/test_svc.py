"""The paper's support vector machine: the certified optimum, the paper's algorithm, and sigmoids of training scores."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn import PoincareSVC
from hyplearn.geometry import log_map
from hyplearn.paper import PaperSVC

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet
@parametrize_with_checks([PaperSVC("means"), PaperSVC("means", solver="sgd", max_iter=20)])
def test_scikit_learns_checks_pass_inside_the_ball(estimator, check, inside_the_ball):
    check(estimator)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_its_optimum_matches_the_certified_svc(overlapping, loss):
    X, y = overlapping
    weights = np.random.default_rng(1).uniform(size=len(y))
    paper, ours = (
        estimator.fit(X, y, weights) for estimator in (PaperSVC("means", loss=loss), PoincareSVC("means", loss=loss))
    )
    assert np.allclose(paper.reference_, ours.reference_, atol=1e-10)
    assert np.allclose(paper.coef_, ours.coef_, rtol=1e-5)
    assert paper.status_[0] == "optimal"
    assert paper.dual_gap_[0] <= 1e-6


def test_sgd_stops_above_the_optimum_and_gives_its_gap(overlapping):
    X, y = overlapping
    with pytest.warns(ConvergenceWarning, match=r'duality gap of .*, not tol=1.0e-03 \(class right\)(.|\n)*"exact"'):
        model = PaperSVC("boundary", solver="sgd", tol=1e-3).fit(X, y)
    assert model.status_[0] in ("stopped", "max_iter")
    exact = PaperSVC("boundary").fit(X, y)
    assert model.primal_[0] > exact.primal_[0]
    assert model.dual_[0] <= exact.primal_[0]
    assert model.score(X, y) > 0.8


def test_the_certificate_of_sgd_matches_its_definition(overlapping):
    """With α = t C on the rows below the margin, D = Σα - ½‖Σ α u‖² at the best t."""
    X, y = overlapping
    p, C = np.array([0.1, 0.0]), 0.5
    with pytest.warns(ConvergenceWarning):
        model = PaperSVC(p, C=C, solver="sgd", tol=1e-3).fit(X, y)
    rows = np.where(y == "right", 1.0, -1.0)[:, None] * 2 / (1 - p @ p) * log_map(X, p)
    margins = rows @ model.coef_[0]
    primal = 0.5 * np.sum(model.coef_**2) + C * np.sum(np.maximum(0, 1 - margins))
    u = C * rows[margins < 1].sum(axis=0)
    total = C * np.count_nonzero(margins < 1)
    t = min(1.0, total / (u @ u))
    dual = t * total - 0.5 * t * t * (u @ u)
    assert model.primal_[0] == pytest.approx(primal, rel=1e-9)
    assert model.dual_[0] == pytest.approx(dual, rel=1e-9)
    assert model.dual_gap_[0] == pytest.approx((primal - dual) / max(1, primal), rel=1e-9)


def test_the_same_seed_gives_identical_results_and_another_one_other_steps(overlapping):
    X, y = overlapping
    with pytest.warns(ConvergenceWarning):
        first, again, other = (
            PaperSVC("means", solver="sgd", tol=1e-3, random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)
        )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": np.inf}, "C must be a positive finite number; got inf"),
        ({"C": [1.0, -1.0]}, "C must be a positive finite number; got -1.0"),
        ({"tol": 0.0}, "tol must be a positive finite number; got 0.0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge'; got 'log'"),
        ({"solver": "lbfgs"}, "solver must be one of 'exact', 'sgd'; got 'lbfgs'"),
        ({"solver": "sgd", "loss": "squared_hinge"}, 'solver="sgd" supports only loss="hinge"(.|\n)*solver="exact"'),
    ],
)
def test_bad_options_raise_one_clear_error(options, message, overlapping):
    with pytest.raises(ValueError, match=message):
        PaperSVC(**options).fit(*overlapping)
