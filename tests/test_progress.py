"""Progress of fits: speed during passes, gaps after passes, tasks, and steps of commands."""

import io
import re
from itertools import count

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TextColumn

from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, progress
from hyplearn.datasets import make_ball_classification
from hyplearn.progress import PassProgress, report_steps, report_tasks
from support.stored import npy


@pytest.fixture
def points(tmp_path):
    """900 points that are read in ten blocks, as if they did not fit into memory."""
    X, y, _, _ = make_ball_classification(900, 2, margin=0.1, random_state=0)
    return npy(tmp_path, X, y).limited(block_rows=90, memory=0)


@pytest.mark.parametrize(
    "estimator",
    [
        PoincareSVC(calibration=None, verbose=1),
        PoincareLogisticRegression(verbose=1),
        PoincarePerceptron(calibration=None, shuffle=False, max_epochs=3, verbose=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_pass_is_reported_while_it_runs(points, estimator, monkeypatch, capsys):
    monkeypatch.setattr(progress.time, "monotonic", count(0.0, 10.0).__next__)
    estimator.fit(points)
    lines = capsys.readouterr().out.splitlines()
    name = re.escape(f"{type(estimator).__name__}: pass")
    found = [re.fullmatch(rf"{name} (\d+) over .+: ([\d,]+) of 900 rows, ([\d,]+) per second", line) for line in lines]
    seen = [(int(match[1]), int(match[2])) for match in found if match]
    assert seen == [(n, rows) for n in range(1, points.n_passes + 1) for rows in range(90, 901, 90)]
    assert any("gap" in line or "mistakes" in line for line in lines)


def test_progress_lines_of_a_pass_are_rate_limited(points, capsys):
    PoincareSVC(calibration=None, verbose=1).fit(points)
    assert "per second" not in capsys.readouterr().out


def test_the_pass_has_a_bar_next_to_those_of_the_gaps(points, monkeypatch):
    screen = io.StringIO()
    columns = TextColumn("{task.description}|{task.completed}|{task.total}|{task.fields[message]}")
    bars = Bars(columns, console=Console(file=screen, force_terminal=True, width=120))
    monkeypatch.setattr(progress, "_terminal_bars", lambda: bars)
    PoincareSVC(calibration=None, verbose=1).fit(points)
    passes, problem = bars.tasks
    assert passes.description == f"pass {points.n_passes}"
    assert (passes.completed, passes.total) == (900, 900)
    assert re.fullmatch(r"900 rows, [\d,]+ per second", passes.fields["message"])
    assert problem.completed == pytest.approx(problem.total)
    assert "gap" in screen.getvalue()


def test_a_watcher_of_blocks_is_called_during_the_fit_and_restored_after_a_failure(points):
    seen = []
    points.on_block = seen.append
    PoincareSVC(calibration=None, verbose=1).fit(points)
    assert sum(seen) == 900 * points.n_passes

    def fail_in_the_second_pass(rows):
        seen.append(rows)
        if sum(seen) > 900:
            raise RuntimeError("stopped")

    seen.clear()
    points.on_block = fail_in_the_second_pass
    with pytest.raises(RuntimeError, match="stopped"):
        PoincareSVC(calibration=None, verbose=1).fit(points)
    assert points.on_block == fail_in_the_second_pass


def test_speed_is_measured_from_the_first_block_of_the_pass(points, monkeypatch):
    moments = iter([10.0, 12.0, 100.0, 101.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(moments))
    current = PassProgress(points)
    speeds = []
    for n_pass in (1, 2):
        points.n_passes = n_pass
        for rows in (90, 50):
            current.advance(rows)
            speeds.append(current.speed)
    assert np.array_equal(speeds, [0, 25, 0, 50])


def test_nothing_is_shown_unless_asked_for(points, capsys, monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", count(0.0, 10.0).__next__)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    PoincareSVC(calibration=None).fit(points)
    with report_tasks("Fit", verbose=0) as report:
        report("step 1", 0.5)
    assert capsys.readouterr() == ("", "")


def test_lines_name_the_computation_and_the_task_and_empty_lines_are_skipped(capsys):
    with report_tasks("Fit", verbose=1) as report:
        report("step 1", 0.5)
        report("step 2", 0.6, task="descent")
        report("short", 0.7, line="long")
        report("hidden", 0.8, line="")
    assert capsys.readouterr().out.splitlines() == ["Fit: step 1", "Fit: descent, step 2", "Fit: long"]


def test_bars_are_named_after_the_computation_and_its_tasks(monkeypatch):
    bars = Bars(TextColumn("{task.fields[message]}"), console=Console(file=io.StringIO()))
    monkeypatch.setattr(progress, "_terminal_bars", lambda: bars)
    with report_tasks("Fit", verbose=1) as report:
        report("step 1", 0.5, line="")
        report("step 2", 0.25, task="descent")
        report("step 3", 0.75)
    shown = [(task.description, task.completed, task.fields["message"]) for task in bars.tasks]
    assert shown == [("Fit", 0.75, "step 3"), ("descent", 0.25, "step 2")]


def test_steps_are_one_bar_in_a_terminal_and_silent_elsewhere(monkeypatch, capsys):
    with report_steps(2) as report:
        report("first")
    assert capsys.readouterr() == ("", "")
    updates = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(Bars, "update", lambda self, task, **fields: updates.append(fields))
    with report_steps(2) as report:
        for text in ("first", "[second]", "one too many"):
            report(text)
    expected = [("first", 0), (r"\[second]", 1), ("one too many", 2)]
    assert [(fields["description"], fields["completed"]) for fields in updates] == expected
