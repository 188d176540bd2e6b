"""The remainder of pi/2 for huge arguments, by the method of Payne and Hanek.

x = M 2**(e - 52) with an integer M. Of 2/pi, the bits that would give multiples of 4 times M are
left out, the next 192 make an integer W, and x 2/pi is M W / 2**190 modulo 4: its two leading bits
are the quadrant, the rest the fraction, in whole numbers. W is read from whole bytes; the bits that
it has too many in front are shifted out by way of M.

The work is done lane by lane, in an external function that is called where some lane needs it; what
the other lanes get is not said.
"""

from __future__ import annotations

from funcgrad.compile.llvm.body import External
from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import HALF_PI, TWO_OVER_PI_BITS

__all__ = ["reduce_huge"]

BYTES = 160  # 64 zeros in front, then 1216 bits of 2/pi
DECLARATIONS = (
    "declare double @llvm.fma.f64(double, double, double)",
    "declare double @llvm.fmuladd.f64(double, double, double)",
)
# M W modulo 2**192, less the lowest word: two words of it matter
PRODUCT = """  %m.wide = zext i64 %m to i128
  %bottom.wide = zext i64 %bottom to i128
  %middle.wide = zext i64 %middle to i128
  %product0 = mul i128 %m.wide, %bottom.wide
  %product1 = mul i128 %m.wide, %middle.wide
  %product2 = mul i64 %m, %top
  %carry0 = lshr i128 %product0, 64
  %sum1 = add i128 %product1, %carry0
  %product2.wide = zext i64 %product2 to i128
  %upper = shl i128 %product2.wide, 64
  %value = add i128 %upper, %sum1
"""


def reduce_huge(e: Emitter, x: Value) -> list[Value]:
    """An integer that ends in the quadrant, and r in two parts."""
    body = e.body
    name = f"funcgrad.reduce_huge.{e.suffix()}"
    result = _result_type(e)
    definition = f"{_table(name)}\n{_function(e, name)}"
    declaration = f"declare {result} @{name}({x.type})"
    body.externals[name] = External(declaration, definition, DECLARATIONS)
    body.count += 1
    triple = f"%reduced.{body.count}"
    body.lines.append(f"  {triple} = call {result} @{name}({x.typed})")
    elements = [e.integer, e.element, e.element]
    return [
        e.new(element, f"extractvalue {result} {triple}, {k}") for k, element in enumerate(elements)
    ]


def _result_type(e: Emitter) -> str:
    floating = e.type_of(e.element)
    return f"{{ {e.type_of(e.integer)}, {floating}, {floating} }}"


def _table(name: str) -> str:
    """The bits as one number, its last byte first."""
    text = "".join(f"\\{byte:02X}" for byte in TWO_OVER_PI_BITS.to_bytes(BYTES, "little"))
    return f'@{name}.table = internal constant [{BYTES} x i8] c"{text}"'


def _function(e: Emitter, name: str) -> str:
    """The function of a vector: a loop over lanes around the reduction of one double."""
    integer, floating, result = e.type_of(e.integer), e.type_of(e.element), _result_type(e)
    if e.double:
        widen, narrow, wide = "", "", "%lane"
        q, r, r_low = "%q", "%r", "%r.low"
    else:
        widen, wide = "  %wide = fpext float %lane to double\n", "%wide"
        q, r, r_low = "%q.single", "%r.single", "%r.low.single"
        narrow = """  %q.single = trunc i64 %q to i32
  %r.single = fptrunc double %r to float
  %r.back = fpext float %r.single to double
  %r.rest = fsub double %r, %r.back
  %r.low.single = fptrunc double %r.rest to float
"""
    one = f"{_bits(name)}{PRODUCT}{_quadrant()}{_fraction()}{_angle()}"
    # LLVM's passes would unroll the loop over lanes.
    return f"""define internal {result} @{name}({floating} %x) noinline minsize optsize nounwind {{
entry:
  %lanes = alloca {floating}
  %quadrants = alloca {integer}
  %lows = alloca {floating}
  store {floating} %x, ptr %lanes
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %lane.at = getelementptr {e.element}, ptr %lanes, i64 %i
  %quadrant.at = getelementptr {e.integer}, ptr %quadrants, i64 %i
  %low.at = getelementptr {e.element}, ptr %lows, i64 %i
  %lane = load {e.element}, ptr %lane.at
{widen}  %bits = bitcast double {wide} to i64
{one}  %nothing = fsub double {wide}, {wide}
  %finite = icmp ult i64 %biased, 2047
  %r = select i1 %finite, double %signed, double %nothing
{narrow}  store {e.integer} {q}, ptr %quadrant.at
  store {e.element} {r}, ptr %lane.at
  store {e.element} {r_low}, ptr %low.at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {e.lanes}
  br i1 %more, label %loop, label %exit
exit:
  %all.q = load {integer}, ptr %quadrants
  %all.r = load {floating}, ptr %lanes
  %all.low = load {floating}, ptr %lows
  %result0 = insertvalue {result} poison, {integer} %all.q, 0
  %result1 = insertvalue {result} %result0, {floating} %all.r, 1
  %result = insertvalue {result} %result1, {floating} %all.low, 2
  ret {result} %result
}}"""


