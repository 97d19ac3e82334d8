"""Pictures of the disk, after scikit-learn's convention: ``from_estimator`` computes, ``plot`` draws.

Drawing needs matplotlib, imported at the first ``plot``. Legends stand beside the axes; a figure of your own makes room
for them by ``layout="compressed"``.
"""

from hyplearn.plotting.boundary import BoundaryDisplay
from hyplearn.plotting.disk import DiskDisplay
from hyplearn.plotting.hulls import HullDisplay
from hyplearn.plotting.tangent import TangentDisplay

__all__ = ["BoundaryDisplay", "DiskDisplay", "HullDisplay", "TangentDisplay"]
