"""``hyplearn predict``: labels and probabilities of points, to a file or into a pipe."""

import io
import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hyplearn.cli.data import DATA, LABEL, MODEL, POINTS, STREAM, Data, check_width, open_data, read_points
from hyplearn.cli.measures import probabilities
from hyplearn.cli.models import load_classifier
from hyplearn.cli.output import Outcome, check_output, csv_text, facts, size_of
from hyplearn.data.points import PointSource
from hyplearn.estimators import predict_to_file
from hyplearn.files import write_whole
from hyplearn.types import Array

NAME = "predict"
EXAMPLES = (
    "hyplearn predict cells.hyp new.h5ad -o labels.csv",
    "hyplearn predict points.hyp points.npy -o labels.parquet",
    "hyplearn predict points.hyp points.csv | cut -d, -f2 | sort | uniq -c",
)
OUTPUT_SUFFIXES = (".csv", ".npy", ".parquet")
STREAM_SUFFIXES = (".npy", ".parquet")


def run(
    model: MODEL,
    data: DATA,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write: .csv, .npy or .parquet; without it CSV to stdout."),
    ] = None,
    label: LABEL = None,
    points: POINTS = None,
    stream: STREAM = False,
) -> Outcome:
    """Predict the class of each point, with the probabilities of all classes (with --stream, only the class)."""
    if output is not None:
        check_output(output, STREAM_SUFFIXES if stream else OUTPUT_SUFFIXES)
    fitted = load_classifier(model)
    if stream:
        return _streamed(fitted, open_data(data, points, label, fitted, labelled=False), output)
    found = read_points(data, points, label, fitted, labelled=False)
    check_width(fitted, found)
    predicted, proba = fitted.predict(found.X), probabilities(fitted, found.X)
    counts = Counter(str(name) for name in predicted.tolist())
    values: dict[str, Any] = {"n_points": len(predicted), "counts": dict(counts.most_common()), "output": output}
    if output is None:
        rows = {"classes": fitted.classes_, "labels": predicted, "probabilities": proba}
        return Outcome(values | rows, [as_csv(fitted, found, predicted, proba).rstrip("\n")], notes=found.notes())
    write_whole(output, _BYTES[output.suffix.lower()](fitted, found, predicted, proba))
    shares = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(8))
    more = ", ..." if len(counts) > 8 else ""
    summary = {"data": found.summary(), "predicted": shares + more, "written": f"{output} ({size_of(output)})"}
    return Outcome(values, [facts(summary)], notes=found.notes())


def _streamed(model: Any, source: PointSource, output: Path | None) -> Outcome:
    """Predict block by block; a terminal shows the rows per second."""
    if output is None:
        raise typer.BadParameter("--stream writes to a file; pass --output.", param_hint="--output")
    with redirect_stdout(sys.stderr):
        predict_to_file(model, source, output, verbose=sys.stderr.isatty())
    values = {"n_points": source.n_rows, "output": output}
    named = "" if source.feature_names is None else f", coordinates {', '.join(source.feature_names)}"
    about = {"data": f"{source.name}, read in blocks{named}", "written": f"{output} ({size_of(output)})"}
    return Outcome(values, [facts(about)])


def columns(model: Any, data: Data, predicted: Array, proba: Array | None) -> dict[str, Array]:
    """The table of predictions: name or row, label, and a probability per class."""
    first = {"row": np.arange(len(predicted))} if data.names is None else {"name": data.names}
    shares = {} if proba is None else {f"p_{name}": proba[:, k] for k, name in enumerate(model.classes_)}
    return first | {"label": predicted} | shares


def as_csv(model: Any, data: Data, predicted: Array, proba: Array | None) -> str:
    """The table as text."""
    return csv_text({name: column.tolist() for name, column in columns(model, data, predicted, proba).items()})


def _csv_bytes(*parts: Any) -> bytes:
    return as_csv(*parts).encode()


def _npy_bytes(model: Any, data: Data, predicted: Array, proba: Array | None) -> bytes:
    """A structured array with the fields "label" and "probabilities" (in the order of the model's classes)."""
    fields: list[Any] = [("label", predicted.dtype)]
    if proba is not None:
        fields.append(("probabilities", np.float64, (proba.shape[1],)))
    rows = np.empty(len(predicted), dtype=fields)
    rows["label"] = predicted
    if proba is not None:
        rows["probabilities"] = proba
    file = io.BytesIO()
    np.save(file, rows, allow_pickle=False)
    return file.getvalue()


def _parquet_bytes(*parts: Any) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Writing Parquet needs pyarrow: pip install 'hyplearn[parquet]'.") from error
    file = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(column.tolist()) for name, column in columns(*parts).items()}), file)
    return file.getvalue()


_BYTES = {".csv": _csv_bytes, ".npy": _npy_bytes, ".parquet": _parquet_bytes}
