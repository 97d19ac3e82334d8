"""Hard problems for the SVM, and checks of fitted models in extended precision.

A float stands for its exact rational value; rows, P, D and the proof that a hard margin has no solution are computed
from the points in mpmath at 90 digits.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import cosh, matrix, mp, mpf, sinh
from sklearn.exceptions import ConvergenceWarning

from hyplearn import PoincareSVC
from hyplearn.data.training import TrainingData
from hyplearn.estimators.validation import InfeasibleError
from hyplearn.rows.built import ConeRowBuilder, SignedRowBuilder
from hyplearn.solvers.svm import solve_svm
from support import exact


@dataclass(frozen=True)
class Problem:
    """Training data and the parameters of the SVM."""

    X: Any
    y: Any
    weights: Any
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Judgement:
    """Status of a fitted model, and its fault if there is one."""

    status: str
    faults: tuple[str, ...]


def hard_problem(seed: int) -> Problem:
    """Small random problem with rows of very different lengths, costs and weights."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 31)), int(rng.integers(1, 11))
    kind = rng.choice(["rim", "both", "near", "mixed", "alternate"])
    directions = rng.standard_normal((n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    gaps, small = 10.0 ** rng.uniform(-15, -1, n), 10.0 ** rng.uniform(-6, -0.5, n)
    radii = {
        "rim": 1 - gaps,
        "both": np.where(rng.random(n) < 0.5, 1 - gaps, small),
        "near": small,
        "mixed": np.where(rng.random(n) < 0.3, 1 - gaps, rng.uniform(0.05, 0.95, n)),
        "alternate": np.where(np.arange(n) % 2, 1 - 10.0 ** rng.uniform(-15, -8), 10.0 ** rng.uniform(-6, -2)),
    }[kind]
    X = directions * radii[:, None]
    while (outside := exact_gaps(X) <= 1e-16).any():
        X[outside] *= 1 - 2e-16
    reference = rng.choice(["none", "origin", "point"])
    p = rng.standard_normal(d)
    p *= rng.uniform(0, 0.99) / np.linalg.norm(p)
    w = rng.standard_normal(d)
    y = np.where((X - (p if reference == "point" else 0)) @ w > 0, 1, 0)
    if rng.random() < 0.5:
        y[rng.random(n) < rng.choice([0.05, 0.3])] ^= 1
    y[:2] = [0, 1]
    weights = [None, rng.choice([0.0, 0.5, 1.0, 3.0], n), 10.0 ** rng.uniform(-6, 2, n)][rng.integers(3)]
    if weights is not None:
        weights[:2] = np.maximum(weights[:2], 0.5)
    C = np.inf if rng.random() < 0.2 else 10.0 ** rng.uniform(-3, 8)
    parameters = {
        "reference": {"none": None, "origin": "origin", "point": p}[reference],
        "C": C,
        "loss": str(rng.choice(["hinge", "squared_hinge"])),
        "margin": "bound" if reference == "none" else str(rng.choice(["bound", "exact"])),
        "tol": float(rng.choice([1e-3, 1e-6, 1e-6, 1e-6, 1e-9])),
        "calibration": None,
        "trim": False,
    }
    if reference == "none":
        parameters["fit_intercept"] = bool(rng.random() < 0.5)
    return Problem(X, y, weights, parameters)


def exact_gaps(X):
    """The gaps of points, rounded once."""
    return np.array([float(exact.gap(exact.vector(x), mpf(1))) for x in X])


def judge(problem: Problem) -> Judgement:
    """Fit the model and compare its status, its certificate and the result of ``verify`` with the exact values."""
    model = PoincareSVC(**problem.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(problem.X, problem.y, problem.weights)
        except InfeasibleError:
            proven = infeasibility_is_proven(problem)
            return Judgement("infeasible", () if proven else ("infeasible without proof",))
        verified = model.verify(problem.X, problem.y, problem.weights)
    status, tol = model.status_[0], model.tol
    gap = float(exact_gap(model, problem))
    faults = []
    if status == "optimal" and not gap <= 1.001 * tol:
        faults.append(f"optimal at gap {gap:.1e}, tol {tol:.0e}")
    rounding = float(verified.rounding[0]) if hasattr(verified, "rounding") else 0.0
    off = abs(verified.gap[0] - gap) if np.isfinite(verified.gap[0]) or np.isfinite(gap) else 0.0
    if off > rounding + (tol * max(1.0, abs(gap)) if rounding == 0 else 1e-14):
        faults.append(f"verify has gap {verified.gap[0]:.1e} ± {rounding:.1e}, exact {gap:.1e}")
    if status == "optimal" and not verified.gap[0] + rounding <= 1.1 * tol:
        faults.append(f"optimal, but verify has gap {verified.gap[0]:.1e} ± {rounding:.1e}, tol {tol:.0e}")
    if verified.violation[0] > 0:
        faults.append(f"violation {verified.violation[0]:.1e}")
    return Judgement(status, tuple(faults))


def exact_row(x, p, parameters):
    """The row of a point in the problem."""
    x, p, one = exact.vector(x), exact.vector(p), mpf(1)
    if parameters["reference"] is not None:
        return exact.frame(x, p, one) if parameters["margin"] == "bound" else exact.z(x, p, one)
    y = exact.mobius_add(exact.minus(p), x, one)
    rho, length = exact.distance(p, x, one), exact.norm(y)
    factor = rho / sinh(rho) if length else one
    row = [factor * cosh(rho), *(exact.scale(rho / length, y) if length else y), factor]
    return row if parameters["fit_intercept"] else row[:-1]


def exact_rows(problem: Problem, p):
    """Signed rows of the points that have a weight, their costs, and their positions."""
    weights = np.ones(len(problem.y)) if problem.weights is None else problem.weights
    kept = np.flatnonzero(weights > 0)
    signs = [1 if problem.y[i] else -1 for i in kept]
    rows = [
        exact.scale(mpf(sign), exact_row(problem.X[i], p, problem.parameters))
        for i, sign in zip(kept, signs, strict=True)
    ]
    C = problem.parameters["C"]
    return rows, [mpf(float(C * weights[i])) for i in kept], kept


def exact_gap(model: PoincareSVC, problem: Problem):
    """``(P - D) / max(1, P)``, infinite if α leaves its box. For a hard margin, w is divided by its least margin."""
    rows, costs, kept = exact_rows(problem, model.reference_[0])
    alpha = dict(zip(model.support_.tolist(), model.dual_coef_[0].tolist(), strict=True))
    signed = [mpf(alpha.pop(i, 0.0)) * (1 if problem.y[i] else -1) for i in kept]
    hinge, hard = problem.parameters["loss"] == "hinge", problem.parameters["C"] == np.inf
    w = exact.vector(model._W[0])
    if any(alpha.values()) or any(a < 0 or (hinge and a > cost) for a, cost in zip(signed, costs, strict=True)):
        return mpf("inf")
    slacks = [1 - exact.dot(u, w) for u in rows]
    v = [mp.fdot(signed, column) for column in zip(*rows, strict=True)]
    primal, dual = exact.dot(w, w) / 2, mp.fsum(signed) - exact.dot(v, v) / 2
    if hard:
        least = 1 - max(0, *slacks)
        if least <= 0:
            return mpf("inf")
        primal /= least**2
    elif hinge:
        primal += mp.fsum(cost * max(0, slack) for cost, slack in zip(costs, slacks, strict=True))
    else:
        primal += mp.fsum(cost * max(0, slack) ** 2 for cost, slack in zip(costs, slacks, strict=True))
        dual -= mp.fsum(a * a / (4 * cost) for a, cost in zip(signed, costs, strict=True))
    return (primal - dual) / max(1, primal)


def infeasibility_is_proven(problem: Problem) -> bool:
    """Whether the solver's α ≥ 0 is close to one that satisfies ``Σ α u = 0`` exactly (Gordan's theorem).

    With unit rows and ``B`` the rows ``α u``, ``Bᵀ y = -v`` makes ``α (1 + y)`` such a combination; it is positive if
    all y > -1.
    """
    parameters = problem.parameters
    model = PoincareSVC(**{**parameters, "C": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(problem.X, problem.y, problem.weights)
    p = model.reference_[0]
    data = TrainingData.of_arrays(problem.X, problem.y, problem.weights, 1.0, n_classes=2, threads=1)
    model.C_ = np.array([np.inf])
    build = model._builder(0, 1.0)
    assert isinstance(build, (ConeRowBuilder, SignedRowBuilder))
    seed = int(np.random.RandomState(0).randint(2**31))
    solution = solve_svm(build(data.gathered()), tol=parameters["tol"], seed=seed)
    if solution.status != "infeasible" or not (solution.alpha > 0).any():
        return False
    rows, _, kept = exact_rows(problem, p)
    places = {int(i): k for k, i in enumerate(kept)}
    B = [
        exact.scale(mpf(a), rows[places[i]])
        for i, a in zip(*(each.tolist() for each in (solution.support, solution.alpha)), strict=True)
    ]
    v = [mp.fsum(column) for column in zip(*B, strict=True)]
    if not any(v):
        return True
    moments = matrix([[mp.fdot(a, b) for b in zip(*B, strict=True)] for a in zip(*B, strict=True)])
    try:
        x = mp.lu_solve(moments, matrix(v))
    except ZeroDivisionError:
        return False
    return all(mp.fdot(row, list(x)) < 1 for row in B)
