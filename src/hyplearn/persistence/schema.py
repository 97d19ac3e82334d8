"""Schemas of all estimators that can be saved, with their classes, parameters and kinds of fitted attributes.

Estimators are checked against these schemas when they are saved and loaded. A test compares the schemas with
``docs/format.md``.
"""

import numbers
from dataclasses import dataclass, field, replace
from typing import Any

from hyplearn import embedding, estimators, paper
from hyplearn.persistence import checks, kinds
from hyplearn.persistence.checks import Check
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.kinds import Kind, count, number, points, proof, real, size, words
from hyplearn.persistence.parameters import (
    HIERARCHY,
    PARAMETERS,
    Parameter,
    check_parameters,
    choice,
    integer,
    number_in,
    or_word,
)

Attributes = dict[str, Any]
# Attributes that show how good a fit is. They are repeated in the header as plain JSON, under the name "certificate",
# so that they can be read without decoding arrays.
CERTIFICATE = ("status_", "primal_", "dual_", "dual_gap_", "objective_", "converged_", "mistake_bound_", "margin_")


@dataclass(frozen=True)
class Schema:
    """Schema of one class of estimators; ``fitted`` gives the kind of each fitted attribute.

    ``checks`` are functions that check attributes and parameters together. ``choices`` gives the allowed values of
    parameters that are not in PARAMETERS, or whose allowed values differ from those in PARAMETERS. ``settings`` gives
    the kind of each attribute that may be set before fitting.
    """

    cls: type[Any]
    fitted: dict[str, Kind]
    checks: tuple[Check, ...] = ()
    choices: dict[str, Parameter] = field(default_factory=dict)
    settings: dict[str, Kind] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Allowed values of all parameters, by parameter name."""
        known = {**PARAMETERS, **self.choices}
        return {name: known[name] for name in self.cls._get_param_names()}

    def check(self, parameters: dict[str, Any], attributes: Attributes) -> None:
        """Check the parameters and attributes of an estimator, fitted or not; raise FlawError if one is invalid."""
        check_parameters(parameters, self.parameters)
        sizes = kinds.Sizes(_absolute_curvature(parameters, attributes), {})
        expected = {**self.fitted, **self.settings}
        if unknown := sorted(set(attributes) - set(expected)):
            raise FlawError(
                f"the estimator has attributes that cannot be stored in a model file: {unknown!r:.200}",
                "Delete these attributes, and set them again after loading.",
            )
        is_fitted = not set(attributes) <= set(self.settings)
        for name, kind in expected.items():
            if name in attributes:
                kind.check(name, attributes[name], sizes)
                if name == "classes_":
                    sizes.symbols["P"] = 1 if len(attributes[name]) == 2 else len(attributes[name])
            elif is_fitted and not kind.optional and name not in self.settings:
                raise FlawError(f"the estimator is only partly fitted: {name} is missing", "Fit the estimator again.")
        if is_fitted:
            for check in self.checks:
                check({**parameters, **attributes})


def _absolute_curvature(parameters: dict[str, Any], attributes: Attributes) -> float:
    """Return the absolute value of ``curvature_`` (if missing, of ``curvature``), or 1 if the value is not a number."""
    found = attributes.get("curvature_", parameters.get("curvature", -1.0))
    return -float(found) if isinstance(found, numbers.Real) else 1.0


_FEATURES = {"n_features_in_": size("d"), "feature_names_in_": kinds.names("d").perhaps}
_LABELS = {**_FEATURES, "classes_": kinds.labels("K")}
_DECISION: dict[str, Kind] = {
    "decision_.link": kinds.word("arsinh", "frame", "z", "sphere", "sphere-arsinh", "cone", "ball"),
    "decision_.weights": real("P", "m"),
    "decision_.points": points("P", "d"),
    "decision_.intercepts": real("P"),
    "decision_.gain": number(above=0.0, below=kinds.LARGEST_NUMBER),
    "decision_.through_points": kinds.BOOL,
    "decision_.slopes": real("P").perhaps,
    "decision_.offsets": real("P").perhaps,
    "decision_.mixing": real("P", "P").perhaps,
    "decision_.sharpness": number(above=0.0, below=kinds.LARGEST_NUMBER).perhaps,
    "decision_.floor": number(above=0.0, below=1.0).perhaps,
}
_ONE_VS_REST = {**_LABELS, "coef_": real("P", "d"), **_DECISION}
_AT_POINTS = {**_ONE_VS_REST, "reference_": points("P", "d")}
_CALIBRATION = choice("cross-fitted", None)
_OUTPUT = {"_sklearn_output_config.transform": kinds.word("default", "pandas", "polars").perhaps}

_SVC = {
    **_AT_POINTS,
    "coef_": real("P", "r"),
    "intercept_": real("P").perhaps,
    "C_": kinds.costs("P"),
    "status_": words("P", among=("optimal", "max_iter", "stalled", "stopped", "infeasible", "online")),
    **dict.fromkeys(("primal_", "dual_", "dual_gap_", "margin_"), proof("P")),
    **dict.fromkeys(("n_iter_", "n_passes_", "n_support_"), count("P")),
    "support_": count("S"),
    "support_vectors_": points("S", "d"),
    "dual_coef_": real("P", "S"),
    "_n_rows": size("n").perhaps,
    "_descents.w": real("P", "u").perhaps,
    **dict.fromkeys(("_descents.n_steps", "_descents.n_seen"), count("P").perhaps),
}
_PERCEPTRON = {
    **_AT_POINTS,
    **dict.fromkeys(("n_iter_", "n_updates_"), count("P")),
    "converged_": kinds.truth("P"),
    **dict.fromkeys(("margin_", "mistake_bound_"), proof("P")),
    **{f"mistake_bounds_.{name}": proof("P") for name in ("data", "paper", "second_order")},
    "_perceptrons.w": real("P", "d"),
    "_perceptrons.root": real("P", "r", "r"),
    "_perceptrons.outside": real("P", "o", "o"),
    "_perceptrons.total": real("P", "d"),
    "_perceptrons.counts": kinds.weights("P", 3),
}
_LOGISTIC = {
    **_LABELS,
    **_DECISION,
    "coef_": real("P", "cone"),
    "intercept_": real("P"),
    "reference_": points("P", "d"),
    "status_": words(1, among=("optimal", "max_iter", "stalled")),
    **dict.fromkeys(("primal_", "dual_gap_"), proof(1)),
    **dict.fromkeys(("n_iter_", "n_passes_"), count(1)),
    "C_": number(above=0.0),
    "_n_rows": size("n"),
}
_AUTO = or_word(PARAMETERS["C"], "auto")
_KERNEL = {
    **_LABELS,
    "landmarks_": points("l", "d"),
    "projection_": real("l", "r"),
    **dict.fromkeys(("scale_", "C_"), number(above=0.0)),
    "search_": proof("t", 3),
    "lost_trace_": kinds.SHARE,
    "coef_": real("P", "r"),
    "intercept_": real("P"),
    "status_": words(1, among=("optimal", "max_iter", "stalled")),
    **dict.fromkeys(("primal_", "dual_gap_"), proof(1)),
    **dict.fromkeys(("n_iter_", "n_passes_"), count(1)),
    "_n_rows": size("n"),
    **{
        name: replace(kind, optional=False)
        for name, kind in _DECISION.items()
        if name not in ("decision_.sharpness", "decision_.mixing", "decision_.floor")
    },
    "decision_.link": kinds.word("kernel"),
    "decision_.kernel": kinds.word("laplacian", "secant", "heat"),
}
_NETWORK = {
    **_LABELS,
    "input_shape_": kinds.ROW_SHAPE,
    "weights_": kinds.single("w"),
    "n_iter_": size("e"),
    "loss_curve_": real("e"),
    "validation_scores_": kinds.shares("v"),
    "embedding_": real("n", "k"),
    "radius_": real("n"),
    "clipped_": kinds.SHARE,
}
_NETWORK_CHECKS = (checks.check_input_shape, checks.check_weights, checks.check_embedding)
_NETWORK_PARAMETERS = {
    "encoder": choice("mlp", "conv")._replace(
        advice="A model file does not store code, such as a module or a function: save the weights with torch.save("
        "model.network_.state_dict(), path), or save a classifier fitted to the transformed points."
    ),
    "head": choice("hyperbolic", "euclidean"),
    **dict.fromkeys(("max_radius", "learning_rate"), number_in(above=0.0)),
    **dict.fromkeys(("epochs", "batch_size", "patience"), integer(1)),
    "weight_decay": number_in(above=0.0, closed=True),
    "validation_fraction": number_in(above=0.0, below=1.0, closed=True),
    # The checkpoint must be None. Otherwise, the next fit of a loaded estimator would overwrite and remove the file at
    # the path in ``checkpoint``.
    "checkpoint": Parameter(
        "None",
        lambda value: value is None,
        "Set it with set_params(checkpoint=None), and save again: a finished fit needs no checkpoint.",
    ),
}


def _is_estimator(value: Any) -> bool:
    """Return whether a value is an estimator that can be stored inside another estimator."""
    return any(type(value) is schema.cls for schema in _SCHEMAS if schema.cls is not estimators.ConformalClassifier)


_MODEL = Kind("a supported estimator other than ConformalClassifier", lambda value, sizes: _is_estimator(value))
_CONFORMAL = {
    **_LABELS,
    "estimator_": _MODEL,
    "estimators_": Kind(
        "a list of supported estimators other than ConformalClassifier",
        lambda value, sizes: type(value) is list and all(map(_is_estimator, value)),
    ),
    "scores_": real("n"),
    "_codes": count("n"),
    "_folds": count("n"),
    "_weights": kinds.weights("n"),
    "_near.rows": real("n", "d").perhaps,
    "_near.codes": count("n").perhaps,
    "_near.weights": kinds.weights("n").perhaps,
    **dict.fromkeys(("_near.sums", "_near.last", "_near.means"), proof("n").perhaps),
}


def _classifier(cls: type[Any], fitted: dict[str, Kind], *further: Check, **choices: Parameter) -> Schema:
    return Schema(cls, fitted, (checks.check_decision, *further), choices)


_SCHEMAS = (
    _classifier(
        estimators.PoincareSVC,
        _SVC,
        checks.check_svc,
        checks.check_support,
        checks.check_descents,
        calibration=_CALIBRATION,
        reference=or_word(PARAMETERS["reference"], None)._replace(advice=PARAMETERS["reference"].advice),
        C=_AUTO,
    ),
    _classifier(estimators.PoincarePerceptron, _PERCEPTRON, checks.check_first_order, calibration=_CALIBRATION),
    _classifier(
        estimators.PoincareSecondOrderPerceptron, _PERCEPTRON, checks.check_second_order, calibration=_CALIBRATION
    ),
    _classifier(estimators.PoincareLogisticRegression, _LOGISTIC, checks.check_cone, C=_AUTO),
    _classifier(
        estimators.PoincareLogisticRegressionCV,
        {**_LOGISTIC, "Cs_": kinds.positive("costs"), "log_losses_": proof("folds", "costs")},
        checks.check_cone,
    ),
    _classifier(
        estimators.PoincareKernelClassifier,
        _KERNEL,
        C=or_word(number_in(above=0.0), "auto"),
    ),
    _classifier(
        paper.PaperSVC,
        {
            **_AT_POINTS,
            "status_": words("P", among=("optimal", "max_iter", "stalled", "stopped")),
            **dict.fromkeys(("primal_", "dual_", "dual_gap_"), proof("P")),
            **dict.fromkeys(("n_iter_", "n_passes_"), count("P")),
        },
        solver=choice("exact", "sgd"),
    ),
    _classifier(
        paper.HyperboloidSVC,
        {
            **_AT_POINTS,
            "objective_": proof("P"),
            "status_": words("P", among=("local", "max_iter", "one-sided")),
            "n_iter_": count("P"),
        },
        solver=choice("stages", "projected_gradient"),
    ),
    _classifier(
        paper.EuclideanSVC,
        {
            **_ONE_VS_REST,
            "intercept_": real("P"),
            **dict.fromkeys(("primal_", "dual_gap_"), proof("P")),
            "status_": words("P", among=("optimal", "max_iter", "stalled")),
            "n_iter_": count("P"),
        },
    ),
    _classifier(paper.AuthorsSVC, {**_AT_POINTS, "dropped_intercept_": real("P"), "n_iter_": count("P")}),
    _classifier(
        paper.HyperboloidPerceptron,
        {
            **_AT_POINTS,
            "status_": words("P", among=("converged", "max_epochs")),
            **dict.fromkeys(("n_iter_", "n_updates_"), count("P")),
        },
    ),
    Schema(
        estimators.PoincareKNeighborsClassifier,
        {**_LABELS, "n_samples_fit_": size("n"), "_points": points("n", "d"), "_codes": count("n")},
        (checks.check_neighbors,),
    ),
    Schema(
        estimators.ConformalClassifier,
        _CONFORMAL,
        (checks.check_conformal,),
        {
            "estimator": Parameter(
                _MODEL.words, _is_estimator, "A model file stores only hyplearn estimators: wrap one of these."
            ),
            "coverage": number_in(above=0.0, below=1.0),
            "conformity": choice("probability", "distance"),
            "hierarchy": HIERARCHY,
        },
    ),
    Schema(estimators.TangentSpace, {**_FEATURES, "reference_": points("d")}, settings=_OUTPUT),
    Schema(estimators.ExpMap, _FEATURES, settings=_OUTPUT),
    Schema(
        estimators.HyperbolicKernelMap,
        {
            **_FEATURES,
            "landmarks_": points("m", "d"),
            "projection_": real("m", "r"),
            "scale_": number(above=0.0),
            "lost_trace_": kinds.SHARE,
        },
        settings=_OUTPUT,
    ),
    Schema(
        embedding.TreeEmbedding,
        {
            "embedding_": points("n", "k"),
            "labels_": kinds.node_labels("n"),
            "parents_": kinds.parents("n"),
            **dict.fromkeys(("scale_", "spread_", "worst_distortion_"), number(above=0.0)),
            "average_distortion_": number(),
            "n_pairs_": kinds.INTEGER,
        },
    ),
    Schema(
        embedding.HyperbolicMDS,
        {
            "n_features_in_": size("n"),
            "curvature_": number(below=0.0),
            "embedding_": points("n", "k"),
            "labels_": kinds.none_or(kinds.node_labels("n")),
            **dict.fromkeys(("stress_", "spectral_stress_"), number()),
            "n_iter_": kinds.INTEGER,
            "_points": kinds.unit_points("n", "k"),
            "_hydra.values": real("k"),
            "_hydra.vectors": kinds.units("n", "k"),
        },
        choices={"loss": choice("absolute", "relative"), "curvature": or_word(PARAMETERS["curvature"], "auto")},
    ),
    Schema(
        embedding.PoincareMap,
        {
            **_FEATURES,
            "embedding_": points("n", "k"),
            "landmarks_": count("m"),
            "_cells": kinds.features("m", "d"),
            "gamma_": number().perhaps,
            "loss_": number(),
            "n_iter_": kinds.INTEGER,
        },
        (checks.check_landmarks,),
        choices={name: or_word(PARAMETERS[name], "auto") for name in ("gamma", "n_neighbors")},
        settings=_OUTPUT,
    ),
    Schema(embedding.BallNet, _NETWORK, _NETWORK_CHECKS, _NETWORK_PARAMETERS, _OUTPUT),
)
SCHEMAS = {schema.cls.__name__: schema for schema in _SCHEMAS}
