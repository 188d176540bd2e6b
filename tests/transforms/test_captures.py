"""What a jitted function reaches by name is looked at on every call: its graph is never stale.

Each program stages a function once, changes what the function reaches, and has to see it.
"""

import functools
import itertools
import sys
import sysconfig
import textwrap
import types
from collections import namedtuple

import numpy as np
import pytest

import funcgrad as fg

X = np.ones(2)
ONES, THREES = np.ones(2), np.full(2, 3.0)


class Weights:
    w = ONES
    k = 1.0

    @classmethod
    def by_class(cls, x):
        return np.sum(x * cls.w)

    @staticmethod
    def static(x):
        return np.sum(x * Weights.w)


class Inherited(Weights):
    pass


class Model:
    def __init__(self):
        self.w = ONES
        self.inner = types.SimpleNamespace(w=ONES)

    @property
    def held(self):
        return self.inner.w

    @functools.cached_property
    def cached(self):
        return 1.0 * self.w

    def apply(self, x):
        return np.sum(x * self.w)

    def __call__(self, x):
        return self.apply(x)


class Derived(Model):
    def __call__(self, x):
        return 1.0 * super().__call__(x)


class Scaled:
    scale = ONES

    def __init__(self, x):
        self.y = x * Scaled.scale


class Slots:
    __slots__ = ("w",)

    def __init__(self):
        self.w = ONES


def module(**content):
    made = types.ModuleType("settings")
    vars(made).update(content)
    return made


SETTINGS = module(w=ONES, k=1.0, f=lambda x: x, inner=module(w=ONES))
OBJECT = types.SimpleNamespace(w=ONES, v=ONES)
Pair = namedtuple("Pair", "w v")


def helper(x):
    return x * OBJECT.v


def handed_on(p, x):
    return x * p.w


def over_a_cell():
    w = ONES

    def f(x):
        return np.sum(x * w)

    def change():
        nonlocal w
        w = THREES

    return f, change


def over_an_object(make, f, name="w", new=THREES):
    def program():
        held = make()
        return functools.partial(f, held), lambda: setattr(held, name, new)

    return program


def over_a_name(owner, f, name="w", new=THREES):
    def program():
        return f, lambda: setattr(owner, name, new)

    return program


def over_defaults(name, new):
    def program():
        def f(x, w=ONES, *, v=ONES):
            return np.sum(x * w * v)

        return f, lambda: setattr(f, name, new)

    return program


def over_a_whole_dict():
    m = Model()

    def change():
        m.__dict__ = {**vars(m), "w": THREES}

    return (lambda x: np.sum(x * m.w)), change


def over_a_key():
    held = {"a": 1.0, "b": 1.0}

    def change():
        held["c"] = held.pop("b")

    return (lambda x: np.sum(x) * (1.0 if "b" in held else 3.0)), change


def over_the_elements_of(make):
    def program():
        w = make()

        def change():
            w.flags.writeable = True
            w[...] = 3.0

        return (lambda x: np.sum(x * w.flat[0])), change

    return program


def read_only():
    w = np.ones(2)
    w.flags.writeable = False
    return w


nested = lambda: types.SimpleNamespace(p=types.SimpleNamespace(w=ONES))
PROGRAMS = {
    "a cell": over_a_cell,
    "a default": over_defaults("__defaults__", (THREES,)),
    "a default by keyword": over_defaults("__kwdefaults__", {"v": THREES}),
    "the dict of an object": over_a_whole_dict,
    "a key of a dict": over_a_key,
    **{
        f"the elements of an array, {name}": over_the_elements_of(make)
        for name, make in {
            "small": lambda: np.ones(2),
            "without axes": lambda: np.ones(()),
            "of some kilobytes": lambda: np.ones(2000),
            "large": lambda: np.ones(20000),
            "transposed": lambda: np.ones((20, 30)).T,
            "with gaps": lambda: np.ones(40)[::2],
            "read-only": read_only,
            "of the other byte order": lambda: np.ones(2, ">f8"),
            "of a subclass": lambda: np.ones((2, 2)).view(np.matrix),
        }.items()
    },
    "a class": over_a_name(Weights, lambda x: np.sum(x * Weights.w)),
    "a number of a class": over_a_name(Weights, lambda x: np.sum(x) * Weights.k, "k", 3.0),
    "a base class": over_a_name(Weights, lambda x: np.sum(x * Inherited.w)),
    "a class behind an instance": over_a_name(Weights, lambda x: np.sum(x * Inherited().w)),
    "a class method": over_a_name(Weights, Weights.by_class),
    "a class method that is called": over_a_name(Weights, lambda x: Weights.by_class(x)),
    "a static method": over_a_name(Weights, Weights.static),
    "what a constructor reads": over_a_name(Scaled, lambda x: np.sum(Scaled(x).y), "scale"),
    "an override in a derived class": over_a_name(
        Inherited, lambda x: Inherited.static(x), "static", staticmethod(lambda x: 3.0 * np.sum(x))
    ),
    "a module": over_a_name(SETTINGS, lambda x: np.sum(x * SETTINGS.w)),
    "a number of a module": over_a_name(SETTINGS, lambda x: np.sum(x) * SETTINGS.k, "k", 3.0),
    "a function of a module": over_a_name(
        SETTINGS, lambda x: np.sum(SETTINGS.f(x)), "f", lambda x: 3.0 * x
    ),
    "a module of a module": over_a_name(SETTINGS.inner, lambda x: np.sum(x * SETTINGS.inner.w)),
    "an attribute": over_an_object(Model, lambda m, x: np.sum(x * m.w)),
    "an attribute over that of a class": over_an_object(Weights, lambda m, x: np.sum(x * m.w)),
    "getattr": over_an_object(Model, lambda m, x: np.sum(x * getattr(m, "w"))),  # noqa: B009
    "a slot": over_an_object(Slots, lambda m, x: np.sum(x * m.w)),
    "a model that is called": over_an_object(Model, lambda m, x: m(x)),
    "a method of the base class": over_an_object(Derived, lambda m, x: m(x)),
    "a method that an instance gets": over_an_object(
        Model, lambda m, x: m.apply(x), "apply", lambda x: 3.0 * np.sum(x)
    ),
    "an attribute that a helper names": over_a_name(
        OBJECT, lambda x: np.sum(helper(x) * OBJECT.w), "v"
    ),
    "an attribute that a helper does not name": over_a_name(
        OBJECT, lambda x: np.sum(helper(x) * OBJECT.w), "w"
    ),
}


