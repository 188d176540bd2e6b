"""Errors of arguments: the overloads of PyTorch's functions, in its words."""

import threading

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch.operations import signature

from .signature_cases import REFUSED, TAKEN

torch = pytest.importorskip("torch")


def refusal(module, call):
    names = {"torch": module, "x": module.ones(3), "p": module.nn.Parameter(module.ones(3))}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    return str(caught.value)


@pytest.mark.parametrize("call", REFUSED.strip().splitlines())
def test_a_refused_call_is_refused_in_the_words_of_pytorch(call):
    assert refusal(ours, call) == refusal(torch, call)


@pytest.mark.filterwarnings("ignore:This overload of add is deprecated")
@pytest.mark.parametrize("call", TAKEN.strip().splitlines())
def test_a_call_by_any_of_the_signatures_is_taken(call):
    found = []
    for module in (torch, ours):
        x, y = module.ones(3), module.tensor([0.5, -1.25, 3.0])
        found.append(eval(call, {"torch": module, "np": np, "x": x, "y": y}).tolist())
    assert found[0] == found[1]


def test_an_overload_that_is_no_longer_listed_warns_in_the_words_of_pytorch():
    said = []
    torch.set_warn_always(True)
    for module in (torch, ours):
        x = module.ones(3)
        with pytest.warns(UserWarning, match="This overload of sub_ is deprecated") as caught:
            x.sub_(2, x)
        said.append(str(caught[0].message).partition(" (Triggered")[0])
    torch.set_warn_always(False)
    assert said[0] == said[1]


def test_a_tensor_that_is_given_for_a_number_is_read_on_every_call():
    x, y = ours.ones(3), ours.ones(3)
    for k in range(100):
        assert ours.add(x, y, alpha=ours.tensor(float(k))).tolist() == [1.0 + k] * 3


def test_two_threads_may_make_the_first_call(monkeypatch):
    arguments = signature.Arguments("f", "input, Number other=1, *, str mode='a', out", "function")
    canonical, seen = signature._canonical, []

    def meanwhile(parameter):
        """The other thread calls while this one reads the signatures."""
        if not seen:
            seen.append(None)
            other = threading.Thread(target=lambda: seen.append(arguments((x, 2), {})))
            other.start()
            other.join()
        return canonical(parameter)

    x = ours.ones(3)
    monkeypatch.setattr(signature, "_canonical", meanwhile)
    expected = (x, 2, "a", None)
    assert arguments((x, 2), {}) == expected
    assert seen[1:] == [expected]
    assert arguments((x, 2), {}) == expected


def test_a_call_that_a_method_takes_often_is_still_refused_of_the_function():
    x = ours.ones(3)
    for _ in range(80):
        x.reshape(-1)
    with pytest.raises(TypeError, match="must be tuple of ints, not int"):
        ours.reshape(x, -1)
