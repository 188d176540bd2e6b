"""Tensors inside transforms of NumPy functions, and transforms inside programs of tensors."""

import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.errors import (
    AbstractValueError,
    LeakedTracerError,
    MutatedCaptureError,
    TracerConversionError,
    UnsupportedCallError,
)

A = np.array([1.0, 2.0])


def leaf():
    return torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)


def same(x, wanted):
    got = x.detach().numpy() if isinstance(x, torch.Tensor) else x
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


# ---------------------------------------------------------------------------------- the table
# where the Tensor is: the argument, made inside, or closed over; f(t) = sum(t³) in each case


def outside(w):
    return w, lambda t: (t * t * t).sum()


def inside(w):
    def f(t):
        one = torch.ones(2, dtype=torch.float64)
        return np.sum(t * t * t * one)

    return A, f


def closed(w):
    return A, lambda t: np.sum(t * t * w)


PLACES = [outside, inside, closed]
VALUE, SLOPE = 9.0, 3 * A**2


@pytest.mark.parametrize("place", PLACES)
class TestTable:
    def slope(self, place):
        return SLOPE if place is not closed else 2 * A**2

    def curve(self, place):
        return 6 * A if place is not closed else 2 * A

    def test_grad(self, place):
        x, f = place(leaf())
        same(fg.grad(f)(x), self.slope(place))

    def test_value_and_grad(self, place):
        x, f = place(leaf())
        value, gradient = fg.value_and_grad(f)(x)
        same(value, VALUE)
        same(gradient, self.slope(place))

    def test_grad_of_grad(self, place):
        x, f = place(leaf())
        same(fg.grad(lambda t: fg.grad(f)(t).sum())(x), self.curve(place))

    def test_jvp(self, place):
        x, f = place(leaf())
        direction = torch.ones(2, dtype=torch.float64) if place is outside else np.ones(2)
        value, moved = fg.jvp(f, (x,), (direction,))
        same(value, VALUE)
        same(moved, self.slope(place).sum())

    def test_vmap(self, place):
        x, f = place(leaf())
        batch = torch.stack([x, 2 * x]) if place is outside else np.stack([x, 2 * x])
        same(fg.vmap(f)(batch), [9.0, 72.0] if place is not closed else [9.0, 36.0])

    def test_vmap_of_grad(self, place):
        x, f = place(leaf())
        batch = torch.stack([x, x]) if place is outside else np.stack([x, x])
        same(fg.vmap(fg.grad(f))(batch), [self.slope(place)] * 2)

    def test_jit(self, place):
        x, f = place(leaf())
        jitted = fg.jit(f)
        same(jitted(x), VALUE)
        same(jitted(x), VALUE)

    def test_jit_of_grad(self, place):
        x, f = place(leaf())
        same(fg.jit(fg.grad(f))(x), self.slope(place))

    def test_grad_of_jit(self, place):
        x, f = place(leaf())
        same(fg.grad(fg.jit(f))(x), self.slope(place))

    def test_checkpoint(self, place):
        x, f = place(leaf())
        same(fg.checkpoint(f)(x), VALUE)
        same(fg.grad(fg.checkpoint(f))(x), self.slope(place))

    def test_vjp(self, place):
        x, f = place(leaf())
        value, pull = fg.vjp(f, x)
        same(value, VALUE)
        same(pull(value / 9.0)[0], self.slope(place))

    def test_hessian(self, place):
        x, f = place(leaf())
        same(fg.hessian(f)(x), np.diag(self.curve(place)))

    def test_linearize(self, place):
        x, f = place(leaf())
        value, push = fg.linearize(f, x)
        same(value, VALUE)
        same(push(x), self.slope(place) @ A)


