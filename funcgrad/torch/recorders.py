"""The hot paths of tensors: elementwise operations on floating point tensors that are not huge.

As on the core's tapes (`transforms.recorders`), what ``x * y`` does is written out once for each
operation and each set of operands that require grad, and nothing is decided while it runs. It
serves tensors of one kind (a floating dtype and a shape, see `RootTape.kind_of`) and Python
numbers, while operations are recorded; everything else takes the general path, which gives the
same results and nodes. For all but small tensors what is costly calls native code (see `flat`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.forms import Elementwise
from funcgrad.core.tracer import EMPTY
from funcgrad.graph.straight import Straight
from funcgrad.torch import flat, flat_plans
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.flat_plans import Pulls
from funcgrad.torch.kept_code import Kept, compiled, keep, kept, key_of
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import GradNode
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.transforms.node import new, seq
from funcgrad.transforms.recorders import quick_pull

__all__ = ["binary", "bookkeeping", "suits", "unary"]

Record = Callable[..., Tensor]
ABSENT = object()
NodeClass = type[GradNode]

TEMPLATE = """
class HotNode(Base):
    __slots__ = ()
    hot, keeps = True, {keeps}
    prim, params, avals, line, extra = prim, EMPTY, None, None, None
    {constant}
{pull}

def record(call, t, u):
    a, b = t.value, {other}
    r = RootTracer()
    {value}
    r.held_version = None
    {node}
    x = new(Tensor)
    x._t = r
    x._grad = x._link = None
    return x
"""

PULL = """    quick = True
    def pull_quick(self, cts, g):
        out, a, b = self.saved
        p, q = self.parents
{pull}
"""

VALUE = """
    r.value = out = {call}(ufunc, a, b)
    r.kind = t.kind.made
"""

NATIVE = """
    out = (plans.get(t.kind) or planned(plans, t.kind, prim, (a, b)))(a, b)
    if out is None:
        out = native(prim, (a, b), EMPTY)
    r.value = out = {call}(ufunc, a, b) if out is None else out
    r.kind = kind_of(out)
"""

NATIVE_PULL = """    def pull_quick(self, cts, g):
        found = pull_of(self, g)
        if found is None:
            Base.pull_quick(self, cts, g)
        else:
            self.send(cts, found)
"""

ROUNDED = """        if c.dtype is not g.dtype:
            c = c.astype(g.dtype)
"""

NODE = """
    node = r.node = HotNode()
    node.parents = {parents}
    {fields}
    node.seq = next(seq)
