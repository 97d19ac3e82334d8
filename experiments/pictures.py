"""Save pictures as PNG and SVG, in one style and with reproducible bytes."""

import base64
import io
import re

import matplotlib

matplotlib.use("Agg")  # no window: the pictures go to files

import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection
from PIL import Image

from hyplearn.plotting.style import DPI, STYLE

# Letters of an image inside the SVG from which on it gets a palette; images of a few flat colours have fewer.
LONG = 20_000
EMBEDDED = re.compile(r"(?<=data:image/png;base64,)[^\"]+")


def style():
    """Return a context in which pictures have the style of README and manual."""
    return plt.rc_context(STYLE)


def save(figure, folder, name):
    """Write ``name.png`` and ``name.svg``; to keep the SVG small, its points, grids and contours are raster images."""
    folder.mkdir(parents=True, exist_ok=True)
    for ax in figure.axes:
        for collection in ax.collections:
            collection.set_rasterized(not isinstance(collection, PolyCollection))
    figure.savefig(folder / f"{name}.png", dpi=DPI)
    svg = io.StringIO()
    # With a salt, identifiers in an SVG are hashes of their content; without one they would be random.
    with plt.rc_context({"svg.hashsalt": "hyplearn"}):
        figure.savefig(svg, format="svg", dpi=DPI, metadata={"Date": None})
    (folder / f"{name}.svg").write_text(EMBEDDED.sub(lambda found: _smaller(found.group()), svg.getvalue()))
    plt.close(figure)


def _smaller(image):
    """Reduce a large base64 image to 256 colours; small images are returned unchanged."""
    if len(image) < LONG:
        return image
    small = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(image))).quantize(256).save(small, format="PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()
