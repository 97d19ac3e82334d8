"""Embed trees, distances, graphs, cells and images; read embeddings from other tools; measure hyperbolicity."""

from hyplearn.embedding.ball_net import BallNet
from hyplearn.embedding.hyperbolicity import Hyperbolicity, hyperbolicity
from hyplearn.embedding.mds import HyperbolicMDS
from hyplearn.embedding.poincare_map import PoincareMap
from hyplearn.embedding.readers import from_ball, from_gensim, from_half_space, from_hyperboloid, from_klein
from hyplearn.embedding.tree import TreeEmbedding

__all__ = [
    "BallNet",
    "HyperbolicMDS",
    "Hyperbolicity",
    "PoincareMap",
    "TreeEmbedding",
    "from_ball",
    "from_gensim",
    "from_half_space",
    "from_hyperboloid",
    "from_klein",
    "hyperbolicity",
]
