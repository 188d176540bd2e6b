"""`pure_callback`: a function of arrays that is called as it is, when the numbers are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import each_lane
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import CallbackError, NotDifferentiableError, located
from funcgrad.ops.shape import every_lane, reshape
from funcgrad.transforms.abstract import abstract
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.results import handed_back

__all__ = ["pure_callback"]

METHODS = (None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all")


class _Call:
    """A function of flat arrays, which checks what comes back; equal for the same function."""

    def __init__(self, f: Any, args: tree.TreeDef, out: tree.TreeDef, method: Any) -> None:
        self.f, self.args, self.out, self.method = f, args, out, method

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((id(self.f), self.method))

    def _key(self) -> Any:
        return id(self.f), self.args, self.out, self.method

    def __call__(self, types: Sequence[ArrayType], xs: Sequence[Any]) -> tuple[Any, ...]:
        given = [_readable(x) for x in xs]
        args, kwargs = tree.unflatten(self.args, given)
        found, got = tree.flatten(self.f(*args, **kwargs))
        name = name_of(self.f)
        if got != self.out:
            raise CallbackError(
                located(
                    f"pure_callback: {name} returned the tree {got}; result_shape_dtypes say "
                    f"{self.out}"
                )
            )
        return tuple(_checked(x, t, name) for x, t in zip(found, types, strict=True))


def _readable(x: Any) -> Any:
    """An operand as the callback gets it: an array or number that it cannot write into."""
    if type(x) is not np.ndarray:
        return np.asarray(x)
    x = x.view()
    x.flags.writeable = False
    return x


def _checked(x: Any, aval: ArrayType, name: str) -> Any:
    made = np.asarray(x)
    if made.shape != aval.shape or not np.can_cast(made.dtype, aval.dtype, "same_kind"):
        raise CallbackError(
            located(
                f"pure_callback: {name} returned dtype {made.dtype} and shape {made.shape}; "
                f"result_shape_dtypes say {aval.dtype} and {aval.shape}"
            )
        )
    return np.array(made, aval.dtype)[()]  # what it returned may be its own, and change


class Callback(Primitive):
    """A call of a function that only knows arrays."""

    multiple = True

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return params["types"]

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        raise _no_rule(node.params)

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        raise _no_rule(params)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        method = params["call"].method
        if method is None:
            raise NotDifferentiableError(
                located(
                    f"pure_callback of {name_of(params['call'].f)} is mapped by vmap, and nothing "
                    "says how: give vmap_method='sequential' (one call for each example), "
                    "'expand_dims' or 'broadcast_all' (one call with an axis of examples in front)"
                )
            )
        if method.startswith("sequential"):
            return each_lane(self, size, xs, batched, params)
        if method == "broadcast_all":
            whole = every_lane(size, xs, batched)
        else:
            whole = [
                x if b else reshape(x, (1, *type_of(x).shape))
                for x, b in zip(xs, batched, strict=True)
            ]
        types = tuple(ArrayType((size, *t.shape), t.dtype) for t in params["types"])
        return bind(self, whole, {**params, "types": types})


def _no_rule(params: Params) -> NotDifferentiableError:
    return NotDifferentiableError(
        located(
            f"pure_callback of {name_of(params['call'].f)} has no derivative: nobody sees what it "
            "computes; call it in a function with custom_vjp or custom_jvp that states one, or "
            "take stop_gradient of its arguments"
        )
    )


CALLBACK = Callback("pure_callback", lambda *xs, call, types: call(types, xs))


@boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function that only knows NumPy's arrays, also under `jit` and `vmap`.

    Parameters
    ----------
    callback : callable
        Gets arrays that it cannot write into, and returns arrays, or a tree of them. It has to be a
        pure function: it may be called any number of times, or not at all.
    result_shape_dtypes : tree of `ShapeDtypeStruct`
        What it returns; or arrays of these shapes and dtypes.
    *args, **kwargs
        Its arguments: trees of arrays.
    vmap_method : {"sequential", "expand_dims", "broadcast_all"}, optional
        What `vmap` does: one call for each example, or one with an axis of all examples in front of
        each argument, which has extent 1 ("expand_dims") or is repeated ("broadcast_all") where an
        argument is the same for all. Results have that axis. Without it, `vmap` is an error.

    Returns
    -------
    tree of arrays

    Raises
    ------
    NotDifferentiableError
        It is differentiated: state a rule with `custom_vjp` or `custom_jvp` around it. It is
        mapped, and there is no `vmap_method`.
    CallbackError
        It returned other trees, shapes or dtypes than `result_shape_dtypes` say.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.custom_jvp
    ... def sine(x):
    ...     return fg.pure_callback(lambda a: np.sin(a), fg.ShapeDtypeStruct(x.shape, x.dtype), x)
    >>> @sine.defjvp
    ... def _(primals, tangents):
    ...     return sine(*primals), np.cos(primals[0]) * tangents[0]
    >>> fg.jit(fg.grad(lambda x: sine(x).sum()))(np.zeros(2))
    array([1., 1.])
    """
    if vmap_method not in METHODS:
        raise ValueError(
            located(f"pure_callback: vmap_method is one of {METHODS}, not {vmap_method!r}")
        )
    leaves, definition = leaves_of((args, kwargs), ("the arguments", callback))
    shapes, out = tree.flatten(result_shape_dtypes)
    avals = [abstract(s) for s in shapes]
    types = tuple(ArrayType(k.shape, k.dtype) for k in avals)
    call = _Call(callback, definition, out, vmap_method)
    found = bind(CALLBACK, leaves, {"call": call, "types": types})
    return handed_back(out, found)
