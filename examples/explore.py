"""An interactive page: the mammals of WordNet, the regions of a classifier, and the name of every animal.

Writes ``out/explore.html``, a single file for any browser. Drag the disk, scroll to zoom, point at an animal, search
for a name, colour the points by depth, or select some of them.
"""

from pathlib import Path

from hyplearn import PoincareLogisticRegression, explore
from hyplearn.datasets import load_mammals


def main():
    mammals = load_mammals()
    model = PoincareLogisticRegression().fit(mammals.data, mammals.target)
    depth = [0]
    for parent in mammals.parents[1:]:
        depth.append(depth[parent] + 1)
    path = Path("out") / "explore.html"
    path.parent.mkdir(exist_ok=True)
    explore(
        model,
        mammals.data,
        mammals.target,
        names=mammals.names,
        parents=mammals.parents,
        columns={"depth in WordNet": depth},
        of="training",
        title="Mammals of WordNet",
        path=path,
    )
    print(f"Open {path} in a browser.")


if __name__ == "__main__":
    main()
