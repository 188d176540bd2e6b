"""What only effects are given is no capture: a list that a callback fills is no reason to trace."""

import functools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import debug
from funcgrad.debug import callback

ROWS = []
COUNT = 0


def count(_):
    global COUNT
    COUNT += 1


class Log:
    def __init__(self):
        self.rows, self.number, self.factor = [], 0, 2.0

    def add(self, v):
        self.rows.append(v)
        self.number += 1

    def step(self, x):
        fg.debug.callback(self.add, x)
        fg.debug.callback(self.rows.append, x)
        return x * self.factor


class Called(Log):
    __call__ = Log.add


def a_lambda():
    rows = []
    return rows, lambda x: (fg.debug.callback(lambda v: rows.append(v), x), x * 2.0)[1]


def a_method_of_a_list():
    rows = []
    return rows, lambda x: (fg.debug.callback(rows.append, x), x * 2.0)[1]


def a_function_written_inside():
    rows = []

    def f(x):
        def plain(v):
            rows.append(v)

        callback(plain, x)
        callback(plain, x, ordered=True)
        return x * 2.0

    return rows, f


def a_global_list():
    ROWS.clear()
    return ROWS, lambda x: (debug.callback(ROWS.append, x), x * 2.0)[1]


def a_global_counter():
    return [], lambda x: (debug.callback(count, x), x * 2.0)[1]


def an_object():
    log = Log()
    return log.rows, lambda x: (debug.callback(log.add, x), x * 2.0)[1]


def an_object_that_is_called():
    log = Called()
    return log.rows, lambda x: (debug.callback(log, x), x * 2.0)[1]


def a_method():
    log = Log()
    return log.rows, log.step


def within_other_functions():
    rows = []

    def inner(x):
        return fg.vmap(lambda v: (debug.callback(lambda u: rows.append(u), v), v * 2.0)[1])(x)

    return rows, lambda x: fg.scan(
        lambda c, v: (c + inner(v)[0], None), 0.0 * x, np.reshape(x, (1, 1))
    )[0]


def an_io_callback():
    rows = []

    def f(x):
        made = fg.io_callback(
            lambda v: (rows.append(v), np.float64(len(rows)))[1], np.float64(0), x
        )
        return x * 2.0 + 0.0 * made

    return rows, f


FORMS = [
    a_lambda, a_method_of_a_list, a_function_written_inside, a_global_list, a_global_counter,
    an_object, an_object_that_is_called, a_method, within_other_functions, an_io_callback,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_it_is_traced_once(form):
    rows, f = form()
    g = fg.jit(f)
    counted = COUNT
    for k in range(4):
        assert g(float(k)) == 2.0 * k
    assert g.report().count("\n") == 0, g.report()
    assert len(rows) in (4, 8) or counted == COUNT - 4
    if rows:
        assert float(np.ravel(rows[-1])[0]) == 3.0


def test_what_the_function_reads_itself_counts():
    rows = []

    def f(x):
        debug.callback(rows.append, x)
        return x * len(rows)

    g = fg.jit(f)
    assert [g(1.0), g(1.0), g(1.0)] == [0.0, 1.0, 2.0]


def test_a_counter_that_the_function_reads_counts():
    n = 0

    def more(_):
        nonlocal n
        n += 1

    def f(x):
        debug.callback(more, x)
        return x + n

    g = fg.jit(f)
    assert [g(1.0), g(1.0), g(1.0)] == [1.0, 2.0, 3.0]


def test_another_list_or_function_is_taken():
    rows, others = [], []
    target = rows
    show = rows.append

    def f(x):
        debug.callback(target.append, x)
        debug.callback(lambda v: target.append(v), x)
        debug.callback(show, x)
        return x

    g = fg.jit(f)
    g(1.0)
    target = others
    g(2.0)
    assert [float(r) for r in rows] == [1.0, 1.0, 1.0, 2.0]
    show = others.append
    g(3.0)
    assert [float(r) for r in others] == [2.0, 2.0, 3.0, 3.0, 3.0]


def test_another_method_and_attribute_are_taken():
    class Mine(Log):
        pass

    log = Mine()
    g = fg.jit(log.step)
    assert g(1.0) == 2.0
    first, log.rows = log.rows, []
    assert g(2.0) == 4.0
    assert [len(first), len(log.rows)] == [2, 2]
    seen = []
    Mine.add = lambda self, v: seen.append(v)
    g(3.0)
    assert [float(s) for s in seen] == [3.0]
    log.factor = 5.0
    assert g(1.0) == 5.0


def test_a_function_of_the_same_name_is_traced():
    w = [2.0]

    class Model:
        def callback(self, f, x):
            return f(x)

    model = Model()

    def callback(f, x):
        return f(x)

    for f in (
        lambda x: model.callback(lambda v: v * w[0], x),
        lambda x: callback(lambda v: v * w[0], x),
        lambda x: fg.vmap(lambda u: callback(lambda v: v * w[0], u))(x * np.ones(1))[0],
    ):
        w[0] = 2.0
        g = fg.jit(f)
        assert g(1.0) == 2.0
        w[0] = 7.0
        assert g(1.0) == 7.0


def test_what_is_made_while_it_is_traced_counts():
    names, rows = ["a"], []

    def show(name, v):
        rows.append(name)

    g = fg.jit(lambda x: (debug.callback(functools.partial(show, names[0]), x), x)[1])
    g(1.0)
    names[0] = "b"
    g(1.0)

    def f(x):
        def kept(v, name=names[0]):
            rows.append(name)

        debug.callback(kept, x)
        return x

    h = fg.jit(f)
    h(1.0)
    names[0] = "c"
    h(1.0)
    assert rows == ["a", "b", "b", "c"]


def test_a_function_that_is_called_as_well_counts():
    w = [2.0]

    def f(x):
        def scaled(v):
            return v * w[0]

        debug.callback(scaled, x)
        return scaled(x)

    g = fg.jit(f)
    assert g(1.0) == 2.0
    w[0] = 3.0
    assert g(1.0) == 3.0
