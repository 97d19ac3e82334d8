"""The result of checking a claim."""

from dataclasses import dataclass

import numpy as np
from ledger import chosen

HOLDS, HANDICAPPED, FAILS = "holds", "holds only against a handicapped baseline", "does not hold"
UNKNOWN = "not measured"


@dataclass(frozen=True)
class Finding:
    """Measurement of a claim, verdict, and reason for the verdict."""

    measured: str
    verdict: str
    reason: str


def median_time(rows, method, **wanted):
    """Median of the seconds of a method over the rows whose columns equal ``wanted``."""
    return float(np.median(chosen(rows, "seconds", method=method, **wanted)))
