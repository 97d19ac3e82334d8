"""Read back the contents of axes, by the labels in the legend."""

import numpy as np


def lines(ax, label):
    """Vertices of each line with the given label."""
    return [line.get_xydata() for line in ax.lines if line.get_label() == label]


def markers(ax, label):
    """Positions of the markers with the given label."""
    return next(np.asarray(c.get_offsets()) for c in ax.collections if c.get_label() == label)


def legend(ax):
    """The texts of the legend, in order."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def unnamed_lines(ax):
    """Vertices of each line without a label, the rim first."""
    return [line.get_xydata() for line in ax.lines if line.get_label().startswith("_")]
