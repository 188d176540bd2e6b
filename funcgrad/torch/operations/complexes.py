"""Complex tensors: parts, conjugates, angles, and what makes them of two real tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import transcendental as t
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.base_positions import as_complex, as_real
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, install, shape_of, warn_once
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import floats, in_place, node, op, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.slicing import select
from funcgrad.torch.views import make_view

__all__ = [
    "angle", "complex", "conj", "conj_physical", "conj_physical_", "imag", "polar", "real",
    "resolve_conj", "resolve_neg", "view_as_complex", "view_as_real",
]  # fmt: skip

# ------------------------------------------------------------------------- views as real


AS_REAL = Composite("view_as_real", as_real, linear=True, shows_operand=True)
AS_COMPLEX = Composite("view_as_complex", as_complex, linear=True, shows_operand=True)


@operation("view_as_real", "input", variants="")
def view_as_real(input: Tensor) -> Tensor:
    """A view of a complex tensor in which the two parts are the last dimension."""
    kind = dtype_of(input.content())
    if kind.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    part = np.zeros((), kind).real.dtype
    return make_view(
        input, lambda v: v[..., None].view(part), lambda c: AS_REAL(c), "ViewAsRealBackward0"
    )


@operation("view_as_complex", "input", variants="")
def view_as_complex(input: Tensor) -> Tensor:
    """A view of a real tensor whose last dimension holds the two parts."""
    kind = kind_of(input.content())
    shape = shape_of(input)
    if not kind.is_floating_point or kind is dtypes.bfloat16:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {dtypes.scalar_name(kind)}"
        )
    if not shape or shape[-1] != 2:
        raise RuntimeError(
            "Tensor must have a last dimension of size 2"
            if shape
            else "Input tensor must have one or more dimensions"
        )
    whole = kind.to_complex().numpy
    return make_view(
        input, lambda v: v.view(whole)[..., 0], lambda c: AS_COMPLEX(c), "ViewAsComplexBackward0"
    )


@operation("real", "input", variants="")
def real(input: Tensor) -> Tensor:
    """The real part: a view; a real tensor is its own."""
    if dtype_of(input.content()).kind != "c":
        return input
    return select(view_as_real(input), -1, 0)


@operation("imag", "input", variants="")
def imag(input: Tensor) -> Tensor:
    """The imaginary part: a view."""
    if dtype_of(input.content()).kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(input), -1, 1)


def _set_part(part: Any) -> Any:
    def write(self: Tensor, value: Any) -> None:
        part(self).copy_(value)

    return write


install(real=property(real, _set_part(real)), imag=property(imag, _set_part(imag)))


# ------------------------------------------------------------------------------ conjugates


CONJ, CONJ_PHYSICAL = node("Conj", of="conjugate"), node("ConjPhysical")


@operation("conj", "input", variants="method")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    x = input.content()
    return boxed(computed(a.conjugate, x), CONJ) if dtype_of(x).kind == "c" else input


@operation("conj_physical", "input, *, out")
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own."""
    x = input.content()
    return boxed(computed(a.conjugate, x), CONJ_PHYSICAL) if dtype_of(x).kind == "c" else input


(conj_physical_,) = in_place(conj_physical)


@operation("resolve_conj", "input", variants="method")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: its conjugate has memory of its own from the start."""
    return input


@operation("resolve_neg", "input", variants="method")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself."""
    return input


@requires("""
    rank(self) >= 2: tensor.adjoint() is only supported on matrices or batches of matrices. Got
        {rank(self)}-D tensor.
""")
def _adjoint(self: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    return conj(self.transpose(-2, -1))


def _hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if len(shape_of(self)) not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(shape_of(self))}-D "
            "tensor." + (" For batches of matrices, consider using tensor.mH"
                         if len(shape_of(self)) > 2 else "")
        )  # fmt: skip
    if shape_of(self):
        return conj(self.transpose(-2, -1))
    warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    return conj(self)


adjoint = _adjoint
install(adjoint=adjoint, mH=property(_adjoint), H=property(_hermitian))


# ------------------------------------------------------------------------------- two parts


def _angle(x: Array) -> Array:
    if dtype_of(x).kind == "c":
        return t.arctan2(a.imag(x), a.real(x))
    flat = a.where(a.less(x, 0), np.pi, a.where(a.isnan(x), np.nan, 0.0))
    return a.add(a.multiply(a.where(a.isfinite(x), x, 0.0), 0.0), a.cast(flat, dtype_of(x)))


ANGLE = Composite("angle", _angle)
angle = op("angle", "input, *, out", core=ANGLE, promote=floats, node="Angle", saves="self",
           variants="method")  # fmt: skip


def _parts(_: str, first: Tensor, second: Tensor) -> Sequence[Array]:
    """Two real floating operands of one dtype."""
    x, y = first.content(), second.content()
    kinds = [kind_of(v) for v in (x, y)]
    if any(not k.is_floating_point or k is dtypes.bfloat16 for k in kinds):
        names = " and ".join(dtypes.scalar_name(k) for k in kinds)
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names}"
        )
    if kinds[0] is not kinds[1]:
        named = [dtypes.scalar_name(k) for k in kinds]
        raise RuntimeError(
            f"Expected object of scalar type {named[0]} but got scalar type {named[1]} for second "
            "argument"
        )
    return x, y


def _polar(size: Array, turn: Array) -> Array:
    return a.from_parts(a.multiply(size, t.cos(turn)), a.multiply(size, t.sin(turn)))


POLAR = Composite("polar", _polar)
complex = op(
    "complex", "real, imag, *, out", core=a.from_parts, promote=_parts, node=node("Complex"),
    variants="", remembers=False, doc="A complex tensor of its two parts.",
)  # fmt: skip
polar = op(
    "polar", "abs, angle, *, out", core=POLAR, promote=_parts, node="Polar", saves="result",
    variants="", remembers=False, doc="A complex tensor of its absolute value and angle.",
)  # fmt: skip
