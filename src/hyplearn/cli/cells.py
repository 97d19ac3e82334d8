"""Commands that predict cell types and add them to AnnData files: ``hyplearn classify`` and ``transfer``."""

import secrets
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hyplearn.cli.output import Outcome, facts, file_and_size, table
from hyplearn.cli.trees import read_tree
from hyplearn.estimators import CLASSIFIERS
from hyplearn.files import missing_file, place_of, taking_the_place

SUFFIXES = (".h5ad", ".zarr")
CELLS = Annotated[Path, typer.Argument(help="Labelled cells: .h5ad or .zarr.")]
LABEL = Annotated[str, typer.Option("--label", help="Column of obs with the labels.")]
BASIS = Annotated[str, typer.Option("--points", help="Key in obsm under which the points in the ball are stored.")]
MODEL = Annotated[str, typer.Option("--model", help=f"One of {', '.join(CLASSIFIERS)}.")]
COVERAGE = Annotated[
    float | None,
    typer.Option("--coverage", help="Guaranteed probability that a cell's prediction set contains the true type."),
]
HIERARCHY = Annotated[
    Path | None,
    typer.Option(
        "--hierarchy",
        help="File with the tree of cell types (.nwk, or .csv with a parent column); requires --coverage.",
    ),
]
KEY = Annotated[
    str | None, typer.Option("--key", help="Name for the results in obs, obsm and uns; default: <label>_predicted.")
]
OUTPUT = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The file to write; by default the results are written into the input file."),
]


def _predict(
    paths: list[Path],
    label: LABEL,
    output: OUTPUT = None,
    points: BASIS = "X_poincare",
    model: MODEL = "softmax",
    coverage: COVERAGE = None,
    hierarchy: HIERARCHY = None,
    key: KEY = None,
) -> Outcome:
    """Predict the types of the cells in the last of ``paths`` from the labels in the first, and write the results."""
    from hyplearn.single_cell import tl

    path = output or paths[-1]
    check_cells(path)
    cells = [read(each) for each in paths]
    tree = None if hierarchy is None else read_tree(hierarchy, None)[0]
    tool: Callable[..., Any] = tl.classify if len(cells) == 1 else tl.transfer
    tool(*cells, label, basis=points, model=model, coverage=coverage, hierarchy=tree, key_added=key)
    return _written(cells[-1], path, key or f"{label}_predicted")


def _with_options(command: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Replace ``**options`` in the signature of a command with the options of :func:`_predict`."""
    own = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    parameters = [*own, *list(signature(_predict).parameters.values())[1:]]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


@_with_options
def classify(data: CELLS, **options: Any) -> Outcome:
    """Predict cell types, and write the cells with the types, probabilities and, with --coverage, prediction sets."""
    return _predict([data], **options)


@_with_options
def transfer(
    atlas: CELLS,
    data: Annotated[Path, typer.Argument(help="The cells whose types are predicted: .h5ad or .zarr.")],
    **options: Any,
) -> Outcome:
    """Map cells into the ball of an atlas, predict their types from the labels of the atlas, and write the results."""
    return _predict([atlas, data], **options)


def check_cells(output: Path) -> None:
    """Check, before any computation, that an AnnData file can be written to the output path."""
    if output.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{output} must end in one of {', '.join(SUFFIXES)}.", param_hint="--output")
    if not (output.suffix.lower() == ".zarr" and output.is_dir()):
        place_of(output)


def read(path: Path) -> Any:
    """Read cells from an ``.h5ad`` file or a ``.zarr`` store."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError("Single cells need anndata: pip install 'hyplearn[single-cell]'.") from error
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path} must end in one of {', '.join(SUFFIXES)}.\nConvert it to one of these formats.")
    if not path.exists():
        raise missing_file(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignore anndata's warnings about its file formats
        return (anndata.read_zarr if path.suffix.lower() == ".zarr" else anndata.read_h5ad)(path)


def write(cells: Any, path: Path) -> None:
    """Write cells to a file or store; if writing fails, an existing file or store is kept."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.suffix.lower() == ".h5ad":
            with taking_the_place(beside, target):
                cells.write_h5ad(beside)
            return
        try:
            cells.write_zarr(beside)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    # Rename the old folder first, because renaming cannot replace a folder that is not empty.
    old = beside.with_name(f"{beside.name}.old")
    if target.exists():
        target.rename(old)
    beside.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _written(cells: Any, path: Path, key: str) -> Outcome:
    """Write the cells, and return a summary of the results."""
    write(cells, path)
    about, counts = cells.uns[key], Counter(cells.obs[key].astype(str))
    values: dict[str, Any] = {
        "output": path,
        "n_trained": about["n_trained"],
        "n_predicted": about["n_predicted"],
        "counts": dict(counts.most_common()),
        "held_out_accuracy": about["held_out"]["accuracy"],
    }
    lines = {
        "cells": f"{about['n_predicted']:,} predicted, {about['n_trained']:,} used for training",
        "held out": f"accuracy {about['held_out']['accuracy']:.1%} on {about['held_out']['n_cells']:,} labelled cells",
    }
    if f"{key}_sets" in cells.obsm:
        sets = np.asarray(cells.obsm[f"{key}_sets"])
        values |= {"unknown": float(np.mean(~sets.any(axis=1))), "mean_set": float(sets.sum(axis=1).mean())}
        lines["sets"] = (
            f"{values['mean_set']:.2f} types per cell on average; {values['unknown']:.1%} of the cells are unknown"
        )
    lines["written"] = file_and_size(path) if path.is_file() else str(path)
    recall = dict(zip(about["classes"].tolist(), about["held_out"]["recall"].tolist(), strict=True))
    values["recall"] = recall
    rows = [[str(name), f"{counts.get(str(name), 0):,}", f"{value:.0%}"] for name, value in recall.items()]
    return Outcome(values, [facts(lines), table("Types", ("type", "predicted", "held-out recall"), rows)])
