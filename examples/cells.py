"""Single cells: map scanpy's packaged blood cells into the disk, learn their types and draw the results.

Left: the cells, coloured by type, with the boundaries of the classifier. Right: the cells, coloured by the probability
of the prediction. The map is computed from 50 principal components, without the types. Writes ``out/cells.png``.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt

import hyplearn.single_cell as hs
from hyplearn.plotting.canvas import draw_legend_below
from hyplearn.plotting.style import STYLE, WIDTH


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scanpy warns about its dependencies
        import scanpy as sc

        cells = sc.datasets.pbmc68k_reduced()
    hs.tl.poincare_map(cells, use_rep="X_pca")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some types are never predicted
        hs.tl.classify(cells, "bulk_labels")
    about = cells.uns["bulk_labels_predicted"]
    print(f"Accuracy: {about['training_accuracy']:.1%} on the {cells.n_obs} training cells,")
    print(f"{about['held_out']['accuracy']:.1%} on held-out cells (cross-validation).")
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 4.9), layout="constrained")
    hs.pl.disk(cells, "bulk_labels", boundaries="bulk_labels_predicted", ax=axes[0], legend=False)
    hs.pl.disk(cells, "bulk_labels_predicted_probability", ax=axes[1])
    axes[0].set_title(f"Types and boundaries: {about['held_out']['accuracy']:.1%} held-out accuracy")
    axes[1].set_title("Probability of the prediction")
    draw_legend_below(figure, axes[:1], 4)
    path = Path("out") / "cells.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
