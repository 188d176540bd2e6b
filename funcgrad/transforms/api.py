"""The transforms of reverse and forward mode: `grad`, `vjp`, `jvp`, `linearize` and their kin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import ArrayType, is_inexact
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.arguments import (
    check_matches,
    check_scalar,
    float0,
    leaves_of,
    lower,
    name_of,
    own,
    select,
)
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.reverse import Tape, backward, transpose_linear, verify

__all__ = ["grad", "hvp", "jvp", "linearize", "stop_gradient", "value_and_grad", "vjp"]

Function = Callable[..., Any]


def value_and_grad(
    f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function:
    """A function that returns the value of `f` and its gradient.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, anything)`` with `has_aux`.
    argnums : int or sequence of int, optional
        The positional argument(s) to differentiate: trees of floating point or complex arrays.
    has_aux : bool, optional
        `f` returns a second value, which is handed through.

    Returns
    -------
    callable
        Called as `f`; returns ``(value, gradient)``, or ``((value, aux), gradient)``. The value is
        that of ``f(…)`` bit for bit. The gradient has the tree, shapes and dtypes of the
        argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools.
    NonScalarOutputError
        `f` returns anything but a real scalar.

    Notes
    -----
    Reverse mode: the cost is a small multiple of that of `f`, whatever the size of the argument.
    For a complex argument the gradient is ∂f/∂x − i ∂f/∂y (JAX's convention).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        wanted = select(argnums, args, f, "grad")
        name = name_of(f)
        flat = [leaves_of(args[k], f"argument {k} of {name}", True) for k in wanted]
        aux = None
        with Tape() as tape:
            inputs = [[tape.input(x) for x in leaves] for leaves, _ in flat]
            nodes = [t.node for group in inputs for t in group]
            new_args = list(args)
            for k, group, (_, definition) in zip(wanted, inputs, flat, strict=True):
                new_args[k] = tree.unflatten(definition, group)
            out = f(*new_args, **kwargs)
            if has_aux:
                out, aux = _pair(out, f)
                aux = tree.map(lambda x: lower(x, tape), aux)
            kind = check_scalar(out, f, "grad")
            node = _node_of(out, tape)
            value = lower(out, tape)
        verify(tape.watches)
        found = [None] * len(nodes) if node is None else backward([(node, _one(kind))], nodes)
        gradient = _gather(found, flat)
        result = gradient if isinstance(argnums, (tuple, list)) else gradient[0]
        return ((value, aux), result) if has_aux else (value, result)

    return wrapped


def grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of `f`; see `value_and_grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _one(kind: ArrayType) -> Any:
    return kind.dtype.type(1)


def _pair(out: Any, f: Function) -> tuple[Any, Any]:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(f"with has_aux=True, {name_of(f)} has to return a pair (value, aux)")
    return out[0], out[1]


def _node_of(x: Any, tape: Tape) -> Any:
    inner = x.content() if hasattr(x, "content") else x
    return inner.node if isinstance(inner, Tracer) and inner.owner is tape else None


def _gather(found: Sequence[Any], flat: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents as trees, one for each group of leaves."""
    leaves = [x for group, _ in flat for x in group]
    whole = own([_zeros_like(x) if c is None else c for c, x in zip(found, leaves, strict=True)])
    out, at = [], 0
    for group, definition in flat:
        out.append(tree.unflatten(definition, whole[at : at + len(group)]))
        at += len(group)
    return tuple(out)


def _zeros_like(x: Any) -> Any:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)[()] if is_inexact(kind.dtype) else _no_tangent(kind)


def _no_tangent(kind: ArrayType) -> Any:
    return np.zeros(kind.shape, float0)


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `f` and the function that pulls cotangents back.

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays.
    *primals
        Its arguments: trees of arrays. Integer leaves get cotangents of dtype ``float0``.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.

    Returns
    -------
    output, pull[, aux]
        ``pull(cotangent)`` takes a tree like `output` and returns a tuple of trees like `primals`.
        It may be called several times.

    Raises
    ------
    CotangentError
        The cotangent has another tree, shape or dtype than the output.
    MutatedCaptureError
        A large array that is still needed was changed between `vjp` and `pull`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> y, pull = fg.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pull(np.ones(2))
    (array([2., 4.]),)
    """
    flat = [leaves_of(p, f"argument {k} of {name_of(f)}") for k, p in enumerate(primals)]
    aux = None
    with Tape() as tape:
        inputs = [
            [tape.input(x) if is_inexact(type_of(x).dtype) else x for x in leaves]
            for leaves, _ in flat
        ]
        args = [tree.unflatten(d, xs) for xs, (_, d) in zip(inputs, flat, strict=True)]
        nodes = [_node_of(t, tape) for group in inputs for t in group]
        out = f(*args)
        if has_aux:
            out, aux = _pair(out, f)
            aux = tree.map(lambda x: lower(x, tape), aux)
        outputs, definition = leaves_of(out, f"the output of {name_of(f)}")
        roots = [_node_of(o, tape) for o in outputs]
        # own buffers: what is saved for `pull` must not change with what is returned
        values = [_fresh(lower(o, tape)) for o in outputs]
    types = [type_of(v) for v in values]
    primal_types = [([_no_value(x) for x in leaves], d) for leaves, d in flat]

    def pull(cotangent: Any) -> tuple[Any, ...]:
        cts = check_matches(cotangent, definition, types, "the cotangent")
        verify(tape.watches)
        pairs = [
            (root, _as_cotangent(c, kind))
            for root, c, kind in zip(roots, cts, types, strict=True)
            if root is not None and c is not None
        ]
        wanted = [n for n in nodes if n is not None]
        found = iter(own(backward(pairs, wanted), [c for _, c in pairs]))
        return _gather([None if n is None else next(found) for n in nodes], primal_types)

    result = (tree.unflatten(definition, values), pull)
    return (*result, aux) if has_aux else result


class _Stand(Tracer):
    """Remembers the type of a primal and nothing of its value."""

    __slots__ = ("kind",)
    kind: ArrayType

    @property
    def type(self) -> ArrayType:
        return self.kind


def _no_value(x: Any) -> Any:
    stand = _Stand()
    stand.kind = type_of(x)
    return stand


def _fresh(x: Any) -> Any:
    return x.copy("K") if type(x) is np.ndarray else x


def _as_cotangent(c: Any, kind: ArrayType) -> Any:
    """A cotangent in the dtype of its value."""
    return cast(c, kind.dtype)


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of `f` and its derivative along `tangents`, in forward mode.

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays.
    primals, tangents : tuple
        The arguments and the direction: trees of the same structure, shapes and dtypes.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.

    Returns
    -------
    output, tangent[, aux]

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes primals and tangents as tuples, one item for each argument")
    leaves, definition = leaves_of(tuple(primals), "the primals")
    types = [type_of(x) for x in leaves]
    ts = check_matches(tuple(tangents), definition, types, "the tangent")
    aux = None
    with Forward() as trace:
        duals = [
            x if t is None else DualTracer(_fresh(x), trace, cast(t, kind.dtype))
            for x, t, kind in zip(leaves, ts, types, strict=True)
        ]
        out = f(*tree.unflatten(definition, duals))
        if has_aux:
            out, aux = _pair(out, f)
            aux = tree.map(lambda x: lower(x, trace), aux)
        outputs, out_definition = leaves_of(out, f"the output of {name_of(f)}")
        moved = [
            o.tangent if isinstance(o, DualTracer) and o.owner is trace else None for o in outputs
        ]
        values = [lower(o, trace) for o in outputs]
    moved = own(
        [_zeros_like(v) if t is None else t for v, t in zip(values, moved, strict=True)],
        [*ts, *values],
    )
    result = (tree.unflatten(out_definition, values), tree.unflatten(out_definition, moved))
    return (*result, aux) if has_aux else result


def linearize(f: Function, *primals: Any) -> tuple[Any, Function]:
    """The value of `f` and its derivative at `primals` as a linear function of tangents.

    `f` runs once; every call of the linear function costs about one backward pass.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> y, push = fg.linearize(lambda x: x**2, 3.0)
    >>> push(1.0), push(0.5)
    (np.float64(6.0), np.float64(3.0))
    """
    out, pull = vjp(f, *primals)
    outputs, definition = tree.flatten(out)
    types = [type_of(o) for o in outputs]
    primal_leaves, primal_definition = leaves_of(tuple(primals), "the primals")
    primal_types = [type_of(x) for x in primal_leaves]

    def push(*tangents: Any) -> Any:
        ts = check_matches(tuple(tangents), primal_definition, primal_types, "the tangent")
        chosen = [i for i, t in enumerate(types) if is_inexact(t.dtype)]
        cast_ts = [
            None if t is None else cast(t, k.dtype) for t, k in zip(ts, primal_types, strict=True)
        ]

        def flat_pull(*cts: Any) -> tuple[Any, ...]:
            given: list[Any] = [_no_tangent(t) for t in types]
            for i, c in zip(chosen, cts, strict=True):
                given[i] = c
            return tuple(tree.leaves(pull(tree.unflatten(definition, given))))

        found = transpose_linear(flat_pull, [types[i] for i in chosen], tuple(cast_ts))
        moved = [_no_tangent(t) for t in types]
        for i, t in zip(chosen, own(found), strict=True):
            moved[i] = t
        return tree.unflatten(definition, moved)

    return out, push


def hvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of the scalar function `f` at `primals` times `tangents`.

    Forward over reverse: about four times the cost of `f`, without the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    argnums = tuple(range(len(primals)))
    moved = jvp(grad(f, argnums), primals, tangents)[1]
    return moved[0] if len(moved) == 1 else moved


class StopGradient(Elementwise):
    """The identity, as an operation that is locally constant."""

    def __init__(self) -> None:
        super().__init__("stop_gradient", np.positive, lambda x: x, ())
        self.sample = lambda: [Sample((np.array([1.0, 2.0]),))]

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        found: ArrayType = types[0]
        return found


STOP_GRADIENT = StopGradient()


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: no derivative of any order passes.

    Parameters
    ----------
    x : tree of arrays

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, definition = leaves_of(x, "the argument of stop_gradient")
    return tree.unflatten(definition, [bind(STOP_GRADIENT, (leaf,)) for leaf in leaves])
