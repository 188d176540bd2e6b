"""Comparison, logic, bits and tests of each element. The results are booleans or integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import pointwise
from funcgrad.ops.index.masks import positions
from funcgrad.ops.shape import reshape
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import Zeroing, computed
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import (
    Function,
    alias,
    apart,
    common,
    in_place,
    op,
    operation,
    same,
)
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.restated import restated
from funcgrad.torch.tensor_arrays import unknown
from funcgrad.transforms.batch import BatchTracer

__all__ = [
    "allclose", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "eq", "equal", "gcd", "gcd_", "ge", "greater",
    "greater_equal", "gt", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "lcm", "lcm_", "le", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "logical_xor", "lt", "ne", "nextafter", "not_equal", "signbit",
]  # fmt: skip


PAIR = "input, other, *, out"
OR_NUMBER = f"{PAIR} | input, Number other, *, out"
OR_NUMBERS = f"{PAIR} | Number self, other | input, Number other, *, out"


def _compare(name: str, core: Callable[..., Any], ordered: bool = True) -> Function[Tensor]:
    return op(
        name, OR_NUMBER, core=core, promote=common, casts=True, remembers=False,
        refuses={"c": f"{name}_cpu"} if ordered else None, operator=name,
        doc=f"`{name}` of each pair of elements, as booleans.",
    )  # fmt: skip


eq = _compare("eq", a.equal, False)
ne = _compare("ne", a.not_equal, False)
lt = _compare("lt", a.less)
le = _compare("le", a.less_equal)
gt = _compare("gt", a.greater)
ge = _compare("ge", a.greater_equal)
not_equal, less, less_equal = alias("not_equal", ne), alias("less", lt), alias("less_equal", le)
greater, greater_equal = alias("greater", gt), alias("greater_equal", ge)


def _logical(name: str, core: Callable[..., Any], signature: str = PAIR) -> Function[Tensor]:
    return op(name, signature, core=core, promote=apart, casts=True, remembers=False,
              doc=f"`{name}` of each element or pair of elements, as booleans.")  # fmt: skip


logical_and = _logical("logical_and", a.logical_and)
logical_or = _logical("logical_or", a.logical_or)
logical_xor = _logical("logical_xor", a.logical_xor)
logical_not = _logical("logical_not", a.logical_not, "input, *, out")


def _bits(
    name: str, core: Callable[..., Any], kernel: str, signature: str = OR_NUMBERS,
    operator: str | None = None,
) -> Function[Tensor]:  # fmt: skip
    def promote(name: str, *operands: Any) -> Sequence[Array]:
        xs = common(name, *operands)
        return [known(x, f"{name}()") for x in xs] if isinstance(core, np.ufunc) else xs

    refused = "fc" if kernel.startswith("bitwise") else "bfc"
    return op(name, signature, core=core, promote=promote, refuses={refused: kernel},
              remembers=False, operator=operator,
              doc=f"`{name}` of integers or booleans.")  # fmt: skip


bitwise_and = _bits("bitwise_and", a.bitwise_and, "bitwise_and_cpu", operator="and")
bitwise_or = _bits("bitwise_or", a.bitwise_or, "bitwise_or_cpu", operator="or")
bitwise_xor = _bits("bitwise_xor", a.bitwise_xor, "bitwise_xor_cpu", operator="xor")
bitwise_not = _bits("bitwise_not", a.invert, "bitwise_not_cpu", "input, *, out")
bitwise_left_shift = _bits("bitwise_left_shift", np.left_shift, "lshift_cpu", operator="lshift")
bitwise_right_shift = _bits("bitwise_right_shift", np.right_shift, "rshift_cpu", operator="rshift")
gcd = _bits("gcd", np.gcd, "gcd_cpu", PAIR)
lcm = _bits("lcm", np.lcm, "lcm_cpu", PAIR)
gcd_, lcm_ = in_place(gcd, lcm)


@operation("__invert__", "input", variants="method")
@requires("""
    not input.dtype.is_floating_point and (not input.dtype.is_complex): TypeError: ~
        (operator.invert) is only implemented on integer and Boolean-type tensors
