"""Names in inline code become links to the reference: `PoincareSVC`, `geometry.distance`, `PoincareSVC(C=10)`.

Parameters in the reference get entries in the index, so that the search finds them.
"""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

# A dotted name, with or without arguments behind it.
NAME = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)
# Kinds of objects whose short name is enough; others need their class or module before them.
SHORT = {"class", "function", "exception", "data"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the two transforms."""
    app.add_post_transform(LinkNames)
    app.add_transform(IndexParameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LinkNames(SphinxPostTransform):
    """Wrap literals that are documented names in references, before references are resolved."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Look at every literal outside titles, links and signatures."""
        table = getattr(self.env, "names_in_code", None) or suffixes(self.env)
        self.env.names_in_code = table
        generated = "generated/" in self.env.docname
        for literal in list(self.document.findall(nodes.literal)):
            found = NAME.fullmatch(literal.astext())
            if found is None or is_inside(literal, nodes.reference, nodes.title, addnodes.pending_xref):
                continue
            name = found[1].removeprefix("hs.")
            # In docstrings a plain lower-case word is a parameter or a variable.
            target = None if generated and re.fullmatch(r"[a-z]\w*", name) else table.get(name)
            if target is not None and target not in self.document.ids:
                reference = addnodes.pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refdoc=self.env.docname
                )
                literal.replace_self(reference)
                reference += literal


def is_inside(node: nodes.Node, *kinds: type[nodes.Node]) -> bool:
    """Whether an ancestor is of one of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def suffixes(env: Any) -> dict[str, str]:
    """Full name of every documented object by the ends of that name; of two, the shorter full name wins."""
    kinds = {name: entry.objtype for name, entry in env.domains.python_domain.objects.items()}
    inventory = InventoryAdapter(env).main_inventory
    foreign = {name: kind.removeprefix("py:") for kind, names in inventory.items() for name in names}
    table: dict[str, str] = {}
    for name, kind in sorted({**foreign, **kinds}.items(), key=lambda item: (item[0] in foreign, len(item[0]))):
        parts = name.split(".")
        # Plain lower-case words of other packages are too common to be links.
        least = 1 if kind in SHORT and (name in kinds or parts[-1] != parts[-1].lower()) else 2
        # A module is named in full; "hyplearn" alone is the command or the project.
        least = max(2, len(parts)) if kind == "module" else least
        for length in range(least, len(parts) + 1):
            table.setdefault(".".join(parts[-length:]), name)
    return table


class IndexParameters(SphinxTransform):
    """Index every parameter and attribute of a class or function of the reference."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Look at the lists of parameters that numpydoc makes."""
        for description in self.document.findall(addnodes.desc):
            signature = next(iter(description.findall(addnodes.desc_signature)))
            owner = signature.get("fullname")
            for term in list(description.findall(nodes.term)):
                if owner and parent_of(term, addnodes.desc) is description:
                    for strong in list(term.findall(nodes.strong)):
                        self.index(term, strong.astext(), owner)

    def index(self, term: nodes.term, names: str, owner: str) -> None:
        """Put a target and its entries into the term."""
        for name in re.findall(r"\w+", names):
            target = nodes.make_id(f"{owner}-parameter-{name}")
            term["ids"].append(target)
            term.insert(0, addnodes.index(entries=[("single", f"{name} ({owner})", target, "", None)]))


def parent_of(node: nodes.Node, kind: type[nodes.Node]) -> nodes.Node | None:
    """Nearest ancestor of a kind."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kind):
            return node
    return None
