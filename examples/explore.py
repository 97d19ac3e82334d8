"""A page to walk through: the mammals of WordNet, their classifier's regions, and every animal by name.

Writes ``out/explore.html``, one file that any browser opens; drag the disk, scroll, point at a point.
"""

from pathlib import Path

import numpy as np

from hyplearn import PoincareLogisticRegression, explore
from hyplearn.datasets import load_mammals


def main():
    mammals = load_mammals()
    model = PoincareLogisticRegression().fit(mammals.data, mammals.target)
    edges = np.stack([np.arange(1, len(mammals.data)), mammals.parents[1:]], axis=1)
    path = Path("out") / "explore.html"
    path.parent.mkdir(exist_ok=True)
    explore(
        model,
        mammals.data,
        mammals.target,
        names=mammals.names,
        edges=edges,
        title="Mammals of WordNet",
        path=path,
    )
    print(f"Open {path} in a browser.")


if __name__ == "__main__":
    main()
