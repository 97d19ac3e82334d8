"""Measurements that survive a kill: every finished cell is a line of a file, and a restart skips what is there.

The lines of an unfinished run stand in ``name.part.jsonl``, whose first line is the configuration and the versions. A
run of the same configuration goes on from there; any other begins anew. When all cells are measured, they become
``name.csv``: until then older results stay whole, and a finished run is never mistaken for one to go on with.
"""

import csv
import json
import os
import sys
from time import perf_counter

from record import about, write_record


def fill(folder, name, config, cells, measure, *, cost=lambda cell: 1.0):
    """All rows ``{**cell, **measure(cell)}``, measured now or before; written as ``name.csv`` and ``name.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    part, head = folder / f"{name}.part.jsonl", json.dumps(about(config))
    done = _rows(part, head)
    known = {key(row, cells[0]) for row in done}
    missing = [cell for cell in cells if key(cell, cell) not in known]
    before = max((row["elapsed"] for row in done), default=0.0)
    start, spent, total = perf_counter(), 0.0, sum(map(cost, missing))
    for i, cell in enumerate(missing, start=1):
        row = {**cell, **measure(cell)}
        elapsed, spent = perf_counter() - start, spent + cost(cell)
        _append(part, {**row, "elapsed": before + elapsed})
        _tell(f"{name}: {len(done) + i} of {len(cells)} cells, {elapsed:.0f} s", elapsed * (total - spent) / spent)
    rows = _rows(part, head)
    order = {key(cell, cell): i for i, cell in enumerate(cells)}
    rows.sort(key=lambda row: order[key(row, cells[0])])
    seconds = max(row.pop("elapsed") for row in rows)
    write_rows(folder / f"{name}.csv", rows)
    write_record(folder / f"{name}.json", config, seconds)
    part.unlink()
    return rows


def key(row, cell):
    """What tells a cell from others, as text."""
    return tuple(str(row[column]) for column in cell)


def read(path):
    """Rows of a finished table, with numbers as numbers."""
    with path.open(newline="") as file:
        return [{column: number(text) for column, text in row.items()} for row in csv.DictReader(file)]


def number(text):
    """The number that a text stands for, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_rows(path, rows):
    """Write a table in one step, so that no reader ever finds half of it."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    os.replace(new, path)


def _rows(part, head):
    """Whole lines of an unfinished run of this configuration; a file of another one, or half a line, goes."""
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
    """The progress, where somebody watches."""
    if sys.stderr.isatty():
        minutes, seconds = divmod(round(left), 60)
        end = "\n" if left <= 0 else ""
        print(f"\r{text}, {minutes}:{seconds:02d} left ", end=end, file=sys.stderr, flush=True)