TRANSFORMED = {
    "grad": lambda f: lambda x: fg.grad(f)(x).sum(),
    "vmap": lambda f: lambda x: fg.vmap(lambda t: t**3)(x).sum(),
    "jit": fg.jit,
    "checkpoint": fg.checkpoint,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (torch.ones(2, dtype=torch.float64),))[1],
}
CUBE = lambda t: (t**3).sum()
FIRST = {"grad": 6 * A, "jvp": 6 * A}
SECOND = {"grad": [6.0, 6.0], "jvp": [6.0, 6.0]}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_backward_passes_through_a_transform(name):
    x = leaf()
    TRANSFORMED[name](CUBE)(x).backward()
    same(x.grad, FIRST.get(name, SLOPE))


@pytest.mark.parametrize("name", TRANSFORMED)
def test_second_order_through_a_transform(name):
    x = leaf()
    (g,) = torch.autograd.grad(TRANSFORMED[name](CUBE)(x), x, create_graph=True)
    same(g, FIRST.get(name, SLOPE))
    (h,) = torch.autograd.grad(g.sum(), x)
    same(h, SECOND.get(name, 6 * A))


@pytest.mark.parametrize("transform", [fg.jit, fg.checkpoint])
def test_gradients_reach_what_is_closed_over(transform):
    w = leaf()
    f = transform(lambda t: (t * w * w).sum())
    f(A).backward()
    f(A).backward()
    same(w.grad, 2 * 2 * A * A)


def test_custom_rules_of_the_core():
    @fg.custom_vjp
    def clipped(t):
        return t**3

    clipped.defvjp(lambda t: (t**3, (t,)), lambda saved, g: (10 * saved[0] * g,))

    @fg.custom_jvp
    def scaled(t):
        return t**3

    scaled.defjvp(lambda p, t: (p[0] ** 3, 10 * p[0] * t[0]))
    for f in (clipped, scaled):
        x = leaf()
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        same(g, 10 * A)
        same(torch.autograd.grad(g.sum(), x)[0], [10.0, 10.0])


@pytest.mark.parametrize(
    ("transform", "wanted"),
    [(fg.jit, 9.0), (fg.checkpoint, 9.0), (lambda f: lambda t: fg.grad(f)(t).sum(), 12.0)],
    ids=["jit", "checkpoint", "grad"],
)
def test_dual_numbers_pass_through_transforms(transform, wanted):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        d = forward_ad.make_dual(leaf(), torch.tensor([1.0, 0.5], dtype=torch.float64))
        same(forward_ad.unpack_dual(transform(CUBE)(d)).tangent, wanted)


def test_trees_of_tensors():
    tree = {"w": leaf(), "b": [torch.tensor(2.0, dtype=torch.float64)]}
    found = fg.grad(lambda p: (p["w"] ** 2).sum() * p["b"][0])(tree)
    assert isinstance(found["w"], torch.Tensor)
    same(found["w"], 4 * A)
    same(found["b"][0], 5.0)


def test_training_with_a_jitted_gradient():
    step = fg.jit(fg.value_and_grad(lambda w, t: ((w * t - 3.0) ** 2).sum()))
    w = torch.tensor([1.0, 1.0], dtype=torch.float64)
    for _ in range(200):
        loss, gradient = step(w, A)
        w = w - 0.1 * gradient
    same(w, 3.0 / A)
    assert float(loss) < 1e-20


# ------------------------------------------------------------------------------- NumPy's functions

NUMPY = {
    "sin": (np.sin, np.cos(A)),
    "square": (np.square, 2 * A),
    "array times tensor": (lambda x: A * x, A),
    "scalar minus tensor": (lambda x: np.float64(3.0) - x, [-1.0, -1.0]),
    "array minus tensor": (lambda x: A - x, [-1.0, -1.0]),
    "sum": (np.sum, [1.0, 1.0]),
    "mean": (np.mean, [0.5, 0.5]),
    "dot": (lambda x: np.dot(A, x), A),
    "matmul": (lambda x: A @ x, A),
    "concatenate": (lambda x: np.concatenate([x, A]), [1.0, 1.0]),
    "stack": (lambda x: np.stack([x, A, x]), [2.0, 2.0]),
    "where": (lambda x: np.where(A > 1, x, 0.0), [0.0, 1.0]),
    "norm": (np.linalg.norm, A / np.sqrt(5.0)),
    "reduce": (np.add.reduce, [1.0, 1.0]),
    "outer": (lambda x: np.multiply.outer(A, x), [3.0, 3.0]),
    "sort": (np.sort, [1.0, 1.0]),
}


