"""bfloat16 beside PyTorch: dtypes, values within one unit in the last place, and gradients."""

import copy
import io
import pickle

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.core.bfloat16 import BFLOAT16, bits_of, from_bits, rounded
from funcgrad.errors import UnsupportedCallError

from .bfloat16_programs import programs
from .both import same, theirs

needs_torch = pytest.mark.skipif(theirs is None, reason="needs torch")
SHAPES = {
    "x": (4, 6), "y": (4, 6), "z": (4, 6), "s": (5, 5), "v": (6,), "m": (6, 5), "b": (2, 4, 6),
    "c": (2, 6, 3), "i": (2, 3, 8, 8), "w": (4, 3, 3, 3),
}  # fmt: skip


def operands():
    rng = np.random.default_rng(0)
    found = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    found["p"] = np.abs(rng.normal(size=(4, 6))) + 0.5
    found["u"] = rng.random((4, 6)) * 0.8 + 0.1
    return found


def numbers(x):
    return np.array(x.detach().tolist(), float)


def run(torch, text):
    """The dtype, the numbers, and the gradients by the operands that it uses."""
    made = {
        name: torch.tensor(x.tolist()).to(torch.bfloat16).requires_grad_()
        for name, x in operands().items()
    }
    y = eval(text, {"t": torch, "F": torch.nn.functional, **made})
    if not y.requires_grad:
        return str(y.dtype), numbers(y), {}
    weights = torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape)
    (y.float() * weights).sum().backward()
    grads = {name: x.grad for name, x in made.items() if x.grad is not None}
    return str(y.dtype), numbers(y), {name: (str(g.dtype), numbers(g)) for name, g in grads.items()}


def spacing(x):
    return 2.0 ** (np.floor(np.log2(np.maximum(np.abs(x), 1e-30))) - 7)


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("text", list(programs()))
def test_an_operation_gives_pytorchs_values_and_gradients(text):
    kind, expected, expected_grads = run(theirs, text)
    mine, got, grads = run(ours, text)
    assert mine == kind and got.shape == expected.shape and grads.keys() == expected_grads.keys()
    largest = np.abs(expected).max() if expected.size else 0
    # one unit in the last place, of a sum that cancels of its terms
    close = np.abs(got - expected) <= np.maximum(spacing(expected), spacing(largest) / 8)
    assert np.all(close | (got == expected))
    for name, (kind, g) in expected_grads.items():
        assert grads[name][0] == kind
        np.testing.assert_allclose(grads[name][1], g, 2**-6, np.abs(g).max() * 2**-7)


def dtypes(torch, say):
    for name in ("bfloat16", "float16", "float32", "float64", "int8", "bool"):
        kind = getattr(torch, name)
        say(torch.promote_types(torch.bfloat16, kind), torch.can_cast(torch.bfloat16, kind))
        say(torch.result_type(torch.ones(2, dtype=torch.bfloat16), torch.ones((), dtype=kind)))
    say(torch.bfloat16, torch.bfloat16.itemsize, torch.bfloat16.abbr, torch.bfloat16.to_real())
    say(torch.bfloat16.is_floating_point, torch.bfloat16.is_signed, torch.finfo(torch.bfloat16))
    say(pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16)
    x = torch.tensor([1.1, -2.2, float("nan"), float("inf"), 3.4e38], dtype=torch.bfloat16)
    say(x, x.dtype, x.element_size(), x.nbytes, x.stride(), x[1:].storage_offset(), x.type())
    say(x.tolist(), x[0].item(), f"{x[1]:.4f}", x.bfloat16() is x, x.to(torch.bfloat16) is x)
    say(torch.zeros(2, dtype=torch.bfloat16), torch.full((2,), 0.1, dtype=torch.bfloat16))
    say(x.new_ones(2), torch.empty_like(x).dtype, torch.tensor(1.1).bfloat16(), x[:2].float())
    say(torch.nn.Linear(2, 1).bfloat16().weight.dtype, torch.BFloat16Tensor([1.1]))
    say(x.detach(), x.data, copy.deepcopy(x), pickle.loads(pickle.dumps(x)))
    torch.set_default_dtype(torch.bfloat16)
    say(torch.ones(2) * 1.1, torch.get_default_dtype(), torch.tensor(1.1).dtype)
    torch.set_default_dtype(torch.float32)


