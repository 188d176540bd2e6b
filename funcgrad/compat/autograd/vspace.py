"""`vspace(x)`: the vector space of a value, as autograd's programs and rules use it.

The space of any tree of numbers and arrays; that of complex ones is real, of twice the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.transforms.arguments import leaves_of

__all__ = ["VSpace", "vspace"]


class VSpace:
    """The space of values like `value`.

    Parameters
    ----------
    value : tree
        Numbers and arrays, in containers.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.compat.autograd.extend import vspace
    >>> space = vspace({"a": np.ones(2), "b": 3.0})
    >>> space.size, space.zeros()
    (3, {'a': array([0., 0.]), 'b': array(0.)})
    >>> space == vspace({"a": np.zeros(2), "b": 1.0})
    True
    """

    def __init__(self, value: Any) -> None:
        leaves, self._definition = leaves_of(value, "the value")
        self._types = [type_of(x) for x in leaves]

    @classmethod
    def register(cls, value_type: type, vspace_maker: Any = None) -> None:
        """autograd's way to add up values of a class of the user's."""
        raise UnsupportedCallError(
            located(
                f"VSpace.register: to differentiate with respect to {value_type.__name__!r}, give "
                "its parts to funcgrad.tree.register_node(class, flatten, unflatten)"
            )
        )

    @property
    def _only(self) -> ArrayType:
        if self._definition is not tree.LEAF and self._definition != tree.LEAF:
            raise UnsupportedCallError(
                located(f"the space of a container {self._definition} has no shape; ask its parts")
            )
        return self._types[0]

    shape = property(lambda self: self._only.shape)
    dtype = property(lambda self: self._only.dtype)
    ndim = property(lambda self: len(self._only.shape))

    @property
    def iscomplex(self) -> bool:
        """Whether it has complex numbers in it."""
        return any(kind.dtype.kind == "c" for kind in self._types)

    @property
    def size(self) -> int:
        """Its dimension over the real numbers."""
        return sum(kind.size * (2 if kind.dtype.kind == "c" else 1) for kind in self._types)

    def _made(self, make: Callable[[ArrayType], Any]) -> Any:
        return tree.unflatten(self._definition, [make(kind) for kind in self._types])

    def zeros(self) -> Any:
        """The origin."""
        return self._made(lambda kind: np.zeros(kind.shape, kind.dtype))

    def ones(self) -> Any:
        """All ones; 1 + 1j for complex elements."""
        return self._made(lambda kind: np.full(kind.shape, _unit(kind), kind.dtype))

    def randn(self) -> Any:
        """Normal numbers of NumPy's global generator."""

        def draw(kind: ArrayType) -> Any:
            made = np.asarray(np.random.randn(*kind.shape))
            if kind.dtype.kind == "c":
                made = made + 1j * np.asarray(np.random.randn(*kind.shape))
            return made.astype(kind.dtype)

        return self._made(draw)

    def standard_basis(self) -> Iterator[Any]:
        """One vector for each dimension; of a complex element two, 1 and 1j."""
        for k, kind in enumerate(self._types):
            for place in range(math.prod(kind.shape)):
                for unit in (1.0, 1.0j) if kind.dtype.kind == "c" else (1.0,):
                    leaves = [np.zeros(other.shape, other.dtype) for other in self._types]
                    leaves[k].reshape(-1)[place] = unit
                    yield tree.unflatten(self._definition, leaves)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        return tree.map(lambda a, b: a + b, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum; `x` may be None for zero, and is not written into."""
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A multiple of a vector."""
        return tree.map(lambda part: part * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product."""
        pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
        return sum(fnp.real(fnp.vdot(a, b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """The vector as a cotangent: complex elements are conjugated."""
        return tree.map(fnp.conj, x) if self.iscomplex else x

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, VSpace)
            and self._definition == other._definition
            and [k[:2] for k in self._types] == [k[:2] for k in other._types]
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace({self._made(str)!r})"


def _unit(kind: ArrayType) -> complex:
    return 1.0 + 1.0j if kind.dtype.kind == "c" else 1.0


def vspace(value: Any) -> VSpace:
    """The vector space of a value."""
    return VSpace(value)
