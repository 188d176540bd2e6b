"""`vmap`: a function of one example made a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Tracer, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import BatchSizeError, RandomnessError, located
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import broadcast_to, moveaxis, stack
from funcgrad.transforms.arguments import integer, is_integer, leaves_of, lower, name_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.captures import walked
from funcgrad.transforms.deferred import applied
from funcgrad.transforms.random_draws import SharedDraws
from funcgrad.transforms.results import apart, handed_back, untraced
from funcgrad.transforms.signatures import P, R
from funcgrad.transforms.transformed import transformed

__all__ = ["over_rows", "vmap"]

Function = Callable[..., Any]


def vmap(
    f: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    *,
    randomness: str = "error",
) -> Callable[P, R]:
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
    axis_name : hashable, optional
        A name for the axis, by which `lax.psum`, `lax.axis_index` and their kin within `f` find it.
    axis_size : int, optional
        The number of examples, needed only where no argument is mapped.
    randomness : {"error", "same", "different"}
        Whether all examples share the random numbers that `f` draws, of `numpy.random` or of a
        generator, or each has its own. With "different", `f` is called once for each example.

    Returns
    -------
    callable

    Raises
    ------
    BatchSizeError
        No argument is mapped, the mapped axes differ in size, or an axis is out of range.
    RandomnessError
        `f` draws random numbers, and `randomness` does not say for whom.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    if randomness not in _RANDOMNESS:
        raise ValueError(
            located(f"vmap: randomness is one of {', '.join(_RANDOMNESS)}, not {randomness!r}")
        )
    sources: list[tuple[list[Any], bool]] = []  # of random numbers, once they were looked for

    @transformed(vmap, f, in_axes, out_axes, axis_name, axis_size, randomness=randomness)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, definition = leaves_of((args, kwargs), ("the arguments", f))
        axes = _input_axes(in_axes, args, kwargs)
        size = _common_size(leaves, axes, axis_size, f)
        call = _Call(f, leaves, definition, axes, out_axes, axis_name)
        if randomness == "different" and size:
            return handed_back(*call.one_by_one(size))
        draws = None
        if randomness == "error":
            if not sources:
                reached = walked(f)
                sources.append((reached.generators, reached.random))
            draws = SharedDraws(*sources[0])
        made, results = call.mapped(size)
        if draws is not None and draws.happened():
            raise RandomnessError(
                located(
                    f"vmap of {name_of(f)}: random numbers were drawn, which all examples would "
                    'share; say randomness="same" if they shall, randomness="different" for '
                    "numbers of their own, or draw outside and map over the numbers"
                )
            )
        return handed_back(made, results)

    return wrapped


def over_rows(f: Function, rows: Array) -> Any:
    """What ``vmap(f, randomness="same")(rows)`` gives, for callers inside of transforms."""
    leaves, definition = tree.flatten(((rows,), {}))
    return handed_back(*_Call(f, leaves, definition, (0,), 0).mapped(type_of(rows).shape[0]))


_RANDOMNESS = ("error", "same", "different")


class _Call(NamedTuple):
    """One call of a mapped function."""

    f: Function
    leaves: Sequence[Array]  # of the arguments
    definition: tree.TreeDef
    axes: Sequence[int | None]
    out_axes: Any
    name: Any = None  # of the axis

    def mapped(self, size: int) -> tuple[tree.TreeDef, list[Array]]:
        """The tree and the leaves of the output, without a loop."""
        with Batch(size, self.name) as trace:
            outputs, definition, wanted = self._outputs(
                lambda x, axis: trace.argument(moveaxis(x, axis, 0)),
                trace,
            )
            results = [
                _finish(o, axis, trace, self.f) for o, axis in zip(outputs, wanted, strict=True)
            ]
        return definition, apart(results, [*self.leaves, *untraced(outputs)])

    def one_by_one(self, size: int) -> tuple[tree.TreeDef, list[Array]]:
        """The same with a call for each example."""
        rows = []
        for k in range(size):
            outputs, definition, wanted = self._outputs(functools.partial(_example, k))
            rows.append(outputs)
        results = []
        for column, axis in zip(zip(*rows, strict=True), wanted, strict=True):
            whole = stack(column)
            results.append(moveaxis(whole, 0, _checked(axis, type_of(whole).ndim, self.f)))
        return definition, results

    def _outputs(
        self, example: Callable[[Array, int], Array], trace: Batch | None = None
    ) -> tuple[list[Array], tree.TreeDef, list[int | None]]:
        """What `f` returns for examples, as leaves, and the axis that each of them shall get."""
        given = [
            x if axis is None else example(x, axis % type_of(x).ndim)
            for x, axis in zip(self.leaves, self.axes, strict=True)
        ]
        args, kwargs = tree.unflatten(self.definition, given)
        if trace is None or trace.name is not None:  # collectives look for the axis itself
            out = self.f(*args, **kwargs)
        else:
            out = applied(self.f, args, kwargs, trace)
        outputs, definition = leaves_of(out, ("the output", self.f))
        return outputs, definition, _prefix(self.out_axes, out, "out_axes")


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
    return axes + [0 for _ in tree.leaves(kwargs)] if kwargs else axes


def _prefix(axes: Any, value: Any, what: str = "in_axes") -> list[int | None]:
    """One axis for each leaf of `value`."""
    if type(axes) is int:  # the hot case
        return [axes] * (1 if type(value) is np.ndarray else tree.structure(value).size)
    found = tree.flatten_prefix(axes, value, is_leaf=lambda x: x is None)
    for axis in found:
        if axis is not None and not is_integer(axis):
            text = f"vmap: axis {axis!r} of {what} is neither an integer nor None"
            raise BatchSizeError(located(text))
    return [a if a is None else int(a) for a in found]


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


def _example(k: int, x: Array, axis: int) -> Array:
    """One example, which the function may write into, as it may into one of many."""
    found = getitem(x, (slice(None),) * axis + (k,))
    return found.copy() if isinstance(found, np.ndarray) else found


def _finish(out: Any, axis: int | None, trace: Batch, f: Function) -> Any:
    x = operand(out)
    mine = isinstance(x, Tracer) and x.owner is trace
    whole = lower(x, trace)
    if axis is None and not mine:
        return whole
    axis = _checked(axis, type_of(whole).ndim + (not mine), f)
    if not mine:
        whole = broadcast_to(whole, (trace.size, *type_of(whole).shape))
    return moveaxis(whole, 0, axis)


def _checked(axis: int | None, rank: int, f: Function) -> int:
    """The axis that an output of so many axes, the mapped one among them, shall get."""
    if axis is None:
        raise ValueError(
            located(f"vmap of {name_of(f)}: out_axes is None for an output that is mapped")
        )
    if not -rank <= axis < rank:
        raise BatchSizeError(
            located(
                f"vmap of {name_of(f)}: axis {axis!r} of out_axes is out of range for an output "
                f"of {rank} axes, the mapped one among them"
            )
        )
    return axis
