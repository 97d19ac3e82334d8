"""The comparison of reference points in a small configuration: every step of the full run, in seconds."""

import ledger
import numpy as np
import pytest
import reference_points as experiment

from hyplearn.geometry import distance

SETS = ("mammals", "normals, d = 2", "normals, five classes", "two sides, d = 10", "trees, six branches")


@pytest.fixture(scope="module")
def config():
    return experiment.Config(sets=SETS, folds=2, draws=2, n_train=200, n_test=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reference_points")


@pytest.fixture(scope="module")
def rows(config, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "fill", lambda *a, **k: ledger.fill(*a, **k | {"n_jobs": 1}))
        return experiment.run(config, folder)


def found(rows, name, method):
    return np.mean(ledger.chosen(rows, "accuracy", set=name, method=method))


def test_every_method_is_tried_on_every_split(rows):
    assert len(rows) == len(SETS) * 2 * len(experiment.STRATEGIES + experiment.RIVALS)
    missing = {(row["set"], row["method"]) for row in rows if row["accuracy"] == ""}
    assert missing == {(name, "authors") for name in SETS} | {("two sides, d = 10", "hull")}


def test_an_unknown_boundary_is_found(rows):
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "means")
    assert found(rows, "two sides, d = 10", "boundary") > found(rows, "two sides, d = 10", "Euclidean SVM")


def test_the_default_is_no_worse_than_a_euclidean_svm_on_the_mammals(rows):
    assert found(rows, "mammals", "boundary") > found(rows, "mammals", "Euclidean SVM")


def test_a_cell_of_the_table_is_reproducible(config, rows):
    for row in (row for row in rows if row["method"] == "boundary"):
        assert experiment.measure(config, row) == {"accuracy": row["accuracy"]}


def test_a_tree_has_branches_that_begin_at_one_another():
    X, y, _, _ = experiment.trees("trees, six branches", experiment.Config(), seed=0)
    assert np.all(np.linalg.norm(X, axis=1) < 1)
    assert np.unique(y).tolist() == list(range(6))
    between = [[distance(X[y == i][:, None], X[y == j]).min() for j in range(6) if j != i] for i in range(6)]
    assert np.max(np.min(between, axis=1)) < 0.5


def test_results_are_written_with_their_configuration(rows, folder):
    assert ledger.read(folder / "reference_points.csv") == rows
    assert "| mammals | 2-fold | " in (folder / "reference_points.md").read_text()
    assert '"draws": 2' in (folder / "reference_points.json").read_text()


def test_published_sets_have_an_official_split_folds_and_the_smallest_random_ones(published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    config = experiment.Config()
    assert experiment.protocols("cifar10", config) == {"official": 1, "2-fold": 2}
    cells = [
        {"set": "olsson", "protocol": p, "split": n - 1} for p, n in experiment.protocols("olsson", config).items()
    ]
    assert [len(experiment.split(cell, config)[0]) for cell in cells] == [231, 160, 231]
