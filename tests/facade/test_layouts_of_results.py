"""How results of joins, pads and writes by positions lie in memory: as PyTorch's."""

import itertools

import numpy as np
import pytest

import funcgrad.torch as ours

torch = pytest.importorskip("torch")

LAYOUTS = {
    "contiguous": lambda t: t.arange(24.0).reshape(2, 3, 4),
    "transposed": lambda t: t.arange(24.0).reshape(2, 4, 3).transpose(1, 2),
    "permuted": lambda t: t.arange(24.0).reshape(4, 2, 3).permute(1, 2, 0),
    "reversed": lambda t: t.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0),
    "expanded": lambda t: t.arange(12.0).reshape(3, 4).expand(2, 3, 4),
    "expanded inside": lambda t: t.arange(8.0).reshape(2, 1, 4).expand(2, 3, 4),
    "with steps": lambda t: t.arange(48.0).reshape(2, 3, 8)[..., ::2],
}
JOINS = """
t.cat((x, y), 0)
t.cat((x, y), 2)
t.cat((y, x, x), 1)
t.cat((t.ones(0), x, y))
t.stack((x, y), 0)
t.stack((x, y), 1)
t.stack((x, y), 3)
t.hstack((x, y))
t.vstack((x, y))
t.dstack((x, y))
t.column_stack((x, y))
"""
OTHERS = """
t.cat((x,))
F.pad(x, (1, 1))
F.pad(x, (1, -1, 2, 0, 0, 1))
F.pad(x, (0, -1))
F.pad(x, (1, 1), mode="reflect")
F.pad(x, (1, 1), mode="replicate")
F.pad(x, (1, 1), mode="circular")
x.flip(0)
x.flip(0, 2)
x.roll(1, 0)
x.repeat(1, 2, 1)
x.narrow_copy(1, 0, 2)
x.scatter(1, at, 0.0)
x.scatter(1, at, x[:, :1])
x.scatter_add(1, at, x[:, 1:2])
x.scatter_reduce(1, at, x[:, :1], "sum")
x.index_add(1, v, x[:, :2])
x.index_copy(1, v, x[:, :2])
x.masked_scatter(x > 3, x)
x.gather(1, at)
x.index_select(1, v)
x.take(at)
"""


def result(t, call, *operands):
    x, y = (operand(t).requires_grad_() for operand in operands)
    at = t.tensor([[[0, 1, 1, 0]], [[1, 0, 2, 2]]])
    names = {"t": t, "F": t.nn.functional, "x": x, "y": y, "at": at, "v": t.tensor([1, 0])}
    made = eval(call, names)
    (made * t.arange(float(made.numel())).reshape(made.shape)).sum().backward()
    grads = [None if p.grad is None else p.grad.tolist() for p in (x, y)]
    return tuple(made.stride()), made.tolist(), grads


CASES = [
    (c, a, b) for c in JOINS.strip().splitlines() for a, b in itertools.product(LAYOUTS, LAYOUTS)
]
CASES += [(c, a, a) for c in OTHERS.strip().splitlines() for a in LAYOUTS]


@pytest.mark.parametrize("call, first, second", CASES)
def test_strides_values_and_gradients_are_those_of_pytorch(call, first, second):
    operands = LAYOUTS[first], LAYOUTS[second]
    assert result(ours, call, *operands) == result(torch, call, *operands)


IMAGES = {
    "in order": lambda t: t.arange(120.0).reshape(2, 3, 4, 5),
    "channels last": lambda t: t.arange(120.0).reshape(2, 4, 5, 3).permute(0, 3, 1, 2),
    "some of the channels": lambda t: (
        t.arange(240.0).reshape(2, 4, 5, 6).permute(0, 3, 1, 2)[:, :3]
    ),
    "with steps": lambda t: t.arange(240.0).reshape(2, 4, 10, 3).permute(0, 3, 1, 2)[..., ::2],
}
OF_IMAGES = """
t.cat((x, y))
t.cat((x, y), 1)
t.stack((x, y))
t.stack((x, y), 1)
F.pad(x, (1, 1))
F.pad(x, (1, 1, 0, 0, 1, 1))
F.pad(x, (-1, -1))
F.pad(x, (1, 1, 1, 1), mode="reflect")
F.pad(x, (1, 1, 1, 1), mode="replicate")
F.pad(x, (1, 1, 1, 1), mode="circular")
"""


@pytest.mark.parametrize("call", OF_IMAGES.strip().splitlines())
@pytest.mark.parametrize("first, second", itertools.product(IMAGES, IMAGES))
def test_channels_stay_next_to_each_other_as_in_pytorch(call, first, second):
    operands = IMAGES[first], IMAGES[second]
    assert result(ours, call, *operands) == result(torch, call, *operands)


