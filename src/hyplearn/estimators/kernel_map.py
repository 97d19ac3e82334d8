"""Kernel features of points in the ball, for use with any linear model of scikit-learn."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hyplearn.data.labels import as_labels, check_one_label_per_row, distinct
from hyplearn.estimators.transformers import BallTransformer
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.border import as_real, as_rows, check_inside, check_integer, check_parameter
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels.functions import PROFILES, check_dimension
from hyplearn.kernels.nystrom import KernelMap, LandmarkKernel, choose_landmarks, median_distance, nystrom
from hyplearn.types import Array


def check_kernel(kernel: Any, scale: Any, n_components: Any) -> None:
    """Raise if the name of the kernel, its scale or the number of components is invalid."""
    names = " or ".join(f'"{name}"' for name in PROFILES)
    check_parameter("kernel", kernel, isinstance(kernel, str) and kernel in PROFILES, names)
    is_auto = isinstance(scale, str) and scale == "auto"
    check_parameter("scale", scale, is_auto or 0 < as_real(scale) < np.inf, '"auto" or a positive finite number')
    check_integer("n_components", n_components, 1)


@dataclass(eq=False, repr=False)
class HyperbolicKernelMap(BallTransformer):
    r"""Map points in the ball to features in R^m whose inner products approximate a hyperbolic kernel.

    A point x becomes the row :math:`K(x, L)\, V \Lambda^{-1/2}`, where L are landmarks, by default some of the training
    points, and :math:`K(L, L) = V \Lambda V^T` (Nyström's method). If no eigenvector is left out, the inner product of
    two rows equals the kernel of their points if one of these is a landmark, and approximates it otherwise. Linear
    models fitted to these rows have boundaries of any shape in the ball. If an isometry of the ball moves all points,
    these boundaries move with them.

    Parameters
    ----------
    kernel : {"laplacian", "secant", "heat"}, default="laplacian"
        The kernel. With :func:`~hyplearn.kernels.laplacian_kernel`, boundaries can follow fine details. With
        :func:`~hyplearn.kernels.secant_kernel`, boundaries are smooth, and the kernel decreases like the Laplacian
        kernel at large distances. With :func:`~hyplearn.kernels.heat_kernel`, boundaries are smooth, and the kernel
        decreases faster than the other two.
    scale : float or "auto", default="auto"
        Scale of the kernel in units of the radius of curvature; "auto" is the median distance between landmarks.
    n_components : int, default=300
        Maximum number of columns and, if ``landmarks`` is None, of landmarks. With at least as many components as
        training points, all distinct points become landmarks, and the inner products of their rows equal the kernel.
    landmarks : array-like of shape (n_landmarks, n_features), default=None
        The landmarks. If None, they are chosen among the training points; if y is given, some are chosen from every
        class. The choice is the same in every fit to the same data.
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded; the ball has radius ``1/sqrt(-curvature)``.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim of the ball: raise an error that lists them, or move them to the
        largest representable radius with a warning.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    scale_ : float
        Scale of the kernel, in units of the radius of curvature.
    projection_ : ndarray of shape (n_landmarks, n_columns)
        The matrix :math:`V \Lambda^{-1/2}`, with columns in descending order of their eigenvalues. Columns with
        negligible eigenvalues, and those beyond the first ``n_components``, are left out.
    lost_trace_ : float
        Mean of ``k(x, x) - ‖row‖²`` over the training points x and their rows. It is at most 1, and 0 if the inner
        products of these rows equal the kernel.
    n_features_in_ : int
        Number of coordinates.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the coordinates, if X has them.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from hyplearn import HyperbolicKernelMap
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = make_pipeline(HyperbolicKernelMap(n_components=100), RidgeClassifier(alpha=1e-3)).fit(X, y)
    >>> print(model.score(X, y) > 0.9)
    True
    """

    kernel: str = "laplacian"
    _: KW_ONLY
    scale: Any = "auto"
    n_components: int = 300
    landmarks: Any = None
    curvature: float = -1.0
    outside: str = "raise"

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and the scale unless they are given, and compute ``projection_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points in the ball.
        y : array-like of shape (n_samples,), optional
            Labels; if given, landmarks are chosen from every class, as far as ``n_components`` allows. The labels are
            ignored if the parameter ``landmarks`` is given.
        """
        check_kernel(self.kernel, self.scale, self.n_components)
        X, gaps = ball_rows(self, X, reset=True, keep_dtype=True)
        check_dimension(self.kernel, X.shape[1])
        c = absolute_curvature(self.curvature)
        landmarks = self._given(X.shape[1], c)
        if landmarks is None:
            codes = np.zeros(len(X), dtype=np.int64)
            if y is not None:
                check_one_label_per_row(X, y)
                codes = distinct(column_or_1d(as_labels(y)))[1]
            landmarks = X[choose_landmarks(X, codes, int(self.n_components))].astype(np.float64)
        scale = median_distance(landmarks, c) if isinstance(self.scale, str) else float(self.scale)
        found = nystrom(landmarks, self.kernel, scale, c, int(self.n_components))
        self.landmarks_, self.scale_, self.projection_ = landmarks, scale, found.projection
        self.lost_trace_ = max(0.0, 1 - float(np.sum(found.rows(X, gaps) ** 2)) / len(X))
        return self

    def _given(self, d: int, c: float) -> Array | None:
        """Return the given landmarks after validation; None if the parameter ``landmarks`` is None."""
        if self.landmarks is None:
            return None
        landmarks = as_rows(self.landmarks, "landmarks").astype(np.float64)
        if landmarks.shape[1] != d or len(landmarks) == 0:
            raise ValueError(
                f"landmarks must have shape (n, {d}) with n ≥ 1, because X has {d} columns; got {landmarks.shape}."
            )
        check_inside(landmarks, row_gaps(landmarks, c), c)
        return landmarks

    def transform(self, X: Any) -> Array:
        """Compute the kernel features of points; return an array of shape (n_samples, n_columns)."""
        check_is_fitted(self)
        X, gaps = ball_rows(self, X, keep_dtype=True)
        c = absolute_curvature(self.curvature)
        found = KernelMap(LandmarkKernel(self.kernel, self.scale_, c, self.landmarks_), self.projection_)
        return found.rows(X, gaps).astype(X.dtype, copy=False)
