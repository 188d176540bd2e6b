"""What `checkpoint` keeps: names for values, and policies of names and operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.forms import Linear, linear
from funcgrad.core.layout import moved
from funcgrad.core.primitive import Primitive, Sample
from funcgrad.core.tracer import Tracer, bind, operand
from funcgrad.core.types import ArrayType
from funcgrad.ops import records
from funcgrad.ops.convolution import CONVOLUTION, CONVOLVE
from funcgrad.ops.samples import draw

__all__ = ["checkpoint_name", "checkpoint_policies"]

Policy = Callable[..., bool]


NAMED: Linear = linear(
    "checkpoint_name",
    lambda x, *, name: x,
    (lambda g, x, *, name: g,),
    lambda x, *, name: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: bind(NAMED, xs, params),
    sample=lambda: [Sample((draw((2, 3)),), {"name": "x"})],
    moves="places",
)
NAMED.lies = moved
NAMED.composed = lambda x, *, name: x


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, under a name by which a policy of `checkpoint` can keep it.

    Parameters
    ----------
    x : tree of arrays
    name : str

    Returns
    -------
    tree of arrays
        The same values; it is the identity for every transform.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> policy = fg.checkpoint_policies.save_only_these_names("hidden")
    >>> @fg.checkpoint(policy=policy)
    ... def f(x):
    ...     hidden = fg.checkpoint_name(np.sin(x), "hidden")
    ...     return np.exp(hidden)
    >>> fg.grad(f)(0.0)
    np.float64(1.0)
    """

    def one(leaf: Any) -> Any:
        leaf = operand(leaf)
        return bind(NAMED, (leaf,), {"name": name}) if isinstance(leaf, Tracer) else leaf

    return tree.map(one, x)


PRODUCTS = (records.DOT, records.MATMUL, records.INNER, records.EINSUM, CONVOLUTION, CONVOLVE)


class checkpoint_policies:
    """What `checkpoint` may keep besides arguments, for its ``policy=``.

    Attributes
    ----------
    everything_saveable, nothing_saveable
        All, or nothing (as without a policy).
    dots_saveable, checkpoint_dots
        Products of matrices, and convolutions.
    dots_with_no_batch_dims_saveable, checkpoint_dots_with_no_batch_dims
        Those of two matrices, not of stacks.
    save_only_these_names(*names), save_any_names_but_these(*names)
        What `checkpoint_name` has named so, or otherwise.
    save_anything_except_these_names(*names)
        All, but what is named so.
    save_from_both_policies(one, other)
        What either keeps.
    offload_dot_with_no_batch_dims, save_and_offload_only_these_names
        What is kept here or in other memory, of which there is none: it is kept.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = fg.checkpoint(np.exp, policy=fg.checkpoint_policies.everything_saveable)
    >>> fg.grad(f)(0.0)
    np.float64(1.0)
    """

    @staticmethod
    def everything_saveable(prim: Primitive, *types: ArrayType, **params: Any) -> bool:
        return True

    @staticmethod
    def nothing_saveable(prim: Primitive, *types: ArrayType, **params: Any) -> bool:
        return False

    @staticmethod
    def dots_saveable(prim: Primitive, *types: ArrayType, **params: Any) -> bool:
        return prim in PRODUCTS

    @staticmethod
    def dots_with_no_batch_dims_saveable(prim: Primitive, *types: ArrayType, **params: Any) -> bool:
        return prim in PRODUCTS and all(t.ndim <= 2 for t in types)

    checkpoint_dots = dots_saveable
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        return lambda prim, *types, **params: prim is NAMED and params["name"] in names

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        return lambda prim, *types, **params: prim is NAMED and params["name"] not in names

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        return lambda prim, *types, **params: not (prim is NAMED and params["name"] in names)

    @staticmethod
    def save_from_both_policies(one: Policy, other: Policy) -> Policy:
        return lambda prim, *types, **params: (
            one(prim, *types, **params) or other(prim, *types, **params)
        )

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str = "device",
        offload_dst: str = "pinned_host",
    ) -> Policy:
        names = *names_which_can_be_saved, *names_which_can_be_offloaded
        return checkpoint_policies.save_only_these_names(*names)

    @staticmethod
    def offload_dot_with_no_batch_dims(
        offload_src: str = "device", offload_dst: str = "pinned_host"
    ) -> Policy:
        return checkpoint_policies.dots_with_no_batch_dims_saveable
