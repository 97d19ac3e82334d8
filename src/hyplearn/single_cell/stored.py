"""Fitted classifiers inside AnnData: the bytes of a model file in ``uns``, which every file format keeps."""

from typing import Any

import numpy as np

from hyplearn.persistence import ModelFileError
from hyplearn.persistence.container import FlawError
from hyplearn.persistence.files import from_bytes, to_bytes
from hyplearn.persistence.schema import SCHEMAS
from hyplearn.types import Array


def model_bytes(model: Any) -> Array | None:
    """The model file of a classifier as an array; None of one that is not hyplearn's."""
    if type(model).__name__ not in SCHEMAS or type(model) is not SCHEMAS[type(model).__name__].cls:
        return None
    return np.frombuffer(to_bytes(model), dtype=np.uint8).copy()


def stored_model(adata: Any, key: str) -> Any:
    """The fitted classifier that :func:`hyplearn.single_cell.tl.classify` has kept under a key.

    Parameters
    ----------
    adata : AnnData
        Classified cells, as they were or from a file.
    key : str
        The column of predictions, ``key_added``.

    Examples
    --------
    >>> import hyplearn.single_cell as hs
    >>> model = hs.stored_model(adata, "cell_type_predicted")  # doctest: +SKIP
    """
    kept = adata.uns.get(key)
    if not isinstance(kept, dict) or "params" not in kept:
        raise KeyError(f"uns has no classification {key!r}.\nRun hyplearn.single_cell.tl.classify first.")
    if "model" not in kept:
        raise KeyError(
            f"uns[{key!r}] keeps no model: {kept['params']['model']} is no estimator of hyplearn alone.\n"
            "Classify with one, or keep the fitted model yourself."
        )
    try:
        return from_bytes(np.asarray(kept["model"], dtype=np.uint8).tobytes())
    except FlawError as flaw:
        raise ModelFileError(f"uns[{key!r}] holds no model that can be used: {flaw.problem}.\n{flaw.advice}") from None
