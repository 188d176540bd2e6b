"""Writes into what a transform or a rule was given, or hands back, within other transforms."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.arange(6.0).reshape(2, 3)


def rule():
    """The identity with a rule."""
    f = fg.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (g,))
    return f


# What a transform computes of its argument, or its argument itself
HANDED_BACK = {
    "jit": lambda z: fg.jit(lambda y: y)(z),
    "jit, twice": lambda z: fg.jit(lambda y: (y, y))(z)[1],
    "vjp": lambda z: fg.vjp(lambda y: y, z)[0],
    "jvp": lambda z: fg.jvp(lambda y: y, (z,), (z * 1.0,))[0],
    "tangent": lambda z: fg.jvp(lambda y: y, (z * 1.0,), (z,))[1],
    "pullback": lambda z: fg.vjp(lambda y: y, z * 1.0)[1](z)[0],
    "linearize": lambda z: fg.linearize(lambda y: y, z)[0],
    "vmap": lambda z: fg.vmap(lambda y: y)(z),
    "vmap, twice": lambda z: fg.vmap(lambda y: (y, y))(z)[1],
    "grad": lambda z: fg.grad(lambda y: np.sum(y * z))(np.ones((2, 3))),
    "aux": lambda z: fg.grad(lambda y: (np.sum(y), y), has_aux=True)(z)[1],
    "checkpoint": lambda z: fg.checkpoint(lambda y: y)(z),
    "custom rule": lambda z: rule()(z),
}
AROUND = {
    "plain": lambda f: f,
    "vjp": lambda f: lambda x: fg.vjp(f, x)[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,))[0],
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None])[0],
    "jit of vmap": lambda f: lambda x: fg.jit(fg.vmap(f))(x[None])[0],
    "grad of grad": lambda f: lambda x: fg.vjp(lambda x: fg.vjp(f, x)[0], x)[0],
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("inner", HANDED_BACK)
def test_a_write_into_a_result_reaches_nothing_else(inner, around):
    def f(x):
        z = x * 1.0
        found = HANDED_BACK[inner](z)
        found[0] = 9.0
        return z

    np.testing.assert_array_equal(AROUND[around](f)(X), X)


@pytest.mark.parametrize("around", AROUND)
def test_stop_gradient_is_a_view(around):
    def f(x):
        z = x * 1.0
        seen = fg.stop_gradient({"a": z})["a"]
        seen[0] = 9.0
        z[1] = 7.0
        return z + seen

    np.testing.assert_array_equal(AROUND[around](f)(X), [[18.0] * 3, [14.0] * 3])


def squares(x, change):
    z = np.sin(x)
    y = np.sum(z * z)
    change(z)
    return y


@pytest.mark.parametrize("size", [2, 20_000])
def test_a_write_into_a_constant_leaves_what_is_saved(size):
    x = np.linspace(0.1, 0.9, size)

    def change(z):
        fg.stop_gradient(z)[...] = 0.0

    got = fg.grad(lambda x: squares(x, change))(x)
    np.testing.assert_allclose(got, 2 * np.sin(x) * np.cos(x))


@pytest.mark.parametrize("transform", [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (x,))])
def test_the_value_behind_a_traced_array_cannot_be_written_into(transform):
    def change(z):
        fg.value(z)[...] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        transform(lambda x: squares(x, change))(np.ones(2))
    plain = np.ones(2)
    change(plain)
    assert not plain.any()


def test_aux_may_be_changed_before_the_pullback():
    def f(x):
        z = np.sin(x)
        box = fnp.zeros(2)
        box[:] = z
        return np.sum(z * box), (z, box)

    x = np.array([0.3, 0.5])
    _, pull, aux = fg.vjp(f, x, has_aux=True)
    for a in aux:
        a[...] = 0.0
    np.testing.assert_allclose(pull(1.0)[0], 2 * np.sin(x) * np.cos(x))


class TestRulesThatWriteIntoWhatTheyAreGiven:
    """Small arrays are copies; a write into a large one is an error."""

    @staticmethod
    def doubling(writes_forward=False):
        @fg.custom_vjp
        def f(x):
            return x * 1.0

        def forward(x):
            y = x * 1.0
            if writes_forward:
                x *= 2.0
            return y, y

        def backward(y, g):
            y *= 0.0
            g *= 2.0
            return (g,)

        f.defvjp(forward, backward)
        return f

    @pytest.mark.parametrize("around", [fg.grad, lambda f: fg.jit(fg.grad(f))])
    @pytest.mark.parametrize("writes_forward", [False, True])
    def test_reverse_mode(self, around, writes_forward):
        f, x = self.doubling(writes_forward), np.array([0.3, 0.5])

        def total(x):
            z = np.sin(x)
            return np.sum(z * z + f(z) + z)

        want = (2 * np.sin(x) + 3) * np.cos(x)
        np.testing.assert_allclose(around(total)(x), want)

    def test_the_cotangent_of_the_caller(self):
        y, pull = fg.vjp(self.doubling(), np.ones(2))
        y[:] = 5.0
        g = np.ones(2)
        for _ in range(2):
            np.testing.assert_array_equal(pull(g)[0], [2.0, 2.0])
        np.testing.assert_array_equal(g, [1.0, 1.0])

    def test_large_arrays(self):
        x = np.ones(20_000)
        with pytest.raises(fg.errors.MutatedCaptureError, match="changed in place"):
            fg.vjp(self.doubling(), x)[1](np.ones(20_000))

    def test_forward_mode(self):
        @fg.custom_jvp
        def f(x):
            return x * 1.0

        @f.defjvp
        def _(primals, tangents):
            (x,), (t,) = primals, tangents
            x *= 2.0
            t *= 3.0
            return x, t

        x, t = np.ones(2), np.ones(2)
        y, moved = fg.jvp(f, (x,), (t,))
        np.testing.assert_array_equal(
            [y, moved, x, t], np.repeat([[2.0], [3.0], [1.0], [1.0]], 2, 1)
        )

    def test_where_nothing_is_traced_the_function_is_called_as_it_is(self):
        @fg.custom_vjp
        def f(x):
            x[0] = 9.0
            return x * 1.0

        f.defvjp(lambda x: (x, None), lambda _, g: (g,))
        x = np.ones(2)
        f(x)
        assert x[0] == 9.0
