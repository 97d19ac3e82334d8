"""What every result says of its making: configuration, date, versions, machine."""

import json
import os
import platform
from dataclasses import asdict
from datetime import date

import numpy as np
import scipy
import sklearn

import hyplearn


def write_record(path, config, seconds):
    """Write the record of a run as JSON."""
    about = {
        "config": asdict(config),
        "seconds": round(seconds, 1),
        "date": date.today().isoformat(),
        "hyplearn": hyplearn.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    path.write_text(json.dumps(about, indent=1) + "\n")
