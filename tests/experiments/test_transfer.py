"""The experiment on transfer, with one split of the simulated lineage and few cells."""

import warnings

import pytest
import transfer as experiment

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("scanpy")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scanpy warns about its dependencies
def test_placed_cells_are_classified_better_than_cells_of_another_map(tmp_path):
    accuracy, seconds = experiment.run(experiment.Config(sizes=(60,)), tmp_path)
    by = {row["query is"]: row["accuracy"] for row in accuracy}
    assert by["placed"] > 85
    assert by["together"] > 85
    assert by["apart"] < by["placed"] - 10
    assert list(seconds[0]) == ["cells", "map", "classify with sets", "transfer with sets", "peak memory"]
    assert "| placed |" in (tmp_path / "transfer.md").read_text()