PAIRS = """
x + y
y - x
x * y[:1]
x / y
x ** 2 * y
t.add(x, y, alpha=2)
t.rsub(x, y)
t.where(x > 3, x, y)
t.where(y > 3, 0.0, x)
t.maximum(x, y)
t.clamp(x, y, y + 1)
t.lerp(x, y, 0.5)
t.lerp(x, y, x)
t.addcmul(x, y, y)
t.addcdiv(y, x, x + 1)
t.atan2(x + 1, y + 1)
t.complex(x, y).real
t.logaddexp(x, y)
t.fmod(x, y + 1)
t.remainder(x, y + 1)
x.masked_fill(y > 3, 0.0)
x.gather(1, (y * 0).long())
x.take_along_dim((y * 0).long(), 1)
t.linalg.cross(x[..., :3], y[..., :3])
"""
SINGLE = """
x.sort()[0]
x.sort(1, descending=True)[0]
t.msort(x)
t.rot90(x)
t.rot90(x, 2)
t.rot90(x, 3, (0, 2))
t.rot90(x, 4)
x.masked_fill(t.tensor(True), 1.0)
2 ** (x / 9)
t.polar(x, x).real
t.tril(x)
t.triu(x, 1)
t.linalg.inv(x[..., :2, :2] / 9 + t.eye(2))
"""


@pytest.mark.parametrize("call", PAIRS.strip().splitlines())
@pytest.mark.parametrize("first, second", itertools.product(LAYOUTS, LAYOUTS))
def test_operands_that_lie_otherwise_are_laid_as_pytorch_does(call, first, second):
    made, expected = (result(t, call, LAYOUTS[first], LAYOUTS[second]) for t in (ours, torch))
    assert made[0] == expected[0]
    close = dict(rel=1e-4, abs=1e-4, nan_ok=True)
    for mine, theirs in zip((made[1], *made[2]), (expected[1], *expected[2]), strict=True):
        if theirs is not None:
            assert np.asarray(mine) == pytest.approx(np.asarray(theirs), **close)


LOSSES = """
F.mse_loss(x, y, reduction="none")
F.l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y, reduction="none")
F.huber_loss(x, y, reduction="none")
F.soft_margin_loss(x / 9, y.detach().cos(), reduction="none")
F.kl_div(x, y, reduction="none")
F.poisson_nll_loss(x / 9, y, reduction="none")
F.binary_cross_entropy(x / 99, y / 99, reduction="none")
F.binary_cross_entropy(x / 99, y / 99, y.detach(), reduction="none")
F.binary_cross_entropy_with_logits(x / 9, y / 99, reduction="none")
F.binary_cross_entropy_with_logits(x / 9, y / 99, x.detach(), reduction="none")
F.binary_cross_entropy_with_logits(x / 9, y / 99, pos_weight=x.detach(), reduction="none")
F.gaussian_nll_loss(x, y, t.ones(2, 3, 4), reduction="none")
F.nll_loss(x, (y[:, 0] % 3).long(), reduction="none")
F.cross_entropy(x, (y[:, 0] % 3).long(), reduction="none")
F.batch_norm(x, y[0, :, 0].detach(), y[0, :, 1].detach() + 1)
F.rms_norm(x / 9, (4,))
F.rms_norm(x / 9, (4,), y[0, 0])
F.adaptive_avg_pool1d(x, 2)
F.adaptive_max_pool1d(x, 2)
F.avg_pool1d(x, 2)
F.lp_pool1d(x, 2, 2)
F.max_pool1d(x, 2)
x.index_select(1, t.tensor([1, 0, 1]))
x.repeat_interleave(t.tensor([1, 0, 2]), 1)
t.addr(x[0], y[0, :, 0], y[0, 0])
"""


@pytest.mark.parametrize("call", LOSSES.strip().splitlines())
def test_losses_of_elements_are_laid_as_pytorch_does(call):
    close = dict(rel=1e-4, abs=1e-4, nan_ok=True)
    for names in itertools.product(LAYOUTS, ("contiguous", "permuted", "expanded")):
        made, expected = (result(t, call, *(LAYOUTS[n] for n in names)) for t in (ours, torch))
        assert made[0] == expected[0], names
        for mine, theirs in zip((made[1], *made[2]), (expected[1], *expected[2]), strict=True):
            if theirs is not None:
                assert np.asarray(mine) == pytest.approx(np.asarray(theirs), **close), names


