"""Notebooks of the manual have the code of their pages, and contain the printed and drawn output of a run."""

import ast
import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("matplotlib")
DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

import notebooks  # noqa: E402

PAGE = """# Title

```{notebook}
```

Read [another page](other.md) and [a site](https://example.org).

```python
>>> for k in range(2):
...     print(k)
0
1
>>> {"a": 1}  # doctest: +ELLIPSIS
{...}
>>> from matplotlib import pyplot as plt
>>> lines = plt.plot([1, 2])

```

![A line](line.png)

The end.
"""


@pytest.fixture
def page(tmp_path):
    (tmp_path / "line.png").write_bytes(b"a picture")
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def run(page):
    target = page.with_suffix(".ipynb")
    command = [sys.executable, notebooks.__file__, page, target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, json.loads(target.read_text()) if target.exists() else None


def test_notebook_text_drops_manual_markup_and_keeps_pictures():
    made = notebooks.notebook(DOCS / "tutorial_cells.md")
    text = "\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert ".md)" not in text
    assert "```" not in text
    assert "attachment:" in text
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


@pytest.mark.parametrize("page", notebooks.marked_pages(DOCS), ids=lambda page: page.stem)
def test_the_code_of_a_notebook_matches_its_page(page):
    made = notebooks.notebook(page)
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    examples = doctest.DocTestParser().get_examples(page.read_text())
    assert ast.dump(ast.parse("\n".join(code))) == ast.dump(ast.parse("".join(e.source for e in examples)))


def test_both_tutorials_are_notebooks():
    assert {"tutorial_cells", "tutorial_lineage"} <= {page.stem for page in notebooks.marked_pages(DOCS)}


def test_a_notebook_keeps_what_its_cells_print_and_draw(page):
    done, made = run(page)
    assert (done.returncode, done.stderr) == (0, "")
    kinds = [cell["cell_type"] for cell in made["cells"]]
    assert kinds == ["markdown", "code", "code", "code", "markdown"]
    first, second, third = (cell["outputs"] for cell in made["cells"][1:4])
    assert first == [{"output_type": "stream", "name": "stdout", "text": "0\n1\n"}]
    assert second[0]["data"] == {"text/plain": "{'a': 1}"}
    assert third[0]["data"]["image/png"].startswith("iVBOR")
    assert made["cells"][-1]["source"] == "The end."  # the cell before shows the picture
    assert made["cells"][0]["source"].endswith("Read *another page* and [a site](https://example.org).")
    assert [cell["execution_count"] for cell in made["cells"][1:4]] == [1, 2, 3]


def test_a_failing_cell_fails_the_build(page):
    page.write_text(PAGE.replace("print(k)", "print(1 / k)"))
    done, made = run(page)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert made is None
