"""Memory is used again when nobody refers to it any more, and not before."""

import gc
import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import memory
from funcgrad.ops import product

SHAPE, DOUBLE = (1 << 15,), np.dtype(np.float64)


@pytest.fixture(autouse=True)
def fresh():
    memory.clear()
    yield
    memory.clear()


def address(x):
    return x.__array_interface__["data"][0]


def made():
    return memory.empty(SHAPE, DOUBLE)


def test_memory_is_used_again():
    first = address(made())
    assert address(made()) == first
    assert memory.held() == 1 << 18


HOLDERS = {
    "name": lambda x: x,
    "view": lambda x: x[3:5],
    "view of a view": lambda x: x.reshape(2, -1).T[1:],
    "memoryview": lambda x: memoryview(x),
    "frombuffer": lambda x: np.frombuffer(x, np.uint8),
    "list": lambda x: [{"a": x}],
    "closure": lambda x: lambda: x,
    "ctypes": lambda x: x.ctypes,
    "iterator": lambda x: iter(x),
    "flat": lambda x: x.flat,
    "interface": lambda x: np.asarray(type("I", (), {"__array__": lambda s, *a, **k: x})()),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_somebody_holds_is_not_taken(holder):
    x = made()
    x[:] = 1.0
    place = address(x)
    held = HOLDERS[holder](x)
    del x
    gc.collect()
    for _ in range(3):
        assert address(made()) != place
    del held
    gc.collect()
    found = [made() for _ in range(4)]
    assert place in map(address, found)


def test_an_array_whose_form_was_changed_is_let_go():
    x = made()
    place = address(x)
    x.flags.writeable = False
    del x
    again = made()
    assert again.flags.writeable
    assert memory.held() == 1 << 18 or address(again) != place


def test_small_and_huge_arrays_come_from_numpy(monkeypatch):
    memory.empty((4,), DOUBLE)
    monkeypatch.setattr(fg.config, "reused_memory", 1 << 19)
    memory.empty((1 << 20,), DOUBLE)
    assert memory.held() == 0
    for rows in range(1, 9):
        memory.empty((rows, 1 << 15), DOUBLE)
    assert memory.held() <= 1 << 19


def test_threads_get_different_memory():
    found, lock = [], threading.Lock()

    def work():
        for _ in range(200):
            x = made()
            x[:] = 1.0
            with lock:
                found.append(x) if len(found) < 50 else None

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len({address(x) for x in found}) == len(found)


def test_gradients_that_a_user_keeps_stay():
    x = np.linspace(0.1, 1, 1 << 16)
    step = fg.value_and_grad(lambda x: np.sum(np.exp(-x * x) * np.tanh(x)))
    kept = [step(x + k) for k in range(5)]
    copies = [(v, g.copy()) for v, g in kept]
    for k in range(20):
        step(x - k)
    for (v, g), (w, h) in zip(kept, copies, strict=True):
        assert v == w
        np.testing.assert_array_equal(g, h)


def test_values_that_a_user_keeps_stay():
    x = np.linspace(0.1, 1, 1 << 16)
    y, pull = fg.vjp(lambda x: np.tanh(x * x), x)
    before = y.copy()
    first = pull(np.ones_like(x))[0].copy()
    for _ in range(20):
        fg.vjp(lambda x: np.tanh(x * x), x + 1)[1](np.ones_like(x))
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(pull(np.ones_like(x))[0], first)


def test_a_cotangent_that_is_passed_in_is_not_changed():
    x = np.linspace(0.1, 1, 1 << 16)
    _, pull = fg.vjp(lambda x: x + x * x, x)
    g = np.ones_like(x)
    for _ in range(5):
        pull(g)
    np.testing.assert_array_equal(g, 1.0)


def test_arrays_that_were_let_go_of_together_are_all_found_again():
    many = [made() for _ in range(300)]
    places = set(map(address, many))
    del many
    again = [made() for _ in range(300)]
    assert set(map(address, again)) == places


def test_large_products_lie_in_memory_used_before():
    x = np.ones((200, 200))
    first = address(product.MATMUL.impl(x, x))
    assert address(product.MATMUL.impl(x, x)) == first
    np.testing.assert_array_equal(product.MATMUL.impl(x, x), np.matmul(x, x))


def gradient_of_rows(x):
    return fg.grad(lambda x: np.sum(np.sin(x.reshape(-1, 64))))(x)


def test_a_gradient_that_is_a_view_of_memory_of_its_own_is_not_copied_and_stays():
    x = np.linspace(0.1, 1, 1 << 16)
    first = gradient_of_rows(x)
    assert first.shape == x.shape and first.flags.writeable
    kept = first.copy()
    for _ in range(20):
        gradient_of_rows(x + 1)
    np.testing.assert_array_equal(first, kept)
    first[:] = 0
    np.testing.assert_array_equal(gradient_of_rows(x), kept)


@pytest.mark.parametrize("make", [np.empty, memory.empty])
def test_only_a_view_of_memory_that_nobody_else_knows_is_shown_once(make):
    whole = make((1 << 15,), DOUBLE)
    x = whole.reshape(-1, 64)
    assert not memory.is_shown_once(x)  # `whole` is known here
    del whole
    assert memory.is_shown_once(x)
    other = x[:1]
    assert not memory.is_shown_once(x)
    del other
    assert memory.is_shown_once(x)
    assert not memory.is_shown_once(x[1:])
    x.flags.writeable = False
    assert not memory.is_shown_once(x)


def test_views_of_one_memory_and_of_what_was_given_become_arrays_apart():
    x = np.linspace(0.1, 1, 1 << 16)
    g = np.ones((1 << 10, 64))
    _, pull = fg.vjp(lambda x: x.reshape(-1, 64), x)
    (c,) = pull(g)
    assert not np.shares_memory(c, g)
    _, pull = fg.vjp(lambda x, z: np.sin((x + z).reshape(-1, 64)), x, x + 1)
    a, b = pull(g)
    assert not np.shares_memory(a, b)
    assert a.flags.writeable and b.flags.writeable
