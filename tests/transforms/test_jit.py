"""jit: when it traces, what it remembers, and that captures are never stale."""

import collections
import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.errors import TreeError


def counted(f):
    def g(*args, **kwargs):
        g.count += 1
        return f(*args, **kwargs)

    g.count = 0
    return g


def test_it_traces_once_for_each_kind_of_arguments():
    f = counted(lambda x: np.sum(x * 2.0))
    g = fg.jit(f)
    first = f.count
    for x in (np.ones(3), np.zeros(3)):
        g(x)
    traced = f.count
    g(np.ones(4)), g(np.ones(3, np.float32)), g(1.0)
    assert traced == first + 1 or traced == 1
    assert g(np.ones(3)) == 6.0


def test_static_arguments():
    f = fg.jit(lambda x, n: x**n if n > 1 else x, static_argnums=1)
    assert f(3.0, 2) == 9.0
    assert f(3.0, 1) == 3.0
    g = fg.jit(lambda x, *, mode: x + 1.0 if mode == "up" else x - 1.0, static_argnames="mode")
    assert g(1.0, mode="up") == 2.0
    assert g(1.0, mode="down") == 0.0
    with pytest.raises(ValueError, match="hashable"):
        f(3.0, np.ones(2))


def test_trees_in_and_out():
    f = fg.jit(lambda p: {"a": p["x"][0] + p["y"], "b": (p["y"], None)})
    out = f({"x": [1.0, np.ones(2)], "y": 2.0})
    assert out == {"a": 3.0, "b": (2.0, None)}
    with pytest.raises(TreeError, match=r"\['s'\]"):
        fg.jit(lambda x: {"s": "text"})(1.0)


def test_captured_arrays_are_looked_at_on_every_call():
    w = np.ones(3)

    def f(v):
        return fnp.sum(w * v)

    g = fg.jit(f)
    x = np.arange(3.0)
    assert g(x) == 3.0
    w[:] = 2.0
    assert g(x) == 6.0
    w = np.full(3, 3.0)
    assert g(x) == 9.0
    w = np.full((3, 1), 1.0)
    assert g(x) == 9.0


def test_captured_numbers_containers_and_attributes():
    scale, weights = 2.0, [np.ones(2), {"b": 1.0}]

    class Model:
        def __init__(self):
            self.bias = np.zeros(2)

        @fg.jit
        def __call__(self, x):
            return x * scale + weights[0] * weights[1]["b"] + self.bias

    model = Model()
    f = fg.jit(lambda x: x * scale + weights[0] * weights[1]["b"] + model.bias)
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(f(x), [3, 5])
    scale = 3.0
    np.testing.assert_array_equal(f(x), [4, 7])
    weights[0] = np.zeros(2)
    np.testing.assert_array_equal(f(x), [3, 6])
    weights[1]["b"] = 5.0
    np.testing.assert_array_equal(f(x), [3, 6])
    model.bias = np.ones(2)
    np.testing.assert_array_equal(f(x), [4, 7])


def test_a_captured_traced_value_gets_its_gradient():
    f = fg.jit(lambda x, y: x * y)

    def loss(w):
        inner = fg.jit(lambda x: np.sum(x * w))
        return inner(np.arange(3.0)) + f(w, w).sum()

    np.testing.assert_array_equal(fg.grad(loss)(np.ones(3)), [2, 3, 4])


def test_a_function_that_captures_a_jitted_one_that_captures_an_array():
    w = np.ones(2)
    inner = fg.jit(lambda x: x * w)
    outer = fg.jit(lambda x: inner(x) + 1.0)
    np.testing.assert_array_equal(outer(np.ones(2)), [2, 2])
    w[:] = 5.0
    np.testing.assert_array_equal(outer(np.ones(2)), [6, 6])


def test_the_primal_is_not_run_twice():
    graph = fg.make_graph(fg.grad(fg.jit(lambda x: np.sum(np.tanh(x)))))(np.ones(3))
    assert [e.prim.name for e in graph.equations].count("tanh") == 1


def test_every_composition_of_the_issue():
    def f(x):
        return np.sum(np.sin(x) * x)

    x = np.linspace(0.1, 1.0, 3)
    want = np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), want)
    np.testing.assert_allclose(fg.grad(fg.jit(f))(x), want)
    np.testing.assert_allclose(fg.jit(fg.grad(fg.jit(f)))(x), want)
    np.testing.assert_allclose(fg.vmap(fg.jit(fg.grad(f)))(np.stack([x, x])), [want, want])
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(np.stack([x, x])), [want, want])
    np.testing.assert_allclose(fg.jvp(fg.jit(f), (x,), (np.ones(3),))[1], want.sum())
    hessian = np.diag(2 * np.cos(x) - x * np.sin(x))
    np.testing.assert_allclose(fg.hessian(fg.jit(f))(x), hessian)
    np.testing.assert_allclose(fg.jit(fg.hessian(f))(x), hessian)


