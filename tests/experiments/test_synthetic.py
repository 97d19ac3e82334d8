"""The synthetic figures in a small configuration: every step of the full run, in seconds."""

import ledger
import numpy as np
import pytest
import synthetic
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score

SCORES = ("train_accuracy", "train_f1", "test_accuracy", "test_f1", "gap")


@pytest.fixture(scope="module")
def config():
    return synthetic.Config(
        d=(2, 12),
        N=(200, 400),
        margin=(0.1, 0.01),
        base=(2, 400, 0.01),
        fifths=(1, 3),
        runs=2,
        held_out=300,
        n_jobs=1,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("synthetic")


@pytest.fixture(scope="module")
def rows(config, folder):
    return synthetic.run(config, folder)


def test_one_of_three_parameters_varies_at_a_time(config):
    assert synthetic.settings(config) == [(2, 400, 0.01), (12, 400, 0.01), (2, 200, 0.01), (2, 400, 0.1)]


def test_expensive_dimensions_come_last_with_fewer_runs():
    config = synthetic.Config(fewer=((10, 2), (100, 9)))
    cells = synthetic.all_cells(config)
    assert [len({cell["run"] for cell in cells if cell["d"] == d}) for d in (2, 10, 100)] == [3, 2, 3]
    assert config.runs_at(100) == 3
    dear = [cell["d"] > 2 for cell in cells]
    assert dear == sorted(dear)
    runs = [cell["run"] for cell in cells if cell["d"] == 2]
    assert runs == sorted(runs)
    assert synthetic.runs_in_words(config) == "3 runs, 2 at d = 10"


def test_scores_match_scikit_learn():
    rng = np.random.default_rng(0)
    for labels, predicted in [*rng.choice([-1, 1], (10, 2, 30)), ([1, 1, -1], [1, 1, 1])]:
        found = synthetic.scores("test", np.array(labels), np.array(predicted))
        f1 = f1_score(labels, predicted, average="macro", zero_division=0)
        assert found["test_f1"] == pytest.approx(100 * f1, abs=1e-4)
        assert found["test_accuracy"] == pytest.approx(100 * np.mean(np.array(labels) == predicted), abs=1e-4)


def test_every_cell_is_measured(config, rows):
    assert len(rows) == 4 * 2 * 2 * len(synthetic.METHODS)
    assert all(50 < row[score] <= 100 for row in rows for score in SCORES[:1])
    assert all(row["seconds"] > 0 for row in rows)
    assert {row["method"] for row in rows if row["gap"] == ""} == {"hyperboloid SVM"}


def test_with_the_true_p_the_training_points_are_separated(rows):
    assert np.mean(ledger.chosen(rows, "train_f1", method="Poincaré SVM, true p", d=2)) > 99.5


def test_the_papers_euclidean_svm_lacks_an_intercept(rows):
    means = {m: np.mean(ledger.chosen(rows, "test_accuracy", method=m, fifths=3)) for m in synthetic.METHODS}
    assert means["Euclidean SVM, no intercept"] < means["Euclidean SVM"] - 5
    assert means["Euclidean SVM"] < means["Poincaré SVM"]


def test_without_the_true_p_only_the_reference_differs():
    """The texts compare both: a search for p instead of the true p."""
    given, found = (synthetic.classifier(method, [0.5, 0.0]).get_params() for method in synthetic.NAMES[:2])
    assert found.pop("reference") == "boundary"
    assert given.pop("reference") == [0.5, 0.0]
    assert found == given


def test_a_cell_of_the_table_is_reproducible(config, rows):
    for row in rows[:: len(rows) // 7]:
        again = synthetic.measure(config, row)
        assert {score: again[score] for score in SCORES} == {score: row[score] for score in SCORES}


def test_runs_differ_in_their_points_and_hyperplanes(config):
    (X, *_, p), (X_other, *_, p_other) = (synthetic.draw(config, 2, 200, 0.01, 1, run) for run in (0, 1))
    assert not np.any(X_other == X)
    assert np.linalg.norm(p) == pytest.approx(np.linalg.norm(p_other))
    assert not np.any(p == p_other)


def test_both_sides_have_training_points_however_few(config):
    small = synthetic.Config(held_out=2000)
    for run in range(20):
        _, y, _, y_test, _ = synthetic.draw(small, 50, 4, 0.01, 3, run)
        assert set(y) == {-1, 1}
        assert len(y_test) == 2000


def test_the_picture_has_nine_panels_with_medians_bands_and_means(config, rows):
    figure = synthetic.picture(rows, config, 3)
    assert len(figure.axes) == 9
    for ax in figure.axes:
        assert len(ax.collections) == len(synthetic.METHODS)
        assert len(ax.lines) == 2 * len(synthetic.METHODS)
    ax, wanted = figure.axes[0], {"N": 400, "margin": 0.01, "fifths": 3, "method": "Euclidean SVM"}
    values = [ledger.chosen(rows, "train_f1", d=d, **wanted) for d in (2, 12)]
    line = next(line for line in ax.lines if line.get_label() == "Euclidean SVM")
    np.testing.assert_allclose(line.get_xydata(), np.column_stack([(2, 12), np.median(values, axis=1)]))
    plt.close(figure)


def test_results_are_written_with_their_configuration(config, rows, folder):
    assert ledger.read(folder / "synthetic.csv") == rows
    assert '"name": "quick"' in (folder / "synthetic.json").read_text()
    text = (folder / "synthetic.md").read_text()
    assert text.startswith("Synthetic data, quick configuration.")
    assert f"meanwhile: {np.median([row['load'] for row in rows]):.0f} (median)" in text
    assert text.count(" | 2 | 100") + text.count(" | 2 | 99") >= 4
    assert text.count("\n| ") == 2 + 2 * 4
    for fifths in config.fifths:
        assert (folder / f"synthetic_{fifths}.png").stat().st_size > 10_000
        assert "<svg" in (folder / f"synthetic_{fifths}.svg").read_text()
