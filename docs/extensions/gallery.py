"""The gallery: runs every script of ``examples/`` in its own folder, and makes a page of its output.

Its page is a story, ``docs/stories/NAME.md``, with the pictures and pages that the run wrote to ``out/``, what the run
printed, and the code.
"""

import ast
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# One story for each example. These lines in it are replaced by the output of a run.
STORIES = Path(__file__).resolve().parents[1] / "stories"
PICTURES, OUTPUT = "{{ pictures }}", "{{ output }}"
# The last sentence of a docstring, which is left out of the caption.
WRITES = re.compile(r"\s*Writes\s+``out/[^`]*``.*$")


class Shown(NamedTuple):
    """An example: its script, the parts of its docstring, and the output of a run."""

    script: Path
    title: str
    subject: str
    text: str
    pictures: list[Path]
    pages: list[Path]
    printed: str


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the gallery before pages are read."""
    app.add_config_value("run_examples", True, "env", bool)
    app.connect("builder-inited", write_gallery)
    app.connect("build-finished", copy_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_gallery(app: Sphinx) -> None:
    """A page per example, and one with a picture of each."""
    folder = Path(app.srcdir) / "gallery"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        run = bool(int(app.config.run_examples))
        examples = list(pool.map(lambda script: shown(script, folder, run), sorted(EXAMPLES.glob("*.py"))))
    for example in examples:
        (folder / f"{example.script.stem}.md").write_text(example_page(example, folder), encoding="utf-8")
    (folder / "index.md").write_text(index_page(examples, folder), encoding="utf-8")


def copy_pages(app: Sphinx, problem: Exception | None) -> None:
    """Copy the pages that examples wrote next to the pages of the examples."""
    gallery = Path(app.srcdir) / "gallery"
    for page in sorted(gallery.glob("*/out/*.html")) if problem is None else []:
        target = Path(app.outdir) / "gallery" / page.relative_to(gallery)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)


def shown(script: Path, folder: Path, run: bool) -> Shown:
    """Run an example, and read its docstring: ``Title: subject.``, then text."""
    said = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    first, _, text = said.partition("\n\n")
    title, _, subject = first.replace("\n", " ").rstrip(".").partition(": ")
    work = folder / script.stem
    work.mkdir()
    printed = printed_by(script, work) if run else ""
    pictures, pages = (sorted((work / "out").glob(f"*.{kind}")) for kind in ("png", "html"))
    return Shown(script, title, subject, text, pictures, pages, printed)


def printed_by(script: Path, work: Path) -> str:
    """What a script prints; its failure is one of the build."""
    done = subprocess.run([sys.executable, script], cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExtensionError(f"examples/{script.name} ends with {done.returncode}:\n{done.stderr}")
    return done.stdout


def example_page(example: Shown, folder: Path) -> str:
    """Title, story, and the complete script in a box that opens."""
    story = (STORIES / f"{example.script.stem}.md").read_text(encoding="utf-8")
    story = story.replace(PICTURES, pictures(example, folder))
    if example.printed:
        printed = f"`python examples/{example.script.name}` prints\n\n```text\n{example.printed.rstrip()}\n```"
        story = story.replace(OUTPUT, printed)
    code = f"```{{literalinclude}} ../../examples/{example.script.name}\n:language: python\n```"
    script = [raw(f"<details><summary>The complete script, {example.script.name}</summary>"), code, raw("</details>")]
    return "\n\n".join([f"# {example.title}", story.replace(OUTPUT, ""), *script]) + "\n"


def pictures(example: Shown, folder: Path) -> str:
    """The pictures and live pages of an example, with the text of its docstring as a caption."""
    shown = [f"![{example.title}]({path.relative_to(folder)})" for path in example.pictures]
    shown += [raw(frame(page.relative_to(folder))) for page in example.pages]
    caption = WRITES.sub("", " ".join(example.text.split())).replace("``", "`").strip()
    return "\n\n".join([*shown, *([f"*{caption}*"] if caption and example.pictures else [])])


def raw(html: str) -> str:
    """HTML in a page of Markdown."""
    return f"```{{raw}} html\n{html}\n```"


def frame(page: Path) -> str:
    """A page within a page."""
    return f'<iframe class="live" src="{page}" loading="lazy" title="{page.name}"></iframe>'


def index_page(examples: list[Shown], folder: Path) -> str:
    """All examples at a glance."""
    cards = [card(example, folder) for example in examples]
    contents = "\n".join(example.script.stem for example in examples)
    return "\n\n".join(
        [
            "# Gallery",
            "Each example answers one question. All of them were run when this manual was built. In a checkout, "
            "`python examples/NAME.py` writes the same files to `out/`.",
            "::::{container} gallery\n" + "\n".join(cards) + "\n::::",
            f"```{{toctree}}\n:hidden:\n\n{contents}\n```",
        ]
    )


def card(example: Shown, folder: Path) -> str:
    """The first picture of an example, or a look at its page, with its title, which leads to its own."""
    caption = f"[{example.title}]({example.script.stem}.md): {example.subject}."
    if example.pictures:
        picture, target = example.pictures[0].relative_to(folder), f"{example.script.stem}.html"
        return f":::{{figure}} {picture}\n:target: {target}\n:alt: {example.title}\n\n{caption}\n:::"
    look = [raw(frame(page.relative_to(folder))) for page in example.pages[:1]]
    return "\n".join([":::{container} card", *look, "", caption, ":::"])
