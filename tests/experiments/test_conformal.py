"""The experiment on prediction sets, on the mammals with few splits."""

import conformal as experiment
import pytest

CONFIG = experiment.Config(splits=2)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "find_spec", lambda name: None)  # without mapie
        yield experiment.run(CONFIG, tmp_path_factory.mktemp("conformal"))


def test_every_kind_of_set_has_about_the_requested_coverage(tables):
    coverage, _ = tables
    assert [(row["sets by"], row["by class"]) for row in coverage] == [
        (by, own) for by in ("probability", "distance") for own in ("yes", "no")
    ]
    assert all(0.85 < row["coverage"] < 0.96 for row in coverage)


def test_distances_detect_a_new_class_better_than_a_threshold_at_the_same_false_alarm_rate(tables):
    by = {row["unknown by"]: row for row in tables[1]}
    assert by["threshold"]["known"] == pytest.approx(by["distance"]["known"], abs=0.01)
    assert by["distance"]["new"] > by["threshold"]["new"] + 0.2
