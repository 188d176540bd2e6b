"""The four operations, and `scale`, the product by which a cotangent meets a partial."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.forms import Elementwise, Op, bind2, elementwise
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import Operand, plain
from funcgrad.core.types import Array, ArrayType, broadcast_shapes, promote
from funcgrad.ops.samples import binary, draw, unary

__all__ = [
    "SCALE",
    "add",
    "divide",
    "multiply",
    "negative",
    "positive",
    "reciprocal",
    "scale",
    "square",
    "subtract",
]

ndarray = np.ndarray


def _scale(g: Any, d: Any) -> Any:
    """g * d in the dtype of g."""
    r = g * d
    if r.dtype is not g.dtype and r.dtype.kind == g.dtype.kind:
        r = r.astype(g.dtype)
    return r


class Scale(Elementwise):
    """A cotangent or tangent times a partial derivative, in the dtype of the former.

    It is the product, so the number 0 times infinity is NaN. Whether an element of the cotangent
    is there at all, where a `where`, an index or a maximum stands in front, is no number: a
    `Presence` (`transforms/presence.py`) carries it, and absent times anything is absent. A mask
    by the value, ``where(g == 0, …)``, would hide infinite derivatives, and make the second one
    of sin² at 0 vanish.
    """

    def __init__(self) -> None:
        partials = (lambda _, __, d: d, lambda _, g, __: g)
        super().__init__("scale", np.multiply, _scale, partials)
        self.keeps_weak = False
        self.cost = 2

    def type_rule(self, types: Any, params: Params) -> ArrayType:
        g, d = types
        shape = broadcast_shapes(g.shape, d.shape)
        promoted = promote(g, d)
        return ArrayType(shape, g.dtype if promoted.kind == g.dtype.kind else promoted)


SCALE = Scale()
SCALE.sample = lambda: [
    Sample((draw((3,)), draw((3,), seed=1))),
    Sample((draw((2, 1)), draw((3,), seed=1))),
    Sample((np.array([0.0, 1.0, 0.0]), np.array([np.inf, 2.0, np.nan])), smooth=False),
    Sample((np.zeros(3), draw((3,), seed=1))),
]


def scale(g: Array, d: Array) -> Array:
    """The cotangent or tangent `g` times the partial derivative `d`, in the dtype of `g`."""
    if isinstance(g, Operand) or isinstance(d, Operand):
        return bind2(SCALE, plain(g), plain(d))
    if not isinstance(g, (np.ndarray, np.generic)):
        g = np.float64(g) if not isinstance(g, complex) else np.complex128(g)
    return _scale(g, d)


add: Op = elementwise(
    np.add, 1, 1, operator=operator.add, cost=1, commutes=True, sample=binary(complex_=True)
)
subtract: Op = elementwise(
    np.subtract, 1, -1, operator=operator.sub, cost=1, sample=binary(complex_=True)
)
multiply: Op = elementwise(
    np.multiply,
    lambda _, __, y: y,
    lambda _, x, __: x,
    operator=operator.mul,
    cost=1,
    commutes=True,
    sample=binary(complex_=True),
)
divide: Op = elementwise(
    np.divide,
    lambda _, __, y: divide(1.0, y),
    lambda z, _, y: negative(divide(z, y)),  # not x / y²: y² may overflow
    operator=operator.truediv,
    cost=4,
    sample=binary(-2, 2, 0.5, 2, complex_=True, kinks=((1e300, 1e200),)),
)
negative: Op = elementwise(
    np.negative, -1, operator=operator.neg, cost=1, sample=unary(complex_=True)
)
positive: Op = elementwise(
    np.positive, 1, operator=operator.pos, cost=1, sample=unary(complex_=True)
)
reciprocal: Op = elementwise(
    np.reciprocal,
    lambda y, _: negative(multiply(y, y)),
    cost=4,
    sample=unary(0.5, 2, complex_=True),
)
square: Op = elementwise(
    np.square, lambda _, x: multiply(2.0, x), cost=1, sample=unary(complex_=True)
)

algebra.add, algebra.negative, algebra.scale = add, negative, scale
