"""`named_scope` and `named_call`: errors and equations tell the name; results do not change."""

import threading

import numpy as np
import pytest

import funcgrad as fg


def named(x):
    with fg.named_scope("net"), fg.named_scope("layer"):
        return np.sin(x) * 2.0


def test_equations_have_the_name():
    assert {e.source.function for e in fg.make_graph(named)(1.0).equations} == {"net/layer/named"}


def test_the_name_ends_with_the_scope():
    graph = fg.make_graph(lambda x: np.cos(named(x)))(1.0)
    assert graph.equations[-1].source.function == "<lambda>"


def test_an_error_tells_it():
    def f(x):
        with fg.named_scope("loss"):
            return np.sum(x) if x[0] > 0 else x

    with pytest.raises(fg.errors.AbstractValueError, match="in loss/f"):
        fg.jit(f)(np.ones(2))


def test_the_name_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), fg.named_scope("broken"):
        raise ZeroDivisionError
    assert fg.make_graph(np.sin)(1.0).equations[0].source.function == (
        "test_the_name_ends_with_an_error"
    )


def test_decorators_nest_and_repeat():
    @fg.named_scope("step")
    def step(x, deep):
        return step(np.sin(x), deep - 1) if deep else np.cos(x)

    found = [e.source.function for e in fg.make_graph(lambda x: step(x, 1))(1.0).equations]
    assert found == ["step/step", "step/step/step"]


def test_named_call_takes_the_name_of_the_function():
    called = fg.named_call(named)
    assert called.__name__ == "named"
    source = fg.make_graph(called)(1.0).equations[0].source.function
    assert source == "named/net/layer/named"
    assert fg.grad(fg.named_call(named, name="g"))(0.5) == fg.grad(named)(0.5)


def test_threads_have_their_own():
    found = []
    with fg.named_scope("here"):
        worker = threading.Thread(
            target=lambda: found.append(fg.make_graph(np.sin)(1.0).equations[0].source.function)
        )
        worker.start()
        worker.join()
    assert not found[0].startswith("here")


def test_a_name_is_a_text():
    with pytest.raises(TypeError, match="a name is a text, not 3"):
        fg.named_scope(3)
