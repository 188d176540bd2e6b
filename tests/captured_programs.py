"""Programs that reach a number in every way that Python has, and what changes the number.

Each is a function that makes ``f(x)`` and ``change()``; `jit` and the facade's `compile` have to
see the change, or say that they cannot.
"""

from __future__ import annotations

import abc
import array
import builtins
import collections
import colorsys
import contextvars
import copy
import dataclasses
import enum
import fractions
import functools
import io
import operator
import os
import sys
import threading
import types

import numpy as np
from scipy.spatial import KDTree


class Plain:
    def __init__(self, **held):
        self.__dict__.update(held)


class Point:
    __match_args__ = ("a",)

    def __init__(self, a, b):
        self.a, self.b = a, b


@dataclasses.dataclass
class Fields:
    a: float = 1.0
    b: float = 2.0


class Numbers(list):
    scale = 2.0

    def __getitem__(self, k):
        return self.scale * list.__getitem__(self, k)


class Length(float):
    pass


class Scaling:
    """A decorator that is an object."""

    def __init__(self, f, k):
        functools.update_wrapper(self, f)
        self.f, self.k = f, k

    def __call__(self, x):
        return self.k * self.f(x)


class Color(enum.Enum):
    RED = 2.0
    BLUE = 3.0


def setter(x, name, value):
    return lambda: setattr(x, name, value)


def default_of_getattr():
    o = Plain()
    return (lambda x: x * getattr(o, "b", 1.0)), setter(o, "b", 3.0)


def default_of_getattr_in_a_class():
    cls = type("Held", (), {})
    o = cls()
    return (lambda x: x * getattr(o, "b", 1.0)), setter(cls, "b", 3.0)


def has_attribute():
    o = Plain()
    return (lambda x: 2.0 * x if hasattr(o, "b") else x), setter(o, "b", 3.0)


def attribute_error():
    o = Plain()

    def f(x):
        try:
            return x * o.b
        except AttributeError:
            return x

    return f, setter(o, "b", 3.0)


def names_in_a_tuple():
    o = Plain(w=1.0, b=2.0)

    def f(x):
        for n in ("w", "b"):
            x = x * getattr(o, n)
        return x

    return f, setter(o, "b", 3.0)


def computed_name():
    o = Plain(w1=2.0)
    return (lambda x: x * getattr(o, "w" + str(len("a")))), setter(o, "w1", 3.0)


def captured_name():
    o, name = Plain(a=2.0, b=3.0), "a"

    def change():
        nonlocal name
        name = "b"

    return (lambda x: x * getattr(o, name)), change


def class_pattern():
    p = Point(1.0, 2.0)

    def f(x):
        match p:
            case Point(1.0):
                return x
            case Point(a):
                return x * a

    return f, setter(p, "a", 3.0)


def class_pattern_by_keyword():
    p = Point(1.0, 2.0)

    def f(x):
        match p:
            case Point(b=2.0):
                return x
            case Point(b=b):
                return x * b

    return f, setter(p, "b", 3.0)


def made_module(name):
    made = sys.modules[name] = types.ModuleType(name)
    made.k = 2.0
    return made


def import_in_the_body():
    made = made_module("settings_of_a_test")

    def f(x):
        import settings_of_a_test

        return x * settings_of_a_test.k

    return f, setter(made, "k", 3.0)


def name_imported_in_the_body():
    made = made_module("settings_of_a_test")

    def f(x):
        from settings_of_a_test import k

        return x * k

    return f, setter(made, "k", 3.0)


def module_in_a_closure():
    made = types.ModuleType("made")
    made.k = 2.0
    return (lambda x: x * made.k), setter(made, "k", 3.0)


def vars_of_an_object():
    o = Plain(w=2.0)
    return (lambda x: x * vars(o)["w"]), setter(o, "w", 3.0)


def dict_of_an_object():
    o = Plain(w=2.0)
    return (lambda x: x * sum(o.__dict__.values())), setter(o, "z", 3.0)


def read_only_view():
    held = {"k": 2.0}
    view = types.MappingProxyType(held)
    return (lambda x: x * view["k"]), lambda: held.update(k=3.0)


def double_ended_queue():
    d = collections.deque([2.0])
    return (lambda x: x * d[0]), lambda: d.appendleft(3.0)


def byte_array():
    b = bytearray(b"\2")
    return (lambda x: x * float(b[0])), lambda: b.__setitem__(0, 3)


def memory_view():
    m = memoryview(bytearray(b"\2"))
    return (lambda x: x * float(m[0])), lambda: m.__setitem__(0, 3)


def array_of_the_standard_library():
    a = array.array("d", [2.0])
    return (lambda x: x * a[0]), lambda: a.__setitem__(0, 3.0)


def a_set():
    s = {2.0}
    return (lambda x: x * sum(s)), lambda: s.add(3.0)


