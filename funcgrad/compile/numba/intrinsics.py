"""The vector mathematics for functions compiled by Numba.

    from funcgrad.compile.numba.intrinsics import exp

    @numba.njit
    def kernel(x, out):
        for i in range(x.size):
            out[i] = exp(x[i])

Each function exists for float32 and float64 scalars; integers are taken as float64. A scalar call
is linked in with a vector form of the same function for each width that a loop may be given, and an
attribute that tells LLVM of them ("vector-function-abi-variant"). So a loop around the call is
vectorised, although it calls, and with the same instructions that our own compiler would write.

Linking a module of IR into an intrinsic is private to Numba and done here only; the tests of this
file will show if it no longer works. `DIGEST` belongs into the key of whatever outlives the
process: Numba's cache of a function does not see that an intrinsic has changed.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from funcgrad.compile.llvm import emit, mathematics
from funcgrad.compile.llvm.mathematics import ARITY, define, function_name
from funcgrad.compile.llvm.target import vector_width

__all__ = ["DIGEST", "INTRINSICS", "module_text"]


def _digest() -> str:
    folder = Path(mathematics.__file__).parent
    files = [Path(emit.__file__), Path(__file__), *sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


DIGEST = _digest()
ELEMENTS = {types.float64: ("double", ir.DoubleType()), types.float32: ("float", ir.FloatType())}
# What a loop's vectoriser has to know before it may call a vector form in place of the scalar one.
PURE = "nounwind willreturn memory(none)"


@dataclass(frozen=True)
class Width:
    """The target as the emitter sees it."""

    avx512: bool
    vector_bits: int


def module_text(name: str, element: str, target: Width) -> str:
    """The scalar function and its vector forms as a module."""
    native = target.vector_bits // (64 if element == "double" else 32)
    # A loop over float32 that holds float64 as well has half the lanes.
    widths = [native] if element == "double" else [native, native // 2]
    scalar = function_name(name, element, 1)
    parameters = "v" * ARITY[name]
    vectors = {n: function_name(name, element, n) for n in widths}
    variants = ",".join(f"_ZGV_LLVM_N{n}{parameters}_{scalar}({v})" for n, v in vectors.items())
    # Not inlined, or no call would be left when loops are vectorised.
    attributes = f'noinline {PURE} "vector-function-abi-variant"="{variants}"'
    definitions: dict[str, str] = {}
    declarations: dict[str, None] = {}
    for lanes in (1, *widths):
        body = define(
            name, element, lanes, target, linkage="", attributes=attributes if lanes == 1 else PURE
        )
        definitions |= body.definitions
        declarations |= body.declarations
    # Otherwise the vector forms would be dropped as unused before a loop can use them.
    kept = ", ".join(f"ptr @{v}" for v in vectors.values())
    used = f"@llvm.compiler.used = appending global [{len(vectors)} x ptr] [ {kept} ]"
    return "\n".join([*definitions.values(), *declarations, f'{used}, section "llvm.metadata"', ""])


@functools.cache
def _library(codegen: Any, name: str, element: str) -> Any:
    """The module as a library of Numba's code generator, for its processor and features."""
    _, _, features = codegen.magic_tuple()
    module = llvm.parse_assembly(module_text(name, element, Width(*vector_width(features))))
    module.verify()
    library = codegen.create_library(f"funcgrad.{name}.{element}")
    library.add_llvm_module(module)
    library.finalize()
    return library


def _result_type(name: str, operands: tuple[Any, ...]) -> Any:
    for x in operands:
        if x not in ELEMENTS and not isinstance(x, types.Integer | types.Boolean):
            raise TypingError(f"{name} takes float32 and float64, not {x}: convert the operand")
    return types.float32 if all(x == types.float32 for x in operands) else types.float64


def _make(name: str) -> Any:
    """The intrinsic: its type, and the call that it stands for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element, scalar = ELEMENTS[signature.return_type]
        context.add_linking_libs([_library(context.codegen(), name, element)])
        caller = builder.function
        # llvmlite's `add` knows only attributes without a value.
        set.add(caller.attributes, '"prefer-vector-width"="512"')
        symbol = function_name(name, element, 1)
        callee = caller.module.globals.get(symbol)
        if callee is None:
            kind = ir.FunctionType(scalar, [scalar] * ARITY[name])
            callee = ir.Function(caller.module, kind, symbol)
        return builder.call(callee, arguments)

    def unary(typing_context: Any, x: Any) -> Any:
        kind = _result_type(name, (x,))
        return kind(kind), generate

    def binary(typing_context: Any, x: Any, y: Any) -> Any:
        kind = _result_type(name, (x, y))
        return kind(kind, kind), generate

    declare = unary if ARITY[name] == 1 else binary
    declare.__name__ = declare.__qualname__ = name
    return intrinsic(declare)


INTRINSICS: dict[str, Any] = {name: _make(name) for name in ARITY}

arccos = INTRINSICS["arccos"]
arccosh = INTRINSICS["arccosh"]
arcsin = INTRINSICS["arcsin"]
arcsinh = INTRINSICS["arcsinh"]
arctan = INTRINSICS["arctan"]
arctan2 = INTRINSICS["arctan2"]
arctanh = INTRINSICS["arctanh"]
cbrt = INTRINSICS["cbrt"]
cos = INTRINSICS["cos"]
cosh = INTRINSICS["cosh"]
digamma = INTRINSICS["digamma"]
erf = INTRINSICS["erf"]
erfc = INTRINSICS["erfc"]
erfinv = INTRINSICS["erfinv"]
exp = INTRINSICS["exp"]
exp2 = INTRINSICS["exp2"]
expm1 = INTRINSICS["expm1"]
hypot = INTRINSICS["hypot"]
lgamma = INTRINSICS["lgamma"]
log = INTRINSICS["log"]
log10 = INTRINSICS["log10"]
log1p = INTRINSICS["log1p"]
log2 = INTRINSICS["log2"]
logaddexp = INTRINSICS["logaddexp"]
power = INTRINSICS["power"]
sigmoid = INTRINSICS["sigmoid"]
sin = INTRINSICS["sin"]
sinh = INTRINSICS["sinh"]
sqrt = INTRINSICS["sqrt"]
tan = INTRINSICS["tan"]
tanh = INTRINSICS["tanh"]
