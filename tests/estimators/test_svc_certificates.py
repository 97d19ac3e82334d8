"""Certificates of PoincareSVC checked in extended precision, and forged certificates."""

import numpy as np
import pytest

from hyplearn import PoincareSVC
from hyplearn.datasets import make_ball_classification
from support.judged import hard_problem, judge

# Seeds of problems whose certificate was wrong in plain float64: "optimal" above the tolerance, "infeasible" without a
# proof, or a gap of verify without correct digits.
# fmt: off
CORPUS = (
    4, 9, 12, 25, 81, 98, 101, 124, 151, 181, 198, 252, 275, 341, 346, 350, 385, 388, 401, 450, 461,
    478, 505, 524, 550, 599, 676, 719, 741, 745, 778, 816, 864, 941, 953, 959, 966, 968, 1029, 1035,
    1063, 1084, 1089, 1099, 1150, 1155, 1244, 1248, 1280,
)
# fmt: on


def test_certificates_that_were_once_wrong_are_valid():
    for seed in CORPUS:
        assert judge(hard_problem(seed)).faults == (), seed


@pytest.mark.parametrize("first", range(20_000, 20_040, 10))
def test_every_claim_holds_in_extended_precision(first):
    for seed in range(first, first + 10):
        assert judge(hard_problem(seed)).faults == (), seed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PoincareSVC uses coordinates about one centre")
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_every_claim_of_many_holds_in_extended_precision(first):
    for seed in range(first, first + 500):
        assert judge(hard_problem(seed)).faults == (), seed


# Forgeries


def scale_w(model):
    model.coef_ = 1.01 * model.coef_


def turn_w(model):
    model.coef_ = np.roll(model.coef_, 1, axis=1)


def scale_alpha(model):
    model.dual_coef_ = 1.5 * model.dual_coef_


def flip_one_alpha(model):
    model.dual_coef_[0, np.argmax(np.abs(model.dual_coef_[0]))] *= -1


def drop_half(model):
    model.dual_coef_[0, ::2] = 0.0


def exchange_alpha(model):
    model.dual_coef_ = np.sign(model.dual_coef_) * np.abs(model.dual_coef_[:, ::-1])


def exceed_the_box(model):
    model.dual_coef_[0, np.argmax(np.abs(model.dual_coef_[0]))] *= 1e3


def shift_support(model):
    model.support_ = np.minimum(model.support_ + 1, 199)


def support_a_row_without_weight(model):
    model.support_ = np.append(0, model.support_)
    model.dual_coef_ = np.column_stack([[[1e-3 * model.signs[0]]], model.dual_coef_])


def entry(name, value):
    def forge(model):
        getattr(model, name)[0, 0] = value

    forge.__name__ = f"{value}_in_{name}"
    return forge


FORGERIES = (
    scale_w,
    turn_w,
    scale_alpha,
    flip_one_alpha,
    drop_half,
    exchange_alpha,
    exceed_the_box,
    shift_support,
    support_a_row_without_weight,
    *(entry(name, value) for name in ("coef_", "dual_coef_") for value in (np.nan, np.inf, -np.inf)),
)
KINDS = {
    "hinge": {"C": 3.0},
    "squared hinge": {"C": 3.0, "loss": "squared_hinge"},
    "hard": {"C": np.inf},
    "hard, squared hinge": {"C": np.inf, "loss": "squared_hinge"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_verify_detects_every_forged_certificate(kind, forge):
    X, y, p, _ = make_ball_classification(200, 3, margin=0.05, random_state=1)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 200)
    weights[:5] = 0.0
    if "hard" not in kind:
        y[5::20] *= -1
    model = PoincareSVC(p, calibration=None, **KINDS[kind]).fit(X, y, weights)
    certificate = model.verify(X, y, weights)
    assert certificate.gap[0] + certificate.rounding[0] <= 1e-6
    assert certificate.violation[0] == 0
    model.signs = y
    forge(model)
    with np.errstate(all="ignore"):
        forged = model.verify(X, y, weights)
    assert forged.gap[0] > 1e-5 or forged.violation[0] > 0


def test_verify_reports_the_rounding_error():
    """The model is correct to all digits of float64, on rows of length 1e15."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    X *= (np.where(np.arange(12) % 3, 1 - 1e-15, 1e-3) / np.linalg.norm(X, axis=1))[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    model = PoincareSVC("origin", C=1e6, margin="exact", calibration=None).fit(X, y)
    model.coef_ = model.coef_ * (1 - 1e-15)
    sure, unsure = model.verify(X, y), PoincareSVC("origin", calibration=None).fit(X, y).verify(X, y)
    assert unsure.rounding[0] < 1e-9
    assert sure.rounding[0] > unsure.rounding[0]


@pytest.mark.parametrize("seed", range(8))
def test_far_and_near_points_have_a_hard_margin(seed):
    """Eight points in ten dimensions have norms of 1e-4 and 1 - 1e-12; independent rows are always separable."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 10))
    X *= (np.where(np.arange(8) % 2, 1 - 1e-12, 1e-4) / np.linalg.norm(X, axis=1))[:, None]
    y = np.append([0, 1], rng.integers(0, 2, 6))
    model = PoincareSVC("origin", C=np.inf, margin="exact", calibration=None).fit(X, y)
    assert model.status_[0] == "optimal"
    assert np.array_equal(model.predict(X), y)
