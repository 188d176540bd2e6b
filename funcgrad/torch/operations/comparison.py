"""Comparison, logic, bits and tests of each element. The results are booleans or integers."""

from __future__ import annotations

from collections.abc import Callable
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
from funcgrad.torch.contents import unknown
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import (
    Zeroing,
    boxed,
    computed,
    inplace,
    install,
    into,
    method,
    named,
)
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    kind_of,
    promoted,
    wrong_type,
)
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.writing import check_overlap, check_writable, write
from funcgrad.transforms.batch import BatchTracer

__all__ = [
    "allclose", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "eq", "equal", "gcd", "ge", "greater", "greater_equal",
    "gt", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lcm", "le",
    "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne",
    "nextafter", "not_equal", "signbit",
]  # fmt: skip


def _changing(function: Callable[..., Tensor], name: str) -> Any:
    """In place, a result of any dtype is written: it is cast to that of the tensor."""

    def changed(self: Tensor, *args: Any) -> Tensor:
        check_writable(self)
        for given in args:
            if isinstance(given, Tensor):
                check_overlap(self, given)
        found = a.cast(function(self, *args)._t, dtype_of(self._t))
        return write(self, found)

    changed.__name__ = changed.__qualname__ = name
    changed.__doc__ = f"`{function.__name__}`, in place."
    return changed


def _given(name: str, function: Any, changed: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    install(**{name: function, f"{name}_": changed(function, f"{name}_")})
    return function


def _compare(name: str, core: Callable[..., Any], ordered: bool = False) -> Any:
    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        content(input, name)
        if not isinstance(other, (Tensor, *NUMBERS)):
            wrong_type(name, "other", 2, "Tensor", other)
        x, y = promoted(name, input, other)
        if ordered:
            refuse_kinds(f"{name}_cpu", "c", x)
        return into(out, box(computed(core, x, y)), name)

    function.__doc__ = f"`{name}` of each pair of elements, as booleans."
    return _given(name, function, _changing)


eq = _compare("eq", a.equal)
ne = _compare("ne", a.not_equal)
lt = _compare("lt", a.less, True)
le = _compare("le", a.less_equal, True)
gt = _compare("gt", a.greater, True)
ge = _compare("ge", a.greater_equal, True)
not_equal, less, less_equal = ne, lt, le
greater, greater_equal = gt, ge
for _name, _function in (
    ("not_equal", ne), ("less", lt), ("less_equal", le), ("greater", gt), ("greater_equal", ge),
):  # fmt: skip
    install(**{_name: _function, f"{_name}_": _changing(_function, f"{_name}_")})


def _logical(name: str, core: Callable[..., Any]) -> Any:
    def function(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        x, y = content(input, name), content(other, name, "other", 2)
        return into(out, box(computed(core, x, y)), name)

    function.__doc__ = f"`{name}` of each pair of elements, as booleans."
    return _given(name, function, _changing)


logical_and = _logical("logical_and", a.logical_and)
logical_or = _logical("logical_or", a.logical_or)
logical_xor = _logical("logical_xor", a.logical_xor)


def _bits(name: str, core: Callable[..., Any], kernel: str, refused: str = "fc") -> Any:
    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        x, y = promoted(name, input, other)
        refuse_kinds(kernel, refused, x)
        if isinstance(core, np.ufunc):
            x, y = known(x, f"{name}()"), known(y, f"{name}()")
        return into(out, box(computed(core, x, y)), name)

    function.__doc__ = f"`{name}` of each pair of integers or booleans."
    return _given(name, function, inplace)


bitwise_and = _bits("bitwise_and", a.bitwise_and, "bitwise_and_cpu")
bitwise_or = _bits("bitwise_or", a.bitwise_or, "bitwise_or_cpu")
bitwise_xor = _bits("bitwise_xor", a.bitwise_xor, "bitwise_xor_cpu")
bitwise_left_shift = _bits("bitwise_left_shift", np.left_shift, "lshift_cpu", "bfc")
bitwise_right_shift = _bits("bitwise_right_shift", np.right_shift, "rshift_cpu", "bfc")
gcd = _bits("gcd", np.gcd, "gcd_cpu", "bfc")
lcm = _bits("lcm", np.lcm, "lcm_cpu", "bfc")


def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number after `input` in the direction of `other`."""
    content(input, "nextafter")
    x, y = promoted("nextafter", input, other)
    refuse_kinds("nextafter_cpu", "biuc", x)
    result = boxed(computed(NEXTAFTER, x, y), named("NextafterBackward0"))
    return into(out, result, "nextafter")


NEXTAFTER = Zeroing("nextafter", pointwise.nextafter)


install(nextafter=nextafter, nextafter_=inplace(nextafter, "nextafter_"))


# ------------------------------------------------------------------------------------ tests


def _test(name: str, core: Callable[[Any], Any], refusal: str = "") -> Any:
    def function(input: Tensor) -> Tensor:
        x = content(input, name)
        if refusal and dtype_of(x).kind == "c":
            raise RuntimeError(refusal)
        return box(computed(core, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element, as booleans."
    setattr(Tensor, name, function)
    return function


isnan = _test("isnan", a.isnan)
isinf = _test("isinf", a.isinf)
isfinite = _test("isfinite", a.isfinite)
isposinf = _test(
    "isposinf",
    lambda x: a.logical_and(a.isinf(x), a.greater(x, 0)),
    "isposinf does not support complex inputs.",
)
isneginf = _test(
    "isneginf",
    lambda x: a.logical_and(a.isinf(x), a.less(x, 0)),
    "isneginf does not support complex inputs.",
)
isreal = _test("isreal", lambda x: a.equal(a.imag(x), 0))
signbit = _test(
    "signbit",
    lambda x: a.signbit(x) if dtype_of(x).kind == "f" else a.less(x, 0),
    "signbit is not implemented for complex tensors.",
)


def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`logical_not` of each element, as booleans."""
    return into(out, box(computed(a.logical_not, content(input, "logical_not"))), "logical_not")


def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complement of each integer or boolean."""
    x = content(input, "bitwise_not")
    refuse_kinds("bitwise_not_cpu", "fc", x)
    return into(out, box(computed(a.invert, x)), "bitwise_not")


install(logical_not=logical_not, logical_not_=_changing(logical_not, "logical_not_"))
install(bitwise_not=bitwise_not, bitwise_not_=inplace(bitwise_not, "bitwise_not_"))


# --------------------------------------------------------------------------- nearly the same


@method()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, for each pair of elements."""
    x, y = content(input, "isclose"), content(other, "isclose", "other", 2)
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
    return positions(x if type_of(x).shape else reshape(x, (1,)), what)


@method()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all pairs of elements are close."""
    found = isclose(input, other, rtol, atol, equal_nan)
    return bool(known(found._t, "allclose()").all())


@method()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    x, y = content(input, "equal"), content(other, "equal", "other", 2)
    if type_of(x).shape != type_of(y).shape:
        return False
    return bool(np.all(known(x, "equal()") == known(y, "equal()")))
