"""Calls that follow a recipe: the same values, gradients, refusals and nodes as the general way.

Every program runs three times with PyTorch and with the facade, where the second call is made by a
recipe already.
"""

import gc
import weakref

import numpy as np
import pytest

import funcgrad.torch as ours
import funcgrad.torch as torch
from funcgrad.torch import remembered

from .both import same

OPERATIONS = {
    "sum": lambda torch, x, z, m: x.sum(),
    "sum along": lambda torch, x, z, m: x.sum(1, keepdim=True),
    "mean": lambda torch, x, z, m: x.mean(dim=(0, 1)),
    "prod": lambda torch, x, z, m: x.prod(),
    "max": lambda torch, x, z, m: x.max(),
    "amax": lambda torch, x, z, m: x.amax(0),
    "var": lambda torch, x, z, m: x.var(1),
    "logsumexp": lambda torch, x, z, m: torch.logsumexp(x, 1),
    "cumsum": lambda torch, x, z, m: x.cumsum(1),
    "neg": lambda torch, x, z, m: -x,
    "from number": lambda torch, x, z, m: 1 - x,
    "by number": lambda torch, x, z, m: x / 20,
    "pow": lambda torch, x, z, m: x**z,
    "maximum": lambda torch, x, z, m: torch.maximum(x, z),
    "clamp": lambda torch, x, z, m: x.clamp(0.2, 0.8),
    "where": lambda torch, x, z, m: torch.where(m, x, z),
    "masked_fill": lambda torch, x, z, m: x.masked_fill(m, 2.0),
    "softmax": lambda torch, x, z, m: torch.softmax(x, 1),
    "log_softmax": lambda torch, x, z, m: torch.log_softmax(x, 0),
    "gelu": lambda torch, x, z, m: torch.nn.functional.gelu(x),
    "softplus": lambda torch, x, z, m: torch.nn.functional.softplus(x),
    "mse_loss": lambda torch, x, z, m: torch.nn.functional.mse_loss(x, z),
    "mm": lambda torch, x, z, m: x @ z.t(),
    "mv": lambda torch, x, z, m: x.mv(z[0]),
    "cat": lambda torch, x, z, m: torch.cat([x, z], 1),
    "stack": lambda torch, x, z, m: torch.stack([x, z]),
    "flip": lambda torch, x, z, m: x.flip(0),
    "clone": lambda torch, x, z, m: x.clone(),
    "reshape": lambda torch, x, z, m: x.reshape(-1),
    "view": lambda torch, x, z, m: x.view(3, 2),
    "of a view": lambda torch, x, z, m: x.t().sum(0),
    "unsqueeze": lambda torch, x, z, m: x.unsqueeze(1),
    "expand": lambda torch, x, z, m: x.unsqueeze(0).expand(2, -1, -1),
    "index": lambda torch, x, z, m: x[1],
    "slice": lambda torch, x, z, m: x[:, 1:],
    "chained": lambda torch, x, z, m: x[0][1:],
    "rows": lambda torch, x, z, m: x[torch.tensor([1, 0, -1])],
    "places": lambda torch, x, z, m: x[torch.tensor([1, 0]), torch.tensor([[2], [-3]])],
    "index_select": lambda torch, x, z, m: x.index_select(0, torch.tensor([1, 0, 1])),
    "gather": lambda torch, x, z, m: x[0].gather(0, torch.tensor([2, 0, 2])),
    "largest": lambda torch, x, z, m: x[0].topk(2, 0).values,
    "largest along": lambda torch, x, z, m: x[1].max(0).values,
    "sorted": lambda torch, x, z, m: x[0].sort(0, True).values,
    "index_add": lambda torch, x, z, m: x[0].index_add(0, torch.tensor([2, 0, 2]), z[1]),
    "elu": lambda torch, x, z, m: torch.nn.functional.elu(x - 0.5),
    "logsigmoid": lambda torch, x, z, m: torch.nn.functional.logsigmoid(x),
    "take": lambda torch, x, z, m: x.take(torch.tensor([[5, -1], [0, 5]])),
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(remembered, "OFTEN", 0)


def operands(torch, k=0):
    """Two matrices whose rows are exact in binary, and a mask."""
    x = torch.tensor([[0.25, 0.5, 0.75], [0.125, 1.0, 0.375]]) + k / 4
    z = torch.tensor([[1.0, 0.25, 0.5], [0.5, 2.0, 0.125]]) * (k + 1)
    return x.requires_grad_(), z.requires_grad_(), torch.tensor([[True, False, True]])


def rounded(x):
    return None if x is None else [round(v, 4) + 0.0 for v in x.detach().reshape(-1).tolist()]


def gradients(f, torch, say):
    for k in range(3):
        x, z, m = operands(torch, k)
        y = f(torch, x, z, m)
        say(y.dtype, y.shape, y.stride(), rounded(y), type(y.grad_fn).__name__, y._is_view())
        say(len(y.grad_fn.next_functions), y.grad_fn.name())
        numbers = ("dim", "keepdim", "min", "max", "correction", "start", "sizes")
        say([getattr(y.grad_fn, f"_saved_{name}", None) for name in numbers])
        (y * y.detach()).sum().backward()
        say(rounded(x.grad), rounded(z.grad), x.grad.dtype, x.grad.stride())


def again(f, torch, say):
    """Twice through one graph, and once too often."""
    for k in range(2):
        x, z, m = operands(torch, k)
        y = f(torch, x, z, m)
        y.backward(torch.ones_like(y), retain_graph=True)
        y.backward(torch.ones_like(y))
        say(rounded(x.grad))
        try:
            y.backward(torch.ones_like(y))
            say(rounded(x.grad))
        except RuntimeError as error:
            say(str(error)[:60])


def second(f, torch, say):
    for k in range(2):
        x, z, m = operands(torch, k)
        y = f(torch, x, z, m)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad((g * g).sum(), x, allow_unused=True)
        say(rounded(g), rounded(h))


def written(f, torch, say):
    """The operand, and the result, change before the backward pass."""
    for which in range(2):
        for k in range(2):
            a, z, m = operands(torch, k)
            x = a * 1
            y = f(torch, x, z, m)
            total = (y * 1).sum()
            try:
                if which:
                    y.add_(1)
                else:
                    x.mul_(2)
                (total + y.sum()).backward()
                say(rounded(a.grad))
            except RuntimeError as error:
                say(str(error).replace("\n", " ")[:120])


def hooked(f, torch, say):
    for k in range(2):
        x, z, m = operands(torch, k)
        y = f(torch, x, z, m)
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.grad_fn.register_hook(lambda inputs, outputs: say(len(inputs), len(outputs)))
        y.sum().backward()
        say(rounded(x.grad), rounded(y.grad))


SAVED_THERE = ("gather", "take")  # PyTorch's nodes save the operand, which they do not need


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (name, program)
        for name in OPERATIONS
        for program in (gradients, again, second, written, hooked)
        if program is not written or name not in SAVED_THERE
    ],
)
def test_as_pytorch(name, program):
    same(lambda torch, say: program(OPERATIONS[name], torch, say))


