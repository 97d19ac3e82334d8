"""``hyplearn datasets``: sets to begin with, listed and written to files that the other commands read."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from hyplearn.cli.output import Outcome, size_of, table
from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.writing import write_whole

EXAMPLES = ("hyplearn datasets list", "hyplearn datasets fetch mammals", "hyplearn datasets fetch olsson -o cells.npz")


class Known(NamedTuple):
    """A data set and what to say of it."""

    load: Callable[[], Any]
    about: str
    points: str
    classes: int
    suffix: str
    source: str


SETS = {
    "mammals": Known(load_mammals, "mammals of WordNet, a tree", "1,170", 13, ".csv", "in the package"),
    "olsson": Known(fetch_olsson, "single cells of blood (Olsson et al.)", "231 + 88", 8, ".npz", "download"),
    "cifar10": Known(fetch_cifar10, "pictures of ten kinds", "50,000 + 10,000", 10, ".npz", "download"),
    "fashion-mnist": Known(fetch_fashion_mnist, "pictures of clothing", "60,000 + 10,000", 10, ".npz", "download"),
}


def listed() -> Outcome:
    """List the data sets that `hyplearn datasets fetch` knows."""
    rows = [[name, known.about, known.points, str(known.classes), known.source] for name, known in SETS.items()]
    values = {name: known._asdict() | {"load": known.load.__name__} for name, known in SETS.items()}
    return Outcome({"datasets": values}, [table("Data sets", ("name", "what", "points", "classes", "from"), rows)])


def fetched(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(SETS)}.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write: .csv for mammals, .npz for the others.")
    ] = None,
) -> Outcome:
    """Write a data set to a file that the other commands read; published ones are downloaded once and verified."""
    if name not in SETS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(SETS)}.", param_hint="NAME")
    known = SETS[name]
    output = Path(name + known.suffix) if output is None else output
    if output.suffix.lower() != known.suffix:
        raise typer.BadParameter(f"{name} is written as {known.suffix}; got {output}.", param_hint="--output")
    write_whole(output, (_csv_bytes if known.suffix == ".csv" else _npz_bytes)(known.load()))
    label = " --label order" if name == "mammals" else ""
    step = f"Next: hyplearn fit {output}{label} -o {name}.hyp"
    values = {"name": name, "output": output, "bytes": output.stat().st_size}
    return Outcome(values, [f"{known.about}: {output} ({size_of(output)}).\n{step}"])


def _csv_bytes(bunch: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "order", *bunch.feature_names])
    writer.writerows(zip(bunch.names, bunch.target, *bunch.data.T.tolist(), strict=True))
    return text.getvalue().encode()


def _npz_bytes(bunch: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{name: bunch[name] for name in ("X_train", "y_train", "X_test", "y_test")})
    return file.getvalue()
