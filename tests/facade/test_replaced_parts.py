"""Parts that are replaced in a copy, and pieces of which each may be written: against PyTorch."""

import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")

CALLS = """
torch.select_scatter(x, v, 0, 0)
torch.select_scatter(x, v.double(), 0, 1)
torch.slice_scatter(x, w, 1, 0, None, 2)
x.slice_scatter(w[:, :1], 1, 2)
torch.diagonal_scatter(x, v[:2], 1)
x.diagonal_scatter(v[:2], dim1=1, dim2=0)
torch.as_strided_scatter(x.detach(), w.t(), (2, 2), (1, 3))
torch.as_strided_scatter(x[1:].detach(), v, (3,), (1,))
torch.masked_scatter(x, x > 1, w)
torch.unsafe_split(x, 2, 1)[0]
torch.unsafe_split_with_sizes(x, [1, 2], 1)[1]
x.unsafe_chunk(2, 1)[0]
"""


def outcome(module, call):
    """The result with what it says of its history, and the gradients of all that it is made of."""
    x = module.arange(6.0).reshape(2, 3).requires_grad_()
    v = (-1 - module.arange(3.0)).requires_grad_()
    w = (10 + module.arange(4.0)).reshape(2, 2).requires_grad_()
    made = eval(call, {"torch": module, "x": x, "v": v, "w": w})
    node = made.grad_fn
    shown = {n: getattr(node, n) for n in dir(node) if n.startswith("_saved_")}
    shown = {n: s if not hasattr(s, "tolist") else s.tolist() for n, s in shown.items()}
    (made * module.arange(float(made.numel())).reshape(made.shape)).sum().backward()
    grads = [None if p.grad is None else p.grad.tolist() for p in (x, v, w)]
    return type(node).__name__, shown, made.tolist(), str(made.dtype), made.stride(), grads


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_values_gradients_and_nodes_are_those_of_pytorch(call):
    assert outcome(ours, call) == outcome(torch, call)


REFUSED = """
torch.select_scatter(x, v, 0, 5)
torch.select_scatter(x[0, 0], v, 0, 0)
torch.select_scatter(x, v[:1], 0, 0)
torch.slice_scatter(x, x, 0, 0, 2, 0)
torch.diagonal_scatter(x, v)
torch.as_strided_scatter(x, v, (3,), (9,))
torch.as_strided_scatter(x, v[:2], (3,), (1,))
torch.unsafe_split(x, 0)
torch.unsafe_split(x[0, 0], 1)
torch.unsafe_chunk(x, 0)
torch.split(x, [4, -1], 1)
torch.unsafe_split_with_sizes(x, [1, 3], 1)
"""


def refused(module, call):
    x, v = module.ones(2, 3), module.ones(3)
    with pytest.raises((RuntimeError, IndexError)) as caught:
        eval(call, {"torch": module, "x": x, "v": v})
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("call", REFUSED.strip().splitlines())
def test_what_does_not_fit_is_refused_in_the_words_of_pytorch(call):
    assert refused(ours, call) == refused(torch, call)


@pytest.mark.parametrize("module", [ours, torch], ids=["ours", "theirs"])
def test_a_piece_of_an_unsafe_split_is_written_alone(module):
    x = module.arange(4.0).requires_grad_()
    y = x * 1
    first, second = module.unsafe_split(y, 2)
    first.mul_(3)
    assert not first._is_view() and second._version == 0
    assert y.tolist() == [0.0, 3.0, 2.0, 3.0]  # they share the memory
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize("size, stride, offset", [((2, 2), (1, 3), None), ((3,), (2,), 1)])
def test_the_gradient_of_as_strided_scatter_is_the_derivative(size, stride, offset):
    """PyTorch 2.13 gives what was written a gradient in the place of what was kept."""
    x, v = (ours.arange(float(n), dtype=ours.float64) for n in (6, 4))
    v = v[: 3 if len(size) == 1 else 4].reshape(size)
    x, v = x.reshape(2, 3).requires_grad_(), v.detach().requires_grad_()
    scatter = lambda x, v: ours.as_strided_scatter(x, v, size, stride, offset)
    theirs = torch.as_strided_scatter(
        *(torch.tensor(p.tolist(), dtype=torch.float64) for p in (x, v)), size, stride, offset
    )
    assert scatter(x, v).tolist() == theirs.tolist()
    assert ours.autograd.gradcheck(scatter, (x, v))
    assert ours.autograd.gradgradcheck(scatter, (x, v))
