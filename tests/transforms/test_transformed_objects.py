"""What transforms make of functions: pickled, copied, with signatures, of all that is callable."""

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeError


def square(x: float, scale: float = 2.0, *, shift: float = 0.0) -> float:
    """Scaled, shifted, squared."""
    return scale * x**2 + shift


class Model:
    def __init__(self, weight):
        self.weight = weight

    def loss(self, x):
        return self.weight * x**2

    __call__ = loss

    @functools.partial(fg.grad, argnums=1)
    def slope(self, x):
        return self.weight * x**2


TRANSFORMS = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "vmap": fg.vmap,
    "jit": fg.jit,
    "checkpoint": fg.checkpoint,
    "named_call": fg.named_call,
    "grad of named_call": lambda f: fg.grad(fg.named_call(f, name="inner")),
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "vmap of grad of jit": lambda f: fg.vmap(fg.grad(fg.jit(f))),
    "grad of grad": lambda f: fg.grad(fg.grad(f)),
}
MODEL = Model(3.0)
FUNCTIONS = {
    "function": square,
    "method": MODEL.loss,
    "callable": MODEL,
    "partial": functools.partial(square, scale=3.0),
    "ufunc": np.square,
}


def same(a, b):
    for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformed_functions_are_pickled_and_copied(name, kind):
    made = TRANSFORMS[name](FUNCTIONS[kind])
    x = np.array([1.5, 2.5]) if "vmap" in name else 1.5
    want = made(x)
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        same(again(x), want)
        assert repr(again).split(" at 0x")[0] == repr(made).split(" at 0x")[0]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_signatures_and_docstrings_are_carried_over(name):
    made = TRANSFORMS[name](square)
    assert inspect.signature(made) == inspect.signature(square)
    assert made.__doc__ == square.__doc__
    assert made.__name__ == "square"
    assert made.__wrapped__ is not None
    assert inspect.unwrap(made) is square


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_everything_callable_is_differentiated(kind):
    f = FUNCTIONS[kind]
    want = (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6
    for made in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f)), fg.jacfwd(f)):
        np.testing.assert_allclose(made(1.5), want, rtol=1e-8)


@fg.custom_vjp
def by_pullback(x: float) -> float:
    """With a rule."""
    return x**2


by_pullback.defvjp(lambda x: (x**2, x), lambda x, g: (2.0 * x * g,))


@fg.custom_jvp
def by_tangents(x: float) -> float:
    """With a rule."""
    return x**2


by_tangents.defjvp(lambda p, t: (p[0] ** 2, 2.0 * p[0] * t[0]))


@fg.custom_vmap
def by_examples(x: float) -> float:
    """With a rule."""
    return x**2


by_examples.def_vmap(lambda size, batched, x: (x**2, True))


@fg.custom_gradient
def by_its_gradient(x: float):
    """With a rule."""
    return x**2, lambda g: 2.0 * x * g


@pytest.mark.parametrize("f", [by_pullback, by_tangents, by_examples, by_its_gradient], ids=repr)
def test_functions_with_rules_are_pickled_by_their_names(f):
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy({"f": f})["f"] is f
    assert pickle.loads(pickle.dumps(fg.grad(f)))(3.0) == 6.0
    assert list(inspect.signature(f).parameters) == ["x"]
    assert f.__doc__ == "With a rule."
    other = type(f)(square)  # under a name that does not lead to it
    assert pickle.loads(pickle.dumps(other)).fun is square


def test_what_is_compiled_is_copied_as_itself_and_not_pickled():
    made = fg.jit(square).lower(1.5).compile()
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made
    assert copy.deepcopy(made.graph) is made.graph
    with pytest.raises(TypeError, match=r"cannot be pickled; pickle the function itself, jit\(f\)"):
        pickle.dumps(made)
    assert made(1.5) == square(1.5)


DERIVED = {
    "pullback": lambda: fg.vjp(square, 1.5)[1],
    "pushforward": lambda: fg.linearize(square, 1.5)[1],
}


@pytest.mark.parametrize("what", DERIVED)
def test_what_is_derived_at_a_point_is_copied_as_itself_and_not_pickled(what):
    made = DERIVED[what]()
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made
    with pytest.raises(TypeError, match=f"<{what} of square> .*cannot be pickled; pickle the func"):
        pickle.dumps(made)
    assert made(1.0) == DERIVED[what]()(1.0)


def test_a_transformed_method_has_its_object():
    a, b = Model(3.0), Model(5.0)
    assert (a.slope(2.0), b.slope(2.0)) == (12.0, 20.0)
    assert fg.vmap(b.slope)(np.array([1.0, 2.0])).tolist() == [10.0, 20.0]


def test_a_promise_is_refused_where_nobody_can_await_it():
    async def loss(x):
        return x**2

    for made in (fg.jit(loss), fg.grad(lambda x: loss(x)), fg.jit(fg.grad(loss))):
        with pytest.raises(TypeError, match=r"coroutine.*await what it waits for outside"):
            made(2.0)

    for call in (lambda: fg.cond(True, loss, square, 2.0), lambda: fg.switch(0, [loss], 2.0)):
        with pytest.raises(TreeError, match=r"the output of .*loss is 'coroutine'"):
            call()