""")
def _invert(input: Tensor) -> Tensor:
    """The complement of integers and booleans."""
    found: Tensor = bitwise_not(input)
    return found


NEXTAFTER = Zeroing(  # PyTorch's takes what is equal for one that stands still
    "nextafter", restated(pointwise.nextafter, lambda _, x, y: a.not_equal(x, y), 0)
)


nextafter = op(
    "nextafter", PAIR, core=NEXTAFTER, promote=common, node="Nextafter", remembers=False,
    refuses={"biuc": "nextafter_cpu"},
    doc="The next number after `input` in the direction of `other`.",
)  # fmt: skip


# ------------------------------------------------------------------------------------ tests


def _test(name: str, core: Callable[[Any], Any], refusal: str = "") -> Function[Tensor]:
    return op(name, "input", core=core, promote=same, variants="method", remembers=False,
              refuses={"c": RuntimeError(refusal)} if refusal else None,
              doc=f"`{name}` of each element, as booleans.")  # fmt: skip


def _infinite(x: Array, compare: Callable[..., Array]) -> Array:
    return a.logical_and(a.isinf(x), compare(x, 0))


NO_COMPLEX = "{} does not support complex inputs."
isnan = _test("isnan", a.isnan)
isinf = _test("isinf", a.isinf)
isfinite = _test("isfinite", a.isfinite)
isposinf = _test("isposinf", lambda x: _infinite(x, a.greater), NO_COMPLEX.format("isposinf"))
isneginf = _test("isneginf", lambda x: _infinite(x, a.less), NO_COMPLEX.format("isneginf"))
isreal = _test("isreal", lambda x: a.equal(a.imag(x), 0))
signbit = _test(
    "signbit",
    lambda x: a.signbit(x) if dtype_of(x).kind == "f" else a.less(x, 0),
    "signbit is not implemented for complex tensors.",
)


# --------------------------------------------------------------------------- nearly the same


CLOSE = "input, other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False"


@operation("isclose", CLOSE, variants="method", lies="operands")
def isclose(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, for each pair of elements."""
    x, y = input.content(), other.content()
    if dtype_of(x) != dtype_of(y):
        names = (dtypes.scalar_name(kind_of(v)) for v in (x, y))
        raise RuntimeError(" did not match ".join(names))
    for number, name in ((rtol, "rtol"), (atol, "atol")):
        if number < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {number:g}")
    return box(computed(_close, x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))


def _close(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    same = a.equal(x, y)
    if equal_nan and dtype_of(x).kind in "fc":
        same = a.logical_or(same, a.logical_and(a.isnan(x), a.isnan(y)))
    if rtol == 0 and atol == 0:
        return same
    gap = a.absolute(a.subtract(_wide(x), _wide(y)))
    limit = a.add(atol, a.absolute(a.multiply(rtol, _wide(y))))
    return a.logical_or(same, a.logical_and(a.isfinite(gap), a.less_equal(gap, limit)))


def _wide(x: Array) -> Array:
    return a.cast(x, np.float64) if dtype_of(x).kind in "biu" else x


def known(x: Array, what: str) -> Any:
    """The array behind a content, for what Python has to know."""
    if not concrete(x):
        raise unknown(x, what)
    return np.asarray(value(x))


def selected(x: Array, what: str) -> tuple[Array, ...]:
    """Where `x` is not 0: positions for each dimension.

    Under `jit` they are counted in the arguments at hand, and checked on every call.
    """
    t = x
    while isinstance(t, Tracer) and not t.abstract:
        t = t.value
    if concrete(x) or modes.stage is not None or isinstance(t, BatchTracer):
        return np.nonzero(np.atleast_1d(known(x, what)))
    line = x if type_of(x).shape else reshape(x, (1,))
    return positions(line, f"the number of elements that {what} selects")


@operation("allclose", CLOSE, variants="method")
def allclose(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Whether all pairs of elements are close."""
    found = isclose(input, other, rtol, atol, equal_nan)
    return bool(known(found._t, "allclose()").all())


@operation("equal", "input, other", variants="method")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    x, y = input.content(), other.content()
    if type_of(x).shape != type_of(y).shape:
        return False
    return bool(np.all(known(x, "equal()") == known(y, "equal()")))
