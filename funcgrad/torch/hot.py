"""The hot paths of tensors: elementwise operations on small floating point tensors.

As on the core's tapes (`transforms.hot`), what ``x * y`` does is written out once for each
operation and each set of operands that require grad, and nothing is decided while it runs. It
serves tensors of one kind (a floating dtype and a small shape, see `RootTape.kind_of`) and Python
numbers, while operations are recorded; everything else takes the general path, which gives the
same results and nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import EMPTY
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.root import ROOT, GradNode, RootTracer
from funcgrad.transforms.hot import quick_pull
from funcgrad.transforms.node import new, seq

__all__ = ["binary", "suits", "unary"]

Record = Callable[..., Tensor]
NodeClass = type[GradNode]

TEMPLATE = """
class HotNode(Base):
    __slots__ = ()
    hot = True
    def pull_quick(self, cts, g):
        out, a, b = self.saved
        p, q = self.parents
{pull}

def record(t, u):
    a, b = t.value, {other}
    out = modes.hot(ufunc, a, b)
    r = new(RootTracer)
    r.value = out
    r.owner = ROOT
    r.kind = t.kind
    r.held_version = None
    {node}
    x = new(Tensor)
    x._t = r
    x._grad = x._link = None
    return x
"""

NODE = """
    node = r.node = new(HotNode)
    node.prim = prim
    node.params = EMPTY
    node.fix = node.extra = node.line = None
    node.parents = {parents}
    node.saved = {saved}
    node.origins = {origins}
    node.counts = {counts}
    node.made = {made}
    node.seq = next(seq)
"""


def _write(prim: Any, mask: int, number: bool, base: NodeClass) -> Record:
    """The recorder for operands of `mask` that require grad; the second may be a number."""
    count = prim.ufunc.nin
    pull, scope = quick_pull(prim, mask)
    text = TEMPLATE.format(
        pull=pull or "        ...",
        other="u" if number else "u.value",
        node=_node_text(prim, mask, number, base) if mask else "r.node = None",
    )
    if count == 1:
        text = text.replace("record(t, u)", "record(t)").replace("ufunc, a, b", "ufunc, a")
        text = text.replace("a, b = t.value, u.value", "a = t.value")
        text = text.replace("p, q =", "p, =").replace("out, a, b = self", "out, a = self")
    scope |= {"prim": prim, "ufunc": prim.ufunc, "modes": modes, "new": new, "seq": seq}
    scope |= {"ROOT": ROOT, "RootTracer": RootTracer, "Tensor": Tensor, "EMPTY": EMPTY}
    scope["Base"] = base
    exec(compile(text, f"<funcgrad.torch {prim.name}>", "exec"), scope)
    scope["HotNode"].__name__ = base.__name__
    made: Record = scope["record"]
    return made


def _node_text(prim: Any, mask: int, number: bool, base: NodeClass) -> str:
    """What fills the node: its saved values, with the versions of those that PyTorch saves too."""
    count = prim.ufunc.nin
    flags = prim.saved_flags(mask, count)
    names = (*base.saved_names, "", "", "")
    tensors = ["t"] if number or count == 1 else ["t", "u"]
    watched = [t if flags[k + 1] and names[k + 1] else None for k, t in enumerate(tensors)]
    watched += [None] * (count - len(tensors))
    text = NODE.format(
        parents=_listed([f"{t}.node" for t in tensors] + ["None"] * (count - len(tensors))),
        saved=_listed([v if f else "None" for v, f in zip(("out", "a", "b"), flags, strict=False)]),
        origins=_listed([t or "None" for t in watched]),
        counts=_listed([COUNT.format(t) if t else "0" for t in watched]),
        made="(r.version, 0)" if flags[0] and names[0] else "None",
    )
    quiet = [("r", 0)] if flags[0] and not names[0] else []
    quiet += [(t, k + 1) for k, t in enumerate(tensors) if flags[k + 1] and not names[k + 1]]
    text += "".join(f"    {t}.version.kept_by(node, {slot})\n" for t, slot in quiet)
    return text.strip()


COUNT = "0 if {0}.held_version is None else {0}.held_version.count"


def _listed(items: list[str]) -> str:
    return f"({', '.join(items)},)"


def suits(op: Any) -> bool:
    """Whether the operation is elementwise, by a ufunc of NumPy, with a derivative."""
    prim = getattr(op, "primitive", None)
    if prim is None or not isinstance(getattr(prim, "ufunc", None), np.ufunc):
        return False
    return bool(prim.partials)


def unary(op: Any, node: NodeClass) -> Callable[[Any], Tensor | None]:
    """A function that records `op` of a tensor on the hot path, or gives None."""
    prim = op.primitive
    recorders: list[Record | None] = [None, None]

    def fast(x: Any) -> Tensor | None:
        if not isinstance(x, Tensor) or x._link is not None or not modes.hot:
            return None
        t = x._t
        if type(t) is not RootTracer or t.kind is None:
            return None
        mask = t.node is not None
        record = recorders[mask]
        if record is None:
            record = recorders[mask] = _write(prim, int(mask), False, node)
        return record(t)

    return fast


def binary(op: Any, node: NodeClass) -> Callable[[Any, Any], Tensor | None]:
    """As `unary`, of a tensor and a tensor of the same kind or a Python number."""
    prim = op.primitive
    recorders: list[Record | None] = [None] * 6

    def fast(x: Any, y: Any) -> Tensor | None:
        if x._link is not None or not modes.hot:
            return None
        t = x._t
        if type(t) is not RootTracer or (kind := t.kind) is None:
            return None
        if type(y) is float or type(y) is int:
            mask = 4 if t.node is None else 5
            return (recorders[mask] or written(mask))(t, y)
        if not isinstance(y, Tensor) or y._link is not None:
            return None
        u = y._t
        if type(u) is not RootTracer or u.kind is not kind:
            return None
        mask = (t.node is not None) | (u.node is not None) << 1
        return (recorders[mask] or written(mask))(t, u)

    def written(mask: int) -> Record:
        record = recorders[mask] = _write(prim, mask & 3, mask >= 4, node)
        return record

    return fast
