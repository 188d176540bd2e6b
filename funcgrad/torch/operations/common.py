"""What the families of operations share: results, axes, errors of shapes, methods, ``out=``.

An operation turns its operands into contents of one dtype (`promotion`), applies an operation of
the core under `computed` and boxes the result; the node that the root tape recorded is given
PyTorch's name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import Tracer, layout, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import outside
from funcgrad.kernels.choice import FEWEST
from funcgrad.kernels.copies import copy_of
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import copied as copied_in
from funcgrad.torch import flat
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.dimensions import axes_of, axis_of
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import in_single, is_narrow
from funcgrad.torch.nodes import GradNode, Pick, edge_of, keep_quietly, lacking
from funcgrad.torch.operations.promotion import Pending, dtype_of
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.settings import is_warn_always_enabled
from funcgrad.torch.staged import order_of_copy
from funcgrad.torch.storage import resize
from funcgrad.torch.writing import check_memory, check_mode, write

__all__ = [
    "axes_of",
    "axis_of",
    "boxed",
    "computed",
    "install",
    "into",
    "lacking",
    "narrow_or",
    "shape_of",
    "widened",
]

F = TypeVar("F", bound=Callable[..., Any])
NodeClass = type[GradNode]


def boxed(x: Array, node: NodeClass | None = None) -> Tensor:
    """A tensor of a result; the node that made it becomes one of PyTorch's."""
    if type(x) is RootTracer and node is not None:
        made = x.node
        if isinstance(made, GradNode):
            made.become(node)
            keep_quietly(made, x)
    return box(x)


def told(x: Tensor, **values: Any) -> Tensor:
    """`x`, with what its operation was called with told to its node, for users who look there."""
    t = x._t
    if type(t) is RootTracer and t.node is not None:
        edge_of(t.node)[0].told = values
    return x


def boxed_all(xs: Sequence[Array], node: NodeClass) -> tuple[Tensor, ...]:
    """Tensors of the outputs of one operation."""
    for x in xs:
        if type(x) is RootTracer and type(x.node) is Pick:
            made = x.node.parents[0]
            made.become(node)
            keep_quietly(made, None)
            break
    return tuple(map(box, xs))


def computed(core: Callable[..., Any], *xs: Any, **params: Any) -> Any:
    """``core(*xs)`` without NumPy's warnings, and with PyTorch's error of shapes."""
    narrow = False
    for x in xs:
        if type(x) is Pending:
            xs, core, params = _cast_inside(core, xs, params)
            break
        narrow = narrow or is_narrow(x)
    else:
        if narrow and core is not cast and not isinstance(core, Composite):
            core, params = NARROW, {"core": core, "params": params}
    if not modes.grad and modes.dual is None:
        prim = getattr(core, "primitive", core)
        least = min(flat.least(prim), flat.FEWEST) if isinstance(prim, Primitive) else flat.SMALL
        xs = tuple(_alone(x) if type(x) is np.ndarray and x.size >= least else x for x in xs)
    try:
        return _values(modes.silent.copy().run(core, *xs, **params))
    except ValueError as error:
        if type(error) is not ValueError or "broadcast" not in str(error):
            raise
        message = mismatch([type_of(x).shape for x in xs])
        if message is None:
            raise
        raise RuntimeError(message) from None


def _alone(x: Any) -> RootTracer:
    """A large array as the root tape has it: where nothing is recorded values are the same."""
    return ROOT.tracer(x, None)


def _values(made: Any) -> Any:
    """A result without the tracers of `_alone`."""
    if modes.grad or modes.dual is not None:
        return made
    if type(made) is tuple:
        return tuple(map(_values, made))
    return made.value if type(made) is RootTracer and made.node is None else made


