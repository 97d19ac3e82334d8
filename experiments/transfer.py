"""Labels from an atlas for new cells: cells placed in the atlas's ball, mapped together, or mapped separately.

scanpy's blood cells (`pbmc68k_reduced`, 30 principal components of the atlas) and simulated lineage (`krumsiek11`, all
genes) are split at random into two halves, atlas and query. "placed": tl.transfer places the query with the atlas's
map, which was fitted without it. "together": one map of all cells, with labels of the atlas only. "apart": two separate
maps, a mistake that tl.transfer rejects. The accuracy is that of the softmax on the query, in per cent, ± the standard
error over the splits.

Times are CPU seconds for random cells of eight types and 30 components: for the map, for classification of all cells
with prediction sets (coverage 0.9), and for the transfer to the same number of new cells, with BLAS and OpenMP on one
thread. "peak memory" is that of the process after these three steps, in MB. Up to 4,000 cells are embedded together;
further cells are placed among them.

    python experiments transfer           # half a minute; into experiments/results/quick
    python experiments transfer --full    # minutes; writes experiments/results/transfer.*
"""

import warnings
from dataclasses import dataclass
from functools import partial
from resource import RUSAGE_SELF, getrusage
from time import process_time

import numpy as np
from ledger import fill
from threadpoolctl import threadpool_limits

import hyplearn.single_cell as hs


@dataclass(frozen=True)
class Config:
    """Number of splits, and numbers of cells for the times; the default is the quick configuration."""

    name: str = "quick"
    sets: tuple[str, ...] = ("krumsiek11",)
    splits: int = 1
    sizes: tuple[int, ...] = (300,)


FULL = Config(name="full", sets=("pbmc68k_reduced", "krumsiek11"), splits=10, sizes=(3_000, 20_000, 100_000))


def cells_of(name):
    import scanpy

    cells = getattr(scanpy.datasets, name)()
    cells.obs_names_make_unique()
    return cells, "bulk_labels" if "bulk_labels" in cells.obs else "cell_type"


def mapped(cells, name):
    import scanpy

    if name == "krumsiek11":
        hs.tl.poincare_map(cells, use_rep="X")
    else:
        scanpy.pp.pca(cells, n_comps=30)
        hs.tl.poincare_map(cells)


def accuracy(config, cell):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(config.splits):
            cells, label = cells_of(cell["set"])
            half = np.random.default_rng(seed).random(cells.n_obs) < 0.5
            if cell["query is"] == "together":
                mapped(cells, cell["set"])
            atlas, query = cells[half].copy(), cells[~half].copy()
            if cell["query is"] != "together":
                mapped(atlas, cell["set"])
            if cell["query is"] == "placed":
                query.obsm.pop("X_pca", None)
            if cell["query is"] == "apart":
                mapped(query, cell["set"])
                query.uns["poincare_map"] = atlas.uns["poincare_map"]  # bypasses the check that rejects separate maps
            hs.tl.transfer(atlas, query, label, key_added="k")
            found.append(np.mean(query.obs["k"].astype(str) == query.obs[label].astype(str)))
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return {"accuracy": round(100 * float(np.mean(found)), 1), "±": round(100 * float(error), 1)}


def random_cells(n, seed):
    import anndata

    rng = np.random.default_rng(seed)
    kinds = rng.integers(8, size=n)
    centres = 2 * np.random.default_rng(0).standard_normal((8, 30))
    cells = anndata.AnnData((centres[kinds] + rng.standard_normal((n, 30))).astype(np.float32))
    cells.obs["kind"] = np.char.add("kind ", kinds.astype(str))
    return cells


def seconds(config, cell):
    def timed(function, *args, **options):
        start = process_time()
        function(*args, **options)
        return round(process_time() - start, 1)

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        warm, atlas, query = random_cells(100, 0), random_cells(cell["cells"], 1), random_cells(cell["cells"], 2)
        hs.tl.poincare_map(warm, use_rep="X")
        hs.tl.classify(warm, "kind", coverage=0.8)
        found = {
            "map": timed(hs.tl.poincare_map, atlas, use_rep="X"),
            "classify with sets": timed(hs.tl.classify, atlas, "kind", coverage=0.9),
            "transfer with sets": timed(hs.tl.transfer, atlas, query, "kind", coverage=0.9),
        }
    # Peak memory of the process so far; sizes are measured in increasing order, so it belongs to this size.
    return found | {"peak memory": getrusage(RUSAGE_SELF).ru_maxrss // 1024}


def run(config, folder):
    """Run all measurements and write the two tables."""
    cells = [{"set": name, "query is": way} for name in config.sets for way in ("placed", "together", "apart")]
    tables = [fill(folder, "transfer_accuracy", config, cells, partial(accuracy, config))]
    tables.append(
        fill(folder, "transfer_seconds", config, [{"cells": n} for n in config.sizes], partial(seconds, config))
    )
    notes = __doc__.split("\n\n", 1)[1].rsplit("\n\n    python", 1)[0]
    (folder / "transfer.md").write_text("\n\n".join([*map(text, tables), notes]) + "\n")
    return tables


def text(rows):
    """Format the rows as a Markdown table."""
    lines = [f"| {' | '.join(rows[0])} |", "| --- " * len(rows[0]) + "|"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row.values()))} |" for row in rows])
