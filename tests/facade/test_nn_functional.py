"""`nn.functional` against PyTorch's: values, dtypes, graphs, first and second derivatives."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same
from .nn_programs import CASES, POINTS

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.peers
IDS = [c.name for c in CASES]


def leaves(torch, case, dtype):
    made = []
    for k, array in enumerate(case.arrays):
        if array.dtype.kind == "f":
            kind = getattr(torch, dtype)
            made.append(torch.tensor(array, dtype=kind, requires_grad=k not in case.constants))
        else:
            made.append(torch.tensor(array))
    return made


def outcome(torch, case, dtype):
    """The value, the gradients of a weighted sum of it, and those of a weighted sum of these."""
    xs = leaves(torch, case, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = case.function(torch, torch.nn.functional, *xs)
    wanted = [x for x in xs if x.requires_grad]
    rng = np.random.default_rng(1)

    def weighted(t):
        w = torch.tensor(rng.uniform(0.5, 1.5, tuple(t.shape)), dtype=t.dtype)
        return (t * w).sum()

    found = [y]
    if y.requires_grad:
        first = torch.autograd.grad(weighted(y), wanted, create_graph=case.twice)
        found += first
        moving = [g for g in first if g.requires_grad]  # others are constant here
        if case.twice and moving:
            total = sum(weighted(g) for g in moving)
            second = torch.autograd.grad(total, wanted, allow_unused=True)
            found += [x * 0 if g is None else g for g, x in zip(second, wanted, strict=True)]
        else:
            found += [x * 0 for x in wanted]
    return [(str(f.dtype), np.asarray(f.detach().clone().tolist(), dtype=float)) for f in found]


def assert_close(got, expected, rtol):
    assert len(got) == len(expected)
    for (kind, a), (other, b) in zip(got, expected, strict=True):
        assert kind == other
        assert a.shape == b.shape
        size = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * size)


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_function(case, dtype):
    rtol = max(128 * np.finfo(dtype).eps, case.rtol)
    assert_close(outcome(ours, case, dtype), outcome(theirs, case, dtype), rtol)


def graph(y, depth=4):
    """The names of the nodes below a tensor."""

    def below(node, depth):
        if node is None or not depth:
            return "-" if node is None else "…"
        parts = [f"{below(n, depth - 1)}{k or ''}" for n, k in node.next_functions]
        return f"{node.name()}({', '.join(parts)})"

    return below(y.grad_fn, depth)


# what is one kernel in PyTorch's C++ and several operations here
OTHER_GRAPHS = ("bilinear", "linear-no-bias", "pad-circular")


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.name.startswith(OTHER_GRAPHS)], ids=lambda c: c.name
)
def test_graph(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (
            graph(case.function(t, t.nn.functional, *leaves(t, case, "float64")))
            for t in (ours, theirs)
        )
    assert one == other


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_leaves_its_arguments_alone(case):
    xs = leaves(ours, case, "float64")
    before = [(x.tolist(), x._version) for x in xs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.function(ours, ours.nn.functional, *xs)
    assert before == [(x.tolist(), x._version) for x in xs]


ONE_ARGUMENT = [
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus",
    "softsign", "tanhshrink", "softshrink", "hardshrink", "hardtanh", "hardsigmoid",
    "hardswish", "logsigmoid", "tanh", "sigmoid",
]  # fmt: skip


@pytest.mark.parametrize("name", ONE_ARGUMENT)
@pytest.mark.parametrize("dtype", ["float16", "int64", "uint8", "bool", "complex64"])
def test_activation_of_other_dtypes(name, dtype):
    def program(torch, say):
        x = torch.tensor(POINTS[:1, :4]).to(getattr(torch, dtype))
        say(getattr(torch.nn.functional, name)(x))

    same(program)


# of these PyTorch's vectorised kernel and its scalar one disagree at infinity
@pytest.mark.parametrize("name", [n for n in ONE_ARGUMENT if n != "gelu"])
def test_activation_of_nan_and_infinities(name):
    def program(torch, say):
        x = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
        say(getattr(torch.nn.functional, name)(x))

    same(program)


INPLACE = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh",
           "hardsigmoid", "hardswish"]  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
def test_activation_in_place(name):
    def program(torch, say):
        x = torch.tensor([-1.5, 0.5, 2.0], requires_grad=True)
        y = x * 1
        z = getattr(torch.nn.functional, name)(y, inplace=True)
        say(z is y, y._version, y)
        z.sum().backward()
        say([f"{v:.4f}" for v in x.grad.tolist()])
        getattr(torch.nn.functional, name)(x, inplace=True)

    same(program)


def losses(torch, say):
    """Refusals of the losses, each with its text."""
    F = torch.nn.functional
    x, long = torch.ones(2, 3), torch.int64

    def refused(name, call):
        try:
            say(name, call())
        except Exception as error:
            say(name, type(error).__name__, error)

    for name, y in {
        "range": torch.tensor([0, 3]), "negative": torch.tensor([0, -1]),
        "count": torch.tensor([0, 1, 2]), "float": torch.tensor([0.0, 1.0]),
        "int": torch.tensor([0, 1], dtype=torch.int32), "byte": torch.tensor([0, 1]).byte(),
        "bool": torch.tensor([True, False]), "matrix": torch.zeros(2, 3, dtype=long),
        "ignored": torch.tensor([-100, -100]),
    }.items():  # fmt: skip
        refused(f"nll {name}", lambda y=y: F.nll_loss(x, y))
        refused(f"ce {name}", lambda y=y: F.cross_entropy(x, y))
        refused(f"ce none {name}", lambda y=y: F.cross_entropy(x, y, reduction="none"))
    zero = torch.tensor(0)
    refused("0d", lambda: F.nll_loss(torch.tensor(1.0), zero))
    refused("0d ce", lambda: F.cross_entropy(torch.tensor(1.0), zero))
    refused("1d", lambda: F.nll_loss(torch.ones(3), torch.tensor([0, 1])))
    refused("3d", lambda: F.nll_loss(torch.ones(2, 3, 4), torch.zeros(2, 5, dtype=long)))
    refused("4d", lambda: F.nll_loss(torch.ones(2, 3, 4, 5), torch.zeros(2, 4, 6, dtype=long)))
    refused("whole", lambda: F.nll_loss(torch.ones(2, 3, dtype=long), torch.tensor([0, 1])))
    refused("empty", lambda: F.nll_loss(torch.ones(0, 3), torch.zeros(0, dtype=long)))
    y = torch.tensor([0, 1])
    refused("weight", lambda: F.nll_loss(x, y, torch.ones(2)))
    refused("weight dtype", lambda: F.nll_loss(x, y, torch.ones(3).double()))
    refused("weight grad", lambda: F.nll_loss(x, y, torch.ones(3, requires_grad=True)))
    refused("weight ce", lambda: F.cross_entropy(x, x, torch.ones(2)))
    refused("smoothing", lambda: F.cross_entropy(x, y, label_smoothing=1.5))
    refused("reduction", lambda: F.cross_entropy(x, y, reduction="average"))
    refused("probabilities", lambda: F.cross_entropy(x, torch.ones(2, 3).int()))
    refused("mse shape", lambda: F.mse_loss(x, torch.ones(4)))
    refused("mse broadcast", lambda: F.mse_loss(x, torch.zeros(3)))
    refused("mse whole", lambda: F.mse_loss(y, y))
    refused("mse mixed", lambda: F.mse_loss(x, torch.zeros(2, 3).double()))
    refused("l1 whole", lambda: F.l1_loss(y, y))
    refused("beta", lambda: F.smooth_l1_loss(x, x, beta=-1))
    refused("delta", lambda: F.huber_loss(x, x, delta=0.0))
    refused("huber mixed", lambda: F.huber_loss(x, torch.zeros(2, 3).double()))
    refused("bce range", lambda: F.binary_cross_entropy(x * 2, x))
    refused("bce target", lambda: F.binary_cross_entropy(x, x * 2))
    refused("bce shape", lambda: F.binary_cross_entropy(x, torch.ones(2)))
    refused("bce dtype", lambda: F.binary_cross_entropy(x, x.long()))
    refused("logits shape", lambda: F.binary_cross_entropy_with_logits(x, torch.ones(2)))
    refused("logits dtype", lambda: F.binary_cross_entropy_with_logits(x, x.long()))
    refused("list", lambda: F.cross_entropy([1.0], y))


def layers(torch, say):
    """Refusals of the other functions."""
    F = torch.nn.functional
    x, w = torch.ones(3, 4), torch.ones(5, 4)

    def refused(name, call):
        try:
            say(name, call())
        except Exception as error:
            say(name, type(error).__name__, error)

    refused("linear shape", lambda: F.linear(x, torch.ones(5, 3), torch.ones(5)))
    refused("linear 3d", lambda: F.linear(torch.ones(2, 3, 4), torch.ones(5, 3), torch.ones(5)))
    refused("linear dtype", lambda: F.linear(x.double(), w, torch.ones(5)))
    refused("linear bias", lambda: F.linear(x, w, torch.ones(4)))
    refused("linear vector", lambda: F.linear(x, torch.ones(4), torch.tensor(1.0)))
    refused("linear list", lambda: F.linear([1.0], w))
    i = torch.tensor([0])
    refused("embedding float", lambda: F.embedding(x, w))
    refused("embedding range", lambda: F.embedding(i + 5, w))
    refused("embedding negative", lambda: F.embedding(i - 1, w))
    refused("embedding vector", lambda: F.embedding(i, torch.ones(3)))
    refused("embedding padding", lambda: F.embedding(i, w, padding_idx=5))
    refused("embedding int", lambda: F.embedding(i.int(), w))
    refused("embedding list", lambda: F.embedding([0], w))
    refused("one_hot float", lambda: F.one_hot(x))
    refused("one_hot negative", lambda: F.one_hot(i - 1))
    refused("one_hot range", lambda: F.one_hot(i + 3, 2))
    refused("one_hot empty", lambda: F.one_hot(i[:0]))
    refused("one_hot empty 3", lambda: F.one_hot(i[:0], 3))
    refused("one_hot", lambda: F.one_hot(torch.tensor([[0, 2], [1, 0]])))
    refused("pad odd", lambda: F.pad(x, (1,)))
    refused("pad long", lambda: F.pad(torch.ones(2), (1, 1, 1, 1)))
    refused("pad mode", lambda: F.pad(x, (1, 1), mode="mirror"))
    refused("pad too much", lambda: F.pad(torch.ones(2), (-3, 0)))
    refused("pad whole", lambda: F.pad(i, (1, 0), value=2.5))
    refused("norm shape", lambda: F.layer_norm(x, (3,)))
    refused("norm weight", lambda: F.layer_norm(x, (4,), torch.ones(2)))
    refused("norm bias", lambda: F.layer_norm(x, (4,), None, torch.ones(2)))
    refused("norm empty", lambda: F.layer_norm(x, ()))
    refused("norm whole", lambda: F.layer_norm(x.long(), (4,)))
    refused("norm dtype", lambda: F.layer_norm(x, (4,), torch.ones(4).double()))
    refused("gelu", lambda: F.gelu(x, approximate="x"))
    refused("hardtanh", lambda: F.hardtanh(x, 2.0, 1.0))
    refused("softshrink", lambda: F.softshrink(x, -1.0))
    refused("glu odd", lambda: F.glu(torch.ones(3)))
    refused("glu number", lambda: F.glu(torch.tensor(1.0)))
    refused("prelu", lambda: F.prelu(x, torch.ones(2)))
    refused("celu", lambda: F.celu(x, 0.0))
    refused("softmax whole", lambda: F.softmax(i, 0))
    refused("softmax number", lambda: F.log_softmax(torch.tensor(1.0), 0))
    refused("softmax empty", lambda: F.softmax(torch.ones(0, 3), 0))
    refused("softmax dim", lambda: F.softmax(x, 3))
    refused("softmax none", lambda: F.softmax(x))
    refused("dropout p", lambda: F.dropout(x, 2.0))
    refused("dropout whole", lambda: F.dropout(i, 0.5))
    refused("dropout list", lambda: F.dropout([1.0]))
    refused("cosine dim", lambda: F.cosine_similarity(x, x, dim=5))
    refused("cosine whole", lambda: F.cosine_similarity(i, i))
    refused("normalize whole", lambda: F.normalize(x.long()))
    refused("relu list", lambda: F.relu([1.0]))


@pytest.mark.parametrize("program", [losses, layers])
def test_refusals(program):
    same(program)


# ----------------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("p", [0.25, 0.9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_drops_what_pytorch_drops(p, dtype):
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(1)
        x = torch.ones(20, 30, dtype=getattr(torch, dtype), requires_grad=True)
        y = torch.nn.functional.dropout(x, p)
        y.sum().backward()
        found.append((np.asarray(y.tolist()), np.asarray(x.grad.tolist())))
    (one, gradient), (other, _) = found
    np.testing.assert_allclose(one, other, rtol=1e-7)
    assert np.array_equal(gradient, one)  # the same elements pass back


def test_gumbel_softmax():
    def program(torch, say):
        torch.manual_seed(2)
        x = torch.tensor([[0.5, 1.0, -1.0]], requires_grad=True)
        soft = torch.nn.functional.gumbel_softmax(x, 0.5)
        hard = torch.nn.functional.gumbel_softmax(x, hard=True)
        say([f"{v:.5f}" for v in soft.reshape(-1).tolist()], [round(v) for v in hard[0].tolist()])
        (soft[0, 0] + hard[0, 1]).backward()
        say([f"{v:.5f}" for v in x.grad[0].tolist()])

    same(program)


def test_dropout_outside_training_is_the_input():
    def program(torch, say):
        x = torch.ones(3, requires_grad=True)
        F = torch.nn.functional
        say(F.dropout(x, 0.5, training=False) is x, F.dropout(x, 0.0) is x)
        say(F.dropout(x, 1.0), F.dropout(x, 1.0).grad_fn.name())

    same(program)


def test_embedding_shortens_long_rows_in_place():
    def program(torch, say):
        w = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
        say(torch.nn.functional.embedding(torch.tensor([0, 1]), w, max_norm=1.0))
        say(w)

    same(program)