def order_of_a_dictionary():
    d = {"a": 2.0, "b": 3.0}
    return (lambda x: x * next(iter(d.values()))), lambda: d.update(a=d.pop("a"))


def order_of_an_ordered_dictionary():
    d = collections.OrderedDict(a=2.0, b=3.0)
    return (lambda x: x * next(iter(d.values()))), lambda: d.move_to_end("a")


def context_variable():
    v = contextvars.ContextVar("v", default=2.0)
    return (lambda x: x * v.get()), lambda: v.set(3.0)


def environment():
    os.environ["NUMBER_OF_A_TEST"] = "2"
    return (
        lambda x: x * float(os.environ["NUMBER_OF_A_TEST"]),
        lambda: os.environ.update(NUMBER_OF_A_TEST="3"),
    )


def environment_by_a_function():
    os.environ["NUMBER_OF_A_TEST"] = "2"
    return (
        lambda x: x * float(os.getenv("NUMBER_OF_A_TEST")),
        lambda: os.environ.update(NUMBER_OF_A_TEST="3"),
    )


def attribute_getter():
    o, get = Plain(k=2.0), operator.attrgetter("k")
    return (lambda x: x * get(o)), setter(o, "k", 3.0)


def dotted_attribute_getter():
    o, get = Plain(a=Plain(b=2.0)), operator.attrgetter("a.b")
    return (lambda x: x * get(o)), setter(o.a, "b", 3.0)


def getattr_as_a_function():
    o = Plain(a=Plain(b=2.0))
    return (lambda x: x * functools.reduce(getattr, ["a", "b"], o)), setter(o.a, "b", 3.0)


def bases_of_a_class():
    first, second = type("A", (), {"k": 2.0}), type("B", (), {"k": 3.0})
    other = type("Other", (), {})
    o = type("C", (first, other), {})()
    return (lambda x: x * o.k), setter(type(o), "__bases__", (second, other))


def strides_of_an_array():
    a = np.arange(6.0).reshape(2, 3)

    def change():
        nonlocal a
        a = np.asfortranarray(a)

    return (lambda x: x * float(a.strides[0])), change


def class_of_a_captured_object():
    a, b = object(), object()
    mode = a

    def change():
        nonlocal mode
        mode = b

    return (lambda x: x if mode is a else 2.0 * x), change


def fraction():
    k = fractions.Fraction(1, 2)

    def change():
        nonlocal k
        k = fractions.Fraction(1, 3)

    return (lambda x: x * float(k)), change


def fields_as_a_dictionary():
    d = Fields()
    return (lambda x: x * sum(dataclasses.asdict(d).values())), setter(d, "b", 3.0)


def equal_fields():
    d, e = Fields(), Fields()
    return (lambda x: x if d == e else 2.0 * x), setter(e, "b", 3.0)


def fields_as_a_text():
    d = Fields()
    return (lambda x: x * float(len(f"{d}"))), setter(d, "b", 3.25)


def enumeration():
    o = Plain(color=Color.RED)
    return (lambda x: x * o.color.value), setter(o, "color", Color.BLUE)


def method_of_a_list():
    held = [2.0]
    get = held.__getitem__
    return (lambda x: x * get(0)), lambda: held.__setitem__(0, 3.0)


def decorator_object():
    g = Scaling(lambda x: 1.0 * x, 2.0)
    return (lambda x: g(x)), setter(g, "k", 3.0)


def attribute_of_a_list():
    held = Numbers([1.0])
    return (lambda x: x * held[0]), setter(held, "scale", 3.0)


def attribute_of_a_number():
    k = Length(2.0)
    k.unit = 1.0
    return (lambda x: x * k.unit), setter(k, "unit", 3.0)


def vectorized_function():
    k, points = 2.0, np.arange(3.0)
    f = np.vectorize(lambda v: k * v)

    def change():
        nonlocal k
        k = 3.0

    return (lambda x: x * float(f(points)[1])), change


def variable_that_is_set_later():
    def f(x):
        try:
            return x * k
        except NameError:
            return x

    def change():
        nonlocal k
        k = 3.0

    if change is None:
        k = 1.0
    return f, change


def partial_application():
    o = Plain(g=functools.partial(operator.mul, 2.0))
    return (lambda x: o.g(x)), setter(o, "g", functools.partial(operator.mul, 3.0))


def search_tree():
    """An object in C, whose content is in no attribute."""
    tree = KDTree(np.zeros((5, 2)))

    def change():
        nonlocal tree
        tree = KDTree(np.ones((5, 2)))

    return (lambda x: x * float(1.0 + tree.query([0.0, 0.0])[0])), change


def thread_local():
    held = threading.local()
    held.k = 2.0
    return (lambda x: x * held.k), setter(held, "k", 3.0)


def a_container_in_itself():
    held = [2.0]
    held.append(held)
    return (lambda x: x * held[1][0]), lambda: held.__setitem__(0, 3.0)


