"""Programs that were kept on disk: what a second process does with them, and when it does not."""

import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile import cache, record, store
from funcgrad.compile import execute as execution
from funcgrad.compile.llvm import backend, origin, tiering
from funcgrad.config import config
from funcgrad.graph.identity import identity

X = np.linspace(-1.0, 2.0, 37)
OTHER = np.arange(37.0)


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_directory", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "cache", True)
    monkeypatch.setattr(config, "tiers", "both")
    monkeypatch.setattr(store, "_warned", set())
    monkeypatch.setattr(store, "_sizes", {})
    forget()


def forget():
    """What a new process does not have. An ending one waits for code that is made well."""
    tiering.settle()
    cache._recent.clear()
    cache._libraries.clear()
    origin._kept.clear()
    backend._shared.cache_clear()
    backend._first_tier_shared.clear()
    backend._tiered_libraries.clear()


@pytest.fixture
def compiled(monkeypatch):
    """How many graphs were compiled."""
    seen = []
    real = execution.compile_graph
    monkeypatch.setattr(execution, "compile_graph", lambda *a: (seen.append(a), real(*a))[1])
    return seen


def twice(make, *args, count, compiled):
    """Results of a function made anew in the same process and, as it were, in the next one."""
    found = []
    for _ in range(2):
        forget()
        found.append(make()(*args))
        found.append(len(compiled))
    assert found[1] == 1 and found[3] == count
    return found[0], found[2]


def assert_same(one, other):
    one, other = fg.tree.leaves(one), fg.tree.leaves(other)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert np.asarray(a).dtype == np.asarray(b).dtype


def chain(x):
    for k in range(8):
        x = np.sin(x) * (1.0 + 1.0 / (k + 1)) + np.cos(x)
    return np.sum(x)


PROGRAMS = {
    "called functions": (lambda: fg.jit(fg.value_and_grad(chain)), (X,)),
    "trees": (lambda: fg.jit(lambda t: {"y": t["a"] * t["b"][0], "n": None}),
              ({"a": X, "b": [2.0]},)),
    "numbers": (lambda: fg.jit(lambda x: x * 3.7 + 1e-300), (0.25,)),
    "float32": (lambda: fg.jit(lambda x: np.exp(x) / 3), (X.astype(np.float32),)),
    "an argument as it is": (lambda: fg.jit(lambda x: (x, x + 1.0, x)), (X,)),
    "views": (lambda: fg.jit(lambda x: (np.exp(x).reshape(1, 37).T, np.float64(2.5))), (X,)),
    "captured": (lambda: fg.jit(lambda x: np.sum(x * OTHER) + OTHER), (X,)),
    "a Hessian": (lambda: fg.jit(fg.hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))),
                  (np.linspace(0.0, 1.0, 50),)),
    "rows": (lambda: fg.jit(fg.grad(lambda x: np.sum(np.exp(x - np.max(x, 1, keepdims=True))))),
             (np.outer(X, X),)),
    "constants": (lambda: fg.jit(lambda x: x + fg.numpy.array([1.0, -0.0, np.nan])), (X[:3],)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kept_program_does_the_same_without_a_compilation(name, compiled):
    make, args = PROGRAMS[name]
    first, second = twice(make, *args, count=1, compiled=compiled)
    assert_same(first, second)


def test_donated_memory_is_used_again(compiled):
    def make():
        return fg.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)

    for _ in range(2):
        forget()
        w = X.copy()
        assert make()(w, OTHER) is w
        np.testing.assert_array_equal(w, X - 0.5 * OTHER)
    assert len(compiled) == 1


def test_captured_arrays_are_those_of_the_process(compiled):
    def make(a, b):
        return fg.jit(lambda x: x * a + b)

    same = np.full(37, 2.0)
    np.testing.assert_array_equal(make(same, same.copy())(X), X * 2.0 + 2.0)
    for a, b in ((OTHER, same), (same, OTHER)):
        forget()
        np.testing.assert_array_equal(make(a, b)(X), X * a + b)
    assert len(compiled) == 1


def test_other_arguments_are_compiled(compiled):
    f = fg.jit(lambda x: x * 2.0)
    f(X)
    forget()
    g = fg.jit(lambda x: x * 2.0)
    np.testing.assert_array_equal(g(X), X * 2.0)
    assert len(compiled) == 1
    np.testing.assert_array_equal(g(X[::-1]), X[::-1] * 2.0)  # not in C order
    assert len(compiled) == 2


def test_an_index_out_of_bounds_is_an_error():
    def make():
        return fg.jit(lambda x, k: x[k] * 2.0)

    make()(X, np.array([1, 2]))
    forget()
    with pytest.raises(IndexError):
        make()(X, np.array([1, 99]))


