"""`grad`, `vjp`, `jvp` and `linearize` of functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.core.boundary import bounded, hide_frames
from funcgrad.errors import CotangentError
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.duals import check_tangent
from funcgrad.torch.func.arguments import (
    Argnums,
    chosen,
    conjugated_tree,
    differentiable,
    finished,
    only_tensors,
    recording,
    replaced,
    structure_of,
    tensor_leaves,
    without_classes,
)
from funcgrad.torch.func.writes import pairs, write_back
from funcgrad.transforms.forward import DualTracer
from funcgrad.transforms.grad import evaluated
from funcgrad.transforms.jvp import pushforward
from funcgrad.transforms.linearize import linearized
from funcgrad.transforms.vjp import pullback

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of `func`.

    Parameters
    ----------
    func : callable
        Returns a tensor with one element and no dimensions, or ``(tensor, aux)`` with `has_aux`.
    argnums : int or tuple of int
        The arguments to differentiate: trees of tensors.
    has_aux : bool
        Whether a second value is handed through.

    Raises
    ------
    RuntimeError
        `func` returns no scalar tensor; `argnums` names no argument; an argument holds integers.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            gradient, value = both(*args, **kwargs)
            return (gradient, value[1]) if has_aux else gradient
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of `func` and its value; see `grad`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.grad_and_value(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))
    """

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            picked = chosen(args, argnums)
            differentiable(picked)

            def scalar(*moving: Any) -> Any:
                out = func(*replaced(args, argnums, moving), **kwargs)
                if has_aux:
                    out, extra = _with_aux(out, "grad_and_value(f)(*args)")
                    return _scalar(out), extra
                return _scalar(out)

            wanted = tuple(range(len(picked)))
            value, aux, gradient = evaluated(recording(scalar), wanted, has_aux, picked, {}, False)
            value, gradient = box(value), conjugated_tree(gradient)
            result = gradient[0] if isinstance(argnums, int) else gradient
            return finished((result, (value, aux) if has_aux else value))
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def _with_aux(out: Any, what: str) -> tuple[Any, Any]:
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return out[0], out[1]


def _scalar(out: Any) -> Tensor:
    if not isinstance(out, Tensor):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(out)}"
        )
    if out.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {out.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if out.dtype.is_complex:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
        )
    return out


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The output of `func` and the function that pulls cotangents back.

    Parameters
    ----------
    func : callable
        Returns a tree of tensors.
    *primals : trees of Tensors
    has_aux : bool
        Whether `func` returns ``(output, aux)``.

    Returns
    -------
    output, vjp_fn[, aux]
        ``vjp_fn(cotangent)`` takes a tree like `output` and returns a tuple, one item for each
        primal. It may be called several times, also under `vmap`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> y, pull = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> pull(torch.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    differentiable(primals)

    def checked(*xs: Any) -> Any:
        out = func(*xs)
        aux = None
        if has_aux:
            out, aux = _with_aux(out, "vjp(f, *primals)")
        _check_outputs(out)
        return (out, aux) if has_aux else out

    found = pullback(recording(checked), primals, has_aux, marks=False)
    out, pull = found[:2]
    structure = structure_of(out)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> Any:
        try:
            given = structure_of(cotangents)
            if given != structure:
                raise RuntimeError(
                    "Expected pytree structure of cotangents to be the same as pytree structure of "
                    f"outputs to the function. cotangents: {given}, primal output: {structure}"
                )
            return finished(conjugated_tree(pull(conjugated_tree(without_classes(cotangents)))))
        except Exception as error:
            hide_frames(error)
            raise

    return (finished(out), vjp_fn, *map(finished, found[2:]))


def _check_outputs(out: Any) -> None:
    leaves = tensor_leaves(out)
    if not leaves:
        raise RuntimeError(
            "vjp(f, *primals): Expected f to be a function that has non-empty output (got output = "
            f"{leaves})"
        )
    for o in leaves:
        if not isinstance(o, Tensor):
            raise RuntimeError(
                "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported "
                f"type {type(o)}"
            )
        if not (o.is_floating_point() or o.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {o.dtype}"
            )


JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The output of `func` and its derivative along `tangents`, in forward mode.

    Parameters
    ----------
    func : callable
        Returns a tree of tensors.
    primals, tangents : tuple
        The arguments and the direction: trees of tensors of one structure.
    strict : bool
        Whether an output that does not depend on the arguments is an error.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.

    Returns
    -------
    output, tangent[, aux]

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    one, other = structure_of(primals), structure_of(tangents)
    if one != other:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{one} and tangents with structure {other}"
        )
    for name, given in (("primals", primals), ("tangents", tangents)):
        only_tensors(given, f"{JVP}: Expected {name} to only contain Tensors, got {{}}")
        if not tensor_leaves(given):
            raise RuntimeError(f"{JVP}: Expected {name} to contain at least one Tensor.")

    for x, t in zip(tensor_leaves(primals), tensor_leaves(tangents), strict=True):
        check_tangent(x, t)

    def checked(*xs: Any) -> Any:
        before = [mine._t for _, mine in pairs(primals, xs)]
        out = func(*xs)
        for (x, mine), old in zip(pairs(primals, xs), before, strict=True):
            if mine._t is not old and isinstance(mine._t, DualTracer):
                write_back(x, mine._t.value)
        if has_aux:
            out, aux = _with_aux(out, JVP)
        only_tensors(
            out, f"{JVP}: expected f(*primals) to return only tensors, got unsupported type {{}}"
        )
        if strict:
            _check_depends(out)
        return (out, aux) if has_aux else out

    try:
        given = without_classes(primals), without_classes(tangents)
        found = pushforward(recording(checked), *given, has_aux, marks=False)
    except CotangentError as error:
        raise RuntimeError(str(error)) from error
    return tuple(map(finished, found))


def _check_depends(out: Any) -> None:
    for o in tensor_leaves(out):
        if not isinstance(o._t, DualTracer):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The output of `func` and its derivative at `primals` as a linear function of tangents.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> y, push = torch.func.linearize(lambda x: x**2, torch.tensor(3.0))
    >>> push(torch.tensor(1.0)), push(torch.tensor(0.5))
    (tensor(6.), tensor(3.))
    """
    out, push = linearized(recording(func), without_classes(primals), marks=False)
    structure = structure_of(primals)
    types = [(x.shape, x.dtype) for x in tensor_leaves(primals)]

    def jvp_fn(*tangents: Any) -> Any:
        given = structure_of(tangents)
        if given != structure:
            raise RuntimeError(
                f"Expected the tangents {given} to have the same argspec as the primals {structure}"
            )
        for k, (t, (shape, kind)) in enumerate(zip(tensor_leaves(tangents), types, strict=True)):
            for what, mine, theirs in (("shape", t.shape, shape), ("dtype", t.dtype, kind)):
                if mine != theirs:
                    raise RuntimeError(
                        f"tangent:{k} with {what} {mine} in flattened pytree doesn't match the "
                        f"{what} {theirs} of the corresponding primal."
                    )
        return finished(push(*without_classes(tangents)))

    return finished(out), bounded(jvp_fn)
