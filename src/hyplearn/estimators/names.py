"""Classifiers by the short names that command lines and single-cell tools take."""

from typing import Any

from hyplearn.estimators.logistic import PoincareLogisticRegression
from hyplearn.estimators.perceptron import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.estimators.svc import PoincareSVC

CLASSIFIERS: dict[str, Any] = {
    "softmax": PoincareLogisticRegression,
    "svc": PoincareSVC,
    "perceptron": PoincarePerceptron,
    "second-order": PoincareSecondOrderPerceptron,
}


def classifier_named(name: str, **parameters: Any) -> Any:
    """A new classifier of that name, or an error that lists the names.

    Examples
    --------
    >>> from hyplearn.estimators.names import classifier_named
    >>> classifier_named("svc", C=10.0)
    PoincareSVC(C=10.0)
    """
    if name not in CLASSIFIERS:
        raise ValueError(
            f"There is no classifier called {name!r}.\nTake one of {', '.join(CLASSIFIERS)}, or pass an estimator."
        )
    return CLASSIFIERS[name](**parameters)
