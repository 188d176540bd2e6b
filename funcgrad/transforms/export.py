"""`jit(f).export`: a function and its derivatives, staged for given shapes, as files for C.

Every leaf of the arguments is a parameter of the function in C, and every leaf of the result
another; the graphs are those of `jit`, so loops stay loops. `compile.export` writes the files.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import tree
from funcgrad.core.types import ArrayType, is_inexact
from funcgrad.errors import NativeCodeError, located
from funcgrad.transforms.abstract import abstract
from funcgrad.transforms.arguments import name_of, no_tangent
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.native import holding, refuse_static
from funcgrad.transforms.staged_function import Staged, stage_flat
from funcgrad.transforms.vjp import vjp

if TYPE_CHECKING:
    from funcgrad.compile.export import Exported, Function, Parameter
    from funcgrad.transforms.jitted import Jitted

__all__ = ["export"]

Flat = Callable[..., Sequence[Any]]
DERIVATIVES = ("grad", "vjp", "jvp")


def export(
    jitted: Jitted,
    path: str | os.PathLike[str],
    args: tuple[Any, ...],
    name: str | None,
    derivatives: Sequence[str],
    cpu: str,
    shared: bool,
) -> Exported:
    """See `Jitted.export`."""
    from funcgrad.compile.export import write_files

    refuse_static(jitted, "export")
    name = re.sub(r"\W", "_", name or name_of(jitted.fun)).strip("_") or "function"
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        name = f"f_{name}"
    derivatives = (derivatives,) if isinstance(derivatives, str) else tuple(derivatives)
    if set(derivatives) - set(DERIVATIVES):
        known = ", ".join(map(repr, DERIVATIVES))
        raise ValueError(located(f"export: derivatives are among {known}, not {derivatives!r}"))
    whole = _Exporter(jitted.fun, args, name)
    functions = [whole.value(), *(getattr(whole, d)() for d in derivatives)]
    try:
        return write_files(path, functions, cpu, shared)
    except NativeCodeError as error:
        raise NativeCodeError(f"{name_of(jitted.fun)}: {error}") from None


class _Exporter:
    """Makes the functions of one function for arguments of certain types."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], name: str) -> None:
        self.fun, self.name = fun, name
        found, self.definition = tree.flatten(args)
        self.types = [_plain(abstract(x)) for x in found]
        self.moving = [k for k, t in enumerate(self.types) if is_inexact(t.dtype)]
        names = _argument_names(fun, len(args))
        self.taken = {"workspace"}
        self.inputs = [self.unique(_path(p, names)) for p in tree.paths(self.definition)]
        self.staged = self.stage(self.call, self.types)
        paths = tree.paths(self.staged.out)
        self.results = [self.unique(f"out{_identifier(p)}") for p in paths]

    def unique(self, name: str) -> str:
        found = name if name not in self.taken and name not in _RESERVED else f"{name}_"
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return found

    def call(self, *xs: Any) -> Any:
        return self.fun(*tree.unflatten(self.definition, xs))

    def stage(self, flat: Callable[..., Any], types: Sequence[ArrayType]) -> Staged:
        return holding(*stage_flat(flat, self.fun, types, True), name_of(self.fun))

    def function(
        self, name: str, about: str, staged: Staged, inputs: Sequence[str], outputs: Sequence[str]
    ) -> Function:
        from funcgrad.compile.export import Function, Parameter

        def named(names: Sequence[str], atoms: Sequence[Any]) -> list[Parameter]:
            return [Parameter(n, a.type) for n, a in zip(names, atoms, strict=True)]

        graph = staged.graph
        given, found = named(inputs, graph.inputs), named(outputs, graph.outputs)
        return Function(name, about, graph, given, found)

    def of_moving(self, xs: Sequence[Any]) -> Flat:
        """The function of its floating point leaves; the others stay what they are in `xs`."""

        def flat(*moving: Any) -> Any:
            whole = list(xs)
            for k, x in zip(self.moving, moving, strict=True):
                whole[k] = x
            return self.call(*whole)

        return flat

    def moved(self, xs: Sequence[Any]) -> list[Any]:
        return [xs[k] for k in self.moving]

    # ------------------------------------------------------------------------- functions

    def value(self) -> Function:
        text = f"The value of {name_of(self.fun)}."
        return self.function(self.name, text, self.staged, self.inputs, self.results)

    def grad(self) -> Function:
        types = [o.type for o in self.staged.graph.outputs]
        if len(types) != 1 or types[0].shape or types[0].dtype.kind != "f":
            found = ", ".join(map(str, types))
            raise NativeCodeError(
                f"the gradient is that of one real number, and it returns {found}; export its vjp"
            )

        def flat(*xs: Any) -> Any:
            out, pull = vjp(self.of_moving(xs), *self.moved(xs))
            return tree.leaves(out), list(pull(tree.map(np.ones_like, out)))

        names = [f"grad_{self.inputs[k]}" for k in self.moving]
        staged = self.stage(flat, self.types)
        text = f"The value of {name_of(self.fun)} and its gradient."
        return self.function(
            f"{self.name}_grad", text, staged, self.inputs, [*self.results, *names]
        )

    def vjp(self) -> Function:
        out = [o.type for o in self.staged.graph.outputs]
        pulled = [k for k, t in enumerate(out) if is_inexact(t.dtype)]

        def flat(*given: Any) -> Any:
            xs, cts = given[: len(self.types)], iter(given[len(self.types) :])
            value, pull = vjp(self.of_moving(xs), *self.moved(xs))
            leaves, definition = tree.flatten(value)
            each = [next(cts) if k in pulled else _nothing(t) for k, t in enumerate(out)]
            return leaves, list(pull(tree.unflatten(definition, each)))

        types = [*self.types, *(_plain(out[k]) for k in pulled)]
        names = [f"ct_{self.results[k]}" for k in pulled]
        staged = self.stage(flat, types)
        text = f"The value of {name_of(self.fun)}, and cotangents of the results pulled back."
        found = [*self.results, *(f"ct_{self.inputs[k]}" for k in self.moving)]
        return self.function(f"{self.name}_vjp", text, staged, [*self.inputs, *names], found)

    def jvp(self) -> Function:
        def flat(*given: Any) -> Any:
            xs, ts = given[: len(self.types)], given[len(self.types) :]
            value, moved = jvp(self.of_moving(xs), self.moved(xs), ts)
            pairs = zip(tree.leaves(value), tree.leaves(moved), strict=True)
            return tree.leaves(value), [t for _, t in pairs if np.dtype(t.dtype).kind == "f"]

        types = [*self.types, *(self.types[k] for k in self.moving)]
        names = [f"t_{self.inputs[k]}" for k in self.moving]
        out = self.staged.graph.outputs
        moving = [f"t_{n}" for n, o in zip(self.results, out, strict=True) if _moves(o.type)]
        staged = self.stage(flat, types)
        text = f"The value of {name_of(self.fun)}, and its derivative along tangents."
        found = [*self.results, *moving]
        return self.function(f"{self.name}_jvp", text, staged, [*self.inputs, *names], found)


def _moves(aval: ArrayType) -> bool:
    return is_inexact(aval.dtype)


def _plain(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


def _nothing(aval: ArrayType) -> Any:

    return no_tangent(aval)


# -------------------------------------------------------------------------------------- names

_RESERVED = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "true",
        "false",
        "class",
        "new",
        "delete",
        "this",
        "template",
    ]
)


def _identifier(path: str) -> str:
    """The keys of a path, such as ``['w'][0].bias``, in a name of C."""
    return "".join(f"_{word}" for word in re.findall(r"\w+", path))


def _path(path: str, names: Sequence[str]) -> str:
    """The name of a leaf of the arguments: that of the parameter and its keys."""
    first, _, rest = path.removeprefix("[").partition("]")
    return names[int(first)] + _identifier(rest)


def _argument_names(fun: Callable[..., Any], count: int) -> list[str]:
    found = list(_parameter_names(fun))[:count]
    return found + [f"x{k}" for k in range(len(found), count)]


def _parameter_names(fun: Callable[..., Any]) -> Iterator[str]:
    try:
        known = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return
    for p in known:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            return
        yield p.name if p.name.isascii() else f"x{len(p.name)}"
