"""`debug.nans` and `debug.infs` name the user's line in every mode, eager and compiled."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([4.0, 0.0, 9.0])


def root_of_less(x):
    y = x * 2.0
    return np.sum(np.sqrt(y - 1.0))


def reciprocal(x):
    y = x * 2.0
    return np.sum(1.0 / y)


def root_squared(x):
    y = x * 2.0
    return np.sum(np.sqrt(y) ** 2)


def root(x):
    y = x * 2.0
    return np.sum(np.sqrt(y))


LINE = 2  # of each of them the line that makes it


def scanned(f):
    """`f` of each row of three, added up."""
    return lambda x: fg.scan(lambda c, row: (c + f(row), None), 0.0, x.reshape(1, 3))[0]


def repeated(f):
    """`f` as the last step of a loop that only runs."""

    def step(carry):
        k, x, _ = carry
        return k + 1, x, f(x)

    return lambda x: fg.while_loop(lambda c: c[0] < 1, step, (0, x, 0.0))[2]


def written_out(f):
    """`f` in a loop of Python, which `jit` finds."""

    def loop(x):
        y = 0.0
        for _ in range(40):
            y = 0.5 * y + f(x)
        return y

    return loop


def ruled(f):
    """Behind a rule of the user's."""
    g = fg.custom_jvp(f)
    g.defjvp(lambda xs, ts: fg.jvp(f, xs, ts))
    return g


PARTS = {
    "plain": lambda f: f,
    "checkpoint": fg.checkpoint,
    "cond": lambda f: lambda x: fg.cond(x[0] > 0, f, lambda x: 0.0 * x[0], x),
    "scan": scanned,
    "while_loop": repeated,
    "a loop of Python": written_out,
    "custom_jvp": ruled,
    "mapped": lambda f: lambda x: np.sum(fg.vmap(f)(x.reshape(1, 3))),
    "a gradient": lambda f: lambda x: np.sum(fg.grad(f)(x)),
}
FORWARD = {
    "value": lambda f: lambda x: fg.value(fg.vjp(f, x)[0]),
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None]),
    "jit of vmap": lambda f: fg.jit(lambda x: fg.vmap(f)(x[None])),
    "vmap of jit": lambda f: lambda x: fg.vmap(fg.jit(f))(x[None]),
}
DERIVED = {
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.ones(3),)),
    "jacfwd": fg.jacfwd,
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](np.ones(3)),
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "jit of jvp": lambda f: fg.jit(lambda x: fg.jvp(f, (x,), (np.ones(3),))),
    "jvp of jit": lambda f: lambda x: fg.jvp(fg.jit(f), (x,), (np.ones(3),)),
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(x[None]),
    "jit of vmap of grad": lambda f: fg.jit(lambda x: fg.vmap(fg.grad(f))(x[None])),
}
BLOCKS = {
    ("nans", "forward"): (fg.debug.nans, root_of_less),
    ("infs", "forward"): (fg.debug.infs, reciprocal),
    ("nans", "backward"): (fg.debug.nans, root_squared),
    ("infs", "backward"): (fg.debug.infs, root),
}
NUMBERS = [
    (block, part, way)
    for block in BLOCKS
    for part in PARTS
    for way in ({**FORWARD, **DERIVED} if block[1] == "forward" else DERIVED)
]


def place(f, k):
    return f'{__file__}", line {f.__code__.co_firstlineno + k}, in '


def told(info, f, k):
    """Whether the text, a note or the end of the traceback names line `k` of `f`."""
    said = [str(info.value), *getattr(info.value, "__notes__", ())]
    lines = [(str(e.path), e.lineno + 1) for e in info.traceback]
    return any(place(f, k) in text for text in said) or (
        (__file__, f.__code__.co_firstlineno + k) in lines
    )


def named(v):
    return " ".join(v) if isinstance(v, tuple) else v


@pytest.mark.parametrize(("block", "part", "way"), NUMBERS, ids=named)
def test_the_line_that_makes_it_is_named(block, part, way):
    within, f = BLOCKS[block]
    call = {**FORWARD, **DERIVED}[way](PARTS[part](f))
    with np.errstate(all="ignore"):
        call(X)
    with pytest.raises(FloatingPointError) as info, within():
        call(X)
    assert told(info, f, LINE), (str(info.value), getattr(info.value, "__notes__", ()))
    with np.errstate(all="ignore"):
        call(X)
