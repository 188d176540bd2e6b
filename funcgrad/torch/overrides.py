"""``torch.overrides``: classes of tensors that answer the library's functions themselves.

A class derived from `Tensor` is asked, by its ``__torch_function__``, to answer every function and
method that gets one of its tensors. The inherited answer calls the function and makes tensors of
the class of what comes out. Programs without such a class pay nothing: functions and methods begin
to ask when the first one is defined.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.mixing import register

__all__ = [
    "DisableTorchFunctionSubclass", "as_subclass", "get_default_nowrap_functions",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "resolve_name",
]  # fmt: skip

MODULES = ("", ".nn.functional", ".linalg", ".fft", ".special")
NOT_ASKED = frozenset((
    "as_tensor", "compile", "from_dlpack", "from_numpy", "is_storage", "is_tensor", "load",
    "manual_seed", "save", "tensor", "typename", "vmap",
))  # fmt: skip
OPERATORS = (
    "add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "truediv", "rtruediv",
    "itruediv", "floordiv", "rfloordiv", "ifloordiv", "mod", "rmod", "imod", "pow", "rpow", "ipow",
    "matmul", "rmatmul", "imatmul", "and", "rand", "iand", "or", "ror", "ior", "xor", "rxor",
    "ixor", "lshift", "rlshift", "ilshift", "rshift", "rrshift", "irshift", "eq", "ne", "lt", "le",
    "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "setitem",
)  # fmt: skip
METHODS = {
    "add": "add", "radd": "add", "sub": "sub", "mul": "mul", "rmul": "mul", "truediv": "div",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "ne": "ne", "lt": "lt", "le": "le",
    "gt": "gt", "ge": "ge", "neg": "neg", "pos": "positive", "abs": "abs", "iadd": "add_",
    "isub": "sub_", "imul": "mul_",
}  # fmt: skip
PROPERTIES = frozenset(("H", "T", "data", "imag", "mH", "mT", "real"))  # that are tensors


class _State(threading.local):
    disabled = 0


_state = _State()
_asking: list[bool] = []  # one element as soon as functions ask


class DisableTorchFunctionSubclass:
    """A context in which functions ask no class of tensors."""

    def __enter__(self) -> DisableTorchFunctionSubclass:
        _state.disabled += 1
        return self

    def __exit__(self, *error: object) -> None:
        _state.disabled -= 1


def disabled_torch_function(
    func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """The ``__torch_function__`` of a class that is not asked, such as `Parameter`."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# ------------------------------------------------------------------------------ tensors of a class


def as_subclass(self: Tensor, cls: type[Tensor]) -> Any:
    """The tensor as one of a class, with its memory and its history.

    Raises
    ------
    TypeError
        `cls` is not derived from Tensor.
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )
    x = self.view_as(self) if self.requires_grad and self.is_leaf else self
    made: Any = object.__new__(cls)
    made._t, made._grad, made._link = x._t, None, x._link
    if hasattr(x, "_root"):
        made._root = x._root
    return made


def _converted(x: Any, cls: type[Tensor]) -> Any:
    if isinstance(x, Tensor):
        return x if isinstance(x, cls) else as_subclass(x, cls)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_converted(item, cls) for item in x))
    if type(x) in (list, tuple):
        return type(x)(_converted(item, cls) for item in x)
    return x


def _default(
    cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Call `func`; its tensors become tensors of this class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
        return found if func in get_default_nowrap_functions() else _converted(found, cls)


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results stay plain tensors."""
    return set()


# -------------------------------------------------------------------------------------- asking


_answers: dict[Any, bool] = {}  # of the classes that came


def _is_asked(kind: Any) -> bool:
    found = _answers.get(kind)
    if found is None:
        answer = getattr(kind, "__torch_function__", None)
        found = kind is not Tensor and answer is not None and answer is not disabled_torch_function
        _answers[kind] = found
    return found


def _asked(given: Any) -> list[Any]:
    """The arguments that are asked, one of each class, derived classes first."""
    found: list[Any] = []
    for x in given:
        kind = type(x)
        if not _is_asked(kind) or any(type(y) is kind for y in found):
            continue
        places = (k for k, y in enumerate(found) if issubclass(kind, type(y)))
        found.insert(next(places, len(found)), x)
    return found


def _arguments(args: Any, kwargs: Any) -> Iterator[Any]:
    for x in (*args, *kwargs.values()):
        if type(x) in (list, tuple):
            yield from x
        else:
            yield x


