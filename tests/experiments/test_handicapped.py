"""The handicapped baseline: it has the stated faults, and the experiment measures their effects."""

import handicapped
import ledger
import looping
import numpy as np
import pytest

from hyplearn.datasets import make_ball_classification
from hyplearn.paper.arsinh_svm import objective
from hyplearn.paper.hyperboloid import hyperboloid_rows
from support import naive


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("handicapped")


@pytest.fixture(scope="module")
def rows(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handicapped, "fill", lambda *a, **k: ledger.fill(*a, **k | {"n_jobs": 1}))
        return handicapped.run(handicapped.Config(sizes=((2, 100),), epochs=4), folder)


@pytest.fixture
def problem():
    X, y, _, _ = make_ball_classification(120, 2, margin=0.2, random_state=0)
    return hyperboloid_rows(X, np.zeros(2), 1.0), y, np.array([0.3, 0.5, -0.9])


def visits(monkeypatch, problem, **options):
    """Mean number of visits of a row in an epoch."""
    seen = []
    products = looping.products
    monkeypatch.setattr(looping, "products", lambda u, R: seen.append(len(R)) or products(u, R))
    looping.LoopingHyperboloidSVC(**options)._epoch(*problem, 1e-6, np.random.default_rng(0))
    return sum(seen) / 2 / len(problem[0])


def test_wrong_batches_visit_every_row_many_times_and_right_ones_once(monkeypatch, problem):
    assert visits(monkeypatch, problem, right_batches=True) == 1
    assert 25 < visits(monkeypatch, problem) < 32


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_published_start_is_on_the_wrong_side(problem):
    R, y, _ = problem
    right, wrong = (looping.LoopingHyperboloidSVC(right_start=right)._start(R, y) for right in (True, False))
    assert np.mean(y * (R @ right) > 0) > 0.95
    assert np.mean(y * (R @ wrong) > 0) < 0.5


def test_without_faults_an_epoch_and_its_loss_match_the_problem(problem):
    R, y, u = problem
    rival = looping.LoopingHyperboloidSVC(C=3.0, right_batches=True)
    assert rival._loss(R, y, u) == pytest.approx(objective(R, y, np.full(len(y), 3.0), u))
    order = np.random.default_rng(0).permutation(120)
    # The published code adds the whole norm to every batch, the naive version a share; with one batch they agree.
    twin = naive.hyperboloid_epoch(R[order], y[order], np.full(120, 3.0), [0], 120, 1e-4, 1 - 1e-6, u)
    assert u - 1e-4 * rival._gradient(R, y, u) == pytest.approx(twin)


def test_every_method_is_measured_and_written(rows, folder):
    assert [row["method"] for row in rows] == list(handicapped.METHODS)
    assert [row["epochs"] for row in rows] == [4, 4, 4, 4, "", ""]
    assert ledger.read(folder / "handicapped.csv") == rows
    text = (folder / "handicapped.md").read_text()
    assert text.count("\n| 2 | 100 | ") == len(handicapped.METHODS)
    hours = float(text.split("loop, as published |")[1].split("|")[3])
    assert hours == pytest.approx(rows[0]["seconds"] * 1e4 / 3600, abs=0.06)


def test_the_table_says_how_few_points_the_smaller_class_has(rows, folder):
    """A macro-F1 near 50 may be due to a class with a single point, so the table shows the size of the class."""
    _, y, _ = handicapped.drawn(handicapped.Config(), rows[0])
    fewer = min(np.sum(y > 0), np.sum(y < 0))
    lines = (folder / "handicapped.md").read_text().splitlines()
    assert "smaller class" in lines[2]
    assert all(line.split(" | ")[2] == str(fewer) for line in lines[4:])
