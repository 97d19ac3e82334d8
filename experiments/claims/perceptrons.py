"""Claims about perceptrons, from Table I."""

import numpy as np

from claims.finding import FAILS, HOLDS, Finding


def bound(results):
    """Perceptrons converge to an error-free result, within the bound of the first theorem (Table I)."""
    rows = results["table1"]
    share = max(row["first_order"] / row["bound"] for row in rows)
    return Finding(
        f"all {len(rows)} runs converge, with at most {100 * share:.1f} % of the updates that the bound allows",
        HOLDS if share <= 1 else FAILS,
        "The bound is very loose: it depends on the farthest point, but the updates depend on the points near the "
        "margin.",
    )


def fewer_updates(results):
    """The second-order perceptron needs significantly fewer updates, especially for small margins (Table I)."""
    rows = results["table1"]
    ratios = {}
    for margin in sorted({row["margin"] for row in rows}, reverse=True):
        own = [row for row in rows if row["margin"] == margin]
        ratios[margin] = np.mean([row["first_order"] for row in own]) / np.mean([row["second_order"] for row in own])
    listed = ", ".join(f"{ratio:.3g} × at ε = {margin:g}" for margin, ratio in ratios.items())
    return Finding(
        f"updates of the first-order perceptron over those of the second-order one: {listed}",
        HOLDS if min(ratios.values()) > 1 and list(ratios.values()) == sorted(ratios.values()) else FAILS,
        "The second-order perceptron adapts its metric to the shape of the point cloud, which determines the number of "
        "first-order updates.",
    )


def hyperboloid_perceptron(results):
    """The hyperboloid perceptron of Weber et al. does not converge."""
    rows = results["table1"]
    outcomes = [row["hyperboloid"] for row in rows]
    return Finding(
        f"of {len(rows)} runs on separable data, {outcomes.count('converged')} converge within 100 passes, and "
        f"{outcomes.count('undefined')} stop at the root of a negative number",
        HOLDS if "converged" not in outcomes else FAILS,
        "The printed update rule does not learn: each update moves the scores of all points in the same direction, and "
        "its normalisation may require the root of a negative number.",
    )