def has_torch_function(relevant_args: Any) -> bool:
    """Whether one of the arguments is of a class that is asked."""
    return not _state.disabled and any(_is_asked(type(x)) for x in relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any
) -> Any:
    """What the first class that has an answer gives.

    Raises
    ------
    TypeError
        None has.
    """
    asked = _asked(relevant_args)
    types = tuple(type(x) for x in asked)
    for x in asked:
        found = x.__torch_function__(public_api, types, args, kwargs)
        if found is not NotImplemented:
            return found
    name = resolve_name(public_api) or getattr(public_api, "__name__", repr(public_api))
    kinds = "\n".join(
        f"  - {'tensor subclass' if isinstance(x, Tensor) else 'object of'} {type(x)}"
        for x in asked
    )
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{kinds}"
    )


def _asks(original: Callable[..., Any], name: str = "", api: Any = None) -> Callable[..., Any]:
    """`original`, which asks first; as `api`, if that is not it. Methods have a `name`."""

    @functools.wraps(original)
    def public(*args: Any, **kwargs: Any) -> Any:
        try:
            if not _state.disabled:
                given = [*_arguments(args, kwargs)]
                if any(_is_asked(type(x)) for x in given):
                    return handle_torch_function(api or public, given, *args, **kwargs)
            return original(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    if name:
        public.__name__ = name
    return public


def _operator_asks(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """An operator, as the method that PyTorch asks for: of ``x + y`` that is ``Tensor.add``."""
    itself = method = _asks(original, name)
    if name.strip("_") in METHODS:
        method = _asks(original, api=getattr(Tensor, METHODS[name.strip("_")]))

    @functools.wraps(itself)
    def public(*args: Any) -> Any:
        try:
            if _state.disabled:
                return original(*args)
            try:  # of methods only operators take arrays
                return (itself if isinstance(args[-1], np.ndarray) else method)(*args)
            except TypeError:
                if len(args) == 1:
                    raise
                return (
                    NotImplemented  # Python asks the other operand, and says so if it has no answer
                )
        except Exception as error:
            hide_frames(error)
            raise

    return public


def _property_asks(original: Any) -> property:
    """A property that is a tensor; asked as PyTorch does, by its ``__get__``."""

    def get(self: Tensor) -> Any:
        if has_torch_function((self,)):
            return handle_torch_function(public.__get__, (self,), self)
        return original.fget(self)

    public = property(get, original.fset, original.fdel, original.__doc__)
    return public


def _start() -> None:
    """Let functions and methods ask: in the namespaces, and where layers call them."""
    from funcgrad.torch.names import NAMES

    _asking.append(True)
    made: dict[int, Any] = {}
    for name in NAMES["torch.Tensor"].split():
        found = getattr(Tensor, name, None)
        if type(found) is type(_start) and name != "as_subclass":
            setattr(Tensor, name, _asks(found, name))
        elif name in PROPERTIES:
            setattr(Tensor, name, _property_asks(found))
    for name in OPERATORS:
        found = getattr(Tensor, f"__{name}__", None)
        if type(found) is type(_start):
            asks = _operator_asks if name not in ("getitem", "setitem") else _asks
            setattr(Tensor, f"__{name}__", asks(found, f"__{name}__"))
    for end in MODULES:
        module = importlib.import_module(f"funcgrad.torch{end}")
        known = {*NAMES.get(f"torch{end}", "").split()}
        for name, found in [*vars(module).items()]:
            if name not in known or name in NOT_ASKED or type(found) is not type(_start):
                continue
            if id(found) not in made:
                made[id(found)] = (found, _asks(found))
            public = made[id(found)][1]
            if name == found.__name__:
                public.__module__ = module.__name__  # where `pickle` finds it
            setattr(module, name, public)
    for name, module in [*sys.modules.items()]:
        if name.startswith("funcgrad.torch.nn.modules"):
            for key, found in [*vars(module).items()]:
                if id(found) in made:
                    setattr(module, key, made[id(found)][1])


def _derived(cls: type[Tensor], /, **_: Any) -> None:
    register(cls)
    if not _asking and getattr(cls, "__torch_function__", None) is not disabled_torch_function:
        _start()


setattr(Tensor, "as_subclass", as_subclass)  # noqa: B010
setattr(Tensor, "__torch_function__", classmethod(_default))  # noqa: B010
setattr(Tensor, "__init_subclass__", classmethod(_derived))  # noqa: B010


# ------------------------------------------------------------------------------------ questions


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or of a class that answers for itself."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function as PyTorch's programs write it."""
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    if getattr(Tensor, name, None) is f:
        return f"torch.Tensor.{name}"
    for end in MODULES:
        if getattr(sys.modules.get(f"funcgrad.torch{end}"), name, None) is f:
            return f"torch{end}.{name}"
    return None
