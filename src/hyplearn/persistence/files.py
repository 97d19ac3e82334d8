"""Write estimators to model files and read them back, without pickle."""

import math
import os
import re
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

from hyplearn.files import write_whole
from hyplearn.persistence.container import (
    DIGEST_BYTES,
    SAVE_AGAIN,
    Decoder,
    Encoder,
    FlawError,
    pack,
    read_whole,
    unpack,
)
from hyplearn.persistence.parts import put_together, take_apart, upgrade
from hyplearn.persistence.schema import CERTIFICATE, SCHEMAS, Attributes

PathLike: TypeAlias = str | os.PathLike[str]
SUFFIX = ".hyp"
HEADER = {"library", "class", "parameters", "certificate", "attributes"}
VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,64}")


class ModelFileError(ValueError):
    """Raised if a file is not a model file, is damaged, or has a newer version of the format."""


def save(estimator: Any, path: PathLike) -> None:
    """Write an estimator to a model file, from which :func:`hyplearn.load` restores it bit for bit.

    The file is written atomically, so that no reader sees an incomplete file. It contains only arrays and JSON, in the
    format that ``docs/format.md`` describes. A given version of hyplearn writes the same bytes for equal estimators.

    Parameters
    ----------
    estimator : hyplearn estimator
        Estimator to save. It may be fitted, partially fitted with ``partial_fit``, or not fitted.
    path : str or path
        Path that ends in ``.hyp``. An existing file is replaced.

    Raises
    ------
    TypeError
        If the object is not a hyplearn estimator.
    ValueError
        If the path does not end in ``.hyp``, or if a parameter or an attribute cannot be stored, for example because it
        is a function or a random generator.

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
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a path; got {type(path).__name__}.\nPass the estimator first, then the path.")
    path = Path(path).expanduser()
    if path.suffix != SUFFIX:
        raise ValueError(f"Model files end in {SUFFIX}; got {path.name!r}.\nPass {str(path.with_suffix(SUFFIX))!r}.")
    write_whole(path, to_bytes(estimator))


def load(path: PathLike) -> Any:
    """Load an estimator from a model file written by :func:`save`.

    The checksum and the sizes, types, shapes and ranges of all values are checked before the estimator is created.
    Loading never executes code from the file. The memory for loading a large file is a few times the size of the file.

    Parameters
    ----------
    path : str or path
        Path of the model file.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or has a newer version of the format.
    FileNotFoundError
        If the file does not exist.
    """
    return _read(path, from_bytes)


def read_metadata(path: PathLike) -> dict[str, Any]:
    """Return a dict with facts about a model file, which is checked as in :func:`hyplearn.load`.

    The entries are the versions of the format and of hyplearn, the class of the estimator and its parameters, the
    certificate (the attributes that show how good the fit is, such as ``dual_gap_``), the number and names of the
    features, the class labels, and the checksum. Entries for features or labels are None if the estimator has none.

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
    return _read(path, _metadata)


def _read(path: PathLike, reader: Callable[[bytes], Any]) -> Any:
    """Apply ``reader`` to the bytes of a file; convert a FlawError to a ModelFileError that names the file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"path must be the path of a model file; got {type(path).__name__}.\n"
            "Pass the path of a file written by hyplearn.save."
        )
    path = Path(path).expanduser()
    try:
        return reader(read_whole(path))
    except FlawError as flaw:
        raise ModelFileError(f"{path} is not a usable model: {flaw.problem}.\n{flaw.advice}") from None


def _metadata(data: bytes) -> dict[str, Any]:
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


def _instead(estimator: Any) -> str:
    """Return advice on what to save instead of an unsupported estimator, such as a search or a pipeline."""
    if hasattr(estimator, "best_estimator_") or hasattr(estimator, "param_grid"):
        return "Save its best_estimator_"
    return "Save the steps of a pipeline one by one"


def to_bytes(estimator: Any) -> bytes:
    """Convert an estimator to the bytes of a model file."""
    schema = SCHEMAS.get(type(estimator).__name__)
    if schema is None or type(estimator) is not schema.cls:
        raise TypeError(
            f"A model file stores one hyplearn estimator; got {type(estimator).__name__}.\n"
            f"{_instead(estimator)}; the supported classes are {', '.join(SCHEMAS)}."
        )
    parameters = estimator.get_params(deep=False)
    state = {name: value for name, value in vars(estimator).items() if name not in parameters}
    try:
        state.pop("calibration_", None)  # the calibration is stored as a part of the decision
        state.pop("_tree", None)  # the search tree is not stored; a loaded estimator computes it from the points
        parts = take_apart(state)
        schema.check(parameters, parts)
        # Attributes are stored in the order of the schema, not in the order of assignment, so that equal estimators
        # give equal bytes.
        attributes = {name: parts[name] for name in (*schema.fitted, *schema.settings) if name in parts}
        encoder = Encoder(to_bytes)
        header = {
            "library": metadata.version("hyplearn"),
            "class": type(estimator).__name__,
            "parameters": {name: encoder.encode(value) for name, value in parameters.items()},
            "certificate": _certificate(attributes),
            "attributes": {name: encoder.encode(value) for name, value in attributes.items()},
        }
        return pack(header, encoder.arrays)
    except FlawError as flaw:
        advice = "Fit the estimator again, and save it without changes." if flaw.advice == SAVE_AGAIN else flaw.advice
        raise ValueError(f"{type(estimator).__name__} cannot be saved: {flaw.problem}.\n{advice}") from None


def from_bytes(data: bytes, *, within: bool = False) -> Any:
    """Restore an estimator from the bytes of a model file; raise FlawError if they are invalid.

    If ``within`` is True, the file is nested in another model file, and must not contain nested files itself.
    """
    version, header, arrays = unpack(data)
    if set(header) != HEADER:
        raise FlawError(f"the header has the entries {sorted(header)!r:.200} instead of {sorted(HEADER)}")
    if not isinstance(header["library"], str) or not VERSION.fullmatch(header["library"]):
        raise FlawError(f"the library version {header['library']!r:.80} in the header is invalid")
    name = header["class"]
    if not isinstance(name, str) or name not in SCHEMAS:
        raise FlawError(
            f"the file contains the unknown class {name!r:.80}", "Upgrade hyplearn, or save the model again."
        )
    schema, decoder = SCHEMAS[name], Decoder(arrays, None if within else partial(from_bytes, within=True))
    parameters, attributes = (_decoded(decoder, header, part) for part in ("parameters", "attributes"))
    decoder.finish()
    if version == 1:
        parameters, attributes = upgrade(name, parameters, attributes)
    schema.check(parameters, attributes)
    if header["certificate"] != _certificate(attributes):
        raise FlawError("the certificate in the header differs from the certificate in the arrays")
    estimator = schema.cls(**parameters)
    for attribute, value in put_together(attributes, parameters, streams="_descents.w" in schema.fitted).items():
        setattr(estimator, attribute, value)
    return estimator


def _decoded(decoder: Decoder, header: dict[str, Any], part: str) -> dict[str, Any]:
    if not isinstance(header[part], dict):
        raise FlawError(f"the {part} in the header must be a JSON object; they are {header[part]!r:.80}")
    return {name: decoder.decode(value) for name, value in header[part].items()}


def _certificate(attributes: Attributes) -> dict[str, list[Any]]:
    """Return the attributes listed in CERTIFICATE as plain JSON, with NaN and infinity as strings."""
    found = {name: attributes[name].tolist() for name in CERTIFICATE if name in attributes}
    return {
        name: [str(x) if isinstance(x, float) and not math.isfinite(x) else x for x in values]
        for name, values in found.items()
    }