@pytest.mark.parametrize("name", NUMPY)
def test_functions_of_numpy_give_tensors_with_a_gradient(name):
    f, wanted = NUMPY[name]
    x = leaf()
    y = f(x)
    assert isinstance(y, torch.Tensor)
    same(y, f(A))
    y.sum().backward()
    same(x.grad, wanted)


def test_numpy_on_tensors_that_require_no_grad():
    x = leaf().detach()
    assert isinstance(np.sin(x), torch.Tensor)
    assert np.isnan(x).dtype is torch.bool
    same(np.asarray(x), A)
    assert np.asarray(x).dtype == np.float64
    counts, _ = np.histogram(x, bins=2)
    same(counts, [1, 1])
    out = np.zeros(2)
    assert np.add(x, A, out=out) is out
    same(out, 2 * A)


def test_a_gradient_is_not_cut_off_silently():
    x = leaf()
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
        np.add(x, A, out=np.zeros(2))
    with pytest.raises(UnsupportedCallError, match="as out= is not supported"):
        np.add(A, A, out=torch.zeros(2))
    with pytest.raises(TracerConversionError, match="would cut its gradient"):
        fg.grad(lambda t: t.numpy().sum())(x)


# --------------------------------------------------------------------------------------- refusals


def test_named_errors_inside_transforms():
    x = leaf()
    with pytest.raises(RuntimeError, match="inside a functorch transform"):
        fg.grad(lambda t: (t.sum().backward(), t.sum())[1])(x)
    with pytest.raises(TracerConversionError, match="has no value yet"):
        fg.jit(lambda t: t.sum().item())(x)
    with pytest.raises(AbstractValueError, match="is not known while it is traced"):
        fg.jit(lambda t: t if t.sum() > 0 else -t)(x)
    with pytest.raises(AbstractValueError, match="in some data-dependent control flow"):
        fg.vmap(lambda t: t if t > 0 else -t)(x)
    kept = []
    fg.grad(lambda t: (kept.append(t), t.sum())[1])(x)
    with pytest.raises(LeakedTracerError, match="after that transform has ended"):
        kept[0] * 2


def test_a_tensor_changed_before_the_gradient_is_computed():
    w = torch.ones(2, dtype=torch.float64)

    def f(t):
        y = (t * w).sum()
        w.add_(1)
        return y

    with pytest.raises(MutatedCaptureError, match="changed in place"):
        fg.grad(f)(A)
    z = leaf() * 1
    _, pull = fg.vjp(CUBE, z)
    with torch.no_grad():
        z.mul_(7)
    with pytest.raises(MutatedCaptureError, match="changed in place"):
        pull(torch.tensor(1.0, dtype=torch.float64))
    z = leaf() * 1
    y = fg.jit(lambda t: (t * t).sum())(z)
    z.mul_(5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_without_recording_nothing_is_recorded():
    w = leaf()
    with torch.no_grad():
        g = fg.grad(lambda t: (t * w).sum())(A)
        assert not fg.grad(CUBE)(w).requires_grad
    same(g, A)


def test_tensor_is_found_on_first_use():
    code = (
        "import sys, funcgrad as fg; before = 'funcgrad.torch' in sys.modules; "
        "print(before, fg.Tensor.__name__, fg.torch.Tensor is fg.Tensor, hasattr(fg, 'tensor'))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "Tensor", "True", "False"]
