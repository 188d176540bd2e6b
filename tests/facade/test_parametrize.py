"""Parameters that are functions of others, beside PyTorch: values, states, gradients, refusals."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch.nn.utils import parametrizations, parametrize

from .both import same, theirs


def utils_of(torch):
    """The two modules, of the library that runs the program."""
    import importlib

    return [
        importlib.import_module(f"{torch.__name__}.nn.utils.{name}")
        for name in ("parametrize", "parametrizations")
    ]


def shown(x):
    return np.round(x.detach().numpy().astype(float), 3).tolist()


def steps(torch, say, layer, x):
    """Three steps of training, and what the layer has become."""
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()
    say(layer, [(n, tuple(v.shape)) for n, v in layer.state_dict().items()])
    say({n: shown(v) for n, v in layer.state_dict().items()})
    say(shown(layer(x)), shown(layer.eval()(x)), type(layer.weight.grad_fn).__name__)


def weights_normed(torch, say):
    _, named = utils_of(torch)
    x, image = torch.arange(6.0).reshape(2, 3), torch.arange(50.0).reshape(1, 2, 5, 5) / 50
    for dim in (0, 1, None):
        torch.manual_seed(0)
        steps(torch, say, named.weight_norm(torch.nn.Linear(3, 4), dim=dim), x)
        torch.manual_seed(0)
        steps(torch, say, named.weight_norm(torch.nn.Conv2d(2, 3, 2), dim=dim), image)
        torch.manual_seed(0)
        steps(torch, say, torch.nn.utils.weight_norm(torch.nn.Linear(3, 4), dim=dim), x)


def weights_over_singular_values(torch, say):
    _, named = utils_of(torch)
    x, image = torch.arange(6.0).reshape(2, 3), torch.arange(50.0).reshape(1, 2, 5, 5) / 50
    for norm in (named.spectral_norm, torch.nn.utils.spectral_norm):
        torch.manual_seed(0)
        steps(torch, say, norm(torch.nn.Linear(3, 4), n_power_iterations=2), x)
        torch.manual_seed(0)
        steps(torch, say, norm(torch.nn.ConvTranspose2d(2, 3, 2)), image)
    torch.manual_seed(0)
    say(shown(named.spectral_norm(torch.nn.Linear(3, 4), "bias").bias))


def orthogonal(torch, say):
    _, named = utils_of(torch)
    for how in ("matrix_exp", "cayley", "householder", None):
        for sizes in ((3, 3), (3, 5), (5, 3)):
            for moved in (True, False):
                torch.manual_seed(0)
                if not moved and how != "householder":
                    continue
                layer = torch.nn.Linear(*sizes).double()
                layer = named.orthogonal(layer, "weight", how, use_trivialization=moved)
                steps(torch, say, layer, torch.arange(2.0 * sizes[0]).reshape(2, -1).double())
                w = layer.weight
                gram = w @ w.mT if sizes[0] > sizes[1] else w.mT @ w
                say(bool((gram - torch.eye(len(gram)).double()).abs().max() < 1e-12))
    torch.manual_seed(0)
    layer = named.orthogonal(torch.nn.Linear(3, 3), "weight", "cayley", use_trivialization=False)
    say(shown(layer.weight))


def own_parametrizations(torch, say):
    changed, _ = utils_of(torch)

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    class Doubled(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    class Factors(torch.nn.Module):
        def forward(self, x, y):
            return x @ y

        def right_inverse(self, a):
            return a[:, :1].clone(), a[:1].clone()

    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 3)
    weight = layer.weight
    say(changed.register_parametrization(layer, "weight", Symmetric()) is layer)
    say(shown(layer.weight), layer.parametrizations.weight.original is weight)
    layer.weight = torch.arange(9.0).reshape(3, 3)
    say(shown(layer.weight), changed.is_parametrized(layer), changed.is_parametrized(layer, "bias"))
    changed.register_parametrization(layer, "weight", Doubled())
    say(layer, shown(layer.weight), changed.type_before_parametrizations(layer).__name__)
    with changed.cached():
        say(layer.weight is layer.weight)
    say(layer.weight is layer.weight)
    other = changed.transfer_parametrizations_and_params(layer, torch.nn.Linear(3, 3))
    say(shown(other.weight), other)
    say(changed.remove_parametrizations(layer, "weight"), shown(layer.weight))
    say(layer.weight is weight, type(layer).__name__)
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 4)
    changed.register_parametrization(layer, "weight", Factors(), unsafe=True)
    steps(torch, say, layer, torch.arange(6.0).reshape(2, 3))
    twin = copy.deepcopy(layer)
    say(shown(twin.weight), type(twin).__name__)
    for call in (
        lambda: changed.remove_parametrizations(layer, "weight", leave_parametrized=False),
        lambda: changed.remove_parametrizations(layer, "bias"),
        lambda: changed.register_parametrization(layer, "nothing", Doubled()),
        lambda: changed.register_parametrization(layer, "bias", torch.nn.Unflatten(0, (2, 2))),
        lambda: changed.register_parametrization(layer, "weight", torch.nn.Flatten(0)),
        lambda: pickle.dumps(layer),
    ):
        try:
            call()
        except (ValueError, RuntimeError) as error:
            say(type(error).__name__, error)
    say(changed.remove_parametrizations(layer, "weight"), shown(layer.weight))


def refusals(torch, say):
    _, named = utils_of(torch)
    nn = torch.nn
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    spectral = nn.utils.spectral_norm(nn.Linear(2, 2))
    for call in (
        lambda: nn.utils.weight_norm(layer), lambda: nn.utils.spectral_norm(spectral),
        lambda: nn.utils.remove_weight_norm(layer, "bias"),
        lambda: nn.utils.remove_spectral_norm(layer),
        lambda: named.spectral_norm(nn.Linear(2, 2), dim=2),
        lambda: named.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
        lambda: named.orthogonal(nn.Linear(2, 2), "bias"),
        lambda: named.orthogonal(nn.Linear(2, 2), "weigth"),
        lambda: named.orthogonal(nn.Linear(2, 2), orthogonal_map="turn"),
    ):  # fmt: skip
        try:
            call()
        except (ValueError, RuntimeError, IndexError) as error:
            say(type(error).__name__, error)
    say(nn.utils.remove_weight_norm(layer), list(layer.state_dict()))
    say(nn.utils.remove_spectral_norm(spectral), list(spectral.state_dict()))
    say(len(spectral._forward_pre_hooks), len(spectral._state_dict_hooks))


PROGRAMS = [weights_normed, weights_over_singular_values, orthogonal, own_parametrizations,
            refusals]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_says_the_same(program):
    same(program)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_states_of_pytorch_are_loaded(old):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    _, named = utils_of(theirs)
    norm = theirs.nn.utils.weight_norm if old else named.weight_norm
    written = io.BytesIO()
    layer = norm(theirs.nn.Linear(3, 4))
    theirs.save(layer.state_dict(), written)
    written.seek(0)
    own = parametrizations.weight_norm(ours.nn.Linear(3, 4))
    own.load_state_dict(ours.load(written))
    np.testing.assert_allclose(own.weight.detach().numpy(), layer.weight.detach().numpy(), 1e-6)


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm", "orthogonal"])
def test_compiled_steps_are_those_of_the_layer(norm):
    def trained(compiled):
        ours.manual_seed(0)
        layer = getattr(parametrizations, norm)(ours.nn.Linear(3, 4))
        optimizer = ours.optim.SGD(layer.parameters(), 0.1)

        def step(x):
            optimizer.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = ours.compile(step) if compiled else step
        losses = [run(ours.ones(2, 3) * k).item() for k in (1.0, 2.0, 3.0)]
        return losses, layer.state_dict()

    (expected, state), (got, other) = trained(False), trained(True)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    for name in state:
        np.testing.assert_allclose(other[name].numpy(), state[name].numpy(), rtol=1e-4, atol=1e-6)


def test_second_derivatives_of_a_normed_weight():
    from funcgrad.torch.nn.utils.weight_norm import scaled_direction

    rng = np.random.default_rng(0)
    v = ours.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    g = ours.tensor(rng.normal(size=(3, 1)), requires_grad=True)
    assert ours.autograd.gradcheck(lambda v, g: scaled_direction(v, g, 0), (v, g))
    assert ours.autograd.gradgradcheck(lambda v, g: scaled_direction(v, g, 0), (v, g))


def test_what_is_cached_is_forgotten_when_it_is_assigned():
    layer = parametrizations.spectral_norm(ours.nn.Linear(2, 2)).eval()
    with parametrize.cached():
        before = layer.weight
        layer.weight = ours.eye(2)
        assert layer.weight is not before


def fused(torch, say):
    f, nn = torch.nn.utils, torch.nn
    torch.manual_seed(0)
    x = torch.arange(50.0).reshape(1, 2, 5, 5) / 50
    for conv, bn, y, across in (
        (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), x, False),
        (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3, affine=False), x, False),
        (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), x, True),
    ):
        bn(conv(y))
        conv, bn = conv.eval(), bn.eval()
        made = f.fuse_conv_bn_eval(conv, bn, across)
        say(made, shown(made(y)), bool(torch.allclose(made(y), bn(conv(y)), atol=1e-5)))
    linear, bn = nn.Linear(5, 3), nn.BatchNorm1d(3)
    bn(linear(x[0, 0]))
    made = f.fuse_linear_bn_eval(linear.eval(), bn.eval())
    say(made, shown(made(x[0, 0])))
    for call in (lambda: f.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), bn),
                 lambda: f.fuse_linear_bn_eval(nn.Linear(5, 4).eval(), bn)):  # fmt: skip
        try:
            call()
        except AssertionError as error:
            say(error)
    say(tuple(f.skip_init(nn.Linear, 5, 1).weight.shape), torch.rand(1))


def test_fused_layers():
    same(fused)
