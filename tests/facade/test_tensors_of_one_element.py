"""Tensors without axes, of one element and of none, where an operation goes along a dimension."""

import pytest

from .both import same

CALLS = """
torch.unique_consecutive(x)
torch.unique_consecutive(x, return_inverse=True)[1]
torch.unique_consecutive(x, return_counts=True)[1]
torch.unique_consecutive(x, dim=0)
torch.unique(x)
torch.unique(x, dim=0)
x.unfold(0, 1, 1)
x.unfold(0, 1, 2)
x.quantile(0.5, 0)
x.quantile(0.5, 0, keepdim=True)
x.quantile(0.25, -1, interpolation="lower")
x.nanquantile(0.5, 0)
x.quantile(0.5)
x.aminmax(dim=0)[0]
x.aminmax(dim=-1, keepdim=True)[1]
x.aminmax()[0]
x.median(0)[0]
x.mode(0)[0]
x.kthvalue(1, 0)[0]
x.sort(0)[0]
x.cumsum(0)
x.flip(0)
x.roll(1, 0)
""".strip().splitlines()


def calling(call, made):
    def program(torch, say):
        for _ in range(2):
            x = eval(made, {"torch": torch})
            y = eval(call, {"torch": torch, "x": x})
            say(y.tolist(), y.shape, y.dtype, y.requires_grad)
            if y.requires_grad and call[0] == "x":
                (g,) = torch.autograd.grad((y * y).sum(), x)
                say(g.tolist(), g.shape)

    return program


@pytest.mark.parametrize("call", CALLS)
def test_a_scalar(call):
    same(calling(call, "torch.tensor(2.0, requires_grad=True)"))


@pytest.mark.parametrize("call", CALLS)
def test_one_element(call):
    same(calling(call, "torch.tensor([2.0], requires_grad=True)"))


@pytest.mark.parametrize("call", [c for c in CALLS if "unique" in c and "dim" not in c])
def test_no_element(call):
    same(calling(call, "torch.zeros(0)"))


def unfolding(torch, say):
    x = torch.tensor(2.0)
    y = x.unfold(0, 1, 1)
    y.add_(1)
    say(x, y, y._is_view(), x.unfold(0, 0, 1))


def test_a_window_of_a_scalar_is_a_view():
    same(unfolding)
