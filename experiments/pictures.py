"""How every picture is kept: as PNG to look at and as SVG to print, the same bytes from the same numbers."""

import matplotlib

matplotlib.use("Agg")  # no window: the pictures go to files

import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

# Identifiers in an SVG are hashes of this and of what they name, not of the clock.
plt.rcParams["svg.hashsalt"] = "hyplearn"
plt.rcParams["svg.fonttype"] = "none"
# Dots per inch of the PNG, and of what is an image inside the SVG.
DPI = 110


def save(figure, folder, name):
    """Write ``name.png`` and ``name.svg``; points, grids and contours are images in the SVG, which stays small."""
    folder.mkdir(parents=True, exist_ok=True)
    for ax in figure.axes:
        for collection in ax.collections:
            collection.set_rasterized(not isinstance(collection, PolyCollection))
    figure.savefig(folder / f"{name}.png", dpi=DPI)
    figure.savefig(folder / f"{name}.svg", dpi=DPI, metadata={"Date": None})
    plt.close(figure)
