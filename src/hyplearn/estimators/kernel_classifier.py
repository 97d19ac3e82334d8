"""Kernel logistic regression in hyperbolic space, for classes with curved boundaries."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from hyplearn.data.training import TrainingData
from hyplearn.decision import Calibration, Decision
from hyplearn.estimators.kernel_map import check_kernel
from hyplearn.estimators.kernel_search import SEARCH_ROWS, choose_scale_and_cost
from hyplearn.estimators.softmax_classifier import SoftmaxClassifier
from hyplearn.estimators.validation import absolute_curvature, check_stopping
from hyplearn.geometry import log_map
from hyplearn.geometry.border import as_real, check_parameter
from hyplearn.kernels.functions import check_dimension, kernel_between
from hyplearn.kernels.nystrom import KernelMap, LandmarkKernel, add_linear_columns, choose_landmarks, nystrom
from hyplearn.kernels.strata import representatives
from hyplearn.progress import FitReporter
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.kernel import INTERCEPT, KernelRowBuilder, build_kernel_rows, raw_projection, rows_are_kept
from hyplearn.solvers.certificate import SoftmaxCertificate
from hyplearn.solvers.softmax import solve_softmax, solve_softmax_by_sample
from hyplearn.types import Array, CostOrAuto

# The landmarks are chosen from a subsample with this many rows per landmark, or with SEARCH_ROWS rows if that is more.
ROWS_PER_LANDMARK = 20
# If the kernel rows are not kept in memory, the Hessian is computed from a sample of one in SAMPLE_RATIO rows.
# SAMPLE_NUMBERS are the minimum and the maximum number of elements of the sample (16 and 56 MiB; the solver holds
# several copies). With a smaller sample, a fit takes more passes; with a larger one, each step takes longer. The first
# steps use a second sample instead of all rows. It has LARGER times as many rows as the first sample, but no more than
# 1/LARGER of all rows.
SAMPLE_RATIO, SAMPLE_NUMBERS, LARGER = 8, (2**21, 7 * 2**20), 8
# Approximate number of array elements (64 MiB) in the subsample of points from which the two samples (see
# SAMPLE_NUMBERS and LARGER) are chosen. The elements are the coordinates, weights, class indices and gaps
# 1 - c‖x‖² of the points.
POINT_NUMBERS = 2**23


@dataclass(eq=False, repr=False)
class PoincareKernelClassifier(SoftmaxClassifier):
    r"""Multinomial logistic regression with a hyperbolic kernel, for classes with curved boundaries.

    Each point is mapped to a row :math:`x_i` with three kinds of columns. The first columns are the features of
    :class:`HyperbolicKernelMap`, whose inner products approximate the kernel. The next columns, called linear,
    approximate the cone coordinates of :class:`PoincareLogisticRegression`: they interpolate the values of these
    coordinates at the landmarks. The last column is a constant for the intercept. The weights W solve

    .. math:: \min_W \tfrac12 \sum_k \|W_k\|^2 + C \sum_i \Bigl( \log \sum_k e^{\langle W_k, x_i \rangle}
              - \langle W_{y_i}, x_i \rangle \Bigr)

    and a certificate proves that they are optimal. The regions of the classes may have any shape: with a small scale of
    the kernel they follow every detail, and with a large scale they approach the regions of a softmax on cone
    coordinates. The kernel depends only on distances, and the centre of the cone coordinates is the mean of the
    landmarks, so isometries of the ball do not change the probabilities. With as many components as training points,
    the kernel features represent the kernel exactly; with fewer components, ``lost_trace_`` measures the part of the
    kernel that the landmarks do not represent.

    Parameters
    ----------
    kernel : {"laplacian", "secant", "heat"}, default="secant"
        The kernel: :func:`~hyplearn.kernels.laplacian_kernel`, :func:`~hyplearn.kernels.secant_kernel` or
        :func:`~hyplearn.kernels.heat_kernel`.
    scale : float or "auto", default="auto"
        Scale of the kernel in units of the radius of curvature. "auto" tries the median distance between landmarks and
        4,096 times this distance. It then multiplies or divides the better of the two by four as long as the log-loss
        on held-out rows decreases.
    C : float or "auto", default="auto"
        Inverse regularisation strength. "auto" tries a few values, and chooses the smallest C whose log-loss is within
        1 % of the smallest log-loss. The search for scale and C uses up to 6,000 rows, or 20 rows per component if that
        is more. It takes about 13 fits, each to two thirds of these rows. With 500 rows or fewer, each fit is made
        three times, each time with a different third held out; with 501 to 2,000 rows, only the three best trials are
        repeated in this way.
    n_components : int, default=300
        Maximum number of landmarks, and of kernel features.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of Newton steps.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply C and ``sample_weight``.
    n_jobs : int, default=None
        Number of threads; None for all cores, or as many as OMP_NUM_THREADS allows. Results do not depend on it.
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim of the ball: raise an error that lists them, or move them to the
        largest representable radius with a warning.
    verbose : int, default=0
        Whether to report progress: as bars if rich is installed, as lines otherwise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    scale_, C_ : float
        The scale of the kernel and the value of C that were used.
    search_ : ndarray of shape (n_fits, 3)
        Scale, C and held-out log-loss of each trial in the search; empty if scale and C are given. With 501 to 2,000
        rows, the last three trials repeat the three best trials on all three parts of the rows, and the best of these
        three is used.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks: training points from all classes.
    projection_ : ndarray of shape (n_landmarks, n_columns)
        Matrix that maps the kernel values of a point at the landmarks to its row, without the constant.
    lost_trace_ : float
        Weighted mean of ``k(x, x) - ‖row‖²``, where a row contains only the kernel features of the training point x. It
        is 0 if the features represent the kernel exactly, and at most 1. It is computed from a random subsample if
        there are more than 6,000 training points and more than 20 per component.
    coef_ : ndarray of shape (n_classes, n_columns), or (1, n_columns) for two classes
        W without its last column; for two classes the row of ``classes_[1]`` minus the row of ``classes_[0]``.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        The last column of W; for two classes its element for ``classes_[1]`` minus its element for ``classes_[0]``.
    status_ : ndarray of str of shape (1,)
        "optimal" if the tolerance is reached; otherwise "max_iter" or "stalled" (limited by rounding).
    primal_, dual_gap_ : ndarrays of shape (1,)
        The objective P(W), and ``½‖∇P‖² / max(1, P)``, which is a proven bound on the difference between P and its
        minimum, relative to max(1, P).
    n_iter_, n_passes_ : ndarrays of shape (1,)
        Number of Newton steps (or rounds of quasi-Newton steps), and number of passes that the solver made
        over the data, including passes that only draw a sample.
    decision_ : Decision
        The fitted model as an immutable object; predictions, plots and model files are computed from it.

    Examples
    --------
    >>> from hyplearn import PoincareKernelClassifier
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = PoincareKernelClassifier(n_components=100).fit(X, y)
    >>> print(model.score(X, y) > 0.97, model.status_[0], bool(model.dual_gap_[0] < 1e-6))
    True optimal True
    """

    kernel: str = "secant"
    _: KW_ONLY
    scale: Any = "auto"
    C: CostOrAuto = "auto"
    n_components: int = 300
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    n_jobs: int | None = None
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    def _check_parameters(self) -> None:
        check_kernel(self.kernel, self.scale, self.n_components)
        valid = self.C == "auto" if isinstance(self.C, str) else 0 < as_real(self.C) < np.inf
        check_parameter("C", self.C, valid, '"auto" or a positive finite number')
        check_stopping(self.tol, self.max_iter)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose landmarks, scale and C, then minimise the penalised log-loss.

        Parameters
        ----------
        X, y, sample_weight
            Points in the ball, labels and weights, as in :meth:`PoincareSVC.fit`.
        """
        with self._training(X, y, sample_weight) as (data, report):
            check_dimension(self.kernel, data.n_features)
            self._minimise(data, *self._chosen_map(data), report)
            self._report_status()
        return self

    def _chosen_map(self, data: TrainingData) -> tuple[KernelMap, Array | None]:
        """Choose landmarks, scale and C; return the kernel map and starting weights for the solver.

        If scale and C are given, there is no search that could provide starting weights, and None is returned instead.
        """
        m = int(self.n_components)
        sample, _ = data.subsampled(max(SEARCH_ROWS, ROWS_PER_LANDMARK * m))
        sample = sample.taken(np.flatnonzero(sample.present))
        landmarks = sample.X[choose_landmarks(sample.X, sample.codes, m, data.totals)].astype(np.float64)
        scale, C = (None if isinstance(given, str) else float(given) for given in (self.scale, self.C))
        chosen = choose_scale_and_cost(sample, data.n_classes, landmarks, self.kernel, data.c, scale=scale, C=C)
        self.scale_, self.C_ = chosen.scale, chosen.C
        self.search_ = np.array(chosen.trials).reshape(-1, 3)
        kernel_map = nystrom(landmarks, self.kernel, self.scale_, data.c, m)
        lengths = np.sum(kernel_map.rows(sample.X, sample.gaps) ** 2, axis=1)
        self.lost_trace_ = float(np.clip(np.average(1 - lengths, weights=sample.row_weights), 0.0, 1.0))
        return add_linear_columns(kernel_map), chosen.start

    def _minimise(self, data: TrainingData, kernel_map: KernelMap, start: Array | None, report: FitReporter) -> None:
        """Solve the optimisation problem, and set the fitted attributes."""
        before = data.points.n_passes
        rows = build_kernel_rows(data, kernel_map, self.C_)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "start": start}
        options["report"] = partial(report, f"{data.n_classes} classes")
        if rows_are_kept(data, kernel_map):
            found = solve_softmax(rows, **options)
        else:
            samples = self._samples(data, kernel_map)
            found = solve_softmax_by_sample(rows, raw_projection(kernel_map), *samples, **options)
        self.landmarks_, self.projection_ = kernel_map.kernel.landmarks, kernel_map.projection
        W = self._keep_solution(found, data, before)
        self.coef_, self.intercept_ = np.ascontiguousarray(W[:, :-1]), INTERCEPT * W[:, -1]
        self.decision_ = self._decide()

    def _samples(self, data: TrainingData, kernel_map: KernelMap) -> tuple[ClassRows, RowSource]:
        """Return two weighted samples of rows, from which the solver estimates sums over all rows.

        The first sample, from which the Hessian is computed, is stored as kernel rows. The second sample is at least as
        large, and its kernel values are recomputed in every pass.
        """
        n, columns = data.n_rows, kernel_map.projection.shape[1] + 1
        size = int(np.clip(n * columns // SAMPLE_RATIO, *SAMPLE_NUMBERS)) // columns
        points, _ = data.subsampled(POINT_NUMBERS // (data.n_features + 3))
        places = log_map(points.X, np.zeros(data.n_features), c=data.c)
        sample, larger = (
            points.taken(index)._replace(weights=weights)
            for index, weights in (
                representatives(places, points.codes, points.row_weights, data.totals, most)
                for most in (size, max(size, min(LARGER * size, n // LARGER)))
            )
        )
        explicit, raw = (KernelRowBuilder(kernel_map, self.C_, data.n_classes, kept) for kept in (True, False))
        return explicit(sample), replace(raw(larger), threads=data.threads)

    def _decide(self) -> Decision:
        c = absolute_curvature(self.curvature)
        return Decision(
            self.classes_,
            c,
            "kernel",
            self.coef_ @ self.projection_.T,
            np.zeros((len(self.coef_), self.landmarks_.shape[1])),
            self.intercept_,
            calibration=Calibration.identity(len(self.coef_)),
            kernel=LandmarkKernel(self.kernel, self.scale_, c, self.landmarks_),
        )

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> SoftmaxCertificate:
        r"""Recompute the certificate from scratch, in plain NumPy, from ``coef_`` and ``intercept_``.

        The certificate is defined as in :meth:`PoincareLogisticRegression.verify`. It holds for the problem with the
        chosen landmarks; ``lost_trace_`` measures the part of the kernel that these landmarks do not represent.

        Parameters
        ----------
        X, y, sample_weight
            The training data, from any source.

        Examples
        --------
        >>> from hyplearn import PoincareKernelClassifier
        >>> from hyplearn.datasets import load_mammals
        >>> X, y = load_mammals(return_X_y=True)
        >>> model = PoincareKernelClassifier(scale=2.0, C=10.0, n_components=50).fit(X, y)
        >>> print(model.verify(X, y).gap < 1e-6)
        [ True]
        """
        return self._verified(X, y, sample_weight)

    def _plain_rows(self, c: float) -> Callable[[Array], Array]:
        kernel = LandmarkKernel(self.kernel, self.scale_, c, self.landmarks_)
        return partial(_plain_kernel_rows, kernel_map=KernelMap(kernel, self.projection_))

    def _columns_of_rows(self) -> Array:
        return np.column_stack([self.coef_, self.intercept_ / INTERCEPT])


def _plain_kernel_rows(X: Array, kernel_map: KernelMap) -> Array:
    """Compute the kernel rows of points in plain NumPy, including the intercept column."""
    kernel = kernel_map.kernel
    values = kernel_between(kernel.name, X.astype(np.float64), kernel.landmarks, scale=kernel.scale, c=kernel.c)
    return np.column_stack([values @ kernel_map.projection, np.full(len(X), INTERCEPT)])
