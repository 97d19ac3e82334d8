"""Figure with the regions of several classifiers side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyplearn.files import replacing
from hyplearn.plotting.boundary import BoundaryDisplay
from hyplearn.plotting.canvas import draw_legend_below, pyplot
from hyplearn.plotting.style import DPI, STYLE, WIDTH
from hyplearn.types import Array

# Total height of the titles and the legend in inches, and number of columns of the legend.
TEXT_HEIGHT, NAMES = 1.1, 5


def draw_beside(
    path: Path, models: Mapping[str, Any], X: Array, y: Array, *, accuracies: Mapping[str, float], edges: Any = None
) -> None:
    """Draw the regions of fitted classifiers side by side, with one legend below, and write the figure to a file.

    Each title gives the name of a classifier, its cross-validated accuracy, and its accuracy on the given points.
    """
    plt = pyplot()  # raises an ImportError with advice if matplotlib is missing
    from matplotlib.figure import Figure

    with plt.rc_context(STYLE), replacing(path) as file:
        figure = Figure(figsize=(WIDTH, WIDTH / len(models) + TEXT_HEIGHT), layout="constrained")
        axes = figure.subplots(1, len(models), squeeze=False)[0]
        for ax, (name, model) in zip(axes, models.items(), strict=True):
            BoundaryDisplay.from_estimator(model, X, y, edges=edges).plot(ax, legend=False, size=7)
            ax.set_title(f"{name}\n{accuracies[name]:.1%} cross-validated, {model.score(X, y):.1%} training")
        draw_legend_below(figure, axes[:1], NAMES)
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=DPI)
