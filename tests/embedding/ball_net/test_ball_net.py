"""BallNet on a few digits: interface, heads and encoders, determinism, checkpoints, bad input."""

import io
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn import PoincareSVC
from hyplearn.embedding import BallNet
from hyplearn.embedding.ball_net.network import to_vector
from hyplearn.embedding.ball_net.training import Training, read_state, write_state
from hyplearn.geometry import distance, gap, signed_distance
from hyplearn.tangent import from_frame

NAMES = np.array(["nought", "one", "two", "three"])
FAST = {"epochs": 8, "batch_size": 32, "learning_rate": 0.01}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: results are reproducible only for equal numbers of threads, and small networks need no more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:240]  # the digits are sorted by writer
    return X[chosen].reshape(-1, 8, 8), NAMES[y[chosen]]


@pytest.fixture(scope="module")
def net(digits):
    return BallNet(**FAST).fit(*digits)


EXCEPTIONS = {
    "check_methods_subset_invariance": "float32 sums of a matrix product may depend on the number of its rows",
    "check_methods_sample_order_invariance": "float32 sums of a matrix product depend on the place of a row",
}


@parametrize_with_checks([BallNet(epochs=6, batch_size=64, learning_rate=0.03)])
def test_scikit_learns_checks(estimator, check):
    if (name := check.func.__name__) in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[name])
    check(estimator)


def test_points_are_in_the_open_ball_in_float64_with_the_stated_radii(net, digits):
    X, _ = digits
    assert net.embedding_.dtype == np.float64
    assert np.all(gap(net.embedding_) > 0)
    radii = distance(net.embedding_, np.zeros(2))
    np.testing.assert_allclose(radii, np.minimum(net.radius_, net.max_radius), rtol=1e-9)
    np.testing.assert_array_equal(net.transform(X), net.embedding_)


def test_the_share_of_clipped_points_is_counted(digits):
    net = BallNet(max_radius=0.3, **FAST).fit(*digits)
    assert 0.5 < net.clipped_ <= 1
    assert net.clipped_ == np.mean(net.radius_ > 0.3)
    assert distance(net.embedding_, np.zeros(2)).max() == pytest.approx(0.3)


@pytest.mark.parametrize("curvature", [-1.0, -0.25])
def test_probabilities_are_the_softmax_of_the_librarys_distances(digits, curvature):
    X, y = digits
    net = BallNet(curvature=curvature, max_radius=3.0, **FAST).fit(X, y)
    head, c = net.network_.head, -curvature
    a, q = head.normals.detach().double().numpy(), head.references.detach().double().numpy()
    p = from_frame(q, np.zeros(2), c=c)
    points = net.transform(X)
    logits = np.stack([np.linalg.norm(a[k]) * signed_distance(points, a[k], p[k], c=c) for k in range(4)], axis=1)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(net.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize("encoder", ["mlp", "conv"])
@pytest.mark.parametrize("head", ["hyperbolic", "euclidean"])
def test_every_encoder_and_head_learns_the_digits(digits, encoder, head):
    X, y = digits
    net = BallNet(encoder=encoder, head=head, **FAST | {"epochs": 20}).fit(X[:160], y[:160])
    assert net.score(X[160:], y[160:]) > 0.9
    assert net.predict(X).dtype == y.dtype
    np.testing.assert_allclose(net.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(net.classes_[net.predict_proba(X).argmax(axis=1)], net.predict(X))


def test_points_can_be_classified_by_the_classifiers_of_the_ball(digits):
    X, y = digits
    model = make_pipeline(BallNet(**FAST | {"epochs": 20}), PoincareSVC(folds=2)).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > 0.9


def test_a_euclidean_head_leaves_features_flat(digits):
    X, y = digits
    net = BallNet(head="euclidean", max_radius=0.1, **FAST).fit(X, y)
    layer = net.network_.head
    logits = net.transform(X) @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
    np.testing.assert_array_equal(net.classes_[logits.argmax(axis=1)], net.predict(X))
    np.testing.assert_allclose(np.linalg.norm(net.embedding_, axis=1), net.radius_)
    assert net.radius_.max() > 1
    assert net.clipped_ == 0


def test_channel_axis_and_dtype_of_images_do_not_matter(digits):
    X, y = digits
    net = BallNet(encoder="conv", **FAST | {"epochs": 1})
    plain = net.fit(X, y).embedding_
    np.testing.assert_array_equal(clone(net).fit(X[:, None], y).embedding_, plain)
    np.testing.assert_array_equal(clone(net).fit(X.astype(np.uint8), y).embedding_, plain)
    flat = BallNet(**FAST | {"epochs": 1})
    assert clone(flat).fit(X.reshape(-1, 64), y).input_shape_ == (64,)
    assert clone(flat).fit(X, y).input_shape_ == (1, 8, 8)


def test_read_only_rows_are_not_shared_with_torch(digits):
    X, y = digits[0].astype(np.uint8), digits[1]
    X.flags.writeable = False
    torch.set_warn_always(True)  # torch warns only once per process, perhaps in an earlier test
    try:
        BallNet(epochs=1).fit(X, y).predict(X)
    finally:
        torch.set_warn_always(False)


def test_columns_are_standardised_by_the_rows_of_the_fit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3)) * [1e-4, 1e4, 0] + [0, 1e5, 7]
    net = BallNet(epochs=1, validation_fraction=0.2).fit(X, X[:, 0] > 0)
    mean, scale = (part.numpy() for part in (net.network_.mean, net.network_.scale))
    assert np.all(np.abs(mean - X.mean(axis=0)) < 0.1 * X.std(axis=0) + 1e-6)
    np.testing.assert_allclose(scale, [1e-4, 1e4, 1], rtol=0.1)
    pictures = rng.integers(256, size=(20, 2, 8, 8), dtype=np.uint8)
    network = BallNet(encoder="conv", epochs=1).fit(pictures, np.arange(20) % 2).network_
    np.testing.assert_allclose(network.mean.numpy()[:, 0, 0], pictures.mean(axis=(0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(network.scale.numpy()[:, 0, 0], pictures.std(axis=(0, 2, 3)), rtol=1e-6)


def small_encoder(shape, n_components):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), n_components))


