"""``hyplearn embed``: a tree, distances or a table of features into the ball, as points for the other commands."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.data import LABEL, POINTS
from hyplearn.cli.output import Outcome, check_output, csv_text, facts, npz_bytes, size_of
from hyplearn.cli.raw import read_distances, read_features, read_tree
from hyplearn.embedding import HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.embedding.poincare_map_cells import root_row
from hyplearn.files import write_whole
from hyplearn.types import Array

NAME = "embed"
EXAMPLES = (
    "hyplearn embed species.nwk --method tree -o species.csv",
    "hyplearn embed taxonomy.csv --method tree --label order -o taxonomy.npz",
    "hyplearn embed distances.npy --method mds -o points.npz",
    "hyplearn embed cells.h5ad --method map --label cell_type --root HSC_1 -o cells.npz",
)
SUFFIXES = (".npz", ".csv")


class Embedded(NamedTuple):
    """Points, and of each row the name and the label where these are known; what to say of how good they are."""

    X: Array
    names: Array | None
    labels: Array | None
    quality: dict[str, float]


class Wishes(NamedTuple):
    """What a user may ask of any method."""

    label: str | None
    points: str | None
    dimensions: int
    root: str | None
    neighbors: int
    seed: int


def _tree(path: Path, wishes: Wishes) -> Embedded:
    tree = read_tree(path, wishes.label)
    fitted = TreeEmbedding(wishes.dimensions, root=wishes.root).fit(tree.source, edge_lengths=tree.lengths)
    labels = None if tree.labels is None else np.array([tree.labels[name] for name in fitted.labels_])
    quality = {"average_distortion": fitted.average_distortion_, "worst_distortion": fitted.worst_distortion_}
    return Embedded(fitted.embedding_, np.array(fitted.labels_, dtype=str), labels, quality | {"scale": fitted.scale_})


def _mds(path: Path, wishes: Wishes) -> Embedded:
    names, distances = read_distances(path)
    fitted = HyperbolicMDS(wishes.dimensions).fit(distances)
    return Embedded(fitted.embedding_, names, None, {"stress": fitted.stress_})


def _map(path: Path, wishes: Wishes) -> Embedded:
    data = read_features(path, wishes.points, wishes.label)
    root: Any = wishes.root
    if root is not None and root.isdigit() and (data.names is None or root not in data.names):
        root = int(root)
    row = root_row(root, data.names, len(data.X))
    chosen = PoincareMap(wishes.dimensions, n_neighbors=wishes.neighbors, root=row, random_state=wishes.seed)
    return Embedded(chosen.fit_transform(data.X), data.names, data.y, {"loss": chosen.loss_})


METHODS: dict[str, Callable[[Path, Wishes], Embedded]] = {"tree": _tree, "mds": _mds, "map": _map}


def run(
    data: Annotated[
        Path,
        typer.Argument(
            help="A tree (.nwk, or .csv with a column parent), distances (.npy, .npz, .csv) or edges (.csv with source "
            "and target), or features (.npz, .npy, .csv, .parquet, .h5ad)."
        ),
    ],
    method: Annotated[str, typer.Option("--method", help=f"One of {', '.join(METHODS)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .npz or .csv.")],
    label: LABEL = None,
    points: POINTS = None,
    dimensions: Annotated[int, typer.Option("--dimensions", help="Dimension of the ball.")] = 2,
    root: Annotated[
        str | None, typer.Option("--root", help="What goes to the middle: a node of a tree, a cell by name or row.")
    ] = None,
    neighbors: Annotated[int, typer.Option("--neighbors", help="Neighbours of each row, for map.")] = 15,
    seed: Annotated[int, typer.Option("--seed", help="Seed of map.")] = 0,
) -> Outcome:
    """Bring a tree, distances or features into the ball, as points that the other commands read."""
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(METHODS)}.", param_hint="--method")
    check_output(output, SUFFIXES)
    start = perf_counter()
    found = METHODS[method](data, Wishes(label, points, dimensions, root, neighbors, seed))
    seconds = perf_counter() - start
    write_whole(output, (_csv_bytes if output.suffix.lower() == ".csv" else _npz_bytes)(found, label))
    radius = float(2 * np.arctanh(np.linalg.norm(found.X, axis=1).max()))
    n, d = found.X.shape
    values = {
        "method": method, "n_points": n, "n_coordinates": d, "radius": radius, **found.quality, "seconds": seconds,
        "output": output,
    }  # fmt: skip
    measured = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in found.quality.items())
    lines = {
        "points": f"{n:,} in {d} dimensions, up to the hyperbolic radius {radius:.1f}",
        "quality": measured,
        "time": f"{seconds:.2f} s",
        "written": f"{output} ({size_of(output)})",
    }
    step = [] if found.labels is None else [f"Next: hyplearn fit {output}{_flag(output, found, label)} -o model.hyp"]
    return Outcome(values, [facts(lines), *step])


def _flag(output: Path, found: Embedded, label: str | None) -> str:
    return f" --label {_label_column(found, label)}" if output.suffix.lower() == ".csv" else ""


def _label_column(found: Embedded, label: str | None) -> str:
    """What the labels were called, unless names or coordinates are called so."""
    return "label" if label is None or label in ("name", *_coordinates(found)) else label


def _coordinates(found: Embedded) -> list[str]:
    return [f"x{j}" for j in range(found.X.shape[1])]


def _csv_bytes(found: Embedded, label: str | None) -> bytes:
    columns: dict[str, list[Any]] = {}
    if found.names is not None:
        columns["name"] = found.names.tolist()
    if found.labels is not None:
        columns[_label_column(found, label)] = found.labels.tolist()
    return csv_text(columns | dict(zip(_coordinates(found), found.X.T.tolist(), strict=True))).encode()


def _npz_bytes(found: Embedded, label: str | None) -> bytes:
    arrays = {"X": found.X, "y": found.labels, "names": found.names}
    return npz_bytes({name: array for name, array in arrays.items() if array is not None})