def test_dtypes_and_attributes():
    same(dtypes)


def drawn(torch, say):
    for n in (1, 5, 15, 16, 20, 100):
        torch.manual_seed(3)
        z = torch.empty(n, dtype=torch.bfloat16)
        say(torch.rand(n, dtype=torch.bfloat16), torch.randn(n, dtype=torch.bfloat16))
        say(z.uniform_(-1, 1), z.normal_(0.5, 2), z.bernoulli_(0.3), z.exponential_(), z.random_())
        say(torch.nn.functional.dropout(torch.ones(n, dtype=torch.bfloat16)))


def test_random_numbers_are_pytorchs():
    same(drawn)


def refused(torch, say):
    x = torch.ones(2, 2, dtype=torch.bfloat16)
    for call in (
        x.numpy, lambda: np.asarray(x), lambda: torch.fft.fft(x), lambda: torch.linalg.inv(x),
        lambda: torch.complex(x, x), lambda: torch.view_as_complex(x), lambda: torch.cdist(x, x),
        lambda: torch.nn.functional.pdist(x), lambda: torch.geqrf(x),
        lambda: torch.from_numpy(np.zeros(2, ">f4")), lambda: torch.tensor(np.zeros(2, ">f4")),
    ):  # fmt: skip
        try:
            say(call())
        except (TypeError, RuntimeError, ValueError) as error:
            say(type(error).__name__, error)


def test_what_pytorch_refuses_is_refused():
    same(refused)


@pytest.mark.parametrize(
    "call", [lambda x: x.view(ours.int16), lambda x: x.storage(), lambda x: x.untyped_storage()]
)
def test_the_bytes_of_elements_are_refused(call):
    with pytest.raises(UnsupportedCallError, match="of bfloat16 is not supported"):
        call(ours.ones(2, dtype=ours.bfloat16))


def graph(torch, say):
    x = torch.tensor([1.1, -2.2, 3.3], dtype=torch.bfloat16, requires_grad=True)
    y = x * 2.1
    y.retain_grad()
    y.register_hook(lambda g: say("hook", g))
    z = (y * x + y.sin()).sum()
    say(type(y.grad_fn).__name__, type(z.grad_fn).__name__, z.detach(), z.dtype)
    (g,) = torch.autograd.grad(z, y, retain_graph=True)
    say(g.dtype)
    z.backward()
    say(x.grad.dtype, y.grad.dtype)
    (x.float() * 3.3).sum().backward()
    say(x.grad.dtype, x.grad.shape)
    u = torch.tensor([0.7, 0.3], dtype=torch.bfloat16, requires_grad=True)
    (first,) = torch.autograd.grad((u**3).sum(), u, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), u)
    say(first.detach(), second)
    v = u + 1
    u.data.add_(1.0)  # what is not saved may be written
    v.sum().backward()
    say(u.grad, u)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            say(g.dtype, ctx.saved_tensors[0].dtype)
            return g * 2

    w = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    out = Twice.apply(w)
    out.sum().backward()
    say(out.detach(), w.grad)


def test_graph_hooks_and_second_order():
    same(graph)


def test_transforms_keep_the_dtype():
    x = ours.tensor([1.1, 2.2]).bfloat16()
    for made in (
        ours.func.grad(lambda x: (x * x).sum())(x), ours.func.jacrev(lambda x: x * x)(x),
        ours.func.vmap(lambda x: x * 2.1)(x), *ours.func.jvp(ours.sin, (x,), (x,)),
        ours.func.hessian(lambda x: (x**3).sum())(x), ours.compile(lambda x: x * 1.1)(x),
        ours.compile(lambda x: (x * 1.1).sin().sum())(x),
    ):  # fmt: skip
        assert made.dtype is ours.bfloat16
        assert made.tolist() == made.float().bfloat16().tolist()


