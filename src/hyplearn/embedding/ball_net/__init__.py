"""Networks from rows and images to points of the ball; only ``network`` and ``training`` import torch."""

from hyplearn.embedding.ball_net.estimator import BallNet

__all__ = ["BallNet"]
