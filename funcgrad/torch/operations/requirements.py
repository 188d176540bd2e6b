"""What operations require of their arguments, as text: a condition and PyTorch's error.

    upscale_factor > 0: pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}
    p in (1, 2): ValueError: only p == 1 and p == 2 supported

A requirement is what has to hold, a colon, and what is said otherwise, a RuntimeError where no
other class is named; lines that are indented further continue it. Conditions and texts are
expressions over the arguments by name and the words of `WORDS`. They are checked in their order,
before anything is computed: written out as one function when they are first needed, so that they
cost what they cost as statements.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from funcgrad.core.boundary import hide_frames
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import axis_of, shape_of
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of

__all__ = ["Requirement", "required", "requirements", "requires"]

F = TypeVar("F", bound=Callable[..., Any])


class Requirement(NamedTuple):
    """One requirement: what has to hold, the error's class, and its text."""

    condition: str
    error: str
    text: str


def _content(x: Any) -> Any:
    return x._t if isinstance(x, Tensor) else x


def rank(x: Any) -> int:
    """How many dimensions a tensor or content has."""
    return len(shape_of(x))


def tensor(x: Any, function: str, argument: str = "input", position: int = 1) -> Any:
    """A tensor, or PyTorch's error where an argument is none."""
    return content(x, function, argument, position)


def kind(x: Any) -> str:
    """NumPy's letter of a dtype: one of ``biufc``."""
    return dtype_of(_content(x)).kind


def scalar_name(x: Any) -> str:
    """The dtype as most of PyTorch's messages have it: ``Float``."""
    return dtypes.scalar_name(kind_of(_content(x)))


def half(x: Any) -> bool:
    """Whether a dtype is one of half precision."""
    return is_half(dtype_of(_content(x)))


def c_name(x: Any) -> str:
    """The dtype as PyTorch's C++ has it: ``float``."""
    return dtypes.c_name(kind_of(_content(x)))


def type_name(x: Any) -> str:
    """The type with its dtype: ``torch.FloatTensor``."""
    return dtypes.type_name(kind_of(_content(x)))


def crossed(numbers: Any) -> str:
    """Extents as ``(2 x 3)``."""
    return f"({' x '.join(map(str, numbers))})"


WORDS: dict[str, Any] = {
    "axis": lambda dim, x: axis_of(dim, rank(x)), "c_name": c_name, "crossed": crossed,
    "half": half, "kind": kind, "math": math, "rank": rank, "scalar_name": scalar_name,
    "shape": shape_of, "sizes": lambda x: [*shape_of(x)], "tensor": tensor,
    "type_name": type_name, "Tensor": Tensor,
}  # fmt: skip
PARTS = re.compile(r"(.*?): (?:(\w*Error): )?(.*)", re.DOTALL)


@functools.cache
def read(written: str) -> tuple[Requirement, ...]:
    """The requirements of a text."""
    found: list[str] = []
    for line in textwrap.dedent(written).strip("\n").splitlines():
        if line[:1].isspace():
            found[-1] += f" {line.strip()}"
        elif line:
            found.append(line)
    parts = [PARTS.fullmatch(line) for line in found]
    return tuple(Requirement(p[1], p[2] or "RuntimeError", p[3]) for p in parts if p is not None)


def _statements(written: str) -> str:
    lines = []
    for condition, error, text in read(written):
        quotes = "'''" if text[-1] == '"' else '"""'
        lines.append(f"    if not ({condition}):\n        raise {error}(f{quotes}{text}{quotes})\n")
    return "".join(lines)


def _printed(name: str, text: str, **scope: Any) -> Callable[..., Any]:
    made: dict[str, Any] = {**WORDS, **scope, "__name__": __name__}
    exec(compile(text, f"<funcgrad.torch {name}>", "exec"), made)
    found: Callable[..., Any] = made["checked"]
    return found


def requirements(names: str, written: str) -> Callable[..., None]:
    """A function of arguments with these names that checks what is required of them."""
    checked: Callable[..., Any] | None = None

    def check(*args: Any) -> None:
        nonlocal checked
        if checked is None:
            text = f"def checked({names}):\n{_statements(written)}"
            checked = _printed("requirements", text)
        checked(*args)

    check.__doc__ = written
    setattr(check, "requires", written)  # noqa: B010
    setattr(check, "names", names)  # noqa: B010
    return check


def requires(*written: str) -> Callable[[F], F]:
    """Put the requirements of a function, in one or several texts, in front of it."""
    text = "\n".join(map(textwrap.dedent, written))
    return lambda function: required(function, text)


def required(function: F, written: str) -> F:
    """`function`, which checks first what is required of its arguments."""
    checked: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked
        try:
            if checked is None:
                checked = _in_front(function, written)
            return checked(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    setattr(call, "requires", written)  # noqa: B010
    return call  # type: ignore[return-value]


def _in_front(function: Callable[..., Any], written: str) -> Callable[..., Any]:
    """The requirements and the call of the function, as one with its parameters."""
    declared, handed, scope = [], [], {"function": function}
    keywords = False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keywords:
            keywords = True
            declared.append("*")
        word = p.name
        if p.default is not p.empty:
            scope[f"default_{p.name}"] = p.default
            word += f"=default_{p.name}"
        declared.append(word)
        handed.append(f"{p.name}={p.name}" if keywords else p.name)
    name = function.__name__
    text = f"def checked({', '.join(declared)}):\n{_statements(written)}"
    text += f"    return function({', '.join(handed)})\n"
    made = _printed(name, text, **scope)
    made.__name__ = made.__qualname__ = name  # which Python's own errors of arguments have
    return made
