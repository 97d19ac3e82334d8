"""The border of :class:`~hyplearn.embedding.BallNet`: its parameters, and rows as a network takes them."""

import numbers
from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.files import place_of
from hyplearn.geometry.border import absolute_curvature
from hyplearn.types import Array

# float32 knows the hyperboloid coordinates of points at this radius, in units of the curvature, to about 1 %.
LARGEST_RADIUS = 12.0
SMALLEST_SIDE = 8


def check_parameters(net: Any) -> None:
    """Refuse what no network can be made of, or trained by."""
    c = absolute_curvature(net.curvature)
    for name in ("n_components", "epochs", "batch_size", "patience"):
        _check_whole(name, getattr(net, name))
    _check_number("learning_rate", net.learning_rate, 0 < _real(net.learning_rate) < np.inf, "a positive number")
    _check_number("weight_decay", net.weight_decay, 0 <= _real(net.weight_decay) < np.inf, "a number from 0")
    share = net.validation_fraction
    _check_number("validation_fraction", share, 0 <= _real(share) < 1, "a number from 0 up to, but below, 1")
    largest = LARGEST_RADIUS / np.sqrt(c)
    fits = 0 < _real(net.max_radius) <= largest
    _check_number("max_radius", net.max_radius, fits, f"a number above 0 and up to {largest:.4g}, where float32 ends")
    if net.head not in ("hyperbolic", "euclidean"):
        raise ValueError(f'head must be "hyperbolic" or "euclidean"; got {net.head!r}.')
    if net.encoder not in ("conv", "mlp") and (isinstance(net.encoder, str) or not callable(net.encoder)):
        raise ValueError(
            f'encoder must be "conv", "mlp", a torch.nn.Module or a function that makes one; got {net.encoder!r}.'
        )
    if net.checkpoint is not None:
        _check_checkpoint(net)


def _check_checkpoint(net: Any) -> None:
    if not isinstance(net.random_state, numbers.Integral):
        raise ValueError(
            f"A training with a checkpoint must start the same way each time; got random_state={net.random_state!r}.\n"
            "Pass a whole number."
        )
    place_of(Path(net.checkpoint).expanduser(), "the checkpoint")


def _real(value: Any) -> float:
    """The number, or NaN, which lies between no bounds."""
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else np.nan


def _check_number(name: str, value: Any, right: bool, wanted: str) -> None:
    if not right:
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def _check_whole(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


def as_rows(X: Array, encoder: Any) -> Array:
    """Rows of shape (n, d) or (n, channels, h, w); images without channels have one."""
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
    """Refuse rows of another shape than those of the fit."""
    if rows.shape[1:] != shape:
        raise ValueError(
            f"Rows have the shape {rows.shape[1:]}, and the network was fitted on {shape}.\nPass rows of that shape."
        )


def check_features(features: Array) -> Array:
    """Refuse features that are no point of any ball."""
    lost = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if lost.size:
        raise ValueError(
            f"The encoder takes {lost.size} of {len(features)} rows out of the ball; the first is row {lost[0]}, to "
            f"{features[lost[0]].tolist()!r:.80}.\nLook at these rows, or train with a lower learning_rate."
        )
    return features
