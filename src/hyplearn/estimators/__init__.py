"""The scikit-learn face of hyplearn."""

from hyplearn.estimators.transformers import ExpMap, TangentSpace

__all__ = ["ExpMap", "TangentSpace"]
