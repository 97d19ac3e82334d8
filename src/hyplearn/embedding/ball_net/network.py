r"""Torch modules of a BallNet: geometry of the ball, encoders, heads, and conversion of all weights to one vector.

Points are given by their frame coordinates v at the origin, :math:`x = \exp_0(v / 2)`, so that the norm of v is the
hyperbolic distance of x from the origin. The gap :math:`1 - c\|x\|^2`, which would be inaccurate in float32, is not
needed.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyplearn.embedding.ball_net.validation import encoder_layers, statistics_shape
from hyplearn.types import Array

# Smallest length to divide by. For smaller r, sinh(r) / r is 1 and tanh(r / 2) / r is 1/2, to the last digit of float32
# and to 12 digits of float64, so the quotients need no special case at 0.
TINY = 1e-6
# Number of rows converted to float64 at a time, which limits memory use.
BLOCK = 1000


def clip_radius(v: Tensor, radius: float) -> Tensor:
    r"""Clip vectors to a maximum length R: :math:`v \min(1, R / \|v\|)` (Guo et al., 2022)."""
    return v * (radius / norms(v).clamp_min(radius))


def norms(v: Tensor) -> Tensor:
    """Compute Euclidean norms along the last axis, which is kept as an axis of length 1."""
    return torch.linalg.vector_norm(v, dim=-1, keepdim=True)


def exp_map(v: Tensor, c: float) -> Tensor:
    r"""Return the points of the ball at hyperbolic distance :math:`\|v\|` from the origin, in the direction of v.

    .. math:: x = \tfrac{1}{\sqrt c} \tanh\Bigl(\frac{\sqrt c \|v\|}{2}\Bigr) \frac{v}{\|v\|}
    """
    r = c**0.5 * norms(v).clamp_min(TINY)
    return v * (torch.tanh(r / 2) / r)


def hyperboloid(v: Tensor, c: float) -> tuple[Tensor, Tensor]:
    r"""Return the coordinates X⁰ (time-like) and X (space-like) of points, scaled to the hyperboloid of curvature -1.

    .. math:: X^0 = \cosh(\sqrt c \|v\|), \qquad X = \sinh(\sqrt c \|v\|) \frac{v}{\|v\|}
    """
    r = c**0.5 * norms(v).clamp_min(TINY)
    return torch.cosh(r), c**0.5 * v * (torch.sinh(r) / r)


def signed_distances(v: Tensor, a: Tensor, q: Tensor, c: float) -> Tensor:
    r"""Compute the signed distances of points to the hyperplanes :math:`H(a_k, p_k)`, one column per hyperplane.

    .. math:: \sqrt c \, d_k = \operatorname{arsinh} \bigl( \langle X, n_k \rangle
              - \langle P_k, n_k \rangle (X^0 - \sqrt c \langle X, p_k \rangle) \bigr), \qquad n_k = a_k / \|a_k\|

    where :math:`(X^0, X)` are the hyperboloid coordinates of a point with the frame coordinates v, and :math:`P_k` are
    the space-like hyperboloid coordinates of :math:`p_k`, which has the frame coordinates :math:`q_k`. The argument of
    arsinh is linear in :math:`(X^0, X)`, so a batch takes two matrix products.
    """
    time, space = hyperboloid(v, c)
    _, reference = hyperboloid(q, c)
    normal = a / norms(a)
    bend = (reference * normal).sum(dim=-1)
    margin = space @ normal.T - bend * (time - c**0.5 * space @ exp_map(q, c).T)
    return torch.asinh(margin) / c**0.5


class HyperbolicHead(nn.Module):
    r"""Head that computes the logits :math:`\|a_k\| \, d(x, H(a_k, p_k))` of points (Ganea et al., Khrulkov et al.).

    In these papers, the factor is :math:`\sigma_{p_k} \|a_k\|`, the hyperbolic length of the normal vector. Here
    :math:`a_k` is given in an orthonormal frame at :math:`p_k`, so this length is the norm of :math:`a_k`. Each
    :math:`p_k` is stored as frame coordinates at the origin, so no step of an optimiser can move it out of the ball.
    """

    def __init__(self, n_components: int, n_classes: int, c: float, max_radius: float) -> None:
        super().__init__()
        self.c, self.max_radius = c, max_radius
        self.normals = nn.Parameter(torch.randn(n_classes, n_components) / math.sqrt(n_components))
        self.references = nn.Parameter(torch.zeros(n_classes, n_components))

    def extra_repr(self) -> str:
        """Return the settings that are not trainable parameters, for the module's repr."""
        return f"c={self.c}, max_radius={self.max_radius}"

    def forward(self, v: Tensor) -> Tensor:
        """Compute the logits of points with frame coordinates v, after clipping v to the largest radius."""
        distances = signed_distances(clip_radius(v, self.max_radius), self.normals, self.references, self.c)
        return torch.linalg.vector_norm(self.normals, dim=-1) * distances


