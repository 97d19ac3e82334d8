"""Table I in a small configuration: every step of the full run, in seconds."""

import pytest
import table1


@pytest.fixture(scope="module")
def config():
    return table1.Config(n_samples=800, n_features=4, margins=(1.0, 0.1), runs=3)


@pytest.fixture(scope="module")
def cells(config):
    return [table1.fill(config, fifths, margin) for fifths in config.fifths for margin in config.margins]


def test_no_run_is_above_its_bound(cells):
    for cell in cells:
        assert len(cell.first) == len(cell.second) == 3
        assert all(f <= min(b, cell.bound) for f, b in zip(cell.first, cell.data_bound, strict=True))


def test_a_smaller_margin_needs_more_updates_and_the_second_order_fewer(cells):
    wide, narrow = cells[0], cells[1]
    assert sum(narrow.first) > sum(wide.first)
    assert sum(narrow.second) < sum(narrow.first)


def test_the_hyperboloid_perceptron_does_not_converge_where_ours_does(cells):
    outcomes = [outcome for cell in cells for outcome in cell.hyperboloid]
    assert len(outcomes) == 12
    assert set(outcomes) <= {"max_epochs", "undefined"}


def test_points_within_the_margin_are_cut_out_of_n(config, cells):
    assert all(rows < config.n_samples for cell in cells for rows in cell.rows)


def test_the_same_seed_fills_the_same_cell(config, cells):
    assert table1.fill(config, 1, 1.0) == cells[0]


def test_results_are_written_with_their_setting(config, cells, tmp_path):
    table1.write(cells, config, 1.0, tmp_path)
    assert len((tmp_path / "table1.csv").read_text().splitlines()) == 1 + 4 * 3
    assert "| R/5 | 1 |" in (tmp_path / "table1.md").read_text()
    assert '"runs": 3' in (tmp_path / "table1.json").read_text()


def test_printed_bounds_are_the_papers():
    for (fifths, margin), bound in table1.PAPER_BOUND.items():
        ours = table1.paper_bound(fifths * 0.95 / 5, 0.95, margin)
        assert ours == pytest.approx(bound, rel=0.005)
