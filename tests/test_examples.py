"""The digits example, shortened, and the optimisers against torch where it is installed."""

import importlib.util
import pathlib

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim

EXAMPLES = pathlib.Path(__file__).parent.parent / "docs" / "examples"


def test_digits(tmp_path):
    spec = importlib.util.spec_from_file_location("digits", EXAMPLES / "digits.py")
    digits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(digits)
    results = digits.main(["--epochs", "15", "--figure", str(tmp_path / "digits.png")])
    assert min(results.values()) >= 0.95
    assert (tmp_path / "digits.png").stat().st_size > 10_000


@pytest.mark.peers
def test_adam_is_torch_adam():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    t = torch.tensor(x, requires_grad=True)
    other = torch.optim.Adam([t], lr=0.1)
    step, start = optim.adam(0.1)
    state = start(x)
    for _ in range(20):
        x, state = step(x, fg.grad(lambda x: np.sum((a @ x) ** 2))(x), state)
        other.zero_grad()
        ((torch.tensor(a) @ t) ** 2).sum().backward()
        other.step()
    np.testing.assert_allclose(x, t.detach().numpy(), rtol=1e-9)
