"""The five forms of a primitive: elementwise, linear, multilinear, explicit, and higher order.

An author states the least that defines the derivative; the form derives vjp, jvp, batching, the
type and what a node has to save. A rule is a function in funcgrad operations, so it can itself be
differentiated, mapped and staged. A parameter whose name starts with "_" is not needed, hence not
saved.
"""

from funcgrad.core.forms.elementwise import (
    UFUNCS,
    UNARY,
    Elementwise,
    Op,
    bind2,
    elementwise,
    selecting,
)
from funcgrad.core.forms.explicit import Explicit, explicit
from funcgrad.core.forms.higher_order import HigherOrder
from funcgrad.core.forms.linear import Linear, linear
from funcgrad.core.forms.multilinear import Multilinear, multilinear
from funcgrad.core.forms.shared import align, each_lane, filled
from funcgrad.core.primitive import Samples

__all__ = [
    "UFUNCS",
    "UNARY",
    "Elementwise",
    "Explicit",
    "HigherOrder",
    "Linear",
    "Multilinear",
    "Op",
    "Samples",
    "align",
    "bind2",
    "each_lane",
    "elementwise",
    "explicit",
    "filled",
    "linear",
    "multilinear",
    "selecting",
]
