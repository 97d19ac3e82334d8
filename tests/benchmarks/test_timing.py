"""Result files of the benchmarks: rows survive an interrupted run, and a ratio that grew is marked."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "timing.py"


@pytest.fixture
def timing(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmark_timing", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look up their module
    spec.loader.exec_module(module)
    module.RESULTS = tmp_path
    return module


def measure(timing, **ratios):
    with timing.results("name") as record:
        for case, ratio in ratios.items():
            record("table", case, ours=timing.Times(ratio, ratio), ratio=timing.Ratio(ratio))


def runs(timing):
    return json.loads((timing.RESULTS / "name.json").read_text())


def interrupt(timing):
    with timing.results("name") as record:
        record("table", "a", ratio=timing.Ratio(1.0))
        raise KeyboardInterrupt


def test_an_interrupted_run_keeps_its_rows(timing):
    with pytest.raises(KeyboardInterrupt):
        interrupt(timing)
    assert [row["case"] for row in runs(timing)[0]["rows"]] == ["a"]
    assert [path.name for path in timing.RESULTS.iterdir()] == ["name.json"]


def test_a_run_records_date_commit_machine_and_arguments(timing):
    measure(timing, a=1.0)
    (run,) = runs(timing)
    assert {"date", "commit", "machine", "arguments"} <= set(run)
    assert {"cpu", "cores", "memory_gib", "os", "python", "numpy", "scipy", "numba", "blas"} <= set(run["machine"])


def test_recorded_arguments_name_no_folder_of_the_machine(timing, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["compare.py", "--base", str(tmp_path / "old"), "--cases", "svc*", "../older"])
    measure(timing, a=1.0)
    assert runs(timing)[0]["arguments"] == ["--base", "old", "--cases", "svc*", "../older"]


def test_rows_that_are_not_measured_again_are_kept(timing):
    measure(timing, a=1.0, b=2.0)
    measure(timing, a=1.5)
    assert [[row["case"] for row in run["rows"]] for run in runs(timing)] == [["a"], ["b"]]


@pytest.mark.parametrize(("ratio", "marked"), [(0.9, False), (1.04, False), (1.06, True)])
def test_a_ratio_is_marked_if_it_grew_by_more_than_5_percent(timing, capsys, ratio, marked):
    measure(timing, a=1.0)
    capsys.readouterr()
    measure(timing, a=ratio)
    printed = capsys.readouterr().out
    assert "(was 1" in printed
    assert ("%!" in printed) == marked


def test_results_of_another_machine_are_kept_and_not_compared(timing, monkeypatch, capsys):
    measure(timing, a=1.0)
    here = timing.machine()
    monkeypatch.setattr(timing, "machine", lambda: here | {"cpu": "another"})
    measure(timing, a=2.0)
    assert "was" not in capsys.readouterr().out
    assert [run["machine"]["cpu"] for run in runs(timing)] == ["another", here["cpu"]]
