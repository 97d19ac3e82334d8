"""Transformers between the ball and R^d, for use in scikit-learn pipelines."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from hyplearn.data.points import check_finite_rows
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.kernels import norms
from hyplearn.reference import Reference, reference_point
from hyplearn.scikit_learn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from hyplearn.tangent import frame_coordinates, from_frame
from hyplearn.types import Array


class BallTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the transformers; by default, their output has as many columns as their input."""

    n_features_in_: int

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_

    def _transformed(self, X: Any) -> Array:
        """Validate rows for ``inverse_transform``, but not their column names, which differ from those in ``fit``."""
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32), estimator=self, input_name="X")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the rows that {type(self).__name__}.transform returns have "
                f"{self.n_features_in_} columns.\nPass rows in the form that transform returns."
            )
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(eq=False, repr=False)
class TangentSpace(BallTransformer):
    r"""Map the ball to R^d, with coordinates in an orthonormal frame of the tangent space at a reference point.

    A point x becomes :math:`\sigma_p \log_p(x)`, where :math:`\sigma_p` is the conformal factor at the reference point
    p. The norm of this vector is the hyperbolic distance from p to x. A linear classifier without intercept on these
    coordinates has a geodesic hyperplane through p as its boundary.

    Parameters
    ----------
    reference : str, callable or array-like of shape (n_features,), default="mean"
        The reference point p, or how to compute it. "mean": the Fréchet mean of all points. "origin": the centre of the
        ball. "means" (needs y): the Fréchet mean of the class means or, for two classes, the point between their means
        at which both classes are equally likely. "boundary", "closest", "hull" and functions: as in
        :class:`~hyplearn.PoincareSVC`.
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded; the ball has radius ``1/sqrt(-curvature)``.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim of the ball: raise an error that lists them, or move them to the
        largest representable radius with a warning.

    Attributes
    ----------
    reference_ : ndarray of shape (n_features,)
        The reference point.
    n_features_in_ : int
        Number of coordinates.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the coordinates, if X has them.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from hyplearn import TangentSpace
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(500, 2, margin=0.1, random_state=0)
    >>> model = make_pipeline(TangentSpace(reference=p), LogisticRegression(fit_intercept=False))
    >>> print(model.fit(X, y).score(X, y))
    1.0
    """

    reference: Reference = "mean"
    _: KW_ONLY
    curvature: float = -1.0
    outside: str = "raise"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the reference point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points in the ball.
        y : array-like of shape (n_samples,), optional
            Labels, for the values of ``reference`` that need them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points in the computation of the reference point.
        """
        X, _ = ball_rows(self, X, reset=True, keep_dtype=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        labels = None if y is None else np.asarray(y)
        self.reference_ = reference_point(self.reference, X, labels, weights, absolute_curvature(self.curvature))
        return self

    def transform(self, X: Any) -> Array:
        """Compute the coordinates of each point in the frame at the reference point."""
        check_is_fitted(self)
        X, _ = ball_rows(self, X, keep_dtype=True)
        return frame_coordinates(X, self.reference_, c=absolute_curvature(self.curvature))

    def inverse_transform(self, X: Any) -> Array:
        """Compute the points of the ball with the given frame coordinates."""
        X = self._transformed(X)
        return from_frame(X, self.reference_.astype(X.dtype), c=absolute_curvature(self.curvature))


@dataclass(eq=False, repr=False)
class ExpMap(BallTransformer):
    r"""Map R^d to the ball with the exponential map at the centre, for Euclidean features.

    A row v becomes the point at hyperbolic distance :math:`\|v\|` from the centre, in the direction of v.

    Parameters
    ----------
    curvature : float, default=-1.0
        Sectional curvature of the ball; its radius is ``1/sqrt(-curvature)``.

    Attributes
    ----------
    n_features_in_ : int
        Number of coordinates.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the coordinates, if X has them.

    Notes
    -----
    The largest hyperbolic distance from the centre that float64 can represent is 37 (float32: 17), for curvature -1.
    Longer rows are mapped to points at this distance, with a warning. To avoid this, scale the features first.

    Examples
    --------
    >>> from hyplearn import ExpMap
    >>> ExpMap().fit_transform([[1.0, 0.0], [0.0, -2.0]])
    array([[ 0.46,  0.  ],
           [ 0.  , -0.76]])
    """

    _: KW_ONLY
    curvature: float = -1.0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the curvature and the rows, and store the number of features."""
        absolute_curvature(self.curvature)
        X = validate_data(self, X, reset=True, dtype=(np.float64, np.float32), ensure_all_finite=False)
        check_finite_rows(X, "X")
        return self

    def transform(self, X: Any) -> Array:
        """Map each row to a point: its length becomes the distance from the centre, and its direction is kept."""
        check_is_fitted(self)
        c = absolute_curvature(self.curvature)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32), order="C", ensure_all_finite=False)
        check_finite_rows(X, "X")
        # A row v is mapped to a point with the Euclidean norm tanh(ρ/2) / √c, where ρ = √c‖v‖. If v is longer than
        # ``longest``, 1 - tanh(ρ/2) = 2 / (1 + e^ρ) is less than the spacing of floats just below 1, so that the point
        # cannot be distinguished from the rim.
        longest = np.log(4 / np.finfo(X.dtype).eps) / np.sqrt(c)
        too_long = norms(X) > longest
        if too_long.any():
            warnings.warn(
                f"{np.count_nonzero(too_long)} of {len(X)} rows are longer than {longest:.3g}, the largest hyperbolic "
                f"distance from the centre in {X.dtype}. Their points were placed at that distance.\n"
                "Scale the features first.",
                DataConversionWarning,
                stacklevel=2,
            )
        return from_frame(X, np.zeros(X.shape[1], dtype=X.dtype), c=c)

    def inverse_transform(self, X: Any) -> Array:
        """Map each point to a vector: its distance from the centre becomes the length, and its direction is kept."""
        X = self._transformed(X)
        return frame_coordinates(X, np.zeros(X.shape[1]), c=absolute_curvature(self.curvature))
