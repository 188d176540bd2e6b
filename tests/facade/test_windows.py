"""Windows of signals, bounded norms, and logarithms of sums of complex exponentials."""

import math

import numpy as np

from .cases import Case, cases, check, check_changes, seeded
from .expressions import expressions, same_answer

WINDOWS = "\n".join(
    f"t.{name}_window({given})"
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
    for given in (
        "0", "1", "2", "5", "8", "5, False", "-1", "6, periodic=False", "5.0", "'a'",
        "5, dtype=t.float16", "5, requires_grad=True", "5, dtype=t.complex64", "5, device='cpu'",
    )
)  # fmt: skip
MORE = """
t.hamming_window(6, True, 0.5, 0.4)
t.hamming_window(6, periodic=False, alpha=0.5, beta=0.3)
t.kaiser_window(6, True, 5.0)
t.kaiser_window(6, periodic=False, beta=2.0)
t.renorm(t.ones(3), 2, 0, 1.0)
t.renorm(t.ones(3, 2), 0, 0, 1.0)
t.renorm(t.ones(3, 2), 2, 5, 1.0)
t.renorm(t.ones(3, 2), 2, 0, -1.0)
t.ones(3, 2, dtype=t.int64).renorm(2, 0, 1.0)
t.ones(3, 2).renorm_(2, 0, 1.0)
t.logaddexp2(t.tensor([1j]), t.tensor([1j]))
"""


@expressions(WINDOWS, MORE)
def test_expression(code):
    same_answer(code)


def bounded(p, dim, limit):
    return lambda torch, x: torch.renorm(x, p, dim, limit)


def log_sum(torch, x, y):
    return torch.logaddexp(x, y)


X, Z = seeded((3, 4), "d"), seeded((3, 4), "z")
FAR = np.array([1 + 2j, -800 + 0.5j, 0, 7j, 3 - 1j, math.inf])
OTHER = np.array([0.5 - 1j, 2 + 3j, 1j, 60 + 1j, 3 + 2j, 1j])
CASES = [
    *(Case(f"renorm-{p}-{d}", bounded(p, d, 1.5), X) for p in (1, 2, 3.5) for d in (0, 1, -1)),
    Case("renorm-inf", bounded(math.inf, 0, 1.0), X),
    Case("renorm-within", bounded(2, 0, 100.0), X),
    Case("renorm-zero", bounded(2, 0, 0.0), X),
    Case("renorm-3d", bounded(2, 1, 1.0), seeded((2, 3, 4), "d")),
    Case("renorm-f", bounded(2, 0, 1.0), seeded((3, 4))),
    Case("renorm-z", bounded(2, 1, 1.0), Z),
    Case("logaddexp-z", log_sum, Z, seeded((3, 4), "z", seed=1), loose=4),
    Case("logaddexp-c", log_sum, seeded((3,), "c"), seeded((2, 3), "c"), loose=4),
    Case("logaddexp-far", log_sum, FAR, OTHER, first=False),
]


@cases(CASES)
def test_case(case):
    check(case)


@cases(CASES)
def test_changes(case):
    check_changes(case)
