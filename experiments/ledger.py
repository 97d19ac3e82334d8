"""Measurements that survive an interruption: each finished cell is a line of a file, and a restart skips these cells.

The lines of an unfinished run are in ``name.part.jsonl``, whose first line is the configuration and the versions. A run
with the same configuration continues the file; any other run starts it anew. When all cells are measured, they are
written to ``name.csv``, which keeps its earlier content until then. An experiment can name parameters that may grow,
such as the number of runs. A later run that differs only in these keeps the finished rows and adds the missing ones.
"""

import csv
import json
import os
import sys
from time import perf_counter

from joblib import Parallel, delayed
from record import about, write_record


def fill(folder, name, config, cells, measure, *, cost=lambda cell: 1.0, grows=(), n_jobs=1):
    """Measure the missing cells; returns all rows ``{**cell, **measure(cell)}``.

    The rows are written to ``name.csv``, and the record of the run to ``name.json``. ``cost`` weighs the cells in the
    estimate of the remaining time, ``grows`` names the parameters of the configuration that may differ from those of an
    earlier run that is continued, and ``n_jobs`` is the number of cells to measure in parallel.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part, head = folder / f"{name}.part.jsonl", _without(about(config), grows)
    wanted = {key(cell, cell): i for i, cell in enumerate(cells)}
    earlier = _rows(part, json.dumps(head)) + _fewer(folder, name, head, grows, wanted)
    done = {key(row, cells[0]): row for row in earlier if key(row, cells[0]) in wanted}
    missing = [cell for cell in cells if key(cell, cell) not in done]
    before = max((row["elapsed"] for row in earlier), default=0.0)
    start, spent, total = perf_counter(), 0.0, sum(map(cost, missing))
    measured = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(_row)(measure, c) for c in missing)
    for row in measured:
        elapsed, spent = perf_counter() - start, spent + cost(row)
        done[key(row, cells[0])] = row | {"elapsed": before + elapsed}
        _append(part, done[key(row, cells[0])])
        _tell(f"{name}: {len(done)} of {len(cells)} cells, {elapsed:.0f} s", elapsed * (total - spent) / spent)
    rows = [done[which] for which in wanted]
    seconds = max(row.pop("elapsed") for row in rows)
    write_rows(folder / f"{name}.csv", rows)
    write_record(folder / f"{name}.json", config, seconds)
    part.unlink()
    return rows


def _row(measure, cell):
    return {**cell, **measure(cell)}


def _without(record, grows):
    """Return the record without the parameters of its configuration that may grow."""
    return record | {"config": {name: value for name, value in record["config"].items() if name not in grows}}


def _fewer(folder, name, head, grows, wanted):
    """Return the rows of a finished run whose record differs only in the parameters that may grow."""
    table, record = folder / f"{name}.csv", folder / f"{name}.json"
    if not (grows and table.exists() and record.exists()):
        return []
    told = json.loads(record.read_text())
    if {key: value for key, value in _without(told, grows).items() if key in head} != json.loads(json.dumps(head)):
        return []
    rows = read(table)
    return [row | {"elapsed": told["seconds"]} for row in rows] if len(rows) < len(wanted) else []


def key(row, cell):
    """Return the values of a row, as strings, that identify its cell."""
    return tuple(str(row[column]) for column in cell)


def read(path):
    """Read the rows of a finished table; numbers are converted from strings, but not commits, which may be digits."""
    with path.open(newline="") as file:
        return [
            {column: text if column == "commit" else number(text) for column, text in row.items()}
            for row in csv.DictReader(file)
        ]


def chosen(rows, value, **wanted):
    """Return the values of one column in all rows whose other columns equal ``wanted``."""
    return [row[value] for row in rows if all(row[name] == what for name, what in wanted.items())]


def number(text):
    """Convert a string to a number if possible; otherwise return the string."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def two_digits(value):
    """Format a number with two significant digits, without an exponent below a million."""
    return f"{float(f'{value:.2g}'):g}"


def write_rows(path, rows):
    """Write a table and put it in place in one step, so that no reader ever finds an incomplete file."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    os.replace(new, path)


def _rows(part, head):
    """Rows of an unfinished run with this configuration; discards an incomplete last line or another run's file."""
    lines = part.read_text().splitlines(keepends=True) if part.exists() else []
    if not lines or lines[0] != head + "\n":
        part.write_text(head + "\n")
        return []
    if not lines[-1].endswith("\n"):
        lines.pop()
        part.write_text("".join(lines))
    return [json.loads(line) for line in lines[1:]]


def _append(part, row):
    with part.open("a") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _tell(text, left):
    """Print the progress if standard error is a terminal."""
    if sys.stderr.isatty():
        minutes, seconds = divmod(round(left), 60)
        end = "\n" if left <= 0 else ""
        print(f"\r{text}, {minutes}:{seconds:02d} left ", end=end, file=sys.stderr, flush=True)