def test_followed():
    """The second call is made by a recipe, or these tests test nothing.

    Where a part of the operation is what has one, and the whole has not, it is the third.
    """
    for name, f in OPERATIONS.items():
        for _ in range(3 if name == "largest along" else 2):
            y = f(ours, *operands(ours))
        assert y._t.node.hot, name


def numbers(torch, say):
    """Arguments that Python calls equal are not the same call."""
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    for number in (0.0, -0.0, 0, False, float("nan"), 1, True, 1.0):
        for _ in range(2):
            say(number, x.clamp(max=number), torch.where(x > 0, x, number))


def infinite(torch, say):
    """0 times an infinite partial derivative is 0 where the cotangent is 0."""
    for _ in range(3):
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        y = torch.linalg.vector_norm(x, 0.5)
        (torch.nn.functional.softplus(x) * torch.tensor([0.0, 1.0])).sum().backward()
        say(y, rounded(x.grad))


def positions(torch, say):
    """What cannot be a position is refused in every call, and what was changed since as well."""
    x = torch.tensor([0.25, 0.5, 0.75], requires_grad=True)
    calls = {
        "[]": lambda at: x[at],
        "select": lambda at: x.index_select(0, at),
        "gather": lambda at: x.gather(0, at),
        "index_add": lambda at: x.index_add(0, at, at.to(x.dtype)),
        "take": lambda at: x.take(at),
    }
    for name, f in calls.items():
        for given in ([2, 0], [1, 1], [-1, 0], [3, 0], [0, -4], [0, 2]):
            for dtype in (torch.int64, torch.int32):
                try:
                    say(name, given, f(torch.tensor(given, dtype=dtype)))
                except (IndexError, RuntimeError) as error:
                    say(name, given, type(error).__name__, error)
        for _ in range(3):
            at = torch.tensor([2, 0])
            y = f(at)
            at.zero_()
            try:
                say(torch.autograd.grad(y.sum(), x))
            except RuntimeError as error:
                say(name, str(error)[:90])
        say(torch.autograd.grad(f(torch.tensor([2, 2])).prod(), x, create_graph=True))


def warned(torch, say):
    for _ in range(3):
        x, y = torch.ones(2, requires_grad=True), torch.ones(1)
        say(torch.nn.functional.mse_loss(x, y))


