"""`custom_vmap`: a function with its own rule of batching."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import HigherOrder
from funcgrad.core.primitive import Params
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import CustomRuleError, located
from funcgrad.graph.build import stage
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.custom_call import captured, traced_once
from funcgrad.transforms.results import apart, handed_back
from funcgrad.transforms.transformed import named

__all__ = ["custom_vmap"]

Function = Callable[..., Any]


class Rule(NamedTuple):
    """Flat functions: ``batch(size, batched, *xs)`` returns outputs and which are batched."""

    name: str
    fun: Function
    batch: Function


class CustomVmap(HigherOrder):
    """A call of a function with its own rule of batching; other transforms look through it."""

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        rule = params["rule"]
        graph, _ = stage(rule.fun, types, body=traced_once(rule.name))
        return tuple(o.type for o in graph.outputs)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        rule = params["rule"]
        graph, held = stage(rule.fun, list(map(type_of, args)), body=traced_once(rule.name))
        if held:  # which no equation can keep: the operations themselves are staged
            return tuple(rule.fun(*args))
        return trace.append(self, args, params, tuple(o.type for o in graph.outputs))

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        return tuple(params["rule"].fun(*args))

    forward = mark = tape

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        outs, mapped = params["rule"].batch(trace.size, batched, *xs)
        if captured(outs, trace):
            raise CustomRuleError(
                located(
                    f"the rule of {params['rule'].name} closes over an example of the vmap that it "
                    "is the rule for; pass that value as an argument"
                )
            )
        return tuple(BatchTracer(o, trace) if m else o for o, m in zip(outs, mapped, strict=True))


def _call(*xs: Any, rule: Any) -> tuple[Any, ...]:
    return tuple(rule.fun(*xs))


CUSTOM_VMAP = CustomVmap("custom_vmap", _call)
CUSTOM_VMAP.composed = _call


class custom_vmap:
    """A function with its own rule of batching.

    Parameters
    ----------
    fun : callable
        A function of trees of arrays.

    Notes
    -----
    ``def_vmap(rule)``: ``rule(axis_size, in_batched, *args)`` gets the arguments with the mapped
    axis in front where `in_batched`, a tree of bools like the arguments, says so, and returns
    ``(output, out_batched)`` in the same manner. Derivatives are those of `fun`, or of the rule
    where a mapped call is differentiated; a function that is differentiated within `vmap`, as in
    ``vmap(grad(f))``, is mapped operation by operation.

    Raises
    ------
    CustomRuleError
        No rule was given, or the rule returns another tree, or a wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.custom_vmap
    ... def product(x, y):
    ...     return np.dot(x, y)
    >>> @product.def_vmap
    ... def _(axis_size, in_batched, x, y):
    ...     assert in_batched == [True, False]
    ...     return x @ y, True
    >>> fg.vmap(product, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    rule: Function | None = None

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(cast(Any, self), fun, updated=())
        self.fun = fun

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name where that leads here, as functions are pickled, else by what it is made of."""
        return named(self) or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<custom_vmap of {name_of(self.fun)}>"

    @boundary
    def def_vmap(self, rule: Function) -> Function:
        """State the rule; returns it, so that it can be used as a decorator."""
        self.rule = rule
        return rule

    @boundary
    def __call__(self, *args: Any) -> Any:
        leaves, definition = leaves_of(args, ("the arguments", self.fun))
        box: dict[str, Any] = {}
        name, rule = name_of(self.fun), self.rule
        if rule is None:
            raise CustomRuleError(located(f"{name} has no rule yet; call def_vmap(rule) first"))

        def flat(*xs: Any) -> list[Any]:
            found, box["out"] = leaves_of(
                self.fun(*tree.unflatten(definition, xs)), f"the output of {name}"
            )
            return found

        def batch(size: int, batched: Sequence[bool], *xs: Any) -> tuple[list[Any], list[bool]]:
            marks = list(tree.unflatten(definition, batched))
            pair = rule(size, marks, *tree.unflatten(definition, xs))
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise CustomRuleError(
                    located(f"the rule of {name} has to return (output, out_batched)")
                )
            found, box["out"] = leaves_of(pair[0], f"the output of the rule of {name}")
            mapped = [bool(m) for m in tree.flatten_prefix(pair[1], pair[0])]
            for o, m in zip(found, mapped, strict=True):
                shape = type_of(o).shape
                if m and (not shape or shape[0] != size):
                    raise CustomRuleError(
                        located(
                            f"the rule of {name} returned shape {shape} for what is batched; its "
                            f"first axis has to have the extent {size}"
                        )
                    )
            return found, mapped

        outs = bind(CUSTOM_VMAP, leaves, {"rule": Rule(name, flat, batch)})
        return handed_back(box["out"], apart(outs, leaves))
