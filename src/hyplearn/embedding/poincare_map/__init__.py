"""Poincaré maps: cells, or any rows of features, as points of the ball."""

from hyplearn.embedding.poincare_map.estimator import PoincareMap

__all__ = ["PoincareMap"]