def test_rounding_is_to_nearest_even_for_all_pairs_of_halves():
    top = np.arange(1 << 16, dtype=np.uint32) << 16
    for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        given = (top | low).view(np.float32)
        got = bits_of(rounded(given))
        finite = np.isfinite(given)
        exact = given[finite].astype(np.float64)
        below = top.view(np.float32)[finite].astype(np.float64)
        value = from_bits(got[finite]).astype(np.float64)
        unit = np.spacing(np.abs(below).astype(np.float32)).astype(np.float64) * 2**16
        assert np.all((np.abs(value - exact) <= unit / 2) | np.isinf(value))
        if low == 0x8000:
            assert np.all(got[finite] % 2 == 0)
    assert np.isnan(rounded(np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32))).all()
    assert rounded(1.1).dtype is BFLOAT16 and rounded(1.1).shape == ()


@needs_torch
@pytest.mark.peers
def test_files_go_both_ways():
    state = {"a": [1.1, -2.3], "v": [2.0, 3.0, 4.0]}
    for writer, reader in ((ours, theirs), (theirs, ours), (ours, ours)):
        buffer = io.BytesIO()
        whole = writer.arange(6.0).bfloat16()
        a = writer.tensor(state["a"]).bfloat16()
        writer.save({"a": a, "v": whole[2:5], "w": whole}, buffer)
        buffer.seek(0)
        read = reader.load(buffer)
        assert read["a"].dtype is reader.bfloat16
        assert read["a"].tolist() == writer.tensor(state["a"]).bfloat16().tolist()
        assert read["v"].tolist() == state["v"] and read["w"].numel() == 6
        read["w"][2] = 9.0
        assert read["v"][0].item() == 9.0


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}, "Adam": {"lr": 0.05},
    "AdamW": {"lr": 0.05}, "RMSprop": {"lr": 0.02}, "Adagrad": {"lr": 0.1}, "Adamax": {"lr": 0.05},
    "NAdam": {"lr": 0.05}, "RAdam": {"lr": 0.05}, "Adadelta": {}, "Adafactor": {"lr": 0.05},
}  # fmt: skip


def trained(torch, name):
    rng = np.random.default_rng(0)
    w = torch.tensor(rng.normal(size=(5, 3)).tolist()).bfloat16().requires_grad_()
    x = torch.tensor(rng.normal(size=(8, 3)).tolist()).bfloat16()
    optimizer = getattr(torch.optim, name)([w], **OPTIMIZERS[name])
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((x @ w.T).tanh() - 0.5).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = {k: str(v.dtype) for k, v in optimizer.state[w].items() if hasattr(v, "dtype")}
    return losses, state, w


@needs_torch
@pytest.mark.peers
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_trains_parameters_of_bfloat16(name):
    expected, state, _ = trained(theirs, name)
    got, mine, w = trained(ours, name)
    np.testing.assert_allclose(got, expected, rtol=2**-5)  # here a step is rounded once
    assert mine == state
    assert w.tolist() == w.float().bfloat16().tolist()  # nothing beyond bfloat16 is kept


def written_in_place(torch, say):
    x = torch.arange(6.0).bfloat16().reshape(2, 3)
    x[0] = 1.1
    x[:, 1].add_(0.01)
    x[x > 4] = 3.33
    x[[1], [0]] = 7.77
    x[1, 1] = torch.tensor(0.1).bfloat16()
    say(x, x.index_fill(1, torch.tensor([0]), 0.7), x.masked_fill(x > 1, 0.123))
    y = torch.zeros(3, dtype=torch.bfloat16)
    y += torch.tensor([0.1, 0.2, 0.3])
    say(y, torch.add(y, 0.1, out=torch.empty(3, dtype=torch.bfloat16)))
    w = torch.ones(3, 2, dtype=torch.bfloat16, requires_grad=True)
    (w * 3.3).sum().backward()
    say(torch.nn.utils.clip_grad_norm_([w], 1.0).dtype, w.grad.dtype)


def test_what_is_written_is_rounded():
    same(written_in_place)
