"""autograd's `check_grads` and `combo_check`, which are `funcgrad.testing.check_grads`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.compat.autograd.wrap_util import unary_to_nary
from funcgrad.testing import check_grads as checked

__all__ = ["check_grads", "combo_check"]

Function = Callable[..., Any]


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """``check_grads(f, argnum, modes, order)(*args)``: derivatives against differences.

    Raises
    ------
    AssertionError
        They disagree; the message says in which mode and order, and by how much.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd.test_util import check_grads
    >>> check_grads(lambda x, y: np.sin(x) * y, (0, 1))(0.3, 2.0)
    """
    checked(f, (x,), order, tuple(modes))


def combo_check(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """`check_grads` with each combination of the arguments that are listed."""
    check = check_grads(fun, *args, **kwargs)

    def check_all(*choices: Sequence[Any], **named: Sequence[Any]) -> None:
        for given in itertools.product(*choices):
            for values in itertools.product(*named.values()):
                check(*given, **dict(zip(named, values, strict=True)))

    return check_all
