"""Print the stub that tells type checkers of the methods that the operations give `Tensor`.

    python -m funcgrad.torch.operations.write_methods

Everything is read off the records: an overload for each signature, and the return type of the
rule. What is installed without a record, and the operators, are read off the functions.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import funcgrad.torch
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.argument_kinds import KINDS
from funcgrad.torch.operations.signature import Form, Parameter, Signature

__all__ = ["PATH", "text"]

PATH = Path(funcgrad.torch.__file__).with_name("tensor_methods_generated.pyi")
HEADER = '''"""The methods of `Tensor` that the operations install, for type checkers.

Printed by ``python -m funcgrad.torch.operations.write_methods``; do not edit.
"""

# mypy: disable-error-code="overload-cannot-match"

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import device as Device
from funcgrad.torch.device import memory_format as MemoryFormat
from funcgrad.torch.dtypes import dtype as DType

# methods have these names, too
Bool: TypeAlias = bool
Type: TypeAlias = type[Any]
Whole: TypeAlias = int
Number = complex | np.number[Any] | np.bool | Tensor
Numeric = Number | np.ndarray[Any, Any]
Int = int | np.integer[Any] | Tensor
Ints = Sequence[Int]

class TensorMethods:
'''
TYPES = {
    "Tensor": "Numeric", "operand": "Numeric", "Number": "Number", "int": "Int", "float": "Number",
    "bool": "Bool", "str": "str", "dtype": "DType | Type", "device": "Device | str | Whole",
    "memory_format": "MemoryFormat", "ints": "Int | Ints", "dims": "Int | Ints",
    "floats": "Sequence[Number]", "Numbers": "Sequence[Number]", "Tensors": "Sequence[Tensor]",
}  # fmt: skip
KIND_NAMES = {id(kind): name for name, kind in KINDS.items()}
RETURNED = {
    "Tensor": "Tensor", "bool": "Bool", "int": "Whole", "None": "None",
    "tuple[Tensor, ...]": "tuple[Tensor, ...]",
}  # fmt: skip
OPERATORS = {"__eq__", "__ne__"}  # whose other operand is any object


def text() -> str:
    """The content of the stub."""
    lines = [line for name in _installed() for line in _method(name)]
    return HEADER + "".join(f"    {line}\n" for line in lines)


def _installed() -> list[str]:
    """The public methods that no class body of the tensor has, and the operators."""
    names = (n for n, v in vars(Tensor).items() if _is_installed(n, v))
    return sorted(n for n in names if not n.startswith("_") or n in _operators())


def _is_installed(name: str, value: Any) -> bool:
    function: Any = value.fget if isinstance(value, property) else value
    qualified = getattr(inspect.unwrap(function), "__qualname__", "")
    return inspect.isfunction(function) and qualified != f"Tensor.{name}"


def _operators() -> set[str]:
    binary = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    bitwise = ("and", "or", "xor", "lshift", "rshift")
    found = {f"__{r}{name}__" for name in binary + bitwise for r in ("", "r", "i")}
    found |= {f"__{name}__" for name in ("lt", "le", "gt", "ge", "neg", "pos", "invert", "abs")}
    return found | OPERATORS | {"__getitem__", "__setitem__"}


def _method(name: str) -> Iterator[str]:
    function = inspect.getattr_static(Tensor, name)
    record = getattr(function, "operation", None)
    if isinstance(function, property):
        yield "@property"
        yield f"def {name}(self) -> {_returned(function.fget)}: ..."
        if function.fset is not None:
            yield f"@{name}.setter"
            yield f"def {name}(self, value: Any) -> None: ..."
        return
    if record is None or name.startswith("__"):
        yield f"def {name}{_of_function(name, function)}: ..."
        return
    form: Form = "method in place" if name.endswith("_") else "method"
    signatures = [Signature(part.strip(), form) for part in record.method_signature.split("|")]
    heads = [h for s in signatures if not s.hidden for h in _heads(s)]
    returned = "Tensor" if name.endswith("_") else _returned(record.rule)
    heads = list(dict.fromkeys(heads))
    for head in heads:
        if len(heads) > 1:
            yield "@overload"
        yield f"def {name}({head}) -> {returned}: ..."


def _heads(signature: Signature) -> Iterator[str]:
    """The parameters of an overload; whole numbers may also come one by one."""
    words, behind = ["self", *map(_parameter, signature.parameters)], 1 + signature.positional
    if signature.positional < len(signature.parameters):
        words.insert(behind, "*")
    if any(keyword.iskeyword(p.name) for p in signature.parameters):  # by position alone
        words.insert(behind, "/")
    yield ", ".join(words).replace("from:", "from_:")
    if signature.varargs():
        rest = [_parameter(p) for p in signature.parameters[1:]]
        yield ", ".join(["self", f"*{signature.parameters[0].name}: Int", *rest])


def _parameter(parameter: Parameter) -> str:
    kind = TYPES.get(KIND_NAMES[id(parameter.kind)], "Any")
    if parameter.nullable and kind != "Any":
        kind += " | None"
    return f"{parameter.name}: {kind}" + (" = ..." if parameter.optional else "")


def _returned(function: Any) -> str:
    found = str(getattr(inspect.unwrap(function), "__annotations__", {}).get("return"))
    return RETURNED.get(found, "Any")


def _of_function(name: str, function: Any) -> str:
    """The parameters and the result of what has no record."""
    if name.startswith("__"):
        if name == "__setitem__":
            return "(self, index: Any, value: Any) -> None"
        if name == "__getitem__":
            return "(self, index: Any) -> Tensor"
        if name in ("__neg__", "__pos__", "__invert__", "__abs__"):
            return "(self) -> Tensor"
        if name in OPERATORS:  # `object` says otherwise
            return "(self, other: object) -> Any"
        return "(self, other: Any) -> Tensor"
    words, star = ["self"], False
    for p in [*inspect.signature(function).parameters.values()][1:]:
        marks: dict[Any, str] = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}
        mark = marks.get(p.kind, "")
        if p.kind is p.KEYWORD_ONLY and not star:
            words.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        words.append(f"{mark}{p.name}: Any" + (" = ..." if p.default is not p.empty else ""))
    return f"({', '.join(words)}) -> {_returned(function)}"


if __name__ == "__main__":
    PATH.write_text(text())
