"""Calls that PyTorch's own samples of its operations showed to have other answers here."""

import numpy as np
import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peers
ROWS = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
VALUES = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


def searched(t, right, line=None):
    rows, values = t.tensor(ROWS), t.tensor(VALUES)
    if line is not None:
        rows, values = rows[line], values[line]
    return t.searchsorted(rows, values, right=right, sorter=t.argsort(rows, -1))


CALLS = {
    "linspace of integers": lambda t: t.linspace(4.3, -3, 50, dtype=t.int64),
    "linspace of bytes": lambda t: t.linspace(0.5, 100, 7, dtype=t.uint8),
    "logspace of integers": lambda t: t.logspace(0, 4.3, 9, 2.5, dtype=t.int64),
    "searchsorted by a sorter": lambda t: searched(t, False),
    "searchsorted by a sorter, right": lambda t: searched(t, True),
    "searchsorted of a line by a sorter": lambda t: searched(t, False, 1),
    "edges around one value": lambda t: t.histogram(t.tensor([2.0, 2.0]), 2)[1],
    "edges of nothing": lambda t: t.histogram(t.tensor([]), 2)[1],
    "edges of a range": lambda t: t.histogram(t.tensor([2.0, 3.0]), 2, range=(1.0, 4.0))[1],
    "gather of a number": lambda t: t.gather(t.tensor(3.0), 0, t.tensor([0])),
    "take_along_dim from the end": lambda t: t.take_along_dim(
        t.tensor([[3.0, 4.0]]), t.tensor([[-1, -3, 2]]), 1
    ),
    "vander of a number": lambda t: t.linalg.vander(t.tensor(3.0), N=2),
    "no difference": lambda t: t.diff(t.tensor([1.0, 2.0]), n=0, prepend=t.tensor([1.0])),
    "sum_to_size of a bool": lambda t: t.tensor(True).sum_to_size(()),
    "margin of a number": lambda t: t.nn.functional.multi_margin_loss(t.tensor(1.0), t.tensor(0)),
    "margins of a number": lambda t: t.nn.functional.multilabel_margin_loss(
        t.tensor(1.0), t.tensor(0)
    ),
    "logcumsumexp of complex numbers": lambda t: t.logcumsumexp(
        t.tensor([[1 + 2j, 3, 7 - 1j], [-800, 700 + 1j, 2]]), 1
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_that_of_pytorch(name):
    theirs, own = (CALLS[name](t) for t in (torch, ours))
    assert str(own.dtype) == str(theirs.dtype)
    assert tuple(own.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(own.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "sorter, said",
    [
        ([[0, 1, 9]], "sorter index out of range"),
        ([[0, 1]], "boundary and sorter must have the same size"),
        ([[0.0, 1.0, 2.0]], "sorter must be a tensor of long dtype but got dtype Float"),
    ],
)
def test_a_sorter_that_does_not_fit_is_refused(sorter, said):
    for t in (torch, ours):
        with pytest.raises(RuntimeError, match=said):
            t.searchsorted(t.tensor([[1.0, 2, 3]]), t.tensor([[2.0]]), sorter=t.tensor(sorter))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_reads_its_gradient_at_all_places(rank):
    found = []
    for t in (torch, ours):
        shape = (2,) * rank
        x = t.arange(2.0 * 2**rank).reshape(1, 2, *shape).requires_grad_()
        at = t.tensor([0, 1, 1, 3, 5, 6, 7, 2][: 2**rank]).expand(1, 2, -1)
        y = getattr(t.nn.functional, f"max_unpool{rank}d")(x, at.reshape(1, 2, *shape), 2)
        (g,) = t.autograd.grad(y, x, t.arange(float(y.numel())).reshape(y.shape))
        found.append((y.grad_fn.name(), y.detach().numpy(), g.numpy()))
    (name, *theirs), (own_name, *own) = found
    assert own_name == name
    for one, other in zip(own, theirs):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_quantiles_are_differentiated_by_their_points(name, dim):
    numbers = np.random.default_rng(3).normal(size=(4, 5))
    numbers[2, 3] = np.nan
    found = []
    for t in (torch, ours):
        x, q = (t.tensor(v, requires_grad=True) for v in (numbers, np.array([0.2, 0.65, 1.0])))
        y = getattr(t, name)(x, q, dim)
        both = t.autograd.grad(y.nan_to_num().sum(), (x, q))
        found.append([part.numpy() for part in both])
    for theirs, own in zip(*found):
        np.testing.assert_allclose(own, theirs, rtol=1e-12)


def test_the_gradient_of_a_complex_running_sum_is_that_of_pytorch():
    found = []
    for t in (torch, ours):
        x = t.tensor([1 + 2j, 3, 7 - 1j, 0.5j], requires_grad=True)
        t.logcumsumexp(x, 0).abs().sum().backward()
        found.append(x.grad.resolve_conj().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


DTYPES = ["float16", "bfloat16", "float32", "float64", "int64", "bool", "complex64"]
LOSSES = [
    "huber_loss", "soft_margin_loss", "kl_div", "binary_cross_entropy", "l1_loss", "mse_loss",
    "smooth_l1_loss", "cosine_similarity", "layer_norm",
]  # fmt: skip


def mixed(t, name, first, second):
    """The dtype of a loss of tensors of two dtypes, or the class and the beginning of an error."""
    numbers = np.linspace(0.1, 0.9, 4).reshape(1, 4).tolist()
    x, y = (t.tensor(numbers).to(getattr(t, kind)) for kind in (first, second))
    function = getattr(t.nn.functional, name)
    try:
        made = function(x, (4,), y[0]) if name == "layer_norm" else function(x, y)
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error)[:40]
    return str(made.dtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_take_the_dtypes_that_pytorch_takes(name, first, second):
    theirs, own = (mixed(t, name, first, second) for t in (torch, ours))
    if name == "soft_margin_loss" and first == "complex64":
        assert own[0] == "NotImplementedError"  # PyTorch computes something
    elif name == "layer_norm" and first in ("int64", "bool", "complex64"):
        assert type(own) is type(theirs)
    else:
        assert own == theirs


KNOWING = {  # gradients that are made of the operand, too, though they do not bend with it
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_avg_pool2d of one": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool1d": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x[0], 2),
    "adaptive_avg_pool1d of one": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x[0], 1),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 2),
    "area": lambda t, x: t.nn.functional.interpolate(x, (3, 3), mode="area"),
    "avg_pool1d": lambda t, x: t.nn.functional.avg_pool1d(x[0], 2),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x[0], 2),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "nearest": lambda t, x: t.nn.functional.interpolate(x, (3, 3), mode="nearest"),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="replicate"),
    "circular": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="circular"),
}


