"""Initial values of parameters, drawn and fixed."""

import math

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same
from .programs import programs, refused

DRAWS = [
    ("uniform_", (-1.0, 3.0)),
    ("normal_", (1.0, 2.0)),
    ("trunc_normal_", (0.0, 1.0, -1.0, 0.5)),
    ("trunc_normal_", (0.0, 1.0, 2.0, 2.5)),
    ("xavier_uniform_", (2.0,)),
    ("xavier_normal_", ()),
    ("kaiming_uniform_", (math.sqrt(5),)),
    ("kaiming_normal_", (0, "fan_out", "relu")),
    ("orthogonal_", (2.0,)),
    ("sparse_", (0.3,)),
]


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "args"), DRAWS, ids=[f"{k}-{n}" for k, (n, _) in enumerate(DRAWS)]
)
@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (40, 30)])
def test_the_same_seed_draws_the_same_values(name, args, shape):
    one, other = (drawn(t, 3, lambda t: getattr(t.nn.init, name)(t.empty(*shape), *args))
                  for t in (ours, pytest.importorskip("torch")))  # fmt: skip
    size = np.max(np.abs(other))
    eps = np.finfo(np.float32).eps
    np.testing.assert_allclose(one, other, rtol=8 * eps, atol=8 * eps * size)


def drawn(torch, seed, draw):
    torch.manual_seed(seed)
    return draw(torch).numpy()


@pytest.mark.peers
def test_the_same_seed_begins_with_the_same_parameters():
    def made(torch):
        torch.manual_seed(0)
        nn = torch.nn
        layers = [nn.Linear(64, 32), nn.Linear(3, 2, bias=False), nn.Embedding(5, 3),
                  nn.Embedding(5, 3, padding_idx=1), nn.Bilinear(2, 3, 4), nn.LayerNorm(3),
                  nn.PReLU(2)]  # fmt: skip
        return nn.Sequential(*layers)

    one, other = made(ours), made(pytest.importorskip("torch"))
    for (name, p), q in zip(one.named_parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(
            p.detach().numpy(), q.detach().numpy(), rtol=1e-6, atol=1e-7, err_msg=name
        )


def fixed_initial_values(torch, say):
    init = torch.nn.init
    p = torch.nn.Parameter(torch.empty(2, 3))
    for made in (init.ones_(p), init.zeros_(p), init.constant_(p, 2.5), init.eye_(p)):
        say(made is p, made.is_leaf, made.requires_grad)
    say(p, init.dirac_(torch.empty(2, 2, 3)))
    for name in ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "conv2d"):
        say(name, init.calculate_gain(name), init.calculate_gain("leaky_relu", 0.5))
    refused(say, "gain", lambda: init.calculate_gain("zzz"))
    refused(say, "slope", lambda: init.calculate_gain("leaky_relu", "a"))
    refused(say, "fan", lambda: init.xavier_uniform_(torch.empty(3)))
    refused(say, "mode", lambda: init.kaiming_normal_(torch.empty(3, 2), mode="zzz"))
    refused(say, "eye", lambda: init.eye_(torch.empty(3)))
    refused(say, "dirac", lambda: init.dirac_(torch.empty(3)))
    refused(say, "orthogonal", lambda: init.orthogonal_(torch.empty(3)))
    say(init.kaiming_uniform_(torch.empty(0, 3)))


def test_orthogonal_matrices_are_orthogonal():
    for shape in ((5, 3), (3, 5), (4, 2, 2)):
        q = ours.nn.init.orthogonal_(ours.empty(*shape).double(), 2.0).numpy().reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    same(program)
