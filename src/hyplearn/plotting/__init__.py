"""Plots of the disk; as in scikit-learn, ``from_estimator`` computes a display and ``plot`` draws it.

Drawing needs matplotlib, imported at the first ``plot``. Legends are drawn beside the axes; a figure of your own leaves
space for them with ``layout="compressed"``.
"""

from hyplearn.plotting.boundary import BoundaryDisplay
from hyplearn.plotting.disk import DiskDisplay, HullDisplay
from hyplearn.plotting.hyperbolicity import HyperbolicityDisplay
from hyplearn.plotting.tangent import TangentDisplay

__all__ = ["BoundaryDisplay", "DiskDisplay", "HullDisplay", "HyperbolicityDisplay", "TangentDisplay"]
