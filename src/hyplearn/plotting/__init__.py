"""Plots of points and classifiers in the disk and in tangent spaces, and of ratios of fitted to given distances.

As in scikit-learn, a display is computed first, for example by ``from_estimator``, and then drawn by ``plot``.

Drawing requires matplotlib, which is imported when ``plot`` is first called. Legends are drawn to the right of the
axes. If you pass axes of your own, create their figure with ``layout="compressed"``, so that there is space for the
legend.
"""

from hyplearn.plotting.boundary import BoundaryDisplay
from hyplearn.plotting.disk import DiskDisplay, HullDisplay
from hyplearn.plotting.hyperbolicity import HyperbolicityDisplay
from hyplearn.plotting.tangent import TangentDisplay

__all__ = ["BoundaryDisplay", "DiskDisplay", "HullDisplay", "HyperbolicityDisplay", "TangentDisplay"]
