"""`torch.testing.assert_close`: what it takes, and the text of each difference, as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same

NAN, INF = float("nan"), float("inf")
PAIRS = {
    "numbers": lambda t: [(1, 1), (1.0, 1.0 + 1e-9), (1.0, 2.0), (1, 2), (0.0, 1e-8), (1e-3, 0.0),
                          (1, 1.0), (1j, 1j + 1), (NAN, NAN), (INF, INF), (INF, 1.0),
                          (np.float32(1), 1.0), (np.int64(3), 3), (2.0, 0.0)],
    "booleans": lambda t: [(True, True), (True, False), (np.bool_(True), True)],
    "none": lambda t: [(None, None), (None, 1), (t.ones(1), None)],
    "tensors": lambda t: [
        (t.tensor([1.0, 2.0, 4.0]), t.tensor([1.0, 2.0, 3.0])),
        (t.tensor([[1.0, 2.5], [NAN, 4.0]]), t.tensor([[1.0, 2.0], [3.0, 4.0]])),
        (t.tensor([1, 2, 3]), t.tensor([1, 5, 7])),
        (t.tensor([True, False]), t.tensor([True, True])),
        (t.tensor(1.0), t.tensor(2.0)),
        (t.tensor(1), t.tensor(2)),
        (t.tensor([1.0]), t.tensor([0.0])),
        (t.tensor([INF, 1.0]), t.tensor([INF, 2.0])),
        (t.ones(2), t.ones(3)),
        (t.ones(2), t.ones(2, dtype=t.float64)),
        (t.ones(2, 2), t.ones(2, 2).t()),
        (t.tensor([1 + 1j]), t.tensor([1 - 1j])),
        (t.ones(2, requires_grad=True), t.ones(2)),
        (t.tensor([1.0], dtype=t.float64), t.tensor([1.0 + 1e-9], dtype=t.float64)),
        (t.tensor([1.0], dtype=t.float16), t.tensor([1.01], dtype=t.float16)),
        (t.empty(0), t.empty(0)),
    ],
    "arrays": lambda t: [(np.ones(2), np.ones(2)), (np.ones(2), np.zeros(2)),
                         (np.ones(2), t.ones(2)), (np.array(["a"]), np.array(["a"]))],
    "containers": lambda t: [
        ([1, 2], [1, 3]), ((1, [2, 3.0]), (1, [2, 4.0])), ([1], [1, 2]), ({"a": 1}, {"b": 1}),
        ({"a": {"b": [t.ones(1)]}}, {"a": {"b": [t.zeros(1)]}}), ({1: 1, 2: 2}, {2: 3, 1: 1}),
        ("ab", "ab"), ([1], 1), (object(), object()), ([1], ["a"]), ([], []),
    ],
}  # fmt: skip
OPTIONS = [
    {}, {"rtol": 0, "atol": 0}, {"rtol": 0.5, "atol": 1.0}, {"equal_nan": True},
    {"check_dtype": False}, {"check_stride": True}, {"rtol": 1.0}, {"msg": "own"},
    {"msg": lambda text: f"before\n{text}"}, {"allow_subclasses": False},
]  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_every_text_is_that_of_pytorch(kind):
    def program(torch, say):
        for k, options in enumerate(OPTIONS):
            for i, (actual, expected) in enumerate(PAIRS[kind](torch)):
                try:
                    torch.testing.assert_close(actual, expected, **options)
                except Exception as error:
                    say(
                        k,
                        i,
                        type(error).__name__,
                        str(error).replace("funcgrad.torch._tensor.", "torch."),
                    )
                else:
                    say(k, i, "close")

    same(program)


def test_a_boolean_is_no_number():
    with pytest.raises(AssertionError, match="dtype"):
        ours.testing.assert_close(True, 1)