def attribute_in_a_format():
    o = Plain(k=2.0)
    return (lambda x: x * float("{0.k}".format(o))), setter(o, "k", 3.0)  # noqa: UP030, UP032


def a_long_chain():
    first = Plain(k=2.0, next=None)
    last = first
    for _ in range(1500):
        last.next = Plain(k=2.0, next=None)
        last = last.next
    return (lambda x: x * first.next.k), setter(first.next, "k", 3.0)


def default_of_a_dictionary():
    held = [2.0]
    d = collections.defaultdict(lambda: held[0])
    return (lambda x: x * d.default_factory()), lambda: held.__setitem__(0, 3.0)


def item_of_a_class():
    class C:
        k = 2.0

        def __class_getitem__(cls, _):
            return cls.k

    return (lambda x: x * C[0]), setter(C, "k", 3.0)


def what_makes_an_object():
    class C:
        k = 2.0

        def __new__(cls):
            return cls.k

    return (lambda x: x * C()), setter(C, "k", 3.0)


def what_sets_an_attribute():
    class C:
        k = 2.0

        def __setattr__(self, name, value):
            object.__setattr__(self, name, self.k * value)

    def f(x):
        o = C()
        o.v = 1.0
        return x * o.v

    return f, setter(C, "k", 3.0)


def what_copies_an_object():
    class C:
        k = 2.0

        def __copy__(self):
            return self.k

    o = C()
    return (lambda x: x * copy.copy(o)), setter(C, "k", 3.0)


def hash_of_an_object():
    class C:
        k = 2

        def __hash__(self):
            return self.k

    o = C()
    return (lambda x: x * hash(o)), setter(C, "k", 3)


def what_hears_of_a_derived_class():
    class C:
        k = 2.0

        def __init_subclass__(cls):
            cls.scale = C.k

    def f(x):
        class D(C):
            pass

        return x * D.scale

    return f, setter(C, "k", 3.0)


def what_belongs_to_an_abstract_class():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    p = Point(1.0, 2.0)
    return (
        lambda x: x * 2.0 if isinstance(p, Abstract) else x,
        lambda: Abstract.register(Point),
    )


def name_that_is_built_in_later():
    builtins.number_of_a_test = 2.0
    return (
        lambda x: x * number_of_a_test,  # noqa: F821
        setter(builtins, "number_of_a_test", 3.0),
    )


def name_of_the_programs_in_a_library():
    colorsys.number_of_a_test = 2.0
    return (lambda x: x * colorsys.number_of_a_test), setter(colorsys, "number_of_a_test", 3.0)


def function_of_the_programs_in_a_library():
    colorsys.function_of_a_test = lambda x: 2.0 * x
    return (
        lambda x: colorsys.function_of_a_test(x),
        setter(colorsys, "function_of_a_test", lambda x: 3.0 * x),
    )


def name_that_a_library_gets_later():
    vars(sys).pop("number_of_a_test", None)

    def f(x):
        try:
            return x * sys.number_of_a_test
        except AttributeError:
            return x

    return f, setter(sys, "number_of_a_test", 3.0)


def text_in_memory():
    s = io.StringIO("2.0")
    return (lambda x: x * float(s.getvalue())), lambda: (s.seek(0), s.write("3.0"))


def bytes_in_memory():
    s = io.BytesIO(b"2.0")
    return (lambda x: x * float(s.getvalue())), lambda: (s.seek(0), s.write(b"3.0"))


def an_event():
    e = threading.Event()
    return (lambda x: x * 3.0 if e.is_set() else x), lambda: e.set()


def flags_of_an_array():
    a = np.ones(2)
    return (lambda x: x if a.flags.writeable else 3.0 * x), lambda: a.setflags(write=False)


SEEN = [held for held in list(globals().values()) if isinstance(held, types.FunctionType)]
SEEN = [f for f in SEEN if f.__module__ == __name__ and f not in (setter, made_module)]


def evaluated():
    o = Plain(k=2.0)
    return (lambda x: x * eval("o.k", {"o": o})), setter(o, "k", 3.0)


def by_the_globals():
    g = globals()
    g["HELD"] = 2.0
    return (lambda x: x * globals()["HELD"]), lambda: g.__setitem__("HELD", 3.0)


def derived_classes():
    class C:
        pass

    kept = [type("D", (C,), {})]
    return (lambda x: x * len(C.__subclasses__())), lambda: kept.append(type("E", (C,), {}))


def a_lock():
    lock = threading.Lock()
    return (lambda x: x * 3.0 if lock.locked() else x), lambda: lock.acquire()


def iterator():
    held = iter([2.0, 3.0, 4.0, 5.0])
    return (lambda x: x * next(held)), lambda: None


UNSEEN = [evaluated, by_the_globals, iterator, derived_classes, a_lock]
