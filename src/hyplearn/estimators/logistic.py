"""Logistic regression on cone coordinates of the ball: two classes or many at once."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.labelled import Labelled
from hyplearn.data.opening import point_source
from hyplearn.estimators.ball_classifier import FEW_ROWS, BallClassifier, LabelledRows
from hyplearn.estimators.boundary import touching_hyperplane
from hyplearn.estimators.softmax_certificate import SoftmaxCertificate, softmax_certificate
from hyplearn.estimators.threads import one_blas_thread, threads_of
from hyplearn.estimators.validation import absolute_curvature, ball_rows, check_stopping
from hyplearn.progress import FitReporter, report_fit
from hyplearn.reference import checked_point
from hyplearn.reference.passes import streamed_references
from hyplearn.rows import ClassRows, RowSource
from hyplearn.rows.streamed import ConeRows
from hyplearn.solvers.softmax.solve import solve_softmax
from hyplearn.tangent import cone_length, cone_rows, frame_coordinates
from hyplearn.types import Array

# Rows per block of scores, and when a certificate is verified.
SCORED_ROWS = 10_000
# The constant column of the rows, above all other numbers in rows that are not shortened: a score of b needs a
# coefficient of b / 30. An intercept shall not draw classes to equal shares, yet P be strongly convex in all of W.
INTERCEPT = 30.0


class PoincareLogisticRegression(BallClassifier):
    r"""Multinomial logistic regression of the Poincaré ball, solved to a certificate of optimality.

    With the rows :math:`x_i = s(\rho) (\coth \rho, e_i)` and a 30 behind them, where ρ is the distance of a point to a
    centre m in units of the curvature's radius and e its direction, finds the weights of

    .. math:: \min_W \tfrac12 \sum_k \|W_k\|^2 + C \sum_i \Bigl( \log \sum_k e^{\langle W_k, x_i \rangle}
              - \langle W_{y_i}, x_i \rangle \Bigr)

    Without its last column a row is hyperboloid coordinates as seen from m, as they are up to the distance 4 (there
    s = sinh ρ) and shortened by a positive factor beyond, where rows grow like the distance and not like its
    exponential, so that points near the rim do no harm (:func:`~hyplearn.tangent.cone_coordinates`). The last column
    makes an intercept. With ``fit_intercept=False`` it is left out, and two classes are equally likely exactly on a
    geodesic hyperplane, or nowhere. With the intercept b they are so where
    :math:`s(\rho) (u_0 \coth \rho + \langle u, e \rangle) + b = 0`: a surface of revolution around the geodesic
    through m along u; nearer than 4 a part of a sphere, a horosphere or an equidistant of a geodesic hyperplane, all of
    which are spheres or planes of the ball as one draws it. It is on one side of the geodesic hyperplane that touches
    it where it is nearest to m, and bent away from it. :meth:`hyperplane_between` is the hyperplane in both cases. The
    intercept is the default because accuracy and log-loss are better with it.

    All of W is penalised: by its length in a frame at m, which knows no axes; and m moves with the points, so an
    isometry of the ball changes no probability. The intercept is thirty times its coefficient and so costs next to
    nothing: a class far larger than another needs a large one. With nothing left unpenalised P is strongly convex:
    there is one solution, finite for separable classes too, and
    :math:`P(W) - P^* \le \tfrac12 \|\nabla P(W)\|^2` at every W. ``dual_gap_`` is that bound, and :meth:`verify`
    recomputes it.

    Parameters
    ----------
    reference : str, callable or array-like, default="mean"
        The centre m. "mean": the mean of all points. "means": the mean of the means of the classes. "origin": the
        centre of the ball. For two classes all that :class:`PoincareSVC` knows. A function of the points, their class
        numbers (from 0, in the order of ``classes_``), their weights (None where equal) and c = -curvature that returns
        the point; or the point itself, of shape (n_features,).
    C : float, default=100.0
        Cost of the log-loss against the penalty; larger fits closer. With the default, cross-validated accuracy and
        log-loss are both near their best on average over the training parts of published embeddings and synthetic
        classes that overlap; a set of your own may want another, which cross-validation finds, as below.
    fit_intercept : bool, default=True
        Whether scores have an intercept; without one the boundaries are geodesic hyperplanes.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Largest number of Newton steps.
    class_weight : dict or "balanced", default=None
        Factors of C by class, multiplied with ``sample_weight``.
    n_jobs : int, default=None
        Threads to use; None for all cores (or as many as OMP_NUM_THREADS allows). The result is the same bits for any
        number of them.
    warm_start : bool, default=False
        Whether ``fit`` begins at the previous solution.
    curvature : float, default=-1.0
        Sectional curvature of the space the points were embedded in.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim: an error that names them, or move them onto the largest
        representable radius and warn.
    verbose : int, default=0
        Whether to tell the progress: bars where rich is installed, or lines. Of points in blocks: rows per second.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_classes, n_features + 1)
        W without the last column. Its rows sum to zero; of two classes there is one row, that of ``classes_[1]`` less
        that of ``classes_[0]``.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        What is added to the scores, 30 times the last column of W; zeros with ``fit_intercept=False``.
    reference_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        The centre, once for each row of ``coef_``.
    status_ : ndarray of str of shape (1,)
        "optimal" where the certificate holds; else "max_iter" or "stalled" (rounding forbids more).
    primal_, dual_gap_ : ndarrays of shape (1,)
        P(W), and ``½‖∇P‖² / max(1, P)``: P is proven to be no farther from the optimum, relative to max(1, P).
    n_iter_, n_passes_ : ndarrays of shape (1,)
        Number of Newton steps, and of passes over the data.

    Examples
    --------
    >>> from hyplearn import PoincareLogisticRegression
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = PoincareLogisticRegression().fit(X, y)
    >>> print(model.score(X, y) > 0.97, model.status_[0], bool(model.dual_gap_[0] < 1e-6))
    True optimal True
    >>> from sklearn.model_selection import GridSearchCV, StratifiedKFold
    >>> folds = StratifiedKFold(3, shuffle=True, random_state=0)
    >>> search = GridSearchCV(model, {"C": [1, 10, 100, 1000]}, scoring="neg_log_loss", cv=folds).fit(X, y)
    >>> print(search.best_params_)
    {'C': 1000}
    """

    coef_: Array
    intercept_: Array
    reference_: Array

    def __init__(
        self,
        reference: Any = "mean",
        *,
        C: float = 100.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        curvature: float = -1.0,
        outside: str = "raise",
        verbose: int = 0,
    ) -> None:
        self.reference = reference
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.curvature = curvature
        self.outside = outside
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimise the penalised log-loss to the tolerance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or what :func:`hyplearn.open_points` takes or returns
            Points of the ball. Files, arrays on disk and iterables of blocks are read in blocks, in some ten passes.
        y : array-like of shape (n_samples,), or name of the labels in a file
            Labels; a source or an iterable of blocks brings its own.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C by row: weight k counts as k copies, weight 0 as absence.
        """
        self._check_options()
        if (points := point_source(X, y, sample_weight)) is not None:
            return self._fit_source(points)
        start = self._W if self.warm_start and hasattr(self, "coef_") else None
        data = self._labelled_rows(X, y, sample_weight, reset=True)
        codes = np.searchsorted(self.classes_, data.y)
        centre = self._reference_point(data, codes)
        rows = self._class_rows(data, codes, centre)
        if start is not None and start.shape != (len(self.classes_), rows.shape[1]):
            start = None
        with report_fit(type(self).__name__, self.tol, self.verbose) as tell:
            self._solve(rows, centre, start, tell)
        return self

    def _fit_points(self, data: Labelled, tell: FitReporter) -> None:
        given, sides = self._given_points(), np.arange(data.n_classes)
        if given is not None:
            centre = checked_point(given, data.points.n_features, data.c)
        elif data.points.stays and data.n_rows <= FEW_ROWS:
            few = self._gathered_rows(data)
            centre = self._reference_point(few, np.searchsorted(self.classes_, few.y))
        else:
            centre = streamed_references(self.reference, data, [sides])[0]
        make = ConeRows(data.weighing, centre, data.c, float(self.C), self._constant)
        d = data.points.n_features
        rows = data.rows(make, float(self.C), d + 1 + self.fit_intercept, n_classes=data.n_classes)
        before = data.points.n_passes
        self._solve(rows, centre, None, tell)
        self.n_passes_ = np.array([data.points.n_passes - before])

    def _solve(self, rows: RowSource, centre: Array, start: Array | None, tell: FitReporter) -> None:
        """Solve, and set the fitted attributes."""
        K, d = len(self.classes_), len(centre)
        with one_blas_thread():
            report = partial(tell, f"{K} classes")
            solution = solve_softmax(rows, tol=self.tol, max_iter=self.max_iter, start=start, report=report)
        self._n_rows = rows.shape[0]
        W = solution.W if K > 2 else solution.W[1:] - solution.W[:1]
        self.coef_ = np.ascontiguousarray(W[:, : d + 1])
        self.intercept_ = INTERCEPT * W[:, d + 1] if self.fit_intercept else np.zeros(len(W))
        self.reference_ = np.tile(centre, (len(self.coef_), 1))
        for name in ("status", "primal", "n_iter", "n_passes"):
            setattr(self, f"{name}_", np.array([getattr(solution, name)]))
        self.dual_gap_ = np.array([solution.gap])
        self._complain()

    @property
    def _constant(self) -> float:
        """The last entry of every row."""
        return INTERCEPT if self.fit_intercept else 0.0

    def decision_function(self, X: Any) -> Array:
        """Log-odds of ``classes_[1]`` for two classes, the scores ``⟨W_k, x⟩`` for more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The most probable class of each point."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, of shape (n_samples, n_classes), in the order of ``classes_``."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`, finite where probabilities underflow."""
        return log_softmax(self._scores(X), axis=1)

    def hyperplane_between(self, a: Any, b: Any) -> tuple[Array, Array]:
        r"""The geodesic hyperplane that touches the boundary of classes a and b where it is nearest to the centre.

        With ``fit_intercept=False`` it is the boundary.

        Parameters
        ----------
        a, b : labels
            Two of ``classes_``.

        Returns
        -------
        w, p : ndarrays of shape (n_features,)
            The point p of the boundary nearest to the centre, and the normal there: near p ``signed_distance(x, w, p)``
            is positive where a is likelier than b. The log-odds of a against b is
            :math:`\frac{s(\rho)}{\sinh \rho} \|w\| \sinh \delta` at the signed distance δ in units of the curvature's
            radius: everywhere without the intercept, to first order at p with it.

        Raises
        ------
        ValueError
            If one of the two is likelier in the whole ball, so that there is no boundary.

        Examples
        --------
        >>> import numpy as np
        >>> from hyplearn import PoincareLogisticRegression
        >>> X, y = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5]]), ["right", "left", "top"]
        >>> w, p = PoincareLogisticRegression("origin").fit(X, y).hyperplane_between("right", "left")
        >>> print(np.abs(w / np.linalg.norm(w)).round(6), np.abs(p).round(6))
        [1. 0.] [0. 0.]
        """
        check_is_fitted(self)
        first, second = self._code(a), self._code(b)
        if first == second:
            raise ValueError(f"A boundary lies between two classes; got {a!r} twice.\nPass two different labels.")
        coef, intercepts = self._per_class(self.coef_), self._per_class(self.intercept_)
        u, level = coef[first] - coef[second], float(intercepts[first] - intercepts[second])
        touching = touching_hyperplane(u, level, self.reference_[0], c=absolute_curvature(self.curvature))
        if touching is None:
            ahead = u[0] + level or u[0]
            verdict = f"{a if ahead > 0 else b!r} is likelier" if ahead else "they are equally likely"
            raise ValueError(
                f"There is no boundary between {a!r} and {b!r}: {verdict} in the whole ball.\n"
                "Tell them apart by predict_proba, or raise C."
            )
        return touching

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> SoftmaxCertificate:
        r"""Recompute the certificate from scratch, in plain NumPy, from ``coef_`` and ``intercept_``.

        .. math:: D(\alpha) = C \sum_i H(\pi_i) - \tfrac12 \Bigl\| \sum_i \alpha_i x_i^T \Bigr\|^2,
                  \qquad \alpha_i = C (e_{y_i} - \pi_i)

        is a lower bound of P for any probabilities π with entropy H; those of the model make it a close one.

        Parameters
        ----------
        X, y, sample_weight
            The data of :meth:`fit`.

        Examples
        --------
        >>> from hyplearn import PoincareLogisticRegression
        >>> from hyplearn.datasets import load_mammals
        >>> X, y = load_mammals(return_X_y=True)
        >>> print(PoincareLogisticRegression().fit(X, y).verify(X, y).gap < 1e-6)
        [ True]
        """
        check_is_fitted(self)
        data = self._labelled_rows(X, y, sample_weight, reset=False)
        if len(data.X) != self._n_rows:
            raise ValueError(
                f"A certificate speaks of the data of fit, {self._n_rows} rows; got {len(data.X)} rows.\n"
                "Pass the data of fit."
            )
        return softmax_certificate(self._W, self._explicit_rows(data))

    @property
    def _W(self) -> Array:  # noqa: N802, as in the mathematics
        """One row per class, as the solver sees them."""
        coef, intercepts = self._per_class(self.coef_), self._per_class(self.intercept_)
        return np.column_stack([coef, intercepts / INTERCEPT]) if self.fit_intercept else coef

    def _per_class(self, values: Array) -> Array:
        """Fitted numbers with one row per class, of two classes too."""
        return values if len(self.classes_) > 2 else np.concatenate([-0.5 * values, 0.5 * values])

    def _scores(self, X: Any) -> Array:
        """The score of every point and class."""
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        space, times = cone_rows(X, self.reference_[0], c=absolute_curvature(self.curvature), rooms=rooms)
        coef, intercepts = self._per_class(self.coef_), self._per_class(self.intercept_)
        out = np.empty((len(X), len(coef)))
        for start in range(0, len(X), SCORED_ROWS):
            cut = slice(start, start + SCORED_ROWS)
            out[cut] = times[cut, None] * coef[:, 0] + space[cut] @ coef[:, 1:].T + intercepts
        return out

    def _class_rows(self, data: LabelledRows, codes: Array, centre: Array) -> ClassRows:
        squares = None if data.offsets is None else data.offsets[1]
        c = absolute_curvature(self.curvature)
        space, times = cone_rows(data.X, centre, c=c, rooms=data.rooms, squares=squares)
        return ClassRows(
            *(space.X, space.p, space.along, space.base, self._costs(data)),
            times=times,
            constant=self._constant,
            codes=codes,
            n_classes=len(self.classes_),
            threads=threads_of(self.n_jobs),
        )

    def _explicit_rows(self, data: LabelledRows) -> Iterator[tuple[Array, Array, Array]]:
        """Rows by their definition, with the codes of their classes and costs, block by block."""
        c, C = absolute_curvature(self.curvature), self._costs(data)
        for start in range(0, len(data.X), SCORED_ROWS):
            cut = slice(start, start + SCORED_ROWS)
            frame = np.sqrt(c) * frame_coordinates(data.X[cut].astype(np.float64), self.reference_[0], c=c)
            rho = np.linalg.norm(frame, axis=1)
            safe = np.where(rho > 0, rho, 1.0)
            length = np.where(rho > 0, cone_length(safe), 0.0)
            first = np.where(rho > 0, length / np.tanh(safe), 1.0)
            columns = [first, (length / safe)[:, None] * frame, np.full(len(rho), INTERCEPT)]
            rows = np.column_stack(columns if self.fit_intercept else columns[:-1])
            yield rows, np.searchsorted(self.classes_, data.y[cut]), C[cut]

    def _costs(self, data: LabelledRows) -> Array:
        if data.weights is None:
            return np.broadcast_to(float(self.C), len(data.X))
        return float(self.C) * data.weights

    def _code(self, label: Any) -> int:
        """The number of a class."""
        found = np.flatnonzero(self.classes_ == label)
        if len(found) != 1:
            raise ValueError(f"{label!r} is no class of this model; its classes are {self.classes_.tolist()}.")
        return int(found[0])

    def _check_options(self) -> None:
        if not isinstance(self.C, (int, float, np.number)) or not 0 < self.C < np.inf:
            raise ValueError(f"C must be a positive finite number; got {self.C!r}.")
        check_stopping(self.tol, self.max_iter)

    def _complain(self) -> None:
        """A warning where the certificate is not reached."""
        if self.status_[0] != "optimal":
            advice = {
                "max_iter": "Raise max_iter, lower C, or rescale the embedding.",
                "stalled": "Rounding allows no more: lower C, or raise tol.",
            }
            warnings.warn(
                f"{type(self).__name__} reached a relative duality gap of {self.dual_gap_[0]:.1e}, not tol="
                f'{self.tol:.1e} (status "{self.status_[0]}").\n{advice[self.status_[0]]}',
                ConvergenceWarning,
                stacklevel=4,
            )
