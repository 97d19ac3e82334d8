"""Scaling of fits: measurements on a small cluster, and the estimates computed from them."""

import numpy as np
import pytest

pytest.importorskip("distributed")

import scaling

MODEL = "PoincareSVC"


def row(what, workers, rows, pass_seconds, client_seconds=0.0, passes=10):
    cell = scaling._cell(MODEL, what, workers, rows, 8)
    found = {"passes": passes, "pass_seconds": pass_seconds, "client_seconds": client_seconds}
    return cell | found | {"bytes_to_a_worker": 500, "bytes_from_a_worker": 70_000}


ROWS = [
    row(scaling.ROWS, 1, 1000, 1.0, 0.1),
    row(scaling.ROWS, 1, 100_000, 10.0, 0.5),
    row(scaling.MESSAGES, 2, 10, 0.02),
    row(scaling.MESSAGES, 10, 10, 0.3, passes=12),
    row(scaling.CHUNKS, 2, 100_000, 5.5, 0.5),
]


def test_the_time_of_a_fit_is_modelled_by_rows_messages_and_client():
    law = scaling.Law.of(ROWS)
    assert (law.passes, law.client, law.client_rows) == (12, 0.5, 100_000)
    assert law.per_row == pytest.approx(1e-5)
    assert law.per_worker == pytest.approx(0.0025)
    on_rows, messages, client = law.parts(10_000_000, 50)
    assert on_rows == pytest.approx(12 * 1e-5 * 10_000_000 / 50)
    assert messages == pytest.approx(12 * 0.0025 * 50)
    assert client == pytest.approx(0.5 * 10)


def test_the_table_holds_measurements_the_check_and_expectations():
    rows = ROWS + [one | {"model": "PoincareLogisticRegression"} for one in ROWS]
    told = scaling.text(rows, scaling.Config())
    assert f"| {MODEL} | {scaling.ROWS} | 1 | 100,000 | 8 | 10 | 1 | 0.5 | 500 | 70,000 |" in told
    assert "**measured 6 s**" in told
    expected = sum(scaling.Law.of(ROWS).parts(10**9, 10))
    assert f"| {MODEL} | 1e+09 | 10 |" in told
    assert f"| {expected / 60:.0f} min |" in told


def test_a_measured_fit_counts_its_passes_and_bytes():
    config = scaling.Config(rows_per_worker=300)
    found = scaling.measure(config, scaling._cell(MODEL, scaling.MESSAGES, 2, 600, 4))
    assert found["passes"] >= 3
    assert found["pass_seconds"] > 0
    # At least the bytes of the labels and positions of the rows near the margin, at most those of all rows.
    assert 100 < found["bytes_from_a_worker"] < 600 * 8 * 10
    assert found["bytes_to_a_worker"] < 5000


def test_classes_overlap():
    X, y = scaling.overlapping(2000, 2, 0)
    assert X.dtype == np.float32
    assert 0.8 < np.mean((X[:, 0] > 0) == y) < 0.95


def test_hundreds_of_seconds_are_written_without_an_exponent():
    line = scaling._line(MODEL, 10**10, 10, (771.3, 1.52, 0.0478), scaling.Config(), "13 min")
    assert line.split(" | ")[3:6] == ["770", "1.5", "0.048"]
