"""Convolutions against PyTorch's: values, dtypes, graphs, two orders of derivatives, errors."""

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same
from .test_nn_functional import assert_close, graph

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.peers
RNG = np.random.default_rng(0)

# (name, shapes of input, weight and bias, options)
CASES = [
    ("conv2d", (2, 3, 6, 5), (4, 3, 3, 2), (4,), {}),
    ("conv2d", (2, 3, 6, 5), (4, 3, 3, 3), None, {"padding": 1}),
    ("conv2d", (3, 6, 5), (4, 3, 3, 2), (4,), {"stride": (2, 1), "padding": (1, 0)}),
    ("conv2d", (1, 4, 7, 8), (6, 2, 2, 3), (6,), {"groups": 2, "dilation": (2, 1), "stride": 3}),
    ("conv2d", (2, 4, 5, 5), (4, 1, 3, 3), (4,), {"groups": 4, "padding": "same"}),
    ("conv2d", (2, 1, 5, 5), (2, 1, 2, 4), (2,), {"padding": "same", "dilation": (1, 2)}),
    ("conv2d", (2, 2, 4, 4), (3, 2, 1, 1), (3,), {"padding": "valid", "stride": 2}),
    ("conv2d", (0, 2, 4, 4), (3, 2, 2, 2), (3,), {}),
    ("conv1d", (2, 3, 9), (4, 3, 3), (4,), {"stride": 2, "padding": 2}),
    ("conv1d", (4, 9), (4, 2, 3), None, {"groups": 2, "dilation": 3}),
    ("conv1d", (1, 2, 9), (2, 2, 4), (2,), {"padding": "same"}),
    ("conv3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (3,), {"stride": (1, 2, 2), "padding": 1}),
    ("conv_transpose2d", (2, 3, 4, 5), (3, 2, 3, 2), (2,), {}),
    ("conv_transpose2d", (2, 4, 3, 3), (4, 2, 3, 3), (4,),
     {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}),
    ("conv_transpose2d", (4, 3, 3), (4, 1, 2, 2), None,
     {"dilation": 3, "stride": (1, 2), "output_padding": (2, 0)}),
    ("conv_transpose1d", (2, 3, 5), (3, 2, 4), (2,), {"stride": 3, "output_padding": 2}),
    ("conv_transpose3d", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (2,), {"stride": 2, "padding": 1}),
]  # fmt: skip
IDS = [f"{c[0]}-{k}" for k, c in enumerate(CASES)]


def leaves(torch, case, dtype, seed=0):
    rng = np.random.default_rng(seed)
    kind = getattr(torch, dtype)
    return [
        None if s is None else torch.tensor(rng.normal(size=s), dtype=kind, requires_grad=True)
        for s in case[1:4]
    ]


def outcome(torch, case, dtype):
    """The value, the gradients, and those of a weighted sum of them."""
    xs = leaves(torch, case, dtype)
    y = getattr(torch.nn.functional, case[0])(*xs, **case[4])
    rng = np.random.default_rng(1)

    def weighted(t):
        return (t * torch.tensor(rng.normal(size=tuple(t.shape)), dtype=t.dtype)).sum()

    wanted = [x for x in xs if x is not None]
    first = torch.autograd.grad(weighted(y), wanted, create_graph=True)
    second = torch.autograd.grad(sum(map(weighted, first[:2])), wanted[:2], allow_unused=True)
    found = [y, *first, *(x * 0 if g is None else g for g, x in zip(second, wanted, strict=False))]
    return [(str(f.dtype), np.asarray(f.detach().double().numpy())) for f in found]


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_two_orders(case, dtype):
    rtol = 256 * np.finfo(dtype).eps
    assert_close(outcome(ours, case, dtype), outcome(theirs, case, dtype), rtol)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_graph(case):
    one, other = (
        graph(getattr(t.nn.functional, case[0])(*leaves(t, case, "float64"), **case[4]))
        for t in (ours, theirs)
    )
    assert one == other


@pytest.mark.parametrize("dtype", ["int64", "float16", "complex64", "complex128"])
def test_other_dtypes(dtype):
    x, w = RNG.integers(-3, 4, (1, 2, 4, 4)), RNG.integers(-3, 4, (2, 2, 2, 2))
    found = []
    for t in (ours, theirs):
        a, b = (t.tensor(v, dtype=getattr(t, dtype)) for v in (x, w))
        made = [t.nn.functional.conv2d(a, b), t.nn.functional.conv_transpose2d(a, b)]
        found.append([(str(y.dtype), y.tolist()) for y in made])
    assert found[0] == found[1]


def test_gradients_of_complex_images():
    shapes = (1, 2, 4, 4), (2, 2, 2, 2)
    parts = [RNG.normal(size=s) + 1j * RNG.normal(size=s) for s in shapes]
    found = []
    for t in (ours, theirs):
        x, w = (t.tensor(p, requires_grad=True) for p in parts)
        t.nn.functional.conv2d(x, w).abs().sum().backward()
        found.append([x.grad.numpy(), w.grad.numpy()])
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_strided_operands():
    shapes = (5, 3, 2, 6), (2, 4, 3, 3)
    x, w = (RNG.normal(size=s) for s in shapes)
    found = []
    for t in (ours, theirs):
        a, b = (t.tensor(v, requires_grad=True) for v in (x, w))
        turned = a.permute(2, 1, 0, 3).flip(3)[:, :, :, ::1]
        y = t.nn.functional.conv2d(turned, b.transpose(0, 1)[:, :1].expand(4, 3, 3, 3))
        (y**2).sum().backward()
        found.append([y.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


ERRORS = {
    "operands": lambda t, F, r: (
        lambda: F.conv2d(3, r(1, 1, 3, 3)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), 3),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), stride=1.5),
        lambda: F.conv_transpose2d(r(1, 1, 3, 3), 3),
    ),
    "ranks": lambda t, F, r: (
        lambda: F.conv2d(r(3, 3), r(1, 1, 3, 3)),
        lambda: F.conv1d(r(3), r(1, 1, 2)),
        lambda: F.conv3d(r(1, 1, 3), r(1, 1, 2, 2, 2)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 3, 3)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 1, 3, 3)),
        lambda: F.conv1d(r(1, 1, 3), r(1, 1, 1, 3)),
        lambda: F.conv_transpose2d(r(3, 3), r(1, 1, 3, 3)),
    ),
    "channels": lambda t, F, r: (
        lambda: F.conv2d(r(1, 2, 3, 3), r(1, 1, 3, 3)),
        lambda: F.conv2d(r(2, 3, 3), r(1, 1, 3, 3)),
        lambda: F.conv2d(r(1, 4, 3, 3), r(2, 1, 3, 3), groups=2),
        lambda: F.conv2d(r(1, 4, 3, 3), r(3, 2, 3, 3), groups=2),
        lambda: F.conv2d(r(1, 4, 3, 3), r(3, 2, 3, 3), groups=0),
        lambda: F.conv2d(r(1, 1, 3, 3), r(0, 1, 2, 2)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), r(2)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), r(1, 1)),
        lambda: F.conv_transpose2d(r(1, 2, 3, 3), r(1, 1, 3, 3)),
        lambda: F.conv_transpose2d(r(1, 3, 3, 3), r(3, 1, 3, 3), groups=2),
        lambda: F.conv_transpose2d(r(1, 1, 3, 3), r(1, 1, 3, 3), r(2)),
    ),
    "dtypes": lambda t, F, r: (
        lambda: F.conv2d(r(1, 1, 3, 3).double(), r(1, 1, 3, 3)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), r(1).double()),
        lambda: F.conv2d(r(1, 1, 3, 3).bool(), r(1, 1, 3, 3).bool()),
        lambda: F.conv_transpose2d(r(1, 1, 3, 3).double(), r(1, 1, 3, 3)),
    ),
    "extents": lambda t, F, r: (
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 5, 3)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), dilation=2),
        lambda: F.conv2d(r(1, 1, 0, 3), r(1, 1, 2, 2)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 0, 2)),
        lambda: F.conv_transpose2d(r(1, 1, 1, 1), r(1, 1, 3, 3), padding=2),
    ),
    "numbers": lambda t, F, r: (
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), padding=-1),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), stride=0),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), stride=(1, 1, 1)),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), dilation=0),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), padding="foo"),
        lambda: F.conv2d(r(1, 1, 3, 3), r(1, 1, 3, 3), padding="same", stride=2),
        lambda: F.conv_transpose2d(r(1, 1, 3, 3), r(1, 1, 3, 3), output_padding=1),
        lambda: F.conv_transpose1d(r(1, 1, 3), r(1, 1, 3), stride=2, output_padding=2),
        lambda: F.conv_transpose3d(r(1, 1, 3, 3, 3), r(1, 1, 3, 3, 3), output_padding=1),
        lambda: F.conv_transpose2d(r(1, 1, 3, 3), r(1, 1, 3, 3), output_padding=-1),
    ),
    "layers": lambda t, F, r: (
        lambda: t.nn.Conv2d(3, 4, 3, padding="same", stride=2),
        lambda: t.nn.Conv2d(3, 4, 3, groups=2),
        lambda: t.nn.Conv2d(4, 3, 3, groups=2),
        lambda: t.nn.Conv2d(4, 3, 3, groups=0),
        lambda: t.nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect"),
        lambda: t.nn.ConvTranspose2d(1, 1, 3, stride=2)(r(1, 1, 3, 3), output_size=(9, 9)),
        lambda: t.nn.ConvTranspose2d(1, 1, 3, stride=2)(r(1, 1, 3, 3), output_size=(9, 9, 1)),
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what):
    def program(torch, say):
        for call in ERRORS[what](torch, torch.nn.functional, torch.ones):
            with pytest.raises(Exception) as caught:
                call()
            say(type(caught.value).__name__, str(caught.value).split("\n\n")[0])

    same(program)


