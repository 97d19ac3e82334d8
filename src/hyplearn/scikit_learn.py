"""Base classes of scikit-learn, with type annotations that scikit-learn does not provide.

Without these annotations, type checkers would accept any argument of an estimator, even if it is misspelt.
"""

from typing import TYPE_CHECKING, Any, Self

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "MetaEstimatorMixin",
    "TransformerMixin",
]

if TYPE_CHECKING:

    class BaseEstimator:
        """Base class of estimators; attributes that are not declared here may have any type."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters as a dict of names and values."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters, and return the estimator."""

        def __getattr__(self, name: str) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin:
        """Base class of classifiers."""

    class MetaEstimatorMixin:
        """Base class of estimators that wrap another estimator."""

    class TransformerMixin:
        """Base class of transformers."""

    class ClassNamePrefixFeaturesOutMixin:
        """Base class of transformers that name the columns of their results."""

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        MetaEstimatorMixin,
        TransformerMixin,
    )
