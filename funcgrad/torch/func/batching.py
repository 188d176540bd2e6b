"""`vmap` of functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.errors import TreeError
from funcgrad.ops.index import read
from funcgrad.ops.shape import broadcast_to, concatenate, moveaxis
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.func.arguments import structure_of, tensor_mask
from funcgrad.torch.func.writes import IN_VMAP, pairs, without_leaks, write_back
from funcgrad.torch.randomness import mapped
from funcgrad.transforms.arguments import lower, rebuild
from funcgrad.transforms.batch import Batch, BatchTracer

__all__ = ["vmap"]

Function = Callable[..., Any]
RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """`func` applied to every example along a dimension of its arguments, without a loop.

    Parameters
    ----------
    func : callable
        A function of one example; returns a tree of tensors.
    in_dims : int, None or tuple
        Which dimension of each positional argument runs over the examples, a tree prefix of the
        arguments; None: the same for all. Keyword arguments are never mapped.
    out_dims : int, None or tree
        Where the dimension goes in the output.
    randomness : {"error", "different", "same"}
        Whether random functions may be called, and whether all examples get the same numbers.
    chunk_size : int, optional
        How many examples are computed at once.

    Raises
    ------
    ValueError
        `in_dims` does not fit the arguments, sizes differ, nothing is mapped, or an output is no
        tensor.
    RuntimeError
        A random function is called with ``randomness="error"``.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.vmap(torch.dot)(torch.eye(2), torch.ones(2, 2))
    tensor([1., 1.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            call = Call(func, in_dims, out_dims, randomness, kwargs)
            leaves, dims, definition = call.inputs(args)
            size = _common_size(leaves, dims)
            if chunk_size is None or chunk_size >= size:
                result = rebuild(*call.run(leaves, dims, definition, size))
                call.write_back(args)
                return result
            parts = []
            for start in range(0, size, chunk_size):
                end = min(start + chunk_size, size)
                some = [x if d is None else _part(x, d, start, end)
                        for x, d in zip(leaves, dims, strict=True)]  # fmt: skip
                parts.append(call.run(some, dims, definition, end - start))
            call.write_back(args)
            return _joined(parts, call.output_dims)
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def _change(x: Tensor, old: Any, d: int | None, trace: Batch) -> Any:
    """The dimension and the examples of an argument that was written, else None."""
    if x._t is old or d is None:
        return None
    return d, moveaxis(lower(x._t, trace), 0, d)


def _part(x: Any, d: int, start: int, end: int) -> Any:
    return read(x, (*(slice(None),) * d, slice(start, end)))


def _joined(parts: Sequence[tuple[Any, Any]], dims: Sequence[int | None]) -> Any:
    definition = parts[0][0]
    columns = zip(*(outputs for _, outputs in parts), strict=True)
    return rebuild(
        definition,
        [xs[0] if d is None else concatenate(xs, d) for xs, d in zip(columns, dims, strict=True)],
    )


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return repr(func)


class Call:
    """One call of a mapped function."""

    def __init__(
        self, func: Function, in_dims: Any, out_dims: Any, randomness: str, kwargs: dict[str, Any]
    ) -> None:
        self.func, self.name, self.kwargs = func, _name(func), kwargs
        self.in_dims, self.out_dims, self.randomness = in_dims, out_dims, randomness
        self.output_dims: list[int | None] = []
        self.changes: list[list[Any]] = []  # of each run, what it wrote into its arguments
        for d in tree.leaves(out_dims):
            if not isinstance(d, int):
                raise ValueError(
                    f"vmap({self.name}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
                    "or a python collection of ints representing where in the outputs the vmapped "
                    "dimension should appear."
                )

    def inputs(self, args: tuple[Any, ...]) -> tuple[list[Any], list[int | None], Any]:
        """The leaves of the arguments, their mapped dimensions and the structure."""
        start = f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): "
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(
                f"{start}expected `in_dims` to be int or a (potentially nested) tuple matching the "
                f"structure of inputs, got: {type(self.in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
                "you are trying to vmap over a function with no inputs. The latter is unsupported."
            )
        leaves, definition = tree.flatten(args)
        try:
            dims = tree.flatten_prefix(self.in_dims, args, is_leaf=lambda x: x is None)
        except TreeError as error:
            raise ValueError(
                f"{start}in_dims is not compatible with the structure of `inputs`. in_dims has "
                f"structure {tree.structure(self.in_dims)} but inputs has structure "
                f"{structure_of(args)}."
            ) from error
        found = [
            self._checked(start, d, x, is_tensor)
            for d, x, is_tensor in zip(dims, leaves, tensor_mask(definition), strict=True)
        ]
        return leaves, found, definition

    def _checked(self, start: str, d: Any, x: Any, is_tensor: bool) -> int | None:
        if d is None:
            return None
        if not isinstance(d, int):
            raise ValueError(
                f"{start}Got in_dim={d} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not is_tensor:
            raise ValueError(
                f"{start}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot "
                "vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        n = type_of(x).ndim
        if not -n <= d < n:
            raise ValueError(
                f"{start}Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {n} so expected in_dim to satisfy -{n} <= in_dim < {n}."
            )
        return d % n

    def run(
        self, leaves: Sequence[Any], dims: Sequence[int | None], definition: Any, size: int
    ) -> tuple[Any, list[Any]]:
        """The structure and the leaves of the output."""
        with Batch(size) as trace, mapped(trace, self.randomness):
            given = [
                x if d is None else BatchTracer(moveaxis(x, d, 0), trace)
                for x, d in zip(leaves, dims, strict=True)
            ]
            inner = tree.unflatten(definition, given)
            places = {id(g): d for g, d in zip(given, dims, strict=True) if d is not None}
            mapped_ = [(x, x._t, places.get(id(x._t))) for _, x in pairs(inner, inner)]
            out = without_leaks(self.func, IN_VMAP)(*inner, **self.kwargs)
            self.changes.append([_change(*place, trace) for place in mapped_])
            if self.out_dims is not None and _holds_none(out):
                raise self._no_tensor(None)
            found, structure = tree.flatten(out)
            self.output_dims = self._dims_of_output(out)
            results = [
                self._finished(o, d, is_tensor, trace)
                for o, d, is_tensor in zip(
                    found, self.output_dims, tensor_mask(structure), strict=True
                )
            ]
        return structure, results

    def write_back(self, args: Any) -> None:
        """Write into the caller's tensors what the function wrote into its arguments."""
        for (x, _), found in zip(pairs(args, args), zip(*self.changes, strict=True), strict=True):
            if any(change is not None for change in found):
                d = next(change[0] for change in found if change is not None)
                parts = [content for _, content in found]
                write_back(x, parts[0] if len(parts) == 1 else concatenate(parts, d))

    def _no_tensor(self, o: Any) -> ValueError:
        return ValueError(
            f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type "
            f"{type(o)}. Did you mean to set out_dims= to None for output?"
        )

    def _dims_of_output(self, out: Any) -> list[int | None]:
        dims = self.out_dims
        if isinstance(out, Tensor) and isinstance(dims, tuple) and len(dims) == 1:
            return list(dims)
        try:
            return list(tree.flatten_prefix(dims, out, is_leaf=lambda x: x is None))
        except TreeError as error:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={dims})(<inputs>): out_dims is not compatible "
                f"with the structure of `outputs`. out_dims has structure {tree.structure(dims)} "
                f"but outputs has structure {structure_of(out)}."
            ) from error

    def _finished(self, o: Any, d: int | None, is_tensor: bool, trace: Batch) -> Any:
        mine = isinstance(o, Tracer) and o.owner is trace
        if d is None:
            if mine:
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when "
                    "out_dim is None"
                )
            return lower(o, trace)
        if not is_tensor:
            raise self._no_tensor(o)
        whole = lower(o, trace)
        if not mine:
            whole = broadcast_to(whole, (trace.size, *type_of(whole).shape))
            whole = whole if isinstance(whole, Tracer) else whole.copy()
        n = type_of(whole).ndim
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
        return moveaxis(whole, 0, d)


def _holds_none(out: Any) -> bool:
    """Whether there is a None in nested containers: in trees it is no leaf."""
    if isinstance(out, dict):
        out = tuple(out.values())
    return any(map(_holds_none, out)) if isinstance(out, (tuple, list)) else out is None


def _common_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [type_of(x).shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]
