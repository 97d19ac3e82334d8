"""Output of commands, as JSON or as text and tables."""

import csv
import io
import json
import math
import os
import re
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

# Characters that control a terminal or hide text: control characters (except tabs and line feeds), line and paragraph
# separators, direction marks, and lone surrogates.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# First characters of strings that spreadsheets interpret as formulas.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Width of the output in characters if it is not printed to a terminal.
PIPE_WIDTH = 120
# Text is wrapped only in the first column of a table, to a width of at least NAME_WIDTH characters. COLUMN_GAP is the
# number of characters between columns.
NAME_WIDTH, COLUMN_GAP = 12, 3


@dataclass(frozen=True)
class Outcome:
    """Result of a command.

    With --json, ``values`` are printed as one JSON object, to which ``notes`` are added. Otherwise, the strings and
    tables in ``shown`` are printed, and ``notes`` are printed to stderr. If ``failed`` is True, the exit code is 1.
    """

    values: dict[str, Any]
    shown: Sequence[Any] = field(default_factory=list)
    failed: bool = False
    notes: Sequence[str] = ()


def visible(text: str) -> str:
    """Escape the characters that control a terminal or hide text; line feeds and tabs are kept."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cell_text(text: str) -> str:
    """Escape control characters, line breaks and tabs, so that the text prints on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def check_output(output: Path, suffixes: Sequence[str]) -> None:
    """Check, before any computation, that an output file has a supported suffix and can be written."""
    if output.suffix.lower() not in suffixes:
        raise typer.BadParameter(f"{output} must end in one of {', '.join(suffixes)}.", param_hint="--output")
    place_of(output)


def show(outcome: Outcome, warned: list[str], as_json: bool) -> None:
    """Print an outcome to stdout, and notes and warnings to stderr; with ``as_json``, print one JSON object."""
    if as_json:
        extra = {"notes": list(outcome.notes), "warnings": warned}
        with _written_or_dropped():
            write_json(outcome.values | {name: texts for name, texts in extra.items() if texts})
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with _written_or_dropped():  # flush the output before notes are printed
        for block in outcome.shown:
            if sys.stdout.isatty():
                console.print(escape(visible(block)) if isinstance(block, str) else block, crop=False)
            else:
                sys.stdout.write(unpadded(console, block))
    for kind, messages in (("note", outcome.notes), ("warning", warned)):
        for message in messages:
            complain(kind, message)


def show_error(message: str, as_json: bool) -> None:
    """Print an error to stderr; with --json, also as JSON to stdout."""
    complain("error", message)
    if as_json:
        with suppress(OSError), _written_or_dropped():  # if the disk is full, writing the error may fail too
            write_json({"error": message})


@contextmanager
def _written_or_dropped() -> Iterator[None]:
    """Flush stdout at the end of the context; if writing fails, discard the output that Python would flush at exit."""
    try:
        yield
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def write_json(values: dict[str, Any]) -> None:
    """Print one JSON object to stdout."""
    sys.stdout.write(visible(json.dumps(plain(values), ensure_ascii=False, indent=2, allow_nan=False)) + "\n")


def unpadded(console: Console, block: Any) -> str:
    """Format a string or a table for a pipe; the lines of a table have no trailing spaces."""
    if isinstance(block, str):
        return f"{block}\n"
    with console.capture() as captured:
        console.print(block, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def complain(kind: str, message: str) -> None:
    """Print a note, a warning or an error to stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    colour = {"error": "red", "warning": "yellow", "note": "cyan"}[kind]
    console.print(f"[bold {colour}]{kind}:[/] {escape(visible(message))}")


def plain(value: Any) -> Any:
    """Convert values to JSON types; infinite numbers, NaN and values of other types, such as paths, become strings."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def csv_text(columns: Mapping[str, Iterable[Any]], *, escape_formulas: bool = False) -> str:
    """Return CSV text with a header line; numbers are written exactly.

    With ``escape_formulas``, strings that a spreadsheet would interpret as formulas are prefixed with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    plain_columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    rows = [columns, *zip(*plain_columns, strict=True)]
    writer.writerows([[_no_formula(cell) for cell in row] for row in rows] if escape_formulas else rows)
    return text.getvalue()


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return the bytes of a compressed ``.npz`` archive."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def facts(pairs: dict[str, str]) -> Table:
    """Return a table with two columns: the keys and the values of ``pairs``."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in pairs.items():
        table.add_row(name, escape(cell_text(text)))
    return table


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, best: int | None = None) -> Group:
    """Return a table with a title; columns that contain digits are right-aligned, and row ``best`` is bold.

    The first column is always left-aligned. Only this column is wrapped.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns, rows = [cell_text(name) for name in columns], [[cell_text(cell) for cell in row] for row in rows]
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
    """Wrapper that prints a table wider than the screen if necessary; without it, rich would truncate the cells."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = sum((column.min_width or 0) + COLUMN_GAP for column in self.table.columns)
        yield from console.render(self.table, options.update_width(max(options.max_width, least)))


def file_and_size(path: Path) -> str:
    """Return the path with the size of the file in parentheses."""
    size = path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
    return f"{path} ({shown})"
