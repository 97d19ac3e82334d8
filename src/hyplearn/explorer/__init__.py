"""Interactive view of the disk: one self-contained HTML file, for a browser or a notebook."""

from hyplearn.explorer.explore import Explorer, explore

__all__ = ["Explorer", "explore"]
