"""Validation of the parameters, rows and weights of a BallNet, without torch."""

import math
import numbers
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hyplearn.files import place_of
from hyplearn.geometry.border import absolute_curvature
from hyplearn.types import Array

# Largest radius, in units of the radius of curvature: float32 holds hyperboloid coordinates there to about 1 %.
LARGEST_RADIUS = 12.0
# Smallest side of an image for encoder="conv": the three blocks halve it to 1.
SMALLEST_SIDE = 8
# Channels of the blocks of the convolutional encoder, and the width of dense layers unless there are more components:
# small enough to train on a CPU.
CHANNELS = (16, 32, 64)
HIDDEN = 128
# Side of the grid to which the features of the last block are averaged, whatever the size of the images.
GRID = 3
# Layers in a block of the convolutional encoder: convolution, pooling, batch norm, ReLU.
BLOCK_LAYERS = 4

# Shapes of parameters and buffers by name.
Layout: TypeAlias = dict[str, tuple[int, ...]]


def check_parameters(net: Any) -> None:
    """Raise an error for parameters out of range."""
    c = absolute_curvature(net.curvature)
    for name in ("n_components", "epochs", "batch_size", "patience"):
        _check_integer(name, getattr(net, name))
    _check_number("learning_rate", net.learning_rate, 0 < _real(net.learning_rate) < np.inf, "a positive number")
    _check_number("weight_decay", net.weight_decay, 0 <= _real(net.weight_decay) < np.inf, "0 or a positive number")
    share = net.validation_fraction
    _check_number("validation_fraction", share, 0 <= _real(share) < 1, "a number from 0 to below 1")
    largest = LARGEST_RADIUS / np.sqrt(c)
    fits = 0 < _real(net.max_radius) <= largest
    _check_number("max_radius", net.max_radius, fits, f"a number above 0 and up to {largest:.4g}, the limit of float32")
    if net.head not in ("hyperbolic", "euclidean"):
        raise ValueError(f'head must be "hyperbolic" or "euclidean"; got {net.head!r}.')
    if net.encoder not in ("conv", "mlp") and (isinstance(net.encoder, str) or not callable(net.encoder)):
        raise ValueError(
            f'encoder must be "conv", "mlp", a torch.nn.Module or a function that returns one; got {net.encoder!r}.'
        )
    if net.checkpoint is not None:
        _check_checkpoint(net)


def _check_checkpoint(net: Any) -> None:
    if not isinstance(net.random_state, numbers.Integral):
        raise ValueError(
            f"A training with a checkpoint needs the same seed each time; got random_state={net.random_state!r}.\n"
            "Pass an integer."
        )
    place_of(Path(net.checkpoint).expanduser(), "the checkpoint")


def _real(value: Any) -> float:
    """Value as a float; NaN, which is within no bounds, if it is not a real number."""
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else np.nan


def _check_number(name: str, value: Any, valid: bool, expected: str) -> None:
    if not valid:
        raise ValueError(f"{name} must be {expected}; got {value!r}.")


def _check_integer(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def as_rows(X: Array, encoder: Any) -> Array:
    """Rows of shape (n, d) or (n, channels, h, w); images without channels get one."""
    if X.ndim not in (2, 3, 4):
        raise ValueError(
            f"X must be flat rows or images; got shape {X.shape}.\nPass shape (n, d), (n, h, w) or (n, c, h, w)."
        )
    rows = X[:, None] if X.ndim == 3 else X
    if encoder != "conv":
        return rows
    if rows.ndim == 2:
        raise ValueError(
            f'encoder="conv" needs images; got flat rows of shape {X.shape}.\n'
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
    """Raise an error if the shape of rows is not that of the fit."""
    if rows.shape[1:] != shape:
        raise ValueError(
            f"Rows have the shape {rows.shape[1:]}; the network was fitted on {shape}.\nPass rows of that shape."
        )


def check_features(features: Array) -> Array:
    """Raise an error if features are not finite."""
    lost = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if lost.size:
        raise ValueError(
            f"The features of {lost.size} of {len(features)} rows are not finite; the first is row {lost[0]} with "
            f"{features[lost[0]].tolist()!r:.80}.\nCheck these rows, or train with a lower learning_rate."
        )
    return features


def layout(encoder: str, head: str, shape: tuple[int, ...], n_components: int, n_classes: int) -> Layout:
    """Names and shapes of all parameters and buffers, in the order of the network's ``state_dict``."""
    parts = _conv(shape, n_components) if encoder == "conv" else _mlp(shape, n_components)
    return {
        "mean": statistics_shape(shape),
        "scale": statistics_shape(shape),
        **{f"encoder.{name}": part for name, part in parts.items()},
        **{f"head.{name}": part for name, part in _head(head, n_components, n_classes).items()},
    }


def statistics_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the means and scales of rows: one per column or per channel."""
    return (shape[0], *(1 for _ in shape[1:]))


def hidden_width(n_components: int) -> int:
    """Width of the hidden dense layers."""
    return max(HIDDEN, n_components)


def grid(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Height and width of the features of an image (channels, h, w) after the last block."""
    return tuple(min(side // 2 ** len(CHANNELS), GRID) for side in shape[1:])


def _mlp(shape: tuple[int, ...], n_components: int) -> Layout:
    width = hidden_width(n_components)
    return {
        **_linear("1", math.prod(shape), width),
        **_linear("3", width, width),
        **_linear("5", width, n_components),
    }


def _conv(shape: tuple[int, ...], n_components: int) -> Layout:
    found: Layout = {}
    for k, (before, after) in enumerate(zip((shape[0], *CHANNELS), CHANNELS, strict=False)):
        first = BLOCK_LAYERS * k
        found[f"{first}.weight"] = (after, before, 3, 3)
        norm = first + 2
        found |= {f"{norm}.{name}": (after,) for name in ("weight", "bias", "running_mean", "running_var")}
        found[f"{norm}.num_batches_tracked"] = ()
    dense = BLOCK_LAYERS * len(CHANNELS) + 2  # after an average and a flattening
    width = hidden_width(n_components)
    return {
        **found,
        **_linear(f"{dense}", CHANNELS[-1] * math.prod(grid(shape)), width),
        **_linear(f"{dense + 2}", width, n_components),
    }


def _linear(name: str, n_inputs: int, n_outputs: int) -> Layout:
    return {f"{name}.weight": (n_outputs, n_inputs), f"{name}.bias": (n_outputs,)}


def _head(head: str, n_components: int, n_classes: int) -> Layout:
    if head == "euclidean":
        return {"weight": (n_classes, n_components), "bias": (n_classes,)}
    return {"normals": (n_classes, n_components), "references": (n_classes, n_components)}
