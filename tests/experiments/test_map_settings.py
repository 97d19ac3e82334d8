"""The experiment on settings of Poincaré maps, with few cells."""

import map_settings as experiment
import pytest
from sklearn.manifold import trustworthiness


def test_every_setting_is_measured(tmp_path):
    config = experiment.Config(sizes=(100,), neighbours=(6,), depths=(1,))
    by_size, by_setting = experiment.run(config, tmp_path)
    assert [(row["set"], row["cells"], row["n_neighbors"]) for row in by_size] == [("tree", 100, 6)]
    assert [row["settings"] for row in by_setting] == list(experiment.SETTINGS)
    assert all(row["15-NN"] > 80 for row in by_setting)
    assert "| original |" in (tmp_path / "map_settings.md").read_text()


def test_trustworthiness_near_the_centre_is_that_of_a_flat_embedding():
    X, _ = experiment.made_tree(80, 2, 0)
    points = 1e-6 * X[:, :2]
    assert experiment.trust(X, points) == pytest.approx(trustworthiness(X, points, n_neighbors=10), abs=1e-12)
