"""Levels, leaks, and what changes between a computation and its backward pass.

The numbers are those of the table of traps.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors


def test_trap_26_perturbation_confusion():
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0) == 1.0


def test_trap_27_leaks():
    store = []

    def f(x):
        store.append(x * 2.0)
        return x

    fg.grad(f)(1.0)
    for use in (lambda t: t + 1.0, lambda t: np.sin(t), lambda t: t > 0, lambda t: fnp.sum(t)):
        with pytest.raises(errors.LeakedTracerError, match=r"test_trap_levels\.py"):
            use(store[0])

    def outer(x):
        fg.grad(lambda y: (store.append(y * x), y)[1])(x)
        return store[-1] * x

    with pytest.raises(errors.LeakedTracerError):
        fg.grad(outer)(3.0)
    with pytest.raises(errors.LeakedTracerError):
        fg.grad(lambda x: store[0])(3.0)


def test_trap_29_a_reused_workspace():
    for size in (3, 20_000):
        buffer = np.zeros(size)

        def f(x, buffer=buffer):
            s = 0.0
            for i in range(3):
                buffer[:] = i
                s = s + fnp.sum(x * buffer)
            return s

        try:
            np.testing.assert_array_equal(fg.grad(f)(np.ones(size)), np.full(size, 3.0))
        except errors.MutatedCaptureError as error:
            assert size > 3
            assert "changed in place" in str(error)
        np.testing.assert_array_equal(fg.jit(fg.grad(f))(np.ones(3)), 3.0) if size == 3 else None


def test_trap_29_the_input_changes_before_its_pullback():
    x = np.array([1.0, 2.0])
    _, pull = fg.vjp(lambda a: fnp.sum(a * a), x)
    x += 100
    np.testing.assert_array_equal(pull(1.0)[0], [2, 4])
    middling = np.ones(20_000)
    _, pull = fg.vjp(lambda a: fnp.sum(a * a), middling)
    middling += 1
    np.testing.assert_array_equal(pull(1.0)[0], 2.0)
    large = np.ones(600_000)
    _, pull = fg.vjp(lambda a: fnp.sum(a * a), large)
    large += 1
    with pytest.raises(errors.MutatedCaptureError, match="changed in place"):
        pull(1.0)


def test_trap_29_the_output_changes_before_its_pullback():
    y, pull = fg.vjp(np.exp, np.zeros(3))
    y += 100
    np.testing.assert_array_equal(pull(np.ones(3))[0], np.ones(3))


def test_checkpoint_closes_over_a_traced_value():
    got = fg.grad(lambda w: fg.checkpoint(lambda y: fnp.sin(y * w))(w * 1.0))(0.7)
    np.testing.assert_allclose(got, np.cos(0.49) * 1.4)


def test_a_cached_method_whose_attribute_became_traced():
    class Model:
        w = np.ones(3)

    model, x = Model(), np.arange(3.0)
    f = fg.jit(lambda v: fnp.sum(model.w * v))
    f(x)

    def loss(w):
        model.w = w
        return f(x)

    np.testing.assert_array_equal(fg.grad(loss)(np.full(3, 5.0)), x)


def test_writing_a_later_value_into_an_older_array():
    def f(x):
        b = fnp.zeros(2)

        def inner(y):
            b[0] = y
            return y * 1.0

        fg.grad(inner)(x)
        return x

    with pytest.raises(errors.LaterTransformError, match="older than that transform"):
        fg.grad(f)(1.0)


def test_trap_26_four_levels():
    """x times the derivative at 1 of y times that of z times that of w."""

    def nested(x, depth):
        if not depth:
            return x * x
        return x * fg.grad(lambda y: nested(x + y, depth - 1))(1.0)

    def by_hand(x, depth, order):
        """The derivatives of `nested` by x, as polynomials of one shifted argument."""
        p = np.polynomial.Polynomial([0.0, 0.0, 1.0])
        shift = np.polynomial.Polynomial([1.0, 1.0])
        line = np.polynomial.Polynomial([0.0, 1.0])
        for _ in range(depth):
            p = line * p.deriv()(shift)
        return p.deriv(order)(x) if order else p(x)

    for depth in range(5):
        for order, f in enumerate((nested, fg.grad(nested), fg.grad(fg.grad(nested)))):
            np.testing.assert_allclose(f(0.7, depth), by_hand(0.7, depth, order), rtol=1e-12)


def test_trap_28_randomness_that_all_examples_would_share():
    generator = np.random.default_rng(0)
    with pytest.raises(errors.RandomnessError):
        fg.vmap(lambda x: x + generator.normal())(np.zeros(3))


def test_trap_28_a_closure_that_a_compiled_function_changes():
    seen = []

    def f(x):
        seen.append(1)
        return x * len(seen)

    run = fg.jit(f)
    assert [run(2.0), run(2.0), run(2.0)] == [2.0, 4.0, 6.0]


def test_trap_29_a_tensor_changed_in_place():
    torch = pytest.importorskip("funcgrad.torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    z = (y * y).sum()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
