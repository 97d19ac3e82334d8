"""Binary and multinomial logistic regression on cone coordinates of the ball."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.cone import plain_cone_rows
from hyplearn.data.training import TrainingData
from hyplearn.decision import Calibration, Decision
from hyplearn.estimators.cost_choice import choice_rows
from hyplearn.estimators.depth import warn_of_depth
from hyplearn.estimators.softmax_classifier import SoftmaxClassifier
from hyplearn.estimators.validation import absolute_curvature, check_stopping
from hyplearn.progress import FitReporter
from hyplearn.reference import reference_points
from hyplearn.rows import RowSource
from hyplearn.rows.built import ClassRowBuilder, build_rows
from hyplearn.solvers.certificate import SoftmaxCertificate
from hyplearn.solvers.choice import choose_softmax_cost
from hyplearn.solvers.softmax import solve_softmax
from hyplearn.types import Array, CostOrAuto

# Maximum number of rows of the subsample on which C is chosen: CHOICE_NUMBERS divided by the number of coefficients of
# the model, to limit the time, or CHOICE_ROWS times the number of classes if that is more.
CHOICE_NUMBERS, CHOICE_ROWS = 2**20, 50
# The search for C starts at 10**CHOICE_FIRST. On embeddings of deep trees, for which the best C may be 1e5, a search
# that started at 10 ended in a local minimum. To leave local minima, the search ends only after CHOICE_PATIENCE steps
# without improvement. CHOICE_TOL is the tolerance (relative duality gap) of the fits in the search.
CHOICE_FIRST, CHOICE_PATIENCE, CHOICE_TOL = 2, 2, 1e-3


class ConeClassifier(SoftmaxClassifier):
    """Base class of the logistic regressions on cone coordinates."""

    reference: Any
    fit_intercept: bool
    max_iter: int
    reference_: Array

    @abstractmethod
    def _chosen_cost(self, data: TrainingData, centre: Array) -> tuple[float, Array | None, float]:
        """Return C, starting weights and the share of rows that lie deep inside another class.

        If C was given or was chosen before, the starting weights are None and the share is 0.
        """

    def _centre(self, data: TrainingData) -> Array:
        return reference_points(self.reference, data, [np.arange(data.n_classes)])[0]

    def _rows(self, data: TrainingData, centre: Array, C: float) -> RowSource:
        build = ClassRowBuilder(centre, data.c, C, self.fit_intercept, data.n_classes)
        n_columns = data.n_features + 1 + self.fit_intercept
        return build_rows(data, build, C, n_columns, n_classes=data.n_classes)

    def _minimise(self, data: TrainingData, start: Array | None, report: FitReporter | None) -> None:
        """Solve the optimisation problem, and set the fitted attributes."""
        centre, K, d = self._centre(data), data.n_classes, data.n_features
        self.C_, found, floor = self._chosen_cost(data, centre)
        rows = self._rows(data, centre, self.C_)
        if start is None or start.shape != (K, rows.shape[1]):
            start = found
        before, own = data.points.n_passes, None if report is None else partial(report, f"{K} classes")
        solution = solve_softmax(rows, tol=self.tol, max_iter=self.max_iter, start=start, report=own)
        W = self._keep_solution(solution, data, before)
        self.coef_ = np.ascontiguousarray(W[:, : d + 1])
        self.intercept_ = W[:, d + 1].copy() if self.fit_intercept else np.zeros(len(W))
        self.reference_ = np.tile(centre, (len(self.coef_), 1))
        self.decision_ = replace(self._decide(), calibration=Calibration.identity(len(self.coef_), floor))

    def _decide(self) -> Decision:
        return Decision(
            self.classes_,
            absolute_curvature(self.curvature),
            "sphere",
            self.coef_,
            self.reference_,
            self.intercept_,
            calibration=Calibration.identity(len(self.coef_)),
        )

    def hyperplane_between(self, a: Any, b: Any) -> tuple[Array, Array]:
        r"""Return the geodesic hyperplane tangent to the boundary of two classes at the point nearest to the centre.

        With ``fit_intercept=False`` this hyperplane is the boundary itself. ValueError is raised if there is no
        boundary, because one of the classes is more likely in the whole ball, or both are equally likely everywhere.

        Parameters
        ----------
        a, b : labels
            Two of ``classes_``.

        Returns
        -------
        w, p : ndarrays of shape (n_features,)
            The point p of the boundary nearest to the centre, and the normal w of the hyperplane at p. The normal
            points towards the side of class a. Let ρ be the distance of a point from the centre, and δ its signed
            distance from the hyperplane, in units of the radius of curvature. The score of a at this point minus the
            score of b is :math:`\frac{\rho}{\sinh \rho} \|w\| \sinh \delta`. With ``fit_intercept=False`` this is
            exact; with an intercept it is correct to first order near p. The difference of the scores is the logarithm
            of the ratio of the softmax probabilities.

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
            raise ValueError(f"A boundary needs two different classes; got {a!r} twice.\nPass two different labels.")
        touching = self.decision_.hyperplane_between(first, second)
        if touching is None:
            leader = self.decision_.leader(first, second)
            verdict = "they are equally likely" if leader is None else f"{a if leader == first else b!r} is likelier"
            raise ValueError(
                f"There is no boundary between {a!r} and {b!r}: {verdict} in the whole ball.\n"
                "Compare them with predict_proba, or raise C."
            )
        return touching

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> SoftmaxCertificate:
        r"""Recompute the certificate from scratch, in plain NumPy, from ``coef_`` and ``intercept_``.

        For any class probabilities :math:`\pi_i` of the rows :math:`x_i`, with entropies :math:`H(\pi_i)`, a lower
        bound on the objective P that ``fit`` minimises is

        .. math:: D(\alpha) = C \sum_i H(\pi_i) - \tfrac12 \Bigl\| \sum_i \alpha_i x_i^T \Bigr\|^2,
                  \qquad \alpha_i = C (e_{y_i} - \pi_i),

        where :math:`e_k` is the k-th unit vector. D equals the minimum of P if the :math:`\pi_i` are the probabilities
        of the optimal model.

        Parameters
        ----------
        X, y, sample_weight
            The training data, from any source.

        Examples
        --------
        >>> from hyplearn import PoincareLogisticRegression
        >>> from hyplearn.datasets import load_mammals
        >>> X, y = load_mammals(return_X_y=True)
        >>> print(PoincareLogisticRegression().fit(X, y).verify(X, y).gap < 1e-6)
        [ True]
        """
        return self._verified(X, y, sample_weight)

    def _plain_rows(self, c: float) -> Callable[[Array], Array]:
        return partial(plain_cone_rows, centre=self.reference_[0], c=c, intercept=self.fit_intercept)

    def _columns_of_rows(self) -> Array:
        return np.column_stack([self.coef_, self.intercept_]) if self.fit_intercept else self.coef_

    def _code(self, label: Any) -> int:
        """Return the index of a label in ``classes_``."""
        classes = self.classes_.tolist()
        if label not in classes:
            raise ValueError(f"{label!r} is not a class of this model; its classes are {classes}.\nPass one of them.")
        return classes.index(label)


