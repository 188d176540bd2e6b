"""Operations over graphs or functions, which state their own action for every transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.types import ArrayType

__all__ = ["HigherOrder"]


class HigherOrder(Primitive):
    """An operation whose parameters hold a graph, or functions.

    A subclass overrides the four actions `tape`, `forward`, `map` and `stage`: each is given the
    trace, the operands as they came and the parameters, and returns the tuple of outputs. An
    action that is not overridden falls back on the rule (`vjp`, `jvp`, `batch`) of `Primitive`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import HigherOrder
    >>> class Twice(HigherOrder):
    ...     def tape(self, trace, args, params):
    ...         return self.impl(*args, **params)  # each transform follows both calls
    ...     forward = map = stage = tape
    >>> twice = Twice("example.twice", lambda x, f: (f(f(x)),))
    >>> fg.grad(lambda x: twice(x, f=np.square)[0])(2.0)
    np.float64(32.0)
    """

    form = "higher_order"
    multiple = True
    effect = None

    def linear_flow(
        self, mask: Sequence[bool | None], params: Params
    ) -> tuple[str, Sequence[bool | None] | None]:
        """Where it is not overridden, a tape is asked what is linear."""
        return "", None

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        """The types of the outputs of the parameter `graph`."""
        return tuple(o.type for o in params["graph"].outputs)
