"""The comparison in a small configuration: every step of the full run, in seconds."""

import comparison
import numpy as np
import pytest
from sklearn.svm import SVC

from balls import cloud
from hyplearn.geometry import distance


@pytest.fixture(scope="module")
def config():
    return comparison.Config(sets=("mammals",), repeats=1)


@pytest.fixture(scope="module")
def rows(config):
    return comparison.run(config)


def test_every_classifier_is_measured_on_every_split(rows):
    assert len(rows) == 2 * len(comparison.classifiers())
    assert np.isfinite([row[4:] for row in rows]).all()


def test_ours_beat_their_euclidean_twins_on_a_tree(rows):
    accuracy = {label: np.mean([row[4] for row in rows if row[3] == label]) for label in comparison.classifiers()}
    assert accuracy["PoincareSVC"] > accuracy["Euclidean SVM"]
    assert accuracy["PoincareLogisticRegression"] > accuracy["Euclidean softmax"]
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


def test_a_sample_stands_for_many_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), np.repeat([0, 1], 150)
    model = comparison.OfASample(SVC(), most=40).fit(X, y)
    assert model.classifier.shape_fit_ == (40, 2)


def test_results_are_written_with_their_setting(config, rows, tmp_path):
    comparison.write(rows, config, 1.0, tmp_path)
    assert len((tmp_path / "comparison.csv").read_text().splitlines()) == 1 + len(rows)
    text = (tmp_path / "comparison.md").read_text()
    assert "### mammals, 1 × 2-fold" in text
    assert text.count("**") >= 8
    assert '"repeats": 1' in (tmp_path / "comparison.json").read_text()
