"""Operators of functions of one argument made operators of any: autograd's ``argnum``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.errors import located
from funcgrad.transforms.arguments import is_integer

__all__ = ["unary_to_nary"]

Function = Callable[..., Any]


def unary_to_nary(unary_operator: Function) -> Function:
    """`unary_operator(fun, x)` as ``operator(fun, argnum)(*args, **kwargs)``.

    Parameters
    ----------
    unary_operator : callable
        Gets a function of one argument, and that argument: of several, a tuple of them.

    Raises
    ------
    TypeError
        `argnum` is neither an integer nor a tuple or list of them.
    """

    @functools.wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Any = 0, *more: Any, **named: Any) -> Function:
        several = isinstance(argnum, (tuple, list))
        if not all(map(is_integer, argnum if several else (argnum,))):
            name = unary_operator.__name__
            raise TypeError(
                located(f"{name}: argnum is an integer or a tuple of them, not {argnum!r}")
            )
        places = tuple(argnum) if several else (argnum,)

        def nary(*args: Any, **kwargs: Any) -> Any:
            def unary(x: Any) -> Any:
                given = list(args)
                for k, part in zip(places, x if several else (x,), strict=True):
                    given[k] = part
                return fun(*given, **kwargs)

            chosen = tuple(args[k] for k in places)
            functools.update_wrapper(unary, fun, updated=())
            return unary_operator(unary, chosen if several else chosen[0], *more, **named)

        functools.update_wrapper(nary, fun, updated=())
        shown = getattr(fun, "__name__", "function")
        nary.__name__ = f"{unary_operator.__name__}_of_{shown}_wrt_argnum_{argnum}"
        return nary

    return nary_operator
