"""C function pointers of compiled functions, with the signatures that C and SciPy ask for.

A small Python function reads what the pointers point to, calls the function as SciPy would call it
in Python, and stores the result; Numba makes a C function of it. An exception cannot pass through
C: a result is NaN then, and a status is 0, by which SciPy raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba as _numba
import numpy as np
from numba import types as _types
from numba.extending import intrinsic

__all__ = ["c_function"]

numba: Any = _numba  # half annotated
types: Any = _types
NUMBERS = {
    "double": types.float64, "float": types.float32, "int": types.intc, "long": types.long_,
    "int32_t": types.int32, "int64_t": types.int64, "npy_intp": types.intp, "intptr_t": types.intp,
    "ptrdiff_t": types.intp, "size_t": types.uintp, "bool": types.boolean,
}  # fmt: skip


class _Form(NamedTuple):
    """A kind of signature: the types of its parameters, of its result, and how it is filled in.

    In the lines ``{call}`` stands for the beginning of the call of the function.
    """

    parameters: str
    result: str
    lines: str


# N: a number, P: a pointer to numbers, V: void*. `a`, `b`, … are the parameters.
VECTOR = _Form("NP|NPV", "double", "return {call}carray(b, (a,)){data})")
FORMS = (
    _Form("NP|NPV", "double", "return {call}{numbers}{data})"),
    _Form("PNPV", "int", "c[0] = {call}carray(a, (b,)){data})\nreturn 1"),
    _Form(
        "PNPNV",
        "int",
        "y = {call}carray(a, (b,)){data})\nif y.size != d:\n    return 0\n"
        "for i in range(d):\n    c[i] = y[i]\nreturn 1",
    ),
    _Form(
        "PPNNV",
        "int",
        "y = {call}carray(a, (c,)){data})\nif len(y) != d:\n    return 0\n"
        "for i in range(d):\n    b[i] = y[i]\nreturn 1",
    ),
    _Form(
        "NPP|NPPV|NPPP",
        "void",
        "y = {call}a, carray(b, ({size},)){data})\nfor i in range({size}):\n    c[i] = y[i]",
    ),
)


VARIADIC = 4  # of the flags of code: *arguments


def c_function(
    function: Any, count: int, signature: str, vector: bool, size: int | None, data: int | None
) -> Any:
    """Numba's C function of a dispatcher that takes `count` arguments by position.

    Raises
    ------
    ValueError
        The signature is none of those that are known, or does not fit the function.
    """
    result, parameters = _parsed(signature)
    names = [chr(ord("a") + k) for k in range(len(parameters))]
    kinds = "".join(p[0] for p in parameters)
    form = _form(kinds, result, vector, signature)
    if form is not None and "{size}" in form.lines and size is None:
        raise ValueError(f"cfunc({signature!r}): size= has to say how many equations there are")
    last = names[-1] if names else ""
    more = f", carray(address_as_pointer({last}), ({data},))" if kinds.endswith("V") else ""
    if kinds == "NPPP":
        more = f", carray({last}, ({data},))"
    if data is None:
        more = ""
    if form is None:
        _check_count(function.py_func, len(names), signature)
        lines = f"return function({', '.join(names)})"
    else:
        read = ", ".join(f"b[{k}]" for k in range(count - bool(more)))
        lines = form.lines.format(call="function(", numbers=read, data=more, size=size)
    wrapper = _wrapper(names, lines, result, function)
    made = numba.cfunc(_c_type(result)(*(t for _, t in parameters)))
    return made(wrapper)


def _check_count(function: Any, given: int, signature: str) -> None:
    most = function.__code__.co_argcount
    least = most - len(function.__defaults__ or ())
    if given < least or (given > most and not function.__code__.co_flags & VARIADIC):
        raise ValueError(
            f"cfunc({signature!r}): the function {function.__name__} takes {most} arguments, the "
            f"signature has {given}"
        )


def _wrapper(names: Sequence[str], lines: str, result: Any, function: Any) -> Callable[..., Any]:
    body = "\n".join(f"        {line}" for line in lines.split("\n"))
    failed = {"void": "", "double": "nan", "float": "nan"}.get(result, "0")
    head = f"def wrapper({', '.join(names)}):\n    try:\n"
    text = f"{head}{body}\n    except Exception:\n        return {failed}"
    known = {
        "function": function,
        "carray": numba.carray,
        "nan": np.nan,
        "address_as_pointer": _as_doubles(),
    }
    exec(text, known)
    wrapper: Callable[..., Any] = known["wrapper"]
    return wrapper


def _as_doubles() -> Any:
    """What makes a pointer to doubles of ``void*``."""

    @intrinsic
    def as_doubles(typing_context: Any, pointer: Any) -> Any:
        target = types.CPointer(types.float64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(pointer), generate

    return as_doubles


def _parsed(signature: str) -> tuple[str, list[tuple[str, Any]]]:
    """The result, and for each parameter N, P or V and Numba's type."""
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", signature)
    if found is None or (found[1] != "void" and found[1] not in NUMBERS):
        raise ValueError(
            f"cfunc: {signature!r} is no signature such as 'double(double, double)': the type of "
            "the result, and in brackets those of the parameters"
        )
    inner = [p.strip() for p in found[2].split(",") if p.strip() and p.strip() != "void"]
    return found[1], [_parameter(p, signature) for p in inner]


def _parameter(text: str, signature: str) -> tuple[str, Any]:
    found = re.fullmatch(r"(?:const\s+)?(\w+)\s*(\*?)\s*\w*", text)
    if found is not None and found[1] == "void" and found[2]:
        return "V", types.voidptr
    if found is None or found[1] not in NUMBERS:
        raise ValueError(
            f"cfunc: the parameter {text!r} of {signature!r} has no type that is known: "
            f"{', '.join(NUMBERS)}, pointers to them, void*"
        )
    kind = NUMBERS[found[1]]
    return ("P", types.CPointer(kind)) if found[2] else ("N", kind)


def _c_type(name: str) -> Any:
    return types.void if name == "void" else NUMBERS[name]


def _form(kinds: str, result: str, vector: bool, signature: str) -> _Form | None:
    """What the signature is; None for numbers alone."""
    if set(kinds) <= {"N"} and result != "void":
        return None
    for form in (VECTOR, *FORMS) if vector else FORMS:
        if kinds in form.parameters.split("|") and (result == form.result):
            return form
    raise ValueError(
        f"cfunc: {signature!r} is none of the signatures that are known; write the function "
        "yourself: numba.cfunc takes one that calls jit(f).njit"
    )