@pytest.fixture(autouse=True)
def as_they_were():
    """Classes and modules keep their attributes from one test to the next."""
    owners = (Weights, Inherited, Scaled, SETTINGS, SETTINGS.inner, OBJECT)
    before = [dict(vars(o)) for o in owners]
    yield
    for owner, held in zip(owners, before, strict=True):
        for name in set(vars(owner)) - set(held):
            delattr(owner, name)
        for name, value in held.items():
            if vars(owner)[name] is not value:
                setattr(owner, name, value)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.grad], ids=["jit", "jit of grad"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_changed_is_seen(program, wrap):
    f, change = program()
    jitted = fg.jit(wrap(f))
    want = wrap(f)(X)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(X), want)
    change()
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X), 3.0 * want)


def test_a_property_is_followed():
    m = Model()
    f = fg.jit(lambda x: np.sum(x * m.held))
    assert f(X) == 2.0
    m.inner.w = THREES
    assert f(X) == 6.0


def test_a_cached_property_is_taken_from_the_instance():
    m = Model()
    f = fg.jit(lambda x: np.sum(x * m.cached))
    assert f(X) == 2.0
    m.cached = THREES
    assert f(X) == 6.0


def test_an_object_that_is_handed_on():
    """The code that names the attribute is not the code that names the object."""
    held = nested()
    f = fg.jit(lambda x: np.sum(handed_on(held.p, x)))
    assert f(X) == 2.0
    held.p.w = THREES
    assert f(X) == 6.0


def test_containers_of_objects():
    held = {"a": [types.SimpleNamespace(w=ONES)], "b": Pair(np.ones(2), 1.0)}
    f = fg.jit(lambda x: np.sum(x * held["a"][0].w * held["b"].w))
    assert f(X) == 2.0
    held["a"][0].w = THREES
    assert f(X) == 6.0
    held["b"].w[:] = 2.0
    assert f(X) == 12.0
    held["a"] = [types.SimpleNamespace(w=ONES)]
    assert f(X) == 4.0


def test_what_is_not_named_does_not_stage_anew():
    calls = itertools.count()
    m = Model()
    m.step = 0

    def f(x):
        next(calls)
        return m.apply(x)

    jitted = fg.jit(fg.grad(f))
    for k in range(3):
        m.step = k
        jitted(X)
    assert next(calls) == 1


@pytest.fixture
def installed(monkeypatch):
    """A module that looks as if it had been installed with pip."""
    made = types.ModuleType("installed_package")
    made.__file__ = sysconfig.get_path("purelib") + "/installed_package.py"
    monkeypatch.setitem(sys.modules, "installed_package", made)
    code = """
    import numpy as np

    WEIGHTS = np.ones(2)
    others = {k: object() for k in range(1000)}

    class Layer:
        def __init__(self):
            self.w = np.ones(2)

        def __call__(self, x):
            return np.sum(x * self.w)

    def apply(layer, x):
        return layer(x) + 0.0 * len(others)

    def own(x):
        return np.sum(x * WEIGHTS)
    """
    exec(textwrap.dedent(code), vars(made))
    return made


def test_objects_of_an_installed_package_are_looked_at(installed):
    layer = installed.Layer()
    f = fg.jit(lambda x: installed.apply(layer, x))
    assert f(X) == 2.0
    layer.w = THREES
    assert f(X) == 6.0


def test_the_globals_of_an_installed_package_are_not(installed):
    from funcgrad.transforms.captures import capture

    layer = installed.Layer()
    assert len(capture(lambda x: installed.apply(layer, x)).seen) < 20


def test_the_globals_of_the_package_of_the_function_are(installed):
    for f in (installed.own, functools.partial(installed.own)):
        jitted = fg.jit(f)
        installed.WEIGHTS = ONES
        assert jitted(X) == 2.0
        installed.WEIGHTS = THREES
        assert jitted(X) == 6.0
