"""What the functions of `scipy.linalg` share: how SciPy is called, and how its results lie.

Values are those of SciPy's own functions. Where SciPy loops over a stack of matrices, so does the
record, by calling it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.layout import in_order, standard
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import located
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.matrices import as_float
from funcgrad.ops.shape import broadcast_to, every_lane

__all__ = ["as_lapack", "lapack_lies", "loops", "revalued", "sized", "square_matrix", "stacked"]

_NARROW = {"e": np.float32, "g": np.float64, "G": np.complex128}


def as_lapack(x: Any) -> Array:
    """`x` in one of the four dtypes of LAPACK, as SciPy converts it."""
    x = as_float(operand(x))
    narrow = _NARROW.get(type_of(x).dtype.char)
    return x if narrow is None else cast(x, narrow)


def square_matrix(x: Any, name: str, convert: Callable[[Any], Array] = as_lapack) -> Array:
    """`x` as `as_lapack` gives it; an error in SciPy's class where it is not square."""
    x = convert(x)
    shape = type_of(x).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(located(f"{name}: the matrix has to be square, it has the shape {shape}"))
    return x


def _each(function: Callable[..., Any], given: Any, params: Any) -> Any:
    """`function` of each of the stacked matrices, which broadcast; it may give several results."""
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in given))
    whole = [np.broadcast_to(x, lead + x.shape[-2:]) for x in given]
    made = [function(*(x[at] for x in whole), **params) for at in np.ndindex(lead)]
    several = isinstance(made[0], tuple)
    stacks = [np.stack(m) for m in (zip(*made, strict=True) if several else [made])]
    found = tuple(s.reshape(*lead, *s.shape[1:]) for s in stacks)
    return found if several else found[0]


def stacked(function: Callable[..., Any], like: int = -1) -> Callable[..., Any]:
    """`function` of matrices as one of stacks of them, which broadcast.

    The result has the shape of the operand `like`.
    """

    def of_stacks(*given: Any, **params: Any) -> Any:
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in given))
        if 0 in lead:
            return np.empty(lead + given[like].shape[-2:], np.result_type(*given))
        return _each(function, given, params) if lead else function(*given, **params)

    return of_stacks


TAKES_STACKS = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 16)


def loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that loops over stacks since SciPy 1.16, and here before."""
    return function if TAKES_STACKS else stacked(function)


def by_lanes(record: Any, size: int, xs: Any, batched: Any, params: Any) -> Any:
    """The batching of a record whose rules want the same leading axes of all operands."""
    return bind(record, every_lane(size, xs, batched), params)


def same_stacks(*xs: Array) -> list[Array]:
    """Matrices of one dtype, broadcast to the same leading axes."""
    dtype = np.result_type(*(type_of(x).dtype for x in xs))
    lead = np.broadcast_shapes(*(type_of(x).shape[:-2] for x in xs))
    return [broadcast_to(cast(x, dtype), (*lead, *type_of(x).shape[-2:])) for x in xs]


def lapack_lies(prim: Any, ask: Any, types: Any, params: Any, out: Any) -> Any:
    """As SciPy lays out what it computes of diagonal matrices; stacks in C order."""
    outs = out if prim.multiple else (out,)
    if any(len(t.shape) > 2 for t in types):
        found = tuple(map(standard, outs))
        return found if prim.multiple else found[0]
    given = (
        np.asarray(_harmless(t.shape, t.dtype), order="F" if ask(k).flags.fnc else "C")
        for k, t in enumerate(types)
    )
    made = prim.impl(*given, **params)
    made = made if prim.multiple else (made,)
    found = tuple(
        in_order(t.shape, t.dtype, m) if len(t.shape) == 2 else standard(t)
        for t, m in zip(outs, made, strict=True)
    )
    return found if prim.multiple else found[0]


def _harmless(shape: tuple[int, ...], dtype: Any) -> Any:
    """Half an identity, which every factorisation and equation takes."""
    return (0.5 * np.eye(shape[0], shape[1])).astype(dtype)


def sized(record: Any, value: Callable[..., Any]) -> Callable[..., Any]:
    """`value`, also of stacks of no matrices, which SciPy refuses."""

    def impl(*xs: Any, **params: Any) -> Any:
        if any(0 in np.shape(x)[:-2] for x in xs):
            out = record().type_rule([type_of(x) for x in xs], params)
            made = tuple(
                np.empty(t.shape, t.dtype) for t in (out if type(out) is tuple else (out,))
            )
            return made if record().multiple else made[0]
        if any(len(np.shape(x)) > 2 for x in xs) and not TAKES_STACKS:
            return _each(value, xs, params)
        return value(*xs, **params)

    return impl


def revalued(
    prim: Explicit,
    name: str,
    value: Callable[..., Any],
    samples: Callable[[], list[Sample]] | None = None,
    stacks: bool = True,
    double: bool = False,
) -> Explicit:
    """A record with the rules of `prim` and SciPy's values.

    `stacks`: SciPy takes stacks. `double`: it gives double precision, whatever it is given.
    """

    def type_rule(*types: ArrayType, **params: Any) -> Any:
        out = prim.type_rule(types, params)
        return ArrayType(out.shape, np.result_type(out.dtype, np.float64)) if double else out

    made: Explicit = explicit(
        f"scipy_{name}",
        sized(lambda: made, value),
        type_rule=type_rule,
        vjp=prim.vjp_rule,
        jvp=prim.jvp_stated,
        batch=(lambda *given: by_lanes(made, *given)) if stacks else None,
        multiple=prim.multiple,
        unread=prim.unread,
        both=prim.both,
        sample=samples or prim.sample,
        form=type(prim),
    )
    for name in ("symmetric", "along"):
        if hasattr(prim, name):
            setattr(made, name, getattr(prim, name))
    made.lies = lapack_lies
    return made
