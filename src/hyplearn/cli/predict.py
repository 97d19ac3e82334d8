"""Command ``hyplearn predict``, which writes predicted labels and probabilities to a file or to stdout."""

import io
import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hyplearn.cli.evaluate import probabilities
from hyplearn.cli.inputs import DATA, LABEL, MODEL, POINTS, STREAM, load_classifier, open_data, read_points
from hyplearn.cli.output import Outcome, check_output, csv_text, facts, file_and_size
from hyplearn.data.points import PointSource
from hyplearn.estimators import predict_to_file
from hyplearn.files import write_whole
from hyplearn.types import Array


def predict(
    model: MODEL,
    data: DATA,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write: .csv, .npy or .parquet (default: CSV on stdout)."),
    ] = None,
    label: LABEL = None,
    points: POINTS = None,
    stream: STREAM = False,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="In CSV, put ' before strings that a spreadsheet would read as formulas."
        ),
    ] = False,
) -> Outcome:
    """Predict the class of each point and the probabilities of all classes (with --stream, only the class)."""
    if output is not None:
        check_output(output, (".npy", ".parquet") if stream else (".csv", ".npy", ".parquet"))
    fitted = load_classifier(model, in_ball=False)
    if stream:
        return _predict_blocks(fitted, open_data(data, points, label, fitted, labelled=False), output)
    found = read_points(data, points, label, fitted, labelled=False)
    predicted, proba = fitted.predict(found.X), probabilities(fitted, found.X)
    counts = Counter(str(name) for name in predicted.tolist())
    values: dict[str, Any] = {"n_points": len(predicted), "counts": dict(counts.most_common()), "output": output}
    columns = {"row": np.arange(len(predicted))} if found.names is None else {"name": found.names}
    columns["label"] = predicted
    if proba is not None:
        columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(fitted.classes_)}
    if output is None:
        rows = {"classes": fitted.classes_, "labels": predicted, "probabilities": proba}
        return Outcome(
            values | rows, [csv_text(columns, escape_formulas=escape_formulas).rstrip("\n")], notes=found.notes()
        )
    if output.suffix.lower() == ".csv":
        write_whole(output, csv_text(columns, escape_formulas=escape_formulas).encode(errors="backslashreplace"))
    else:
        write_whole(output, _contents(output.suffix.lower(), columns, proba))
    shares = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(8))
    more = ", ..." if len(counts) > 8 else ""
    summary = {"data": found.summary(), "predicted": shares + more, "written": file_and_size(output)}
    return Outcome(values, [facts(summary)], notes=found.notes())


def _predict_blocks(model: Any, source: PointSource, output: Path | None) -> Outcome:
    """Write predictions to a file block by block; show the progress if stderr is a terminal."""
    if output is None:
        raise typer.BadParameter("--stream requires an output file. Pass --output.", param_hint="--output")
    with redirect_stdout(sys.stderr):
        predict_to_file(model, source, output, verbose=sys.stderr.isatty())
    values = {"n_points": source.n_rows, "output": output}
    named = "" if source.feature_names is None else f", coordinates {', '.join(source.feature_names)}"
    about = {"data": f"{source.name}, read in blocks{named}", "written": file_and_size(output)}
    return Outcome(values, [facts(about)])


def _contents(suffix: str, columns: dict[str, Array], proba: Array | None) -> bytes:
    """Return the predictions as the bytes of a ``.npy`` or Parquet file."""
    file = io.BytesIO()
    if suffix == ".npy":
        np.save(file, _structured(columns["label"], proba), allow_pickle=False)
        return file.getvalue()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Writing Parquet needs pyarrow: pip install 'hyplearn[parquet]'.") from error
    pq.write_table(pa.table({name: pa.array(column.tolist()) for name, column in columns.items()}), file)
    return file.getvalue()


def _structured(predicted: Array, proba: Array | None) -> Array:
    """Return a structured array with the field "label" and, unless ``proba`` is None, the field "probabilities"."""
    fields = {"label": predicted} | ({} if proba is None else {"probabilities": proba.astype(np.float64)})
    rows = np.empty(len(predicted), dtype=[(name, field.dtype, field.shape[1:]) for name, field in fields.items()])
    for name, field in fields.items():
        rows[name] = field
    return rows
