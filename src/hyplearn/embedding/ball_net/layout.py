"""What a network of a named encoder holds, by name and shape: known without torch, so that files can be held to it."""

import math
from typing import TypeAlias

Layout: TypeAlias = dict[str, tuple[int, ...]]

CHANNELS = (16, 32, 64)
# Width of dense layers, unless there are more components.
HIDDEN = 128
# The features of the last block are averaged into so many by so many, whatever the size of the images.
GRID = 3
# A block of the convolutional encoder: convolution, pooling, batch norm, ReLU.
BLOCK_LAYERS = 4


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
    """Shape of the means and scales of rows: one of each column, or of each channel."""
    return (shape[0], *(1 for _ in shape[1:]))


def hidden_width(n_components: int) -> int:
    """Width of the dense layers between."""
    return max(HIDDEN, n_components)


def grid(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Rows and columns of features that the last block leaves of an image (channels, h, w)."""
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
