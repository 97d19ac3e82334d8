"""Reference points, through which the hyperplanes of classifiers pass, and hyperplanes that separate two classes."""

from hyplearn.geometry import closest_points
from hyplearn.reference.certified_margin import WidestMargin
from hyplearn.reference.hulls import Separation, separable
from hyplearn.reference.strategies import STRATEGIES, Reference, checked_point, reference_point, reference_points
from hyplearn.reference.widest import widest_margin

__all__ = [
    "STRATEGIES",
    "Reference",
    "Separation",
    "WidestMargin",
    "checked_point",
    "closest_points",
    "reference_point",
    "reference_points",
    "separable",
    "widest_margin",
]
