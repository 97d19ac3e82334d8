"""Write predictions to a file, for data that need not fit into memory."""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.labels import object_codes, plain_string
from hyplearn.data.points import Block, PointSource, read_ahead, regrouped, rows_named
from hyplearn.decision.decision import SCORED_ROWS
from hyplearn.estimators.validation import prediction_points
from hyplearn.files import replacing
from hyplearn.progress import LINE_INTERVAL
from hyplearn.types import Array

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def predict_to_file(
    estimator: Any,
    source: Any,
    path: str | os.PathLike[str],
    *,
    method: str = "predict",
    verbose: bool = False,
    every: float = LINE_INTERVAL,
    block_rows: int = SCORED_ROWS,
) -> None:
    """Predict points block by block, and write the predictions to a file.

    With a classifier of hyplearn and the default ``block_rows``, the predictions are bitwise equal to the results of
    the method for all points at once. An existing file is replaced only when the new one is complete: if an error
    occurs or the process is killed, the previous file is kept.

    Parameters
    ----------
    estimator : fitted classifier
        Any classifier with ``classes_`` and the method ``method``.
    source : result of :func:`hyplearn.open_points`, or anything that this function accepts
        The points. If the columns of a file have names, the columns to which the estimator was fitted are read.
    path : path
        ``.npy``
            An array with one row per point; strings are stored with a fixed width.
        ``.parquet``
            One row per point. A single column is named "prediction", or after the method if it is not ``predict``;
            columns for classes are named after the classes. This format requires pyarrow.
    method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default="predict"
        Method of the estimator whose results are written.
    verbose : bool, default=False
        Whether to print the number of finished rows at regular intervals.
    every : float
        Minimum number of seconds between two printed lines, with ``verbose=True``.
    block_rows : int
        Number of rows per block. With a value other than the default, the last bits of the results may differ.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyplearn import PoincareSVC, predict_to_file
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    >>> svc = PoincareSVC(reference=p).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     points, out = pathlib.Path(folder, "points.npy"), pathlib.Path(folder, "classes.npy")
    ...     np.save(points, X)
    ...     predict_to_file(svc, points, out)
    ...     print(np.array_equal(np.load(out), svc.predict(X)))
    True
    """
    path = Path(path).expanduser()
    writers: dict[str, Callable[..., Any]] = {".npy": _NpyWriter, ".parquet": _ParquetWriter}
    if path.suffix.lower() not in writers:
        raise ValueError(
            f"Predictions can only be written to a .npy or .parquet file; got {str(path)!r}.\n"
            "Use one of these suffixes."
        )
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    points = prediction_points(estimator, source)
    _check_no_source(path, points)
    results = _results(getattr(estimator, method), points, method, block_rows, every if verbose else None)
    first = _plain(next(results), estimator)
    make, names = writers[path.suffix.lower()], _column_names(estimator, method, first)
    with replacing(path) as stream, closing(make(stream, first, names)) as writer:
        writer.write(first)
        for result in results:
            writer.write(_plain(result, estimator))


def _check_no_source(path: Path, points: PointSource) -> None:
    if path.exists() and any(path.samefile(one) for one in points.paths):
        raise ValueError(f"{path} is an input file and cannot be overwritten.\nWrite to another file.")


def _results(
    predict: Callable[[Array], Array], points: PointSource, method: str, block_rows: int, every: float | None
) -> Iterator[Array]:
    """Yield the predictions block by block.

    Print the progress at intervals of at least ``every`` seconds, and at the end; if ``every`` is None, print nothing.
    """
    done, began = 0, time.monotonic()
    reported = began
    for block in regrouped(read_ahead(points.blocks()), block_rows, 0):
        yield _predicted(predict, block, points)
        done += len(block.X)
        if every is not None and time.monotonic() - reported >= every:
            reported = time.monotonic()
            _report(method, done, reported - began)
    if every is not None:
        _report(method, done, time.monotonic() - began)


def _report(method: str, rows: int, seconds: float) -> None:
    print(f"{method}: {rows:,} rows, {rows / max(seconds, 1e-9):,.0f} rows per second")  # noqa: T201


def _predicted(predict: Callable[[Array], Array], block: Block, points: PointSource) -> Array:
    with warnings.catch_warnings():
        if points.feature_names is not None:  # the feature names have already been checked
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        with rows_named(block, points.name):
            return predict(block.X)


def _plain(result: Array, estimator: Any) -> Array:
    """Convert labels that are Python strings to NumPy strings with the same width in all blocks."""
    if result.dtype.kind not in "OU":
        return result
    classes = estimator.classes_
    if not all(isinstance(label, str) for label in classes.tolist()):
        raise ValueError(
            f"Labels that are objects other than strings cannot be written; got classes {classes.tolist()!r:.80}.\n"
            "Fit with string labels."
        )
    names = [plain_string(label) for label in classes.tolist()]
    _check_writable(names)
    return np.array(names)[object_codes(result, classes)] if result.dtype.kind == "O" else result


def _check_writable(names: Sequence[str]) -> None:
    """Raise if a name contains a NUL or a surrogate.

    NumPy and Arrow may truncate a name at a NUL, and UTF-8 cannot encode surrogates.
    """
    for name in names:
        if "\0" in name or name.encode(errors="replace").decode() != name:
            raise ValueError(
                f"The label {name!r} cannot be written: it contains a NUL or a surrogate.\nFit with other labels."
            )


def _column_names(estimator: Any, method: str, first: Array) -> list[str]:
    if first.ndim == 2:
        return [plain_string(label) for label in estimator.classes_.tolist()]
    return ["prediction" if method == "predict" else method]


class _NpyWriter:
    """Writes rows to an ``.npy`` file; the header, with the number of rows, is completed at the end."""

    def __init__(self, stream: BinaryIO, first: Array, names: Sequence[str]) -> None:
        self.stream, self.tail, self.dtype, self.rows = stream, first.shape[1:], first.dtype, 0
        self._write_header()

    def _write_header(self) -> None:
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.rows, *self.tail)}
        np.lib.format.write_array_header_1_0(self.stream, header)

    def write(self, result: Array) -> None:
        self.stream.write(np.ascontiguousarray(result).view(np.uint8).data)
        self.rows += len(result)

    def close(self) -> None:
        self.stream.seek(0)
        self._write_header()


class _ParquetWriter:
    """Writes rows to a Parquet file with a single column, or with one column per class."""

    def __init__(self, stream: BinaryIO, first: Array, names: Sequence[str]) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError("Writing Parquet needs pyarrow: pip install 'hyplearn[parquet]'.") from error
        _check_writable(names)
        self.names = names
        self.writer = pq.ParquetWriter(stream, self._table(first).schema, write_page_checksum=True)

    def _table(self, result: Array) -> Any:
        import pyarrow as pa

        columns = [result] if result.ndim == 1 else list(result.T)
        return pa.table([pa.array(np.ascontiguousarray(column)) for column in columns], names=self.names)

    def write(self, result: Array) -> None:
        self.writer.write_table(self._table(result))

    def close(self) -> None:
        self.writer.close()
