"""From raw data into the ball: trees, distances and graphs, the embeddings of other tools."""

from hyplearn.embedding.tree import TreeEmbedding

__all__ = ["TreeEmbedding"]
