"""Tests of the command line as a whole: the real command, help, data sets, demo, reproduce, missing extras."""

import builtins
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import hyplearn
from hyplearn.cli import builtin, main
from hyplearn.cli.app import add, explained
from hyplearn.cli.output import Outcome, plain, table, unpadded
from hyplearn.datasets import load_mammals, load_points

COMMANDS = ["fit", "predict", "evaluate", "plot", "explore", "inspect", "demo", "reproduce"]


def test_the_real_command_works_without_a_terminal(tmp_path, points, model_file):
    command = [sys.executable, "-m", "hyplearn.cli", "predict", model_file, points]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "note: points.csv: coordinates are 'x', 'y'; not used: 'kind'.\n")
    assert done.stdout.splitlines()[0] == "row,label,p_ash,p_birch,p_cedar"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_an_error_without_a_traceback(model_file, options):
    command = [sys.executable, "-m", "hyplearn.cli", "inspect", model_file, *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")


def test_an_interrupt_while_modules_are_imported_ends_without_a_traceback(monkeypatch):
    def interrupted(name, *rest):
        if name == "hyplearn.cli.app":
            raise KeyboardInterrupt
        return imported(name, *rest)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_the_entry_point_is_installed():
    from importlib.metadata import entry_points

    (found,) = [e for e in entry_points(group="console_scripts") if e.name == "hyplearn"]
    assert found.value == "hyplearn.cli:main"


@pytest.mark.parametrize("library", ["typer", "rich"])
def test_without_its_libraries_it_names_the_package_to_install(library, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err.strip() == "The command line needs typer and rich: pip install 'hyplearn[cli]'."


def test_the_version_is_printed(run):
    assert run("--version").stdout.strip() == f"hyplearn {hyplearn.__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_json(run, command):
    text = run(command, "--help").output
    assert f"hyplearn {command}" in text.split("Examples:")[1]
    assert "--json" in text
    assert "--debug" in text


@pytest.mark.parametrize("arguments", [["nothing"], ["fit"], ["fit", "a.csv", "--what"]])
def test_wrong_usage_ends_with_2(run, arguments):
    run(*arguments, code=2)


def test_completion_can_be_installed(run):
    assert "--install-completion" in run("--help").output


def test_an_unforeseen_error_asks_for_debug(capsys):
    def broken() -> Outcome:
        """Break."""
        raise RuntimeError("oh")

    app = typer.Typer()
    add(app, broken, "broken")
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 1
    assert "RuntimeError: oh" in result.stderr
    assert "--debug" in result.stderr
    assert isinstance(CliRunner().invoke(app, ["--debug"]).exception, RuntimeError)


def test_messages_use_option_names():
    assert explained(ValueError('pass outside="project"')) == 'pass --outside "project"'
    assert explained(KeyError("Pass basis=, the key")) == "Pass --points, the key"
    assert explained(ValueError("got C=3")) == "got C=3"


def test_plain_values_are_json_with_numbers_that_are_not_finite_as_text():
    values = {"a": np.array([1.0, np.inf]), "b": np.int64(3), "c": Path("x"), "d": (None, True), "e": float("nan")}
    told = json.loads(json.dumps(plain(values), allow_nan=False))
    assert told == {"a": [1.0, "inf"], "b": 3, "c": "x", "d": [None, True], "e": "nan"}


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_table_cells_are_never_truncated(width):
    rows = [["odd-toed ungulates", "97.2 ± 0.3 %", *map(str, range(1000, 1020))], ["bats", "", *"·" * 20]]
    shown = table("Confusion", ("class", "accuracy", *map(str, range(1, 21))), rows)
    printed = unpadded(Console(width=width), shown)
    assert "…" not in printed
    assert {"Confusion", "class", "odd-toed", "ungulates", "bats", "1019"} <= set(printed.split())
    assert "97.2 ± 0.3 %" in printed


def test_data_sets_are_listed(run, as_json):
    assert set(as_json("datasets", "list")["datasets"]) == {
        "mammals",
        "mammals-tree",
        "olsson",
        "cifar10",
        "fashion-mnist",
    }
    assert "1,170" in run("datasets", "list").stdout


def test_mammals_are_fetched_and_read_back(run):
    run("datasets", "fetch", "mammals")
    X, y = load_points("mammals.csv", label="order")
    mammals = load_mammals()
    assert np.array_equal(X, mammals.data)
    assert np.array_equal(y, mammals.target)


def test_published_sets_are_fetched(run, published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    run("datasets", "fetch", "olsson", "-o", "cells.npz")
    assert load_points("cells.npz")[0].shape == (231, 2)
    assert load_points("cells.npz", points="X_test")[1].shape == (88,)


def test_unknown_sets_and_kinds_of_files_are_errors_of_usage(run):
    assert "'iris' is not one of" in run("datasets", "fetch", "iris", code=2).stderr
    assert (
        "mammals can only be written as a .csv file"
        in run("datasets", "fetch", "mammals", "-o", "a.npz", code=2).stderr
    )


@pytest.mark.slow
def test_the_demo_prints_a_table_and_writes_picture_and_page(as_json, tmp_path):
    told = as_json("demo", "--folds", 2)
    accuracies = {score["name"]: score["accuracy"] for score in told["scores"]}
    assert max(accuracies, key=accuracies.get) == "PoincareLogisticRegression"
    assert (tmp_path / "out" / "mammals.png").stat().st_size > 50_000
    assert "Mammals of WordNet" in (tmp_path / "out" / "mammals.html").read_text(encoding="utf-8")


def test_an_output_that_is_a_file_is_reported_before_the_demo_starts(run, tmp_path, monkeypatch):
    monkeypatch.setattr("hyplearn.cli.builtin.load_mammals", lambda: pytest.fail("the demo began"))
    (tmp_path / "out").write_text("")
    assert "out is not a folder.\nPass a folder as --output" in run("demo", code=1).stderr


def test_the_demo_shows_the_scores_and_writes_a_picture_and_a_page(tmp_path, capsys):
    """The demo runs with two quick classifiers instead of five, to save time."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    from hyplearn.cli.builtin import demonstrate
    from hyplearn.cli.output import show

    models = {"largest class": DummyClassifier(), "softmax": LogisticRegression(max_iter=20, tol=0.1)}
    show(demonstrate(models, list(models), tmp_path / "here", 2), [], as_json=False)
    text = capsys.readouterr().out
    assert "31.3" in text
    assert "largest class" in text
    assert (tmp_path / "here" / "mammals.png").exists()
    assert (tmp_path / "here" / "mammals.html").exists()


def test_reproduce_outside_a_checkout_raises_a_clear_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="inside the clone"):
        builtin.find_checkout([tmp_path])


@pytest.fixture
def small_checkout(tmp_path):
    """Checkout with experiments that only record that they ran."""
    (tmp_path / "src" / "hyplearn").mkdir(parents=True)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__main__.py").write_text("import sys; print(sys.argv[1], file=open('ran.txt', 'a'))")
    return tmp_path


def test_reproduce_runs_all_scripts_in_order(as_json, small_checkout):
    told = as_json("reproduce")
    ran = (small_checkout / "ran.txt").read_text().splitlines()
    assert ran == list(builtin.EXPERIMENTS)
    assert [part["exit_code"] for part in told["parts"]] == [0] * len(ran)


def test_reproduce_stops_where_an_experiment_fails(run, small_checkout):
    (small_checkout / "experiments" / "__main__.py").write_text("raise SystemExit('no data')")
    result = run("reproduce", "--json", code=1)
    (part,) = json.loads(result.stdout)["parts"]
    assert (part["name"], part["exit_code"], part["errors"]) == (builtin.EXPERIMENTS[0], 1, "no data\n")
    assert "no data" in run("reproduce", code=1).stdout


def test_reproduce_runs_what_the_makefile_runs():
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    (line,) = [line for line in makefile.splitlines() if line.startswith("EXPERIMENTS")]
    assert tuple(line.partition("=")[2].split()) == builtin.EXPERIMENTS
