"""Tensors among NumPy's functions and funcgrad's transforms.

A tensor is a tree of one leaf, its content: a transform that is given one hands the function a
tensor that holds its tracer, and gives tensors back. NumPy's functions (NEP 13 and NEP 18) are
applied to the contents, and what they give is boxed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.tracer import Operand, Tracer, bind, type_of
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.dispatch import array_function, array_ufunc
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.torch._tensor import DETACH, Tensor, box
from funcgrad.torch.root import RootTape, RootTracer, bare

__all__ = ["box_results", "contents", "register"]

ARRAYS = (Operand, np.ndarray, np.generic, float, int, complex)


def _as_tree(x: Tensor) -> tuple[tuple[Any], None]:
    t = x.content()
    # what has no history is an array to a transform, which copies or watches it
    return (bare(t) if type(t) is RootTracer and t.node is None else t,), None


def _from_tree(_: None, children: Any) -> Any:
    (child,) = children
    if isinstance(child, Tensor) or not isinstance(child, ARRAYS):
        return child
    return box(child if isinstance(child, (Tracer, np.ndarray)) else np.asarray(child)[()])


def register(cls: type[Tensor]) -> None:
    """Make the tensors of a class trees of one leaf."""
    tree.register_node(cls, _as_tree, _from_tree)


register(Tensor)


def _present(self: RootTape, t: RootTracer) -> Tensor:
    """A result of an inner transform is a tensor again."""
    return box(t)


def _watch(self: RootTape, t: RootTracer) -> int:
    """What an inner transform has saved of a tensor must not be written meanwhile."""
    return t.version.count


setattr(RootTape, "present", _present)  # noqa: B010
setattr(RootTape, "watch", _watch)  # noqa: B010
DETACH.append(lambda t: bind(STOP_GRADIENT, (t,)))


# ------------------------------------------------------------------------------------- NumPy


def contents(x: Any) -> Any:
    """`x` with every tensor in it replaced by its content."""
    if isinstance(x, Tensor):
        content = x.content()
        if not type_of(content).dtype.isnative:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return content
    if type(x) in (list, tuple):
        return type(x)(map(contents, x))
    return x


def box_results(x: Any) -> Any:
    """Results of a function of NumPy as tensors."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Operand):
        return box(x.content())
    if isinstance(x, (np.ndarray, np.generic)):
        return box(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(box_results, x))
    return type(x)(map(box_results, x)) if type(x) in (list, tuple) else x


# A number of NumPy on the left of an operator is a number to PyTorch, of no dtype of its own.
REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.power: "__rpow__", np.bitwise_and: "__rand__", np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__", np.left_shift: "__rlshift__", np.right_shift: "__rrshift__",
    np.equal: "__eq__", np.not_equal: "__ne__", np.less: "__gt__", np.less_equal: "__ge__",
    np.greater: "__lt__", np.greater_equal: "__le__",
}  # fmt: skip


def _ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """``np.sin(tensor)`` and its kin: a tensor, with its gradient."""
    if keywords.get("out") is not None:
        return _into(ufunc, method, inputs, keywords)
    if method == "__call__" and isinstance(inputs[0], np.generic) and ufunc in REFLECTED:
        return getattr(self, REFLECTED[ufunc])(inputs[0].item())
    given = {k: contents(v) for k, v in keywords.items()}
    return box_results(array_ufunc(None, ufunc, method, *map(contents, inputs), **given))


def _into(ufunc: np.ufunc, method: str, inputs: Any, keywords: Any) -> Any:
    """With ``out=`` an array: that of tensors which require grad would lose the gradient."""
    outs = keywords["out"] if isinstance(keywords["out"], tuple) else (keywords["out"],)
    if any(isinstance(o, Tensor) for o in outs):
        raise UnsupportedCallError(
            located(
                f"np.{ufunc.__name__} with a Tensor as out= is not supported; use the method of "
                "the Tensor that works in place"
            )
        )
    arrays = [x.numpy() if isinstance(x, Tensor) else x for x in inputs]
    return getattr(ufunc, method)(*arrays, **keywords)


def _function(
    self: Tensor, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
) -> Any:
    """``np.sum(tensor)`` and its kin."""
    if function not in FUNCTIONS and not _traced((args, kwargs)):
        return function(*_arrays(args), **{k: _arrays(v) for k, v in kwargs.items()})
    given = {k: contents(v) for k, v in kwargs.items()}
    return box_results(array_function(None, function, types, contents(tuple(args)), given))


def _traced(x: Any) -> bool:
    if isinstance(x, Tensor):
        return bool(x.requires_grad) or type(x._t) is not RootTracer
    if isinstance(x, (list, tuple)):
        return any(map(_traced, x))
    return isinstance(x, dict) and any(map(_traced, x.values()))


def _arrays(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.numpy()
    return type(x)(map(_arrays, x)) if type(x) in (list, tuple) else x


setattr(Tensor, "__array_ufunc__", _ufunc)  # noqa: B010
setattr(Tensor, "__array_function__", _function)  # noqa: B010
