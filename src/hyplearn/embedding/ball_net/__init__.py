"""BallNet: a network that maps images or rows of features to points of the ball, and is trained as a classifier."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hyplearn.data.labels import as_labels, check_one_label_per_row, distinct
from hyplearn.data.points import check_finite_rows
from hyplearn.embedding.ball_net.validation import as_rows, check_features, check_parameters, check_shape
from hyplearn.estimators.accuracy import AccuracyMixin
from hyplearn.geometry import exp_map
from hyplearn.geometry.border import absolute_curvature
from hyplearn.progress import report_tasks
from hyplearn.scikit_learn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from hyplearn.types import Array

# Parameters that are passed to the training loop as its ``Settings``.
SETTINGS = ("epochs", "batch_size", "learning_rate", "weight_decay", "validation_fraction", "patience")


@dataclass(eq=False, repr=False)
class BallNet(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AccuracyMixin, BaseEstimator):
    r"""Network that maps rows or images to points of the ball, trained with a softmax of hyperbolic distances.

    The encoder returns a vector v for each row. The point of the row lies in the direction of v from the origin, at
    hyperbolic distance :math:`\min(\|v\|, R)`. The head gives class k the logit

    .. math:: \|a_k\| \, d(x, H(a_k, p_k)),

    the signed distance to a geodesic hyperplane, times the length of its normal vector (multinomial logistic regression
    in the ball, Ganea et al. 2018, Khrulkov et al. 2020). Hyperplanes and encoder are trained together. The radius R
    keeps the points in a region where gradients do not vanish (Guo et al. 2022). This estimator needs torch:
    ``pip install 'hyplearn[torch]'``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    encoder : {"mlp", "conv"}, torch.nn.Module or callable, default="mlp"
        Network that maps rows to vectors. "conv" is for images: it has three blocks of convolution, batch norm and
        pooling, followed by two dense layers. "mlp" has three dense layers and accepts rows of any shape. Both
        standardise rows per channel or column. A module is copied, and its training continues from its current weights.
        A callable takes the shape of a row and ``n_components``, and returns a module. Modules get the rows unchanged,
        as float32.
    head : {"hyperbolic", "euclidean"}, default="hyperbolic"
        Classifier of the vectors. "euclidean" is a baseline with the same encoder: a linear layer on v, without the
        exponential map and the radius R; ``transform`` then returns v.
    max_radius : float, default=4.0
        Largest hyperbolic distance R of a point from the origin; at most ``12 / sqrt(-curvature)``.
    curvature : float, default=-1.0
        Sectional curvature of the ball; its radius is ``1/sqrt(-curvature)``.
    epochs : int, default=20
        Maximum number of passes over the rows.
    batch_size : int, default=32
        Maximum number of rows per step.
    learning_rate : float, default=0.01
        Largest learning rate of AdamW. The rate rises over the first twentieth of all steps, and then falls to 0
        along a cosine.
    weight_decay : float, default=0.0001
        Weight decay of AdamW.
    validation_fraction : float, default=0.0
        Fraction of the rows that is held out from training, for early stopping and the choice of the best epoch.
    patience : int, default=5
        Training stops after this number of epochs without a better score on the held-out rows, if there are any.
    random_state : int, RandomState instance or None, default=0
        Seed of the initial weights, of the choice of held-out rows and of the order of rows.
    checkpoint : path, optional
        File to which the state of the training is written after each epoch. If ``fit`` is interrupted and called again
        in the same way, it resumes from this file. The file is removed at the end of the fit.
    verbose : int, default=0
        Whether to report loss and accuracy. In a terminal, a progress bar is shown if rich is installed; otherwise, one
        line is printed per epoch.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Points of the training rows, or their vectors v if ``head`` is "euclidean".
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    radius_ : ndarray of shape (n_samples,)
        Length of the vector v of each training row. For the hyperbolic head, it is the hyperbolic distance from the
        origin before clipping to R.
    clipped_ : float
        Fraction of the training rows that were clipped to the radius R.
    weights_ : ndarray of shape (n_weights,)
        All parameters and buffers of the network, in the order of its ``state_dict``.
    loss_curve_ : ndarray of shape (n_epochs,)
        Mean loss of each epoch.
    validation_scores_ : ndarray of shape (n_epochs,) or (0,)
        Accuracy on the held-out rows after each epoch, if rows are held out.
    n_iter_ : int
        Number of epochs.
    input_shape_ : tuple of int
        Shape of a row: (columns,) or (channels, height, width).
    n_features_in_ : int
        Length of the second axis of X.

    See Also
    --------
    hyplearn.PoincareSVC, hyplearn.PoincareLogisticRegression : Classifiers for the points.

    Notes
    -----
    Networks run in float32 on the CPU; points are computed from the vectors in float64. On one machine, the same rows,
    parameters, seed and number of torch threads give exactly the same result. A fitted estimator consists of parameters
    and NumPy arrays. If the encoder is "mlp" or "conv", :func:`hyplearn.save` writes them to a file, which
    :func:`hyplearn.load` reads without torch. A model file cannot contain code, so it cannot contain an encoder that is
    a module or callable; save the ``state_dict`` of ``network_`` instead.

    References
    ----------
    V. Khrulkov et al., *Hyperbolic image embeddings*, CVPR 2020. O. Ganea, G. Bécigneul, T. Hofmann, *Hyperbolic neural
    networks*, NeurIPS 2018. Y. Guo, X. Wang, Y. Chen, S. X. Yu, *Clipped hyperbolic classifiers are super-hyperbolic
    classifiers*, CVPR 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hyplearn import PoincareLogisticRegression
    >>> from hyplearn.embedding import BallNet
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> net = BallNet(epochs=10).fit(X[::2], y[::2])
    >>> model = PoincareLogisticRegression().fit(net.transform(X[::2]), y[::2])
    >>> bool(model.score(net.transform(X[1::2]), y[1::2]) > 0.95)
    True
    """

    n_components: int = 2
    _: KW_ONLY
    encoder: Any = "mlp"
    head: str = "hyperbolic"
    max_radius: float = 4.0
    curvature: float = -1.0
    epochs: int = 20
    batch_size: int = 32
    learning_rate: float = 0.01
    weight_decay: float = 1e-4
    validation_fraction: float = 0.0
    patience: int = 5
    random_state: Any = 0
    checkpoint: Any = None
    verbose: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, channels, h, w)
            Rows or images of any numeric type; bytes are converted to float32 batch by batch.
        y : array-like of shape (n_samples,)
            Class labels.
        """
        _check_torch()
        from hyplearn.embedding.ball_net.training import Labelled, Settings, train

        check_parameters(self)
        check_one_label_per_row(X, y)
        X, y = validate_data(self, X, as_labels(y), reset=True, **_ROWS)
        check_finite_rows(X, "X")
        check_classification_targets(y)
        classes, codes = distinct(y)
        if len(classes) < 2:
            raise ValueError(
                f"BallNet needs at least two classes; got one class, {classes.tolist()[0]!r}.\n"
                "Pass rows of at least one other class."
            )
        rows = as_rows(X, self.encoder)
        seed = int(check_random_state(self.random_state).randint(2**31))
        settings = Settings(**{name: getattr(self, name) for name in SETTINGS}, seed=seed)
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint).expanduser()
        with report_tasks(type(self).__name__, self.verbose) as report:
            build = partial(self._build, rows.shape[1:], len(classes))
            result = train(build, Labelled(rows, codes), settings, checkpoint, report)
        self.classes_, self.input_shape_ = classes, rows.shape[1:]
        self.weights_, self.loss_curve_, self.validation_scores_ = result
        self.n_iter_ = len(self.loss_curve_)
        v = self._outputs("features", rows)
        self.radius_ = np.linalg.norm(v, axis=1)
        self.clipped_ = float(np.mean(self.radius_ > self.max_radius)) if self.head == "hyperbolic" else 0.0
        self.embedding_ = self._points(v)
        return self

    def fit_transform(self, X: Any, y: Any) -> Array:
        """Train the network, and return ``embedding_``."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Map rows to points of the ball, in float64; with ``head="euclidean"``, return the encoder's vectors."""
        return self._points(self._outputs("features", self._validate(X)))

    def predict_proba(self, X: Any) -> Array:
        """Predict the class probabilities with the head of the network."""
        return softmax(self._outputs("forward", self._validate(X)), axis=1)

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    @property
    def network_(self) -> Any:
        """Fitted torch module; it maps rows to logits, and its method ``features`` returns the encoder's vectors."""
        check_is_fitted(self)
        _check_torch()
        from hyplearn.embedding.ball_net.network import load

        return load(partial(self._build, self.input_shape_, len(self.classes_)), self.weights_)

    def _build(self, shape: tuple[int, ...], n_classes: int) -> Any:
        from hyplearn.embedding.ball_net.network import build

        c = absolute_curvature(self.curvature)
        return build(self.encoder, self.head, shape, self.n_components, n_classes, c, self.max_radius)

    def _validate(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **_ROWS)
        check_finite_rows(X, "X")
        rows = as_rows(X, self.encoder)
        check_shape(rows, self.input_shape_)
        return rows

    def _outputs(self, method: str, rows: Array) -> Array:
        network = self.network_
        from hyplearn.embedding.ball_net.training import outputs

        blocks = [block.double().numpy() for block in outputs(getattr(network, method), rows)]
        return check_features(np.concatenate(blocks))

    def _points(self, v: Array) -> Array:
        if self.head == "euclidean":
            return v
        longest = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), self.max_radius)
        return exp_map(v * (self.max_radius / longest) / 2, np.zeros(v.shape[1]), c=absolute_curvature(self.curvature))


# Rows of bytes stay bytes, to save memory; other types are converted to float32, which the network uses.
_ROWS: dict[str, Any] = {"allow_nd": True, "dtype": (np.float32, np.uint8), "order": "C", "ensure_all_finite": False}


def _check_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError("BallNet needs torch: pip install 'hyplearn[torch]'.") from error
