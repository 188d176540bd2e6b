"""The digits examples, shortened, and the optimisers against torch where it is installed."""

import importlib.util
import pathlib

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim

EXAMPLES = pathlib.Path(__file__).parent.parent / "docs" / "examples"

# ordinary programs hold nothing that a compiled function cannot follow
pytestmark = pytest.mark.filterwarnings("error::funcgrad.CaptureWarning")


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits(tmp_path):
    digits = example("digits")
    results = digits.main(["--epochs", "15", "--figure", str(tmp_path / "digits.png")])
    assert min(results.values()) >= 0.95
    assert (tmp_path / "digits.png").stat().st_size > 10_000


def test_digits_torch(tmp_path):
    digits = example("digits_torch")
    figure, model = tmp_path / "digits.png", tmp_path / "digits.pt"
    value = digits.main(["--epochs", "15", "--figure", str(figure), "--model", str(model)])
    assert value >= 0.95
    assert figure.stat().st_size > 10_000
    held_images, held_labels = digits.load()[2:]
    again = digits.network()
    again.load_state_dict(digits.torch.load(model))
    assert digits.accuracy(again, held_images, held_labels) == value


def training_of_few(count):
    """The example on the first images alone."""
    training = example("training")
    load = training.load
    training.load = lambda t: [(x[:count], y[:count]) for x, y in load(t)]
    return training


def test_training(tmp_path):
    training = training_of_few(256)
    figure = tmp_path / "training.png"
    curves = training.main(["--epochs", "6", "--figure", str(figure)])
    for curve, held in curves.values():
        assert curve[-1] < 0.8 * curve[0]
        assert held[-1] < curve[0]
    assert figure.stat().st_size > 10_000


@pytest.mark.peers
def test_training_is_pytorch_code():
    """An epoch of each network has PyTorch's mean loss, but for rounding."""
    torch = pytest.importorskip("torch")
    training = training_of_few(128)
    for name in training.PROGRAMS:
        ours, theirs = (training.fit(t, name, 1) for t in (training.funcgrad.torch, torch))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.peers
def test_digits_torch_is_pytorch_code():
    """The same seed gives the same weights, and 100 steps the same losses but for rounding."""
    torch = pytest.importorskip("torch")
    digits = example("digits_torch")

    def curve(torch, dtype):
        images, labels, *_ = digits.load(torch)
        torch.manual_seed(0)
        model = digits.network(torch).to(getattr(torch, dtype))
        loss_function = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
        rng = np.random.default_rng(0)
        picked = [b for _ in range(5) for b in digits.batches(len(labels), 64, rng)][:100]
        return [
            digits.train_step(
                model, loss_function, optimizer, images[batch].to(model[0].weight.dtype),
                labels[batch],
            )
            for batch in map(torch.tensor, picked)
        ]  # fmt: skip

    for dtype in ("float64", "float32"):
        rtol = 2000 * np.finfo(dtype).eps
        np.testing.assert_allclose(curve(digits.torch, dtype), curve(torch, dtype), rtol=rtol)


@pytest.mark.peers
def test_adam_is_torch_adam():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    t = torch.tensor(x, requires_grad=True)
    other = torch.optim.Adam([t], lr=0.1)
    optimizer = optim.adam(0.1)
    state = optimizer.init(x)
    for _ in range(20):
        updates, state = optimizer.update(fg.grad(lambda x: np.sum((a @ x) ** 2))(x), state)
        x = optim.apply_updates(x, updates)
        other.zero_grad()
        ((torch.tensor(a) @ t) ** 2).sum().backward()
        other.step()
    np.testing.assert_allclose(x, t.detach().numpy(), rtol=1e-9)
