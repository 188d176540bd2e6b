"""Softmax and batch norm of large matrices, in native code of our own: beside PyTorch's."""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad
import funcgrad.torch as ours
from funcgrad.torch import lines

torch = pytest.importorskip("torch")

SHAPES = [(701, 100), (40, 1003), (13_001, 3), (50_003,), (7, 5, 1001), (2, 20_000), (33_000, 1)]
TOLERANCE = {"float32": 4e-6, "float64": 1e-13}


def both(function, arrays, cotangent):
    """The values and gradients that the two libraries give."""
    found = []
    for t in (ours, torch):
        leaves = [t.from_numpy(x.copy()).requires_grad_() for x in arrays]
        y = function(t, *leaves)
        y.backward(t.from_numpy(cotangent.copy()))
        found.append([y.detach().numpy(), *(x.grad.numpy() for x in leaves)])
    return found


def compare(mine, theirs, tolerance):
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        scale = max(1.0, float(np.nanmax(np.abs(np.where(np.isinf(b), 0, b)))))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_the_last_axis(name, shape, dtype):
    rng = np.random.default_rng(0)
    x, g = rng.normal(0, 3, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    compare(*both(lambda t, x: getattr(t, name)(x, -1), [x], g), TOLERANCE[dtype])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_infinities_and_what_is_no_number(name):
    x = np.random.default_rng(1).normal(size=(9, 5000))
    x[0, 7], x[1, 8], x[2, 9], x[3] = np.nan, np.inf, -np.inf, -np.inf
    x[4, :], x[5, 4999], x[6] = 800.0, -900.0, x[6] * 1e300
    mine = getattr(ours, name)(ours.from_numpy(x), -1).numpy()
    theirs = getattr(torch, name)(torch.from_numpy(x), -1).numpy()
    np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 100), (50, 1003), (13_001, 3), (40_000, 1), (900, 64, 1)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_of_rows(shape, affine, dtype):
    rng = np.random.default_rng(2)
    x, g = rng.normal(3, 2, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    parts = [rng.normal(size=shape[1]).astype(dtype) for _ in range(2)] if affine else []

    def function(t, x, *parts):
        return t.nn.functional.batch_norm(x, None, None, *parts, training=True)

    compare(*both(function, [x, *parts], g), 20 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 100), (50, 1003), (6001, 3), (2, 20_000), (40, 30, 64)])
@pytest.mark.parametrize("parts", ["both", "weight", "none"])
def test_layer_norm_of_rows(shape, parts, dtype):
    rng = np.random.default_rng(2)
    x, g = rng.normal(3, 2, shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    last = shape[1:] if parts == "both" else shape[-1:]
    count = {"both": 2, "weight": 1, "none": 0}[parts]
    given = [rng.normal(size=last).astype(dtype) for _ in range(count)]

    def function(t, x, *given):
        return t.nn.functional.layer_norm(x, last, *given)

    compare(*both(function, [x, *given], g), 20 * TOLERANCE[dtype])


def test_layer_norm_of_turned_tensors_and_parts_of_gradients():
    rng = np.random.default_rng(4)
    x, g = rng.normal(size=(200, 300)), rng.normal(size=(300, 200))
    w = rng.normal(size=200)
    compare(*both(lambda t, x, w: t.nn.functional.layer_norm(x.t(), (200,), w), [x, w], g), 1e-12)
    found = []
    for t in (ours, torch):  # the weight's alone
        weight = t.from_numpy(w.copy()).requires_grad_()
        t.nn.functional.layer_norm(t.from_numpy(x.T.copy()), (200,), weight).sum().backward()
        found.append([weight.grad.numpy()])
    compare(*found, 1e-12)


def test_batch_norm_far_from_zero():
    rng = np.random.default_rng(8)
    x = (rng.normal(size=(5000, 9)) * 0.01 + 1000).astype(np.float32)
    x[0, 3], x[0, 4] = 1e6, -3e4
    g = rng.normal(size=x.shape).astype(np.float32)

    def function(t, x):
        return t.nn.functional.batch_norm(x.to(t.float64), None, None, training=True)

    exact = both(function, [x], g.astype(np.float64))[1]
    mine = both(lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), [x], g)[0]
    error = np.abs(mine[0] - exact[0]).max()
    assert error < 0.01  # a hundredth of a deviation is 1000 in units of the last place
    np.testing.assert_allclose(mine[0].mean(0), 0, atol=0.01)


@pytest.mark.parametrize("shape", [(50_003,), (3, 20_000), (400, 50, 2), (1, 17_000)])
def test_running_sums_in_single_precision(shape):
    rng = np.random.default_rng(9)
    x, g = (rng.normal(1, 1, shape).astype(np.float32) for _ in range(2))
    compare(*both(lambda t, x: t.cumsum(x, -1), [x], g), 3e-7)
    compare(*both(lambda t, x: t.cumsum(x, 0), [x], g), 3e-7)
    many = ours.full((1_000_000,), 0.1)
    assert float(many.cumsum(0)[-1]) == pytest.approx(100_000, rel=1e-6)


