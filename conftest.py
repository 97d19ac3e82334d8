"""Without torch, the tests and examples of what needs it are left out, and the head of the report says so."""

import os
from importlib.util import find_spec

os.environ.setdefault("MPLBACKEND", "Agg")  # pages draw without a window

HAS_TORCH = find_spec("torch") is not None
NEEDS_TORCH = [
    "src/hyplearn/embedding/ball_net/*.py",
    "tests/embedding/ball_net/*.py",
    "tests/experiments/test_images.py",
    "tests/persistence/test_networks.py",
]
collect_ignore_glob = [] if HAS_TORCH else NEEDS_TORCH


def pytest_report_header():
    """Tell what is left out."""
    return [] if HAS_TORCH else "torch is not installed: BallNet is not tested. pip install 'hyplearn[torch]'"
