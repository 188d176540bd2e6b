"""Arguments against PyTorch's signatures: which overload a call means, and PyTorch's errors.

A signature is written as in PyTorch's own messages, but shorter: ``"input, other, *, Number
alpha=1, out"``. What has no type is a Tensor, and `out` may be absent. Overloads are separated by
``|``; one that PyTorch no longer lists starts with ``~``. A method has the same signatures without
`input` (where there is none: the first tensor) and `out`.

It is what PyTorch's parser of Python arguments does, with its words. A call by arguments of the
same types comes again, so that what was decided is kept by the types.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.argument_kinds import (
    KINDS,
    PYTHON_DTYPES,
    SCALARS,
    SEQUENCES,
    WHOLE,
    Kind,
    are_indices,
    is_index,
)
from funcgrad.torch.operations.refused_calls import refuse_call

__all__ = ["Arguments", "Form", "names_of", "place_of_input"]

Form = Literal["function", "method", "method in place", "function in place"]
METHODS = ("method", "method in place")
OWN = ("input", "self")  # the tensor that a method belongs to; else it is the first


class Parameter(NamedTuple):
    """One parameter of a signature."""

    name: str
    kind: Kind
    default: Any
    optional: bool
    nullable: bool
    keyword: bool

    def text(self) -> str:
        """As PyTorch's messages write it."""
        value = f'"{self.default}"' if isinstance(self.default, str) else repr(self.default)
        said = f" = {value}" if self.optional else ""
        return f"{self.kind.shown} {self.name}{said}"


class _Braced(tuple[int, ...]):
    """A default that PyTorch's messages write as C++ does."""

    def __repr__(self) -> str:
        return f"{{{','.join(map(str, self))}}}"


class _Named(int):
    """A number that PyTorch's messages write as a name; what its parser reads of that is 0."""

    def __repr__(self) -> str:
        return "at::Reduction::Mean"


CONSTANTS: Mapping[str, Any] = {
    "None": None, "True": True, "False": False, "()": (), "LAST_TWO": _Braced((-2, -1)),
    "at::Reduction::Mean": _Named(0),
}  # fmt: skip
# names that NumPy has for the same thing
NUMPY_NAMES: Mapping[str, tuple[str, ...]] = {
    "dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",),
}  # fmt: skip


def _constant(text: str) -> Any:
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] == "(":  # written without commas, which separate parameters
        return tuple(map(int, text[1:-1].split()))
    if text[0] in "'\"":
        return text[1:-1]
    return float(text) if any(c in text for c in ".e") else int(text)


def _parameter(text: str, keyword: bool) -> Parameter:
    declared, _, default = text.partition("=")
    kind, _, name = declared.strip().rpartition(" ")
    optional = bool(default) or name == "out"
    value = _constant(default) if default else None
    nullable = kind.endswith("?") or (optional and value is None)
    return Parameter(name, KINDS[kind.rstrip("?") or "Tensor"], value, optional, nullable, keyword)


# ------------------------------------------------------------------------------------ signatures


class Signature:
    """One overload."""

    __slots__ = ("hidden", "parameters", "positional", "required")

    def __init__(self, text: str, form: Form) -> None:
        self.hidden = text.startswith("~")
        words = [w.strip() for w in text.removeprefix("~").split(",")]
        star = words.index("*") if "*" in words else len(words)
        found = [_parameter(w, k > star) for k, w in enumerate(words) if k != star and w]
        if form != "function":
            found = [p for p in found if p.name != "out"]
        if form in METHODS:
            own = next((p for p in found if p.name in OWN), found[0])
            found = [p for p in found if p is not own]
        self.parameters = found
        self.positional = sum(not p.keyword for p in found)
        self.required = sum(not p.optional for p in found)

    def text(self) -> str:
        """As PyTorch's messages write it."""
        words = [p.text() for p in self.parameters]
        if self.positional < len(words):
            words.insert(self.positional, "*")
        return f"({', '.join(words)})"

    def varargs(self) -> bool:
        """Whether whole numbers may be given one by one, as in ``permute(1, 2, 3)``."""
        return self.positional == 1 and self.parameters[0].kind is KINDS["ints"]

    def matched(self, args: Any, kwargs: Any, asked: list[Any]) -> list[Any] | Mismatch:
        """Where each parameter's value is: a position, a name, or None for the default.

        What the value of an argument has decided, not its class alone, is noted in `asked`, with
        what it is taken for.
        """
        if len(args) > self.positional and not (self.varargs() and is_index(args[0])):
            return Mismatch("surplus", 0)
        places: list[Any] = []
        left, at = len(kwargs), 0
        for k, p in enumerate(self.parameters):
            place: Any = None
            if at < len(args):
                if p.keyword:
                    return Mismatch("surplus", k)
                place = at
            else:
                names = (p.name, *NUMPY_NAMES.get(p.name, ()))
                place = next((n for n in names if n in kwargs), None)
            if place is None:
                if not p.optional:
                    return Mismatch("missing", k)
                places.append(None)
                continue
            by_name = type(place) is str
            x = kwargs[place] if by_name else args[place]
            if not (x is None and p.nullable) and not _fits(p.kind, x, asked):
                if not (self.varargs() and not by_name and not at and are_indices(args)):
                    return Mismatch("type", k, place)
                asked.append((p.kind, args))
                places.append(slice(None))
                at = len(args)
                continue
            if by_name:
                left -= 1
            else:
                at += 1
            places.append(place)
        return Mismatch("name", 0) if left else places


def names_of(written: str) -> list[str]:
    """The names of the arguments of an operation, in the order in which it is given them."""
    words = [w.strip().partition("=")[0].split() for w in re.split(r"[,|]", written)]
    names = dict.fromkeys(w[-1].removeprefix("~") for w in words if w != ["*"])
    return [n for n in dict.fromkeys("input" if n == "self" else n for n in names) if n != "out"]


