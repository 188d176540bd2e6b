"""An exception in the middle of a transform: the next call is right and nothing stays alive."""

import gc
import threading
import weakref

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.core.tracer import running

pytestmark = pytest.mark.early

X = np.linspace(0.1, 0.9, 4)


class Stop(Exception):
    """What the programs here raise."""


class Kept(np.ndarray):
    """An array that can be referred to weakly and whose death can be seen."""


def vjp_rule(stop):
    f = fg.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (stop(np.cos(x)) * g,))
    return f


def vjp_forward(stop):
    f = fg.custom_vjp(np.sin)
    f.defvjp(lambda x: (stop(np.sin(x)), x), lambda x, g: (np.cos(x) * g,))
    return f


def jvp_rule(stop):
    f = fg.custom_jvp(np.sin)
    f.defjvp(lambda xs, ts: (np.sin(xs[0]), stop(np.cos(xs[0])) * ts[0]))
    return f


def total(f):
    return lambda x: np.sum(f(x))


# Each makes a function of x that calls `stop` somewhere in the middle of a transform.
PROGRAMS = {
    "grad": lambda stop: fg.grad(lambda x: np.sum(np.sin(stop(x * x)))),
    "value_and_grad": lambda stop: fg.value_and_grad(lambda x: np.sum(stop(np.exp(x)))),
    "vjp": lambda stop: lambda x: fg.vjp(lambda y: stop(y * y), x)[1](x),
    "jvp": lambda stop: lambda x: fg.jvp(lambda y: stop(y * y), (x,), (x,)),
    "linearize": lambda stop: lambda x: fg.linearize(lambda y: stop(y * y), x)[1](x),
    "jacrev": lambda stop: fg.jacrev(lambda x: stop(np.sin(x))),
    "jacfwd": lambda stop: fg.jacfwd(lambda x: stop(np.sin(x))),
    "hessian": lambda stop: fg.hessian(lambda x: np.sum(stop(np.sin(x)))),
    "hvp": lambda stop: lambda x: fg.hvp(total(lambda y: stop(y**3)), (x,), (x,)),
    "vmap": lambda stop: fg.vmap(lambda x: stop(np.sin(x))),
    "jit": lambda stop: fg.jit(lambda x: stop(np.sin(x))),
    "checkpoint": lambda stop: fg.grad(fg.checkpoint(total(lambda x: stop(np.sin(x))))),
    "custom vjp, forward": lambda stop: fg.grad(total(vjp_forward(stop))),
    "custom vjp, backward": lambda stop: fg.grad(total(vjp_rule(stop))),
    "custom vjp in forward mode": lambda stop: lambda x: fg.jvp(vjp_rule(stop), (x,), (x,)),
    "custom jvp": lambda stop: lambda x: fg.jvp(jvp_rule(stop), (x,), (x,)),
    "custom jvp in reverse mode": lambda stop: fg.grad(total(jvp_rule(stop))),
    "grad of grad": lambda stop: fg.grad(total(fg.vmap(fg.grad(lambda x: stop(np.sin(x)) * x)))),
    "jit of grad": lambda stop: fg.jit(fg.grad(total(lambda x: stop(np.sin(x))))),
    "grad of jit": lambda stop: fg.grad(fg.jit(total(lambda x: stop(np.sin(x))))),
    "vmap of jit of grad": lambda stop: fg.vmap(fg.jit(fg.grad(lambda x: stop(np.sin(x))))),
    "writing": lambda stop: fg.grad(lambda x: written(x, stop)),
    "make_graph": lambda stop: lambda x: str(fg.make_graph(lambda y: stop(np.sin(y)))(x)),
    "eval_shape": lambda stop: lambda x: str(fg.eval_shape(lambda y: stop(np.sin(y)), x)),
}


def written(x, stop):
    b = fnp.zeros(4)
    v = b[1:]
    b[0] = x[0]
    v += stop(x[1:])
    return np.sum(b * b)


def same(a, b):
    if isinstance(a, str):
        assert a == b
        return
    for got, want in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_next_call_is_right(program):
    armed = [False]

    def stop(x):
        if armed[0]:
            raise Stop
        return x

    want = program(lambda x: x)(X)
    f = program(stop)
    armed[0] = True
    for _ in range(2):
        with pytest.raises(Stop):
            f(X + 1.0)
    assert running.count == 0
    armed[0] = False
    same(f(X), want)
    nested = fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))
    assert nested(1.0) == 1.0


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_stays_alive(program):
    def stop(x):
        raise Stop

    f = program(stop)
    x = X.copy().view(Kept)
    dead = weakref.ref(x)
    gc.collect()
    with pytest.raises(Stop):
        f(x)
    del x
    gc.collect()
    assert dead() is None


def test_an_exception_in_one_thread_leaves_the_others_alone():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for k in range(50):
            x = rng.normal(size=3)
            try:
                g = fg.grad(lambda x: np.sum(np.sin(x)) if k % 3 else 1 / 0)(x)
            except ZeroDivisionError:
                if running.count:
                    wrong.append("a transform is still counted")
                continue
            if not np.array_equal(g, np.cos(x)):
                wrong.append(g)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_of_the_program_passes_too(error):
    def f(x):
        raise error

    for transform in (fg.grad, fg.vmap, fg.jit):
        with pytest.raises(error):
            transform(f)(X)
        assert running.count == 0
