"""`Tensor`: a mutable box over values of the core, with PyTorch's bookkeeping.

A tensor holds a tracer: of the root tape (an array, the node that made it, a version), or of any
transform inside which the program runs. Operations read it by `content`. What a tensor *is* stands
here; the operations are installed by the files of `operations/`, writing and views by `views`.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.core.tracer import Operand, Tracer, concrete, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import TracerConversionError, UnsupportedCallError, located
from funcgrad.torch import dtypes
from funcgrad.torch.dimensions import axis_of
from funcgrad.torch.modes import modes
from funcgrad.torch.printing import tensor_text
from funcgrad.torch.root import (
    BOX,
    AccumulateGrad,
    Pick,
    RootTracer,
    bare,
    edge_of,
    leaf_tracer,
    plain,
    tangent_of,
)
from funcgrad.torch.staged import Memory, staged
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.forward import DualTracer
from funcgrad.transforms.node import TapeTracer, new

__all__ = ["Size", "Tensor", "as_array", "box", "raw", "tracked"]

NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."
DETACH_INSTEAD = (
    "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)


class Size(tuple[int, ...]):
    """A shape, printed as PyTorch prints it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.ones(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        """A shape of integers; a TypeError for anything else."""
        found = []
        for k, n in enumerate(sizes):
            if isinstance(n, float) or not hasattr(n, "__index__"):
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {k} is '{type(n).__name__}')"
                )
            found.append(n.__index__())
        return tuple.__new__(cls, found)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        size = 1
        for extent in self:
            size *= extent
        return size

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self))

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


class Link:
    """What makes a tensor a view: its base, how it is read from it, and what forbids writing."""

    __slots__ = ("base", "read", "refusal", "seen")

    def __init__(
        self, base: Tensor, read: Callable[[Any], Any], refusal: str | None, seen: Any
    ) -> None:
        self.base, self.read, self.refusal = base, read, refusal
        # the version when the node of the view was made; in a transform the content of the base
        self.seen = seen


