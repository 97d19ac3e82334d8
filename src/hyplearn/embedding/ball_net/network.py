"""Encoders and heads as torch modules, and all their numbers as one vector."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyplearn.embedding.ball_net.geometry import clip_radius, signed_distances
from hyplearn.embedding.ball_net.layout import CHANNELS, grid, hidden_width, statistics_shape
from hyplearn.types import Array

# Rows at a time, in float64.
BLOCK = 1000


def conv_encoder(shape: tuple[int, ...], n_components: int) -> nn.Module:
    """Blocks of convolution, pooling, batch norm and ReLU, then two dense layers, for images (channels, h, w)."""
    layers: list[nn.Module] = []
    for before, after in zip((shape[0], *CHANNELS), CHANNELS, strict=False):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.MaxPool2d(2)]
        layers += [nn.BatchNorm2d(after), nn.ReLU()]
    left = grid(shape)
    layers += [nn.AdaptiveAvgPool2d(left), nn.Flatten()]
    encoder = nn.Sequential(*layers, *_dense(CHANNELS[-1] * math.prod(left), n_components))
    # Channels beside each other: convolutions take half the time on a CPU.
    return encoder.to(memory_format=torch.channels_last)


def mlp_encoder(shape: tuple[int, ...], n_components: int) -> nn.Module:
    """Three dense layers, for rows of any shape."""
    width = hidden_width(n_components)
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), width), nn.ReLU(), *_dense(width, n_components))


def _dense(n_features: int, n_components: int) -> list[nn.Module]:
    width = hidden_width(n_components)
    return [nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, n_components)]


ENCODERS = {"conv": conv_encoder, "mlp": mlp_encoder}


class HyperbolicHead(nn.Module):
    r"""Logits :math:`\|a_k\| \, d(x, H(a_k, p_k))` of points of the ball, after Ganea et al. and Khrulkov et al.

    Their :math:`\sigma_{p_k} \|a_k\|` is the length of the normal vector in the geometry of the ball; here a is given
    in an orthonormal frame at :math:`p_k` and has that length itself. Each :math:`p_k` is kept by frame coordinates at
    the origin, so that no step of an optimiser can take it out of the ball.
    """

    def __init__(self, n_components: int, n_classes: int, c: float, max_radius: float) -> None:
        super().__init__()
        self.c, self.max_radius = c, max_radius
        self.normals = nn.Parameter(torch.randn(n_classes, n_components) / math.sqrt(n_components))
        self.references = nn.Parameter(torch.zeros(n_classes, n_components))

    def extra_repr(self) -> str:
        """What the numbers do not tell."""
        return f"c={self.c}, max_radius={self.max_radius}"

    def forward(self, v: Tensor) -> Tensor:
        """Logits of points with frame coordinates v, clipped to the largest radius."""
        distances = signed_distances(clip_radius(v, self.max_radius), self.normals, self.references, self.c)
        return torch.linalg.vector_norm(self.normals, dim=-1) * distances


class Network(nn.Module):
    """An encoder and a head.

    Parameters
    ----------
    encoder, head : torch.nn.Module
        Rows to features, features to logits.
    n_components : int
        Number of features.
    shape : tuple of int
        Shape of what is taken off the rows, and of what they are divided by, before the encoder.
    """

    def __init__(self, encoder: nn.Module, head: nn.Module, n_components: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.encoder, self.head, self.n_components = encoder, head, n_components
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))

    def standardise(self, rows: Array) -> None:
        """Take mean and scale of every channel, or of every column, from rows; a constant one has the scale 1."""
        axes = (0, 2, 3) if rows.ndim == 4 else (0,)
        mean = np.mean(rows, axis=axes, dtype=np.float64, keepdims=True)
        squares = [np.sum((rows[i : i + BLOCK] - mean) ** 2, axis=axes) for i in range(0, len(rows), BLOCK)]
        deviation = np.sqrt(np.sum(squares, axis=0) / (rows.size / mean.size))
        self.mean.copy_(torch.from_numpy(mean).reshape(self.mean.shape))
        self.scale.copy_(torch.from_numpy(np.where(deviation > 0, deviation, 1.0)).reshape(self.scale.shape))

    def features(self, rows: Tensor) -> Tensor:
        """What the encoder makes of rows."""
        features = self.encoder((rows.float() - self.mean) / self.scale)
        if features.shape != (len(rows), self.n_components):
            raise ValueError(
                f"The encoder gave features of shape {tuple(features.shape)} for {len(rows)} rows, not of "
                f"{(len(rows), self.n_components)}.\nEnd the encoder with n_components={self.n_components} outputs."
            )
        return features

    def forward(self, rows: Tensor) -> Tensor:
        """Logits of rows."""
        return self.head(self.features(rows))


def build(
    encoder: Any, head: str, shape: tuple[int, ...], n_components: int, n_classes: int, c: float, max_radius: float
) -> Network:
    """A new network for rows of a shape; only the encoders that have a name see standardised rows."""
    statistics = statistics_shape(shape) if isinstance(encoder, str) else ()
    if head == "hyperbolic":
        made: nn.Module = HyperbolicHead(n_components, n_classes, c, max_radius)
    else:
        made = nn.Linear(n_components, n_classes)
    return Network(_encoder(encoder, shape, n_components), made, n_components, statistics).to("cpu", torch.float32)


def _encoder(encoder: Any, shape: tuple[int, ...], n_components: int) -> nn.Module:
    """The encoder for rows of a shape: a new one by name or factory, or a copy of the module that was given."""
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    built = (ENCODERS[encoder] if isinstance(encoder, str) else encoder)(shape, n_components)
    if not isinstance(built, nn.Module):
        raise TypeError(
            f"The encoder's factory must return a torch.nn.Module; got {type(built).__name__}.\n"
            "Pass a function of the shape of a row and of n_components that makes one."
        )
    return built


def to_vector(network: nn.Module) -> Array:
    """All parameters and buffers, one after the other in the order of ``state_dict``."""
    parts = [value.detach().double().reshape(-1).numpy() for value in network.state_dict().values()]
    return np.concatenate(parts)


def loaded(build: Callable[[], Network], weights: Array) -> Network:
    """A new network with the numbers of :func:`to_vector`; the generator that all of torch shares is left as it was."""
    with torch.random.fork_rng(devices=[]):
        network = build()
    state = network.state_dict()
    sizes = [value.numel() for value in state.values()]
    if sum(sizes) != len(weights):
        raise ValueError(
            f"The network has {sum(sizes):,} numbers, and weights_ holds {len(weights):,}.\n"
            "Set encoder, head and n_components to those of the fit, or fit again."
        )
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    network.load_state_dict(
        {
            name: torch.from_numpy(part.copy()).reshape(value.shape).to(value.dtype)
            for (name, value), part in zip(state.items(), parts, strict=True)
        }
    )
    return network.eval()
