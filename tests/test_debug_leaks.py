"""`debug.leaks`: a traced value that outlives its transform is found, with its line."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

pytestmark = pytest.mark.early

X = np.ones(3)
KEPT = []


class Holder:
    value = None


def keeps(x):
    y = np.sin(x)
    KEPT.append(y)
    return np.sum(y)


def keeps_an_argument(x):
    KEPT.append(x)
    return np.sum(x * x)


def plain(x):
    return np.sum(np.sin(x))


@fg.custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, x), lambda _, g: (2.0 * g,))

CALLS = {
    "grad": lambda f: fg.grad(f)(X),
    "value_and_grad": lambda f: fg.value_and_grad(f)(X),
    "vjp": lambda f: fg.vjp(f, X)[1](1.0),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "linearize": lambda f: fg.linearize(f, X)[1](X),
    "jet": lambda f: fg.jet(f, (X,), ((X, X),)),
    "vmap": lambda f: fg.vmap(f)(np.ones((2, 3))),
    "jit": lambda f: fg.jit(f)(X),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(X),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(X),
    "hessian": lambda f: fg.hessian(f)(X),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f))(X),
    "scan": lambda f: fg.jit(lambda x: fg.scan(lambda c, v: (c + f(v * X), None), 0.0, x)[0])(X),
    "within": lambda f: fg.grad(lambda x: fg.vmap(lambda v: v * fg.grad(f)(v * X)[0])(x).sum())(X),
}


@pytest.fixture(autouse=True)
def nothing_kept():
    """A new list and holder: of what was there before the tests the collector knows nothing."""
    global KEPT
    holder = Holder()
    holder.value = KEPT = []
    yield
    KEPT.clear()


@pytest.mark.parametrize("name", CALLS)
def test_a_value_that_is_kept_is_named_with_its_line(name):
    with pytest.raises(fg.errors.LeakedTracerError) as caught, fg.debug.leaks():
        CALLS[name](keeps)
    said = str(caught.value)
    assert "is still held by a list when that transform has ended" in said
    line = keeps.__code__.co_firstlineno + 1
    assert f'test_debug_leaks.py", line {line}, in keeps' in said or name == "jet"
    CALLS[name](keeps)  # and nothing is left behind


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_is_kept_is_found(name):
    with pytest.raises(fg.errors.LeakedTracerError, match="is still held by"), fg.debug.leaks():
        CALLS[name](keeps_an_argument)


@pytest.mark.parametrize("f", [plain, lambda x: np.sum(doubled(x)), lambda x: fg.while_loop(
    lambda v: np.sum(v) < 9.0, lambda v: 2.0 * v, x).sum(), lambda x: fg.cond(
        x[0] > 0, plain, plain, x)])  # fmt: skip
@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("jet", "within", "scan")])
def test_what_does_not_leak_is_left_in_peace(name, f):
    with fg.debug.leaks():
        CALLS[name](f)


SOURCE = """
def written(x):
    global WRITTEN
    WRITTEN = x * 2.0
    return x.sum()
"""


def test_who_holds_it_is_said():
    held = Holder()
    module = {}  # globals that the collector knows, unlike those of this module
    exec(SOURCE, module)

    def attribute(x):
        held.value = x * 2.0
        return np.sum(x)

    def variable(x):
        nonlocal cell
        cell = x * 2.0
        return np.sum(x)

    cell = None
    for f, told in (
        (attribute, "Holder"),
        (variable, "a variable of an enclosing function"),
        (module["written"], "the global variable WRITTEN"),
    ):
        with pytest.raises(fg.errors.LeakedTracerError, match=told), fg.debug.leaks():
            fg.grad(f)(X)
    assert cell is not None


def test_a_compiled_function_is_traced_anew():
    f = fg.jit(keeps)
    f(X)
    with pytest.raises(fg.errors.LeakedTracerError), fg.debug.leaks():
        f(X)


def test_the_number_behind_a_value_may_be_kept():
    with fg.debug.leaks():
        fg.grad(lambda x: (KEPT.append(fg.value(x * 2.0)), plain(x))[1])(X)


def test_arrays_of_a_transform_that_hold_traced_values_are_found():
    def f(x):
        made = fnp.zeros(3)
        made[0] = x[0]
        KEPT.append(made)
        return made.sum()

    with pytest.raises(fg.errors.LeakedTracerError), fg.debug.leaks():
        fg.grad(f)(X)
