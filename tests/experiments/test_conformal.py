"""The experiment on prediction sets, on the mammals with few splits."""

import conformal as experiment
import pytest

CONFIG = experiment.Config(splits=2)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "find_spec", lambda name: None)  # without mapie
        yield experiment.run(CONFIG, tmp_path_factory.mktemp("conformal"))


def test_every_kind_of_set_is_measured_near_its_promise(tables):
    coverage, _ = tables
    assert [(row["sets by"], row["by class"]) for row in coverage] == [
        (by, own) for by in ("probability", "distance") for own in ("yes", "no")
    ]
    assert all(0.85 < row["coverage"] < 0.96 for row in coverage)


def test_distances_find_more_of_a_new_class_than_a_threshold_with_as_many_false_calls(tables):
    by = {row["unknown by"]: row for row in tables[1]}
    assert by["threshold"]["known"] == pytest.approx(by["distance"]["known"], abs=0.01)
    assert by["distance"]["new"] > by["threshold"]["new"] + 0.2