class Network(nn.Module):
    """Network that standardises rows, computes features with an encoder, and computes logits with a head."""

    def __init__(self, encoder: nn.Module, head: nn.Module, n_components: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.encoder, self.head, self.n_components = encoder, head, n_components
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))

    def standardise(self, rows: Array) -> None:
        """Compute and store the mean and scale of each channel or column of the rows.

        The scale is the standard deviation, or 1 for a constant channel or column.
        """
        axes = (0, 2, 3) if rows.ndim == 4 else (0,)
        mean = np.mean(rows, axis=axes, dtype=np.float64, keepdims=True)
        squares = [np.sum((rows[i : i + BLOCK] - mean) ** 2, axis=axes) for i in range(0, len(rows), BLOCK)]
        deviation = np.sqrt(np.sum(squares, axis=0) / (rows.size / mean.size))
        self.mean.copy_(torch.from_numpy(mean).reshape(self.mean.shape))
        self.scale.copy_(torch.from_numpy(np.where(deviation > 0, deviation, 1.0)).reshape(self.scale.shape))

    def features(self, rows: Tensor) -> Tensor:
        """Standardise rows, and compute their features with the encoder."""
        features = self.encoder((rows.float() - self.mean) / self.scale)
        if features.shape != (len(rows), self.n_components):
            raise ValueError(
                f"The encoder returned features of shape {tuple(features.shape)} for {len(rows)} rows; expected "
                f"{(len(rows), self.n_components)}.\n"
                f"End the encoder with a layer of n_components={self.n_components} outputs."
            )
        return features

    def forward(self, rows: Tensor) -> Tensor:
        """Compute the logits of rows."""
        return self.head(self.features(rows))


def build(
    encoder: Any, head: str, shape: tuple[int, ...], n_components: int, n_classes: int, c: float, max_radius: float
) -> Network:
    """Build a new network for rows of the given shape.

    The network standardises the rows only if ``encoder`` is a name, that is, "mlp" or "conv".
    """
    statistics = statistics_shape(shape) if isinstance(encoder, str) else ()
    if head == "hyperbolic":
        layer: nn.Module = HyperbolicHead(n_components, n_classes, c, max_radius)
    else:
        layer = nn.Linear(n_components, n_classes)
    return Network(_encoder(encoder, shape, n_components), layer, n_components, statistics).to("cpu", torch.float32)


def _encoder(encoder: Any, shape: tuple[int, ...], n_components: int) -> nn.Module:
    """Return an encoder for rows of the given shape: built from a name, copied from a module, or made by a callable."""
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    if isinstance(encoder, str):
        layers = [_layer(*layer) for layer in encoder_layers(encoder, shape, n_components)]
        # With channels last, convolutions take half the time on a CPU.
        return nn.Sequential(*layers).to(memory_format=torch.channels_last)
    built = encoder(shape, n_components)
    if not isinstance(built, nn.Module):
        raise TypeError(
            f"A callable encoder must return a torch.nn.Module; got {type(built).__name__}.\n"
            "Pass a function that takes the shape of a row and n_components and returns a module."
        )
    return built


def _layer(kind: str, *sizes: Any) -> nn.Module:
    options = {"kernel_size": 3, "padding": 1, "bias": False} if kind == "Conv2d" else {}
    return getattr(nn, kind)(*sizes, **options)


def to_vector(network: nn.Module) -> Array:
    """Return all parameters and buffers as one vector, in the order of ``state_dict``."""
    return np.concatenate([value.detach().double().reshape(-1).numpy() for value in network.state_dict().values()])


def load(build: Callable[[], Network], weights: Array) -> Network:
    """Build a new network with weights from :func:`to_vector`, without changing torch's global random generator."""
    with torch.random.fork_rng(devices=[]):
        network = build()
    state = network.state_dict()
    sizes = [value.numel() for value in state.values()]
    if sum(sizes) != len(weights):
        raise ValueError(
            f"The network has {sum(sizes):,} weights, but weights_ has {len(weights):,}.\n"
            "Set encoder, head and n_components to the values they had when the model was fitted, or fit again."
        )
    for (name, value), part in zip(state.items(), np.split(weights, np.cumsum(sizes)[:-1]), strict=True):
        state[name] = torch.from_numpy(part.copy()).reshape(value.shape).to(value.dtype)
    network.load_state_dict(state)
    return network.eval()
