"""`backward` and `grad`: they check what is asked for and hand it to the engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops.arithmetic import cast
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.backward_engine import conjugated, run
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nodes import output_types, pick
from funcgrad.torch.root import RootTracer, bare
from funcgrad.transforms.vmap import vmap

__all__ = ["GradientEdge", "backward", "grad"]

Tensors = Tensor | Sequence[Tensor]


class GradientEdge(NamedTuple):
    """A place in the graph: a node and the number of one of its outputs."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def _listed(x: Any) -> list[Any]:
    if isinstance(x, (Tensor, GradientEdge)):
        return [x]
    return list(x)


def _node(x: Any) -> Any:
    """The node of a tensor or edge, None when it requires no grad."""
    if isinstance(x, GradientEdge):
        return pick(x.node, x.output_nr) if hasattr(x.node, "outputs") else x.node
    if type(x._t) is not RootTracer:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
    t = x._renewed()
    return t.node


def _roots(tensors: list[Any], given: list[Any], create_graph: bool) -> list[Any]:
    """Each output's node with the content of its cotangent."""
    roots = []
    for k, (x, g) in enumerate(zip(tensors, given, strict=True)):
        node = _node(x)
        if node is None:
            raise RuntimeError(
                f"element {k} of tensors does not require grad and does not have a grad_fn"
            )
        if g is None:
            roots.append((node, _one(x)))
            continue
        _check_cotangent(k, x, g)
        t = g.content()
        if type(t) is RootTracer and (t.node is None or not create_graph):
            t = bare(t)
        if not isinstance(x, GradientEdge) and (kind := type_of(x._t).dtype) != g.dtype.numpy:
            t = cast(t, kind)
        roots.append((node, conjugated(t)))
    return roots


def _one(x: Any) -> Array:
    edge = isinstance(x, GradientEdge)
    kind = output_types(x.node)[x.output_nr] if edge else type_of(x._t)
    if kind.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if kind.dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got "
            f"{dtypes.from_numpy_dtype(kind.dtype)}"
        )
    return np.ones(kind.shape, kind.dtype) if kind.shape else kind.dtype.type(1)


def _check_cotangent(k: int, x: Any, g: Any) -> None:
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if isinstance(x, GradientEdge):
        return
    mine, theirs = type_of(x._t), type_of(g._t)
    if mine.shape == theirs.shape and mine.dtype == theirs.dtype:
        return
    if g.shape != x.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{k}] has a shape of {g.shape} and output[{k}] has a "
            f"shape of {x.shape}."
        )
    if x.dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{k}] has a dtype of {g.dtype} and output[{k}] has a "
            f"dtype of {x.dtype}."
        )


def _given(tensors: list[Any], grads: Any) -> list[Any]:
    if grads is None:
        return [None] * len(tensors)
    given = [grads] if isinstance(grads, Tensor) else list(grads)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    return given


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the ``.grad`` of the leaves.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensors
        Where the pass starts.
    grad_tensors : Tensor, sequence of Tensors or None, optional
        Their cotangents; may be left out for tensors of one element.
    retain_graph : bool, optional
        Whether the saved values are kept for another pass; by default as `create_graph`.
    create_graph : bool, optional
        Whether the pass is recorded, so that the gradients can be differentiated.
    inputs : Tensor or sequence of Tensors, optional
        Only these accumulate; a non-leaf among them retains its gradient.

    Raises
    ------
    RuntimeError
        Where nothing requires grad, for a second pass through a graph that has been freed, for a
        saved value that was changed in place.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([(x * x).sum()])
    >>> x.grad
    tensor([2., 4.])
    """
    outputs, wanted = _listed(tensors), None if inputs is None else _listed(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    given = _given(outputs, grad_tensors)
    roots = _roots(outputs, given, create_graph)
    if create_graph:
        _warn_of_cycle()
    edges = None if wanted is None else _accumulating(wanted)
    keep = create_graph if retain_graph is None else retain_graph
    run(roots, retain_graph=keep, create_graph=create_graph, inputs=edges, given=given)


def _accumulating(wanted: list[Any]) -> list[Any]:
    """The nodes of the tensors that are to accumulate, each once; those of operations retain."""
    for x in wanted:
        if isinstance(x, Tensor):
            x.retain_grad()
    return list(dict.fromkeys(map(_input_edge, wanted)))


class _Warned:
    """Whether the user has been told: once is enough."""

    of_cycle = False


def _warn_of_cycle() -> None:
    if not _Warned.of_cycle:
        _Warned.of_cycle = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use to "
            "break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=outside(),
        )


def _input_edge(x: Any) -> Any:
    node = _node(x)
    if node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return node


def grad(
    outputs: Tensors,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`; nothing accumulates.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensors
        An input may be any tensor of the graph, or a `GradientEdge`.
    grad_outputs : Tensor, sequence of Tensors or None, optional
        The cotangents of the outputs.
    retain_graph, create_graph : bool, optional
        As for `backward`.
    allow_unused : bool, optional
        Whether an input that the outputs do not depend on gives None instead of an error.
    is_grads_batched : bool, optional
        Whether `grad_outputs` has a leading dimension, over which the pass is vectorised.
    materialize_grads : bool, optional
        Whether zeros stand for None.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (g,) = torch.autograd.grad(x * x, x, create_graph=True)
    >>> torch.autograd.grad(g, x)
    (tensor(2.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    unused = materialize_grads if allow_unused is None else allow_unused
    starts, wanted = _listed(outputs), _listed(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    given = _given(starts, grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph

    def once(cotangents: list[Any]) -> list[Any]:
        roots = _roots(starts, cotangents, create_graph)
        edges = [_input_edge(x) for x in wanted]
        return run(roots, retain_graph=keep, create_graph=create_graph, inputs=edges,
                   accumulate=False)  # fmt: skip

    if is_grads_batched:
        _check_batched(starts, given)
    found = _batched(once, given) if is_grads_batched else once(given)
    return tuple(
        _result(k, x, g, unused, materialize_grads)
        for k, (x, g) in enumerate(zip(wanted, found, strict=True))
    )


def _check_batched(outputs: list[Any], given: list[Any]) -> None:
    """Raise unless the cotangents are those of the outputs with a dimension in front."""
    for k, (x, g) in enumerate(zip(outputs, given, strict=True)):
        if isinstance(g, Tensor) and isinstance(x, Tensor) and g.shape[1:] != x.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{k}] has a shape of {g.shape[1:]} and output[{k}] has a shape of "
                f"{x.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )


def _batched(once: Callable[[list[Any]], list[Any]], given: list[Any]) -> list[Any]:
    """One pass for cotangents with a leading dimension, over which the core maps."""
    missing: list[bool] = []

    def mapped(*cotangents: Any) -> Any:
        found = once([None if g is None else box(g) for g in cotangents])
        missing[:] = [g is None for g in found]
        return [0.0 if g is None else g for g in found]

    found = vmap(mapped)(*(None if g is None else g.content() for g in given))
    return [None if gone else operand(g) for g, gone in zip(found, missing, strict=True)]


def _result(k: int, x: Any, g: Any, unused: bool, materialize: bool) -> Tensor | None:
    if g is not None:
        return box(g)
    if not unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {k} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    if not materialize or not isinstance(x, Tensor):
        return None
    with no_grad():
        kind = type_of(x._t)
        return box(np.zeros(kind.shape, kind.dtype))
