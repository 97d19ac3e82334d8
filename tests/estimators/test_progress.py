"""What a watched fit tells: passes with their speed while they run, gaps after them."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TextColumn

from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC
from hyplearn.data.arrays import ArrayPoints
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators import progress, streaming
from hyplearn.estimators.progress import Reading
from hyplearn.rows import points as points_module


@pytest.fixture
def points(monkeypatch):
    """900 points that are read in ten blocks, as if they did not fit into memory."""
    monkeypatch.setattr(streaming, "IN_MEMORY", 0)
    monkeypatch.setattr(points_module, "BLOCK_NUMBERS", 180)
    X, y, _, _ = make_ball_classification(900, 2, margin=0.1, random_state=0)
    return ArrayPoints(X, y)


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
def test_every_pass_is_told_while_it_runs(points, estimator, monkeypatch, capsys):
    monkeypatch.setattr(progress, "TOLD_EVERY", 0.0)
    estimator.fit(points)
    lines = capsys.readouterr().out.splitlines()
    name = re.escape(f"{type(estimator).__name__}: pass")
    told = [re.fullmatch(rf"{name} (\d+) over .+: ([\d,]+) of 900 rows, ([\d,]+) per second", line) for line in lines]
    seen = [(int(found[1]), int(found[2])) for found in told if found]
    assert seen == [(n, rows) for n in range(1, points.n_passes + 1) for rows in range(90, 901, 90)]
    assert any("gap" in line or "mistakes" in line for line in lines)


def test_lines_about_a_pass_are_rare(points, capsys):
    PoincareSVC(calibration=None, verbose=1).fit(points)
    assert "per second" not in capsys.readouterr().out


def test_a_bar_follows_the_pass_beside_those_of_the_gaps(points, monkeypatch):
    screen = io.StringIO()
    columns = TextColumn("{task.description}|{task.completed}|{task.total}|{task.fields[told]}")
    bars = Bars(columns, console=Console(file=screen, force_terminal=True, width=120))
    monkeypatch.setattr(progress, "watched_bars", lambda: bars)
    PoincareSVC(calibration=None, verbose=1).fit(points)
    reading, problem = bars.tasks
    assert reading.description == f"pass {points.n_passes}"
    assert (reading.completed, reading.total) == (900, 900)
    assert re.fullmatch(r"900 rows, [\d,]+ per second", reading.fields["told"])
    assert problem.completed == pytest.approx(problem.total)
    assert "gap" in screen.getvalue()


def test_who_was_told_before_is_told_still_and_again_after_a_failure(points):
    told = []
    points.on_block = told.append
    PoincareSVC(calibration=None, verbose=1).fit(points)
    assert sum(told) == 900 * points.n_passes
    with pytest.raises(ValueError, match="outside"):
        PoincareSVC(outside="project", verbose=1).fit(points)
    assert points.on_block == told.append


def test_speed_is_that_of_the_pass_from_its_first_block_on(points, monkeypatch):
    moments = iter([10.0, 12.0, 100.0, 101.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(moments))
    reading = Reading(points)
    speeds = []
    for n_pass in (1, 2):
        points.n_passes = n_pass
        speeds += [reading.after(90).speed, reading.after(50).speed]
    assert np.array_equal(speeds, [0, 25, 0, 50])
