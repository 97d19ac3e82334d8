"""Verdicts follow from the results that are given, whatever these say."""

import itertools
import json

import claims
import ledger
import pytest
import table2

FAIR, CRIPPLED = 2.0, 600.0


def table1_rows(updates=100, hyperboloid="max_epochs"):
    return [
        {
            "hyperboloid": hyperboloid,
            "margin": margin,
            "first_order": updates * n,
            "second_order": 20,
            "bound": 1000 * n,
        }
        for margin, n in ((1.0, 1), (0.1, 10))
    ]


def synthetic_rows(rival=99.9, slower=FAIR, euclidean=(99.0, 97.0, 92.0), true_p=100.0):
    rows = []
    for (d, n, margin), fifths in itertools.product(
        [(2, 100, 0.01), (2, 1000, 0.01), (10, 100, 0.01), (2, 100, 1)], (1, 2, 3)
    ):
        good = euclidean[fifths - 1] if margin < 1 and d == 2 else 100.0
        scores = {
            claims.TRUE_P: true_p, claims.SVM: 100.0, claims.RIVAL: rival, claims.EUCLIDEAN: good,
            claims.NO_INTERCEPT: 60.0,
        }  # fmt: skip
        for method, score in scores.items():
            setting = {"d": d, "N": n, "margin": margin, "fifths": fifths, "run": 0, "method": method}
            seconds = slower if method == claims.RIVAL else 1.0
            gap = "" if method == claims.RIVAL else 1e-9
            rows.append(
                setting | {"train_f1": score, "test_f1": score, "test_accuracy": score, "gap": gap, "seconds": seconds}
            )
    return rows


def table2_rows(intercept=86.0, hyperboloid=80.0, slower=FAIR, names=("Olsson", "CIFAR10", "Fashion-MNIST")):
    rows = []
    for name, method, trial in itertools.product(names, table2.METHODS, range(2)):
        printed = table2.PAPER.get((name, method), (88.0,))[0]
        accuracy = {table2.INTERCEPT: intercept, table2.HYPERBOLOID: hyperboloid}.get(method, printed)
        cell = {"set": name, "protocol": "official", "trial": trial, "method": method, "data": name}
        seconds = slower if method == table2.HYPERBOLOID else 1.0
        rows.append(cell | {"accuracy": accuracy, "macro_f1": accuracy, "seconds": seconds})
    return rows


@pytest.fixture
def results():
    return {
        "table1": table1_rows(),
        "synthetic": synthetic_rows(),
        "table2": table2_rows(),
        "base": [2, 100, 0.01],
    }


def test_what_was_measured_here_gives_these_verdicts(results):
    verdicts = {claim.__name__: claim(results).verdict for claim in claims.CLAIMS}
    for name in ("bound", "fewer_updates", "optimum", "all_accurate", "euclidean_below", "table_again", "no_spread"):
        assert verdicts[name] == claims.HOLDS
    for name in ("speed", "fifty_points", "wide_margin", "gain", "ten_times"):
        assert verdicts[name] == claims.HANDICAPPED
    for name in ("breakdown", "pictures_in_many_dimensions"):  # no d of 1,000, no file
        assert verdicts[name] == claims.UNKNOWN


@pytest.mark.parametrize(
    ("claim", "experiment", "rows", "verdict"),
    [
        (claims.bound, "table1", table1_rows(updates=1001), claims.FAILS),
        (claims.fewer_updates, "table1", table1_rows(updates=1), claims.FAILS),
        (claims.hyperboloid_perceptron, "table1", table1_rows(hyperboloid="converged"), claims.FAILS),
        (claims.all_accurate, "synthetic", synthetic_rows(true_p=98.0), claims.FAILS),
        (claims.speed, "synthetic", synthetic_rows(slower=CRIPPLED), claims.HOLDS),
        (claims.fifty_points, "synthetic", synthetic_rows(rival=50.0), claims.HOLDS),
        (claims.breakdown, "synthetic", synthetic_rows(rival=67.7), claims.HOLDS),
        (claims.wide_margin, "synthetic", synthetic_rows(rival=67.7), claims.HOLDS),
        (claims.euclidean_below, "synthetic", synthetic_rows(euclidean=(100.0, 100.0, 100.0)), claims.FAILS),
        (claims.gain, "table2", table2_rows(intercept=39.91), claims.HOLDS),
        (claims.best, "table2", table2_rows(intercept=70, hyperboloid=70), claims.HOLDS),
        (claims.best, "table2", table2_rows(hyperboloid=92), claims.HANDICAPPED),
        (claims.ten_times, "table2", table2_rows(slower=10.0), claims.HOLDS),
        (claims.no_spread, "table2", [r for r in table2_rows() if r["trial"] == 0], claims.UNKNOWN),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_results_give_other_verdicts(results, claim, experiment, rows, verdict):
    assert claim(results).verdict != verdict or claim is claims.best
    assert claim(results | {experiment: rows}).verdict == verdict


def test_a_certificate_that_is_not_reached_is_no_proof(results):
    results["synthetic"][0]["gap"] = 0.1
    assert claims.optimum(results).verdict == claims.FAILS


def test_mini_imagenet_is_judged_where_it_was_measured(results):
    results["table2"] = table2_rows(intercept=63.3, hyperboloid=62.0, names=("Olsson", table2.IMAGENET))
    finding = claims.pictures_in_many_dimensions(results)
    assert finding == claims.Finding("63.59 % / 63.30 % / 62.00 %", claims.HANDICAPPED, finding.reason)


def test_measurements_are_those_of_the_results(results):
    assert claims.gain(results).measured.startswith("47.91 points without intercept (Fashion-MNIST); with one, at most")
    assert "at N = 1,000: 1 s" in claims.speed(results).measured
    assert claims.bound(results).measured == "all 2 runs converge; the worst takes 10.0% of its bound"


def test_the_table_numbers_every_claim_and_says_what_it_was_computed_from(results, tmp_path):
    for name in ("table1", "synthetic", "table2"):
        ledger.write_rows(tmp_path / f"{name}.csv", results[name])
        config = {} if name == "table1" else {"name": "quick", "base": results["base"]}
        (tmp_path / f"{name}.json").write_text(json.dumps({"config": config, "date": "2021-09-08"}))
    findings = claims.run(tmp_path)
    assert findings == [claim(results) for claim in claims.CLAIMS]
    text = (tmp_path / "claims.md").read_text()
    assert "table1: full, 2021-09-08, synthetic: quick, 2021-09-08" in text
    assert [line.split(" | ")[0] for line in text.splitlines()[4:]] == [
        f"| {i}" for i in range(1, 1 + len(claims.CLAIMS))
    ]
    assert all(claim.__doc__ in text for claim in claims.CLAIMS)
