"""Elementwise operations on large tensors, in native code of our own: beside PyTorch's."""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad
import funcgrad.torch as ours
from funcgrad.kernels import threads
from funcgrad.torch import flat

torch = pytest.importorskip("torch")

SIZE = flat.FEWEST + 13  # no multiple of a vector, of more than one piece
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 80.0, -80.0, 800.0, -800.0, 1e30, -1e30]
FUNCTIONS = {
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "gelu_tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "elu": lambda t, x: t.nn.functional.elu(x, 1.3),
    "celu": lambda t, x: t.nn.functional.celu(x, 0.7),
    "selu": lambda t, x: t.nn.functional.selu(x),
    "softplus": lambda t, x: t.nn.functional.softplus(x, 1.5, 15),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.2),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x, -2, 1.5),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.1, -3.0),
    "relu": lambda t, x: t.relu(x),
    "sigmoid": lambda t, x: t.sigmoid(x),
    "tanh": lambda t, x: t.tanh(x),
    "exp": lambda t, x: t.exp(x),
    "sin": lambda t, x: t.sin(x),
    "cos": lambda t, x: t.cos(x),
    "log": lambda t, x: t.log(x),
    "log1p": lambda t, x: t.log1p(x),
    "expm1": lambda t, x: t.expm1(x),
    "erf": lambda t, x: t.erf(x),
    "erfc": lambda t, x: t.erfc(x),
    "atan": lambda t, x: t.atan(x),
    "asinh": lambda t, x: t.asinh(x),
    "cosh": lambda t, x: t.cosh(x),
    "pow": lambda t, x: x.abs() ** 2.5,
    "cube": lambda t, x: x**3,
    "exp2": lambda t, x: t.exp2(x),
    "clamp": lambda t, x: x.clamp(-0.5, 2),
}
TOLERANCE = {"float32": 3e-6, "float64": 1e-13}


def elements(dtype, seed=0):
    x = np.random.default_rng(seed).normal(0, 3, SIZE).astype(dtype)
    x[: len(ODD)] = ODD
    x[-len(ODD) :] = ODD
    return x


def both(function, arrays, cotangent):
    """The values and gradients that the two libraries give."""
    found = []
    for t in (ours, torch):
        leaves = [t.from_numpy(x.copy()).requires_grad_() for x in arrays]
        y = function(t, *leaves)
        y.backward(t.from_numpy(cotangent.copy()))
        found.append([y.detach().numpy(), *(x.grad.numpy() for x in leaves)])
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_of_large_tensors_are_pytorch_s(name, dtype):
    x = elements(dtype)[len(ODD) : -len(ODD)]
    x = np.concatenate([x, x[: 2 * len(ODD)]])
    g = np.random.default_rng(1).normal(size=SIZE).astype(dtype)
    mine, theirs = both(FUNCTIONS[name], [x], g)
    # PyTorch has the constants of these in single precision
    rough = 3e-8 if name in ("celu", "hardsigmoid") else 0.0
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype
        tolerance = TOLERANCE[dtype] + rough
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_infinities_and_what_is_no_number_come_out_as_of_small_tensors(name, dtype):
    g = np.random.default_rng(1).normal(size=SIZE).astype(dtype)
    x = elements(dtype)
    found = []
    for part in (slice(None), slice(len(ODD)), slice(-len(ODD), None)):
        leaf = ours.from_numpy(x[part].copy()).requires_grad_()
        y = FUNCTIONS[name](ours, leaf)
        y.backward(ours.from_numpy(g[part].copy()))
        found.append((y.detach().numpy(), leaf.grad.numpy()))
    (y, c), first, last = found
    for part, few in ((slice(len(ODD)), first), (slice(-len(ODD), None), last)):
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(y[part], few[0], rtol=tolerance, atol=1e-37)
        np.testing.assert_allclose(c[part], few[1], rtol=tolerance, atol=1e-37)


