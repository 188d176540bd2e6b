"""Recurrent layers within autocasting beside PyTorch: dtypes, values, gradients and refusals."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, theirs

KINDS = ["float32", "bfloat16"]
LAYERS = ["RNN", "LSTM", "GRU"]
UNIT = 2**-8  # by which a number of bfloat16 is rounded at most


def filled(torch, name, **options):
    layer = getattr(torch.nn, name)(3, 4, **options)
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.tensor((rng.normal(size=tuple(p.shape)) / 2).tolist()))
    return layer


def flat(found):
    return [y for x in found for y in flat(x)] if isinstance(found, tuple) else [found]


def first_state(torch, name, shape, kind):
    if kind is None:
        return None
    made = torch.full(shape, 0.25, dtype=getattr(torch, kind))
    return (made, made) if "LSTM" in name else made


def beside_pytorch(run):
    """The dtypes are PyTorch's, and the numbers about as near to those in float32 as PyTorch's."""
    expected, got, single = run(theirs, True), run(ours, True), run(theirs, False)
    assert [str(x.dtype) for x in got] == [str(x.dtype) for x in expected]
    numbers = ([np.array(x.double().tolist()) for x in xs] for xs in (got, expected, single))
    for mine, values, exact in zip(*numbers, strict=True):
        allowed = 2 * np.abs(values - exact).max() + UNIT * np.abs(exact).max()
        assert np.abs(mine - exact).max() <= allowed


def stepped(name, kind, state, shape, first, **options):
    """What a layer or cell gives with or without autocasting, and its gradients."""

    def run(torch, cast):
        layer = filled(torch, name, **options)
        x = np.random.default_rng(1).normal(size=shape).tolist()
        x = torch.tensor(x, dtype=getattr(torch, kind))
        x = x if cast else x.float()
        given = first_state(torch, name, first, state if cast else state and "float")
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            found = flat(layer(x.requires_grad_(), given))
        sum((y.float() ** 2).sum() for y in found).backward()
        return [y.detach() for y in found] + [x.grad] + [p.grad for p in layer.parameters()]

    return run


needs_torch = pytest.mark.skipif(theirs is None, reason="needs torch")


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("state", [None, *KINDS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_pytorchs_dtypes(name, kind, state):
    beside_pytorch(stepped(name, kind, state, (3, 2, 3), (1, 2, 4)))


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_both_directions_have_pytorchs_dtypes(name):
    options = {"num_layers": 2, "bidirectional": True}
    beside_pytorch(stepped(name, "float32", None, (3, 2, 3), None, **options))


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("state", [None, *KINDS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_cell_has_pytorchs_dtypes(name, kind, state):
    beside_pytorch(stepped(f"{name}Cell", kind, state, (2, 3), (2, 4)))


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("name", LAYERS)
def test_a_packed_sequence_has_pytorchs_dtypes(name):
    def run(torch, cast):
        x = torch.tensor(np.random.default_rng(1).normal(size=(3, 3)).tolist())
        packed = torch.nn.utils.rnn.pack_sequence([x, x[:2]])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            steps, last = filled(torch, name)(packed)
        return [y.detach() for y in flat((steps.data, last))]

    beside_pytorch(run)


def double_precision(torch, say):
    for name in LAYERS:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            try:
                filled(torch, name)(torch.ones(3, 2, 3, dtype=torch.float64))
            except RuntimeError as error:
                say(name, str(error))


def test_double_precision_stays_and_is_refused():
    same(double_precision)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_follows_the_autocasting_around_it(name):
    layer, x = filled(ours, name), ours.ones(3, 2, 3)
    step = ours.compile(lambda x: layer(x)[0])
    for _ in range(2):
        with ours.autocast("cpu"):
            assert step(x).dtype is layer(x)[0].dtype
        assert step(x).dtype is layer(x)[0].dtype is ours.float32
