"""Checks of the manual: all blocks are of a kind that is run, all commands are run or known, and all named files exist.

Python blocks are doctests, which pytest collects directly from README.md and docs/*.md.
"""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import hyplearn

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = ("_build", "gallery", "generated")
PAGES = [ROOT / "README.md", *(p for p in sorted(DOCS.rglob("*.md")) if not set(GENERATED) & set(p.parts))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Internal packages, which are not documented for users.
INTERNAL = {"cli", "compilation", "data", "estimators", "files", "interpreted", "numerics", "progress", "rows"}
INTERNAL |= {"scikit_learn", "solvers", "types"}
# Output that differs between runs or machines: seconds, gaps near rounding, file sizes, and table rules, whose length
# depends on the width of the seconds.
CHANGING = re.compile(r"\d+\.\d+ s\b|\d+(\.\d+)?e-\d+|\d+ k?B\b|─+")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    """A fenced block: its language, and its lines."""

    language: str
    lines: list[str]


def blocks(page):
    """Fenced blocks of a page; nested blocks are listed separately."""
    found, language = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            found += [] if language is not None else [Block(line.strip("`").strip(), [])]
            language = None if language is not None else line
        elif language is not None:
            found[-1].lines.append(line)
    assert language is None, f"a block of {page.name} does not end"
    return found


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_the_readme_shows_the_accuracies_and_times_of_the_results():
    module = importlib.util.spec_from_file_location("readme_table", ROOT / "tools" / "readme_table.py")
    tool = importlib.util.module_from_spec(module)
    module.loader.exec_module(tool)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->\n{table()}<!-- end of {name} -->" in text for name, table in tool.TABLES.items())


def of_language(pages, language):
    return [page for page in pages if any(block.language == language for block in blocks(page))]


@every_page
def test_every_block_is_of_a_kind_that_is_run(page):
    unknown = {b.language for b in blocks(page) if not re.fullmatch(r"python|console|sh|\{[a-z-]+\}.*", b.language)}
    assert not unknown, f"nothing runs blocks of {unknown}"


@every_page
def test_every_block_of_python_is_a_doctest_that_pytest_collects(page):
    python = [block for block in blocks(page) if block.language == "python"]
    assert all(block.lines[0].startswith(">>> ") for block in python)
    assert not python or page.parent in (ROOT, DOCS)


def test_pytest_collects_the_pages():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert {"README.md", "docs/*.md"} <= set(options["testpaths"])
    assert "--doctest-glob=*.md" in options["addopts"]


@pytest.mark.parametrize("page", of_language(PAGES, "console"), ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    """All commands of a page run in one folder, in order."""
    testing = pytest.importorskip("typer.testing")
    from hyplearn.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for command, shown in commands(page):
        program, *arguments = shlex.split(command)
        assert program == "hyplearn"
        printed = testing.CliRunner().invoke(app, arguments).output
        assert shows(shown, printed), f"$ {command}\n{printed}"


def test_the_page_of_the_command_line_shows_one_gap_for_one_model():
    """Gaps are masked where outputs are compared, but those of ``fit`` and ``inspect`` are of the same model."""
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    (fitted,), (inspected,) = re.findall(r"within (\S+) of the optimum", text), re.findall(r"dual gap +(\S+)", text)
    assert fitted == f"{float(inspected):.0e}"


def commands(page):
    """Each command of the page, with the output shown below it."""
    text = "\n".join("\n".join(block.lines) for block in blocks(page) if block.language == "console")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def shows(shown, printed):
    """Whether a page shows the printed output, up to blanks and changing numbers; "..." matches anything."""
    shown, printed = (CHANGING.sub("#", text).strip() for text in (shown, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(f"{shown}\n", f"{printed}\n", flags)


def test_numbers_that_change_are_compared_by_format_only():
    assert shows("fit 0.12 s, within 8e-11\n...\nwritten", "fit  1.50 s, within 3e-09\na\nb\nwritten ")
    assert shows("time\n────\n9.9 s", " time\n─────\n10.1 s")
    assert not shows("98.1 ± 0.6 %", "98.2 ± 0.6 %")
    assert not shows("error: a", "error: a\nerror: b")


@pytest.mark.parametrize("page", of_language(PAGES, "sh"), ids=lambda page: page.name)
def test_commands_that_are_not_run_exist(page):
    for block in blocks(page):
        for line in block.lines if block.language == "sh" else []:
            assert is_known(line), f"{page.name}: {line}"


def is_known(line):
    """Whether a command installs existing extras, or makes an existing target."""
    match shlex.split(line, comments=True):
        case []:
            return True
        case ["pip", "install", what]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            found = re.fullmatch(r"\.(?:\[([a-z0-9,-]+)\])?", what)
            return found is not None and set((found[1] or "").split(",")) - {""} <= set(extras)
        case ["make", target]:
            return re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE) is not None
    return False


def test_unknown_commands_are_detected():
    assert is_known("pip install '.[plots,cli]'  # pictures")
    assert not any(map(is_known, ["pip install '.[pictures]'", "make coffee", "hyplearn fit"]))


@every_page
def test_links_lead_to_files(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) + re.findall(r"^```\{include\} (\S+)", text, re.MULTILINE)
    missing = [target for target in targets if "://" not in target and not leads_somewhere(page.parent / target)]
    assert not missing


def leads_somewhere(target):
    """Whether a file exists, or is generated by the build for an example or a module."""
    if target.parent.name == "gallery":
        return target.stem in {"index", *(example.stem for example in EXAMPLES)}
    if target.parent.name == "generated":
        return target.stem in listed_modules()
    return target.exists()


@every_page
def test_mentioned_files_and_experiments_exist(page):
    text = page.read_text(encoding="utf-8")
    mentioned = re.findall(r"\b((?:examples|benchmarks|experiments|docs)/[\w/.-]*\w\.\w+)", text)
    assert not [name for name in mentioned if not (ROOT / name).exists()]
    runnable = {path.stem for path in (ROOT / "experiments").iterdir()} | {"NAME"}
    assert set(re.findall(r"python\s+experiments\s+(\w+)", text)) <= runnable


def listed_modules():
    listed, _ = [block for block in blocks(DOCS / "api" / "index.md") if block.language == "{eval-rst}"]
    return {line.strip() for line in listed.lines if line.strip().startswith("hyplearn")}


def test_the_reference_has_every_public_module():
    public = {module.name for module in pkgutil.iter_modules(hyplearn.__path__)} - INTERNAL
    assert {f"hyplearn.{name}" for name in public} | {"hyplearn"} <= listed_modules()
    assert all(importlib.import_module(name).__doc__ for name in listed_modules())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_every_example_starts_with_a_title(example):
    first = example.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r'"""[^:"]{5,60}(: |\.)', first), "begin it with a title, and a colon or a full stop"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_every_example_has_a_story_with_its_pictures_and_functions(example):
    story = (DOCS / "stories" / f"{example.stem}.md").read_text(encoding="utf-8")
    assert story.count("{{ pictures }}") == 1
    functions = set(re.findall(r"^def (\w+)", example.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^:pyobject: (\w+)", story, re.MULTILINE)) <= functions


# A parameter or attribute whose type ends in an underscore, which docstring tools would read as a link.
ACCIDENTAL_LINK = re.compile(r"^ +\w[\w, ]* : [^`\n]*[a-zA-Z]_(?!\w).*$", re.MULTILINE)


def test_types_in_docstrings_are_no_links_by_accident():
    assert ACCIDENTAL_LINK.search("    coef_, b_ : ndarray of shape (n_iter_,)")
    assert not ACCIDENTAL_LINK.search("    coef_, b_ : ndarray of shape (n_classes,), or ``(n_iter_,)``")
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert not [found for path in sources for found in ACCIDENTAL_LINK.findall(path.read_text(encoding="utf-8"))]


def built(folder, *options):
    """Build the manual as ``make docs`` does, with warnings as errors."""
    pytest.importorskip("furo")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", *options, "-d", folder / "trees"]
    done = subprocess.run([*command, DOCS, folder / "html"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.mark.slow
def test_the_manual_with_every_example_run_needs_no_network(tmp_path):
    loads = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//')
    pages = list(built(tmp_path).rglob("*.html"))
    assert len(pages) > 50
    assert not [page.name for page in pages if loads.search(page.read_text(encoding="utf-8"))]
