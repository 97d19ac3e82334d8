"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

# TeX sets a thin space between the name of a function and its argument, and what a minimum is taken over below it.
NAME_OF_FUNCTION = re.compile(r"(?<!<msub>)(?<!<msup>)(?<!<msubsup>)(<mi>[a-z]{2,}</mi>)(?=<m[infsu])")
LEAST_OVER = re.compile(r"<msub>(<mo>(?:min|max)</mo><mi>\w</mi>)</msub>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Let the configuration choose ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(spaced(convert(node.astext())))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """A formula by itself, which may be scrolled where it is wider than the page."""
    formula = LEAST_OVER.sub(r"<munder>\1</munder>", convert(node.astext(), display="block"))
    translator.body.append(f'<div class="formula">{spaced(formula)}</div>\n')
    raise nodes.SkipNode


def spaced(formula: str) -> str:
    """The formula with a thin space after names of functions."""
    return NAME_OF_FUNCTION.sub(r'\1<mspace width="0.17em"/>', formula)
