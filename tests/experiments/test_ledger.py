"""Each cell is measured only once, even if the process is interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import ledger
import pytest
from joblib import parallel_config

HERE = os.path.dirname(__file__)
CELLS = [{"set": "a", "trial": trial} for trial in range(6)]
PROGRAM = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
import ledger
from test_ledger import CELLS, Config

def slow(cell):
    if cell["trial"] == 3:
        time.sleep(60)
    return {{"value": cell["trial"] ** 2}}

ledger.fill(Path({folder!r}), "squares", Config(), CELLS, slow)
"""


@dataclass(frozen=True)
class Config:
    name: str = "test"
    factor: int = 1
    runs: int = 6


class KilledError(Exception):
    pass


def counting(seen, dies_at=None):
    def measure(cell):
        if cell["trial"] == dies_at:
            raise KilledError
        seen.append(cell["trial"])
        return {"value": cell["trial"] ** 2}

    return measure


def fill(folder, seen, config=None, dies_at=None, **options):
    cells = CELLS[: config.runs] if config else CELLS
    return ledger.fill(folder, "squares", config or Config(), cells, counting(seen, dies_at), **options)


def test_rows_come_back_in_order_and_are_written_as_they_are(tmp_path):
    rows = fill(tmp_path, [])
    assert rows == [{**cell, "value": cell["trial"] ** 2} for cell in CELLS] == ledger.read(tmp_path / "squares.csv")
    assert json.loads((tmp_path / "squares.json").read_text())["config"] == {"name": "test", "factor": 1, "runs": 6}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["squares.csv", "squares.json"]


def test_a_killed_process_leaves_its_cells_to_the_next(tmp_path):
    path = [os.path.dirname(ledger.__file__), os.path.dirname(__file__), *sys.path]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(path=path, folder=str(tmp_path))])
    part = tmp_path / "squares.part.jsonl"
    limit = time.monotonic() + 300
    while not (part.exists() and part.read_text().count("\n") == 4) and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    seen = []
    rows = fill(tmp_path, seen)
    assert seen == [3, 4, 5]
    assert [row["value"] for row in rows] == [0, 1, 4, 9, 16, 25]


def test_an_incomplete_line_is_measured_again(tmp_path):
    with pytest.raises(KilledError):
        fill(tmp_path, [], dies_at=4)
    part = tmp_path / "squares.part.jsonl"
    part.write_text(part.read_text()[:-7])
    seen = []
    rows = fill(tmp_path, seen)
    assert seen == [3, 4, 5]
    assert [row["trial"] for row in rows] == list(range(6))


def test_another_configuration_starts_over(tmp_path):
    with pytest.raises(KilledError):
        fill(tmp_path, [], dies_at=4)
    seen = []
    fill(tmp_path, seen, Config(factor=2))
    assert seen == list(range(6))


def test_runs_are_added_to_a_finished_table(tmp_path):
    fill(tmp_path, [], Config(runs=3), grows=("runs",))
    seen = []
    rows = fill(tmp_path, seen, Config(runs=5), grows=("runs",))
    assert seen == [3, 4]
    assert [row["value"] for row in rows] == [0, 1, 4, 9, 16]
    assert ledger.read(tmp_path / "squares.csv") == rows
    assert json.loads((tmp_path / "squares.json").read_text())["config"]["runs"] == 5


@pytest.mark.parametrize(
    ("config", "grows"), [(Config(runs=5), ()), (Config(factor=2), ("runs",)), (Config(runs=3), ("runs",))]
)
def test_nothing_is_added_where_all_is_there_or_more_than_the_runs_differs(tmp_path, config, grows):
    fill(tmp_path, [], Config(runs=3), grows=("runs",))
    seen = []
    fill(tmp_path, seen, config, grows=grows)
    assert seen == list(range(config.runs))


def test_an_unfinished_table_can_be_ended_with_fewer_runs(tmp_path):
    with pytest.raises(KilledError):
        fill(tmp_path, [], Config(), dies_at=4, grows=("runs",))
    seen = []
    assert len(fill(tmp_path, seen, Config(runs=3), grows=("runs",))) == 3
    assert seen == []


def test_cells_that_are_measured_side_by_side_come_back_in_order(tmp_path):
    def later_first(cell):
        time.sleep(0.02 * (5 - cell["trial"]))
        return {"value": cell["trial"] ** 2}

    with parallel_config(backend="threading"):
        rows = ledger.fill(tmp_path, "squares", Config(), CELLS, later_first, n_jobs=6)
    assert rows == fill(tmp_path, [])


def test_selected_rows_are_complete():
    rows = [{"a": 1, "b": 2, "v": 3}, {"a": 1, "b": 3, "v": 4}]
    assert ledger.chosen(rows, "v", a=1) == [3, 4]
    assert ledger.chosen(rows, "v", a=1, b=3) == [4]


def test_a_finished_run_is_measured_again_and_stays_whole_until_then(tmp_path):
    first = fill(tmp_path, [])
    seen = []
    with pytest.raises(KilledError):
        fill(tmp_path, seen, dies_at=2)
    assert seen == [0, 1]
    assert ledger.read(tmp_path / "squares.csv") == first


def test_time_adds_up_over_restarts(tmp_path, monkeypatch):
    clock = iter([0, 10, 20, 100, 101, 102, 103, 104])
    monkeypatch.setattr(ledger, "perf_counter", lambda: next(clock))
    with pytest.raises(KilledError):
        fill(tmp_path, [], dies_at=2)
    fill(tmp_path, [])
    assert json.loads((tmp_path / "squares.json").read_text())["seconds"] == 24


def test_progress_shows_the_remaining_time_only_on_a_terminal(tmp_path, monkeypatch, capsys):
    fill(tmp_path, [])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(ledger.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(ledger, "perf_counter", iter(range(0, 700, 100)).__next__)
    fill(tmp_path, [])
    told = capsys.readouterr().err.split("\r")[1:]
    assert told[0].strip() == "squares: 1 of 6 cells, 100 s, 8:20 left"
    assert told[-1] == "squares: 6 of 6 cells, 600 s, 0:00 left \n"


def test_a_record_names_the_code_that_made_it(tmp_path):
    fill(tmp_path, [])
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout
    assert json.loads((tmp_path / "squares.json").read_text())["commit"] == (head.strip() or "unknown")


def test_without_a_checkout_a_record_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    fill(tmp_path, [])
    assert json.loads((tmp_path / "squares.json").read_text())["commit"] == "unknown"


@pytest.mark.parametrize("commit", ["0012345", "626e901"])
def test_a_commit_that_looks_like_a_number_is_read_as_a_string(tmp_path, commit):
    ledger.write_rows(tmp_path / "rows.csv", [{"n": 3, "commit": commit}])
    assert ledger.read(tmp_path / "rows.csv") == [{"n": 3, "commit": commit}]
