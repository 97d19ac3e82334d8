"""The result of checking a claim."""

from dataclasses import dataclass

import numpy as np
from ledger import chosen

HOLDS, HANDICAPPED, FAILS = "holds", "holds only against a handicapped rival", "does not hold"
UNKNOWN = "not measured"


@dataclass(frozen=True)
class Finding:
    """What was measured of a claim, whether it holds, and why."""

    measured: str
    verdict: str
    reason: str


def median_time(rows, method, **wanted):
    """Median of the seconds of a method where all is as wanted."""
    return float(np.median(chosen(rows, "seconds", method=method, **wanted)))
