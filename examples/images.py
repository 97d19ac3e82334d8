"""From images to boundaries: a small network maps handwritten digits into the disk.

The network takes images of 8 by 8 pixels. It is trained for a few seconds to classify the ten digits by their distances
to geodesics. Left: the training digits in the disk. Right: the regions of a classifier that was fitted to these points,
with held-out digits, which were used neither for the network nor for the classifier. Needs torch:
``pip install 'hyplearn[torch,plots]'``. Writes ``out/images.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hyplearn import PoincareLogisticRegression
from hyplearn.embedding import BallNet
from hyplearn.plotting import BoundaryDisplay, DiskDisplay
from hyplearn.plotting.canvas import draw_legend_below
from hyplearn.plotting.style import STYLE, WIDTH


def main():
    digits = load_digits()
    train, test, y_train, y_test = train_test_split(digits.images, digits.target, test_size=0.4, random_state=0)
    net = BallNet(encoder="conv", verbose=1).fit(train, y_train)
    X = net.transform(test)
    model = PoincareLogisticRegression().fit(net.embedding_, y_train)
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.8), layout="constrained")
    DiskDisplay.from_points(net.embedding_, y_train).plot(ax=left, legend=False, grid=True)
    left.set_title(f"{len(train):,} training digits,\n{net.clipped_:.0%} at the largest radius")
    BoundaryDisplay.from_estimator(model, X, y_test).plot(ax=right, legend=False)
    right.set_title(f"{len(test)} held-out digits,\naccuracy {model.score(X, y_test):.1%}")
    draw_legend_below(figure, [right], 10)
    path = Path("out") / "images.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The softmax of the network classifies {net.score(test, y_test):.1%} of the held-out digits correctly.")
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
