"""Commands that show a model as a figure, as a page or as text: ``hyplearn plot``, ``explore`` and ``inspect``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hyplearn import explorer
from hyplearn.cli.inputs import DATA, LABEL, MODEL, POINTS, Data, load_classifier, read_labelled, read_points
from hyplearn.cli.output import Outcome, check_output, facts, file_and_size, plain
from hyplearn.cli.trees import edges_between
from hyplearn.data.points import counted
from hyplearn.files import replacing
from hyplearn.persistence import read_metadata
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import pyplot
from hyplearn.plotting.style import DPI, STYLE, WIDTH

# Options of ``hyplearn explore``.
BESIDE = Annotated[
    Path | None,
    typer.Option("--beside", help="A second model file (.hyp) with the same classes, to compare it with the first."),
]
OF = Annotated[
    str | None,
    typer.Option(
        "--of",
        help="Kind of data, shown next to the accuracy: training if the model was fitted to it, otherwise held-out.",
    ),
]
COLUMNS = Annotated[
    str | None, typer.Option("--columns", help="Columns, arrays, obs keys or genes to colour by, separated by commas.")
]
NAMES = Annotated[
    str | None,
    typer.Option(
        "--names",
        help="Column or array with the names of the points; default: column 'name', array 'names', or cell names.",
    ),
]
EDGES = Annotated[
    Path | None,
    typer.Option(
        "--edges",
        help="File with edges to draw: a tree (.nwk, or .csv with a parent column), or a .csv table with source and "
        "target columns.",
    ),
]
# Maximum number of elements of a list that are printed. This is enough for all classes of the mammals data.
MOST_SHOWN = 13


def plot(
    model: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The figure to write: .png, .svg or .pdf.")],
    label: LABEL = None,
    points: POINTS = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the figure.")] = None,
) -> Outcome:
    """Draw the decision regions and boundaries of a model in the disk, with the points coloured by class."""
    check_output(output, (".png", ".svg", ".pdf"))
    fitted, found, notes = _read(model, data, label, points)
    draw(fitted, found.X, found.y, output, title)
    values = {"output": output, "bytes": output.stat().st_size}
    return Outcome(values, [f"The figure is in {file_and_size(output)}."], notes=notes)


def explore(
    model: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write (.html).")],
    label: LABEL = None,
    points: POINTS = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the page; by default the file name.")] = None,
    beside: BESIDE = None,
    of: OF = None,
    columns: COLUMNS = None,
    names: NAMES = None,
    edges: EDGES = None,
) -> Outcome:
    """Write an interactive HTML page that shows a model and its points in the disk."""
    check_output(output, (".html", ".htm"))
    wanted = [] if columns is None else [name.strip() for name in columns.split(",")]
    fitted, found, notes = _read(model, data, label, points, [*wanted, *([] if names is None else [names])])
    named = found.names if names is None else found.extras[names].astype(str)
    pairs = None
    if edges is not None:
        pairs, elsewhere = edges_between(edges, named)
        omitted = f"{edges.name}: the page omits {counted(elsewhere, 'edge')} to nodes without a point."
        notes += [omitted] if elsewhere else []
    models = [fitted] if beside is None else [fitted, load_classifier(beside, in_ball=True)]
    explorer.explore(
        models,
        found.X,
        found.y,
        names=named,
        columns={name: found.extras[name] for name in wanted},
        edges=pairs,
        of=of,
        title=title or data.stem,
        path=output,
    )
    values = {"output": output, "bytes": output.stat().st_size}
    return Outcome(values, [f"Open {file_and_size(output)} in a browser."], notes=notes)


def _read(
    model: Path, data: Path, label: str | None, points: str | None, extras: Sequence[str] = ()
) -> tuple[Any, Data, list[str]]:
    """Return the model, the points to show, and notes about unused columns and omitted rows.

    If ``label`` is given, points without a label are omitted.
    """
    fitted = load_classifier(model, in_ball=True)
    found = (read_points if label is None else read_labelled)(data, points, label, fitted, extras=extras)
    notes = found.notes()
    if found.left_out:
        notes.append(f"{data.name}: {found.left_out:,} unlabelled points are not shown. Omit --label to show all.")
    return fitted, found, notes


def draw(model: Any, X: Any, y: Any, output: Path, title: str | None = None) -> None:
    """Draw a figure and write it to a file, without opening a window."""
    plt = pyplot()  # raises an ImportError with advice if matplotlib is missing
    from matplotlib.figure import Figure

    with plt.rc_context(STYLE), replacing(output) as file:
        figure = Figure(figsize=(WIDTH, 0.72 * WIDTH), layout="constrained")
        BoundaryDisplay.from_estimator(model, X, y).plot(figure.subplots())
        if title:
            figure.suptitle(title)  # the title of the axes is kept, because it may describe the projection
        figure.savefig(file, format=output.suffix[1:].lower(), dpi=DPI)


def inspect(model: MODEL) -> Outcome:
    """Show the contents of a model file: class, parameters, classes, certificate, versions, checksum."""
    about = read_metadata(model)
    names = "" if about["feature_names"] is None else f": {_join(about['feature_names'])}"
    lines = {
        "file": file_and_size(model),
        "model": about["class"],
        "made by": f"hyplearn {about['library_version']}, format {about['schema_version']}",
        "coordinates": f"{about['n_features']}{names}",
        "classes": "none" if about["classes"] is None else _join(about["classes"]),
        "parameters": ", ".join(f"{name}={_short(value)}" for name, value in about["parameters"].items()),
    }
    proofs = {name.rstrip("_").replace("_", " "): _join(values) for name, values in about["certificate"].items()}
    return Outcome({"path": model, **about}, [facts(lines | proofs | {"sha256": about["sha256"]})])


def _join(values: Any) -> str:
    shown = ", ".join(_short(value) for value in values[:MOST_SHOWN])
    return shown + (f" and {len(values) - MOST_SHOWN} more" if len(values) > MOST_SHOWN else "")


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(plain(value))
