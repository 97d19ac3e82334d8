"""Record of how a result was produced: configuration, date, versions, commit and machine."""

import json
import os
import platform
import subprocess
from dataclasses import asdict
from datetime import date
from pathlib import Path

import numpy as np
import scipy
import sklearn

import hyplearn


def about(config):
    """Return the configuration, versions and machine; a run is resumed only if all of these are the same."""
    return {
        "config": asdict(config),
        "hyplearn": hyplearn.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def commit():
    """Return the current commit, because results may differ between commits with the same version number."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.check_output(command, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write_record(path, config, seconds):
    """Write the record of a run as JSON."""
    when = {"commit": commit(), "date": date.today().isoformat(), "seconds": round(seconds, 1)}
    path.write_text(json.dumps(about(config) | when, indent=1) + "\n")
