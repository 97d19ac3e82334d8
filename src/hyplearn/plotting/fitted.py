"""What displays read from a fitted classifier, by its attributes: any class that has them is welcome."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.plotting.arcs import minkowski_normal
from hyplearn.types import Array

Hyperplane = tuple[Array, Array]


def fitted_classifier(estimator: Any) -> Any:
    """The classifier itself, that of a search the best one found; an error if it is not fitted."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
        raise ValueError(
            f"A picture of classes needs a classifier with predict and classes_; got {type(estimator).__name__}.\n"
            "Pass a fitted classifier, alone or at the end of a pipeline."
        )
    return estimator


def curvature_of(estimator: Any, given: float | None) -> float:
    """The curvature of the estimator, or of the first that has one of those it wraps or chains; else that given."""
    within = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    own = next((one.curvature for one in [estimator, *within] if hasattr(one, "curvature")), None)
    if own is not None and given is not None and own != given:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with curvature={own}; got curvature={given} for its picture.\n"
            "Leave curvature out."
        )
    curvature = next((value for value in (own, given) if value is not None), -1.0)
    absolute_curvature(curvature)
    return float(curvature)


def has_hyperplanes(estimator: Any) -> bool:
    """Whether each row of ``coef_`` is the normal of a geodesic hyperplane through that of ``reference_``.

    Not so if the estimator has ``hyperplane_between``: then its boundaries lie between classes, wherever its p is.
    """
    if hasattr(estimator, "hyperplane_between"):
        return False
    shapes = [np.shape(getattr(estimator, name, ())) for name in ("coef_", "reference_")]
    return len(shapes[0]) == 2 and shapes[0] == shapes[1]


def hyperplane(estimator: Any) -> Hyperplane | None:
    """The hyperplane (w, p) of two classes, w on the side of the second; None if there is none to be read.

    Predictions change on it, or on the equidistant at the distance :func:`height_of_change` from it.
    """
    if len(estimator.classes_) != 2:
        return None
    if hasattr(estimator, "hyperplane_between"):
        return _between(estimator, *estimator.classes_[::-1]) if _is_pairwise(estimator) else None
    if not has_hyperplanes(estimator) or not np.any(estimator.coef_[0]) or height_of_change(estimator) is None:
        return None
    return estimator.coef_[0], estimator.reference_[0]


def height_of_change(estimator: Any) -> float | None:
    """The signed distance from the hyperplane of two classes where predictions change; None if it is not one distance.

    That is where the score is ``shift_``, which is a distance for an estimator that does not say otherwise.
    """
    shift = getattr(estimator, "shift_", 0.0)
    sigmoids = getattr(estimator, "sigmoids_", None)
    if sigmoids is not None and estimator.calibration == "training" and sigmoids[0, 0] <= 0:
        return None
    if shift == 0 or not hasattr(estimator, "_sines_at"):
        return float(shift)
    sines = estimator._sines_at(shift)
    root = np.sqrt(absolute_curvature(estimator.curvature))
    return None if sines is None else float(np.arcsinh(sines[0]) / root)


def _is_pairwise(estimator: Any) -> bool:
    """Whether predictions change on the hyperplanes between classes: not with the intercept of a softmax."""
    return not getattr(estimator, "fit_intercept", False)


def _steepness(estimator: Any) -> Array | None:
    """Factors with which sines of the distances to all boundaries compare as the scores do; None if none do.

    Sigmoids of their own make classes more or less likely than their distances say.
    """
    sigmoids = getattr(estimator, "sigmoids_", None)
    if sigmoids is not None and (np.any(sigmoids != sigmoids[0]) or sigmoids[0, 0] <= 0):
        return None
    if not hasattr(estimator, "_sines_at"):
        return np.ones(len(estimator.coef_))
    sines = estimator._sines_at(1.0)
    return None if sines is None else 1 / sines


def _between(estimator: Any, a: Any, b: Any) -> Hyperplane | None:
    """``hyperplane_between(a, b)``, w on the side of a; it may refuse where one is nowhere as likely as the other."""
    try:
        found = estimator.hyperplane_between(a, b)
    except ValueError:
        return None
    return None if found is None else (np.asarray(found[0]), np.asarray(found[1]))


def pairwise_normals(estimator: Any, c: float) -> Iterator[tuple[int, int, Array]]:
    """Numbers of two classes and the vector N of Minkowski space with ``[N, X] = 0`` where both are equally likely.

    Where each class has a hyperplane against the rest, a point belongs to the class on whose side it is farthest, or
    whose multiple of the sinh of that distance is largest. These are linear in X, so two classes meet on a geodesic
    hyperplane here too.
    """
    numbers = range(len(estimator.classes_))
    if hasattr(estimator, "hyperplane_between"):
        for i, j in combinations(numbers, 2) if _is_pairwise(estimator) else ():
            found = _between(estimator, estimator.classes_[i], estimator.classes_[j])
            if found is not None:
                yield i, j, minkowski_normal(*found, c=c)
    elif has_hyperplanes(estimator) and len(estimator.coef_) > 1 and np.all(np.any(estimator.coef_, axis=1)):
        steepness = _steepness(estimator)
        if steepness is None:
            return
        planes = zip(steepness, estimator.coef_, estimator.reference_, strict=True)
        N = [factor * minkowski_normal(w, p, c=c) for factor, w, p in planes]
        for i, j in combinations(numbers, 2):
            yield i, j, N[j] - N[i]


def margin_of(estimator: Any, w: Array, given: float | None, c: float, *, problem: int = 0) -> float | None:
    r"""The hyperbolic distance from the boundary at which to draw the margin; None for none.

    What is given; else, for an SVM with ``margin="exact"``, the distance where ⟨z, w⟩ = 1, which is
    :math:`\operatorname{arsinh}(\sqrt c / \|w\|) / \sqrt c`; else ``margin_``, the least distance of a training point,
    if it is positive.
    """
    if given is not None:
        if not 0 < given < np.inf:
            raise ValueError(f"margin must be a positive hyperbolic distance; got {given!r}.\nLeave it out for none.")
        return float(given)
    if getattr(estimator, "margin", None) == "exact":
        return float(np.arcsinh(np.sqrt(c) / np.linalg.norm(w)) / np.sqrt(c))
    least = getattr(estimator, "margin_", None)
    return float(least[problem]) if least is not None and least[problem] > 0 else None
