"""Functions of arrays that are called as they are, when the numbers are there.

`pure_callback` computes something; `io_callback` and `debug.callback` are called for what they do
outside, which is an effect (`graph.effects`): once for each time and example, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.effects import perform
from funcgrad.core.forms import each_lane
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Operand, bind, operand, running, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import CallbackError, EffectError, NotDifferentiableError, located
from funcgrad.ops.shape import every_lane, reshape
from funcgrad.transforms.abstract import abstract
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.results import handed_back
from funcgrad.transforms.signatures import P, R

__all__ = ["DEBUG", "act", "effect", "io_callback", "pure_callback"]

METHODS = (None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all")


class _Call:
    """A function of flat arrays, which checks what comes back; equal for the same function.

    `what` called it, and `fixed` are arguments that are no arrays, by their places.
    """

    def __init__(
        self,
        f: Any,
        args: tree.TreeDef,
        out: tree.TreeDef | None,
        method: Any = None,
        what: str = "pure_callback",
        fixed: tuple[tuple[int, Any], ...] = (),
    ) -> None:
        self.f, self.args, self.out, self.method = f, args, out, method
        self.what, self.fixed = what, fixed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((id(self.f), self.method))

    def _key(self) -> Any:
        fixed = tuple((k, id(x)) for k, x in self.fixed)
        return id(self.f), self.args, self.out, self.method, self.what, fixed

    def __repr__(self) -> str:
        return repr(name_of(self.f))

    @property
    def described(self) -> str:
        """What it is, for messages."""
        return f"{self.what} of {name_of(self.f)}"

    def __call__(self, types: Sequence[ArrayType], xs: Sequence[Any]) -> tuple[Any, ...]:
        given = [_readable(x) for x in xs]
        for k, x in self.fixed:
            given.insert(k, x)
        args, kwargs = tree.unflatten(self.args, given)
        found = self.f(*args, **kwargs)
        if self.out is None:
            return ()
        leaves, got = tree.flatten(found)
        name = f"{self.what}: {name_of(self.f)}"
        if got != self.out:
            raise CallbackError(
                located(f"{name} returned the tree {got}; result_shape_dtypes say {self.out}")
            )
        return tuple(_checked(x, t, name) for x, t in zip(leaves, types, strict=True))


def _readable(x: Any) -> Any:
    """An operand as the callback gets it: an array that it may keep and cannot write into.

    The memory of an operand is used again by what comes after it.
    """
    made = np.array(x)
    made.flags.writeable = False
    return made


def _checked(x: Any, aval: ArrayType, name: str) -> Any:
    made = np.asarray(x)
    if made.shape != aval.shape or not np.can_cast(made.dtype, aval.dtype, "same_kind"):
        raise CallbackError(
            located(
                f"{name} returned dtype {made.dtype} and shape {made.shape}; "
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
            f"{_described(params)} has no derivative: nobody sees what it "
            "computes; call it in a function with custom_vjp or custom_jvp that states one, or "
            "take stop_gradient of its arguments"
        )
    )


class Effect(Primitive):
    """A call that is seen from outside: it has the operands' values, and no derivative.

    Parameters are the `call`, the `types` of what it returns, the `lanes` of each `vmap` around
    it, the outermost first (the number of examples, and which operands have one for each), and
    whether it is `guarded`: by its first operand, which says whether it happens.
    """

    multiple = effect = True
    differentiable = False

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return params["types"]

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        if trace.linear:
            raise NotDifferentiableError(
                located(
                    f"{_described(params)} is given a tangent of a function that is transposed for "
                    "reverse mode: there is no number; call it in the rule of a custom_vjp"
                )
            )
        return self._below(trace.split(args)[1], params)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return self._below(trace.split(args)[0], params)

    def _below(self, xs: Sequence[Array], params: Params) -> Any:
        if params["call"].out is not None:
            raise _no_rule(params)
        return bind(self, xs, params)

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        types = tuple(ArrayType((trace.size, *t.shape), t.dtype) for t in params["types"])
        lanes = ((trace.size, tuple(batched)), *params["lanes"])
        found = bind(self, xs, {**params, "types": types, "lanes": lanes})
        return tuple(BatchTracer(o, trace) for o in found)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return _nothing(params) if running.silent else trace.append(self, args, params)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return bind(self, [trace.dense(a) for a in args], params)


def _run(*xs: Any, **params: Any) -> tuple[Any, ...]:
    if running.silent:
        return _nothing(params)
    found: tuple[Any, ...] = perform(lambda: _of_all(xs, params["lanes"], params))
    return found


def _of_all(xs: Sequence[Any], lanes: Sequence[Any], params: Params) -> tuple[Any, ...]:
    """One call after the other, for all examples of these `lanes`."""
    around = len(params["lanes"]) - len(lanes)
    types = [t._replace(shape=t.shape[around:]) for t in params["types"]]
    if lanes:
        (size, mapped), *rest = lanes
        rows = [
            _of_all([x[k] if m else x for x, m in zip(xs, mapped, strict=True)], rest, params)
            for k in range(size)
        ]
        made = [np.empty(t.shape, t.dtype) for t in types]
        for k, row in enumerate(rows):
            for whole, x in zip(made, row, strict=True):
                whole[k] = x
        return tuple(made)
    if params["guarded"]:
        held, *xs = xs
        if not held:
            return tuple(np.zeros(t.shape, t.dtype)[()] for t in types)
    call: _Call = params["call"]
    return call(types, xs)


def _nothing(params: Params) -> tuple[Any, ...]:
    """What an effect returns that does not happen again."""
    if params["call"].out is None:
        return ()
    raise EffectError(
        located(
            f"what {_described(params)} returns would have to be computed again for a derivative; "
            "call it outside of the function with a custom rule"
        )
    )


def _described(params: Params) -> str:
    call: _Call = params["call"]
    return call.described


CALLBACK = Callback("pure_callback", lambda *xs, call, types: call(types, xs))
IO, DEBUG = Effect("io_callback", _run), Effect("debug_callback", _run)


def act(prim: Primitive, what: str, f: Any, shapes: Any, args: Any, kwargs: Any) -> Any:
    """Call `f` for its effect; `shapes` are those of what it returns, None if that is dropped."""
    found, definition = tree.flatten((args, kwargs))
    arrays = [is_array(x) for x in found]
    leaves = [operand(x) for x, a in zip(found, arrays, strict=True) if a]
    fixed = tuple((k, x) for k, (x, a) in enumerate(zip(found, arrays, strict=True)) if not a)
    kinds, out = ([], None) if shapes is None else tree.flatten(shapes)
    types = tuple(ArrayType(k.shape, k.dtype) for k in map(abstract, kinds))
    call = _Call(f, definition, out, None, what, fixed)
    made = bind(prim, leaves, {"call": call, "types": types, "lanes": (), "guarded": False})
    return None if out is None else handed_back(out, made)


def is_array(x: Any) -> bool:
    """Whether an argument is an array or a number: all else is handed to the callback as it is."""
    if isinstance(x, np.ndarray):
        return not x.dtype.hasobject and x.dtype.kind not in "SUV"
    return isinstance(x, (Operand, int, float, complex, np.number, np.bool_))


def effect(function: Callable[P, R]) -> Callable[P, R]:
    """One that is given a function to call when the program runs: what that reads and changes is
    then no part of what was traced (`transforms.named_in_code`)."""
    vars(function)["is_effect"] = True
    return function


@effect
@boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function for what it does outside, and for what it returns, also under `jit`.

    It is called once each time that the program comes by, in the order of the program, under `vmap`
    for each example where an argument has one for each; never again where a derivative computes
    something again.

    Parameters
    ----------
    callback : callable
        Gets arrays that it cannot write into, and returns arrays, or a tree of them.
    result_shape_dtypes : tree of `ShapeDtypeStruct`, or None
        What it returns; or arrays of these shapes and dtypes. None: nothing.
    *args, **kwargs
        Its arguments: trees of arrays; what is no array is handed to it as it is.
    sharding, ordered
        Accepted for JAX's sake: calls are always ordered.

    Returns
    -------
    tree of arrays

    Raises
    ------
    NotDifferentiableError
        An argument is differentiated: take `stop_gradient` of it.
    CallbackError
        It returned other trees, shapes or dtypes than `result_shape_dtypes` say.
    EffectError
        What it returns would have to be computed again, by `checkpoint`.

    See Also
    --------
    pure_callback : of functions that may be called at any time.
    funcgrad.debug.callback : for functions that return nothing, also where they are differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> rows = iter(np.arange(6.0).reshape(3, 2))
    >>> f = fg.jit(lambda x: x * fg.io_callback(lambda: next(rows), np.zeros(2)))
    >>> f(10.0), f(10.0)
    (array([ 0., 10.]), array([20., 30.]))
    """
    return act(IO, "io_callback", callback, result_shape_dtypes, args, kwargs)


@boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
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
    sharding
        Accepted for JAX's sake.
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
