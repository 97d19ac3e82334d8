"""Multidimensional scaling: points of the ball with given distances."""

from hyplearn.embedding.mds.estimator import HyperbolicMDS

__all__ = ["HyperbolicMDS"]
