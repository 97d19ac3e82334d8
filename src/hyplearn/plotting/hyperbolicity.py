"""Plot that compares given distances with fitted distances in a tree, in hyperbolic space and in flat space."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyplearn.embedding.hyperbolicity import Hyperbolicity
from hyplearn.plotting.canvas import Display
from hyplearn.plotting.palette import LIGHT
from hyplearn.types import Array

# Maximum number of groups of pairs of points. A group contains pairs with similar given distances. Twenty groups are
# enough to show at which distances a fit is poor.
GROUPS = 20
# Percentiles of the ratio of fitted to given distances in each group. They are drawn as the lower edge of the band, the
# line, and the upper edge of the band.
PERCENTILES = (10, 50, 90)


@dataclass(repr=False)
class HyperbolicityDisplay(Display):
    """Plot of the ratio of fitted to given distances, for fits in a tree, in hyperbolic space and in flat space.

    Pairs of points are grouped by their given distances. Each line shows the median ratio in each group, and the band
    around it contains the middle 80 % of the ratios. An exact fit is a horizontal line at 1.

    Parameters
    ----------
    found : Hyperbolicity
        Result of :func:`~hyplearn.embedding.hyperbolicity`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyplearn.embedding import hyperbolicity
    >>> from hyplearn.plotting import HyperbolicityDisplay
    >>> found = hyperbolicity(load_iris().data, metric="euclidean")
    >>> display = HyperbolicityDisplay(found).plot()
    """

    found: Hyperbolicity

    def curves(self) -> dict[str, tuple[Array, Array]]:
        """Return a dict from legend labels to two arrays, each with one entry or row per group of pairs.

        The first array contains the mean given distance of each group, and the second contains the PERCENTILES of the
        ratio of fitted to given distances.
        """
        found, space = self.found, f"{self.found.n_components}-D"
        fits = {
            f"flat {space}: distortion {found.flat_distortion:.2f}": found.flat_distances,
            f"hyperbolic {space}: distortion {found.hyperbolic_distortion:.2f}": found.hyperbolic_distances,
            f"tree: distortion {found.tree_distortion:.2f} (star {found.star_distortion:.2f})": found.tree_distances,
        }
        # Pairs with equal distances, which are common in graphs, are in the same group.
        edges = np.unique(np.quantile(found.distances, np.linspace(0, 1, GROUPS + 1)[1:]))
        group_of = np.searchsorted(edges, found.distances)
        groups = [np.flatnonzero((group_of == i) & (found.distances > 0)) for i in np.unique(group_of)]
        groups = [group for group in groups if len(group)]
        x = np.array([found.distances[group].mean() for group in groups])
        return {
            label: (x, np.array([np.percentile(d[group] / found.distances[group], PERCENTILES) for group in groups]))
            for label, d in fits.items()
        }

    def _draw(self, ax: Any, size: float) -> None:
        ax.axhline(1, color="0.6", linewidth=0.8, zorder=1)
        for (label, (x, ratios)), colour in zip(self.curves().items(), (LIGHT[1], LIGHT[0], LIGHT[2]), strict=True):
            ax.fill_between(x, ratios[:, 0], ratios[:, 2], color=colour, alpha=0.15, linewidth=0)
            ax.plot(x, ratios[:, 1], "o-", color=colour, markersize=np.sqrt(size), label=label)
        ax.set(xlabel="given distance", ylabel="reproduced / given distance", ylim=(0, None))
        mean = 2 * self.found.mean_delta / self.found.diameter
        ax.set_title(f"2δ/diameter: largest {self.found.relative_delta:.2f}, mean {mean:.2f}")
        ax.spines[["top", "right"]].set_visible(False)
