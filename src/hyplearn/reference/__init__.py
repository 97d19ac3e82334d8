"""Reference points, for boundaries that pass through a point."""

from hyplearn.geometry import closest_points
from hyplearn.reference.hulls import Separation, separable
from hyplearn.reference.strategies import STRATEGIES, Reference, checked_point, reference_point, reference_points

__all__ = [
    "STRATEGIES",
    "Reference",
    "Separation",
    "checked_point",
    "closest_points",
    "reference_point",
    "reference_points",
    "separable",
]