def test_running_statistics_and_evaluation():
    x = np.random.default_rng(3).normal(2, 3, (600, 70))
    found = []
    for t in (ours, torch):
        layer = t.nn.BatchNorm1d(70, dtype=t.float64)
        for _ in range(2):
            layer(t.from_numpy(x)).square().mean().backward()
        y = layer.eval()(t.from_numpy(x))
        found.append([v.detach().numpy() for v in
                      (y, layer.running_mean, layer.running_var, layer.weight.grad)])  # fmt: skip
    compare(*found, 1e-12)


@pytest.mark.parametrize("arrange", [lambda x: x.T, lambda x: x[:, ::2], lambda x: x[::-1]])
def test_other_layouts(arrange):
    x = arrange(np.random.default_rng(4).normal(size=(300, 400)))
    g = np.random.default_rng(5).normal(size=x.shape)
    found = []
    for t in (ours, torch):
        leaf = t.from_numpy(np.abs(x.copy("K"))).requires_grad_()
        y = t.softmax(leaf, 1) + t.log_softmax(leaf, 0)
        y = y + t.nn.functional.batch_norm(leaf, None, None, training=True)
        y.backward(t.from_numpy(g.copy()))
        found.append([y.detach().numpy(), leaf.grad.numpy()])
    compare(*found, 1e-12)


def test_second_derivatives():
    x = np.random.default_rng(6).normal(size=(400, 100))
    found = []
    for t in (ours, torch):
        leaf = t.from_numpy(x).requires_grad_()
        y = t.softmax(leaf, 1) * t.nn.functional.batch_norm(leaf, None, None, training=True)
        (first,) = t.autograd.grad(y.square().sum(), leaf, create_graph=True)
        (second,) = t.autograd.grad(first.square().sum(), leaf)
        found.append([first.detach().numpy(), second.numpy()])
    compare(*found, 1e-10)


PROGRAM = """
import hashlib, numpy as np, funcgrad.torch as torch
x = torch.from_numpy(np.random.default_rng(0).normal(size=(700, 100))).requires_grad_()
y = torch.softmax(x, 1) + torch.nn.functional.batch_norm(x, None, None, training=True)
(y * torch.log_softmax(x, 1)).sum().backward()
print(hashlib.sha1(y.detach().numpy().tobytes() + x.grad.numpy().tobytes()).hexdigest())
"""


def test_the_same_bits_from_the_first_call_on_and_with_any_threads(tmp_path):
    settings = {"FUNCGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = []
    for threads in ("1", "2", "2"):
        command = [sys.executable, "-c",
                   f"import funcgrad; funcgrad.config.threads = {threads}\n{PROGRAM}"]  # fmt: skip
        run = subprocess.run(
            command, env=os.environ | settings, capture_output=True, text=True, check=True
        )
        found.append(run.stdout)
    assert found[0] == found[1] == found[2] != ""


def test_threads_share_rows_and_columns(monkeypatch):
    x = np.random.default_rng(7).normal(size=(4 * lines.SHARED // 300, 300))
    found = []
    for count in (1, 3):
        monkeypatch.setattr(funcgrad.config, "threads", count)
        leaf = ours.from_numpy(x).requires_grad_()
        y = ours.softmax(leaf, 1) + ours.nn.functional.batch_norm(leaf, None, None, training=True)
        y.square().sum().backward()
        found.append(y.detach().numpy().tobytes() + leaf.grad.numpy().tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (5000,), (70_001,), (1, 70_000), (300, 301)])
def test_all_of_an_array_is_turned_round(dtype, shape):
    source = np.random.default_rng(0)
    values, g = (source.normal(size=shape).astype(dtype) for _ in range(2))
    for dims in (tuple(range(len(shape))), (0,)):
        x = ours.from_numpy(values.copy()).requires_grad_()
        y = x.flip(dims)
        y.backward(ours.from_numpy(g))
        np.testing.assert_array_equal(y.detach().numpy(), np.flip(values, dims))
        np.testing.assert_array_equal(x.grad.numpy(), np.flip(g, dims))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [4095, 4096, 5000, 70_001, 300_000])
def test_sums_of_whole_tensors_are_as_near_as_their_blocks(dtype, size):
    values = np.random.default_rng(size).normal(size=size).astype(dtype)
    x = ours.from_numpy(values)
    found, threads = x.sum().item(), funcgrad.config.threads
    bound = 30 * np.finfo(dtype).eps * np.abs(values).sum(dtype=np.float64)
    assert abs(found - values.sum(dtype=np.float64)) <= bound
    try:
        funcgrad.config.threads = 1
        assert x.sum().item() == found
        assert x.clone().requires_grad_().sum().item() == found
    finally:
        funcgrad.config.threads = threads
