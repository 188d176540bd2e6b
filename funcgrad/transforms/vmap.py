"""`vmap`: a function of one example made a function of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.tracer import Tracer, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import BatchSizeError, located
from funcgrad.ops.shape import broadcast_to, moveaxis
from funcgrad.transforms.arguments import integer, leaves_of, lower, name_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.results import apart, handed_back
from funcgrad.transforms.transformed import transformed

__all__ = ["vmap"]

Function = Callable[..., Any]


def vmap(
    f: Function, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Function:
    """`f` applied to every example along an axis of its arguments, without a loop.

    Parameters
    ----------
    f : callable
        A function of one example; trees in, trees out.
    in_axes : int, None or tree
        Which axis of each positional argument runs over the examples; None: the same for all. A
        tuple or list gives one entry for each argument, each may be a tree prefix of it.
    out_axes : int, None or tree
        Where the axis goes in the output; a tree prefix of it.
    axis_size : int, optional
        The number of examples, needed only where no argument is mapped.

    Returns
    -------
    callable

    Raises
    ------
    BatchSizeError
        No argument is mapped, the mapped axes differ in size, or an axis is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    @transformed(vmap, f, in_axes, out_axes, axis_size)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, definition = leaves_of((args, kwargs), f"the arguments of {name_of(f)}")
        axes = _input_axes(in_axes, args, kwargs)
        size = _common_size(leaves, axes, axis_size, f)
        with Batch(size) as trace:
            mapped = [
                x if axis is None else trace.argument(moveaxis(x, axis, 0))
                for x, axis in zip(leaves, axes, strict=True)
            ]
            new_args, new_kwargs = tree.unflatten(definition, mapped)
            out = f(*new_args, **new_kwargs)
            outputs, out_definition = leaves_of(out, f"the output of {name_of(f)}")
            wanted = _prefix(out_axes, out, "out_axes")
            results = [_finish(o, axis, trace, f) for o, axis in zip(outputs, wanted, strict=True)]
        return handed_back(out_definition, apart(results, leaves))

    return wrapped


def _input_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise ValueError(
                located(
                    f"vmap: in_axes has {len(in_axes)} entries, but there are {len(args)} "
                    "positional arguments; give one entry for each"
                )
            )
        given: Any = tuple(in_axes)
    else:
        given = (in_axes,) * len(args)
    axes = [a for g, arg in zip(given, args, strict=True) for a in _prefix(g, arg)]
    return axes + [0 for _ in tree.leaves(kwargs)]


def _prefix(axes: Any, value: Any, what: str = "in_axes") -> list[int | None]:
    """One axis for each leaf of `value`."""
    found = tree.flatten_prefix(axes, value, none_is_leaf=True)
    return [a if a is None else integer(a, f"vmap: {what} must be integers or None") for a in found]


def _common_size(
    leaves: Sequence[Array], axes: Sequence[int | None], axis_size: int | None, f: Function
) -> int:
    sizes = []
    for x, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        shape = type_of(x).shape
        if not -len(shape) <= axis < len(shape):
            raise BatchSizeError(
                located(
                    f"vmap of {name_of(f)}: axis {axis!r} of in_axes is out of range for an "
                    f"argument of shape {shape}"
                )
            )
        sizes.append(shape[axis])
    if axis_size is not None:
        sizes.append(integer(axis_size, "vmap: axis_size must be an integer"))
        if sizes[-1] < 0:
            raise BatchSizeError(
                located(f"vmap of {name_of(f)}: axis_size={axis_size} is negative")
            )
    if not sizes:
        raise BatchSizeError(
            located(f"vmap of {name_of(f)}: no argument is mapped; give axis_size")
        )
    if len(set(sizes)) > 1:
        raise BatchSizeError(
            located(f"vmap of {name_of(f)}: the mapped axes have different sizes {sizes}")
        )
    return sizes[0]


def _finish(out: Any, axis: int | None, trace: Batch, f: Function) -> Any:
    x = operand(out)
    mine = isinstance(x, Tracer) and x.owner is trace
    whole = lower(x, trace)
    if axis is None:
        if mine:
            raise ValueError(
                located(f"vmap of {name_of(f)}: out_axes is None for an output that is mapped")
            )
        return whole
    rank = type_of(whole).ndim + (not mine)
    if not -rank <= axis < rank:
        raise BatchSizeError(
            located(
                f"vmap of {name_of(f)}: axis {axis!r} of out_axes is out of range for an output "
                f"of {rank} axes, the mapped one among them"
            )
        )
    if not mine:
        whole = broadcast_to(whole, (trace.size, *type_of(whole).shape))
    return moveaxis(whole, 0, axis)
