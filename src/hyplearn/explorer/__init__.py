"""Interactive HTML pages that show a classifier in the disk; a page is a single file for browsers and notebooks."""

from hyplearn.explorer.explore import Explorer, explore

__all__ = ["Explorer", "explore"]
