"""Random functions whose captures change between calls: compiled, each gives what Python gives.

A function takes numbers from places drawn at random (closures, globals, defaults, attributes, slots
class attributes, containers and their order, arrays and their layout, partial applications, nested
functions, special methods, files in memory, names given to libraries), by ways drawn at random.
After every change it is compared with the plain function, and nothing in these programs is out of
sight, so no `CaptureWarning` may come.
"""

from __future__ import annotations

import builtins
import collections
import colorsys
import copy
import functools
import io
import random
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from amount import examples

import funcgrad as fg

X = np.array([0.5, 1.5])
GLOBALS: dict[str, object] = {"np": np, "__name__": "random_captures"}


class Slotted:
    __slots__ = ("extra", "k")


class Inner:
    def __init__(self, k):
        self.k = k

    def scaled(self, x):
        return x * self.k


class Derived(Inner):
    offset = 1.0

    @property
    def both(self):
        return self.k + self.offset

    def __call__(self, x):
        return x * self.both


def number(draw):
    return float(draw.randint(1, 99))


# Each place gives ``f(x)`` and the changes that can be made to it.


def attribute(draw):
    o = types.SimpleNamespace(k=number(draw))
    read = draw.choice([
        lambda x: x * o.k, lambda x: x * vars(o)["k"], lambda x: x * getattr(o, "k"),  # noqa: B009
        lambda x: x * getattr(o, "".join(["k"])), lambda x: x * sum(vars(o).values()),
    ])  # fmt: skip
    return read, [lambda: setattr(o, "k", number(draw)), lambda: setattr(o, "z", number(draw))]


def later(draw):
    o = draw.choice([Inner(1.0), Slotted(), types.SimpleNamespace(k=1.0)])
    read = draw.choice([
        lambda x: x * getattr(o, "extra", 2.0),
        lambda x: x if hasattr(o, "extra") else 3.0 * x,
    ])  # fmt: skip
    return read, [lambda: setattr(o, "extra", number(draw))]


def instance(draw):
    o = Derived(number(draw))
    read = draw.choice([lambda x: o(x), o, o.scaled, lambda x: o.scaled(x), lambda x: x * o.both])
    changes = [lambda: setattr(o, "k", number(draw)), lambda: setattr(o, "offset", number(draw))]
    return read, [*changes, lambda: setattr(Derived, "offset", number(draw))]


def dictionary(draw):
    d = {name: number(draw) for name in "abc"}
    read = draw.choice([
        lambda x: x * d["a"], lambda x: x * next(iter(d.values())), lambda x: x * sum(d.values()),
        lambda x: sum((k + 1) * v for k, v in enumerate(d.values())) * x,
        lambda x: x * types.MappingProxyType(d).get("z", 1.0),
    ])  # fmt: skip
    return read, [
        lambda: d.__setitem__(draw.choice("abcz"), number(draw)),
        lambda: d.update(a=d.pop("a")),
        lambda: d.pop("z", None),
    ]


def container(draw):
    make = draw.choice([list, collections.deque, lambda v: collections.UserList(v)])
    held = make([number(draw), number(draw)])
    read = draw.choice([
        lambda x: x * held[0], lambda x: x * sum(held), lambda x: x * float(len(held)),
    ])  # fmt: skip
    return read, [lambda: held.__setitem__(0, number(draw)), lambda: held.append(number(draw))]


def set_of_numbers(draw):
    held = {number(draw)}
    read = draw.choice([lambda x: x * sum(held), lambda x: x if 7.0 in held else 2.0 * x])
    return read, [lambda: held.add(7.0), lambda: held.discard(7.0), lambda: held.add(number(draw))]


def cell(draw):
    k = number(draw)

    def nested(x):
        return (lambda y: y * k)(x)

    def change():
        nonlocal k
        k = number(draw)

    return draw.choice([lambda x: x * k, nested]), [change]


def default(draw):
    def f(x, k=1.0, *, n=1.0):
        return x * k + n

    f.__defaults__, f.__kwdefaults__ = (number(draw),), {"n": number(draw)}
    return f, [
        lambda: setattr(f, "__defaults__", (number(draw),)),
        lambda: setattr(f, "__kwdefaults__", {"n": number(draw)}),
    ]