def place_of_input(written: str) -> int:
    """Where the tensor that a method belongs to stands among the arguments of the function."""
    names = names_of(written)
    return names.index("input") if "input" in names else 0


class Mismatch(NamedTuple):
    """Why a call does not have a signature."""

    why: str
    parameter: int
    place: Any = None


def _fits(kind: Kind, x: Any, asked: list[Any]) -> bool:
    found = kind.takes(type(x))
    if found is None:
        asked.append((kind, x))
        return kind.holds(x)
    return found


# ------------------------------------------------------------------------------------- functions


class Arguments:
    """The signatures of one function or method: takes the arguments of calls apart.

    A call gives the values of `order`, the names of the parameters of all overloads, with the
    defaults of those that are absent. The signatures are read when the first call comes.
    """

    __slots__ = ("form", "name", "order", "plans", "positional", "signatures", "warned", "written")

    def __init__(self, name: str, written: str, form: Form) -> None:
        self.name, self.written, self.form = name, written, form
        # of calls by position: the types -> the values of what follows, without `out`
        self.positional: dict[tuple[type, ...], tuple[Any, ...]] = {}
        self.plans: dict[Any, Any] = {}
        self.signatures: list[Signature] = []
        self.order: list[str] = []
        self.warned: set[Any] = set()  # calls of deprecated overloads

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all arguments, `out` last (whether there is one or not)."""
        if not kwargs and (rest := self.positional.get((*map(type, args),))) is not None:
            return (*args, *rest, None)
        key = (*map(_types_in, args), *kwargs, *map(_types_in, kwargs.values()))
        plan = self.plans.get(key)
        return self._decided(key, args, kwargs) if plan is None else _taken(plan, args, kwargs)

    def _read(self) -> None:
        texts = [t.strip() for t in self.written.split("|")]
        if self.form != "function":  # a number has no methods
            texts = [t for t in texts if not t.startswith("Number ")]
        signatures = [Signature(t, self.form) for t in texts]
        names = dict.fromkeys(_canonical(p) for s in signatures for p in s.parameters)
        names.pop("out", None)
        self.order = [*names, "out"]
        self.signatures = signatures  # last: another thread that finds them reads no further

    def _decided(self, key: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
        if not self.signatures:
            self._read()
        asked: list[Any] = []
        for s in self.signatures:
            places = s.matched(args, kwargs, asked)
            if not isinstance(places, Mismatch):
                break
        else:
            refuse_call(self.name, self.signatures, self.form in METHODS, args, kwargs)
        if s.hidden and key not in self.warned:
            self._warn_of(s)
            self.warned.add(key)
        plan = self._plan(s, places)
        found = _taken(plan, args, kwargs)
        numbers = any(_holds_numbers(kind, x) for kind, x in asked)
        if (numbers or s.hidden) and modes.watching is not None:
            modes.watching.append(s)  # no recipe: another call has another number, or warns
        if s.hidden and not numbers:
            return found
        if numbers:
            kinds = {_canonical(p): p.kind for p in s.parameters}
            return tuple(_number(x, kinds.get(n)) for n, x in zip(self.order, found, strict=True))
        self.plans[key] = plan
        if not (kwargs or asked) and [p for p, _ in plan[: len(args)]] == [*range(len(args))]:
            self.positional[(*map(type, args),)] = found[len(args) : -1]
        return found

    def _plan(self, s: Signature, places: list[Any]) -> list[tuple[Any, Any]]:
        """Where the value of each argument is, with its default."""
        at = {_canonical(p): place for p, place in zip(s.parameters, places, strict=True)}
        absent = {_canonical(p): p.default for s in self.signatures for p in s.parameters}
        absent |= {_canonical(p): p.default for p in s.parameters}
        return [(at.get(name), absent.get(name)) for name in self.order]

    # --------------------------------------------------------------------------------- refusals

    def _warn_of(self, s: Signature) -> None:
        shown = [v for v in self.signatures if not v.hidden]
        listed = "\n\t".join(f"{self.name}{v.text()}" for v in shown)
        _warn(
            f"This overload of {self.name} is deprecated:\n\t{self.name}{s.text()}\nConsider using "
            f"one of the following signatures instead:\n\t{listed}"
        )


def _types_in(x: Any) -> Any:
    kind = type(x)
    return (kind, *map(type, x)) if kind in SEQUENCES else kind


def _holds_numbers(kind: Kind, x: Any) -> bool:
    """Whether what is given has to be read: a tensor, or a sequence of whole numbers with some."""
    if type(x) in SEQUENCES:
        return kind in WHOLE and any(type(n) is not int for n in x)
    return True


def _number(x: Any, kind: Kind | None) -> Any:
    """A number, or numbers, that are given as tensors or as NumPy has them."""
    if kind in SCALARS and isinstance(x, Tensor):
        return x.item()
    if isinstance(x, type):
        return PYTHON_DTYPES.get(x, x)
    if kind in WHOLE and type(x) in SEQUENCES:
        return tuple(int(n) for n in x)
    return x


def _taken(plan: list[tuple[Any, Any]], args: Any, kwargs: Any) -> tuple[Any, ...]:
    return tuple(
        default if p is None else kwargs[p] if type(p) is str else args[p] for p, default in plan
    )


def _canonical(p: Parameter) -> str:
    """The name of a parameter for its operation: a number in place of the tensor is the same."""
    return "input" if p.name == "self" else p.name


@functools.cache
def _warn(text: str) -> None:
    """A warning that PyTorch gives the first time only."""
    warnings.warn(text, UserWarning, stacklevel=outside())