def test_a_module_is_copied_and_trained_on_from_its_weights(digits):
    X, y = digits
    module = small_encoder((1, 8, 8), 2)
    before = to_vector(module)
    net = BallNet(encoder=module, **FAST).fit(X / 16, y)
    np.testing.assert_array_equal(to_vector(module), before)
    assert net.network_.mean.ndim == 0  # rows as they are
    barely = BallNet(encoder=module, epochs=1, learning_rate=1e-7).fit(X / 16, y)
    np.testing.assert_allclose(to_vector(barely.network_.encoder), before, atol=1e-5)
    assert net.score(X / 16, y) > barely.score(X / 16, y)


def test_modules_are_in_training_mode_only_during_training(digits):
    class Watching(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64, 2)

        def forward(self, rows):
            assert self.training == torch.is_grad_enabled()
            return self.layer(rows.flatten(1))

    X, y = digits
    net = BallNet(encoder=Watching(), epochs=2, validation_fraction=0.2).fit(X, y)
    assert len(net.predict(X)) == len(X)


def test_a_factory_is_given_the_shape_of_a_row_and_the_dimension(digits):
    X, y = digits
    net = BallNet(3, encoder=small_encoder, epochs=2).fit(X, y)
    assert net.network_.encoder[1].in_features == 64
    assert net.transform(X).shape == (240, 3)
    assert list(net.get_feature_names_out()) == ["ballnet0", "ballnet1", "ballnet2"]


def test_the_same_seed_gives_identical_results_and_leaves_torchs_generator_alone(digits, net):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    again = clone(net).fit(*digits)
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(again.weights_, net.weights_)
    other = clone(net).set_params(random_state=1).fit(*digits)
    assert not np.array_equal(other.weights_, net.weights_)


def test_a_pickle_predicts_the_same(net, digits):
    X, _ = digits
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(net)).predict_proba(X), net.predict_proba(X))


def test_held_out_rows_stop_the_training_and_choose_the_epoch(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)  # random labels: scores of held-out rows soon stop rising
    net = BallNet(epochs=50, validation_fraction=0.25, patience=3, learning_rate=0.01).fit(X, noise)
    best = int(np.argmax(net.validation_scores_))
    assert net.n_iter_ == best + 1 + 3 < 50
    stopped = BallNet(epochs=50, validation_fraction=0.25, patience=3, learning_rate=0.01)
    taken = []

    def judged(training, held_out):
        Training.judged(training, held_out)
        taken.append(to_vector(training.network))

    with pytest.MonkeyPatch().context() as patch:
        patch.setattr(Training, "judged", Training._score, raising=False)
        patch.setattr(Training, "_score", judged)
        stopped.fit(X, noise)
    np.testing.assert_array_equal(stopped.weights_, taken[best])