LAYERS = {
    "plain": lambda nn: nn.Conv2d(4, 6, 3),
    "all": lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=2, groups=2,
                                bias=False, padding_mode="reflect"),
    "same": lambda nn: nn.Conv2d(4, 4, (3, 5), padding="same"),
    "circular": lambda nn: nn.Conv2d(4, 4, (2, 3), padding="same", padding_mode="circular"),
    "valid": lambda nn: nn.Conv2d(4, 4, 2, padding="valid", padding_mode="replicate"),
    "transposed": lambda nn: nn.ConvTranspose2d(4, 4, 3, stride=2, output_padding=1),
    "groups": lambda nn: nn.ConvTranspose2d(4, 6, 3, 2, 1, 0, 2, False, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    """The same text, the same initial values from the same seed, the same results."""
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(3)
        layer = LAYERS[name](torch.nn)
        x = torch.linspace(-1, 1, 2 * 4 * 7 * 6).reshape(2, 4, 7, 6)
        values = [p.detach().numpy() for p in layer.parameters()]
        names = [(n, p.requires_grad) for n, p in layer.named_parameters()]
        found.append((repr(layer), names, [*values, layer(x).detach().numpy()]))
    assert found[0][:2] == found[1][:2]
    for got, expected in zip(found[0][2], found[1][2], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_layers_of_all_ranks(rank):
    for torch in (ours, theirs):
        x = torch.ones(2, 3, *(5,) * rank)
        y = getattr(torch.nn, f"Conv{rank}d")(3, 4, 2)(x)
        assert tuple(y.shape) == (2, 4, *(4,) * rank)
        back = getattr(torch.nn, f"ConvTranspose{rank}d")(4, 3, 2, stride=2)
        assert tuple(back(y).shape) == (2, 3, *(8,) * rank)
        assert tuple(back(y, (9,) * rank).shape) == (2, 3, *(9,) * rank)


def test_gradcheck():
    x = ours.randn(2, 2, 5, 4, dtype=ours.float64, requires_grad=True)
    w = ours.randn(2, 2, 2, 2, dtype=ours.float64, requires_grad=True)
    f = lambda x, w: ours.nn.functional.conv2d(x, w, stride=2, padding=1)
    assert ours.autograd.gradcheck(f, (x, w))
    assert ours.autograd.gradgradcheck(f, (x, w))


def test_vmap_and_functional_derivatives():
    found = []
    x, w = RNG.normal(size=(3, 2, 2, 5, 4)), RNG.normal(size=(3, 2, 2, 2, 2))
    for torch in (ours, theirs):
        F = torch.nn.functional
        a, b = torch.tensor(x), torch.tensor(w)
        each = torch.func.vmap(torch.func.grad(lambda x, w: F.conv2d(x, w).pow(2).sum(), (0, 1)))
        made = [*each(a, b), torch.func.jacrev(lambda w: F.conv2d(a[0], w))(b[0])]
        found.append([t.numpy() for t in made])
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_compiled_step_is_the_eager_one():
    def trained(compiled):
        ours.manual_seed(0)
        layers = [ours.nn.Conv2d(2, 3, 3, padding=1), ours.nn.ReLU(), ours.nn.Conv2d(3, 1, 2)]
        model = ours.nn.Sequential(*layers)
        adapt = ours.optim.SGD(model.parameters(), lr=0.1)
        x = ours.linspace(-1, 1, 2 * 2 * 6 * 6).reshape(2, 2, 6, 6)

        def step(x):
            adapt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            adapt.step()
            return loss.detach()

        run = ours.compile(step) if compiled else step
        return [run(x).item() for _ in range(5)]

    np.testing.assert_allclose(trained(True), trained(False), rtol=1e-4)


def test_filters_of_every_padding_and_stride():
    for s, p, d in itertools.product((1, 2, 3), (0, 1, 2), (1, 2)):
        grads = []
        for torch in (ours, theirs):
            x = torch.linspace(-1, 1, 2 * 9 * 8, dtype=torch.float64).reshape(1, 2, 9, 8)
            w = torch.linspace(1, -1, 4 * 6, dtype=torch.float64).reshape(2, 2, 3, 2)
            x.requires_grad_(), w.requires_grad_()
            torch.nn.functional.conv2d(x, w, None, s, p, d).sin().sum().backward()
            grads.append((x.grad.numpy(), w.grad.numpy()))
        for got, expected in zip(*grads, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