@pytest.mark.parametrize("name", ["gelu", "softplus", "elu"])
@pytest.mark.parametrize("layout", ["turned", "gaps", "backwards", "permuted", "rows"])
def test_any_layout_in_memory(name, layout):
    whole = np.random.default_rng(2).normal(0, 2, (40, 50, 60))
    arrange = {
        "turned": lambda t, x: x.permute(2, 1, 0),
        "gaps": lambda t, x: x[:, ::2],
        "backwards": lambda t, x: x.flip(0),
        "permuted": lambda t, x: x.permute(1, 2, 0),
        "rows": lambda t, x: x[3:, 5:40, 7:],
    }[layout]
    shape = tuple(arrange(torch, torch.from_numpy(whole)).shape)
    g = np.random.default_rng(3).normal(size=shape)
    mine, theirs = both(lambda t, x: FUNCTIONS[name](t, arrange(t, x)), [whole], g)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    kept = [FUNCTIONS[name](t, arrange(t, t.from_numpy(whole))).stride() for t in (ours, torch)]
    assert kept[0] == kept[1] or layout == "backwards"


def test_code_is_made_for_what_is_elementwise_alone():
    x = ours.from_numpy(elements("float64")).requires_grad_()
    for name, function in FUNCTIONS.items():
        function(ours, x).sum().backward()
        assert name
    known = {(key[0].name, key[1].wanted is None): code for key, code in flat._codes.items()}
    for name in ("gelu", "silu", "torch.softplus", "expit", "tanh", "torch.mish", "torch.elu"):
        assert known[name, True] is not None
        assert known[name, False] is not None


def test_the_same_bits_with_one_thread_and_several(monkeypatch):
    x = np.random.default_rng(4).normal(size=4 * flat.SHARED + 5)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(funcgrad.config, "threads", count)
        leaf = ours.from_numpy(x.copy()).requires_grad_()
        y = ours.nn.functional.gelu(leaf)
        y.sum().backward()
        found.append(y.detach().numpy().tobytes() + leaf.grad.numpy().tobytes())
    assert found[0] == found[1] == found[2]


PROGRAM = """
import hashlib, numpy as np, funcgrad.torch as torch
x = torch.from_numpy(np.linspace(-9, 9, 50_001)).requires_grad_()
y = torch.nn.functional.gelu(x) + torch.nn.functional.softplus(x) * torch.tanh(x)
y.sum().backward()
with torch.no_grad():
    again = torch.nn.functional.gelu(x) + torch.nn.functional.softplus(x) * torch.tanh(x)
assert (again == y).all()
print(hashlib.sha1(y.detach().numpy().tobytes() + x.grad.numpy().tobytes()).hexdigest())
"""


