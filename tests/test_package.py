"""The package as a whole: what importing it costs, and what it brings along."""

import subprocess
import sys
from importlib import metadata

import pytest

import hyplearn

OPTIONAL = (
    "matplotlib",
    "dask",
    "distributed",
    "anndata",
    "pyarrow",
    "torch",
    "typer",
    "rich",
    "pandas",
    "networkx",
    "polars",
    "onnx",
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_version_is_that_of_the_distribution():
    assert hyplearn.__version__ == metadata.version("hyplearn")


def test_importing_brings_no_optional_dependency():
    """What scikit-learn and numba take where it is installed is theirs; pandas is hidden, lest it bring pyarrow."""
    code = f"""
import sys
sys.modules["pandas"] = None
import sklearn.svm, numba
del sys.modules["pandas"]
before = set(sys.modules)
import hyplearn, hyplearn.geometry, hyplearn.tangent, hyplearn.reference, hyplearn.datasets, hyplearn.plotting
import hyplearn.persistence, hyplearn.single_cell, hyplearn.cli
import hyplearn.embedding
print([name for name in {OPTIONAL} if name in set(sys.modules) - before])
"""
    assert run(code).strip() == "[]"


def test_drawing_without_matplotlib_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib.pyplot'] = None\n"
        "from hyplearn.plotting import DiskDisplay\n"
        "try: DiskDisplay.from_points([[0.0, 0.0]]).plot()\n"
        "except ImportError as error: print(error)"
    )
    assert run(code).strip() == "Drawing needs matplotlib: pip install 'hyplearn[plots]'."


@pytest.mark.slow
def test_the_demo_runs_and_writes_its_picture(tmp_path):
    from pathlib import Path

    script = Path(__file__).resolve().parents[1] / "examples" / "mammals.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "PoincareLogisticRegression" in done.stdout
    assert (tmp_path / "out" / "mammals.png").stat().st_size > 100_000
    assert (tmp_path / "out" / "mammals.html").stat().st_size > 100_000
