"""Sizes and fonts of the figures in the README, the manual, the examples and papers.

Figures are as wide as a page of the manual or of a paper. They are not scaled, so font sizes are the sizes on the page.
"""

from typing import Any

# Figure width in inches. This is the width of two columns of a paper and, at 100 pixels per inch, of the text in the
# README.
WIDTH = 8.0
# Font sizes in points. No text is smaller than 8 points.
TITLE, TEXT, SMALL = 10.5, 9.0, 8.0
# Resolution of PNG files in dots per inch, high enough for high-density screens.
DPI = 160
# Settings that keep text in vector graphics as text, so that it can be searched and edited.
TEXT_AS_TEXT: dict[str, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}
# Settings for matplotlib, to be applied with ``matplotlib.rcParams.update(STYLE)``.
STYLE: dict[str, Any] = {
    **TEXT_AS_TEXT,
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": DPI,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.06,
}
