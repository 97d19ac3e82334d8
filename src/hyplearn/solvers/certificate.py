"""Certificates recomputed from explicit rows in plain NumPy; they share nothing with the solvers that they check."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, softmax

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.folding import columns_summed, in_any_order
from hyplearn.solvers.solution import relative_gap
from hyplearn.types import Array

# A hard margin holds if rows keep it to this share.
ROUNDING = 1e-9
EPSILON = float(np.finfo(np.float64).eps)
# A row has this relative error, and a sum of n terms one of √n more, in units of EPSILON: its errors are random.
ROW_ERROR = 8.0


class Certificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareSVC.verify`, one entry per binary problem.

    Attributes
    ----------
    primal, dual : ndarray
        P(w) of ``coef_`` and D(α) of ``dual_coef_``, from scratch; no w has a lower P than D.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: how far P can be from the optimum.
    violation : ndarray
        How far α leaves its box, relative to the largest α; 0 makes D a proof, and NaN or infinity in α is infinite.
        The box is [0, C] for the hinge, [0, ∞) for the squared hinge, and [0, 0] for rows of weight 0.
    rounding : ndarray
        How far rounding errors can have moved ``gap``: points at the rim have rows so long that their margins are known
        to few digits. A model is proven optimal if ``gap + rounding`` is small.
    """

    primal: Array
    dual: Array
    gap: Array
    violation: Array
    rounding: Array


@checkpointable
class CertificateSums(NamedTuple):
    """Contributions of some rows to the certificate of one problem; those to the gap are never negative in its box."""

    loss: float  # loss of the soft margin
    loss_error: float  # how far rounding can have moved it
    slack: float  # largest 1 - ⟨u, w⟩ of the hard margin, less what rounding can have added to it
    largest_slack: float  # the same with what rounding can have taken from it
    terms: float  # Σ of P - D by rows, without ½‖w - v‖²
    terms_error: float
    v: Array  # Σ α u
    length: float  # Σ α ‖u‖
    total: float  # Σ α
    excess: float  # largest distance of an α to its box
    largest: float  # largest |α|
    n_rows: int


def certificate_sums(rows: Array, alpha: Array, costs: Array, w: Array, loss: str) -> CertificateSums:
    r"""Contributions of explicit signed rows with their α and costs.

    With the slack :math:`s_i = 1 - \langle u_i, w \rangle` and :math:`v = \sum \alpha_i u_i`, P - D is a sum that loses
    no digits,

    .. math:: \tfrac12 \|w - v\|^2 + \sum_i \Bigl(C_i \max(0, s_i)^q - \alpha_i s_i
              + [q = 2] \frac{\alpha_i^2}{4 C_i}\Bigr)
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    slack = 1 - rows @ w
    error = (ROW_ERROR + np.sqrt(len(w))) * EPSILON * (lengths * np.sqrt(w @ w) + 1)
    paid, hard = costs > 0, bool(np.any(costs == np.inf))
    loss = "hinge" if hard else loss  # the hard margin has no other
    price = np.where(paid & np.isfinite(costs), costs, 0.0)
    terms, terms_error, losses, losses_error = _gap_terms(slack, error, alpha, price, loss)
    if loss != "hinge":
        terms = np.where((alpha != 0) & ~paid, np.inf, terms)  # α² / (4 C) at no cost
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
    """Part of each row in P - D and in P, each with its rounding error; an infinite cost has come as 0."""
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
    """Contributions of several blocks together."""
    columns = dict(zip(CertificateSums._fields, zip(*parts, strict=True), strict=True))
    largest = {name: max(columns.pop(name)) for name in ("slack", "largest_slack", "excess", "largest")}
    return CertificateSums(**largest, **{name: sum(column) for name, column in columns.items()})


class Proof(NamedTuple):
    """The certificate of one problem: see :class:`Certificate`."""

    primal: float
    dual: float
    gap: float
    violation: float
    rounding: float


def certify(sums: CertificateSums, w: Array, hard: bool) -> Proof:
    """P, D, their relative gap, how far α leaves its box, and how far rounding can have moved the gap."""
    feasible = not hard or sums.slack <= ROUNDING
    primal = 0.5 * float(w @ w) + sums.loss if feasible else np.inf
    apart = float(np.linalg.norm(w - sums.v))
    between = 0.5 * apart**2 + sums.terms
    v_error = EPSILON * ((ROW_ERROR + np.sqrt(sums.n_rows)) * sums.length + float(np.linalg.norm(w)))
    error = sums.terms_error + v_error * (apart + 0.5 * v_error) + 4 * EPSILON * abs(between)
    if hard:  # divided by its least margin, w is feasible
        error += primal * ((1 - sums.largest_slack) ** -2 - 1) if sums.largest_slack < 1 else np.inf
    violation = max(0.0, sums.excess / max(sums.largest, 1e-300)) if np.isfinite(sums.excess) else np.inf
    if not np.isfinite(primal) or not np.isfinite(between):
        dual = float(sums.total - 0.5 * (sums.v @ sums.v)) if np.isfinite(between) else -np.inf
        return Proof(primal, dual, np.inf, violation, error if np.isfinite(error) else np.inf)
    least = max(1.0, primal - sums.loss_error)
    gap = between / max(1.0, primal)
    return Proof(primal, primal - between, gap, violation, error / least + abs(gap) * (max(1.0, primal) / least - 1))


class SoftmaxCertificate(NamedTuple):
    """Result of :meth:`hyplearn.PoincareLogisticRegression.verify`; arrays of shape (1,), like the fitted attributes.

    Attributes
    ----------
    primal, dual : ndarray
        P(W) of the fitted model and D of its own probabilities, from scratch; no W has a lower P than D.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: how far P can be from the optimum.
    """

    primal: Array
    dual: Array
    gap: Array


@checkpointable
class SoftmaxSums(NamedTuple):
    """Contributions of some rows: the loss, the weighted entropy, and ``Σ α xᵀ``."""

    loss: float
    entropy: float
    V: Array


def softmax_sums(rows: Array, codes: Array, costs: Array, W: Array) -> SoftmaxSums:
    """Contributions of explicit rows with the codes of their classes and their costs."""
    scores = rows @ W.T
    own, pi = np.eye(len(W))[codes], softmax(scores, axis=1)
    loss = float(costs @ (logsumexp(scores, axis=1) - np.sum(own * scores, axis=1)))
    return SoftmaxSums(loss, float(costs @ entr(pi).sum(axis=1)), (costs[:, None] * (own - pi)).T @ rows)


@in_any_order
def merge_softmax_sums(parts: Sequence[SoftmaxSums]) -> SoftmaxSums:
    """Contributions of several blocks together."""
    return SoftmaxSums(*columns_summed(parts))


def certify_softmax(sums: SoftmaxSums, W: Array) -> SoftmaxCertificate:
    """P, D and their relative gap at W."""
    primal, dual = 0.5 * float(np.sum(W**2)) + sums.loss, sums.entropy - 0.5 * float(np.sum(sums.V**2))
    return SoftmaxCertificate(*(np.array([value]) for value in (primal, dual, relative_gap(primal, dual))))
