"""Functions that SciPy computes and that have the derivatives of a composition of ours.

SciPy's own code is not differentiable, and its bits are not those of the same mathematics written
in other operations. Here the value is SciPy's, and both modes, of all orders, are those of the
composition, which is run again where a derivative is asked for. Under `jit` the composition is the
program, so that it becomes native code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.forms import Explicit, each_lane
from funcgrad.core.primitive import Params, Samples
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.abstract import ShapeDtypeStruct, eval_shape
from funcgrad.transforms.jvp import jvp as push_forward
from funcgrad.transforms.vjp import vjp as pull_back

__all__ = ["Valued", "valued"]


class Valued(Explicit):
    """A record whose rules are those of `composed`, a function of the operands and parameters."""

    form = "explicit"

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        composed: Callable[..., Any],
        multiple: bool,
        linear_in: Sequence[int],
        leading: bool,
        batch: Callable[..., Any] | None,
        dtype: Callable[..., Any] | None = None,
    ) -> None:
        self.own, self.dtype, self.leading = composed, dtype, leading
        super().__init__(
            name,
            impl,
            type_rule=self._types,
            vjp=self._pull,
            jvp=None,
            batch=batch or self._spread,
            multiple=multiple,
            linear_in=linear_in,
        )

    def stated(self) -> tuple[Any, ...]:
        return (self.impl, self.own)

    def composed(self, *operands: Array, **params: Any) -> Any:
        """The composition, in the dtype of SciPy's value."""
        made = self.own(*operands, **params)
        dtype = self.dtype and self.dtype(*(type_of(x).dtype for x in operands), **params)
        if dtype is None:
            return made
        if not self.multiple:
            return cast(operand(made), dtype)
        each = dtype if isinstance(dtype, tuple) else (dtype,) * len(made)
        return tuple(cast(operand(y), d) for y, d in zip(made, each, strict=True))

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """The composition takes the place of the record in a graph.

        It may give views and boxes, as programs do; a record gives values.
        """
        made = self.composed(*args, **params)
        return tuple(map(operand, made)) if self.multiple else operand(made)

    def _types(self, *kinds: ArrayType, **params: Any) -> Any:
        given = (ShapeDtypeStruct(k.shape, k.dtype) for k in kinds)
        made = eval_shape(lambda *xs: self.composed(*xs, **params), *given)
        types = tuple(ArrayType(m.shape, m.dtype) for m in (made if self.multiple else (made,)))
        return types if self.multiple else types[0]

    def _of(self, xs: Sequence[Array], moving: Sequence[int], params: Params) -> Any:
        """The composition as a function of the operands `moving`."""

        def f(*moved: Array) -> Any:
            operands = list(xs)
            for i, x in zip(moving, moved, strict=True):
                operands[i] = x
            return self.composed(*operands, **params)

        return f

    def _pull(self, g: Any, _y: Any, *xs: Array, needs: Any, **params: Any) -> list[Array | None]:
        moving = [i for i, need in enumerate(needs) if need]
        _, pull = pull_back(self._of(xs, moving, params), *(xs[i] for i in moving))
        found: list[Array | None] = [None] * len(xs)
        for i, c in zip(moving, pull(tuple(g) if self.multiple else g), strict=True):
            found[i] = c
        return found

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        moving = [i for i, t in enumerate(ts) if t is not None]
        given = tuple(xs[i] for i in moving), tuple(ts[i] for i in moving)
        return push_forward(self._of(xs, moving, params), *given)[1]

    def _spread(
        self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params
    ) -> Any:
        if not (self.leading and size and all(batched)):
            return each_lane(self, size, xs, batched, params)
        return bind(self, xs, params)


def valued(
    name: str,
    impl: Callable[..., Any],
    composed: Callable[..., Any],
    sample: Samples,
    *,
    multiple: bool = False,
    linear_in: Sequence[int] = (),
    leading: bool = False,
    batch: Callable[..., Any] | None = None,
    dtype: Callable[..., Any] | None = None,
) -> Valued:
    """Make a primitive with the value of `impl` and the derivatives of `composed`.

    Parameters
    ----------
    name, impl, multiple, linear_in, sample
        As in `explicit`; `impl` calls SciPy.
    composed : callable
        ``composed(*operands, **params)``, the same function in funcgrad operations.
    leading : bool, optional
        Both take any leading axes, where all operands have them.
    batch : callable, optional
        As in `explicit`; by default each example is computed by itself.
    dtype : callable, optional
        ``dtype(*dtypes, **params)`` of SciPy's value, where the composition's is another, as with
        operands of single precision; None where it is not. One for each of several results may be
        given.
    """
    prim = Valued(name, impl, composed, multiple, linear_in, leading, batch, dtype)
    prim.sample = sample
    return prim
