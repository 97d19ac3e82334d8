"""Validate the parameters, rows and features of a BallNet, and list the layers of its network.

This module does not import torch.
"""

import math
import numbers
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hyplearn.files import place_of
from hyplearn.geometry.border import absolute_curvature, as_real, check_integer, check_parameter
from hyplearn.types import Array

# Largest allowed max_radius, in units of the radius of curvature 1/√c. At this radius, float32 rounds hyperboloid
# coordinates to multiples of about 0.01, so signed distances near 0 have errors of this size.
LARGEST_RADIUS = 12.0
# Smallest side of an image for encoder="conv". Each of the three convolutional blocks halves it: 8 becomes 4, 2 and 1.
SMALLEST_SIDE = 8
# CHANNELS are the numbers of output channels of the convolutional blocks, and HIDDEN is the minimum width of the hidden
# dense layers. These sizes are small enough for training on a CPU.
CHANNELS = (16, 32, 64)
HIDDEN = 128
# Largest side of the grid to which the output of the last convolutional block is pooled. It limits the number of
# weights of the first dense layer for large images.
GRID = 3

# Mapping from the names of parameters and buffers to their shapes.
Layout: TypeAlias = dict[str, tuple[int, ...]]


def check_parameters(net: Any) -> None:
    """Raise an error if a parameter of a BallNet is invalid."""
    c = absolute_curvature(net.curvature)
    for name in ("n_components", "epochs", "batch_size", "patience"):
        check_integer(name, getattr(net, name), 1)
    rate, decay, share = map(as_real, (net.learning_rate, net.weight_decay, net.validation_fraction))
    largest = LARGEST_RADIUS / np.sqrt(c)
    fits = 0 < as_real(net.max_radius) <= largest
    known = net.encoder in ("conv", "mlp") if isinstance(net.encoder, str) else callable(net.encoder)
    for name, valid, expected in (
        ("learning_rate", 0 < rate < np.inf, "a positive finite number"),
        ("weight_decay", 0 <= decay < np.inf, "0 or a positive finite number"),
        ("validation_fraction", 0 <= share < 1, "a number from 0 to below 1"),
        ("max_radius", fits, f"a number above 0 and up to {largest:.4g}, the limit of float32"),
        ("head", net.head in ("hyperbolic", "euclidean"), '"hyperbolic" or "euclidean"'),
        ("encoder", known, '"conv", "mlp", a torch.nn.Module or a function that returns one'),
    ):
        check_parameter(name, getattr(net, name), valid, expected)
    if net.checkpoint is not None:
        if not isinstance(net.random_state, numbers.Integral):
            raise ValueError(
                f"random_state must be an integer if a checkpoint is used; got random_state={net.random_state!r}.\n"
                "Pass an integer, so that a resumed fit uses the same seed."
            )
        place_of(Path(net.checkpoint).expanduser(), "the checkpoint")


def as_rows(X: Array, encoder: Any) -> Array:
    """Return X as rows of shape (n, d) or (n, channels, h, w); add the channel axis to images of shape (n, h, w)."""
    if X.ndim not in (2, 3, 4):
        raise ValueError(
            f"X must contain one vector or image per row; got shape {X.shape}.\n"
            "Pass an array of shape (n, d), (n, h, w) or (n, c, h, w)."
        )
    rows = X[:, None] if X.ndim == 3 else X
    if encoder != "conv":
        return rows
    if rows.ndim == 2:
        raise ValueError(
            f'encoder="conv" needs images; got vectors, in an array of shape {X.shape}.\n'
            'Reshape X to (n, h, w) or (n, c, h, w), or pass encoder="mlp".'
        )
    if min(rows.shape[2:]) < SMALLEST_SIDE:
        raise ValueError(
            f'encoder="conv" needs images of {SMALLEST_SIDE} by {SMALLEST_SIDE} pixels or more; got '
            f"{rows.shape[2]} by {rows.shape[3]} (X has the shape {X.shape}).\n"
            'Put the channels before height and width, or pass encoder="mlp".'
        )
    return rows


def check_shape(rows: Array, shape: tuple[int, ...]) -> None:
    """Raise an error if the shape of each row differs from ``shape``, the shape of a training row."""
    if rows.shape[1:] != shape:
        raise ValueError(
            f"Rows have the shape {rows.shape[1:]}, but the network was fitted on rows of shape {shape}.\n"
            "Pass rows of the same shape."
        )


def check_features(features: Array) -> Array:
    """Return the features; raise an error if any of them is not finite."""
    lost = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if lost.size:
        raise ValueError(
            f"The features of {lost.size} of {len(features)} rows are not finite; the first is row {lost[0]} with "
            f"{features[lost[0]].tolist()!r:.80}.\nCheck these rows, or train with a lower learning_rate."
        )
    return features


def layout(encoder: str, head: str, shape: tuple[int, ...], n_components: int, n_classes: int) -> Layout:
    """Return the names and shapes of all parameters and buffers, in the order of the network's ``state_dict``."""
    found = {"mean": statistics_shape(shape), "scale": statistics_shape(shape)}
    for k, layer in enumerate(encoder_layers(encoder, shape, n_components)):
        found |= {f"encoder.{k}.{name}": part for name, part in _layer_shapes(*layer).items()}
    if head == "euclidean":
        return found | {"head.weight": (n_classes, n_components), "head.bias": (n_classes,)}
    return found | {"head.normals": (n_classes, n_components), "head.references": (n_classes, n_components)}


def statistics_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the stored means and scales, for rows of the given shape: one value per column or channel."""
    return (shape[0], *(1 for _ in shape[1:]))


def encoder_layers(encoder: str, shape: tuple[int, ...], n_components: int) -> list[Any]:
    """Return the layers of a named encoder for rows of the given shape, as a list of tuples.

    Each tuple contains the name of a torch module and its sizes.
    """
    width = max(HIDDEN, n_components)
    layers: list[Any] = []
    if encoder == "conv":
        for before, after in zip((shape[0], *CHANNELS), CHANNELS, strict=False):
            layers += [("Conv2d", before, after), ("MaxPool2d", 2), ("BatchNorm2d", after), ("ReLU",)]
        size = tuple(min(side // 2 ** len(CHANNELS), GRID) for side in shape[1:])
        layers += [("AdaptiveAvgPool2d", size), ("Flatten",), ("Linear", CHANNELS[-1] * math.prod(size), width)]
    else:
        layers += [("Flatten",), ("Linear", math.prod(shape), width), ("ReLU",), ("Linear", width, width)]
    return [*layers, ("ReLU",), ("Linear", width, n_components)]


def _layer_shapes(kind: str, *sizes: int) -> Layout:
    """Return the shapes of the parameters and buffers of one layer."""
    if kind == "Linear":
        return {"weight": sizes[::-1], "bias": sizes[1:]}
    if kind == "Conv2d":
        return {"weight": (*sizes[::-1], 3, 3)}
    if kind == "BatchNorm2d":
        names = ("weight", "bias", "running_mean", "running_var")
        return {**dict.fromkeys(names, sizes), "num_batches_tracked": ()}
    return {}
