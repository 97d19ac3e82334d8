"""Table I in a small configuration: every step of the full run, in seconds."""

import itertools

import ledger
import numpy as np
import pytest
import table1


@pytest.fixture(scope="module")
def config():
    return table1.Config(n_samples=800, n_features=4, margins=(1.0, 0.1), runs=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("table1")


@pytest.fixture(scope="module")
def rows(config, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "fill", lambda *a, **k: ledger.fill(*a, **k | {"n_jobs": 1}))
        return table1.run(config, folder)


def test_no_run_is_above_its_bound(rows, folder):
    assert len(rows) == 12
    assert all(row["first_order"] <= min(row["data_bound"], row["bound"]) for row in rows)
    assert "\n0 of 12 runs are above their bound." in (folder / "table1.md").read_text()


def test_a_smaller_margin_needs_more_updates_and_the_second_order_fewer(rows):
    wide, narrow = (ledger.chosen(rows, "first_order", fifths_of_R=1, margin=margin) for margin in (1.0, 0.1))
    assert sum(narrow) > sum(wide)
    assert sum(ledger.chosen(rows, "second_order", fifths_of_R=1, margin=0.1)) < sum(narrow)


def test_the_hyperboloid_perceptron_does_not_converge_where_ours_does(rows):
    assert {row["hyperboloid"] for row in rows} <= {"max_epochs", "undefined"}


def test_points_within_the_margin_are_cut_out_of_n(config, rows):
    assert all(row["rows"] < config.n_samples for row in rows)


def test_draws_that_leave_a_class_empty_are_skipped():
    config = table1.Config(n_samples=30, n_features=4)
    draws = [table1.draw(config, 3, 1.0, seed) for seed in range(20)]
    whole = [X for X, y, _, _ in draws if len(np.unique(y)) == 2]
    assert len(whole) < 20
    for run, X in enumerate(whole):
        assert np.array_equal(table1.draw_of_run(config, 3, 1.0, run)[0], X)


def test_a_cell_of_the_table_is_reproducible(config, rows):
    again = table1.measure(config, rows[1])
    assert again == {column: rows[1][column] for column in again}


def test_results_are_written_with_their_configuration(config, rows, folder):
    assert ledger.read(folder / "table1.csv") == rows
    text = (folder / "table1.md").read_text()
    assert all(f"| {p} | {margin} |" in text for p, margin in itertools.product(("R/5", "3R/5"), ("1", "0.1")))
    assert '"runs": 3' in (folder / "table1.json").read_text()


def test_printed_bounds_are_the_papers():
    for (fifths, margin), bound in table1.PAPER_BOUND.items():
        ours = table1.paper_bound(fifths * 0.95 / 5, 0.95, margin)
        assert ours == pytest.approx(bound, rel=0.005)
