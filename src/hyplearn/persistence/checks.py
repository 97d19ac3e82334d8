"""Check that the attributes of an estimator are consistent with each other and with its parameters."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hyplearn.decision.conformal import Neighbours
from hyplearn.embedding.ball_net.validation import LARGEST_RADIUS, SMALLEST_SIDE, layout
from hyplearn.embedding.poincare_map.cells import GAMMAS
from hyplearn.estimators.hierarchy import Hierarchy
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import are_inside
from hyplearn.persistence.parts import decision_parts
from hyplearn.types import Array

# Largest allowed absolute value of each element of P - Pᵀ and P² - P, where P is a stored projector. It is far above
# the rounding errors of training.
PROJECTOR_TOL = 1e-6

# Parameters and attributes of an estimator, by name.
Found = dict[str, Any]
Check = Callable[[Found], None]


def check_decision(found: Found) -> None:
    """Raise FlawError if parts of the decision are inconsistent with each other or with the estimator."""
    parts = decision_parts(found)
    needing = {"sharpness", "floor"} & parts.keys()
    if ("slopes" in parts) != ("offsets" in parts) or (needing and "slopes" not in parts):
        raise FlawError(
            "the slopes and offsets of the decision must be stored together, and its sharpness and floor may be stored "
            "only with them"
        )
    if "mixing" in parts:
        _check_mixing(parts)
    columns = found["n_features_in_"] + parts["link"].startswith(("sphere", "cone"))
    if parts["link"] == "kernel":
        columns = len(found["landmarks_"])
    if parts["weights"].shape[1] != columns:
        raise FlawError(f"the weights of the decision must have {columns} columns")


def _check_mixing(parts: Found) -> None:
    """Check that a decision with a mixing matrix is valid; raise FlawError otherwise.

    The decision must have at least two problems, slopes equal to the diagonal of the mixing matrix, and no sharpness.
    """
    mixing = parts["mixing"]
    if "slopes" not in parts or "sharpness" in parts or len(mixing) < 2:
        raise FlawError(
            "a decision with a mixing matrix must have slopes, offsets and at least two problems, but no sharpness"
        )
    if np.any(np.diag(mixing) != parts["slopes"]):
        raise FlawError("the slopes of the decision must be the diagonal of the mixing matrix")


def check_descents(found: Found) -> None:
    """Raise FlawError if the state of the stochastic gradient descent of ``partial_fit`` is incomplete."""
    group = ("_descents.w", "_descents.n_steps", "_descents.n_seen")
    present = [name for name in group if name in found]
    if present and len(present) < len(group):
        raise FlawError(f"{', '.join(group)} must be stored together; found only {', '.join(present)}")


def check_support(found: Found) -> None:
    """Check that ``support_`` contains distinct, sorted row numbers of the training data; raise FlawError otherwise."""
    support, n = found["support_"], found.get("_n_rows", 0)
    if support.size and (np.any(np.diff(support) <= 0) or support[-1] >= n):
        raise FlawError(f"support_ must be distinct, sorted row numbers below {n}")


def check_first_order(found: Found) -> None:
    """Raise FlawError if a first-order perceptron has a matrix that only second-order perceptrons have."""
    if found["_perceptrons.root"].size or found["_perceptrons.outside"].size:
        raise FlawError("_perceptrons.root and _perceptrons.outside must be empty for a first-order perceptron")


def check_second_order(found: Found) -> None:
    """Check the matrices ``root`` and ``outside`` of a second-order perceptron; raise FlawError if one is invalid.

    Both must have a valid number of columns. ``root`` must not be empty, and ``outside`` must contain orthogonal
    projectors.
    """
    d = found["n_features_in_"]
    for part in ("root", "outside"):
        if found[f"_perceptrons.{part}"].shape[1] not in (0, d):
            raise FlawError(f"the matrices in _perceptrons.{part} must have 0 or {d} columns")
    if not found["_perceptrons.root"].size:
        raise FlawError("_perceptrons.root must not be empty for a second-order perceptron")
    if not all(map(_is_projector, found["_perceptrons.outside"])):
        raise FlawError("the matrices in _perceptrons.outside must be orthogonal projectors")


def _is_projector(P: Array) -> bool:
    """Return whether P is an orthogonal projector up to PROJECTOR_TOL, with a rank (rounded trace) from 0 to len(P)."""
    # The rank is checked because the perceptron's compiled code computes a row index from the rank of each projector
    # without a range check.
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.abs([P - P.T, P @ P - P]).max(initial=0.0)
    return bool(errors <= PROJECTOR_TOL) and 0 <= round(np.trace(P)) <= len(P)


def check_svc(found: Found) -> None:
    """Check ``coef_``, ``intercept_`` and ``_descents.w`` of a PoincareSVC; raise FlawError if one of them is invalid.

    ``coef_`` and ``_descents.w`` must have the right numbers of columns. ``intercept_`` must be present if boundaries
    have an intercept, and absent otherwise.
    """
    # With margin="exact", boundaries have no intercept: the fit finds points through which they pass, even if the
    # parameter ``reference`` is None.
    d, is_free = found["n_features_in_"], found["reference"] is None and found["margin"] == "bound"
    if is_free != ("intercept_" in found):
        raise FlawError('intercept_ must be present if reference is None and margin is "bound", and absent otherwise')
    if is_free:
        _check_cone_columns(found)
    elif found["coef_"].shape[1] != d:
        raise FlawError(f"coef_ must have {d} columns")
    columns = d + is_free + (is_free and found["fit_intercept"])
    if "_descents.w" in found and found["_descents.w"].shape[1] != columns:
        raise FlawError(f"_descents.w must have {columns} columns")


def check_cone(found: Found) -> None:
    """Check ``coef_`` and ``reference_`` of a logistic regression; raise FlawError if one of them is invalid.

    ``coef_`` must have one more column than there are features, and all rows of ``reference_`` must be equal.
    """
    _check_cone_columns(found)
    if np.any(found["reference_"] != found["reference_"][:1]):
        raise FlawError("all rows of reference_ must be equal")


def _check_cone_columns(found: Found) -> None:
    if found["coef_"].shape[1] != found["n_features_in_"] + 1:
        raise FlawError(f"coef_ must have {found['n_features_in_'] + 1} columns, one more than there are features")


def check_neighbors(found: Found) -> None:
    """Check that the class codes are valid, and that there are at least ``n_neighbors`` training points.

    Raise FlawError otherwise.
    """
    if np.any(found["_codes"] >= len(found["classes_"])):
        raise FlawError(f"_codes must be integers below {len(found['classes_'])}, the number of classes")
    if found["n_neighbors"] > found["n_samples_fit_"]:
        raise FlawError(f"n_neighbors must be at most {found['n_samples_fit_']}, the number of training points")


def check_conformal(found: Found) -> None:
    """Check that the class codes, folds, fitted models and hierarchy of a conformal classifier are consistent.

    Raise FlawError otherwise.
    """
    K, by_distance = len(found["classes_"]), found["conformity"] == "distance"
    folds = 1 if by_distance else int(found["folds"])
    if np.any(found["_codes"] >= K) or not np.array_equal(np.unique(found["_folds"]), np.arange(folds)):
        raise FlawError(f"_codes must be below {K}, and _folds must contain every integer below {folds} and no others")
    near = [f"_near.{name}" in found for name in Neighbours._fields]
    if near != [by_distance] * len(near) or len(found["estimators_"]) != (0 if by_distance else folds):
        raise FlawError(
            'if conformity is "distance", _near must be complete and estimators_ empty; otherwise, estimators_ must '
            "contain one model per fold, and _near must be absent"
        )
    if by_distance and not np.array_equal(found["_near.codes"], found["_codes"]):
        raise FlawError("_near.codes must equal _codes")
    for model in (found["estimator_"], *found["estimators_"]):
        if type(model) is not type(found["estimator"]) or model.n_features_in_ != found["n_features_in_"]:
            raise FlawError(
                'the nested models must have the same class as the parameter "estimator", and the same number of '
                "features as the conformal classifier"
            )
        labels = getattr(model, "classes_", np.empty(0))
        if not np.array_equal(labels, found["classes_"]):
            shared = len(set(labels.tolist()) & set(found["classes_"].tolist()))
            raise FlawError(
                f"the nested models must be fitted to the {K} classes of the conformal classifier; one has "
                f"{len(labels)} classes, of which {shared} are shared"
            )
    try:
        if found["hierarchy"] is not None:
            Hierarchy.of(found["hierarchy"], found["classes_"])
    except ValueError as error:
        raise FlawError(f"the hierarchy does not match the classes ({str(error)[:100]})") from None


def check_landmarks(found: Found) -> None:
    """Check that the landmarks are three or more distinct rows and, if ``gamma`` is "auto", that ``gamma_`` is valid.

    Raise FlawError otherwise.
    """
    rows, n = found["landmarks_"], len(found["embedding_"])
    if len(rows) < 3 or np.any(rows >= n) or len(np.unique(rows)) < len(rows):
        raise FlawError(f"landmarks_ must be three or more distinct row numbers below {n}")
    low, high = GAMMAS
    if found["gamma"] == "auto" and not low <= found.get("gamma_", 0.0) <= high:
        raise FlawError(f'gamma_ must be a number from {low:g} to {high:g} if gamma is "auto"')


def check_input_shape(found: Found) -> None:
    """Raise FlawError if ``input_shape_`` does not match ``n_features_in_`` or is not supported by the encoder."""
    shape, second = found["input_shape_"], found["n_features_in_"]
    # n_features_in_ is the length of the second axis of X: the number of features or channels or, for images without a
    # channel axis, the height. The input_shape_ of images without a channel axis is (1, height, width).
    if second != shape[0] and (len(shape) == 1 or (1, second) != shape[:2]):
        raise FlawError(f"input_shape_ is {shape}, which does not match n_features_in_={second}")
    if found["encoder"] == "conv" and (len(shape) == 1 or min(shape[1:]) < SMALLEST_SIDE):
        raise FlawError(
            f"encoder='conv' requires images of at least {SMALLEST_SIDE} by {SMALLEST_SIDE} pixels; "
            f"input_shape_ is {shape}"
        )


def check_weights(found: Found) -> None:
    """Check that the weights match the layers of the network, and that scales, variances and batch counts are valid.

    Raise FlawError otherwise.
    """
    n_components, n_classes = int(found["n_components"]), len(found["classes_"])
    shapes = layout(found["encoder"], found["head"], found["input_shape_"], n_components, n_classes)
    sizes = [math.prod(shape) for shape in shapes.values()]
    if sum(sizes) != len(found["weights_"]):
        raise FlawError(
            f"the layers of the network need {sum(sizes):,} numbers, but weights_ has {len(found['weights_']):,} "
            "elements"
        )
    for name, part in zip(shapes, np.split(found["weights_"], np.cumsum(sizes)[:-1]), strict=True):
        last = name.rpartition(".")[2]
        if (last == "scale" and np.any(part <= 0)) or (last == "running_var" and np.any(part < 0)):
            raise FlawError(
                f"scales must be positive and variances non-negative; the smallest value of {name} is {part.min():.3g}"
            )
        if last == "num_batches_tracked" and (part[0] < 0 or part[0] != np.round(part[0])):
            raise FlawError(f"{name} in weights_ must be a non-negative integer; it is {part[0]:.3g}")


def check_embedding(found: Found) -> None:
    """Check the points, the radii, ``max_radius`` and the number of validation scores of a network.

    Raise FlawError if one of them is invalid.
    """
    embedding, c = found["embedding_"], -float(found["curvature"])
    if embedding.shape[1] != found["n_components"] or not len(embedding) or np.any(found["radius_"] < 0):
        raise FlawError(
            f"embedding_ must have n_components={found['n_components']} columns and at least one row, and radius_ must "
            f"not be negative; embedding_ has the shape {embedding.shape}"
        )
    if found["head"] == "hyperbolic" and not are_inside(embedding, c):
        raise FlawError('embedding_ must contain only points inside the ball if head is "hyperbolic"')
    if found["max_radius"] > LARGEST_RADIUS / math.sqrt(c):
        raise FlawError(f"max_radius must be at most {LARGEST_RADIUS / math.sqrt(c):.4g}; it is {found['max_radius']}")
    n_scores = len(found["validation_scores_"])
    if n_scores not in (0, found["n_iter_"]):
        raise FlawError(f"validation_scores_ must be empty or have {found['n_iter_']} scores; it has {n_scores}")
