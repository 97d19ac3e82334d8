"""``hyplearn explore``: a page to walk through the disk of a model."""

from pathlib import Path
from typing import Annotated

import typer

from hyplearn.cli.data import DATA, LABEL, MODEL, POINTS, check_width, read_shown
from hyplearn.cli.models import load_ball_classifier
from hyplearn.cli.output import Outcome, check_output, size_of
from hyplearn.explorer import explore

NAME = "explore"
EXAMPLES = (
    "hyplearn explore mammals.hyp mammals.csv -o mammals.html",
    "hyplearn explore cells.hyp cells.h5ad --label cell_type -o cells.html",
)
SUFFIXES = (".html", ".htm")


def run(
    model: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write (.html).")],
    label: LABEL = None,
    points: POINTS = None,
    title: Annotated[str | None, typer.Option("--title", help="A heading; the file's name by default.")] = None,
) -> Outcome:
    """Write a page that shows a model in the disk, to drag, to zoom and to point at; a browser opens it."""
    check_output(output, SUFFIXES)
    fitted = load_ball_classifier(model)
    found = read_shown(data, points, label, fitted)
    check_width(fitted, found)
    explore(fitted, found.X, found.y, names=found.names, title=title or data.stem, path=output)
    values = {"output": output, "bytes": output.stat().st_size}
    return Outcome(
        values, [f"Open {output} ({size_of(output)}) in a browser."], notes=[*found.notes(), *found.omissions()]
    )
