"""Errors while a compiled step runs come out as themselves, and change nothing."""

import warnings

import pytest

import funcgrad.torch as torch
from funcgrad.torch.compiling.program import Program


def inverted(x):
    y = torch.rand(2)
    return torch.linalg.inv(x).sum() + y.sum()


@pytest.mark.parametrize(
    ("f", "good", "bad", "error", "operation"),
    [
        (inverted, (torch.eye(2),), (torch.zeros(2, 2),), torch.linalg.LinAlgError, "inv"),
        (
            lambda x, i: x[i],
            (torch.ones(3), torch.tensor([0, 1])),
            (torch.ones(3), torch.tensor([0, 9])),
            IndexError,
            "gather",
        ),
    ],
)
def test_the_eager_error_comes_and_the_reason_names_the_operation(f, good, bad, error, operation):
    step = torch.compile(f)
    step(*good)
    reason = rf"its program raised .* in {operation} .*\n.*{__file__}"
    with pytest.warns(UserWarning, match=reason), pytest.raises(error) as caught:
        step(*bad)
    assert "program" not in str(caught.value)
    assert "1 calls ran eagerly: its program raised" in step.report()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_no_second_run_can_mend_comes_out_at_once(error, monkeypatch):
    step = torch.compile(inverted)
    torch.manual_seed(0)
    expected = [step(torch.eye(2)), step(torch.eye(2))]
    torch.manual_seed(0)
    assert step(torch.eye(2)) == expected[0]

    def interrupted(*args):
        raise error("mine")

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(Program, "_outputs", interrupted)
        with pytest.raises(error, match="mine"):
            step(torch.eye(2))
    assert step(torch.eye(2)) == expected[1]  # the same random numbers
