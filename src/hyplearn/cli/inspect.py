"""``hyplearn inspect``: what a model file holds."""

from typing import Any

from hyplearn.cli.data import MODEL
from hyplearn.cli.output import Outcome, facts, plain, size_of
from hyplearn.persistence import read_metadata

NAME = "inspect"
EXAMPLES = ("hyplearn inspect mammals.hyp", "hyplearn inspect mammals.hyp --json")
# As many entries of a list as are shown to people.
MOST_SHOWN = 13


def run(model: MODEL) -> Outcome:
    """Show what a model file holds: class, parameters, classes, certificate, versions, checksum."""
    about = read_metadata(model)
    lines = {
        "file": f"{model} ({size_of(model)})",
        "model": about["class"],
        "made by": f"hyplearn {about['library_version']}, format {about['schema_version']}",
        "coordinates": _coordinates(about),
        "classes": "none" if about["classes"] is None else _listed(about["classes"]),
        "parameters": ", ".join(f"{name}={_short(value)}" for name, value in about["parameters"].items()),
    }
    proofs = {name.rstrip("_").replace("_", " "): _listed(values) for name, values in about["certificate"].items()}
    return Outcome({"path": model, **about}, [facts(lines | proofs | {"sha256": about["sha256"]})])


def _coordinates(about: dict[str, Any]) -> str:
    names = "" if about["feature_names"] is None else f": {_listed(about['feature_names'])}"
    return f"{about['n_features']}{names}"


def _listed(values: Any) -> str:
    shown = ", ".join(_short(value) for value in values[:MOST_SHOWN])
    more = f" and {len(values) - MOST_SHOWN} more" if len(values) > MOST_SHOWN else ""
    return shown + more


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(plain(value))
