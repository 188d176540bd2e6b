"""Each tool of `debug` names the user's line: what is in the function, and what is in its rule.

The rule of a `custom_vjp` runs in the backward pass, so what is said there is said of that.
"""

import types
from contextlib import nullcontext

import numpy as np
import pytest

import funcgrad as fg

pytestmark = pytest.mark.early  # leaks are looked for among all objects

X = np.ones(3)
WORK = np.ones(3)
KEPT = []


@pytest.fixture(autouse=True)
def nothing_kept():
    """A new list and holder: what the collector does not know holds nothing."""
    global KEPT
    holder = types.SimpleNamespace(kept=[])
    KEPT = holder.kept
    WORK[:] = 1.0
    yield
    KEPT.clear()
    assert WORK.flags.writeable


def backward(rule):
    """A function whose backward pass runs `rule`."""
    f = fg.custom_vjp(lambda x: np.sum(x * 2.0))
    f.defvjp(lambda x: (np.sum(x * 2.0), x), rule)
    return lambda x: f(x) ** 2


def fails(_):
    raise OverflowError("too large")


def calls(x):
    y = np.sum(x)
    fg.debug.callback(fails, y)
    return y


def calls_backward(x, g):
    fg.debug.callback(fails, g)
    return (g * np.ones_like(x),)


def misprints(x):
    y = np.sum(x)
    fg.debug.print("{} {}", y)
    return y


def misprints_backward(x, g):
    fg.debug.print("{} {}", g)
    return (g * np.ones_like(x),)


def keeps(x):
    y = np.sum(x)
    KEPT.append(y * 2.0)
    return y


def keeps_backward(x, g):
    KEPT.append(g * 2.0)
    return (g * np.ones_like(x),)


def writes(x):
    y = np.sum(x * WORK)
    WORK[0] = 5.0
    return y


def writes_backward(x, g):
    h = g * np.sum(x * WORK) * WORK
    WORK[0] = 5.0
    return (h,)


TOOLS = {  # the block, the error, the function and its line, the rule and its line
    "callback": (nullcontext, OverflowError, calls, 2, calls_backward, 1),
    "print": (nullcontext, IndexError, misprints, 2, misprints_backward, 1),
    "leaks": (fg.debug.leaks, fg.errors.LeakedTracerError, keeps, 2, keeps_backward, 1),
    "check_mutation": (
        fg.debug.check_mutation, fg.errors.MutatedCaptureError, writes, 2, writes_backward, 2,
    ),
}  # fmt: skip
FORWARD = {
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None]),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](x),
    "scan": lambda f: lambda x: fg.scan(lambda c, _: (c + f(x), None), 0.0, x)[0],
    "jit of scan": lambda f: fg.jit(
        lambda x: fg.scan(lambda c, row: (c + f(row * x), None), 0.0, x)[0]
    ),
    "cond": lambda f: fg.jit(lambda x: fg.cond(x[0] > 0, f, np.sum, x)),
}
BACKWARD = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(x[None]),
    "jacrev": fg.jacrev,
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "grad of scan": lambda f: fg.grad(
        lambda x: fg.scan(lambda c, row: (c + f(row * x), None), 0.0, x)[0]
    ),
    "hessian": fg.hessian,
    "grad of grad": lambda f: fg.grad(lambda x: np.sum(fg.grad(f)(x) * x)),
    "jit of grad of grad": lambda f: fg.jit(fg.grad(lambda x: np.sum(fg.grad(f)(x) * x))),
}
# where nothing is traced any more, or what is written into is not needed any more
QUIET = {
    ("leaks", "function"): ("scan",),
    ("leaks", "rule"): ("grad", "jacrev", "checkpoint", "grad of scan"),
    ("check_mutation", "function"): ("vmap", "jvp", "scan"),
    ("check_mutation", "rule"): (
        "grad", "jacrev", "checkpoint", "grad of scan", "vmap of grad", "hessian",
    ),
}  # fmt: skip
CASES = [(t, "function", way) for t in TOOLS for way in {**FORWARD, **BACKWARD}]
CASES += [(t, "rule", way) for t in TOOLS for way in BACKWARD]


@pytest.mark.parametrize(("tool", "where", "way"), CASES)
def test_the_line_is_named(tool, where, way):
    within, kind, function, line, rule, line_of_rule = TOOLS[tool]
    code = function.__code__ if where == "function" else rule.__code__
    number = code.co_firstlineno + (line if where == "function" else line_of_rule)
    call = {**FORWARD, **BACKWARD}[way](function if where == "function" else backward(rule))
    if way in QUIET.get((tool, where), ()):
        with within():
            call(X)
        return
    with pytest.raises(kind) as info, within():
        call(X)
    said = [str(info.value), *getattr(info.value, "__notes__", ())]
    lines = [(str(e.path), e.lineno + 1) for e in info.traceback]
    place = f'{__file__}", line {number}, in '
    assert any(place in text for text in said) or (__file__, number) in lines, said
