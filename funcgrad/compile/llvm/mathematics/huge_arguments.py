"""The remainder of pi/2 for huge arguments, by the method of Payne and Hanek.

x = M 2**(e - 52) with an integer M. Of 2/pi, the bits that would give multiples of 4 times M are
left out, the next 192 make an integer W, and x 2/pi is M W / 2**190 modulo 4: its two leading bits
are the quadrant, the rest the fraction, in whole numbers. The work is done lane by lane, in
functions of their own that are called where some lane needs them; what the other lanes get is not
said.
"""

from __future__ import annotations

from funcgrad.compile.llvm.emit import Emitter, Value
from funcgrad.compile.llvm.mathematics.coefficients import HALF_PI, TWO_OVER_PI_BITS

__all__ = ["reduce_huge"]

WORDS = "funcgrad.two_over_pi"
SCALAR = "funcgrad.reduce_huge"
RARE = "noinline minsize optsize nounwind"  # LLVM's passes would unroll the loop over lanes
DECLARATIONS = (
    "declare i64 @llvm.fshl.i64(i64, i64, i64)",
    "declare double @llvm.fma.f64(double, double, double)",
    "declare double @llvm.fmuladd.f64(double, double, double)",
)


def reduce_huge(e: Emitter, x: Value) -> list[Value]:
    """An integer that ends in the quadrant, and r in two parts."""
    body = e.body
    name = f"funcgrad.reduce_huge.{e.suffix()}"
    body.declarations |= dict.fromkeys(DECLARATIONS)
    body.definitions[WORDS] = _words()
    body.definitions[SCALAR] = _scalar()
    body.definitions[name] = _lane_by_lane(e, name)
    result = _result_type(e)
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


def _words() -> str:
    """64 zeros, then the bits of 2/pi after the point, in words of 64."""
    bits = TWO_OVER_PI_BITS
    count = bits.bit_length() + 63 & -64
    words = [0, *(bits >> at & (1 << 64) - 1 for at in range(count - 64, -1, -64))]
    text = ", ".join(f"i64 {word - (word >> 63 << 64)}" for word in words)
    return f"@{WORDS} = internal constant [{len(words)} x i64] [ {text} ]"


