"""Classifiers from options, classifiers from files, and what certifies them."""

from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.utils.validation import check_is_fitted

from hyplearn.embedding import BallNet
from hyplearn.estimators import CLASSIFIERS, classifier_named
from hyplearn.persistence import load
from hyplearn.reference import STRATEGIES

NAMES = tuple(CLASSIFIERS)


def classifier(name: str, reference: str | None, c: float | None, curvature: float, outside: str) -> Any:
    """The classifier that options describe; what its class does not know is an error of usage."""
    if name not in CLASSIFIERS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(NAMES)}.", param_hint="--model")
    parameters: dict[str, Any] = {"curvature": curvature, "outside": outside}
    if reference is not None:
        parameters["reference"] = reference_from(reference)
    if c is not None:
        if "C" not in CLASSIFIERS[name]().get_params():
            raise typer.BadParameter(f"{name} has no cost C.", param_hint="--c")
        parameters["C"] = c
    return classifier_named(name, **parameters)


def reference_from(text: str) -> Any:
    """A strategy's name, or coordinates with commas between."""
    if text in STRATEGIES:
        return text
    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        known = ", ".join(sorted(STRATEGIES))
        raise typer.BadParameter(
            f"{text!r} is neither one of {known} nor coordinates like 0.1,-0.2.", param_hint="--reference"
        ) from None


def load_classifier(path: Path) -> Any:
    """The fitted classifier of a model file."""
    model = load(path)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which predicts nothing.\nPass a classifier.")
    check_is_fitted(model)
    if len(shape := getattr(model, "input_shape_", ())) > 1:
        raise ValueError(
            f"{path} holds a network that takes images of shape {shape}, and files of the command line have rows.\n"
            "Use it in Python: hyplearn.load(path).predict(images)."
        )
    return model


def load_ball_classifier(path: Path) -> Any:
    """The fitted classifier of a model file; an error if it takes features, and no points of a ball."""
    model = load_classifier(path)
    if isinstance(model, BallNet):
        raise ValueError(
            f"{path} holds a BallNet, which takes features, and no points of the ball to draw or to compare on.\n"
            "Use hyplearn predict, or evaluate with --folds 0; or fit a classifier to the points of its transform."
        )
    return model


def certificate(model: Any) -> dict[str, Any]:
    """What proves how good a fit is, by name."""
    names = ("status_", "dual_gap_", "converged_", "n_updates_", "mistake_bound_", "margin_")
    return {name.rstrip("_"): getattr(model, name) for name in names if hasattr(model, name)}


def certificate_text(model: Any) -> str:
    """The certificate in a line: the worst of all problems."""
    if hasattr(model, "dual_gap_"):
        gap = f"within {np.max(model.dual_gap_):.0e} of the optimum, proven"
        statuses = sorted(set(model.status_))
        return f"{', '.join(statuses)}: {gap}"
    if hasattr(model, "converged_"):
        done, total = int(np.sum(model.converged_)), len(model.converged_)
        return f"{done} of {total} problems ended without a mistake, after {int(np.sum(model.n_updates_)):,} updates"
    return "none"
