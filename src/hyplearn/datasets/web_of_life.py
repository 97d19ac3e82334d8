"""The Web of Life: a phylogeny of genomes with taxonomic ranks, read from disk or downloaded."""

import csv
import io
import lzma
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from hyplearn.data.newick import parse_newick
from hyplearn.datasets.published import Publication, cache_directory, published_content

PUBLICATION = Publication(
    url="https://raw.githubusercontent.com/biocore/wol/",
    sha256={
        "wol/tree.nwk": "7f0e08ed8074eb66f9de30007a5c4dd11ce9969a00d7bf4e537dd15a7021c470",
        "wol/ranks.tsv.xz": "f80f306a7ebf6da393882b30112c311a83cca42162840aa8b53c8f750ba70c7a",
    },
    timeout=30,
    paths={
        "wol/tree.nwk": "f5f134ea2ad6dc5ce3bae5bad5f8796be8da8bdb/data/trees/astral/branch_length/cons/collapsed/"
        "astral.cons.nid.e5p50.nwk",
        "wol/ranks.tsv.xz": "4fdeac48f569b8c74bcab71f4f07952aff5e6aad/data/taxonomy/gtdb/curation/ranks.tsv.xz",
    },
)
_DESCR = """\
The Web of Life
---------------
{n} nodes, of which {n_tips} are genomes of bacteria and archaea; 7 ranks.

names    name of each node: "G..." for genomes, "N..." for inner nodes; the root comes first.
parents  row of each node's parent, always an earlier row; -1 for the root.
lengths  length of the branch above each node; 0 for the root.
ranks    kingdom, phylum, class, order, family, genus and species of each node; "" for an unknown rank.
newick   the tree as a Newick string, for hyplearn.embedding.TreeEmbedding.

Source: Q. Zhu et al., "Phylogenomics of 10,575 genomes reveals evolutionary proximity between domains Bacteria and
Archaea", Nature Communications 10, 2019; https://github.com/biocore/wol, BSD 3-Clause licence, © 2017 WoL development
team. The ranks follow GTDB and were curated together with the tree.
"""


def fetch_web_of_life(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Fetch the Web of Life: a tree of 20,603 nodes, 10,575 of them genomes, with seven taxonomic ranks.

    Parameters
    ----------
    data_home, download_if_missing
        As in :func:`fetch_olsson`; the files are ``wol/tree.nwk`` and ``wol/ranks.tsv.xz`` (620 kB in total).

    Returns
    -------
    Bunch
        Object with the fields ``names``, ``parents``, ``lengths``, ``ranks`` of shape (20603, 7), ``rank_names``,
        ``newick`` and ``DESCR``.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or if its SHA-256 differs from that of the published file.

    Examples
    --------
    >>> from hyplearn.datasets import fetch_web_of_life
    >>> life = fetch_web_of_life()  # doctest: +SKIP
    >>> life.ranks[life.names == "G000005825"]  # doctest: +SKIP
    array([['Bacteria', 'Firmicutes', 'Bacilli', ...]])
    """
    home = cache_directory() if data_home is None else Path(data_home).expanduser()
    newick, packed = (
        published_content(name, home, download_if_missing, PUBLICATION) for name in ("wol/tree.nwk", "wol/ranks.tsv.xz")
    )
    text = newick.decode()
    tree = parse_newick(text)
    (_, *rank_names), *rows = csv.reader(io.StringIO(lzma.decompress(packed).decode()), delimiter="\t")
    ranks = {name: own for name, *own in rows}
    parents = np.array(tree.parents, dtype=np.intp)
    bunch = Bunch(
        names=np.array(tree.names),
        parents=parents,
        lengths=np.nan_to_num(np.array(tree.lengths)),
        ranks=np.array([ranks[name] for name in tree.names]),
        rank_names=rank_names,
        newick=text,
    )
    n_tips = len(parents) - len(np.unique(parents[1:]))
    bunch.DESCR = _DESCR.format(n=f"{len(parents):,}", n_tips=f"{n_tips:,}")
    return bunch
