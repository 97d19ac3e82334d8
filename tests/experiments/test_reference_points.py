"""The comparison of reference points in a small configuration: every step of the full run, in seconds."""

import numpy as np
import pytest
import reference_points as experiment

from hyplearn.geometry import distance

SETS = ("mammals", "normals, d = 2", "normals, five classes", "two sides, d = 10", "trees, six branches")


@pytest.fixture(scope="module")
def config():
    return experiment.Config(sets=SETS, folds=2, draws=2, n_train=300, n_test=500)


@pytest.fixture(scope="module")
def rows(config):
    return [row for name in config.sets for row in experiment.fill(name, config)]


def found(rows, name, method):
    return np.mean([row[4] for row in rows if row[0] == name and row[3] == method])


def test_every_method_is_tried_on_every_split(rows):
    assert len(rows) == len(SETS) * 2 * len(experiment.STRATEGIES + experiment.RIVALS)
    missing = {(row[0], row[3]) for row in rows if np.isnan(row[4])}
    assert missing == {(name, "authors") for name in SETS} | {("two sides, d = 10", "hull")}


def test_an_unknown_boundary_is_found(rows):
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "means")
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "Euclidean SVM")


def test_the_default_is_no_worse_than_a_euclidean_svm_on_the_mammals(rows):
    assert found(rows, "mammals", "boundary") > found(rows, "mammals", "Euclidean SVM")


def test_the_same_seed_gives_the_same_numbers(config, rows):
    again = experiment.fill("normals, d = 2", config)
    np.testing.assert_equal(again, [row for row in rows if row[0] == "normals, d = 2"])


def test_a_tree_has_branches_that_begin_at_one_another():
    X, y, _, _ = experiment.trees("trees, six branches", experiment.Config(), seed=0)
    assert np.all(np.linalg.norm(X, axis=1) < 1)
    assert np.unique(y).tolist() == list(range(6))
    between = [[distance(X[y == i][:, None], X[y == j]).min() for j in range(6) if j != i] for i in range(6)]
    assert np.max(np.min(between, axis=1)) < 0.5


def test_results_are_written_with_their_setting(config, rows, tmp_path):
    experiment.write(rows, config, 1.0, tmp_path)
    assert len((tmp_path / "reference_points.csv").read_text().splitlines()) == 1 + len(rows)
    assert "| mammals | 2-fold | " in (tmp_path / "reference_points.md").read_text()
    assert '"draws": 2' in (tmp_path / "reference_points.json").read_text()
