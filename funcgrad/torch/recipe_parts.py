"""What recipes are made of, whether they are written now or were kept by an earlier process.

Their text, the objects that it names at every call, and the native code that computes values and
cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import Params
from funcgrad.kernels.copies import copy_of
from funcgrad.kernels.products import may_multiply
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.product import MATMUL
from funcgrad.torch import flat, line_plans, lines
from funcgrad.torch._tensor import Link, Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.flat_plans import Pulls, value_plan
from funcgrad.torch.kept_code import kept
from funcgrad.torch.matrix_products import WITH_SUM
from funcgrad.torch.modes import modes
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.views import chained
from funcgrad.transforms.node import new, seq

__all__ = [
    "COMMON", "COMPUTED", "NATIVE_PULL", "TEMPLATE", "VIEWED", "OtherLayout", "Recipe",
    "Unsuitable", "kept_recipe", "laying", "lies", "native_code", "order_of",
]  # fmt: skip

Recipe = Callable[..., Tensor]


class Unsuitable(Exception):
    """The call is more than one operation, or something about it is not in a recipe."""


class OtherLayout(Unsuitable):
    """The result of the call was laid otherwise in memory than the operation gives it."""


def kept_recipe(key: str | None, tensors: Sequence[Tensor]) -> tuple[Tensor, Recipe] | None:
    """The recipe that an earlier process has kept, and what it gives; None if there is none."""
    found = kept(key)
    if found is None:
        return None
    scope = found.scope
    arrays = [np.asarray(x._t.value) for x in tensors]
    args = zip(scope["args"], scope["places"], strict=True)
    xs = [a if k is None else arrays[k] for a, k in args]
    try:
        native, objects = native_code(scope["prim"], xs, scope["params"], arrays)
    except Unsuitable:
        return None
    if (native, objects.get("plan") is not None) != scope["native"]:
        return None
    scope |= COMMON | objects | {"kind": None, "laid": laying(scope["order"])}
    exec(found.code, scope)
    if "Base" in scope:
        scope["HotNode"].__name__ = scope["Base"].__name__
    record: Recipe = scope["record"]
    made: Any = record(*tensors)
    if made is None or lies(made._t.value) != scope["lies"]:
        return None
    scope["kind"] = made._t.kind = ROOT.kind_of(made._t.value)
    return made, record


def native_code(
    prim: Any, xs: Sequence[Any], params: Params, arrays: Sequence[Any]
) -> tuple[bool, dict[str, Any]]:
    """Whether native code of the facade's own computes the operation, and what calls it."""
    native = lines if prim in lines.VALUES else flat
    if native.value(prim, xs, params) is not None:
        if native is flat:
            plan = value_plan(prim, xs, params)
            return True, {"value_of": flat.value, "pull_of": Pulls(numbers=True), "plan": plan}
        row = line_plans.value_plan(prim, xs, params)
        return True, {"value_of": lines.value, "pull_of": line_plans.Pulls(), "plan": row}
    if any(a.size >= flat.FEWEST for a in arrays) and _is_native(prim, arrays):
        raise Unsuitable
    return False, {}


def _is_native(prim: Any, arrays: Sequence[Any]) -> bool:
    """Whether other native code computes the operation, or its derivative, for large tensors."""
    if prim is MATMUL or prim is ADDMM:  # cotangents may be where the product is not
        x, y = arrays[-2:]
        return may_multiply(x, y, None if prim is MATMUL else WITH_SUM)
    if isinstance(prim, Composite):
        return not prim.linear
    return prim.backward_kernel is not None and not isinstance(prim, Elementwise)


COMMON: dict[str, Any] = {
    "modes": modes, "new": new, "seq": seq, "RootTracer": RootTracer, "Tensor": Tensor,
    "Link": Link, "chained": chained, "ndarray": np.ndarray, "copy_of": copy_of,
}  # fmt: skip
TEMPLATE = """
class HotNode(Base):
    __slots__ = ()
    hot, keeps = True, {keeps}
    prim, params, avals, line, extra = prim, params, avals, None, None
    {constant}
    def pull_quick(self, cts, g):
        {pull}

"""

COMPUTED = """
def forward({values}):
    {forward}

def record({tensors}):
    {read}
    {results} = modes.silent.copy().run(forward, {values})
    if out is None:
        return None
    r = RootTracer()
    r.value = {shown}
    r.kind = kind
    r.held_version = None
    {node}
    x = new(Tensor)
    x._t = r
    x._grad = x._link = None
    return x
"""

NATIVE_PULL = (
    "found = pull_of(self, g)",
    "if found is None:",
    "    Base.pull_quick(self, cts, g)",
    "else:",
    "    self.send(cts, found)",
)

VIEWED = """
def record(x0):
    t0 = x0._t
    a0, version = t0.value, t0.held_version
    if version is None:
        version = t0.version
    if type(a0) is not ndarray or version.inference:
        return None
    r = RootTracer()
    r.value = read(a0)
    r.kind = kind
    r.held_version = version
    {node}
    x = new(Tensor)
    x._t = r
    x._grad = None
    link = x0._link
    if link is None:
        x._link = Link(x0, read, refusal, version.so_far)
    else:
        x._link = Link(
            link.base, chained(link.read, read), refusal or link.refusal, version.so_far
        )
    return x
"""


def order_of(x: Any) -> tuple[int, ...]:
    """The axes of an array, the outermost in memory first."""
    return tuple(sorted(range(np.ndim(x)), key=lambda k: -x.strides[k]))


def laying(order: Sequence[int]) -> Callable[[Any], Any]:
    """What lays an array so that its axes are in an order."""

    def laid(out: Any) -> Any:
        return np.ascontiguousarray(out.transpose(order)).transpose(np.argsort(order))

    return laid


def lies(x: Any) -> tuple[Any, ...]:
    """The dtype, shape and layout of a value, and whether it is an array."""
    array = np.asarray(x)
    return array.dtype, array.shape, array.strides, type(x) is np.ndarray