def test_quick_calls_look_at_what_the_function_brings_along():
    class Model:
        def __init__(self):
            self.w, self.options = np.ones(3), {"scale": 2.0}

        def __call__(self, x):
            return np.sum(self.w * x) * self.options["scale"]

    model = Model()
    f, x = fg.jit(model.__call__), np.arange(3.0)
    assert [f(x), f(x)] == [6.0, 6.0]
    model.w[0] = 5.0
    assert f(x + 1.0) == model(x + 1.0)
    model.w = np.zeros(3)
    assert f(x) == 0.0
    model.w = np.ones(3)
    model.options["scale"] = 3.0
    assert f(x) == 9.0
    model.options = {"scale": 4.0}
    assert f(x) == 12.0


def test_quick_calls_take_trees_and_every_kind_of_number():
    f = fg.jit(lambda p, x: {"y": p["w"] * x, "z": (p["b"][0] + 1, None)})
    p = {"w": np.ones(2), "b": [2.0]}
    for _ in range(2):
        out = f(p, 3.0)
        np.testing.assert_array_equal(out["y"], [3.0, 3.0])
        assert out["z"] == (3.0, None)
    assert type(f(p, np.float32(3.0))["y"][0]) is np.float64
    assert f({"w": np.ones(2, np.float32), "b": [2]}, 3.0)["y"].dtype == np.float32
    assert type(f({"w": 1, "b": [2]}, 3)["z"][0]) is int


@pytest.mark.parametrize("around", [lambda f: f, fg.grad, lambda f: fg.vmap(f, axis_size=3)])
def test_attributes_of_an_object_that_is_called_are_looked_at(around):
    class Layer:
        def __init__(self):
            self.w = np.ones(3)

        def __call__(self, x):
            return np.sum(self.w * x**2)

    class Model:
        def __init__(self):
            self.layer, self.scale = Layer(), 2.0

        def __call__(self, x):
            return self.layer(x) * self.scale

    model = Model()
    f, x = fg.jit(around(model)), np.arange(3.0)
    for change in (
        lambda: None,
        lambda: setattr(model, "scale", 3.0),
        lambda: setattr(model.layer, "w", np.zeros(3)),
        lambda: model.layer.w.fill(5.0),
        lambda: setattr(model, "layer", Layer()),
    ):
        change()
        for _ in range(2):
            np.testing.assert_allclose(f(x), around(model)(x), rtol=1e-14)


@pytest.mark.parametrize("backend", ["llvm", "interpreter"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x,
        lambda x, y: (x, y, x),
        lambda x, y: {"a": x.T, "b": [x + y]},
        lambda x, y: (lambda z: (z, z.T, z[0]))(x + y),
        lambda x, y: np.broadcast_to(x[0], (4, 3)),
        fg.grad(lambda x, y: np.sum(x * y)),
        fg.grad(lambda x, y: np.sum(x * y), (0, 1)),
        fg.value_and_grad(lambda x, y: np.sum(x + y), (0, 1)),
    ],
)
def test_results_are_in_memory_of_their_own(f, backend, monkeypatch):
    monkeypatch.setattr(fg.config, "backend", backend)
    x, y = np.arange(9.0).reshape(3, 3), np.ones((3, 3))
    g = fg.jit(f)
    want = tree.leaves(tree.map(np.copy, f(x, y)))
    for _ in range(4):
        found = [a for a in tree.leaves(g(x, y)) if isinstance(a, np.ndarray)]
        for k, a in enumerate(found):
            assert not any(np.shares_memory(a, b) for b in (x, y, *found[:k]))
        for a, b in zip(tree.leaves(g(x, y)), want, strict=True):
            np.testing.assert_array_equal(a, b)
        for a in found:
            a.flags.writeable and a.fill(7.0)


def test_arguments_by_name_and_static_ones_on_the_short_way():
    calls = itertools.count()

    def f(x, y, n=2, *, scale=1.0, mode="up"):
        next(calls)
        return (x - y * scale) ** n + (1.0 if mode == "up" else -1.0)

    g = fg.jit(f, static_argnums=2, static_argnames="mode")
    x, y = np.arange(3.0), np.ones(3)
    for _ in range(3):
        for n, mode in itertools.product((1, 2, 3), ("up", "down")):
            want = (x - y * 2.0) ** n + (1.0 if mode == "up" else -1.0)
            np.testing.assert_array_equal(g(x, y, n, scale=2.0, mode=mode), want)
            np.testing.assert_array_equal(g(x, y, n, mode=mode, scale=2.0), want)
    assert next(calls) == 6
    np.testing.assert_array_equal(g(y=y, x=x), (x - y) ** 2 + 1.0)
    np.testing.assert_array_equal(g(x, y=y), (x - y) ** 2 + 1.0)
    np.testing.assert_array_equal(g(y=x, x=y), (y - x) ** 2 + 1.0)


