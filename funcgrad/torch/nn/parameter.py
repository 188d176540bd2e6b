"""Parameters and buffers: the tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd_state import check_differentiable
from funcgrad.torch.device import check_device
from funcgrad.torch.dimensions import check_requires_grad
from funcgrad.torch.overrides import disabled_torch_function
from funcgrad.torch.storage import in_storage
from funcgrad.transforms.node import new

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


def _empty() -> Tensor:
    return box(np.empty(0, dtypes.get_default_dtype().numpy))


def _shared(cls: type[Tensor], data: Any) -> Any:
    """A leaf of the class `cls` with the memory of `data`."""
    made = new(cls)
    made._t, made._grad, made._link = data.detach()._t, None, None
    return in_storage(made, data)


class Parameter(Tensor):
    """A leaf that a `Module` counts among its parameters.

    It shares the memory of `data` and requires grad by default.

    Parameters
    ----------
    data : Tensor, optional
    requires_grad : bool, optional

    Raises
    ------
    RuntimeError
        `requires_grad` with a tensor of integers or booleans.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        made = _shared(cls, _empty() if data is None else data)
        if check_requires_grad(requires_grad, "Parameter"):
            check_differentiable(made.dtype)
            made.requires_grad_()
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made: Parameter = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = made
        return made  # neither the gradient nor attributes are copied, as in PyTorch


class _BufferMeta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Buffer:
            return isinstance(x, Tensor) and getattr(x, "_is_buffer", False)
        return super().__instancecheck__(x)


class Buffer(metaclass=_BufferMeta):
    """A tensor that a `Module` counts among its buffers: state that is not optimised.

    Parameters
    ----------
    data : Tensor, optional
    persistent : bool, optional
        Whether it is part of the module's `state_dict`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> m = torch.nn.Module()
    >>> m.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(m.state_dict())
    ['mean']
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        made = _shared(Tensor, _empty() if data is None else data)
        made.persistent, made._is_buffer = persistent, True
        return made


# ----------------------------------------------------------------------- without a shape as yet

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


def _converted(name: str) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        return type(self)(self.requires_grad, dtype=getattr(dtypes, name))

    return convert


class Uninitialized(Tensor):
    """A tensor without memory: whatever reads its contents is refused, by the slot being empty."""

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)
    becomes: ClassVar[type[Tensor]] = Tensor
    grad_fn: ClassVar[None] = None
    grad: ClassVar[None] = None
    is_leaf: ClassVar[bool] = True

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        check_device(device)
        made: Any = new(cls)
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        if requires_grad:
            check_differentiable(kind)
        made.__dict__.update(kind=kind, wanted=bool(requires_grad))
        return made

    def __getattr__(self, name: str) -> NoReturn:
        if name != "_t":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    @property
    def shape(self) -> Any:
        """Raises: there is none."""
        raise RuntimeError(NO_SHAPE)

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype that it will have."""
        found: dtypes.dtype = self.__dict__["kind"]
        return found

    @property
    def requires_grad(self) -> bool:
        """Whether gradients will be computed."""
        found: bool = self.__dict__["wanted"]
        return found

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.__dict__["wanted"] = bool(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch gradients on or off."""
        self.requires_grad = requires_grad
        return self

    @property
    def data(self) -> Any:
        """The tensor itself."""
        return self

    @data.setter
    def data(self, source: Tensor) -> None:
        if is_lazy(source):
            self.__dict__["kind"] = source.dtype
        else:
            self._become(source)

    def detach(self) -> Any:
        """The tensor itself: a state has it as it is."""
        return self

    def is_floating_point(self) -> bool:
        """Whether it will have floating point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether it will have complex numbers."""
        return self.dtype.is_complex

    def to(self, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """The same of another dtype."""
        given = [x for x in args if isinstance(x, dtypes.dtype)]
        return type(self)(self.requires_grad, dtype=given[0] if given else dtype or self.dtype)

    half: Any = _converted("float16")
    bfloat16: Any = _converted("bfloat16")
    float: Any = _converted("float32")
    double: Any = _converted("float64")

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, and memory with undefined contents: an ordinary tensor from now on."""
        check_device(device)
        kind = self.dtype if dtype is None else dtype
        self._become(box(np.empty(tuple(int(n) for n in shape), kind.numpy)))

    def _become(self, source: Tensor) -> None:
        wanted = self.requires_grad
        for name in ("kind", "wanted"):
            del self.__dict__[name]
        object.__setattr__(self, "__class__", self.becomes)
        self._t, self._grad, self._link = source.detach()._t, None, None
        in_storage(self, source)
        if wanted:
            self.requires_grad_()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"


class UninitializedParameter(Uninitialized, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known as yet; `materialize` makes it an ordinary one.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> p = torch.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', torch.Size([2, 3]))
    """

    __slots__ = ()
    becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """As a parameter, it requires grad by default."""
        return Uninitialized.__new__(cls, requires_grad, device, dtype)


class UninitializedBuffer(Uninitialized):
    """A buffer whose shape is not known as yet; `materialize` makes it an ordinary tensor."""

    __slots__ = ()

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        """A tensor that a module counts among its buffers."""
        made = Uninitialized.__new__(cls, requires_grad, device, dtype)
        made.__dict__.update(persistent=persistent, _is_buffer=True)
        return made


def is_lazy(param: Any) -> bool:
    """Whether something is a parameter or buffer without a shape as yet."""
    return isinstance(param, Uninitialized)
