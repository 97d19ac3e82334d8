"""Certificates of optimality, computed in plain NumPy from explicit rows (a matrix), independently of the solvers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_summed, in_any_order
from hyplearn.solvers.solution import relative_gap
from hyplearn.types import Array

# Tolerance for the constraints of a hard margin. Smaller violations are regarded as rounding errors.
ROUNDING = 1e-9
EPSILON = float(np.finfo(np.float64).eps)
# Bound on the relative rounding error of a row's elements, in units of EPSILON. For a sum of n terms, √n is added to
# the bound instead of n, because random errors partly cancel.
ROW_ERROR = 8.0


class Certificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareSVC.verify`: arrays with one entry per binary problem.

    Attributes
    ----------
    primal, dual : ndarray
        Primal objective P(w) at ``coef_`` and dual objective D(α) at ``dual_coef_``, both recomputed from the rows. D
        is a lower bound of the minimum of P.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: a bound on the relative distance of P from its minimum.
    violation : ndarray
        Largest violation of the bounds on α, relative to the largest absolute value of α; infinite if α contains NaN or
        infinity. The bounds are [0, C] for the hinge, [0, ∞) for the squared hinge and for a hard margin, and [0, 0]
        for rows with weight 0; C includes the weight of the row. D is a proven bound if the violation is 0.
    rounding : ndarray
        Bound on the rounding error of ``gap``. It is large for points near the rim: their rows are very long, so their
        margins have few correct digits. A model is proven optimal up to the tolerance ``tol`` if ``violation`` is 0 and
        ``gap + rounding`` is at most ``tol``.
    """

    primal: Array
    dual: Array
    gap: Array
    violation: Array
    rounding: Array


@checkpointable
class CertificateSums(NamedTuple):
    """Sums and maxima over one or more blocks of rows, from which the certificate of one binary problem is computed.

    The symbols are those of :func:`certificate_sums`; s is the slack of a row.
    """

    loss: float  # Σ C max(0, s)^q; 0 for a hard margin
    loss_error: float  # bound on the rounding error of ``loss``
    slack: float  # hard margin: largest max(0, slack - error bound) of a row with positive cost; soft margin: 0
    largest_slack: float  # hard margin: largest max(0, slack + error bound) of a row with positive cost; soft margin: 0
    terms: float  # sum of the rows' terms in P - D, without ½‖w - v‖²; non-negative for feasible w and α
    terms_error: float  # bound on the rounding error of ``terms``
    v: Array  # Σ α u
    length: float  # Σ |α| ‖u‖
    total: float  # Σ α
    excess: float  # largest amount by which an α violates its bounds
    largest: float  # largest |α|
    n_rows: int


