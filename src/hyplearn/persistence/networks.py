"""Networks in model files: which numbers a :class:`~hyplearn.embedding.BallNet` has, and how many, without torch."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hyplearn.embedding.ball_net_validation import LARGEST_RADIUS, SMALLEST_SIDE, layout
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import are_inside, real, row_shape, share, shares, single, size
from hyplearn.persistence.parameters import Parameter, choice, number, whole
from hyplearn.types import Array

_CODE = (
    "A module or a function is code, which no model file holds: keep its weights by torch.save(model.network_."
    "state_dict(), path), or save a classifier of the points that transform gives."
)
# A loaded path would be written to, and removed, by the next fit.
_PATH = "Set it by set_params(checkpoint=None), and save again: a finished fit needs no checkpoint."

NETWORK_PARAMETERS = {
    "encoder": choice("mlp", "conv")._replace(advice=_CODE),
    "head": choice("hyperbolic", "euclidean"),
    "max_radius": number(above=0.0),
    "epochs": whole(1),
    "batch_size": whole(1),
    "learning_rate": number(above=0.0),
    "weight_decay": number(above=0.0, closed=True),
    "validation_fraction": number(above=0.0, below=1.0, closed=True),
    "patience": whole(1),
    "checkpoint": Parameter("None", lambda value: value is None, _PATH),
}
NETWORK = {
    "input_shape_": row_shape(),
    "weights_": single("w"),
    "n_iter_": size("e"),
    "loss_curve_": real("e"),
    "validation_scores_": shares("v"),
    "embedding_": real("n", "k"),
    "radius_": real("n"),
    "clipped_": share(),
}


def _rows_fit_the_encoder(found: dict[str, Any]) -> None:
    shape, second = found["input_shape_"], found["n_features_in_"]
    # Images without channels have got one: the second axis of X was their height.
    if second != shape[0] and (len(shape) == 1 or (1, second) != shape[:2]):
        raise FlawError(f"input_shape_ {shape} is not that of rows with a second axis of length {second}")
    if found["encoder"] == "conv" and (len(shape) == 1 or min(shape[1:]) < SMALLEST_SIDE):
        raise FlawError(f"encoder 'conv' takes images of {SMALLEST_SIDE} by {SMALLEST_SIDE} or more; it has {shape}")


def _weights_fill_the_network(found: dict[str, Any]) -> None:
    """As many numbers as the layers have, the deviations among them positive, and counts whole."""
    shapes = layout(*_architecture(found))
    needed = sum(map(math.prod, shapes.values()))
    if needed != len(found["weights_"]):
        raise FlawError(f"its network has {needed:,} numbers, and weights_ holds {len(found['weights_']):,}")
    for name, part in _parts(found["weights_"], shapes):
        last = name.rpartition(".")[2]
        if (last == "scale" and np.any(part <= 0)) or (last == "running_var" and np.any(part < 0)):
            raise FlawError(f"weights_ must hold deviations of rows; those of {name} go down to {part.min():.3g}")
        if last == "num_batches_tracked" and (part[0] < 0 or part[0] != np.round(part[0])):
            raise FlawError(f"weights_ must hold a count of batches in {name}; it is {part[0]:.3g}")


def _architecture(found: dict[str, Any]) -> tuple[str, str, tuple[int, ...], int, int]:
    n_components = int(found["n_components"])
    return found["encoder"], found["head"], found["input_shape_"], n_components, len(found["classes_"])


def _parts(weights: Array, shapes: dict[str, tuple[int, ...]]) -> Iterator[tuple[str, Array]]:
    start = 0
    for name, shape in shapes.items():
        yield name, weights[start : start + math.prod(shape)]
        start += math.prod(shape)


def _points_are_those_of_the_head(found: dict[str, Any]) -> None:
    embedding, c = found["embedding_"], -float(found["curvature"])
    if embedding.shape[1] != found["n_components"] or not len(embedding) or np.any(found["radius_"] < 0):
        raise FlawError(
            f"embedding_ must hold points of n_components={found['n_components']} coordinates at distances from 0; its "
            f"shape is {embedding.shape}"
        )
    if found["head"] == "hyperbolic" and not are_inside(embedding, c):
        raise FlawError("embedding_ must hold points inside the ball")
    if found["max_radius"] > LARGEST_RADIUS / math.sqrt(c):
        raise FlawError(f"max_radius must be up to {LARGEST_RADIUS / math.sqrt(c):.4g}; it is {found['max_radius']}")


def _scores_are_of_all_epochs(found: dict[str, Any]) -> None:
    if len(found["validation_scores_"]) not in (0, found["n_iter_"]):
        raise FlawError(
            f"validation_scores_ must hold none or {found['n_iter_']} scores; there are "
            f"{len(found['validation_scores_'])}"
        )


NETWORK_CHECKS = (
    _rows_fit_the_encoder,
    _weights_fill_the_network,
    _points_are_those_of_the_head,
    _scores_are_of_all_epochs,
)