class Killed(BaseException):
    pass


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_a_killed_training_resumes_to_the_same_result(digits, tmp_path, monkeypatch, share):
    X, y = digits
    path = tmp_path / "net.checkpoint"
    dropping = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.2), small_encoder((64,), 2))
    net = BallNet(encoder=dropping, epochs=5, validation_fraction=share, patience=5, checkpoint=path)
    whole = clone(net).set_params(checkpoint=None).fit(X, y)
    steps = []

    def step(training, rows, codes, when):
        steps.append(when)
        if when.endswith("of epoch 4"):
            raise Killed
        return Training.stepped(training, rows, codes, when)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "stepped", Training._step, raising=False)
        patch.setattr(Training, "_step", step)
        with pytest.raises(Killed):
            clone(net).fit(X, y)
        assert path.exists()
        n_steps = len(steps)
        with pytest.raises(Killed):
            clone(net).fit(X, y)
        assert len(steps) == n_steps + 1  # three epochs are not repeated
    resumed = clone(net).fit(X, y)
    assert not path.exists()
    for name in ("weights_", "loss_curve_", "validation_scores_", "embedding_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


def test_a_checkpoint_of_another_training_is_rejected(digits, tmp_path, monkeypatch):
    X, y = digits
    path = tmp_path / "net.checkpoint"
    net = BallNet(epochs=2, checkpoint=path)
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok: None)  # as if the process was killed before the end
    net.fit(X, y)
    for other, rows in (
        (clone(net).set_params(epochs=3), X),
        (clone(net).set_params(max_radius=1.0), X),
        (clone(net).set_params(random_state=1), X),
        (clone(net), X + 1e-3),
    ):
        with pytest.raises(ValueError, match=r"other data, parameters or initial weights\.\nUse the same"):
            other.fit(rows, y)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"net\.checkpoint is not a checkpoint of this version, or is damaged"):
        net.fit(X, y)


def test_a_checkpoint_in_a_missing_folder_is_rejected_before_the_training(digits, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere for the checkpoint\.\nCreate the folder"):
        BallNet(encoder=lambda shape, n_components: pytest.fail("trained"), checkpoint=tmp_path / "nowhere" / "x").fit(
            *digits
        )


def test_a_checkpoint_that_would_run_code_is_not_read(tmp_path):
    class Code:
        def __reduce__(self):
            return print, ("code was run",)

    path = tmp_path / "evil"
    write_state(path, "me", {"network": Code()})
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        read_state(path, "me")


def test_progress_is_one_line_per_epoch_without_a_terminal(digits, capsys):
    BallNet(epochs=2, validation_fraction=0.1, verbose=1).fit(*digits)
    first, second = capsys.readouterr().out.splitlines()
    pattern = r"BallNet: epoch {} of 2, loss \d\.\d\d\d, accuracy [\d.]+%, [\d.]+% on held-out rows"
    assert re.fullmatch(pattern.format(1), first)
    assert re.fullmatch(pattern.format(2), second)


def test_progress_is_a_bar_in_a_terminal(digits, monkeypatch, capsys):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    BallNet(epochs=2, verbose=1).fit(*digits)
    assert "epoch 2 of 2, loss" in screen.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1; got 0"),
        ({"epochs": 1.5}, "epochs must be an integer"),
        ({"batch_size": True}, "batch_size must be an integer"),
        ({"patience": 0}, "patience must be an integer"),
        ({"learning_rate": 0.0}, r"learning_rate must be a positive finite number; got 0\.0"),
        ({"learning_rate": "fast"}, "learning_rate must be a positive finite number; got 'fast'"),
        ({"weight_decay": -1}, "weight_decay must be 0 or a positive finite number; got -1"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number from 0 to below 1"),
        ({"validation_fraction": 1e-9}, r"holds out 0 of 240 rows\.\nChoose"),
        ({"max_radius": 13.0}, r"max_radius must be a number above 0 and up to 12, the limit of float32; got 13\.0"),
        ({"max_radius": 7.0, "curvature": -4.0}, "up to 6, the limit of float32"),
        ({"curvature": 1.0}, "curvature must be a negative finite number"),
        ({"head": "flat"}, 'head must be "hyperbolic" or "euclidean"; got \'flat\''),
        ({"encoder": "resnet"}, 'encoder must be "conv", "mlp", a torch'),
        ({"encoder": 3}, 'encoder must be "conv", "mlp", a torch'),
        ({"encoder": small_encoder, "checkpoint": "x", "random_state": None}, "must be an integer if a checkpoint"),
        ({"encoder": small_encoder((1, 8, 8), 3)}, r"shape \(30, 3\) for 30 rows; expected \(30, 2\)"),
        ({"encoder": torch.nn.Identity()}, r"shape \(30, 1, 8, 8\) for 30 rows"),
    ],
)
def test_bad_parameters_raise_clear_errors(digits, parameters, problem):
    with pytest.raises(ValueError, match=problem):
        BallNet(**parameters).fit(digits[0], digits[1])