def test_static_values_that_are_equal_but_of_another_class():
    g = fg.jit(lambda x, n: x * 2.0 if isinstance(n, bool) else x * 3.0, static_argnums=1)
    assert [g(1.0, n) for n in (1, True, 1.0, 1, True)] == [3.0, 2.0, 3.0, 3.0, 2.0]


@pytest.mark.parametrize("order", [1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("axis", [(0, 1), (1, 0), 1])
def test_the_element_that_is_the_norm_is_found_however_sums_are_rounded(order, dtype, axis):
    x = np.array([[0.63547948, 1.43547948, 1.03547948], [0.1, 0.9, 0.7]], dtype)
    x *= 0.6 + 0.8j if dtype is complex else 1.0

    def gradient(x):
        return fg.vjp(lambda x: fnp.linalg.norm(x, order, axis), x)[1]

    ones = np.ones_like(np.linalg.norm(x, order, axis))
    pull = lambda x, g: gradient(x)(g)[0]
    np.testing.assert_allclose(fg.jit(pull)(x, ones), pull(x, ones), rtol=1e-15, atol=1e-15)
    assert np.any(pull(x, ones))


@pytest.mark.parametrize("backend", ["llvm", "interpreter"])
@pytest.mark.parametrize("f", [lambda x: x, np.negative, lambda x: x.T, lambda x: x[None][..., 0]])
@pytest.mark.parametrize("x", [np.array(1.5), np.float32(1.5)])
def test_results_without_axes_are_scalars_in_every_call(f, x, backend, monkeypatch):
    monkeypatch.setattr(fg.config, "backend", backend)
    g = fg.jit(f)
    found = [g(x), g(x), fg.vjp(g, x)[0], fg.jvp(g, (x,), (x,))[0], fg.jit(g)(x)]
    for y in found:
        assert type(y) is np.asarray(x).dtype.type
        assert y == f(np.asarray(x))


def test_static_values_are_told_apart_exactly():
    f = fg.jit(lambda x, sign: np.copysign(x, sign), static_argnums=1)
    assert f(2.0, 0.0) == 2.0 and f(2.0, -0.0) == -2.0
    g = fg.jit(lambda x, n: x * (10.0 if n[0] is True else n[0]), static_argnums=1)
    assert [g(1.0, (True,)), g(1.0, (1,)), g(1.0, (1.0,))] == [10.0, 1.0, 1.0]


def test_as_many_axes_as_arrays_have():
    x = np.arange(2.0).reshape((1,) * 63 + (2,))

    def f(x):
        return np.sum(np.sin(x) * x, axis=tuple(range(10)))

    slope = fg.grad(lambda x: np.sum(f(x)))
    np.testing.assert_allclose(fg.jit(f)(x), f(x))
    np.testing.assert_allclose(fg.jit(slope)(x), slope(x))


@pytest.mark.parametrize("convert", [float, int, "{:.3f}".format, lambda x: range(x.astype(int))])
def test_numbers_that_are_not_known_yet(convert):
    with pytest.raises(fg.errors.AbstractValueError, match=r"static_argnums.*\n.*test_jit.py"):
        fg.jit(convert)(2.0)


def test_every_container_is_looked_at():
    held = [collections.deque([2.0]), bytearray(b"\x02"), collections.UserList([2.0])]
    for each in held:
        f = fg.jit(lambda x, each=each: x * each[0])
        assert f(1.0) == 2.0
        each[0] = 3
        assert f(1.0) == 3.0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"static_argnames": "m"}, "static_argnames='m', but .* no argument of the name 'm'"),
        ({"donate_argnames": ["x", "q"]}, "donate_argnames='q', but"),
        ({"static_argnums": 5}, r"static_argnums=5, but .* has 2 positional"),
        ({"donate_argnums": (0, -3)}, r"donate_argnums=-3, but .* has 2 positional"),
    ],
)
def test_misspelt_names_of_arguments(given, text):
    with pytest.raises(ValueError, match=text):
        fg.jit(lambda x, n: x * n, **given)
    assert fg.jit(lambda *xs, **more: xs[0], **given)(1.0, 2) == 1.0


def test_names_of_arguments_that_are_no_names():
    for given in (1, ["n", 2]):
        with pytest.raises(TypeError, match="must be names"):
            fg.jit(lambda x, n: x * n, static_argnames=given)
