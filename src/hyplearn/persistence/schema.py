"""Every estimator that a file can hold: its class, its parameters, and the kinds of its fitted attributes.

A table serves all: saving refuses what does not fit it, loading refuses what does not fit it, and ``docs/format.md`` is
held to it by a test.
"""

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hyplearn.embedding import BallNet, HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.embedding.descent import Hydra
from hyplearn.estimators import (
    ExpMap,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.paper import AuthorsSVC, EuclideanSVC, HyperboloidPerceptron, HyperboloidSVC, PaperSVC
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.decisions import DECISION, check_decision
from hyplearn.persistence.kinds import (
    Kind,
    Sizes,
    count,
    features,
    labels,
    names,
    node_labels,
    none_or,
    number,
    parents,
    points,
    positive,
    proof,
    real,
    size,
    truth,
    unit_points,
    units,
    weights,
    whole,
    word,
    words,
)
from hyplearn.persistence.networks import NETWORK, NETWORK_CHECKS, NETWORK_PARAMETERS
from hyplearn.persistence.parameters import PARAMETERS, Parameter, check_parameters, choice, or_word
from hyplearn.solvers.perceptron import Perceptron
from hyplearn.solvers.sgd import Descent

Attributes = dict[str, Any]
# Attributes made of several: a dict, or a list with one object per binary problem. Their parts are stored one by one,
# those of lists stacked, under the names "attribute.part".
COMPOSED: dict[str, type[Any]] = {
    "_descents": Descent,
    "_perceptrons": Perceptron,
    "mistake_bounds_": dict,
    "_sklearn_output_config": dict,
    "_hydra": Hydra,
}
# What a header tells in plain JSON beside the arrays, so that a proof can be read without a reader.
CERTIFICATE = ("status_", "primal_", "dual_", "dual_gap_", "objective_", "converged_", "mistake_bound_", "margin_")


@dataclass(frozen=True)
class Schema:
    """What a file holds of one class: kinds of fitted attributes, in the order in which they are checked.

    ``settings`` are attributes that are there before a fit too. ``checks`` are relations that shapes do not tell,
    between attributes, and between these and parameters.
    """

    cls: type[Any]
    fitted: dict[str, Kind]
    checks: tuple[Callable[[Attributes], None], ...] = ()
    choices: dict[str, Parameter] = field(default_factory=dict)
    settings: dict[str, Kind] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The kinds of all parameters."""
        known = {**PARAMETERS, **self.choices}
        return {name: known[name] for name in self.cls._get_param_names()}

    def check(self, parameters: dict[str, Any], attributes: Attributes) -> None:
        """Refuse anything that no fit, nor a new estimator, can have."""
        check_parameters(parameters, self.parameters)
        sizes = Sizes(_absolute_curvature(parameters, attributes), {})
        kinds = {**self.fitted, **self.settings}
        if unknown := sorted(set(attributes) - set(kinds)):
            raise FlawError(
                f"it has attributes that a model file does not know: {unknown!r:.200}",
                "Delete them, and set them again after loading.",
            )
        is_fitted = not set(attributes) <= set(self.settings)
        for name, kind in kinds.items():
            if name in attributes:
                kind.check(name, attributes[name], sizes)
                if name == "classes_":
                    sizes.symbols["P"] = 1 if len(attributes[name]) == 2 else len(attributes[name])
            elif is_fitted and not kind.optional and name not in self.settings:
                raise FlawError(f"it is fitted in part: {name} is missing", "Fit it again.")
        if is_fitted:
            for check in self.checks:
                check({**parameters, **attributes})


def _absolute_curvature(parameters: dict[str, Any], attributes: Attributes) -> float:
    """That of the ball in which the attributes lie: the one that was found, or given, or 1."""
    found = attributes.get("curvature_", parameters.get("curvature", -1.0))
    return -float(found) if isinstance(found, numbers.Real) else 1.0


def _all_or_none(*group: str) -> Callable[[Attributes], None]:
    def check(attributes: Attributes) -> None:
        present = [name for name in group if name in attributes]
        if present and len(present) < len(group):
            raise FlawError(f"{', '.join(group)} belong together; there are {', '.join(present)} only")

    return check


def _support_in_order(attributes: Attributes) -> None:
    support, n = attributes["support_"], attributes.get("_n_rows", 0)
    if support.size and (np.any(np.diff(support) <= 0) or support[-1] >= n):
        raise FlawError(f"support_ must be rows in order, below {n}")


def _one_inverse(attributes: Attributes) -> None:
    """The roots and projectors of a second order that was given as one: see the attributes of ``Perceptron``."""
    d = attributes["n_features_in_"]
    for part in ("root", "outside"):
        if attributes[f"_perceptrons.{part}"].shape[1] not in (0, d):
            raise FlawError(f"_perceptrons.{part} must be 0 or {d} wide")


def _none_of_second_order(attributes: Attributes) -> None:
    if attributes["_perceptrons.root"].size or attributes["_perceptrons.outside"].size:
        raise FlawError("a perceptron of the first order has no inverse")


def _with_inverse(attributes: Attributes) -> None:
    if not attributes["_perceptrons.root"].size:
        raise FlawError("a perceptron of the second order has an inverse")


_FEATURES = {"n_features_in_": size("d"), "feature_names_in_": names("d").perhaps}
_LABELS = {**_FEATURES, "classes_": labels("K")}
_ONE_VS_REST = {**_LABELS, "coef_": real("P", "d"), **DECISION}
_OWN_CALIBRATION = {"calibration": choice("cross-fitted", None)}
_OUTPUT = {"_sklearn_output_config.transform": word("default", "pandas", "polars").perhaps}

_SVC = {
    **_ONE_VS_REST,
    "reference_": points("P", "d"),
    "status_": words("P", among=("optimal", "max_iter", "stalled", "stopped", "infeasible", "online")),
    **{name: proof("P") for name in ("primal_", "dual_", "dual_gap_", "margin_")},
    "n_iter_": count("P"),
    "n_passes_": count("P"),
    "n_support_": count("P"),
    "support_": count("S"),
    "support_vectors_": points("S", "d"),
    "dual_coef_": real("P", "S"),
    "_n_rows": size("n").perhaps,
    "_descents.w": real("P", "d").perhaps,
    "_descents.n_steps": count("P").perhaps,
    "_descents.n_seen": count("P").perhaps,
}
_PERCEPTRON = {
    **_ONE_VS_REST,
    "reference_": points("P", "d"),
    "n_iter_": count("P"),
    "n_updates_": count("P"),
    "converged_": truth("P"),
    "margin_": proof("P"),
    "mistake_bound_": proof("P"),
    **{f"mistake_bounds_.{name}": proof("P") for name in ("data", "paper", "second_order")},
    "_perceptrons.w": real("P", "d"),
    "_perceptrons.root": real("P", "r", "r"),
    "_perceptrons.outside": real("P", "o", "o"),
    "_perceptrons.total": real("P", "d"),
    "_perceptrons.counts": weights("P", 3),
}
_LOGISTIC = {
    **_LABELS,
    **DECISION,
    "coef_": real("P", "cone"),
    "intercept_": real("P"),
    "reference_": points("P", "d"),
    "status_": words(1, among=("optimal", "max_iter", "stalled")),
    "primal_": proof(1),
    "dual_gap_": proof(1),
    "n_iter_": count(1),
    "n_passes_": count(1),
    "_n_rows": size("n"),
}


def _cone(attributes: Attributes) -> None:
    if attributes["coef_"].shape[1] != attributes["n_features_in_"] + 1:
        raise FlawError("coef_ must have one column more than there are features")


def _one_centre(attributes: Attributes) -> None:
    if np.any(attributes["reference_"] != attributes["reference_"][:1]):
        raise FlawError("reference_ must hold one centre, repeated")


def _landmarks_are_rows(attributes: Attributes) -> None:
    rows, n = attributes["landmarks_"], len(attributes["embedding_"])
    if len(rows) < 3 or np.any(rows >= n) or len(np.unique(rows)) < len(rows):
        raise FlawError(f"landmarks_ must be three or more different rows below {n}")


_SCHEMAS = (
    Schema(
        PoincareSVC,
        _SVC,
        (check_decision, _support_in_order, _all_or_none("_descents.w", "_descents.n_steps", "_descents.n_seen")),
        _OWN_CALIBRATION,
    ),
    Schema(PoincarePerceptron, _PERCEPTRON, (check_decision, _none_of_second_order), _OWN_CALIBRATION),
    Schema(PoincareSecondOrderPerceptron, _PERCEPTRON, (check_decision, _one_inverse, _with_inverse), _OWN_CALIBRATION),
    Schema(PoincareLogisticRegression, _LOGISTIC, (check_decision, _cone, _one_centre)),
    Schema(
        PoincareLogisticRegressionCV,
        {**_LOGISTIC, "C_": number(above=0.0), "Cs_": positive("costs"), "log_losses_": proof("folds", "costs")},
        (check_decision, _cone, _one_centre),
    ),
    Schema(
        PaperSVC,
        {
            **_ONE_VS_REST,
            "reference_": points("P", "d"),
            "status_": words("P", among=("optimal", "max_iter", "stalled", "stopped")),
            **{name: proof("P") for name in ("primal_", "dual_", "dual_gap_")},
            "n_iter_": count("P"),
            "n_passes_": count("P"),
        },
        (check_decision,),
        {"solver": choice("exact", "sgd")},
    ),
    Schema(
        HyperboloidSVC,
        {
            **_ONE_VS_REST,
            "reference_": points("P", "d"),
            "objective_": proof("P"),
            "status_": words("P", among=("local", "max_iter", "one-sided")),
            "n_iter_": count("P"),
        },
        (check_decision,),
        {"solver": choice("stages", "projected_gradient")},
    ),
    Schema(
        EuclideanSVC,
        {
            **_ONE_VS_REST,
            "intercept_": real("P"),
            "primal_": proof("P"),
            "dual_gap_": proof("P"),
            "status_": words("P", among=("optimal", "max_iter", "stalled")),
            "n_iter_": count("P"),
        },
        (check_decision,),
    ),
    Schema(
        AuthorsSVC,
        {**_ONE_VS_REST, "reference_": points("P", "d"), "dropped_intercept_": real("P"), "n_iter_": count("P")},
        (check_decision,),
    ),
    Schema(
        HyperboloidPerceptron,
        {
            **_ONE_VS_REST,
            "reference_": points("P", "d"),
            "status_": words("P", among=("converged", "max_epochs")),
            "n_iter_": count("P"),
            "n_updates_": count("P"),
        },
        (check_decision,),
    ),
    Schema(TangentSpace, {**_FEATURES, "reference_": points("d")}, settings=_OUTPUT),
    Schema(ExpMap, _FEATURES, settings=_OUTPUT),
    Schema(
        TreeEmbedding,
        {
            "embedding_": points("n", "k"),
            "labels_": node_labels("n"),
            "parents_": parents("n"),
            **{name: number(above=0.0) for name in ("scale_", "spread_", "worst_distortion_")},
            "average_distortion_": number(),
            "n_pairs_": whole(),
        },
    ),
    Schema(
        HyperbolicMDS,
        {
            "n_features_in_": size("n"),
            "curvature_": number(below=0.0),
            "embedding_": points("n", "k"),
            "labels_": none_or(node_labels("n")),
            "stress_": number(),
            "spectral_stress_": number(),
            "n_iter_": whole(),
            "_points": unit_points("n", "k"),
            "_hydra.values": real("k"),
            "_hydra.vectors": units("n", "k"),
        },
        choices={"loss": choice("absolute", "relative"), "curvature": or_word(PARAMETERS["curvature"], "auto")},
    ),
    Schema(
        PoincareMap,
        {
            **_FEATURES,
            "embedding_": points("n", "k"),
            "landmarks_": count("m"),
            "_cells": features("m", "d"),
            "loss_": number(),
            "n_iter_": whole(),
        },
        (_landmarks_are_rows,),
        settings=_OUTPUT,
    ),
    Schema(BallNet, {**_LABELS, **NETWORK}, NETWORK_CHECKS, NETWORK_PARAMETERS, _OUTPUT),
)
SCHEMAS = {schema.cls.__name__: schema for schema in _SCHEMAS}
