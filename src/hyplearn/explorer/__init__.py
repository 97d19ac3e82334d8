"""Interactive HTML pages that show a classifier in the disk, for browsers and notebooks."""

from hyplearn.explorer.explore import Explorer, explore

__all__ = ["Explorer", "explore"]