@pytest.mark.parametrize("name", KNOWING)
def test_a_gradient_can_be_differentiated_where_pytorchs_can(name):
    found = []
    for t in (torch, ours):
        x = t.arange(32.0).reshape(1, 2, 4, 4).requires_grad_()
        (g,) = t.autograd.grad(KNOWING[name](t, x).sum(), x, create_graph=True)
        second = t.autograd.grad(g.sum(), x)[0].tolist() if g.requires_grad else None
        found.append((g.tolist(), second))
    assert found[1] == found[0]


@pytest.mark.parametrize("name", ["permute", "transpose", "diagonal", "unfold", "as_strided"])
def test_copies_of_views_are_contiguous(name):
    given = {
        "permute": ((2, 0, 1),), "transpose": (0, 2), "diagonal": (0, 0, 2), "unfold": (0, 2, 1),
        "as_strided": ((3, 2), (1, 4)),
    }[name]  # fmt: skip
    made = [
        getattr(t, f"{name}_copy")(t.arange(24.0).reshape(4, 2, 3), *given) for t in (torch, ours)
    ]
    assert made[1].stride() == made[0].stride()
    assert made[1].tolist() == made[0].tolist()


REFUSED = {
    "a fraction as step": lambda t: t.arange(0, 64, 0.5, dtype=t.int64),
    "an imaginary value": lambda t: t.tensor([1, 2]).masked_fill(t.tensor(True), t.tensor(1j)),
    "out= of one number": lambda t: t.add(t.ones(3), 1, out=t.empty(1).expand(3)),
    "out= of one row": lambda t: t.cat([t.ones(2, 5)] * 2, out=t.empty(1, 5).expand(4, 5)),
    "places of one number": lambda t: t.take(
        t.arange(6.0), t.tensor([0, 1, 2]), out=t.empty(1).expand(3)
    ),
    "a matrix of slopes": lambda t: t.nn.functional.prelu(t.ones(2, 8, 3), t.ones(2, 4)),
    "ranks of triplets": lambda t: t.nn.functional.triplet_margin_loss(
        t.ones(3), t.ones(3, 4), t.ones(3, 4)
    ),
    "ranks of pairs": lambda t: t.nn.functional.margin_ranking_loss(
        t.ones(5, 4), t.ones(5, 4), t.ones(5)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(name):
    said = []
    for t in (torch, ours):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            REFUSED[name](t)
        said.append((caught.type.__name__, str(caught.value)[:60]))
    assert said[1] == said[0]


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
@pytest.mark.parametrize("name", ["svdvals", "eigvalsh", "eigvals"])
def test_matrices_without_elements_have_second_derivatives(name, shape):
    found = []
    for t in (torch, ours):
        x = t.zeros(shape, dtype=t.float64, requires_grad=True)
        values = getattr(t.linalg, name)(x)
        (g,) = t.autograd.grad(values.abs().sum(), x, create_graph=True)
        (second,) = t.autograd.grad(g.sum(), x)
        found.append(tuple(second.shape))
    assert found == [shape, shape]


@pytest.mark.parametrize("call", ["narrow", "diff"])
def test_slices_of_bfloat16_have_gradients_of_their_own(call):
    found = []
    for t in (torch, ours):
        x = t.ones(5, dtype=t.bfloat16, requires_grad=True)
        y = t.narrow(x, 0, 1, 2) if call == "narrow" else t.diff(x)
        (g,) = t.autograd.grad(y, x, t.ones_like(y))
        found.append((str(g.dtype), g.tolist()))
    assert found[1] == found[0]
