"""Claims about perceptrons, from Table I."""

import numpy as np

from claims.finding import FAILS, HOLDS, Finding


def bound(results):
    """Perceptrons converge to an error-free result, within the bound of the first theorem (Table I)."""
    rows = results["table1"]
    share = max(row["first_order"] / row["bound"] for row in rows)
    return Finding(
        f"all {len(rows)} runs converge; the worst takes {share:.1%} of its bound",
        HOLDS if share <= 1 else FAILS,
        "The bound is very loose: the updates depend on the points near the margin, the bound on the farthest point.",
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
        f"fewer by {listed}",
        HOLDS if min(ratios.values()) > 1 and list(ratios.values()) == sorted(ratios.values()) else FAILS,
        "Its metric adapts to the shape of the point cloud, which determines the number of first-order updates.",
    )


def hyperboloid_perceptron(results):
    """The hyperboloid perceptron of Weber et al. does not converge."""
    rows = results["table1"]
    outcomes = [row["hyperboloid"] for row in rows]
    return Finding(
        f"of {len(rows)} runs on separable data {outcomes.count('converged')} converge within 100 passes, "
        f"{outcomes.count('undefined')} end in the root of a negative number",
        HOLDS if "converged" not in outcomes else FAILS,
        "The update as printed does not learn: each update moves the scores of all points to one side, and its "
        "normalisation may not exist.",
    )
