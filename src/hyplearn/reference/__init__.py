"""Where the reference point p comes from, for boundaries that must pass through a point."""

from hyplearn.geometry import closest_points
from hyplearn.reference.strategies import (
    STRATEGIES,
    Reference,
    Separation,
    checked_point,
    distinct,
    reference_point,
    separable,
)

__all__ = [
    "STRATEGIES",
    "Reference",
    "Separation",
    "checked_point",
    "closest_points",
    "distinct",
    "reference_point",
    "separable",
]
