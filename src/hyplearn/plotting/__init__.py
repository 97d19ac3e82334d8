"""Pictures of the disk, after scikit-learn's convention: ``from_estimator`` computes, ``plot`` draws.

Drawing needs matplotlib, imported at the first ``plot``.
"""

from hyplearn.plotting.disk import BoundaryDisplay, DiskDisplay

__all__ = ["BoundaryDisplay", "DiskDisplay"]