def test_the_same_bits_from_the_first_call_on(tmp_path):
    settings = {"FUNCGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    first, second = (
        subprocess.run(
            command, env=os.environ | settings, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == second != ""


def test_a_repeated_cotangent_and_one_of_the_user_stay_as_they_are():
    x = ours.from_numpy(elements("float64", 5)[20:-20].copy()).requires_grad_()
    g = ours.ones(x.shape, dtype=ours.float64) * 3
    y = ours.nn.functional.silu(x)
    y.backward(g, retain_graph=True)
    one, x.grad = x.grad, None
    assert (g == 3).all()
    (y.sum() * 3).backward()
    assert (one == x.grad).all()


def test_sums_of_cotangents_are_pulled_in_place():
    x = np.random.default_rng(6).normal(size=SIZE)

    def function(t, x):
        y = t.nn.functional.gelu(x)
        z = t.sin(y)
        return z * y + t.exp(-y) * z

    g = np.random.default_rng(7).normal(size=SIZE)
    mine, theirs = both(function, [x], g)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_second_derivatives():
    x = np.random.default_rng(8).normal(size=SIZE)
    found = []
    for t in (ours, torch):
        leaf = t.from_numpy(x).requires_grad_()
        y = t.nn.functional.softplus(leaf) + t.tanh(leaf)
        (first,) = t.autograd.grad(y.sum(), leaf, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), leaf)
        found.append((first.detach().numpy(), second.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_halves_and_masks_and_two_operands():
    x = elements("float64", 9)[20:-20]
    y = np.random.default_rng(10).uniform(0.5, 2, x.shape)
    g = np.random.default_rng(11).normal(size=x.shape)
    mine, theirs = both(lambda t, x, y: t.pow(x.abs() + 0.1, y) + t.atan2(x, y), [x, y], g)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    half = ours.from_numpy(x.astype(np.float16)).requires_grad_()
    ours.nn.functional.gelu(half).sum().backward()
    assert half.grad.dtype == ours.float16


def test_hooks_and_writes_between_the_passes():
    x = np.random.default_rng(12).normal(size=SIZE)
    leaf = ours.from_numpy(x).requires_grad_()
    seen = []
    y = leaf * 1.0
    z = ours.nn.functional.gelu(y)
    z.register_hook(lambda g: seen.append(g.shape))
    z.sum().backward(retain_graph=True)
    assert seen == [(SIZE,)]
    with ours.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_parameters_that_change_at_each_step_get_no_code_for_ever(monkeypatch):
    monkeypatch.setattr(flat, "VARIANTS", 2)
    monkeypatch.setattr(flat, "_variants", {})
    x = np.random.default_rng(13).normal(size=SIZE)
    before = len(flat._codes)
    for step in range(6):
        slope = 0.3 + step / 7
        leaf = ours.from_numpy(x).requires_grad_()
        y = ours.nn.functional.leaky_relu(leaf, slope)
        y.sum().backward()
        np.testing.assert_allclose(y.detach().numpy(), np.where(x > 0, x, x * slope))
        np.testing.assert_allclose(leaf.grad.numpy(), np.where(x > 0, 1, slope))
    assert len(flat._codes) == before + 4


CHEAP = {
    "add": lambda t, x, z: x + z,
    "sub": lambda t, x, z: x - z,
    "mul": lambda t, x, z: x * z,
    "div": lambda t, x, z: x / z,
    "neg": lambda t, x, z: -x + 0 * z,
    "scaled": lambda t, x, z: x * 2.5 + z * 7,
    "from_one": lambda t, x, z: (1 - x) * z,
    "abs": lambda t, x, z: x.abs() * z,
    "square": lambda t, x, z: x**2 - z,
    "maximum": lambda t, x, z: t.maximum(x, z),
    "minimum": lambda t, x, z: t.minimum(x, z),
    "where": lambda t, x, z: t.where(x > z, x, z),
    "where_number": lambda t, x, z: t.where(x > 0.5, x, 0.25) * z,
    "masked_fill": lambda t, x, z: x.masked_fill(z > 0, -3.5) + z,
    "cast": lambda t, x, z: x.float().double() + z.double(),
    "clone": lambda t, x, z: x.clone() * z.clone(),
    "repeated": lambda t, x, z: x.sum() + z.mean(),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CHEAP)
def test_cheap_operations_have_the_bits_of_small_tensors(name, dtype):
    size = threads.PARALLEL + 13
    rng = np.random.default_rng(5)
    x, z, g = (rng.normal(0, 3, size).astype(dtype) for _ in range(3))
    x[: len(ODD)], z[: len(ODD)] = ODD, ODD[::-1]
    x[20:40] = z[20:40]  # ties
    found = []
    for part in (slice(None), slice(64)):
        leaves = [ours.from_numpy(v[part].copy()).requires_grad_() for v in (x, z)]
        y = CHEAP[name](ours, *leaves)
        y.backward(ours.from_numpy(g[part].copy()).to(y.dtype) if y.ndim else None)
        found.append([v.detach().numpy() for v in (y, *(leaf.grad for leaf in leaves))])
    for a, b in zip(*found, strict=True):
        if name == "repeated":  # of other numbers of elements
            assert not a.ndim or (a == a[0]).all()
        else:
            np.testing.assert_array_equal(a[:64].view(np.uint8), b.view(np.uint8))


@pytest.mark.parametrize("name", CHEAP)
def test_cheap_operations_of_large_tensors_are_pytorch_s(name):
    size = threads.PARALLEL + 13
    rng = np.random.default_rng(6)
    x, z = (rng.normal(0, 3, size) for _ in range(2))
    x[20:40] = z[20:40]
    g = rng.normal(size=() if name == "repeated" else size)
    mine, theirs = both(CHEAP[name], [x, z], g)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-11)


def test_a_copied_gradient_lies_in_memory_of_its_own():
    size = threads.PARALLEL + 13
    x, z = (ours.ones(size, requires_grad=True) for _ in range(2))
    given = ours.full((size,), 2.0)
    (x + z).backward(given)
    x.grad.zero_()
    assert given.sum() == z.grad.sum() == 2 * size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["whole", "turned", "gaps"])
def test_sums_of_large_tensors_are_as_accurate_as_pytorch_s(dtype, layout):
    rng = np.random.default_rng(7)
    x = rng.normal(1, 3, (700, 511)).astype(dtype)
    arrange = {"whole": lambda x: x, "turned": lambda x: x.T, "gaps": lambda x: x[:, ::2]}[layout]
    exact = arrange(x).astype(np.longdouble)
    for of in ("sum", "mean"):
        for keep in (False, True):
            leaf = ours.from_numpy(x.copy()).requires_grad_()
            y = getattr(arrange(leaf), of)((0, 1), keepdim=keep)
            y.backward(ours.full_like(y, 2))
            assert tuple(y.shape) == ((1, 1) if keep else ())
            error = abs(float(y) - float(getattr(exact, of)()))
            assert error <= 4 * np.finfo(dtype).eps * float(getattr(abs(exact), of)())
            expected = torch.from_numpy(x.copy()).requires_grad_()
            z = getattr(arrange(expected), of)((0, 1), keepdim=keep)
            z.backward(torch.full_like(z, 2))
            np.testing.assert_allclose(leaf.grad.numpy(), expected.grad.numpy(), rtol=1e-6)


def test_what_is_no_number_is_seen_in_the_sum_of_a_large_tensor():
    x = ours.ones(threads.PARALLEL + 13)
    for place in (0, 5000, -1):
        for number in (np.nan, np.inf):
            y = x.clone()
            y[place] = number
            assert str(y.sum().item()) == str(y.mean().item()) == str(number)


def test_sums_have_the_same_bits_with_one_thread_and_several(monkeypatch):
    x = ours.from_numpy(np.random.default_rng(8).normal(size=threads.PARALLEL * 3).astype("f4"))
    found = set()
    for count in (1, 2, 3):
        monkeypatch.setattr(funcgrad.config, "threads", count)
        found.add(x.sum().item())
    assert len(found) == 1


@pytest.mark.parametrize("shapes", [((1, 700_000), (700_000, 1)), ((2, 900, 1), (2, 1, 800))])
def test_outer_products_of_large_factors(shapes):
    rng = np.random.default_rng(9)
    x, y = (rng.normal(size=shape) for shape in shapes)
    g = rng.normal(size=(x @ y).shape)
    mine, theirs = both(lambda t, x, y: x @ y, [x, y], g)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-10)