def quietly(core: Callable[..., Any], *xs: Any, **params: Any) -> Any:
    """`computed` where NumPy also gives Python's warnings: the moments of too few elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return computed(core, *xs, **params)


def _cast_inside(core: Any, xs: Any, params: Any) -> Any:
    """An operation that casts its operands and is recorded as one."""
    dtypes = tuple(x.dtype if type(x) is Pending else None for x in xs)
    contents = [x.content if type(x) is Pending else x for x in xs]
    return contents, CASTING, {"core": core, "dtypes": dtypes, "params": params}


def _casting(*xs: Array, core: Any, dtypes: Any, params: Any) -> Array:
    return in_single(core)(
        *(x if d is None else cast(x, d) for x, d in zip(xs, dtypes, strict=True)), **params
    )


class Zeroing(Composite):
    """A function in which an operand without influence gets zeros instead of no gradient."""

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        found = super().vjp(node, g, quick)
        return [
            zeros_of(kind) if c is None and p is not None else c
            for c, p, kind in zip(found, node.parents, node.avals, strict=True)
        ]


CASTING = Zeroing("casting", _casting, keeps_dtype=True)
NARROW = Zeroing(
    "narrow", lambda *xs, core, params: in_single(core)(*xs, **params), keeps_dtype=True
)


HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)
# the dtypes in which PyTorch computes, where it is another one
WIDER: Mapping[np.dtype[Any], np.dtype[Any]] = {HALF: SINGLE}
RUNNING: Mapping[np.dtype[Any], np.dtype[Any]] = {  # the same for running sums and products
    HALF: SINGLE,
    SINGLE: np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def widened(
    core: Callable[..., Any], wider: Mapping[np.dtype[Any], np.dtype[Any]] = WIDER
) -> Callable[..., Any]:
    """`core`, computed in a wider dtype than that of the first operand, as PyTorch does it.

    Half precision overflows in a square of 300, and a sum of ones in it stops at 2048.
    """

    def function(*xs: Any, **params: Any) -> Any:
        narrow = dtype_of(xs[0])
        wide = wider.get(narrow)
        if wide is None:
            return core(*xs, **params)
        found = core(*(cast(x, wide) if dtype_of(x) == narrow else x for x in xs), **params)
        if isinstance(found, tuple):
            return tuple(cast(x, narrow) for x in found)
        return cast(found, narrow)

    return function


def narrow_or(
    name: str,
    core: Callable[..., Any],
    fixed: int = 0,
    wider: Mapping[np.dtype[Any], np.dtype[Any]] = WIDER,
    linear: bool = False,
) -> Callable[..., Any]:
    """`core`, a primitive: one node; for dtypes that are too narrow one with the casts around."""
    narrow = Composite(name, widened(core, wider), linear, fixed)

    def function(*xs: Any, **params: Any) -> Any:
        return (narrow if dtype_of(xs[0]) in wider else core)(*xs, **params)

    return function


def mismatch(all_shapes: Sequence[tuple[int, ...]]) -> str | None:
    """What does not fit together in shapes that are to be broadcast."""
    shapes = [s for s in all_shapes if s]
    if not shapes:
        return None
    a = shapes[0]
    for b in shapes[1:]:
        for back in range(1, min(len(a), len(b)) + 1):
            if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
                return (
                    f"The size of tensor a ({a[-back]}) must match the size of tensor b "
                    f"({b[-back]}) at non-singleton dimension {max(len(a), len(b)) - back}"
                )
        a = np.broadcast_shapes(a, b)
    return None


# ------------------------------------------------------------------------------------- axes


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a tensor or content."""
    content = x._t if isinstance(x, Tensor) else x
    if type(content) is RootTracer:
        shape: tuple[int, ...] = content.value.shape
        return shape
    return type_of(content).shape


SAID: set[str] = set()


def warn_once(text: str) -> None:
    """A warning that PyTorch gives the first time only, but for `set_warn_always`."""
    if modes.watching is not None:  # no recipe: it would say nothing in the next process
        modes.watching.append(text)
    if text not in SAID or is_warn_always_enabled():
        SAID.add(text)
        warnings.warn(text, UserWarning, stacklevel=outside())


# --------------------------------------------------------------------------- writing results

RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which does not "
    "match the required output shape {new}. This behavior is deprecated, and in a future PyTorch "
    "release outputs will not be resized unless they have zero elements. You can explicitly reuse "
    "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
)


def into(out: Tensor | None, result: Tensor, function: str = "") -> Tensor:
    """Write a result into ``out=``, which must not require grad."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"{function}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if modes.grad and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if type(out._t) is RootTracer:
        check_mode(out._t)
    if out.shape != result.shape:
        if out.numel():
            text = RESIZED.format(old=list(out.shape), new=list(result.shape))
            warnings.warn(text, UserWarning, stacklevel=outside())
        resize(out, tuple(result.shape))
    memory = getattr(out._t, "value", out._t)
    if type(memory) is np.ndarray:
        check_memory(memory)
    return write(out, result._t)


def into_each(outs: Any, results: Any, function: str) -> Any:
    """A tuple of results, written into the tensors of ``out=`` where they are given."""
    if outs is None:
        return results
    if len(outs) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(outs)}")
    written = [into(o, r, function) for o, r in zip(outs, results, strict=True)]
    return tuple(written) if type(results) is tuple else type(results)(*written)


# ----------------------------------------------------------------------------------- methods


def install(**methods: Any) -> None:
    """Give `Tensor` methods and properties."""
    for name, found in methods.items():
        setattr(Tensor, name, found)


def spread(x: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """`x` in a dtype, repeated to a shape."""
    from funcgrad.ops.shape import broadcast_to

    return broadcast_to(cast(x, dtype), shape)


def zeros_of(kind: ArrayType) -> Any:
    """Zeros of a type."""
    return np.zeros(kind.shape, kind.dtype)[()]


def copied(x: Array) -> Array:
    """`x` in memory of its own."""
    return COPY(x)


def _copy(x: Array) -> Array:
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size >= FEWEST:
        return copy_of(x)
    if not isinstance(x, Tracer):
        return np.array(x, order=order_of_copy(x))[()]
    lying = layout(x)
    return x if np.asarray(lying).flags.c_contiguous else copied_in(x, order_of_copy(lying))


COPY = Composite("copy", _copy, linear=True)


def traced(x: Array) -> bool:
    """Whether a content belongs to a transform, and has no memory of its own."""
    return isinstance(x, Tracer) and type(x) is not RootTracer
