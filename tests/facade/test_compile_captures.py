"""The facade's `compile` sees every change of what a step reaches, or runs it eagerly."""

import warnings

import pytest
from captured_programs import SEEN, UNSEEN

import funcgrad.torch as torch


def check(make):
    f, change = make()
    run = torch.compile(f)
    x = torch.tensor([2.0, 3.0])
    for _ in range(3):
        assert torch.equal(run(x), f(x))
    change()
    for _ in range(3):
        assert torch.equal(run(x), f(x))
    return run


@pytest.mark.parametrize("make", SEEN, ids=lambda f: f.__name__)
def test_a_change_is_seen(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(make)


@pytest.mark.parametrize("make", [f for f in UNSEEN if f.__name__ != "iterator"])
def test_what_cannot_be_followed_runs_eagerly(make):
    with pytest.warns(UserWarning, match=r"calls (eval|globals)\(\)"):
        run = check(make)
    assert run.calls == 0
