"""Model files: estimators written and read without pickle."""

import dataclasses
import math
import os
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from hyplearn.decision import Decision
from hyplearn.files import write_whole
from hyplearn.geometry.border import absolute_curvature
from hyplearn.persistence.container import (
    DIGEST_BYTES,
    SAVE_AGAIN,
    FlawError,
    pack,
    unpack,
)
from hyplearn.persistence.decisions import decision_from, decision_parts, parts_of_decision
from hyplearn.persistence.disk import read_whole
from hyplearn.persistence.schema import CERTIFICATE, COMPOSED, SCHEMAS, Attributes, Schema
from hyplearn.persistence.upgrade import upgrade
from hyplearn.persistence.values import Decoder, Encoder

T = TypeVar("T")
PathLike: TypeAlias = str | os.PathLike[str]
SUFFIX = ".hyp"
HEADER = {"library", "class", "parameters", "certificate", "attributes"}
VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,64}")


class ModelFileError(ValueError):
    """A file that is no model file, or no longer one, or one of a newer hyplearn."""


def save(estimator: Any, path: PathLike) -> None:
    """Write an estimator to a model file, from which :func:`hyplearn.load` makes the same one, bit for bit.

    The file is written beside its place and then moved there, so that no reader ever sees half of it. It holds numbers
    and JSON alone, in a format that ``docs/format.md`` describes; the same estimator always gives the same bytes.

    Parameters
    ----------
    estimator : estimator of hyplearn
        Fitted, in the middle of a stream, or not fitted yet.
    path : str or path
        Where to; ends in ``.hyp``. A file that is there is replaced.

    Raises
    ------
    TypeError
        If hyplearn has no such estimator.
    ValueError
        If a parameter is a function, a generator or another object that is no plain value; the message tells what to
        set instead.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import hyplearn
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = hyplearn.PoincareLogisticRegression().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mammals.hyp")
    ...     hyplearn.save(model, path)
    ...     loaded = hyplearn.load(path)
    >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    path = Path(path).expanduser()
    if path.suffix != SUFFIX:
        raise ValueError(f"Model files end in {SUFFIX}; got {path.name!r}.\nPass {str(path.with_suffix(SUFFIX))!r}.")
    write_whole(path, to_bytes(estimator))


def load(path: PathLike) -> Any:
    """The estimator of a model file that :func:`save` has written.

    Everything in the file is checked before an estimator is made of it: sizes, checksum, types, shapes, whether numbers
    are finite and points inside the ball. No file makes it run code, nor take much more memory than twice the file.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    ModelFileError
        If the file is damaged, no model file, or of a newer hyplearn.
    FileNotFoundError
        If there is no such file.
    """
    return _used(path, from_bytes)


def read_metadata(path: PathLike) -> dict[str, Any]:
    """What a model file tells about itself: schema and library version, class, parameters, certificate, names, labels.

    The file is checked as by :func:`hyplearn.load`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import hyplearn
    >>> from hyplearn.persistence import read_metadata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "map.hyp")
    ...     hyplearn.save(hyplearn.ExpMap().fit([[1.0, 0.0]]), path)
    ...     print(read_metadata(path)["class"], read_metadata(path)["n_features"])
    ExpMap 2
    """
    return _used(path, _described)


def _used(path: PathLike, reader: Callable[[bytes], T]) -> T:
    """What the reader makes of the bytes of a file; its complaints name the file."""
    path = Path(path).expanduser()
    try:
        return reader(read_whole(path))
    except FlawError as flaw:
        raise ModelFileError(f"{path} is no model that can be used: {flaw.problem}.\n{flaw.advice}") from None


def _described(data: bytes) -> dict[str, Any]:
    model, (version, header, _) = from_bytes(data), unpack(data)
    names, classes = getattr(model, "feature_names_in_", None), getattr(model, "classes_", None)
    return {
        "schema_version": version,
        "library_version": header["library"],
        "class": header["class"],
        "parameters": model.get_params(deep=False),
        "certificate": header["certificate"],
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else names.tolist(),
        "classes": None if classes is None else classes.tolist(),
        "sha256": data[-DIGEST_BYTES:].hex(),
    }


def to_bytes(estimator: Any) -> bytes:
    """The contents of the model file of an estimator."""
    schema = SCHEMAS.get(type(estimator).__name__)
    if schema is None or type(estimator) is not schema.cls:
        raise TypeError(
            f"A model file holds one estimator of hyplearn; got {type(estimator).__name__}.\n"
            f"Save the steps of a pipeline one by one; known are {', '.join(SCHEMAS)}."
        )
    parameters = estimator.get_params(deep=False)
    state = {name: value for name, value in vars(estimator).items() if name not in parameters}
    try:
        state.pop("calibration_", None)  # a part of the decision
        attributes = _ordered(schema, _taken_apart(state))
        schema.check(parameters, attributes)
        encoder = Encoder()
        header = {
            "library": metadata.version("hyplearn"),
            "class": type(estimator).__name__,
            "parameters": {name: encoder.encode(value) for name, value in parameters.items()},
            "certificate": _certificate(attributes),
            "attributes": {name: encoder.encode(value) for name, value in attributes.items()},
        }
        return pack(header, encoder.arrays)
    except FlawError as flaw:
        advice = "Fit it again, and save it as it is." if flaw.advice == SAVE_AGAIN else flaw.advice
        raise ValueError(f"{type(estimator).__name__} cannot be saved: {flaw.problem}.\n{advice}") from None


def from_bytes(data: bytes) -> Any:
    """The estimator of the contents of a model file; FlawError if they are none."""
    version, header, arrays = unpack(data)
    if set(header) != HEADER:
        raise FlawError(f"its header has the entries {sorted(header)!r:.200}, not {sorted(HEADER)}")
    if not isinstance(header["library"], str) or not VERSION.fullmatch(header["library"]):
        raise FlawError(f"{header['library']!r:.80} is no version of a library")
    name = header["class"]
    if not isinstance(name, str) or name not in SCHEMAS:
        raise FlawError(f"it holds the unknown class {name!r:.80}", "Upgrade hyplearn, or save the model again.")
    schema, decoder = SCHEMAS[name], Decoder(arrays)
    parameters, attributes = (_decoded(decoder, header, part) for part in ("parameters", "attributes"))
    decoder.finish()
    if version == 1:
        parameters, attributes = upgrade(name, parameters, attributes)
    schema.check(parameters, attributes)
    if header["certificate"] != _certificate(attributes):
        raise FlawError("the certificate of its header is not that of its arrays")
    estimator = schema.cls(**parameters)
    for attribute, value in _put_together(schema, attributes).items():
        setattr(estimator, attribute, value)
    if (parts := decision_parts(attributes)) is not None:
        estimator.decision_ = decision_from(parts, estimator.classes_, absolute_curvature(estimator.curvature))
        if estimator.decision_.calibration is not None and "calibration" in parameters:
            estimator.calibration_ = estimator.decision_.calibration
    return estimator


def _decoded(decoder: Decoder, header: dict[str, Any], part: str) -> dict[str, Any]:
    if not isinstance(header[part], dict):
        raise FlawError(f"its {part} are {header[part]!r:.80}, not an object")
    return {name: decoder.decode(value) for name, value in header[part].items()}


def _certificate(attributes: Attributes) -> dict[str, list[Any]]:
    """The proofs as plain JSON; NaN and infinity as text."""
    found = {name: attributes[name].tolist() for name in CERTIFICATE if name in attributes}
    return {
        name: [str(x) if isinstance(x, float) and not math.isfinite(x) else x for x in values]
        for name, values in found.items()
    }


def _taken_apart(state: Attributes) -> Attributes:
    """Attributes with those that are made of several as their parts."""
    parts: Attributes = {}
    for name, value in state.items():
        if isinstance(value, Decision):
            parts |= parts_of_decision(value)
        elif name not in COMPOSED:
            parts[name] = value
        elif isinstance(value, dict) or hasattr(value, "_asdict"):
            parts |= {f"{name}.{key}": part for key, part in _as_dict(value).items()}
        elif value:
            for field in dataclasses.fields(COMPOSED[name]):
                parts[f"{name}.{field.name}"] = np.stack([np.asarray(getattr(item, field.name)) for item in value])
    return parts


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else value._asdict()


def _put_together(schema: Schema, parts: Attributes) -> Attributes:
    """The inverse of :func:`_taken_apart`."""
    state = {name: value for name, value in parts.items() if "." not in name}
    for name, made_of in COMPOSED.items():
        own = {key.partition(".")[2]: value for key, value in parts.items() if key.startswith(f"{name}.")}
        if own:
            state[name] = made_of(**own) if made_of is dict or hasattr(made_of, "_fields") else _items(made_of, own)
        elif name == "_descents" and "_descents.w" in schema.fitted and state:
            state[name] = []  # a fit, with no stream behind it
    return state


def _items(made_of: Any, columns: Attributes) -> list[Any]:
    """One object per binary problem, from the stacked values of its fields."""
    given = {field.name for field in dataclasses.fields(made_of) if field.init}
    items = []
    for k in range(len(columns["w"])):
        row = {name: column[k].copy() if column.ndim > 1 else int(column[k]) for name, column in columns.items()}
        item = made_of(**{name: row[name] for name in given})
        for name in set(row) - given:
            setattr(item, name, row[name])
        items.append(item)
    return items


def _ordered(schema: Schema, attributes: Attributes) -> Attributes:
    """In the order of the schema, whatever the order of assignment: equal estimators give equal bytes."""
    places = {name: k for k, name in enumerate({**schema.fitted, **schema.settings})}
    return dict(sorted(attributes.items(), key=lambda item: places.get(item[0], len(places))))
