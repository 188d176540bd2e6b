"""Results of reductions, running sums and softmax lie in C order, as PyTorch's do."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")

CALLS = """
t.sum(x, 0)
t.sum(x, -1)
t.sum(x, 1, keepdim=True)
t.sum(x, 1, dtype=t.float64)
t.sum(x.half(), 1)
t.sum(x.int(), 1)
t.mean(x, 1)
t.prod(x, 0)
t.nansum(x, 1)
t.nanmean(x, 1)
t.all(x, 1)
t.any(x, 0)
t.count_nonzero(x, 1)
t.max(x, 0, True)
t.amax(x, 1)
t.aminmax(x, dim=1)
t.argmin(x, 0, True)
t.cummax(x, 1)
t.var(x, 1)
t.std(x, 0)
t.std_mean(x, (0,))
t.norm(x, dim=0)
t.linalg.vector_norm(x, 3, dim=1)
t.linalg.matrix_norm(x)
t.renorm(x, 2, 0, 1.0)
t.quantile(x, 0.3, 1)
t.cumsum(x, 1)
t.cumsum(x, 1, dtype=t.float64)
t.cumsum(x.half(), 0)
t.cumsum(x.int(), 2)
t.cumprod(x, 2)
t.logcumsumexp(x, 0)
t.softmax(x, 0)
t.softmax(x, 2)
t.softmax(x, 1, dtype=t.float64)
t.softmax(x.half(), 1)
t.log_softmax(x, 1)
t.logsumexp(x, 0)
t.nn.functional.softmin(x, 1)
t.median(x, 1)
t.kthvalue(x, 1, 1)
t.topk(x, 1, 1)
t.searchsorted(t.tensor([0.1, 0.2, 0.3]), x)
t.unique_consecutive(x, return_inverse=True)[1]
t.nn.functional.layer_norm(x, (5,))
t.nn.functional.layer_norm(x.half(), (5,))
""".strip().splitlines()

RNG = np.random.default_rng(0)


def drawn(t, *shape):
    return t.tensor(np.float32(RNG.normal(size=shape)))


LAID = {
    "contiguous": lambda t: drawn(t, 3, 4, 5),
    "transposed first": lambda t: drawn(t, 4, 3, 5).transpose(0, 1),
    "transposed last": lambda t: drawn(t, 3, 5, 4).transpose(1, 2),
    "transposed": lambda t: drawn(t, 5, 4, 3).transpose(0, 2),
    "permuted": lambda t: drawn(t, 5, 3, 4).permute(1, 2, 0),
    "permuted back": lambda t: drawn(t, 4, 5, 3).permute(2, 0, 1),
    "expanded first": lambda t: drawn(t, 1, 4, 5).expand(3, 4, 5),
    "expanded last": lambda t: drawn(t, 3, 4, 1).expand(3, 4, 5),
    "expanded and transposed": lambda t: drawn(t, 5, 4, 1).expand(5, 4, 3).transpose(0, 2),
    "with gaps": lambda t: drawn(t, 3, 4, 10)[:, :, ::2],
    "with gaps and transposed": lambda t: drawn(t, 5, 8, 3)[:, ::2].transpose(0, 2),
}


def strides(t, x, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eval(call, {"t": t, "x": x})
    parts = found if isinstance(found, tuple) else (found,)
    return [part.stride() for part in parts]


@pytest.mark.parametrize("laid", LAID)
def test_results_have_the_strides_of_pytorch(laid):
    for wanted in (False, True):
        theirs, mine = (LAID[laid](t).requires_grad_(wanted) for t in (torch, ours))
        for call in CALLS:
            assert (call, strides(ours, mine, call)) == (call, strides(torch, theirs, call))


@pytest.mark.parametrize(
    "call",
    ["t.sum(x, 0)", "t.softmax(x, 1)", "t.cumsum(x, 1)", "t.std(x, 0)", "t.clone(x)",
     "t.nn.functional.layer_norm(x, (5,))"],
)  # fmt: skip
def test_a_recipe_is_not_followed_for_an_operand_that_lies_otherwise(call):
    for _ in range(2):
        for laid in ("contiguous", "transposed", "expanded first", "with gaps and transposed"):
            x = LAID[laid](ours).requires_grad_()
            expected = strides(torch, LAID[laid](torch), call)
            for _ in range(70):
                assert strides(ours, x, call) == expected


@pytest.mark.parametrize("call", ["t.clone(x)", "x.double()", "x.half()", "x.bool()", "x.int()"])
def test_copies_of_expanded_tensors_are_in_order(call):
    for _ in range(2):
        for laid in ("expanded first", "contiguous", "expanded last", "transposed", "with gaps"):
            for wanted in (False, True):
                theirs, mine = (LAID[laid](t).requires_grad_(wanted) for t in (torch, ours))
                expected = strides(torch, theirs, call)
                assert all(strides(ours, mine, call) == expected for _ in range(40))


CHOSEN = """
x[:, [0, 1]]
x[:, t.tensor([2, 0, 1])]
x[..., t.tensor([1, 0])]
x[:, t.tensor([[0, 1], [1, 0]])]
x[:, t.tensor([1, 0])[:, None]]
x[:, None, [0, 1]]
x[1:, t.tensor([0, 1])]
x[:, t.tensor([True, False, True, False])]
x[:, [0, 1], [2, 3]]
x[[0, 1], :, [2, 3]]
x[0][:, [0, 1]]
""".strip().splitlines()


@pytest.mark.parametrize("call", CHOSEN)
def test_what_lists_choose_of_a_tensor_in_order_is_in_order(call):
    for shape in ((3, 4, 5), (300, 4, 50)):
        for wanted in (False, True):
            theirs, mine = (drawn(t, *shape).requires_grad_(wanted) for t in (torch, ours))
            assert strides(ours, mine, call) == strides(torch, theirs, call)


LARGE = """
t.sum(x, 0)
t.mean(x, 1, True)
t.prod(x, 1)
t.std(x, 0)
t.amax(x, 1)
t.norm(x, dim=0)
t.logsumexp(x, 0)
t.softmax(x, 2)
t.log_softmax(x, 0)
t.cumsum(x, 2)
t.cumsum(x.double(), 0)
t.clone(x)
x.double()
t.cumprod(x, 1)
""".strip().splitlines()


@pytest.mark.parametrize("wanted", [False, True])
def test_large_operands_are_laid_in_order_as_well(wanted):
    theirs, mine = (
        drawn(t, 50, 40, 30).transpose(0, 2).requires_grad_(wanted) for t in (torch, ours)
    )
    for call in LARGE:
        assert (call, strides(ours, mine, call)) == (call, strides(torch, theirs, call))


def test_running_sums_of_large_tensors_are_the_same_however_these_lie():
    x = drawn(ours, 300, 200)
    turned = x.t().contiguous().t()
    assert ours.equal(x.cumsum(-1), turned.cumsum(-1))
    assert ours.equal(x.softmax(-1), turned.softmax(-1))
    assert x.cumsum(-1)[:, -1].tolist() == pytest.approx(x.double().sum(1).tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ["sum", "softmax", "cumsum", "norm"])
def test_results_within_transforms_can_be_seen_in_another_shape(name):
    def f(x):
        y = x.transpose(0, 2)
        found = y.norm(dim=0) if name == "norm" else getattr(y, name)(0)
        return found.view(-1).square().sum()

    x = drawn(ours, 3, 4, 5)
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    np.testing.assert_allclose(ours.func.grad(f)(x).numpy(), leaf.grad.numpy(), rtol=1e-5)
    rows = ours.stack([x, 2 * x])
    assert ours.func.vmap(f)(rows).shape == (2,)
    np.testing.assert_allclose(ours.compile(f)(x).item(), f(x).item(), rtol=1e-5)


DIFFERENTIATED = """
x.sum(0)
x.mean(1)
x.prod(2)
x.cumsum(0)
x.cumprod(1)
x.softmax(0)
x.log_softmax(1)
x.std(0)
x.amax(1)
x.logsumexp(0)
x.logcumsumexp(1)
""".strip().splitlines()


@pytest.mark.parametrize("call", DIFFERENTIATED)
def test_gradients_of_what_does_not_lie_in_order_are_those_of_what_does(call):
    x = drawn(ours, 5, 4, 3).double().requires_grad_()
    turned, whole = x.transpose(0, 2), x.transpose(0, 2).contiguous()
    found = [eval(call, {"x": v}) for v in (turned, whole)]
    np.testing.assert_allclose(*(v.detach().numpy() for v in found), rtol=1e-14)
    one, two = (ours.autograd.grad(v.square().sum(), x, create_graph=True)[0] for v in found)
    np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-12, atol=1e-12)
    one, two = (ours.autograd.grad(v.square().sum(), x)[0] for v in (one, two))
    np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-11, atol=1e-11)
    assert type(found[0].grad_fn).__name__ == type(found[1].grad_fn).__name__