SWITCHING = ("relu", "sigmoid", "sqrt", "maximum", "where")


@pytest.mark.parametrize("name", SWITCHING)
def test_hot_paths_of_native_code_are_the_general_path(name):
    functions = FUNCTIONS | CHEAP | {"sqrt": lambda t, x: t.sqrt(x.abs())}
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(160, 300)), rng.normal(size=(160, 300))
    arrange = (lambda x: x, lambda x: x.T, lambda x: x[:, ::2])
    for turn in arrange:
        outcomes = []
        for tracked in (True, False):  # anomaly mode takes the general way
            leaves = [ours.from_numpy(turn(x.copy())).requires_grad_() for x in rows]
            with ours.autograd.set_detect_anomaly(not tracked):
                y = functions[name](ours, *leaves[: 2 if name in CHEAP else 1])
                y.sum().backward()
            outcomes.append([y, *(x.grad for x in leaves if x.grad is not None)])
        for a, b in zip(*outcomes, strict=True):
            assert a.stride() == b.stride()
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        assert type(outcomes[0][0].grad_fn).__name__ == type(outcomes[1][0].grad_fn).__name__


def test_a_double_backward_through_native_code():
    x = np.random.default_rng(11).uniform(0.5, 1.5, SIZE)
    for name in ("sigmoid", "tanh", "log", "relu", "cube"):
        found = []
        for t in (ours, torch):
            leaf = t.from_numpy(x.copy()).requires_grad_()
            (g,) = t.autograd.grad(FUNCTIONS[name](t, leaf).sum(), leaf, create_graph=True)
            (g * g).sum().backward() if g.requires_grad else None
            found.append(np.zeros(1) if leaf.grad is None else leaf.grad.numpy())
        np.testing.assert_allclose(*found, rtol=1e-12)