def certificate_sums(rows: Array, alpha: Array, costs: Array, w: Array, loss: str) -> CertificateSums:
    r"""Compute the sums for a certificate from explicit rows u (feature vectors times labels ±1), their α and costs C.

    Let :math:`s_i = 1 - \langle u_i, w \rangle` be the slack, :math:`v = \sum \alpha_i u_i`, and q = 1 for the hinge or
    q = 2 for the squared hinge. Then P - D is

    .. math:: \tfrac12 \|w - v\|^2 + \sum_i \Bigl(C_i \max(0, s_i)^q - \alpha_i s_i
              + [q = 2] \frac{\alpha_i^2}{4 C_i}\Bigr)

    where [q = 2] is 1 for the squared hinge and 0 for the hinge. For a hard margin, q = 1 and the losses are left out.
    For feasible w and α, no term of a row is negative, so the terms do not cancel.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    slack = 1 - rows @ w
    error = (ROW_ERROR + np.sqrt(len(w))) * EPSILON * (lengths * np.sqrt(w @ w) + 1)
    paid, hard = costs > 0, bool(np.any(costs == np.inf))
    loss = "hinge" if hard else loss  # the hard margin has the same dual for both losses
    price = np.where(paid & np.isfinite(costs), costs, 0.0)
    terms, terms_error, losses, losses_error = _gap_terms(slack, error, alpha, price, loss)
    if loss != "hinge":
        terms = np.where((alpha != 0) & ~paid, np.inf, terms)  # α² / (4 C) is infinite for C = 0
    most = costs if loss == "hinge" else np.where(paid, np.inf, 0.0)
    excess = np.max(np.maximum(-alpha, alpha - most), initial=0.0)
    return CertificateSums(
        float(losses.sum()),
        float(losses_error.sum()),
        float((slack - error)[paid].max(initial=0.0)) if hard else 0.0,
        float((slack + error)[paid].max(initial=0.0)) if hard else 0.0,
        float(terms.sum()),
        float(terms_error.sum()),
        alpha @ rows,
        float(np.abs(alpha) @ lengths),
        float(alpha.sum()),
        float(excess) if np.all(np.isfinite(alpha)) else np.inf,
        float(np.abs(alpha).max(initial=0.0)),
        len(rows),
    )


def _gap_terms(slack: Array, error: Array, alpha: Array, costs: Array, loss: str) -> tuple[Array, Array, Array, Array]:
    """Return each row's term in P - D and its rounding error, and each row's loss and its rounding error.

    The rounding errors are upper bounds. Infinite costs must be passed as 0, because hard constraints have no loss.
    """
    above, below = slack > -error, slack < error
    positive = np.maximum(slack, 0)
    beside = np.where(below, np.abs(alpha) * error, 0.0)
    if loss == "hinge":
        terms = np.where(slack > 0, (costs - alpha) * slack, -alpha * slack)
        errors = np.maximum(np.where(above, np.abs(costs - alpha) * error, 0.0), beside)
        return terms, errors, costs * positive, np.where(above, costs * error, 0.0)
    rest, safe = 2 * costs * positive - alpha, np.where(costs > 0, 4 * costs, np.inf)
    terms = np.where((slack > 0) & (costs > 0), rest**2 / safe, alpha * (alpha / safe - slack))
    errors = np.where(above, np.abs(rest) * error + costs * error**2, 0.0) + beside
    return terms, errors, costs * positive**2, np.where(above, costs * error * (2 * positive + error), 0.0)


@in_any_order
def merge_certificates(parts: Sequence[CertificateSums]) -> CertificateSums:
    """Merge the sums of several blocks of rows."""
    columns = dict(zip(CertificateSums._fields, zip(*parts, strict=True), strict=True))
    largest = {name: max(columns.pop(name)) for name in ("slack", "largest_slack", "excess", "largest")}
    return CertificateSums(**largest, **{name: sum(column) for name, column in columns.items()})


class Proof(NamedTuple):
    """Certificate of one problem; see :class:`Certificate`."""

    primal: float
    dual: float
    gap: float
    violation: float
    rounding: float


def certify(sums: CertificateSums, w: Array, hard: bool) -> Proof:
    """Compute P, D, their relative gap, the violation of the bounds on α, and a bound on the gap's rounding error."""
    feasible = not hard or sums.slack <= ROUNDING
    primal = 0.5 * float(w @ w) + sums.loss if feasible else np.inf
    apart = float(np.linalg.norm(w - sums.v))
    between = 0.5 * apart**2 + sums.terms
    v_error = EPSILON * ((ROW_ERROR + np.sqrt(sums.n_rows)) * sums.length + float(np.linalg.norm(w)))
    error = sums.terms_error + v_error * (apart + 0.5 * v_error) + 4 * EPSILON * abs(between)
    raised = 0.0
    if hard:  # dividing w by the smallest margin ⟨u, w⟩ makes w feasible but increases P, by at most ``raised``
        raised = primal * ((1 - sums.largest_slack) ** -2 - 1) if sums.largest_slack < 1 else np.inf
        error += raised
    violation = max(0.0, sums.excess / max(sums.largest, 1e-300)) if np.isfinite(sums.excess) else np.inf
    if not np.isfinite(primal) or not np.isfinite(between):
        dual = float(sums.total - 0.5 * (sums.v @ sums.v)) if np.isfinite(between) else -np.inf
        return Proof(primal, dual, np.inf, violation, error if np.isfinite(error) else np.inf)
    # If the gap is large, the rounding error in its denominator matters too.
    unit, least = max(1.0, primal), max(1.0, primal - sums.loss_error)
    most = max(1.0, primal + sums.loss_error + raised)
    gap = between / unit
    rounding = error / least + abs(gap) * max(unit / least - 1, 1 - unit / most)
    return Proof(primal, primal - between, gap, violation, rounding)


class SoftmaxCertificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareLogisticRegression.verify`: arrays of shape (1,).

    Attributes
    ----------
    primal, dual : ndarray
        Primal objective P(W) at the fitted weights W, and dual objective D at the probabilities that W predicts for the
        rows, both recomputed from the rows. D is a lower bound of the minimum of P.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: a bound on the relative distance of P from its minimum.
    """

    primal: Array
    dual: Array
    gap: Array


@checkpointable
class SoftmaxSums(NamedTuple):
    """Sums over one or more blocks of rows x with classes y, costs C and predicted probabilities π."""

    loss: float  # Σ C log(1/π_y)
    entropy: float  # Σ C H(π), where H is the entropy
    V: Array  # Σ α xᵀ with α = C (e_y - π), where e_y is a unit vector


def softmax_sums(rows: Array, codes: Array, costs: Array, W: Array) -> SoftmaxSums:
    """Compute the sums for a certificate from explicit rows, their class codes and their costs."""
    scores = rows @ W.T
    own, pi = np.eye(len(W))[codes], softmax(scores, axis=1)
    loss = float(costs @ (logsumexp(scores, axis=1) - np.sum(own * scores, axis=1)))
    return SoftmaxSums(loss, float(costs @ entr(pi).sum(axis=1)), (costs[:, None] * (own - pi)).T @ rows)


@in_any_order
def merge_softmax_sums(parts: Sequence[SoftmaxSums]) -> SoftmaxSums:
    """Merge the sums of several blocks of rows."""
    return SoftmaxSums(*columns_summed(parts))


def certify_softmax(sums: SoftmaxSums, W: Array) -> SoftmaxCertificate:
    """Compute P, D and their relative gap at W."""
    primal, dual = 0.5 * float(np.sum(W**2)) + sums.loss, sums.entropy - 0.5 * float(np.sum(sums.V**2))
    return SoftmaxCertificate(*(np.array([value]) for value in (primal, dual, relative_gap(primal, dual))))
