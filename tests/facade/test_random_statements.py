"""Random programs of views, writes, hooks and passes: PyTorch's state after every statement."""

import pytest

from .both import ours, theirs
from .statements import run


@pytest.mark.parametrize("seed", range(150))
def test_as_pytorch(seed):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    statements, expected = run(theirs, seed=seed)
    _, got = run(ours, statements)
    k = next((k for k, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), len(got))
    program = "\n".join(text for _, text in statements)
    assert got == expected, f"{program}\nexpected: {expected[k : k + 1]}\ngot: {got[k : k + 1]}"
