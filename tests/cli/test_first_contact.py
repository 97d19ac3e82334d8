"""First steps on the command line: fast help, advice that works in a shell, and output without control characters."""

import ast
import importlib
import json
import re
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

import hyplearn
from hyplearn.cli.app import COMMANDS, DATASETS, IN_SHELL, _messages, as_options
from hyplearn.cli.output import UNSAFE, cell_text, csv_text, visible
from hyplearn.geometry import ball_to_hyperboloid
from support.fitted_models import ball

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\ud800\r\n"
X, codes = ball(60)


@pytest.mark.parametrize("option", ["--version", "--help", "datasets --help"])
def test_help_does_not_import_numerical_libraries(option):
    code = f"""
import sys
sys.argv = ["hyplearn", *{option.split()!r}]
from hyplearn.cli import main
try:
    main()
finally:
    print(sorted({{"numpy", "numba", "sklearn"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("name", [*COMMANDS, *(f"datasets {name}" for name in DATASETS)])
def test_the_list_of_commands_has_their_docstrings(name):
    module, function, line = (DATASETS if " " in name else COMMANDS)[name.rpartition(" ")[2]]
    found = getattr(importlib.import_module(f"hyplearn.cli.{module}"), function).__doc__
    assert " ".join(found.split("\n\n")[0].split()) == line


def test_flags_show_no_type_in_help(run):
    assert "<bool>" not in run("fit", "--help").stdout + run("--help").stdout


@pytest.fixture
def hostile_model(tmp_path):
    names = np.array([f"{k}{HOSTILE}" for k in range(3)], dtype=object)
    model = hyplearn.PoincareLogisticRegression().fit(X, names[codes])
    model.feature_names_in_ = np.array([f"x{HOSTILE}", "y"], dtype=object)
    hyplearn.save(model, tmp_path / "hostile.hyp")
    np.savez(tmp_path / "points.npz", X=X, y=names[codes].astype(str))
    return tmp_path / "hostile.hyp"


@pytest.mark.parametrize("options", [["inspect"], ["evaluate", "points.npz"], ["predict", "points.npz", "-o", "a.csv"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_control_characters_in_names_are_escaped(run, hostile_model, options, form):
    result = run(options[0], hostile_model, *options[1:], *form)
    for text in (result.stdout, result.stderr):
        assert not UNSAFE.search(text)
    assert not form or json.loads(result.stdout)


def test_escapes_are_shown():
    assert visible("a\x1b[2J\nb") == "a\\u001b[2J\nb"
    assert cell_text("a\tb\nc") == "a\\tb\\nc"
    assert visible("größer 🐁") == "größer 🐁"


def test_formulas_are_escaped_on_request():
    columns = {"=name": ["=1+1", "@SUM(A1)", "-x", "plain"], "p": [-0.5, 1.0, 2.0, 3.0]}
    assert csv_text(columns).splitlines()[:2] == ["=name,p", "=1+1,-0.5"]
    assert csv_text(columns, escape_formulas=True).splitlines() == [
        "'=name,p", "'=1+1,-0.5", "'@SUM(A1),1.0", "'-x,2.0", "plain,3.0",
    ]  # fmt: skip


def test_swapped_arguments_raise_a_clear_error(run, points, model_file):
    for command in ("predict", "evaluate"):
        assert "Pass the model first" in run(command, points, model_file, code=1).stderr


def test_advice_is_given_in_command_line_terms():
    told = as_options("Convert them with hyplearn.embedding.from_hyperboloid(X, curvature=-0.5).\nRaise tol, lower C.")
    assert told == ("Convert them with hyplearn embed DATA --method hyperboloid -o POINTS.\nRaise tol, lower --c.")


@pytest.mark.parametrize(("pattern", "command"), IN_SHELL)
def test_every_rewritten_advice_occurs_in_a_message(pattern, command):
    assert any(re.search(pattern, text) for text in _texts_of_the_package())


@cache
def _texts_of_the_package():
    """Return the string constants of the package without those of the command line; values are shown as ``…``."""
    texts = []
    for path in Path(hyplearn.__file__).parent.rglob("*.py"):
        if path.parent.name != "cli":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    texts.append("".join(part.value if _is_text(part) else "…" for part in node.values))
                elif _is_text(node):
                    texts.append(node.value)
    return texts


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_points_of_a_hyperboloid_become_points_of_the_ball(run, tmp_path):
    np.savez(tmp_path / "lorentz.npz", X=ball_to_hyperboloid(X), y=codes)
    told = run("fit", "lorentz.npz", "-o", "model.hyp", code=1).stderr
    assert "hyplearn embed DATA --method hyperboloid -o POINTS" in told
    run("embed", "lorentz.npz", "--method", "hyperboloid", "-o", "points.npz")
    with np.load("points.npz") as found:
        assert np.allclose(found["X"], X)
        assert np.array_equal(found["y"], codes)
    run("fit", "points.npz", "--model", "softmax-cv", "--folds", 0, "-o", "model.hyp")
    assert type(hyplearn.load("model.hyp")).__name__ == "PoincareLogisticRegressionCV"


def test_similar_warnings_are_printed_once(run, tmp_path):
    few = np.concatenate([codes[:-2], [7, 8]])
    np.savez(tmp_path / "points.npz", X=X, y=few)
    with pytest.warns(UserWarning, match="fewer distinct rows"):
        hyplearn.save(hyplearn.PoincareSVC().fit(X, few), tmp_path / "model.hyp")
    told = run("evaluate", "model.hyp", "points.npz", "--folds", 5).stderr
    assert told.count("fewer distinct rows") == 1
    assert "more warnings like this one" in told


def test_one_more_warning_is_counted_in_the_singular():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for row in (1, 2):
            warnings.warn(f"Row {row} is far away.", UserWarning, stacklevel=1)
    assert _messages(caught) == ["Row 1 is far away.\n(1 more warning like this one.)"]


def test_a_replaced_file_is_reported(run, as_json, points, model_file):
    command = ["predict", model_file, points, "-o", "labels.csv"]
    assert "replaced" not in run(*command).stderr
    assert "note: labels.csv: the existing file was replaced." in run(*command).stderr
    assert "labels.csv: the existing file was replaced." in as_json(*command)["notes"]


def test_a_data_file_that_is_overwritten_is_reported(run, points, model_file):
    """Other commands do not add to the data file: here the predictions replace the points."""
    assert (
        "note: points.csv: the existing file was replaced." in run("predict", model_file, points, "-o", points).stderr
    )


def test_a_file_to_which_results_are_added_is_not_called_replaced(run, cells):
    pytest.importorskip("anndata")
    assert "replaced" not in run("classify", cells, "--label", "kind", "-o", cells).stderr
    assert "replaced" not in run("classify", cells, "--label", "kind", "-o", cells.name).stderr
