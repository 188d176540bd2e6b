"""Functions of the user's that SciPy calls, watched for traced values, which it may not take.

SciPy turns what such a function returns into numbers, or compares them and keeps the points, whose
derivative would be 0 without a word. So where nothing that SciPy is given is traced, but what it
calls may close over something that is, a traced result is a named error: at once where `reasons`
says that the function never takes one, else where SciPy fails with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from funcgrad.errors import (
    FuncgradError,
    TracerConversionError,
    UnsupportedCallError,
    failed_in_scipy,
    located,
)
from funcgrad.numpy.function_calls import TRACED, state
from funcgrad.numpy.ufuncs import LIBRARIES
from funcgrad.scipy.reasons import REASONS, is_refused

__all__ = ["refusal", "watched"]

_OF_THE_USER = (FunctionType, MethodType, functools.partial)


def refusal(name: str, why: str) -> UnsupportedCallError:
    """The error for a function of SciPy's that has no derivative here, and what to take instead."""
    reason = f" ({REASONS[name]})" if name in REASONS else ""
    ours = max((k for k in LIBRARIES if name.startswith(f"{k}.")), key=len)
    return UnsupportedCallError(
        located(
            f"{name} {why}, and {LIBRARIES[ours]} has no derivative of it"
            f"{reason}; write it with functions that have one, state a rule with "
            "funcgrad.custom_vjp, or apply it to funcgrad.value(x) if it is a constant"
        )
    )


def _holds(x: Any) -> bool:
    return any(map(_holds, x.values())) if isinstance(x, dict) else state(x) == TRACED


def _told(seen: list[str]) -> str:
    return f"calls {seen[-1]}, which returns traced values"


def _ask(f: Any, name: str, strict: bool, seen: list[str], /, *args: Any, **kwargs: Any) -> Any:
    """What `f` gives, after noting whether it is traced."""
    made = f(*args, **kwargs)
    if _holds(made):
        seen.append(getattr(f, "__name__", "a function"))
        if strict:
            raise refusal(name, _told(seen))
    return made


def watched(own: Callable[..., Any], name: str, strict: bool = False) -> Callable[..., Any]:
    """`own`, a function `name` of SciPy's, with an error of ours where it meets traced values.

    With `strict` what it calls may not return any.
    """
    strict = strict or is_refused(name)
    seen: list[str] = []

    def watch(x: Any) -> Any:
        if type(x) in (list, tuple):
            return type(x)(map(watch, x)) if any(map(callable, x)) else x
        if type(x) is dict:
            return {key: watch(value) for key, value in x.items()}
        if not isinstance(x, _OF_THE_USER) and not hasattr(type(x), "is_transformed"):
            return x

        asked = functools.partial(_ask, x, name, strict, seen)  # pickled where `x` is, for workers
        return functools.update_wrapper(asked, x)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return own(*map(watch, args), **{k: watch(v) for k, v in kwargs.items()})
        except Exception as error:
            ours = isinstance(error, FuncgradError) and not isinstance(error, TracerConversionError)
            if seen and not ours and failed_in_scipy(error):
                raise refusal(name, _told(seen)) from error
            raise

    return call
