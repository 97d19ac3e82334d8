"""Lines and text contrast with the background for every style of the figure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from hyplearn import PoincareSVC
from hyplearn.plotting import BoundaryDisplay, DiskDisplay, HullDisplay, TangentDisplay


@pytest.fixture(scope="module")
def separated():
    X = np.array([[-0.5, 0.3], [-0.5, -0.3], [0.5, 0.1], [0.6, -0.2]])
    return X, np.array(["a", "a", "b", "b"])


def displays(X, y):
    svc = PoincareSVC("boundary", calibration=None).fit(X, y)
    return {
        "disk": DiskDisplay.from_points(X, y),
        "hulls": HullDisplay.from_points(X, y),
        "boundary": BoundaryDisplay.from_estimator(svc, X, y, resolution=50),
        "tangent": TangentDisplay.from_estimator(svc, X, y),
    }


@pytest.mark.parametrize("name", ["disk", "hulls", "boundary", "tangent"])
def test_backgrounds_are_light_in_a_dark_style(separated, name):
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots(layout="compressed")
        displays(*separated)[name].plot(ax)
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[::-1, :, :3] / 255
        box = ax.get_legend().get_window_extent()
        plt.close(figure)
    inside = ax.transData.transform([[0.0, -0.7]] if name != "tangent" else [[0.0, ax.get_ylim()[0] * 0.9]])
    column, row = inside[0].astype(int)
    assert pixels[row, column].min() > 0.7
    assert pixels[int(box.y0) + 3, int(box.x1) - 3].min() > 0.7
    assert all(max(to_rgb(text.get_color())) < 0.3 for text in ax.get_legend().get_texts())