def global_name(draw):
    name = f"g{draw.randint(0, 10**9)}"
    own = dict(GLOBALS)
    own[name] = number(draw)
    exec(f"def helper(x): return x * {name}\ndef f(x): return helper(x) + {name}", own)
    return own["f"], [
        lambda: own.__setitem__(name, number(draw)),
        lambda: own.__setitem__("helper", functools.partial(np.subtract, number(draw))),
    ]


def partial(draw):
    held = types.SimpleNamespace(f=functools.partial(lambda k, x: k * x, number(draw)))
    change = lambda: setattr(held, "f", functools.partial(held.f.func, number(draw)))
    return (lambda x: held.f(x)), [change]


def array(draw):
    w = np.arange(6.0).reshape(2, 3) + number(draw)
    read = draw.choice([
        lambda x: x * w[0, :2], lambda x: x * float(w.strides[0]),
        lambda x: x * np.exp(-w).sum(), lambda x: x * w.ravel(order="K")[1:3],
        lambda x: x * (1.0 if w.flags.c_contiguous else 2.0),
        lambda x: x if w[0, 0] > 50.0 else x * w.T[:2, 0],
    ])  # fmt: skip

    def layout():
        nonlocal w
        w = draw.choice([np.asfortranarray, np.ascontiguousarray, lambda a: a[:, ::-1]])(w)

    def another():
        nonlocal w
        w = w + number(draw)

    return read, [layout, another, lambda: w.__setitem__((0, 0), number(draw))]


def special_method(draw):
    """A number that a class gives where Python asks it for something by itself."""

    class C:
        k = number(draw)

        def __class_getitem__(cls, _):
            return cls.k

        def __copy__(self):
            return type(self).k

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * type(self).k)

        def __hash__(self):
            return int(type(self).k)

    class Made(C):
        def __new__(cls):
            return C.k

    def set_in(x):
        o = C()
        o.v = x
        return o.v

    o = C()
    read = draw.choice([
        lambda x: x * C[0], lambda x: x * copy.copy(o), set_in, lambda x: x * float(hash(o)),
        lambda x: x * Made(),
    ])  # fmt: skip
    return read, [lambda: setattr(C, "k", number(draw))]


def in_memory(draw):
    text, event = io.StringIO(str(number(draw))), threading.Event()
    held = collections.defaultdict(float)
    held.default_factory = functools.partial(float, number(draw))
    read = draw.choice([
        lambda x: x * float(text.getvalue()), lambda x: x if event.is_set() else 2.0 * x,
        lambda x: x * held.default_factory(),
    ])  # fmt: skip
    return read, [
        lambda: (text.seek(0), text.truncate(), text.write(str(number(draw)))),
        draw.choice([event.set, event.clear]),
        lambda: setattr(held, "default_factory", functools.partial(float, number(draw))),
    ]


def name_given_to_others(draw):
    """A name that the program gives to Python's own, or to a module of a library."""
    owner, name = draw.choice([builtins, colorsys, sys]), f"of_a_test_{draw.randint(0, 10**9)}"
    space = {"owner": owner, "__name__": "random_captures"}
    text = name if owner is builtins else f"owner.{name}"
    code = f"def f(x):\n  try: return x * {text}\n  except (NameError, AttributeError): return x"
    exec(code, space)
    set_it = lambda: setattr(owner, name, number(draw))
    if draw.random() < 0.5:
        set_it()
    return space["f"], [set_it, lambda: vars(owner).pop(name, None)]


PLACES = (
    attribute, later, instance, dictionary, container, set_of_numbers, cell, default, global_name,
    partial, array, special_method, in_memory, name_given_to_others,
)  # fmt: skip


def program(draw):
    """A function of some places, and what can change it."""
    parts, changes = zip(
        *(draw.choice(PLACES)(draw) for _ in range(draw.randint(1, 3))), strict=True
    )

    def f(x):
        return sum(np.sum(part(x)) for part in parts)

    return f, [c for each in changes for c in each]


@pytest.mark.parametrize("seed", range(examples(240)))
def test_a_compiled_function_is_never_stale(seed):
    draw = random.Random(seed)
    f, changes = program(draw)
    wrap = draw.choice([lambda f: f, fg.grad])
    plain, jitted = wrap(f), fg.jit(wrap(f))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", fg.CaptureWarning)
        for _ in range(6):
            for _ in range(draw.randint(1, 3)):  # the long way, then the short ones
                want = plain(X)
                got = jitted(X)
                np.testing.assert_allclose(got, want, 1e-12, 0.0, err_msg=jitted.report())
            draw.choice(changes)()
    assert not caught, str(caught[0].message)
