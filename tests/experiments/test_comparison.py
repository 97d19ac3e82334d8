"""The comparison in a small configuration: every step of the full run, in seconds."""

import comparison
import ledger
import numpy as np
import pytest
from sklearn.svm import SVC

from hyplearn.geometry import distance
from support.balls import cloud


@pytest.fixture(scope="module")
def config():
    return comparison.Config(sets=("mammals",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture(scope="module")
def rows(config, folder):
    return comparison.run(config, folder)


def test_every_classifier_is_measured_on_every_split(rows):
    assert len(rows) == 2 * len(comparison.classifiers())
    assert np.isfinite([[row[metric] for metric in comparison.METRICS] for row in rows]).all()


def test_hyperbolic_classifiers_beat_euclidean_ones_on_a_tree(rows):
    accuracy = {c: np.mean(ledger.chosen(rows, "accuracy", classifier=c)) for c in comparison.classifiers()}
    assert accuracy["PoincareSVC"] > accuracy["Euclidean SVM"]
    assert accuracy["PoincareLogisticRegression"] > accuracy["Euclidean softmax, tuned"]
    assert min(accuracy.values()) == accuracy["largest class"]


def test_neighbours_are_the_nearest_by_hyperbolic_distance():
    rng = np.random.default_rng(0)
    X, new = cloud(rng, 200, 2, 1.0, smallest_gap=0.01), cloud(rng, 30, 2, 1.0, smallest_gap=0.01)
    y = rng.integers(3, size=200)
    model = comparison.HyperbolicNeighbours(k=7, block=11).fit(X, y)
    nearest = np.argsort(distance(new[:, None], X), axis=1)[:, :7]
    assert np.allclose(model.predict_proba(new), [[np.mean(y[near] == k) for k in range(3)] for near in nearest])


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    confidence = np.repeat([0.95, 0.6], [100, 50])
    right = np.concatenate([np.arange(100) < 80, np.arange(50) < 30])
    assert comparison.calibration_error(confidence, right) == pytest.approx(2 / 3 * 0.15)


def test_many_rows_are_subsampled():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), np.repeat([0, 1], 150)
    model = comparison.OfASample(SVC(), most=40).fit(X, y)
    assert model.classifier.shape_fit_ == (40, 2)


def test_results_are_written_with_their_configuration(rows, folder):
    assert ledger.read(folder / "comparison.csv") == rows
    text = (folder / "comparison.md").read_text()
    assert "### mammals, 1 × 2-fold" in text
    assert text.count("**") >= 8
    assert '"repeats": 1' in (folder / "comparison.json").read_text()


def test_splits_are_the_official_one_then_those_of_every_repeat(published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    config = comparison.Config(repeats=2)
    protocols, splits = comparison.protocols("olsson", config), comparison.splits("olsson", config)
    assert protocols == ["official split"] + ["2 × 2-fold"] * 4
    assert [len(X) + len(X_test) for X, _, X_test, _ in splits] == [319] * 5
    assert len(comparison.all_cells(config)) == (5 + 4) * len(comparison.classifiers())
