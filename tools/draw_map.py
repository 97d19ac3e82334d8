"""Draw the effect of the parameters of a Poincaré map, for docs/images/map_parameters.png: python tools/draw_map.py.

The data are scanpy's simulated lineage (krumsiek11). Each row varies one parameter; the defaults are in the middle.
"""

import warnings
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from hyplearn.embedding import PoincareMap
from hyplearn.plotting.canvas import class_colours, draw_rim
from hyplearn.plotting.style import STYLE, WIDTH

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SHOWN = {"n_neighbors": (5, 15, 50), "sigma": (0.3, 0.5, None), "gamma": (2.0, "auto", 15.0)}


def lineage():
    """Return the features and types of the cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import scanpy

        cells = scanpy.datasets.krumsiek11()
    return np.asarray(cells.X, dtype=np.float64), np.asarray(cells.obs["cell_type"]).astype(str)


def main():
    """Draw the picture."""
    plt.rcParams.update(STYLE)
    X, types = lineage()
    colours = class_colours(np.unique(types))
    figure, axes = plt.subplots(3, 3, figsize=(WIDTH, 8.9), layout="constrained")
    for (name, values), row in zip(SHOWN.items(), axes, strict=True):
        for value, ax in zip(values, row, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about copies and joined parts of the graph
                points = PoincareMap(random_state=0, **{name: value}).fit_transform(X)
            draw_rim(ax, 1.0)
            for label, colour in colours.items():
                own = types == label
                ax.scatter(*points[own].T, s=6, color=colour, linewidths=0, label=label)
            radius = 2 * np.arctanh(np.linalg.norm(points, axis=1).max())
            ax.set_title(f"{name}={value}")
            ax.text(0, -1.13, f"farthest cell at distance {radius:.1f}", ha="center", color="0.3")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, markerscale=2)
    figure.savefig(IMAGES / "map_parameters.png")


if __name__ == "__main__":
    main()
