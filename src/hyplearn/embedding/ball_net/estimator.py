"""Images and feature tables into the ball, by a network that is trained to tell classes apart there."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hyplearn.embedding.ball_net.validation import as_rows, check_features, check_parameters, check_shape
from hyplearn.geometry import exp_map
from hyplearn.geometry.border import absolute_curvature
from hyplearn.progress import report_tasks
from hyplearn.types import Array

# Parameters that training alone needs.
SETTINGS = ("epochs", "batch_size", "learning_rate", "weight_decay", "validation_fraction", "patience")


class BallNet(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    r"""Rows or images to points of the ball, by an encoder that is trained with a softmax of hyperbolic distances.

    An encoder gives a vector v for each row; the point is that at hyperbolic distance :math:`\min(\|v\|, R)` from the
    origin, in the direction of v. The head gives class k the logit

    .. math:: \|a_k\| \, d(x, H(a_k, p_k)),

    the signed distance to a geodesic hyperplane that is learned with the encoder, times the length of its normal vector
    (multinomial logistic regression in the ball, Ganea et al. 2018, Khrulkov et al. 2020). The radius R keeps points
    where gradients do not vanish (Guo et al. 2022). Needs torch: ``pip install 'hyplearn[torch]'``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the ball.
    encoder : {"mlp", "conv"}, torch.nn.Module or callable, default="mlp"
        What makes vectors of rows. "conv" is for images: three blocks of convolution, batch norm and pooling, and two
        dense layers; "mlp" has three dense layers and takes anything. Both see rows that are standardised by the means
        and deviations of the fit, per channel or per column. A module is copied, trained on from its weights, and sees
        rows as they are, in float32; so does what a callable makes of the shape of a row and ``n_components``.
    head : {"hyperbolic", "euclidean"}, default="hyperbolic"
        What tells classes apart. "euclidean" is the rival with the same encoder: a linear layer on v, which then stays
        in flat space: no map, no largest radius, and ``transform`` returns v.
    max_radius : float, default=4.0
        The largest hyperbolic distance R from the origin, up to 12 for curvature -1.
    curvature : float, default=-1.0
        Sectional curvature of the ball; its radius is ``1/sqrt(-curvature)``.
    epochs : int, default=20
        Most passes over the rows.
    batch_size : int, default=32
        Rows per step, at most.
    learning_rate : float, default=0.01
        Of AdamW, at its largest: it rises over the first twentieth of all steps, and falls along a cosine to 0.
    weight_decay : float, default=0.0001
        Of AdamW.
    validation_fraction : float, default=0.0
        Share of the rows that is held out of training, by which to stop early and to choose the best epoch.
    patience : int, default=5
        Number of epochs without a better score on held-out rows after which to stop.
    random_state : int, RandomState instance or None, default=0
        Where initial weights and the order of rows come from.
    checkpoint : path, optional
        A file that keeps the state after each epoch, so that the same ``fit`` goes on where it was killed, to the same
        result. It is removed when the fit is finished.
    verbose : int, default=0
        Whether to tell loss and accuracy: by a bar in a terminal, where rich is installed, else a line per epoch.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The points of the rows of the fit.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    radius_ : ndarray of shape (n_samples,)
        Hyperbolic distances from the origin that the encoder gave the rows of the fit, before R.
    clipped_ : float
        Share of the rows of the fit that were moved to the radius R.
    weights_ : ndarray of shape (n_weights,)
        All parameters and buffers of the network, in the order of its ``state_dict``.
    loss_curve_ : ndarray of shape (n_epochs,)
        Mean loss of each epoch.
    validation_scores_ : ndarray of shape (n_epochs,) or (0,)
        Accuracy on held-out rows after each epoch, if there are some.
    n_iter_ : int
        Number of epochs.
    input_shape_ : tuple of int
        Shape of a row: (columns,) or (channels, height, width).
    n_features_in_ : int
        Length of the second axis of X.

    See Also
    --------
    hyplearn.PoincareSVC, hyplearn.PoincareLogisticRegression : classifiers of the points.

    Notes
    -----
    Networks run in float32 on the CPU; points are computed from their vectors in float64. The same rows, parameters,
    seed and number of torch's threads give the same bits on one machine. A fitted network is parameters and NumPy
    arrays: :func:`hyplearn.save` keeps those of the encoders that have a name, and :func:`hyplearn.load` needs no torch
    to read them. An encoder of your own is code, which no model file holds; for torch, ``network_`` has its
    ``state_dict``.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        encoder: Any = "mlp",
        head: str = "hyperbolic",
        max_radius: float = 4.0,
        curvature: float = -1.0,
        epochs: int = 20,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        weight_decay: float = 1e-4,
        validation_fraction: float = 0.0,
        patience: int = 5,
        random_state: Any = 0,
        checkpoint: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.encoder = encoder
        self.head = head
        self.max_radius = max_radius
        self.curvature = curvature
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose

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
            Rows or images, of any numbers; bytes stay bytes until they are used.
        y : array-like of shape (n_samples,)
            Their classes.
        """
        _check_torch()
        from hyplearn.embedding.ball_net.training import Labelled, Settings, trained

        check_parameters(self)
        X, y = validate_data(self, X, y, reset=True, **_ROWS)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"A network needs at least two classes to tell apart; got one class, {classes.tolist()[0]!r}."
            )
        rows = as_rows(X, self.encoder)
        seed = int(check_random_state(self.random_state).randint(2**31))
        settings = Settings(**{name: getattr(self, name) for name in SETTINGS}, seed=seed)
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint).expanduser()
        shape = rows.shape[1:]
        data = Labelled(rows, codes)
        with report_tasks(type(self).__name__, self.verbose) as report:
            result = trained(lambda: self._built(shape, len(classes)), data, settings, checkpoint, report)
        self.classes_, self.input_shape_ = classes, shape
        self.weights_, self.loss_curve_, self.validation_scores_ = result
        self.n_iter_ = len(self.loss_curve_)
        v = self._vectors(rows)
        self.radius_ = np.linalg.norm(v, axis=1)
        self.clipped_ = float(np.mean(self.radius_ > self.max_radius)) if self.head == "hyperbolic" else 0.0
        self.embedding_ = self._points(v)
        return self

    def fit_transform(self, X: Any, y: Any) -> Array:
        """Train the network; the points of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Points of the ball for rows, in float64."""
        return self._points(self._vectors(self._checked(X)))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, by the head of the network."""
        return softmax(self._outputs("forward", self._checked(X)), axis=1)

    def predict(self, X: Any) -> Array:
        """The most probable classes."""
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, axis=1)]

    @property
    def network_(self) -> Any:
        """The torch module: rows to logits, its ``features`` rows to vectors; a new one at each call."""
        check_is_fitted(self)
        _check_torch()
        from hyplearn.embedding.ball_net.network import loaded

        return loaded(lambda: self._built(self.input_shape_, len(self.classes_)), self.weights_)

    def _built(self, shape: tuple[int, ...], n_classes: int) -> Any:
        from hyplearn.embedding.ball_net.network import build

        c = absolute_curvature(self.curvature)
        return build(self.encoder, self.head, shape, self.n_components, n_classes, c, self.max_radius)

    def _checked(self, X: Any) -> Array:
        check_is_fitted(self)
        rows = as_rows(validate_data(self, X, reset=False, **_ROWS), self.encoder)
        check_shape(rows, self.input_shape_)
        return rows

    def _outputs(self, method: str, rows: Array) -> Array:
        network = self.network_
        from hyplearn.embedding.ball_net.training import outputs

        blocks = [block.double().numpy() for block in outputs(getattr(network, method), rows)]
        return check_features(np.concatenate(blocks))

    def _vectors(self, rows: Array) -> Array:
        return self._outputs("features", rows)

    def _points(self, v: Array) -> Array:
        if self.head == "euclidean":
            return v
        longest = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), self.max_radius)
        return exp_map(v * (self.max_radius / longest) / 2, np.zeros(v.shape[1]), c=absolute_curvature(self.curvature))


# Bytes of images stay bytes; all else becomes float32, in which the network runs.
_ROWS: dict[str, Any] = {"allow_nd": True, "dtype": (np.float32, np.uint8), "order": "C"}


def _check_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError("BallNet needs torch: pip install 'hyplearn[torch]'.") from error
