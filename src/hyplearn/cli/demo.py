"""``hyplearn demo``: the mammals of WordNet, as a table, a picture and a page."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hyplearn.cli.measures import COLUMNS, baselines, compared, folds_of
from hyplearn.cli.output import Outcome, table
from hyplearn.cli.plot import draw
from hyplearn.datasets import load_mammals
from hyplearn.estimators import PoincareLogisticRegression, PoincareSVC
from hyplearn.explorer import explore
from hyplearn.progress import report_steps
from hyplearn.types import Array

NAME = "demo"
EXAMPLES = ("hyplearn demo", "hyplearn demo -o out")


def run(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture and the page.")] = Path("out"),
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.")] = 5,
) -> Outcome:
    """Classify the mammals of WordNet beside Euclidean classifiers; draw them, and write a page to explore."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is not a folder.\nPass another --output.")
    ours = {"PoincareLogisticRegression": PoincareLogisticRegression(), "PoincareSVC": PoincareSVC()}
    return demonstrate(ours | baselines(), output, folds)


def demonstrate(models: dict[str, Any], output: Path, folds: int) -> Outcome:
    """Compare classifiers of the mammals by cross-validation; write a picture and a page of the default model."""
    mammals = load_mammals()
    X, y = mammals.data, mammals.target
    with report_steps(folds * len(models)) as report:
        scores = list(compared(models, X, y, folds_of(y, folds, 0), report))
    output.mkdir(parents=True, exist_ok=True)
    picture, page = output / "mammals.png", output / "mammals.html"
    model = PoincareLogisticRegression().fit(X, y)
    draw(model, X, y, picture, "Mammals of WordNet, by order", edges=_tree(mammals.parents))
    explore(model, X, y, names=mammals.names, edges=_tree(mammals.parents), title="Mammals of WordNet", path=page)
    title = f"{len(X):,} mammals of WordNet, 2 coordinates, {len(mammals.target_names)} orders: {folds}-fold"
    best = int(np.argmax([score.accuracy for score in scores]))
    shown = [
        table(f"{title} cross-validation", COLUMNS, [score.row() for score in scores], best=best),
        f"The disk is drawn in {picture}.\nOpen {page} in a browser to walk through it.",
    ]
    return Outcome({"scores": [score.values() for score in scores], "picture": picture, "page": page}, shown)


def _tree(parents: Array) -> Array:
    """Edges of the tree: each mammal but the first, with its parent."""
    return np.stack([np.arange(1, len(parents)), parents[1:]], axis=1)
