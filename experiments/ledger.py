"""Measurements that survive a kill: each finished cell is one line of a file, and a restart skips finished cells.

The lines of an unfinished run stand in ``name.part.jsonl``, whose first line is the configuration and the versions. A
run of the same configuration goes on from there; any other begins anew. When all cells are measured, they become
``name.csv``: until then older results stay whole, and a finished run is never mistaken for one to go on with. Only what
the experiment lets grow, as the number of its runs, may be raised in a later run, which then adds to the table.
"""

import csv
import json
import os
import sys
from time import perf_counter

from joblib import Parallel, delayed
from record import about, write_record


def fill(folder, name, config, cells, measure, *, cost=lambda cell: 1.0, grows=(), n_jobs=1):
    """All rows ``{**cell, **measure(cell)}``, measured now or before; written as ``name.csv`` and ``name.json``.

    ``cost`` weighs cells for the time that is left, ``grows`` names what of the configuration may differ from that of
    the run to go on with, ``n_jobs`` is how many cells are measured at a time.
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
    """A record whose configuration lacks what may grow."""
    return record | {"config": {name: value for name, value in record["config"].items() if name not in grows}}


def _fewer(folder, name, head, grows, wanted):
    """Rows of a finished run, if it has only some of the wanted ones and differs in what may grow alone."""
    table, record = folder / f"{name}.csv", folder / f"{name}.json"
    if not (grows and table.exists() and record.exists()):
        return []
    told = json.loads(record.read_text())
    if {key: value for key, value in _without(told, grows).items() if key in head} != json.loads(json.dumps(head)):
        return []
    rows = read(table)
    return [row | {"elapsed": told["seconds"]} for row in rows] if len(rows) < len(wanted) else []


def key(row, cell):
    """String that identifies a cell."""
    return tuple(str(row[column]) for column in cell)


def read(path):
    """Rows of a finished table, with numbers as numbers."""
    with path.open(newline="") as file:
        return [{column: number(text) for column, text in row.items()} for row in csv.DictReader(file)]


def chosen(rows, value, **wanted):
    """The values of all rows that have what is wanted."""
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
    """A number to two digits, hundreds as hundreds and not as a power of ten."""
    return f"{float(f'{value:.2g}'):g}"


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
