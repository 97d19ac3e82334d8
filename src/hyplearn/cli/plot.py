"""``hyplearn plot``: a picture of a model's regions and boundaries with the points."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hyplearn.cli.data import DATA, LABEL, MODEL, POINTS, check_width, read_shown
from hyplearn.cli.models import load_ball_classifier
from hyplearn.cli.output import Outcome, check_output, size_of
from hyplearn.files import replacing
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import pyplot

NAME = "plot"
EXAMPLES = (
    "hyplearn plot mammals.hyp mammals.csv -o mammals.png",
    "hyplearn plot cells.hyp cells.h5ad --label cell_type -o cells.svg",
)
SUFFIXES = (".png", ".svg", ".pdf")
INCHES, DPI = (9, 7), 150


def run(
    model: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write: .png, .svg or .pdf.")],
    label: LABEL = None,
    points: POINTS = None,
    title: Annotated[str | None, typer.Option("--title", help="A heading.")] = None,
) -> Outcome:
    """Draw the regions and boundaries of a model over the disk, with the points by class."""
    check_output(output, SUFFIXES)
    fitted = load_ball_classifier(model)
    found = read_shown(data, points, label, fitted)
    check_width(fitted, found)
    draw(fitted, found.X, found.y, output, title)
    values = {"output": output, "bytes": output.stat().st_size}
    return Outcome(
        values, [f"The picture is {output} ({size_of(output)})."], notes=[*found.notes(), *found.omissions()]
    )


def draw(model: Any, X: Any, y: Any, output: Path, title: str | None = None, edges: Any = None) -> None:
    """Write the picture; no window is opened."""
    pyplot()  # an error that tells what to install
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, layout="constrained")
    ax = figure.subplots()
    BoundaryDisplay.from_estimator(model, X, y, edges=edges).plot(ax)
    if title:
        ax.set_title(title)
    with replacing(output) as file:
        figure.savefig(file, format=output.suffix[1:].lower(), dpi=DPI)