def _bits(name: str) -> str:
    """Of x the exponent and the integer M, shifted; of 2/pi three words from the byte on."""
    return f"""  %shifted.exponent = lshr i64 %bits, 52
  %biased = and i64 %shifted.exponent, 2047
  %fraction.bits = and i64 %bits, 4503599627370495
  %integer = or i64 %fraction.bits, 4503599627370496
  %start = add i64 %biased, -1013
  %huge = icmp ult i64 %start, 1034
  %usable = select i1 %huge, i64 %start, i64 0
  %byte = lshr i64 %usable, 3
  %surplus = and i64 %usable, 7
  %m = shl i64 %integer, %surplus
  %place = sub i64 {BYTES - 24}, %byte
  %bottom.at = getelementptr i8, ptr @{name}.table, i64 %place
  %middle.at = getelementptr i8, ptr %bottom.at, i64 8
  %top.at = getelementptr i8, ptr %bottom.at, i64 16
  %bottom = load i64, ptr %bottom.at, align 1
  %middle = load i64, ptr %middle.at, align 1
  %top = load i64, ptr %top.at, align 1
"""


def _quadrant() -> str:
    """The nearest quadrant, and what is left of it with its sign apart."""
    return f"""  %rounded = add i128 %value, {1 << 125}
  %quadrant.wide = lshr i128 %rounded, 126
  %quadrant = trunc i128 %quadrant.wide to i64
  %whole = shl i128 %quadrant.wide, 126
  %fraction = sub i128 %value, %whole
  %minus.fraction = sub i128 0, %fraction
  %negative = icmp slt i128 %fraction, 0
  %magnitude = select i1 %negative, i128 %minus.fraction, i128 %fraction
  %high.wide = lshr i128 %magnitude, 64
  %high.bits = trunc i128 %high.wide to i64
  %low.bits = trunc i128 %magnitude to i64
"""


def _fraction() -> str:
    """The magnitude from four half words, in two doubles."""
    constant = Emitter("double").constant
    return f"""  %bits3 = lshr i64 %high.bits, 32
  %bits2 = and i64 %high.bits, 4294967295
  %bits1 = lshr i64 %low.bits, 32
  %bits0 = and i64 %low.bits, 4294967295
  %whole3 = sitofp i64 %bits3 to double
  %whole2 = sitofp i64 %bits2 to double
  %whole1 = sitofp i64 %bits1 to double
  %whole0 = sitofp i64 %bits0 to double
  %part3 = fmul double %whole3, {constant(2.0**-30)}
  %part2 = fmul double %whole2, {constant(2.0**-62)}
  %part = fadd double %part3, %part2
  %taken = fsub double %part, %part3
  %left = fsub double %part2, %taken
  %part1 = call double @llvm.fmuladd.f64(double %whole1, double {constant(2.0**-94)}, double %left)
  %part0 = fmul double %whole0, {constant(2.0**-126)}
  %part.low = fadd double %part1, %part0
"""


def _angle() -> str:
    """Times pi/2, in two doubles; signs of the fraction and of x."""
    constant = Emitter("double").constant
    high, low, *_ = HALF_PI["double"]
    return f"""  %r0 = fmul double %part, {constant(low)}
  %r1 = call double @llvm.fmuladd.f64(double %part.low, double {constant(high)}, double %r0)
  %r2 = call double @llvm.fmuladd.f64(double %part, double {constant(high)}, double %r1)
  %minus.r = fneg double %r2
  %lost = call double @llvm.fma.f64(double %part, double {constant(high)}, double %minus.r)
  %r2.low = fadd double %lost, %r1
  %minus.low = fneg double %r2.low
  %below = icmp slt i64 %bits, 0
  %flip = xor i1 %negative, %below
  %signed = select i1 %flip, double %minus.r, double %r2
  %r.low = select i1 %flip, double %minus.low, double %r2.low
  %minus.quadrant = sub i64 0, %quadrant
  %q = select i1 %below, i64 %minus.quadrant, i64 %quadrant
"""
