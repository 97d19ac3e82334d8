"""Choose the kernel scale and C by the log-loss on held-out rows, with a few warm-started fits to a subsample."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hyplearn.data.training import LabelledBlock
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels.nystrom import add_linear_columns, median_distance, nystrom
from hyplearn.numerics import uniforms
from hyplearn.rows.kernel import kernel_rows
from hyplearn.rows.memory import ClassRows
from hyplearn.solvers.softmax import solve_softmax
from hyplearn.types import Array

# Maximum number of rows used in the search. This number was enough to distinguish good from bad scales on all data sets
# used for tuning. With n_components > 300, the maximum is larger, because the search then uses all rows from which the
# landmarks are chosen (ROWS_PER_LANDMARK in kernel_classifier.py).
SEARCH_ROWS = 6000
# The rows are divided into PARTS parts. With up to FEW_ROWS rows, every trial holds out each part in turn; with more
# rows, it holds out only the first part. With FEW_ROWS + 1 to MORE_ROWS rows, the FINALISTS best trials are repeated at
# the end with each part held out in turn, because the best trial on one part is often not the best overall.
FEW_ROWS, MORE_ROWS, PARTS, FINALISTS = 500, 2000, 3, 3
# Values of C to try first, in this order. They are tried at the given scale; if the scale is to be chosen, the median
# distance between landmarks is used as the scale. Fits with a larger C take longer, so once the log-loss exceeds RISEN
# times its smallest value so far, no larger values are tried.
FIRST_COSTS, RISEN = (1.0, 10.0, 100.0, 1000.0), 1.1
# Smallest and largest scale, relative to the median distance between landmarks. At smaller scales, few rows are
# closer to a landmark than the scale, and the fit is poor. At larger scales, the kernel features vary so little that
# only the other columns matter: the linear columns, which add_linear_columns appends, and the intercept.
SMALLEST, LARGEST = 0.02, 4096.0
# Factors by which a step multiplies (scale, C). At distances ρ far below the scale s, the Laplacian kernel is close to
# 1 - ρ/s, so a larger scale has the same effect on the weights of the kernel features as a smaller C. Therefore, some
# steps multiply C by the same factor as the scale. The other steps keep C, and with it the influence of the linear
# columns. After all steps, the best C is multiplied by each factor in FINER, at the best scale.
STEPS = ((4.0, 4.0), (4.0, 1.0), (0.25, 0.25), (0.25, 1.0))
FINER = (0.3, 3.0)
# Values of C to try at the largest scale, where the kernel features do not matter.
LINEAR_COSTS = (30.0, 300.0, 3000.0)
# Tolerance (relative duality gap) of the fits in the search: SEARCH_TOL, or TOL_PER_COST times C if that is larger. The
# gap is ½‖∇P‖² / max(1, P) for the objective P. The second derivatives of P grow in proportion to C, so a model with a
# given gap is closer to the optimum if C is larger; a larger gap is therefore accepted for large C. With smaller
# tolerances the search takes up to twice the time, the held-out log-losses change by about 1 %, and the chosen scale
# and C hardly ever change.
SEARCH_TOL, TOL_PER_COST = 1e-3, 1e-4
# Trials whose log-loss is at most EQUAL times the smallest log-loss are treated as equally good, because the standard
# errors of held-out log-losses are larger than one per cent. Among these trials, the one with the smallest C is chosen,
# because its fit takes the least time.
EQUAL = 1.01
# Columns for which ``C Σ x²`` is below this value are left out of a fit, where Σ x² is the weighted sum of squares of
# the column. The second derivative of the loss with respect to the weight w of such a column is at most ``C Σ x² / 4``,
# compared with 1 for the penalty ½w², so the fitted w would be close to 0. Leaving these columns out changes the
# held-out log-losses only in the third digit.
NEGLIGIBLE = 1.0
# Starting weights at a new scale are computed by ridge regression, which fits the scores of an earlier model at the
# landmarks. The ridge penalty is START_RIDGE / C, because near its optimum, a softmax with cost C resembles a ridge
# regression with about this penalty. START_RIDGE is the inverse of a typical second derivative of a row's log-loss with
# respect to a score.
START_RIDGE = 10.0


class Trial(NamedTuple):
    """One trial of the search: the scale, C and the held-out log-loss."""

    scale: float
    C: float
    log_loss: float


class Choice(NamedTuple):
    """Result of the search: the best scale and C, starting weights for the final fit, and all trials.

    If there was no search, ``start`` is None and ``trials`` is empty.
    """

    scale: float
    C: float
    start: Array | None
    trials: list[Trial]


def choose_scale_and_cost(
    rows: LabelledBlock,
    n_classes: int,
    landmarks: Array,
    kernel: str,
    c: float,
    *,
    scale: float | None,
    C: float | None,
) -> Choice:
    """Choose the scale and C by the log-loss on held-out rows; if one of them is given, keep its value."""
    if scale is not None and C is not None:
        return Choice(scale, C, None, [])
    search = KernelSearch(rows, n_classes, landmarks, kernel, c)
    first = median_distance(landmarks, c) if scale is None else scale
    search.raise_costs(first, FIRST_COSTS if C is None else (C,))
    if scale is None:
        search.raise_costs(LARGEST * first, LINEAR_COSTS if C is None else (C,))
        for step in STEPS:
            search.walk(*(step if C is None else (step[0], 1.0)), bounds=(SMALLEST * first, LARGEST * first))
    if C is None:
        best = search.best
        for factor in FINER:
            search.fit(best.scale, factor * best.C)
    explored = search.trials
    if FEW_ROWS < len(rows.X) <= MORE_ROWS:
        search.compare(FINALISTS)
        explored = explored + search.trials
    best = search.best
    return Choice(best.scale, best.C, search.starts[best.scale, 0], explored)


class ScaledRows(NamedTuple):
    """Kernel rows of the training points and of the landmarks, at one scale of the kernel.

    ``energies`` contains the weighted sum of squares of each column of ``rows``. For the linear columns, which are the
    last ``KernelSearch.n_linear`` columns, it is set to infinity, so that they are never left out of a fit.
    """

    scale: float
    rows: Array
    landmarks: Array
    energies: Array


class Model(NamedTuple):
    """Fitted model in a form that does not depend on the kernel scale.

    ``values`` contains the scores of the landmarks without the contributions of the linear columns, and ``linear``
    contains the weights of the linear columns.
    """

    values: Array
    linear: Array


@dataclass
class KernelSearch:
    """Search for the scale and C with the smallest log-loss on held-out parts of the rows.

    The weights of the rows are scaled to a mean of 1.
    """

    rows: LabelledBlock
    n_classes: int
    landmarks: Array
    kernel: str
    c: float
    negligible: float = NEGLIGIBLE
    trials: list[Trial] = field(default_factory=list)
    # ``starts`` and ``models`` are used for warm starts: ``starts`` contains the weights of the last fit for each scale
    # and held-out part, and ``models`` contains the models of the best trial, one for each held-out part.
    starts: dict[tuple[float, int], Array] = field(default_factory=dict)
    models: list[Model] = field(default_factory=list)
    # Results of ``_held_out`` for each scale, C and held-out part; stored so that ``compare`` does not repeat fits.
    losses: dict[tuple[float, float, int], tuple[float, float]] = field(default_factory=dict)
    scaled: ScaledRows | None = None

    def __post_init__(self) -> None:
        weights = self.rows.row_weights
        self.rows = self.rows._replace(weights=weights / weights.mean())
        self.parts = part_numbers(self.rows.codes)
        self.n_parts = PARTS if len(weights) <= FEW_ROWS else 1
        # Number of linear columns: the d + 2 columns of add_linear_columns, and the intercept, which counts as linear.
        self.n_linear = self.landmarks.shape[1] + 3

    @property
    def best(self) -> Trial:
        """Trial with the smallest C among those whose log-loss is at most ``EQUAL`` times the smallest log-loss."""
        most = EQUAL * min(trial.log_loss for trial in self.trials)
        return min((trial for trial in self.trials if trial.log_loss <= most), key=lambda trial: trial.C)

    def raise_costs(self, scale: float, costs: Sequence[float]) -> None:
        """Try increasing values of C, given by ``costs``, at one scale.

        Stop when the log-loss exceeds ``RISEN`` times the smallest log-loss that these values have given so far.
        """
        least = np.inf
        for C in costs:
            loss = self.fit(scale, C)
            least = min(least, loss)
            if loss > RISEN * least:
                break

    def walk(self, factor: float, share: float, *, bounds: tuple[float, float]) -> None:
        """Starting at the best trial, multiply the scale by ``factor`` and C by ``share`` while the log-loss decreases.

        Also stop if the next scale is outside ``bounds``, or if the next scale and C have already been tried.
        """
        while True:
            before = self.best
            scale, C = factor * before.scale, share * before.C
            done = any(trial[:2] == (scale, C) for trial in self.trials)
            if done or not bounds[0] <= scale <= bounds[1] or self.fit(scale, C) >= before.log_loss:
                return

    def compare(self, number: int) -> None:
        """Repeat the best trials, holding out each part in turn; the new trials replace all earlier ones.

        ``number`` is the number of trials to repeat.
        """
        best = sorted(self.trials, key=lambda trial: trial.log_loss)[:number]
        self.n_parts, self.trials = PARTS, []
        for trial in best:
            self.fit(trial.scale, trial.C)

    def fit(self, scale: float, C: float) -> float:
        """Fit with this scale and C, holding out one part at a time; record the trial, and return its log-loss."""
        scaled = self._scaled(scale)
        for part in range(self.n_parts):
            if (scale, C, part) not in self.losses:
                self.losses[scale, C, part] = self._held_out(part, scaled, C)
        sums = np.sum([self.losses[scale, C, part] for part in range(self.n_parts)], axis=0)
        loss = float(sums[0] / max(sums[1], 1e-300))
        if not self.trials or loss < self.best.log_loss:
            self.models = [self._model(scaled, self.starts[scale, part]) for part in range(self.n_parts)]
        self.trials.append(Trial(scale, C, loss))
        return loss

    def _scaled(self, scale: float) -> ScaledRows:
        """Return the kernel rows at a scale; they are cached until another scale is requested."""
        if self.scaled is None or self.scaled.scale != scale:
            kernel_map = add_linear_columns(nystrom(self.landmarks, self.kernel, scale, self.c, len(self.landmarks)))
            rows = kernel_rows(kernel_map, self.rows.X, self.rows.gaps)
            energies = self.rows.row_weights @ rows**2
            energies[-self.n_linear :] = np.inf
            at_landmarks = kernel_rows(kernel_map, self.landmarks, row_gaps(self.landmarks, self.c))
            self.scaled = ScaledRows(scale, rows, at_landmarks, energies)
        return self.scaled

    def _held_out(self, part: int, scaled: ScaledRows, C: float) -> tuple[float, float]:
        """Fit to all parts except ``part``, which is held out.

        Return the weighted sum of the log-losses of the held-out rows, and the total weight of these rows.
        """
        codes, weights = self.rows.codes.astype(np.int64), self.rows.row_weights
        kept, held = C * scaled.energies >= self.negligible, self.parts == part
        start, R = self._start(part, scaled, C)[:, kept], scaled.rows[:, kept]
        source = ClassRows.of(R[~held], codes[~held], C * weights[~held], self.n_classes)
        W = solve_softmax(source, tol=max(SEARCH_TOL, TOL_PER_COST * C), start=start).W
        self.starts[scaled.scale, part] = np.zeros((self.n_classes, len(kept)))
        self.starts[scaled.scale, part][:, kept] = W
        # Held-out rows whose class has no training rows are ignored, because no scale and no C can fit an unseen class.
        known = held & (np.bincount(codes[~held], minlength=self.n_classes)[codes] > 0)
        scores, own = R[known] @ W.T, codes[known]
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(own)), own]
        return float(weights[known] @ losses), float(weights[known].sum())

    def _start(self, part: int, scaled: ScaledRows, C: float) -> Array:
        """Return starting weights for a fit.

        Start from the last fit at this scale or, if there is none, from the best trial; before any trial, from zeros.
        """
        if (scaled.scale, part) in self.starts:
            return self.starts[scaled.scale, part]
        if not self.models:
            return np.zeros((self.n_classes, len(scaled.energies)))
        # The kernel columns are orthogonal on the landmarks, so ridge regression takes only one division per column.
        values, linear = self.models[min(part, len(self.models) - 1)]
        columns = scaled.landmarks[:, : -self.n_linear]
        kernel = (columns.T @ values).T / (np.sum(columns**2, axis=0) + START_RIDGE / C)
        return np.column_stack([kernel, linear])

    def _model(self, scaled: ScaledRows, W: Array) -> Model:
        """Convert the weights W of a fit to a form that does not depend on the scale."""
        end = -self.n_linear
        return Model(scaled.landmarks[:, :end] @ W[:, :end].T, W[:, end:])


def part_numbers(codes: Array) -> Array:
    """Assign each row to a random part, stratified by class, and return the index of the part of each row."""
    order = np.lexsort((uniforms(1, np.arange(len(codes))), codes))
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    # The first row of class k goes to part k % PARTS, so that the rows of rare classes do not all fall into part 0.
    return (ranks + codes) % PARTS
