"""From images to the table: every recipe runs on a few synthetic images of the right shape, read from files."""

import gzip
import struct
from functools import partial

import images as experiment
import numpy as np
import pytest
import torch
from ledger import read
from matplotlib import pyplot as plt

from hyplearn import PoincareSVC

SHAPES = {"fashion-mnist": (28, 28), "cifar10": (3, 32, 32), "mini-imagenet": (3, 84, 84)}
CLASSES = {"fashion-mnist": 10, "cifar10": 10, "mini-imagenet": 20}


def drawn(name, n, seed):
    """Images whose classes are stripes of brightness, and the labels."""
    rng, shape = np.random.default_rng(seed), SHAPES[name]
    y = (np.arange(n) % CLASSES[name]).astype(np.uint8)
    X = rng.integers(60, size=(n, *shape), dtype=np.uint8)
    for image, label in zip(X, y, strict=True):
        image[..., int(label)] += 190
    return X, y


def idx(array):
    return gzip.compress(struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with the files of all three sets, as a user would have them."""
    folder = tmp_path_factory.mktemp("data")
    for prefix, n in (("train", 40), ("t10k", 20)):
        X, y = drawn("fashion-mnist", n, n)
        (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(idx(X))
        (folder / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(idx(y))
    batches = folder / "cifar-10-batches-bin"
    batches.mkdir()
    for k, name in enumerate([*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]):
        X, y = drawn("cifar10", 10, k)
        (batches / name).write_bytes(np.column_stack([y, X.reshape(len(X), -1)]).tobytes())
    (X, y), (X_test, y_test) = (drawn("mini-imagenet", n, n) for n in (60, 20))
    np.savez(folder / "mini-imagenet_images.npz", x_train=X, y_train=y, x_test=X_test, y_test=y_test)
    return folder


@pytest.fixture(autouse=True)
def setting(monkeypatch, folder):
    monkeypatch.setenv("HYPLEARN_DATA", str(folder))
    threads = torch.get_num_threads()
    yield
    plt.close("all")
    torch.set_num_threads(threads)
    experiment.images.cache_clear()
    experiment.embedding.cache_clear()


def config(**changed):
    return experiment.Config(**{"most_epochs": 1, "threads": 1, "resolution": 30} | changed)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:.*not tol.*")
def test_all_recipes_run_from_files_to_table_and_picture(tmp_path, monkeypatch, capsys):
    drawn = {}
    # No cross-fitted probabilities: one fit instead of six is enough for this test.
    monkeypatch.setitem(experiment.CLASSIFIERS["hyperbolic"], experiment.SVC, partial(PoincareSVC, calibration=None))
    monkeypatch.setattr(experiment.pictures, "save", lambda figure, folder, name: drawn.update({name: figure}))
    rows = experiment.run(config(sets=tuple(experiment.LOADERS)), tmp_path)
    assert {row["set"] for row in rows} == set(SHAPES)
    assert len(rows) == 3 * (5 + 3)
    assert [row["accuracy"] for row in rows] == [row["accuracy"] for row in read(tmp_path / "images.csv")]
    assert all(0 <= row["accuracy"] <= 1 for row in rows)
    table = (tmp_path / "images.md").read_text()
    assert table.count("\n| hyperbolic |") == 15
    assert "### mini-imagenet, 512 dimensions" in table
    assert set(drawn) == {"images_fashion-mnist", "images_cifar10"}
    assert drawn["images_cifar10"].axes[0].get_title() == "cifar10:\n50 training images"
    assert "(images_cifar10.png)" in table
    assert not (tmp_path / "images.training").exists()
    assert "BallNet: epoch 1 of 1" in capsys.readouterr().out


def test_a_finished_training_is_not_repeated_but_for_another_configuration(tmp_path, monkeypatch):
    first = experiment.embedding(config(), tmp_path, "fashion-mnist", "euclidean")
    experiment.embedding.cache_clear()
    trained = []
    fit = experiment.BallNet.fit
    monkeypatch.setattr(experiment.BallNet, "fit", lambda net, *data: trained.append(net) or fit(net, *data))
    again = experiment.embedding(config(), tmp_path, "fashion-mnist", "euclidean")
    assert not trained
    np.testing.assert_array_equal(again["test"], first["test"])
    experiment.embedding(config(seed=1), tmp_path, "fashion-mnist", "euclidean")
    assert len(trained) == 1


def test_data_sets_without_files_are_skipped_and_no_data_set_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="There are no files of cifar10, mini-imagenet"):
        experiment.run(config(sets=("cifar10", "mini-imagenet")), tmp_path)
    assert "cifar10 is left out: data_batch_1.bin is not in" in capsys.readouterr().out
