"""The comparison of reference points in a small configuration: every step of the full run, in seconds."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "experiments" / "reference_points.py"
SETS = ("mammals", "normals, d = 2", "normals, five classes", "two sides, d = 10")


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("reference_points", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def config(experiment):
    return experiment.Config(sets=SETS, folds=2, draws=2, n_train=300, n_test=500)


@pytest.fixture(scope="module")
def rows(experiment, config):
    return [row for name in config.sets for row in experiment.fill(name, config)]


def found(rows, name, method):
    return np.mean([row[4] for row in rows if row[0] == name and row[3] == method])


def test_every_method_is_tried_on_every_split(experiment, rows):
    assert len(rows) == len(SETS) * 2 * len(experiment.STRATEGIES + experiment.RIVALS)
    missing = {(row[0], row[3]) for row in rows if np.isnan(row[4])}
    assert missing == {(name, "authors") for name in SETS} | {("two sides, d = 10", "hull")}


def test_an_unknown_boundary_is_found(rows):
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "means")
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "Euclidean SVM")


def test_the_default_is_no_worse_than_a_euclidean_svm_on_the_mammals(rows):
    assert found(rows, "mammals", "boundary") > found(rows, "mammals", "Euclidean SVM")


def test_the_same_seed_gives_the_same_numbers(experiment, config, rows):
    again = experiment.fill("normals, d = 2", config)
    np.testing.assert_equal(again, [row for row in rows if row[0] == "normals, d = 2"])


def test_calibration_makes_scores_of_different_scales_comparable(experiment):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    scores = 2.0 * np.eye(3)[y] - 1 + rng.standard_normal((3000, 3))
    scaled = scores * [1.0, 10.0, 0.1] + [0.0, 5.0, -3.0]
    classes = np.arange(3)
    right = experiment.calibrated_argmax(scores, y, scores, classes) == y
    assert np.mean(experiment.calibrated_argmax(scaled, y, scaled, classes) == y) == pytest.approx(
        right.mean(), abs=1e-3
    )
    assert np.mean(np.argmax(scaled, axis=1) == y) < right.mean() - 0.1


def test_results_are_written_with_their_setting(experiment, config, rows, tmp_path):
    experiment.write(rows, config, 1.0, tmp_path)
    assert len((tmp_path / "reference_points.csv").read_text().splitlines()) == 1 + len(rows)
    assert "| mammals | 2-fold | " in (tmp_path / "reference_points.md").read_text()
    assert '"draws": 2' in (tmp_path / "reference_points.json").read_text()
