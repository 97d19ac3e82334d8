"""Networks in model files: rejected files, use without torch, and the number of weights of a network."""

import sys
import tracemalloc

import numpy as np
import pytest
import torch

import hyplearn
from hyplearn.embedding import BallNet
from hyplearn.embedding.ball_net.network import build
from hyplearn.embedding.ball_net.validation import layout
from hyplearn.persistence import ModelFileError, read_metadata
from hyplearn.persistence.files import from_bytes, to_bytes
from support.fitted_models import NAMES, images, networks, rows_like_those_of
from support.mutations import closed, opened


@pytest.fixture(scope="module")
def nets():
    return networks()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.hyp"


@pytest.mark.parametrize("encoder", ["mlp", "conv"])
@pytest.mark.parametrize("head", ["hyperbolic", "euclidean"])
@pytest.mark.parametrize("shape", [(5,), (1, 8, 8), (3, 33, 17), (2, 100, 9)])
@pytest.mark.parametrize("n_components", [2, 200])
def test_the_layout_matches_the_network(encoder, head, shape, n_components):
    if encoder == "conv" and len(shape) == 1:
        return
    state = build(encoder, head, shape, n_components, 4, 1.0, 4.0).state_dict()
    expected = layout(encoder, head, shape, n_components, 4)
    assert list(expected.items()) == [(name, tuple(part.shape)) for name, part in state.items()]


def test_a_network_is_loaded_without_torch_which_is_needed_only_to_predict(nets, path, monkeypatch):
    hyplearn.save(nets[0], path)
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("network", "training"):
        monkeypatch.delitem(sys.modules, f"hyplearn.embedding.ball_net.{name}")
    loaded = hyplearn.load(path)
    assert np.array_equal(loaded.embedding_, nets[0].embedding_)
    assert read_metadata(path)["classes"] == NAMES.tolist()
    with pytest.raises(ImportError, match=r"BallNet needs torch: pip install 'hyplearn\[torch\]'"):
        loaded.transform(rows_like_those_of(loaded, 2))


def test_a_loaded_network_is_trained_anew_with_identical_bits(nets, path):
    X, y = images()
    hyplearn.save(nets[2], path)
    again = hyplearn.load(path).fit(X, NAMES[y])
    assert np.array_equal(again.weights_, nets[2].weights_)


def test_a_torch_module_is_rejected_with_a_two_line_error(path):
    X, y = images()
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(72, 2))
    for net in (BallNet(encoder=module), BallNet(encoder=module, epochs=1).fit(X, y)):
        with pytest.raises(ValueError, match="BallNet cannot be saved: encoder must be one of") as caught:
            hyplearn.save(net, path)
        problem, advice = str(caught.value).split("\n")
        assert "; it is Sequential( (0): Flatten(" in problem
        assert "torch.save(model.network_.state_dict(), path), or save a classifier" in advice
    assert not path.exists()


def changed(net, attribute, change):
    """A copy of a network with one attribute changed."""
    copy = from_bytes(to_bytes(net))
    setattr(copy, attribute, change(getattr(copy, attribute)))
    return copy


def with_one(value, place):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


# Positions in the weights of the convolutional network, which start with a mean, a deviation, kernels, factors, shifts
# and means.
VARIANCES = 1 + 1 + 16 * 9 + 16 * 3
BATCHES = VARIANCES + 16


@pytest.mark.parametrize(
    ("attribute", "change", "problem"),
    [
        ("weights_", lambda w: w[:-1], r"the network need [\d,]+ numbers, but weights_ has [\d,]+ elements"),
        ("weights_", lambda w: w.astype(np.float32), "weights_ must be float64 numbers in the range of float32"),
        ("weights_", with_one(np.nan, 5), "weights_ must be float64 numbers in the range"),
        ("weights_", with_one(1e39, 5), "weights_ must be float64 numbers in the range"),
        ("weights_", with_one(0.0, 1), "positive and variances non-negative; the smallest value of scale is 0"),
        ("weights_", with_one(-1e-3, VARIANCES), r"the smallest value of encoder\.2\.running_var is -0\.001"),
        ("weights_", with_one(0.5, BATCHES), r"tracked in weights_ must be a non-negative integer; it is 0\.5"),
        ("n_components", lambda n: n + 1, r"the layers of the network need [\d,]+ numbers"),
        ("n_components", lambda n: 10**12, r"the layers of the network need [\d,]+ numbers"),
        ("head", lambda head: "euclidean", r"the layers of the network need [\d,]+ numbers"),
        ("classes_", lambda classes: classes[:2], r"the layers of the network need [\d,]+ numbers"),
        ("input_shape_", lambda shape: (1, 8, 7), "requires images of at least 8 by 8 pixels; input_shape_ is"),
        ("input_shape_", lambda shape: (72,), "which does not match n_features_in_=8"),
        ("input_shape_", lambda shape: (2, 8, 9), "which does not match n_features_in_=8"),
        ("input_shape_", lambda shape: [1, 8, 9], "input_shape_ must be a tuple of one or three positive integers"),
        ("embedding_", lambda X: X + 2, "embedding_ must contain only points inside the ball"),
        ("embedding_", lambda X: X[:, :1], "embedding_ must have n_components=2 columns"),
        ("embedding_", lambda X: X[:3], r"radius_ must be float64 numbers from .* of shape \(n\)"),
        ("radius_", lambda r: -r, "and radius_ must not be negative"),
        ("clipped_", lambda share: 1.5, "clipped_ must be a float from 0 to 1"),
        ("max_radius", lambda radius: 17.0, r"max_radius must be at most 16\.97; it is 17"),
        ("n_iter_", lambda n: n + 1, "loss_curve_ must be float64 numbers"),
        ("validation_scores_", lambda scores: np.array([0.5]), "must be empty or have 2 scores; it has 1"),
        ("validation_scores_", lambda scores: np.array([0.5, 1.5]), "validation_scores_ must be float64 numbers"),
        ("patience", lambda patience: 0, "patience must be an integer of at least 1"),
        ("validation_fraction", lambda share: 1.0, r"validation_fraction must be a number in \[0, 1\)"),
    ],
)  # fmt: skip
def test_an_inconsistent_network_is_rejected(nets, attribute, change, problem):
    with pytest.raises(ValueError, match=problem):
        to_bytes(changed(nets[2], attribute, change))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "n_components", 10**12),
        ("parameters", "encoder", "os.system"),
        ("parameters", "checkpoint", "/etc/passwd"),
        ("attributes", "input_shape_", {"tuple": [1, 10**9, 8]}),
        ("attributes", "input_shape_", {"tuple": [8, 10**9, 10**9]}),
    ],
)
def test_a_hostile_network_is_rejected_before_anything_is_built(nets, path, part, name, value):
    header, arrays = opened(to_bytes(nets[2]))
    header[part][name] = value
    path.write_bytes(closed(header, arrays))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=r"is not a usable model: .*\.\n"):
        hyplearn.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7
