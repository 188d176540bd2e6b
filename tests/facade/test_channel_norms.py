"""Batch, group and instance norm as PyTorch has them: statistics, nodes, state, refusals."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .programs import agree, programs, refused


def drawn(torch, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return torch.tensor(rng.normal(1.0, 2.0, shape), dtype=torch.float64)


def state(layer):
    return {name: x.tolist() for name, x in layer.state_dict().items()}


LAYERS = [
    ("BatchNorm1d", (4, 3)),
    ("BatchNorm1d", (4, 3, 2)),
    ("BatchNorm2d", (2, 3, 2, 2)),
    ("BatchNorm3d", (2, 3, 1, 2, 2)),
    ("InstanceNorm1d", (2, 3, 4)),
    ("InstanceNorm1d", (3, 4)),
    ("InstanceNorm2d", (2, 3, 2, 2)),
    ("InstanceNorm3d", (2, 3, 1, 2, 2)),
]
OPTIONS = [
    {},
    {"momentum": None, "eps": 1e-3},
    {"affine": True, "track_running_stats": True, "momentum": 0.3},
    {"affine": False, "track_running_stats": False},
    {"affine": True, "bias": False},
]


def trains(name, shape, options):
    def program(torch, say):
        layer = getattr(torch.nn, name)(3, dtype=torch.float64, **options)
        for step in range(3):
            x = drawn(torch, *shape, seed=step).requires_grad_()
            y = layer(x)
            (y * drawn(torch, *shape, seed=9)).sum().backward()
            say(y.grad_fn.name(), y.tolist(), x.grad.tolist(), state(layer))
            say([p.grad.tolist() for p in layer.parameters()])
        layer.eval()
        x = drawn(torch, *shape, seed=5).requires_grad_()
        y = layer(x)
        (y * y * y).sum().backward()
        say(y.grad_fn.name(), y.tolist(), x.grad.tolist(), state(layer))
        say(list(layer.state_dict()), [n for n, _ in layer.named_parameters()])

    return program


@pytest.mark.peers
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name, shape", LAYERS)
def test_training_and_evaluation(name, shape, options):
    agree(trains(name, shape, options), digits=9)


# ----------------------------------------------------------------------------------- nodes


def nodes(torch, say):
    F = torch.nn.functional
    x, w, b = drawn(torch, 2, 4, 3).requires_grad_(), drawn(torch, 4), drawn(torch, 4)
    mean, var = drawn(torch, 4), drawn(torch, 4) ** 2
    for y in (
        F.batch_norm(x, mean.clone(), var.clone(), w, b, True),
        F.batch_norm(x, mean, var, w, b),
        F.batch_norm(x, None, None, training=True, eps=1e-3),
        F.group_norm(x, 2, w, b),
        F.group_norm(x, 4),
        F.layer_norm(x, (3,)),
    ):
        node = y.grad_fn
        say(node.name(), [p and p.name() for p, _ in node.next_functions], y.output_nr)
        for name in sorted(dir(node)):
            if name.startswith("_saved") and "running" not in name:
                found = getattr(node, name)
                say(name, found.detach().tolist() if isinstance(found, torch.Tensor) else found)
        y.sum().backward()
        for name in ("_saved_input", "_saved_result1"):
            refused(say, name, lambda node=node, name=name: getattr(node, name))


def gradients_of_gradients(torch, say):
    layer = torch.nn.BatchNorm1d(3, dtype=torch.float64)
    x = drawn(torch, 4, 3).requires_grad_()
    (g,) = torch.autograd.grad((layer(x) ** 3).sum(), x, create_graph=True)
    (g**2).sum().backward()
    say(x.grad.tolist(), layer.weight.grad.tolist())


def half_precision(torch, say):
    x = drawn(torch, 4, 6).half().requires_grad_()
    for layer in (torch.nn.BatchNorm1d(6), torch.nn.GroupNorm(2, 6)):
        y = layer(x)
        say(y.dtype, y.grad_fn.name(), state(layer))


def running_statistics_of_a_dtype(torch, say):
    layer = torch.nn.BatchNorm1d(3)
    layer(torch.ones(2, 3))
    say(layer.running_mean.dtype, layer.num_batches_tracked, layer.num_batches_tracked.dtype)
    layer.double()
    say(layer.running_mean.dtype, layer.num_batches_tracked.dtype)
    layer.reset_running_stats()
    say(state(layer))
    layer(torch.zeros(0, 3, dtype=torch.float64))
    say(state(layer))


# -------------------------------------------------------------------------------- refusals


def refusals(torch, say):
    nn, F = torch.nn, torch.nn.functional
    x, six = torch.ones(2, 6, 4), torch.ones(6)
    for name, shape in (("BatchNorm1d", (3,)), ("BatchNorm2d", (2, 3)), ("BatchNorm3d", (2, 3)),
                        ("InstanceNorm1d", (3,)), ("InstanceNorm2d", (2, 3))):  # fmt: skip
        refused(say, name, lambda n=name, s=shape: getattr(nn, n)(3)(torch.ones(s)))
    refused(say, "one", lambda: nn.BatchNorm1d(3)(torch.ones(1, 3)))
    refused(say, "features", lambda: nn.BatchNorm1d(3)(torch.ones(2, 4)))
    refused(say, "affine", lambda: nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5)))
    nn.InstanceNorm1d(3)(torch.arange(40.0).reshape(2, 4, 5))
    refused(say, "groups", lambda: nn.GroupNorm(4, 6))
    refused(say, "divided", lambda: F.group_norm(x, 4))
    refused(say, "weight", lambda: F.group_norm(x, 3, six[:3]))
    refused(say, "bias", lambda: F.group_norm(x, 3, six, six[:3]))
    refused(say, "negative", lambda: F.group_norm(x, -1))
    refused(say, "flat", lambda: F.group_norm(six, 3))
    refused(say, "whole", lambda: F.group_norm(x.long(), 3))
    refused(say, "whole batch", lambda: F.batch_norm(x.long(), None, None, training=True))
    refused(say, "dtype", lambda: F.batch_norm(x, six.double(), six.double()))
    refused(say, "wide", lambda: F.batch_norm(x.double(), six, six))
    refused(say, "absent", lambda: F.batch_norm(x, None, None))
    refused(say, "one of two", lambda: F.batch_norm(x, six, None, training=True))
    refused(say, "sizes", lambda: F.batch_norm(x, six[:3], six[:3]))
    refused(say, "eps", lambda: F.batch_norm(x, six, six, training=True, eps=0.0))
    refused(say, "negative eps", lambda: F.batch_norm(x, six, six, eps=-1.0))
    refused(say, "known", lambda: F.instance_norm(x, use_input_stats=False))
    refused(say, "spatial", lambda: F.instance_norm(x[..., :1]))
    refused(say, "grad", lambda: F.batch_norm(x, six.clone().requires_grad_(), six))
    refused(say, "neighbours", lambda: F.local_response_norm(x[0], 2))
    refused(say, "size", lambda: F.local_response_norm(x, 0))
    refused(say, "rms", lambda: F.rms_norm(x, (3,)))
    refused(say, "rms whole", lambda: F.rms_norm(x.long(), (4,)))
    say(F.local_response_norm(torch.zeros(0, 3, 2), 2).shape)


def states(torch, say):
    nn = torch.nn
    old = nn.BatchNorm1d(2).state_dict()
    del old["num_batches_tracked"]
    old._metadata[""]["version"] = 1
    say(nn.BatchNorm1d(2).load_state_dict(old))
    old._metadata[""]["version"] = 2
    refused(say, "count", lambda: nn.BatchNorm1d(2).load_state_dict(old))
    refused(say, "none", lambda: nn.BatchNorm1d(2, affine=False).load_state_dict(old))
    say(nn.BatchNorm1d(2, track_running_stats=False).state_dict())
    say(nn.InstanceNorm1d(2).state_dict(), nn.GroupNorm(1, 2).state_dict())


@pytest.mark.peers
@pytest.mark.parametrize("program", programs(globals()), ids=lambda f: f.__name__)
def test_program(program):
    agree(program, digits=6 if program is half_precision else 9)


# ------------------------------------------------------------------------- of this library


def test_an_evaluation_keeps_its_statistics_when_training_goes_on():
    layer = ours.nn.BatchNorm1d(3, dtype=ours.float64).eval()
    x = drawn(ours, 4, 3).requires_grad_()
    y = layer(x)
    layer.train()(drawn(ours, 4, 3, seed=1))
    (y**2).sum().backward()  # by the statistics that it was made with
    factor = 1 / np.sqrt(1 + layer.eps)
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() * factor**2, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_a_compiled_step_carries_the_running_statistics(momentum):
    def made():
        rng = np.random.default_rng(0)
        net = ours.nn.Sequential(ours.nn.Linear(3, 4), ours.nn.BatchNorm1d(4, momentum=momentum))
        with ours.no_grad():
            for p in net.parameters():
                p.copy_(ours.from_numpy(rng.normal(size=tuple(p.shape)).astype(np.float32)))
        optimizer = ours.optim.SGD(net.parameters(), lr=1e-3)  # the loss has no lower bound

        def step(x):
            optimizer.zero_grad()
            loss = (net(x) ** 3).sum()
            loss.backward()
            optimizer.step()
            return loss

        return net, step

    eager, plain = made()
    other, step = made()
    compiled = ours.compile(step)
    for k in range(4):
        x = drawn(ours, 5, 3, seed=k).float()
        np.testing.assert_allclose(compiled(x).item(), plain(x).item(), rtol=1e-4)
    assert compiled.calls >= 3, compiled.report()
    for (name, a), b in zip(eager.state_dict().items(), other.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
    assert other[1].num_batches_tracked.item() == 4
