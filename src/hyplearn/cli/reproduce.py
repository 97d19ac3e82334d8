"""``hyplearn reproduce``: the paper's tables and figures, in a checkout of the source."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

from hyplearn.cli.output import Outcome, table
from hyplearn.progress import report_steps

NAME = "reproduce"
EXAMPLES = ("hyplearn reproduce",)
# The Makefile's list.
EXPERIMENTS = ("table1", "table2", "handicapped", "figures", "reference_points", "comparison", "synthetic", "claims")


def run() -> Outcome:
    """Rerun the paper's tables and figures, small, into experiments/results/quick; about ten minutes."""
    folder = checkout([Path.cwd(), Path(__file__).resolve()])
    done: list[dict[str, Any]] = []
    with report_steps(len(EXPERIMENTS)) as report:
        for name in EXPERIMENTS:
            report(name)
            done.append(_finished(name, [sys.executable, "experiments", name], folder))
            if done[-1]["exit_code"]:
                break
    rows = [[part["name"], "failed" if part["exit_code"] else "done", f"{part['seconds']:.0f} s"] for part in done]
    results, broken = folder / "experiments" / "results" / "quick", done[-1]["exit_code"] != 0
    shown = [table("The paper, rerun", ("part", "", "time"), rows)]
    shown += [done[-1]["errors"]] if broken else [f"The tables and figures are in {results}."]
    return Outcome({"parts": done, "results": results}, shown, failed=broken)


def checkout(places: Iterable[Path]) -> Path:
    """The folder, at or above one of the places, that has the experiments; an error if there is none."""
    for place in places:
        for folder in (place, *place.parents):
            if (folder / "experiments" / "__main__.py").is_file() and (folder / "src" / "hyplearn").is_dir():
                return folder
    raise FileNotFoundError(
        "The experiments are part of hyplearn's source, not of the installed package, and are not here.\n"
        "Run this inside a checkout of the repository."
    )


def _finished(name: str, command: list[str], folder: Path) -> dict[str, Any]:
    start = perf_counter()
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {
        "name": name,
        "exit_code": ended.returncode,
        "seconds": perf_counter() - start,
        "errors": ended.stderr[-2000:] if ended.returncode else "",
    }
