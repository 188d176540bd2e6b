"""Operations of the core with PyTorch's derivative, where that is another than the core's.

It is another at NaN, at infinities and where operands tie. Values are the core's: whoever stages
such an operation, or makes native code of it, finds the core's operation inside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, elementwise
from funcgrad.core.primitive import Sample, Samples
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.kernels.rows import serve
from funcgrad.ops.nonlinear_reductions import graded

__all__ = ["restated", "restated_reduction", "stated"]


def restated(core: Callable[..., Any], *partials: Any) -> Callable[..., Any]:
    """An elementwise operation of the core with other partial derivatives."""
    old: Any = core.primitive  # type: ignore[attr-defined]
    made: Any = elementwise(
        old.ufunc,
        *partials,
        operator=old.impl if old.keeps_weak else None,
        name=f"torch.{old.name}_restated",
        sample=old.sample,
        cost=old.cost,
        commutes=old.commutes,
    )
    made.primitive.composed = core
    return made  # type: ignore[no-any-return]


def stated(
    name: str, value: Callable[..., Array], *partials: Callable[..., Array], sample: Samples
) -> Any:
    """A function of elements, made of several operations, with partial derivatives of its own."""
    made: Any = elementwise(value, *partials, name=name, sample=sample)
    made.primitive.composed = value
    return made


def restated_reduction(
    core: Any, numpy_function: Callable[..., Any], partial: Callable[..., Any], like_core: Any,
    impl: Any = None, composed: Any = None,
) -> Explicit:  # fmt: skip
    """A reduction of the core with another derivative by each element, or values of its own.

    ``like_core(y)`` says of the result whether the core's derivative is the same for all of it:
    then native code of the core serves both. Values of its own come from `impl`, where it is staged
    from ``composed(core, *xs, **params)``.
    """
    name = f"torch.{core.name}_restated"
    value = impl or core.impl
    made: Any = graded(name, value, numpy_function, partial, lambda: _plain(core.sample()))
    made.composed = functools.partial(composed or _applied, core)
    serve(made, core, lambda y: bool(np.all(like_core(y))))
    return made  # type: ignore[no-any-return]


def _plain(samples: list[Sample]) -> list[Sample]:
    """Those that PyTorch has, too: without a mask, a first value or another dtype."""
    options = ("initial", "dtype")
    return [
        s for s in samples if len(s.args) == 1 and all(s.params.get(k) is None for k in options)
    ]


def _applied(core: Any, *xs: Array, **params: Any) -> Array:
    return bind(core, xs, params)
