"""For contributors of primitives: the five forms, samples, and what rules are written with.

A primitive is one record in one of five forms. It then works in every transform, at every order;
rules are written with ``np.*`` or `funcgrad.numpy`, so that they can be differentiated again. Its
name is for people, who read it in printed graphs. An elementwise one is a statement:

>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.extend import Sample, elementwise
>>> softsign = elementwise(
...     lambda x: x / (1.0 + np.abs(x)),
...     lambda _, x: 1.0 / (1.0 + np.abs(x)) ** 2,  # the output, not needed, then the operand
...     name="example.softsign",
...     sample=lambda: [Sample((np.array([-1.0, 0.5, 3.0]),))],
... )
>>> fg.grad(softsign)(1.0)
np.float64(0.25)
>>> fg.vmap(fg.grad(softsign))(np.array([0.0, 1.0, 3.0]))
array([1.    , 0.25  , 0.0625])

The others give the record itself, which is called with operands and, by keyword, parameters:

>>> from funcgrad.extend import explicit
>>> logsumexp = explicit(
...     "example.logsumexp",
...     lambda x: np.logaddexp.reduce(x, axis=-1),
...     signature="(n)->()",
...     vjp=[lambda g, y, x: np.expand_dims(g, -1) * np.exp(x - np.expand_dims(y, -1))],
... )
>>> fg.jit(fg.grad(logsumexp))(np.array([0.0, 0.0, 0.0, 0.0]))
array([0.25, 0.25, 0.25, 0.25])
>>> fg.hessian(logsumexp)(np.array([0.0, 0.0]))
array([[ 0.25, -0.25],
       [-0.25,  0.25]])
"""

from funcgrad.core.boundary import publish
from funcgrad.core.forms import (
    HigherOrder,
    align,
    each_lane,
    elementwise,
    explicit,
    linear,
    multilinear,
)
from funcgrad.core.primitive import PRIMITIVES, Primitive, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import ArrayType
from funcgrad.extend.compiled import from_numba
from funcgrad.ops.constant import constant
from funcgrad.ops.shape import every_lane

__all__ = [
    "PRIMITIVES",
    "ArrayType",
    "HigherOrder",
    "Primitive",
    "Sample",
    "align",
    "bind",
    "constant",
    "each_lane",
    "every_lane",
    "elementwise",
    "explicit",
    "from_numba",
    "linear",
    "multilinear",
    "operand",
    "type_of",
]

publish(__name__)
