"""Steps of loops in Python that are written out, against the same loops that look at every step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.transforms import scan as scans
from funcgrad.transforms import while_loop as loops

PACKAGE = str(Path(fg.__file__).parent)
N = 12
ROWS = np.linspace(-1.0, 1.0, N)
TABLE = np.arange(3.0 * N).reshape(N, 3) / 7


class Pair(NamedTuple):
    a: object
    b: object


class Later(float):
    """A number of a class of its own."""


def late(k, then, otherwise, at=7):
    """`then` in step `at`."""
    return then if k == at else otherwise


# carry, body of (carry, index) -> carry
BODIES = {
    "number": (1.0, lambda c, k: c * 0.9 + k),
    "integer": (1, lambda c, k: c * 3 + k),
    "complex": (1j, lambda c, k: c * 0.5 + k),
    "single": (np.float32(0.3), lambda c, k: c * np.float32(1.7)),
    "truth": (True, lambda c, k: not c),
    "array": (np.ones(3), lambda c, k: c * 0.9 + k),
    "array of no axes": (np.array(1.0), lambda c, k: np.array(c * 0.9 + k)),
    "big-endian": (np.ones(3, ">f8"), lambda c, k: (c * 0.9 + k).astype(">f8")),
    "pair": ((0, 1.0), lambda c, k: (c[0] + 1, c[1] * 0.9 + c[0])),
    "list": ([1.0, 2.0], lambda c, k: [c[1], c[0] * 0.9]),
    "of one": ((1.0,), lambda c, k: (c[0] * 0.5,)),
    "nested": (
        {"b": (1.0, [np.ones(2), None]), "a": Pair(2, {"x": 0.5})},
        lambda c, k: {
            "a": Pair(c["a"].a + k, {"x": c["a"].b["x"] * 0.5}),
            "b": (c["b"][0] + 1, [c["b"][1][0] * c["a"].b["x"], None]),
        },
    ),
    "nothing": ((), lambda c, k: ()),
    "number that becomes an array's": (1.0, lambda c, k: late(k, np.float64(c), c * 0.5)),
    "number among arrays": (np.float32(1.1), lambda c, k: late(k, 0.3, c * np.float32(1.3))),
    "number among arrays in a pair": (
        (np.float32(1.1), 0),
        lambda c, k: (late(k, 0.3, c[0] * np.float32(1.3)), c[1] + 1),
    ),
    "integer among numbers": (1.5, lambda c, k: late(k, 2, c * 0.5)),
    "late array of no axes": (np.float64(1), lambda c, k: late(k, np.array(0.1), c * 0.5)),
    "late class": (1.0, lambda c, k: late(k, Later(0.1), c * 0.5)),
    "written over": (np.ones(3), lambda c, k: np.add(c, k, out=c)),
}
WRONG = {
    "shape": (np.ones(3), lambda c, k: late(k, np.ones(2), c)),
    "axes": (np.ones(3), lambda c, k: late(k, np.ones((3, 1)), c)),
    "dtype": (np.ones(3), lambda c, k: late(k, np.ones(3, np.float32), c)),
    "number for an array": (np.ones(3), lambda c, k: late(k, 1.0, c)),
    "complex": (np.float64(1), lambda c, k: late(k, np.complex128(1), c)),
    "longer": ((1.0, 2.0), lambda c, k: late(k, (1.0, 2.0, 3.0), c)),
    "shorter": ((1.0, 2.0), lambda c, k: late(k, (1.0,), c)),
    "list for a tuple": ((1.0, 2.0), lambda c, k: late(k, [1.0, 2.0], c)),
    "generator": ((1.0, 2.0), lambda c, k: late(k, (x for x in (1.0, 2.0)), c)),
    "two letters": ((1.0, 2.0), lambda c, k: late(k, "ab", c)),
    "array for a tuple": ((1.0, 2.0), lambda c, k: late(k, np.ones(2), c)),
    "tuple for a named one": (Pair(1.0, 2.0), lambda c, k: late(k, (1.0, 2.0), c)),
    "none": (1.0, lambda c, k: late(k, None, c)),
    "key": ({"a": 1.0}, lambda c, k: late(k, {"b": 1.0}, c)),
    "more keys": ({"a": 1.0}, lambda c, k: late(k, {"a": 1.0, "b": 1.0}, c)),
    "text": (1.0, lambda c, k: late(k, "x", c)),
}
STACKED = {
    "nothing": lambda c, k: None,
    "number": lambda c, k: 0.5 * k,
    "integer": lambda c, k: k,
    "beyond 64 bits": lambda c, k: 2**62 * k,
    "truth": lambda c, k: k > 3,
    "truth of NumPy": lambda c, k: np.bool_(k > 3),
    "complex": lambda c, k: 1j * k,
    "single": lambda c, k: np.float32(k) / 3,
    "integer, then float": lambda c, k: k if k < 6 else k * 0.3,
    "number among single ones": lambda c, k: late(k, 0.3, np.float32(k) / 3),
    "array, then single": lambda c, k: np.full(2, k / 3, np.float64 if k < 6 else np.float32),
    "single, once an array": lambda c, k: np.full(2, k / 3, late(k, np.float64, np.float32)),
    "number, then array": lambda c, k: k * 0.5 if k < 6 else np.array(k),
    "array": lambda c, k: np.full((2, 2), k / 3),
    "big-endian": lambda c, k: np.full(2, k / 3, ">f8"),
    "of no axes": lambda c, k: np.array(k / 3),
    "the carry": lambda c, k: c,
    "written over later": lambda c, k: BUFFER.__iadd__(k),
    "nested": lambda c, k: {"b": (k, [np.full(2, k)]), "a": Pair(None, k * 0.5)},
    "empty": lambda c, k: (),
}
BUFFER = np.zeros(2)


def both(monkeypatch, run):
    """What `run` returns or raises with steps written out, and without."""
    found = []
    for without in (False, True):
        BUFFER[...] = 0
        with monkeypatch.context() as m:
            if without:
                m.setattr(loops, "written", lambda *_: None)
                m.setattr(scans, "written", lambda *_: None)
            try:
                found.append(run())
            except Exception as error:
                text = str(error)
                if "object at 0x" in text:
                    text = text.split("object at 0x")[0]
                found.append((type(error), text))
    return found


def same(a, b):
    x, one = fg.tree.flatten(a)
    y, other = fg.tree.flatten(b)
    assert one == other
    for v, w in zip(x, y, strict=True):
        assert type(v) is type(w)
        if isinstance(v, np.ndarray):
            assert v.dtype == w.dtype and v.strides == w.strides
        np.testing.assert_array_equal(v, w)


def of_kinds(carry, body):
    """The four loops of a body."""
    return {
        "fori": lambda: fg.fori_loop(0, N, lambda k, c: body(c, k), carry),
        "while": lambda: fg.while_loop(
            lambda s: s[0] < N, lambda s: (s[0] + 1, body(s[1], s[0])), (0, carry)
        ),
        "while within": lambda: fg.while_loop(
            lambda s: np.bool_(s[0] < N),
            lambda s: (s[0] + 1, body(s[1], s[0])),
            (0, carry),
            max_steps=N,
        ),
        "scan": lambda: fg.scan(lambda c, k: (body(c, int(k)), None), carry, np.arange(N)),
    }


@pytest.mark.parametrize("kind", ["fori", "while", "while within", "scan"])
@pytest.mark.parametrize("name", BODIES)
def test_carries_of_each_structure(name, kind, monkeypatch):
    with_, without = both(monkeypatch, of_kinds(*BODIES[name])[kind])
    same(with_, without)
    assert not any(isinstance(x, (type, str)) for x in fg.tree.leaves(without))  # of an error


@pytest.mark.parametrize("kind", ["fori", "while", "while within", "scan"])
@pytest.mark.parametrize("name", WRONG)
def test_what_changes_in_a_late_step_is_refused_with_the_same_words(name, kind, monkeypatch):
    with_, without = both(monkeypatch, of_kinds(*WRONG[name])[kind])
    assert with_ == without
    assert issubclass(with_[0], (errors.LoopTypeError, errors.TreeError))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", STACKED)
def test_what_is_stacked(name, reverse, monkeypatch):
    def step(c, k):
        return c * 0.5 + k, STACKED[name](c, int(k))

    for carry in (0.5, np.ones(2)):
        same(
            *both(monkeypatch, lambda c=carry: fg.scan(step, c, np.arange(N), reverse=reverse)),
        )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "xs",
    [
        ROWS,
        TABLE,
        np.asfortranarray(TABLE),
        TABLE.reshape(N, 3, 1) * np.ones(2),
        (ROWS, TABLE),
        {"b": ROWS, "a": [TABLE, None]},
        Pair(TABLE, (ROWS,)),
        fg.tree.Partial(np.sin, ROWS),
    ],
    ids=["numbers", "rows", "columns", "matrices", "pair", "dict", "named", "registered"],
)
def test_rows_of_each_structure(xs, reverse, monkeypatch):
    seen = []

    def step(c, x):
        leaves = fg.tree.leaves(x)
        seen.append((fg.tree.structure(x), list(x) if isinstance(x, dict) else None))
        seen.append([v.strides for v in leaves if isinstance(v, np.ndarray)])
        for v in leaves:
            if isinstance(v, np.ndarray):
                v += 1.0  # the caller's stays as it is
        return c + sum(np.sum(v) for v in leaves), x

    kept = fg.tree.map(np.copy, xs)
    same(*both(monkeypatch, lambda: fg.scan(step, 0.0, xs, reverse=reverse)))
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
    same(fg.tree.leaves(xs), fg.tree.leaves(kept))


@pytest.mark.parametrize("held", [np.array, np.bool_, bool, lambda b: b if b else np.array(b)])
def test_conditions_of_each_kind_are_asked_once_a_step(held):
    asked = []

    def cond(c):
        asked.append(c)
        return held(c < N)

    assert fg.while_loop(cond, lambda c: c + 1, 0) == N
    assert asked == list(range(N + 1))


def test_a_condition_that_is_no_bool_in_a_late_step():
    with pytest.raises(errors.LoopTypeError, match="a condition is a single bool"):
        fg.while_loop(lambda c: c < 7 or 1.0, lambda c: c + 1, 0)


@pytest.mark.parametrize("most", range(6))
def test_no_step_beyond_the_most_is_made(most):
    made = []

    def body(c):
        made.append(c)
        return c + 1

    for steps in range(6):
        made.clear()
        run = lambda n=steps: fg.while_loop(lambda c: c < n, body, np.int64(0), max_steps=most)
        if steps <= most:
            assert run() == steps
        else:
            with pytest.raises(errors.LoopLimitError):
                run()
        assert made == list(range(min(steps, most)))


def traced_programs():
    def late_gradient(p):
        return fg.fori_loop(0, N, lambda i, c: c * p if i > 6 else c * 0.5, 1.0)

    def rows(p):
        c, ys = fg.scan(lambda c, x: (c * p + x, (c, x * p)), np.zeros(3), TABLE)
        return np.sum(c) + np.sum(ys[0] * ys[1])

    def written(p):
        def step(c, x):
            y = c * p
            out = c * 1.0
            c[0] = x  # after which the earlier result stays
            return c, (y, out)

        c, (ys, outs) = fg.scan(step, np.ones(3) * p, ROWS)
        return np.sum(c) + np.sum(ys * outs)

    def same_twice(p):
        def step(c, x):
            c[1] = c[0] * x
            return c, c

        return np.sum(fg.scan(step, np.ones(3) * p, ROWS)[1] ** 2)

    def until(p):
        return fg.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * p), (0, 1.0))[1]

    def table(p):
        return np.sum(fg.map(lambda r: np.sin(r * p), TABLE))

    return [late_gradient, rows, written, same_twice, until, table]


@pytest.mark.parametrize("f", traced_programs(), ids=lambda f: f.__name__)
def test_gradients(f, monkeypatch):
    for d in (fg.grad, lambda f: fg.grad(fg.grad(f)), lambda f: lambda x: fg.jvp(f, (x,), (1.0,))):
        same(*both(monkeypatch, lambda d=d: d(f)(0.7)))
    np.testing.assert_allclose(fg.grad(f)(0.7), fg.jit(fg.grad(f))(0.7), rtol=1e-12)
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.grad(f)(0.7), slope, rtol=1e-7)


def test_a_step_calls_nothing_but_the_functions_of_the_program():
    """What is looked at in every step is in the text of the loop."""
    calls = []

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls.append(frame.f_code.co_name)

    def count(run):
        run()
        calls.clear()
        sys.setprofile(watch)
        try:
            run()
        finally:
            sys.setprofile(None)
        return len(calls)

    def runs(n):
        x = np.ones((n, 2))
        yield lambda: fg.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2.0), (0, x[0]))
        yield lambda: fg.fori_loop(0, n, lambda i, c: c + i, 0.0)
        step = lambda c, r: (c + r["a"], {"c": c, "n": r["b"][0]})
        yield lambda: fg.scan(step, x[0], {"a": x, "b": x})

    for few, many in zip(runs(10), runs(200), strict=True):
        assert count(many) <= count(few) + 2
