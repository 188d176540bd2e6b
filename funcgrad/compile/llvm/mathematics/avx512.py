"""Instructions of AVX-512, for vectors of one or several whole registers.

They may be used only where `e.full_registers` says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compile.llvm.emit import BITS, Emitter, Operand, Value, float_text

__all__ = [
    "exponent",
    "instruction",
    "inverse_root_estimate",
    "look_up",
    "mantissa",
    "reciprocal_estimate",
    "scale",
]


def reciprocal_estimate(e: Emitter, x: Value) -> Value:
    """1 / x to 14 bits."""
    return instruction(e, "rcp14.{}.512", x, "zeros", "all")


def inverse_root_estimate(e: Emitter, x: Value) -> Value:
    """1 / sqrt(x) to 14 bits; infinite at 0."""
    return instruction(e, "rsqrt14.{}.512", x, "zeros", "all")


def scale(e: Emitter, x: Operand, n: Value) -> Value:
    """x * 2**n for an integral float n, rounded once."""
    return instruction(e, "mask.scalef.{}.512", e.lift(x), n, "zeros", "all", "i32 4")


def exponent(e: Emitter, x: Value) -> Value:
    """floor(log2(|x|)) as a float, -inf for 0."""
    return instruction(e, "mask.getexp.{}.512", x, "zeros", "all", "i32 4")


def mantissa(e: Emitter, x: Value, interval: int = 0) -> Value:
    """x over a power of two, in [1, 2), or [3/4, 3/2) for interval 3.

    It is 1 for 0 and infinity, and NaN for negative x.
    """
    operation = f"i32 {8 + interval}"
    return instruction(e, "mask.getmant.{}.512", x, operation, "zeros", "all", "i32 4")


def look_up(e: Emitter, table: Sequence[float], index: Value) -> Value:
    """table[index mod its length], for as many entries as two registers hold."""
    half = len(table) // 2
    register = f"<{half} x {e.element}>"
    low, high = (
        (register, f"<{', '.join(f'{e.element} {float_text(x, e.element)}' for x in part)}>")
        for part in (table[:half], table[half:])
    )
    return instruction(e, "vpermi2var.{}.512", low, index, high)


def instruction(e: Emitter, name: str, *operands: Value | str | tuple[str, str]) -> Value:
    """Call `llvm.x86.avx512.{name}` on each register of the operands.

    In `name`, "{}" becomes "pd" or "ps". An operand that is no `Value` is the same for each
    register: "zeros", "all" (the mask of all lanes), an immediate such as "i32 4", or a pair of
    type and text.
    """
    register = 512 // BITS[e.element]
    part = Emitter(e.element, register, e.target, e.body)
    name = "llvm.x86.avx512." + name.format("pd" if e.double else "ps")
    result = part.type_of(e.element)
    words: dict[str, tuple[str, ...]] = {
        "zeros": (result, "zeroinitializer"),
        "all": (f"i{register}", "-1"),
    }
    parts = []
    for start in range(0, e.lanes, register):
        pairs: list[tuple[str, ...]] = []
        for x in operands:
            if isinstance(x, Value):
                x = _slice(part, x, start)
                pairs.append((x.type, x.name))
            elif isinstance(x, str):
                pairs.append(words.get(x) or tuple(x.split(" ")))
            else:
                pairs.append(x)
        types = ", ".join(kind for kind, _ in pairs)
        e.declarations[f"declare {result} @{name}({types})"] = None
        arguments = ", ".join(f"{kind} {x}" for kind, x in pairs)
        parts.append(part.new(e.element, f"call {result} @{name}({arguments})"))
    return _join(e, parts)


def _slice(part: Emitter, x: Value, start: int) -> Value:
    """Lanes start ... start + part.lanes of a longer vector."""
    if x.emitter.lanes == part.lanes:
        return x
    lanes = ", ".join(f"i32 {k}" for k in range(start, start + part.lanes))
    shuffle = f"shufflevector {x.typed}, {x.type} poison, <{part.lanes} x i32> <{lanes}>"
    return part.new(x.element, shuffle)


def _join(e: Emitter, parts: list[Value]) -> Value:
    """One value of `e` from vectors that hold its lanes in order."""
    while len(parts) > 1:
        pairs = []
        for x, y in zip(parts[::2], parts[1::2], strict=True):
            wide = Emitter(e.element, 2 * x.emitter.lanes, e.target, e.body)
            lanes = ", ".join(f"i32 {k}" for k in range(wide.lanes))
            shuffle = f"shufflevector {x.typed}, {y.typed}, <{wide.lanes} x i32> <{lanes}>"
            pairs.append(wide.new(x.element, shuffle))
        parts = pairs
    return Value(e, parts[0].element, parts[0].name)
