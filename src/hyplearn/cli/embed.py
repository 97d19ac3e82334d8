"""Command ``hyplearn embed``: embed data in the ball, or convert points from another model of hyperbolic space."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from scipy import sparse

from hyplearn.cli.cells import SUFFIXES, check_cells, read, write
from hyplearn.cli.inputs import LABEL, POINTS, read_points
from hyplearn.cli.output import Outcome, check_output, csv_text, facts, file_and_size, npz_bytes
from hyplearn.cli.trees import ENDS, TEXT, length_column, number_in, read_tree
from hyplearn.data.text import is_number, text_table
from hyplearn.datasets import load_points
from hyplearn.embedding import HyperbolicMDS, PoincareMap, TreeEmbedding, from_ball, from_hyperboloid, from_klein
from hyplearn.embedding.poincare_map.cells import root_row
from hyplearn.files import write_whole
from hyplearn.types import Array

METHODS = ("tree", "mds", "map", "hyperboloid", "klein")
# Functions that convert points from another model of hyperbolic space to the ball, keyed by the name of the model. In
# the hyperboloid model, the first coordinate is the time coordinate.
READERS = {"hyperboloid": from_hyperboloid, "klein": from_klein}


class Embedded(NamedTuple):
    """Embedded points, their names and labels (None if unknown), and numbers to report, such as the stress."""

    X: Array
    names: Array | None
    labels: Array | None
    quality: dict[str, float]


def embed(
    data: Annotated[
        Path,
        typer.Argument(
            help="A tree (.nwk, or .csv with a parent column), distances (.npy, .npz, .csv), edges (.csv with source "
            "and target columns), features or points (.npz, .npy, .csv, .parquet, .h5ad)."
        ),
    ],
    method: Annotated[str, typer.Option("--method", help=f"One of {', '.join(METHODS)}.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write: .npz or .csv; with --method map also .h5ad or .zarr."),
    ],
    label: LABEL = None,
    points: POINTS = None,
    dimensions: Annotated[int, typer.Option("--dimensions", help="Dimension of the ball.")] = 2,
    root: Annotated[
        str | None,
        typer.Option("--root", help="Centre of the embedding: a node of the tree, or a cell (its name or row number)."),
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option("--neighbors", help="Number of nearest neighbours, for --method map; by default 10 to 15."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed, for --method map.")] = 0,
    curvature: Annotated[
        float, typer.Option("--curvature", help="Curvature of the points, for --method hyperboloid and klein.")
    ] = -1.0,
) -> Outcome:
    """Embed a tree, distances or features in the ball, or convert points from another model of hyperbolic space."""
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(METHODS)}.", param_hint="--method")
    settings: dict[str, Any] = {"n_neighbors": "auto" if neighbors is None else neighbors, "random_state": seed}
    if method == "map" and output.suffix.lower() in SUFFIXES:
        return _embed_cells(data, output, points, root, {"n_components": dimensions, **settings})
    check_output(output, (".npz", ".csv"))
    start = perf_counter()
    if method == "tree":
        found = _embed_tree(data, label, TreeEmbedding(dimensions, root=root))
    elif method == "mds":
        found = _embed_distances(data, HyperbolicMDS(dimensions))
    elif method in READERS:
        read = read_points(data, points, label)
        found = Embedded(READERS[method](read.X, curvature=curvature), read.names, read.y, {"curvature": curvature})
    else:
        chosen = PoincareMap(dimensions, **settings)
        found = _embed_features(data, label, points, root, chosen)
    return _written(output, found, label, {"method": method, "seconds": perf_counter() - start})


def _written(output: Path, found: Embedded, label: str | None, values: dict[str, Any]) -> Outcome:
    """Write the points, and return a summary of the embedding; ``values`` are added to the JSON output."""
    label_column = _write(output, found, label)
    radius = float(2 * np.arctanh(np.linalg.norm(found.X, axis=1).max()))
    n, d = found.X.shape
    values |= {"n_points": n, "n_coordinates": d, "radius": radius, **found.quality, "output": output}
    lines = {
        "points": f"{n:,} in {d} dimensions; largest hyperbolic radius {radius:.1f}",
        "quality": ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in found.quality.items()),
        "time": f"{values['seconds']:.2f} s",
        "written": file_and_size(output),
    }
    flag = f" --label {label_column}" if output.suffix.lower() == ".csv" else ""
    step = [] if found.labels is None else [f"Next: hyplearn fit {output}{flag} -o model.hyp"]
    return Outcome(values, [facts(lines), *step])


def _embed_cells(data: Path, output: Path, points: str | None, root: str | None, options: dict[str, Any]) -> Outcome:
    """Embed the cells of an AnnData file, and write the cells, with the points and the fitted map, to ``output``."""
    from hyplearn.single_cell import tl

    check_cells(output)
    start = perf_counter()
    cells = read(data)
    if root is not None and root.isdigit() and root not in cells.obs_names:
        options["root"] = int(root)
    elif root is not None:
        options["root"] = root
    tl.poincare_map(cells, use_rep=points or "X_pca", **options)
    write(cells, output)
    about, (n, d) = cells.uns["poincare_map"], cells.obsm["X_poincare"].shape
    values = {"method": "map", "n_points": n, "n_coordinates": d, "loss": float(about["loss"]), "output": output}
    lines = {
        "cells": f"{n:,} in {d} dimensions, loss {about['loss']:.3g}",
        "time": f"{perf_counter() - start:.2f} s",
        "written": f'{output}: points in obsm["X_poincare"], map in uns["poincare_map"]',
    }
    return Outcome(values, [facts(lines), f"Next: hyplearn classify {output} --label COLUMN"])


def _write(output: Path, found: Embedded, label: str | None) -> str:
    """Write the points, and return the name of the label column."""
    coordinates = [f"x{j}" for j in range(found.X.shape[1])]
    # The label column keeps its name unless another column has the same name.
    label_column = "label" if label is None or label in ("name", *coordinates) else label
    if output.suffix.lower() == ".csv":
        columns = {"name": found.names, label_column: found.labels, **dict(zip(coordinates, found.X.T, strict=True))}
        write_whole(output, csv_text({name: column for name, column in columns.items() if column is not None}).encode())
    else:
        arrays = {"X": found.X, "y": found.labels, "names": found.names}
        write_whole(output, npz_bytes({name: array for name, array in arrays.items() if array is not None}))
    return label_column


def _embed_tree(path: Path, label: str | None, model: TreeEmbedding) -> Embedded:
    tree, lengths, node_labels = read_tree(path, label)
    model.fit(tree, edge_lengths=lengths)
    labels = None if node_labels is None else np.array([node_labels[name] for name in model.labels_])
    quality = {name: getattr(model, f"{name}_") for name in ("average_distortion", "worst_distortion", "scale")}
    return Embedded(model.embedding_, np.array(model.labels_, dtype=str), labels, quality)


def _embed_distances(path: Path, model: HyperbolicMDS) -> Embedded:
    """Embed the points of a distance matrix or a graph in the unit ball."""
    names, distances = _read_distances(path)
    model.fit(distances)
    quality = {"stress": model.stress_, "scale": float(np.sqrt(-model.curvature_))}
    return Embedded(from_ball(model.embedding_, curvature=model.curvature_), names, None, quality)


def _embed_features(path: Path, label: str | None, points: str | None, root: Any, model: PoincareMap) -> Embedded:
    """Embed rows of features in the ball; for .h5ad files, the features are the principal components by default."""
    data = read_points(path, points or ("X_pca" if path.suffix.lower() == ".h5ad" else None), label)
    if root is not None and root.isdigit() and (data.names is None or root not in data.names):
        root = int(root)
    model.set_params(root=root_row(root, data.names, len(data.X)))
    return Embedded(model.fit_transform(data.X), data.names, data.y, {"loss": model.loss_})


def _read_distances(path: Path) -> tuple[Array | None, Any]:
    """Read the names of the points (None if the file has none), and a matrix of distances or of edge lengths."""
    if path.suffix.lower() not in TEXT:
        return None, load_points(path)[0]
    names, rows = text_table(path)
    for ends in ENDS:
        if set(ends) <= set(names):
            return _read_edges(path, names, rows, ends)
    if all(map(is_number, names)) and len(rows) < len(names):
        rows.insert(0, names)  # the first line is a row of the matrix, not a header
    first = 0 if is_number(rows[0][0]) else 1
    matrix = np.array([[number_in(path, field) for field in row[first:]] for row in rows])
    return np.array([row[0] for row in rows]) if first else None, matrix


def _read_edges(path: Path, names: list[str], rows: list[list[str]], ends: tuple[str, str]) -> tuple[Array, Any]:
    one, other = (names.index(end) for end in ends)
    length = length_column(names)
    nodes = np.array(list(dict.fromkeys(row[end] for row in rows for end in (one, other))))
    number = {name: k for k, name in enumerate(nodes.tolist())}
    pairs: dict[tuple[int, int], float] = {}
    for row in rows:
        first, second = sorted((number[row[one]], number[row[other]]))
        value = 1.0 if length is None else number_in(path, row[length])
        if pairs.setdefault((first, second), value) != value:
            raise ValueError(
                f"{path} lists the edge between {row[one]!r} and {row[other]!r} twice, with different lengths.\n"
                "Remove one of these lines."
            )
    index = np.array(list(pairs)).T
    half = sparse.coo_array((list(pairs.values()), index), shape=(len(nodes), len(nodes))).tocsr()
    return nodes, half.maximum(half.T)
