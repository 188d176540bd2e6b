"""Which results may share memory: what a transform computes never does."""

import numpy as np
import pytest

import funcgrad as fg

CAPTURED = np.arange(6.0).reshape(2, 3).copy()
X = np.linspace(0.1, 0.6, 6).reshape(2, 3)


def twice(x):
    y = np.sin(x)
    return y, y


def with_its_view(x):
    y = np.sin(x)
    return y, y[0]


PROGRAMS = {
    "its argument": lambda x: x,
    "a view of its argument": lambda x: x.T,
    "a captured array": lambda x: CAPTURED,
    "a view of a captured array": lambda x: CAPTURED[0],
    "a captured array, turned there and back": lambda x: CAPTURED.T.T,
    "captured arrays among others": lambda x: [CAPTURED, x * 1.0, CAPTURED],
    "one result twice": twice,
    "a result and a view of it": with_its_view,
    "a result that is repeated": lambda x: np.broadcast_to(np.sum(x), (2, 3)),
    "a view of a result": lambda x: (x * 2.0).reshape(-1),
    "what its derivative keeps": np.exp,
    "a transposed result": lambda x: np.sin(x).T,
}


def both(f, x):
    y, pull = fg.vjp(f, x)
    return y, pull(fg.tree.map(np.ones_like, y))


def total(f):
    return lambda x: sum(np.sum(y) for y in fg.tree.leaves(f(x)))


COMPUTED = {
    "jit": lambda f, x: fg.jit(f)(x),
    "vmap": lambda f, x: fg.vmap(f)(np.stack([x, x + 1.0])),
    "vmap of nothing": lambda f, x: fg.vmap(
        f, in_axes=None, out_axes=None, axis_size=2
    )(x),
    "vmap, one by one": lambda f, x: fg.vmap(f, randomness="different")(np.stack([x, x])),
    "vjp": both,
    "jvp": lambda f, x: fg.jvp(f, (x,), (np.ones_like(x),)),
    "linearize": lambda f, x: (lambda y, push: (y, push(x)))(*fg.linearize(f, x)),
    "grad": lambda f, x: fg.value_and_grad(total(f))(x),
    "jacrev": lambda f, x: fg.jacrev(f)(x),
    "jacfwd": lambda f, x: fg.jacfwd(f)(x),
    "hessian": lambda f, x: fg.hessian(total(f))(x),
    "jit of vjp": lambda f, x: fg.jit(lambda x: both(f, x))(x),
    "vmap of jvp": lambda f, x: fg.vmap(lambda x: fg.jvp(f, (x,), (x,)))(np.stack([x, x])),
}  # fmt: skip


def arrays(x):
    return [y for y in fg.tree.leaves(x) if isinstance(y, np.ndarray)]


def check(transform, program):
    x, captured = X.copy(), CAPTURED.copy()
    found = arrays(transform(PROGRAMS[program], x))
    for k, y in enumerate(found):
        assert y.flags.writeable
        assert not np.shares_memory(y, x) and not np.shares_memory(y, CAPTURED)
        assert not any(np.shares_memory(y, z) for z in found[:k])
    for y in found:
        y[...] = -1.0  # as a user may
    assert x.tobytes() == X.tobytes() and CAPTURED.tobytes() == captured.tobytes()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_shares_no_memory(name, program):
    check(COMPUTED[name], program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_interpreter_keeps_to_it(program, monkeypatch):
    monkeypatch.setattr(fg.config, "backend", "interpreter")
    check(COMPUTED["jit"], program)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", ["vjp", "jvp", "vmap"])
def test_values_are_those_of_the_function(name, program):
    """Also their layout, where the function is called on the array itself."""
    f = PROGRAMS[program]
    found = COMPUTED[name](f, X)
    values = found if name == "vmap" else found[0]
    for y, want in zip(arrays(values), arrays(f(X)), strict=True):
        if name == "vmap":
            np.testing.assert_array_equal(y[0], want)
        else:
            np.testing.assert_array_equal(y, want)
            if 0 not in want.strides:
                assert y.strides == want.strides


HANDED = {
    "checkpoint": lambda f, x: fg.checkpoint(f)(x),
    "stop_gradient": lambda f, x: fg.stop_gradient(f(x)),
    "cond": lambda f, x: fg.cond(True, f, f, x),
}


@pytest.mark.parametrize("program", ["its argument", "a captured array", "one result twice"])
@pytest.mark.parametrize("name", HANDED)
def test_what_is_handed_through_is_what_the_function_returns(name, program):
    f = PROGRAMS[program]
    for y, want in zip(arrays(HANDED[name](f, X)), arrays(f(X)), strict=True):
        np.testing.assert_array_equal(y, want)


def test_a_branch_is_handed_an_array_of_its_own_and_hands_on_what_it_captured():
    assert not np.shares_memory(HANDED["cond"](PROGRAMS["its argument"], X), X)
    assert np.shares_memory(HANDED["cond"](PROGRAMS["a captured array"], X), CAPTURED)


def test_aux_is_what_the_function_returns():
    _, aux = fg.grad(lambda x: (np.sum(x), CAPTURED), has_aux=True)(X)
    assert aux is CAPTURED


def test_a_result_of_the_pullback_is_not_changed_by_another_call():
    _, pull = fg.vjp(lambda x: np.broadcast_to(np.sum(x), (2, 3)), X)
    first, second = pull(np.ones((2, 3))), pull(np.ones((2, 3)))
    first[0][...] = -1.0
    np.testing.assert_array_equal(second[0], 6.0)