@pytest.mark.parametrize("call", SINGLE.strip().splitlines())
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_operand_is_laid_as_pytorch_does(call, layout):
    made, expected = (result(t, call, LAYOUTS[layout], LAYOUTS[layout]) for t in (ours, torch))
    assert made[0] == expected[0]
    assert np.asarray(made[1]) == pytest.approx(np.asarray(expected[1]), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("call", ["x + y", "x * y", "t.where(x > 3, x, y)", "t.exp(x / 9)"])
def test_recipes_are_of_one_layout_each(call):
    for operands in itertools.product(LAYOUTS, LAYOUTS):
        x, y = (LAYOUTS[o](ours).requires_grad_() for o in operands)
        expected = result(torch, call, *(LAYOUTS[o] for o in operands))[0]
        for _ in range(70):
            made = eval(call, {"t": ours, "x": x, "y": y})
            assert tuple(made.stride()) == expected


@pytest.mark.parametrize("call", ["t.cat((x, y), 1)", "t.stack((x, y))"])
def test_a_call_that_comes_often_lies_as_the_first(call):
    for _ in range(80):
        for operands in itertools.product(LAYOUTS.values(), list(LAYOUTS.values())[:2]):
            x, y = (operand(ours) for operand in operands)
            made = eval(call, {"t": ours, "x": x, "y": y})
            assert made.is_contiguous()


MATRICES = """
t.linalg.inv(A)
t.inverse(A)
t.linalg.solve(A, B)
t.linalg.solve(A, B[..., 0])
t.linalg.solve(A, B.mT, left=False)
t.linalg.solve_triangular(A, B, upper=True)
t.linalg.cholesky(S)
t.linalg.cholesky(S, upper=True)
t.cholesky_solve(B, S)
t.linalg.qr(B)[0]
t.linalg.qr(B)[1]
t.linalg.svd(B)[0]
t.linalg.svd(B)[1]
t.linalg.svd(B)[2]
t.linalg.eigh(S)[0]
t.linalg.eigh(S)[1]
t.linalg.eig(S)[1]
"""


@pytest.mark.parametrize("call", MATRICES.strip().splitlines())
def test_matrices_of_linear_algebra_lie_by_columns_where_pytorchs_do(call):
    made = []
    for t in (ours, torch):
        A = t.arange(18.0).reshape(2, 3, 3) / 9 + 3 * t.eye(3)
        names = {"t": t, "A": A, "B": t.arange(24.0).reshape(2, 3, 4).sin(), "S": A @ A.mT}
        made.append(tuple(eval(call, names).stride()))
    assert made[0] == made[1]


ALONE = """
t.erf(x)
t.special.erfcx(x)
F.gelu(x)
F.one_hot(x.long() % 3)
F.interpolate(x, scale_factor=2)
F.unfold(x, 1)
F.pixel_shuffle(x, 1)
F.channel_shuffle(x, 1)
"""
LAST = """
F.interpolate(x, scale_factor=2)
F.interpolate(x, size=(3, 3), mode="bilinear")
F.max_pool2d(x, 2)
F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, (2, 3))
F.adaptive_max_pool2d(x, (3, 2))
F.pixel_shuffle(t.cat((x, x, x, x), 1), 2)
F.unfold(x, 2)
"""


@pytest.mark.parametrize("call", ALONE.strip().splitlines())
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded inside"])
def test_functions_of_layers_lay_their_results_as_pytorch_does(call, layout):
    made = []
    for t in (ours, torch):
        names = {"t": t, "F": t.nn.functional, "x": LAYOUTS[layout](t)}
        made.append(tuple(eval(call, names).stride()))
    assert made[0] == made[1]


@pytest.mark.parametrize("call", LAST.strip().splitlines())
@pytest.mark.parametrize("images", IMAGES)
def test_functions_of_images_keep_the_channels_where_pytorch_does(call, images):
    made = []
    for t in (ours, torch):
        names = {"t": t, "F": t.nn.functional, "x": IMAGES[images](t)}
        found = eval(call, names)
        made.append((tuple(found.stride()), np.asarray(found.tolist())))
    assert made[0][0] == made[1][0]
    assert made[0][1] == pytest.approx(made[1][1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "loss", ["(x * x).sum()", "x.cumsum(0).sum()", "x[:, 0].sum()", "(3 * x).sum()"]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_of_a_leaf_lies_as_the_leaf_if_that_has_no_gaps(loss, layout):
    made = []
    for t in (ours, torch):
        x = LAYOUTS[layout](t).detach().requires_grad_()
        eval(loss, {"x": x}).backward()
        first = tuple(x.grad.stride())
        eval(loss, {"x": x}).backward()
        made.append((first, tuple(x.grad.stride()), x.grad.tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_a_parameter_that_is_turned_takes_the_steps_of_pytorch(name):
    made = []
    for t in (ours, torch):
        x = t.nn.Parameter(t.arange(12.0).reshape(3, 4).t().detach())
        optimizer = getattr(t.optim, name)([x], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
        made.append(x.tolist())
    close = pytest.approx(np.asarray(made[1]), rel=1e-5, abs=1e-5)
    assert np.asarray(made[0]) == close


@pytest.mark.parametrize("name", ["gelu", "elu", "mish", "softplus"])
def test_large_expanded_tensors_lay_their_results_as_pytorch_does(name):
    """Native code runs over them: a step of 0 says nothing of the order of axes."""

    def strides(t):
        one = t.arange(800.0).reshape(20, 1, 40).expand(20, 30, 40)
        two = t.arange(600.0).reshape(20, 30).t().unsqueeze(0).expand(40, 30, 20)
        return [getattr(t.nn.functional, name)(x).stride() for x in (one, two)]

    assert strides(ours) == strides(torch)