class Tensor(Operand):
    """An array with PyTorch's autograd state.

    Made by `funcgrad.torch.tensor` and its kin; ``Tensor(2, 3)`` and ``Tensor([1.0, 2.0])`` are
    PyTorch's old constructor.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_grad", "_link", "_t")
    __array_priority__ = 1000.0
    __hash__ = object.__hash__
    _t: Any
    _grad: Tensor | None
    _link: Link | None

    if TYPE_CHECKING:  # the files of `operations/` install the methods

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = new(cls)
        made._t, made._grad, made._link = plain(_legacy(args)), None, None
        return made

    # -- what the core reads

    def content(self) -> Array:
        t = self._t
        if type(t) is RootTracer:
            if modes.stage is not None:
                check_found(t)
            if not modes.grad:
                return bare(t)
            return t if self._link is None else self._renewed()
        if self._link is not None:
            t = self._renewed()
        return t if modes.grad else cut_off(t)

    def _renewed(self) -> Any:
        """The tracer; of a view whose memory was written since, with a node made from the base."""
        link, t = self._link, self._t
        if link is None:
            return t
        base = link.base._t
        if type(t) is RootTracer and type(base) is RootTracer:
            if link.seen != t.version.count and base.node is not None:
                self._t = t = REGENERATE[0](base, link.read, t, self)
                link.seen = t.version.count
        elif link.seen is not base:  # inside a transform the content of the base was replaced
            link.seen = base
            self._t = t = REGENERATE[1](base, link.read)
        return t

    # -- attributes

    @property
    def shape(self) -> Size:
        return tuple.__new__(Size, type_of(self._t).shape)

    def _dimension(self, dim: Any) -> int:
        if self.ndim == 0 and isinstance(dim, int):
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return axis_of(dim, self.ndim)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one extent of it."""
        return self.shape if dim is None else self.shape[self._dimension(dim)]

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.from_numpy_dtype(type_of(self._t).dtype)

    @property
    def ndim(self) -> int:
        return len(type_of(self._t).shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    nelement = numel

    def __len__(self) -> int:
        shape = type_of(self._t).shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def stride(self, dim: int | None = None) -> Any:
        """The steps between elements along each dimension, in elements."""
        array = layout(self)
        steps = tuple(s // array.itemsize for s in array.strides)
        if not array.size:  # NumPy has 0 for these
            extents = [max(n, 1) for n in array.shape]
            steps = tuple(math.prod(extents[k + 1 :]) for k in range(array.ndim))
        return steps if dim is None else steps[self._dimension(dim)]

    def is_contiguous(self) -> bool:
        return bool(layout(self).flags.c_contiguous)

    # -- autograd state

    @property
    def requires_grad(self) -> bool:
        t, link = self._t, self._link
        if type(t) is not RootTracer:
            return isinstance(self._renewed(), TapeTracer)
        return t.node is not None or (link is not None and link.base._t.node is not None)

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not self.is_leaf:
            raise RuntimeError(ONLY_LEAVES if flag else f"{ONLY_LEAVES} {DETACH_INSTEAD}")
        if flag and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make a leaf require grad, or no longer."""
        t = self._t
        if requires_grad == self.requires_grad:
            return self
        if not self.is_leaf:
            raise RuntimeError(f"{ONLY_LEAVES} {DETACH_INSTEAD}")
        if not requires_grad:
            self._grad, t.node = t.node.grad, None
            return self
        check_differentiable(self.dtype, "only")
        if t.version.inference and not modes.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside "
                               "InferenceMode is not allowed.")  # fmt: skip
        leaf_tracer(self, t)
        t.node.grad, self._grad = self._grad, None
        return self

    @property
    def is_leaf(self) -> bool:
        t = self._renewed()
        if type(t) is not RootTracer:
            return False
        return t.node is None or type(t.node) is AccumulateGrad

    @property
    def grad_fn(self) -> Any:
        """The node that made the tensor, None for a leaf."""
        t = self._renewed()
        if type(t) is not RootTracer or type(t.node) is AccumulateGrad:
            return None
        return None if t.node is None else edge_of(t.node)[0]

    @property
    def output_nr(self) -> int:
        """Which output of its node the tensor is."""
        node = self._t.node
        return 0 if node is None else edge_of(node)[1]

    @property
    def grad(self) -> Tensor | None:
        """What backward passes have added up for a leaf, or after `retain_grad`."""
        t = self._t
        if type(t) is RootTracer and type(t.node) is AccumulateGrad:
            held: Tensor | None = t.node.grad
            return held
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, new_grad: Tensor | None) -> None:
        if new_grad is not None:
            self._check_grad(new_grad)
        t = self._t
        if type(t) is RootTracer and type(t.node) is AccumulateGrad:
            t.node.grad = new_grad
        else:
            self._grad = new_grad

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _check_grad(self, g: Any) -> None:
        if not isinstance(g, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"'{type(g).__name__}'"
            )
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if g.dtype is not self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{dtypes.c_name(g.dtype)}' to a "
                f"tensor with grad_dtype '{dtypes.scalar_name(self.dtype)}'. The gradient must "
                "match the tensor's grad_dtype (defaults to the tensor's dtype); convert it with "
                "`.to`"
            )
        if g.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the "
                "same size"
            )

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` holds for this tensor (never for a leaf)."""
        t = self._t
        if type(t) is not RootTracer or t.node is None or type(t.node) is AccumulateGrad:
            return False
        node, k = edge_of(t.node)
        return node.extra is not None and k in node.extra.retained

    @property
    def _version(self) -> int:
        if self._t.version.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        count: int = self._t.version.count
        return count

    @property
    def _base(self) -> Tensor | None:
        return None if self._link is None else self._link.base

    def _is_view(self) -> bool:
        return self._link is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return type(self._t) is RootTracer and self._t.version.inference

    # -- leaving and copying

    def detach(self) -> Tensor:
        """The same memory without history; in-place changes are seen on both sides."""
        if type(self._t) is not RootTracer:
            return box(DETACH[0](self._t))
        out = self.data
        out._t.version = self._t.version
        return out

    @property
    def data(self) -> Tensor:
        """The same memory without history, and with a version of its own."""
        if type(self._t) is not RootTracer:
            return self.detach()
        array = as_array(self)
        if not staged(array):
            return box(array.view())
        out = box(array)
        out._t.value = array
        return out

    @data.setter
    def data(self, source: Tensor) -> None:
        t = self._t
        if type(t.node) is AccumulateGrad:
            kind = source.dtype
            if not kind.is_floating_point and not kind.is_complex:
                raise RuntimeError(
                    "data set to a tensor that requires gradients must be floating point or "
                    "complex dtype"
                )
        t.value = as_array(source)
        if type(t.node) is AccumulateGrad:
            t.node.value = t.value

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The array of the tensor, which shares its memory."""
        if type(self._t) is not RootTracer:
            raise TracerConversionError(
                located("numpy() of a Tensor inside a transform would cut its gradient")
            )
        if self.requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        array = as_array(self)
        return np.asarray(array) if staged(array) else array.view()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if type(self._t) is not RootTracer:
            held = np.empty((), object)
            held[()] = self._t
            return held
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def item(self) -> Any:
        """The only element, as a Python number."""
        found = _concrete(self, "item()")
        if found.size != 1:
            raise RuntimeError(f"a Tensor with {found.size} elements cannot be converted to Scalar")
        return found.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return _concrete(self, "tolist()").tolist()

    # -- conversions of Python

    def __bool__(self) -> bool:
        if type(self._t) is not RootTracer:
            return bool(self._t)
        array = np.asarray(self._t.value)
        if array.size != 1:
            what = "no values" if array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(array.item())

    def _number(self, kind: str) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        found = self.item()
        if isinstance(found, complex) and kind:
            if found.imag:
                raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
            return found.real
        return found

    def __float__(self) -> float:
        return float(self._number("double"))

    def __int__(self) -> int:
        return int(self._number("int64_t"))

    def __complex__(self) -> complex:
        return complex(self._number(""))

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(UNBIND[0](self))

    def __contains__(self, item: Any) -> bool:
        if not isinstance(item, (Tensor, bool, int, float, complex, np.number)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(item)}."
            )
        return bool((self == item).any())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        t = self._t
        if type(t) is not RootTracer:
            return _layers(t)[0]
        node, tangent = self.grad_fn, tangent_of(t)
        return tensor_text(
            np.asarray(t.value),
            self.dtype,
            requires_grad=self.requires_grad,
            grad_fn_name=None if node is None else type(node).__name__,
            suffixes=[] if tangent is None else [f"tangent={tangent!r}"],
        )

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from funcgrad.torch.copying import reduce

        return reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        from funcgrad.torch.copying import deep_copy

        copied: Tensor = deep_copy(self, memo)
        return copied


# functions that need operations, put in by the files that have them
REGENERATE: list[Any] = []  # (base tracer, read, old tracer) -> tracer of a view
UNBIND: list[Any] = []
DETACH: list[Any] = []
LEGACY: list[Any] = []


def _layers(t: Any) -> tuple[str, int]:
    """What is inside of transforms as text, and how many of them are around it."""
    if type(t) is RootTracer:
        return repr(box(t)), 0
    if not isinstance(t, Tracer):
        array = np.asarray(t)
        return tensor_text(array, dtypes.from_numpy_dtype(array.dtype)), 0
    if not isinstance(t, (BatchTracer, TapeTracer, DualTracer)):
        return f"Tensor(traced {type_of(t)})", 0
    inner, level = _layers(t.value)
    name, more = "GradTrackingTensor", ""
    if isinstance(t, BatchTracer):
        name, more = "BatchedTensor", ", bdim=0"
    value = textwrap.indent(inner, " " * 4)
    return f"{name}(lvl={level + 1}{more}, value=\n{value}\n)", level + 1


def _legacy(args: tuple[Any, ...]) -> Any:
    return LEGACY[0](args)


def check_differentiable(kind: dtypes.dtype, first: str = "Only") -> None:
    """Raise for a type that cannot require grad."""
    if not kind.is_floating_point and not kind.is_complex:
        more = "and complex dtype" if first == "Only" else "dtype"
        raise RuntimeError(f"{first} Tensors of floating point {more} can require gradients")


def box(x: Array) -> Tensor:
    """A tensor of a content: a tracer, or an array that nobody else holds."""
    made: Tensor = new(Tensor)
    made._t = x if isinstance(x, Tracer) and type(x) is not Memory else plain(x)
    made._grad = made._link = None
    return made


BOX.append(box)


def cut_off(t: Tracer) -> Array:
    """The content of a tensor inside transforms where recording is switched off.

    Tapes that were started before do not see it; a later one is not concerned.
    """
    if isinstance(t, TapeTracer):
        if t.owner.level > modes.off_since:
            return t
        return cut_off(t.value) if isinstance(t.value, Tracer) else t.value
    if isinstance(t, BatchTracer) and isinstance(t.value, Tracer):
        return BatchTracer(cut_off(t.value), t.owner)
    if isinstance(t, DualTracer) and isinstance(t.value, Tracer):
        tangent = cut_off(t.tangent) if isinstance(t.tangent, Tracer) else t.tangent
        return DualTracer(cut_off(t.value), t.owner, tangent)
    return t


def raw(x: Any) -> Any:
    """The array (or NumPy scalar) of a tensor; anything else as it is."""
    if isinstance(x, Tensor):
        t = x._t
        return t.value if type(t) is RootTracer else t
    return x


def as_array(x: Tensor) -> np.ndarray[Any, Any]:
    """The array of a tensor, in memory that it keeps: what a view or `numpy` shares."""
    t = x._t
    if type(t) is not RootTracer:
        raise TracerConversionError(
            located("this needs the memory of a Tensor, which has none inside a transform")
        )
    if modes.stage is not None:
        check_found(t)
        memory: Any = t.value
        return memory  # type: ignore[no-any-return]
    if type(t.value) is not np.ndarray:
        t.value = np.array(t.value)
        if type(t.node) is AccumulateGrad:
            t.node.value = t.value
    found: np.ndarray[Any, Any] = t.value
    return found


def layout(x: Tensor) -> np.ndarray[Any, Any]:
    """An array with the strides of a tensor."""
    array = as_array(x)
    return modes.stage.shadow(array) if staged(array) else array


def check_found(t: RootTracer) -> None:
    """Raise for a tensor that is used in a step that is compiled, and comes from elsewhere."""
    if type(t.value) is not Memory:
        raise UnsupportedCallError(
            modes.stage.refuse(
                "the step uses a Tensor that is not in its arguments, closure and globals, nor in "
                "the objects that these hold; pass it as an argument"
            )
        )


def _concrete(x: Tensor, what: str) -> Any:
    if not concrete(x._t):
        if modes.stage is not None:
            raise TracerConversionError(
                modes.stage.refuse(f"{what} asks for the number in a Tensor")
            )
        raise TracerConversionError(
            located(f"{what} of a Tensor that is traced by jit or vmap has no value yet")
        )
    return np.asarray(value(x._t))


def tracked(x: Tensor) -> Any:
    """The node of a tensor while operations are recorded, else None."""
    t = x.content()
    return t.node if type(t) is RootTracer else None


PICK = Pick