def _scalar() -> str:
    high, low, *_ = HALF_PI["double"]
    constant = Emitter("double").constant
    return f"""define internal {{ i64, double, double }} @{SCALAR}(double %x) {RARE} {{
  %bits = bitcast double %x to i64
  %shifted.exponent = lshr i64 %bits, 52
  %biased = and i64 %shifted.exponent, 2047
  %fraction.bits = and i64 %bits, 4503599627370495
  %integer = or i64 %fraction.bits, 4503599627370496
  %finite = icmp ult i64 %biased, 2047
  %start = add i64 %biased, -1013
  %huge = icmp ult i64 %start, 1034
  %usable = select i1 %huge, i64 %start, i64 0
  %word = lshr i64 %usable, 6
  %shift = and i64 %usable, 63
  %at0 = getelementptr i64, ptr @{WORDS}, i64 %word
  %at1 = getelementptr i64, ptr %at0, i64 1
  %at2 = getelementptr i64, ptr %at0, i64 2
  %at3 = getelementptr i64, ptr %at0, i64 3
  %word0 = load i64, ptr %at0
  %word1 = load i64, ptr %at1
  %word2 = load i64, ptr %at2
  %word3 = load i64, ptr %at3
  %top = call i64 @llvm.fshl.i64(i64 %word0, i64 %word1, i64 %shift)
  %middle = call i64 @llvm.fshl.i64(i64 %word1, i64 %word2, i64 %shift)
  %bottom = call i64 @llvm.fshl.i64(i64 %word2, i64 %word3, i64 %shift)
  %m = zext i64 %integer to i128
  %bottom.wide = zext i64 %bottom to i128
  %middle.wide = zext i64 %middle to i128
  %product0 = mul i128 %m, %bottom.wide
  %product1 = mul i128 %m, %middle.wide
  %carry0 = lshr i128 %product0, 64
  %sum1 = add i128 %product1, %carry0
  %product2 = mul i64 %integer, %top
  %product2.wide = zext i64 %product2 to i128
  %upper = shl i128 %product2.wide, 64
  %value = add i128 %upper, %sum1
  %half = shl i128 1, 125
  %rounded = add i128 %value, %half
  %quadrant.wide = lshr i128 %rounded, 126
  %whole = shl i128 %quadrant.wide, 126
  %fraction = sub i128 %value, %whole
  %negative = icmp slt i128 %fraction, 0
  %below = icmp slt i64 %bits, 0
  %minus.fraction = sub i128 0, %fraction
  %magnitude = select i1 %negative, i128 %minus.fraction, i128 %fraction
  %words.high = lshr i128 %magnitude, 64
  %high.bits = trunc i128 %words.high to i64
  %low.bits = trunc i128 %magnitude to i64
  %bits3 = lshr i64 %high.bits, 32
  %bits2 = and i64 %high.bits, 4294967295
  %bits1 = lshr i64 %low.bits, 32
  %bits0 = and i64 %low.bits, 4294967295
  %whole3 = sitofp i64 %bits3 to double
  %whole2 = sitofp i64 %bits2 to double
  %whole1 = sitofp i64 %bits1 to double
  %whole0 = sitofp i64 %bits0 to double
  %part3 = fmul double %whole3, {constant(2.0**-30)}
  %part2 = fmul double %whole2, {constant(2.0**-62)}
  %part1 = fmul double %whole1, {constant(2.0**-94)}
  %part0 = fmul double %whole0, {constant(2.0**-126)}
  %part = fadd double %part3, %part2
  %taken = fsub double %part, %part3
  %left = fsub double %part2, %taken
  %rest = fadd double %part1, %part0
  %part.low = fadd double %left, %rest
  %r0 = fmul double %part, {constant(low)}
  %r1 = call double @llvm.fmuladd.f64(double %part.low, double {constant(high)}, double %r0)
  %r2 = call double @llvm.fmuladd.f64(double %part, double {constant(high)}, double %r1)
  %minus.part = fneg double %r2
  %lost = call double @llvm.fma.f64(double %part, double {constant(high)}, double %minus.part)
  %r2.low = fadd double %lost, %r1
  %flip = xor i1 %negative, %below
  %minus.low = fneg double %r2.low
  %signed = select i1 %flip, double %minus.part, double %r2
  %signed.low = select i1 %flip, double %minus.low, double %r2.low
  %positive.quadrant = trunc i128 %quadrant.wide to i64
  %minus.quadrant = sub i64 0, %positive.quadrant
  %q = select i1 %below, i64 %minus.quadrant, i64 %positive.quadrant
  %nothing = fsub double %x, %x
  %r = select i1 %finite, double %signed, double %nothing
  %result0 = insertvalue {{ i64, double, double }} poison, i64 %q, 0
  %result1 = insertvalue {{ i64, double, double }} %result0, double %r, 1
  %result = insertvalue {{ i64, double, double }} %result1, double %signed.low, 2
  ret {{ i64, double, double }} %result
}}"""


def _lane_by_lane(e: Emitter, name: str) -> str:
    integer, floating, result = e.type_of(e.integer), e.type_of(e.element), _result_type(e)
    if e.double:
        widen, narrow, argument = "", "", "%lane"
        values = ("%q", "%r", "%r.low")
    else:
        widen, argument = "  %wide = fpext float %lane to double\n", "%wide"
        values = ("%q.single", "%r.single", "%r.low.single")
        narrow = """  %q.single = trunc i64 %q to i32
  %r.single = fptrunc double %r to float
  %r.back = fpext float %r.single to double
  %r.rest = fsub double %r, %r.back
  %r.low.single = fptrunc double %r.rest to float
"""
    return f"""define internal {result} @{name}({floating} %x) {RARE} {{
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
{widen}  %triple = call {{ i64, double, double }} @{SCALAR}(double {argument})
  %q = extractvalue {{ i64, double, double }} %triple, 0
  %r = extractvalue {{ i64, double, double }} %triple, 1
  %r.low = extractvalue {{ i64, double, double }} %triple, 2
{narrow}  store {e.integer} {values[0]}, ptr %quadrant.at
  store {e.element} {values[1]}, ptr %lane.at
  store {e.element} {values[2]}, ptr %low.at
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