def unlike(torch, say):
    """Tensors of other kinds, layouts and origins in between."""
    for x in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(2, 3).double(),
              torch.ones(2, 3).long(), torch.ones(2, 3) * 1j, torch.ones(4, 3)[::2],
              torch.ones(2, 3), torch.ones(3, 2).t()):  # fmt: skip
        say(x.sum(), x.reshape(-1), x.reshape(6)._is_view(), x[0], x.clone().stride())
        if x.is_floating_point():
            x.requires_grad_()
            say(x.sum(), x.reshape(-1).grad_fn.name(), x[0], x.softmax(0))
        with torch.no_grad():
            say(x.sum().requires_grad, x[0].requires_grad)


def resized(torch, say):
    """Memory of another shape under the same tensor."""
    x, total = torch.ones(3), torch.ones(3)
    for _ in range(2):
        say(x.sum(), torch.cat([x, total]))
    x.data = torch.full((5,), 2.0)
    say(x.sum(), torch.cat([x, total]), x + 1)
    torch.mul(torch.ones(4), 2, out=torch.empty(0))
    say(x.sum())


def written_view(torch, say):
    """A view of a base that has got another history since."""
    for _ in range(2):
        a = torch.ones(4, requires_grad=True)
        b = a * 1
        v = b[1:]
        b.mul_(3)
        say(v.sum(), v[0], v.grad_fn.name())
        (v.softmax(0) * v).sum().backward()
        say(rounded(a.grad))


def inference(torch, say):
    with torch.inference_mode():
        x = torch.ones(2, 3)
    for _ in range(2):
        y = x[0]
        say(y._is_view(), y.is_inference(), x.sum().is_inference())


@pytest.mark.parametrize(
    "program", [numbers, infinite, warned, unlike, resized, written_view, inference]
)
def test_program(program):
    same(program)


def test_freed_by_counting():
    """What a recipe keeps of the way goes with the pass, and nothing is left to the collector."""
    x = ours.linspace(0.1, 0.9, 3).requires_grad_()
    for _ in range(2):
        y = ours.nn.functional.softplus(x)
    node = y._t.node
    inner = weakref.ref(node)
    y.sum().backward()
    assert node.inner is None
    gc.collect()
    gc.disable()
    try:
        del node, y
        assert inner() is None
    finally:
        gc.enable()


# Operations that may hand back the value itself, of tensors without axes
NOTHING_TO_DO = {
    "clone": lambda x: x.clone(),
    "contiguous clone": lambda x: x.clone(memory_format=ours.contiguous_format),
    "flip": lambda x: x.flip([]),
    "roll": lambda x: ours.roll(x, 0),
    "copy of an alias": lambda x: ours.alias_copy(x),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "amax": lambda x: x.amax(),
    "prod": lambda x: x.prod(),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort()[0],
    "median": lambda x: x.median(),
    "positive": lambda x: x.clamp(-100.0),
    "where": lambda x: ours.where(ours.tensor(True), x, x),
}


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_a_recipe_of_a_scalar_gives_arrays_memory_of_their_own(name, moving):
    """The results of arithmetic are scalars of NumPy, new tensors without axes are arrays."""
    call = NOTHING_TO_DO[name]
    x = ours.tensor(0.5, dtype=ours.float64, requires_grad=moving)
    for _ in range(3):
        call(x * 2.0)
    y = call(x)
    with ours.no_grad():
        x.fill_(3.0)
    assert y.item() == 0.5


LARGE = {
    "hot": lambda x, y: (-(x * y) + x / y - 2.0 * y).abs(),
    "costly": lambda x, y: torch.exp(x).sin() * y.sqrt(),
    "views": lambda x, y: x.reshape(-1)[10:].view(2, -1).unsqueeze(1) * 3,
    "sums": lambda x, y: x.sum() + y.mean(0),
    "choices": lambda x, y: torch.where(x > y, x, y).clamp(min=0.3) + torch.maximum(x, y),
    "several parts": lambda x, y: torch.cat([x, y]) + torch.stack([x, y]).reshape(-1, 200),
    "activations": lambda x, y: torch.relu(x) + torch.nn.functional.gelu(y).softmax(-1),
    "masks": lambda x, y: torch.where(x.detach() > 0.5, x, y).masked_fill(y.detach() > 0.7, 0.0),
    "transposed": lambda x, y: (x.t() * y.t() + x.t().sum(0, keepdim=True).abs()).t().sum(1),
    "used often": lambda x, y: x * x + x[:, :1] * x + y.expand(2, 180, 200).sum(0) * x + x,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_have_the_same_bits_at_every_call(name):
    """Also once the calls have come often enough for recipes."""
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.1, 0.9, (180, 200)).astype("f") for _ in range(2)]
    found = []
    for _ in range(70):
        x, y = (torch.from_numpy(v).requires_grad_() for v in values)
        made = LARGE[name](x, y)
        made.backward(torch.full(made.shape, 0.7))
        grads = [None if t.grad is None else t.grad.numpy() for t in (x, y)]
        found.append((made.detach().numpy(), *(g for g in grads if g is not None)))
    for one, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_array_equal(one, other)