def test_a_damaged_entry_is_not_used(compiled):
    fg.jit(chain)(X)
    tiering.settle()
    for name in os.listdir(store.path()):
        place = os.path.join(store.path(), name)
        with open(place, "rb+") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"abc")
    forget()
    with pytest.warns(RuntimeWarning, match="damaged"):
        first = fg.jit(chain)(X)
        tiering.settle()
        assert fg.jit(chain)(X) == first
    assert len(compiled) == 2


def test_a_program_whose_code_is_gone_is_compiled(compiled):
    fg.jit(chain)(X)
    graph = fg.make_graph(chain)(X)
    assert record.key_of(graph, (), 0) is not None
    tiering.settle()
    for name in os.listdir(store.path()):
        if os.path.getsize(os.path.join(store.path(), name)) > 1500:
            os.unlink(os.path.join(store.path(), name))
    forget()
    fg.jit(chain)(X)
    assert len(compiled) == 2


def digest(f, *args):
    return identity(fg.make_graph(f)(*args))


def test_the_identity_of_a_graph():
    assert digest(lambda x: x * 0.1, X) == digest(lambda y: y * 0.1, X)
    assert digest(lambda x: x * 0.1, X) != digest(lambda x: x * np.nextafter(0.1, 1.0), X)
    assert digest(lambda x: x * 0.0, X) != digest(lambda x: x * -0.0, X)
    assert digest(lambda x: x * 1, X) != digest(lambda x: x * 1.0, X)
    assert digest(lambda x: x * 2.0, X) != digest(lambda x: x * 2.0, X[:5])
    assert digest(lambda x: x * 2.0, X) != digest(lambda x: x * 2.0, X.astype(np.float32))
    assert digest(lambda x: x * np.float64(2.0), X) != digest(lambda x: x * 2.0, X)
    assert digest(lambda x: np.sum(x, 0), X) != digest(lambda x: np.max(x, 0), X)
    long = np.zeros(5000)
    other = long.copy()
    other[2500] = 1.0  # printed arrays do not show it
    assert digest(lambda x: x + long, long) != digest(lambda x: x + other, long)


def test_graphs_with_functions_have_no_identity():
    @fg.custom_vjp
    def f(x):
        return x * 2.0

    f.defvjp(lambda x: (f(x), None), lambda _, g: (3.0 * g,))
    assert digest(f, X) is None
    np.testing.assert_array_equal(fg.jit(f)(X), X * 2.0)


SCRIPT = """
import numpy as np
import funcgrad as fg
from funcgrad.compile import cache, execute

def f(x):
    for k in range(10):
        x = np.tanh(x) * (k + 1.5) + np.sin(x)
    return np.sum(x)

value, slope = fg.jit(fg.value_and_grad(f))(np.linspace(-3.0, 3.0, 50))
print(cache.statistics.built, np.append(slope, value).tobytes().hex())
"""


def test_a_second_process_builds_nothing(tmp_path):
    settings = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path / "shared"), "FUNCGRAD_CACHE": "1"}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=settings, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    first, second = run(), run()
    assert int(first[0]) > 0 and int(second[0]) == 0
    assert first[1] == second[1]


@pytest.mark.parametrize("make", [
    lambda held: lambda x: np.sum(np.tanh(x * held[0]) * held[0]),
    lambda held: lambda x: np.sin(x * held[0]) + held[1],
    lambda held: lambda x: (np.sum(x) * held[0], x * held[1]),
], ids=["a number", "and an array", "a tuple"])  # fmt: skip
def test_captures_that_change_are_no_reason_to_compile_in_the_next_process(make, compiled):
    """To the program that is kept what was captured is given, as the arguments are."""
    numbers = [1.5, 1.87, 2.24, 2.61, 2.98, 3.35, 3.72]
    results = []
    for process in range(2):
        forget()
        held = [0.0, OTHER]
        step = fg.jit(make(held))
        for k, number in enumerate(numbers):
            held[:] = [number, OTHER * k]
            found = step(X)
            assert_same(found, step(X) if k == 2 else found)  # one that stays for a call
            results.append((process, found))
            np.testing.assert_allclose(
                fg.tree.leaves(found)[0], fg.tree.leaves(make(held)(X))[0], rtol=1e-13
            )
        assert len(compiled) == 2
    for (_, one), (_, other) in zip(results[: len(numbers)], results[len(numbers) :], strict=True):
        assert_same(one, other)


def test_a_capture_of_another_kind_is_compiled(compiled):
    for _ in range(2):
        forget()
        held = [1.5]
        step = fg.jit(lambda x, held=held: np.sum(np.tanh(x * held[0])))
        for number in (1.5, 1.87, np.float32(2.5), 1 + 2j, 2.61):
            held[0] = number
            np.testing.assert_allclose(step(X), np.sum(np.tanh(X * number)), rtol=1e-13)
