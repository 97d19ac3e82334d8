"""Results of commands: plain values for programs, tables for people."""

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hyplearn.files import place_of

# Columns of text where no terminal tells.
PIPE_WIDTH = 120
# A table's first column is not wrapped below this width; between columns there is a gap.
NAME_WIDTH, COLUMN_GAP = 12, 3


@dataclass(frozen=True)
class Outcome:
    """The result of a command: values for ``--json``, and what is printed without it, text or tables of rich.

    ``notes`` are what a user ought to know and need not mend.
    """

    values: dict[str, Any]
    shown: Sequence[Any] = field(default_factory=list)
    failed: bool = False
    notes: Sequence[str] = ()


def check_output(output: Path, suffixes: Sequence[str]) -> None:
    """Refuse the name of a file of another kind, and a place where none can be written, before the work is done."""
    if output.suffix.lower() not in suffixes:
        raise typer.BadParameter(f"{output} ends in none of {', '.join(suffixes)}.", param_hint="--output")
    place_of(output)


def show(outcome: Outcome, warned: list[str], as_json: bool) -> None:
    """Print an outcome to stdout, notes and warnings to stderr; as JSON, all in one object."""
    if as_json:
        said = {"notes": list(outcome.notes), "warnings": warned}
        values = outcome.values | {name: messages for name, messages in said.items() if messages}
        with _written_or_dropped():
            write_json(values)
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with _written_or_dropped():  # what is said of it comes after it
        for block in outcome.shown:
            if sys.stdout.isatty():
                console.print(escape(block) if isinstance(block, str) else block, crop=False)
            else:
                sys.stdout.write(unpadded(console, block))
    for message in outcome.notes:
        complain("note", message)
    for message in warned:
        complain("warning", message)


def show_error(message: str, as_json: bool) -> None:
    """Say on stderr why nothing came of it; as JSON on stdout too, where a program looks."""
    complain("error", message)
    if as_json:
        with suppress(OSError), _written_or_dropped():  # a full disk behind stdout may be the error that is told
            write_json({"error": message})


@contextmanager
def _written_or_dropped() -> Iterator[None]:
    """What stdout does not take is an error once, and not tried again when Python ends."""
    try:
        yield
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def write_json(values: dict[str, Any]) -> None:
    """One object on stdout."""
    sys.stdout.write(json.dumps(plain(values), ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def unpadded(console: Console, block: Any) -> str:
    """Text for a pipe, where no line is wrapped and no table padded to the width of a screen."""
    if isinstance(block, str):
        return f"{block}\n"
    with console.capture() as captured:
        console.print(block, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def complain(kind: str, message: str) -> None:
    """A note, a warning or an error on stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    colour = {"error": "red", "warning": "yellow", "note": "cyan"}[kind]
    console.print(f"[bold {colour}]{kind}:[/] {escape(message)}")


def plain(value: Any) -> Any:
    """Values that JSON knows: numbers that are not finite, and paths, as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def csv_text(columns: Mapping[str, Iterable[Any]]) -> str:
    """A table with the names of its columns as the first line; numbers read back to the same bits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """An archive of arrays, compressed."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def facts(pairs: dict[str, str]) -> Table:
    """Names and what is to be said of them, one below the other."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in pairs.items():
        table.add_row(name, escape(text))
    return table


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, best: int | None = None) -> Group:
    """A table whose columns of numbers stand at the right; one row may be the best.

    On a narrow screen the first column is wrapped, and no other.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(columns):
        cells = [name, *(row[k] for row in rows)]
        text = k == 0 or not any(character.isdigit() for cell in cells[1:] for character in cell)
        longest = max(map(cell_len, cells))
        least = longest if k else min(longest, NAME_WIDTH)
        options: dict[str, Any] = {"min_width": least, "no_wrap": k > 0, "overflow": "fold"}
        made.add_column(escape(name), justify="left" if text else "right", **options)
    for k, row in enumerate(rows):
        made.add_row(*(escape(cell) for cell in row), style="bold" if k == best else None)
    return Group(Text(title, style="bold"), Uncut(made))


@dataclass(frozen=True)
class Uncut:
    """A table that is wider than the screen where its cells are: rich would cut them, and the first column first."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = sum((column.min_width or 0) + COLUMN_GAP for column in self.table.columns)
        yield from console.render(self.table, options.update_width(max(options.max_width, least)))


def size_of(path: Path) -> str:
    """The size of a file for people."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