@dataclass(eq=False, repr=False)
class PoincareLogisticRegression(ConeClassifier):
    r"""Multinomial logistic regression in the Poincaré ball, with a certificate of optimality.

    Each point is mapped to a row :math:`x_i = \frac{\rho}{\sinh \rho} (\cosh \rho, \sinh \rho\, e_i, 1)`, where ρ is
    the distance of the point from a centre m, in units of the radius of curvature, and :math:`e_i` is its direction as
    seen from m. The weights W solve

    .. math:: \min_W \tfrac12 \sum_k \|W_k\|^2 + C \sum_i \Bigl( \log \sum_k e^{\langle W_k, x_i \rangle}
              - \langle W_{y_i}, x_i \rangle \Bigr)

    The rows contain hyperboloid coordinates about m and a constant. As these coordinates would grow exponentially with
    the distance, the rows are scaled to grow linearly (:func:`~hyplearn.cone.cone_coordinates`). The coefficient of the
    last column is the intercept b. Two classes are equally likely where :math:`u_0 \cosh \rho + \langle u, e \rangle
    \sinh \rho + b = 0`; here, :math:`u_0`, u and b are the differences between the coefficients of the two classes.
    The boundary is a geodesic hyperplane, an equidistant (a hypersurface at constant distance from a geodesic
    hyperplane), a horosphere, a sphere, or the empty set; with ``fit_intercept=False`` it is a geodesic hyperplane or
    the empty set. The boundary lies on one side of the geodesic hyperplane that is tangent to it at the point nearest
    to m (:meth:`hyperplane_between`).

    The penalty is invariant under rotations about m, and m moves with the points unless ``reference`` is "origin" or a
    given point. The probabilities therefore do not change if an isometry of the ball moves all points. As all of W is
    penalised, the objective P is strongly convex: the solution is unique and finite even for separable classes, and
    :math:`P(W) - P^* \le \tfrac12 \|\nabla P(W)\|^2` for every W, where :math:`P^*` is the minimum of P. ``dual_gap_``
    is this bound divided by ``max(1, P)``, and :meth:`verify` recomputes it.

    Parameters
    ----------
    reference : str, callable or array-like, default="mean"
        The centre m. "mean": the mean of all points. "means": the mean of the class means. "origin": the centre of the
        ball. With two classes, all strategies of :class:`PoincareSVC` are supported. A callable gets the points, their
        labels (±1 for two classes, otherwise indices in ``classes_``), their weights (None if all are equal) and
        c = -curvature, and returns the point. An array of shape (n_features,) is the point itself.
    C : float or "auto", default="auto"
        Inverse regularisation strength, the weight of the log-loss against the penalty. "auto": the power of ten with
        the smallest estimate of the log-loss on unseen rows, which combines the evidence (marginal likelihood) and the
        leave-one-out log-loss (``hyplearn.solvers.choice``). ``C_`` is the value used. "auto" also estimates the share
        ε of misplaced rows, which lie deep inside another class (``decision_.calibration.floor``). Probabilities are
        then (1 - ε) times the softmax, plus ε / n_classes. This does not change predictions.
    fit_intercept : bool, default=True
        Whether to fit an intercept; without one the boundaries are geodesic hyperplanes.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of Newton steps, or of rounds of ten quasi-Newton steps if there are more than 300 coefficients.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply C and ``sample_weight``.
    trim : bool, default=True
        Whether to leave out rows that lie far beyond the other rows of their class (``hyplearn.data.far_rows``), with a
        warning that lists them.
    n_jobs : int, default=None
        Number of threads; None for all cores, or as many as OMP_NUM_THREADS allows. Results do not depend on it.
    warm_start : bool, default=False
        Whether ``fit`` starts from the previous solution.
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
    coef_ : ndarray of shape (n_classes, n_features + 1)
        W without the intercepts. For more than two classes, the sum of its rows is zero up to the tolerance. For two
        classes there is only one row: the row of ``classes_[1]`` minus the row of ``classes_[0]``.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Intercepts b; zeros with ``fit_intercept=False``.
    reference_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        The centre, once for each row of ``coef_``.
    status_ : ndarray of str of shape (1,)
        "optimal" if the tolerance is reached; otherwise "max_iter" or "stalled" (limited by rounding).
    primal_, dual_gap_ : ndarrays of shape (1,)
        The objective P(W), and ``½‖∇P‖² / max(1, P)``, which is a proven bound on the difference between P and its
        minimum, relative to max(1, P).
    C_ : float
        Value of C used.
    n_iter_, n_passes_ : ndarrays of shape (1,)
        Number of Newton steps (or rounds of quasi-Newton steps), and number of passes that the solver made
        over the data, including passes that only draw a sample.
    decision_ : Decision
        The fitted model as an immutable object; predictions, plots and model files are computed from it.

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

    reference: Any = "mean"
    _: KW_ONLY
    C: CostOrAuto = "auto"
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    trim: bool = True
    n_jobs: int | None = None
    warm_start: bool = False
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    def _chosen_cost(self, data: TrainingData, centre: Array) -> tuple[float, Array | None, float]:
        if not isinstance(self.C, str):
            return float(self.C), None, 0.0
        n_columns = data.n_classes * (data.n_features + 2)
        block = choice_rows(data, max(CHOICE_NUMBERS // n_columns, CHOICE_ROWS * data.n_classes))
        rows = ClassRowBuilder(centre, data.c, 1.0, self.fit_intercept, data.n_classes)(block)
        options: dict[str, Any] = {"first": CHOICE_FIRST, "patience": CHOICE_PATIENCE, "tol": CHOICE_TOL}
        options["max_iter"] = self.max_iter
        return choose_softmax_cost(rows[:], rows.codes, rows.costs, data.n_classes, **options)

    def _check_parameters(self) -> None:
        is_number = isinstance(self.C, (int, float, np.number)) and 0 < self.C < np.inf
        if not is_number and not (isinstance(self.C, str) and self.C == "auto"):
            raise ValueError(f'C must be a positive finite number or "auto"; got {self.C!r}.')
        check_stopping(self.tol, self.max_iter)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimise the penalised log-loss until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X, y, sample_weight
            Points in the ball, labels and weights, as in :meth:`PoincareSVC.fit`. Data that are read in blocks take
            about ten passes, or 20 to 100 passes if there are more than 300 coefficients.
        """
        previous = self._W if self.warm_start and hasattr(self, "coef_") else None
        with self._training(X, y, sample_weight) as (data, report):
            self._minimise(data, previous, report)
            warn_of_depth(self, data)
            self._report_status()
        return self
