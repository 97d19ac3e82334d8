"""Table II in small configurations, and its first rows on the published files: every step of the full run."""

from pathlib import Path

import ledger
import numpy as np
import pytest
import table2

from hyplearn.datasets.files import EMBEDDING

SMALL = (240, 6, 4, 3.0)


@pytest.fixture(scope="module")
def config():
    return table2.Config(sets=(table2.IMAGENET,), stand_in=SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("table2")


@pytest.fixture(scope="module")
def rows(config, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HYPLEARN_DATA", raising=False)
        table2.data_of.cache_clear()
        yield table2.run(config, folder)
        table2.data_of.cache_clear()


def test_every_method_runs_and_the_stand_in_data_once(rows):
    assert len(rows) == len(table2.METHODS)
    assert all(25 < row["accuracy"] <= 100 and 0 < row["macro_f1"] <= 100 and row["seconds"] > 0 for row in rows)


def test_without_the_file_a_stand_in_is_named_as_such(rows, config, folder):
    name = "synthetic stand-in for mini-ImageNet (240 points, 6-d, 4 classes)"
    assert {row["data"] for row in rows} == {name}
    assert f"| {name} | hyperboloid SVM |" in (folder / "table2.md").read_text()
    assert "63.59" not in (folder / "table2.md").read_text()
    assert table2.STAND_IN_WHY in (folder / "table2.md").read_text()
    assert table2.STAND_IN_WHY not in table2.text([row | {"data": table2.IMAGENET} for row in rows], config)


def test_the_file_takes_the_place_of_the_stand_in(config, tmp_path, monkeypatch):
    data = table2.stand_in(config)
    np.savez(tmp_path / EMBEDDING, x_train=data.X_train, y_train=data.y_train, x_test=data.X_test, y_test=data.y_test)
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path))
    table2.data_of.cache_clear()
    name, read = table2.data_of(table2.IMAGENET, config)
    table2.data_of.cache_clear()
    assert name == "mini-ImageNet"
    assert read.reference_points.shape == (4, 6)
    cell = {"set": name, "protocol": "official", "trial": 0, "method": table2.AUTHORS}
    line = table2.text([cell | table2.measure(config, cell)], config).splitlines()[4]
    assert line.split(" | ")[3] == "63.59"


def test_published_sets_have_all_their_trials(published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    cells = table2.all_cells(table2.Config(sets=("Olsson",), official=5, resampled=3))
    assert len(cells) == 8 * len(table2.METHODS)
    assert {cell["trial"] for cell in cells if cell["protocol"] == "official"} == set(range(5))


@pytest.mark.parametrize("method", [table2.OURS, table2.HYPERBOLOID])
def test_trials_of_the_official_split_agree(rows, config, method):
    row = next(row for row in rows if row["method"] == method and row["protocol"] == "official")
    assert table2.measure(config, row | {"trial": 1})["accuracy"] == row["accuracy"]


def test_resampled_splits_differ(config):
    data = table2.stand_in(config)
    splits = [table2.split(data, "resampled", trial) for trial in (0, 1)]
    assert all(len(split[3]) == len(data.y_test) for split in splits)
    assert not np.array_equal(splits[0][0], splits[1][0])


def test_results_are_written_with_their_configuration(rows, folder):
    assert ledger.read(folder / "table2.csv") == rows
    assert '"name": "quick"' in (folder / "table2.json").read_text()
    text = (folder / "table2.md").read_text()
    assert text.count("\n| synthetic") == len(table2.METHODS)
    assert text.count("\n**") == len(table2.WHY) + 1  # one more for the stand-in


def test_the_stored_results_have_the_notes_of_the_generator():
    stored = (Path(table2.__file__).parent / "results" / "table2.md").read_text()
    for note in (*(f"**{method}.** {why}\n" for method, why in table2.WHY.items()), table2.STAND_IN_WHY):
        assert note in stored


def test_the_defaults_are_not_said_to_search_for_a_point():
    assert table2.classifier(table2.OURS, np.zeros((1, 2)), 5.0, 0).reference is None
    assert "search" not in table2.STAND_IN_WHY


@pytest.mark.parametrize("name", ["Olsson", "CIFAR10", "Fashion-MNIST"])
@pytest.mark.parametrize("method", [table2.AUTHORS, table2.OPTIMUM, table2.STRAIGHT])
def test_the_papers_protocol_gives_the_papers_numbers(published_data, monkeypatch, name, method):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    cell = {"set": name, "protocol": "official", "trial": 0, "method": method}
    accuracy, _ = table2.PAPER[name, table2.AUTHORS if method == table2.OPTIMUM else method]
    assert table2.measure(table2.Config(), cell)["accuracy"] == pytest.approx(accuracy, abs=0.011)


def test_seconds_are_shown_with_no_more_digits_than_they_were_kept_with():
    assert table2.shown([0.0312, 0.0313]) == "0.03 ± 0.00"
    assert [table2.shown([seconds]) for seconds in (8.36, 12.0, 162.0)] == ["8.36", "12.0", "162"]