"""


def _write(prim: Any, mask: int, number: bool, base: NodeClass, native: bool) -> Record:
    """The recorder for operands of `mask` that require grad; the second may be a number.

    With `native` both passes are calls of native code, else NumPy's and lines of the rule.
    """
    about = "recorder", prim.name, mask, number, base.__name__, base.saved_names, native
    key = key_of(*about) if prim.is_ours else None
    found = kept(key)
    if found is None:
        text, straight = _text(prim, mask, number, base, native)
        found = Kept(compiled(text, prim.name), straight.scope)
        keep(key, *found, straight.origins)
    # of powers Python's operator knows squares and roots
    ufunc = prim.impl if prim.impl is operator.pow else prim.ufunc
    scope = found.scope | {"prim": prim, "ufunc": ufunc, "modes": modes, "new": new, "seq": seq}
    scope |= {"RootTracer": RootTracer, "Tensor": Tensor, "EMPTY": EMPTY}
    scope |= {"Base": base, "native": flat.value, "kind_of": ROOT.kind_of}
    scope |= {"plans": {}, "planned": _never if number else _planned, "pull_of": Pulls(False)}
    exec(found.code, scope)
    scope["HotNode"].__name__ = base.__name__
    made: Record = scope["record"]
    return made


def _text(
    prim: Any, mask: int, number: bool, base: NodeClass, native: bool
) -> tuple[str, Straight]:
    """The program of a recorder, and what it names."""
    count = prim.ufunc.nin
    pull, straight = quick_pull(prim, mask)
    if number and callable(prim.partials[0]):  # of a Python number it may be a float64
        pull = pull.replace("        cts[p]", ROUNDED + "        cts[p]", 1)
    tensors = ["t"] if number or count == 1 else ["t", "u"]
    numbers = ["None"] * (count - len(tensors))
    flags = prim.saved_flags(mask, count)
    tracers = [*tensors, *[None] * len(numbers)]
    fields, constant = bookkeeping(base, tracers, ["a", "b"][:count], flags)
    node = NODE.format(
        parents=_listed([f"{t}.node" for t in tensors] + numbers), fields="\n    ".join(fields)
    )
    # where Python code runs, finalizers may run that compute with tensors, too
    call = "call" if isinstance(prim.ufunc, np.ufunc) else "modes.silent.copy().run"
    text = TEMPLATE.format(
        pull=NATIVE_PULL if native else PULL.format(pull=pull or "        ..."),
        value=(NATIVE if native else VALUE).format(call=call).strip(),
        other="u" if number else "u.value",
        node=node.strip() if mask else "r.node = None",
        constant="\n    ".join(constant),
        keeps=any(flags),
    )
    if count == 1:
        text = (
            text.replace("record(call, t, u)", "record(call, t)")
            .replace("(ufunc, a, b", "(ufunc, a")
            .replace("prim, (a, b)", "prim, (a,)")
            .replace("))(a, b)", "))(a)")
        )
        text = text.replace("a, b = t.value, u.value", "a = t.value")
        text = text.replace("p, q =", "p, =").replace("out, a, b = self", "out, a = self")
    return text, straight


def _planned(plans: dict[Any, Any], kind: Any, prim: Any, xs: Any) -> Any:
    """The native code for operands of a kind, prepared; and kept, if there are not too many."""
    found = flat_plans.value_plan(prim, xs, EMPTY) or _unprepared
    if len(plans) < flat.VARIANTS:
        plans[kind] = found
    return found


def _never(plans: dict[Any, Any], kind: Any, prim: Any, xs: Any) -> Any:
    return _unprepared


def _unprepared(*_: Any) -> None:
    """Where each call has to be looked at."""


def bookkeeping(
    base: NodeClass, tracers: Sequence[str | None], values: Sequence[str], flags: Sequence[bool]
) -> tuple[list[str], list[str]]:
    """What fills a node, and what is the same for all nodes of its class.

    Each operand is a tracer or (None) a number, with its value; `flags` say what is saved of the
    output `out` and the operands. The versions of what PyTorch saves, too, are watched; of the
    rest the node shall have a copy should it be written.
    """
    names = (*base.saved_names, *("",) * len(values))
    kept = ["out" if flags[0] else "None"]
    kept += [v if f else "None" for v, f in zip(values, flags[1:], strict=True)]
    watched = [t if flags[k + 1] and names[k + 1] else None for k, t in enumerate(tracers)]
    fields = {
        "saved": _listed(kept),
        "origins": _listed([t or "None" for t in watched]),
        "counts": (COUNTS.format(*watched) if all(watched) and len(watched) == 2 else "")
        + _listed([COUNT.format(t) if t else "0" for t in watched]),
        "made": "(r.version, 0)" if flags[0] and names[0] else "None",
    }
    varying = {
        "saved": any(flags), "origins": any(flags), "counts": any(watched),
        "made": flags[0] and names[0],
    }  # fmt: skip
    text = [f"node.{name} = {value}" for name, value in fields.items() if varying[name]]
    quiet = [("r", 0)] if flags[0] and not names[0] else []
    quiet += [(t, k + 1) for k, t in enumerate(tracers) if t and flags[k + 1] and not names[k + 1]]
    text += [f"{t}.version.kept_by(node, {slot})" for t, slot in quiet]
    return text, [f"{name} = {value}" for name, value in fields.items() if not varying[name]]


COUNT = "0 if {0}.held_version is None else {0}.held_version.so_far"
COUNTS = "(0, 0) if {0}.held_version is None and {1}.held_version is None else "


def _listed(items: list[str]) -> str:
    return f"({', '.join(items)},)"


def suits(op: Any) -> bool:
    """Whether the operation is elementwise and has a derivative."""
    prim = getattr(op, "primitive", None)
    return isinstance(prim, Elementwise) and prim.differentiable


def unary(op: Any, node: NodeClass, general: Any, recorders: list[Record | None]) -> Any:
    """A function that records `op` of a tensor on the hot path, or else calls `general`.

    What is written out for its four cases is put into `recorders`, which several functions share.
    """
    prim = op.primitive
    costly = flat.costly(prim)
    flat.HOT.add(prim)

    def function(input: Any = ABSENT, /, *args: Any, **kwargs: Any) -> Tensor:
        try:
            call = modes.hot
            if call is not None and isinstance(input, Tensor) and not args and not kwargs:
                t, link = input._t, input._link
                if (
                    type(t) is RootTracer
                    and (kind := t.kind) is not None
                    and (link is None or link.seen == t.held_version.so_far)
                ):
                    mask = (t.node is not None) + 2 * (costly and kind.large)
                    return (recorders[mask] or written(mask))(call, t)
            given = args if input is ABSENT else (input, *args)
            made: Tensor = general(*given, **kwargs)
            return made
        except Exception as error:
            hide_frames(error)
            raise

    def written(mask: int) -> Record:
        record = recorders[mask] = _write(prim, mask & 1, False, node, mask >= 2)
        return record

    return function


def binary(op: Any, node: NodeClass, general: Any, tensors: bool = True) -> Any:
    """As `unary`, of a tensor and a Python number or, with `tensors`, a tensor of its kind."""
    prim = op.primitive
    costly = flat.costly(prim)
    flat.HOT.add(prim)
    recorders: list[Record | None] = [None] * 12

    def dunder(x: Tensor, y: Any) -> Any:
        try:
            call, t, link = modes.hot, x._t, x._link
            if call is None or type(t) is not RootTracer or (kind := t.kind) is None:
                return general(x, y)
            if link is not None and link.seen != t.held_version.so_far:
                return general(x, y)
            large = 6 if costly and kind.large else 0
            if isinstance(y, Tensor):
                if tensors:
                    u, link = y._t, y._link
                    if (
                        type(u) is RootTracer
                        and u.kind is kind
                        and (link is None or link.seen == u.held_version.so_far)
                    ):
                        if t.node is None:
                            mask = 0 if u.node is None else 2
                        else:
                            mask = 1 if u.node is None else 3
                        mask += large
                        return (recorders[mask] or written(mask))(call, t, u)
            elif type(y) is float or type(y) is int:
                mask = large + (4 if t.node is None else 5)
                return (recorders[mask] or written(mask))(call, t, y)
            return general(x, y)
        except Exception as error:
            hide_frames(error)
            raise

    def written(mask: int) -> Record:
        case = mask % 6
        record = recorders[mask] = _write(prim, case & 3, case >= 4, node, mask >= 6)
        return record

    return dunder
