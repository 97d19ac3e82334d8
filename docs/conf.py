"""Configuration of the manual, which ``make docs`` builds without a network."""

import shutil
import sys
from pathlib import Path

import hyplearn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
# Remove pages of names that no longer exist: they would be in no table of contents.
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)

project = "hyplearn"
author = "The hyplearn developers"
version = release = hyplearn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",  # its inventories come from inventories.toml, not from a network
    "inventories",
    "sphinx.ext.viewcode",
    "numpydoc",
    "mathml",
    "gallery",
    "notebooks",
    "names",
]
exclude_patterns = ["_build", "gallery/*/*", "stories"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # "boundary" is a value, to be typed with straight quotes

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
viewcode_line_numbers = True
myst_heading_anchors = 3

autosummary_ignore_module_all = False
# Names that are also at the top level are described there.
autosummary_context = {"at_the_top": hyplearn.__all__}
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"hyplearn {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_js_files = ["copy.js", "pictures.js", "theme.js"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


def setup(app):
    """What classes inherit from others is described there; blocks end with their last line."""
    app.connect("autodoc-skip-member", skipped)
    app.connect("source-read", trimmed)


def skipped(app, what, name, member, skip, options):
    """True for what scikit-learn or tuples bring along, None to leave all others to Sphinx."""
    of_sklearn = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    of_tuple = getattr(member, "__objclass__", None) is tuple or type(member).__name__ == "_tuplegetter"
    return True if of_sklearn or of_tuple else None


def trimmed(app, page, source):
    """The blank line that ends what a doctest expects is not for readers."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")
