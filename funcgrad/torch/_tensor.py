"""`Tensor`: a mutable box over values of the core, with PyTorch's bookkeeping.

A tensor holds a tracer: of the root tape (an array, the node that made it, a version), or of any
transform inside which the program runs. Operations read it by `content`. What a tensor *is* stands
here; the operations are installed by the files of `operations/`, writing and views by `views`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array
from funcgrad.torch import dtypes
from funcgrad.torch.autograd_state import AutogradState
from funcgrad.torch.dimensions import axis_of
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import is_narrow
from funcgrad.torch.nodes import LEAF_TENSOR, AccumulateGrad
from funcgrad.torch.printing import tensor_text
from funcgrad.torch.python_values import PythonValues
from funcgrad.torch.root import ROOT, RootTracer, bare, plain, tangent_of
from funcgrad.torch.size import Size
from funcgrad.torch.staged import Memory, staged
from funcgrad.torch.storage import in_storage, root_of
from funcgrad.torch.tensor_arrays import as_array, check_found, cut_off, layout, unknown
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.forward import DualTracer
from funcgrad.transforms.node import TapeTracer, new

if TYPE_CHECKING:  # the files of `operations/` install the methods
    from funcgrad.torch.tensor_methods_generated import TensorMethods
else:
    TensorMethods = object

__all__ = ["Tensor", "box", "raw", "tracked"]


class Link:
    """What makes a tensor a view: its base, how it is read from it, and what forbids writing."""

    __slots__ = ("base", "read", "refusal", "seen")

    def __init__(
        self, base: Tensor, read: Callable[[Any], Any], refusal: str | None, seen: Any
    ) -> None:
        self.base, self.read, self.refusal = base, read, refusal
        # the version when the node of the view was made; in a transform the content of the base
        self.seen = seen


class Tensor(AutogradState, PythonValues, TensorMethods):
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

    __slots__ = ()
    __array_priority__ = 1000.0
    __hash__ = object.__hash__

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
        try:
            return self.shape if dim is None else self.shape[self._dimension(dim)]
        except Exception as error:
            hide_frames(error)
            raise

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
        try:
            shape = type_of(self._t).shape
            if not shape:
                raise TypeError("len() of a 0-d tensor")
            return shape[0]
        except Exception as error:
            hide_frames(error)
            raise

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def stride(self, dim: int | None = None) -> Any:
        """The steps between elements along each dimension, in elements."""
        try:
            array = layout(self)
            steps = tuple(s // array.itemsize for s in array.strides)
            if not array.size:  # NumPy has 0 for these
                extents = [max(n, 1) for n in array.shape]
                steps = tuple(math.prod(extents[k + 1 :]) for k in range(array.ndim))
            return steps if dim is None else steps[self._dimension(dim)]
        except Exception as error:
            hide_frames(error)
            raise

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether the elements follow one another in memory, in the order of a format."""
        try:
            array = layout(self)
            if memory_format is None:
                return bool(array.flags.c_contiguous)
            from funcgrad.torch.memory_formats import check_format, is_in_format

            check_format("is_contiguous", memory_format)
            return is_in_format(array, memory_format)
        except Exception as error:
            hide_frames(error)
            raise

    # -- leaving and copying

    def detach(self) -> Tensor:
        """The same memory without history; in-place changes are seen on both sides."""
        try:
            if type(self._t) is not RootTracer:
                return box(DETACH[0](self._t))
            out = self.data
            out._t.version = self._t.version
            return out
        except Exception as error:
            hide_frames(error)
            raise

    @property
    def data(self) -> Tensor:
        """The same memory without history, and with a version of its own."""
        if type(self._t) is not RootTracer:
            return self.detach()
        array = as_array(self)
        if not staged(array):
            return in_storage(box(array.view()), self)
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
        if t.value.__class__ is np.ndarray:
            self._root = root_of(source)
        t.kind = ROOT.kind_of(t.value)
        if type(t.node) is AccumulateGrad:
            t.node.value = t.value

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The array of the tensor, which shares its memory."""
        if type(self._t) is not RootTracer:
            raise unknown(self._t, "numpy()")
        if self.requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        array = as_array(self)
        if is_narrow(array):
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.asarray(array) if staged(array) else array.view()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if type(self._t) is not RootTracer:
            held = np.empty((), object)
            held[()] = self._t
            return held
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

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
            suffixes=[] if tangent is None else [f"tangent={tangent}"],
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


def box(x: Array) -> Tensor:
    """A tensor of a content: a tracer, or an array that nobody else holds."""
    made: Tensor = new(Tensor)
    if type(x) is np.ndarray:
        made._t = plain(x)
    else:
        made._t = x if isinstance(x, Tracer) and type(x) is not Memory else plain(x)
    made._grad = made._link = None
    return made


LEAF_TENSOR.append(lambda leaf: box(ROOT.tracer(leaf.value, leaf)))


def raw(x: Any) -> Any:
    """The array (or NumPy scalar) of a tensor; anything else as it is."""
    if isinstance(x, Tensor):
        t = x._t
        return t.value if type(t) is RootTracer else t
    return x


def tracked(x: Tensor) -> Any:
    """The node of a tensor while operations are recorded, else None."""
    t = x.content()
    return t.node if type(t) is RootTracer else None
