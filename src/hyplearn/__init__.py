"""hyplearn: classification in hyperbolic space.

The package provides scikit-learn estimators for points of the Poincaré ball. The decision boundaries of its linear
classifiers are geodesic hyperplanes, equidistant surfaces, horospheres or spheres.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyplearn import compilation as _compilation

if TYPE_CHECKING:
    from hyplearn.data.opening import open_points
    from hyplearn.estimators import (
        ConformalClassifier,
        ExpMap,
        HyperbolicKernelMap,
        PoincareKernelClassifier,
        PoincareKNeighborsClassifier,
        PoincareLogisticRegression,
        PoincareLogisticRegressionCV,
        PoincarePerceptron,
        PoincareSecondOrderPerceptron,
        PoincareSVC,
        TangentSpace,
        predict_to_file,
    )
    from hyplearn.explorer import explore
    from hyplearn.paper import HyperboloidSVC
    from hyplearn.persistence import load, save

__version__ = "0.2.0"
__all__ = [
    "ConformalClassifier",
    "ExpMap",
    "HyperbolicKernelMap",
    "HyperboloidSVC",
    "PoincareKNeighborsClassifier",
    "PoincareKernelClassifier",
    "PoincareLogisticRegression",
    "PoincareLogisticRegressionCV",
    "PoincarePerceptron",
    "PoincareSVC",
    "PoincareSecondOrderPerceptron",
    "TangentSpace",
    "explore",
    "load",
    "open_points",
    "predict_to_file",
    "save",
]
# Modules of the public names that are not in ``estimators``. A module is imported when one of its names is first used,
# so that ``hyplearn --version`` and the import of a single module do not load the whole package.
_HOMES = {
    "HyperboloidSVC": "paper",
    "explore": "explorer",
    "load": "persistence",
    "open_points": "data.opening",
    "save": "persistence",
}
_PACKAGES = (
    "cone",
    "data",
    "datasets",
    "decision",
    "embedding",
    "estimators",
    "explorer",
    "geometry",
    "paper",
    "persistence",
    "plotting",
    "reference",
    "rows",
    "single_cell",
    "solvers",
    "tangent",
    "types",
)

_compilation.choose_cache()


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(f"hyplearn.{_HOMES.get(name, 'estimators')}"), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"hyplearn.{name}")
    raise AttributeError(f"module 'hyplearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
