"""Results have memory of their own, also where an operation has nothing to do.

Each call is one that changes nothing of its operand; PyTorch says whether the result shows the
operand's memory, and whether writing the result changes the operand.
"""

import pytest

import funcgrad.torch as ours
from funcgrad.torch import remembered

from .both import same

CALLS = """
f.interpolate(x, size=(3, 3))
f.interpolate(x, scale_factor=1)
f.interpolate(x, scale_factor=1, mode="bilinear")
f.interpolate(x, size=(3, 3), mode="bicubic")
f.interpolate(x, size=(3, 3), mode="area")
torch.nn.Upsample(size=(3, 3))(x)
f.pad(x, (0, 0))
f.pad(x, (0, 0, 0, 0), mode="reflect")
f.pad(x, (0, 0, 0, 0), mode="circular")
torch.nn.ZeroPad2d(0)(x)
f.pixel_shuffle(x, 1)
f.pixel_unshuffle(x, 1)
f.channel_shuffle(x, 1)
f.max_pool2d(x, 1)
f.avg_pool2d(x, 1)
f.adaptive_avg_pool2d(x, (3, 3))
f.adaptive_max_pool2d(x, (3, 3))
f.unfold(x, 1)
f.fold(x.reshape(1, 2, 9), (3, 3), 1)
f.dropout(x, 0.0)
f.dropout(x, 0.5, False)
x.roll(0)
x.flip(())
x.rot90(0)
x.tile(1)
x.repeat(1, 1, 1, 1)
x.repeat_interleave(1, 0)
x.cumsum(0)
x.sum(0, keepdim=True)
x.mean(0)
x.amax(0)
x.max(0)[0]
x.sort(0)[0]
x.median(0)[0]
x.topk(1, 0)[0]
x.cummax(0)[0]
torch.cat([x])
torch.cat([x, x[:0]])
torch.stack([x])
torch.block_diag(x[0, 0])
torch.cartesian_prod(x[0, 0, 0])
x.clamp(-9, 9)
x.round()
x.nan_to_num()
x.to(torch.float32)
x.to(torch.float32, copy=True)
x.contiguous()
x.clone()
x.reshape(x.shape)
x.flatten()
x[torch.tensor([0])]
x[x == x]
x.index_select(0, torch.tensor([0]))
x.masked_select(x == x)
x.masked_fill(x != x, 0.0)
torch.where(x == x, x, 0.0)
x.index_add(0, torch.zeros(0).long(), x[:0])
x.masked_scatter(x != x, x)
x.slice_scatter(x[:0], 0, 0, 0)
x.tril(5)
torch.einsum("abcd->abcd", x)
x.narrow_copy(0, 0, 1)
x + 0
x**1
x.diff(n=0)
""".strip().splitlines()
SCALARS = """
x.masked_select(x == x)
x.masked_select(torch.tensor([True, False, True]))
x[x == x]
x.clone()
x.sum(0)
x.cumsum(0)
x.flip(0)
x.roll(0)
x.sort()[0]
x.clamp(-9, 9)
x.reshape(1)
x.repeat(1)
x.gather(0, torch.tensor(0))
x.index_select(0, torch.tensor([0]))
x.take(torch.tensor([0]))
""".strip().splitlines()


def writing(call, shape):
    def program(torch, say):
        for wanted in (False, True, False, True):
            x = torch.arange(18.0).reshape(1, 2, 3, 3)[shape] * 1
            x = (x.clone().requires_grad_() * 1) if wanted else x
            before = x.tolist()
            y = eval(call, {"torch": torch, "f": torch.nn.functional, "x": x})
            say(y is x, y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())
            with torch.no_grad():
                y.detach().add_(1)
            say(x.tolist() == before)

    return program


@pytest.fixture(params=["general", "recipes"], autouse=True)
def paths(request, monkeypatch):
    """By the general way, and by recipes as soon as they can be written."""
    if request.param == "recipes":
        monkeypatch.setattr(remembered, "OFTEN", 0)


@pytest.mark.parametrize("call", CALLS)
def test_a_result_lies_where_that_of_pytorch_does(call):
    same(writing(call, (slice(None),)))


@pytest.mark.parametrize("call", SCALARS)
def test_a_result_of_a_scalar_lies_where_that_of_pytorch_does(call):
    same(writing(call, (0, 0, 1, 1)))


def test_the_gradient_passes_through_the_copy():
    x = ours.arange(9.0).reshape(1, 1, 3, 3).requires_grad_()
    y = ours.nn.functional.interpolate(x, size=(3, 3))
    with ours.no_grad():
        y.detach().zero_()
    (g,) = ours.autograd.grad((y + x * 2).sum(), x)
    assert g.flatten().tolist() == [3.0] * 9 and x.flatten().tolist() == list(range(9))
