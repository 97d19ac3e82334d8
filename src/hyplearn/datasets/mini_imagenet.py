"""The paper's embedding of mini-ImageNet, which nobody publishes: read from a file of your own."""

import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from hyplearn.types import Array

EMBEDDING, POINTS = "mini-imagenet_poincare_embedding.npz", "mini-imagenet_reference_points_gt.npy"
_LAYOUT = (
    "x_train of shape (n, d) and x_test of shape (m, d), points inside the open unit ball (in the paper n = 5600, "
    "m = 2400, d = 512), and y_train and y_test, their whole class numbers from 0"
)


def load_mini_imagenet(*, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """mini-ImageNet in the Poincaré ball, 512-d, from a file that you have: 5,600 + 2,400 images, 20 classes.

    The authors of the paper did not publish this embedding. It is made as by Khrulkov et al. (2020); whoever has one
    saves it with the names of the published files::

        np.savez("mini-imagenet_poincare_embedding.npz", x_train=..., y_train=..., x_test=..., y_test=...)
        np.save("mini-imagenet_reference_points_gt.npy", points)  # if there are any, one row for each class

    Parameters
    ----------
    data_home : path, optional
        Directory of these files; by default the one named by the environment variable ``HYPLEARN_DATA``.

    Returns
    -------
    Bunch
        With ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``reference_points`` (None without their file).

    Raises
    ------
    FileNotFoundError
        If no directory is named, or the embedding is not there.
    ValueError
        If a file has not this layout.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from hyplearn.datasets import load_mini_imagenet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mini-imagenet_poincare_embedding.npz")
    ...     X, y = np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([0, 1])
    ...     np.savez(path, x_train=X, y_train=y, x_test=-X, y_test=y)
    ...     images = load_mini_imagenet(data_home=folder)
    >>> images.X_train.shape, images.reference_points
    ((2, 2), None)
    """
    home = os.environ.get("HYPLEARN_DATA") if data_home is None else data_home
    path = Path(home or ".").expanduser() / EMBEDDING
    if not home or not path.is_file():
        where = f"in {path.parent}" if home else "to be looked for: HYPLEARN_DATA names no directory"
        raise FileNotFoundError(
            f"{EMBEDDING} is not {where}. The authors did not publish it.\n"
            f"Name a directory by HYPLEARN_DATA or data_home with such a file that holds {_LAYOUT}."
        )
    X_train, y_train, X_test, y_test = read_split(path, _LAYOUT)
    _check(path, X_train, y_train, X_test, y_test)
    points = path.with_name(POINTS)
    return Bunch(
        X_train=X_train,
        y_train=y_train.astype(np.int64),
        X_test=X_test,
        y_test=y_test.astype(np.int64),
        reference_points=np.load(points, allow_pickle=False) if points.is_file() else None,
    )


def read_split(path: Path, layout: str) -> list[Array]:
    """x_train, y_train, x_test and y_test of an archive; an error that tells its layout if one of them is missing."""
    names = ("x_train", "y_train", "x_test", "y_test")
    with np.load(path, allow_pickle=False) as archive:
        if missing := [name for name in names if name not in archive.files]:
            raise ValueError(f"{path} lacks {', '.join(missing)}.\nSave it again, with {layout}.")
        return [archive[name] for name in names]


def _check(path: Path, X_train: Array, y_train: Array, X_test: Array, y_test: Array) -> None:
    for X, y in ((X_train, y_train), (X_test, y_test)):
        if X.ndim != 2 or X.shape[1] != X_train.shape[-1] or y.shape != X.shape[:1] or np.any(y != y.astype(np.int64)):
            raise ValueError(
                f"{path} holds points of shape {X.shape} with labels of shape {y.shape}.\n"
                f"Save it again, with {_LAYOUT}."
            )
