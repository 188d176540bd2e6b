"""`debug.callback` and `io_callback`: what they are given and give back, and what they refuse."""

import numpy as np
import pytest

import funcgrad as fg

SCALAR = fg.ShapeDtypeStruct((), float)


def counted():
    """A function that returns how often it was called, as `io_callback` calls it."""
    calls = []

    def count(*_):
        calls.append(None)
        return np.float64(len(calls))

    return count


def test_a_callback_may_keep_what_it_is_given():
    seen = []

    def step(carry, row):
        fg.debug.callback(seen.append, carry * row)
        return carry + row, None

    f = fg.jit(lambda x: fg.scan(step, np.zeros(3), x)[0])
    f(np.arange(12.0).reshape(4, 3))
    carry, expected = np.zeros(3), []
    for row in np.arange(12.0).reshape(4, 3):
        expected.append(carry * row)
        carry = carry + row
    np.testing.assert_array_equal(seen, expected)
    with pytest.raises(ValueError, match="read-only"):
        seen[0][0] = 1.0


def test_a_pure_callback_may_keep_what_it_is_given():
    seen = []

    def keep(v):
        seen.append(v)
        return v

    shape = fg.ShapeDtypeStruct((3,), float)
    f = fg.jit(lambda x: np.cos(fg.pure_callback(keep, shape, np.sin(x)) * 2.0) - 1.0)
    for k in range(3):
        f(np.full(3, float(k)))
    np.testing.assert_allclose(seen, np.sin([[0.0] * 3, [1.0] * 3, [2.0] * 3]), 1e-15)


def test_arguments_are_trees_and_whatever_is_no_array_comes_as_it_is():
    seen = []
    record = lambda *args, **kwargs: seen.append((args, kwargs))
    f = lambda x: fg.debug.callback(record, {"a": x, "b": [x + 1.0, "text"]}, None, key=(x, len))
    f(1.0)
    fg.jit(f)(1.0)
    fg.vmap(f)(np.array([1.0]))
    for args, kwargs in seen:
        assert args == ({"a": 1.0, "b": [2.0, "text"]}, None)
        assert kwargs == {"key": (1.0, len)}


def test_what_a_callback_raises_leaves_the_program_with_its_line():
    def refuse(x):
        raise KeyError("no")

    f = lambda x: (fg.debug.callback(refuse, x), x)[1]
    for g in (f, fg.jit(f), fg.grad(f), lambda x: fg.vmap(f)(np.full(2, x))):
        with pytest.raises(KeyError, match="no"):
            g(1.0)
    with pytest.raises(KeyError) as caught:
        fg.jit(f)(1.0)
    assert any("test_callbacks.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("make", [lambda f: f, fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_an_io_callback_is_called_once_at_each_call(make):
    count = counted()
    f = make(lambda x: x * fg.io_callback(count, SCALAR))
    assert [float(f(1.0)) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_an_io_callback_in_loops_and_under_vmap():
    f = lambda x: fg.scan(lambda c, v: (c, v * fg.io_callback(counter, SCALAR, v)), 0.0, x)[1]
    for g, x, expected in (
        (f, np.ones(3), [1.0, 2.0, 3.0]),
        (fg.jit(f), np.ones(3), [1.0, 2.0, 3.0]),
        (fg.jit(fg.vmap(f)), np.ones((2, 2)), [[1.0, 3.0], [2.0, 4.0]]),
    ):
        counter = counted()
        np.testing.assert_array_equal(g(x), expected)


def test_a_branch_that_an_example_does_not_take_is_not_called():
    count = counted()
    f = lambda x: fg.cond(x > 0, lambda v: fg.io_callback(count, SCALAR, v), lambda v: -v, x)
    np.testing.assert_array_equal(fg.jit(fg.vmap(f))(np.array([1.0, -5.0, 1.0])), [1.0, 5.0, 2.0])


def test_a_while_loop_by_an_io_callback():
    count = counted()
    step = lambda x: lambda c: (fg.io_callback(count, SCALAR), c[1] + x)
    f = fg.jit(lambda x: fg.while_loop(lambda c: c[0] < 4.0, step(x), (0.0, 0.0)))
    assert f(2.0) == (4.0, 8.0)
    assert count() == 5.0


@pytest.mark.peers
def test_the_io_callback_of_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.experimental import io_callback

    found = []
    for module, call in ((fg, fg.io_callback), (jax, io_callback)):
        count = counted()
        shape = module.ShapeDtypeStruct((), float)
        scan = module.lax.scan
        step = lambda c, v: (c + v * call(count, shape, v, ordered=True), c)
        found.append(module.jit(lambda x: scan(step, 0.0, x))(np.arange(4.0)))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_what_effects_refuse_is_named():
    read = lambda x: x * fg.io_callback(lambda v: v, SCALAR, x)
    with pytest.raises(fg.errors.NotDifferentiableError, match=r"io_callback of .* has no deriv"):
        fg.grad(read)(1.0)
    again = fg.checkpoint(lambda x: x * fg.io_callback(counted(), SCALAR))
    with pytest.raises(fg.errors.EffectError, match="would have to be computed again"):
        fg.grad(again)(1.0)
    goes_on = lambda v: (fg.debug.print("{}", v), v < 5.0)[1]
    loop = lambda x: fg.while_loop(goes_on, lambda v: 2.0 * v, x)
    with pytest.raises(fg.errors.EffectError, match="in the condition of a while_loop"):
        fg.vmap(loop)(np.array([1.0, 2.0]))
    with pytest.raises(fg.errors.EffectError, match="in the condition of a while_loop"):
        fg.jit(fg.grad(loop))(1.0)

    @fg.custom_jvp
    def shown(x):
        return x

    shown.defjvp(lambda p, t: (shown(*p), (fg.debug.print("{}", t[0]), t[0])[1]))
    with pytest.raises(fg.errors.NotDifferentiableError, match="is given a tangent"):
        fg.grad(shown)(1.0)
    with pytest.raises(fg.errors.AbstractValueError):
        fg.jit(lambda x: x[x > fg.io_callback(counted(), SCALAR)])(np.arange(3.0))


def test_native_programs_refuse_effects_by_name(tmp_path):
    f = fg.jit(lambda x: (fg.debug.print("{}", x), np.sin(x))[1])
    with pytest.raises(fg.errors.NativeCodeError, match=r"debug.print .* effect") as caught:
        f.export(tmp_path / "f", 1.0)
    assert "test_callbacks.py" in str(caught.value)


def test_native_functions_of_numba_refuse_effects_by_name():
    numba = pytest.importorskip("numba")
    f = fg.jit(lambda x: (fg.debug.print("{}", x), np.sin(x))[1]).njit
    with pytest.raises(Exception, match=r"debug.print .* effect"):
        numba.njit(lambda x: f(x))(1.0)


def test_formats_are_checked_while_the_function_is_traced():
    with pytest.raises(ValueError, match=r"does not name the arguments 1, y"):
        fg.jit(lambda x: fg.debug.print("{}", x, x, y=x))(1.0)
    with pytest.raises(IndexError):
        fg.debug.print("{} {}", 1.0)
    with pytest.raises(KeyError):
        fg.debug.print("{x}", y=1.0)
