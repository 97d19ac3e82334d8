"""Trees in the ball, placed without optimisation."""

from hyplearn.embedding.tree.estimator import TreeEmbedding

__all__ = ["TreeEmbedding"]
