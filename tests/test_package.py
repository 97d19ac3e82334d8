"""The package as a whole: import time and imported modules."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

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


def test_version_matches_the_distribution():
    assert hyplearn.__version__ == metadata.version("hyplearn")


def test_importing_does_not_import_optional_dependencies():
    """Imports by scikit-learn and numba themselves do not count; pandas is hidden, because it may import pyarrow."""
    code = f"""
import sys
import tomllib
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


def test_drawing_without_matplotlib_names_the_package_to_install():
    code = (
        "import sys; sys.modules['matplotlib.pyplot'] = None\n"
        "from hyplearn.plotting import DiskDisplay\n"
        "try: DiskDisplay.from_points([[0.0, 0.0]]).plot()\n"
        "except ImportError as error: print(error)"
    )
    assert run(code).strip() == "Drawing needs matplotlib: pip install 'hyplearn[plots]'."


@pytest.mark.slow
def test_the_demo_runs_and_writes_its_picture(tmp_path):
    script = Path(__file__).resolve().parents[1] / "examples" / "mammals.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "PoincareLogisticRegression" in done.stdout
    assert (tmp_path / "out" / "mammals.png").stat().st_size > 100_000
    assert (tmp_path / "out" / "mammals.html").stat().st_size > 100_000


ROOT = Path(__file__).resolve().parents[1]


def test_the_wheel_contains_only_the_package(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    wheel = build.build_wheel(str(tmp_path))
    command = [sys.executable, ROOT / "tools" / "check_wheel.py", tmp_path / wheel]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "all of the package and nothing else" in done.stdout


def test_the_conda_recipe_has_the_dependencies_and_the_version_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{project["version"]}"' in recipe
    for requirement in project["dependencies"]:
        assert f"- {requirement.replace('>=', ' >=')}\n" in recipe
    assert f"- python {project['requires-python']}\n" in recipe


def test_every_dependency_has_a_lowest_version():
    done = run(f"import runpy; runpy.run_path({str(ROOT / 'tools' / 'lowest.py')!r}, run_name='__main__')")
    assert "numpy==1.26.*" in done.splitlines()


@pytest.mark.parametrize("path", [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"])
def test_workflows_are_valid_and_call_targets_that_exist(path):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(path.read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
