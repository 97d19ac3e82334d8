"""Tutorials as notebooks: a page with the directive ``{notebook}`` has an executed notebook to download.

The directive is replaced by a link and takes no arguments. Text between blocks of ``python`` becomes cells
of Markdown; the doctests become cells of code, without prompts, that end where a doctest shows an output. The notebook
is run from its first cell to its last when the manual is built, and keeps what it printed and drew. An error of a cell
is one of the build.

The file runs by itself too: ``python docs/extensions/notebooks.py PAGE.md NOTEBOOK.ipynb``.
"""

import ast
import base64
import doctest
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
from docutils import nodes
from docutils.parsers.rst import Directive
from matplotlib import pyplot as plt
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from hyplearn.plotting.style import DPI

MARK = "```{notebook}\n```\n"
FOLDER = "notebooks"
# Version of the format: cells have names since 4.5.
FORMAT = {"nbformat": 4, "nbformat_minor": 5}
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[([^\]]*)\]\(([^)]+)\)\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)]+\)")
DIRECTIVE = re.compile(r"^```\{[a-z-]+\}.*?^```\n", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\s*# doctest:.*$", re.MULTILINE)


def notebook(page: Path) -> dict:
    """Notebook of a page, not executed."""
    text, cells = page.read_text(encoding="utf-8").replace(MARK, ""), []
    for k, part in enumerate(PYTHON.split(text)):
        cells += [code_cell(source) for source in sources(part)] if k % 2 else text_cells(part, page.parent)
    return {"cells": [{"id": f"cell-{k}", **cell} for k, cell in enumerate(cells)], "metadata": KERNEL, **FORMAT}


def sources(block: str) -> list[str]:
    """Code of a block of doctests, cut after every statement that shows an output."""
    found, lines = [], ""
    for example in doctest.DocTestParser().get_examples(block):
        lines += OPTIONS.sub("", example.source)
        if example.want:
            found, lines = [*found, lines.rstrip("\n")], ""
    return [*found, lines.rstrip("\n")] if lines else found


def code_cell(source: str) -> dict:
    """A cell that is not executed yet."""
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def text_cells(text: str, folder: Path) -> list[dict]:
    """A cell of Markdown with its pictures inside; links to other pages are text, directives are left out."""
    attached = {}

    def attach(found: re.Match) -> str:
        path = folder / found[2]
        attached[path.name] = {"image/png": base64.b64encode(path.read_bytes()).decode("ascii")}
        return f"![{found[1]}](attachment:{path.name})\n"

    text = PICTURE.sub(attach, DIRECTIVE.sub("", LINK.sub(r"*\1*", text))).strip()
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    return [cell | ({"attachments": attached} if attached else {})] if text else []


def executed(cells: list[dict]) -> list[dict]:
    """Cells with their outputs; a picture that follows a cell that draws is left out, as the cell shows its own."""
    names: dict = {"__name__": "__main__"}
    done: list[dict] = []
    count = 0
    for cell in cells:
        if cell["cell_type"] == "markdown":
            drawn = bool(done) and any("image/png" in out.get("data", {}) for out in done[-1].get("outputs", ()))
            done.append(without_pictures(cell) if drawn else cell)
            continue
        count += 1
        done.append(cell | {"execution_count": count, "outputs": outputs_of(cell["source"], names, count)})
    return [cell for cell in done if cell["source"]]


def outputs_of(source: str, names: dict, count: int) -> list[dict]:
    """Outputs of a cell run among the names of those before it: printed text, the last expression, and figures."""
    tree, printed = ast.parse(source), io.StringIO()
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "<notebook>", "exec"), names)
        value = None if last is None else eval(compile(last, "<notebook>", "eval"), names)
    stream = {"output_type": "stream", "name": "stdout", "text": printed.getvalue()}
    return [*([stream] if stream["text"] else []), *result(value, count), *figures()]


def without_pictures(cell: dict) -> dict:
    """The cell without pictures and their captions."""
    text = re.sub(r"!\[[^\]]*\]\(attachment:[^)]+\)\n*", "", cell["source"]).strip()
    return {"cell_type": "markdown", "id": cell["id"], "metadata": {}, "source": text}


def result(value: object, count: int) -> list[dict]:
    """Output of the last expression of a cell."""
    if value is None:
        return []
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    return [{"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}]


def figures() -> list[dict]:
    """Outputs of all figures that are open, which are closed."""
    found = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, dpi=DPI, bbox_inches="tight")
        data = {"image/png": base64.b64encode(file.getvalue()).decode("ascii"), "text/plain": "<Figure>"}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return found


def write(page: Path, target: Path) -> None:
    """Write the executed notebook of a page; files that its cells write go to a folder that is removed."""
    matplotlib.use("agg")
    made, target, here = notebook(page), target.resolve(), Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        made["cells"] = executed(made["cells"])
        os.chdir(here)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def marked_pages(folder: Path) -> list[Path]:
    """Pages of a folder with the directive."""
    return [page for page in sorted(folder.glob("*.md")) if MARK in page.read_text(encoding="utf-8")]


def write_notebooks(app: Sphinx) -> None:
    """Run and write the notebooks of all marked pages, each in a separate process."""
    if app.builder.format != "html" or not int(app.config.run_examples):
        return
    for page in marked_pages(Path(app.srcdir)):
        target = Path(app.outdir) / FOLDER / f"{page.stem}.ipynb"
        done = subprocess.run([sys.executable, __file__, page, target], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ExtensionError(f"the notebook of {page.name} ends with {done.returncode}:\n{done.stderr}")


class Notebook(Directive):
    """Link to the notebook of the page."""

    def run(self) -> list[nodes.Node]:
        """The link, as a line by itself."""
        page = self.state.document.settings.env.docname
        target = f"{'../' * page.count('/')}{FOLDER}/{Path(page).name}.ipynb"
        link = f'<a class="reference download" href="{target}" download>Download this page as a notebook</a>'
        return [nodes.raw("", f"<p>{link} for Jupyter, with everything that it printed and drew.</p>", format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive, and write notebooks before pages are read."""
    app.add_directive("notebook", Notebook)
    app.connect("builder-inited", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
