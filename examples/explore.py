"""A page to walk through: the mammals of WordNet, their classifier's regions, and every animal by name.

Writes ``out/explore.html``, one file that any browser opens; drag the disk, scroll, point at a point,
find one by name, colour them by depth, select some.
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
