"""Analyse cells in AnnData objects. As in scanpy, ``tl`` embeds and classifies cells, and ``pl`` plots them.

>>> import hyplearn.single_cell as hs
>>> hs.tl.poincare_map(adata, use_rep="X_pca")  # doctest: +SKIP
>>> hs.tl.classify(adata, "cell_type")  # doctest: +SKIP
>>> hs.pl.disk(adata, color="cell_type_predicted", boundaries=True)  # doctest: +SKIP
"""

from hyplearn.single_cell import pl, tl
from hyplearn.single_cell.cells import labelled_cells, read_cells, stored_model

__all__ = ["labelled_cells", "pl", "read_cells", "stored_model", "tl"]
