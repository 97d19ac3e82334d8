"""Check each claim of the paper against the measurements in the result files of the other experiments.

python experiments claims           # reads and writes experiments/results/quick
python experiments claims --full    # reads and writes experiments/results
"""

import json
from dataclasses import dataclass

from ledger import read

from claims import perceptrons, real_sets, synthetic_sets

EXPERIMENTS = ("table1", "synthetic", "handicapped", "table2")
CLAIMS = (
    perceptrons.bound,
    perceptrons.fewer_updates,
    perceptrons.hyperboloid_perceptron,
    synthetic_sets.optimum,
    synthetic_sets.all_accurate,
    synthetic_sets.speed,
    synthetic_sets.fifty_points,
    synthetic_sets.breakdown,
    synthetic_sets.wide_margin,
    synthetic_sets.euclidean_below,
    synthetic_sets.euclidean_in_many_dimensions,
    synthetic_sets.complexity,
    real_sets.table_again,
    real_sets.gain,
    real_sets.best,
    real_sets.ten_times,
    real_sets.no_spread,
    real_sets.pictures_in_many_dimensions,
)


@dataclass(frozen=True)
class Config:
    """Configuration whose results are read; the default is the quick configuration."""

    name: str = "quick"


FULL = Config(name="full")
SYMBOLS = (
    "There are N points in d dimensions, in a ball of radius R; p is the reference point and ε the margin. Times are "
    "CPU seconds; × stands for a ratio."
)


def text(findings, names):
    """Format the claims and findings as a Markdown table."""
    settings = ", ".join(f"{experiment}: {name}" for experiment, name in names.items())
    lines = [f"Computed from the results of {settings}. {SYMBOLS}", ""]
    lines.append("| | claim of the paper | measurement | verdict | reason |")
    lines.append("| --- " * 5 + "|")
    for i, (claim, finding) in enumerate(zip(CLAIMS, findings, strict=True), start=1):
        entries = [str(i), claim.__doc__, finding.measured, f"**{finding.verdict}**", finding.reason]
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def run(config, folder):
    """Read the results in the folder, check every claim, and write ``claims.md``.

    Nothing is measured here: if a result file is missing, the error names the experiment to run.
    """
    results = {name: read(_found(folder, name, ".csv", config)) for name in EXPERIMENTS}
    records = {name: json.loads(_found(folder, name, ".json", config).read_text()) for name in EXPERIMENTS}
    names = {name: f"{record['config'].get('name', 'full')}, {record['date']}" for name, record in records.items()}
    results["base"] = records["synthetic"]["config"]["base"]
    findings = [claim(results) for claim in CLAIMS]
    (folder / "claims.md").write_text(text(findings, names))
    return findings


def _found(folder, name, ending, config):
    path = folder / f"{name}{ending}"
    if not path.exists():
        flag = " --full" if config.name == "full" else ""
        raise FileNotFoundError(f"{path} is not there.\nRun: python experiments {name}{flag}")
    return path
