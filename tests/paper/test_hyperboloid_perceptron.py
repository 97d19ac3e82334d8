"""The perceptron of Weber et al., and the paper's two counterexamples to its theorem."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import signed_distance
from hyplearn.paper import HyperboloidPerceptron
from hyplearn.paper.hyperboloid import hyperboloid_rows, visit
from support import naive


def test_first_counterexample_has_no_norm():
    """w = e₂ and x = e₁, the origin of the disk: u = e₁ + e₂ is light-like."""
    with pytest.raises(
        ValueError, match=r"cannot normalise w in update 1, for the point(.|\n)*\[u, u\] = 0(.|\n)*PoincarePerceptron"
    ):
        HyperboloidPerceptron(start=[0.0, 1.0, 0.0]).fit([[0.0, 0.0], [0.0, 0.0]], [0, 1])
    assert naive.hyperboloid_perceptron(np.eye(3)[:1], [1.0], np.eye(3)[1]) is None


@pytest.mark.parametrize("x", [[0.0, 0.0], [0.5, -0.3], [0.9, 0.1]])
def test_second_counterexample_has_an_imaginary_norm(x):
    """w = 0 and any x: u = ± x, and [x, x] = -1."""
    with pytest.raises(ValueError, match=r"cannot normalise w(.|\n)*\[u, u\] = -1, but(.|\n)*needs \[u, u\] > 0"):
        HyperboloidPerceptron(start=[0.0, 0.0, 0.0]).fit([x, x], [0, 1])


def test_a_start_without_a_boundary_is_rejected_if_no_update_corrects_it():
    X, y, _, _ = make_ball_classification(50, 2, random_state=0)
    with pytest.raises(ValueError, match=r"cannot normalise w at the start, where u = w: \[u, u\] = -9"):
        HyperboloidPerceptron(start=[3.0, 0.0, 0.0]).fit(X, y, (y > 0).astype(float))


def test_a_visit_follows_the_printed_rule():
    for seed in range(5):
        X, y, _, _ = make_ball_classification(80, 3, random_state=seed)
        R, order = hyperboloid_rows(X, np.zeros(3), 1.0), np.random.default_rng(seed).permutation(80)
        start = 2 * np.eye(4)[1]
        w = start.copy()
        updates, square, failed = visit(R, y.astype(float), np.ones(80), order, w, 4.0)
        assert failed == -1
        assert updates > 0
        assert np.allclose(w, naive.hyperboloid_perceptron(R[order], y[order], start), rtol=1e-8)
        assert square == pytest.approx(w[1:] @ w[1:] - w[0] ** 2, rel=1e-6)


def test_integer_weights_act_like_repeated_visits():
    X, y, _, _ = make_ball_classification(40, 2, random_state=0)
    R, y = hyperboloid_rows(X, np.zeros(2), 1.0), y.astype(float)
    copies = np.random.default_rng(0).integers(1, 4, 40)
    once, weighted = 2 * np.eye(3)[1], 2 * np.eye(3)[1]
    visit(np.repeat(R, copies, axis=0), np.repeat(y, copies), np.ones(copies.sum()), np.arange(copies.sum()), once, 4.0)
    visit(R, y, copies.astype(float), np.arange(40), weighted, 4.0)
    assert np.allclose(once, weighted, rtol=1e-9)


def test_large_weights_act_like_repeated_visits_and_take_no_longer():
    """A far row of weight 20,000 is visited about 10,000 times in a row; visits for a weight of 1e15 are combined."""
    R = hyperboloid_rows(np.array([[0.99999, 0.0], [0.0, 0.3]]), np.zeros(2), 1.0)
    y, order = np.array([1.0, -1.0]), np.arange(2)
    once, weighted = 2 * np.eye(3)[1], 2 * np.eye(3)[1]
    copies = 20_000
    many = np.repeat(order, copies)
    updates, _, _ = visit(R[many], y[many], np.ones(2 * copies), np.arange(2 * copies), once, 4.0)
    assert updates > copies
    assert visit(R, y, np.full(2, float(copies)), order, weighted, 4.0)[0] == updates
    assert np.allclose(once, weighted, rtol=1e-9)
    X, y, _, _ = make_ball_classification(300, 2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        assert HyperboloidPerceptron(max_epochs=5).fit(X, y, np.full(300, 1e15)).n_updates_[0] > 1e15


def test_an_update_moves_all_scores_to_one_side():
    """The rule does not learn, because -[x, x'] = cosh d(x, x') is always positive."""
    X, y, _, _ = make_ball_classification(100, 2, margin=0.5, random_state=0)
    R = hyperboloid_rows(X, np.zeros(2), 1.0)
    gram = R[:, :1] * R[:, 0] - R[:, 1:] @ R[:, 1:].T
    assert gram.min() >= 1 - 1e-9
    with pytest.warns(ConvergenceWarning, match=r"still made mistakes in the last of 100 passes \(class 1\)"):
        model = HyperboloidPerceptron().fit(X, y)
    assert model.status_[0] == "max_epochs"
    assert model.n_updates_[0] > 100


def test_a_start_that_separates_is_kept():
    X, y, _, w = make_ball_classification(200, 2, margin=0.1, reference_norm=0.0, random_state=0)
    model = HyperboloidPerceptron(start=[0.0, *(-2 * w)]).fit(X, y)
    assert model.status_[0] == "converged"
    assert model.n_updates_[0] == 0
    assert model.score(X, y) == 1
    distance = signed_distance(X, model.coef_[0], model.reference_[0])
    assert np.allclose(model.decision_function(X), np.arcsinh(2 * np.sinh(distance)))