def test_a_factory_that_does_not_return_a_module_is_rejected(digits):
    with pytest.raises(TypeError, match=r"must return a torch\.nn\.Module; got list"):
        BallNet(encoder=lambda shape, n_components: []).fit(*digits)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ((20, 64), r'encoder="conv" needs images; got vectors, in an array of shape \(20, 64\)'),
        ((20, 7, 8), "8 by 8 pixels or more; got 7 by 8"),
        ((20, 8, 8, 3), r"got 8 by 3 \(X has the shape \(20, 8, 8, 3\)\)\.\nPut the channels before"),
        ((20, 1, 2, 8, 8), r"one vector or image per row; got shape \(20, 1, 2, 8, 8\)"),
    ],
)
def test_shapes_other_than_images_are_rejected(shape, problem):
    with pytest.raises(ValueError, match=problem):
        BallNet(encoder="conv").fit(np.ones(shape), np.arange(20) % 2)


def test_one_class_and_missing_pixels_are_rejected(digits):
    X, y = digits
    with pytest.raises(ValueError, match="at least two classes; got one class, 'nought'"):
        BallNet().fit(X, np.full(len(X), "nought"))
    with pytest.raises(ValueError, match="NaN"):
        BallNet().fit(np.where(X > 15, np.nan, X), y)


def test_rows_of_another_shape_than_those_of_the_fit_are_rejected(net, digits):
    X, _ = digits
    with pytest.raises(ValueError, match=r"shape \(1, 8, 7\), but the network was fitted on rows of shape \(1, 8, 8\)"):
        net.transform(X[:, :, :7])


def test_a_loss_that_is_not_finite_is_an_error_with_its_step(digits):
    class Exploding(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.calls = torch.nn.Linear(64, 2), 0

        def forward(self, rows):
            self.calls += 1
            return self.layer(rows.flatten(1)) * (torch.nan if self.calls == 4 else 1.0)

    with pytest.raises(ValueError, match=r"loss is nan at step 2 of epoch 2, .* has diverged\.\nLower learning_rate"):
        BallNet(encoder=Exploding(), epochs=3, batch_size=120).fit(*digits)


def test_a_network_whose_points_leave_the_ball_is_an_error_that_names_the_rows(digits):
    class Leaving(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64, 2)

        def forward(self, rows):
            lost = torch.where(rows.amax(dim=(1, 2, 3)) > 100, torch.inf, 0.0)
            return self.layer(rows.flatten(1) / 16) + lost[:, None]

    X, y = digits
    net = BallNet(encoder=Leaving(), epochs=1).fit(X, y)
    X = X.copy()
    X[[3, 7]] = 200
    for method in (net.transform, net.predict_proba):
        with pytest.raises(ValueError, match=r"features of 2 of 240 rows are not finite; the first is row 3"):
            method(X)


def test_parameters_changed_after_the_fit_are_an_error_not_another_network(net, digits):
    changed = pickle.loads(pickle.dumps(net)).set_params(n_components=5)
    with pytest.raises(ValueError, match=r"The network has [\d,]+ weights, but weights_ has [\d,]+\.\nSet encoder"):
        changed.transform(digits[0])


def test_without_torch_the_error_names_the_package_to_install():
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
from hyplearn.embedding import BallNet
try:
    BallNet().fit([[0.0], [1.0]], [0, 1])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "BallNet needs torch: pip install 'hyplearn[torch]'."
