"""Single cells: scanpy's packaged blood cells, their types learned and drawn in the disk.

The first two principal components are brought into the ball by the exponential map. Writes ``out/cells.png``.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

import hyplearn.single_cell as hs
from hyplearn import ExpMap

# The farthest component is this far from the centre, as the exponential map sees it.
REACH = 2


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scanpy's, of its dependencies
        import scanpy as sc

        cells = sc.datasets.pbmc68k_reduced()
    components = cells.obsm["X_pca"][:, :2]
    cells.obsm["X_poincare"] = ExpMap().fit_transform(REACH * components / np.abs(components).max())
    hs.tl.classify(cells, "bulk_labels")
    right = np.mean(cells.obs["bulk_labels_predicted"] == cells.obs["bulk_labels"])
    print(f"{right:.1%} of {cells.n_obs} cells are on the right side of the boundaries.")
    figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    hs.pl.disk(cells, "bulk_labels", boundaries="bulk_labels_predicted", ax=axes[0])
    hs.pl.disk(cells, "bulk_labels_predicted_probability", ax=axes[1])
    path = Path("out") / "cells.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=90)
    print(f"The picture is {path}.")


if __name__ == "__main__":
    main()
